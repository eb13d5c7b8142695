/* parse(format(x)) = x for calls of every family with random arguments. */
#include "core/api/tool.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

#include "core/base/alloc.h"

static const char *const texts[] = {
    "",
    "plain",
    "\\\"quoted\\\" 'and' \\\\",
    "l1\\nl2",
    "</tool_call>",
    "```",
    "<|\\\"|>",
    "<escape>",
    "{\\\"a\\\": [1}",
    "}]),;=:",
    "\xC3\xA9\xF0\x9F\x98\x80",
    "\\u0007\\t",
    "[TOOL_CALLS]",
    "<tool_call|>",
    "None",
    "# no comment",
    "\\\\n",
    "<end_function_call>",
};
static const char *const numbers[] = {
    "0",
    "-1",
    "9007199254740993",
    "18446744073709551616",
    "-0.0",
    "1e+300",
    "0.1",
    "-2.5e-07",
    "1.0",
    "true",
    "false",
    "null",
};
static const char *const keys[] = {"a", "b_1", "name", "arguments", "type", "x2"};

static void put_value(cf_buf *b, cf_rand *r, unsigned depth)
{
    size_t kind = cf_rand_below(r, depth < 4 ? 4 : 2);
    if (kind == 0) {
        cf_buf_addf(b, "\"%s\"", texts[cf_rand_below(r, sizeof texts / sizeof *texts)]);
    } else if (kind == 1) {
        cf_buf_adds(b, numbers[cf_rand_below(r, sizeof numbers / sizeof *numbers)]);
    } else {
        size_t n = cf_rand_below(r, 4);
        cf_buf_addc(b, kind == 2 ? '[' : '{');
        for (size_t i = 0; i < n; i++) {
            cf_buf_adds(b, i > 0 ? "," : "");
            if (kind == 3) {
                cf_buf_addf(b, "\"%s%zu\":", keys[cf_rand_below(r, sizeof keys / sizeof *keys)], i);
            }
            put_value(b, r, depth + 1);
        }
        cf_buf_addc(b, kind == 2 ? ']' : '}');
    }
}

/* Declarations that fit the calls: with arguments between tags they decide
 * what is a string. */
static cf_tool_set *declare(const cf_tool_call *calls, size_t n)
{
    static const char *const types[] = {"object", "array",   "string",  "integer",
                                        "number", "boolean", "boolean", "null"};
    cf_error err = {0};
    cf_tool_set *set = NULL;
    cf_tool_parser *parser;
    const cf_tool_parse *p;
    cf_buf raw = CF_BUF_INIT;
    json_t *list = json_array();
    T_OK(cf_tool_format_calls(&raw, CF_TOOLS_HERMES, calls, n, &err), err);
    T_OK(cf_tool_parser_new(&parser, CF_TOOLS_HERMES, NULL, NULL, NULL, &err), err);
    T_OK(cf_tool_parser_feed(parser, raw.p, raw.n, &err), err);
    T_OK(cf_tool_parser_finish(parser, &p, &err), err);
    for (size_t i = 0; i < n; i++) {
        json_t *args = cf_json_ref(p->calls[i].json);
        json_t *properties = json_object();
        const char *key;
        json_t *v;
        json_object_foreach(args, key, v)
        {
            json_object_set_new(properties, key, json_pack("{s:s}", "type", types[json_typeof(v)]));
        }
        json_array_append_new(list, json_pack("{s:s%, s:{s:s, s:o}}", "name", calls[i].name.p,
                                              calls[i].name.n, "parameters", "type", "object",
                                              "properties", properties));
    }
    cf_tool_parser_free(parser);
    cf_buf_deinit(&raw);
    T_OK(cf_tool_set_new(&set, list, &err), err);
    json_decref(list);
    return set;
}

static void check(cf_tool_family family, const cf_tool_call *calls, size_t n,
                  const cf_tool_set *tools)
{
    cf_error err = {0};
    cf_buf raw = CF_BUF_INIT;
    cf_tool_parser *parser = NULL;
    const cf_tool_parse *p = NULL;
    cf_status st = cf_tool_format_calls(&raw, family, calls, n, &err);
    if (st == CF_EUNSUPPORTED) { /* a string with every marker */
        cf_buf_deinit(&raw);
        return;
    }
    T_OK(st, err);
    T_OK(cf_tool_parser_new(&parser, family, tools, NULL, NULL, &err), err);
    T_OK(cf_tool_parser_feed(parser, raw.p, raw.n, &err), err);
    T_OK(cf_tool_parser_finish(parser, &p, &err), err);
    if (p->n_calls != n || p->status != CF_TOOL_VALID) {
        fail_msg("%s: %zu calls of %zu, %s:\n%s", cf_tool_family_name(family), p->n_calls, n,
                 cf_tool_status_name(p->status), cf_buf_cstr(&raw));
    }
    for (size_t i = 0; i < n; i++) {
        if (!cf_str_eq(p->calls[i].name, calls[i].name) ||
            !cf_str_eq(p->calls[i].arguments, calls[i].arguments)) {
            fail_msg("%s:\n%s\ngot  %.*s\nwant %.*s", cf_tool_family_name(family),
                     cf_buf_cstr(&raw), (int)p->calls[i].arguments.n, p->calls[i].arguments.p,
                     (int)calls[i].arguments.n, calls[i].arguments.p);
        }
    }
    cf_tool_parser_free(parser);
    cf_buf_deinit(&raw);
}

