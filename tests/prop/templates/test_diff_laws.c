/*
 * test_diff_laws.c - laws of the difference of any two texts: applied to one it
 * gives the other, unmarked bytes are equal, equal texts have none, and with
 * few lines it is a shortest one.
 */
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "templates/template_diff.h"
#include "tests/support/rand.h"
#include "tests/support/slow.h"
#include "tests/support/t.h"

/* Few different lines, so that there are many ways to match them. */
static void random_text(cf_buf *out, cf_rand *r, size_t n_lines, size_t n_kinds)
{
    static const char *const words[] = {"a",  "bb", " ", "  ", "\xc3\xa4",
                                        "\t", "(",  ")", "{%", "\xff"};
    cf_buf_reset(out);
    for (size_t i = 0; i < n_lines; i++) {
        cf_rand line = {cf_rand_below(r, n_kinds)};
        for (size_t k = cf_rand_below(&line, 6); k > 0; k--) {
            cf_buf_adds(out, words[cf_rand_below(&line, 10)]);
        }
        if (i + 1 < n_lines || cf_rand_below(r, 2) == 0) {
            cf_buf_addc(out, '\n');
        }
    }
}

static void add_line(cf_buf *out, const cf_diff_side *s, uint32_t unit)
{
    cf_str text = cf_diff_text_of(s, unit);
    cf_buf_add(out, text.p, text.n);
    if (s->v[unit].has_newline) {
        cf_buf_addc(out, '\n');
    }
}

/* The bytes outside the marks, which must be in order and inside. */
static void add_unmarked(cf_buf *out, cf_str s, const cf_diff_mark *m, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(m[i].len > 0 && m[i].off >= at);
        assert_true(i == 0 || m[i].off > at);
        assert_true((size_t)m[i].off + m[i].len <= s.n);
        cf_buf_add(out, s.p + at, m[i].off - at);
        at = (size_t)m[i].off + m[i].len;
    }
    cf_buf_add(out, s.p + at, s.n - at);
}

static void assert_same_unmarked(const cf_diff *d, const cf_diff_row *r)
{
    cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
    const cf_diff_mark *m = d->marks + r->mark;
    assert_true((size_t)r->mark + r->n_mark_a + r->n_mark_b <= d->n_marks);
    add_unmarked(&a, cf_diff_text_of(&d->a, r->a), m, r->n_mark_a);
    add_unmarked(&b, cf_diff_text_of(&d->b, r->b), m + r->n_mark_a, r->n_mark_b);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(cf_buf_cstr(&a), cf_buf_cstr(&b), a.n);
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
}

static void assert_bytes(const cf_buf *got, cf_str want)
{
    assert_int_equal(got->n, want.n);
    if (want.n > 0) {
        assert_memory_equal(got->p, want.p, want.n);
    }
}

/* Rows applied to a give b: kept lines are taken from a. */
static void assert_applies(const cf_diff *d, cf_str a, cf_str b)
{
    cf_buf left = CF_BUF_INIT, right = CF_BUF_INIT;
    size_t n_of[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < d->n_rows; i++) {
        const cf_diff_row *r = &d->rows[i];
        n_of[r->kind]++;
        if (r->kind != CF_DIFF_ADDED) {
            add_line(&left, &d->a, r->a);
        }
        if (r->kind == CF_DIFF_KEPT) {
            add_line(&right, &d->a, r->a);
        } else if (r->kind != CF_DIFF_REMOVED) {
            add_line(&right, &d->b, r->b);
        }
        if (r->kind == CF_DIFF_CHANGED) {
            assert_same_unmarked(d, r);
        }
    }
    assert_bytes(&left, a);
    assert_bytes(&right, b);
    assert_memory_equal(n_of, d->n_of, sizeof n_of);
    cf_buf_deinit(&left);
    cf_buf_deinit(&right);
}

static cf_str str_of(const cf_buf *b)
{
    return cf_buf_str(b);
}

/* The length of a longest common subsequence, by the textbook's table. */
static size_t common_lines(const cf_diff *d)
{
    enum { MAX = 64 };
    size_t t[MAX + 1][MAX + 1];
    assert_true(d->a.n <= MAX && d->b.n <= MAX);
    memset(t, 0, sizeof t);
    for (uint32_t i = 0; i < d->a.n; i++) {
        for (uint32_t j = 0; j < d->b.n; j++) {
            bool same = d->a.v[i].has_newline == d->b.v[j].has_newline &&
                        cf_str_eq(cf_diff_text_of(&d->a, i), cf_diff_text_of(&d->b, j));
            size_t skip = t[i][j + 1] > t[i + 1][j] ? t[i][j + 1] : t[i + 1][j];
            t[i + 1][j + 1] = same ? t[i][j] + 1 : skip;
        }
    }
    return t[d->a.n][d->b.n];
}

