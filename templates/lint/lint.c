/*
 * lint.c - the rules' table, and findings in order.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "templates/lint/lint_impl.h"

static const cf_lint_rule rules[] = {
    {"E001", "the beginning-of-sequence token stands twice",
     "The model sees a start it was never trained on, and answers get worse.",
     "Write bos_token once: the tokenizer or the template, not both."},
    {"E002", "the beginning-of-sequence token is missing",
     "The model wants it first; without it the first tokens are misread.",
     "Begin the template with {{ bos_token }}."},
    {"E003", "turn marks are not balanced",
     "A turn that never closes or never opens makes the model lose track of "
     "who speaks.",
     "Give every turn one opening and one closing mark, on every branch."},
    {"E004", "the generation prompt is missing or is no suffix",
     "The model does not know that it is its turn, or the cache is lost when "
     "it is asked.",
     "End with {% if add_generation_prompt %} and the assistant's opening, and "
     "nothing behind it."},
    {"E005", "a valid conversation crashes the template",
     "The application fails on a message that its library considers normal.",
     "Test for the missing field: message.content or '', messages | length."},
    {"E006",
     "a tool call does not survive: what is rendered cannot be parsed "
     "back",
     "The model learns from its own history a syntax that its parser "
     "refuses.",
     "Write calls as the model was trained to: one syntax, arguments with | "
     "tojson."},
    {"E010", "a field of a message becomes part of a control token",
     "Whoever sets that field writes control tokens; a tokenizer that guards "
     "against it breaks the mark instead.",
     "Put no field of a message inside a mark; write roles by name."},
    {"E012", "a longer conversation does not begin with the shorter one",
     "The cache is lost at the first difference, and everything behind it is "
     "computed again.",
     "Write each message the same whatever follows: no loop.last, no look at "
     "later messages."},
    {"W003", "a tool's result is rendered in the user's role",
     "The model may take what a tool says for what the user says.",
     "Give results a turn of their own, as the model was trained."},
    {"W004",
     "reasoning is dropped, or an empty think block is left in the "
     "history",
     "The model does not see why it acted, or learns to think nothing.",
     "Keep the reasoning of tool rounds, or write no think block where there "
     "is none."},
    {"W005", "the system role is merged, dropped or refused",
     "Instructions lose their weight, or the conversation is refused.",
     "Give the system message a turn of its own, where the model knows one."},
    {"W006", "an argument object is rendered as an escaped string",
     "The model sees quotes within quotes and copies them into its calls.",
     "Write arguments with | tojson when they are an object."},
    {"W007", "blanks stand before the point of generation",
     "The reply's first token would have brought its own blank: the model "
     "gets an unusual start.",
     "Trim before the point of generation: {%- and -%}, or no line end."},
    {"W008", "text that looks like a control token is not one token",
     "The mark is read as letters; the model never saw it so.",
     "Spell the mark as the vocabulary does."},
    {"W009", "the template uses a construct that this engine leaves out",
     "It cannot be rendered here, and in other engines it may differ.",
     "Build the value anew: x = x + [y], namespace for loops; put included "
     "text in."},
    {"I007", "the prompt depends on the date or on chance",
     "The cache of a saved prompt is worth nothing the next day.",
     "Take the date from a variable, so that it changes when you want."},
    {"I008", "a variable is used that nobody sets",
     "It renders as nothing: a switch that was forgotten, or a spelling "
     "mistake.",
     "Set it with :var or guard it: {% if name is defined %}."},
};

enum { N_RULES = sizeof rules / sizeof rules[0] };

const cf_lint_rule *cf_lint_rule_at(size_t i)
{
    return i < N_RULES ? &rules[i] : NULL;
}

static size_t rule_index(const char *id)
{
    size_t i = 0;
    while (i + 1 < N_RULES && strcmp(rules[i].id, id) != 0) {
        i++;
    }
    return i;
}

size_t cf_lint__diverge(cf_str a, cf_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    size_t i = 0;
    while (i < n && a.p[i] == b.p[i]) {
        i++;
    }
    return i;
}

static cf_status add(cf_linter *l, cf_lint_finding f, cf_error *err,
                     const char *fmt, va_list ap)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->finding[i].rule == f.rule && l->finding[i].line == f.line &&
            l->finding[i].col == f.col) {
            return CF_OK;
        }
    }
    if (l->n == CF_LINT_FINDINGS_MAX) {
        return CF_OK; /* sixty-four are enough to begin with */
    }
    char text[400];
    if (vsnprintf(text, sizeof text, fmt, ap) < 0) {
        text[0] = '\0';
    }
    size_t n = strlen(text);
    char *copy = cf_arena_strndup(l->prober.arena, text, n);
    if (copy == NULL) {
        return cf_oom(err);
    }
    f.message = cf_str_make(copy, n);
    l->finding[l->n++] = f;
    return CF_OK;
}

