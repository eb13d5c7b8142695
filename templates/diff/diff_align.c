/*
 * diff_align.c - what faces each other between the rows that show the same
 * source: equal units first, then lines that are similar.
 *
 * A gap is a stretch of each side without a pair in it.  Rule: a unit that
 * shows a message or a tool never faces one that shows another.
 */
#include <string.h>

#include "templates/diff/diff_steps.h"

enum {
    BLOCK = 48,       /* lines of a side that are paired at a time */
    SIMILAR = 40,     /* minimum percentage of bytes in common */
    BUDGET = 1 << 25, /* total bytes that may be compared for similarity */
    N_BUCKETS = 256,
    PAIR_COST = 32 /* cost of comparing two lines */
};

typedef struct gap {
    uint32_t a0, a1, b0, b1;
} gap;

typedef struct aligner {
    cf_differ *d;
    uint32_t budget;
    cf_status (*run)(struct aligner *al, gap g, cf_error *err);
} aligner;

static bool may_face(const cf_differ *d, uint32_t i, uint32_t j)
{
    const cf_diff_unit *u = &d->a.v[i], *w = &d->b.v[j];
    return d->is_apart || u->source == CF_SPAN_TEMPLATE || w->source == CF_SPAN_TEMPLATE ||
           (u->source == w->source && u->index == w->index);
}

bool cf_diff__is_same(const cf_differ *d, uint32_t i, uint32_t j)
{
    const cf_diff_unit *u = &d->a.v[i], *w = &d->b.v[j];
    if (d->has_tokens) {
        return u->id == w->id;
    }
    return u->has_newline == w->has_newline &&
           cf_str_eq(cf_diff_text_of(&d->a, i), cf_diff_text_of(&d->b, j));
}

static uint32_t symbol_of(cf_match_names *names, const cf_differ *d, const cf_diff_side *s,
                          uint32_t unit)
{
    const cf_diff_unit *u = &s->v[unit];
    return d->has_tokens ? cf_diff__names_get(names, cf_str_make("", 0), (uint32_t)u->id)
                         : cf_diff__names_get(names, cf_diff_text_of(s, unit), u->has_newline);
}

/* Pairs the rest of a gap by a longest common subsequence. */
static cf_status match_middle(cf_differ *d, gap g, cf_error *err)
{
    uint32_t n = g.a1 - g.a0, h = g.b1 - g.b0;
    cf_match_names names;
    CF_TRY(cf_diff__names_init(&names, (size_t)n + h, d->tmp, err));
    uint32_t *sym = cf_arena_alloc(d->tmp, ((size_t)n + h) * sizeof *sym);
    if (sym == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    for (uint32_t i = 0; i < n; i++) {
        sym[i] = symbol_of(&names, d, &d->a, g.a0 + i);
    }
    for (uint32_t j = 0; j < h; j++) {
        sym[n + j] = symbol_of(&names, d, &d->b, g.b0 + j);
    }
    uint32_t *pair = d->pair + g.a0;
    CF_TRY(cf_diff__match(pair, (cf_match_seq){sym, n}, (cf_match_seq){sym + n, h}, names.n,
                          d->max_cost, d->tmp, err));
    for (uint32_t i = 0; i < n; i++) {
        if (pair[i] != CF_MATCH_NONE) {
            pair[i] += g.b0;
            if (!may_face(d, g.a0 + i, pair[i])) {
                pair[i] = CF_MATCH_NONE;
            }
        }
    }
    return CF_OK;
}

static bool can_keep(const cf_differ *d, uint32_t i, uint32_t j)
{
    return cf_diff__is_same(d, i, j) && may_face(d, i, j);
}

static cf_status match_equal(aligner *al, gap g, cf_error *err)
{
    cf_differ *d = al->d;
    while (g.a0 < g.a1 && g.b0 < g.b1 && can_keep(d, g.a0, g.b0)) {
        d->pair[g.a0++] = g.b0++;
    }
    while (g.a0 < g.a1 && g.b0 < g.b1 && can_keep(d, g.a1 - 1, g.b1 - 1)) {
        d->pair[--g.a1] = --g.b1;
    }
    if (g.a0 == g.a1 || g.b0 == g.b1) {
        return CF_OK;
    }
    cf_arena_mark start = cf_arena_get_mark(d->tmp);
    cf_status st = match_middle(d, g, err);
    cf_arena_release(d->tmp, start);
    return st;
}

/* ---- similar lines ------------------------------------------------------ */

/* Bytes of words by a hash of the word; returns their sum. */
static uint32_t count_words(uint32_t bucket[N_BUCKETS], cf_str s)
{
    uint32_t sum = 0;
    memset(bucket, 0, N_BUCKETS * sizeof *bucket);
    for (size_t i = 0; i < s.n;) {
        uint32_t hash = 2166136261u, n = 0;
        do {
            hash = (hash ^ (unsigned char)s.p[i++]) * 16777619u;
            n++;
        } while (i < s.n && cf_is_word(s.p[i]) && cf_is_word(s.p[i - 1]));
        if (n > 1 || s.p[i - 1] != ' ') {
            bucket[(hash ^ hash >> 16) % N_BUCKETS] += n;
            sum += n;
        }
    }
    return sum;
}

/* The words of a line; each line is counted once. */
typedef struct words {
    uint32_t bucket[N_BUCKETS];
    uint32_t n;
} words;

/* The percentage of bytes of two lines in words that both contain; 0 below SIMILAR. */
static uint32_t likeness(const words *a, const words *b)
{
    uint64_t common = 0;
    for (size_t i = 0; i < N_BUCKETS; i++) {
        common += a->bucket[i] < b->bucket[i] ? a->bucket[i] : b->bucket[i];
    }
    uint64_t all = (uint64_t)a->n + b->n;
    uint64_t percent = all != 0 ? common * 200 / all : 0;
    return percent >= SIMILAR ? (uint32_t)percent : 0;
}

/* Scratch of a block: sum[i][j] is the most that lines i.. of a and j.. of b
 * have in common, when they face each other in order. */
typedef struct block {
    words a[BLOCK], b[BLOCK];
    uint32_t like[BLOCK][BLOCK];
    uint32_t sum[BLOCK + 1][BLOCK + 1];
} block;

static bool is_comparable(const cf_differ *d, uint32_t i, uint32_t j)
{
    uint32_t n = d->a.v[i].len, h = d->b.v[j].len;
    return may_face(d, i, j) && n / 4 <= h && h / 4 <= n;
}

/* Counts the words of lines [from, to) of a side; false when the budget is
 * used up. */
static bool count_lines(aligner *al, words *out, const cf_diff_side *side, uint32_t from,
                        uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        cf_str text = cf_diff_text_of(side, i);
        size_t cost = text.n + N_BUCKETS;
        if (cost > al->budget) {
            return false;
        }
        al->budget -= (uint32_t)cost;
        out[i - from].n = count_words(out[i - from].bucket, text);
    }
    return true;
}

