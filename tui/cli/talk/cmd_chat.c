/*
 * cmd_chat.c - confab, confab chat: opens the model and the history of the
 * workbench, and starts it.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/store.h"
#include "templates/open.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/keep_prefix.h"
#include "tui/cli/shell/sampler_options.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/demo/demo.h"
#include "tui/lab/lab.h"
#include "tui/lab/start.h"
#include "tui/lab/state/open_store.h"
#include "tui/lab/talk/saved.h"
#include "tui/sys/paths.h"

enum {
    BUNDLED_TOKENS = 400,       /* of a reply; the small model may run in circles */
    BUSY_MS = 700,              /* for a lock of another program */
    FIXED_MAX = CF_OPTION_N + 4 /* settings that options give */
};

typedef struct chat_options {
    const char *tools, *exec, *system, *mcp;
    uint32_t max_tokens;
    bool no_store, restricted, no_examples, as_is;
    cf_keep_prefix prefix;
    cf_sampler_options sampler;
} chat_options;

/* The inputs of the workbench, and the objects that it borrows. */
typedef struct session {
    cf_start start;
    cf_opened opened;
    json_t *tools;
    cf_store *store;
    const char *fixed[FIXED_MAX];
    size_t n_fixed;
    cf_buf problems;
} session;

static void close_session(session *s)
{
    cf_buf_deinit(&s->problems);
    cf_store_close(s->store);
    json_decref(s->tools);
    cf_opened_close(&s->opened);
}

/* A database that cannot be opened costs the history, not the start. */
static void open_store(session *s, const cf_cli *cli, const cf_paths *paths)
{
    const char *path = cli->open.db != NULL ? cli->open.db : paths->database;
    /* Blocked writes are kept in memory, so there is no need to wait here. */
    cf_store_options options = {.flags = CF_STORE_CREATE | CF_STORE_KEEP_GOING, .busy_ms = BUSY_MS};
    cf_error err;
    cf_status st = CF_OK;
    if (cli->open.db == NULL) {
        cf_buf folder = CF_BUF_INIT;
        const char *slash = strrchr(path, '/');
        cf_buf_add(&folder, path, slash != NULL ? (size_t)(slash - path) : 0);
        st = cf_os_make_dirs(cf_buf_cstr(&folder), &err);
        cf_buf_deinit(&folder);
    }
    CF_THEN(st, cf_store_open(&s->store, path, &options, &err));
    if (st != CF_OK) {
        cf_open_store_hint(&err);
        cf_buf_addf(&s->problems, "history is off: %s\n", err.text);
        return;
    }
    cf_store_state state;
    cf_store_get_state(s->store, &state);
    if (state.why.code != CF_OK) {
        cf_open_store_hint(&state.why);
        cf_buf_addf(&s->problems, "nothing is saved: %s\n", state.why.text);
    }
}

/* Settings that the command line gives, so that confabrc leaves them. */
static void list_fixed(session *s, const cf_cli *cli, const chat_options *o)
{
    const cf_sampler_options *p = &o->sampler;
    const struct {
        const char *name;
        bool is_given;
    } all[] = {
        {"temperature", p->is_greedy},
        {"seed", cli->has_seed},
        {"max_tokens", o->max_tokens != 0},
        {"as_is", o->as_is},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].is_given) {
            s->fixed[s->n_fixed++] = all[i].name;
        }
    }
    for (int i = 0; i < CF_OPTION_N; i++) {
        if (p->given[i]) {
            s->fixed[s->n_fixed++] = cf_options[i].name;
        }
    }
}

/* The tools that come with confab are there for the model that does, unless
 * --tools says otherwise; its help, too, where nothing else is declared. */
static bool wants_demo(const cf_cli *cli, const chat_options *o)
{
    return o->tools != NULL ? strcmp(o->tools, "demo") == 0 : cf_open_is_bundled(&cli->open);
}

static cf_status read_tools(session *s, const cf_cli *cli, const chat_options *o, cf_error *err)
{
    if (wants_demo(cli, o)) {
        s->tools = cf_demo_declarations();
        bool has_help = o->tools == NULL && o->mcp == NULL && !o->as_is;
        cf_status st = s->tools != NULL ? CF_OK : cf_oom(err);
        return st == CF_OK && has_help ? cf_demo_declare_help(s->tools, err) : st;
    }
    return o->tools != NULL && strcmp(o->tools, "off") != 0
               ? cf_json_read_file(&s->tools, o->tools, err)
               : CF_OK;
}

