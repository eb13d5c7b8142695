/*
 * test_promptfoo.c - YAML as JSON values, and configurations of promptfoo as
 * plans: those of its documentation, and what is refused.
 */
#include "tests/support/t.h"

#include "tests/support/plan_file.h"
#include "tests/support/store_dir.h"
#include "tui/study/import/yaml_read.h"
#include "tui/study/sweep/sweep_output.h"

/* ---- YAML --------------------------------------------------------------- */

static void is_json(const char *yaml, const char *json)
{
    cf_yaml doc;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    T_OK(cf_yaml_read(&doc, "y", cf_str_from(yaml), &err), err);
    cf_json_write(&out, doc.root);
    assert_string_equal(cf_buf_cstr(&out), json);
    cf_buf_deinit(&out);
    cf_yaml_deinit(&doc);
}

static void is_bad(const char *yaml, cf_status code, const char *want)
{
    cf_yaml doc;
    cf_error err;
    T_FAILS(cf_yaml_read(&doc, "y", cf_str_from(yaml), &err), code);
    if (strstr(err.text, want) == NULL) {
        fail_msg("'%s' has no '%s'", err.text, want);
    }
}

static void test_yaml__values(void **state)
{
    (void)state;
    is_json("", "null");
    is_json("[1, -2, +3, 0x1F, 0o17, 1.5, .5, 1e3, 12e]", "[1,-2,3,31,15,1.5,0.5,1000.0,\"12e\"]");
    is_json("[~, null, true, False, yes, no, 'true', \"1\", 2001-01-01]",
            "[null,null,true,false,\"yes\",\"no\",\"true\",\"1\","
            "\"2001-01-01\"]");
    is_json("a: {b: [c, d]}\ne: |-\n  f\n  g\n", "{\"a\":{\"b\":[\"c\",\"d\"]},\"e\":\"f\\ng\"}");
    is_json("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
            "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"c\":3,\"b\":1}}");
    is_json("!!str 5", "\"5\"");
    is_json("\xEF\xBB\xBF"
            "a: 1\r\nb: 2\r\n",
            "{\"a\":1,\"b\":2}");
}

static void test_yaml__mistakes(void **state)
{
    (void)state;
    is_bad("a: 1\na: 2\n", CF_EFORMAT, "y:2: this key is here twice");
    is_bad("a: *b\n", CF_EFORMAT, "y:1: an alias without its anchor");
    is_bad("a: &a [*a]\n", CF_EFORMAT, "an alias without its anchor");
    is_bad("a:\n  - b\n c: d\n", CF_EFORMAT, "y:3:");
    is_bad("a: 1\n---\nb: 2\n", CF_EFORMAT, "a second document");
    is_bad("? [a]\n: b\n", CF_EFORMAT, "a key that is not a text");
    is_bad("!!python/object:os.system x", CF_EFORMAT, "this tag");
}

/* A few lines that would stand for a billion texts, or nest without end. */
static void test_yaml__bounds(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 10; i++) {
        cf_buf_addf(&b, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) {
            cf_buf_addf(&b, "%s*a%d", k > 0 ? "," : "", i - 1);
        }
        cf_buf_adds(&b, "]\n");
    }
    is_bad(cf_buf_cstr(&b), CF_ELIMIT, "more than 1000000 nodes");
    cf_buf_reset(&b);
    cf_buf_adds(&b, "a0: &a0 [x]\n");
    for (int i = 1; i < 100; i++) {
        cf_buf_addf(&b, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    }
    is_bad(cf_buf_cstr(&b), CF_ELIMIT, "nested deeper");
    cf_buf_reset(&b);
    for (int i = 0; i < 100; i++) {
        cf_buf_addc(&b, '[');
    }
    is_bad(cf_buf_cstr(&b), CF_ELIMIT, "nested deeper");
    cf_buf_deinit(&b);
}

/* ---- plans -------------------------------------------------------------- */

static void read_plan(cf_sweep_plan *plan, const char *text)
{
    cf_plan_read(plan, "plan.yaml", text);
}

static void refuses(const char *text, const char *want)
{
    cf_plan_refused("bad.yaml", text, want);
}

static void has_messages(const cf_sweep_plan *p, size_t item, size_t wording, const char *json)
{
    cf_buf out = CF_BUF_INIT;
    cf_json_write(&out, json_array_get(p->item[item].messages, wording));
    assert_string_equal(cf_buf_cstr(&out), json);
    cf_buf_deinit(&out);
}

