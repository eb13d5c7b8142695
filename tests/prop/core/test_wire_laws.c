/*
 * test_wire_laws.c - what holds for every interface of core/wire:
 *
 *  1. a request that is written and read again says the same;
 *  2. an answer that is written, whole or as a stream, is read as the same
 *     reply, and its events add up to it;
 *  3. however the bytes of a stream are cut, the reply is the same.
 *
 * The neutral requests and replies are drawn at random; fields that an
 * interface has no place for are left out by a row of the table.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/wire.h"
#include "tests/support/t.h"

/* What an interface can say. */
typedef struct can {
    cf_api api;
    bool talks;    /* more than one message */
    bool tools;    /* with calls and results */
    bool choice;   /* of a tool */
    bool one_call; /* at most one */
    bool named_format;
    bool thinking;  /* in messages and replies */
    bool signature; /* of it, in a reply */
    bool refusal;
    bool cached, written, thought; /* of the usage */
    bool variables, model;
    size_t n_choices;
} can;

static const can cans[] = {
    {CF_API_OPENAI_CHAT, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 3},
    {CF_API_OPENAI_COMPLETIONS, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 3},
    {CF_API_OPENAI_RESPONSES, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1},
    {CF_API_ANTHROPIC_MESSAGES, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1},
    {CF_API_OLLAMA_CHAT, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1},
    {CF_API_OLLAMA_GENERATE, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1},
    {CF_API_GEMINI_GENERATE, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 2},
};

enum { N_CANS = sizeof cans / sizeof cans[0], ROUNDS = 60 };

/* ---- random things ------------------------------------------------------ */

static uint64_t state;

static size_t draw(size_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % n;
}

static const char *any_text(void)
{
    static const char *const texts[] = {"hello",
                                        "h\xc3\xa9ll\xc3\xb6 w\xc3\xb6rld",
                                        "line\nbreak \"quoted\" \\ {x}",
                                        "\xf0\x9f\x8c\x8d earth",
                                        "data: [DONE]\n\nevent: x",
                                        "a"};
    return texts[draw(sizeof texts / sizeof texts[0])];
}

static json_t *any_arguments(void)
{
    static const char *const texts[] = {"{}", "{\"city\":\"Oslo\"}",
                                        "{\"a\":[1,2,{\"b\":null}],\"c\":\"\xc3\xa9\\n\"}"};
    return json_string(texts[draw(3)]);
}

static json_t *any_content(const can *c)
{
    if (draw(3) > 0) {
        return json_string(any_text());
    }
    return c->api == CF_API_OPENAI_COMPLETIONS
               ? json_string("one")
               : json_pack("[{s:s, s:{s:s}}, {s:s, s:s}]", "type", "image_url", "image_url", "url",
                           "data:image/png;base64,iVBORw0KGgo=", "type", "text", "text",
                           any_text());
}

/* The assistant's turn with calls, and their results. */
static void add_calls(json_t *list, const can *c, unsigned *n_ids)
{
    json_t *m = json_pack("{s:s, s:n}", "role", "assistant", "content");
    json_t *calls = json_array();
    size_t n = 1 + draw(3);
    if (c->thinking && draw(2) == 0) {
        json_object_set_new(m, "reasoning_content", json_string(any_text()));
    }
    json_object_set_new(m, "tool_calls", calls);
    json_array_append_new(list, m);
    for (size_t i = 0; i < n; i++) {
        json_t *id = json_sprintf("id_%u", (*n_ids)++);
        json_array_append_new(calls, json_pack("{s:O, s:s, s:{s:s, s:o}}", "id", id, "type",
                                               "function", "function", "name", i == 0 ? "f" : "g",
                                               "arguments", any_arguments()));
        json_array_append_new(list, json_pack("{s:s, s:s, s:O}", "role", "tool", "content",
                                              any_text(), "tool_call_id", id));
        json_decref(id);
    }
}

static json_t *any_messages(const can *c)
{
    json_t *list = json_array();
    unsigned n_ids = 0;
    if (!c->talks) {
        json_array_append_new(list,
                              json_pack("{s:s, s:o}", "role", "user", "content", any_content(c)));
        return list;
    }
    if (draw(2) == 0) {
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "role", "system", "content", any_text()));
    }
    for (size_t i = 0, n = 1 + draw(4); i < n; i++) {
        json_array_append_new(list,
                              json_pack("{s:s, s:o}", "role", "user", "content", any_content(c)));
        if (c->tools && draw(2) == 0) {
            add_calls(list, c, &n_ids);
        } else {
            json_array_append_new(
                list, json_pack("{s:s, s:s}", "role", "assistant", "content", any_text()));
        }
    }
    return list;
}

