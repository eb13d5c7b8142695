/*
 * lint.c - the table of rules, running them, and their findings in order.
 *
 * 1. l->rule is the row whose check runs; findings take their id from it.
 * 2. Findings are in the order of the table, those of a rule in the order of
 *    the source.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "templates/lint/lint_impl.h"

/* In the order of their ids.  `always`: checked, too, for a source that does
 * not compile and for a template that reaches a limit.  `by_message`: a place
 * may have several findings. */
static const struct {
    cf_lint_rule words;
    cf_lint_check check;
    bool always;
    bool by_message;
} rules[] = {
    {{"E001", "the beginning-of-sequence token appears twice",
      "The model sees a start it was never trained on, and answers get worse.",
      "Write bos_token once: in the tokenizer or in the template, not in "
      "both."},
     cf_lint__bos_twice,
     false,
     false},
    {{"E002", "the beginning-of-sequence token is missing",
      "The model expects it first; without it the first tokens are misread.",
      "Begin the template with {{ bos_token }}."},
     cf_lint__bos_missing,
     false,
     false},
    {{"E003", "turn marks are not balanced",
      "A turn that never closes or never opens makes the model lose track of "
      "who speaks.",
      "Give every turn one opening and one closing mark, on every branch."},
     cf_lint__balance,
     false,
     false},
    {{"E004", "the generation prompt is missing or is not a suffix",
      "The model does not know that it is its turn, or the cache is lost when "
      "it is asked.",
      "End with {% if add_generation_prompt %} and the opening of an assistant "
      "turn, and nothing after it."},
     cf_lint__generation_prompt,
     false,
     false},
    {{"E005", "a valid conversation crashes the template",
      "The application fails on a message that its library considers normal.",
      "Test for the missing field: message.content or '', messages | length."},
     cf_lint__crashes,
     true,
     false},
    {{"E006", "a tool call does not survive: what is rendered cannot be parsed back",
      "The model learns from its own history a syntax that its parser refuses.",
      "Write calls as the model was trained to: one syntax, arguments with | "
      "tojson."},
     cf_lint__round_trip,
     false,
     false},
    {{"E007", "tool declarations are dropped",
      "The model cannot call what it was never shown: it invents calls, or "
      "answers without them.",
      "Write the tools: {% for tool in tools %}{{ tool | tojson }}{% endfor "
      "%}."},
     cf_lint__tools_dropped,
     false,
     false},
    {{"E008", "tool calls are dropped from the history",
      "The model sees results without calls and forgets what it has "
      "tried.",
      "Write message.tool_calls, each with its name and arguments."},
     cf_lint__calls_dropped,
     false,
     false},
    {{"E009", "tool results are dropped from the history",
      "The model never learns what a tool answered, and calls it again.",
      "Write messages of role 'tool' in a turn of their own."},
     cf_lint__results_dropped,
     false,
     false},
    {{"E010", "a field of a message becomes part of a control token",
      "Whoever sets that field writes control tokens; a tokenizer that guards "
      "against it breaks the mark instead.",
      "Put no field of a message inside a mark; write roles by name."},
     cf_lint__glued,
     false,
     false},
    {{"E011", "replies are dropped from the history",
      "The model does not see its own answers: every question looks like the "
      "first.",
      "Write the content of messages of role 'assistant'."},
     cf_lint__replies_dropped,
     false,
     false},
    {{"E012", "a longer conversation does not begin with the shorter one",
      "The cache is lost at the first difference, and everything after it is "
      "computed again.",
      "Write each message the same whatever follows: no loop.last, no look at "
      "later messages."},
     cf_lint__prefix,
     false,
     false},
    {{"E013", "a client's request is refused",
      "Everything that the client sends after that message fails.",
      "Accept the shape that the finding names."},
     cf_lint__client_refused,
     false,
     true},
    {{"E014", "a part of a client's request is lost or garbled",
      "The model answers without what the client told it.",
      "Write the part that the finding names."},
     cf_lint__client_lost,
     false,
     true},
    {{"E015", "pictures or sounds in messages are dropped",
      "The model answers about what it never saw or heard, and nothing says "
      "so.",
      "Write the model's marker for each such part: {% if part.type == 'image' "
      "%}."},
     cf_lint__media_dropped,
     false,
     true},
    {{"E016", "the marker of a picture or sound is not the model's",
      "Its rows have no place in the prompt: the program refuses it, or the "
      "model reads the marker's letters.",
      "Write the marker that the finding names."},
     cf_lint__media_marker,
     false,
     true},
    {{"W003", "a tool's result is rendered in the user's role",
      "The model may take what a tool says for what the user says.",
      "Give results a turn of their own, as the model was trained."},
     cf_lint__result_role,
     false,
     false},
    {{"W004", "reasoning is dropped, or an empty think block is left in the history",
      "The model does not see why it acted, or learns to think nothing.",
      "Keep the reasoning of tool rounds; write no think block where there is "
      "no reasoning."},
     cf_lint__reasoning,
     false,
     false},
    {{"W005", "the system role is merged, dropped or refused",
      "Instructions lose their weight, or the conversation is refused.",
      "Give the system message a turn of its own, if the model knows one."},
     cf_lint__system,
     false,
     false},
    {{"W006", "an argument object is rendered as an escaped string",
      "The model sees quotes within quotes and copies them into its calls.",
      "Write arguments with | tojson when they are an object."},
     cf_lint__escaping,
     false,
     false},
    {{"W007", "the prompt ends with a blank",
      "The first token of a reply usually brings its own blank, so the model "
      "gets an unusual start.",
      "Trim before the point of generation: {%- and -%}, or no line end."},
     cf_lint__last_blank,
     false,
     false},
    {{"W008", "text that looks like a control token is not one token",
      "The mark is read as letters; the model never saw it that way.",
      "Spell the mark as the vocabulary does."},
     cf_lint__tokens,
     false,
     false},
    {{"W009", "the template uses a construct that this engine leaves out",
      "It cannot be rendered here, and other engines may treat it differently.",
      "Make a new value instead: x = x + [y], namespace for loops; paste "
      "included text in."},
     cf_lint__constructs,
     true,
     false},
    {{"W010", "a picture or sound is not where its message has it",
      "\"The first picture\" and \"this one\" mean another than the user "
      "meant.",
      "Go through the parts in their order, and write each where it is."},
     cf_lint__media_place,
     false,
     true},
    {{"I007", "the prompt depends on the date or on chance",
      "The cache of a saved prompt is worthless the next day.",
      "Take the date from a variable, so that it changes when you want."},
     cf_lint__chance,
     false,
     false},
    {{"I008", "a variable is used but never set",
      "It renders as nothing: a switch that was forgotten, or a spelling "
      "mistake.",
      "Set it with :var, or guard it: {% if name is defined %}."},
     cf_lint__unset,
     false,
     false},
    {{"I009", "a later version of this template mended a fault",
      "What the later version mends is still wrong here.",
      "Take the newest template of the model's repository; confab diff "
      "compares "
      "them."},
     cf_lint__superseded,
     false,
     true},
};

