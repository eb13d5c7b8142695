/*
 * screen.h - screens as text: a script of keys drives the workbench without a
 * terminal, and what it shows is compared with files.
 *
 * A script is lines:
 *   # comment
 *   size 80x24          a resize
 *   keys gl\j<Enter>    keys as in tui/term/key.h; a trailing \ is cut, so
 *                       that a line may end in blanks
 *   paste TEXT          pasted text; \n is a newline
 *   click TEXT          a press on the first place that shows TEXT
 *   double TEXT         two presses there, as a double click
 *   drag FROM, TO       the button pressed on FROM and moved to TO
 *   drop                and released; "@X,Y" in place of a text is a cell
 *   wheel up TEXT       a turn of the wheel over the first such place, or down
 *   command LINE        as typed after ":"
 *   shell COMMAND       what another program does meanwhile
 *   restart             the program ends, as after a crash, and starts again
 *   draw                a frame that is not compared
 *   idle                waits until nothing runs any more
 *   without TEXT        lines that hold TEXT, such as times, are left out of
 *                       the screens from now on; up to four texts
 *   screen NAME         NAME.screen holds the text, NAME.styles the styles
 *   colors N            colours of the terminal from now on (0: none)
 *   looks NAME          NAME.looks holds what the theme makes of the styles:
 *                       a line a row, runs of "FG,BG ATTRIBUTES:cells @column"
 *                       (a number of the palette, "-" for the default)
 */
#ifndef CF_TESTS_SUPPORT_SCREEN_H
#define CF_TESTS_SUPPORT_SCREEN_H

#include "tui/app/app.h"

/*
 * Runs the script `path` on `app`.  Screens are compared with files in the
 * script's folder; with the environment variable UPDATE_SCREENS set they are
 * written instead.  Fails the running test at the first difference, with both
 * screens printed.  The functions are called for the lines of their name (may
 * be NULL); restart() ends `app` and opens another one in its place.
 */
typedef struct cf_screen_ops {
    void (*idle)(cf_app *app);
    void (*restart)(cf_app *app);
} cf_screen_ops;

void cf_screen_run(cf_app *app, const char *path, const cf_screen_ops *ops);

#endif
