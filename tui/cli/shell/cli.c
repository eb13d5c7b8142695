/*
 * cli.c - holds the command table and reads common options and batch files.
 */
#include "tui/cli/shell/cli.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"
#include "templates/model_beside.h"
#include "tui/cli/shell/man.h"
#include "tui/cli/shell/progress.h"
#include "tui/lab/prompt/context_text.h"
#include "tui/lab/state/defaults.h"
#include "tui/sys/out.h"
#include "tui/sys/paths.h"
#include "tui/sys/secret.h"

const cf_cli_command cf_cli_commands[] = {
    {"run", "[PROMPT]", "send one message and stream the reply", cf_cmd_run},
    {"chat", "[UUID]", "open the workbench, the terminal interface", cf_cmd_chat},
    {"complete", "[TEXT]", "continue a raw prompt, TEXT or standard input", cf_cmd_complete},
    {"media", "FILE ...", "show what a model gets of pictures", cf_cmd_media},
    {"model", "[FILE]", "describe a model file and the memory it needs", cf_cmd_model},
    {"mcp", "list|call TOOL [ARGUMENTS]|log CONVERSATION",
     "list and call the tools of MCP servers, show the protocol's log", cf_cmd_mcp},
    {"models", "[FOLDER ...]", "list the models on this machine, or in folders", cf_cmd_models},
    {"bench", "", "measure prefill and decode speed", cf_cmd_bench},
    {"tokenize", "[TEXT]", "show the tokens of a text, or the text of token ids", cf_cmd_tokenize},
    {"parse", "[RAW]", "split a reply into text and tool calls", cf_cmd_parse},
    {"constrain", "[TEXT]", "find where a text violates a schema, a pattern or tool declarations",
     cf_cmd_constrain},
    {"bisect", "[UUID]", "find the change between two templates or conversations that broke it",
     cf_cmd_bisect},
    {"shrink", "UUID", "find the smallest conversation for which a failure is still there",
     cf_cmd_shrink},
    {"history",
     "list|show|search|fork|tag|title|rm|undo|raw|export|import [UUID|FILE "
     "...]",
     "list, search, export, import and change saved conversations", cf_cmd_history},
    {"replay", "UUID", "run a stored turn again and report the first token that differs",
     cf_cmd_replay},
    {"report", "UUID", "write a reply and everything that made it as a page for a bug report",
     cf_cmd_report},
    {"influence", "UUID", "show which parts of a prompt a stored reply depends on",
     cf_cmd_influence},
    {"sweep", "PLAN",
     "answer prompts with every combination of templates, models and system "
     "prompts, check and compare the replies",
     cf_cmd_sweep},
    {"proxy", "--to URL|--replay",
     "record what another program sends to its model, and what comes back", cf_cmd_proxy},
    {"serve", "", "answer other programs with the built-in engine", cf_cmd_serve},
    {"watch", "", "show the exchanges of the proxy and the server", cf_cmd_watch},
    {"db", "check|backup FILE|path", "check, back up or locate the history database", cf_cmd_db},
    {"render", "[CONTEXT.json]", "render a chat template to exact bytes", cf_cmd_render},
    {"diff", "-a T1 -b T2 [CONTEXT.json ...]",
     "compare two chat templates over contexts or saved conversations", cf_cmd_diff},
    {"score", "--prompt A --text B", "log-likelihood of B after A, per token", cf_cmd_score},
    {"lint", "[TEMPLATE|MODEL ...]", "find faults in chat templates", cf_cmd_lint},
    {"test", "FILE ...", "run tests of prompts and replies", cf_cmd_test},
    {"paths", "", "print where confab keeps its files", cf_cmd_paths},
    {"completion", "bash|zsh|fish", "print a completion script for a shell", cf_cmd_completion},
    {"version", "", "print the version and how it was built", cf_cmd_version},
    {"help", "[COMMAND]", "explain a command", cf_cmd_help},
    {NULL, NULL, NULL, NULL},
};

enum { COMMON_MAX = 18 };

/* Bytes of a --batch file. */
#define BATCH_MAX ((size_t)2 << 30)

