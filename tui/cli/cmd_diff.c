/*
 * cmd_diff.c - confab diff: compares two templates over the same contexts, or
 * over every saved conversation.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "templates/template_diff.h"
#include "tui/cli/cli.h"
#include "tui/cli/cli_store.h"
#include "tui/cli/diff_all.h"
#include "tui/cli/diff_text.h"
#include "tui/cli/json_text.h"
#include "tui/lab/diff_pair.h"
#include "tui/sys/out.h"

enum { CONTEXT_MAX = 256 << 20, DEFAULT_CONTEXT = 3, DEFAULT_WIDTH = 120 };

typedef enum diff_level { LEVEL_TEXT, LEVEL_TOKENS, LEVEL_SOURCE } diff_level;

typedef struct diff_job {
    cf_cli *cli;
    const char *name_a, *name_b, *level_name;
    bool is_all, is_side, is_unified, has_context, has_width;
    diff_level level;
    cf_diff_style style;
    cf_diff_pair pair;
    cf_arena arena;
    cf_buf out;
    size_t n_differ;
    cf_diff_all all;
} diff_job;

/* Between two contexts or conversations: whether the user interrupted. */
static cf_status go_on(cf_error *err)
{
    return atomic_load_explicit(cf_cli_cancel(), memory_order_relaxed)
               ? cf_fail(err, CF_ECANCELLED, "interrupted")
               : CF_OK;
}

/* ---- one context -------------------------------------------------------- */

/* Compares both templates' prompts for a context at the requested level. */
static cf_status compare(diff_job *job, cf_diff *d, const cf_diff_renders *r,
                         cf_error *err)
{
    return job->level == LEVEL_TOKENS
               ? cf_diff_pair_by_tokens(&job->pair, d, r, &job->arena, err)
               : cf_diff_prompts(d, &r->prompt[0], &r->prompt[1], &job->arena,
                                 err);
}

static void begin_json(diff_job *job, const char *name)
{
    static const char *const levels[] = {"text", "tokens", "source"};
    cf_buf_adds(&job->out, "{");
    if (name != NULL) {
        cf_buf_adds(&job->out, "\"context\":");
        cf_json_write_str(&job->out, cf_str_from(name));
        cf_buf_addc(&job->out, ',');
    }
    cf_buf_addf(&job->out, "\"level\":\"%s\",", levels[job->level]);
}

static void add_name(diff_job *job, const char *sign, const char *name,
                     const char *context)
{
    cf_buf_adds(&job->out, sign);
    cf_cli_put_line(&job->out, cf_str_from(name));
    if (context != NULL) {
        cf_buf_adds(&job->out, "  ");
        cf_cli_put_line(&job->out, cf_str_from(context));
    }
}

static void show(diff_job *job, const cf_diff *d, const char *context)
{
    const cf_tokenizer *tok = job->level == LEVEL_TOKENS ? job->pair.tok : NULL;
    bool is_equal = cf_diff_is_equal(d);
    job->n_differ += is_equal ? 0 : 1;
    if (job->cli->is_json) {
        begin_json(job, context);
        cf_diff_json(&job->out, d, tok);
        cf_buf_adds(&job->out, "}\n");
    } else if (!is_equal) {
        cf_diff_style style = job->style;
        style.tok = tok;
        add_name(job, "--- ", job->name_a, context);
        cf_buf_addc(&job->out, '\n');
        add_name(job, "+++ ", job->name_b, context);
        cf_buf_addc(&job->out, '\n');
        cf_diff_print(&job->out, d, &style);
    }
}

/* At least one template ends in an error on this context. */
static void show_errors(diff_job *job, const cf_diff_renders *r,
                        const char *context)
{
    bool is_equal = cf_diff_renders_fail_alike(r);
    job->n_differ += is_equal ? 0 : 1;
    if (job->cli->is_json) {
        begin_json(job, context);
        cf_buf_addf(&job->out, "\"equal\":%s", is_equal ? "true" : "false");
        cf_diff_all_errors(&job->out, r);
        cf_buf_adds(&job->out, "}\n");
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (r->status[i] != CF_OK) {
            add_name(job, i == 0 ? "--- " : "+++ ",
                     i == 0 ? job->name_a : job->name_b, context);
            cf_buf_addf(&job->out, ": %s\n", r->err[i].text);
        }
    }
}

