/*
 * special.c - finds special tokens by searching a sorted list byte by byte.
 *
 * Each further byte narrows the range of tokens that still fit by binary
 * search.  The range's first token is the shortest, so a complete match shows
 * at its head.
 */
#include "core/token/special.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

typedef struct entry {
    cf_str s;
    cf_token id;
} entry;

static int by_spelling(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    size_t n = x->s.n < y->s.n ? x->s.n : y->s.n;
    int order = memcmp(x->s.p, y->s.p, n);
    if (order == 0 && x->s.n != y->s.n) {
        order = x->s.n < y->s.n ? -1 : 1;
    }
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static bool is_special(const cf_vocab *v, cf_token id)
{
    return v->piece[id].n != 0 &&
           (cf_vocab__is_control(v, id) || v->piece[id].type == CF_TOKEN_USER_DEFINED);
}

/* Lists the special tokens in `list` and checks their lengths. */
static cf_status collect(entry *list, size_t n_list, const cf_vocab *v, cf_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n && n < n_list; i++) {
        if (!is_special(v, (cf_token)i)) {
            continue;
        }
        if (v->piece[i].n > CF_SPECIAL_MAX) {
            return cf_fail(err, CF_ELIMIT,
                           "special token %zu is %u bytes long, at most %d "
                           "are supported",
                           i, v->piece[i].n, CF_SPECIAL_MAX);
        }
        list[n++] = (entry){cf_vocab__spelling(v, (cf_token)i), (cf_token)i};
    }
    return CF_OK;
}

static void fill(cf_specials *s, const entry *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && cf_str_eq(list[i].s, list[i - 1].s)) {
            continue; /* the lowest id of one spelling */
        }
        s->id[s->n++] = list[i].id;
    }
    size_t i = 0;
    for (unsigned c = 0; c < 256; c++) {
        s->first[c] = (uint32_t)i;
        while (i < s->n && (unsigned char)s->vocab->piece[s->id[i]].p[0] == c) {
            i++;
        }
    }
    s->first[256] = (uint32_t)i;
}

cf_status cf_specials__init(cf_specials *s, const cf_vocab *v, cf_error *err)
{
    memset(s, 0, sizeof *s);
    s->vocab = v;
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++) {
        n += is_special(v, (cf_token)i);
    }
    if (n == 0) {
        return CF_OK;
    }
    entry *list = cf_calloc(n, sizeof *list);
    s->id = cf_calloc(n, sizeof *s->id);
    cf_status st = list != NULL && s->id != NULL ? collect(list, n, v, err) : cf_oom(err);
    if (st == CF_OK) {
        qsort(list, n, sizeof *list, by_spelling);
        fill(s, list, n);
    } else {
        cf_specials__deinit(s);
    }
    cf_free(list);
    return st;
}

void cf_specials__deinit(cf_specials *s)
{
    cf_free(s->id);
    memset(s, 0, sizeof *s);
}

size_t cf_special_walk__end(cf_special_walk *w, size_t at)
{
    while (w->to <= at && w->next < w->n_span) {
        const cf_text_span *span = &w->span[w->next++];
        size_t from = span->off;
        size_t to = from + span->len;
        if (!span->parse_special || span->len == 0) {
            continue;
        }
        if (w->to != from) {
            w->from = from;
        }
        w->to = to;
        while (w->next < w->n_span &&
               (w->span[w->next].len == 0 ||
                (w->span[w->next].parse_special && w->span[w->next].off == w->to))) {
            w->to += w->span[w->next].len;
            w->next++;
        }
    }
    return at >= w->from && at < w->to ? w->to : 0;
}

/* First index in [lo, hi) whose byte at `depth` is at least c.  Tokens that
 * end before `depth` come first and count as lower. */
static size_t lower(const cf_specials *s, size_t lo, size_t hi, size_t depth, unsigned c)
{
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const cf_vocab_piece *p = &s->vocab->piece[s->id[mid]];
        if (p->n <= depth || (unsigned char)p->p[depth] < c) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* The longest token at `at`; control tokens must end by control_end. */
static cf_special_hit match_at(const cf_specials *s, cf_str text, size_t at, size_t control_end)
{
    cf_special_hit hit = {CF_TOKEN_NONE, at, 0};
    unsigned char c = (unsigned char)text.p[at];
    size_t lo = s->first[c];
    size_t hi = s->first[c + 1];
    for (size_t depth = 1; lo < hi; depth++) {
        cf_token id = s->id[lo];
        const cf_vocab_piece *p = &s->vocab->piece[id];
        if (p->n == depth && (p->type == CF_TOKEN_USER_DEFINED || at + depth <= control_end)) {
            hit.id = id;
            hit.len = depth;
        }
        if (at + depth >= text.n) {
            break;
        }
        c = (unsigned char)text.p[at + depth];
        lo = lower(s, lo, hi, depth, c);
        hi = lower(s, lo, hi, depth, c + 1U);
    }
    return hit;
}

cf_special_hit cf_specials__next(const cf_specials *s, cf_special_walk *walk, cf_str text,
                                 size_t at)
{
    for (; s->n != 0 && at < text.n; at++) {
        unsigned char c = (unsigned char)text.p[at];
        if (s->first[c] == s->first[c + 1]) {
            continue;
        }
        cf_special_hit hit = match_at(s, text, at, cf_special_walk__end(walk, at));
        if (hit.id != CF_TOKEN_NONE) {
            return hit;
        }
    }
    return (cf_special_hit){CF_TOKEN_NONE, text.n, 0};
}
