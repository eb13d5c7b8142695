/*
 * session_impl.h - what a session is made of, and one pass over the next
 * positions of one or several sessions.
 *
 * Rules that always hold between calls:
 *   1. tokens[0..n) are the timeline; the keys and values of all of them are
 *      in kv, and n_ready of them went into the recurrent state.  Without
 *      recurrent layers n_ready is n.
 *   2. has_logits: `after` has those after tokens[n - 1], and n_ready is n.
 *   3. pages after n hold nothing.
 *   4. place is NULL where every position is text: at[..] is its number.
 *   5. row_logits[0..n_row) are the logits after tokens[first_row + i], all
 *      of them before n; with recurrent layers states.trial has the states.
 *
 * Threads:  as in session.h.  A pass holds the engine's pass lock.
 * Memory:   a session owns everything but the engine.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_SESSION_IMPL_H
#define CF_CORE_INFER_SESSION_IMPL_H

#include "core/api/session.h"
#include "core/infer/forward.h"

/* How a position differs from a token of plain text at its own number. */
typedef struct cf_place {
    uint64_t key; /* of embeddings; 0 for a token */
    uint32_t at[CF_ROPE_AXES];
    uint32_t see_end;
} cf_place;

struct cf_session {
    cf_engine *engine;
    cf_kv kv;
    cf_states states;
    cf_token *tokens; /* [n_ctx] */
    cf_place *place;  /* [n_ctx] or NULL */
    uint32_t n, n_ready, n_ctx, n_batch;
    uint32_t rope_variant;
    float *logits;      /* [n_vocab] */
    const float *after; /* those after the last token: logits, or a row of
                           row_logits */
    bool has_logits;
    float *row_logits; /* [cap_row, n_vocab] or NULL */
    uint32_t first_row, n_row, cap_row;
    cf_prefix_cache *prefixes;       /* borrowed; NULL: none, or none while there are
                                  adapters */
    cf_prefix_cache *plain_prefixes; /* without adapters */
    cf_lora_set lora;
    const cf_probe *probe; /* borrowed; NULL: none */
    uint64_t asked_us;     /* when the request of its next prompt came; 0: unknown */
    uint64_t began_us;     /* when the reply to its last prompt began */
};

/* The input of a call from position `first` on: tokens alone, or inputs. */
typedef struct cf_source {
    const cf_token *ids;
    const cf_input *in; /* in place of ids, or NULL */
    uint32_t first;
} cf_source;

cf_token cf_source_id(const cf_source *src, uint32_t pos);

/* The place of a position: the source's, or the one of text there. */
cf_place cf_session__place(const cf_session *s, const cf_source *src, uint32_t pos);

/* Sets who looks into the passes of a session, NULL: nobody.  What he changes
 * begins at position `first`: the timeline from there on is forgotten.  With a
 * probe a session neither lends nor borrows prefixes. */
void cf_session__set_probe(cf_session *s, const cf_probe *probe, size_t first);

/* How many of the first n positions of the source the timeline has already. */
uint32_t cf_session__common(const cf_session *s, const cf_source *src, uint32_t n);

/* One session's share of a pass: the m positions from n_ready on. */
typedef struct cf_part {
    cf_session *s;
    cf_source src;
    uint32_t m;
    uint32_t keep[2]; /* checkpoints are wanted after so many tokens */
    bool wants_last;  /* logits after the last of them */
    bool keeps_rows;  /* logits and states after each; there is room */
    /* Called for each of them when set, with the lock held. */
    void (*logits)(void *ud, uint32_t pos, const float *logits);
    void (*hidden)(void *ud, uint32_t pos, const float *hidden);
    void *ud;
    uint32_t row0; /* set by the pass: its first row */
} cf_part;

/* Whether the logits after its i-th position are wanted. */
bool cf_part_wants(const cf_part *part, uint32_t i);

/*
 * One pass over the next positions of parts[0..n), of different sessions of
 * one engine.  All or nothing: after a failure every session is as it was,
 * but for kept rows, which are gone.  CF_ELIMIT for more rows than the
 * workspace has, CF_ECANCELLED, CF_ENOMEM, CF_EINVAL for a row of embeddings
 * without them.  pause: as in cf_batch_pass_between(); may be NULL.
 */
CF_MUST_USE cf_status cf_session__pass(cf_part *parts, size_t n, const cf_pause *pause,
                                       const cf_cancel *cancel, cf_error *err);

/* Computes what a recurrent state lacks after a rewind: n_ready becomes n. */
CF_MUST_USE cf_status cf_session__catch_up(cf_session *s, cf_cancel *cancel, cf_error *err);

/* CF_EINVAL for an id outside the vocabulary, CF_ELIMIT for a timeline that
 * would get longer than the context. */
CF_MUST_USE cf_status cf_session__check_id(const cf_engine *e, cf_token id, cf_error *err);

/* Makes the engine's rows as many as its workspace has, with the lock held. */
CF_MUST_USE cf_status cf_session__grow_rows(cf_engine *e, cf_error *err);

/* Rows that one pass of the engine may have. */
size_t cf_session__max_rows(cf_engine *e);

#endif
