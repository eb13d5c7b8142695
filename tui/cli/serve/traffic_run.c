/*
 * traffic_run.c - sets up, listens, waits and ends.
 */
#define _DEFAULT_SOURCE 1 /* usleep */
#include "tui/cli/serve/traffic_run.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "templates/chat_template.h"
#include "templates/open.h"
#include "tui/cli/serve/exchange_line.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/lab/state/open_store.h"
#include "tui/lab/watch/slots_file.h"
#include "tui/sys/out.h"

/* All of it together ends before cf_leave_soon() does it. */
enum {
    GRACE_MS = 1000,   /* for answers that are running at the end */
    FLUSH_MS = 600,    /* for what the disk has not got then */
    PATIENCE_MS = 300, /* of one write */
    BUSY_MS = 1000,    /* for another program's lock */
    LOOK_US = 20000,
    SLOTS_EVERY = 15, /* looks */
    UNSAID_MAX = 4000 /* bytes of lines that wait for the screen to end */
};

/* A line that was just said is not said again for every request. */
static void say(void *ud, const char *line)
{
    cf_traffic_run *t = ud;
    pthread_mutex_lock(&t->lock);
    if (t->said == NULL || strcmp(t->said, line) != 0) {
        cf_free(t->said);
        t->said = cf_strdup(line);
        if (!t->has_screen) {
            cf_note("confab %s: %s", t->cli->command->name, line);
        } else if (t->unsaid.n < UNSAID_MAX) {
            cf_buf_addf(&t->unsaid, "%s\n", line);
        }
    }
    pthread_mutex_unlock(&t->lock);
}

static void stored(void *ud, const cf_exchange *x)
{
    const cf_traffic_run *t = ud;
    cf_buf line = CF_BUF_INIT;
    if (t->has_screen) {
        return;
    }
    if (t->cli->is_json) {
        cf_exchange_line_json(&line, x);
    } else {
        cf_exchange_line_text(&line, x);
    }
    cf_out(stdout, cf_buf_str(&line), t->cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
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

cf_status cf_traffic_run_init(cf_traffic_run *t, cf_cli *cli, bool has_screen, cf_error *err)
{
    memset(t, 0, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    t->cli = cli;
    t->has_screen = has_screen;
    cf_status st = open_finder(t, err);
    CF_THEN(st, open_store(t, err));
    if (st == CF_OK) {
        const cf_recorder_options o = {
            .store = t->store, .finder = &t->finder, .say = say, .stored = stored, .ud = t};
        st = cf_recorder_new(&t->recorder, &o, err);
    }
    if (st != CF_OK) {
        cf_traffic_run_deinit(t);
    }
    return st;
}

/* Tells programs that watch the history where the server is and what its slots
 * do, while it runs. */
typedef struct teller {
    const cf_traffic_run *t;
    const char *line; /* what answers where */
    const cf_cancel *cancel;
    atomic_bool is_over; /* the screen was left */
    cf_buf told;         /* the slots as the file has them */
} teller;

/* Writes the file of slots where something has changed. */
static void tell(teller *w)
{
    const cf_traffic_run *t = w->t;
    cf_buf now = CF_BUF_INIT;
    if (t->slots != NULL) {
        t->slots(t->slots_ud, &now);
    } else {
        cf_buf_adds(&now, "[]");
    }
    if (!now.failed && !cf_str_eq(cf_buf_str(&now), cf_buf_str(&w->told))) {
        cf_slots_write(cf_store_path(t->store), w->line, cf_buf_str(&now));
    }
    cf_buf_deinit(&w->told);
    w->told = now;
}

static void *tell_until_the_end(void *ud)
{
    teller *w = ud;
    for (unsigned i = 0; !atomic_load(w->cancel) && !atomic_load(&w->is_over); i++) {
        if (i % SLOTS_EVERY == 0) {
            tell(w);
        }
        (void)usleep(LOOK_US);
    }
    return NULL;
}

/* The screen of `watch`, while another thread reports. */
static cf_status show(const cf_traffic_run *t, teller *w, cf_error *err)
{
    pthread_t thread;
    CF_TRY(cf_os_thread(&thread, tell_until_the_end, w, err));
    (void)cf_cli_watch(t->cli);
    atomic_store(&w->is_over, true);
    pthread_join(thread, NULL);
    return CF_OK;
}

cf_status cf_traffic_run_serve(cf_traffic_run *t, const cf_http_options *http,
                               const cf_http_handler *handler, const char *what, cf_error *err)
{
    cf_http_server *server = NULL;
    cf_buf line = CF_BUF_INIT;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    if (t->has_screen && t->cli->screen->check(err) != CF_OK) {
        err->code = CF_EINVAL; /* exit status 2, as the contract says */
        return CF_EINVAL;
    }
    CF_TRY(cf_http_server_new(&server, http, handler, err));
    cf_buf_addf(&line, "confab %s: %s answers at %s", t->cli->command->name, what,
                cf_http_server_url(server));
    teller w = {.t = t, .line = cf_buf_cstr(&line), .cancel = cf_cli_cancel()};
    cf_status st = CF_OK;
    if (t->has_screen) {
        st = show(t, &w, err);
    } else {
        cf_note("%s", w.line);
        tell_until_the_end(&w);
    }
    cf_http_server_free(server, GRACE_MS);
    cf_slots_remove(cf_store_path(t->store));
    cf_buf_deinit(&w.told);
    cf_buf_deinit(&line);
    return st;
}

void cf_traffic_run_deinit(cf_traffic_run *t)
{
    cf_error err;
    cf_recorder_free(t->recorder);
    if (t->store != NULL && cf_store_flush(t->store, FLUSH_MS, &err) != CF_OK) {
        cf_note("confab %s: %s", t->cli->command->name, err.text);
    }
    if (t->unsaid.n > 0) {
        cf_note_text("", cf_buf_str(&t->unsaid));
    }
    cf_store_close(t->store);
    cf_template_free(t->tpl);
    cf_engine_close(t->engine);
    cf_buf_deinit(&t->source);
    cf_free(t->said);
    cf_buf_deinit(&t->unsaid);
    pthread_mutex_destroy(&t->lock);
    memset(t, 0, sizeof *t);
}
