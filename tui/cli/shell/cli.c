/*
 * cli.c - finds the command, reads its options, runs it, and closes what it
 * opened.
 */
#include "tui/cli/shell/cli.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/edit_distance.h"
#include "core/base/os.h"
#include "templates/model_beside.h"
#include "tui/cli/shell/progress.h"
#include "tui/lab/state/defaults.h"
#include "tui/sys/leave.h"
#include "tui/sys/out.h"
#include "tui/sys/paths.h"
#include "tui/sys/secret.h"

#define ENTRY(name) &cf_cmd_##name,
const cf_cli_command *const cf_cli_commands[] = {CF_CLI_COMMANDS(ENTRY) NULL};

static const cf_opt_row common_rows[] = {
    {"--model", 'm', CF_OPT_LIST, offsetof(cf_cli, model), "MODEL",
     "a .gguf file, a model folder, hf:ORG/NAME, ollama:NAME, llama:FILE (computed by llama.cpp), "
     "a server's http(s) address, script:FILE, or \"bundled\" (default)",
     0},
    {"--draft-model", 0, CF_OPT_STR, offsetof(cf_cli, open.draft_model), "FILE",
     "small model of the same vocabulary that drafts tokens; the output stays the same", 0},
    {"--mmproj", 0, CF_OPT_STR, offsetof(cf_cli, open.mmproj), "FILE",
     "the model's projector file, which reads pictures and sounds "
     "(default: mmproj*.gguf in its folder)",
     0},
    {"--template", 't', CF_OPT_STR, offsetof(cf_cli, open.template_name), "FILE|TEMPLATE",
     "chat template to use instead of the model's", 0},
    {"--load-as", 0, CF_OPT_STR, offsetof(cf_cli, open.load_as), "q8_0|q4_0",
     "quantise float weights while they are loaded", 0},
    {"--lora", 0, CF_OPT_LIST, offsetof(cf_cli, lora), "FILE[=SCALE]",
     "LoRA adapter, a GGUF file or a PEFT folder; may be repeated", 0},
    {"--steer", 0, CF_OPT_LIST, offsetof(cf_cli, steer), "FILE[=SCALE][:A-B]",
     "control vector, a GGUF file, or its directions A to B; may be repeated", 0},
    {"--db", 0, CF_OPT_STR, offsetof(cf_cli, open.db), "FILE", "history database", 0},
    {"--threads", 0, CF_OPT_U32, offsetof(cf_cli, open.n_threads), "N",
     "compute threads (default: one per processor)", 0},
    {"--gpu-layers", 0, CF_OPT_U32, offsetof(cf_cli, open.n_gpu_layers), "N",
     "layers of -m llama:FILE that the GPU computes (default: all)",
     offsetof(cf_cli, open.has_gpu_layers)},
    {"--ctx", 0, CF_OPT_U32, offsetof(cf_cli, open.n_ctx), "N", "context length in tokens", 0},
    {"--cache", 0, CF_OPT_STR, offsetof(cf_cli, cache), "f16|f32|q8_0|q4_0",
     "type of the KV cache (default: f32 for small models, else f16)", 0},
    {"--seed", 0, CF_OPT_U64, offsetof(cf_cli, seed), "N", "seed for everything random",
     offsetof(cf_cli, has_seed)},
    {"--exact", 0, CF_OPT_FLAG, offsetof(cf_cli, is_exact), NULL,
     "slow reference arithmetic in float32", 0},
    {"--activations", 0, CF_OPT_STR, offsetof(cf_cli, activations), "16|8",
     "bits of activations multiplied with quantised weights: 8 is faster and "
     "less precise (default: 16)",
     0},
    {"--kernels", 0, CF_OPT_STR, offsetof(cf_cli, open.kernel_set), "SET",
     "instruction set: avx2, avx2-vnni, avx512, avx512-vnni, avx512-vbmi, neon, "
     "neon-dot or neon-i8mm, all with the same bits (default: the best one available); ref: the "
     "arithmetic of --exact",
     0},
    {"--encoder-blas", 0, CF_OPT_STR, offsetof(cf_cli, open.encoder_blas), "WHEN",
     "use OpenBLAS for image and audio encoders: on, off or auto (default: "
     "auto, if its kernels suit the processor)",
     0},
    {"--json", 0, CF_OPT_FLAG, offsetof(cf_cli, is_json), NULL, "answer in JSON", 0},
    {"--color", 0, CF_OPT_STR, offsetof(cf_cli, color_name), "WHEN",
     "always, never or auto (default: auto, in colour on a terminal)", 0},
    {"--trust-addresses", 0, CF_OPT_FLAG, offsetof(cf_cli, trusts_addresses), NULL,
     "let requests go to addresses that only a file names, without the key", 0},
    {"--allow-variable", 0, CF_OPT_LIST, offsetof(cf_cli, variables), "NAME",
     "let a plan, a configuration or a file of tool servers that names this variable of the "
     "environment have it; may be repeated",
     0},
    {"--quiet", 'q', CF_OPT_FLAG, offsetof(cf_cli, is_quiet), NULL,
     "write nothing to standard error; only the exit status reports errors", 0},
    {"--help", 'h', CF_OPT_FLAG, offsetof(cf_cli, is_help), NULL, "explain this command", 0},
    CF_OPT_ROWS_END,
};

