/*
 * tools.h - the inside of the Tools view, shared by view_tools.c (the list
 * and what can be done), tools_stages.c (the five panes), tools_answer.c
 * (results, mocks, commands, failures), tools_server.c (tool servers) and
 * tools_edit.c (other arguments).
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_TOOLS_TOOLS_H
#define CF_TUI_VIEW_TOOLS_TOOLS_H

#include "tui/app/app.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_model.h"
#include "tui/lab/tools/tool_servers.h"
#include "tui/widget/list.h"

/* The prompt with an answer that has not been given yet. */
typedef struct cf_tools_back {
    cf_arena arena;
    bool is_made;
    uint64_t generation;
    size_t row;
    cf_status status;
    cf_error err;
    cf_prompt prompt;
    size_t from; /* bytes of the prompt before it */
} cf_tools_back;

/* A command that answers a call, as a task of the workbench; everything but the
 * first two is its own copy. */
typedef struct cf_tools_run {
    cf_app *app;
    bool is_on;
    cf_uuid reply;
    size_t n;                 /* call of the reply, failed blocks counted */
    bool is_server;           /* a tool server answers, not a command */
    size_t server;            /* as in cf_tool_server */
    cf_tool_servers *servers; /* borrowed */
    char *tool;               /* the server's own name of it */
    char *command, *name, *id;
    json_t *arguments;
    uint32_t timeout_ms;
    cf_status status; /* and below: what came of it */
    cf_error err;
    cf_buf text;   /* the result as a message's content */
    int exit_code; /* -1: it did not end by itself */
    int64_t started_ms, duration_ms;
} cf_tools_run;

typedef struct cf_tools {
    cf_tool_model model;
    uint64_t generation; /* of the workbench, when the model was made */
    bool is_made;
    cf_list list;
    cf_stage stage; /* the focused pane */
    bool is_zoomed;
    bool shows_hex, shows_chunks;
    size_t scroll[CF_STAGE_COUNT]; /* lines above each pane */
    bool finds_call;               /* scroll the raw reply to the call */
    cf_tools_back back;

    bool asks; /* whether the command may run */
    size_t ask_scroll;
    cf_tools_run run;
    cf_uuid told;    /* the reply whose waiting calls were announced */
    cf_uuid stopped; /* the reply whose unasked calls the user stopped */
    bool is_closing; /* the answer of a command that ends now is dropped */

    bool is_editing;  /* the arguments, or the bytes of a failed block */
    bool edits_bytes; /* the latter */
    cf_edit edit;
    cf_buf findings; /* about the text being written */
    bool is_valid;
} cf_tools;

/* What can be clicked. */
enum { CF_TOOLS_SPOT_CALL, CF_TOOLS_SPOT_STAGE };

cf_tools *cf_tools__state(cf_app *app);

/* The tool calls of the current path. */
const cf_tool_model *cf_tools__model(cf_app *app);

/* The call under the cursor; NULL when there is none. */
const cf_call_row *cf_tools__current(cf_app *app);

/* The turns of a call and of its result; NULL. */
const cf_turn *cf_tools__turn_of(cf_app *app, const cf_call_row *row);
const cf_turn *cf_tools__result_of(cf_app *app, const cf_call_row *row);

/* The called name; of a failed block what little is known: "?". */
cf_str cf_tools__name_of(cf_app *app, const cf_call_row *row);

/* The outcome of the call so far; NULL. */
const cf_call_note *cf_tools__note_of(cf_app *app, const cf_call_row *row);

/* Whether the command that runs is for this very call. */
bool cf_tools__runs(cf_app *app, const cf_call_row *row);

/* Begins a ":" line. */
void cf_tools__ask_line(cf_app *app, const char *start);

/* ---- tools_server.c ----------------------------------------------------- */

