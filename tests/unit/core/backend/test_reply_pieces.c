/*
 * test_reply_pieces.c - the events of a reply add up to its message, however
 * the reply arrives, and each piece of a channel has the channel's name.
 */
#include "core/api/backend.h"
#include "core/api/channel.h"
#include "tests/support/chat_case.h"
#include "tests/support/t.h"

#include <string.h>

#include "core/json/json.h"

#define CALL(name) "<tool_call>\n{\"name\": \"" name "\", \"arguments\": {}}\n</tool_call>"

/* What the events of one reply said. */
typedef struct heard {
    cf_buf raw, text, thinking, notes;
    bool is_named;
} heard;

static void on_event(const cf_chat_event *ev, void *ud)
{
    heard *h = ud;
    cf_buf *to = ev->kind == CF_CHAT_RAW                                       ? &h->raw
                 : ev->kind == CF_CHAT_TEXT || ev->kind == CF_CHAT_CALL_FAILED ? &h->text
                                                                               : NULL;
    if (ev->kind == CF_CHAT_THINKING) {
        const bool is_first = cf_str_is(ev->channel, "thinking");
        h->is_named = is_first || cf_str_is(ev->channel, "notes");
        to = is_first ? &h->thinking : &h->notes;
    }
    if (to != NULL) {
        cf_buf_add(to, ev->text.p, ev->text.n);
    }
}

static json_t *script_of(const char *raw, size_t chunk)
{
    json_t *v = json_pack("{s:[{s:s, s:I}]}", "replies", "text", raw, "chunk", (json_int_t)chunk);
    assert_non_null(v);
    return v;
}

static cf_backend *engine_of(const char *raw, size_t chunk)
{
    static const cf_channel channels[] = {
        {.name = {"thinking", 8}, .start = {"<think>", 7}, .end = {"</think>", 8}},
        {.name = {"notes", 5}, .start = {"<notes>", 7}, .end = {"</notes>", 8}}};
    const cf_script_options o = {.family = CF_TOOLS_HERMES, .channels = channels, .n_channels = 2};
    cf_error err;
    cf_backend *b;
    json_t *script = script_of(raw, chunk);
    T_OK(cf_backend_script_new(&b, script, &o, &err), err);
    json_decref(script);
    return b;
}

static void expect(cf_str got, const char *want)
{
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.n > 0 ? got.p : "", want, got.n);
}

typedef struct row {
    const char *raw, *content, *thinking, *notes;
} row;

static void check(const row *r, const cf_tool_set *tools, size_t chunk)
{
    cf_error err;
    heard h = {.is_named = true};
    cf_chat_response out;
    cf_backend *b = engine_of(r->raw, chunk);
    json_t *messages = cf_chat_json("[{\"role\":\"user\",\"content\":\"hi\"}]");
    const cf_chat_request q = {.messages = messages, .tools = tools};
    cf_chat_response_init(&out);
    T_OK(cf_backend_generate_stream(b, &q, on_event, &h, &out, &err), err);
    expect(cf_buf_str(&h.raw), r->raw);
    expect(cf_buf_str(&h.text), r->content);
    expect(cf_buf_str(&h.thinking), r->thinking);
    expect(cf_buf_str(&h.notes), r->notes);
    expect(cf_json_get_str(out.message, "content"), r->content);
    expect(cf_json_get_str(out.message, "reasoning_content"), r->thinking);
    expect(cf_json_get_str(json_object_get(out.message, "channels"), "notes"), r->notes);
    assert_true(h.is_named);
    cf_buf_deinit(&h.raw);
    cf_buf_deinit(&h.text);
    cf_buf_deinit(&h.thinking);
    cf_buf_deinit(&h.notes);
    cf_chat_response_deinit(&out);
    json_decref(messages);
    cf_backend_free(b);
}

/* Beside calls, white space belongs to them: a template writes it again. */
static void test_reply_pieces__add_up(void **state)
{
    (void)state;
    static const row rows[] = {
        {"plain \n", "plain \n", "", ""},
        {"\n \n", "\n \n", "", ""},
        {"<think>\nhm\n\nm\n</think>\n\nDone", "Done", "hm\n\nm", ""},
        {"<think>\n\n</think>\n\n Done\n", " Done\n", "", ""},
        {"<think>a\n</think><think>\nb</think>c", "c", "a\n\nb", ""},
        {"<notes>\nn</notes>\n\nDone", "\n\nDone", "", "n"},
        {"<think>t</think><notes>n\n</notes>\n", "", "t", "n"},
        {CALL("f"), "", "", ""},
        {CALL("f") "\n" CALL("g"), "", "", ""},
        {"\n" CALL("f") " \n\n " CALL("g") "\n", "", "", ""},
        {"Let me see.\n" CALL("f"), "Let me see.", "", ""},
        {"Let me see.\n\n" CALL("f") "\n" CALL("g") "\nDone.\n", "Let me see.\n\n\nDone.", "", ""},
        {"<think>t</think>\n\nA \n" CALL("f") "\n \nB", "A \n\n \nB", "t", ""},
        {"  no call\n", "  no call\n", "", ""},
        {" <tool_call>\n{\"name\": ", " <tool_call>\n{\"name\": ", "", ""},
        {CALL("f") "\n<tool_call>\noops\n</tool_call>\n", "<tool_call>\noops\n</tool_call>", "",
         ""},
    };
    cf_error err;
    cf_tool_set *tools;
    json_t *declared = cf_chat_json("[{\"name\":\"f\"},{\"name\":\"g\"}]");
    T_OK(cf_tool_set_new(&tools, declared, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t chunk = 1; chunk < 40; chunk += chunk < 9 ? 1 : 10) {
            check(&rows[i], tools, chunk);
        }
    }
    cf_tool_set_free(tools);
    json_decref(declared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reply_pieces__add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
