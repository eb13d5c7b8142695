/*
 * test_predicate.c - each kind of predicate on replies that do and do not
 * satisfy it, and texts that are not predicates.
 */
#include "tests/support/t.h"

#include "tui/study/ask/predicate.h"

static cf_predicate *make(const char *text)
{
    cf_predicate *p = NULL;
    cf_error err;
    T_OK(cf_predicate_read(&p, cf_str_from(text), &err), err);
    assert_memory_equal(cf_predicate_text(p).p, text, strlen(text));
    return p;
}

static bool ask(const char *text, const cf_sight *s)
{
    cf_predicate *p = make(text);
    bool holds = false;
    cf_error err;
    cf_buf why = CF_BUF_INIT;
    T_OK(cf_predicate_holds(p, s, &holds, &why, &err), err);
    cf_buf_deinit(&why);
    cf_predicate_free(p);
    return holds;
}

static void test_predicate__texts(void **state)
{
    (void)state;
    json_t *m = json_pack("{s:s,s:s}", "role", "assistant", "content", " {\"age\": 7}\n");
    const cf_sight s = {.has_reply = true, .message = m};
    assert_true(ask("contains:age", &s));
    assert_false(ask("contains:Age", &s));
    assert_true(ask("reply:\"\\w+\": \\d", &s));
    assert_true(ask("regex:^ \\{", &s));
    assert_false(ask("reply:^age", &s));
    assert_true(ask("equals:{\"age\": 7}", &s));
    assert_false(ask("equals:{\"age\": 8}", &s));
    assert_true(ask("schema:{\"required\":[\"age\"],\"type\":\"object\"}", &s));
    assert_false(ask("schema:{\"required\":[\"name\"],\"type\":\"object\"}", &s));
    assert_true(ask("icontains:AGE", &s));
    assert_false(ask("not-icontains:AGE", &s));
    assert_true(ask("not-contains:Age", &s));
    assert_true(ask("contains-all:[\"age\",\"7\"]", &s));
    assert_false(ask("contains-all:age, eight", &s));
    assert_true(ask("contains-any:eight, age", &s));
    assert_false(ask("contains-any:[\"eight, age\"]", &s));
    assert_true(ask("icontains-any:[\"AGE\"]", &s));
    assert_true(ask("icontains-all:AGE,7", &s));
    assert_true(ask("starts-with: {", &s));
    assert_false(ask("starts-with:{", &s));
    assert_true(ask("json", &s));
    assert_true(ask("json-equals:{\"age\":7}", &s));
    assert_false(ask("json-equals:[]", &s));
    assert_true(ask("contains-json:{\"type\":\"object\"}", &s));
    assert_false(ask("contains-json:{\"type\":\"array\"}", &s));
    json_decref(m);
    m = json_pack("{s:s,s:s}", "role", "assistant", "content",
                  "Here { it is: {\"a\": \"}\\\"{\"} and [1");
    const cf_sight inside = {.has_reply = true, .message = m};
    assert_true(ask("contains-json", &inside));
    assert_false(ask("json", &inside));
    json_decref(m);
    m = json_pack("{s:s,s:s}", "role", "assistant", "content", "");
    const cf_sight empty = {.has_reply = true, .message = m};
    assert_true(ask("equals", &empty));
    assert_false(ask("schema:{}", &empty));
    assert_false(ask("calls-valid", &empty));
    json_decref(m);
}

/* contains and regex see thinking and calls, equals and schema do not: of bytes
 * with all in them, and of a server's, whose bytes are the content alone. */
static void test_predicate__thinking(void **state)
{
    (void)state;
    json_t *m = json_pack("{s:s,s:s,s:s,s:[{s:{s:s,s:s}}]}", "role", "assistant", "content", "42",
                          "reasoning_content", "six by seven", "tool_calls", "function", "name",
                          "add", "arguments", "{}");
    static const char *const raws[] = {
        "<think>six by seven</think>42<tool_call>{\"name\": \"add\"}", "42", ""};
    for (size_t i = 0; i < sizeof raws / sizeof raws[0]; i++) {
        const cf_sight s = {.has_reply = true, .message = m, .raw = cf_str_from(raws[i])};
        assert_true(ask("contains:six by seven", &s));
        assert_true(ask("regex:\\badd\\b", &s));
        assert_true(ask("contains:42", &s));
        assert_true(ask("equals:42", &s));
        assert_true(ask("schema:{\"type\":\"integer\"}", &s));
        assert_false(ask("contains:seven by six", &s));
    }
    json_decref(m);
}

static void test_predicate__tokens_and_prompts(void **state)
{
    (void)state;
    const cf_token ids[] = {5, 9};
    const cf_sight s = {.has_reply = true, .ids = ids, .n_ids = 2};
    assert_true(ask("token:9@1", &s));
    assert_false(ask("token:9@0", &s));
    assert_false(ask("token:9@2", &s));
    const cf_sight bad = {.rendered = CF_EFORMAT, .is_cache_lost = true};
    const cf_sight good = {.rendered = CF_OK};
    assert_true(ask("template-error", &bad));
    assert_false(ask("template-error", &good));
    assert_true(ask("cache-lost", &bad));
    assert_false(ask("cache-lost", &good));
}

