/*
 * batch.h - several sessions in one pass over the weights.
 *
 * Place in the flow:  rows of several timelines --> [one pass] --> logits in
 *                     each session.
 * Knows: sessions of one engine, how many rows a pass holds.  Does not know:
 * text, sampling, who waits for a reply.
 *
 * Computing a token waits for the weights to come from memory, so a row more
 * in a pass costs little.  A pass takes a list of parts: a session, and the
 * tokens to append to it.  Prompts (many tokens) and replies (one token each)
 * mix.  The list belongs to the call alone: between any two passes a session
 * may join, leave, be rewound, forked or freed.
 *
 * Same bits: what a pass computes for a session is what cf_session_sync() and
 * cf_session_step() compute for it alone, to the bit, whatever the company
 * (session.h has the rule).  Attention, experts and recurrent states are each
 * session's own.
 *
 * A server's loop: the replies' parts first, with one token each, then the
 * prompts' with what is left of them; after the pass, n_done says how far each
 * got, and logits are there where all tokens were taken.
 *
 * Threads:  one thread at a time for a pass and for all sessions in it;
 *           passes of one engine on several threads take turns.
 * Memory:   parts are the caller's and borrowed for the call.  Rows that are
 *           kept take n_vocab floats each in their session, and a recurrent
 *           state each, until the session is freed.
 */
#ifndef CF_CORE_API_BATCH_H
#define CF_CORE_API_BATCH_H

#include "core/api/session.h"

CF_BEGIN_DECLS

enum { CF_KEPT_ROWS_MAX = 16 };

/* One session's part of a pass. */
typedef struct cf_advance {
    cf_session *session;
    const cf_token *ids; /* [n] to append */
    size_t n;            /* 0: the part is left out */
    size_t n_max;        /* of them in one pass; 0: as many as fit */

    /* All or none of ids (at most CF_KEPT_ROWS_MAX) are taken, and the logits
     * after each of them are kept: cf_session_logits_at() has them, and
     * cf_session_rewind() to a length after one of them costs nothing, with
     * recurrent models too, and leaves valid logits.  That lasts until the
     * session is next computed.  For drafts: tokens proposed, checked, and
     * taken back from the first wrong one on. */
    bool keeps_rows;

    /* A recurrent model's state is kept after this many tokens, too, as in
     * cf_run.  0: nowhere. */
    uint32_t keep_at;

    /* Called for each token taken when set: logits[n_vocab] after the token
     * at `pos`, valid during the call; it must not compute on the engine. */
    void (*logits)(void *ud, uint32_t pos, const float *logits);
    /* Likewise with hidden[n_embd], the state that logits are made of. */
    void (*hidden)(void *ud, uint32_t pos, const float *hidden);
    void *ud; /* of both */

    size_t n_done; /* set by a pass that succeeded: tokens taken */
} cf_advance;

/* The most rows that one pass may have: as the largest n_batch of a session
 * that was made on the engine, 8 at least. */
size_t cf_batch_rows(const cf_session *session);

/*
 * One pass for parts[0..n), of different sessions of one engine.  Rows are
 * given out in the order of the list until the pass is full; a part for which
 * none is left has n_done = 0.  A session has logits after its last token when
 * its part was taken whole.  n = 0 does nothing.
 *
 * All or nothing: after a failure every session is as it was (kept rows
 * excepted) and n_done is 0.  CF_ELIMIT when a session's context would
 * overflow, or kept rows do not fit a pass; CF_EINVAL for an id outside the
 * vocabulary; CF_ECANCELLED; CF_ENOMEM.  `cancel` may be NULL.
 */
CF_MUST_USE cf_status cf_batch_pass(cf_advance *parts, size_t n, cf_cancel *cancel, cf_error *err);

/* What others do while a pass pauses. */
typedef struct cf_pause {
    void (*fn)(void *ud);
    void *ud;
} cf_pause;

/*
 * The same for a pass that takes long: before each half of a layer (its mixer, and
 * the rest) the calling thread calls pause->fn, and until that returns the engine
 * is free for passes over other sessions, made by any thread.  Forks of the
 * sessions of this pass begin where it began.  Where the engine cannot pause (a
 * plug-in, another pass that pauses, no memory for a second workspace) it is not
 * called.
 */
CF_MUST_USE cf_status cf_batch_pass_between(cf_advance *parts, size_t n, const cf_pause *pause,
                                            cf_cancel *cancel, cf_error *err);

/* Leaves a session's timeline in its cache of prefixes (prefix.h), as a sync
 * does: for a prompt that passes computed.  Without a cache nothing happens. */
void cf_session_offer(const cf_session *session);

/* One token for each: ids[i] is appended to sessions[i].  All or nothing.
 * CF_ELIMIT also for more sessions than a pass has rows. */
CF_MUST_USE cf_status cf_session_step_many(cf_session *const *sessions, const cf_token *ids,
                                           size_t n, const cf_run *run, cf_error *err);

/* The natural logarithm of softmax(logits)[id], summed in double. */
float cf_logits_log_p(const float *logits, size_t n_vocab, cf_token id);

CF_END_DECLS

#endif
