/*
 * bisect.c - a longest common subsequence, and a binary search over changes.
 */
#include "tui/study/shrink/bisect.h"

#include <string.h>

#include "core/base/alloc.h"

enum { CELLS_MAX = 16 << 20 }; /* of the table; above, one change is all */

void cf_bisect_deinit(cf_bisect *b)
{
    cf_free(b->change);
    *b = (cf_bisect){.good = NULL};
}

static cf_status add_change(cf_bisect *b, cf_change c, cf_error *err)
{
    if (c.n_a == 0 && c.n_b == 0) {
        return CF_OK;
    }
    if (!cf_grow(&b->change, &b->cap_change, b->n_change + 1, sizeof *b->change)) {
        return cf_oom_for(err, "the changes");
    }
    b->change[b->n_change++] = c;
    return CF_OK;
}

/* length[i * (m + 1) + j]: of the longest list that both good[i..) and
 * bad[j..) of the middle have. */
static void fill_table(const cf_bisect *b, const cf_change *mid, uint32_t *length)
{
    size_t m = mid->n_b;
    for (size_t i = mid->n_a; i-- > 0;) {
        for (size_t j = m; j-- > 0;) {
            uint32_t down = length[(i + 1) * (m + 1) + j];
            uint32_t right = length[i * (m + 1) + j + 1];
            length[i * (m + 1) + j] = cf_str_eq(b->good[mid->a + i], b->bad[mid->b + j])
                                          ? length[(i + 1) * (m + 1) + j + 1] + 1
                                      : down > right ? down
                                                     : right;
        }
    }
}

static cf_status walk_table(cf_bisect *b, const cf_change *mid, const uint32_t *length,
                            cf_error *err)
{
    size_t m = mid->n_b, i = 0, j = 0;
    cf_change open = {mid->a, 0, mid->b, 0};
    while (i < mid->n_a || j < m) {
        bool both = i < mid->n_a && j < m;
        if (both && cf_str_eq(b->good[mid->a + i], b->bad[mid->b + j])) {
            CF_TRY(add_change(b, open, err));
            i++;
            j++;
            open = (cf_change){mid->a + i, 0, mid->b + j, 0};
        } else if (j == m ||
                   (i < mid->n_a && length[(i + 1) * (m + 1) + j] >= length[i * (m + 1) + j + 1])) {
            i++;
            open.n_a++;
        } else {
            j++;
            open.n_b++;
        }
    }
    return add_change(b, open, err);
}

cf_status cf_bisect_init(cf_bisect *b, const cf_str *good, size_t n_good, const cf_str *bad,
                         size_t n_bad, cf_error *err)
{
    *b = (cf_bisect){.good = good, .n_good = n_good, .bad = bad, .n_bad = n_bad};
    cf_change mid = {0, n_good, 0, n_bad};
    while (mid.n_a > 0 && mid.n_b > 0 && cf_str_eq(good[mid.a], bad[mid.b])) {
        mid = (cf_change){mid.a + 1, mid.n_a - 1, mid.b + 1, mid.n_b - 1};
    }
    while (mid.n_a > 0 && mid.n_b > 0 &&
           cf_str_eq(good[mid.a + mid.n_a - 1], bad[mid.b + mid.n_b - 1])) {
        mid.n_a--;
        mid.n_b--;
    }
    if ((mid.n_a + 1) > CELLS_MAX / (mid.n_b + 1)) {
        return add_change(b, mid, err);
    }
    uint32_t *length = cf_calloc((mid.n_a + 1) * (mid.n_b + 1), sizeof *length);
    if (length == NULL) {
        return cf_oom_for(err, "the changes");
    }
    fill_table(b, &mid, length);
    cf_status st = walk_table(b, &mid, length, err);
    cf_free(length);
    return st;
}

/* ---- the search --------------------------------------------------------- */

/* The good version with the changes [from, to) made. */
static cf_status ask(cf_bisect *b, size_t from, size_t to, bool *is_bad, cf_error *err)
{
    cf_str *items = cf_calloc(b->n_good + b->n_bad + 1, sizeof *items);
    if (items == NULL) {
        return cf_oom_for(err, "a version");
    }
    size_t n = 0, at = 0;
    for (size_t i = from; i < to; i++) {
        const cf_change *c = &b->change[i];
        while (at < c->a) {
            items[n++] = b->good[at++];
        }
        for (size_t k = 0; k < c->n_b; k++) {
            items[n++] = b->bad[c->b + k];
        }
        at += c->n_a;
    }
    while (at < b->n_good) {
        items[n++] = b->good[at++];
    }
    b->n_runs++;
    cf_status st = b->fn(b->ud, items, n, is_bad, err);
    cf_free(items);
    return st;
}

