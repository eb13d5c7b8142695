/*
 * steps.h - the state of the Steps view: the sessions on this machine, and one
 * of them request by request.
 *
 * Threads:  the interface thread; files are read by a task on the lab's reader,
 *           which hands a finished reading over.
 */
#ifndef CF_TUI_VIEW_STEPS_STEPS_H
#define CF_TUI_VIEW_STEPS_STEPS_H

#include "storage/trail.h"
#include "tui/app/app.h"
#include "tui/lab/talk/session_lines.h"
#include "tui/widget/list.h"

typedef enum cf_steps_kind {
    CF_STEPS_STEP,
    CF_STEPS_AGENT, /* a sub-agent, under the request that began it */
    CF_STEPS_COMPACTION,
    CF_STEPS_ABORTED
} cf_steps_kind;

typedef struct cf_steps_line {
    cf_steps_kind kind;
    size_t at;    /* place of the event; of an agent, that of `agent` */
    size_t row;   /* of a step; SIZE_MAX: none */
    size_t agent; /* place in the steps' agents */
    int depth;
} cf_steps_line;

/* A file that was read: one of its sessions, and what is computed of it. */
typedef struct cf_steps_reading {
    cf_trails trails;
    size_t which; /* place of the session in it */
    cf_trail_findings found;
    cf_trail_steps steps;
    uint64_t bytes; /* of the file, where it was read whole; 0: its head alone */
} cf_steps_reading;

/* The options' id names the session, "" the first one, which also stands for one
 * that is not there. */
CF_MUST_USE cf_status cf_steps_read(cf_steps_reading *out, const char *path,
                                    const cf_trail_options *opts, cf_error *err);
void cf_steps_reading_deinit(cf_steps_reading *r);
/* Bytes of the file now; 0: not to be seen. */
uint64_t cf_steps_file_bytes(const char *path);

/* One session of the list. */
typedef struct cf_steps_name {
    const char *format;
    char *path, *id, *title; /* heap */
    char *findings;          /* heap; a line each with the sentences that are lost, "" */
    size_t n_messages, n_steps;
    int64_t started_ms;
} cf_steps_name;

typedef struct cf_steps_view {
    /* The list of sessions. */
    cf_steps_name *names; /* [n_names], heap, newest first */
    size_t n_names, cap_names;
    cf_list name_list;
    bool has_names, is_listing;
    /* The session that is shown. */
    char *path; /* heap; NULL: the list is shown */
    char *id;   /* heap; of a session in it, "": the first */
    cf_steps_reading now;
    bool has_session, is_reading;
    uint64_t looked_us;
    cf_steps_line *lines; /* [list.n], heap */
    size_t n_lines, cap_lines;
    bool *is_folded; /* [steps.n_agents], heap */
    cf_list list;
    bool shows_diff;
    cf_session_how how; /* what the diff counts with: the workbench's model and template */
    atomic_int percent; /* of the file that is read */
    cf_buf detail;      /* the lower pane's text, of this event */
    size_t detail_at;
    bool detail_is_diff;
    int scroll; /* lines of the lower pane */
} cf_steps_view;

/* The lines anew, after reading or folding; the cursor stays on its event. */
CF_MUST_USE cf_status cf_steps_lines(cf_steps_view *v, cf_error *err);
const cf_trail *cf_steps_trail(const cf_steps_view *v);
/* Whether a finding is at a line. */
bool cf_steps_is_marked(const cf_steps_view *v, const cf_steps_line *line);

void cf_steps_draw(cf_steps_view *v, cf_grid *g, cf_rect r);
/* The lower pane's text. */
const char *cf_steps_detail(cf_steps_view *v);

#endif
