/*
 * templates_list.h - the rows of the Templates view: one a name, and below an
 * open one the earlier texts of that name.
 *
 * Place in the flow:  the template in use, those in the program, those of the
 * history --> [list] --> view_templates.c.
 *
 * Threads:  the interface thread.
 * Memory:   the list owns the texts of its rows until it is loaded again.
 */
#ifndef CF_TUI_VIEW_TEMPLATES_TEMPLATES_LIST_H
#define CF_TUI_VIEW_TEMPLATES_TEMPLATES_LIST_H

#include "core/base/arena.h"
#include "tui/app/app.h"

typedef struct cf_templates_row {
    const char *from; /* "in use", "start", "confab", "kept", "Go" */
    const char *name;
    cf_str source;
    const char *hash;   /* of a text in the history; "" else */
    int64_t created_ms; /* when it was kept; 0: not kept */
    size_t n_versions;  /* of a name: its earlier texts */
    bool is_version;    /* an earlier text of the name above */
    bool is_foreign;    /* Ollama's own, in Go's language: only shown */
} cf_templates_row;

typedef struct cf_templates_list {
    cf_arena arena;
    cf_templates_row *v; /* [n] */
    size_t n;
    char open[256]; /* the name whose versions are shown; "" for none */
} cf_templates_list;

/* Reads everything there is; what memory or the history do not give is
 * missing, and *err says why (its code is CF_OK otherwise). */
void cf_templates_list_load(cf_templates_list *list, cf_app *app, cf_error *err);

/* Lines that `b` has and `a` has not, and the other way round. */
void cf_templates_count_changes(cf_str a, cf_str b, size_t *n_added, size_t *n_removed);

#endif
