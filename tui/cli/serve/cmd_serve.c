/*
 * cmd_serve.c - confab serve: the built-in engine for other programs.
 */
#include <stdlib.h>
#include <string.h>

#include "tui/cli/serve/traffic_run.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/keep_prefix.h"
#include "tui/serve/server/serve.h"
#include "tui/sys/out.h"

/* The file's name without folders and ".gguf", or what was given. */
static void model_name(cf_buf *out, const cf_open_options *o)
{
    const char *name = cf_open_model(o);
    if (name == NULL || cf_open_is_bundled(o)) {
        cf_buf_adds(out, "bundled");
        return;
    }
    const char *slash = strrchr(name, '/');
    name = slash != NULL && slash[1] != '\0' ? slash + 1 : name;
    size_t n = strlen(name);
    n -= n > 5 && strcmp(name + n - 5, ".gguf") == 0 ? 5 : 0;
    cf_buf_add(out, name, n);
}

static void write_slots(void *ud, cf_buf *json)
{
    cf_serve_slots(ud, json);
}

static cf_status run(cf_cli *cli, const cf_http_options *http, cf_serve_options *o,
                     cf_keep_prefix *prefix, bool has_screen, cf_error *err)
{
    cf_opened opened = {.from = "none"};
    cf_traffic_run t;
    cf_serve *serve = NULL;
    cf_buf name = CF_BUF_INIT;
    CF_TRY(cf_open_backend(&opened, &cli->open, NULL, err));
    if (opened.engine == NULL) {
        cf_opened_close(&opened);
        return cf_fail(err, CF_EINVAL,
                       "-m: want a model file; `confab proxy` records what "
                       "goes to a server");
    }
    cf_keep_prefix_read(prefix, cli, opened.prefixes, NULL);
    cf_status st = cf_traffic_run_init(&t, cli, has_screen, err);
    if (st == CF_OK) {
        model_name(&name, &cli->open);
        o->opened = &opened;
        o->model = cf_buf_cstr(&name);
        o->n_ctx = cli->open.n_ctx;
        o->recorder = t.recorder;
        st = cf_serve_new(&serve, o, err);
        if (st == CF_OK) {
            const cf_http_handler handler = cf_serve_handler(serve);
            t.slots = write_slots;
            t.slots_ud = serve;
            st = cf_traffic_run_serve(&t, http, &handler, o->model, err);
        }
        cf_traffic_run_deinit(&t);
    }
    cf_serve_free(serve);
    cf_keep_prefix_write(prefix, cli);
    cf_opened_close(&opened);
    cf_buf_deinit(&name);
    return st;
}

int cf_cmd_serve(cf_cli *cli, int argc, char **argv)
{
    cf_serve_options o = {0};
    cf_http_options http = {.listen = "127.0.0.1:8080"};
    cf_keep_prefix prefix = {0};
    bool has_screen = false;
    const cf_opt own[] = {
        {"--listen", 0, CF_OPT_STR, &http.listen, "HOST:PORT",
         "where clients ask (default: 127.0.0.1:8080; port 0: any)", NULL},
        {"--token", 0, CF_OPT_STR, &http.token, "TEXT",
         "what clients must give as their key; needed beyond this machine "
         "(default: $CONFAB_TOKEN)",
         NULL},
        {"--slots", 0, CF_OPT_U32, &o.n_slots, "N",
         "requests answered at a time, each with a context of its own "
         "(default 4)",
         NULL},
        cf_keep_prefix_option(&prefix),
        {"--screen", 0, CF_OPT_FLAG, &has_screen, NULL,
         "show slots and exchanges on a screen, as `confab watch` does; "
         "leaving it ends the server",
         NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n;
    int done = cf_cli_options(cli, own, argc, argv, &n);
    if (done >= 0) {
        return done;
    }
    if (n != 0 || o.n_slots > 64) {
        return cf_cli_usage(cli, n != 0 ? "takes no arguments" : "--slots: at most 64");
    }
    if (http.token == NULL) {
        http.token = getenv("CONFAB_TOKEN"); /* NOLINT(concurrency-mt-unsafe) */
    }
    cf_error err;
    return run(cli, &http, &o, &prefix, has_screen, &err) == CF_OK ? CF_EXIT_OK
                                                                   : cf_cli_fail(cli, &err);
}
