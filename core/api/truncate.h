/*
 * truncate.h - drops the oldest turns of a conversation, so that what is left
 * fits: by turns, or by tokens of the prompt.
 *
 * Place in the flow:  a conversation --> [truncate] --> a plan that can be
 *                     shown --> a branch without the turns that go.
 * Knows: which turns may begin what is left.  Does not know: where
 * conversations are stored, how a plan is shown.
 *
 * System messages at the beginning stay.  What is left begins with a message
 * of the user: no answer without its question, no result without its call, and
 * roles alternate as they did.  Turns keep their order; none is shortened.
 *
 * Threads:  as conversation.h.
 * Memory:   a plan holds numbers and owns nothing.
 */
#ifndef CF_CORE_API_TRUNCATE_H
#define CF_CORE_API_TRUNCATE_H

#include "core/api/conversation.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

/* Turns of the path to the head: [0, n_lead) stay, [n_lead, first) go,
 * [first, n_path) stay. */
typedef struct cf_truncation {
    size_t n_path, n_lead, first;
    size_t n_tokens_before; /* of the prompts; 0: not counted */
    size_t n_tokens_after;
} cf_truncation;

/* Leaves at most n_turns turns after the system messages.  CF_ELIMIT when the
 * newest message of the user and what follows it are more than that. */
CF_MUST_USE cf_status cf_truncation_by_turns(cf_truncation *out, const cf_conversation *conv,
                                             size_t n_turns, cf_error *err);

/*
 * Leaves as many turns as make a prompt of at most n_tokens, generation prompt
 * included.  options may be NULL.  CF_ELIMIT, with the smallest number
 * possible, when even the newest message of the user does not fit;
 * CF_EUNSUPPORTED for a backend that cannot count; errors of the template.
 */
CF_MUST_USE cf_status cf_truncation_by_tokens(cf_truncation *out, const cf_conversation *conv,
                                              cf_backend *backend, const cf_turn_options *options,
                                              size_t n_tokens, cf_error *err);

/*
 * Makes the plan a branch: copies of the turns that stay (without failed
 * replies), and the head on the last one.  Every path that was there stays.  A
 * plan after which nothing goes changes nothing.  fn may be NULL.  CF_EINVAL
 * for a plan of another path, CF_ENOMEM; then the head is as before.
 */
CF_MUST_USE cf_status cf_conversation_truncate(cf_conversation *conv, const cf_truncation *plan,
                                               cf_turn_copy_fn fn, void *ud, cf_error *err);

CF_END_DECLS

#endif