static void test_roundtrip__calls(void **state)
{
    static const char *const names[] = {"f_1", "get.it", "f_2"};
    (void)state;
    cf_rand rand = {11};
    for (int round = 0; round < 1500; round++) {
        cf_buf args[3] = {CF_BUF_INIT, CF_BUF_INIT, CF_BUF_INIT};
        cf_tool_call calls[3];
        memset(calls, 0, sizeof calls);
        size_t n = 1 + cf_rand_below(&rand, 3);
        for (size_t i = 0; i < n; i++) {
            size_t n_args = cf_rand_below(&rand, 4);
            cf_buf_addc(&args[i], '{');
            for (size_t k = 0; k < n_args; k++) {
                cf_buf_addf(&args[i], "%s\"%s%zu\":", k > 0 ? "," : "",
                            keys[cf_rand_below(&rand, 6)], k);
                put_value(&args[i], &rand, 0);
            }
            cf_buf_addc(&args[i], '}');
            calls[i].name = cf_str_from(names[i]);
            calls[i].arguments = cf_str_make(args[i].p, args[i].n);
        }
        cf_tool_set *tools = declare(calls, n);
        for (int f = CF_TOOLS_GENERIC; f < CF_TOOL_FAMILY_N; f++) {
            check((cf_tool_family)f, calls, n, tools);
        }
        cf_tool_set_free(tools);
        for (size_t i = 0; i < 3; i++) {
            cf_buf_deinit(&args[i]);
        }
    }
}

/* The layouts that models were trained on. */
static void test_format__declarations_and_results(void **state)
{
    (void)state;
    cf_error err = {0};
    const char *json = "[{\"name\":\"test_tool\",\"description\":\"This is a test tool.\","
                       "\"parameters\":{\"type\":\"object\",\"properties\":{\"p_1\":{\"type\":"
                       "\"string\",\"description\":\"First parameter.\"},\"p_2\":{\"type\":"
                       "\"array\",\"items\":{\"type\":\"number\"}}},\"required\":[\"p_1\"]}}]";
    json_t *v = NULL;
    cf_tool_set *set = NULL;
    cf_buf out = CF_BUF_INIT;
    T_OK(cf_json_read(&v, json, strlen(json), &err), err);
    T_OK(cf_tool_set_new(&set, v, &err), err);
    T_OK(cf_tool_format_declarations(&out, CF_TOOLS_GEMMA3, set, &err), err);
    assert_string_equal(cf_buf_cstr(&out), "def test_tool(\n    p_1: str,\n    p_2: list[float] | "
                                           "None = None,\n) -> dict:\n  \"\"\"This is a test "
                                           "tool.\n\n  Args:\n    p_1: First parameter.\n    "
                                           "p_2:\n  \"\"\"\n");
    cf_buf_reset(&out);
    T_OK(cf_tool_format_declarations(&out, CF_TOOLS_FUNCTIONGEMMA, set, &err), err);
    assert_string_equal(cf_buf_cstr(&out),
                        "<start_function_declaration>declaration:test_tool{description:<escape>"
                        "This is a test tool.<escape>,parameters:{type:<escape>OBJECT<escape>,"
                        "properties:{p_1:{type:<escape>STRING<escape>,description:<escape>First"
                        " parameter.<escape>},p_2:{type:<escape>ARRAY<escape>,items:{type:"
                        "<escape>NUMBER<escape>}}},required:[<escape>p_1<escape>]}}<end_"
                        "function_declaration>");
    json_t *result = json_pack("{s:b,s:[i,n]}", "ok", 1, "v", 3);
    cf_buf_reset(&out);
    T_OK(cf_tool_format_result(&out, CF_TOOLS_GEMMA3, cf_str_from("f"), result, &err), err);
    assert_string_equal(cf_buf_cstr(&out),
                        "```tool_outputs\n{\"ok\": True, \"v\": [3, None]}\n```");
    cf_buf_reset(&out);
    T_OK(cf_tool_format_result(&out, CF_TOOLS_GEMMA4, cf_str_from("f"), result, &err), err);
    assert_string_equal(cf_buf_cstr(&out),
                        "<|tool_response>response:f{ok:true,v:[3,null]}<tool_response|>");
    json_decref(result);
    json_decref(v);
    cf_tool_set_free(set);
    cf_buf_deinit(&out);
}

static void test_format__cannot(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_buf out = CF_BUF_INIT;
    cf_buf_adds(&out, "before");
    cf_tool_call call = {.name = {"my tool", 7}, .arguments = {"{}", 2}};
    T_FAILS(cf_tool_format_calls(&out, CF_TOOLS_GEMMA3, &call, 1, &err), CF_EUNSUPPORTED);
    call.name = cf_str_from("f");
    call.arguments = cf_str_from("[1]");
    T_FAILS(cf_tool_format_calls(&out, CF_TOOLS_HERMES, &call, 1, &err), CF_EFORMAT);
    call.arguments = cf_str_from("{\"a-b\":1}");
    T_FAILS(cf_tool_format_calls(&out, CF_TOOLS_LFM2, &call, 1, &err), CF_EUNSUPPORTED);
    assert_string_equal(cf_buf_cstr(&out), "before");
    cf_buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roundtrip__calls),
        cmocka_unit_test(test_format__declarations_and_results),
        cmocka_unit_test(test_format__cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
