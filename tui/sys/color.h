/*
 * color.h - whether text output is coloured: --color, and the variables
 * NO_COLOR (https://no-color.org), CLICOLOR and CLICOLOR_FORCE
 * (https://bixense.com/clicolors).
 *
 * Threads:  reads the environment; call on the main thread.
 */
#ifndef CF_TUI_SYS_COLOR_H
#define CF_TUI_SYS_COLOR_H

#include <stdbool.h>

typedef enum cf_color_when {
    CF_COLOR_WHEN_AUTO,
    CF_COLOR_WHEN_ALWAYS,
    CF_COLOR_WHEN_NEVER
} cf_color_when;

/* Reads "auto", "always" or "never"; false for another word. */
bool cf_color_when_read(cf_color_when *out, const char *word);

/*
 * Whether to colour what goes to a terminal (or, if not `is_terminal`, to a
 * file or pipe).  With CF_COLOR_WHEN_AUTO: never if NO_COLOR is set and not
 * empty; always if CLICOLOR_FORCE is set and neither empty nor "0"; else on
 * terminals, unless CLICOLOR is "0" or TERM is "dumb".
 */
bool cf_color_wanted(cf_color_when when, bool is_terminal);

#endif
