/*
 * lint_output.c - writes findings as text, JSON lines, a Markdown table, SARIF
 * 2.1.0, annotations of GitHub's workflows, and JUnit XML.
 */
#include "templates/lint_output.h"

#include <string.h>

#include "core/base/safe_text.h"
#include "core/base/version.h"

struct cf_lint_format {
    const char *name;
    bool is_json;
    void (*begin)(cf_lint_output *o);
    void (*one)(cf_lint_output *o, const char *name, const cf_lint_report *r);
    void (*end)(cf_lint_output *o);
};

static void nothing(cf_lint_output *o)
{
    (void)o;
}

static void put_line(cf_buf *out, cf_str s)
{
    cf_safe_line(out, s.p != NULL ? s.p : "", s.n);
}

/* "; line 12: ...; line 14: ..." */
static void put_all_because(cf_buf *out, const cf_lint_finding *f)
{
    for (size_t i = 0; i < f->n_because; i++) {
        cf_buf_adds(out, "; ");
        cf_lint_because_text(out, &f->because[i]);
    }
}

/* ---- text --------------------------------------------------------------- */

static void text_finding(cf_lint_output *o, const char *name, const cf_lint_finding *f)
{
    put_line(o->out, cf_str_from(name));
    cf_buf_addc(o->out, ':');
    if (f->line != 0) {
        cf_buf_addf(o->out, "%u:%u:", (unsigned)f->line, (unsigned)f->col);
    }
    cf_buf_addf(o->out, " %s ", f->rule);
    put_line(o->out, f->message);
    cf_buf_addc(o->out, '\n');
    for (size_t i = 0; i < f->n_because; i++) {
        cf_buf because = CF_BUF_INIT;
        cf_lint_because_text(&because, &f->because[i]);
        cf_buf_adds(o->out, "    ");
        put_line(o->out, cf_buf_str(&because));
        cf_buf_addc(o->out, '\n');
        cf_buf_deinit(&because);
    }
    cf_buf_addf(o->out, "    %s\n", f->effect);
    if (o->shows_context && f->context.n != 0) {
        cf_buf_adds(o->out, "    context: ");
        put_line(o->out, f->context);
        cf_buf_addc(o->out, '\n');
    }
}

static void text_one(cf_lint_output *o, const char *name, const cf_lint_report *r)
{
    cf_cap_row row;
    for (size_t i = 0; i < r->n; i++) {
        text_finding(o, name, &r->v[i]);
    }
    put_line(o->out, cf_str_from(name));
    cf_buf_addf(o->out, ": %zu errors, %zu warnings, %zu notes\n", r->n_errors, r->n_warnings,
                r->n_notes);
    if (r->known != NULL) {
        put_line(o->out, cf_str_from(name));
        cf_buf_adds(o->out, ": known as ");
        cf_template_known_line(o->out, r->known);
        cf_buf_addc(o->out, '\n');
    }
    for (size_t i = 0; o->shows_caps && cf_template_caps_row(&r->caps, i, &row); i++) {
        cf_buf_addf(o->out, "    %-22s %s\n", row.label, row.value);
    }
}

/* ---- JSON, an object a line --------------------------------------------- */

