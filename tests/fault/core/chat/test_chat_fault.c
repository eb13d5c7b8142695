/* Every allocation of a parse, of formatting and of a send fails once: no
 * crash, no leak, and the error says so. */
#include "tests/support/t.h"
#include "core/api/conversation.h"
#include "tests/support/fault.h"

#include "core/base/alloc.h"

static const char tools_json[] =
    "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"x\":{\"type\":\"integer\",\"maximum\":3}},\"required\":[\"x\"]}}]";

/* Read before anything fails; jansson calls a failed allocation a syntax
 * error in places. */
static json_t *tools_tree, *script_tree, *message_tree;

typedef struct parse_case {
    cf_tool_family family;
    const char *raw;
} parse_case;

/* One reply, cut in three, with declarations; then written again. */
static cf_status parse_all(void *ud)
{
    const parse_case *c = ud;
    cf_tool_set *set = NULL;
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *p = NULL;
    cf_buf text = CF_BUF_INIT;
    size_t n = strlen(c->raw);
    cf_status st = cf_tool_set_new(&set, tools_tree, NULL);
    CF_THEN(st, cf_tool_parser_new(&parser, c->family, set, NULL, NULL, NULL));
    for (size_t i = 0; st == CF_OK && i < 3; i++) {
        st = cf_tool_parser_feed(parser, c->raw + n * i / 3, n * (i + 1) / 3 - n * i / 3, NULL);
    }
    CF_THEN(st, cf_tool_parser_finish(parser, &p, NULL));
    CF_THEN(st, cf_tool_format_calls(&text, c->family, p->calls, p->n_calls, NULL));
    cf_buf_deinit(&text);
    cf_tool_parser_free(parser);
    cf_tool_set_free(set);
    return st;
}

static void test_fault__parse(void **state)
{
    static parse_case cases[] = {
        {CF_TOOLS_HERMES, "a <tool_call>{\"name\":\"f\",\"arguments\":{\"x\":9,\"y\":["
                          "\"\\u00e9\",18446744073709551616],\"x\":1}}</tool_call> "
                          "<tool_call>{\"name\":\"f\",\"arguments\":{\"x\":True}</tool_call>"},
        {CF_TOOLS_GEMMA3, "```tool_code\n[f(x='a', y={'k': (1,)}), g(z=Obj(a=1))]\n```"},
        {CF_TOOLS_GEMMA4, "<|tool_call>call:f{x:1,y:{a:[<|\"|>s<|\"|>]}}<tool_call|><|tool_call>"
                          "call:f{x:<tool_call|>"},
        {CF_TOOLS_MISTRAL, "[TOOL_CALLS]f[CALL_ID]a[ARGS]{\"x\":2}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cf_fault_every_alloc(parse_all, &cases[i], false);
        cf_fault_every_alloc(parse_all, &cases[i], true);
    }
}

static cf_call_verdict allow(void *ud, const cf_pending_call *call, cf_buf *reason)
{
    (void)ud;
    (void)call;
    (void)reason;
    return CF_CALL_RUN;
}

static cf_status give(void *ud, const cf_pending_call *call, json_t **result, cf_error *err)
{
    (void)ud;
    (void)call;
    *result = json_pack("{s:i}", "degrees", 4);
    return *result != NULL ? CF_OK : cf_fail(err, CF_ENOMEM, "no memory");
}

static const char script_json[] =
    "{\"replies\":[{\"text\":\"<think>t</think>\\n<tool_call>{\\\"name\\\":"
    "\\\"f\\\",\\\"arguments\\\":{\\\"x\\\":1}}</tool_call>\"},"
    "{\"text\":\"done\",\"chunk\":2}]}";

/* A conversation with one tool round and a thought. */
static cf_status run_loop(void *ud)
{
    (void)ud;
    static const cf_channel think[] = {{.name = {"thinking", 8}, .start = {"<think>", 7}, .end = {"</think>", 8}}};
    cf_backend *b = NULL;
    cf_conversation *conv = NULL, *copy = NULL;
    cf_sent sent;
    cf_sent_init(&sent);
    cf_script_options o = {.family = CF_TOOLS_HERMES, .channels = think, .n_channels = 1};
    cf_status st = cf_backend_script_new(&b, script_tree, &o, NULL);
    cf_preface preface = {.tools = tools_tree};
    CF_THEN(st, cf_conversation_new(&conv, &preface, NULL));
    if (st == CF_OK) {
        cf_tool_loop loop = {.decide = allow, .run = give};
        cf_send send = {.message = message_tree};
        st = cf_conversation_run(conv, b, &send, &loop, &sent, NULL);
    }
    CF_THEN(st, cf_conversation_clone(&copy, conv, NULL));
    cf_sent_deinit(&sent);
    cf_conversation_free(copy);
    cf_conversation_free(conv);
    cf_backend_free(b);
    return st;
}

static void test_fault__send(void **state)
{
    (void)state;
    cf_fault_every_alloc(run_loop, NULL, false);
    cf_fault_every_alloc(run_loop, NULL, true);
}

static int set_up(void **state)
{
    (void)state;
    cf_fault_install();
    tools_tree = json_loads(tools_json, 0, NULL);
    script_tree = json_loads(script_json, 0, NULL);
    message_tree = json_loads("{\"role\":\"user\",\"content\":\"hi\"}", 0, NULL);
    return tools_tree != NULL && script_tree != NULL && message_tree != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault__parse),
        cmocka_unit_test(test_fault__send),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
