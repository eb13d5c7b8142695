/*
 * cmd_parse.c - confab parse: parses a reply into text, calls and findings.
 */
#include <string.h>

#include "core/api/tool.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "templates/open.h"
#include "tui/cli/shell/cli.h"
#include "tui/cli/talk/parse_reply.h"
#include "tui/sys/out.h"

enum { REPLY_MAX = 16 << 20 };

/* ---- batch -------------------------------------------------------------- */

static cf_status batch_item(void *ud, const json_t *item, cf_buf *answer, cf_error *err)
{
    const cf_tool_family *fallback = ud;
    cf_tool_family family = *fallback;
    cf_str name = cf_json_get_str(item, "family");
    if (name.p != NULL) {
        CF_TRY(cf_tool_family_read(&family, name, err));
    }
    cf_str raw = cf_json_get_str(item, "raw");
    if (raw.p == NULL) {
        return cf_fail(err, CF_EINVAL, "\"raw\" is missing or not a string");
    }
    cf_tool_set *tools = NULL;
    const json_t *declared = json_object_get(item, "tools");
    if (declared != NULL && !json_is_null(declared)) {
        CF_TRY(cf_tool_set_new(&tools, declared, err));
    }
    cf_parsed p;
    cf_status st =
        cf_parsed_init(&p, family, tools, cf_json_get_str(item, "prefill"), raw, 0, 0, err);
    if (st == CF_OK) {
        cf_parsed_write(answer, &p, false);
        cf_parsed_deinit(&p);
    }
    cf_tool_set_free(tools);
    return st;
}

/* ---- one reply ---------------------------------------------------------- */

static void print_text(const cf_parsed *p, cf_buf *out)
{
    const cf_tool_parse *parse = p->parse;
    if (p->thinking.n > 0) {
        cf_buf_adds(out, "think   ");
        cf_json_write_str(out, cf_buf_str(&p->thinking));
        cf_buf_addc(out, '\n');
    }
    for (size_t i = 0; i < parse->n_segments; i++) {
        const cf_tool_segment *s = &parse->segments[i];
        cf_str bytes = cf_str_make(parse->raw.p + s->off, s->len);
        if (s->kind == CF_TOOL_SEG_TEXT) {
            cf_buf_adds(out, "text    ");
            cf_json_write_str(out, bytes);
            cf_buf_addc(out, '\n');
        } else if (s->kind == CF_TOOL_SEG_FAILED) {
            cf_buf_adds(out, "failed  ");
            cf_json_write_str(out, bytes);
            cf_buf_addf(out, "\n  byte %zu: expected %.*s\n", s->error_off, (int)s->expected.n,
                        s->expected.p);
            if (s->repair.n > 0) {
                cf_buf_addf(out, "  would parse: %.*s\n", (int)s->repair_how.n, s->repair_how.p);
            }
        }
        for (size_t k = 0; k < s->n_calls; k++) {
            const cf_tool_call *c = &parse->calls[s->first_call + k];
            cf_buf_addf(out, "call    %.*s %.*s  %s\n", (int)c->name.n, c->name.p,
                        (int)c->arguments.n, c->arguments.p, cf_tool_status_name(c->status));
        }
    }
    for (size_t i = 0; i < parse->n_findings; i++) {
        const cf_tool_finding *f = &parse->findings[i];
        cf_buf_addf(out, "%-7s ", f->status == CF_TOOL_VALID ? "note" : "finding");
        if (f->status != CF_TOOL_VALID) {
            cf_buf_addf(out, "%s ", cf_tool_status_name(f->status));
        }
        if (f->path.n > 0) {
            cf_buf_addf(out, "%.*s ", (int)f->path.n, f->path.p);
        }
        cf_buf_addf(out, "(bytes %zu..%zu): %.*s\n", f->off, f->off + f->len, (int)f->text.n,
                    f->text.p);
    }
    cf_buf_addf(out, "status  %s\n", cf_tool_status_name(parse->status));
}

/* The options of one run of the command. */
typedef struct job {
    cf_tool_family family;
    const cf_tool_set *tools;
    cf_str prefill;
    bool all;
} job;

/* Which other families would find calls in the same bytes. */
static cf_status other_families(cf_buf *out, const job *j, cf_str raw, cf_error *err)
{
    for (int i = 0; i < CF_TOOL_FAMILY_N; i++) {
        if (i == (int)j->family) {
            continue;
        }
        cf_parsed p;
        CF_TRY(cf_parsed_init(&p, (cf_tool_family)i, j->tools, j->prefill, raw, 0, 0, err));
        if (p.parse->n_calls > 0) {
            cf_buf_addf(out, "also    %s would find %zu call%s\n",
                        cf_tool_family_name((cf_tool_family)i), p.parse->n_calls,
                        p.parse->n_calls == 1 ? "" : "s");
        }
        cf_parsed_deinit(&p);
    }
    return CF_OK;
}

static cf_status read_tools(cf_tool_set **out, const char *path, cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_json_read_file(&v, path, err));
    cf_status st = cf_tool_set_new(out, v, err);
    json_decref(v);
    return st;
}