enum { N_RULES = sizeof rules / sizeof rules[0] };

const cf_lint_rule *cf_lint_rule_at(size_t i)
{
    return i < N_RULES ? &rules[i].words : NULL;
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

/* ---- findings ----------------------------------------------------------- */

static bool is_there(const cf_linter *l, const cf_lint_finding *f)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->finding[i].rule == f->rule && l->finding[i].line == f->line &&
            l->finding[i].col == f->col &&
            ((f->line != 0 && !l->by_message) || cf_str_eq(l->finding[i].message, f->message))) {
            return true;
        }
    }
    return false;
}

static cf_status add(cf_linter *l, cf_lint_finding f, cf_error *err, const char *fmt, va_list ap)
{
    char text[400];
    if (vsnprintf(text, sizeof text, fmt, ap) < 0) {
        text[0] = '\0';
    }
    f.rule = l->rule->id;
    f.effect = l->rule->effect;
    f.fix = l->rule->fix;
    f.message = cf_str_from(text);
    if (l->n == CF_LINT_FINDINGS_MAX || is_there(l, &f)) {
        l->n_because = 0;
        return CF_OK;
    }
    f.message.p = cf_arena_strndup(l->arena, text, f.message.n);
    if (f.message.p == NULL) {
        return cf_oom(err);
    }
    CF_TRY(cf_lint__keep_because(l, &f, err));
    l->finding[l->n++] = f;
    return CF_OK;
}

