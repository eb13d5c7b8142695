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
#include "tui/cli/answers/diff_text.h"
#include "tui/cli/answers/json_text.h"
#include "tui/cli/inspect/diff_all.h"
#include "tui/cli/inspect/diff_replies.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/render_media.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/lab/prompt/diff_pair.h"
#include "tui/sys/out.h"

enum { CONTEXT_MAX = 256 << 20, DEFAULT_CONTEXT = 3, DEFAULT_WIDTH = 120, DEFAULT_TOKENS = 128 };

typedef enum diff_level { LEVEL_TEXT, LEVEL_TOKENS, LEVEL_SOURCE } diff_level;

typedef struct diff_job {
    cf_cli *cli;
    const char *name_a, *name_b, *level_name;
    cf_buf label[2]; /* the names of the sides, with their adapters */
    bool is_all, is_side, is_unified, has_context, has_width;
    bool as_is;       /* messages and tools reach the templates unchanged */
    bool has_replies; /* what the model answers is compared, not its prompts */
    cf_opt_list lora[2];
    cf_diff_replies_options reply;
    cf_diff_replies replies; /* open with has_replies */
    diff_level level;
    cf_diff_style style;
    cf_diff_pair pair;
    cf_render_media media; /* shows pictures and sounds as blocks */
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
static cf_status compare(diff_job *job, cf_diff *d, const cf_diff_renders *r, cf_error *err)
{
    return job->level == LEVEL_TOKENS
               ? cf_diff_pair_by_tokens(&job->pair, d, r, &job->arena, err)
               : cf_diff_prompts(d, &r->prompt[0], &r->prompt[1], &job->arena, err);
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

static void add_name(diff_job *job, const char *sign, const char *name, const char *context)
{
    cf_buf_adds(&job->out, sign);
    cf_cli_put_line(&job->out, cf_str_from(name));
    if (context != NULL) {
        cf_buf_adds(&job->out, "  ");
        cf_cli_put_line(&job->out, cf_str_from(context));
    }
}

/* The replies of both sides as members of the object: "same" is the number of
 * tokens that both begin with. */
static void replies_json(diff_job *job, const cf_diff_reply v[2])
{
    size_t same = 0;
    while (same < v[0].tokens.n && same < v[1].tokens.n &&
           v[0].tokens.v[same].id == v[1].tokens.v[same].id) {
        same++;
    }
    cf_buf_adds(&job->out, "\"replies\":[");
    for (int i = 0; i < 2; i++) {
        cf_buf_adds(&job->out, i == 0 ? "{" : ",{");
        cf_json_text_bytes(&job->out, "text", v[i].text.text);
        cf_buf_addf(&job->out, ",\"tokens\":%zu,\"stop\":\"%s\"}", v[i].tokens.n,
                    v[i].is_cut ? "length" : "end");
    }
    cf_buf_addf(&job->out, "],\"same\":%zu,", same);
}

/* `replies` NULL: prompts or sources are compared. */
static void show(diff_job *job, const cf_diff *d, const char *context, const cf_diff_reply *replies)
{
    const cf_tokenizer *tok = job->level == LEVEL_TOKENS ? job->pair.tok : NULL;
    bool is_equal = cf_diff_is_equal(d);
    job->n_differ += is_equal ? 0 : 1;
    if (job->cli->is_json) {
        begin_json(job, context);
        if (replies != NULL) {
            replies_json(job, replies);
        }
        cf_diff_json(&job->out, d, tok);
        cf_buf_adds(&job->out, "}\n");
    } else if (!is_equal) {
        cf_diff_style style = job->style;
        style.tok = tok;
        add_name(job, "--- ", cf_buf_cstr(&job->label[0]), context);
        cf_buf_addc(&job->out, '\n');
        add_name(job, "+++ ", cf_buf_cstr(&job->label[1]), context);
        cf_buf_addc(&job->out, '\n');
        cf_diff_print(&job->out, d, &style);
    }
}

/* At least one template ends in an error on this context. */
static void show_errors(diff_job *job, const cf_diff_renders *r, const char *context)
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
            add_name(job, i == 0 ? "--- " : "+++ ", i == 0 ? job->name_a : job->name_b, context);
            cf_buf_addf(&job->out, ": %s\n", r->err[i].text);
        }
    }
}

/* Compares what the model answers to both prompts. */
static cf_status compare_replies(diff_job *job, const cf_diff_renders *r, const char *path,
                                 cf_error *err)
{
    cf_diff_reply v[2];
    cf_diff d;
    CF_TRY(cf_diff_replies_write(&job->replies, r->prompt, cf_cli_cancel(), &job->arena, v, err));
    CF_TRY(job->level == LEVEL_TOKENS
               ? cf_diff_tokens(&d, &v[0].text, &v[0].tokens, &v[1].text, &v[1].tokens, &job->arena,
                                err)
               : cf_diff_texts(&d, v[0].text.text, v[1].text.text, &job->arena, err));
    show(job, &d, path, v);
    return CF_OK;
}

