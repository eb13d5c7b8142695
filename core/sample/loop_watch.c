/*
 * loop_watch.c - a suffix automaton over the last tokens of a reply.
 *
 * Always true:
 *   1. States [0, n_state) are those of the automaton of tok[0..n); state 0 is
 *      the empty text.
 *   2. A state's `first` is where its texts end first; its edges are a list, and
 *      found by a hash of state and token.
 *   3. tok[0] is token `base` of the reply.
 */
#include "core/api/loop.h"

#include <string.h>

#include "core/base/alloc.h"

enum {
    WINDOW = 2048, /* tokens; then the newer half is kept */
    STATES = 2 * WINDOW,
    EDGES = 3 * WINDOW,
    BUCKETS = 8192,
    NONE = -1,
    LEAST = 32, /* tokens of a loop */
    LONG_PERIOD = 64
};

typedef struct edge {
    cf_token token;
    int32_t from, to;
    int32_t next;  /* of the state */
    int32_t chain; /* of the bucket */
} edge;

typedef struct state_row {
    int32_t len, link, first, edges;
} state_row;

struct cf_loop_watch {
    cf_token tok[WINDOW];
    size_t n, base;
    state_row state[STATES];
    edge edge[EDGES];
    int32_t bucket[BUCKETS];
    int32_t n_state, n_edge, last;
    cf_loop loop;
};

/* ---- edges -------------------------------------------------------------- */

static size_t bucket_of(int32_t from, cf_token token)
{
    uint32_t h = (uint32_t)from * UINT32_C(2654435761) ^ (uint32_t)token * UINT32_C(2246822519);
    return (h ^ h >> 15) % BUCKETS;
}

static edge *find_edge(cf_loop_watch *w, int32_t from, cf_token token)
{
    int32_t e = w->bucket[bucket_of(from, token)];
    while (e != NONE && (w->edge[e].from != from || w->edge[e].token != token)) {
        e = w->edge[e].chain;
    }
    return e != NONE ? &w->edge[e] : NULL;
}

static void add_edge(cf_loop_watch *w, int32_t from, cf_token token, int32_t to)
{
    size_t b = bucket_of(from, token);
    int32_t e = w->n_edge++;
    CF_ASSERT(e < EDGES); /* 3 n - 4 at most for n tokens */
    w->edge[e] = (edge){token, from, to, w->state[from].edges, w->bucket[b]};
    w->state[from].edges = e;
    w->bucket[b] = e;
}

/* ---- the automaton ------------------------------------------------------ */

static int32_t add_state(cf_loop_watch *w, int32_t len, int32_t link, int32_t first)
{
    int32_t s = w->n_state++;
    CF_ASSERT(s < STATES); /* 2 n - 1 at most */
    w->state[s] = (state_row){len, link, first, NONE};
    return s;
}

static void clear(cf_loop_watch *w)
{
    w->n = 0;
    w->n_state = w->n_edge = w->last = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        w->bucket[i] = NONE;
    }
    (void)add_state(w, 0, NONE, NONE);
}

/* State q split: the clone has the shorter texts. */
static int32_t split(cf_loop_watch *w, int32_t p, int32_t q, cf_token token)
{
    int32_t c = add_state(w, w->state[p].len + 1, w->state[q].link, w->state[q].first);
    for (int32_t e = w->state[q].edges; e != NONE; e = w->edge[e].next) {
        add_edge(w, c, w->edge[e].token, w->edge[e].to);
    }
    for (edge *e; p != NONE && (e = find_edge(w, p, token)) != NULL && e->to == q;
         p = w->state[p].link) {
        e->to = c;
    }
    w->state[q].link = c;
    return c;
}

static void extend(cf_loop_watch *w, cf_token token)
{
    int32_t pos = (int32_t)w->n;
    int32_t p = w->last;
    int32_t cur = add_state(w, w->state[p].len + 1, 0, pos);
    w->tok[w->n++] = token;
    while (p != NONE && find_edge(w, p, token) == NULL) {
        add_edge(w, p, token, cur);
        p = w->state[p].link;
    }
    if (p != NONE) {
        int32_t q = find_edge(w, p, token)->to;
        w->state[cur].link = w->state[p].len + 1 == w->state[q].len ? q : split(w, p, q, token);
    }
    w->last = cur;
}

/* ---- loops -------------------------------------------------------------- */

/* Tokens that are periodic up to the last one. */
static cf_loop run_here(const cf_loop_watch *w)
{
    const state_row *link = &w->state[w->state[w->last].link];
    size_t len = (size_t)link->len;
    size_t period = len > 0 ? w->n - 1 - (size_t)link->first : 0;
    if (len == 0 || len < period) {
        return (cf_loop){0, 0, 0};
    }
    size_t length = len + period;
    return (cf_loop){w->base + w->n - length, period, length};
}

static bool is_loop(const cf_loop *l)
{
    size_t times = l->period < LONG_PERIOD ? 4 : 3;
    return l->length >= LEAST && l->length >= times * l->period;
}

/* The newer half in an automaton of its own. */
static void make_room(cf_loop_watch *w)
{
    cf_token kept[WINDOW / 2];
    size_t base = w->base + w->n - WINDOW / 2;
    memcpy(kept, w->tok + w->n - WINDOW / 2, sizeof kept);
    clear(w);
    w->base = base;
    for (size_t i = 0; i < WINDOW / 2; i++) {
        extend(w, kept[i]);
    }
}

cf_status cf_loop_watch_new(cf_loop_watch **out, cf_error *err)
{
    cf_loop_watch *w = cf_calloc(1, sizeof *w);
    if (w == NULL) {
        return cf_oom_for(err, "the watch for loops");
    }
    clear(w);
    *out = w;
    return CF_OK;
}

void cf_loop_watch_free(cf_loop_watch *w)
{
    cf_free(w);
}

cf_status cf_loop_watch_add(cf_loop_watch *w, cf_token id, cf_error *err)
{
    (void)err;
    if (w->n == WINDOW) {
        make_room(w);
    }
    extend(w, id);
    cf_loop before = w->loop, now = run_here(w);
    w->loop = is_loop(&now) ? now : (cf_loop){0, 0, 0};
    if (w->loop.length > 0 && before.period == w->loop.period &&
        before.first < w->loop.first) { /* it is longer than the window */
        w->loop.length += w->loop.first - before.first;
        w->loop.first = before.first;
    }
    return CF_OK;
}

cf_loop cf_loop_watch_get(const cf_loop_watch *w)
{
    return w->loop;
}

cf_status cf_loop_find(cf_loop *out, const cf_token *ids, size_t n, cf_error *err)
{
    cf_loop_watch *w;
    *out = (cf_loop){0, 0, 0};
    CF_TRY(cf_loop_watch_new(&w, err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = cf_loop_watch_add(w, ids[i], err);
        if (w->loop.length > out->length) {
            *out = w->loop;
        }
    }
    cf_loop_watch_free(w);
    return st;
}

size_t cf_loop_trap(const cf_loop *l, const float *p, float least)
{
    size_t end = l->first + l->length, at = end;
    while (l->length > 0 && at > l->first + l->period && 1 - p[at - 1] < least) {
        at--;
    }
    return at < end ? at : SIZE_MAX;
}
