/*
 * draft.h - drafts: tokens that are likely to follow are guessed by look-up, by
 * a small model or by the draft layer of the file, and computed in the same pass
 * as the token before them, which saves passes.
 *
 * Place in the flow:  drawn token --> [draft] --> session --> logits, often
 *                     without a pass.
 * Knows: the tokens of the timeline and of earlier replies, a session.  Does
 * not know: text, sampling, constraints.
 *
 * A guess is what followed the last three or more tokens when they stood
 * somewhere before: in the prompt, in this reply, or in a source.  The pass
 * computes the guesses after the new token.  The caller draws from the logits
 * as usual; when it draws what was guessed, the logits after it are already
 * there.  A wrong guess is taken back.  Since a row's bits do not depend on the
 * other rows of a pass (session.h), the reply is exactly the one without drafts,
 * greedy, sampled or constrained; only the number of passes differs.
 *
 * A guess costs a part of a pass; an accepted one saves a whole pass.  A draft
 * keeps this balance and guesses only while it allows: the total loss stays
 * below half a pass plus a hundredth of the tokens with look-up, and one and a
 * half passes plus two hundredths with a model.  The number of tokens that a
 * model is asked for follows from its recent share of accepted guesses.
 *
 * Threads:  as its session.
 * Memory:   eight bytes a token of the timeline and of sources; in the session
 *           n_vocab floats for each row of a pass, and a state each of a
 *           recurrent model, once something is guessed.
 */
#ifndef CF_CORE_API_DRAFT_H
#define CF_CORE_API_DRAFT_H

#include "core/api/batch.h"

CF_BEGIN_DECLS

/* The most guesses in one pass, and the default. */
enum { CF_DRAFT_MAX = CF_KEPT_ROWS_MAX - 1, CF_DRAFT_DEFAULT = 7 };

typedef struct cf_draft cf_draft;

/* n_max: guesses in a pass at most (CF_DRAFT_MAX at most); 0: none, a plain
 * way to step.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_draft_new(cf_draft **out, size_t n_max, cf_error *err);
void cf_draft_free(cf_draft *draft);

/* Adds a text to guess from, such as an earlier reply; it is copied.  Before
 * cf_draft_begin().  Ids outside the vocabulary do no harm.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_draft_source(cf_draft *draft, const cf_token *ids, size_t n,
                                      cf_error *err);

/* A second draft with the same sources.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_draft_clone(cf_draft **out, const cf_draft *from, cf_error *err);

/* Guesses in a pass at most, from now on. */
void cf_draft_set_max(cf_draft *draft, size_t n_max);
size_t cf_draft_get_max(const cf_draft *draft);

/* Tokens of all sources; they are forgotten with cf_draft_forget(). */
size_t cf_draft_n_source(const cf_draft *draft);
void cf_draft_forget(cf_draft *draft);

/* Where the look-up has no guess, a model makes it: its most likely tokens.
 * `engine` is borrowed until the draft and its clones are freed; `of` is that of
 * the sessions that replies begin in.  CF_EINVAL if their vocabularies differ;
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_draft_use_model(cf_draft *draft, cf_engine *engine, const cf_engine *of,
                                         cf_error *err);

/*
 * Called before the prompt of a reply is computed, for the draft layer of the
 * model's file, which is used where no draft model is given: it reads the states
 * after the prompt's tokens.  If cf_draft_wants_hidden(), call cf_draft_hidden()
 * for them (cf_run.hidden, `ud` the draft); otherwise the layer guesses from the
 * reply alone.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_draft_prepare(cf_draft *draft, const cf_session *session, cf_error *err);
bool cf_draft_wants_hidden(const cf_draft *draft);
void cf_draft_hidden(void *draft, uint32_t pos, const float *hidden);

/* A reply begins after the tokens that the session has; the session has
 * logits, and is borrowed until cf_draft_end().  A draft model reads the prompt,
 * unless there is a picture or sound in it: then it makes no guesses.
 * CF_ENOMEM; CF_ECANCELLED after *cancel (may be NULL) became true. */
CF_MUST_USE cf_status cf_draft_begin(cf_draft *draft, cf_session *session, cf_cancel *cancel,
                                     cf_error *err);

/*
 * The reply continues with ids[0..n), n >= 1.  *needs_pass: false when all of it
 * was guessed before and cf_draft_logits() is valid at once.  Else `part` is
 * to be advanced by cf_batch_pass(), alone or with others, until its n_done is
 * n, with cf_draft_took() after each pass that succeeded.  The part borrows
 * from the draft.  CF_ENOMEM; CF_ELIMIT when the context is full.
 */
CF_MUST_USE cf_status cf_draft_next(cf_draft *draft, const cf_token *ids, size_t n,
                                    cf_advance *part, bool *needs_pass, cf_error *err);

/* True when the part is done; else it holds what is left of it. */
bool cf_draft_took(cf_draft *draft, cf_advance *part);

/* The three of them for a reply alone.  Errors as cf_batch_pass(); the
 * timeline is then as before, and the draft over. */
CF_MUST_USE cf_status cf_draft_step(cf_draft *draft, const cf_token *ids, size_t n,
                                    cf_cancel *cancel, cf_error *err);

/* logits[n_vocab] after the last token; borrowed until the next change. */
const float *cf_draft_logits(const cf_draft *draft);

/* Whether ids[0..n), the next tokens to be given, were all guessed. */
bool cf_draft_is_guessed(const cf_draft *draft, const cf_token *ids, size_t n);

typedef struct cf_draft_counts {
    size_t n_passes;   /* over the weights */
    size_t n_guessed;  /* tokens computed ahead */
    size_t n_accepted; /* of them, that were right */
} cf_draft_counts;

/* Since cf_draft_begin(). */
cf_draft_counts cf_draft_get_counts(const cf_draft *draft);

/* Cuts the session to the reply's tokens, with the logits after them.  May be
 * called twice, and after a failure. */
void cf_draft_end(cf_draft *draft);

CF_END_DECLS

#endif
