/*
 * regex_dfa.c - builds the automata of expressions and spells them in bytes.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/regex/regex_node.h"

enum { STATES_MAX = 60000, SETS_MAX = 64 };

/* The sets that decide the next derivation of an expression. */
typedef struct classes {
    cf_rx set[SETS_MAX];
    size_t n_set;
    bool is_full; /* more than fit: classes are not told apart by bits */
    uint32_t *cut;
    size_t n_cut, cap_cut;
    struct class_memo {
        uint64_t bits;
        uint32_t state;
    } memo[64];
    size_t n_memo;
} classes;

static bool add_cut(cf_rx_pool *rx, classes *c, uint32_t cp)
{
    if (!cf_grow(&c->cut, &c->cap_cut, c->n_cut + 1, sizeof *c->cut)) {
        cf_gbuild_oom(rx->b);
        return false;
    }
    c->cut[c->n_cut++] = cp;
    return true;
}

static void collect(cf_rx_pool *rx, classes *c, cf_rx id)
{
    if (!cf_gbuild_spend(rx->b, 1)) {
        return;
    }
    if (id < rx->cap_memo) {
        if (rx->memo_epoch[id] == rx->epoch) {
            return;
        }
        rx->memo_epoch[id] = rx->epoch;
    }
    if (++rx->depth > 2000) {
        cf_gbuild_fail(rx->b, CF_ELIMIT, "expression nests too deeply");
        return;
    }
    cf_rx_node n = rx->node[id];
    switch (n.kind) {
    case RX_SET:
        if (c->n_set < SETS_MAX) {
            c->set[c->n_set++] = id;
        } else {
            c->is_full = true;
        }
        for (uint32_t i = 0; i < n.n; i++) {
            if (!add_cut(rx, c, rx->range[n.first + i].lo) ||
                !add_cut(rx, c, rx->range[n.first + i].hi + 1)) {
                break;
            }
        }
        break;
    case RX_CAT:
        collect(rx, c, n.a);
        if (cf_rx_nullable(rx, n.a)) {
            collect(rx, c, n.b);
        }
        break;
    case RX_LOOP:
    case RX_NOT:
        collect(rx, c, n.a);
        break;
    case RX_ALT:
    case RX_AND:
        for (uint32_t i = 0; i < n.n; i++) {
            collect(rx, c, rx->list[n.first + i]);
        }
        break;
    default:
        break;
    }
    rx->depth--;
}

static void sort_cuts(classes *c)
{
    for (size_t gap = c->n_cut / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < c->n_cut; i++) {
            uint32_t x = c->cut[i];
            size_t k = i;
            for (; k >= gap && c->cut[k - gap] > x; k -= gap) {
                c->cut[k] = c->cut[k - gap];
            }
            c->cut[k] = x;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < c->n_cut; i++) {
        if (c->cut[i] <= CF_CP_MAX && (n == 0 || c->cut[n - 1] != c->cut[i])) {
            c->cut[n++] = c->cut[i];
        }
    }
    c->n_cut = n;
}

/* The automaton under construction. */
typedef struct maker {
    cf_rx_pool *rx;
    cf_dfa *d;
    uint32_t *state_of; /* per expression: state + 1 */
    size_t cap_state_of, n_known;
    cf_rx *expr; /* per state */
    size_t cap_expr;
    classes c;
} maker;

static bool add_state(cf_gbuild *b, cf_dfa *d, bool is_final)
{
    if (d->n_state >= STATES_MAX) {
        cf_gbuild_fail(b, CF_ELIMIT, "the expression needs over %d states", (int)STATES_MAX);
        return false;
    }
    if (!cf_grow(&d->state, &d->cap_state, d->n_state + 1, sizeof *d->state)) {
        cf_gbuild_oom(b);
        return false;
    }
    d->state[d->n_state++] = (cf_dfa_state){(uint32_t)d->n_move, 0, is_final};
    return true;
}

/* Adds a move to the last opened state, joined with its neighbour. */
static void add_move(cf_gbuild *b, cf_dfa *d, cf_dfa_state *s, uint32_t lo, uint32_t hi,
                     uint32_t to)
{
    if (s->n > 0) {
        cf_dfa_move *last = &d->move[d->n_move - 1];
        if (last->to == to && last->hi + 1 == lo) {
            last->hi = hi;
            return;
        }
    }
    if (!cf_grow(&d->move, &d->cap_move, d->n_move + 1, sizeof *d->move)) {
        cf_gbuild_oom(b);
        return;
    }
    d->move[d->n_move++] = (cf_dfa_move){lo, hi, to};
    s->n++;
}