/* The options, one for a projector, and the end. */
enum { COMMON_ROOM = COMMON_MAX + 1 };

static void common_options(cf_cli *cli, cf_opt table[COMMON_ROOM])
{
    const cf_opt all[] = {
        {"--model", 'm', CF_OPT_LIST, &cli->model, "MODEL",
         "a .gguf file, a model folder, hf:ORG/NAME, ollama:NAME, a server's "
         "http(s) address, script:FILE, or \"bundled\" (default)",
         NULL},
        {"--mmproj", 0, CF_OPT_STR, &cli->open.mmproj, "FILE",
         "the model's projector file, which reads pictures and sounds "
         "(default: mmproj*.gguf in its folder)",
         NULL},
        {"--template", 't', CF_OPT_STR, &cli->open.template_name, "FILE|NAME",
         "chat template to use instead of the model's", NULL},
        {"--load-as", 0, CF_OPT_STR, &cli->open.load_as, "q8_0|q4_0",
         "quantise float weights while they are loaded", NULL},
        {"--lora", 0, CF_OPT_LIST, &cli->lora, "FILE[=SCALE]",
         "LoRA adapter, a GGUF or a folder of PEFT; may be repeated", NULL},
        {"--db", 0, CF_OPT_STR, &cli->open.db, "FILE", "history database", NULL},
        {"--threads", 0, CF_OPT_U32, &cli->open.n_threads, "N",
         "compute threads (default: one per processor)", NULL},
        {"--ctx", 0, CF_OPT_U32, &cli->open.n_ctx, "N", "context length in tokens", NULL},
        {"--seed", 0, CF_OPT_U64, &cli->seed, "N", "seed of all randomness", &cli->has_seed},
        {"--exact", 0, CF_OPT_FLAG, &cli->is_exact, NULL, "slow reference arithmetic in float32",
         NULL},
        {"--activations", 0, CF_OPT_STR, &cli->activations, "16|8",
         "bits of the numbers that meet quantised weights: 8 is faster and "
         "less precise (default: 16)",
         NULL},
        {"--kernels", 0, CF_OPT_STR, &cli->open.kernel_set, "SET",
         "instruction set: ref, avx2, avx2-vnni, avx512, avx512-vnni, "
         "avx512-vbmi, neon, neon-dot or neon-i8mm (default: the best)",
         NULL},
        {"--encoder-blas", 0, CF_OPT_STR, &cli->open.encoder_blas, "WHEN",
         "OpenBLAS for encoders of pictures and sounds: on, off or auto "
         "(default: auto, where its kernels suit the processor)",
         NULL},
        {"--json", 0, CF_OPT_FLAG, &cli->is_json, NULL, "answer in JSON", NULL},
        {"--color", 0, CF_OPT_STR, &cli->color_name, "WHEN",
         "always, never or auto (default: auto, in colour on a terminal)", NULL},
        {"--quiet", 'q', CF_OPT_FLAG, &cli->is_quiet, NULL,
         "write nothing to standard error; only the exit status tells of "
         "errors",
         NULL},
        {"--help", 'h', CF_OPT_FLAG, &cli->is_help, NULL, "explain this command", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    static_assert(sizeof all <= COMMON_ROOM * sizeof *all, "room");
    memcpy(table, all, sizeof all);
}

/* A command's own letter hides the common one. */
static void hide_letters(cf_opt *common, const cf_opt *own)
{
    for (; own != NULL && own->name != NULL; own++) {
        for (cf_opt *o = common; o->name != NULL; o++) {
            if (own->letter != 0 && o->letter == own->letter) {
                o->letter = 0;
            }
        }
    }
}

/* An exit status. */
static int print_help(cf_cli *cli, const cf_opt *own)
{
    const cf_cli_command *c = cli->command;
    cf_opt common[COMMON_ROOM];
    common_options(cli, common);
    hide_letters(common, own);
    if (cli->describe != NULL) {
        cli->describe(stdout, c, own, common);
        return CF_EXIT_OK;
    }
    cf_buf usage = CF_BUF_INIT;
    cf_buf_addf(&usage, "usage: confab %s [OPTION ...]%s%s\n%s.\n", c->name,
                c->arguments[0] != '\0' ? " " : "", c->arguments, c->summary);
    int status = cf_cli_print(cli, &usage);
    cf_buf_deinit(&usage);
    if (status != CF_EXIT_OK) {
        return status;
    }
    if (own != NULL && own->name != NULL) {
        cf_out(stdout, cf_str_from("\noptions:\n"), CF_OUT_TEXT);
        cf_options_print(stdout, own);
    }
    cf_out(stdout, cf_str_from("\ncommon options:\n"), CF_OUT_TEXT);
    cf_options_print(stdout, common);
    return CF_EXIT_OK;
}

void cf_cli_each_common(void (*fn)(FILE *to, const cf_opt *common), FILE *to)
{
    cf_cli cli = {0};
    cf_opt common[COMMON_ROOM];
    common_options(&cli, common);
    fn(to, common);
}

void cf_cli_man_common(FILE *to)
{
    cf_cli_each_common(cf_man_options, to);
}

/* Whether a message of a usage error is unwanted: --quiet may be after it. */
static bool asks_for_quiet(const cf_cli *cli, int argc, char **argv)
{
    bool is_quiet = cli->is_quiet;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        is_quiet = is_quiet || strcmp(argv[i], "--quiet") == 0 || strcmp(argv[i], "-q") == 0;
    }
    return is_quiet;
}

/* From here on nothing reaches standard error. */
static void silence(void)
{
    if (freopen("/dev/null", "w", stderr) == NULL) {
        fclose(stderr);
    }
}

/* Tells of the bad lines of confabrc, once. */
static void tell_problems(cf_cli *cli)
{
    const char *p = cli->problems.n > 0 ? cf_buf_cstr(&cli->problems) : "";
    while (*p != '\0') {
        size_t n = strcspn(p, "\n");
        cf_note("confab: %.*s", (int)n, p);
        p += n + (p[n] != '\0');
    }
    cf_buf_restart(&cli->problems);
}

/* The arithmetic that the options name; what confabrc says is there already. */
static cf_status read_arithmetic(cf_cli *cli, cf_error *err)
{
    if (cli->is_exact && cli->activations != NULL) {
        return cf_fail(err, CF_EINVAL, "--exact and --activations cannot be given together");
    }
    if (cli->is_exact) {
        cli->open.arithmetic = CF_ARITHMETIC_EXACT;
    }
    return cli->activations == NULL
               ? CF_OK
               : cf_defaults_bits(&cli->open.arithmetic, "--activations", cli->activations, err);
}

int cf_cli_options(cf_cli *cli, const cf_opt *own, int argc, char **argv, int *n_rest)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return print_help(cli, own);
        }
    }
    cf_opt common[COMMON_ROOM];
    common_options(cli, common);
    cf_error err;
    bool is_quiet = asks_for_quiet(cli, argc, argv);
    cf_status st = cf_options_read(own, common, argc, argv, n_rest, &err);
    if (cli->model.n > 0) {
        cli->open.model = cli->model.v[cli->model.n - 1];
    }
    cli->open.lora = cli->lora.v;
    cli->open.n_lora = cli->lora.n;
    if (st == CF_OK && cli->color_name != NULL &&
        !cf_color_when_read(&cli->color, cli->color_name)) {
        st = cf_fail(&err, CF_EINVAL, "--color is always, never or auto");
    }
    CF_THEN(st, read_arithmetic(cli, &err));
    if (cli->is_quiet || (is_quiet && st != CF_OK)) {
        silence();
    }
    tell_problems(cli);
    return st == CF_OK ? -1 : cf_cli_usage(cli, err.text);
}

