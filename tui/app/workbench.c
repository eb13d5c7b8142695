/*
 * workbench.c - the parts of a session in the order they need each other.
 */
#include "tui/app/workbench.h"
#include "tui/app/command_model.h"

#include <string.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "templates/model_beside.h"
#include "tui/app/bind.h"
#include "tui/app/command_servers.h"
#include "tui/app/keepsakes.h"
#include "tui/demo/demo_serve.h"
#include "tui/demo/examples.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_system.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/sys/leave.h"

/* Everything that is given back, in the opposite order. */
typedef struct workbench {
    const cf_start *start;
    cf_demo *demo;
    cf_lab *lab;
    cf_app app;
    bool has_app;
} workbench;

static void close_all(workbench *w)
{
    if (w->has_app) {
        cf_app_deinit(&w->app);
    }
    cf_lab_free(w->lab);
    cf_demo_free(w->demo);
}

/* Each problem is a line "PATH: line N: ...", or says why the file is not read. */
static cf_status read_config(cf_config *config, cf_keymap *keymap, const char *path,
                             cf_buf *problems, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_check_owner(path, err);
    CF_THEN(st, cf_os_read_file(&text, path, 1 << 20, err));
    if (st == CF_OK) {
        cf_buf wrong = CF_BUF_INIT;
        const cf_binder binder = {.bind = cf_bind_line, .ud = keymap};
        st = cf_config_read(config, text.p, text.n, &binder, &wrong, err);
        for (size_t at = 0; at < wrong.n;) {
            size_t n = strcspn(wrong.p + at, "\n");
            cf_buf_addf(problems, "%s: %.*s\n", path, (int)n, wrong.p + at);
            at += n + 1;
        }
        cf_buf_deinit(&wrong);
    } else if (st != CF_ENOMEM) { /* the program continues without it */
        if (st != CF_ENOTFOUND) {
            cf_buf_addf(problems, "%s\n", err->text);
        }
        st = CF_OK;
    }
    cf_buf_deinit(&text);
    return st;
}

cf_status cf_workbench_defaults(cf_defaults *defaults, const char *path, cf_buf *problems,
                                cf_error *err)
{
    cf_config config;
    cf_keymap keymap = {0};
    cf_config_init(&config);
    config.defaults = defaults;
    config.reply = &defaults->reply;
    cf_status st = read_config(&config, &keymap, path, problems, err);
    cf_keymap_deinit(&keymap);
    return st;
}

cf_status cf_workbench_find(cf_word_index *index, const char *path, cf_error *err)
{
    cf_config config;
    cf_keymap keymap = {0};
    cf_buf ignored = CF_BUF_INIT;
    cf_config_init(&config);
    cf_defaults defaults;
    cf_defaults_init(&defaults);
    config.defaults = &defaults;
    config.reply = &defaults.reply;
    cf_status st = cf_bind_tables(&keymap, err);
    CF_THEN(st, read_config(&config, &keymap, path, &ignored, err));
    if (st == CF_OK) {
        cf_find_rows(index, &keymap, &config);
    }
    cf_buf_deinit(&ignored);
    cf_keymap_deinit(&keymap);
    cf_defaults_deinit(&defaults);
    return st;
}

/* Mocks and commands of tools are kept next to the logs; a file that cannot be
 * read costs only them. */
static cf_status open_desk(workbench *w, cf_error *err)
{
    const cf_start *s = w->start;
    cf_tool_desk *desk = cf_lab_desk(w->lab);
    cf_buf path = CF_BUF_INIT;
    cf_buf_addf(&path, "%s/tools.json", s->paths->state);
    cf_status st = cf_buf_check(&path, err);
    if (st == CF_OK && s->is_kept) {
        cf_error why;
        if (cf_tool_desk_open(desk, cf_buf_cstr(&path), &why) != CF_OK) {
            cf_buf_addf(s->problems, "mocks are not kept: %s\n", why.text);
        }
    }
    cf_buf_deinit(&path);
    if (st == CF_OK && s->exec != NULL) {
        st = cf_tool_desk_set_command(desk, cf_str_from("*"), s->exec, false, err);
    }
    return st;
}