/* Whether a tool server answers calls of that name. */
bool cf_tools__has_server(const cf_app *app, cf_str name);
/* Fills the server's part of a run. */
bool cf_tools__fill_server(cf_tools_run *t, cf_app *app, cf_str name);
/* Whether the call may be made unasked. */
bool cf_tools__may_call(cf_app *app, cf_str name);
/* The question before a call.  And its keys: true when it is one of them,
 * *may when the call is to be made. */
void cf_tools__draw_server_question(cf_app *app, cf_grid *g, cf_rect r, const cf_tool_call *call);
bool cf_tools__server_key(cf_app *app, cf_key key, cf_str name, bool *may);
/* Makes the calls of the newest reply that may run unasked; false: there is
 * none. */
bool cf_tools__step(cf_app *app);
/* The same as "!" and y, for the row. */
void cf_tools__start(cf_app *app, const cf_call_row *row);

/* ---- tools_stages.c ----------------------------------------------------- */

/* Writes lines into a pane, of which the first `skip` are scrolled away. */
typedef struct cf_tools_pen {
    cf_grid *g;
    cf_rect r;
    size_t line, skip;
    size_t mark;   /* the line of what matters; SIZE_MAX: none */
    bool is_whole; /* walks over what is below the pane, too */
} cf_tools_pen;

void cf_tools__say(cf_tools_pen *p, cf_style style, cf_str text);
void cf_tools__sayf(cf_tools_pen *p, cf_style style, const char *fmt, ...) CF_PRINTF(3, 4);

void cf_tools__draw_pane(cf_app *app, cf_grid *g, cf_rect r, cf_stage stage,
                         const cf_call_row *row);
void cf_tools__draw_panes(cf_app *app, cf_grid *g, cf_rect r, const cf_call_row *row);

/* ---- tools_answer.c ----------------------------------------------------- */

/* Commands of the view. */
void cf_tools__cmd_result(cf_app *app, const char *arg);
void cf_tools__cmd_mock(cf_app *app, const char *arg);
void cf_tools__cmd_unmock(cf_app *app, const char *arg);
void cf_tools__cmd_run(cf_app *app, const char *arg);
void cf_tools__cmd_exec(cf_app *app, const char *arg);
void cf_tools__cmd_exec_all(cf_app *app, const char *arg);
void cf_tools__cmd_approval(cf_app *app, const char *arg);
void cf_tools__cmd_timeout(cf_app *app, const char *arg);
void cf_tools__cmd_on_failure(cf_app *app, const char *arg);
void cf_tools__cmd_fail(cf_app *app);

/* The question whether a command may run, and its keys. */
void cf_tools__draw_question(cf_app *app, cf_grid *g, cf_rect r);
bool cf_tools__answer_key(cf_app *app, cf_key key);

void cf_tools__clear_run(cf_tools_run *run);

/* The messages after `parent` that would report a failure to the model; a new
 * reference or NULL. */
json_t *cf_tools__failure_message(cf_app *app, const cf_call_row *row, cf_uuid *parent);

/* ---- tools_fix.c -------------------------------------------------------- */

/* What a failed call may have been meant to be: the text of its block, and in
 * words what was changed. */
typedef struct cf_tools_fix {
    cf_buf text, how;
} cf_tools_fix;

/* False: no fix is known.  *out is to be freed either way. */
bool cf_tools__find_fix(cf_app *app, const cf_call_row *row, cf_tools_fix *out);
void cf_tools__fix_deinit(cf_tools_fix *fix);

void cf_tools__cmd_fix(cf_app *app);

/* ---- tools_edit.c ------------------------------------------------------- */

void cf_tools__cmd_edit(cf_app *app, const char *arg);
void cf_tools__cmd_edit_outside(cf_app *app);
void cf_tools__draw_edit(cf_app *app, cf_grid *g, cf_rect r);
bool cf_tools__edit_key(cf_app *app, cf_key key);
void cf_tools__edit_paste(cf_app *app, cf_str text);

#endif
