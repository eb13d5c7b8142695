/*
 * recurrent_state.h - the state of a model's recurrent layers at one position.
 *
 * Keys and values can be cut at any length; a state cannot be taken back.  So
 * a timeline keeps copies of it at some positions (checkpoints), and goes back
 * to the nearest one before computing forward again (session.c).  A state that
 * several timelines hold is never written; a pass writes the next state into
 * memory of its own.
 *
 * A state:  for each recurrent layer the last n_tap - 1 inputs of its
 * convolution [n_tap - 1, n_channel], then its heads' [n_head, n_key, n_value];
 * float.
 *
 * Threads:  references are counted atomically; timelines that share states may
 *           be on different threads.
 * Memory:   a cf_states owns a reference to each of its states.
 */
#ifndef CF_CORE_INFER_RECURRENT_STATE_H
#define CF_CORE_INFER_RECURRENT_STATE_H

#include "core/model/hparams.h"

enum {
    CF_STATE_STEP = 480, /* tokens between two checkpoints, a whole number of
                            cache blocks */
    CF_STATE_TURNS = 8,  /* checkpoints at ends of turns, on top of those */
    CF_STATE_TRIALS = 16 /* states kept after rows of one pass */
};

/* Checkpoints at fixed positions take at most this; they are spaced further
 * apart where they would need more. */
#define CF_STATE_BYTES_MAX ((uint64_t)4 << 30)

typedef struct cf_state {
    uint32_t pos; /* tokens that went into it */
    float *data;  /* 64-byte aligned */
} cf_state;

typedef struct cf_states {
    size_t n_float;  /* of a state; 0: the model has no recurrent layer */
    uint32_t step;   /* tokens between fixed checkpoints */
    uint32_t cap;    /* checkpoints at most, the one at 0 included */
    uint32_t n;      /* of them; ascending in position, the first at 0 */
    cf_state **kept; /* [cap] */
    cf_state *live;  /* where the timeline is; NULL without layers */
    cf_state *spare; /* where a pass writes the next; ours alone, or NULL */

    /* States after each row of the last pass, where the caller asked for
     * them (drafts): a rewind into them costs nothing. */
    cf_state *trial[CF_STATE_TRIALS]; /* NULL or memory for reuse from n_trial
                                         on */
    uint32_t n_trial;
} cf_states;

/* Tokens between fixed checkpoints, and checkpoints at most, for contexts of
 * n_ctx tokens. */
uint32_t cf_states_step(size_t n_float, uint32_t n_ctx);
uint32_t cf_states_cap(size_t n_float, uint32_t n_ctx);

/* Empty: live at position 0.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_states_init(cf_states *out, size_t n_float, uint32_t n_ctx, cf_error *err);
void cf_states_deinit(cf_states *s);

/* The same states in a second list. */
CF_MUST_USE cf_status cf_states_fork(cf_states *out, const cf_states *from, cf_error *err);

/* Forgets states after `length`, and makes the last one at or before it the
 * live one.  Returns its position. */
uint32_t cf_states_rewind(cf_states *s, uint32_t length);

/* Whether a checkpoint belongs at `pos` whatever the caller wants. */
bool cf_states_is_fixed(const cf_states *s, uint32_t pos);

/* Makes sure of a spare state.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_states_reserve(cf_states *s, cf_error *err);

/* A pass succeeded: the spare state, after `pos` tokens, is the live one. */
void cf_states_advance(cf_states *s, uint32_t pos);

/* A state to copy a checkpoint into; NULL without memory (a checkpoint less
 * costs time, not results). */
cf_state *cf_state_new(size_t n_float, uint32_t pos);
void cf_state_drop(cf_state *state);

/* Takes over `state` as a checkpoint, where there is none at its position;
 * the oldest one at the end of a turn makes room. */
void cf_states_keep(cf_states *s, cf_state *state);

/* Where a pass writes the state after its row i, which has `pos` tokens: rows
 * in order from 0, fewer than CF_STATE_TRIALS.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_states_trial(cf_states *s, uint32_t i, uint32_t pos, cf_state **out,
                                      cf_error *err);

/* The pass succeeded: of the trial states, those at fixed positions are
 * checkpoints too. */
void cf_states_keep_trials(cf_states *s);

/* Whether a rewind to `length` would find its state among the trial ones. */
bool cf_states_has_trial(const cf_states *s, uint32_t length);

/* Forgets the trial states. */
void cf_states_settle(cf_states *s);

/* Bytes referred to, and those of them that another timeline shares. */
void cf_states_memory(const cf_states *s, uint64_t *bytes, uint64_t *shared);

#endif