static cf_status open_session(session *s, const cf_cli *cli, chat_options *o, const cf_paths *paths,
                              cf_error *err)
{
    bool is_bundled = cf_open_is_bundled(&cli->open);
    CF_TRY(read_tools(s, cli, o, err));
    cf_open_options open = cli->open;
    open.has_tools = json_array_size(s->tools) != 0 || o->mcp != NULL;
    open.allows_no_weights = true;
    CF_TRY(cf_open_model(&open) != NULL || is_bundled
               ? cf_open_backend(&s->opened, &open, NULL, err)
               : cf_open_without_model(&s->opened, &open, err));
    cf_keep_prefix_read(&o->prefix, cli, s->opened.prefixes, &s->problems);
    cf_engine *engine = s->opened.engine;
    const cf_tokenizer *tok = engine != NULL ? cf_engine_tokenizer(engine) : NULL;
    if (engine != NULL && !cf_engine_get_info(engine).has_weights) {
        cf_buf_addf(&s->problems,
                    "no weights in %s: prompts, templates and tokens work, "
                    "nothing answers\n",
                    cf_open_model(&open));
        engine = NULL;
    }
    cf_lab_engine *e = &s->start.engine;
    *e = (cf_lab_engine){
        .backend = s->opened.backend,
        .engine = engine,
        .tokenizer = tok,
        .template_name = s->opened.from != NULL ? s->opened.from : "plain",
        .template_source = cf_buf_str(&s->opened.source),
        .tools = s->tools,
        .family = s->opened.family,
        .session = {.n_ctx = cli->open.n_ctx, .prefixes = s->opened.prefixes},
        .max_tokens = o->max_tokens != 0 ? o->max_tokens
                      : is_bundled       ? BUNDLED_TOKENS
                                         : 0,
        .has_sampling = engine != NULL,
    };
    cf_chat_options chat = {.has_sampling = false};
    CF_TRY(cf_sampler_options_finish(&o->sampler, cli, &chat, err));
    e->sampling = chat.sampling;
    e->asked = chat.asked;
    e->has_sampling = e->has_sampling || chat.asked != 0;
    e->as_is = o->as_is;
    if (!o->no_store) {
        open_store(s, cli, paths);
    }
    cf_saved_thinking(s->opened.backend, engine, s->store);
    list_fixed(s, cli, o);
    s->start.store = s->store;
    s->start.paths = paths;
    s->start.exec = o->exec;
    s->start.mcp = o->mcp;
    s->start.system = o->system;
    s->start.fixed = s->fixed;
    s->start.n_fixed = s->n_fixed;
    s->start.has_tools = o->tools != NULL;
    s->start.has_demo = wants_demo(cli, o);
    s->start.is_bundled = is_bundled;
    s->start.is_kept = !o->no_store;
    s->start.is_restricted = o->restricted;
    s->start.no_examples = o->no_examples;
    s->start.trust = &cli->trust;
    s->start.problems = &s->problems;
    return CF_OK;
}

/* One workbench, from open to close; *next says what to start after it. */
static cf_status run_once(cf_cli *cli, chat_options *o, const cf_paths *paths,
                          const cf_start *start, const char *problem, bool *is_saved, cf_error *err)
{
    session s = {.start = *start};
    if (problem[0] != '\0') {
        cf_buf_addf(&s.problems, "%s\n", problem);
    }
    cf_status st = cli->screen->check(err);
    if (st == CF_OK) {
        st = open_session(&s, cli, o, paths, err);
    } else {
        err->code = CF_EINVAL; /* exit status 2, as the contract says */
    }
    CF_THEN(st, cli->screen->run(&s.start, err));
    cf_keep_prefix_write(&o->prefix, cli);
    o->prefix.cache = NULL; /* the next model has its own */
    *is_saved = st != CF_OK || cf_cli_all_saved(cli, s.store);
    close_session(&s);
    return st;
}

/* A workbench, and another one for each model that is asked for in it.  A
 * model that does not open leaves the one before in use. */
