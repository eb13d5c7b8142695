/*
 * recurrent_state.c - keeps checkpoints of recurrent layers, with reference
 * counts.
 *
 * Rules that always hold:
 *   1. kept[0..n) ascend in position up to live at most; kept[0] is the empty
 *      state at 0.
 *   2. A state's count is the number of places (live, spare, kept, trial of
 *      any list) that hold it.
 *   3. Only `spare` and trial states that a pass makes are written, and they
 *      have one reference.
 *   4. trial[0..n_trial) ascend by one position each.
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
    if (state != NULL && atomic_fetch_sub_explicit(count_of(state), 1, memory_order_acq_rel) == 1) {
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
    return n_float == 0 ? 0 : 1 + n_ctx / cf_states_step(n_float, n_ctx) + CF_STATE_TURNS;
}

cf_status cf_states_init(cf_states *out, size_t n_float, uint32_t n_ctx, cf_error *err)
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
    for (uint32_t i = 0; i < CF_STATE_TRIALS; i++) {
        cf_state_drop(s->trial[i]);
    }
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
    memset(s.trial, 0, sizeof s.trial);
    s.n_trial = 0;
    *out = s;
    return CF_OK;
}

bool cf_states_has_trial(const cf_states *s, uint32_t length)
{
    return s->n_trial > 0 && length >= s->trial[0]->pos && length - s->trial[0]->pos < s->n_trial;
}

/* Makes the trial state at `length` the live one; false without. */
static bool go_to_trial(cf_states *s, uint32_t length)
{
    if (!cf_states_has_trial(s, length)) {
        return false;
    }
    cf_state *old = s->live;
    s->n_trial = length - s->trial[0]->pos;
    s->live = s->trial[s->n_trial];
    s->trial[s->n_trial] = old; /* memory for another */
    return true;
}

uint32_t cf_states_rewind(cf_states *s, uint32_t length)
{
    if (s->n_float == 0) {
        return length;
    }
    while (s->kept[s->n - 1]->pos > length) { /* never the one at 0 */
        cf_state_drop(s->kept[--s->n]);
    }
    if (s->live->pos > length && !go_to_trial(s, length)) {
        cf_state_drop(s->live);
        s->live = take(s->kept[s->n - 1]);
        s->n_trial = 0;
    }
    return s->live->pos;
}

cf_status cf_states_trial(cf_states *s, uint32_t i, uint32_t pos, cf_state **out, cf_error *err)
{
    CF_ASSERT(i < CF_STATE_TRIALS);
    if (s->trial[i] != NULL && is_shared(s->trial[i], 1)) {
        cf_state_drop(s->trial[i]);
        s->trial[i] = NULL;
    }
    if (s->trial[i] == NULL) {
        s->trial[i] = cf_state_new(s->n_float, pos);
    }
    if (s->trial[i] == NULL) {
        return cf_oom_for(err, "a recurrent state");
    }
    s->trial[i]->pos = pos;
    s->n_trial = i + 1;
    *out = s->trial[i];
    return CF_OK;
}

void cf_states_keep_trials(cf_states *s)
{
    for (uint32_t i = 0; i < s->n_trial; i++) {
        if (cf_states_is_fixed(s, s->trial[i]->pos)) {
            cf_states_keep(s, take(s->trial[i]));
        }
    }
}

void cf_states_settle(cf_states *s)
{
    s->n_trial = 0;
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
            memmove(&s->kept[i], &s->kept[i + 1], (s->n - i - 1) * sizeof(cf_state *));
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
    bool is_full =
        s->n >= s->cap || (!cf_states_is_fixed(s, state->pos) && n_turns(s) >= CF_STATE_TURNS);
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

/* How many places of the list hold a state. */
static unsigned n_held(const cf_states *s, const cf_state *state)
{
    unsigned n = s->live == state ? 1U : 0U;
    n += s->spare == state ? 1U : 0U;
    for (uint32_t i = 0; i < s->n; i++) {
        n += s->kept[i] == state ? 1U : 0U;
    }
    for (uint32_t i = 0; i < CF_STATE_TRIALS; i++) {
        n += s->trial[i] == state ? 1U : 0U;
    }
    return n;
}

static void count_state(const cf_states *s, cf_state *state, uint64_t *bytes, uint64_t *shared)
{
    uint64_t each = (uint64_t)s->n_float * sizeof(float);
    if (state != NULL) {
        *bytes += each;
        *shared += is_shared(state, n_held(s, state)) ? each : 0;
    }
}

static bool is_kept(const cf_states *s, const cf_state *state)
{
    uint32_t i = 0;
    while (i < s->n && s->kept[i] != state) {
        i++;
    }
    return i < s->n;
}

void cf_states_memory(const cf_states *s, uint64_t *bytes, uint64_t *shared)
{
    *bytes = 0;
    *shared = 0;
    count_state(s, s->spare, bytes, shared);
    for (uint32_t i = 0; i < s->n; i++) {
        count_state(s, s->kept[i], bytes, shared);
    }
    for (uint32_t i = 0; i < CF_STATE_TRIALS; i++) {
        if (!is_kept(s, s->trial[i]) && s->trial[i] != s->live) {
            count_state(s, s->trial[i], bytes, shared);
        }
    }
    if (!is_kept(s, s->live)) {
        count_state(s, s->live, bytes, shared);
    }
}
