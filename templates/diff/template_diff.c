/*
 * template_diff.c - the steps of a comparison in their order, and the rows
 * that come of it.
 */
#include "templates/template_diff.h"

#include <string.h>

#include "core/base/alloc.h"
#include "templates/diff/diff_steps.h"

/* A gap of a few thousand units is searched completely; for larger ones the cost is
 * limited. */
enum { WORK = 1 << 26, COST_MIN = 64 };

const char *cf_diff_kind_name(cf_diff_kind kind)
{
    static const char *const names[] = {
        [CF_DIFF_KEPT] = "kept",
        [CF_DIFF_REMOVED] = "removed",
        [CF_DIFF_ADDED] = "added",
        [CF_DIFF_CHANGED] = "changed",
    };
    return names[kind];
}

static cf_status out_of_memory(cf_error *err)
{
    return cf_oom_for(err, "the difference");
}

/* ---- rows --------------------------------------------------------------- */

static size_t count_rows(const cf_differ *d)
{
    size_t n = (size_t)d->a.n + d->b.n;
    for (uint32_t i = 0; i < d->a.n; i++) {
        n -= d->pair[i] != CF_MATCH_NONE;
    }
    return n;
}

static void fill_rows(cf_diff_row *rows, const cf_differ *d, size_t *n_of)
{
    uint32_t i = 0, j = 0;
    while (i < d->a.n || j < d->b.n) {
        cf_diff_row *row = rows++;
        *row = (cf_diff_row){.a = CF_DIFF_NONE, .b = CF_DIFF_NONE};
        if (i < d->a.n && d->pair[i] == CF_MATCH_NONE) {
            row->kind = CF_DIFF_REMOVED;
            row->a = i++;
        } else if (i == d->a.n || j < d->pair[i]) {
            row->kind = CF_DIFF_ADDED;
            row->b = j++;
        } else {
            row->by_source = d->by_source[i];
            row->kind = cf_diff__is_same(d, i, j) ? CF_DIFF_KEPT : CF_DIFF_CHANGED;
            row->a = i++;
            row->b = j++;
        }
        n_of[row->kind]++;
    }
}

static cf_status find_marks(cf_diff *out, cf_diff_row *rows, const cf_differ *d, cf_arena *arena,
                            cf_error *err)
{
    cf_diff_marks marks = {NULL, 0, 0};
    cf_status st = CF_OK;
    for (size_t i = 0; i < out->n_rows && st == CF_OK; i++) {
        cf_diff_row *row = &rows[i];
        if (row->kind == CF_DIFF_CHANGED) {
            row->mark = (uint32_t)marks.n;
            st = cf_diff__words(&marks, cf_diff_text_of(&d->a, row->a),
                                cf_diff_text_of(&d->b, row->b), &row->n_mark_a, &row->n_mark_b,
                                d->tmp, err);
        }
    }
    cf_diff_mark *v = st == CF_OK ? cf_arena_alloc(arena, marks.n * sizeof *v) : NULL;
    if (v != NULL && marks.n > 0) {
        memcpy(v, marks.v, marks.n * sizeof *v);
    } else if (st == CF_OK && v == NULL) {
        st = out_of_memory(err);
    }
    out->marks = v;
    out->n_marks = marks.n;
    cf_free(marks.v);
    return st;
}

static cf_status make_rows(cf_diff *out, const cf_differ *d, cf_arena *arena, cf_error *err)
{
    out->a = d->a;
    out->b = d->b;
    out->n_rows = count_rows(d);
    cf_diff_row *rows = cf_arena_calloc(arena, out->n_rows, sizeof *rows);
    if (rows == NULL) {
        return out_of_memory(err);
    }
    fill_rows(rows, d, out->n_of);
    out->rows = rows;
    return d->has_tokens ? CF_OK : find_marks(out, rows, d, arena, err);
}

/* ---- comparisons -------------------------------------------------------- */

/* Compares the sides of `d`; p and q NULL: without sources. */
static cf_status compare(cf_diff *out, cf_differ *d, const cf_prompt *p, const cf_prompt *q,
                         cf_arena *arena, cf_error *err)
{
    cf_arena tmp;
    cf_diff made = {.n_rows = 0};
    uint32_t share = WORK / (d->a.n + d->b.n + 1);
    cf_arena_init(&tmp, 0);
    d->tmp = &tmp;
    d->max_cost = share < COST_MIN ? COST_MIN : share;
    d->pair = cf_arena_alloc(&tmp, (size_t)d->a.n * sizeof *d->pair);
    d->by_source = cf_arena_calloc(&tmp, d->a.n, sizeof *d->by_source);
    cf_status st = d->pair != NULL && d->by_source != NULL ? CF_OK : out_of_memory(err);
    if (st == CF_OK) {
        memset(d->pair, 0xff, (size_t)d->a.n * sizeof *d->pair);
        st = p != NULL ? cf_diff__pair_sources(d, p, q, err) : CF_OK;
    }
    CF_THEN(st, cf_diff__pair_text(d, err));
    CF_THEN(st, make_rows(&made, d, arena, err));
    d->tmp = NULL;
    cf_arena_deinit(&tmp);
    if (st == CF_OK) {
        *out = made;
    }
    return st;
}

cf_status cf_diff_texts(cf_diff *out, cf_str a, cf_str b, cf_arena *arena, cf_error *err)
{
    cf_differ d = {.has_tokens = false};
    CF_TRY(cf_diff__lines(&d.a, a, NULL, arena, err));
    CF_TRY(cf_diff__lines(&d.b, b, NULL, arena, err));
    return compare(out, &d, NULL, NULL, arena, err);
}

cf_status cf_diff_prompts(cf_diff *out, const cf_prompt *a, const cf_prompt *b, cf_arena *arena,
                          cf_error *err)
{
    cf_differ d = {.has_tokens = false};
    CF_TRY(cf_diff__lines(&d.a, a->text, a, arena, err));
    CF_TRY(cf_diff__lines(&d.b, b->text, b, arena, err));
    return compare(out, &d, a, b, arena, err);
}

cf_status cf_diff_tokens(cf_diff *out, const cf_prompt *a, const cf_token_list *a_tokens,
                         const cf_prompt *b, const cf_token_list *b_tokens, cf_arena *arena,
                         cf_error *err)
{
    cf_differ d = {.has_tokens = true};
    CF_TRY(cf_diff__tokens(&d.a, a, a_tokens, arena, err));
    CF_TRY(cf_diff__tokens(&d.b, b, b_tokens, arena, err));
    return compare(out, &d, a, b, arena, err);
}

cf_status cf_diff_conversations(cf_diff *out, const cf_prompt *a, const cf_token_list *a_tokens,
                                const cf_prompt *b, const cf_token_list *b_tokens, cf_arena *arena,
                                cf_error *err)
{
    cf_differ d = {.has_tokens = a_tokens != NULL && b_tokens != NULL, .is_apart = true};
    if (d.has_tokens) {
        CF_TRY(cf_diff__tokens(&d.a, a, a_tokens, arena, err));
        CF_TRY(cf_diff__tokens(&d.b, b, b_tokens, arena, err));
    } else {
        CF_TRY(cf_diff__lines(&d.a, a->text, a, arena, err));
        CF_TRY(cf_diff__lines(&d.b, b->text, b, arena, err));
    }
    return compare(out, &d, NULL, NULL, arena, err);
}
