/*
 * study_score.h - the likelihood of the ends of many token sequences, most of
 * which share a prefix.
 *
 * Place in the flow:  sequences --> [score] --> a log-likelihood for each
 *                     token from `first` on.
 * Shared prefixes are computed once, the rest in batches of several sequences;
 * scores that the history has for the same model and arithmetic are not computed
 * again.  The bits are always those of computing the sequence alone.
 * Knows: sessions, the history's scores.  Does not know: what a sequence says.
 *
 * Threads:  one thread at a time; `cancel` may be set from any.
 * Memory:   a scorer owns its timeline; jobs are the caller's.
 */
#ifndef CF_TUI_STUDY_ASK_STUDY_SCORE_H
#define CF_TUI_STUDY_ASK_STUDY_SCORE_H

#include "core/api/adapter.h"
#include "core/api/backend.h"
#include "core/api/session.h"
#include "core/api/steer.h"
#include "core/base/hash.h"
#include "storage/store.h"
#include "templates/text_plan.h"

typedef struct cf_score_job {
    const cf_token *ids;      /* [n] */
    const uint32_t *at;       /* [n] positions of the tokens; NULL: 0, 1, 2 ... */
    size_t n, first;          /* 0 < first < n */
    float *log_p;             /* [n - first], out; with a plan [plan->n_way], what it reads */
    const cf_text_plan *plan; /* of tokens [first, n); NULL: each counts by itself */
    bool is_given;            /* log_p is filled: the job is only what others begin like */
    bool is_done;             /* set */
    bool was_known;           /* set: the history had it */
} cf_score_job;

typedef struct cf_study_scorer {
    cf_session *session;   /* its own timeline; NULL with a server */
    cf_backend *server;    /* that scores texts; borrowed; NULL: none */
    cf_cancel *cancel;     /* may be NULL */
    cf_store *store;       /* may be NULL: nothing is kept */
    bool has_failed_store; /* a score could not be kept */
    char model[200];       /* model and arithmetic, as text */
} cf_study_scorer;

/* A hash of what the hash of the model file does not cover: the adapters of a
 * session with their scales, the type its weights were loaded as, its
 * arithmetic; "" where they are the default. */
void cf_study_setup_hash(char out[CF_HASH_TEXT + 1], const cf_session *session);

/* CF_EUNSUPPORTED for an engine without likelihoods, CF_ENOMEM.  Whether a
 * server has them is known only after a request. */
CF_MUST_USE cf_status cf_study_scorer_init(cf_study_scorer *s, cf_backend *backend, cf_store *store,
                                           cf_cancel *cancel, cf_error *err);
void cf_study_scorer_deinit(cf_study_scorer *s);

/* Called when a job is done that was not given. */
typedef void (*cf_study_scored_fn)(void *ud, size_t job);

/*
 * Scores jobs[0..n) on the timeline, which must exist.  Jobs that are done when
 * it fails stay done and are kept in the history.  CF_ELIMIT for a sequence that does not fit the
 * context, CF_EINVAL, CF_ECANCELLED, CF_ENOMEM.  `fn` may be NULL.
 */
CF_MUST_USE cf_status cf_study_score(cf_study_scorer *s, cf_score_job *jobs, size_t n,
                                     cf_study_scored_fn fn, void *ud, cf_error *err);

/* The same for a text after a prompt, by the server; not kept. */
CF_MUST_USE cf_status cf_study_score_text(const cf_study_scorer *s, cf_str prompt, cf_str text,
                                          cf_arena *arena, cf_score *out, cf_error *err);

#endif
