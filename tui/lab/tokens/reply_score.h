/*
 * reply_score.h - gives a reply that came from an import or a server the
 * tokens, probabilities and alternatives that the model at hand has for it.
 *
 * Place in the flow:  the prompt before a reply + what the reply says -->
 * [score] --> the reply's record, as if the model had written it.
 * The record is of this session; the history keeps what it had.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TOKENS_REPLY_SCORE_H
#define CF_TUI_LAB_TOKENS_REPLY_SCORE_H

#include "tui/lab/state/lab_state.h"

/* Called when it has ended, with CF_OK or why not. */
typedef void (*cf_reply_scored_fn)(void *ud, const cf_error *err);

/*
 * Starts to score the reply of a turn on the path.  CF_EUNSUPPORTED for an
 * engine that is not a model file, CF_ENOTFOUND for a turn that is not a reply
 * or has no text, CF_EBUSY.
 */
CF_MUST_USE cf_status cf_lab_score_reply(cf_lab *lab, cf_uuid turn, cf_reply_scored_fn fn, void *ud,
                                         cf_error *err);

#endif
