/*
 * child.h - other programs: on the terminal in place of confab, or in the background
 * with their output captured; and a private folder for their files.
 */
#ifndef CF_TUI_SYS_CHILD_H
#define CF_TUI_SYS_CHILD_H

#include "core/api/session.h"
#include "core/base/buf.h"

/*
 * Runs the shell command `command` with the terminal, with `arg` as its "$1"
 * (NULL: none), and waits for its end.  *status as of waitpid().  CF_EIO when it cannot
 * be run, or when the terminal is lost or `must_end` returns true: it is then asked to
 * end and waited for at most a second.
 *
 * Threads:  the interface thread, after it has released the terminal.  A reply in
 *           progress pauses when its queue is full.
 */
CF_MUST_USE cf_status cf_child_on_terminal(const char *command, const char *arg,
                                           bool (*must_end)(void), int *status, cf_error *err);

/* Asks for Enter on the terminal, so that the user sees what a command wrote,
 * and waits for it, for ^C, for the terminal's end or for `must_end`. */
void cf_child_wait_for_enter(bool (*must_end)(void));

/*
 * Runs a shell command without a terminal, in a process group of its own, and
 * appends what it writes to `out`, at most max_bytes; the rest is dropped and
 * *is_cut set.  A cancel ends the whole group: CF_ECANCELLED.
 *
 * Threads:  any but the interface thread.
 */
CF_MUST_USE cf_status cf_child_output(const char *command, size_t max_bytes, cf_cancel *cancel,
                                      cf_buf *out, bool *is_cut, int *status, cf_error *err);

/* Starts the browser at the address, without a shell: the first program that
 * $BROWSER names, else xdg-open.  The address is one of http. */
void cf_child_open_browser(const char *address);

enum { CF_CHILD_PATH = 440 };

/* Makes a folder that only we can read, below $TMPDIR. */
CF_MUST_USE cf_status cf_child_folder(char out[CF_CHILD_PATH], cf_error *err);

/* Removes the files of such a folder, and the folder. */
void cf_child_remove_folder(const char *folder);

/* Appends the path of a program as a shell would find it by $PATH; false when
 * there is none that can be read. */
bool cf_child_find(cf_buf *out, cf_str name);

#endif