enum { STATE_MAX = 64 << 10 }; /* bytes of a command's state */

enum { COMMON_ROOM = sizeof common_rows / sizeof common_rows[0], OWN_ROOM = 80 };

/* All options of a command, bound to an object and to the state. */
typedef struct options {
    cf_opt own[OWN_ROOM], common[COMMON_ROOM];
} options;

static void bind(options *o, const cf_cli_command *c, void *state, cf_cli *cli)
{
    size_t n = cf_options_bind(o->own, c->options, state);
    if (c->more != NULL) {
        n += c->more(state, o->own + n);
    }
    CF_ASSERT(n < OWN_ROOM);
    cf_options_bind(o->common, common_rows, cli);
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

/* Binds the options of a command only to describe them. */
static void describe(void *ud, const cf_cli_command *c, cf_cli_describe_fn fn)
{
    static max_align_t state[STATE_MAX / sizeof(max_align_t)];
    static cf_cli cli;
    options o;
    CF_ASSERT(c->state_bytes <= sizeof state);
    bind(&o, c, state, &cli);
    hide_letters(o.common, o.own);
    fn(ud, c, o.own, o.common);
}

void cf_cli_each_command(cf_cli_describe_fn fn, void *ud)
{
    for (const cf_cli_command *const *c = cf_cli_commands; *c != NULL; c++) {
        describe(ud, *c, fn);
    }
}

static void print_help(void *ud, const cf_cli_command *c, const cf_opt *own, const cf_opt *common)
{
    FILE *to = ud;
    fprintf(to, "usage: confab %s [OPTION ...]%s%s\n%s.\n", c->name,
            c->arguments[0] != '\0' ? " " : "", c->arguments, c->summary);
    if (own->name != NULL) {
        fputs("\noptions:\n", to);
        cf_options_print(to, own);
    }
    fputs("\ncommon options:\n", to);
    cf_options_print(to, common);
}

int cf_cli_help(const cf_cli_command *command)
{
    describe(stdout, command, print_help);
    return CF_EXIT_OK;
}

void cf_cli_each_common(void (*fn)(FILE *to, const cf_opt *common), FILE *to)
{
    cf_cli cli = {0};
    cf_opt common[COMMON_ROOM];
    cf_options_bind(common, common_rows, &cli);
    fn(to, common);
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
    if (cli->activations != NULL && cf_open_is_plugin(cf_open_model(&cli->open))) {
        return cf_fail(err, CF_EINVAL,
                       "--activations: only confab's own engine has this, not -m llama:FILE");
    }
    if (cli->is_exact) {
        cli->open.arithmetic = CF_ARITHMETIC_EXACT;
    }
    return cli->activations == NULL
               ? CF_OK
               : cf_defaults_bits(&cli->open.arithmetic, "--activations", cli->activations, err);
}

static cf_status read_cache(cf_cli *cli, cf_error *err)
{
    if (cli->cache != NULL) {
        cli->open.cache = cf_cache_named(cf_str_from(cli->cache));
    }
    return cli->cache == NULL || cli->open.cache != CF_CACHE_DEFAULT
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "--cache: f16, f32, q8_0 or q4_0, not '%.40s'",
                         cli->cache);
}

/* ---- questions ---------------------------------------------------------- */

bool cf_cli_can_ask(const cf_cli *cli)
{
    return !cli->is_quiet && isatty(STDIN_FILENO) != 0;
}

bool cf_cli_is_yes(const char *question)
{
    cf_out(stderr, cf_str_from(question), CF_OUT_TEXT);
    fflush(stderr);
    int first = getchar(), c = first;
    while (c != EOF && c != '\n') {
        c = getchar();
    }
    return first == 'y' || first == 'Y';
}

static bool ask_address(void *ud, const char *file, const char *address)
{
    (void)ud;
    cf_note_text("named by ", cf_str_from(file));
    cf_note_text("send requests to this address?  ", cf_str_from(address));
    return cf_cli_is_yes("[y/N] ");
}

/* Reads the options after the command's name, and tells what confabrc has
 * wrong.  -1, or the exit status of a mistake. */