cf_status cf_lint__add_at(cf_linter *l, uint32_t line, uint32_t col, cf_error *err, const char *fmt,
                          ...)
{
    cf_lint_finding f = {.line = line, .col = col};
    va_list ap;
    va_start(ap, fmt);
    cf_status st = add(l, f, err, fmt, ap);
    va_end(ap);
    return st;
}

/* Writes the context of a shot as JSON into the report's arena. */
static cf_status keep_context(cf_linter *l, const cf_shot *shot, cf_str *out, cf_error *err)
{
    cf_buf json = CF_BUF_INIT;
    cf_json_write(&json, shot->context);
    char *copy = json.failed ? NULL : cf_arena_strndup(l->arena, cf_buf_cstr(&json), json.n);
    *out = cf_str_make(copy, json.n);
    cf_buf_deinit(&json);
    return copy != NULL ? CF_OK : cf_oom(err);
}

cf_status cf_lint__add(cf_linter *l, const cf_shot *shot, size_t off, cf_error *err,
                       const char *fmt, ...)
{
    cf_lint_finding f = {0};
    if (shot != NULL) {
        const cf_prompt_span *span = off != SIZE_MAX && shot->status == CF_OK
                                         ? cf_prompt_span_at(&shot->render.prompt, off)
                                         : NULL;
        f.line = span != NULL ? span->line : 0;
        f.col = span != NULL ? span->col : 0;
        if (l->n_because == 0) {
            cf_lint__because_chain(l, span != NULL ? span->cause : shot->render.failed_under);
        }
        if (shot->status != CF_OK) {
            f.line = shot->render.error.line;
            f.col = shot->render.error.col;
        }
        CF_TRY(keep_context(l, shot, &f.context, err));
    }
    va_list ap;
    va_start(ap, fmt);
    cf_status st = add(l, f, err, fmt, ap);
    va_end(ap);
    return st;
}

/* ---- one lint ----------------------------------------------------------- */

/* Brings the findings of one rule, [from, l->n), into the order of lines. */
static void sort_findings(cf_linter *l, size_t from)
{
    for (size_t i = from + 1; i < l->n; i++) {
        cf_lint_finding f = l->finding[i];
        size_t at = i;
        while (at > from &&
               (l->finding[at - 1].line > f.line ||
                (l->finding[at - 1].line == f.line && l->finding[at - 1].col > f.col))) {
            l->finding[at] = l->finding[at - 1];
            at--;
        }
        l->finding[at] = f;
    }
}

static cf_status run_rules(cf_linter *l, bool only_always, cf_error *err)
{
    for (size_t i = 0; i < N_RULES; i++) {
        size_t first = l->n;
        l->rule = &rules[i].words;
        l->by_message = rules[i].by_message;
        if (!only_always || rules[i].always) {
            CF_TRY(rules[i].check(l, err));
            sort_findings(l, first);
        }
    }
    return CF_OK;
}