static void any_request(cf_wire_request *r, const can *c)
{
    memset(r, 0, sizeof *r);
    r->messages = any_messages(c);
    r->unknown = json_array();
    r->settings = json_pack("{s:f, s:f, s:i}", "temperature", 0.5, "top_p", 0.75, "max_tokens", 64);
    r->is_stream = c->model && draw(2) == 0; /* else the path says so */
    r->has_usage = c->api != CF_API_OPENAI_CHAT && c->api != CF_API_OPENAI_COMPLETIONS
                       ? true
                       : r->is_stream && draw(2) == 0;
    if (c->model) {
        strcpy(r->model, "some-model");
    }
    if (c->tools && draw(2) == 0) {
        r->tools = json_pack("[{s:s, s:{s:s, s:s, s:{s:s}}}]", "type", "function", "function",
                             "name", "f", "description", "does it", "parameters", "type", "object");
    }
    if (c->choice && draw(2) == 0) {
        r->tool_choice = (cf_wire_tool_choice)(1 + draw(4));
        r->has_one_call = c->one_call && draw(2) == 0;
    }
    if (r->tool_choice == CF_WIRE_TOOLS_NAMED) {
        strcpy(r->tool_name, "f");
    }
    if (draw(3) == 0) {
        r->format = json_pack("{s:s, s:{s:s}}", "type", "json_schema", "schema", "type", "object");
        if (c->named_format) {
            json_object_set_new(r->format, "name", json_string("thing"));
        }
    }
    if (c->variables && draw(2) == 0) {
        r->variables = json_pack("{s:b}", "enable_thinking", (int)draw(2));
    }
}

/* ---- 1. requests -------------------------------------------------------- */

static void write_request(cf_buf *out, const cf_wire_request *r)
{
    json_t *parts[] = {r->messages, r->tools, r->variables, r->settings, r->format, r->unknown};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *text = parts[i] != NULL
                         ? json_dumps(parts[i], JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY)
                         : NULL;
        cf_buf_addf(out, "%s\n", text != NULL ? text : "-");
        cf_free(text);
    }
    cf_buf_addf(out, "%s %s %d %d %d %d", r->model, r->tool_name, (int)r->tool_choice,
                r->has_one_call, r->is_stream, r->has_usage);
}

/* What two interfaces cannot say: Gemini's results have a name, and Ollama has
 * no content that is null. */
static void normalise(json_t *messages)
{
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *m = json_array_get(messages, i);
        if (cf_str_is(cf_json_get_str(m, "role"), "tool")) {
            json_object_del(m, "name");
        } else if (json_object_get(m, "tool_calls") != NULL &&
                   cf_json_get_str(m, "content").n == 0) {
            json_object_set_new(m, "content", json_null());
        }
    }
}

static void test_wire_laws__requests(void **unused)
{
    (void)unused;
    state = 7;
    for (size_t k = 0; k < N_CANS * ROUNDS; k++) {
        const can *c = &cans[k % N_CANS];
        cf_wire_request r, back;
        cf_error err;
        json_t *body = NULL;
        cf_buf text = CF_BUF_INIT, want = CF_BUF_INIT, got = CF_BUF_INIT;
        any_request(&r, c);
        T_OK(cf_wire_request_write(&body, c->api, &r, &err), err);
        cf_json_write(&text, body);
        T_OK(cf_wire_request_read(&back, c->api, cf_buf_str(&text), &err), err);
        normalise(back.messages);
        write_request(&want, &r);
        write_request(&got, &back);
        assert_string_equal(cf_buf_cstr(&got), cf_buf_cstr(&want));
        cf_wire_request_deinit(&r);
        cf_wire_request_deinit(&back);
        json_decref(body);
        cf_buf_deinit(&text);
        cf_buf_deinit(&want);
        cf_buf_deinit(&got);
    }
}

/* ---- 2. and 3. answers -------------------------------------------------- */

static void add_event(cf_wire_event *list, size_t *n, cf_wire_event_kind kind, size_t choice,
                      const char *text)
{
    list[(*n)++] = (cf_wire_event){.kind = kind, .choice = choice, .text = cf_str_from(text)};
}

