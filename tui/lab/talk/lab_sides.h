/*
 * lab_sides.h - several replies to one message, written side by side (3r).
 *
 * The first of them is the lab's live reply, as ever; the others are here.
 * Each has a clone of the engine, a seed of its own, and its own record in the
 * history.
 *
 * Threads:  as lab_send.c: the send's thread owns all but the replies, which
 *           are the interface thread's.
 * Memory:   a cf_lab_sides is the job's, until its end.
 *
 * Private to tui/lab.
 */
#ifndef CF_TUI_LAB_TALK_LAB_SIDES_H
#define CF_TUI_LAB_TALK_LAB_SIDES_H

#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/talk_impl.h"

/* One reply. */
typedef struct cf_lab_side {
    cf_lab_job *job;
    size_t number;
    cf_turn_options options; /* with its seed */
    cf_keep_reply keep;
    cf_send_job sent;
    cf_reply live; /* not used by the first one */
} cf_lab_side;

struct cf_lab_sides {
    size_t n;
    cf_lab_side side[CF_LAB_SIDES_MAX];
};

/* The replies of a job, to which the settings' seed and those after it
 * belong.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_lab__sides_new(cf_lab_job *job, size_t n, cf_error *err);
void cf_lab__sides_free(struct cf_lab_sides *sides);

/* The task's functions, with the job as `ud`: on the send's thread, and on the
 * interface thread. */
CF_MUST_USE cf_status cf_lab__run_sides(void *ud, cf_runner *runner, cf_error *err);
void cf_lab__take_side(void *ud, void *item);
void cf_lab__free_side_item(void *item);

#endif