void cf_cli_note_template(const cf_cli *cli, const cf_engine *engine)
{
    cf_buf note = CF_BUF_INIT;
    if (engine == NULL || cli->open.model == NULL || cli->open.template_name != NULL) {
        return;
    }
    cf_model_template_note(&note, engine, cli->open.model);
    if (note.n != 0) {
        cf_note("confab %s: %s", cli->command->name, cf_buf_cstr(&note));
    }
    cf_buf_deinit(&note);
}

int cf_cli_fail(const cf_cli *cli, const cf_error *err)
{
    cf_note("confab %s: %s", cli->command->name, err->text);
    switch (err->code) {
    case CF_OK:
        return CF_EXIT_OK;
    case CF_EINVAL:
        return CF_EXIT_USAGE;
    case CF_ECANCELLED:
        return CF_EXIT_INTERRUPTED;
    case CF_EIO: /* of standard output: not of an input */
        return ferror(stdout) != 0 ? CF_EXIT_ENGINE : CF_EXIT_INPUT;
    case CF_EFORMAT:
    case CF_EUNSUPPORTED:
    case CF_ENOTFOUND:
        return CF_EXIT_INPUT;
    case CF_ENOMEM:
    case CF_ELIMIT:
    case CF_EBUSY:
        break;
    }
    return CF_EXIT_ENGINE;
}

