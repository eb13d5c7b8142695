/*
 * cmd_lint.c - confab lint: finds the faults of templates in files, by name,
 * and in models.
 */
#include <string.h>

#include "core/base/os.h"
#include "templates/builtin.h"
#include "templates/lint_output.h"
#include "templates/model_beside.h"
#include "templates/model_place.h"
#include "templates/open.h"
#include "templates/template_lint.h"
#include "tui/cli/shell/cli.h"

typedef struct lint_job {
    cf_cli *cli;
    bool shows_rules, is_table;
    const char *format;
    const char *client; /* --client; NULL: none */
    cf_lint_output output;
    size_t n_errors;
} lint_job;

/* One thing to lint: a template, perhaps with the model that it is in, or that
 * it is for. */
typedef struct subject {
    const char *name;
    cf_buf source;
    bool is_model;     /* the template is the model's own */
    cf_engine *engine; /* NULL: a template alone */
    cf_media *media;   /* its projector; NULL: none is known */
} subject;

static cf_status open_model(subject *s, const cf_open_options *o, cf_error *err)
{
    CF_TRY(cf_open_engine(&s->engine, o, true, err));
    return cf_open_media(&s->media, s->engine, o, err);
}

/* `which` NULL: the default template of a model. */
static cf_status open_subject(subject *s, const char *name, const char *which,
                              const cf_open_options *given, cf_error *err)
{
    cf_str builtin = cf_template_builtin(name);
    cf_open_options o = {.model = given->model, .mmproj = given->mmproj};
    s->name = name;
    s->is_model = cf_model_place_is_model(name);
    if (s->is_model) {
        o.model = name;
        CF_TRY(open_model(s, &o, err));
        cf_str own = cf_engine_chat_template(s->engine, which);
        if (own.n == 0) {
            return cf_fail(err, CF_ENOTFOUND, "%s: has no chat template", name);
        }
        cf_buf_add(&s->source, own.p, own.n);
        return cf_buf_check(&s->source, err);
    }
    if (given->model != NULL && cf_model_place_is_model(given->model)) {
        CF_TRY(open_model(s, &o, err));
    } else if (given->mmproj != NULL) {
        return cf_fail(err, CF_EINVAL, "--mmproj: a projector is read with its model (-m)");
    }
    if (builtin.n != 0) {
        cf_buf_add(&s->source, builtin.p, builtin.n);
        return cf_buf_check(&s->source, err);
    }
    return cf_open_template_text(&s->source, name, err);
}

static void close_subject(subject *s)
{
    cf_buf_deinit(&s->source);
    cf_media_close(s->media);
    if (s->engine != NULL) {
        cf_engine_close(s->engine);
    }
}

/* Says where the GGUF's template is not that of its repository. */
static void tell_note(const subject *s)
{
    cf_buf note = CF_BUF_INIT;
    cf_model_template_note(&note, s->engine, s->name);
    if (note.n != 0) {
        cf_note("confab lint: %s", cf_buf_cstr(&note));
    }
    cf_buf_deinit(&note);
}

/* Lints one template: of a model the one of this name, NULL: the default one;
 * *has_tools: the model has another one for conversations with tools. */
static cf_status lint_one(lint_job *job, const char *name, const char *which, bool *has_tools,
                          cf_error *err)
{
    subject s = {0};
    cf_buf shown = CF_BUF_INIT;
    cf_arena arena;
    cf_lint_report report;
    cf_lint_options options = {0};
    cf_arena_init(&arena, 0);
    cf_status st = open_subject(&s, name, which, &job->cli->open, err);
    cf_buf_adds(&shown, name);
    if (which != NULL) {
        cf_buf_addf(&shown, " (%s)", which);
    }
    CF_THEN(st, cf_buf_check(&shown, err));
    if (job->client != NULL) {
        options.client = cf_str_from(job->client);
    }
    if (st == CF_OK && s.engine != NULL) {
        st = cf_lint_describe_model(&options, cf_engine_tokenizer(s.engine), s.engine, s.media,
                                    &arena, err);
    }
    if (st == CF_OK && s.is_model) {
        *has_tools = cf_engine_chat_template(s.engine, "tool_use").p != NULL;
        if (which == NULL) {
            tell_note(&s);
        }
    }
    CF_THEN(st, cf_template_lint(cf_buf_str(&s.source), &options, &arena, &report, err));
    if (st == CF_OK) {
        job->n_errors += report.n_errors;
        cf_lint_output_one(&job->output, cf_buf_cstr(&shown), &report);
        st = cf_buf_check(&job->cli->out, err);
    }
    cf_buf_deinit(&shown);
    cf_arena_deinit(&arena);
    close_subject(&s);
    return st;
}

