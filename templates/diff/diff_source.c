/*
 * diff_source.c - units face each other because they show the same bytes of
 * the same message or tool.
 *
 * A span that copies says which bytes of which field it shows.  For each side
 * these become pieces: bytes [from, to) of a field, in a unit.  A byte shown
 * twice counts where it first appears, so pieces of one field do not overlap,
 * and both lists can be walked side by side.  Wherever a piece of a and one of
 * b share bytes, that is a vote for their units; a unit goes with the one it
 * shares most with, when that holds the other way round too.
 */
#include <stdlib.h>
#include <string.h>

#include "templates/diff/diff_steps.h"

typedef struct piece {
    uint32_t field, from, to, unit;
} piece;

typedef struct piece_list {
    piece *v;
    size_t n;
} piece_list;

typedef struct vote {
    uint32_t a, b, n;
} vote;

static int by_number(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_pieces(const void *x, const void *y)
{
    const piece *a = x, *b = y;
    int c = by_number(a->field, b->field);
    c = c != 0 ? c : by_number(a->from, b->from);
    return c != 0 ? c : by_number(a->unit, b->unit);
}

static int compare_votes(const void *x, const void *y)
{
    const vote *a = x, *b = y;
    int c = by_number(a->a, b->a);
    return c != 0 ? c : by_number(a->b, b->b);
}

/* Sorts, and cuts away what an earlier piece shows already. */
static void make_disjoint(piece_list *list)
{
    size_t n = 0;
    if (list->n > 0) {
        qsort(list->v, list->n, sizeof *list->v, compare_pieces);
    }
    for (size_t i = 0; i < list->n; i++) {
        piece p = list->v[i];
        if (n > 0 && list->v[n - 1].field == p.field && p.from < list->v[n - 1].to) {
            p.from = list->v[n - 1].to;
        }
        if (p.from < p.to) {
            list->v[n++] = p;
        }
    }
    list->n = n;
}

/* A role does not identify its message, since many turns have the same. */
static bool is_field(const cf_prompt_span *s)
{
    return s->is_copy && !cf_str_is(s->path, ".role") &&
           (s->source == CF_SPAN_MESSAGE || s->source == CF_SPAN_TOOL);
}

/* A piece for each stretch of a copying span within one unit. */
static cf_status find_pieces(piece_list *out, const cf_diff_side *side, const cf_prompt *p,
                             cf_match_names *fields, cf_arena *tmp, cf_error *err)
{
    piece *v = cf_arena_alloc(tmp, (p->n_spans + side->n) * sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    size_t n = 0;
    uint32_t unit = 0;
    for (size_t i = 0; i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        uint32_t end = s->off + s->len;
        while (unit < side->n &&
               side->v[unit].off + side->v[unit].len + (side->v[unit].has_newline ? 1 : 0) <=
                   s->off) {
            unit++;
        }
        if (!is_field(s)) {
            continue;
        }
        uint32_t field =
            cf_diff__names_get(fields, s->path, s->index * 2 + (s->source == CF_SPAN_TOOL));
        for (uint32_t u = unit; u < side->n && side->v[u].off < end; u++) {
            const cf_diff_unit *w = &side->v[u];
            uint32_t from = w->off > s->off ? w->off : s->off;
            uint32_t to = w->off + w->len < end ? w->off + w->len : end;
            if (from < to) {
                v[n++] =
                    (piece){field, s->src_off + (from - s->off), s->src_off + (to - s->off), u};
            }
        }
    }
    *out = (piece_list){v, n};
    make_disjoint(out);
    return CF_OK;
}

/* Votes for pairs of units that show the same bytes, summed up. */
static size_t count_votes(vote *v, const piece_list *a, const piece_list *b)
{
    size_t n = 0, i = 0, j = 0;
    while (i < a->n && j < b->n) {
        const piece *p = &a->v[i], *q = &b->v[j];
        if (p->field == q->field && p->from < q->to && q->from < p->to) {
            uint32_t from = p->from > q->from ? p->from : q->from;
            uint32_t to = p->to < q->to ? p->to : q->to;
            v[n++] = (vote){p->unit, q->unit, to - from};
        }
        if (p->field < q->field || (p->field == q->field && p->to <= q->to)) {
            i++;
        } else {
            j++;
        }
    }
    if (n > 0) {
        qsort(v, n, sizeof *v, compare_votes);
    }
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        if (kept > 0 && v[kept - 1].a == v[k].a && v[kept - 1].b == v[k].b) {
            v[kept - 1].n += v[k].n;
        } else {
            v[kept++] = v[k];
        }
    }
    return kept;
}

/* Each unit's best partner, index of the vote; ties go to the first. */
static void elect(uint32_t *best, const vote *v, size_t n, bool for_b)
{
    for (size_t k = 0; k < n; k++) {
        uint32_t *held = &best[for_b ? v[k].b : v[k].a];
        if (*held == CF_MATCH_NONE || v[k].n > v[*held].n) {
            *held = (uint32_t)k;
        }
    }
}

static cf_status pair_votes(cf_differ *d, const vote *v, size_t n, cf_error *err)
{
    uint32_t n_a = d->a.n, n_b = d->b.n;
    uint32_t *block =
        cf_arena_alloc(d->tmp, ((size_t)n_a + n_b) * 2 * sizeof *block + sizeof *block);
    if (block == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    memset(block, 0xff, ((size_t)n_a + n_b) * 2 * sizeof *block);
    uint32_t *best_a = block, *best_b = best_a + n_a;
    uint32_t *sym_a = best_b + n_b, *sym_b = sym_a + n_a;
    elect(best_a, v, n, false);
    elect(best_b, v, n, true);
    for (uint32_t i = 0; i < n_a; i++) {
        uint32_t k = best_a[i];
        if (k != CF_MATCH_NONE && best_b[v[k].b] == k) {
            sym_a[i] = i;
            sym_b[v[k].b] = i;
        }
    }
    CF_TRY(cf_diff__match(d->pair, (cf_match_seq){sym_a, n_a}, (cf_match_seq){sym_b, n_b}, n_a,
                          d->max_cost, d->tmp, err));
    for (uint32_t i = 0; i < n_a; i++) {
        d->by_source[i] = d->pair[i] != CF_MATCH_NONE;
    }
    return CF_OK;
}

cf_status cf_diff__pair_sources(cf_differ *d, const cf_prompt *a, const cf_prompt *b, cf_error *err)
{
    piece_list in_a, in_b;
    cf_match_names fields;
    CF_TRY(cf_diff__names_init(&fields, a->n_spans + b->n_spans, d->tmp, err));
    CF_TRY(find_pieces(&in_a, &d->a, a, &fields, d->tmp, err));
    CF_TRY(find_pieces(&in_b, &d->b, b, &fields, d->tmp, err));
    vote *votes = cf_arena_alloc(d->tmp, (in_a.n + in_b.n + 1) * sizeof *votes);
    if (votes == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    size_t n = count_votes(votes, &in_a, &in_b);
    return pair_votes(d, votes, n, err);
}