int cf_cli_print_as(const cf_cli *cli, const cf_buf *out, cf_out_kind kind)
{
    cf_error err;
    if (cf_buf_check(out, &err) != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    cf_out(stdout, cf_buf_str(out), kind);
    return CF_EXIT_OK;
}

int cf_cli_print(const cf_cli *cli, const cf_buf *out)
{
    return cf_cli_print_as(cli, out, cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
}

int cf_cli_end(const cf_cli *cli, cf_status st, cf_buf *out, const cf_error *err)
{
    int status = st == CF_OK ? cf_cli_print(cli, out) : cf_cli_fail(cli, err);
    cf_buf_deinit(out);
    return status;
}

int cf_cli_usage(const cf_cli *cli, const char *message)
{
    cf_note("confab %s: %s (see: confab help %s)", cli->command->name, message, cli->command->name);
    return CF_EXIT_USAGE;
}

static cf_cancel cancel_flag;

static void on_signal(int number)
{
    (void)number;
    atomic_store_explicit(&cancel_flag, true, memory_order_relaxed);
}

cf_cancel *cf_cli_cancel(void)
{
    static bool is_installed;
    if (!is_installed) {
        is_installed = true;
        struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&sa.sa_mask);
        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
    }
    return &cancel_flag;
}

/* Begins an answer: '{' and the item's name when it has one. */
static void begin_answer(cf_buf *out, const json_t *name)
{
    cf_buf_reset(out);
    cf_buf_addc(out, '{');
    if (name != NULL) {
        cf_buf_adds(out, "\"name\":");
        cf_json_write(out, name);
    }
}

/* Who answers the lines: `text`, or `raw` with the value of `member`. */
typedef struct batch_fn {
    cf_cli_text_fn text;
    cf_cli_raw_fn raw;
    const char *member;
    void *ud;
} batch_fn;

static cf_status read_line(const batch_fn *fn, cf_str line, json_t **in, cf_str *value,
                           cf_error *err)
{
    if (fn->raw == NULL) {
        return cf_json_read(in, line.p, line.n, err);
    }
    cf_buf rest = CF_BUF_INIT;
    cf_status st = cf_context_text_cut(line, fn->member, value, &rest, err);
    CF_THEN(st, cf_json_read(in, rest.p, rest.n, err));
    cf_buf_deinit(&rest);
    return st;
}

/* Answers one line of a batch; only running out of memory ends the batch. */
static cf_status batch_line(const batch_fn *fn, cf_str line, cf_buf *out, cf_error *err)
{
    json_t *in = NULL;
    cf_buf members = CF_BUF_INIT;
    cf_error why = {0};
    cf_str value = cf_str_make(NULL, 0);
    cf_status st = read_line(fn, line, &in, &value, &why);
    if (st == CF_OK && !json_is_object(in)) {
        st = cf_fail(&why, CF_EFORMAT, "not a JSON object");
    }
    const json_t *name = json_object_get(in, "name");
    begin_answer(out, name);
    CF_THEN(st, fn->raw != NULL ? fn->raw(fn->ud, in, value, &members, &why)
                                : fn->text(fn->ud, in, &members, &why));
    if (st != CF_OK && st != CF_ENOMEM) {
        cf_buf_reset(&members);
        cf_buf_adds(&members, "\"error\":{\"message\":");
        cf_json_write_str(&members, cf_str_from(why.text));
        cf_buf_addc(&members, '}');
        st = CF_OK;
    }
    if (st == CF_OK) {
        cf_buf_adds(out, name != NULL && members.n > 0 ? "," : "");
        cf_buf_add(out, members.p, members.n);
        cf_buf_adds(out, "}\n");
        out->failed = out->failed || members.failed;
        st = cf_buf_check(out, &why);
    }
    json_decref(in);
    cf_buf_deinit(&members);
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    return st;
}

static int run_batch(const cf_cli *cli, const char *path, const batch_fn *fn)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    cf_status st = cf_os_read_file(&text, path, BATCH_MAX, &err);
    for (size_t at = 0; st == CF_OK && at < text.n;) {
        const char *line = text.p + at;
        const char *end = memchr(line, '\n', text.n - at);
        size_t n = end != NULL ? (size_t)(end - line) : text.n - at;
        at += n + 1;
        if (n == 0) {
            continue;
        }
        st = batch_line(fn, cf_str_make(line, n), &out, &err);
        if (st == CF_OK) {
            cf_out(stdout, cf_buf_str(&out), CF_OUT_JSON);
        }
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&out);
    return st == CF_OK ? CF_EXIT_OK : cf_cli_fail(cli, &err);
}