static int read_options(cf_cli *cli, void *state, int argc, char **argv)
{
    options o;
    cf_error err;
    bool is_quiet = asks_for_quiet(cli, argc, argv);
    bind(&o, cli->command, state, cli);
    cf_status st = cf_options_read(o.own, o.common, argc, argv, &cli->n_args, &err);
    if (cli->model.n > 0) {
        cli->open.model = cli->model.v[cli->model.n - 1];
    }
    cli->trust.named = cli->model.v;
    cli->trust.n_named = cli->model.n;
    cli->trust.variable = cli->variables.v;
    cli->trust.n_variable = cli->variables.n;
    cli->trust.allows_files = cli->trust.allows_files || cli->trusts_addresses;
    cli->trust.ask = cf_cli_can_ask(cli) ? ask_address : NULL;
    cli->open.lora = cli->lora.v;
    cli->open.n_lora = cli->lora.n;
    cli->open.steer = cli->steer.v;
    cli->open.n_steer = cli->steer.n;
    if (st == CF_OK && cli->color_name != NULL &&
        !cf_color_when_read(&cli->color, cli->color_name)) {
        st = cf_fail(&err, CF_EINVAL, "--color is always, never or auto");
    }
    CF_THEN(st, read_arithmetic(cli, &err));
    CF_THEN(st, read_cache(cli, &err));
    if (cli->is_quiet || (is_quiet && st != CF_OK)) {
        silence();
    }
    tell_problems(cli);
    return st == CF_OK ? -1 : cf_cli_usage(cli, err.text);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* Reads the command's options, counts its arguments and runs it. */
static int run_with(cf_cli *cli, void *state, int argc, char **argv)
{
    const cf_cli_command *c = cli->command;
    cli->args = argv;
    int wrong = read_options(cli, state, argc, argv);
    int n = cli->n_args;
    if (wrong >= 0) {
        return wrong;
    }
    if (n < c->n_min || (n > c->n_max && c->n_max != CF_ARGS_ANY)) {
        return cf_cli_usage(cli, c->want != NULL ? c->want : "takes no argument");
    }
    return c->run(cli, state);
}

static int run(cf_cli *cli, int argc, char **argv)
{
    const cf_cli_command *c = cli->command;
    cf_error err;
    if (asks_for_help(argc, argv)) {
        return cf_cli_help(c);
    }
    void *state = cf_calloc(1, c->state_bytes + 1);
    if (state == NULL) {
        cf_oom(&err);
        return cf_cli_fail(cli, &err);
    }
    if (c->initial != NULL) {
        memcpy(state, c->initial, c->state_bytes);
    }
    cf_arena_init(&cli->arena, 0);
    int status = run_with(cli, state, argc, argv);
    cf_opened_close(&cli->opened);
    cf_trust_deinit(&cli->trust);
    cf_store_close(cli->store);
    cf_buf_deinit(&cli->out);
    cf_arena_deinit(&cli->arena);
    cf_free(state);
    return status;
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

int cf_cli_end(const cf_cli *cli, cf_status st, const cf_error *err)
{
    return st == CF_OK ? cf_cli_print(cli, &cli->out) : cf_cli_fail(cli, err);
}

int cf_cli_usage(const cf_cli *cli, const char *message)
{
    cf_note("confab %s: %s (see: confab help %s)", cli->command->name, message, cli->command->name);
    return CF_EXIT_USAGE;
}

static cf_cancel cancel_flag;

static void on_signal(int number)
{
    atomic_store_explicit(&cancel_flag, true, memory_order_relaxed);
    if (number == SIGTERM) {
        cf_leave_soon();
    }
}

cf_cancel *cf_cli_cancel(void)
{
    static atomic_bool is_installed; /* servers call this in threads, too */
    if (!atomic_exchange(&is_installed, true)) {
        struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&sa.sa_mask);
        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
    }
    return &cancel_flag;
}

const cf_cli_command *cf_cli_find(const char *name)
{
    for (const cf_cli_command *const *c = cf_cli_commands; *c != NULL; c++) {
        if (strcmp((*c)->name, name) == 0) {
            return *c;
        }
    }
    return NULL;
}

cf_status cf_cli_unknown(const char *name, cf_error *err)
{
    cf_nearest near = {.asked = name};
    for (const cf_cli_command *const *c = cf_cli_commands; *c != NULL; c++) {
        cf_nearest_offer(&near, (*c)->name);
    }
    return cf_nearest_suggest(&near, cf_fail(err, CF_EINVAL, "unknown command '%.80s'", name), err);
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
    cli->trust = (cf_trust){.confabrc = defaults->model,
                            .environment = model,
                            .key = cli->open.key,
                            .variables = defaults->variables,
                            .allows_files = defaults->trusts_addresses};
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
    cf_options_bind(common, common_rows, cli);
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
        cf_ignore(cf_cli_unknown(name, &err));
        cf_note("confab: %s (see: confab help)", err.text);
        return CF_EXIT_USAGE;
    }
    int status = run(cli, argc - n_read, argv + n_read);
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