/* Version *good is not bad, version `bad` is; finds two such next to each other. */
static cf_status narrow(cf_bisect *b, size_t *good, size_t bad,
                        cf_status (*is_bad_at)(cf_bisect *b, size_t k, bool *is_bad, cf_error *err),
                        cf_error *err)
{
    bool is_bad;
    while (bad - *good > 1) {
        size_t mid = *good + (bad - *good) / 2;
        CF_TRY(is_bad_at(b, mid, &is_bad, err));
        if (is_bad) {
            bad = mid;
        } else {
            *good = mid;
        }
    }
    return CF_OK;
}

static cf_status with_changes(cf_bisect *b, size_t k, bool *is_bad, cf_error *err)
{
    return ask(b, 0, k, is_bad, err);
}

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The changes before the one found, and the first k items of it. */
static cf_status with_items(cf_bisect *b, size_t k, bool *is_bad, cf_error *err)
{
    cf_change whole = b->change[b->found];
    b->change[b->found] =
        (cf_change){whole.a, at_most(k, whole.n_a), whole.b, at_most(k, whole.n_b)};
    cf_status st = ask(b, 0, b->found + 1, is_bad, err);
    b->change[b->found] = whole;
    return st;
}

/* Whether a change can be made item by item: it moves no head away from what
 * belongs to it. */
static bool can_cut(const cf_bisect *b, const cf_change *c)
{
    bool has_head = false;
    for (size_t i = 0; b->head != 0 && i < c->n_a; i++) {
        has_head = has_head || b->good[c->a + i].p[0] == b->head;
    }
    for (size_t i = 0; b->head != 0 && i < c->n_b; i++) {
        has_head = has_head || b->bad[c->b + i].p[0] == b->head;
    }
    return !has_head && (c->n_a > 1 || c->n_b > 1);
}

/* Of adjacent items that changed, the one that matters: pairs in order, then what
 * one side has more.  *n_before are those before it. */
static cf_status cut(cf_bisect *b, size_t *n_before, cf_error *err)
{
    const cf_change c = b->change[b->found];
    *n_before = 0;
    if (!can_cut(b, &c)) {
        return CF_OK;
    }
    return narrow(b, n_before, c.n_a > c.n_b ? c.n_a : c.n_b, with_items, err);
}

/* Asks what is reported last: whether the change suffices, or else whether it
 * still does after those before it. */
static cf_status confirm(cf_bisect *b, size_t n_before, cf_error *err)
{
    const cf_change whole = b->change[b->found];
    bool is_cut = can_cut(b, &whole);
    cf_change one = whole;
    if (is_cut) {
        size_t i = at_most(n_before, whole.n_a), k = at_most(n_before, whole.n_b);
        one = (cf_change){whole.a + i, i < whole.n_a, whole.b + k, k < whole.n_b};
    }
    b->change[b->found] = one;
    CF_TRY(ask(b, b->found, b->found + 1, &b->is_enough, err));
    b->holds = b->is_enough;
    if (!b->holds && (b->found > 0 || n_before > 0)) {
        b->change[b->found] = whole;
        cf_status st = is_cut ? with_items(b, n_before + 1, &b->holds, err)
                              : ask(b, 0, b->found + 1, &b->holds, err);
        b->change[b->found] = one;
        return st;
    }
    return CF_OK;
}

cf_status cf_bisect_run(cf_bisect *b, cf_bisect_fn fn, void *ud, cf_error *err)
{
    bool is_bad;
    size_t n_before;
    b->fn = fn;
    b->ud = ud;
    b->found = 0;
    if (b->n_change == 0) {
        return cf_fail(err, CF_EINVAL, "the two versions are equal");
    }
    CF_TRY(ask(b, 0, 0, &is_bad, err));
    if (is_bad) {
        return cf_fail(err, CF_EINVAL, "the predicate holds for the good one");
    }
    CF_TRY(ask(b, 0, b->n_change, &is_bad, err));
    if (!is_bad) {
        return cf_fail(err, CF_EINVAL, "the predicate does not hold for the bad one");
    }
    CF_TRY(narrow(b, &b->found, b->n_change, with_changes, err));
    CF_TRY(cut(b, &n_before, err));
    return confirm(b, n_before, err);
}
