/*
 * bench_ui.h - how fast the workbench is: `confab bench --ui`.
 *
 * The app runs with the scripted engine and without a terminal: a frame is
 * drawn into the grid, and is not sent anywhere.
 */
#ifndef CF_TUI_CLI_BENCH_UI_H
#define CF_TUI_CLI_BENCH_UI_H

#include "core/base/status.h"

typedef struct cf_lab_ui_times {
    size_t n;
    double p50_ms, p99_ms, max_ms;
} cf_lab_ui_times;

typedef struct cf_lab_ui_result {
    double start_ms; /* from nothing to the first drawn frame */
    /* From a key to its frame, while a reply streams and two threads are
     * busy. */
    cf_lab_ui_times key;
    /* A conversation of about this many tokens (four bytes each). */
    size_t n_tokens, n_turns;
    double first_frame_ms;         /* everything is wrapped */
    cf_lab_ui_times frame, scroll; /* nothing new; another part in sight */
} cf_lab_ui_result;

/* Takes some seconds.  `db` (NULL: no history) is opened for the start, and
 * made when it is not there. */
CF_MUST_USE cf_status cf_lab_ui_run(cf_lab_ui_result *out, const char *db,
                                    cf_error *err);

#endif
