/*
 * recurrent_state.c - keeps checkpoints of recurrent layers, with reference
 * counts.
 *
 * Rules that always hold:
 *   1. kept[0..n) ascend in position up to live at most; kept[0] is the empty
 *      state at 0.
 *   2. A state's count is the number of places (live, spare, kept of any list)
 *      that hold it.
 *   3. Only `spare` is written, and it has one reference.
 */
#include "core/infer/recurrent_state.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/alloc.h"

/* A cf_state with its reference count. */
typedef struct counted {
    cf_state state;
    atomic_uint n_ref; /* the last drop frees */
} counted;

cf_state *cf_state_new(size_t n_float, uint32_t pos)
{
    counted *c = cf_calloc(1, sizeof *c);
    float *data = cf_alloc_aligned(64, n_float * sizeof *data);
    if (c == NULL || data == NULL) {
        cf_free(c);
        cf_free_aligned(data);
        return NULL;
    }
    c->state = (cf_state){pos, data};
    atomic_init(&c->n_ref, 1);
    return &c->state;
}

static atomic_uint *count_of(cf_state *state)
{
    return &((counted *)(void *)state)->n_ref;
}

static cf_state *take(cf_state *state)
{
    atomic_fetch_add_explicit(count_of(state), 1, memory_order_relaxed);
    return state;
}

void cf_state_drop(cf_state *state)
{
    if (state != NULL && atomic_fetch_sub_explicit(count_of(state), 1,
                                                   memory_order_acq_rel) == 1) {
        cf_free_aligned(state->data);
        cf_free(state);
    }
}

/* Whether more than `own` places hold it.  Acquire pairs with the release of a
 * drop: a reader of 1 may write. */
static bool is_shared(cf_state *state, unsigned own)
{
    return atomic_load_explicit(count_of(state), memory_order_acquire) > own;
}

uint32_t cf_states_step(size_t n_float, uint32_t n_ctx)
{
    uint64_t bytes = (uint64_t)n_float * sizeof(float);
    uint32_t step = CF_STATE_STEP;
    while (step < n_ctx && n_ctx / step * bytes > CF_STATE_BYTES_MAX) {
        step *= 2;
    }
    return step;
}

uint32_t cf_states_cap(size_t n_float, uint32_t n_ctx)
{
    return n_float == 0
               ? 0
               : 1 + n_ctx / cf_states_step(n_float, n_ctx) + CF_STATE_TURNS;
}

cf_status cf_states_init(cf_states *out, size_t n_float, uint32_t n_ctx,
                         cf_error *err)
{
    cf_states s = {.n_float = n_float};
    *out = s;
    if (n_float == 0) {
        return CF_OK;
    }
    s.step = cf_states_step(n_float, n_ctx);
    s.cap = cf_states_cap(n_float, n_ctx);
    s.kept = cf_calloc(s.cap, sizeof(cf_state *));
    cf_state *empty = cf_state_new(n_float, 0);
    if (s.kept == NULL || empty == NULL) {
        cf_free(s.kept);
        cf_state_drop(empty);
        return cf_oom_for(err, "a recurrent state");
    }
    memset(empty->data, 0, n_float * sizeof(float));
    s.kept[s.n++] = empty;
    s.live = take(empty);
    *out = s;
    return CF_OK;
}

void cf_states_deinit(cf_states *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        cf_state_drop(s->kept[i]);
    }
    cf_free(s->kept);
    cf_state_drop(s->live);
    cf_state_drop(s->spare);
    *s = (cf_states){0};
}

cf_status cf_states_fork(cf_states *out, const cf_states *from, cf_error *err)
{
    cf_states s = *from;
    *out = (cf_states){0};
    if (s.n_float == 0) {
        return CF_OK;
    }
    s.kept = cf_calloc(s.cap, sizeof(cf_state *));
    if (s.kept == NULL) {
        return cf_oom_for(err, "a recurrent state");
    }
    for (uint32_t i = 0; i < s.n; i++) {
        s.kept[i] = take(from->kept[i]);
    }
    s.live = take(from->live);
    s.spare = NULL;
    *out = s;
    return CF_OK;
}

uint32_t cf_states_rewind(cf_states *s, uint32_t length)
{
    if (s->n_float == 0) {
        return length;
    }
    while (s->kept[s->n - 1]->pos > length) { /* never the one at 0 */
        cf_state_drop(s->kept[--s->n]);
    }
    if (s->live->pos > length) {
        cf_state_drop(s->live);
        s->live = take(s->kept[s->n - 1]);
    }
    return s->live->pos;
}

bool cf_states_is_fixed(const cf_states *s, uint32_t pos)
{
    return s->n_float != 0 && pos % s->step == 0;
}

cf_status cf_states_reserve(cf_states *s, cf_error *err)
{
    if (s->n_float == 0 || s->spare != NULL) {
        return CF_OK;
    }
    s->spare = cf_state_new(s->n_float, 0);
    return s->spare != NULL ? CF_OK : cf_oom_for(err, "a recurrent state");
}

void cf_states_advance(cf_states *s, uint32_t pos)
{
    if (s->n_float == 0) {
        return;
    }
    cf_state *old = s->live;
    s->live = s->spare;
    s->live->pos = pos;
    s->spare = NULL;
    if (is_shared(old, 1)) {
        cf_state_drop(old);
    } else {
        s->spare = old;
    }
}

/* Drops the oldest checkpoint that is at no fixed position; false without. */
static bool drop_one(cf_states *s)
{
    for (uint32_t i = 1; i < s->n; i++) {
        if (!cf_states_is_fixed(s, s->kept[i]->pos)) {
            cf_state_drop(s->kept[i]);
            memmove(&s->kept[i], &s->kept[i + 1],
                    (s->n - i - 1) * sizeof(cf_state *));
            s->n--;
            return true;
        }
    }
    return false;
}

/* Checkpoints at ends of turns. */
static uint32_t n_turns(const cf_states *s)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        n += !cf_states_is_fixed(s, s->kept[i]->pos);
    }
    return n;
}

void cf_states_keep(cf_states *s, cf_state *state)
{
    uint32_t at = s->n;
    while (at > 0 && s->kept[at - 1]->pos >= state->pos) {
        at--;
    }
    bool is_there = at < s->n && s->kept[at]->pos == state->pos;
    bool is_full = s->n >= s->cap || (!cf_states_is_fixed(s, state->pos) &&
                                      n_turns(s) >= CF_STATE_TURNS);
    if (is_there || (is_full && !drop_one(s))) {
        cf_state_drop(state);
        return;
    }
    at = s->n;
    while (at > 0 && s->kept[at - 1]->pos > state->pos) {
        s->kept[at] = s->kept[at - 1];
        at--;
    }
    s->kept[at] = state;
    s->n++;
}

void cf_states_memory(const cf_states *s, uint64_t *bytes, uint64_t *shared)
{
    uint64_t each = (uint64_t)s->n_float * sizeof(float);
    bool live_is_kept = false;
    *bytes = s->spare != NULL ? each : 0;
    *shared = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        bool is_live = s->kept[i] == s->live;
        live_is_kept = live_is_kept || is_live;
        *bytes += each;
        *shared += is_shared(s->kept[i], is_live ? 2 : 1) ? each : 0;
    }
    if (s->live != NULL && !live_is_kept) {
        *bytes += each;
        *shared += is_shared(s->live, 1) ? each : 0;
    }
}
