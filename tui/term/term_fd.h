/*
 * term_fd.h - the descriptors of a terminal: whole writes, and standard error
 * while the screen is up.
 *
 * Threads:  the thread that owns the terminal; cf_term__write() also in signal
 *           handlers.
 * Memory:   none is kept.
 */
#ifndef CF_TUI_TERM_TERM_FD_H
#define CF_TUI_TERM_TERM_FD_H

#include <stddef.h>

/* Writes all of p[n], unless the descriptor fails. */
void cf_term__write(int fd, const char *p, size_t n);

/* Standard error goes to an unlinked file until it is released, which prints
 * what came.  cf_term_captured_stderr() reads it meanwhile. */
void cf_term__capture_stderr(void);
void cf_term__release_stderr(void);

#endif
