/*
 * influence_task.h - influence as a task of the workbench, and shades for the
 * prompt.
 *
 * Threads:  the interface thread, but for what runs inside the task.
 * Memory:   a study owns its case and result; it is freed when no task of its
 *           own runs.
 */
#ifndef CF_TUI_STUDY_INFLUENCE_INFLUENCE_TASK_H
#define CF_TUI_STUDY_INFLUENCE_INFLUENCE_TASK_H

#include "tui/lab/state/lab_task.h"
#include "tui/study/influence/influence.h"

enum { CF_SHADES = 4 };

typedef struct cf_influence_study {
    cf_study_case c;
    cf_study_case other; /* CF_CHANGE_SWAP: options.other */
    cf_uuid with;        /* its conversation */
    cf_influence_options options;
    cf_influence result;
    size_t *order;  /* [result.n_row] by delta */
    uint8_t *shade; /* [result.tokens.n] how much the prompt's tokens mattered,
                       0 .. CF_SHADES - 1 */
    bool is_done;
    cf_error err; /* why it failed; code CF_OK while it runs */
} cf_influence_study;

/* 0 .. CF_SHADES - 1 for a delta where `most` is the most negative one. */
unsigned cf_influence_shade(double delta, double most);

/*
 * Starts to measure the influence on a reply; `turn` nil: the last of the path.
 * `with` is the saved conversation whose parts are swapped in where the options
 * say so; options->other is not looked at, and options->instead is copied.
 * `end` is called with the finished study, which is then the caller's, even if
 * it failed.  CF_EUNSUPPORTED for an engine without likelihoods,
 * CF_ENOTFOUND, CF_EBUSY.
 */
CF_MUST_USE cf_status cf_influence_start(cf_lab *lab, cf_store *store, cf_uuid turn, cf_uuid with,
                                         const cf_influence_options *options,
                                         void (*end)(void *ud, cf_influence_study *study), void *ud,
                                         cf_error *err);
void cf_influence_study_free(cf_influence_study *study);

#endif