enum { EVENTS_MAX = 64 };

/* The events of one choice, in the order in which models say things. */
static void any_reply(const can *c, size_t choice, cf_wire_event *list, size_t *n)
{
    const bool has_calls = c->tools && draw(2) == 0;
    for (size_t i = draw(3); c->thinking && i > 0; i--) {
        add_event(list, n, CF_WIRE_THINKING, choice, any_text());
    }
    if (c->signature && *n > 0 && list[*n - 1].kind == CF_WIRE_THINKING) {
        add_event(list, n, CF_WIRE_SIGNATURE, choice, "c2lnbg==");
    }
    for (size_t i = 1 + draw(3); i > 0; i--) {
        add_event(list, n, CF_WIRE_TEXT, choice, any_text());
    }
    if (c->refusal && draw(4) == 0) {
        add_event(list, n, CF_WIRE_REFUSAL, choice, "no");
    }
    const size_t n_calls = has_calls ? 2 : 0;
    for (size_t i = 0; i < n_calls; i++) {
        list[(*n)++] = (cf_wire_event){.kind = CF_WIRE_CALL,
                                       .choice = choice,
                                       .call = i,
                                       .id = cf_str_from(i == 0 ? "c0" : "c1"),
                                       .name = cf_str_from("f"),
                                       .text = cf_str_from("{\"a\"")};
        list[(*n)++] = (cf_wire_event){
            .kind = CF_WIRE_CALL, .choice = choice, .call = i, .text = cf_str_from(":1")};
        if (draw(3) == 0) { /* text after a call, and then more of the call */
            add_event(list, n, CF_WIRE_TEXT, choice, any_text());
        }
        list[(*n)++] = (cf_wire_event){
            .kind = CF_WIRE_CALL, .choice = choice, .call = i, .text = cf_str_from("}")};
        if (draw(3) == 0) {
            add_event(list, n, CF_WIRE_TEXT, choice, any_text());
        }
    }
    list[(*n)++] = (cf_wire_event){.kind = CF_WIRE_END,
                                   .choice = choice,
                                   .stop = has_calls      ? CF_WIRE_STOP_CALLS
                                           : draw(2) == 0 ? CF_WIRE_STOP_LENGTH
                                                          : CF_WIRE_STOP_END};
}

static void describe(cf_buf *out, const cf_wire_reply *r, const can *c)
{
    const cf_wire_usage *u = &r->usage;
    for (size_t i = 0; i < r->n_choices; i++) {
        const cf_wire_choice *one = &r->choice[i];
        cf_buf_addf(out, "[%s|%s|%s|%s|%d", cf_buf_cstr(&one->content), cf_buf_cstr(&one->thinking),
                    cf_buf_cstr(&one->refusal), cf_buf_cstr(&one->signature), (int)one->stop);
        for (size_t k = 0; k < one->n_calls; k++) {
            const bool has_id = c->api != CF_API_OLLAMA_CHAT || one->calls[k].id.n > 0;
            cf_buf_addf(out, "|%s %s %s", has_id ? cf_buf_cstr(&one->calls[k].id) : "",
                        cf_buf_cstr(&one->calls[k].name), cf_buf_cstr(&one->calls[k].arguments));
        }
        cf_buf_adds(out, "]");
    }
    cf_buf_addf(out, " %d %d", (int)u->n_prompt, (int)u->n_reply);
    cf_buf_addf(out, " %d %d %d", c->cached ? (int)u->n_cached : 0,
                c->written ? (int)u->n_written : 0, c->thought ? (int)u->n_thinking : 0);
}

static void read_cut(cf_buf *out, const can *c, cf_str text, size_t cut)
{
    cf_wire_reader r;
    cf_error err;
    cf_wire_reader_init(&r, c->api);
    for (size_t at = 0; at < text.n;) {
        size_t n = cut > text.n ? 1 : at == 0 && cut > 0 ? cut : text.n - at;
        T_OK(cf_wire_reader_feed(&r, cf_str_make(text.p + at, n), &err), err);
        at += n;
    }
    T_OK(cf_wire_reader_finish(&r, &err), err);
    assert_true(r.is_ended);
    describe(out, &r.reply, c);
    cf_wire_reader_deinit(&r);
}

