/*
 * test_nothing_lost.c - over all built-in templates and all forms of messages:
 * each text is in the prompt, in its own message's bytes and after the header
 * of its own role, or a loss is reported that names the message.  Never
 * neither.
 */
#include "tests/support/t.h"
#include "core/api/conversation.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"

#include <string.h>

/* A text of a message, and whose it is. */
typedef struct said {
    const char *text;
    size_t message;
    bool is_reply;
} said;

typedef struct form {
    const char *name, *messages;
    said said[6];
} form;

#define CALL_ARGS "{\"city\":\"Oslo-7\"}"

static const form forms[] = {
    {"plain",
     "[{\"role\":\"user\",\"content\":\"Alpha asks\"},"
     "{\"role\":\"assistant\",\"content\":\"Beta answers\"},"
     "{\"role\":\"user\",\"content\":\"Gamma asks\"}]",
     {{"Alpha asks", 0, false}, {"Beta answers", 1, true}, {"Gamma asks", 2, false}}},
    {"system",
     "[{\"role\":\"system\",\"content\":\"Delta rules\"},"
     "{\"role\":\"user\",\"content\":\"Alpha asks\"},"
     "{\"role\":\"assistant\",\"content\":\"Beta answers\"}]",
     {{"Delta rules", 0, false}, {"Alpha asks", 1, false}, {"Beta answers", 2, true}}},
    {"LiteRT-LM",
     "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Alpha "
     "asks\"}]},"
     "{\"role\":\"model\",\"content\":[{\"type\":\"text\",\"text\":\"Beta "
     "answers\"}]},"
     "{\"role\":\"user\",\"content\":\"Gamma asks\"},"
     "{\"role\":\"model\",\"tool_calls\":[{\"type\":\"function\",\"function\":"
     "{\"name\":\"get_heat\",\"arguments\":" CALL_ARGS "}}],\"content\":\"\"},"
     "{\"role\":\"tool\",\"content\":[{\"type\":\"tool_response\","
     "\"tool_response\":{\"name\":\"get_heat\",\"value\":{\"warm\":4711}}}]}]",
     {{"Alpha asks", 0, false},
      {"Beta answers", 1, true},
      {"Gamma asks", 2, false},
      {"Oslo-7", 3, true},
      {"4711", 4, false}}},
    {"ConverseHistory roles",
     "[{\"role\":\"developer\",\"content\":\"Delta rules\"},"
     "{\"role\":\"user\",\"content\":\"Alpha asks\"},"
     "{\"role\":\"agent\",\"content\":\"Beta answers\"},"
     "{\"role\":\"user\",\"content\":\"Gamma asks\"}]",
     {{"Delta rules", 0, false},
      {"Alpha asks", 1, false},
      {"Beta answers", 2, true},
      {"Gamma asks", 3, false}}},
    {"OpenAI",
     "[{\"role\":\"user\",\"content\":\"Alpha asks\"},"
     "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\","
     "\"type\":\"function\",\"function\":{\"name\":\"get_heat\",\"arguments\":"
     "\"{\\\"city\\\":\\\"Oslo-7\\\"}\"}}]},"
     "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"warm 4711\"},"
     "{\"role\":\"assistant\",\"content\":\"Beta answers\"}]",
     {{"Alpha asks", 0, false},
      {"Oslo-7", 1, true},
      {"4711", 2, false},
      {"Beta answers", 3, true}}},
    {"OpenAI's old calls",
     "[{\"role\":\"user\",\"content\":\"Alpha asks\"},"
     "{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":"
     "\"get_heat\",\"arguments\":\"{\\\"city\\\":\\\"Oslo-7\\\"}\"}},"
     "{\"role\":\"function\",\"name\":\"get_heat\",\"content\":\"warm "
     "4711\"}]",
     {{"Alpha asks", 0, false}, {"Oslo-7", 1, true}, {"4711", 2, false}}},
    {"Gemini",
     "[{\"role\":\"user\",\"parts\":[{\"text\":\"Alpha asks\"}]},"
     "{\"role\":\"model\",\"parts\":[{\"text\":\"Beta answers\"}]},"
     "{\"role\":\"user\",\"parts\":[{\"text\":\"Gamma asks\"}]},"
     "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"get_heat\","
     "\"args\":" CALL_ARGS "}}]},"
     "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":"
     "\"get_heat\",\"response\":{\"warm\":4711}}}]}]",
     {{"Alpha asks", 0, false},
      {"Beta answers", 1, true},
      {"Gamma asks", 2, false},
      {"Oslo-7", 3, true},
      {"4711", 4, false}}},
    {"Xaibo",
     "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Alpha "
     "asks\"}]},"
     "{\"role\":\"function\",\"content\":[],\"tool_calls\":[{\"id\":\"c1\","
     "\"name\":\"get_heat\",\"arguments\":" CALL_ARGS "}]},"
     "{\"role\":\"function\",\"content\":[],\"tool_results\":[{\"id\":\"c1\","
     "\"name\":\"get_heat\",\"content\":\"warm 4711\"}]},"
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Beta "
     "answers\"}]}]",
     {{"Alpha asks", 0, false},
      {"Oslo-7", 1, true},
      {"4711", 2, false},
      {"Beta answers", 3, true}}},
    {"two questions",
     "[{\"role\":\"user\",\"content\":\"Alpha asks\"},"
     "{\"role\":\"user\",\"content\":\"Gamma asks\"},"
     "{\"role\":\"assistant\",\"content\":\"Beta answers\"}]",
     {{"Alpha asks", 0, false}, {"Gamma asks", 1, false}, {"Beta answers", 2, true}}},
};

