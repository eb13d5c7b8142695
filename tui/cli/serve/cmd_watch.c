/*
 * cmd_watch.c - confab watch: exchanges of the proxy and the server, as they
 * come on the screen, or those that there are as lines.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/cli/serve/exchange_line.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/lab/state/open_store.h"
#include "tui/lab/watch/breakpoint.h"
#include "tui/sys/out.h"

static cf_status print_all(const cf_cli *cli, cf_store *store, uint32_t limit, cf_error *err)
{
    const cf_exchange *rows;
    size_t n;
    cf_arena arena;
    cf_buf out = CF_BUF_INIT;
    const cf_exchange_query q = {.limit = limit};
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_exchanges(store, &q, &arena, &rows, &n, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if (cli->is_json) {
            cf_exchange_line_json(&out, &rows[i]);
        } else {
            cf_exchange_line_text(&out, &rows[i]);
        }
    }
    CF_THEN(st, cf_buf_check(&out, err));
    if (st == CF_OK) {
        cf_out(stdout, cf_buf_str(&out), cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    }
    cf_buf_deinit(&out);
    cf_arena_deinit(&arena);
    return st;
}

/* The options about the breakpoint; NULL: not given. */
typedef struct break_asked {
    const char *set; /* "off" takes it away */
    bool list;
    const char *send, *drop, *body; /* an id, an id, a file */
} break_asked;

static cf_status list_held(const cf_cli *cli, const char *folder, cf_error *err)
{
    cf_buf ids = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_status st = cf_break_held(folder, &ids, err);
    for (size_t at = 0; st == CF_OK && at < ids.n; at += strlen(ids.p + at) + 1) {
        cf_buf_addf(&out, cli->is_json ? "{\"held\":\"%s\"}\n" : "%s\n", ids.p + at);
    }
    CF_THEN(st, cf_buf_check(&out, err));
    if (st == CF_OK) {
        cf_out(stdout, cf_buf_str(&out), cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    }
    cf_buf_deinit(&ids);
    cf_buf_deinit(&out);
    return st;
}

/* Sends a request on as it is, or with the body of a file. */
static cf_status send_held(const char *folder, const break_asked *a, cf_error *err)
{
    cf_buf body = CF_BUF_INIT;
    cf_status st = a->body != NULL ? cf_os_read_file(&body, a->body, CF_BREAK_BODY_MAX, err)
                                   : cf_break_read(folder, a->send, &body, err);
    CF_THEN(st, cf_break_send(folder, a->send, cf_buf_str(&body), err));
    cf_buf_deinit(&body);
    return st;
}

static int run_break(cf_cli *cli, const break_asked *a)
{
    cf_error err;
    char *db = NULL;
    cf_buf folder = CF_BUF_INIT;
    cf_status st = cf_open_store_path(&cli->open, &db, &err);
    if (st == CF_OK) {
        cf_break_folder(&folder, db);
        st = cf_buf_check(&folder, &err);
    }
    const char *f = cf_buf_cstr(&folder);
    if (st == CF_OK && a->set != NULL && strcmp(a->set, "off") == 0) {
        cf_break_clear(f);
    } else if (st == CF_OK && a->set != NULL) {
        st = cf_break_set(f, a->set, &err);
    }
    if (st == CF_OK && a->send != NULL) {
        st = send_held(f, a, &err);
    }
    if (st == CF_OK && a->drop != NULL) {
        st = cf_break_drop(f, a->drop, &err);
    }
    if (st == CF_OK && a->list) {
        st = list_held(cli, f, &err);
    }
    cf_free(db);
    cf_buf_deinit(&folder);
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}

typedef struct asked {
    break_asked breaks;
    bool once;
    uint32_t limit;
} asked;

static const asked initial = {.limit = 1000};

static const cf_opt_row options[] = {
    {"--once", 0, CF_OPT_FLAG, offsetof(asked, once), NULL,
     "print the recorded exchanges instead of opening the screen", 0},
    {"--limit", 'n', CF_OPT_U32, offsetof(asked, limit), "N",
     "print at most the newest N (default: 1000)", 0},
    {"--break", 0, CF_OPT_STR, offsetof(asked, breaks.set), "TEXT",
     "hold requests that contain TEXT (\"\": all) at the proxy; off releases "
     "them",
     0},
    {"--held", 0, CF_OPT_FLAG, offsetof(asked, breaks.list), NULL,
     "list the requests held at the breakpoint", 0},
    {"--send", 0, CF_OPT_STR, offsetof(asked, breaks.send), "ID",
     "release a held request, with the body of --body if given", 0},
    {"--body", 0, CF_OPT_STR, offsetof(asked, breaks.body), "FILE",
     "with --send: replace the body with this file", 0},
    {"--drop", 0, CF_OPT_STR, offsetof(asked, breaks.drop), "ID",
     "answer a held request with an error", 0},
    CF_OPT_ROWS_END,
};

static int run_watch(cf_cli *cli, void *state)
{
    asked *a = state;
    if (a->breaks.set != NULL || a->breaks.list || a->breaks.send != NULL ||
        a->breaks.drop != NULL) {
        return run_break(cli, &a->breaks);
    }
    if (!a->once) {
        return cf_cli_watch(cli);
    }
    cf_error err;
    cf_status st = cf_cli_open_store(&cli->store, cli, 0, &err);
    if (st == CF_ENOTFOUND) {
        return CF_EXIT_OK; /* nothing was recorded */
    }
    CF_THEN(st, print_all(cli, cli->store, a->limit, &err));
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}

const cf_cli_command cf_cmd_watch = {
    .name = "watch",
    .arguments = "",
    .summary = "show the exchanges recorded by proxy and serve",
    .options = options,
    .state_bytes = sizeof(asked),
    .initial = &initial,
    .n_max = 0,
    .run = run_watch,
};