static uint32_t state_for(maker *m, cf_rx id)
{
    cf_gbuild *b = m->rx->b;
    if (b->st != CF_OK || id == CF_RX_FAIL) {
        return UINT32_MAX;
    }
    if (!cf_grow(&m->state_of, &m->cap_state_of, id + 1, sizeof *m->state_of)) {
        cf_gbuild_oom(b);
        return UINT32_MAX;
    }
    if (m->cap_state_of > m->n_known) {
        memset(m->state_of + m->n_known, 0, (m->cap_state_of - m->n_known) * sizeof *m->state_of);
        m->n_known = m->cap_state_of;
    }
    if (m->state_of[id] != 0) {
        return m->state_of[id] - 1;
    }
    if (!cf_grow(&m->expr, &m->cap_expr, m->d->n_state + 1, sizeof *m->expr)) {
        cf_gbuild_oom(b);
        return UINT32_MAX;
    }
    m->expr[m->d->n_state] = id;
    if (!add_state(b, m->d, cf_rx_nullable(m->rx, id))) {
        return UINT32_MAX;
    }
    m->state_of[id] = (uint32_t)m->d->n_state;
    return m->state_of[id] - 1;
}

/* The state after code point lo, for a class of code points alike. */
static uint32_t next_state(maker *m, cf_rx id, uint32_t lo)
{
    classes *c = &m->c;
    uint64_t bits = 0;
    for (size_t i = 0; i < c->n_set; i++) {
        const cf_rx_node *set = &m->rx->node[c->set[i]];
        bits |= (uint64_t)cf_rx__set_has(m->rx, set, lo) << i;
    }
    for (size_t i = 0; !c->is_full && i < c->n_memo; i++) {
        if (c->memo[i].bits == bits) {
            return c->memo[i].state;
        }
    }
    cf_rx next = cf_rx__derive(m->rx, id, lo);
    uint32_t to = next == CF_RX_NONE ? UINT32_MAX : state_for(m, next);
    if (c->n_memo < sizeof c->memo / sizeof *c->memo) {
        c->memo[c->n_memo].bits = bits;
        c->memo[c->n_memo++].state = to;
    }
    return to;
}

static void expand(maker *m, uint32_t state)
{
    cf_rx_pool *rx = m->rx;
    classes *c = &m->c;
    cf_rx id = m->expr[state];
    c->n_set = 0;
    c->n_cut = 0;
    c->n_memo = 0;
    c->is_full = false;
    rx->epoch++;
    rx->depth = 0;
    add_cut(rx, c, 0);
    collect(rx, c, id);
    sort_cuts(c);
    cf_dfa_state s = m->d->state[state];
    s.first = (uint32_t)m->d->n_move;
    for (size_t i = 0; i < c->n_cut && rx->b->st == CF_OK; i++) {
        uint32_t lo = c->cut[i];
        uint32_t hi = i + 1 < c->n_cut ? c->cut[i + 1] - 1 : CF_CP_MAX;
        uint32_t to = next_state(m, id, lo);
        if (to != UINT32_MAX && rx->b->st == CF_OK) {
            add_move(rx->b, m->d, &s, lo, hi, to);
        }
    }
    m->d->state[state] = s;
}

void cf_rx_dfa(cf_rx_pool *rx, cf_rx a, cf_dfa *out)
{
    memset(out, 0, sizeof *out);
    maker m = {.rx = rx, .d = out};
    state_for(&m, a);
    for (uint32_t s = 0; rx->b->st == CF_OK && s < out->n_state; s++) {
        expand(&m, s);
    }
    cf_free(m.state_of);
    cf_free(m.expr);
    cf_free(m.c.cut);
    cf_dfa_trim(rx->b, out);
}

void cf_dfa_deinit(cf_dfa *d)
{
    cf_free(d->state);
    cf_free(d->move);
    memset(d, 0, sizeof *d);
}

static bool leads_on(const cf_dfa *d, const bool *live, size_t i)
{
    const cf_dfa_state *s = &d->state[i];
    for (uint32_t k = 0; k < s->n; k++) {
        if (live[d->move[s->first + k].to]) {
            return true;
        }
    }
    return s->is_final;
}

