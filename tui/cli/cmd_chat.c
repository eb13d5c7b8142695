/*
 * cmd_chat.c - confab, confab chat: the workbench.
 */
#include <string.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "tui/app/app.h"
#include "tui/app/keepsakes.h"
#include "tui/cli/cli.h"
#include "tui/cli/sampler_options.h"
#include "tui/demo/demo_serve.h"
#include "tui/demo/examples.h"
#include "tui/lab/lab.h"
#include "tui/lab/open_backend.h"
#include "tui/lab/open_store.h"
#include "tui/sys/paths.h"

enum {
    BUNDLED_TOKENS = 400, /* of a reply; the small model may run in circles */
    BUSY_MS = 700,        /* for a lock of another program */
    NOTICE_MAX = 54       /* of a problem, on a line of 80 cells */
};

typedef struct chat_options {
    const char *tools, *exec, *color;
    uint32_t max_tokens;
    bool no_store, restricted, no_examples;
    cf_sampler_options sampler;
} chat_options;

/* What has to be given back, in the opposite order. */
typedef struct workbench {
    cf_cli_backend opened;
    json_t *tools;
    cf_store *store;
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
    cf_store_close(w->store);
    json_decref(w->tools);
    cf_cli_close_backend(&w->opened);
}

/* A database that cannot be opened costs the history, not the start. */
static void open_store(workbench *w, const cf_cli *cli, const cf_paths *paths,
                       cf_buf *problems)
{
    const char *path = cli->db != NULL ? cli->db : paths->database;
    /* Writes that are held up wait in memory, so nobody has to wait here. */
    cf_store_options options = {.flags = CF_STORE_CREATE | CF_STORE_KEEP_GOING,
                                .busy_ms = BUSY_MS};
    cf_error err;
    cf_status st = CF_OK;
    if (cli->db == NULL) {
        cf_buf folder = CF_BUF_INIT;
        const char *slash = strrchr(path, '/');
        cf_buf_add(&folder, path, slash != NULL ? (size_t)(slash - path) : 0);
        st = cf_os_make_dirs(cf_buf_cstr(&folder), &err);
        cf_buf_deinit(&folder);
    }
    CF_THEN(st, cf_store_open(&w->store, path, &options, &err));
    if (st != CF_OK) {
        cf_cli_store_hint(&err);
        cf_buf_addf(problems, "history is off: %s\n", err.text);
        return;
    }
    cf_store_state state;
    cf_store_get_state(w->store, &state);
    if (state.why.code != CF_OK) {
        cf_cli_store_hint(&state.why);
        cf_buf_addf(problems, "nothing is saved: %s\n", state.why.text);
    }
}

static uint32_t find_view(const char *name)
{
    if (strcmp(name, "all") == 0) {
        return CF_IN_ALL;
    }
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        if (cf_views[v] != NULL && strcmp(cf_views[v]->name, name) == 0) {
            return CF_IN(v);
        }
    }
    return 0;
}

static cf_status read_config(workbench *w, const cf_paths *paths,
                             cf_buf *problems, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&text, paths->config, 1 << 20, err);
    if (st == CF_OK) {
        cf_buf wrong = CF_BUF_INIT;
        st = cf_config_read(cf_app_config(&w->app), &w->app.keymap, text.p,
                            text.n, find_view, &wrong, err);
        if (wrong.n != 0) {
            cf_buf_addf(problems, "%s:\n%s", paths->config,
                        cf_buf_cstr(&wrong));
        }
        cf_buf_deinit(&wrong);
    } else if (st == CF_ENOTFOUND) {
        st = CF_OK;
    }
    cf_buf_deinit(&text);
    return st;
}

/* What the command line says, confabrc does not change. */
static void fix_given(cf_reply_settings *s, const cf_cli *cli,
                      const chat_options *o)
{
    const cf_sampler_options *p = &o->sampler;
    const cf_sampling *v = &p->sampling;
    const struct {
        const char *name;
        bool is_given;
    } all[] = {
        {"temperature", p->has_temperature || p->is_greedy},
        {"top_k", p->has_top_k},
        {"top_p", p->has_top_p},
        {"min_p", p->has_min_p},
        {"repetition_penalty", v->repetition_penalty != 0},
        {"presence_penalty", v->presence_penalty != 0},
        {"frequency_penalty", v->frequency_penalty != 0},
        {"penalty_window", v->penalty_window != 0},
        {"no_repeat_ngram", v->no_repeat_ngram != 0},
        {"no_repeat_window", v->no_repeat_window != 0},
        {"seed", cli->has_seed},
        {"max_tokens", o->max_tokens != 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].is_given) {
            cf_reply_settings_fix(s, all[i].name);
        }
    }
}

