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

int cf_cmd_proxy(cf_cli *cli, int argc, char **argv)
{
    cf_upstream up = {0};
    cf_http_options http = {.listen = "127.0.0.1:8088"};
    const char *script_path = NULL, *break_text = NULL;
    bool is_replay = false, has_screen = false;
    const cf_opt own[] = {
        {"--to", 0, CF_OPT_STR, &up.url, "URL",
         "the server that answers: http://HOST:PORT or https://HOST", NULL},
        {"--listen", 0, CF_OPT_STR, &http.listen, "HOST:PORT",
         "where clients ask (default: 127.0.0.1:8088; port 0: any)", NULL},
        {"--token", 0, CF_OPT_STR, &http.token, "TEXT",
         "what clients must give to be answered, as their key or in "
         "X-Confab-Token; needed beyond this machine (default: $CONFAB_TOKEN)",
         NULL},
        {"--ca", 0, CF_OPT_STR, &up.ca, "FILE", "certificates to trust in place of the system's",
         NULL},
        {"--replay", 0, CF_OPT_FLAG, &is_replay, NULL,
         "ask no server: answer from the history what was answered then", NULL},
        {"--break", 0, CF_OPT_STR, &break_text, "TEXT",
         "stop requests that hold TEXT (\"\": all) until watch lets them go", NULL},
        {"--script", 0, CF_OPT_STR, &script_path, "FILE",
         "ask no server: answer with the replies of a file, in order", NULL},
        {"--screen", 0, CF_OPT_FLAG, &has_screen, NULL,
         "show exchanges on a screen, as `confab watch` does; leaving it ends "
         "the proxy",
         NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n;
    int done = cf_cli_options(cli, own, argc, argv, &n);
    if (done >= 0) {
        return done;
    }
    const bool needs_server = !is_replay && script_path == NULL;
    if (n != 0 || (up.url == NULL && needs_server)) {
        return cf_cli_usage(cli, n != 0 ? "takes no arguments" : "want --to URL");
    }
    if (is_replay && script_path != NULL) {
        return cf_cli_usage(cli, "either --replay or --script");
    }
    if (http.token == NULL) {
        http.token = getenv("CONFAB_TOKEN"); /* NOLINT(concurrency-mt-unsafe) */
    }
    up.key = cf_secret_key();
    cf_error err;
    cf_status st = script_path != NULL ? script(cli, &http, script_path, has_screen, &err)
                   : is_replay         ? replay(cli, &http, has_screen, &err)
                                       : run(cli, &up, &http, break_text, has_screen, &err);
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}
