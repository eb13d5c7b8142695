/*
 * asker.h - asks a predicate about a context: renders it, has the model answer
 * if the predicate is about a reply, and keeps prompt and reply.
 *
 * Place in the flow:  context and template --> [asker] --> yes or no, with the
 *                     prompt, the reply or the template's error.
 * Knows: templates, engines, predicates.  Does not know: which contexts are
 * tried.
 * Replies are drawn as the recorded one was, with its constraint, sampler, seed
 * and thinking, where there is one, else greedily, so that the same context gives
 * the same answer; with `repeat` several times, each with the next seed.
 *
 * Threads:  one thread at a time.
 * Memory:   owns its compiled template and the texts of the last question.
 */
#ifndef CF_TUI_STUDY_ASK_ASKER_H
#define CF_TUI_STUDY_ASK_ASKER_H

#include "templates/template.h"
#include "tui/study/ask/predicate.h"
#include "tui/study/ask/study_case.h"

enum { CF_ASKER_REPEATS_MAX = 1000 };

typedef struct cf_asker {
    const cf_study_engine *engine; /* borrowed, like the next three */
    const cf_predicate *predicate;
    cf_cancel *cancel;
    bool as_is;          /* messages reach the template as they are */
    uint32_t max_tokens; /* of a reply; 0: that of the recorded one, else 256 */
    cf_recorded *was;    /* how replies are drawn; NULL: greedily */
    uint32_t command_ms; /* 0: as predicate.h says */
    cf_str prefix;       /* replies begin with it; empty: nothing is given */
    uint32_t repeat;     /* ask so often; 0: once */
    uint32_t at_least;   /* it holds if it does so often; 0: always */

    cf_buf only; /* the only failure that counts (cf_predicate_put_failure()); "": any */
    /* Of the last question; with `repeat` those of its last time, and `why`
     * begins with the counts. */
    cf_buf prompt, reply, error, why, failure;
    uint32_t n_asked, n_held; /* it ends when the answer is certain */
    cf_tool_status calls;

    cf_buf source; /* of the compiled template */
    cf_template *tpl;
    bool has_template; /* `source` was compiled, well or not */
    cf_error compile_error;
} cf_asker;

void cf_asker_init(cf_asker *a, const cf_study_engine *engine, const cf_predicate *predicate,
                   cf_cancel *cancel);
void cf_asker_deinit(cf_asker *a);

/*
 * Asks about a context (an object with messages, tools, variables) under a
 * template (empty: as the engine renders without one).  A failure caused by the
 * context means no; CF_ENOMEM, CF_ECANCELLED, CF_EIO and failures of the engine
 * are errors.
 */
CF_MUST_USE cf_status cf_asker_ask(cf_asker *a, const json_t *context, cf_str source, bool *holds,
                                   cf_error *err);

/* From now on only the failure of the last question counts.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_asker_keep_failure(cf_asker *a, cf_error *err);

#endif
