/*
 * chat.h - the inside of the Chat view, shared by view_chat.c (what can be
 * done), chat_transcript.c, chat_side.c and chat_compose.c.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_CHAT_CHAT_H
#define CF_TUI_VIEW_CHAT_CHAT_H

#include "core/api/tool.h"
#include "core/base/arena.h"
#include "storage/store.h"
#include "tui/app/app.h"
#include "tui/grid/wrap.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/turn_map.h"
#include "tui/lab/talk/turn_tree.h"
#include "tui/view/chat/chat_images.h"

enum { CF_CHAT_RATE_TOKENS = 8 }; /* the fewest whose speed is shown */

/* A turn's text as it is shown, and its calls. */
typedef struct cf_chat_text {
    cf_uuid id;
    cf_buf text;     /* what it says */
    cf_buf thinking; /* reasoning, shown folded */
    cf_wrapped lines, thinking_lines;
    bool unfolded;
    cf_chat_image *images; /* [n_images], owned; they borrow from `held` */
    size_t n_images;
    json_t *held; /* the message, when it has images */
    /* Of chat_calls.c. */
    bool has_calls; /* they were looked for, with these: */
    const cf_tool_set *tools;
    size_t n_calls;
    cf_buf broken; /* why one does not parse or is not valid; empty: none */
} cf_chat_text;

typedef enum cf_chat_call {
    CF_CALLS_NONE,
    CF_CALLS_DONE,
    CF_CALLS_WAITS,
    CF_CALLS_BROKEN
} cf_chat_call;

/* A place where something is said. */
typedef struct cf_chat_match {
    size_t turn; /* of the path */
    size_t off;  /* of its text */
} cf_chat_match;

typedef struct cf_chat_find {
    cf_chat_match *v; /* [n], owned; in the order of the path */
    size_t n, cap;
    char what[256];
    uint64_t generation;
    size_t at; /* the one that is shown, when has_at */
    bool has_at;
    bool is_typing; /* from here: */
    size_t from, cursor_before, top_before;
    bool follows_before;
    bool is_due; /* shown when the transcript is drawn next */
} cf_chat_find;

/* A rating and a note of a turn. */
typedef struct cf_chat_marks {
    cf_arena arena;
    const cf_store_turn_mark *v; /* [n] */
    size_t n;
    cf_uuid conv;
    bool is_valid;
} cf_chat_marks;

/* What the next prompt needs. */
typedef struct cf_chat_gauge {
    size_t n_prompt, n_ctx; /* tokens; n_ctx 0: not known */
    bool is_estimate;
    size_t n_drop;  /* first turns without which it would fit; 0: it fits, or never does */
    size_t n_tools; /* tokens of the declarations, where these alone do not fit; else 0 */
    /* The state that it was computed for. */
    bool is_valid;
    uint64_t generation;
    uint64_t unsent; /* a hash */
    size_t n_base;   /* tokens without the unsent text, where that is known */
    uint64_t base_generation;
} cf_chat_gauge;

/* What is kept of the composer's text. */
typedef struct cf_chat_unsent {
    cf_uuid conv;  /* that the text belongs to; nil: none yet */
    uint64_t hash; /* of what was kept last */
    size_t n;
    uint64_t at_us;  /* when */
    bool has_looked; /* for unsent text that was lost */
} cf_chat_unsent;

/* What the prompt of a reply cost. */
typedef struct cf_chat_cost {
    size_t turn;            /* of the path */
    uint64_t n_kept, n_new; /* tokens: from the cache, and computed */
    uint64_t first_us;      /* until the first token */
} cf_chat_cost;

typedef struct cf_chat_costs {
    cf_chat_cost *v; /* [n], owned; in the order of the path */
    size_t n, cap;
    bool is_valid; /* for: */
    uint64_t generation;
    bool is_busy;
} cf_chat_costs;

/* The turns of the path as lines of the transcript. */
typedef struct cf_chat_layout {
    size_t *start; /* [n + 1] first line of each turn, then the line after */
    size_t n, cap;
    bool is_valid; /* for: */
    uint64_t generation;
    int width;
    bool shows_thinking, is_on_first, is_busy;
    const cf_tool_set *tools;
} cf_chat_layout;

typedef struct cf_chat {
    cf_edit composer;
    int composer_w;       /* cells of its text, when it was drawn last */
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
    bool shows_tree;    /* next to the transcript, where there is room */
    bool is_tree_up;    /* in its place, where there is not */
    bool had_x;         /* the key before was ^X */
    bool is_on_session; /* Enter is about the loss that it names */
    /* The system prompt's row above the first turn, which is there unless the
     * path begins with a system message; the cursor may be on it. */
    cf_chat_text first;
    bool is_on_first, edits_system;
    cf_chat_find find;
    cf_chat_marks marks;
    cf_chat_gauge gauge;
    cf_chat_unsent unsent;
    cf_chat_costs costs;
    bool shows_plot; /* below the transcript, large */
    cf_uuid worst;   /* the turn that "worst" went to last */
} cf_chat;

/* What can be clicked: a turn of the path where it is shown, a turn to go to
 * (of the path), a row of the tree (of all turns), the composer. */
