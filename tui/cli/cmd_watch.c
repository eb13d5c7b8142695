/*
 * cmd_watch.c - confab watch: exchanges of the proxy and the server, as they
 * come on the screen, or those that there are as lines.
 */
#include "tui/cli/cli.h"
#include "tui/cli/cli_store.h"
#include "tui/cli/exchange_line.h"
#include "tui/sys/out.h"

static cf_status print_all(const cf_cli *cli, cf_store *store, uint32_t limit,
                           cf_error *err)
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
        cf_out(stdout, cf_buf_str(&out),
               cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    }
    cf_buf_deinit(&out);
    cf_arena_deinit(&arena);
    return st;
}

int cf_cmd_watch(cf_cli *cli, int argc, char **argv)
{
    bool once = false;
    uint32_t limit = 1000;
    const cf_opt own[] = {
        {"--once", 0, CF_OPT_FLAG, &once, NULL,
         "print the exchanges there are instead of opening the screen", NULL},
        {"--limit", 'n', CF_OPT_U32, &limit, "N",
         "at most the newest N (default 1000)", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n;
    int done = cf_cli_options(cli, own, argc, argv, &n);
    if (done >= 0) {
        return done;
    }
    if (n != 0) {
        return cf_cli_usage(cli, "takes no arguments");
    }
    if (!once) {
        return cf_cli_watch(cli);
    }
    cf_store *store;
    cf_error err;
    cf_status st = cf_cli_open_store(&store, cli, 0, &err);
    if (st == CF_ENOTFOUND) {
        return CF_EXIT_OK; /* nothing was recorded */
    }
    if (st == CF_OK) {
        st = print_all(cli, store, limit, &err);
        cf_store_close(store);
    }
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}
