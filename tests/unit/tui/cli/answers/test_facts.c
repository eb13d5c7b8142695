/*
 * test_facts.c - one table of facts as JSON and as text.
 */
#include "tests/support/t.h"

#include <stddef.h>

#include "tui/cli/answers/facts.h"

typedef struct thing {
    const char *name;
    char code[8];
    cf_str note;
    bool is_new;
    uint32_t n;
    uint64_t big, bytes;
    size_t size;
    double ms;
} thing;

static const cf_fact facts[] = {
    {"name", CF_FACT_TEXT, offsetof(thing, name)},
    {"code", CF_FACT_CHARS, offsetof(thing, code)},
    {"note", CF_FACT_STR, offsetof(thing, note)},
    {"new", CF_FACT_BOOL, offsetof(thing, is_new)},
    {"n", CF_FACT_U32, offsetof(thing, n)},
    {"big", CF_FACT_U64, offsetof(thing, big)},
    {"bytes", CF_FACT_BYTES, offsetof(thing, bytes)},
    {"size", CF_FACT_SIZE, offsetof(thing, size)},
    {"ms", CF_FACT_MS, offsetof(thing, ms)},
    {NULL, CF_FACT_TEXT, 0},
};

static const thing one = {.name = "a \"b\"",
                          .code = "x7",
                          .note = {"", 0},
                          .is_new = true,
                          .n = 5,
                          .big = UINT64_MAX,
                          .bytes = 1536,
                          .size = 9,
                          .ms = 1.23456};

static void test_facts__json(void **state)
{
    (void)state;
    cf_jw w;
    cf_buf out = CF_BUF_INIT;
    cf_error err = {.text = ""};
    cf_jw_init(&w, &out);
    cf_jw_object(&w, NULL);
    cf_facts_json(&w, facts, &one);
    cf_jw_end(&w);
    T_OK(cf_jw_finish(&w, &err), err);
    assert_string_equal(cf_buf_cstr(&out),
                        "{\"name\":\"a \\\"b\\\"\",\"code\":\"x7\",\"note\":\"\",\"new\":true,"
                        "\"n\":5,\"big\":18446744073709551615,\"bytes\":1536,\"size\":9,"
                        "\"ms\":1.235}");
    cf_buf_deinit(&out);
}

static void test_facts__text(void **state)
{
    (void)state;
    static const struct {
        const char *form, *want;
    } rows[] = {
        {"plain", "plain"},
        {"{name}: {n} of {size}.", "a \"b\": 5 of 9."},
        {"[{code:4}] [{code:-4}]", "[  x7] [x7  ]"},
        {"{n:3}{n:-3}|", "  55  |"},
        {"{ms:8.2} ms", "    1.23 ms"},
        {"{bytes}, {bytes:d} bytes", "1.5 KiB, 1536 bytes"},
        {"{big:M}", "18446744073709.55 million"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_buf out = CF_BUF_INIT;
        cf_facts_text(&out, rows[i].form, facts, &one);
        assert_string_equal(cf_buf_cstr(&out), rows[i].want);
        cf_buf_deinit(&out);
    }
    assert_true(cf_facts_has(facts, &one, "name"));
    assert_false(cf_facts_has(facts, &one, "note"));
    assert_false(cf_facts_has(facts, &one, "other"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts__json),
        cmocka_unit_test(test_facts__text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
