/*
 * chat.h - the inside of the Chat view, shared by view_chat.c (what can be
 * done), chat_transcript.c, chat_side.c and chat_compose.c.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_CHAT_H
#define CF_TUI_VIEW_CHAT_H

#include "tui/app/app.h"
#include "tui/grid/wrap.h"
#include "tui/lab/lab_send.h"
#include "tui/lab/turn_map.h"
#include "tui/lab/turn_tree.h"
#include "tui/view/chat_images.h"

enum { CF_CHAT_RATE_TOKENS = 8 }; /* the fewest whose speed is shown */

/* A turn's text as it is shown. */
typedef struct cf_chat_text {
    cf_uuid id;
    cf_buf text;     /* what it says */
    cf_buf thinking; /* reasoning, shown folded */
    cf_wrapped lines, thinking_lines;
    bool unfolded;
    cf_chat_image *images; /* [n_images], owned; they borrow from `held` */
    size_t n_images;
    json_t *held; /* the message, when it has images */
} cf_chat_text;

/* The turns of the path as lines of the transcript. */
typedef struct cf_chat_layout {
    size_t *start; /* [n + 1] first line of each turn, then the line after */
    size_t n, cap;
    bool is_valid; /* for: */
    uint64_t generation;
    int width;
    bool shows_thinking, is_on_first;
} cf_chat_layout;

typedef struct cf_chat {
    cf_edit composer;
    cf_chat_text **texts; /* [n_texts], owned; by turn */
    size_t n_texts, cap_texts;
    cf_turn_map text_map;
    cf_chat_layout layout;
    cf_turn_tree tree;
    int width; /* cells of the transcript, when it was drawn last */
    cf_chat_text live[CF_LAB_SIDES_MAX];
    cf_uuid conv;  /* what cursor and top are about */
    size_t cursor; /* turn of the path */
    bool follows;  /* keep the end in sight */
    size_t top;    /* first line of the transcript shown */
    size_t n_lines, height;
    cf_uuid edits; /* the turn the composer replaces or continues; nil: none */
    cf_attachments attached;
    int n_thumbs;          /* pictures that were done at the last frame */
    size_t mark, mark_end; /* lines of a selection, in any order */
    bool has_mark;
    bool shows_tree; /* next to the transcript, where there is room */
    bool is_tree_up; /* in its place, where there is not */
    bool had_x;      /* the key before was ^X */
    /* The system prompt's row above the first turn, which is there unless the
     * path begins with a system message; the cursor may be on it. */
    cf_chat_text first;
    bool is_on_first, edits_system;
} cf_chat;

/* What can be clicked. */
enum { CF_CHAT_SPOT_TURN, CF_CHAT_SPOT_COMPOSER };

cf_chat *cf_chat__state(cf_app *app);

/* The turn under the cursor; NULL when there is none. */
const cf_turn *cf_chat__current(cf_app *app);

/* Says what went wrong, when something did. */
void cf_chat__report(cf_app *app, cf_status st, const cf_error *err);

/* ---- chat_transcript.c -------------------------------------------------- */

void cf_chat__clear_text(cf_chat_text *t);

/* The kept text of a turn; NULL when memory ran out. */
cf_chat_text *cf_chat__text_of(cf_chat *s, const cf_turn *turn);

cf_style cf_chat__role_style(cf_str role);

/* Measures the path when it or the width has changed; false when memory ran
 * out. */
bool cf_chat__lay_out(cf_app *app, int width);

/* Puts the cursor on a turn of the path: the last one while it follows, as it
 * does at first in each conversation. */
void cf_chat__settle_cursor(cf_app *app);

/* Whether the system prompt has a row of its own above the turns. */
bool cf_chat__has_first(cf_app *app);

/* Appends what the selected lines say. */
void cf_chat__selected_text(cf_app *app, cf_buf *out);
void cf_chat__draw_transcript(cf_app *app, cf_grid *g, cf_rect r);

/* ---- chat_side.c -------------------------------------------------------- */

void cf_chat__draw_tree(cf_app *app, cf_grid *g, cf_rect r);
void cf_chat__draw_session(cf_app *app, cf_grid *g, cf_rect r);

/* ---- chat_compose.c ----------------------------------------------------- */

void cf_chat__draw_composer(cf_app *app, cf_grid *g, cf_rect r);
bool cf_chat__key(cf_app *app, cf_key key);

/* The turn that the composer replaces or continues; NULL when it writes a
 * message.  Whether that turn is a reply, to be continued. */
const cf_turn *cf_chat__edited(cf_app *app);
bool cf_chat__continues(cf_app *app);
void cf_chat__paste(cf_app *app, cf_str text);

/* The draft in the user's own editor. */
void cf_chat__edit_outside(cf_app *app);

/* ---- chat_select.c ------------------------------------------------------ */

void cf_chat__select(cf_app *app);
bool cf_chat__select_key(cf_app *app, cf_key key);

#endif