cf_status cf_workbench_welcome(cf_app *app, cf_uuid welcome, cf_error *err)
{
    CF_TRY(cf_lab_open_conv(app->lab, welcome, (cf_uuid){{0}}, err));
    cf_app_open_view(app, CF_VIEW_CHAT);
    cf_app_command(app, "first");
    cf_app_say(app, CF_STYLE_OK, "j reads on, i writes a message, ? shows every key");
    return CF_OK;
}

/* A new history begins with something to look at; without it the workbench
 * starts all the same. */
static void first_start(workbench *w)
{
    const cf_start *s = w->start;
    cf_error err;
    cf_uuid welcome;
    cf_status st = cf_examples_make(s->store, s->engine.tools, &welcome, &err);
    if (st == CF_OK && cf_uuid_is_nil(welcome)) {
        return;
    }
    if (st == CF_OK && s->is_bundled) {
        st = cf_examples_reply(w->lab, s->store, &err);
    }
    if (st == CF_OK && s->system == NULL) {
        st = cf_workbench_welcome(&w->app, welcome, &err);
        const char *kind = cf_backend_get_info(s->engine.backend).kind;
        if (!s->is_bundled && strcmp(kind, "none") != 0) {
            /* The user's own model is not sent what the example says. */
            cf_lab_only_show(w->lab);
        }
    }
    if (st != CF_OK) {
        cf_buf_addf(s->problems, "the examples are not whole: %s\n", err.text);
    }
}

static cf_status open_conversation(workbench *w, cf_error *err)
{
    const cf_start *s = w->start;
    cf_store_ref ref;
    CF_TRY(cf_store_find(s->store, cf_str_from(s->conversation), &ref, err));
    CF_TRY(cf_lab_open_conv(w->lab, ref.conversation, ref.turn, err));
    return s->has_tools ? cf_lab_set_tools(w->lab, s->engine.tools, err) : CF_OK;
}

static cf_status open_app(workbench *w, cf_error *err)
{
    const cf_start *s = w->start;
    CF_TRY(cf_app_init(&w->app, s->store, err));
    w->has_app = true;
    w->app.lab = w->lab;
    w->app.is_restricted = s->is_restricted;
    w->app.trust = s->trust;
    w->app.demo = w->demo;
    w->app.model = s->model;
    w->app.next = s->next;
    cf_demo_switch(w->demo, s->has_demo);
    for (size_t i = 0; i < s->n_fixed; i++) {
        cf_reply_settings_fix(cf_lab_settings(w->lab), s->fixed[i]);
    }
    cf_keepsakes_open(&w->app, s->paths->state, s->problems);
    return read_config(cf_app_config(&w->app), &w->app.keymap, s->paths->config, s->problems, err);
}

static void tell_problems(workbench *w)
{
    const cf_buf *problems = w->start->problems;
    if (problems->n == 0) {
        return;
    }
    size_t n = strcspn(problems->p, "\n");
    if (n + 1 < problems->n) { /* more than the one line */
        cf_buf_add(&w->app.log, problems->p, problems->n);
    }
    cf_app_say(&w->app, CF_STYLE_WARNING, "%.*s%s", (int)n, problems->p,
               n + 1 < problems->n ? " ... (@ shows all)" : "");
}

static cf_status set_system(workbench *w, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_system_text(&text, w->start->system, err);
    CF_THEN(st, cf_lab_set_system(w->lab, cf_buf_str(&text), NULL, err));
    cf_buf_deinit(&text);
    return st;
}

/* Says how many models were found, after a start that named none; after
 * another one, whether the model's template is not that of its repository. */
