/*
 * test_tool_model.c - the progress of calls: parsed, validated, answered; the
 * model's view of a failure; and replies with other calls, or none.
 */
#include "tests/support/fault.h"
#include "tests/support/t.h"
#include "tui/lab/tools/tool_model.h"

enum { TURNS_MAX = 8 };

typedef struct fixture {
    cf_turn turn[TURNS_MAX];
    const cf_turn *path[TURNS_MAX];
    size_t n;
    json_t *declared;
    cf_tool_set *tools;
    cf_tool_model m;
} fixture;

static const char declarations[] =
    "[{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"city\":{\"type\":\"string\"},\"day\":{\"type\":"
    "\"string\",\"enum\":[\"today\",\"tomorrow\"]}},\"required\":[\"city\"]}},"
    "{\"name\":\"get_time\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{}}}]";

#define CALL(args)                                                     \
    "<tool_call>\n{\"name\":\"get_weather\",\"arguments\":" args "}\n" \
    "</tool_call>"

static json_t *json_of(const char *text)
{
    cf_error err;
    json_t *v;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

static void add(fixture *f, const char *message, const char *raw)
{
    cf_turn *t = &f->turn[f->n];
    *t = (cf_turn){.message = json_of(message), .raw = cf_str_from(raw)};
    t->id.b[0] = (uint8_t)(f->n + 1);
    f->path[f->n++] = t;
}

static void set_up(fixture *f)
{
    cf_error err;
    *f = (fixture){.declared = json_of(declarations)};
    T_OK(cf_tool_set_new(&f->tools, f->declared, &err), err);
}

static void tear_down(fixture *f)
{
    cf_tool_model_deinit(&f->m);
    for (size_t i = 0; i < f->n; i++) {
        json_decref(cf_json_ref(f->turn[i].message));
    }
    cf_tool_set_free(f->tools);
    json_decref(f->declared);
}

static void build(fixture *f)
{
    cf_error err;
    cf_tool_model_deinit(&f->m);
    T_OK(cf_tool_model_build(&f->m, f->path, f->n, CF_TOOLS_HERMES, f->tools,
                             cf_str_from("<think>"), &err),
         err);
}

static void assert_outcomes(const cf_call_row *row, int raw, int parsed, int valid, int run,
                            int back)
{
    const int want[] = {raw, parsed, valid, run, back};
    for (int i = 0; i < CF_STAGE_COUNT; i++) {
        assert_int_equal(row->outcome[i], want[i]);
    }
}

static void test_stages__of_each_kind_of_call(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add(&f, "{\"role\":\"user\",\"content\":\"hi\"}", "");
    add(&f, "{\"role\":\"assistant\",\"content\":\"\"}",
        "<think>a <tool_call> to come</think>" CALL("{\"city\":\"Oslo\"}"));
    add(&f, "{\"role\":\"tool\",\"name\":\"get_weather\",\"content\":\"4\"}", "");
    add(&f, "{\"role\":\"assistant\",\"content\":\"\"}",
        CALL("{\"city\":7}") "\n" CALL("{\"city\":Oslo}"));
    build(&f);
    assert_int_equal(f.m.n_row, 3);
    const cf_call_row *r = f.m.row;
    assert_outcomes(&r[0], CF_OUTCOME_OK, CF_OUTCOME_OK, CF_OUTCOME_OK, CF_OUTCOME_OK,
                    CF_OUTCOME_OK);
    assert_int_equal(r[0].result, 2);
    assert_int_equal(f.m.reply[r[0].reply].skip, strlen("<think>a <tool_call> "
                                                        "to come</think>"));
    assert_outcomes(&r[1], CF_OUTCOME_OK, CF_OUTCOME_OK, CF_OUTCOME_FAIL, CF_OUTCOME_WAITS,
                    CF_OUTCOME_NONE);
    assert_outcomes(&r[2], CF_OUTCOME_OK, CF_OUTCOME_FAIL, CF_OUTCOME_NONE, CF_OUTCOME_NONE,
                    CF_OUTCOME_NONE);
    assert_int_equal(cf_tool_model_nth(&f.m, &r[0]), 0);
    assert_int_equal(cf_tool_model_nth(&f.m, &r[2]), 1);
    assert_null(cf_tool_model_call(&f.m, &r[2]));
    tear_down(&f);
}

static void test_results__by_id_by_name_by_order(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add(&f,
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"a\",\"function\":{\"name\":\"get_time\",\"arguments\":{}}},"
        "{\"id\":\"b\",\"function\":{\"name\":\"get_time\",\"arguments\":{}}},"
        "{\"function\":{\"name\":\"get_weather\",\"arguments\":"
        "\"{\\\"city\\\":\\\"Oslo\\\"}\"}}]}",
        "");
    add(&f, "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"1\"}", "");
    add(&f, "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"2\"}", "");
    add(&f, "{\"role\":\"tool\",\"name\":\"get_weather\",\"content\":\"3\"}", "");
    build(&f);
    assert_int_equal(f.m.n_row, 3);
    assert_true(f.m.reply[0].is_rewritten);
    assert_int_equal(f.m.row[0].outcome[CF_STAGE_RAW], CF_OUTCOME_NONE);
    assert_int_equal(f.m.row[0].result, 2);
    assert_int_equal(f.m.row[1].result, 1);
    assert_int_equal(f.m.row[2].result, 3);
    tear_down(&f);
}

static void test_failure__is_told_in_one_line(void **state)
{
    (void)state;
    fixture f;
    cf_buf why = CF_BUF_INIT;
    set_up(&f);
    add(&f, "{\"role\":\"assistant\",\"content\":\"\"}",
        CALL("{\"city\":7}") "\n" CALL("{\"city\":Oslo}") CALL("{\"city\":\"Oslo\"}"));
    add(&f, "{\"role\":\"tool\",\"content\":\"told\"}", "");
    build(&f);
    assert_true(cf_tool_model_failure(&f.m, &f.m.row[0], &why));
    assert_non_null(strstr(cf_buf_cstr(&why), "INVALID_PARAMETER_TYPE at city"));
    cf_buf_reset(&why);
    assert_true(cf_tool_model_failure(&f.m, &f.m.row[1], &why));
    assert_string_equal(cf_buf_cstr(&why), "the call cannot be parsed: expected a JSON value at "
                                           "byte 54");
    cf_buf_reset(&why);
    assert_false(cf_tool_model_failure(&f.m, &f.m.row[2], &why));
    assert_int_equal(why.n, 0);
    cf_buf_deinit(&why);
    tear_down(&f);
}

static void test_failure__is_found_again_in_the_path(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add(&f, "{\"role\":\"assistant\",\"content\":\"\"}", CALL("{\"city\":Oslo}"));
    add(&f, "{\"role\":\"tool\",\"content\":\"told\"}", "");
    build(&f);
    assert_int_equal(f.m.row[0].result, 1);
    assert_int_equal(f.m.row[0].outcome[CF_STAGE_BACK], CF_OUTCOME_OK);
    tear_down(&f);
}

static void test_nothing_declared__nothing_wrong(void **state)
{
    (void)state;
    fixture f;
    cf_buf why = CF_BUF_INIT;
    cf_tool_set *none;
    cf_error err;
    set_up(&f);
    T_OK(cf_tool_set_new(&none, NULL, &err), err);
    cf_tool_set_free(f.tools);
    f.tools = none;
    add(&f, "{\"role\":\"assistant\",\"content\":\"\"}", CALL("{\"x\":1}"));
    build(&f);
    assert_int_equal(f.m.row[0].outcome[CF_STAGE_VALID], CF_OUTCOME_NONE);
    assert_false(cf_tool_model_failure(&f.m, &f.m.row[0], &why));
    cf_buf_deinit(&why);
    tear_down(&f);
}

/* A reply with text, two calls of one block each, and text after. */
static void add_two(fixture *f)
{
    add(f,
        "{\"role\":\"assistant\",\"content\":\"Let me see.\\n\",\"tool_calls\":"
        "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\","
        "\"arguments\":{\"city\":\"Oslo\"}}},{\"type\":\"function\","
        "\"function\":{\"name\":\"get_weather\",\"arguments\":{\"city\":"
        "\"Rome\"}}}]}",
        "Let me see.\n" CALL("{\"city\":\"Oslo\"}") "\n" CALL("{\"city\":\"Rome\"}"));
}

static void test_edit__message_and_bytes(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    json_t *message;
    cf_buf raw = CF_BUF_INIT;
    set_up(&f);
    add_two(&f);
    build(&f);
    T_OK(cf_tool_model_edit(&f.m,
                            &(cf_call_edit){&f.m.row[1], f.path[0], CF_TOOLS_HERMES,
                                            cf_str_from("{\"city\": \"Bergen\", "
                                                        "\"day\":\"today\"}")},
                            &message, &raw, &err),
         err);
    json_t *calls = json_object_get(message, "tool_calls");
    json_t *want = json_of("{\"city\":\"Bergen\",\"day\":\"today\"}");
    assert_true(json_equal(
        json_object_get(json_object_get(json_array_get(calls, 1), "function"), "arguments"), want));
    /* The bytes parse to the same, and what stood around them is kept. */
    fixture g;
    set_up(&g);
    add(&g, "{\"role\":\"assistant\",\"content\":\"\"}", cf_buf_cstr(&raw));
    build(&g);
    assert_int_equal(g.m.n_row, 2);
    assert_memory_equal(raw.p, "Let me see.\n<tool_call>", 23);
    const cf_tool_call *c = cf_tool_model_call(&g.m, &g.m.row[1]);
    assert_true(json_equal(c->json, want));
    assert_true(json_equal(cf_tool_model_call(&g.m, &g.m.row[0])->json,
                           cf_tool_model_call(&f.m, &f.m.row[0])->json));
    tear_down(&g);
    json_decref(want);
    json_decref(message);
    cf_buf_deinit(&raw);
    tear_down(&f);
}

static void test_edit__keeps_arguments_that_were_text(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    json_t *message;
    cf_buf raw = CF_BUF_INIT;
    set_up(&f);
    add(&f,
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{"
        "\"function\":{\"name\":\"get_weather\",\"arguments\":\"{}\"}}]}",
        "");
    build(&f);
    T_OK(cf_tool_model_edit(&f.m,
                            &(cf_call_edit){&f.m.row[0], f.path[0], CF_TOOLS_HERMES,
                                            cf_str_from("{ \"city\": \"Oslo\" }")},
                            &message, &raw, &err),
         err);
    assert_int_equal(raw.n, 0); /* there were no bytes to change */
    cf_str text = cf_json_get_str(
        json_object_get(json_array_get(json_object_get(message, "tool_calls"), 0), "function"),
        "arguments");
    T_TEXT(text.p, text.n, "{\"city\":\"Oslo\"}");
    json_decref(message);
    cf_buf_deinit(&raw);
    tear_down(&f);
}

static void test_edit__refuses(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    json_t *message;
    cf_buf raw = CF_BUF_INIT;
    set_up(&f);
    add_two(&f);
    add(&f, "{\"role\":\"assistant\",\"content\":\"\"}", CALL("{\"city\":\"Oslo\"}"));
    build(&f);
    static const char *const bad[] = {"", "[1]", "{\"city\":}", "{} {}", "1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        T_FAILS(cf_tool_model_edit(
                    &f.m,
                    &(cf_call_edit){&f.m.row[0], f.path[0], CF_TOOLS_HERMES, cf_str_from(bad[i])},
                    &message, &raw, &err),
                CF_EFORMAT);
    }
    T_FAILS(cf_tool_model_edit(
                &f.m, &(cf_call_edit){&f.m.row[2], f.path[1], CF_TOOLS_HERMES, cf_str_from("{}")},
                &message, &raw, &err),
            CF_EUNSUPPORTED); /* a message that lists no calls */
    cf_buf_deinit(&raw);
    tear_down(&f);
}