static int print_rules(const cf_cli *cli)
{
    const cf_lint_rule *r;
    cf_buf out = CF_BUF_INIT;
    for (size_t i = 0; (r = cf_lint_rule_at(i)) != NULL; i++) {
        cf_buf_addf(&out, "%s  %s\n      %s\n      %s\n", r->id, r->title, r->effect, r->fix);
    }
    int status = cf_cli_print(cli, &out);
    cf_buf_deinit(&out);
    return status;
}

static bool is_client(const char *name)
{
    const char *known;
    bool is_known = strcmp(name, "all") == 0;
    for (size_t i = 0; (known = cf_lint_client_at(i)) != NULL; i++) {
        is_known = is_known || strcmp(known, name) == 0;
    }
    return is_known;
}

/* "no client 'x': a, b, all" */
static int bad_client(const cf_cli *cli, const char *name)
{
    cf_buf text = CF_BUF_INIT;
    const char *known;
    cf_buf_addf(&text, "no client '%s':", name);
    for (size_t i = 0; (known = cf_lint_client_at(i)) != NULL; i++) {
        cf_buf_addf(&text, " %s,", known);
    }
    cf_buf_adds(&text, " all");
    int status = cf_cli_usage(cli, cf_buf_cstr(&text));
    cf_buf_deinit(&text);
    return status;
}

/* Prints the text written so far; an exit status. */
static int flush(lint_job *job)
{
    int status =
        cf_cli_print_as(job->cli, &job->cli->out,
                        cf_lint_format_is_json(job->output.format) ? CF_OUT_JSON : CF_OUT_TEXT);
    cf_buf_reset(&job->cli->out);
    return status;
}

static int lint_all(lint_job *job, const char *const *names, int n)
{
    cf_error err;
    job->output.out = &job->cli->out;
    cf_lint_output_begin(&job->output);
    for (int i = 0; i < n; i++) {
        bool has_tools = false;
        cf_status st = lint_one(job, names[i], NULL, &has_tools, &err);
        if (st == CF_OK && has_tools) {
            st = lint_one(job, names[i], "tool_use", &has_tools, &err);
        }
        if (st != CF_OK) {
            return cf_cli_fail(job->cli, &err);
        }
        int status = flush(job);
        if (status != CF_EXIT_OK) {
            return status;
        }
    }
    cf_lint_output_end(&job->output);
    int status = flush(job);
    return status != CF_EXIT_OK ? status : job->n_errors > 0 ? CF_EXIT_FINDING : CF_EXIT_OK;
}

static const cf_opt_row options[] = {
    {"--rules", 0, CF_OPT_FLAG, offsetof(lint_job, shows_rules), NULL,
     "list the rules and what each fault does to the model", 0},
    {"--capabilities", 0, CF_OPT_FLAG, offsetof(lint_job, output.shows_caps), NULL,
     "report what each template can do", 0},
    {"--context", 0, CF_OPT_FLAG, offsetof(lint_job, output.shows_context), NULL,
     "show a context that demonstrates each finding", 0},
    {"--client", 0, CF_OPT_STR, offsetof(lint_job, client), "claude-code|codex|goose|langchain|opencode|all",
     "also try the requests of a client, or of all",
     0},
    {"--format", 0, CF_OPT_STR, offsetof(lint_job, format), "text|json|table|sarif|github|junit",
     "form of the report", 0},
    {"--table", 0, CF_OPT_FLAG, offsetof(lint_job, is_table), NULL,
     "print one row of a Markdown table per template", 0},
    CF_OPT_ROWS_END,
};

static int run_lint(cf_cli *cli, void *state)
{
    lint_job *job = state;
    job->cli = cli;
    if (job->shows_rules) {
        return print_rules(cli);
    }
    const char *given =
        cli->open.template_name != NULL ? cli->open.template_name : cf_open_model(&cli->open);
    if (cli->n_args == 0 && given == NULL) {
        return cf_cli_usage(cli, "needs a template or a model");
    }
    if (job->client != NULL && !is_client(job->client)) {
        return bad_client(cli, job->client);
    }
    job->format = job->format != NULL ? job->format
                  : cli->is_json      ? "json"
                  : job->is_table     ? "table"
                                      : "text";
    job->output.format = cf_lint_format_find(job->format);
    if (job->output.format == NULL) {
        return cf_cli_usage(cli, "--format takes text, json, table, sarif, github or junit");
    }
    int status = lint_all(job, cli->n_args > 0 ? (const char *const *)cli->args : &given,
                          cli->n_args > 0 ? cli->n_args : 1);
    cf_buf_deinit(&job->cli->out);
    return status;
}

const cf_cli_command cf_cmd_lint = {
    .name = "lint",
    .arguments = "[TEMPLATE|MODEL ...]",
    .summary = "find faults in chat templates",
    .options = options,
    .state_bytes = sizeof(lint_job),
    .n_max = CF_ARGS_ANY,
    .run = run_lint,
};