static cf_status one_context(diff_job *job, const char *path, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_diff_renders r;
    cf_diff d;
    cf_arena_reset(&job->arena);
    cf_status st = cf_os_read_file(&text, path, CONTEXT_MAX, err);
    if (st == CF_OK) {
        st = cf_diff_pair_context(&job->pair, cf_buf_str(&text), &r, &job->arena, err);
        if (st != CF_OK) {
            cf_fail_in(err, st, path);
        }
    }
    if (st == CF_OK && (r.status[0] != CF_OK || r.status[1] != CF_OK)) {
        show_errors(job, &r, path);
    } else if (st == CF_OK && job->has_replies) {
        st = compare_replies(job, &r, path, err);
    } else if (st == CF_OK) {
        st = compare(job, &d, &r, err);
        if (st == CF_OK) {
            show(job, &d, path, NULL);
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status sources(diff_job *job, cf_error *err)
{
    cf_diff d;
    CF_TRY(cf_diff_texts(&d, cf_diff_pair_source(&job->pair, 0), cf_diff_pair_source(&job->pair, 1),
                         &job->arena, err));
    show(job, &d, NULL, NULL);
    return CF_OK;
}

/* ---- the command -------------------------------------------------------- */

static bool names_model(const char *name)
{
    return name != NULL && strcmp(name, "model") == 0;
}

/* NULL, or what is wrong with the options. */
static const char *check(diff_job *job, int n_contexts)
{
    const char *level = job->level_name;
    if (names_model(job->name_a) || names_model(job->name_b) || job->has_replies ||
        job->all.has_likelihood || (level != NULL && strcmp(level, "tokens") == 0)) {
        cf_open_want_model(&job->cli->open);
    }
    if (job->cli->open.n_lora != 0) {
        return "--lora-a and --lora-b say which side computes with an adapter";
    }
    if (job->cli->open.n_steer != 0) {
        return "--steer: the sides of a comparison are not steered";
    }
    if (job->has_replies && (job->is_all || (level != NULL && strcmp(level, "source") == 0))) {
        return "replies are compared over contexts, as text or tokens";
    }
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
    return job->cli->is_json ? CF_OUT_JSON : job->style.is_color ? CF_OUT_STYLED : CF_OUT_TEXT;
}

static cf_status open_replies(diff_job *job, cf_error *err)
{
    if (job->pair.engine == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "comparing replies needs the built-in engine (-m)");
    }
    for (int i = 0; i < 2; i++) {
        job->reply.lora[i] = job->lora[i].v;
        job->reply.n_lora[i] = job->lora[i].n;
    }
    job->reply.seed = job->cli->seed;
    job->reply.n_ctx = job->cli->open.n_ctx;
    return cf_diff_replies_open(&job->replies, job->pair.engine, &job->reply, err);
}

/* "model" where a side is not said, and adapters in the names of sides. */
static cf_status name_sides(diff_job *job, cf_error *err)
{
    const char **names[2] = {&job->name_a, &job->name_b};
    job->has_replies = job->has_replies || job->lora[0].n + job->lora[1].n != 0;
    for (int i = 0; job->has_replies && i < 2; i++) {
        *names[i] = *names[i] != NULL ? *names[i] : "model";
    }
    for (int i = 0; i < 2; i++) {
        cf_buf *out = &job->label[i];
        cf_buf_adds(out, *names[i] != NULL ? *names[i] : "");
        for (size_t k = 0; k < job->lora[i].n; k++) {
            cf_buf_addf(out, "%s%s", k == 0 ? " with " : ", ", job->lora[i].v[k]);
        }
        CF_TRY(cf_buf_check(out, err));
    }
    return CF_OK;
}

/* With the model's projector each picture and sound is a block with its
 * tokens; where replies are compared the prompts stay as templates write
 * them. */
static cf_status see_media(diff_job *job, cf_error *err)
{
    if (job->pair.engine == NULL || job->has_replies || job->all.has_likelihood ||
        job->level == LEVEL_SOURCE) {
        return CF_OK;
    }
    CF_TRY(cf_render_media_open(&job->media, job->pair.engine, &job->cli->open, err));
    cf_diff_pair_see(&job->pair, job->media.cache);
    return CF_OK;
}

static int run(diff_job *job, int n, char **paths)
{
    cf_error err = {0};
    cf_status st = cf_diff_pair_open(&job->pair, &job->cli->open, job->has_replies, job->name_a,
                                     job->name_b, &err);
    job->pair.as_is = job->as_is;
    if (st == CF_OK && job->has_replies) {
        st = open_replies(job, &err);
    }
    CF_THEN(st, see_media(job, &err));
    if (st == CF_OK && job->level == LEVEL_TOKENS && job->pair.tok == NULL) {
        st = cf_fail(&err, CF_EUNSUPPORTED, "--level tokens needs a model file (-m)");
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

static const diff_job initial = {.reply = {.max_tokens = DEFAULT_TOKENS}};

static const cf_opt_row options[] = {
    {"--left", 'a', CF_OPT_STR, offsetof(diff_job, name_a), "FILE|TEMPLATE",
     "first template: a file, a built-in template, or \"model\" for that of -m "
     "(of a server: the prompt it renders)",
     0},
    {"--right", 'b', CF_OPT_STR, offsetof(diff_job, name_b), "FILE|TEMPLATE", "second template", 0},
    {"--replies", 0, CF_OPT_FLAG, offsetof(diff_job, has_replies), NULL,
     "compare the replies of the model (-m) to both prompts", 0},
    {"--lora-a", 0, CF_OPT_LIST, offsetof(diff_job, lora[0]), "FILE[=SCALE]",
     "compare replies, with this adapter on the first side; may be repeated", 0},
    {"--lora-b", 0, CF_OPT_LIST, offsetof(diff_job, lora[1]), "FILE[=SCALE]",
     "the same for the second side", 0},
    {"--tokens", 'n', CF_OPT_U32, offsetof(diff_job, reply.max_tokens), "N",
     "--replies: generate at most N tokens for each reply (default: 128)", 0},
    {"--temperature", 0, CF_OPT_F32, offsetof(diff_job, reply.temperature), "T",
     "--replies: sample at this temperature (default: 0, the most probable "
     "token)",
     0},
    {"--all", 0, CF_OPT_FLAG, offsetof(diff_job, is_all), NULL,
     "list the saved conversations whose prompts differ", 0},
    CF_ROW_AS_IS(offsetof(diff_job, as_is)),
    {"--likelihood", 0, CF_OPT_FLAG, offsetof(diff_job, all.has_likelihood), NULL,
     "with --all: compute the likelihood of the saved replies after each "
     "prompt; several servers (-m URL -m URL) share the work",
     0},
    {"--jobs", 'j', CF_OPT_U32, offsetof(diff_job, all.jobs), "N",
     "with --likelihood: number of requests in flight over all servers "
     "(default: 4 per server)",
     0},
    {"--level", 0, CF_OPT_STR, offsetof(diff_job, level_name), "LEVEL",
     "compare text (default), tokens (with -m) or source", 0},
    {"--unified", 0, CF_OPT_FLAG, offsetof(diff_job, is_unified), NULL, "one column (default)", 0},
    {"--side", 0, CF_OPT_FLAG, offsetof(diff_job, is_side), NULL, "two columns", 0},
    {"--width", 0, CF_OPT_U32, offsetof(diff_job, style.width), "N",
     "with --side: width of a line (default: $COLUMNS, else 120)", offsetof(diff_job, has_width)},
    {"--context", 'U', CF_OPT_U32, offsetof(diff_job, style.n_context), "N",
     "number of equal lines shown around a change (default: 3)", offsetof(diff_job, has_context)},
    CF_OPT_ROWS_END,
};

static int run_diff(cf_cli *cli, void *state)
{
    diff_job *job = state;
    job->cli = cli;
    cf_error err;
    cf_arena_init(&job->arena, 0);
    const char *wrong = NULL;
    int status;
    if (name_sides(job, &err) != CF_OK) {
        status = cf_cli_fail(cli, &err);
    } else if ((wrong = check(job, cli->n_args)) != NULL) {
        status = cf_cli_usage(cli, wrong);
    } else {
        choose_style(job);
        status = run(job, cli->n_args, cli->args);
    }
    cf_diff_replies_close(&job->replies);
    cf_render_media_close(&job->media);
    cf_render_media_close(&job->media); /* before its engine */
    cf_diff_pair_close(&job->pair);
    cf_buf_deinit(&job->label[0]);
    cf_buf_deinit(&job->label[1]);
    cf_buf_deinit(&job->out);
    cf_arena_deinit(&job->arena);
    return status;
}

const cf_cli_command cf_cmd_diff = {
    .name = "diff",
    .arguments = "-a T1 -b T2 [CONTEXT.json ...]",
    .summary = "compare two chat templates on contexts or saved conversations",
    .options = options,
    .state_bytes = sizeof(diff_job),
    .initial = &initial,
    .n_max = CF_ARGS_ANY,
    .run = run_diff,
};
