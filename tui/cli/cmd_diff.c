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
#include "tui/cli/diff_text.h"
#include "tui/cli/json_text.h"
#include "tui/lab/diff_pair.h"
#include "tui/lab/saved.h"
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
    size_t n_differ, n_done, n_failed;
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
static cf_status compare(diff_job *job, cf_diff *d, diff_level level,
                         const cf_diff_renders *r, cf_error *err)
{
    cf_token_list a, b;
    if (level != LEVEL_TOKENS) {
        return cf_diff_prompts(d, &r->prompt[0], &r->prompt[1], &job->arena,
                               err);
    }
    CF_TRY(
        cf_diff_pair_tokens(&job->pair, &r->prompt[0], &a, &job->arena, err));
    CF_TRY(
        cf_diff_pair_tokens(&job->pair, &r->prompt[1], &b, &job->arena, err));
    return cf_diff_tokens(d, &r->prompt[0], &a, &r->prompt[1], &b, &job->arena,
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

static void errors_json(diff_job *job, const cf_diff_renders *r)
{
    for (int i = 0; i < 2; i++) {
        if (r->status[i] != CF_OK) {
            cf_buf_addf(&job->out, ",\"error_%c\":", 'a' + i);
            cf_json_write_str(&job->out, cf_str_from(r->err[i].text));
        }
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
        errors_json(job, r);
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
        st = compare(job, &d, job->level, &r, err);
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

/* ---- every saved conversation ------------------------------------------- */

/* "text -3 +2 ~1 (line 12)" or its members in JSON. */
static void add_counts(diff_job *job, const cf_diff *d, const char *what,
                       const char *unit, uint32_t base)
{
    size_t i = 0;
    while (i < d->n_rows && d->rows[i].kind == CF_DIFF_KEPT) {
        i++;
    }
    if (job->cli->is_json) {
        cf_buf_addf(&job->out,
                    ",\"%s\":{\"equal\":%s,\"removed\":%zu,\"added\":%zu,"
                    "\"changed\":%zu,\"same_start\":%zu}",
                    what, cf_diff_is_equal(d) ? "true" : "false",
                    d->n_of[CF_DIFF_REMOVED], d->n_of[CF_DIFF_ADDED],
                    d->n_of[CF_DIFF_CHANGED], i);
    } else {
        cf_buf_addf(&job->out, "  %s -%zu +%zu ~%zu (%s %zu)", what,
                    d->n_of[CF_DIFF_REMOVED], d->n_of[CF_DIFF_ADDED],
                    d->n_of[CF_DIFF_CHANGED], unit, i + base);
    }
}

static void list_errors(diff_job *job, const cf_diff_renders *r)
{
    if (job->cli->is_json) {
        errors_json(job, r);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (r->status[i] != CF_OK) {
            cf_buf_addf(&job->out, "  %c: %s", 'a' + i, r->err[i].text);
        }
    }
}

/* Appends the conversation's line when its prompts differ. */
static cf_status list_one(diff_job *job, const cf_store_conv *conv,
                          const cf_diff_renders *r, cf_error *err)
{
    cf_diff text = {.n_rows = 0}, tokens = {.n_rows = 0};
    char id[CF_UUID_TEXT + 1];
    bool failed = r->status[0] != CF_OK || r->status[1] != CF_OK;
    bool is_equal;
    if (failed) {
        is_equal = cf_diff_renders_fail_alike(r);
        job->n_failed++;
    } else {
        CF_TRY(compare(job, &text, LEVEL_TEXT, r, err));
        if (job->pair.tok != NULL) {
            CF_TRY(compare(job, &tokens, LEVEL_TOKENS, r, err));
        }
        is_equal = cf_diff_is_equal(&text) && cf_diff_is_equal(&tokens);
    }
    if (is_equal) {
        return CF_OK;
    }
    job->n_differ++;
    cf_uuid_format(id, conv->id);
    cf_buf_addf(&job->out,
                job->cli->is_json ? "{\"conversation\":\"%s\"" : "%s", id);
    if (failed) {
        list_errors(job, r);
    } else {
        add_counts(job, &text, "text", "line", 1);
        if (job->pair.tok != NULL) {
            add_counts(job, &tokens, "tokens", "token", 0);
        }
    }
    cf_str title = conv->title.n > 0 ? conv->title : conv->preview;
    if (job->cli->is_json) {
        cf_buf_addc(&job->out, ',');
        cf_json_text_bytes(&job->out, "title", title);
        cf_buf_adds(&job->out, "}\n");
    } else {
        cf_buf_adds(&job->out, "  ");
        cf_cli_put_line(&job->out, title);
        cf_buf_addc(&job->out, '\n');
    }
    return cf_buf_check(&job->out, err);
}

/* With styles, the text between them is escaped where it is written. */
static cf_out_kind out_kind(const diff_job *job)
{
    return job->cli->is_json     ? CF_OUT_JSON
           : job->style.is_color ? CF_OUT_STYLED
                                 : CF_OUT_TEXT;
}

static cf_status one_saved(diff_job *job, cf_store *store,
                           const cf_store_conv *conv, cf_error *err)
{
    const cf_saved_choice choice = {.conversation = conv->id};
    cf_conversation *c = NULL;
    cf_diff_renders r;
    cf_arena_reset(&job->arena);
    if (conv->n_turns == 0) {
        return CF_OK;
    }
    cf_status st = cf_saved_load(&c, NULL, store, &choice, &job->arena, err);
    CF_THEN(st, cf_diff_pair_saved(&job->pair, c, &r, &job->arena, err));
    if (st == CF_OK) {
        job->n_done++;
        st = list_one(job, conv, &r, err);
    }
    cf_conversation_free(c);
    return st;
}

/* A page at a time, so that no list of all conversations is in memory. */
static cf_status one_place(diff_job *job, cf_store *store, cf_store_place place,
                           cf_error *err)
{
    cf_arena rows;
    cf_arena_init(&rows, 0);
    cf_store_query q = {.place = place, .sort = CF_SORT_CREATED, .limit = 200};
    cf_status st = CF_OK;
    for (size_t n = q.limit; st == CF_OK && n == q.limit; q.offset += n) {
        const cf_store_conv *v;
        cf_arena_reset(&rows);
        st = cf_store_list(store, &q, &rows, &v, &n, err);
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            st = go_on(err);
            CF_THEN(st, one_saved(job, store, &v[i], err));
            if (st == CF_OK) {
                cf_out(stdout, cf_buf_str(&job->out), out_kind(job));
                cf_buf_reset(&job->out);
            }
        }
    }
    cf_arena_deinit(&rows);
    return st;
}

static cf_status all_saved(diff_job *job, cf_error *err)
{
    cf_store *store;
    CF_TRY(cf_cli_open_store(&store, job->cli, CF_STORE_READ_ONLY, err));
    cf_status st = one_place(job, store, CF_PLACE_LIVE, err);
    CF_THEN(st, one_place(job, store, CF_PLACE_ARCHIVED, err));
    cf_store_close(store);
    if (st == CF_OK && job->cli->is_json) {
        cf_buf_addf(&job->out,
                    "{\"conversations\":%zu,\"differ\":%zu,\"failed\":%zu}\n",
                    job->n_done, job->n_differ, job->n_failed);
    } else if (st == CF_OK) {
        cf_buf_addf(&job->out, "%zu of %zu saved conversations differ\n",
                    job->n_differ, job->n_done);
    }
    return st;
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
        st = all_saved(job, &err);
    }
    for (int i = 0; st == CF_OK && i < n; i++) {
        st = go_on(&err);
        CF_THEN(st, one_context(job, paths[i], &err));
    }
    int status = cf_cli_print_as(job->cli, &job->out, out_kind(job));
    if (st != CF_OK) {
        return cf_cli_fail(job->cli, &err);
    }
    return status == CF_EXIT_OK && job->n_differ > 0 ? CF_EXIT_FINDING : status;
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
    if (names_model(job.name_a) || names_model(job.name_b) ||
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