/* The first configuration of promptfoo's guide, with its assertions. */
static void test_promptfoo__guide(void **state)
{
    (void)state;
    cf_sweep_plan p;
    store_dir_put_text("prompt1.txt", "Translate to {{language}}: {{input}}\n");
    store_dir_put_text("prompt2.json",
                       "[{\"role\":\"system\",\"content\":\"You speak "
                       "{{language}}.\"},{\"role\":\"user\",\"content\":\"{{input}}\"}"
                       "]");
    read_plan(&p, "prompts:\n- file://prompt1.txt\n- file://prompt2.json\n"
                  "providers:\n- openai:gpt-5-mini\n"
                  "- id: openai:chat:local\n  label: mine\n  config:\n"
                  "    apiBaseUrl: http://localhost:9/v1\n"
                  "    temperature: 0.5\n    max_tokens: 7\n"
                  "tests:\n"
                  "- vars: {language: French, input: Hello world}\n"
                  "  assert:\n  - type: contains-json\n"
                  "  - type: contains\n    value: '{{input}}'\n"
                  "- vars: {language: German, input: \"How's \\\"it\\\"?\"}\n"
                  "  description: second\n"
                  "- vars: {language: x, input: y}\n");
    assert_int_equal(p.n_wording, 2);
    assert_int_equal(p.n_item, 3);
    T_TEXT(p.item[2].name.p, p.item[2].name.n, "x, y");
    assert_int_equal(p.n_model, 2);
    T_TEXT(p.item[0].name.p, p.item[0].name.n, "French, Hello world");
    T_TEXT(p.item[1].name.p, p.item[1].name.n, "second");
    has_messages(&p, 0, 0,
                 "[{\"role\":\"user\",\"content\":\"Translate to French: Hello "
                 "world\"}]");
    has_messages(&p, 1, 1,
                 "[{\"role\":\"system\",\"content\":\"You speak German.\"},"
                 "{\"role\":\"user\",\"content\":\"How's \\\"it\\\"?\"}]");
    assert_string_equal(p.model[0].address[0], "https://api.openai.com/v1");
    assert_string_equal(p.model[0].server_model, "gpt-5-mini");
    assert_string_equal(p.model[1].address[0], "http://localhost:9/v1");
    assert_string_equal(p.model[1].server_model, "local");
    assert_int_equal(p.model[1].sampler.chat.max_tokens, 7);
    T_TEXT(p.model[1].name.p, p.model[1].name.n, "mine");
    assert_int_equal(p.n_check, 2);
    assert_non_null(cf_sweep_plan_check(&p, 0, 1));
    assert_null(cf_sweep_plan_check(&p, 1, 1));
    cf_sweep_plan_deinit(&p);
}

/* Lists of values are all their combinations; files of prompts have parts. */
static void test_promptfoo__combinations(void **state)
{
    (void)state;
    cf_sweep_plan p;
    store_dir_put_text("parts.txt", "one {{a}}\n---\n\ntwo {{a}}{% if b > 1 %} of many"
                                    "{% endif %}\n");
    store_dir_put_text("cases.yaml", "- vars: {a: [x, y], b: [1, 2, 3]}\n");
    store_dir_put_text("cases.jsonl", "{\"vars\":{\"a\":\"z\"}}\n\n{\"vars\":{}}\n");
    read_plan(&p, "prompts: [file://parts.txt]\n"
                  "defaultTest: {vars: {b: 0, a: d}}\n"
                  "tests: [file://cases.yaml, file://cases.jsonl]\n");
    assert_int_equal(p.n_item, 8);
    assert_int_equal(p.n_wording, 2);
    has_messages(&p, 5, 1, "[{\"role\":\"user\",\"content\":\"two y of many\"}]");
    has_messages(&p, 6, 0, "[{\"role\":\"user\",\"content\":\"one z\"}]");
    has_messages(&p, 7, 0, "[{\"role\":\"user\",\"content\":\"one d\"}]");
    assert_int_equal(p.n_model, 0);
    cf_sweep_plan_deinit(&p);
}