static cf_status one_context(diff_job *job, const char *path, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_diff_renders r;
    cf_diff d;
    cf_arena_reset(&job->arena);
    cf_status st = cf_os_read_file(&text, path, CONTEXT_MAX, err);
    if (st == CF_OK) {
        st = cf_diff_pair_context(&job->pair, cf_buf_str(&text), &r,
                                  &job->arena, err);
        if (st != CF_OK) {
            cf_fail_in(err, st, path);
        }
    }
    if (st == CF_OK && (r.status[0] != CF_OK || r.status[1] != CF_OK)) {
        show_errors(job, &r, path);
    } else if (st == CF_OK) {
        st = compare(job, &d, &r, err);
        if (st == CF_OK) {
            show(job, &d, path);
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status sources(diff_job *job, cf_error *err)
{
    cf_diff d;
    CF_TRY(cf_diff_texts(&d, cf_diff_pair_source(&job->pair, 0),
                         cf_diff_pair_source(&job->pair, 1), &job->arena, err));
    show(job, &d, NULL);
    return CF_OK;
}

/* ---- the command -------------------------------------------------------- */

static const char *check(diff_job *job, int n_contexts)
{
    const char *level = job->level_name;
    if (job->name_a == NULL || job->name_b == NULL) {
        return "two templates are needed: -a and -b";
    }
    if (level == NULL || strcmp(level, "text") == 0) {
        job->level = LEVEL_TEXT;
    } else if (strcmp(level, "tokens") == 0) {
        job->level = LEVEL_TOKENS;
    } else if (strcmp(level, "source") == 0) {
        job->level = LEVEL_SOURCE;
    } else {
        return "--level is text, tokens or source";
    }
    if (job->is_side && job->is_unified) {
        return "either --side or --unified";
    }
    if (!job->is_all && (job->all.has_likelihood || job->all.jobs != 0)) {
        return "--likelihood and --jobs are options of --all";
    }
    if (job->cli->model.n > 1 && !job->all.has_likelihood) {
        return "several models are for --all --likelihood";
    }
    if (job->level == LEVEL_TOKENS && job->cli->open.model == NULL) {
        return "--level tokens needs a model (-m)";
    }
    if (job->level == LEVEL_SOURCE ? job->is_all || n_contexts > 0
                                   : job->is_all == (n_contexts > 0)) {
        return job->level == LEVEL_SOURCE ? "--level source takes no contexts"
                                          : "either contexts or --all";
    }
    return NULL;
}

static void choose_style(diff_job *job)
{
    bool is_terminal = isatty(STDOUT_FILENO) != 0;
    job->style.is_side = job->is_side;
    job->style.is_color = cf_color_wanted(job->cli->color, is_terminal);
    job->style.is_safe = is_terminal || job->style.is_color;
    if (!job->has_context) {
        job->style.n_context = DEFAULT_CONTEXT;
    }
    if (!job->has_width) {
        const char *columns = getenv("COLUMNS"); /* NOLINT */
        long n = columns != NULL ? strtol(columns, NULL, 10) : 0;
        job->style.width = n > 0 && n < 10000 ? (uint32_t)n : DEFAULT_WIDTH;
    }
}

/* With styles, the text between them is escaped where it is written. */
static cf_out_kind out_kind(const diff_job *job)
{
    return job->cli->is_json     ? CF_OUT_JSON
           : job->style.is_color ? CF_OUT_STYLED
                                 : CF_OUT_TEXT;
}

static int run(diff_job *job, int n, char **paths)
{
    cf_error err = {0};
    cf_status st = cf_diff_pair_open(&job->pair, &job->cli->open, job->name_a,
                                     job->name_b, &err);
    if (st == CF_OK && job->level == LEVEL_TOKENS && job->pair.tok == NULL) {
        st = cf_fail(&err, CF_EUNSUPPORTED,
                     "--level tokens needs a model file (-m)");
    }
    if (st == CF_OK && job->level == LEVEL_SOURCE) {
        st = sources(job, &err);
    } else if (st == CF_OK && job->is_all) {
        job->all.cli = job->cli;
        job->all.pair = &job->pair;
        job->all.a = job->name_a;
        job->all.b = job->name_b;
        st = cf_diff_all_run(&job->all, &err);
        job->n_differ = job->all.n_differ;
    }
    for (int i = 0; st == CF_OK && i < n; i++) {
        st = go_on(&err);
        CF_THEN(st, one_context(job, paths[i], &err));
    }
    int status = cf_cli_print_as(job->cli, &job->out, out_kind(job));
    if (st != CF_OK) {
        return cf_cli_fail(job->cli, &err);
    }
    return status != CF_EXIT_OK        ? status
           : job->all.n_unanswered > 0 ? CF_EXIT_ENGINE
           : job->all.is_unsaved       ? CF_EXIT_UNSAVED
           : job->n_differ > 0         ? CF_EXIT_FINDING
                                       : CF_EXIT_OK;
}

static bool names_model(const char *name)
{
    return name != NULL && strcmp(name, "model") == 0;
}

int cf_cmd_diff(cf_cli *cli, int argc, char **argv)
{
    diff_job job = {.cli = cli};
    const cf_opt own[] = {
        {"--left", 'a', CF_OPT_STR, &job.name_a, "FILE|NAME",
         "first template: a file, a built-in template, or \"model\": the one "
         "of "
         "-m, of a server the prompt that it makes",
         NULL},
        {"--right", 'b', CF_OPT_STR, &job.name_b, "FILE|NAME",
         "second template", NULL},
        {"--all", 0, CF_OPT_FLAG, &job.is_all, NULL,
         "list the saved conversations whose prompts differ", NULL},
        {"--likelihood", 0, CF_OPT_FLAG, &job.all.has_likelihood, NULL,
         "with --all: how likely the saved replies are after each prompt; "
         "several servers (-m URL -m URL) share the work",
         NULL},
        {"--jobs", 'j', CF_OPT_U32, &job.all.jobs, "N",
         "with --likelihood: requests under way at a time, over all addresses "
         "(default: 4 of each)",
         NULL},
        {"--level", 0, CF_OPT_STR, &job.level_name, "LEVEL",
         "compare text (default), tokens (with -m) or source", NULL},
        {"--unified", 0, CF_OPT_FLAG, &job.is_unified, NULL,
         "one column (default)", NULL},
        {"--side", 0, CF_OPT_FLAG, &job.is_side, NULL, "two columns", NULL},
        {"--width", 0, CF_OPT_U32, &job.style.width, "N",
         "width of a line with --side (default: $COLUMNS, else 120)",
         &job.has_width},
        {"--context", 'U', CF_OPT_U32, &job.style.n_context, "N",
         "equal lines shown around a change (default: 3)", &job.has_context},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n_rest;
    int done = cf_cli_options(cli, own, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (job.all.has_likelihood || names_model(job.name_a) ||
        names_model(job.name_b) ||
        (job.level_name != NULL && strcmp(job.level_name, "tokens") == 0)) {
        cf_open_want_model(&cli->open);
    }
    const char *wrong = check(&job, n_rest);
    if (wrong != NULL) {
        return cf_cli_usage(cli, wrong);
    }
    choose_style(&job);
    cf_arena_init(&job.arena, 0);
    int status = run(&job, n_rest, argv);
    cf_diff_pair_close(&job.pair);
    cf_buf_deinit(&job.out);
    cf_arena_deinit(&job.arena);
    return status;
}
