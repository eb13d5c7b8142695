/*
 * cmd_proxy.c - confab proxy: records what another program sends to its model.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/cli/serve/exchange_line.h"
#include "tui/cli/serve/traffic_run.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/lab/state/open_store.h"
#include "tui/lab/watch/breakpoint.h"
#include "tui/serve/proxy/proxy.h"
#include "tui/serve/proxy/replay.h"
#include "tui/serve/proxy/scripted.h"
#include "tui/sys/secret.h"

/* The folder of the breakpoint, beside the history; set if `text` is given. */
static cf_status begin_breaks(cf_buf *folder, const cf_cli *cli, const char *text, cf_error *err)
{
    char *db;
    CF_TRY(cf_open_store_path(&cli->open, &db, err));
    cf_break_folder(folder, db);
    cf_free(db);
    CF_TRY(cf_buf_check(folder, err));
    cf_break_begin(cf_buf_cstr(folder));
    return text != NULL ? cf_break_set(cf_buf_cstr(folder), text, err) : CF_OK;
}

static cf_status run(cf_cli *cli, const cf_upstream *up, const cf_http_options *http,
                     const char *break_text, bool has_screen, cf_error *err)
{
    cf_traffic_run t;
    cf_proxy proxy = {0};
    cf_buf folder = CF_BUF_INIT;
    CF_TRY(cf_traffic_run_init(&t, cli, has_screen, err));
    cf_status st = cf_proxy_init(&proxy, up, t.recorder, err);
    CF_THEN(st, begin_breaks(&folder, cli, break_text, err));
    if (st == CF_OK) {
        proxy.breaks = cf_buf_cstr(&folder);
        const cf_http_handler handler = cf_proxy_handler(&proxy);
        st = cf_traffic_run_serve(&t, http, &handler, proxy.shown, err);
    }
    cf_traffic_run_deinit(&t);
    cf_proxy_deinit(&proxy);
    cf_buf_deinit(&folder);
    return st;
}

/* Answers from the history alone. */
static cf_status replay(cf_cli *cli, const cf_http_options *http, bool has_screen, cf_error *err)
{
    cf_traffic_run t;
    CF_TRY(cf_traffic_run_init(&t, cli, has_screen, err));
    const cf_http_handler handler = cf_replay_handler(t.store);
    cf_status st = cf_traffic_run_serve(&t, http, &handler, "the history", err);
    cf_traffic_run_deinit(&t);
    return st;
}

/* Answers from a file. */
static cf_status script(cf_cli *cli, const cf_http_options *http, const char *path, bool has_screen,
                        cf_error *err)
{
    cf_traffic_run t;
    cf_scripted *s = NULL;
    json_t *v = NULL;
    CF_TRY(cf_json_read_file(&v, path, err));
    cf_status st = cf_traffic_run_init(&t, cli, has_screen, err);
    if (st == CF_OK) {
        st = cf_scripted_new(&s, v, t.recorder, err);
        if (st == CF_OK) {
            const cf_http_handler handler = cf_scripted_handler(s);
            st = cf_traffic_run_serve(&t, http, &handler, path, err);
        }
        cf_traffic_run_deinit(&t);
    }
    cf_scripted_free(s);
    json_decref(v);
    return st;
}

typedef struct asked {
    cf_upstream up;
    cf_http_options http;
    const char *script_path, *break_text;
    bool is_replay, has_screen;
} asked;

static const asked initial = {.http = {.listen = "127.0.0.1:8088"}};

static const cf_opt_row options[] = {
    {"--to", 0, CF_OPT_STR, offsetof(asked, up.url), "URL",
     "the server to forward to: http://HOST:PORT or https://HOST", 0},
    {"--listen", 0, CF_OPT_STR, offsetof(asked, http.listen), "HOST:PORT",
     "address to listen on (default: 127.0.0.1:8088; port 0: any free port)", 0},
    CF_ROW_TOKEN(offsetof(asked, http.token)),
    {"--ca", 0, CF_OPT_STR, offsetof(asked, up.ca), "FILE",
     "certificates to trust instead of the system's", 0},
    {"--replay", 0, CF_OPT_FLAG, offsetof(asked, is_replay), NULL,
     "answer from the history with the recorded replies, without a server", 0},
    {"--break", 0, CF_OPT_STR, offsetof(asked, break_text), "TEXT",
     "hold requests that contain TEXT (\"\": all) until confab watch releases "
     "them",
     0},
    {"--script", 0, CF_OPT_STR, offsetof(asked, script_path), "FILE",
     "answer with the replies of a file, in order, without a server", 0},
    {"--screen", 0, CF_OPT_FLAG, offsetof(asked, has_screen), NULL,
     "show the exchanges as `confab watch` does; quitting ends the proxy", 0},
    CF_OPT_ROWS_END,
};

static int run_proxy(cf_cli *cli, void *state)
{
    asked *a = state;
    const bool needs_server = !a->is_replay && a->script_path == NULL;
    if (a->up.url == NULL && needs_server) {
        return cf_cli_usage(cli, "needs --to URL, --replay or --script FILE");
    }
    if (a->is_replay && a->script_path != NULL) {
        return cf_cli_usage(cli, "--replay and --script exclude each other");
    }
    if (a->http.token == NULL) {
        a->http.token = getenv("CONFAB_TOKEN"); /* NOLINT(concurrency-mt-unsafe) */
    }
    a->up.key = cf_secret_key();
    cf_error err;
    cf_status st = a->script_path != NULL
                       ? script(cli, &a->http, a->script_path, a->has_screen, &err)
                   : a->is_replay ? replay(cli, &a->http, a->has_screen, &err)
                                  : run(cli, &a->up, &a->http, a->break_text, a->has_screen, &err);
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}

const cf_cli_command cf_cmd_proxy = {
    .name = "proxy",
    .arguments = "--to URL|--replay",
    .summary = "record the traffic between another program and its model",
    .options = options,
    .state_bytes = sizeof(asked),
    .initial = &initial,
    .n_max = 0,
    .run = run_proxy,
};