/* The family named, or the one the model's template and metadata point to. */
static cf_status choose_family(cf_cli *cli, const char *name, cf_tool_family *out, cf_error *err)
{
    if (name != NULL) {
        return cf_tool_family_read(out, cf_str_from(name), err);
    }
    if (cli->open.template_name == NULL && cf_open_model(&cli->open) == NULL) {
        *out = CF_TOOLS_GENERIC;
        return CF_OK;
    }
    cf_buf text = CF_BUF_INIT;
    cf_str arch = cf_str_make(NULL, 0), model = arch;
    cf_status st = CF_OK;
    if (cf_open_model(&cli->open) != NULL) {
        st = cf_open_engine(&cli->opened.engine, &cli->open, true, err);
    }
    if (st == CF_OK && cli->opened.engine != NULL) {
        cf_engine_info info = cf_engine_get_info(cli->opened.engine);
        arch = cf_str_from(info.arch);
        model = cf_str_from(info.name);
    }
    const char *why;
    CF_THEN(st, cf_open_template_source(&text, &why, &cli->open, cli->opened.engine, err));
    if (st == CF_OK) {
        cf_str source = cf_buf_str(&text);
        *out = cf_tool_family_detect(source, arch, model, &why);
        cf_note("family %s: %s", cf_tool_family_name(*out), why);
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status one_family(cf_buf *out, const cf_cli *cli, const job *j, cf_str raw,
                            bool *is_valid, cf_error *err)
{
    cf_parsed p;
    CF_TRY(cf_parsed_init(&p, j->family, j->tools, j->prefill, raw, 0, 0, err));
    cf_status st = CF_OK;
    if (cli->is_json) {
        cf_buf_addf(out, "{\"family\":\"%s\",", cf_tool_family_name(j->family));
        cf_parsed_write(out, &p, true);
        cf_buf_adds(out, "}\n");
    } else {
        print_text(&p, out);
        if (p.parse->n_calls == 0) {
            st = other_families(out, j, raw, err);
        }
    }
    *is_valid = p.parse->status == CF_TOOL_VALID;
    cf_parsed_deinit(&p);
    return st;
}

static cf_status run_one(const cf_cli *cli, const job *j, cf_str raw, bool *is_valid, cf_error *err)
{
    cf_buf out = CF_BUF_INIT;
    cf_status st = j->all
                       ? cf_parse_all(&out, j->tools, j->prefill, raw, cli->is_json, is_valid, err)
                       : one_family(&out, cli, j, raw, is_valid, err);
    CF_THEN(st, cf_buf_check(&out, err));
    if (st == CF_OK) {
        cf_out(stdout, cf_buf_str(&out), cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    }
    cf_buf_deinit(&out);
    return st;
}

/* The help of --family: all names. */
static const char *family_help(char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (int i = CF_TOOLS_NONE + 1; i < CF_TOOL_FAMILY_N; i++) {
        n += (size_t)snprintf(out + n, n < size ? size - n : 0, "%s, ",
                              cf_tool_family_name((cf_tool_family)i));
    }
    snprintf(out + n, n < size ? size - n : 0, "or none (default: from -t or -m, else generic)");
    return out;
}

typedef struct asked {
    const char *family_name, *tools_path, *batch, *prefill;
    char names[2048]; /* help of --family */
    job j;
} asked;

static const asked initial = {.j = {.family = CF_TOOLS_GENERIC}};

static const cf_opt_row options[] = {
    {"--all", 0, CF_OPT_FLAG, offsetof(asked, j.all), NULL,
     "try every family: which one parses the reply, and where the others stop", 0},
    {"--tools", 0, CF_OPT_STR, offsetof(asked, tools_path), "FILE",
     "declarations to check the calls against", 0},
    {"--prefill", 0, CF_OPT_STR, offsetof(asked, prefill), "TEXT",
     "the end of the prompt, if it already opens the thinking", 0},
    {"--batch", 0, CF_OPT_STR, offsetof(asked, batch), "FILE",
     "lines of {\"name\",\"family\",\"tools\",\"raw\",\"prefill\"}", 0},
    CF_OPT_ROWS_END,
};

/* --family, whose help names the families. */
static size_t more(void *state, cf_opt *out)
{
    asked *a = state;
    out[0] = (cf_opt){.name = "--family",
                      .letter = 'f',
                      .kind = CF_OPT_STR,
                      .to = &a->family_name,
                      .value = "FAMILY",
                      .help = family_help(a->names, sizeof a->names)};
    out[1] = (cf_opt){.name = NULL};
    return 1;
}

static int run_parse(cf_cli *cli, void *state)
{
    asked *a = state;
    cf_error err;
    if (choose_family(cli, a->family_name, &a->j.family, &err) != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    if (a->batch != NULL) {
        return cf_cli_batch(cli, a->batch, batch_item, &a->j.family);
    }
    cf_tool_set *tools = NULL;
    cf_buf raw = CF_BUF_INIT;
    bool is_valid = true;
    cf_status st = CF_OK;
    if (a->tools_path != NULL) {
        st = read_tools(&tools, a->tools_path, &err);
    }
    if (st == CF_OK && cli->n_args == 1) {
        cf_buf_adds(&raw, cli->args[0]);
        st = cf_buf_check(&raw, &err);
    } else if (st == CF_OK) {
        st = cf_os_read_file(&raw, "-", REPLY_MAX, &err);
    }
    a->j.tools = tools;
    a->j.prefill = cf_str_from(a->prefill != NULL ? a->prefill : "");
    CF_THEN(st, run_one(cli, &a->j, cf_buf_str(&raw), &is_valid, &err));
    cf_tool_set_free(tools);
    cf_buf_deinit(&raw);
    if (st != CF_OK) {
        return cf_cli_fail(cli, &err);
    }
    return is_valid ? CF_EXIT_OK : CF_EXIT_FINDING;
}

const cf_cli_command cf_cmd_parse = {
    .name = "parse",
    .arguments = "[RAW]",
    .summary = "split a reply into text and tool calls",
    .options = options,
    .more = more,
    .state_bytes = sizeof(asked),
    .initial = &initial,
    .n_max = 1,
    .want = "takes one RAW",
    .run = run_parse,
};
