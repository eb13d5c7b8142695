/*
 * cmd_proxy.c - confab proxy: records what another program sends to its model.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "tui/cli/serve/exchange_line.h"
#include "tui/cli/serve/traffic_run.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/lab/state/open_store.h"
#include "tui/lab/watch/breakpoint.h"
#include "tui/serve/proxy/otlp.h"
#include "tui/serve/proxy/proxy.h"
#include "tui/serve/proxy/replay.h"
#include "tui/serve/proxy/scripted.h"
#include "tui/sys/agent_places.h"
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

/* What a replay has answered so far. */
typedef struct replaying {
    const cf_cli *cli;
    bool is_check;
    atomic_bool has_diverged;
} replaying;

/* A line a request; a check ends at the first with messages that was not
 * recorded. */
static void tell_replayed(void *ud, const cf_replayed *x)
{
    replaying *r = ud;
    cf_buf line = CF_BUF_INIT;
    char id[CF_UUID_TEXT + 1] = "";
    if (!cf_uuid_is_nil(x->exchange)) {
        cf_uuid_format(id, x->exchange);
    }
    if (r->cli->is_json) {
        cf_jw w;
        cf_jw_init(&w, &line);
        cf_jw_object(&w, NULL);
        cf_jw_text(&w, "replay", cf_replay_name(x->how));
        cf_jw_str(&w, "method", x->method);
        cf_jw_str(&w, "path", x->path);
        cf_jw_text(&w, "exchange", id[0] != '\0' ? id : NULL);
        cf_jw_text(&w, "differs", x->differs[0] != '\0' ? x->differs : NULL);
        cf_jw_end(&w);
    } else {
        cf_buf_addf(&line, "%-8s %.*s %.*s  %s%s%s", cf_replay_name(x->how), (int)x->method.n,
                    x->method.p, (int)(x->path.n < 200 ? x->path.n : 200), x->path.p, id,
                    x->differs[0] != '\0' ? "  differs at " : "", x->differs);
    }
    cf_buf_addc(&line, '\n');
    cf_out(stdout, cf_buf_str(&line), r->cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    fflush(stdout);
    cf_buf_deinit(&line);
    if (r->is_check && x->how == CF_REPLAY_NONE && x->has_messages) {
        atomic_store(&r->has_diverged, true);
        atomic_store(cf_cli_cancel(), true);
    }
}

/* Answers from the history alone. */
static cf_status replay(cf_cli *cli, const cf_http_options *http, bool has_screen, replaying *r,
                        cf_error *err)
{
    cf_traffic_run t;
    cf_replay *from = NULL;
    CF_TRY(cf_traffic_run_init(&t, cli, has_screen, err));
    const cf_replay_options o = {
        .store = t.store, .told = has_screen ? NULL : tell_replayed, .ud = r};
    cf_status st = cf_replay_new(&from, &o, err);
    if (st == CF_OK) {
        const cf_http_handler handler = cf_replay_handler(from);
        st = cf_traffic_run_serve(&t, http, &handler, "the history", err);
    }
    cf_replay_free(from);
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

/* A line a request with traces. */
static void tell_taken(void *ud, const cf_otlp_taken *x)
{
    const cf_cli *cli = ud;
    cf_buf line = CF_BUF_INIT;
    if (cli->is_json) {
        cf_jw w;
        cf_jw_init(&w, &line);
        cf_jw_object(&w, NULL);
        cf_jw_uint(&w, "sessions", x->n_sessions);
        cf_jw_uint(&w, "requests", x->n_steps);
        cf_jw_str(&w, "title", x->title);
        cf_jw_text(&w, "not_kept", x->why);
        cf_jw_end(&w);
    } else if (x->why != NULL) {
        cf_buf_addf(&line, "not kept: %s", x->why);
    } else {
        cf_buf_addf(&line, "kept     %zu requests  ", x->n_steps);
        cf_safe_line(&line, x->title.p, x->title.n < 80 ? x->title.n : 80);
    }
    cf_buf_addc(&line, '\n');
    cf_out(stdout, cf_buf_str(&line), cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    fflush(stdout);
    cf_buf_deinit(&line);
}

/* Takes traces, and asks no server. */
static cf_status take_traces(cf_cli *cli, const char *listen, const char *token, cf_error *err)
{
    cf_traffic_run t;
    cf_otlp *to = NULL;
    cf_buf path = CF_BUF_INIT;
    const cf_http_options http = {.listen = listen, .token = token};
    CF_TRY(cf_traffic_run_init(&t, cli, false, err));
    cf_agent_traces(&path, cf_store_path(t.store));
    cf_status st = cf_buf_check(&path, err);
    const cf_otlp_options o = {.path = cf_buf_cstr(&path), .told = tell_taken, .ud = cli};
    CF_THEN(st, cf_otlp_new(&to, &o, err));
    if (st == CF_OK) {
        const cf_http_handler handler = cf_otlp_handler(to);
        st = cf_traffic_run_serve(&t, &http, &handler, cf_buf_cstr(&path), err);
    }
    cf_otlp_free(to);
    cf_traffic_run_deinit(&t);
    cf_buf_deinit(&path);
    return st;
}

typedef struct asked {
    cf_upstream up;
    cf_http_options http;
    const char *script_path, *break_text, *otlp;
    bool is_replay, is_check, has_screen;
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
    {"--check", 0, CF_OPT_FLAG, offsetof(asked, is_check), NULL,
     "with --replay: end with status 1 at the first request with messages that was not recorded",
     0},
    {"--break", 0, CF_OPT_STR, offsetof(asked, break_text), "TEXT",
     "hold requests that contain TEXT (\"\": all) until confab watch releases "
     "them",
     0},
    {"--script", 0, CF_OPT_STR, offsetof(asked, script_path), "FILE",
     "answer with the replies of a file, in order, without a server", 0},
    {"--otlp", 0, CF_OPT_STR, offsetof(asked, otlp), "HOST:PORT",
     "receive traces (OTLP, JSON over HTTP) there, and forward nothing", 0},
    {"--screen", 0, CF_OPT_FLAG, offsetof(asked, has_screen), NULL,
     "show the exchanges as `confab watch` does; quitting ends the proxy", 0},
    CF_OPT_ROWS_END,
};

static int run_proxy(cf_cli *cli, void *state)
{
    asked *a = state;
    const bool needs_server = !a->is_replay && a->script_path == NULL && a->otlp == NULL;
    if (a->up.url == NULL && needs_server) {
        return cf_cli_usage(cli, "needs --to URL, --replay, --script FILE or --otlp HOST:PORT");
    }
    if (a->is_replay && a->script_path != NULL) {
        return cf_cli_usage(cli, "--replay and --script exclude each other");
    }
    if (a->otlp != NULL &&
        (a->up.url != NULL || a->is_replay || a->script_path != NULL || a->has_screen)) {
        return cf_cli_usage(cli, "--otlp takes no --to, --replay, --script and --screen");
    }
    if (a->http.token == NULL) {
        a->http.token = getenv("CONFAB_TOKEN"); /* NOLINT(concurrency-mt-unsafe) */
    }
    if (a->is_check && (!a->is_replay || a->has_screen)) {
        return cf_cli_usage(cli, "--check is for --replay without --screen");
    }
    a->up.key = cf_secret_key();
    replaying r = {.cli = cli, .is_check = a->is_check};
    cf_error err;
    cf_status st = a->otlp != NULL ? take_traces(cli, a->otlp, a->http.token, &err)
                   : a->script_path != NULL
                       ? script(cli, &a->http, a->script_path, a->has_screen, &err)
                   : a->is_replay ? replay(cli, &a->http, a->has_screen, &r, &err)
                                  : run(cli, &a->up, &a->http, a->break_text, a->has_screen, &err);
    if (st == CF_OK) {
        return atomic_load(&r.has_diverged) ? CF_EXIT_FINDING : CF_EXIT_OK;
    }
    return cf_cli_fail(cli, &err);
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
