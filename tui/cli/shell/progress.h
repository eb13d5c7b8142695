/*
 * progress.h - one line on standard error while something takes long, and
 * only when that is a terminal.
 */
#ifndef CF_TUI_CLI_SHELL_PROGRESS_H
#define CF_TUI_CLI_SHELL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cf_progress {
    const char *what;    /* "reading the prompt"; borrowed */
    uint64_t started_us; /* monotonic */
    uint64_t shown_us;   /* when the line was last written; 0: never */
    bool is_on;          /* standard error is a terminal */
} cf_progress;

void cf_progress_start(cf_progress *p, const char *what);

/* Writes or renews the line, at most ten times a second.  total 0: there is
 * nothing to count, and the line is written at once. */
void cf_progress_show(cf_progress *p, size_t done, size_t total);

/* The same with how far it is in words. */
void cf_progress_say(cf_progress *p, const char *far);

/* Takes the line away. */
void cf_progress_end(cf_progress *p);

/* For cf_open_options.busy: `ud` is a cf_progress; `what` NULL ends it. */
void cf_progress_busy(void *ud, const char *what);

#endif