static void test_diff__applies(void **state)
{
    cf_rand r = {1};
    cf_arena arena;
    cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
    (void)state;
    cf_arena_init(&arena, 0);
    for (int i = 0; i < 4000; i++) {
        cf_diff d, e;
        cf_error err;
        size_t kinds = 1 + cf_rand_below(&r, 30);
        random_text(&a, &r, cf_rand_below(&r, 60), kinds);
        random_text(&b, &r, cf_rand_below(&r, 60), kinds);
        T_OK(cf_diff_texts(&d, str_of(&a), str_of(&b), &arena, &err), err);
        assert_applies(&d, str_of(&a), str_of(&b));
        assert_int_equal(d.n_of[CF_DIFF_KEPT], common_lines(&d));
        T_OK(cf_diff_texts(&e, str_of(&a), str_of(&a), &arena, &err), err);
        assert_true(cf_diff_is_equal(&e));
        cf_arena_reset(&arena);
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
}

/* A megabyte of short lines on each side (128 KiB in a slow build): all
 * different, or of few kinds in no order.  Either ends, and the rows still
 * apply. */
static void test_diff__large_and_unlike(void **state)
{
    cf_rand r = {2};
    cf_arena arena;
    cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
    (void)state;
    cf_arena_init(&arena, 0);
    for (int kind = 0; kind < 4; kind++) {
        cf_diff d;
        cf_error err;
        cf_buf_reset(&a);
        cf_buf_reset(&b);
        for (size_t i = 0; a.n < (T_IS_SLOW ? 1u << 17 : 1u << 20); i++) {
            if (kind == 0) {
                cf_buf_addf(&a, "a%zu\n", i);
                cf_buf_addf(&b, "b%zu\n", i);
            } else if (kind == 1) {
                cf_buf_addf(&a, "%zu\n", cf_rand_below(&r, 50));
                cf_buf_addf(&b, "%zu\n", cf_rand_below(&r, 50));
            } else if (kind == 2) { /* one line of many words */
                cf_buf_addf(&a, "%c", (int)('!' + cf_rand_below(&r, 15)));
                cf_buf_addf(&b, "%c", (int)('!' + cf_rand_below(&r, 15)));
            } else { /* b is a back to front */
                cf_buf_addf(&a, "%zu\n", i);
                cf_buf_addf(&b, "%zu\n", 150000 - i);
            }
        }
        T_OK(cf_diff_texts(&d, str_of(&a), str_of(&b), &arena, &err), err);
        assert_applies(&d, str_of(&a), str_of(&b));
        cf_arena_reset(&arena);
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
}

/* Prompts whose spans show random stretches of random messages: no two
 * messages face each other, and the rows apply. */
static cf_prompt random_prompt(cf_arena *arena, cf_rand *r, cf_str text)
{
    size_t n_max = 1 + cf_rand_below(r, 20), n = 0;
    cf_prompt_span *v = cf_arena_calloc(arena, n_max, sizeof *v);
    assert_non_null(v);
    for (size_t at = 0; at < text.n; n++) {
        size_t len = 1 + cf_rand_below(r, text.n - at);
        if (n + 1 == n_max) {
            len = text.n - at;
        }
        v[n] = (cf_prompt_span){.off = (uint32_t)at,
                                .len = (uint32_t)len,
                                .source = (cf_span_source)cf_rand_below(r, 5),
                                .index = (uint32_t)cf_rand_below(r, 3),
                                .is_copy = cf_rand_below(r, 2) == 0,
                                .src_off = (uint32_t)cf_rand_below(r, 20),
                                .line = 1,
                                .path = cf_str_from(".content")};
        at += len;
    }
    return (cf_prompt){.text = text, .spans = v, .n_spans = n};
}

static bool is_outside(const cf_diff_unit *u)
{
    return u->source == CF_SPAN_MESSAGE || u->source == CF_SPAN_TOOL;
}

static void test_diff__prompts_apply(void **state)
{
    cf_rand r = {3};
    cf_arena arena;
    cf_buf a = CF_BUF_INIT, b = CF_BUF_INIT;
    (void)state;
    cf_arena_init(&arena, 0);
    for (int i = 0; i < 4000; i++) {
        cf_diff d, e;
        cf_error err;
        random_text(&a, &r, cf_rand_below(&r, 30), 10);
        random_text(&b, &r, cf_rand_below(&r, 30), 10);
        cf_prompt p = random_prompt(&arena, &r, str_of(&a));
        cf_prompt q = random_prompt(&arena, &r, str_of(&b));
        T_OK(cf_diff_prompts(&d, &p, &q, &arena, &err), err);
        assert_applies(&d, str_of(&a), str_of(&b));
        for (size_t k = 0; k < d.n_rows; k++) {
            const cf_diff_row *row = &d.rows[k];
            if (row->a != CF_DIFF_NONE && row->b != CF_DIFF_NONE && !row->by_source &&
                is_outside(&d.a.v[row->a]) && is_outside(&d.b.v[row->b])) {
                assert_int_equal(d.a.v[row->a].index, d.b.v[row->b].index);
            }
        }
        T_OK(cf_diff_prompts(&e, &p, &p, &arena, &err), err);
        assert_true(cf_diff_is_equal(&e));
        cf_arena_reset(&arena);
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__applies),
        cmocka_unit_test(test_diff__large_and_unlike),
        cmocka_unit_test(test_diff__prompts_apply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
