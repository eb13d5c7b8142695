/*
 * reply_plan.h - a part of a stored reply as a text plan: which of its tokens
 * were drawn under the run's constraint, which were put there.
 *
 * Threads:  one thread at a time.
 * Memory:   a walk owns its constraint; plans are the caller's.
 */
#ifndef CF_TUI_STUDY_ASK_REPLY_PLAN_H
#define CF_TUI_STUDY_ASK_REPLY_PLAN_H

#include "templates/text_plan.h"
#include "tui/study/ask/reply_tokens.h"

/* The run's constraint on its way along the reply. */
typedef struct cf_reply_walk {
    const cf_study_case *c;
    cf_text_pieces pieces;
    cf_constraint *constraint; /* NULL: the reply was free */
    size_t at;                 /* tokens of the reply taken */
    cf_arena *arena;           /* of masks */
} cf_reply_walk;

/* At the reply's first token; the case outlives it.  Errors of
 * cf_recorded_constraint(); CF_ENOMEM. */
CF_MUST_USE cf_status cf_reply_walk_init(cf_reply_walk *w, const cf_study_case *c,
                                         const cf_tokenizer *tok, cf_arena *arena, cf_error *err);
void cf_reply_walk_deinit(cf_reply_walk *w);

/* Takes the reply's tokens v[w->at .. to) and adds them to `plan` (NULL: only
 * goes on).  CF_EINVAL for a token that the constraint refuses. */
CF_MUST_USE cf_status cf_reply_walk_take(cf_reply_walk *w, const cf_reply_token *v, size_t to,
                                         cf_text_plan *plan, cf_error *err);

/* Adds another text at this place, as the vocabulary writes it, with its
 * tokens' ids in the arena; the walk stays where it is.  CF_EINVAL where the
 * constraint does not allow it. */
CF_MUST_USE cf_status cf_reply_walk_other(const cf_reply_walk *w, cf_str text, cf_text_plan *plan,
                                          cf_token **ids, cf_error *err);

/* Adds the end of the reply at this place. */
CF_MUST_USE cf_status cf_reply_walk_end(const cf_reply_walk *w, cf_text_plan *plan, cf_error *err);

#endif