static void offer_models(workbench *w)
{
    if (w->start->model != NULL && w->start->engine.engine != NULL) {
        cf_buf note = CF_BUF_INIT;
        cf_model_template_note(&note, w->start->engine.engine, w->start->model);
        if (note.n != 0) {
            cf_app_say(&w->app, CF_STYLE_WARNING, "%s", cf_buf_cstr(&note));
        }
        cf_buf_deinit(&note);
        return;
    }
    size_t n = w->start->model == NULL ? cf_models_here() : 0;
    if (n != 0) {
        cf_app_say(&w->app, CF_STYLE_OK,
                   "%zu model%s here: :model and Tab choose%s; ? shows every "
                   "key",
                   n, n == 1 ? " is" : "s are", n == 1 ? " it" : " one");
    }
}

/* Answers confab_help with the present keys and settings. */
static cf_status answer_help(void *ud, const char *question, cf_buf *out, cf_error *err)
{
    workbench *w = ud;
    cf_word_index index;
    cf_word_index_init(&index);
    cf_find_rows(&index, &w->app.keymap, cf_app_config(&w->app));
    if (w->start->find != NULL) {
        w->start->find(&index);
    }
    cf_status st = cf_word_index_answer(&index, question, out, err);
    cf_word_index_deinit(&index);
    return st;
}

static cf_status set_up(workbench *w, cf_error *err)
{
    const cf_start *s = w->start;
    CF_TRY(cf_lab_new(&w->lab, &s->engine, s->store, err));
    CF_TRY(cf_demo_new(&w->demo, s->store, true, err));
    cf_demo_set_help(w->demo, answer_help, w);
    CF_TRY(open_app(w, err));
    CF_TRY(open_desk(w, err));
    if (s->conversation == NULL && s->store != NULL && !s->no_examples && w->app.config.examples) {
        first_start(w);
    }
    if (s->conversation != NULL && s->store != NULL) {
        CF_TRY(open_conversation(w, err));
    }
    if (s->shows_traffic) {
        cf_app_open_view(&w->app, CF_VIEW_TRAFFIC);
    }
    if (s->session != NULL) {
        cf_app_show(&w->app, CF_VIEW_STEPS,
                    &(cf_target){.kind = CF_TARGET_SESSION, .text = cf_str_from(s->session)});
    }
    if (s->system != NULL) {
        CF_TRY(set_system(w, err));
    }
    if (s->mcp != NULL) {
        CF_TRY(cf_app_add_servers(&w->app, s->mcp, err));
        cf_app_open_view(&w->app, CF_VIEW_SERVERS);
    }
    offer_models(w);
    tell_problems(w);
    return CF_OK;
}

static cf_status run_on_terminal(cf_app *app, const cf_start *start, cf_error *err)
{
    const cf_term_options term = {.color = start->color == CF_COLOR_WHEN_ALWAYS  ? CF_COLOR_ALWAYS
                                           : start->color == CF_COLOR_WHEN_NEVER ? CF_COLOR_NEVER
                                                                                 : CF_COLOR_AUTO,
                                  .mouse = app->config.mouse,
                                  .graphics = (cf_graphics_kind)app->config.graphics};
    return cf_app_run(app, &term, err);
}

cf_status cf_workbench_run(const cf_start *start, cf_error *err)
{
    return cf_workbench_run_by(start, run_on_terminal, err);
}

cf_status cf_workbench_run_by(const cf_start *start, cf_workbench_loop *loop, cf_error *err)
{
    static workbench w; /* large: not on the stack */
    w = (workbench){.start = start};
    cf_status st = set_up(&w, err);
    CF_THEN(st, loop(&w.app, start, err));
    if (cf_app_is_busy(&w.app)) {
        cf_leave_soon(); /* it is to end, but may not notice */
    }
    close_all(&w);
    if (!cf_term_must_end()) {
        cf_leave_not(); /* another model may be opened */
    }
    if (cf_term_must_end()) {
        cf_leave_soon(); /* a signal came meanwhile */
    }
    return st;
}
