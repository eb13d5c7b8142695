/*
 * session.h - one mutable timeline of tokens, with its cache and the logits
 * after its last token.
 *
 * Place in the flow:  token ids --> [session] --> logits --> sampler.
 * Knows: the engine, the key/value cache, positions.  Does not know: text,
 * templates, sampling.
 *
 * Callers pass the full list of tokens they want (sync); the session works
 * out what it can keep.  Positions are counted from 0; "length" is the number
 * of tokens whose keys and values are cached.
 *
 * Recurrent models (Mamba-2, DeltaNet, short convolutions) carry a state that
 * cannot be taken back.  The session keeps copies of it (checkpoints) every few
 * hundred tokens and at ends of prompts; a rewind or a prompt that differs goes
 * back to the nearest one and computes forward again from there.
 *
 * Same bits: the logits after a list of tokens do not depend on the number of
 * threads, the kernel set ("ref" excepted), or how the list got into the cache:
 * in one piece or many, after a rewind, in a fork, or next to other sessions.
 *
 * Several sessions advance in one pass over the weights by batch.h.
 *
 * Threads:  one thread at a time for a session; cf_cancel may be set from any
 *           thread.
 * Memory:   the cache grows by blocks shared with forks and copied on write,
 *           up to the plan's figure; a step allocates a cache block or, for a
 *           recurrent model, a checkpoint when one is due, and nothing else.
 */
#ifndef CF_CORE_API_SESSION_H
#define CF_CORE_API_SESSION_H

#include "core/api/engine.h"
#include "core/base/cancel.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

typedef struct cf_session cf_session;
typedef struct cf_prefix_cache cf_prefix_cache; /* prefix.h */

typedef struct cf_session_options {
    uint32_t n_ctx; /* most tokens; 0: as in cf_engine_plan() */
    cf_cache_type cache;
    uint32_t n_batch;          /* tokens computed together in a prefill; 0: 512 */
    cf_prefix_cache *prefixes; /* borrowed; NULL: none */
} cf_session_options;

/* CF_EINVAL without weights, CF_EUNSUPPORTED for an encoder, CF_ENOMEM with figures. */
CF_MUST_USE cf_status cf_session_new(cf_session **out, cf_engine *engine,
                                     const cf_session_options *opts, cf_error *err);

/* A second timeline that shares what is cached, in constant time.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_session_fork(cf_session **out, const cf_session *from, cf_error *err);
void cf_session_free(cf_session *session);

/* Gives a session the timeline of another one of the same engine, cache type
 * and context, as a fork would have it; what it had is dropped.  CF_EINVAL,
 * CF_ENOMEM, and nothing changes. */
CF_MUST_USE cf_status cf_session_adopt(cf_session *session, const cf_session *from, cf_error *err);

const cf_engine *cf_session_engine(const cf_session *session);
uint32_t cf_session_n_ctx(const cf_session *session);
/* The type it was made with, or that the default came to. */
cf_cache_type cf_session_cache(const cf_session *session);

/* The cached tokens; borrowed until the next change. */
const cf_token *cf_session_tokens(const cf_session *session, size_t *n);

/* Bytes of cache this session refers to, and how many of them it shares. */
void cf_session_memory(const cf_session *session, uint64_t *bytes, uint64_t *shared_bytes);

/* Options of a sync or step; all zero is the plain case. */
typedef struct cf_run {
    cf_cancel *cancel; /* may be NULL */

    /* Called after each prefill batch with tokens done and total. */
    void (*progress)(void *ud, size_t done, size_t total);

    /* Called for every newly computed position when set: logits[n_vocab]
     * after the token at `pos`, valid during the call. */
    void (*logits)(void *ud, uint32_t pos, const float *logits);
    /* Likewise with hidden[n_embd], the state that logits are made of. */
    void (*hidden)(void *ud, uint32_t pos, const float *hidden);
    void *ud; /* of all three */

    /* A recurrent model's state is kept after this many tokens, too, where a
     * sync computes them: the end of a turn, say.  0: nowhere. */
    uint32_t keep_at;
} cf_run;

typedef struct cf_sync_result {
    size_t n_kept;    /* tokens that stayed in the cache */
    size_t n_dropped; /* cached tokens after the common prefix, now gone */
    size_t n_new;     /* tokens computed */
    size_t n_common;  /* longest prefix that was there, in the timeline or in
                         the cache of prefixes; n_kept is less where the last
                         token was computed again for its logits, and where a
                         recurrent model went back to a checkpoint */
} cf_sync_result;

/*
 * Makes the timeline equal to ids[0..n): keeps the common prefix, rewinds, and
 * computes the rest.  When everything was already there, the last token is
 * computed again so that logits are valid after it (it then counts as new;
 * with run->logits, positions that are kept are not reported).
 *
 * CF_ELIMIT when n exceeds the context (nothing changes); CF_EINVAL for an id
 * outside the vocabulary (nothing changes), unless it stands for a row that the
 * timeline has there; CF_ECANCELLED and CF_ENOMEM leave a valid, shorter
 * timeline: the batches computed so far.
 */