cf_status cf_lint__add_at(cf_linter *l, const char *rule, uint32_t line,
                          uint32_t col, cf_error *err, const char *fmt, ...)
{
    const cf_lint_rule *r = &rules[rule_index(rule)];
    cf_lint_finding f = {.rule = r->id,
                         .line = line,
                         .col = col,
                         .effect = r->effect,
                         .fix = r->fix};
    va_list ap;
    va_start(ap, fmt);
    cf_status st = add(l, f, err, fmt, ap);
    va_end(ap);
    return st;
}

cf_status cf_lint__add(cf_linter *l, const char *rule, const cf_shot *shot,
                       size_t off, cf_error *err, const char *fmt, ...)
{
    const cf_lint_rule *r = &rules[rule_index(rule)];
    cf_lint_finding f = {.rule = r->id, .effect = r->effect, .fix = r->fix};
    if (shot != NULL) {
        cf_buf json = CF_BUF_INIT;
        cf_json_write(&json, shot->context);
        char *copy = json.failed ? NULL
                                 : cf_arena_strndup(l->prober.arena,
                                                    cf_buf_cstr(&json), json.n);
        f.context = cf_str_make(copy, json.n);
        cf_buf_deinit(&json);
        if (copy == NULL) {
            return cf_oom(err);
        }
        const cf_prompt_span *span = off != SIZE_MAX && shot->status == CF_OK
                                         ? cf_shot_span(shot, off)
                                         : NULL;
        f.line = span != NULL ? span->line : 0;
        f.col = span != NULL ? span->col : 0;
        if (shot->status != CF_OK) {
            f.line = shot->render.error.line;
            f.col = shot->render.error.col;
        }
    }
    va_list ap;
    va_start(ap, fmt);
    cf_status st = add(l, f, err, fmt, ap);
    va_end(ap);
    return st;
}

static bool comes_before(const cf_lint_finding *a, const cf_lint_finding *b)
{
    size_t ra = rule_index(a->rule), rb = rule_index(b->rule);
    if (ra != rb) {
        return ra < rb;
    }
    return a->line != b->line ? a->line < b->line : a->col < b->col;
}

static cf_status finish(cf_linter *l, cf_error *err)
{
    cf_lint_report *out = l->report;
    cf_lint_finding *v =
        cf_arena_alloc(l->prober.arena, (l->n + 1) * sizeof *v);
    if (v == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < l->n; i++) { /* insertion sort of a short list */
        size_t at = i;
        while (at > 0 && comes_before(&l->finding[i], &v[at - 1])) {
            v[at] = v[at - 1];
            at--;
        }
        v[at] = l->finding[i];
        out->n_errors += l->finding[i].rule[0] == 'E';
        out->n_warnings += l->finding[i].rule[0] == 'W';
        out->n_notes += l->finding[i].rule[0] == 'I';
    }
    out->v = v;
    out->n = l->n;
    return CF_OK;
}

static cf_status run_rules(cf_linter *l, cf_error *err)
{
    CF_TRY(cf_lint__caps(&l->prober, &l->report->caps, err));
    CF_TRY(cf_lint__basic_rules(l, err));
    CF_TRY(cf_lint__marker_rules(l, err));
    CF_TRY(cf_lint__tool_rules(l, err));
    CF_TRY(cf_lint__prefix_rules(l, err));
    return cf_lint__variable_rules(l, err);
}

/* A template that cannot be compiled at all. */
static cf_status report_broken(cf_linter *l, const cf_template_error *why,
                               const cf_error *text, cf_error *err)
{
    static const char *const left_out[] = {"include", "import", "extends",
                                           "from",    "do",     "trans"};
    bool is_construct = false;
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        size_t n = strlen(left_out[i]);
        is_construct = is_construct ||
                       (why->len >= n && why->off + n <= l->source.n &&
                        memcmp(l->source.p + why->off, left_out[i], n) == 0);
    }
    return cf_lint__add_at(l, is_construct ? "W009" : "E005", why->line,
                           why->col, err, "does not compile: %s", text->text);
}

cf_status cf_template_lint(cf_str source, const cf_lint_options *options,
                           cf_arena *arena, cf_lint_report *out, cf_error *err)
{
    static const cf_lint_options none;
    cf_template *tpl = NULL;
    cf_template_error why = {0};
    cf_error compile_err = {0};
    *out = (cf_lint_report){0};
    cf_linter *l = cf_arena_calloc(arena, 1, sizeof *l);
    if (l == NULL) {
        return cf_oom(err);
    }
    l->prober = (cf_prober){NULL, options != NULL ? options : &none, arena};
    l->source = source;
    l->report = out;
    const char *ignored;
    out->family =
        cf_tool_family_detect(source, l->prober.options->arch,
                              l->prober.options->model_name, &ignored);
    cf_status st =
        cf_template_compile(&tpl, source, NULL, arena, &why, &compile_err);
    if (st == CF_ENOMEM) {
        return cf_oom(err);
    }
    if (st != CF_OK) {
        st = report_broken(l, &why, &compile_err, err);
    } else {
        l->prober.tpl = tpl;
        st = run_rules(l, err);
    }
    cf_template_free(tpl);
    return st == CF_OK ? finish(l, err) : st;
}
