/*
 * cmd_sessions.c - confab sessions: the sessions of coding agents that are on
 * this machine.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "core/json/json_writer.h"
#include "storage/trail.h"
#include "tui/cli/shell/cli.h"
#include "tui/lab/state/open_store.h"
#include "tui/sys/agent_places.h"

static void add_json(cf_buf *out, const cf_trail *t)
{
    char time[25];
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "format", t->format);
    cf_jw_str(&w, "path", t->path);
    cf_jw_str(&w, "id", t->id);
    cf_jw_str(&w, "title", cf_trail_name(t));
    cf_jw_str(&w, "folder", t->folder);
    cf_jw_uint(&w, "messages", t->n_messages);
    if (t->started_ms != 0) {
        cf_os_format_time(time, t->started_ms);
        cf_jw_text(&w, "started", time);
    } else {
        cf_jw_null(&w, "started");
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
}

static void add_line(cf_buf *out, const cf_trail *t)
{
    char time[25] = "";
    cf_str title = cf_trail_name(t);
    if (t->started_ms != 0) {
        cf_os_format_time(time, t->started_ms);
        time[10] = ' ';
    }
    cf_buf_addf(out, "%-16.16s  %-11s %6zu  ", time, t->format, t->n_messages);
    cf_safe_line(out, title.p, title.n < 60 ? title.n : 60);
    cf_buf_adds(out, "\n    ");
    cf_safe_line(out, t->path.p, t->path.n);
    cf_buf_addc(out, '\n');
}

/* Prints the sessions of one place as soon as they are read. */
static cf_status print_place(cf_cli *cli, const char *path, size_t *n, cf_error *err)
{
    cf_trails trails;
    const cf_trail_options opts = {.cancel = cf_cli_cancel()};
    cf_status st = cf_trails_read(&trails, path, &opts, err);
    if (st != CF_OK) { /* a place without sessions is no error */
        return st == CF_ENOMEM || st == CF_ECANCELLED ? st : CF_OK;
    }
    for (size_t i = 0; i < trails.n; i++) {
        if (cli->is_json) {
            add_json(&cli->out, trails.v[i]);
        } else {
            add_line(&cli->out, trails.v[i]);
        }
    }
    *n += trails.n;
    cf_trails_deinit(&trails);
    st = cf_buf_check(&cli->out, err);
    if (st == CF_OK) {
        cf_out(stdout, cf_buf_str(&cli->out), cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
        cf_buf_reset(&cli->out);
    }
    return st;
}

/* Where agents keep sessions, the history, and the traces beside it. */
static cf_status find_places(cf_buf *places, const cf_cli *cli, cf_error *err)
{
    char *db;
    CF_TRY(cf_open_store_path(&cli->open, &db, err));
    cf_status st = cf_agent_places_with(places, db, err);
    cf_free(db);
    return st;
}

static int run_sessions(cf_cli *cli, void *state)
{
    cf_buf places = CF_BUF_INIT;
    cf_error err;
    size_t n = 0;
    (void)state;
    cf_status st = CF_OK;
    for (int i = 0; i < cli->n_args; i++) {
        cf_buf_add(&places, cli->args[i], strlen(cli->args[i]) + 1);
    }
    st = cli->n_args != 0 ? cf_buf_check(&places, &err) : find_places(&places, cli, &err);
    for (size_t at = 0; st == CF_OK && at < places.n; at += strlen(places.p + at) + 1) {
        st = print_place(cli, places.p + at, &n, &err);
    }
    if (st == CF_OK && n == 0 && !cli->is_json) {
        cf_buf_adds(&cli->out,
                    "no sessions found: confab sessions FOLDER looks in another folder\n");
    }
    cf_buf_deinit(&places);
    return cf_cli_end(cli, st, &err);
}

const cf_cli_command cf_cmd_sessions = {
    .name = "sessions",
    .arguments = "[FOLDER ...]",
    .summary = "list the sessions of coding agents on this machine, or in folders",
    .n_max = CF_ARGS_ANY,
    .run = run_sessions,
};
