/*
 * match.c - longest common subsequence by divide and conquer.
 *
 * A box is a part of each sequence.  Its middle snake is found by walking
 * shortest edit paths from both corners at once; it splits the box in two.
 * The larger part is the next turn of the loop, so the calls nest no deeper
 * than the logarithm of the input.
 *
 * A path is kept as the furthest x on each diagonal k = x - y.  Diagonals of
 * the box run from -h to n, so two arrays serve every box.
 */
#include "templates/diff/match.h"

#include <string.h>

enum { NOWHERE = INT32_MIN / 2 };

typedef struct matcher {
    const uint32_t *a, *b; /* number of symbols that both sides contain */
    uint32_t *pair;        /* of a's symbols: index in b */
    int32_t *fwd, *bwd;    /* furthest x by diagonal, 0 in the middle */
    int32_t max_cost;      /* edits after which a search takes the best split so far */
} matcher;

typedef struct box {
    int32_t a0, a1, b0, b1;
} box;

/* Coordinates in the box: the first part ends at (x, y), then a snake, then
 * the second part starts at (x2, y2). */
typedef struct split {
    int32_t x, y, x2, y2;
} split;

/* One of the two searches; the backward one sees the box turned around. */
typedef struct search {
    const matcher *m;
    const box *q;
    int32_t n, h;
    int32_t *v;           /* own paths */
    const int32_t *other; /* paths of the other search */
    bool is_back;
} search;

static bool same(const search *s, int32_t x, int32_t y)
{
    const matcher *m = s->m;
    return s->is_back ? m->a[s->q->a1 - 1 - x] == m->b[s->q->b1 - 1 - y]
                      : m->a[s->q->a0 + x] == m->b[s->q->b0 + y];
}

/* The furthest start on diagonal k with one edit more, NOWHERE when the box
 * has none. */
static int32_t start_of(const search *s, int32_t k)
{
    int32_t right = s->v[k - 1] + 1, down = s->v[k + 1];
    right = right > s->n ? NOWHERE : right;
    down = down - k > s->h ? NOWHERE : down;
    int32_t x = right > down ? right : down;
    return x >= 0 ? x : NOWHERE;
}

/* Walks paths of d edits.  True when one of them met the other search, whose
 * paths have d_other edits; *out is then the last snake. */
static bool walk(const search *s, int32_t d, int32_t d_other, split *out)
{
    int32_t delta = s->n - s->h;
    int32_t from = d <= s->h ? -d : -s->h + ((d - s->h) & 1);
    int32_t to = d <= s->n ? d : s->n - ((d - s->n) & 1);
    if (from == -d) {
        s->v[from - 1] = NOWHERE;
    }
    if (to == d) {
        s->v[to + 1] = NOWHERE;
    }
    for (int32_t k = from; k <= to; k += 2) {
        int32_t x0 = d == 0 ? 0 : start_of(s, k);
        int32_t x = x0;
        while (x >= 0 && x < s->n && x - k < s->h && same(s, x, x - k)) {
            x++;
        }
        s->v[k] = x;
        int32_t r = delta - k;
        if (x >= 0 && ((r - d_other) & 1) == 0 && r >= -d_other && r <= d_other &&
            s->other[r] >= 0 && x + s->other[r] >= s->n) {
            *out = s->is_back ? (split){s->n - x, s->h - (x - k), s->n - x0, s->h - (x0 - k)}
                              : (split){x0, x0 - k, x, x - k};
            return true;
        }
    }
    return false;
}

/* The end of the path with d edits that got furthest; returns how far. */
static int32_t furthest(const search *s, int32_t d, split *out)
{
    int32_t from = d <= s->h ? -d : -s->h + ((d - s->h) & 1);
    int32_t to = d <= s->n ? d : s->n - ((d - s->n) & 1);
    int32_t best = -1;
    for (int32_t k = from; k <= to; k += 2) {
        int32_t x = s->v[k];
        if (x >= 0 && x + x - k > best) {
            best = x + x - k;
            *out = s->is_back ? (split){s->n - x, s->h - (x - k), s->n - x, s->h - (x - k)}
                              : (split){x, x - k, x, x - k};
        }
    }
    return best;
}

static split split_box(const matcher *m, const box *q)
{
    int32_t n = q->a1 - q->a0, h = q->b1 - q->b0;
    const search fwd = {m, q, n, h, m->fwd, m->bwd, false};
    const search bwd = {m, q, n, h, m->bwd, m->fwd, true};
    split s = {0, 0, 0, 0}, t = {0, 0, 0, 0};
    for (int32_t d = 0;; d++) {
        if (walk(&fwd, d, d - 1, &s) || walk(&bwd, d, d, &s)) {
            return s;
        }
        if (d >= m->max_cost) {
            int32_t far_fwd = furthest(&fwd, d, &s);
            return furthest(&bwd, d, &t) > far_fwd ? t : s;
        }
    }
}

