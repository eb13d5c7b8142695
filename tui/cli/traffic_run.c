/*
 * traffic_run.c - sets up, listens, waits and ends.
 */
#define _DEFAULT_SOURCE 1 /* usleep */
#include "tui/cli/traffic_run.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "templates/chat_template.h"
#include "templates/open.h"
#include "tui/cli/cli_store.h"
#include "tui/cli/exchange_line.h"
#include "tui/lab/open_store.h"
#include "tui/lab/slots_file.h"
#include "tui/sys/out.h"

/* All of it together ends within ten seconds, whatever the disk does. */
enum {
    GRACE_MS = 2500,   /* for answers that are running at the end */
    FLUSH_MS = 1500,   /* for what the disk has not got then */
    PATIENCE_MS = 300, /* of one write */
    BUSY_MS = 1000,    /* for another program's lock */
    LOOK_US = 20000,
    SLOTS_EVERY = 15 /* looks */
};

/* A line that was just said is not said again for every request. */
static void say(void *ud, const char *line)
{
    cf_traffic_run *t = ud;
    if (t->said == NULL || strcmp(t->said, line) != 0) {
        cf_free(t->said);
        t->said = cf_strdup(line);
        cf_note("confab %s: %s", t->cli->command->name, line);
    }
}

static void stored(void *ud, const cf_exchange *x)
{
    cf_traffic_run *t = ud;
    cf_buf line = CF_BUF_INIT;
    if (t->cli->is_json) {
        cf_exchange_line_json(&line, x);
    } else {
        cf_exchange_line_text(&line, x);
    }
    cf_out(stdout, cf_buf_str(&line),
           t->cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    fflush(stdout);
    cf_buf_deinit(&line);
}

/* The vocabulary of -m, and its template or that of -t. */
static cf_status open_finder(cf_traffic_run *t, cf_error *err)
{
    const cf_open_options *o = &t->cli->open;
    const char *from, *why;
    cf_str arch = {NULL, 0}, name = {NULL, 0};
    if (o->model != NULL) {
        CF_TRY(cf_open_engine(&t->engine, o, true, err));
        cf_engine_info info = cf_engine_get_info(t->engine);
        t->finder.tok = cf_engine_tokenizer(t->engine);
        arch = cf_str_from(info.arch);
        name = cf_str_from(info.name);
    }
    CF_TRY(cf_open_template_source(&t->source, &from, o, t->engine, err));
    if (t->source.n == 0) {
        return CF_OK;
    }
    cf_str source = cf_buf_str(&t->source);
    CF_TRY(cf_template_compile(&t->tpl, source, NULL, NULL, NULL, err));
    t->finder.as_is = cf_renderer_template_as_is(t->tpl);
    t->finder.shaped = cf_renderer_template(t->tpl);
    t->finder.family = cf_tool_family_detect(source, arch, name, &why);
    cf_role_map_init(&t->finder.roles, source);
    return CF_OK;
}

/* A database that cannot be written now costs no traffic. */
static cf_status open_store(cf_traffic_run *t, cf_error *err)
{
    const cf_store_options o = {.flags = CF_STORE_CREATE | CF_STORE_KEEP_GOING,
                                .patience_ms = PATIENCE_MS,
                                .busy_ms = BUSY_MS};
    char *path;
    CF_TRY(cf_open_store_path(&t->cli->open, &path, err));
    cf_status st = cf_store_open(&t->store, path, &o, err);
    cf_free(path);
    if (st != CF_OK) {
        cf_open_store_hint(err);
    }
    return st;
}

cf_status cf_traffic_run_init(cf_traffic_run *t, const cf_cli *cli,
                              cf_error *err)
{
    memset(t, 0, sizeof *t);
    t->cli = cli;
    cf_status st = open_finder(t, err);
    CF_THEN(st, open_store(t, err));
    if (st == CF_OK) {
        const cf_recorder_options o = {.store = t->store,
                                       .finder = &t->finder,
                                       .say = say,
                                       .stored = stored,
                                       .ud = t};
        st = cf_recorder_new(&t->recorder, &o, err);
    }
    if (st != CF_OK) {
        cf_traffic_run_deinit(t);
    }
    return st;
}

/* Writes the file of slots where something has changed. */
static void tell_slots(const cf_traffic_run *t, cf_buf *told)
{
    cf_buf now = CF_BUF_INIT;
    t->slots(t->slots_ud, &now);
    if (!now.failed && !cf_str_eq(cf_buf_str(&now), cf_buf_str(told))) {
        cf_slots_write(cf_store_path(t->store), cf_buf_str(&now));
    }
    cf_buf_deinit(told);
    *told = now;
}

cf_status cf_traffic_run_serve(cf_traffic_run *t, const cf_http_options *http,
                               const cf_http_handler *handler, const char *what,
                               cf_error *err)
{
    cf_http_server *server = NULL;
    cf_cancel *cancel = cf_cli_cancel();
    cf_buf told = CF_BUF_INIT; /* what the file of slots has */
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    CF_TRY(cf_http_server_new(&server, http, handler, err));
    cf_note("confab %s: %s answers at %s", t->cli->command->name, what,
            cf_http_server_url(server));
    for (unsigned i = 0; !atomic_load(cancel); i++) {
        if (t->slots != NULL && i % SLOTS_EVERY == 0) {
            tell_slots(t, &told);
        }
        (void)usleep(LOOK_US);
    }
    cf_http_server_free(server, GRACE_MS);
    if (t->slots != NULL) {
        cf_slots_remove(cf_store_path(t->store));
    }
    cf_buf_deinit(&told);
    return CF_OK;
}

void cf_traffic_run_deinit(cf_traffic_run *t)
{
    cf_error err;
    cf_recorder_free(t->recorder);
    if (t->store != NULL && cf_store_flush(t->store, FLUSH_MS, &err) != CF_OK) {
        cf_note("confab %s: %s", t->cli->command->name, err.text);
    }
    cf_store_close(t->store);
    cf_template_free(t->tpl);
    cf_engine_close(t->engine);
    cf_buf_deinit(&t->source);
    cf_free(t->said);
    memset(t, 0, sizeof *t);
}
