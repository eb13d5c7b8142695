/*
 * library.h - the inside of the Library view, shared by view_library.c (the
 * list and its commands), library_hits.c (a search) and library_change.c (what
 * changes conversations, one or all that are ticked).
 *
 * Threads:  the interface thread, except a reading, which is the reader's while
 * it is `next`.
 */
#ifndef CF_TUI_VIEW_LIBRARY_LIBRARY_H
#define CF_TUI_VIEW_LIBRARY_LIBRARY_H

#include "core/base/arena.h"
#include "storage/store.h"
#include "tui/app/app.h"
#include "tui/widget/list.h"

/* The kinds of reads: a long list, or the counts of each facet. */
typedef struct cf_library_reading {
    cf_arena arena;
    cf_store *store;
    cf_store_query query; /* its text is `filter` */
    char filter[256];
    bool is_stale;             /* what it reads is not shown any more */
    const cf_store_conv *rows; /* [n_rows] */
    size_t n_rows;
    const cf_store_facet *v; /* [n] */
    size_t n, total;
} cf_library_reading;

/* The hits of one conversation. */
typedef struct cf_library_group {
    const cf_store_hit *first; /* the newest */
    size_t n;
} cf_library_group;

/* What is asked before it is done to the ticked conversations. */
typedef enum cf_library_ask {
    CF_ASK_NOTHING,
    CF_ASK_PLACE,
    CF_ASK_TAG,
    CF_ASK_EXPORT
} cf_library_ask;

typedef struct cf_library {
    cf_arena arena;            /* the first rows, or hits */
    cf_arena preview;          /* the tree under the cursor */
    const cf_store_conv *rows; /* in arena or in whole->arena */
    size_t n_rows;
    cf_library_reading *whole;     /* the list shown; NULL: the first rows are all */
    cf_library_reading *known;     /* counts that are shown; NULL: none yet */
    cf_library_reading *next;      /* being read, the reader's */
    bool reads_rows;               /* next is a list and not counts */
    bool wants_rows, wants_counts; /* after that */
    char mark_title[2][80];
    cf_store_hits hits;
    cf_library_group *group; /* [n_group] in arena, in the order of the hits */
    size_t n_group;
    bool shows_hits;
    cf_list list; /* of conversations, or of groups */
    cf_store_query query;
    char filter[256];
    char filter_before[256]; /* while another one is typed */
    bool is_typing;
    cf_store_tree tree; /* of shown_id */
    cf_uuid shown_id;

    cf_library_ask asks;
    cf_store_place ask_place;
    char ask_tag[256];
} cf_library;

static inline cf_library *cf_library__state(const cf_app *app)
{
    return app->state[CF_VIEW_LIBRARY];
}

/* The conversation under the cursor. */
bool cf_library__current(const cf_library *s, cf_uuid *out);
/* Its title, borrowed; there must be one under the cursor. */
cf_str cf_library__title(const cf_library *s);
/* Puts the cursor on a conversation; false where it is not listed. */
bool cf_library__go_to(cf_app *app, cf_uuid id);

/* Drops the rows that are shown. */
void cf_library__forget(cf_library *s);

/* Reads the list again; the cursor stays on its row as far as it can. */
void cf_library__reload(cf_app *app);

/* Begins a ":" line, for commands that need a word. */
void cf_library__line(cf_app *app, const char *start);

/* Shows what passes the filter. */
void cf_library__filter(cf_app *app, const char *text);

/* ---- library_facets.c --------------------------------------------------- */

/* What can be clicked: a facet, and the way to the sessions of agents. */
enum { CF_LIBRARY_SPOT_FACET = 1, CF_LIBRARY_SPOT_SESSIONS };

/* The counts; returns the rows that they took. */
int cf_library__draw_facets(cf_app *app, cf_grid *g, cf_rect r);
/* Filters by facet i, or no more if it does; another one of its kind goes. */
void cf_library__press_facet(cf_app *app, size_t i);

/* ---- library_hits.c ----------------------------------------------------- */

void cf_library__search(cf_app *app, const char *text, int direction);
/* The "/" line so far. */
void cf_library__typed(cf_app *app, const char *text);
void cf_library__draw_hit(cf_grid *g, cf_rect r, const cf_library_group *group, bool is_on);
/* The hits of the conversation under the cursor. */
void cf_library__draw_group(cf_app *app, cf_grid *g, cf_rect r);

/* ---- library_change.c --------------------------------------------------- */

void cf_library__tag(cf_app *app, const char *arg);
void cf_library__rename(cf_app *app, const char *arg);
/* Moves to the place `place`, or from it back to the others. */
void cf_library__move(cf_app *app, int place);
void cf_library__export(cf_app *app, const char *arg);
/* Answers the pending question. */
bool cf_library__key(cf_app *app, cf_key key);

#endif
