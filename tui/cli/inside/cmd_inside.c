/*
 * cmd_inside.c - confab inside: what a model looked at, what it preferred layer
 * by layer, and what flips it.
 */
#include "core/api/inside.h"
#include "tui/cli/inside/inside_batch.h"
#include "tui/cli/shell/cli.h"

typedef struct command {
    const char *batch;
} command;

static cf_status open_model(cf_cli *cli, cf_session **out, cf_error *err)
{
    const cf_session_options opts = {.n_ctx = cli->open.n_ctx};
    cf_opened *o = &cli->opened;
    cli->open.opens_lora = true;
    CF_TRY(cf_open_engine(&o->engine, &cli->open, false, err));
    CF_TRY(cf_session_new(out, o->engine, &opts, err));
    return cf_open_use_adapters(&o->adapters, o->engine, &cli->open, out, 1, err);
}

static const cf_opt_row options[] = {
    {"--batch", 0, CF_OPT_STR, offsetof(command, batch), "FILE",
     "one request in JSON a line, one answer a line", 0},
    CF_OPT_ROWS_END,
};

static int run_inside(cf_cli *cli, void *state)
{
    const command *c = state;
    cf_error err;
    cf_session *session = NULL;
    if (c->batch == NULL) {
        return cf_cli_usage(cli, "wants --batch FILE");
    }
    int status = open_model(cli, &session, &err) == CF_OK ? cf_inside_batch(cli, c->batch, session)
                                                          : cf_cli_fail(cli, &err);
    cf_session_free(session);
    return status;
}

const cf_cli_command cf_cmd_inside = {
    .name = "inside",
    .arguments = "--batch FILE",
    .summary = "show what a model looked at, what it preferred, and what flips it",
    .options = options,
    .state_bytes = sizeof(command),
    .run = run_inside,
};
