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
    WINDOW = 12,      /* lines tried for each removed one */
    SIMILAR = 40,     /* percent of bytes in common */
    BUDGET = 1 << 25, /* bytes looked at for similarity, in all */
    N_BUCKETS = 256
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
    return u->source == CF_SPAN_TEMPLATE || w->source == CF_SPAN_TEMPLATE ||
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

static uint32_t symbol_of(cf_match_names *names, const cf_differ *d,
                          const cf_diff_side *s, uint32_t unit)
{
    const cf_diff_unit *u = &s->v[unit];
    return d->has_tokens
               ? cf_diff__names_get(names, cf_str_make("", 0), (uint32_t)u->id)
               : cf_diff__names_get(names, cf_diff_text_of(s, unit),
                                    u->has_newline);
}

/* A longest common subsequence of what is left of a gap. */
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
    CF_TRY(cf_diff__match(pair, (cf_match_seq){sym, n},
                          (cf_match_seq){sym + n, h}, names.n, d->max_cost,
                          d->tmp, err));
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

static bool is_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

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
        } while (i < s.n && is_word((unsigned char)s.p[i]) &&
                 is_word((unsigned char)s.p[i - 1]));
        if (n > 1 || s.p[i - 1] != ' ') {
            bucket[(hash ^ hash >> 16) % N_BUCKETS] += n;
            sum += n;
        }
    }
    return sum;
}

static bool is_similar(const uint32_t *a, uint32_t n_a, cf_str b)
{
    uint32_t bucket[N_BUCKETS];
    uint64_t common = 0;
    uint64_t n_b = count_words(bucket, b);
    for (size_t i = 0; i < N_BUCKETS; i++) {
        common += a[i] < bucket[i] ? a[i] : bucket[i];
    }
    return common > 0 && common * 200 >= (n_a + n_b) * SIMILAR;
}

/* Each removed line takes the first similar added one that comes soon. */
static cf_status match_similar(aligner *al, gap g, cf_error *err)
{
    cf_differ *d = al->d;
    (void)err;
    for (uint32_t i = g.a0, j0 = g.b0; i < g.a1 && j0 < g.b1; i++) {
        cf_str a = cf_diff_text_of(&d->a, i);
        uint32_t bucket[N_BUCKETS];
        uint32_t n = 0;
        bool is_counted = false;
        for (uint32_t j = j0; j < g.b1 && j - j0 < WINDOW; j++) {
            cf_str b = cf_diff_text_of(&d->b, j);
            size_t cost = a.n + b.n + N_BUCKETS;
            if (!may_face(d, i, j) || a.n / 4 > b.n || b.n / 4 > a.n) {
                continue;
            }
            if (cost > al->budget) {
                return CF_OK;
            }
            al->budget -= (uint32_t)cost;
            if (!is_counted) {
                n = count_words(bucket, a);
                is_counted = true;
            }
            if (is_similar(bucket, n, b)) {
                d->pair[i] = j;
                j0 = j + 1;
                break;
            }
        }
    }
    return CF_OK;
}

/* Runs a step on every gap that there is before it. */
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