static void test_promptfoo__refused(void **state)
{
    (void)state;
    static const char head[] = "prompts: [a]\ntests:\n- assert:\n  - ";
    static const char *const asserts[][2] = {
        {"{type: javascript, value: x}", "bad.yaml:4: the assertion 'javascrip"},
        {"{type: contains}", "bad.yaml:4: contains: its value is missing"},
        {"{type: regex, value: '('}", "bad.yaml:4: regex: the regular"},
        {"{type: is-json, value: {type: 5}}", "bad.yaml:4: schema"},
        {"{type: equals, value: a, transform: x}", "'transform' is not supp"},
        {"{type: equals, value: a, weight: 0}", "weight"},
        {"{type: llm-rubric, value: a}", "who judges is not said"},
        {"{$ref: '#/assertionTemplates/x'}", "no assertion"},
        {"contains", "an assertion is a mapping"}};
    for (size_t i = 0; i < sizeof asserts / sizeof asserts[0]; i++) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "%s%s\n", head, asserts[i][0]);
        refuses(cf_buf_cstr(&b), asserts[i][1]);
        cf_buf_deinit(&b);
    }
    refuses("prompts: [a]\nscenarios:\n- b\n", "bad.yaml:3: 'scenarios' is");
    refuses("prompts:\n- exec:ls\n", "bad.yaml:2: prompts by programs");
    refuses("prompts:\n- file://x.py\n", "bad.yaml:2: prompts are read from");
    refuses("prompts:\n- file://none.txt\n", "bad.yaml:2:");
    refuses("prompts: ['{{ a']\n", "the prompt '{{ a'");
    refuses("prompts: ['{{ a | nonsense }}']\n", "nonsense");
    refuses("prompts: [a]\nproviders: [anthropic:x]\n", "bad.yaml:2:");
    refuses("prompts: [a]\nproviders: [openai:embedding:x]\n", "chat models");
    refuses("prompts: [a]\nproviders: [file://p.py]\n", "not supported");
    refuses("prompts: [a]\nproviders:\n- id: openai:x\n  config: {z: 1}\n", "'z' is not supported");
    refuses("prompts: [a]\nproviders: [echo]\n", "the provider 'echo' is not supported");
    refuses("prompts: [a]\ntests: file://x.csv\n", "bad.yaml:2:");
    refuses("prompts: [a]\ntests: []\n", "no test is here");
    refuses("- a\n", "a mapping with prompts");
    refuses("prompts: [a]\nevaluateOptions: {repeat: 3}\n", "repeat");
}

/* Cells of a configuration, answered by a script. */
static void test_promptfoo__runs(void **state)
{
    (void)state;
    cf_sweep_plan p;
    cf_sweep s;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    const cf_sweep_options o = {.jobs = 1};
    store_dir_put_text("say.json",
                       "{\"replies\":[{\"text\":\"Paris\"},{\"text\":\"{\\\"a\\\": 1}\"}]}");
    read_plan(&p, "prompts: ['{{q}}?']\nproviders: ['script:say.json']\n"
                  "defaultTest:\n  assert: [{type: not-contains, value: sorry}]"
                  "\ntests:\n"
                  "- vars: {q: capital}\n  assert:\n"
                  "  - {type: icontains, value: PARIS}\n"
                  "  - {type: equals, value: Lyon, metric: city}\n"
                  "- vars: {q: json}\n  assert:\n"
                  "  - {type: equals, value: {a: 1}}\n");
    T_OK(cf_sweep_init(&s, &p, &o, &err), err);
    T_OK(cf_sweep_run(&s, &err), err);
    assert_int_equal(s.n, 2);
    assert_false(cf_sweep_passes(&s, &s.cell[0]));
    assert_true(cf_sweep_passes(&s, &s.cell[1]));
    cf_sweep_put_cell(&out, &s, 0);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"checks\":{\"not-contains\":true,\"icontains\":"
                                              "true,\"city\":false}"));
    cf_buf_reset(&out);
    cf_sweep_put_cell(&out, &s, 1);
    assert_non_null(
        strstr(cf_buf_cstr(&out), "\"checks\":{\"not-contains\":true,\"equals\":true}"));
    cf_buf_deinit(&out);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml__values),
        cmocka_unit_test(test_yaml__mistakes),
        cmocka_unit_test(test_yaml__bounds),
        cmocka_unit_test(test_promptfoo__guide),
        cmocka_unit_test(test_promptfoo__combinations),
        cmocka_unit_test(test_promptfoo__refused),
        cmocka_unit_test(test_promptfoo__runs),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
