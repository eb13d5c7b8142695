/*
 * findings.h - what is wrong with an exchange, seen from its own data, from
 * the one before it, and from the prompt that the server must have made.
 *
 * Place in the flow:  an exchange and its predecessor --> [findings] --> the
 *                     history, the list of exchanges.
 * Knows: messages, usage, templates, tokenizers, families of calls.  Does not
 * know: HTTP, the history.
 *
 * Kinds, as JSON objects with "kind" and "text":
 *   cut               the server counted fewer tokens (theirs) than the prompt
 *                     has (ours)
 *   cache-lost        it kept less of the prompt than before; `message` is
 *                     where the prompts part
 *   lost-call         a call in the text that the server did not parse
 *   system-changed    another system message than in the request before
 *   other-answer      the same request had another answer
 *   tools-not-written the template wrote nothing of these tools
 *
 * Threads:  a finder is constant; any thread.
 * Memory:   results are appended to the caller's list.
 */
#ifndef CF_TUI_SERVE_FINDINGS_H
#define CF_TUI_SERVE_FINDINGS_H

#include "core/api/conversation.h"
#include "core/wire/wire.h"

/* What a prompt can be rebuilt with. */
typedef struct cf_finder {
    const cf_tokenizer *tok; /* NULL: nothing is counted */
    /* A server renders messages as they are; `shaped` is asked where that
     * fails.  render NULL: nothing is rendered. */
    cf_prompt_renderer as_is, shaped;
    cf_tool_family family; /* CF_TOOLS_NONE: any */
    cf_role_map roles;     /* as the template names them */
} cf_finder;

/* One side of a comparison; everything borrowed. */
typedef struct cf_found_side {
    const cf_wire_request *request;
    cf_wire_usage usage;
    cf_str between; /* of `now`: another request that was answered since, in words; empty: none */
} cf_found_side;

/* Appends to the JSON array what is wrong with `now`.  `before` is the former
 * request of the conversation (NULL: none), `reply` the answer (NULL: none).
 * finder may be NULL.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_findings_add(json_t *list, const cf_finder *finder,
                                      const cf_found_side *now, const cf_found_side *before,
                                      const json_t *reply, cf_error *err);

/* Tokens that the cache could have kept and did not: of those that it kept
 * before, or of all that the request before had sent.  0 where no cache is
 * reported. */
int64_t cf_findings_lost(const cf_found_side *now, const cf_found_side *before);

/* Whether a request says what a former one did with some messages changed:
 * at least as many, more than half of the former ones at their places, and not
 * only system messages; and more than the last one changed, if there are no
 * others. */
bool cf_findings_is_rewrite(const json_t *was, const json_t *is);

#endif
