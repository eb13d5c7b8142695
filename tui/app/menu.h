/*
 * menu.h - the commands that match the ":" line, best first,
 * each with its keys and a line of help.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_MENU_H
#define CF_TUI_APP_MENU_H

#include "tui/app/app.h"

enum { CF_MENU_MAX = 160 };

/* The rows that fit. */
typedef struct cf_menu {
    const cf_command *v[CF_MENU_MAX];
    size_t n;
} cf_menu;

/* Draws the menu over the bottom of `r`. */
void cf_menu_draw(cf_app *app, cf_grid *g, cf_rect r);

/* Row `row` of the menu takes the place of the word; with `goes_on` its
 * arguments come next. */
void cf_menu_choose(cf_app *app, size_t row, bool goes_on);

/* Tab (1) and Shift-Tab (-1) on the name of a command: the next row's name takes the place of the
 * word. */
void cf_menu_step(cf_app *app, int by);

/* The command whose name is nearest to a word that names none, as "; did you
 * mean :NAME?"; appends nothing when none is near. */
void cf_menu_did_you_mean(const cf_app *app, const char *word, size_t n, cf_buf *out);

#endif