static void match_box(const matcher *m, box q)
{
    for (;;) {
        while (q.a0 < q.a1 && q.b0 < q.b1 && m->a[q.a0] == m->b[q.b0]) {
            m->pair[q.a0++] = (uint32_t)q.b0++;
        }
        while (q.a0 < q.a1 && q.b0 < q.b1 && m->a[q.a1 - 1] == m->b[q.b1 - 1]) {
            m->pair[--q.a1] = (uint32_t)--q.b1;
        }
        if (q.a0 == q.a1 || q.b0 == q.b1) {
            return;
        }
        split s = split_box(m, &q);
        for (int32_t i = 0; i < s.x2 - s.x; i++) {
            m->pair[q.a0 + s.x + i] = (uint32_t)(q.b0 + s.y + i);
        }
        box first = {q.a0, q.a0 + s.x, q.b0, q.b0 + s.y};
        box second = {q.a0 + s.x2, q.a1, q.b0 + s.y2, q.b1};
        bool first_is_small = s.x + s.y < second.a1 - second.a0 + (second.b1 - second.b0);
        match_box(m, first_is_small ? first : second);
        q = first_is_small ? second : first;
    }
}

/* The symbols of `from` that `has` holds, and where they stand in it. */
static uint32_t keep_common(uint32_t *out, uint32_t *at, cf_match_seq from, const bool *has)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < from.n; i++) {
        if (from.v[i] != CF_MATCH_NONE && has[from.v[i]]) {
            out[n] = from.v[i];
            at[n++] = i;
        }
    }
    return n;
}

static void mark(bool *has, cf_match_seq s)
{
    for (uint32_t i = 0; i < s.n; i++) {
        if (s.v[i] != CF_MATCH_NONE) {
            has[s.v[i]] = true;
        }
    }
}

static cf_status match_in(uint32_t *pair, cf_match_seq a, cf_match_seq b, uint32_t n_symbols,
                          uint32_t max_cost, cf_arena *tmp, cf_error *err)
{
    bool *in_a = cf_arena_calloc(tmp, (size_t)n_symbols + 1, sizeof *in_a);
    bool *in_b = cf_arena_calloc(tmp, (size_t)n_symbols + 1, sizeof *in_b);
    uint32_t *block = cf_arena_alloc(tmp, ((size_t)a.n * 3 + (size_t)b.n * 2 + 1) * sizeof *block);
    size_t n_diagonals = (size_t)a.n + b.n + 3;
    int32_t *paths = cf_arena_alloc(tmp, 2 * n_diagonals * sizeof *paths);
    if (in_a == NULL || in_b == NULL || block == NULL || paths == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    uint32_t *sym_a = block, *at_a = sym_a + a.n, *found = at_a + a.n;
    uint32_t *sym_b = found + a.n, *at_b = sym_b + b.n;
    mark(in_a, a);
    mark(in_b, b);
    uint32_t n = keep_common(sym_a, at_a, a, in_b);
    uint32_t h = keep_common(sym_b, at_b, b, in_a);
    matcher m = {.a = sym_a,
                 .b = sym_b,
                 .pair = found,
                 .fwd = paths + h + 1,
                 .bwd = paths + n_diagonals + h + 1,
                 .max_cost = (int32_t)(max_cost < 1u << 30 ? max_cost : 1u << 30)};
    memset(found, 0xff, (size_t)n * sizeof *found);
    match_box(&m, (box){0, (int32_t)n, 0, (int32_t)h});
    memset(pair, 0xff, (size_t)a.n * sizeof *pair);
    for (uint32_t i = 0; i < n; i++) {
        if (found[i] != CF_MATCH_NONE) {
            pair[at_a[i]] = at_b[found[i]];
        }
    }
    return CF_OK;
}

cf_status cf_diff__match(uint32_t *pair, cf_match_seq a, cf_match_seq b, uint32_t n_symbols,
                         uint32_t max_cost, cf_arena *tmp, cf_error *err)
{
    if (a.n == 0) {
        return CF_OK;
    }
    if (a.n >= 1u << 29 || b.n >= 1u << 29) {
        return cf_fail(err, CF_ELIMIT, "too many lines to compare");
    }
    cf_arena_mark start = cf_arena_get_mark(tmp);
    cf_status st = match_in(pair, a, b, n_symbols, max_cost, tmp, err);
    cf_arena_release(tmp, start);
    return st;
}

/* ---- names -------------------------------------------------------------- */

cf_status cf_diff__names_init(cf_match_names *t, size_t n_max, cf_arena *arena, cf_error *err)
{
    size_t cap = 16;
    while (cap < n_max * 2) {
        cap *= 2;
    }
    *t = (cf_match_names){.mask = cap - 1};
    t->names = cf_arena_calloc(arena, cap, sizeof *t->names);
    t->number = cf_arena_calloc(arena, cap, sizeof *t->number);
    t->tag = cf_arena_calloc(arena, cap, sizeof *t->tag);
    return t->names != NULL && t->number != NULL && t->tag != NULL
               ? CF_OK
               : cf_oom_for(err, "the comparison");
}

uint32_t cf_diff__names_get(cf_match_names *t, cf_str s, uint32_t tag)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ tag; /* FNV-1a */
    for (size_t i = 0; i < s.n; i++) {
        hash = (hash ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 29;
    size_t i = (size_t)hash & t->mask;
    while (t->names[i].p != NULL) {
        if (t->tag[i] == tag && cf_str_eq(t->names[i], s)) {
            return t->number[i];
        }
        i = (i + 1) & t->mask;
    }
    t->names[i] = cf_str_make(s.p != NULL ? s.p : "", s.n);
    t->number[i] = t->n;
    t->tag[i] = tag;
    return t->n++;
}
