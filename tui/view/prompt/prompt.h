/*
 * prompt.h - the inside of the Prompt view, shared by view_prompt.c (the
 * prompt itself and what can be done) and prompt_side.c (the panes next to it).
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_PROMPT_PROMPT_H
#define CF_TUI_VIEW_PROMPT_PROMPT_H

#include "tui/app/app.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/lab/prompt/prompt_model.h"
#include "tui/widget/list.h"

typedef enum cf_prompt_focus {
    CF_PROMPT_TEXT,
    CF_PROMPT_LINT,
    CF_PROMPT_VARS,
    CF_PROMPT_INSPECTOR, /* where one pane is shown; beside others it has no focus */
    CF_PROMPT_FOCUS_COUNT
} cf_prompt_focus;

typedef struct cf_prompt_view {
    cf_list rows;        /* of tokens, or of text where there are none */
    size_t token;        /* under the cursor */
    size_t byte;         /* of the prompt, where its line of text begins */
    cf_prompt_form form; /* of the tokens */
    cf_prompt_focus focus;
    cf_list findings, vars;
    int64_t rendered_s;   /* when the clock was looked at last */
    cf_view_id shades;    /* the view whose shades are shown; CF_VIEW_CHAT: none */
    bool stays;           /* the cursor, when the view above this one is closed */
    cf_uuid followed;     /* the turn that the cursor was put on, next to Chat, */
    uint64_t followed_at; /* and the generation of the workbench then */
} cf_prompt_view;

/* What can be clicked. */
enum { CF_PROMPT_SPOT_TOKEN, CF_PROMPT_SPOT_PANE, CF_PROMPT_SPOT_VAR };

cf_prompt_view *cf_prompt__state(cf_app *app);

/* "1 usr", "- gen": what a part of the prompt is called. */
const char *cf_prompt__label(cf_lab *lab, int32_t message, char out[16]);

/* The span under the cursor; NULL when there is none. */
const cf_prompt_span *cf_prompt__span(cf_app *app);

/* ---- prompt_side.c ------------------------------------------------------ */

/* The lint report of the template in use; NULL when it is not known
 * yet, or there is no template. */
const cf_lab_lint *cf_prompt__lint(cf_app *app);

/* All panes one below the other; `m` NULL: the prompt cannot be shown. */
void cf_prompt__draw_side(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m);
/* The pane with the focus alone. */
void cf_prompt__draw_focus(cf_app *app, cf_grid *g, cf_rect r, const cf_prompt_model *m);

/* Moves in the pane with the focus. */
void cf_prompt__move_side(cf_app *app, cf_move move);

/* The template's line that the cursor of the focused pane is about; 0: none. */
uint32_t cf_prompt__line(cf_app *app);

void cf_prompt__cmd_lint(cf_app *app);
void cf_prompt__cmd_vars(cf_app *app);
void cf_prompt__go_finding(cf_app *app, int by); /* 1 or -1 */
void cf_prompt__show_finding(cf_app *app, size_t i);

/* Begins a ":var" line for the variable under the cursor. */
void cf_prompt__edit_variable(cf_app *app);

#endif
