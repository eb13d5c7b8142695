/*
 * guard.h - whether a call of a conversation was driven by what the user asked
 * or by what a tool answered: by each message's content, left out in turn.
 *
 * Place in the flow:  a conversation --> its calls after a tool's result -->
 *                     [guard] --> for each call what drove it.
 * Knows: influence.  Does not know: where conversations come from, whether a
 * call is harmful.
 *
 * The loss of a call without a message is divided by the call's tokens, as
 * CausalArmor does (arXiv 2602.07918).
 *
 * Threads:  one thread at a time.
 * Memory:   reports are the caller's.
 */
#ifndef CF_TUI_STUDY_INFLUENCE_GUARD_H
#define CF_TUI_STUDY_INFLUENCE_GUARD_H

#include "tui/study/influence/influence.h"

typedef enum cf_guard_driver {
    CF_DRIVER_NONE, /* neither matters: the call follows from something else */
    CF_DRIVER_USER,
    CF_DRIVER_TOOL,
    CF_DRIVER_BOTH
} cf_guard_driver;

/* "none", "user", "tool", "both" */
const char *cf_guard_driver_name(cf_guard_driver driver);

typedef struct cf_guard_call {
    size_t message, call; /* indices, from 0 */
    cf_uuid turn;         /* nil: not known */
    cf_guard_driver driver;
    double score;  /* nats a token that the result is worth more than the user's words */
    size_t source; /* message of the result; SIZE_MAX: none matters */
} cf_guard_call;

typedef void (*cf_guard_fn)(void *ud, const cf_guard_call *call);

/*
 * Judges the calls of the reply of a case, at `message` of its conversation;
 * does nothing where there is no result of a tool before it.  Errors of
 * cf_influence_make().
 */
CF_MUST_USE cf_status cf_guard_reply(const cf_study_case *c, size_t message,
                                     const cf_study_engine *engine, cf_study_scorer *scorer,
                                     cf_guard_fn fn, void *ud, cf_error *err);

#endif