static int run_workbench(cf_cli *cli, chat_options *o, const char *conversation, bool shows_traffic,
                         const char *steps_of)
{
    cli->reply = NULL; /* the workbench reads confabrc itself */
    cf_error err;
    cf_paths paths;
    cf_status st = cf_paths_find(&paths, &err);
    if (st != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    cf_next_model next = {CF_BUF_INIT, {{0}}};
    char *name = NULL, *before = NULL; /* models that were asked for */
    char id[CF_UUID_TEXT + 1], problem[CF_ERROR_TEXT_MAX] = "";
    cf_start start = {.color = cli->color,
                      .conversation = conversation,
                      .shows_traffic = shows_traffic,
                      .session = steps_of,
                      .next = &next,
                      .find = cf_cli_find_rows};
    bool is_saved = true, is_switched = false;
    const char *last = cli->open.model; /* that opened */
    for (;;) {
        start.model = cf_open_model(&cli->open);
        st = run_once(cli, o, &paths, &start, problem, &is_saved, &err);
        problem[0] = '\0';
        if (st != CF_OK && is_switched) {
            snprintf(problem, sizeof problem, "%s", err.text);
            cli->open.model = last;
            is_switched = false;
            continue;
        }
        if (st != CF_OK || next.name.n == 0) {
            break;
        }
        last = cli->open.model;
        cf_free(last == before ? name : before);
        before = last == before ? before : name;
        name = cf_buf_take(&next.name);
        if (name == NULL) {
            break;
        }
        cli->open.model = name;
        cli->open.n_lora = cli->open.n_steer = 0; /* they were for the other model */
        o->no_examples = true;
        cf_uuid_format(id, next.conversation);
        start.conversation = cf_uuid_is_nil(next.conversation) ? NULL : id;
        is_switched = true;
    }
    cf_buf_deinit(&next.name);
    cf_free(name);
    cf_free(before);
    cf_paths_deinit(&paths);
    return st != CF_OK ? cf_cli_fail(cli, &err) : is_saved ? CF_EXIT_OK : CF_EXIT_UNSAVED;
}

int cf_cli_watch(cf_cli *cli)
{
    chat_options o = {.no_examples = true};
    return run_workbench(cli, &o, NULL, true, NULL);
}

int cf_cli_steps(cf_cli *cli, const char *path)
{
    chat_options o = {.no_examples = true};
    return run_workbench(cli, &o, NULL, false, path);
}

static const cf_opt_row options[] = {
    {"--system", 0, CF_OPT_STR, offsetof(chat_options, system), "TEXT|FILE",
     "start with this system prompt; an existing conversation gets a new branch", 0},
    {"--tools", 0, CF_OPT_STR, offsetof(chat_options, tools), "FILE|demo|off",
     "tools the model may call, as JSON declarations; demo: eight built-in "
     "tools (default for the bundled model)",
     0},
    CF_ROW_MCP(offsetof(chat_options, mcp)),
    {"--exec", 0, CF_OPT_STR, offsetof(chat_options, exec), "COMMAND",
     "run calls that nothing else answers with this command; asks before each", 0},
    CF_ROW_TOKENS(offsetof(chat_options, max_tokens), 0),
    CF_ROW_AS_IS(offsetof(chat_options, as_is)),
    CF_ROW_NO_STORE(offsetof(chat_options, no_store)),
    {"--no-examples", 0, CF_OPT_FLAG, offsetof(chat_options, no_examples), NULL,
     "do not add the examples to a new history", 0},
    {"--restricted", 0, CF_OPT_FLAG, offsetof(chat_options, restricted), NULL,
     "run no other programs and write no files", 0},
    CF_ROW_KEEP_PREFIX(offsetof(chat_options, prefix.is_wanted)),
    CF_OPT_ROWS_END,
};

static size_t more(void *state, cf_opt *out)
{
    chat_options *o = state;
    cf_sampler_options_table(&o->sampler, out);
    out[CF_SAMPLER_OPTIONS] = (cf_opt){.name = NULL};
    return CF_SAMPLER_OPTIONS;
}

static int run_chat(cf_cli *cli, void *state)
{
    chat_options *o = state;
    if (cli->n_args > 0 && cf_cli_find(cli->args[0]) != NULL) {
        return cf_cli_usage(cli, "options of a command go after its name");
    }
    return run_workbench(cli, o, cli->n_args > 0 ? cli->args[0] : NULL, false, NULL);
}

const cf_cli_command cf_cmd_chat = {
    .name = "chat",
    .arguments = "[UUID]",
    .summary = "open the workbench, the terminal interface",
    .options = options,
    .more = more,
    .state_bytes = sizeof(chat_options),
    .n_max = CF_ARGS_ANY,
    .run = run_chat,
};