static void json_finding(cf_jw *w, const cf_lint_finding *f)
{
    cf_jw_object(w, NULL);
    cf_jw_text(w, "rule", f->rule);
    cf_jw_uint(w, "line", f->line);
    cf_jw_uint(w, "column", f->col);
    cf_jw_str(w, "message", f->message);
    cf_jw_text(w, "effect", f->effect);
    cf_jw_text(w, "fix", f->fix);
    cf_jw_str(w, "context", f->context);
    cf_jw_array(w, "because");
    for (size_t i = 0; i < f->n_because; i++) {
        const cf_lint_because *b = &f->because[i];
        cf_jw_object(w, NULL);
        cf_jw_uint(w, "line", b->line);
        cf_jw_uint(w, "column", b->col);
        cf_jw_str(w, "test", b->test);
        cf_jw_text(w, "outcome", b->outcome);
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_end(w);
}

static void json_stability(cf_jw *w, const cf_lint_stability *s)
{
    cf_jw_object(w, NULL);
    cf_jw_text(w, "name", s->name);
    cf_jw_bool(w, "system", s->with_system);
    cf_jw_bool(w, "thinking", s->thinking);
    cf_jw_bool(w, "rendered", s->is_rendered);
    cf_jw_bool(w, "stable", s->is_stable);
    if (!s->is_stable) {
        cf_jw_uint(w, "offset", s->off);
        cf_jw_uint(w, "message", s->message);
        cf_jw_uint(w, "line", s->line);
        cf_jw_uint(w, "again", s->n_again);
    }
    cf_jw_end(w);
}

void cf_lint_report_json(cf_jw *w, const cf_lint_report *r)
{
    cf_cap_row row;
    cf_jw_text(w, "family", cf_tool_family_name(r->family));
    cf_template_known_json(w, "known", r->known);
    cf_jw_array(w, "findings");
    for (size_t i = 0; i < r->n; i++) {
        json_finding(w, &r->v[i]);
    }
    cf_jw_end(w);
    cf_jw_object(w, "capabilities");
    for (size_t i = 0; cf_template_caps_row(&r->caps, i, &row); i++) {
        if (row.is_flag) {
            cf_jw_bool(w, row.key, row.value[0] == 'y');
        } else {
            cf_jw_text(w, row.key, row.value);
        }
    }
    cf_jw_end(w);
    cf_jw_array(w, "stability");
    for (size_t i = 0; i < r->n_stability; i++) {
        json_stability(w, &r->stability[i]);
    }
    cf_jw_end(w);
}

static void json_one(cf_lint_output *o, const char *name, const cf_lint_report *r)
{
    cf_jw w;
    cf_jw_init(&w, o->out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "template", name);
    cf_lint_report_json(&w, r);
    cf_jw_end(&w);
    cf_buf_addc(o->out, '\n');
}

/* ---- a Markdown table --------------------------------------------------- */

static void table_begin(cf_lint_output *o)
{
    cf_buf_adds(o->out, "| template | prefix-stable | system | tools | tool calls | "
                        "tool role | reasoning kept | findings |\n"
                        "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
}

static void table_one(cf_lint_output *o, const char *name, const cf_lint_report *r)
{
    size_t n_stable = 0, n_rendered = 0;
    for (size_t i = 0; i < r->n_stability; i++) {
        n_rendered += r->stability[i].is_rendered;
        n_stable += r->stability[i].is_rendered && r->stability[i].is_stable;
    }
    const cf_template_caps *c = &r->caps;
    cf_buf_adds(o->out, "| ");
    put_line(o->out, cf_str_from(name));
    cf_buf_addf(o->out, " | %zu of %zu | %s | %s | %s | %s | %s |", n_stable, n_rendered,
                cf_cap_name(c->system), cf_cap_name(c->tools), cf_cap_name(c->tool_calls),
                cf_cap_name(c->tool_role), cf_cap_name(c->reasoning_history));
    const char *last = "";
    for (size_t i = 0; i < r->n; i++) {
        if (strcmp(last, r->v[i].rule) != 0) {
            last = r->v[i].rule;
            cf_buf_addf(o->out, " %s", last);
        }
    }
    cf_buf_adds(o->out, " |\n");
}

/* ---- SARIF -------------------------------------------------------------- */

/* The level of a rule: error, warning or note. */
static const char *level_of(const char *rule)
{
    return rule[0] == 'E' ? "error" : rule[0] == 'W' ? "warning" : "note";
}

static void sarif_text(cf_jw *w, const char *key, const char *text)
{
    cf_jw_object(w, key);
    cf_jw_text(w, "text", text);
    cf_jw_end(w);
}

static void sarif_begin(cf_lint_output *o)
{
    cf_jw *w = &o->w;
    const cf_lint_rule *rule;
    cf_jw_init(w, o->out);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    cf_jw_text(w, "version", "2.1.0");
    cf_jw_array(w, "runs");
    cf_jw_object(w, NULL);
    cf_jw_object(w, "tool");
    cf_jw_object(w, "driver");
    cf_jw_text(w, "name", "confab lint");
    cf_jw_text(w, "version", CF_VERSION);
    cf_jw_array(w, "rules");
    for (size_t i = 0; (rule = cf_lint_rule_at(i)) != NULL; i++) {
        cf_jw_object(w, NULL);
        cf_jw_text(w, "id", rule->id);
        sarif_text(w, "shortDescription", rule->title);
        sarif_text(w, "fullDescription", rule->effect);
        sarif_text(w, "help", rule->fix);
        cf_jw_object(w, "defaultConfiguration");
        cf_jw_text(w, "level", level_of(rule->id));
        cf_jw_end(w);
        cf_jw_end(w);
    }
    cf_jw_end(w); /* rules */
    cf_jw_end(w); /* driver */
    cf_jw_end(w); /* tool */
    cf_jw_array(w, "results");
}

/* A path as a reference of RFC 3986: bytes that it does not allow are
 * percent-encoded. */
static void sarif_uri(cf_jw *w, const char *path)
{
    static const char allowed[] = "-._~/:@!$&'()*+,;=";
    cf_buf uri = CF_BUF_INIT;
    for (const char *p = path; *p != '\0'; p++) {
        bool is_plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                        (*p >= '0' && *p <= '9') || strchr(allowed, *p) != NULL;
        if (is_plain) {
            cf_buf_addc(&uri, *p);
        } else {
            cf_buf_addf(&uri, "%%%02X", (unsigned)(unsigned char)*p);
        }
    }
    cf_jw_str(w, "uri", cf_buf_str(&uri));
    cf_buf_deinit(&uri);
}

/* A place of the template, from 1; line 0: the whole of it.  `because` NULL:
 * without a text. */
static void sarif_location(cf_jw *w, const char *name, uint32_t line, uint32_t col,
                           const cf_lint_because *because)
{
    cf_jw_object(w, NULL);
    cf_jw_object(w, "physicalLocation");
    cf_jw_object(w, "artifactLocation");
    sarif_uri(w, name);
    cf_jw_end(w);
    cf_jw_object(w, "region");
    cf_jw_uint(w, "startLine", line != 0 ? line : 1);
    if (col != 0) {
        cf_jw_uint(w, "startColumn", col);
    }
    cf_jw_end(w); /* region */
    cf_jw_end(w); /* physicalLocation */
    if (because != NULL) {
        cf_buf text = CF_BUF_INIT;
        cf_lint_because_text(&text, because);
        cf_jw_object(w, "message");
        cf_jw_str(w, "text", cf_buf_str(&text));
        cf_jw_end(w);
        cf_buf_deinit(&text);
    }
    cf_jw_end(w);
}

static void sarif_one(cf_lint_output *o, const char *name, const cf_lint_report *r)
{
    cf_jw *w = &o->w;
    for (size_t i = 0; i < r->n; i++) {
        const cf_lint_finding *f = &r->v[i];
        cf_jw_object(w, NULL);
        cf_jw_text(w, "ruleId", f->rule);
        cf_jw_text(w, "level", level_of(f->rule));
        cf_jw_object(w, "message");
        cf_jw_str(w, "text", f->message);
        cf_jw_end(w);
        cf_jw_array(w, "locations");
        sarif_location(w, name, f->line, f->col, NULL);
        cf_jw_end(w); /* locations */
        if (f->n_because != 0) {
            cf_jw_array(w, "relatedLocations");
            for (size_t k = 0; k < f->n_because; k++) {
                const cf_lint_because *b = &f->because[k];
                sarif_location(w, name, b->line, b->col, b);
            }
            cf_jw_end(w);
        }
        cf_jw_end(w);
    }
}

static void sarif_end(cf_lint_output *o)
{
    cf_jw_end(&o->w); /* results */
    cf_jw_end(&o->w);
    cf_jw_end(&o->w); /* runs */
    cf_jw_end(&o->w);
    cf_buf_addc(o->out, '\n');
}

/* ---- annotations of GitHub's workflows ---------------------------------- */

/* Percent signs and line ends are escaped; in a property colons and commas,
 * too. */
static void github_text(cf_buf *out, cf_str s, bool is_property)
{
    cf_buf safe = CF_BUF_INIT;
    put_line(&safe, s);
    for (size_t i = 0; i < safe.n; i++) {
        char c = safe.p[i];
        if (c == '%' || (is_property && (c == ':' || c == ','))) {
            cf_buf_addf(out, "%%%02X", (unsigned)c);
        } else {
            cf_buf_addc(out, c);
        }
    }
    if (safe.failed) {
        out->failed = true;
    }
    cf_buf_deinit(&safe);
}

static void github_one(cf_lint_output *o, const char *name, const cf_lint_report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const cf_lint_finding *f = &r->v[i];
        const char *level = level_of(f->rule);
        cf_buf_addf(o->out, "::%s file=", level[0] == 'n' ? "notice" : level);
        github_text(o->out, cf_str_from(name), true);
        if (f->line != 0) {
            cf_buf_addf(o->out, ",line=%u,col=%u", (unsigned)f->line, (unsigned)f->col);
        }
        cf_buf_addf(o->out, ",title=%s::", f->rule);
        cf_buf text = CF_BUF_INIT;
        cf_buf_add(&text, f->message.p, f->message.n);
        put_all_because(&text, f);
        github_text(o->out, cf_buf_str(&text), false);
        cf_buf_deinit(&text);
        cf_buf_addc(o->out, '\n');
    }
}

/* ---- JUnit -------------------------------------------------------------- */

static void junit_begin(cf_lint_output *o)
{
    cf_junit_begin(&o->junit, o->out, "confab lint");
}

/* Writes a line for each finding of one rule. */
static void junit_lines(cf_buf *out, const cf_lint_rule *rule, const cf_lint_report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const cf_lint_finding *f = &r->v[i];
        cf_buf text = CF_BUF_INIT;
        if (strcmp(f->rule, rule->id) != 0) {
            continue;
        }
        cf_buf_adds(out, out->n != 0 ? "\n" : "");
        if (f->line != 0) {
            cf_buf_addf(out, "line %u, column %u: ", (unsigned)f->line, (unsigned)f->col);
        }
        cf_buf_add(&text, f->message.p, f->message.n);
        put_all_because(&text, f);
        put_line(out, cf_buf_str(&text));
        cf_buf_deinit(&text);
    }
}