int cf_cli_batch_text(const cf_cli *cli, const char *path, cf_cli_text_fn item, void *ud)
{
    return run_batch(cli, path, &(const batch_fn){.text = item, .ud = ud});
}

int cf_cli_batch_raw(const cf_cli *cli, const char *path, const char *member, cf_cli_raw_fn item,
                     void *ud)
{
    const batch_fn fn = {.raw = item, .member = member, .ud = ud};
    return run_batch(cli, path, &fn);
}

void cf_cli_put_members(cf_buf *members, const cf_buf *object)
{
    if (object->n > 2) {
        cf_buf_add(members, object->p + 1, object->n - 2);
    }
    members->failed = members->failed || object->failed;
}

/* The item function of cf_cli_batch() for a text function. */
typedef struct tree_item {
    cf_cli_item_fn item;
    void *ud;
} tree_item;

static cf_status answer_tree(void *ud, const json_t *item, cf_buf *answer, cf_error *err)
{
    const tree_item *tree = ud;
    json_t *v = json_object();
    if (v == NULL) {
        return cf_oom(err);
    }
    cf_status st = tree->item(tree->ud, item, v, err);
    if (st == CF_OK) {
        cf_buf all = CF_BUF_INIT;
        cf_json_write(&all, v);
        cf_cli_put_members(answer, &all);
        cf_buf_deinit(&all);
    }
    json_decref(v);
    return st;
}

int cf_cli_batch(const cf_cli *cli, const char *path, cf_cli_item_fn item, void *ud)
{
    tree_item tree = {item, ud};
    return cf_cli_batch_text(cli, path, answer_tree, &tree);
}

