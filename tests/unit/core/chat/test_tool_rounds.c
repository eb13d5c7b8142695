/*
 * test_tool_rounds.c - calls are run and answered, round by round, on the
 * scripted engine; commands that run them.
 */
#include "core/api/conversation.h"
#include "tests/support/t.h"

#include "core/base/alloc.h"
#include "tests/support/chat_case.h"

static const char tools[] = "[{\"name\":\"f\",\"parameters\":{\"type\":"
                            "\"object\",\"properties\":{\"x\":{\"type\":"
                            "\"integer\"}},\"required\":[\"x\"]}}]";

typedef struct desk {
    unsigned n_asked, n_run, refuse;
    cf_buf log;
} desk;

static cf_call_verdict decide(void *ud, const cf_pending_call *call, cf_buf *reason)
{
    desk *d = ud;
    (void)call;
    d->n_asked++;
    if (d->refuse > 0) {
        d->refuse--;
        cf_buf_adds(reason, "not today");
        return CF_CALL_REFUSE;
    }
    return CF_CALL_RUN;
}

static cf_status run_call(void *ud, const cf_pending_call *call, json_t **result, cf_error *err)
{
    desk *d = ud;
    d->n_run++;
    json_t *canned = cf_chat_json("{\"f\":{\"ok\":true}}");
    cf_status st = cf_tool_canned(canned, call->name, result, err);
    json_decref(canned);
    return st;
}

static void done_call(void *ud, const cf_pending_call *call, const json_t *v)
{
    desk *d = ud;
    cf_buf_addf(&d->log, "%u:", call->round);
    cf_json_write(&d->log, v);
    cf_buf_addc(&d->log, ' ');
}

static cf_status run_loop(cf_conversation *conv, const char *script, desk *d, uint32_t max_rounds,
                          cf_sent *sent, cf_error *err)
{
    cf_backend *b = cf_chat_script(script, CF_TOOLS_HERMES);
    cf_tool_loop loop = {
        .max_rounds = max_rounds, .decide = decide, .run = run_call, .done = done_call, .ud = d};
    cf_send send = {.message = cf_chat_hello()};
    cf_sent_init(sent);
    cf_status st = cf_conversation_run(conv, b, &send, &loop, sent, err);
    cf_backend_free(b);
    return st;
}

#define CALL(args)                                    \
    "{\"text\":\"<tool_call>{\\\"name\\\":\\\"f\\\"," \
    "\\\"arguments\\\":" args "}</tool_call>\"}"

static void test_loop__rounds(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_sent sent;
    desk d = {.refuse = 1};
    cf_conversation *conv = cf_chat_tree(tools);
    const char *script = "{\"replies\":[" CALL("{\\\"x\\\":1}") "," CALL("{\\\"y\\\":1}") "," CALL(
        "{\\\"x\\\":2}") ",{\"text\":\"done\"}]}";
    T_OK(run_loop(conv, script, &d, 0, &sent, &err), err);
    assert_int_equal(d.n_asked, 2);
    assert_int_equal(d.n_run, 1);
    assert_string_equal(cf_buf_cstr(&d.log),
                        "1:{\"error\":\"not today\"} "
                        "2:{\"error\":\"INVALID_PARAMETER_NAME at y: no parameter has this "
                        "name; MISSING_REQUIRED_PARAMETER at x: this parameter is required\"} "
                        "3:{\"ok\":true} ");
    assert_int_equal(cf_conversation_n_turns(conv), 8);
    assert_true(cf_str_is(cf_json_get_str(sent.response.message, "content"), "done"));
    cf_sent_deinit(&sent);
    cf_buf_deinit(&d.log);
    cf_conversation_free(conv);
}

/* A result of a third of what one message may cause. */
static cf_status run_large(void *ud, const cf_pending_call *call, json_t **result, cf_error *err)
{
    desk *d = ud;
    size_t n = CF_TOOL_LOOP_BYTES / 3;
    char *text = cf_alloc(n);
    (void)call;
    d->n_run++;
    assert_non_null(text);
    memset(text, 'x', n);
    *result = json_stringn(text, n);
    cf_free(text);
    return *result != NULL ? CF_OK : cf_oom(err);
}

