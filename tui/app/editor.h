/*
 * editor.h - editing a text in the user's editor.
 *
 * Threads:  the interface thread; it waits until the editor ends; a reply in progress
 *           pauses when its queue is full.
 */
#ifndef CF_TUI_APP_EDITOR_H
#define CF_TUI_APP_EDITOR_H

#include "tui/app/app.h"

/*
 * Gives the screen to $VISUAL, $EDITOR or vi with a private copy of `text` in a file
 * whose name ends in `suffix` (".md"), and reads the saved file back into `text`,
 * without the final newline that editors add.  The copy is removed.  CF_EIO when the
 * editor cannot be run or ends with an error; the text is then as it was.
 */
CF_MUST_USE cf_status cf_editor_run(cf_app *app, const char *suffix, cf_buf *text, cf_error *err);

/* The same with the cursor on `line` (1-based, 0: anywhere), for editors known to
 * accept "+LINE" or "FILE:LINE" (vi and its kin, nano, emacs, helix, VS Code ...), and
 * for scripts that start one of them. */
CF_MUST_USE cf_status cf_editor_run_at(cf_app *app, const char *suffix, uint32_t line, cf_buf *text,
                                       cf_error *err);

/* The same for a file of the user's, which is not copied. */
CF_MUST_USE cf_status cf_editor_run_file(cf_app *app, const char *path, uint32_t line,
                                         cf_error *err);

/* Whether an editor, as $EDITOR names it, can be told a line. */
bool cf_editor_takes_line(const char *editor);

#endif