static void check_answer(const can *c, bool is_stream, const cf_wire_event *list, size_t n,
                         size_t n_choices)
{
    const cf_wire_writer_options o = {.api = c->api,
                                      .is_stream = is_stream,
                                      .has_usage = true,
                                      .id = "17",
                                      .model = "m",
                                      .n_choices = n_choices};
    const cf_wire_usage usage = {20, 5, 9, 3, 4, -1, -1};
    cf_buf text = CF_BUF_INIT, want = CF_BUF_INIT, got = CF_BUF_INIT;
    cf_wire_reply sum;
    cf_wire_writer w;
    cf_wire_reply_init(&sum);
    cf_wire_writer_init(&w, &o);
    for (size_t i = 0; i < n; i++) {
        cf_wire_reply_add(&sum, &list[i]);
        cf_wire_write(&w, &list[i], &text);
    }
    assert_true(is_stream || text.n == 0);
    cf_wire_write_finish(&w, &usage, &text);
    sum.usage = usage;
    describe(&want, &sum, c);
    size_t step = 1 + text.n / 97; /* some of the many cuts, and single bytes */
    for (size_t cut = 0; cut <= text.n + step; cut += step) {
        cf_buf_reset(&got);
        read_cut(&got, c, cf_buf_str(&text), cut);
        assert_string_equal(cf_buf_cstr(&got), cf_buf_cstr(&want));
    }
    cf_wire_writer_deinit(&w);
    cf_wire_reply_deinit(&sum);
    cf_buf_deinit(&text);
    cf_buf_deinit(&want);
    cf_buf_deinit(&got);
}

static void test_wire_laws__answers(void **unused)
{
    (void)unused;
    state = 11;
    for (size_t k = 0; k < N_CANS * ROUNDS; k++) {
        const can *c = &cans[k % N_CANS];
        cf_wire_event list[EVENTS_MAX];
        size_t n = 0, n_choices = 1 + draw(c->n_choices);
        for (size_t i = 0; i < n_choices; i++) {
            any_reply(c, i, list, &n);
        }
        check_answer(c, false, list, n, n_choices);
        check_answer(c, true, list, n, n_choices);
    }
}

/* ---- fields that nothing reads ------------------------------------------ */

static void test_wire__unknown_fields(void **unused)
{
    (void)unused;
    static const struct {
        cf_api api;
        const char *body, *want;
    } rows[] = {
        {CF_API_OPENAI_CHAT,
         "{\"messages\":[{\"role\":\"user\",\"content\":\"x\",\"weight\":1}],\"wizard\":1,"
         "\"stream_options\":{\"include_usage\":true,\"x\":1},\"tools\":[{\"type\":\"magic\"}]}",
         "[\"tools[0]\",\"wizard\",\"stream_options.x\",\"messages[0].weight\"]"},
        {CF_API_OLLAMA_CHAT,
         "{\"messages\":[],\"options\":{\"temperature\":1,\"numa\":true},\"keep_alive\":1}",
         "[\"options.numa\",\"keep_alive\"]"},
        {CF_API_ANTHROPIC_MESSAGES, "{\"messages\":[],\"thinking\":{\"type\":\"enabled\",\"x\":1}}",
         "[\"thinking.x\"]"},
        {CF_API_GEMINI_GENERATE,
         "{\"contents\":[],\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":1,"
         "\"includeThoughts\":true}}}",
         "[\"generationConfig.thinkingConfig.includeThoughts\"]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_wire_request r;
        cf_error err;
        cf_buf got = CF_BUF_INIT;
        T_OK(cf_wire_request_read(&r, rows[i].api, cf_str_from(rows[i].body), &err), err);
        cf_json_write(&got, r.unknown);
        assert_string_equal(cf_buf_cstr(&got), rows[i].want);
        cf_wire_request_deinit(&r);
        cf_buf_deinit(&got);
    }
}

static void test_wire__path_of_gemini(void **unused)
{
    (void)unused;
    const cf_str path = cf_str_from("/v1beta/models/gemini-x:streamGenerateContent?alt=sse");
    cf_wire_request r = {.messages = NULL};
    assert_int_equal(cf_api_of(cf_str_from("POST"), path), CF_API_GEMINI_GENERATE);
    cf_wire_request_path(&r, CF_API_GEMINI_GENERATE, path);
    assert_string_equal(r.model, "gemini-x");
    assert_true(r.is_stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_laws__requests),
        cmocka_unit_test(test_wire_laws__answers),
        cmocka_unit_test(test_wire__unknown_fields),
        cmocka_unit_test(test_wire__path_of_gemini),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