static void test_drop__leaves_the_text(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    json_t *message;
    cf_buf raw = CF_BUF_INIT;
    set_up(&f);
    add_two(&f);
    build(&f);
    T_OK(cf_tool_model_drop(&f.m, &f.m.row[0], f.path[0], &message, &raw, &err), err);
    assert_null(json_object_get(message, "tool_calls"));
    cf_str content = cf_json_get_str(message, "content");
    T_TEXT(content.p, content.n, "Let me see.");
    assert_null(strstr(cf_buf_cstr(&raw), "tool_call"));
    json_decref(message);
    cf_buf_deinit(&raw);
    tear_down(&f);
}

static void test_check__arguments(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    static const struct {
        const char *arguments, *said;
        bool is_valid;
    } cases[] = {
        {"{\"city\":\"Oslo\"}", "", true},
        {"{\"city\":\"Oslo\",\"day\":\"never\"}", "INVALID_PARAMETER_VALUE", false},
        {"{}", "MISSING_REQUIRED_PARAMETER", false},
        {"{\"city\":1}", "INVALID_PARAMETER_TYPE $.city", false},
        {"{\"city\":\"</tool_call>\"}", "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_buf said = CF_BUF_INIT;
        cf_error err;
        bool is_valid;
        T_OK(cf_tool_check_arguments(f.tools, cf_str_from("get_weather"),
                                     cf_str_from(cases[i].arguments), &said, &is_valid, &err),
             err);
        assert_int_equal(is_valid, cases[i].is_valid);
        assert_non_null(strstr(cf_buf_cstr(&said), cases[i].said));
        assert_int_equal(said.n == 0, cases[i].said[0] == '\0');
        cf_buf_deinit(&said);
    }
    cf_buf said = CF_BUF_INIT;
    cf_error err;
    bool is_valid = true;
    T_FAILS(cf_tool_check_arguments(f.tools, cf_str_from("get_weather"), cf_str_from("{\"city\":"),
                                    &said, &is_valid, &err),
            CF_EFORMAT);
    assert_false(is_valid);
    T_OK(cf_tool_check_arguments(NULL, cf_str_from("anything"), cf_str_from("{\"x\":1}"), &said,
                                 &is_valid, &err),
         err);
    assert_true(is_valid); /* nothing is declared */
    cf_buf_deinit(&said);
    tear_down(&f);
}

static void test_result_message__name_and_id_where_known(void **state)
{
    (void)state;
    const cf_str none = {NULL, 0};
    json_t *v = cf_tool_result_message(cf_str_from("f"), cf_str_from("c1"), cf_str_from("4"));
    json_t *want = json_of("{\"role\":\"tool\",\"name\":\"f\",\"content\":"
                           "\"4\",\"tool_call_id\":\"c1\"}");
    assert_true(json_equal(v, want));
    json_decref(v);
    json_decref(want);
    v = cf_tool_result_message(none, none, none);
    want = json_of("{\"role\":\"tool\",\"content\":\"\"}");
    assert_true(json_equal(v, want));
    json_decref(v);
    json_decref(want);
    assert_null(cf_tool_result_message(none, none, cf_str_from("\xFF")));
    v = cf_tool_result_message(none, none,
                               cf_str_from("[{\"type\":\"image\",\"blob\":\"aGVsbG8=\"}]"));
    assert_int_equal(json_array_size(json_object_get(v, "content")), 1);
    json_decref(v);
    v = cf_tool_result_message(none, none, cf_str_from("[{\"n\":1}]"));
    assert_true(json_is_string(json_object_get(v, "content")));
    json_decref(v);
}

/* ---- memory ------------------------------------------------------------- */

static cf_status build_and_edit(void *ud)
{
    fixture *f = ud;
    cf_tool_model m;
    json_t *message = NULL;
    cf_buf raw = CF_BUF_INIT, said = CF_BUF_INIT;
    bool is_valid;
    CF_TRY(
        cf_tool_model_build(&m, f->path, f->n, CF_TOOLS_HERMES, f->tools, cf_str_from(""), NULL));
    cf_status st = cf_tool_model_edit(
        &m,
        &(cf_call_edit){&m.row[0], f->path[0], CF_TOOLS_HERMES, cf_str_from("{\"city\":\"Bonn\"}")},
        &message, &raw, NULL);
    if (st == CF_OK) {
        json_decref(message);
        cf_buf_deinit(&raw);
        st = cf_tool_model_drop(&m, &m.row[0], f->path[0], &message, &raw, NULL);
    }
    if (st == CF_OK) {
        json_decref(message);
        st = cf_tool_check_arguments(f->tools, cf_str_from("get_weather"),
                                     cf_str_from("{\"city\":1}"), &said, &is_valid, NULL);
    }
    if (st == CF_OK && said.failed) {
        st = CF_ENOMEM; /* told by the buffer */
    }
    cf_buf_deinit(&raw);
    cf_buf_deinit(&said);
    cf_tool_model_deinit(&m);
    return st;
}

static void test_memory__runs_out_anywhere(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add_two(&f);
    cf_fault_every_alloc(build_and_edit, &f, false);
    cf_fault_every_alloc(build_and_edit, &f, true);
    tear_down(&f);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages__of_each_kind_of_call),
        cmocka_unit_test(test_results__by_id_by_name_by_order),
        cmocka_unit_test(test_failure__is_told_in_one_line),
        cmocka_unit_test(test_failure__is_found_again_in_the_path),
        cmocka_unit_test(test_nothing_declared__nothing_wrong),
        cmocka_unit_test(test_edit__message_and_bytes),
        cmocka_unit_test(test_edit__keeps_arguments_that_were_text),
        cmocka_unit_test(test_edit__refuses),
        cmocka_unit_test(test_drop__leaves_the_text),
        cmocka_unit_test(test_check__arguments),
        cmocka_unit_test(test_result_message__name_and_id_where_known),
        cmocka_unit_test(test_memory__runs_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
