/*
 * diff_queue.h - the likelihood of the replies of many saved conversations
 * after the prompts of two templates, over several servers at once.
 *
 * Place in the flow:  conversations --> [queue] --> a question for each reply
 * and side --> core/api/work_queue.h --> a sum for each conversation, in the
 * order in which they were added.
 * Knows: the history, templates, addresses.  Does not know: the command line,
 * how sums are written.
 *
 * A question's key is a hash of the model's name, the prompt and the reply.
 * An answer is in the history under its key before it is used; a later run
 * takes it from there, and questions with one key are asked once.
 *
 * Threads:  the calling one; workers of its own while cf_diff_queue_run()
 *           runs.
 * Memory:   owns its questions; options are borrowed.
 */
#ifndef CF_TUI_LAB_COMPARE_DIFF_QUEUE_H
#define CF_TUI_LAB_COMPARE_DIFF_QUEUE_H

#include "storage/store.h"
#include "tui/lab/compare/diff_score.h"

enum { CF_DIFF_QUEUE_JOBS = 4 }; /* of an address, where nothing was said */

typedef struct cf_diff_queue cf_diff_queue;

typedef struct cf_diff_queue_options {
    cf_open_options open;      /* key, model of a server ... */
    const char *const *models; /* [n_models] addresses, or one model */
    size_t n_models;
    const char *a, *b; /* templates, as for cf_diff_pair_open() */
    bool as_is;        /* of cf_diff_pair */
    cf_store *store;
    uint32_t jobs; /* over all addresses; 0: CF_DIFF_QUEUE_JOBS of each */
    cf_cancel *cancel;
} cf_diff_queue_options;

/* One conversation's replies. */
typedef struct cf_diff_queue_row {
    cf_score_sum sum;
    size_t n_written[2]; /* of its replies those that a side's template prompted,
                            by the history */
    size_t n_failed;     /* questions that no server answered */
    const char *why;     /* of one of them, or of a reply that was left out; NULL */
} cf_diff_queue_row;

/* Asks the servers for their model's name, until one answers.  CF_EINVAL for
 * several models that are not all addresses; CF_EUNSUPPORTED for an engine
 * that gives no likelihoods; CF_EIO when no server answers; CF_ENOMEM. */
CF_MUST_USE cf_status cf_diff_queue_new(cf_diff_queue **out, const cf_diff_queue_options *options,
                                        cf_error *err);
void cf_diff_queue_free(cf_diff_queue *q);

/* Adds the replies of a conversation, on the path to `head`, rendered with
 * `pair`.  A reply that cannot be rendered is left out of the sums. */
CF_MUST_USE cf_status cf_diff_queue_add(cf_diff_queue *q, const cf_diff_pair *pair, cf_uuid id,
                                        cf_uuid head, cf_conversation *conv, cf_error *err);

/* Conversation `row` (from 0, in the order of adding) is done. */
typedef void (*cf_diff_queue_fn)(void *ud, size_t row, const cf_diff_queue_row *result);

typedef struct cf_diff_queue_calls {
    cf_diff_queue_fn fn;
    /* So many questions of all are answered; may be NULL. */
    void (*progress)(void *ud, size_t n_done, size_t n);
    void *ud;
} cf_diff_queue_calls;

/* Asks what the history does not know, and reports each conversation once.
 * CF_OK also where questions failed.  CF_ECANCELLED, CF_ENOMEM. */
CF_MUST_USE cf_status cf_diff_queue_run(cf_diff_queue *q, const cf_diff_queue_calls *calls,
                                        cf_error *err);

/* Answers that could not be kept, and why the last one could not. */
size_t cf_diff_queue_unsaved(const cf_diff_queue *q, const char **why);

#endif