enum { CF_CHAT_SPOT_TURN, CF_CHAT_SPOT_GO, CF_CHAT_SPOT_TREE, CF_CHAT_SPOT_COMPOSER };

/* Cells of a line of text: longer ones are hard to read. */
enum { CF_CHAT_TEXT_W = 100 };

cf_chat *cf_chat__state(cf_app *app);

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

/* The line of the transcript that shows byte `off` of the text of turn i of the
 * path. */
size_t cf_chat__line_of(cf_app *app, size_t i, size_t off);

/* Appends what the selected lines say. */
void cf_chat__selected_text(cf_app *app, cf_buf *out);
void cf_chat__draw_transcript(cf_app *app, cf_grid *g, cf_rect r);

/* ---- chat_side.c -------------------------------------------------------- */

void cf_chat__draw_tree(cf_app *app, cf_grid *g, cf_rect r);
void cf_chat__draw_session(cf_app *app, cf_grid *g, cf_rect r);

/* The newest reply of the path that lost what was cached; NULL: none of the
 * last ones did. */
const cf_reply *cf_chat__loss(cf_app *app);

/* ---- chat_compose.c ----------------------------------------------------- */

void cf_chat__draw_composer(cf_app *app, cf_grid *g, cf_rect r);
bool cf_chat__key(cf_app *app, cf_key key);

/* The turn that the composer replaces or continues; NULL when it writes a
 * message.  Whether that turn is a reply, to be continued. */
const cf_turn *cf_chat__edited(cf_app *app);
bool cf_chat__continues(cf_app *app);
void cf_chat__paste(cf_app *app, cf_str text);
/* Attaches pasted names of pictures and sounds, as a terminal writes files that
 * are dropped on it; false: the text is something else.  view_chat.c */
bool cf_chat__attach_pasted(cf_app *app, cf_str text);

/* The unsent text in the user's own editor. */
void cf_chat__edit_outside(cf_app *app);

/* ---- chat_calls.c ------------------------------------------------------- */

/* How the calls of a turn are; i: its place on the path, SIZE_MAX: it is not
 * on it. */
cf_chat_call cf_chat__call_of(cf_app *app, const cf_turn *turn, size_t i);
/* The same of the last reply of the path. */
cf_chat_call cf_chat__last_call(cf_app *app);
/* Appends what can be done about it; nothing for one that is done. */
void cf_chat__call_text(cf_app *app, const cf_turn *turn, cf_chat_call call, cf_buf *out);

/* ---- chat_find.c -------------------------------------------------------- */

void cf_chat__find_deinit(cf_chat_find *find);
void cf_chat__search(cf_app *app, const char *text, int direction);
void cf_chat__typed(cf_app *app, const char *text);
/* Goes to the first word of the last search in turn `turn` of the path, or
 * after it, when the transcript is drawn next. */
void cf_chat__find_from(cf_app *app, size_t turn);
/* What is searched for, while it is typed as well. */
const char *cf_chat__searched(cf_app *app);
/* "2 of 7", or nothing. */
void cf_chat__find_text(cf_app *app, cf_buf *out);

/* ---- chat_keep.c: ratings, notes, unsent text -------------------------------- */

void cf_chat__keep_deinit(cf_chat *s);
/* The rating and note of a turn; NULL: neither. */
const cf_store_turn_mark *cf_chat__mark_of(cf_app *app, cf_uuid turn);
/* They have changed. */
void cf_chat__marks_stale(cf_app *app);
/* Keeps the composer's text for its conversation, and brings that of another
 * one back. */
void cf_chat__keep_draft(cf_app *app, bool is_last);

/* ---- chat_gauge.c ------------------------------------------------------- */

/* What the path and the unsent text take of the context, as far as that is known
 * within a key's time; NULL: nothing is. */
const cf_chat_gauge *cf_chat__gauge(cf_app *app);
/* "prompt 644 of 2048", and what would not fit. */
void cf_chat__gauge_text(const cf_chat_gauge *gauge, cf_buf *out);
cf_style cf_chat__gauge_style(const cf_chat_gauge *gauge);

/* ---- chat_plot.c -------------------------------------------------------- */

void cf_chat__costs_deinit(cf_chat_costs *costs);
/* The replies of the path whose figures are known. */
const cf_chat_costs *cf_chat__costs(cf_app *app);
/* The reply at turn `turn` of the path, or the last one before it; the one
 * that computed the most after reply `at` (SIZE_MAX: of all).  SIZE_MAX: there
 * is none. */
size_t cf_chat__cost_at(const cf_chat_costs *c, size_t turn);
size_t cf_chat__next_worst(const cf_chat_costs *c, size_t at);
/* The figures of the reply at the cursor. */
void cf_chat__plot_title(cf_app *app, int width, char out[128]);
void cf_chat__draw_plot(cf_app *app, cf_grid *g, cf_rect r);

/* ---- chat_select.c ------------------------------------------------------ */

void cf_chat__select(cf_app *app);
bool cf_chat__select_key(cf_app *app, cf_key key);

#endif