void cf_dfa_trim(cf_gbuild *b, cf_dfa *d)
{
    if (b->st != CF_OK || d->n_state == 0) {
        cf_dfa_deinit(d);
        return;
    }
    bool *live = cf_calloc(d->n_state, sizeof *live);
    uint32_t *number = cf_calloc(d->n_state, sizeof *number);
    if (live == NULL || number == NULL) {
        cf_gbuild_oom(b);
        cf_free(live);
        cf_free(number);
        cf_dfa_deinit(d);
        return;
    }
    for (bool is_changed = true; is_changed && cf_gbuild_spend(b, d->n_move / 8 + 1);) {
        is_changed = false;
        for (size_t i = d->n_state; i-- > 0;) {
            if (!live[i] && leads_on(d, live, i)) {
                live[i] = true;
                is_changed = true;
            }
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < d->n_state; i++) {
        number[i] = (uint32_t)n;
        n += live[i] ? 1 : 0;
    }
    if (!live[0]) {
        n = 0;
    }
    size_t n_move = 0;
    for (size_t i = 0; n > 0 && i < d->n_state; i++) {
        cf_dfa_state s = d->state[i];
        if (!live[i]) {
            continue;
        }
        cf_dfa_state kept = {(uint32_t)n_move, 0, s.is_final};
        for (uint32_t k = 0; k < s.n; k++) {
            cf_dfa_move v = d->move[s.first + k];
            if (live[v.to]) {
                v.to = number[v.to];
                d->move[n_move++] = v;
                kept.n++;
            }
        }
        d->state[number[i]] = kept;
    }
    d->n_state = n;
    d->n_move = n_move;
    cf_free(live);
    cf_free(number);
}

bool cf_rx_is_empty(cf_rx_pool *rx, cf_rx a)
{
    if (a == CF_RX_NONE || rx->node[a].is_nullable) {
        return a == CF_RX_NONE;
    }
    cf_dfa d;
    cf_rx_dfa(rx, a, &d);
    bool is_empty = d.n_state == 0;
    cf_dfa_deinit(&d);
    return is_empty;
}

/* Pairs of states, found by a linear probe. */
typedef struct pairs {
    uint64_t *key; /* x << 32 | y, plus 1; 0: free */
    uint32_t *state;
    size_t n, cap;
    uint64_t *pending; /* per state of the result: its pair */
    size_t cap_pending;
} pairs;

/* The middle bits depend on both states. */
static size_t pair_slot(uint64_t key, size_t cap)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) % cap;
}

static bool grow_pairs(pairs *p)
{
    size_t cap = p->cap == 0 ? 256 : p->cap * 2;
    uint64_t *key = cf_calloc(cap, sizeof *key);
    uint32_t *state = cf_calloc(cap, sizeof *state);
    if (key == NULL || state == NULL) {
        cf_free(key);
        cf_free(state);
        return false;
    }
    for (size_t i = 0; i < p->cap; i++) {
        if (p->key[i] != 0) {
            size_t at = pair_slot(p->key[i], cap);
            while (key[at] != 0) {
                at = (at + 1) % cap;
            }
            key[at] = p->key[i];
            state[at] = p->state[i];
        }
    }
    cf_free(p->key);
    cf_free(p->state);
    p->key = key;
    p->state = state;
    p->cap = cap;
    return true;
}

static uint32_t pair_state(cf_gbuild *b, pairs *p, cf_dfa *out, const cf_dfa *x, const cf_dfa *y,
                           uint32_t i, uint32_t k)
{
    if (2 * p->n >= p->cap && !grow_pairs(p)) {
        cf_gbuild_oom(b);
        return 0;
    }
    uint64_t key = ((uint64_t)i << 32 | k) + 1;
    size_t at = pair_slot(key, p->cap);
    while (p->key[at] != 0 && cf_gbuild_spend(b, 1)) {
        if (p->key[at] == key) {
            return p->state[at];
        }
        at = (at + 1) % p->cap;
    }
    uint32_t s = (uint32_t)out->n_state;
    if (!cf_gbuild_spend(b, 1) ||
        !cf_grow(&p->pending, &p->cap_pending, s + 1, sizeof *p->pending)) {
        cf_gbuild_oom(b);
        return 0;
    }
    p->pending[s] = key - 1;
    p->key[at] = key;
    p->state[at] = s;
    p->n++;
    add_state(b, out, x->state[i].is_final && y->state[k].is_final);
    return s;
}

void cf_dfa_and(cf_gbuild *b, const cf_dfa *x, const cf_dfa *y, cf_dfa *out)
{
    memset(out, 0, sizeof *out);
    if (x->n_state == 0 || y->n_state == 0) {
        return;
    }
    pairs p = {0};
    pair_state(b, &p, out, x, y, 0, 0);
    for (uint32_t s = 0; b->st == CF_OK && s < out->n_state && p.pending != NULL; s++) {
        const cf_dfa_state *sx = &x->state[p.pending[s] >> 32];
        const cf_dfa_state *sy = &y->state[p.pending[s] & UINT32_MAX];
        cf_dfa_state mine = out->state[s];
        mine.first = (uint32_t)out->n_move;
        for (uint32_t i = 0, k = 0; i < sx->n && k < sy->n && cf_gbuild_spend(b, 1);) {
            const cf_dfa_move *u = &x->move[sx->first + i];
            const cf_dfa_move *v = &y->move[sy->first + k];
            uint32_t lo = u->lo > v->lo ? u->lo : v->lo;
            uint32_t hi = u->hi < v->hi ? u->hi : v->hi;
            if (lo <= hi) {
                uint32_t to = pair_state(b, &p, out, x, y, u->to, v->to);
                add_move(b, out, &mine, lo, hi, to);
            }
            if (u->hi < v->hi) {
                i++;
            } else {
                k++;
            }
        }
        if (b->st == CF_OK) {
            out->state[s] = mine;
        }
    }
    cf_free(p.key);
    cf_free(p.state);
    cf_free(p.pending);
    cf_dfa_trim(b, out);
}

