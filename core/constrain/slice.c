/*
 * slice.c - decides whether a node can take every text over an alphabet.
 *
 * The automaton of the alphabet (UTF-8 without controls, quote and
 * backslash, cut down to the slice) runs in step with the grammar's from the
 * node; every byte it offers must have its edge, to a node that needs no more
 * than bytes.
 */
#include <string.h>

#include "core/constrain/slice.h"

enum { PAIRS_MAX = 400, N_STATE = 8 };

/* Ranges of bytes that a state of the alphabet offers. */
typedef struct offer {
    uint8_t state, lo, hi, to;
    uint8_t slice; /* from this one on */
} offer;

/* 0: between characters; 1-3: so many continuation bytes; 4: after E0,
 * 5: ED, 6: F0, 7: F4 */
static const offer offers[] = {
    {0, ' ', ' ', 0, CF_SLICE_PRINT},  {0, '!', '!', 0, CF_SLICE_GRAPH},
    {0, '#', '/', 0, CF_SLICE_GRAPH},  {0, '0', '9', 0, CF_SLICE_WORD},
    {0, ':', '@', 0, CF_SLICE_GRAPH},  {0, 'A', 'Z', 0, CF_SLICE_ALPHA},
    {0, '[', '[', 0, CF_SLICE_GRAPH},  {0, ']', '^', 0, CF_SLICE_GRAPH},
    {0, '_', '_', 0, CF_SLICE_WORD},   {0, '`', '`', 0, CF_SLICE_GRAPH},
    {0, 'a', 'z', 0, CF_SLICE_LOWER},  {0, '{', '~', 0, CF_SLICE_GRAPH},
    {0, 0xC2, 0xDF, 1, CF_SLICE_TEXT}, {0, 0xE0, 0xE0, 4, CF_SLICE_TEXT},
    {0, 0xE1, 0xEC, 2, CF_SLICE_TEXT}, {0, 0xED, 0xED, 5, CF_SLICE_TEXT},
    {0, 0xEE, 0xEF, 2, CF_SLICE_TEXT}, {0, 0xF0, 0xF0, 6, CF_SLICE_TEXT},
    {0, 0xF1, 0xF3, 3, CF_SLICE_TEXT}, {0, 0xF4, 0xF4, 7, CF_SLICE_TEXT},
    {1, 0x80, 0xBF, 0, CF_SLICE_TEXT}, {2, 0x80, 0xBF, 1, CF_SLICE_TEXT},
    {3, 0x80, 0xBF, 2, CF_SLICE_TEXT}, {4, 0xA0, 0xBF, 1, CF_SLICE_TEXT},
    {5, 0x80, 0x9F, 1, CF_SLICE_TEXT}, {6, 0x90, 0xBF, 2, CF_SLICE_TEXT},
    {7, 0x80, 0x8F, 2, CF_SLICE_TEXT},
};

typedef struct pairs {
    uint32_t node[PAIRS_MAX];
    uint8_t state[PAIRS_MAX];
    size_t n;
} pairs;

static bool add_pair(pairs *p, uint32_t node, uint8_t state)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->node[i] == node && p->state[i] == state) {
            return true;
        }
    }
    if (p->n == PAIRS_MAX) {
        return false;
    }
    p->node[p->n] = node;
    p->state[p->n++] = state;
    return true;
}

/* Every byte of the offer has exactly one edge, to a plain node. */
static bool covers(const cf_grammar *g, uint32_t node, const offer *o, pairs *p)
{
    const cf_gnode *n = &g->node[node];
    unsigned at = o->lo;
    for (uint32_t k = 0; k < n->n_edge && at <= o->hi; k++) {
        const cf_gedge *e = &g->edge[n->edge + k];
        if (e->hi < at) {
            continue;
        }
        bool is_alone = k + 1 == n->n_edge || g->edge[n->edge + k + 1].lo > e->hi;
        if (e->lo > at || !is_alone || g->node[e->to].n_step > 0 || !add_pair(p, e->to, o->to)) {
            return false;
        }
        at = (unsigned)e->hi + 1;
    }
    return at > o->hi;
}

static bool takes(const cf_grammar *g, uint32_t node, unsigned slice)
{
    pairs p;
    p.n = 0;
    add_pair(&p, node, 0);
    for (size_t i = 0; i < p.n; i++) {
        for (size_t k = 0; k < sizeof offers / sizeof *offers; k++) {
            const offer *o = &offers[k];
            if (o->state == p.state[i] && o->slice <= slice && !covers(g, p.node[i], o, &p)) {
                return false;
            }
        }
    }
    return true;
}

unsigned cf_constraint__slice(const cf_grammar *g, uint32_t node)
{
    unsigned best = CF_SLICE_NONE;
    if (g->node[node].n_step > 0) {
        return best;
    }
    for (unsigned k = 0; k < CF_SLICE_N && takes(g, node, k); k++) {
        best = k;
    }
    return best;
}