static json_t *json_of(const char *text)
{
    cf_error err = {0};
    json_t *v = NULL;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

/* A template, and an engine that renders with it. */
typedef struct bench {
    const char *name;
    cf_template *tpl;
    cf_backend *backend;
    cf_role_map roles;
    char user[64], reply[64]; /* headers; "" when they cannot be told apart */
} bench;

typedef struct losses {
    bool of[8]; /* by message */
    size_t n;
} losses;

static void on_loss(void *ud, const cf_loss *loss)
{
    losses *l = ud;
    l->n++;
    if (loss->kind != CF_LOSS_TOOL && loss->index < 8) {
        l->of[loss->index] = true;
    }
}

static cf_status preview(const bench *b, const char *messages, const char *tools, cf_arena *arena,
                         cf_prompt *out, losses *lost, cf_error *err)
{
    cf_conversation *conv;
    json_t *list = json_of(messages);
    json_t *declared = tools != NULL ? json_of(tools) : NULL;
    const cf_preface preface = {.tools = declared};
    T_OK(cf_conversation_new(&conv, &preface, err), *err);
    cf_conversation_set_roles(conv, &b->roles);
    const cf_send send = {.message = list};
    cf_status st = cf_conversation_preview(conv, b->backend, &send, arena, out, NULL, err);
    if (st == CF_OK) {
        T_OK(cf_conversation_losses(conv, &send, out, on_loss, lost, err), *err);
    }
    cf_conversation_free(conv);
    json_decref(list);
    json_decref(declared);
    return st;
}

/* The first place of `text` at or after `from`; a prompt has no NUL. */
static const char *find(cf_str prompt, const char *from, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = from; p + n <= prompt.p + prompt.n; p++) {
        if (memcmp(p, text, n) == 0) {
            return p;
        }
    }
    return NULL;
}

/* What the template writes between two texts, or the end of it. */
static void header_between(char out[64], cf_str prompt, const char *before, const char *text)
{
    const char *from = find(prompt, prompt.p, before);
    const char *at = find(prompt, prompt.p, text);
    assert_true(from != NULL && at != NULL && from < at);
    from += strlen(before);
    const char *p = at;
    while (p > from && at - p < 20 && !(at - p > 2 && p[-1] == '>')) {
        p--;
    }
    while (at > p && strchr(" \n", at[-1]) != NULL) {
        at--; /* it may be left out before a call */
    }
    snprintf(out, 64, "%.*s", (int)(at - p), p);
}

