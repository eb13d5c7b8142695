/*
 * cmd_serve.c - confab serve: the built-in engine for other programs.
 */
#include <stdlib.h>
#include <string.h>

#include "tui/cli/serve/traffic_run.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/keep_prefix.h"
#include "tui/cli/shell/shared_options.h"
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
    cli->open.allows_encoder = true;
    CF_TRY(cf_open_backend(&opened, &cli->open, NULL, err));
    if (opened.engine == NULL) {
        cf_opened_close(&opened);
        return cf_fail(err, CF_EINVAL,
                       "-m: needs a model file; `confab proxy` records what "
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

typedef struct asked {
    cf_serve_options o;
    cf_http_options http;
    cf_keep_prefix prefix;
    const char *apis;
    bool has_screen;
} asked;

static const asked initial = {.http = {.listen = "127.0.0.1:8080"}};

static const cf_opt_row options[] = {
    {"--listen", 0, CF_OPT_STR, offsetof(asked, http.listen), "HOST:PORT",
     "address to listen on (default: 127.0.0.1:8080; port 0: any free port)", 0},
    CF_ROW_TOKEN(offsetof(asked, http.token)),
    {"--slots", 0, CF_OPT_U32, offsetof(asked, o.n_slots), "N",
     "number of requests answered at a time, each with its own context "
     "(default: 4)",
     0},
    {"--api", 0, CF_OPT_STR, offsetof(asked, apis), "LIST",
     "APIs to offer, separated by commas: openai, responses, anthropic, ollama, "
     "llama (default: all)",
     0},
    CF_ROW_KEEP_PREFIX(offsetof(asked, prefix.is_wanted)),
    {"--screen", 0, CF_OPT_FLAG, offsetof(asked, has_screen), NULL,
     "show slots and exchanges as `confab watch` does; quitting ends the server", 0},
    CF_OPT_ROWS_END,
};

static int run_serve(cf_cli *cli, void *state)
{
    asked *a = state;
    if (a->o.n_slots > 64) {
        return cf_cli_usage(cli, "--slots: at most 64");
    }
    if (a->http.token == NULL) {
        a->http.token = getenv("CONFAB_TOKEN"); /* NOLINT(concurrency-mt-unsafe) */
    }
    cf_error err;
    if (a->apis != NULL && cf_serve_apis(&a->o.apis, a->apis, &err) != CF_OK) {
        return cf_cli_usage(cli, err.text);
    }
    return run(cli, &a->http, &a->o, &a->prefix, a->has_screen, &err) == CF_OK
               ? CF_EXIT_OK
               : cf_cli_fail(cli, &err);
}

const cf_cli_command cf_cmd_serve = {
    .name = "serve",
    .arguments = "",
    .summary = "serve models to other programs with the built-in engine",
    .options = options,
    .state_bytes = sizeof(asked),
    .initial = &initial,
    .n_max = 0,
    .run = run_serve,
};
