/*
 * test_machine.c - the cost of reading a text, counted in items made and
 * compared, and grammars with many rules.
 */
#include "core/base/alloc.h"
#include "core/grammar/machine.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

static cf_grammar *compile(const char *text)
{
    cf_error err;
    cf_grammar *g = NULL;
    T_OK(cf_grammar_from_text(&g, cf_str_from(text), NULL, &err), err);
    return g;
}

/* Reads n bytes, `unit` again and again; whether all were taken.  *may_end
 * is as after the last, *work what it cost, *n_frame what it left. */
static bool read_text(const cf_grammar *g, const char *unit, size_t n, bool *may_end,
                      uint64_t *work, size_t *n_frame)
{
    cf_error err;
    cf_machine m;
    T_OK(cf_machine_init(&m, g, &err), err);
    size_t period = strlen(unit);
    cf_item *items = NULL;
    size_t cap = 0;
    cf_machine_begin(&m);
    bool ok = m.st == CF_OK;
    for (size_t i = 0; i < n && ok; i++) {
        size_t count = m.n_out;
        assert_true(cf_grow(&items, &cap, count + 1, sizeof *items));
        if (count > 0) {
            memcpy(items, m.out, count * sizeof *items);
        }
        cf_machine_put(&m, (uint8_t)unit[i % period]);
        cf_machine_step(&m, items, count, (uint8_t)unit[i % period]);
        ok = m.st == CF_OK && (m.n_out > 0 || m.may_end);
    }
    *may_end = ok && m.may_end;
    *work = m.work;
    *n_frame = m.n_frame;
    cf_free(items);
    cf_machine_deinit(&m);
    return ok;
}

static void test_machine__right_recursion_is_linear(void **state)
{
    (void)state;
    static const struct {
        const char *grammar, *unit;
    } rows[] = {
        {"root = \"a\" root | \"\" ;", "a"},
        {"root = item root | item ; item = /[a-z]+/ \",\" ;", "ab,"},
        {"root = \"(\" root \")\" root | \"x\" | \"\" ;", "()"},
        {"root = a | \"\" ; a = \"x\" b ; b = \"y\" a | \"y\" ;", "xy"},
        {"list = item rest ; rest = \",\" list | \"\" ; item = /[0-9]+/ ;", "12,3,"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cf_grammar *g = compile(rows[i].grammar);
        uint64_t work[2];
        size_t n_frame[2];
        bool may_end;
        for (int k = 0; k < 2; k++) {
            assert_true(
                read_text(g, rows[i].unit, k == 0 ? 3000 : 6000, &may_end, &work[k], &n_frame[k]));
        }
        assert_true(work[1] < 2 * work[0] + 1000);
        assert_true(work[1] < 6000 * 60);
        assert_true(n_frame[1] < 2 * n_frame[0] + 10);
        cf_grammar_free(g);
    }
}

/* A list with something after each recursion keeps a frame for each item;
 * every byte closes all of them, and each is looked up once. */
static void test_machine__open_frames_are_found_by_hash(void **state)
{
    (void)state;
    cf_grammar *g = compile("root = \"a\" root end | \"\" ; end = \"!\" | \"\" ;");
    uint64_t work;
    size_t n_frame;
    bool may_end;
    const uint64_t n = 400;
    assert_true(read_text(g, "a", n, &may_end, &work, &n_frame));
    assert_true(may_end);
    assert_true(work < 60 * n * n);
    cf_grammar_free(g);
}

/* The same language, written to the right and as a repetition. */
static void test_machine__recursion_equals_repetition(void **state)
{
    (void)state;
    cf_grammar *g[2] = {compile("root = item root | \"\" ; item = \"a\" | \"ab\" | \"b\" \"b\" ;"),
                        compile("root = (\"a\" | \"ab\" | \"bb\")* ;")};
    for (uint64_t seed = 0; seed < 300; seed++) {
        cf_rand rng = {seed};
        char text[20] = "";
        size_t n = cf_rand_below(&rng, 12) + 1;
        for (size_t i = 0; i < n; i++) {
            text[i] = cf_rand_below(&rng, 3) == 0 ? 'b' : 'a';
        }
        text[n] = '\0';
        bool ok[2];
        bool may_end[2];
        uint64_t work;
        size_t n_frame;
        for (int k = 0; k < 2; k++) {
            ok[k] = read_text(g[k], text, n, &may_end[k], &work, &n_frame);
        }
        assert_int_equal(ok[0], ok[1]);
        assert_int_equal(may_end[0], may_end[1]);
    }
    cf_grammar_free(g[0]);
    cf_grammar_free(g[1]);
}

/* 50,000 rules within the default work, whatever their order. */
static void test_machine__many_rules_compile(void **state)
{
    (void)state;
    enum { N = 50000 };
    for (int way = 0; way < 3; way++) {
        cf_buf t = CF_BUF_INIT;
        cf_error err;
        cf_grammar *g = NULL;
        cf_buf_addf(&t, "root = r%d ;\n", way == 0 ? 0 : N - 1);
        for (int i = 0; i < N; i++) {
            int next = way == 0 ? i + 1 : i - 1;
            if (next < 0 || next == N) {
                cf_buf_addf(&t, "r%d = \"c\" ;\n", i);
            } else { /* way 2: each begins with the next */
                cf_buf_addf(&t, "r%d = %s r%d | \"b\" ;\n", i, way == 2 ? "" : "\"a\"", next);
            }
        }
        T_OK(cf_buf_check(&t, &err), err);
        T_OK(cf_grammar_from_text(&g, cf_buf_str(&t), NULL, &err), err);
        cf_grammar_free(g);
        cf_buf_deinit(&t);
    }
}

/* Equal counts hash apart: looking nodes up is part of the work. */
static void test_machine__equal_counts_compile_within_work(void **state)
{
    (void)state;
    static const char *const patterns[] = {"a{20000}", "(?:a?){300}a{300}"};
    const cf_grammar_options opts = {.max_work = 1500000};
    for (size_t i = 0; i < 2; i++) {
        cf_error err;
        cf_grammar *g = NULL;
        T_OK(cf_grammar_from_regex(&g, cf_str_from(patterns[i]), &opts, &err), err);
        cf_grammar_free(g);
    }
    cf_error err;
    cf_grammar *g = NULL;
    T_FAILS(cf_grammar_from_regex(&g, cf_str_from("a{1000000}"), NULL, &err), CF_ELIMIT);
}

static void test_machine__left_recursion_is_named(void **state)
{
    (void)state;
    cf_error err;
    cf_grammar *g = NULL;
    const char *text = "root = ws list ; ws = \"\" | \" \" ; "
                       "list = ws list \"a\" | \"a\" ;";
    T_FAILS(cf_grammar_from_text(&g, cf_str_from(text), NULL, &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "rule list calls itself"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine__right_recursion_is_linear),
        cmocka_unit_test(test_machine__open_frames_are_found_by_hash),
        cmocka_unit_test(test_machine__recursion_equals_repetition),
        cmocka_unit_test(test_machine__many_rules_compile),
        cmocka_unit_test(test_machine__equal_counts_compile_within_work),
        cmocka_unit_test(test_machine__left_recursion_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