const cf_cli_command *cf_cli_find(const char *name)
{
    for (const cf_cli_command *c = cf_cli_commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

/* Test switches: a frozen clock and repeatable ids.  No other thread has
 * started yet. */
static void read_environment(void)
{
    const char *now = getenv("CONFAB_NOW"); /* NOLINT(concurrency-mt-unsafe) */
    int64_t ms;
    if (now != NULL && cf_os_parse_time(&ms, now)) {
        cf_os_freeze_clock(ms);
    }
    const char *seed = getenv("CONFAB_SEED_IDS"); /* NOLINT(concurrency-mt-unsafe) */
    if (seed != NULL) {
        cf_os_seed_entropy(strtoull(seed, NULL, 10));
    }
}

/* Takes what confabrc and the environment say in place of options.  Without a
 * home folder there is no confabrc.  Bad lines become problems; only want of
 * memory is an error, since the answer would be another one. */
static cf_status read_defaults(cf_cli *cli, cf_defaults *defaults, cf_error *err)
{
    cf_paths paths;
    cf_status st = CF_OK;
    cf_defaults_init(defaults);
    if (cli->screen != NULL && cli->screen->defaults != NULL &&
        cf_paths_find(&paths, NULL) == CF_OK) {
        st = cli->screen->defaults(defaults, paths.config, &cli->problems, err);
        if (st != CF_OK && st != CF_ENOMEM) {
            cf_buf_addf(&cli->problems, "%s\n", err->text);
            st = CF_OK;
        }
        CF_THEN(st, cf_buf_check(&cli->problems, err));
        cf_paths_deinit(&paths);
    }
    cf_defaults_apply(defaults, &cli->open);
    cli->color = defaults->color;
    cli->reply = &defaults->reply;
    const char *model = getenv("CONFAB_MODEL"); /* NOLINT(concurrency-mt-unsafe) */
    if (model != NULL && model[0] != '\0') {
        cli->open.default_model = model;
    }
    cli->open.key = cf_secret_key();
    cli->open.server_model = getenv("CONFAB_API_MODEL"); /* NOLINT(concurrency-mt-unsafe) */
    return st;
}

/* The beginning of a UUID, as `confab chat` takes it. */
static bool is_uuid(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789abcdefABCDEF-")] == '\0';
}

/*
 * Reads the options before the command, and the command's name: "help" for
 * --help, "version" for --version, "chat" where there are options alone.
 * *n_read: the arguments that this took.
 */
static cf_status read_name(cf_cli *cli, int argc, char **argv, const char **name, int *n_read,
                           cf_error *err)
{
    cf_opt common[COMMON_ROOM];
    common_options(cli, common);
    CF_TRY(cf_options_lead(common, argc, argv, n_read, err));
    const char *next = *n_read < argc ? argv[*n_read] : NULL;
    *name = "chat";
    if (cli->is_help) {
        *name = "help";
    } else if (next != NULL && (strcmp(next, "--version") == 0 || strcmp(next, "-V") == 0)) {
        *name = "version";
        ++*n_read;
    } else if (next != NULL && next[0] != '-' &&
               (*n_read == 0 || cf_cli_find(next) != NULL || !is_uuid(next))) {
        *name = next;
        ++*n_read;
    }
    return CF_OK;
}

static int run_command(cf_cli *cli, int argc, char **argv)
{
    const char *name = NULL;
    int n_read;
    cf_error err;
    cf_status st = read_name(cli, argc, argv, &name, &n_read, &err);
    cli->command = st == CF_OK ? cf_cli_find(name) : NULL;
    if (cli->is_quiet || (cli->command == NULL && asks_for_quiet(cli, argc, argv))) {
        silence();
    }
    if (st != CF_OK) {
        cf_note("confab: %s (see: confab help)", err.text);
        return CF_EXIT_USAGE;
    }
    if (cli->command == NULL) {
        cf_note("confab: unknown command '%s' (see: confab help)", name);
        return CF_EXIT_USAGE;
    }
    int status = cli->command->run(cli, argc - n_read, argv + n_read);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status <= CF_EXIT_FINDING) {
        cf_note("confab %s: standard output: write error", name);
        status = CF_EXIT_ENGINE;
    }
    return status;
}

int cf_cli_main(int argc, char **argv, const cf_cli_screen *screen)
{
    read_environment();
    int skip = argc > 0 ? 1 : 0;
    cf_progress progress;
    cf_defaults defaults;
    cf_cli cli = {.screen = screen, .open = {.busy = cf_progress_busy, .ud = &progress}};
    cf_error err;
    int status = CF_EXIT_ENGINE;
    if (read_defaults(&cli, &defaults, &err) == CF_OK) {
        status = run_command(&cli, argc - skip, argv + skip);
    } else {
        cf_note("confab: %s", err.text);
    }
    cf_buf_deinit(&cli.problems);
    cf_defaults_deinit(&defaults);
    return status;
}