static void test_loop__bytes(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_sent sent;
    desk d = {0};
    cf_conversation *conv = cf_chat_tree(tools);
    cf_backend *b = cf_chat_script("{\"replies\":[" CALL("{\\\"x\\\":1}") "]}", CF_TOOLS_HERMES);
    cf_tool_loop loop = {.max_rounds = 25, .decide = decide, .run = run_large, .ud = &d};
    cf_send send = {.message = cf_chat_hello()};
    cf_sent_init(&sent);
    T_FAILS(cf_conversation_run(conv, b, &send, &loop, &sent, &err), CF_ELIMIT);
    assert_non_null(strstr(err.text, "are over 64 MiB"));
    assert_true(d.n_run >= 3 && d.n_run <= 4);
    cf_backend_free(b);
    cf_sent_deinit(&sent);
    cf_conversation_free(conv);
}

static void test_loop__limit(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_sent sent;
    desk d = {0};
    cf_conversation *conv = cf_chat_tree(tools);
    T_FAILS(run_loop(conv, "{\"replies\":[" CALL("{\\\"x\\\":1}") "]}", &d, 3, &sent, &err),
            CF_ELIMIT);
    assert_int_equal(d.n_run, 3);
    assert_true(cf_uuid_eq(cf_conversation_head(conv), sent.reply));
    cf_sent_deinit(&sent);
    cf_buf_deinit(&d.log);
    cf_conversation_free(conv);
}

static void test_exec__ends(void **state)
{
    (void)state;
    cf_error err = {0};
    json_t *arguments = cf_chat_json("{\"x\":[1,\"\xC3\xA9\"]}");
    cf_pending_call call = {.name = {"f", 1}, .arguments = arguments};
    json_t *v = NULL;
    cf_tool_exec cat = {.command = "cat"};
    T_OK(cf_tool_exec_run(&cat, &call, &v, &err), err);
    assert_true(json_equal(json_object_get(v, "arguments"), arguments));
    json_decref(v);
    cf_tool_exec text = {.command = "printf 'it is \\377 warm'"};
    T_OK(cf_tool_exec_run(&text, &call, &v, &err), err);
    assert_string_equal(json_string_value(v), "it is \xEF\xBF\xBD warm");
    json_decref(v);
    cf_tool_exec bad = {.command = "echo no >&2; echo reason >&2; exit 3"};
    T_FAILS(cf_tool_exec_run(&bad, &call, &v, &err), CF_EIO);
    assert_string_equal(err.text, "the command ended with status 3: reason");
    cf_tool_exec slow = {.command = "sleep 60 & sleep 60", .timeout_ms = 50};
    T_FAILS(cf_tool_exec_run(&slow, &call, &v, &err), CF_ELIMIT);
    cf_tool_exec much = {.command = "yes", .max_output = 1000};
    T_FAILS(cf_tool_exec_run(&much, &call, &v, &err), CF_ELIMIT);
    int code = -1;
    cf_tool_exec lone = {.command = "(: </dev/tty) 2>/dev/null && echo 1 || "
                                    "echo 0",
                         .exit_code = &code};
    T_OK(cf_tool_exec_run(&lone, &call, &v, &err), err);
    assert_int_equal(json_integer_value(v), 0); /* it has no terminal */
    assert_int_equal(code, 0);
    json_decref(v);
    bad.exit_code = &code;
    T_FAILS(cf_tool_exec_run(&bad, &call, &v, &err), CF_EIO);
    assert_int_equal(code, 3);
    cf_cancel cancel;
    atomic_init(&cancel, true);
    cf_tool_exec stop = {.command = "sleep 60", .cancel = &cancel};
    T_FAILS(cf_tool_exec_run(&stop, &call, &v, &err), CF_ECANCELLED);
    json_decref(arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop__rounds),
        cmocka_unit_test(test_loop__bytes),
        cmocka_unit_test(test_loop__limit),
        cmocka_unit_test(test_exec__ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
