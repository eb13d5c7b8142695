/*
 * man.h - the man page in mdoc(7), made from the option tables, so that it
 * cannot disagree with --help.  docs/confab.1 is what `confab help --man`
 * prints; a test compares the two.
 */
#ifndef CF_TUI_CLI_SHELL_MAN_H
#define CF_TUI_CLI_SHELL_MAN_H

#include <stdio.h>

#include "tui/cli/shell/cli.h"

/* The whole page. */
void cf_man_page(FILE *to, const cf_cli_screen *screen);

/* Adds its variables, files and exit statuses. */
void cf_man_find(cf_word_index *index);

#endif
