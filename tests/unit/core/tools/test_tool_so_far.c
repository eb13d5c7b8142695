/*
 * test_tool_so_far.c - arguments of a call while it is written: always the
 * beginning of what the finished call has, in the syntax of every family.
 */
#include <string.h>

#include "core/api/tool.h"
#include "tests/support/t.h"

static const char *const arguments[] = {
    "{\"path\":\"a/b.c\",\"text\":\"int main(void)\\n{\\n    return 0;\\n}\\n\",\"n\":1234}",
    "{\"path\":\"\",\"text\":\"say \\\"hi\\\" \\\\ \\u00e9 <b> </b> x < y\",\"n\":-1}",
    "{\"text\":\"one two \\ud83d\\ude00 three\",\"on\":true,\"list\":[\"a\",\"b \"],"
    "\"in\":{\"k\":\"v\",\"z\":null}}",
    "{}",
};

static cf_tool_set *tools(void)
{
    cf_tool_set *set = NULL;
    cf_error err;
    json_t *v = json_loads(
        "[{\"name\":\"write_file\",\"parameters\":{\"type\":\"object\",\"properties\":{"
        "\"path\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"},\"n\":{\"type\":"
        "\"integer\"},\"on\":{\"type\":\"boolean\"},\"list\":{\"type\":\"array\",\"items\":{"
        "\"type\":\"string\"}},\"in\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":"
        "\"string\"},\"z\":{}}}}}}]",
        0, NULL);
    T_OK(cf_tool_set_new(&set, v, &err), err);
    json_decref(v);
    return set;
}

/* Two calls as the family writes them; false where it cannot. */
static bool write_calls(cf_buf *out, cf_tool_family family, const char *args)
{
    cf_error ignored;
    cf_tool_call v[2];
    memset(v, 0, sizeof v);
    for (int i = 0; i < 2; i++) {
        v[i] = (cf_tool_call){.name = cf_str_from("write_file"),
                              .id = cf_str_from("123456789"),
                              .arguments = cf_str_from(args)};
    }
    cf_buf_reset(out);
    return cf_tool_format_calls(out, family, v, 2, &ignored) == CF_OK;
}

/* Feeds the text byte by byte.  Every report begins the finished arguments, and
 * goes on from the one before.  Returns how often the reports grew. */
static size_t check(cf_tool_family family, const cf_tool_set *set, cf_str text,
                    const cf_tool_parse *whole)
{
    cf_tool_parser *p;
    cf_error err;
    cf_buf last = CF_BUF_INIT;
    size_t n_grown = 0, at = 0;
    T_OK(cf_tool_parser_new(&p, family, set, NULL, NULL, &err), err);
    for (size_t i = 0; i < text.n; i++) {
        cf_arena arena;
        cf_tool_so_far *v = NULL;
        size_t n, first;
        cf_arena_init(&arena, 0);
        T_OK(cf_tool_parser_feed(p, text.p + i, 1, &err), err);
        T_OK(cf_tool_parser_so_far(p, &arena, &v, &n, &first, &err), err);
        for (size_t k = 0; k < n; k++) {
            assert_true(first + k < whole->n_calls);
            const cf_str all = whole->calls[first + k].arguments;
            if (!cf_str_starts(all, v[k].arguments)) {
                fail_msg("%s at byte %zu: '%.*s' does not begin '%.*s'",
                         cf_tool_family_name(family), i, (int)v[k].arguments.n, v[k].arguments.p,
                         (int)all.n, all.p);
            }
            assert_true(cf_str_is(v[k].name, "write_file"));
            if (first + k == at && v[k].arguments.n > last.n) {
                n_grown++;
            }
            if (first + k > at || v[k].arguments.n > last.n) {
                at = first + k;
                cf_buf_reset(&last);
                cf_buf_add(&last, v[k].arguments.p, v[k].arguments.n);
            }
        }
        cf_arena_deinit(&arena);
    }
    cf_buf_deinit(&last);
    cf_tool_parser_free(p);
    return n_grown;
}

static void test_so_far__begins_the_finished_call(void **state)
{
    (void)state;
    cf_tool_set *set = tools();
    cf_buf text = CF_BUF_INIT;
    size_t n_families = 0, n_reporting = 0;
    for (int f = CF_TOOLS_GENERIC; f < CF_TOOL_FAMILY_N; f++) {
        size_t n = 0, n_written = 0;
        for (size_t a = 0; a < sizeof arguments / sizeof arguments[0]; a++) {
            cf_tool_parser *p;
            const cf_tool_parse *whole;
            cf_error err;
            if (!write_calls(&text, (cf_tool_family)f, arguments[a])) {
                continue;
            }
            T_OK(cf_tool_parser_new(&p, (cf_tool_family)f, set, NULL, NULL, &err), err);
            T_OK(cf_tool_parser_feed(p, text.p, text.n, &err), err);
            T_OK(cf_tool_parser_finish(p, &whole, &err), err);
            n_written += whole->n_calls > 0;
            n += check((cf_tool_family)f, set, cf_buf_str(&text), whole);
            cf_tool_parser_free(p);
        }
        n_families += n_written > 0;
        n_reporting += n > 20;
        if (n <= 20 && n_written > 0) {
            print_message("%s reports %zu parts\n", cf_tool_family_name((cf_tool_family)f), n);
        }
    }
    assert_true(n_families > 40);
    assert_true(n_reporting * 10 >= n_families * 8);
    cf_buf_deinit(&text);
    cf_tool_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_so_far__begins_the_finished_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