/* The tools that come with confab are there for the model that does, unless
 * --tools says otherwise. */
static bool wants_demo(const cf_cli *cli, const chat_options *o)
{
    return o->tools != NULL ? strcmp(o->tools, "demo") == 0
                            : cf_cli_is_bundled(cli);
}

static cf_status read_tools(workbench *w, const cf_cli *cli,
                            const chat_options *o, cf_error *err)
{
    if (wants_demo(cli, o)) {
        w->tools = cf_demo_declarations();
        return w->tools != NULL ? CF_OK : cf_oom(err);
    }
    return o->tools != NULL && strcmp(o->tools, "off") != 0
               ? cf_json_read_file(&w->tools, o->tools, err)
               : CF_OK;
}

/* Mocks and commands of tools are kept beside the logs; a file that cannot be
 * read costs that, not the start. */
static cf_status open_desk(workbench *w, const chat_options *o,
                           const cf_paths *paths, cf_buf *problems,
                           cf_error *err)
{
    cf_tool_desk *desk = cf_lab_desk(w->lab);
    cf_buf path = CF_BUF_INIT;
    cf_buf_addf(&path, "%s/tools.json", paths->state);
    cf_status st = cf_buf_check(&path, err);
    if (st == CF_OK && !o->no_store) {
        cf_error why;
        if (cf_tool_desk_open(desk, cf_buf_cstr(&path), &why) != CF_OK) {
            cf_buf_addf(problems, "mocks are not kept: %s\n", why.text);
        }
    }
    cf_buf_deinit(&path);
    if (st == CF_OK && o->exec != NULL) {
        st = cf_tool_desk_set_command(desk, cf_str_from("*"), o->exec, false,
                                      err);
    }
    return st;
}

/* A new history begins with something to look at; it is no reason not to
 * start. */
static void first_start(workbench *w, const cf_cli *cli, cf_buf *problems)
{
    cf_error err;
    cf_uuid welcome;
    cf_status st = cf_examples_make(w->store, w->tools, &welcome, &err);
    if (st == CF_OK && cf_uuid_is_nil(welcome)) {
        return;
    }
    if (st == CF_OK && cf_cli_is_bundled(cli)) {
        st = cf_examples_reply(w->lab, w->store, &err);
    }
    CF_THEN(st, cf_examples_show(&w->app, welcome, &err));
    if (st != CF_OK) {
        cf_buf_addf(problems, "the examples are not whole: %s\n", err.text);
    }
}