/* One rule: its errors fail its test, its other findings are the test's
 * output. */
static void junit_rule(cf_lint_output *o, const char *name, const cf_lint_rule *rule,
                       const cf_lint_report *r)
{
    cf_buf lines = CF_BUF_INIT, title = CF_BUF_INIT;
    const cf_str none = cf_str_make("", 0);
    junit_lines(&lines, rule, r);
    cf_buf_addf(&title, "%s %s", rule->id, rule->title);
    cf_junit_case(&o->junit, cf_str_from(name), cf_buf_str(&title), -1);
    if (lines.n != 0 && rule->id[0] == 'E') {
        cf_junit_outcome(&o->junit, "failure", cf_str_from(rule->id), cf_str_from(rule->title),
                         cf_buf_str(&lines));
    } else if (lines.n != 0) {
        cf_junit_outcome(&o->junit, "system-out", none, none, cf_buf_str(&lines));
    }
    cf_junit_case_end(&o->junit);
    o->out->failed = o->out->failed || lines.failed || title.failed;
    cf_buf_deinit(&lines);
    cf_buf_deinit(&title);
}

static void junit_one(cf_lint_output *o, const char *name, const cf_lint_report *r)
{
    const cf_lint_rule *rule;
    size_t n_rules = 0, n_failed = 0;
    while (cf_lint_rule_at(n_rules) != NULL) {
        n_rules++;
    }
    for (size_t i = 0; i < r->n; i++) {
        bool is_first = i == 0 || strcmp(r->v[i].rule, r->v[i - 1].rule) != 0;
        n_failed += is_first && r->v[i].rule[0] == 'E';
    }
    cf_junit_suite(&o->junit, cf_str_from(name), n_rules, n_failed, 0);
    for (size_t i = 0; (rule = cf_lint_rule_at(i)) != NULL; i++) {
        junit_rule(o, name, rule, r);
    }
    cf_junit_suite_end(&o->junit);
}

static void junit_end(cf_lint_output *o)
{
    cf_junit_end(&o->junit);
}

/* ---- the table ---------------------------------------------------------- */

static const cf_lint_format formats[] = {
    {"text", false, nothing, text_one, nothing},
    {"json", true, nothing, json_one, nothing},
    {"table", false, table_begin, table_one, nothing},
    {"sarif", true, sarif_begin, sarif_one, sarif_end},
    {"github", false, nothing, github_one, nothing},
    {"junit", false, junit_begin, junit_one, junit_end},
};

bool cf_lint_format_is_json(const cf_lint_format *format)
{
    return format->is_json;
}

const cf_lint_format *cf_lint_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

void cf_lint_output_begin(cf_lint_output *o)
{
    o->format->begin(o);
}

void cf_lint_output_one(cf_lint_output *o, const char *name, const cf_lint_report *report)
{
    o->format->one(o, name, report);
}

void cf_lint_output_end(cf_lint_output *o)
{
    o->format->end(o);
}