static void open_bench(bench *b, const char *name)
{
    cf_error err = {0};
    cf_str source = cf_template_builtin(name);
    json_t *replies = json_of("{\"replies\":[{\"text\":\"x\"}]}");
    *b = (bench){.name = name};
    T_OK(cf_template_compile(&b->tpl, source, NULL, NULL, NULL, &err), err);
    const cf_script_options o = {.renderer = cf_renderer_template(b->tpl)};
    T_OK(cf_backend_script_new(&b->backend, replies, &o, &err), err);
    json_decref(replies);
    cf_role_map_init(&b->roles, source);
    cf_arena arena;
    cf_prompt p;
    losses lost = {0};
    cf_arena_init(&arena, 0);
    T_OK(preview(b,
                 "[{\"role\":\"user\",\"content\":\"First\"},{\"role\":"
                 "\"assistant\",\"content\":\"Second\"},{\"role\":\"user\","
                 "\"content\":\"Third\"}]",
                 NULL, &arena, &p, &lost, &err),
         err);
    assert_int_equal(lost.n, 0);
    header_between(b->user, p.text, "Second", "Third");
    header_between(b->reply, p.text, "First", "Second");
    if (strcmp(b->user, b->reply) == 0) {
        b->user[0] = b->reply[0] = '\0';
    }
    cf_arena_deinit(&arena);
}

static const char *last_before(cf_str prompt, const char *at, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = at; n > 0 && p >= prompt.p; p--) {
        if ((size_t)(prompt.p + prompt.n - p) >= n && memcmp(p, word, n) == 0) {
            return p;
        }
    }
    return NULL;
}

/* Whether the text is there, in bytes of its message. */
static const char *find_said(const cf_prompt *p, const said *s)
{
    for (const char *at = find(p->text, p->text.p, s->text); at != NULL;
         at = find(p->text, at + 1, s->text)) {
        const cf_prompt_span *span = cf_prompt_span_at(p, (size_t)(at - p->text.p));
        if ((span->source == CF_SPAN_MESSAGE && span->index == s->message) ||
            span->source == CF_SPAN_COMPUTED) {
            return at;
        }
    }
    return NULL;
}

static void check(const bench *b, const form *f, const char *tools)
{
    cf_error err = {0};
    cf_arena arena;
    cf_prompt p;
    losses lost = {0};
    cf_arena_init(&arena, 0);
    T_OK(preview(b, f->messages, tools, &arena, &p, &lost, &err), err);
    uint32_t off = 0; /* spans cover the prompt without a gap */
    for (size_t i = 0; i < p.n_spans; i++) {
        assert_int_equal(p.spans[i].off, off);
        off += p.spans[i].len;
    }
    assert_int_equal(off, p.text.n);
    for (const said *s = f->said; s->text != NULL; s++) {
        const char *at = find_said(&p, s);
        if (at == NULL && !lost.of[s->message]) {
            fail_msg("%s, %s: '%s' is neither there nor reported:\n%.*s", b->name, f->name, s->text,
                     (int)p.text.n, p.text.p);
        }
        bool is_plain = at != NULL && b->user[0] != '\0' && strstr(s->text, "asks") != NULL;
        const char *user = at != NULL ? last_before(p.text, at, b->user) : NULL;
        const char *reply = at != NULL ? last_before(p.text, at, b->reply) : NULL;
        if ((is_plain && reply != NULL && (user == NULL || reply > user)) ||
            (at != NULL && s->is_reply && strstr(s->text, "answers") != NULL && user != NULL &&
             (reply == NULL || user > reply))) {
            fail_msg("%s, %s: '%s' has another's role:\n%.*s", b->name, f->name, s->text,
                     (int)p.text.n, p.text.p);
        }
    }
    cf_arena_deinit(&arena);
}

static void test_lost__never_silently(void **state)
{
    (void)state;
    static const char tools[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"get_heat\","
        "\"description\":\"Degrees there\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{\"city\":{\"type\":\"string\"}}}}}]";
    for (size_t i = 0; cf_template_builtin_name(i) != NULL; i++) {
        bench b;
        open_bench(&b, cf_template_builtin_name(i));
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
            check(&b, &forms[k], NULL);
            check(&b, &forms[k], tools);
        }
        cf_backend_free(b.backend);
        cf_template_free(b.tpl);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost__never_silently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
