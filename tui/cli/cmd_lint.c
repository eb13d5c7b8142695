/*
 * cmd_lint.c - confab lint: the template doctor over files, bundled names and
 * models.
 */
#include <string.h>

#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "templates/builtin.h"
#include "templates/template_lint.h"
#include "tui/cli/cli.h"

typedef struct lint_job {
    const cf_cli *cli;
    bool shows_rules, shows_caps, shows_context, is_table;
    size_t n_errors;
} lint_job;

/* One thing to look over: a template, perhaps with the model it is in. */
typedef struct subject {
    const char *name;
    cf_buf source;
    cf_engine *engine; /* NULL: a template alone */
} subject;

static bool is_model(const char *name)
{
    size_t n = strlen(name);
    return strcmp(name, "bundled") == 0 ||
           (n > 5 && strcmp(name + n - 5, ".gguf") == 0);
}

static cf_status open_subject(subject *s, const char *name, cf_error *err)
{
    cf_str builtin = cf_template_builtin(name);
    s->name = name;
    if (is_model(name)) {
        const cf_open_options o = {.model = name};
        CF_TRY(cf_open_engine(&s->engine, &o, true, err));
        cf_str own = cf_engine_chat_template(s->engine, NULL);
        if (own.n == 0) {
            return cf_fail(err, CF_ENOTFOUND, "%s: has no chat template", name);
        }
        cf_buf_add(&s->source, own.p, own.n);
        return cf_buf_check(&s->source, err);
    }
    if (builtin.n != 0) {
        cf_buf_add(&s->source, builtin.p, builtin.n);
        return cf_buf_check(&s->source, err);
    }
    return cf_os_read_file(&s->source, name, 16 << 20, err);
}

static void close_subject(subject *s)
{
    cf_buf_deinit(&s->source);
    if (s->engine != NULL) {
        cf_engine_close(s->engine);
    }
}

static void put_line(cf_buf *out, cf_str s)
{
    cf_safe_line(out, s.p != NULL ? s.p : "", s.n);
}

static void print_finding(cf_buf *out, const lint_job *job, const char *name,
                          const cf_lint_finding *f)
{
    cf_buf_addf(out, "%s:", name);
    if (f->line != 0) {
        cf_buf_addf(out, "%u:%u:", (unsigned)f->line, (unsigned)f->col);
    }
    cf_buf_addf(out, " %s ", f->rule);
    put_line(out, f->message);
    cf_buf_addf(out, "\n    %s\n", f->effect);
    if (job->shows_context && f->context.n != 0) {
        cf_buf_adds(out, "    context: ");
        put_line(out, f->context);
        cf_buf_addc(out, '\n');
    }
}

static void print_caps(cf_buf *out, const cf_template_caps *c)
{
    cf_cap_row row;
    for (size_t i = 0; cf_template_caps_row(c, i, &row); i++) {
        cf_buf_addf(out, "    %-22s %s\n", row.label, row.value);
    }
}

static json_t *str_json(cf_str s)
{
    return json_stringn(s.p != NULL ? s.p : "", s.n);
}

/* NULL when memory ran out. */
static json_t *caps_json(const cf_template_caps *c)
{
    json_t *v = json_object();
    cf_cap_row row;
    for (size_t i = 0; v != NULL && cf_template_caps_row(c, i, &row); i++) {
        json_t *value = row.is_flag ? json_boolean(row.value[0] == 'y')
                                    : json_string(row.value);
        if (json_object_set_new(v, row.key, value) != 0) {
            json_decref(v);
            v = NULL;
        }
    }
    return v;
}

static json_t *report_json(const char *name, const cf_lint_report *r)
{
    json_t *findings = json_array();
    json_t *stability = json_array();
    for (size_t i = 0; i < r->n; i++) {
        const cf_lint_finding *f = &r->v[i];
        json_array_append_new(
            findings,
            json_pack("{s:s,s:i,s:i,s:o,s:s,s:s,s:o}", "rule", f->rule, "line",
                      (int)f->line, "column", (int)f->col, "message",
                      str_json(f->message), "effect", f->effect, "fix", f->fix,
                      "context", str_json(f->context)));
    }
    for (size_t i = 0; i < r->n_stability; i++) {
        const cf_lint_stability *s = &r->stability[i];
        json_t *row =
            json_pack("{s:s,s:b,s:b,s:b,s:b}", "name", s->name, "system",
                      s->with_system, "thinking", s->thinking, "rendered",
                      s->is_rendered, "stable", s->is_stable);
        if (!s->is_stable) {
            json_object_set_new(row, "offset",
                                json_integer((json_int_t)s->off));
            json_object_set_new(row, "message",
                                json_integer((json_int_t)s->message));
            json_object_set_new(row, "line", json_integer((json_int_t)s->line));
            json_object_set_new(row, "again",
                                json_integer((json_int_t)s->n_again));
        }
        json_array_append_new(stability, row);
    }
    return json_pack("{s:s,s:s,s:o,s:o,s:o}", "template", name, "family",
                     cf_tool_family_name(r->family), "findings", findings,
                     "capabilities", caps_json(&r->caps), "stability",
                     stability);
}