static cf_status run(cf_linter *l, cf_error *err)
{
    if (l->prober.tpl == NULL) {
        return run_rules(l, true, err);
    }
    cf_status st = cf_lint__caps(&l->prober, &l->report->caps, err);
    CF_THEN(st, run_rules(l, false, err));
    if (st == CF_ELIMIT && l->prober.is_spent) {
        l->report->is_cut = true; /* the findings so far are incomplete */
        l->report->n_stability = 0;
        l->n = 0;
        st = run_rules(l, true, err);
    }
    return st;
}

static cf_status finish(cf_linter *l, cf_error *err)
{
    cf_lint_report *out = l->report;
    cf_lint_finding *v = cf_arena_alloc(l->arena, (l->n + 1) * sizeof *v);
    if (v == NULL) {
        return cf_oom(err);
    }
    memcpy(v, l->finding, l->n * sizeof *v);
    for (size_t i = 0; i < l->n; i++) {
        out->n_errors += v[i].rule[0] == 'E';
        out->n_warnings += v[i].rule[0] == 'W';
        out->n_notes += v[i].rule[0] == 'I';
    }
    out->v = v;
    out->n = l->n;
    return CF_OK;
}

/* The spelling of a control token, in the arena; empty if the model lacks it. */
static cf_status spell(cf_str *out, const cf_tokenizer *tok, cf_token id, cf_arena *arena,
                       cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    if (id == CF_TOKEN_NONE) {
        return CF_OK;
    }
    cf_tokenizer_piece(&text, tok, id, true);
    cf_status st = cf_buf_check(&text, err);
    if (st == CF_OK) {
        *out = cf_str_make(cf_arena_strndup(arena, text.p, text.n), text.n);
        st = out->p != NULL ? CF_OK : cf_oom(err);
    }
    cf_buf_deinit(&text);
    return st;
}

cf_status cf_lint_describe_model(cf_lint_options *options, const cf_tokenizer *tok,
                                 const cf_engine *engine, const cf_media *media, cf_arena *arena,
                                 cf_error *err)
{
    if (engine != NULL) {
        cf_engine_info info = cf_engine_get_info(engine);
        options->arch = cf_str_from(info.arch);
        options->model_name = cf_str_from(info.name);
    }
    if (media != NULL) {
        options->image_markers = cf_media_markers(media, false);
        options->audio_markers = cf_media_markers(media, true);
    }
    if (tok == NULL) {
        return CF_OK;
    }
    cf_special_tokens special = cf_tokenizer_special(tok);
    options->tokenizer = tok;
    CF_TRY(spell(&options->bos, tok, special.bos, arena, err));
    return spell(&options->eos, tok, special.eos, arena, err);
}

cf_status cf_template_lint(cf_str source, const cf_lint_options *options, cf_arena *arena,
                           cf_lint_report *out, cf_error *err)
{
    static const cf_lint_options none;
    const cf_lint_options *o = options != NULL ? options : &none;
    cf_template *tpl = NULL;
    cf_error compile_err = {0};
    const char *ignored;
    *out = (cf_lint_report){0};
    cf_linter *l = cf_arena_calloc(arena, 1, sizeof *l);
    if (l == NULL) {
        return cf_oom(err);
    }
    l->prober = (cf_prober){.bos = o->bos, .eos = o->eos, .cancel = o->cancel, .causes = true};
    l->tokenizer = o->tokenizer;
    l->source = source;
    l->markers[0] = o->image_markers;
    l->markers[1] = o->audio_markers;
    l->client = o->client;
    l->arena = arena;
    l->report = out;
    out->known = cf_template_known(source);
    out->family = cf_tool_family_detect(source, o->arch, o->model_name, &ignored);
    cf_status st = cf_template_compile(&tpl, source, NULL, arena, &l->why, &compile_err);
    if (st == CF_ENOMEM) {
        return cf_oom(err);
    }
    l->prober.tpl = tpl;
    l->why_text = compile_err.text;
    st = run(l, err);
    cf_template_free(tpl);
    return st == CF_OK ? finish(l, err) : st;
}
