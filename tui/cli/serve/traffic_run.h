/*
 * traffic_run.h - what `confab proxy` and `confab serve` share: the history,
 * the recorder, the template for findings, the screen, and waiting for the
 * end.
 */
#ifndef CF_TUI_CLI_SERVE_TRAFFIC_RUN_H
#define CF_TUI_CLI_SERVE_TRAFFIC_RUN_H

#include <pthread.h>

#include "templates/template.h"
#include "tui/cli/shell/cli.h"
#include "tui/serve/record/record.h"

typedef struct cf_traffic_run {
    cf_cli *cli;
    cf_store *store;
    cf_recorder *recorder;
    cf_engine *engine; /* for its vocabulary; NULL: no -m */
    cf_template *tpl;
    cf_buf source;
    cf_finder finder;
    pthread_mutex_t lock;
    char *said;      /* the last line about the recording; guarded */
    cf_buf unsaid;   /* lines for after the screen; guarded */
    bool has_screen; /* exchanges are shown by `watch` and not printed */
    /* Appends the state of the server's slots; NULL for a program without slots.  Set
     * before cf_traffic_run_serve(). */
    void (*slots)(void *ud, cf_buf *json);
    void *slots_ud;
} cf_traffic_run;

/* Opens the history, and what -m and -t name, for findings. */
CF_MUST_USE cf_status cf_traffic_run_init(cf_traffic_run *t, cf_cli *cli, bool has_screen,
                                          cf_error *err);
/* Listens until SIGINT or SIGTERM, or until its screen is left; says where on
 * standard error. */
CF_MUST_USE cf_status cf_traffic_run_serve(cf_traffic_run *t, const cf_http_options *http,
                                           const cf_http_handler *handler, const char *what,
                                           cf_error *err);
/* Stores all pending exchanges. */
void cf_traffic_run_deinit(cf_traffic_run *t);

#endif
