/*
 * lab_task.h - long work of the workbench that adds no turn: comparing,
 * scoring, other programs on one thread; queries of the history on another.
 *
 * While a task runs nothing can be sent; the conversation itself may change,
 * so a task works on copies.
 *
 * Threads:  the interface thread, except where said.
 */
#ifndef CF_TUI_LAB_STATE_LAB_TASK_H
#define CF_TUI_LAB_STATE_LAB_TASK_H

#include "core/base/task.h"

typedef struct cf_lab cf_lab;

/* CF_EBUSY, saying what, while a reply is written or a task runs that does not
 * give way.  To be asked before the engine's state is copied for a task. */
CF_MUST_USE cf_status cf_lab_need_idle(cf_lab *lab, cf_error *err);

/* CF_EBUSY as above. */
CF_MUST_USE cf_status cf_lab_start_task(cf_lab *lab, const cf_task *task, cf_error *err);

/* From run(): hands an item over, waiting while the queue is full. */
void cf_lab_tell(cf_lab *lab, void *item);
/* Any thread. */
cf_cancel *cf_lab_cancel_flag(cf_lab *lab);

/* How far a task is, told from any thread: the first member of its `ud`.  The first
 * is a progress function of studies, with the count as `ud`; the second a task's. */
typedef struct cf_lab_count {
    _Atomic size_t n_done, n_all;
} cf_lab_count;
void cf_lab_count_set(void *ud, size_t n_done, size_t n_all);
void cf_lab_count_put(const void *ud, cf_buf *out);

/* The name of the task that runs; NULL: none.  A send is not a task here. */
const char *cf_lab_task_name(const cf_lab *lab);

/* Appends how far it has come, as far as it reports that. */
void cf_lab_task_progress(const cf_lab *lab, cf_buf *out);

/* Stops a task that gives way, if one runs, and waits for its end(). */
void cf_lab_make_way(cf_lab *lab);
/* Stops the task with this `ud` (NULL: any), if it runs, and waits for its
 * end(). */
void cf_lab_end_task(cf_lab *lab, const void *ud);

/* The same on a thread of its own, for queries of the store that take longer
 * than a frame may.  CF_EBUSY while one runs. */
CF_MUST_USE cf_status cf_lab_start_reading(cf_lab *lab, const cf_task *task, cf_error *err);
/* Waits for the end() of the reading with this `ud` (NULL: any), if it runs. */
void cf_lab_end_reading(cf_lab *lab, const void *ud);

#endif