static cf_status set_up(workbench *w, const cf_cli *cli, chat_options *o,
                        const cf_paths *paths, const char *conversation,
                        cf_error *err)
{
    cf_buf problems = CF_BUF_INIT;
    CF_TRY(cli->model != NULL || cf_cli_is_bundled(cli)
               ? cf_cli_open_backend(&w->opened, cli, NULL, err)
               : cf_cli_open_without_model(&w->opened, cli, err));
    CF_TRY(read_tools(w, cli, o, err));
    cf_lab_engine e = {
        .backend = w->opened.backend,
        .engine = w->opened.engine,
        .tokenizer = w->opened.engine != NULL
                         ? cf_engine_tokenizer(w->opened.engine)
                         : NULL,
        .template_name = w->opened.from != NULL ? w->opened.from : "plain",
        .template_source = cf_buf_str(&w->opened.source),
        .tools = w->tools,
        .family = w->opened.family,
        .session = {.n_ctx = cli->n_ctx},
        .max_tokens = o->max_tokens != 0       ? o->max_tokens
                      : cf_cli_is_bundled(cli) ? BUNDLED_TOKENS
                                               : 0,
        .has_sampling = w->opened.engine != NULL,
    };
    CF_TRY(cf_sampler_options_finish(&o->sampler, cli, &e.sampling, err));
    if (!o->no_store) {
        open_store(w, cli, paths, &problems);
    }
    cf_status st = cf_lab_new(&w->lab, &e, w->store, err);
    CF_THEN(st, cf_demo_new(&w->demo, w->store, true, err));
    if (st == CF_OK) {
        st = cf_app_init(&w->app, w->store, err);
        w->has_app = st == CF_OK;
    }
    if (st == CF_OK) {
        w->app.lab = w->lab;
        w->app.is_restricted = o->restricted;
        w->app.demo = w->demo;
        cf_demo_switch(&w->app, wants_demo(cli, o));
        fix_given(cf_lab_settings(w->lab), cli, o);
        cf_keepsakes_open(&w->app, paths->state, &problems);
        st = read_config(w, paths, &problems, err);
    }
    CF_THEN(st, open_desk(w, o, paths, &problems, err));
    if (st == CF_OK && conversation == NULL && w->store != NULL &&
        !o->no_examples && w->app.config.examples) {
        first_start(w, cli, &problems);
    }
    if (st == CF_OK && conversation != NULL && w->store != NULL) {
        cf_store_ref ref;
        st = cf_store_find(w->store, cf_str_from(conversation), &ref, err);
        CF_THEN(st, cf_lab_open_conv(w->lab, ref.conversation, ref.turn, err));
        if (o->tools != NULL) { /* replace the saved ones, as with run */
            CF_THEN(st, cf_lab_set_tools(w->lab, w->tools, err));
        }
    }
    if (st == CF_OK && problems.n != 0) {
        cf_buf_add(&w->app.log, problems.p, problems.n);
        size_t n = strcspn(cf_buf_cstr(&problems), "\n");
        bool is_all = n + 1 == problems.n && n <= NOTICE_MAX;
        cf_app_say(&w->app, CF_STYLE_WARNING, "%.*s%s",
                   (int)(n <= NOTICE_MAX ? n : NOTICE_MAX),
                   cf_buf_cstr(&problems), is_all ? "" : " ... (@ shows them)");
    }
    cf_buf_deinit(&problems);
    return st;
}

int cf_cmd_chat(cf_cli *cli, int argc, char **argv)
{
    chat_options o = {0};
    enum { OWN = 7 };
    cf_opt table[CF_SAMPLER_OPTIONS + OWN + 1] = {
        {"--tools", 0, CF_OPT_STR, &o.tools, "FILE|demo|off",
         "tools the model may call, as JSON declarations; demo: eight built-in "
         "tools (default for the bundled model)",
         NULL},
        {"--exec", 0, CF_OPT_STR, &o.exec, "COMMAND",
         "command that runs calls nothing else answers; asks before each",
         NULL},
        {"--tokens", 'n', CF_OPT_U32, &o.max_tokens, "N",
         "generate at most N tokens (default: until the model ends)", NULL},
        {"--no-store", 0, CF_OPT_FLAG, &o.no_store, NULL,
         "do not save the conversation", NULL},
        {"--no-examples", 0, CF_OPT_FLAG, &o.no_examples, NULL,
         "do not add the examples to a new history", NULL},
        {"--restricted", 0, CF_OPT_FLAG, &o.restricted, NULL,
         "run no other programs and write no files", NULL},
        {"--color", 0, CF_OPT_STR, &o.color, "WHEN",
         "always, never or auto (default)", NULL},
    };
    cf_sampler_options_table(&o.sampler, table + OWN);
    int n_rest;
    int done = cf_cli_options(cli, table, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    cf_term_options term = {0};
    if (o.color != NULL) {
        if (strcmp(o.color, "always") == 0) {
            term.color = CF_COLOR_ALWAYS;
        } else if (strcmp(o.color, "never") == 0) {
            term.color = CF_COLOR_NEVER;
        } else if (strcmp(o.color, "auto") != 0) {
            return cf_cli_usage(cli, "--color is always, never or auto");
        }
    }
    cf_error err;
    cf_paths paths;
    cf_status st = cf_paths_find(&paths, &err);
    if (st != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    static workbench w; /* large: not on the stack */
    st = cf_term_check(&err);
    if (st == CF_OK) {
        st = set_up(&w, cli, &o, &paths, n_rest > 0 ? argv[0] : NULL, &err);
    } else {
        err.code = CF_EINVAL; /* exit status 2, as the contract says */
    }
    if (st == CF_OK) {
        term.mouse = w.app.config.mouse;
        st = cf_app_run(&w.app, &term, &err);
    }
    close_all(&w);
    cf_paths_deinit(&paths);
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}
