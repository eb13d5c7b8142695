/*
 * traffic_run.h - what `confab proxy` and `confab serve` share: the history,
 * the recorder, the template for findings, and waiting for the end.
 */
#ifndef CF_TUI_CLI_TRAFFIC_RUN_H
#define CF_TUI_CLI_TRAFFIC_RUN_H

#include "templates/template.h"
#include "tui/cli/cli.h"
#include "tui/traffic/record.h"

typedef struct cf_traffic_run {
    const cf_cli *cli;
    cf_store *store;
    cf_recorder *recorder;
    cf_engine *engine; /* for its vocabulary; NULL: no -m */
    cf_template *tpl;
    cf_buf source;
    cf_finder finder;
    char *said; /* the last line about the recording */
    /* Appends what the server's slots do; NULL: there are none.  Set before
     * cf_traffic_run_serve(). */
    void (*slots)(void *ud, cf_buf *json);
    void *slots_ud;
} cf_traffic_run;

/* Opens the history, and what -m and -t name, for findings. */
CF_MUST_USE cf_status cf_traffic_run_init(cf_traffic_run *t, const cf_cli *cli,
                                          cf_error *err);
/* Listens until SIGINT or SIGTERM; says where on standard error. */
CF_MUST_USE cf_status cf_traffic_run_serve(cf_traffic_run *t,
                                           const cf_http_options *http,
                                           const cf_http_handler *handler,
                                           const char *what, cf_error *err);
/* Stores what is waiting. */
void cf_traffic_run_deinit(cf_traffic_run *t);

#endif