/* ---- lengths ------------------------------------------------------------ */

void cf_dfa_lengths_deinit(cf_dfa_lengths *l)
{
    cf_free(l->least);
    cf_free(l->most);
}

/* Spreads from the final states to those that lead to them.  The fewest are
 * found in rounds; the most for a state once they are known for all that
 * follow it, so that states with a way into a circle keep CF_RX_INF. */
static bool spread(cf_gbuild *b, const cf_dfa *d, cf_dfa_lengths *l)
{
    bool is_changed = false;
    if (!cf_gbuild_spend(b, d->n_move / 8 + 1)) {
        return false;
    }
    for (size_t i = d->n_state; i-- > 0;) {
        const cf_dfa_state *s = &d->state[i];
        uint32_t most = 0;
        for (uint32_t k = 0; k < s->n; k++) {
            uint32_t to = d->move[s->first + k].to;
            uint32_t least = l->least[to];
            if (least != CF_RX_INF && least + 1 < l->least[i]) {
                l->least[i] = least + 1;
                is_changed = true;
            }
            most = l->most[to] == CF_RX_INF ? CF_RX_INF
                   : most == CF_RX_INF      ? most
                   : l->most[to] + 1 > most ? l->most[to] + 1
                                            : most;
        }
        if (most != l->most[i]) {
            l->most[i] = most;
            is_changed = true;
        }
    }
    return is_changed;
}

bool cf_dfa_lengths_make(cf_gbuild *b, const cf_dfa *d, cf_dfa_lengths *out)
{
    out->least = cf_calloc(d->n_state + 1, sizeof *out->least);
    out->most = cf_calloc(d->n_state + 1, sizeof *out->most);
    if (out->least == NULL || out->most == NULL) {
        cf_gbuild_oom(b);
        return false;
    }
    for (size_t i = 0; i < d->n_state; i++) {
        out->least[i] = d->state[i].is_final ? 0 : CF_RX_INF;
        out->most[i] = CF_RX_INF;
    }
    while (spread(b, d, out)) {
    }
    return b->st == CF_OK;
}

/* ---- listing a small language ------------------------------------------- */

typedef struct lister {
    const cf_dfa *d;
    size_t max, n;
    void (*fn)(void *ud, cf_str text);
    void *ud;
    char text[512];
    bool is_over;
} lister;

static void list_from(lister *l, uint32_t state, size_t len, unsigned depth)
{
    const cf_dfa_state *s = &l->d->state[state];
    /* A path longer than the number of states has gone round a loop. */
    if (depth > l->d->n_state || len + 4 > sizeof l->text) {
        l->is_over = true;
        return;
    }
    if (s->is_final) {
        if (l->n++ >= l->max) {
            l->is_over = true;
            return;
        }
        if (l->fn != NULL) {
            l->fn(l->ud, cf_str_make(l->text, len));
        }
    }
    for (uint32_t k = 0; k < s->n && !l->is_over; k++) {
        const cf_dfa_move *v = &l->d->move[s->first + k];
        if (v->hi - v->lo > l->max) {
            l->is_over = true;
            return;
        }
        for (uint32_t cp = v->lo; cp <= v->hi && !l->is_over; cp++) {
            list_from(l, v->to, len + cf_utf8_encode(l->text + len, cp), depth + 1);
        }
    }
}

bool cf_rx_list(cf_rx_pool *rx, cf_rx a, size_t max, void (*fn)(void *ud, cf_str text), void *ud)
{
    cf_dfa d;
    cf_rx_dfa(rx, a, &d);
    lister l = {.d = &d, .max = max};
    if (d.n_state > 0 && rx->b->st == CF_OK) {
        list_from(&l, 0, 0, 0);
        if (!l.is_over && fn != NULL) {
            l = (lister){.d = &d, .max = max, .fn = fn, .ud = ud};
            list_from(&l, 0, 0, 0);
        }
    }
    cf_dfa_deinit(&d);
    return !l.is_over && rx->b->st == CF_OK;
}