CF_MUST_USE cf_status cf_session_sync(cf_session *session, const cf_token *ids, size_t n,
                                      const cf_run *run, cf_sync_result *out, cf_error *err);

/* Ids that stand for rows of embeddings: made from the row's key, so that lists
 * of ids differ where rows differ.  No vocabulary has that many tokens. */
enum { CF_TOKEN_ROW = 1 << 30 };

static inline bool cf_token_is_row(cf_token id)
{
    return id >= CF_TOKEN_ROW;
}

static inline cf_token cf_token_of_row(uint64_t key)
{
    return (cf_token)(CF_TOKEN_ROW | (key & (CF_TOKEN_ROW - 1)));
}

/*
 * One position of a timeline that is not plain text: a token, or a row of
 * embeddings (of an image, of sound) in a token's place, where rotary
 * embeddings put it, and which later positions it sees.
 */
typedef struct cf_input {
    cf_token id;       /* the token, or what stands for the row */
    const float *embd; /* [n_embd], and as many for each layer that reads a
                          part of its own (cf_engine_info.n_deepstack), used as
                          they are and kept by the caller until the call
                          returns; NULL: the token's */
    uint64_t key;      /* with embd: not 0; equal keys mean equal rows */
    uint32_t at[4];    /* time, height, width, 0 (M-RoPE); text has the same
                          number four times, its own in a prompt of text */
    uint32_t see_end;  /* a block whose positions see each other: its end; 0:
                          only what is before.  A block fits one batch. */
} cf_input;

/* As cf_session_sync() with positions of any kind.  Positions that follow by
 * cf_session_step() are text: one further than the last one's at[0].  Two rows
 * count as the same when id, key, at and see_end are equal; rows that are kept
 * are not read.  CF_EINVAL, CF_ELIMIT also for blocks that do not fit. */
CF_MUST_USE cf_status cf_session_sync_inputs(cf_session *session, const cf_input *in, size_t n,
                                             const cf_run *run, cf_sync_result *out, cf_error *err);

/* Whether the model is recurrent, so that going back needs a checkpoint. */
bool cf_session_is_recurrent(const cf_session *session);

/* Where states are kept, ascending, 0 the first: fills pos[0..cap) and returns
 * how many there are; 0 for models without a state. */
size_t cf_session_checkpoints(const cf_session *session, uint32_t *pos, size_t cap);

/* The number of tokens that would stay if the timeline were cut to `length`:
 * all of them, or those up to a checkpoint. */
size_t cf_session_would_keep(const cf_session *session, size_t length);

/* The number of ids[0..n) that a sync would keep, from the timeline or the
 * prefix cache; the ids are in the vocabulary. */
size_t cf_session_would_sync(const cf_session *session, const cf_token *ids, size_t n);

/*
 * How likely each of ids[first..n) is after all tokens before it: log_p[i] is
 * the natural logarithm for ids[first + i].  Makes the timeline ids[0..n), and
 * keeps what it can of a prefix before `first` that is cached, so that several
 * texts after one prefix cost that prefix once.
 *
 * CF_EINVAL for first = 0: no token predicts the first one.  Otherwise as
 * cf_session_sync(); after a failure log_p is not complete.
 */
CF_MUST_USE cf_status cf_session_score(cf_session *session, const cf_token *ids, size_t n,
                                       size_t first, cf_cancel *cancel, float *log_p,
                                       cf_error *err);

/* Appends one token and computes its logits; errors as sync, all of them
 * leaving the timeline as it was.  run may be NULL. */
CF_MUST_USE cf_status cf_session_step(cf_session *session, cf_token id, const cf_run *run,
                                      cf_error *err);

/* Forgets all tokens from position `length` on.  Logits become invalid
 * unless nothing was dropped, or the last pass kept those of its rows
 * (batch.h).  A recurrent model's state goes back to a checkpoint; the next
 * call computes the tokens up to `length` again first. */
void cf_session_rewind(cf_session *session, size_t length);

/*
 * Cuts the timeline to what a sync to ids[0..n) would keep, and computes
 * nothing: ids[out->n_kept..n), at least the last id, are to be appended, for
 * example by cf_batch_pass().  out may be NULL.  CF_ELIMIT and CF_EINVAL as for
 * sync; then nothing changes.
 */
CF_MUST_USE cf_status cf_session_match(cf_session *session, const cf_token *ids, size_t n,
                                       cf_sync_result *out, cf_error *err);

/* logits[n_vocab] after the last token; NULL when there are none (empty, or
 * just rewound).  Borrowed until the next change. */
const float *cf_session_logits(const cf_session *session);

/* logits[n_vocab] after the token at `pos`, where the last pass kept those of
 * its rows (cf_advance.keeps_rows); else NULL.  Borrowed likewise. */
const float *cf_session_logits_at(const cf_session *session, uint32_t pos);

CF_END_DECLS

#endif