static void test_predicate__command(void **state)
{
    (void)state;
    json_t *c = json_pack("{s:[]}", "messages");
    const cf_sight s = {.context = c, .command_ms = 5000};
    assert_true(ask("command:grep -q messages", &s));
    assert_false(ask("command:grep -q tools", &s));
    assert_true(ask("command:true", &s)); /* does not read its input */
    cf_error err;
    bool holds;
    cf_predicate *p = make("command:no-such-program-anywhere");
    T_FAILS(cf_predicate_holds(p, &s, &holds, NULL, &err), CF_EIO);
    cf_predicate_free(p);
    cf_buf why = CF_BUF_INIT;
    p = make("command:echo 'no good'; exit 3");
    T_OK(cf_predicate_holds(p, &s, &holds, &why, &err), err);
    assert_false(holds);
    assert_string_equal(cf_buf_cstr(&why), "status 3: no good");
    cf_buf_deinit(&why);
    cf_predicate_free(p);
    const cf_sight quick = {.context = c, .command_ms = 50};
    p = make("command:sleep 30");
    T_FAILS(cf_predicate_holds(p, &quick, &holds, NULL, &err), CF_ELIMIT);
    cf_predicate_free(p);
    cf_cancel stop = true;
    const cf_sight stopped = {.context = c, .cancel = &stop};
    p = make("command:sleep 30");
    T_FAILS(cf_predicate_holds(p, &stopped, &holds, NULL, &err), CF_ECANCELLED);
    cf_predicate_free(p);
    json_decref(c);
}

static const char declared[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"add\",\"parameters\":"
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
    "\"required\":[\"a\"]}}}]";

/* A call in the syntax of another family is lost; one in its own is not. */
static void test_predicate__calls(void **state)
{
    (void)state;
    cf_error err;
    json_t *v = NULL;
    cf_tool_set *tools = NULL;
    T_OK(cf_json_read(&v, declared, strlen(declared), &err), err);
    T_OK(cf_tool_set_new(&tools, v, &err), err);
    json_t *m = json_pack("{s:s,s:s}", "role", "assistant", "content", "");
    cf_sight s = {
        .has_reply = true,
        .raw = cf_str_from("<tool_call>\n{\"name\": \"add\", \"arguments\": "
                           "{\"a\": 1}}\n</tool_call>"),
        .message = m,
        .family = CF_TOOLS_MISTRAL,
        .tools = tools,
    };
    assert_true(ask("parse-lost", &s));
    assert_false(ask("call-invalid", &s));
    s.raw = cf_str_from("There is nothing to add.");
    assert_false(ask("parse-lost", &s));
    s.calls = CF_TOOL_MISSING_REQUIRED_PARAMETER;
    assert_true(ask("call-invalid", &s));
    assert_false(ask("parse-lost", &s));
    s.calls = CF_TOOL_PARSE_ERROR;
    assert_true(ask("parse-lost", &s));
    json_decref(m);
    m = json_pack("{s:s,s:[{s:s,s:{s:s,s:s}}]}", "role", "assistant", "tool_calls", "type",
                  "function", "function", "name", "add", "arguments", "{}");
    s.message = m;
    s.calls = CF_TOOL_VALID;
    assert_true(ask("calls-valid", &s));
    assert_true(ask("calls-valid:add", &s));
    assert_false(ask("calls-valid:subtract", &s));
    s.calls = CF_TOOL_INVALID_PARAMETER_TYPE;
    assert_false(ask("calls-valid:add", &s));
    json_decref(m);
    cf_tool_set_free(tools);
    json_decref(v);
}

static void test_predicate__mistakes(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "no-such",
        "reply",
        "reply:",
        "reply:(",
        "token:a@1",
        "token:1",
        "token:1@",
        "token:-1@0",
        "template-error:x",
        "schema:{\"type\":5}",
        "contains:",
        "command",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cf_predicate *p = NULL;
        cf_error err = {0};
        cf_status st = cf_predicate_read(&p, cf_str_from(bad[i]), &err);
        if (st == CF_OK) {
            fail_msg("'%s' was taken", bad[i]);
        }
        assert_true(strlen(err.text) > 0);
    }
    cf_predicate *p = make("reply:x");
    bool holds;
    cf_error err;
    T_FAILS(cf_predicate_holds(p, &(cf_sight){.rendered = CF_OK}, &holds, NULL, &err), CF_EINVAL);
    assert_int_equal(cf_predicate_needs(p), CF_SEE_REPLY);
    cf_predicate_free(p);
    assert_string_equal(cf_predicate_kind(0), "call-invalid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predicate__texts),
        cmocka_unit_test(test_predicate__thinking),
        cmocka_unit_test(test_predicate__tokens_and_prompts),
        cmocka_unit_test(test_predicate__command),
        cmocka_unit_test(test_predicate__calls),
        cmocka_unit_test(test_predicate__mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