/* One row of a Markdown table: what is stable, what is dropped. */
static void print_row(cf_buf *out, const char *name, const cf_lint_report *r)
{
    size_t n_stable = 0, n_rendered = 0;
    for (size_t i = 0; i < r->n_stability; i++) {
        n_rendered += r->stability[i].is_rendered;
        n_stable += r->stability[i].is_rendered && r->stability[i].is_stable;
    }
    const cf_template_caps *c = &r->caps;
    cf_buf_addf(out, "| %s | %zu of %zu | %s | %s | %s | %s | %s |", name,
                n_stable, n_rendered, cf_cap_name(c->system),
                cf_cap_name(c->tools), cf_cap_name(c->tool_calls),
                cf_cap_name(c->tool_role), cf_cap_name(c->reasoning_history));
    const char *last = "";
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(last, r->v[i].rule) != 0) {
            last = r->v[i].rule;
            cf_buf_addf(out, " %s", last);
        }
    }
    cf_buf_adds(out, " |\n");
}

static cf_status lint_one(lint_job *job, const char *name, cf_error *err)
{
    subject s = {0};
    cf_arena arena;
    cf_lint_report report;
    cf_buf bos = CF_BUF_INIT, eos = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_lint_options options = {0};
    cf_arena_init(&arena, 0);
    cf_status st = open_subject(&s, name, err);
    if (st == CF_OK && s.engine != NULL) {
        const cf_tokenizer *tok = cf_engine_tokenizer(s.engine);
        cf_special_tokens special = cf_tokenizer_special(tok);
        options.tokenizer = tok;
        if (special.bos != CF_TOKEN_NONE) {
            cf_tokenizer_piece(&bos, tok, special.bos, true);
        }
        if (special.eos != CF_TOKEN_NONE) {
            cf_tokenizer_piece(&eos, tok, special.eos, true);
        }
        options.bos = cf_buf_str(&bos);
        options.eos = cf_buf_str(&eos);
        options.arch = cf_str_from(cf_engine_get_info(s.engine).arch);
        options.model_name = cf_str_from(cf_engine_get_info(s.engine).name);
    }
    CF_THEN(st, cf_template_lint(cf_buf_str(&s.source), &options, &arena,
                                 &report, err));
    if (st == CF_OK) {
        job->n_errors += report.n_errors;
        if (job->cli->is_json) {
            json_t *v = report_json(name, &report);
            cf_json_write(&out, v);
            cf_buf_addc(&out, '\n');
            json_decref(v);
        } else if (job->is_table) {
            print_row(&out, name, &report);
        } else {
            for (size_t i = 0; i < report.n; i++) {
                print_finding(&out, job, name, &report.v[i]);
            }
            cf_buf_addf(&out, "%s: %zu errors, %zu warnings, %zu notes\n", name,
                        report.n_errors, report.n_warnings, report.n_notes);
            if (job->shows_caps) {
                print_caps(&out, &report.caps);
            }
        }
        st = cf_buf_check(&out, err);
        if (st == CF_OK) {
            fwrite(out.p, 1, out.n, stdout);
        }
    }
    cf_buf_deinit(&bos);
    cf_buf_deinit(&eos);
    cf_buf_deinit(&out);
    cf_arena_deinit(&arena);
    close_subject(&s);
    return st;
}

static int print_rules(void)
{
    const cf_lint_rule *r;
    for (size_t i = 0; (r = cf_lint_rule_at(i)) != NULL; i++) {
        printf("%s  %s\n      %s\n      %s\n", r->id, r->title, r->effect,
               r->fix);
    }
    return CF_EXIT_OK;
}

int cf_cmd_lint(cf_cli *cli, int argc, char **argv)
{
    lint_job job = {.cli = cli};
    const cf_opt table[] = {
        {"--rules", 0, CF_OPT_FLAG, &job.shows_rules, NULL,
         "list the rules and the effect of each fault", NULL},
        {"--capabilities", 0, CF_OPT_FLAG, &job.shows_caps, NULL,
         "report what each template can do", NULL},
        {"--context", 0, CF_OPT_FLAG, &job.shows_context, NULL,
         "show a context that proves each finding", NULL},
        {"--table", 0, CF_OPT_FLAG, &job.is_table, NULL,
         "print one row of a Markdown table per template", NULL},
        {NULL, 0, CF_OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int n_rest;
    int done = cf_cli_options(cli, table, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (job.shows_rules) {
        return print_rules();
    }
    const char *given = cli->open.template_name != NULL
                            ? cli->open.template_name
                            : cli->open.model;
    if (n_rest == 0 && given == NULL) {
        return cf_cli_usage(cli, "no template or model was named");
    }
    if (job.is_table) {
        printf("| template | prefix-stable | system | tools | tool calls | "
               "tool role | reasoning kept | findings |\n"
               "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    }
    cf_error err;
    for (int i = 0; i < (n_rest > 0 ? n_rest : 1); i++) {
        cf_status st = lint_one(&job, n_rest > 0 ? argv[i] : given, &err);
        if (st != CF_OK) {
            return cf_cli_fail(cli, &err);
        }
    }
    return job.n_errors > 0 ? CF_EXIT_FINDING : CF_EXIT_OK;
}