/* Pairs the lines of a block so that they have the most in common. */
static void match_block(cf_differ *d, block *k, gap g)
{
    uint32_t n = g.a1 - g.a0, h = g.b1 - g.b0;
    memset(k->sum, 0, sizeof k->sum);
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t j = h; j-- > 0;) {
            uint32_t like = is_comparable(d, g.a0 + i, g.b0 + j) ? likeness(&k->a[i], &k->b[j]) : 0;
            uint32_t best =
                k->sum[i + 1][j] > k->sum[i][j + 1] ? k->sum[i + 1][j] : k->sum[i][j + 1];
            uint32_t both = like != 0 ? like + k->sum[i + 1][j + 1] : 0;
            k->like[i][j] = like;
            k->sum[i][j] = both > best ? both : best;
        }
    }
    for (uint32_t i = 0, j = 0; i < n && j < h;) {
        uint32_t like = k->like[i][j];
        if (like != 0 && k->sum[i][j] == like + k->sum[i + 1][j + 1]) {
            d->pair[g.a0 + i++] = g.b0 + j++;
        } else if (k->sum[i][j] == k->sum[i + 1][j]) {
            i++;
        } else {
            j++;
        }
    }
}

/* Similar lines of a gap; a long one is cut into blocks of the same share of
 * both sides. */
static cf_status match_similar(aligner *al, gap g, cf_error *err)
{
    cf_differ *d = al->d;
    uint32_t n = g.a1 - g.a0, h = g.b1 - g.b0;
    uint32_t longer = n > h ? n : h;
    uint32_t n_blocks = (longer + BLOCK - 1) / BLOCK;
    cf_arena_mark start = cf_arena_get_mark(d->tmp);
    block *k = cf_arena_alloc(d->tmp, sizeof *k);
    if (k == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    for (uint32_t b = 0; b < n_blocks; b++) {
        gap part = {g.a0 + (uint32_t)((uint64_t)n * b / n_blocks),
                    g.a0 + (uint32_t)((uint64_t)n * (b + 1) / n_blocks),
                    g.b0 + (uint32_t)((uint64_t)h * b / n_blocks),
                    g.b0 + (uint32_t)((uint64_t)h * (b + 1) / n_blocks)};
        uint32_t cost = (part.a1 - part.a0) * (part.b1 - part.b0) * PAIR_COST;
        if (cost > al->budget || !count_lines(al, k->a, &d->a, part.a0, part.a1) ||
            !count_lines(al, k->b, &d->b, part.b0, part.b1)) {
            break;
        }
        al->budget -= cost < al->budget ? cost : al->budget;
        match_block(d, k, part);
    }
    cf_arena_release(d->tmp, start);
    return CF_OK;
}

/* Applies a step to every gap that exists before it runs. */
static cf_status each_gap(aligner *al, cf_error *err)
{
    cf_differ *d = al->d;
    gap g = {0, 0, 0, 0};
    for (uint32_t i = 0;; i++) {
        bool is_end = i >= d->a.n;
        if (!is_end && d->pair[i] == CF_MATCH_NONE) {
            continue;
        }
        g.a1 = is_end ? d->a.n : i;
        g.b1 = is_end ? d->b.n : d->pair[i];
        if (g.a0 < g.a1 && g.b0 < g.b1) {
            CF_TRY(al->run(al, g, err));
        }
        if (is_end) {
            return CF_OK;
        }
        g.a0 = i + 1;
        g.b0 = d->pair[i] + 1;
    }
}

cf_status cf_diff__pair_text(cf_differ *d, cf_error *err)
{
    aligner al = {.d = d, .budget = BUDGET, .run = match_equal};
    CF_TRY(each_gap(&al, err));
    if (!d->has_tokens) {
        al.run = match_similar;
        CF_TRY(each_gap(&al, err));
    }
    return CF_OK;
}
