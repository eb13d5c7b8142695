/*
 * inside_view.h - the inside of the Inside view, shared by view_inside.c (what
 * is asked, commands), inside_panes.c (drawing) and inside_tools.c (why a tool
 * was called, and what can be done about it).
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_INSIDE_INSIDE_VIEW_H
#define CF_TUI_VIEW_INSIDE_INSIDE_VIEW_H

#include "tui/study/inside/inside_task.h"
#include "tui/view/kit/pane.h"
#include "tui/view/kit/shades.h"

typedef enum cf_inside_focus {
    CF_INSIDE_ON_PARTS,
    CF_INSIDE_ON_LAYERS, /* or on the map */
    CF_INSIDE_ON_TOOLS,
    CF_INSIDE_ON_COUNT
} cf_inside_focus;

typedef struct cf_inside_view {
    cf_inside_work *work; /* NULL: none yet */
    bool is_running;
    cf_uuid turn;         /* asked about */
    cf_inside_question q; /* likewise; without texts */
    cf_inside_focus focus;
    cf_list list[CF_INSIDE_ON_COUNT];
    size_t a, b; /* of the watched tokens: what is compared */
    bool hides_map;
    size_t opened; /* the choice whose ways are listed; SIZE_MAX: none */
    cf_shade_map shades;
    bool wants; /* the cursor goes to the part with this byte of the prompt */
    size_t byte;
    bool stays; /* the view on top stays there */
} cf_inside_view;

cf_inside_view *cf_inside__state(cf_app *app);
/* The finished work; NULL: there is none. */
const cf_inside_work *cf_inside__done(cf_app *app);
void cf_inside__ask(cf_app *app, const cf_inside_question *q);

/* ---- inside_panes.c ----------------------------------------------------- */

/* A token in quotes; "nothing" for none. */
void cf_inside__put_token(cf_buf *out, const cf_inside_work *w, cf_token id);
double cf_inside__margin(const cf_app *app, const cf_inside_answer *a);
void cf_inside__draw_parts(cf_app *app, cf_grid *g, cf_rect r);
/* Watched tokens, then the layers from the last one down. */
size_t cf_inside__n_layer_row(const cf_inside_work *w);
void cf_inside__draw_layers(cf_app *app, cf_grid *g, cf_rect r);
void cf_inside__draw_map(cf_app *app, cf_grid *g, cf_rect r);

/* ---- inside_tools.c ----------------------------------------------------- */

/* Choices, and after the one that is opened the ways to it. */
size_t cf_inside__n_tool_row(cf_app *app);
/* Row i as a line. */
void cf_inside__put_tool_row(cf_app *app, cf_buf *out, size_t i);
void cf_inside__draw_tools(cf_app *app, cf_grid *g, cf_rect r);
/* Enter: compares with the choice and lists its ways, or goes one of them. */
void cf_inside__open_tool(cf_app *app);
/* Edits the declaration under the cursor in the user's editor. */
void cf_inside__edit_tool(cf_app *app);

#endif
