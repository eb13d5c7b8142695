/*
 * inside_task.h - looking into the model as a task of the workbench: all that a
 * view shows about one token of a reply.
 *
 * Threads:  the interface thread, but for what runs inside the task.
 * Memory:   a work owns its case and results; it is freed when no task of its
 *           own runs.
 */
#ifndef CF_TUI_STUDY_INSIDE_INSIDE_TASK_H
#define CF_TUI_STUDY_INSIDE_INSIDE_TASK_H

#include "tui/lab/state/lab_task.h"
#include "tui/study/inside/inside_study.h"

typedef struct cf_inside_work {
    cf_inside_case c;
    uint32_t kinds; /* of parts, bits */
    cf_inside_layers layers;
    cf_inside_look look;
    cf_margin margin;
    cf_inside_answer plain;
    cf_inside_answer *without; /* [c.n_part] each part hidden */
    cf_inside_choice *choice;  /* [c.n_tool] */
    uint8_t *shade;            /* [c.tokens.n] how much the prompt's tokens were looked
                                  at, 0 .. CF_SHADES - 1 */
    bool is_done;
    cf_error err; /* why it failed; code CF_OK while it runs */
} cf_inside_work;

enum { CF_INSIDE_FROM_CALL = -1 };

/*
 * Starts to look at what chose a token of a reply: the one with byte `off` of
 * it; CF_INSIDE_FROM_CALL: where the called tool was chosen, else the first.
 * `turn` nil: the last reply of the path.  `end` is called with the finished
 * work, which is then the caller's, even if it failed.  CF_EUNSUPPORTED without
 * the built-in engine, CF_ENOTFOUND, CF_EBUSY.
 */
CF_MUST_USE cf_status cf_inside_start(cf_lab *lab, cf_store *store, cf_uuid turn, int64_t off,
                                      uint32_t kinds, void (*end)(void *ud, cf_inside_work *work),
                                      void *ud, cf_error *err);
void cf_inside_work_free(cf_inside_work *work);

#endif
