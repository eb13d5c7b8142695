/*
 * caps.c - the capabilities of a template, by what its renders show.
 */
#include <stddef.h>
#include <string.h>

#include "templates/lint/lint_impl.h"

const char *cf_cap_name(cf_cap cap)
{
    static const char *const names[] = {"no", "dropped", "garbled", "merged", "yes"};
    return names[cap];
}

const char *cf_call_id_rule_name(cf_call_id_rule rule)
{
    static const char *const names[] = {"free", "needed", "nine"};
    return names[rule];
}

/* ---- single probes ------------------------------------------------------ */

bool cf_lint__is_garbled(cf_str text, size_t at)
{
    static const char *const before[] = {"'text': '", "\"text\": \"", "\"text\":\"",
                                         "'city': '", "'sky': '",     "\\\""};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        size_t n = strlen(before[i]);
        if (at >= n && memcmp(text.p + at - n, before[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* Determines how `word`, a text of the conversation `letters`, is written. */
static cf_status shows(cf_prober *p, const char *letters, unsigned flags, const char *word,
                       cf_cap *out, cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(p, letters, flags, &s, err));
    size_t at = cf_shot_find(&s, word);
    *out = s.status != CF_OK                               ? CF_CAP_NO
           : at == SIZE_MAX                                ? CF_CAP_DROPPED
           : cf_lint__is_garbled(s.render.prompt.text, at) ? CF_CAP_GARBLED
                                                           : CF_CAP_YES;
    cf_shot_free(p, &s);
    return CF_OK;
}

/* Whether two conversations both render, and differently. */
static cf_status differ(cf_prober *p, const char *a, unsigned a_flags, const char *b,
                        unsigned b_flags, bool *out, cf_error *err)
{
    cf_shot one, two;
    CF_TRY(cf_probe(p, a, a_flags, &one, err));
    cf_status st = cf_probe(p, b, b_flags, &two, err);
    if (st == CF_OK) {
        *out = one.status == CF_OK && two.status == CF_OK &&
               !cf_str_eq(one.render.prompt.text, two.render.prompt.text);
        cf_shot_free(p, &two);
    }
    cf_shot_free(p, &one);
    return st;
}

/* Whether the conversation cannot be rendered. */
static cf_status fails(cf_prober *p, const char *letters, unsigned flags, bool *out, cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(p, letters, flags, &s, err));
    *out = s.status != CF_OK;
    cf_shot_free(p, &s);
    return CF_OK;
}

static cf_status is_refused(cf_prober *p, const char *letters, bool *out, cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(p, letters, CF_PROBE_GENERATE, &s, err));
    *out = cf_shot_is_refused(&s);
    cf_shot_free(p, &s);
    return CF_OK;
}

/* ---- groups ------------------------------------------------------------- */

/* Whether text[from..to) is blanks, or Llama 2's mark, which closes the
 * system text inside the user's turn. */
static bool is_no_turn_end(cf_str text, size_t from, size_t to)
{
    static const char mark[] = "<</SYS>>";
    bool is_blank = true;
    for (size_t i = from; i < to; i++) {
        char c = text.p[i];
        is_blank = is_blank && (c == ' ' || c == '\n' || c == '\t');
        if (i + sizeof mark - 1 <= to && memcmp(text.p + i, mark, sizeof mark - 1) == 0) {
            return true;
        }
    }
    return is_blank;
}

/* A system text is merged when no template text but blanks lies between it
 * and the user's words: both are in one turn. */
static cf_status system_role(cf_prober *p, cf_cap *out, cf_error *err)
{
    cf_shot s;
    CF_TRY(shows(p, "su", CF_PROBE_GENERATE, CF_PROBE_SYSTEM, out, err));
    if (*out != CF_CAP_YES) {
        return CF_OK;
    }
    CF_TRY(cf_probe(p, "su", CF_PROBE_GENERATE, &s, err));
    size_t from = cf_shot_find(&s, CF_PROBE_SYSTEM) + strlen(CF_PROBE_SYSTEM);
    size_t to = cf_shot_find(&s, CF_PROBE_USER);
    if (to != SIZE_MAX && from <= to && is_no_turn_end(s.render.prompt.text, from, to)) {
        *out = CF_CAP_MERGED;
    }
    cf_shot_free(p, &s);
    return CF_OK;
}

/* One capability that a single probe decides; `otherwise` (may be NULL) is
 * tried where a template refuses the first, so that a refused result is not
 * taken for a refused call. */
typedef struct plain_cap {
    size_t at; /* offset of the field in cf_template_caps */
    const char *letters, *otherwise;
    unsigned flags;
    const char *word;
} plain_cap;

#define GEN   CF_PROBE_GENERATE
#define TOOLS (CF_PROBE_TOOLS | CF_PROBE_GENERATE)
#define AT(f) offsetof(cf_template_caps, f)

static const plain_cap plain_caps[] = {
    {AT(late_system), "uasU", NULL, GEN, CF_PROBE_SYSTEM},
    {AT(closed_system), "sua", NULL, 0, CF_PROBE_SYSTEM},
    {AT(developer), "du", NULL, GEN, CF_PROBE_SYSTEM},
    {AT(reply), "uaU", NULL, GEN, CF_PROBE_ASSISTANT},
    {AT(unknown_role), "uo", NULL, GEN, CF_PROBE_USER2},
    {AT(text_content), "u", NULL, GEN, CF_PROBE_USER},
    {AT(typed_content), "p", NULL, GEN, CF_PROBE_USER},
    {AT(typed_system), "Su", NULL, GEN, CF_PROBE_SYSTEM},
    {AT(typed_results), "ucy", NULL, TOOLS, CF_PROBE_RESULT},
    {AT(object_results), "ucO", NULL, TOOLS, CF_PROBE_RESULT},
    {AT(null_content), "unt", "un", TOOLS, CF_PROBE_ARGUMENT},
    {AT(call_text), "uCt", "uC", TOOLS, CF_PROBE_ASSISTANT},
    {AT(tools), "u", NULL, TOOLS, CF_PROBE_TOOL},
    {AT(tool_calls), "uct", "uc", TOOLS, CF_PROBE_ARGUMENT},
    {AT(string_args), "ujt", "uj", TOOLS, CF_PROBE_ARGUMENT},
    {AT(tool_role), "uct", NULL, TOOLS, CF_PROBE_RESULT},
    {AT(several_calls), "umtb", "um", TOOLS, CF_PROBE_ARGUMENT2},
    {AT(loose_results), "uataU", NULL, TOOLS, CF_PROBE_RESULT},
    {AT(bare_tools), "u", NULL, TOOLS | CF_PROBE_BARE_TOOL, CF_PROBE_TOOL},
    {AT(call_ids), "uct", "uc", TOOLS, CF_PROBE_ID},
    {AT(reasoning_calls), "uCt", "uC", TOOLS | CF_PROBE_THINK, CF_PROBE_THOUGHT},
};

/* Templates read reasoning from different fields. */
static cf_status reasoning(cf_prober *p, cf_template_caps *c, cf_error *err)
{
    static const struct {
        const char *field, *last, *earlier;
    } fields[] = {
        {"reasoning_content", "ur", "urU"}, {"reasoning", "uR", "uRU"}, {"thinking", "uh", "uhU"}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        cf_cap last, earlier;
        CF_TRY(shows(p, fields[i].last, CF_PROBE_THINK, CF_PROBE_THOUGHT, &last, err));
        CF_TRY(shows(p, fields[i].earlier, GEN | CF_PROBE_THINK, CF_PROBE_THOUGHT, &earlier, err));
        if (i == 0 || cf_cap_is_written(last) || cf_cap_is_written(earlier)) {
            c->reasoning = last;
            c->reasoning_history = earlier;
        }
        if (cf_cap_is_written(last) || cf_cap_is_written(earlier) ||
            (i == 0 && cf_cap_is_written(c->reasoning_calls))) {
            c->reasoning_field = fields[i].field;
            break;
        }
    }
    return differ(p, "u", GEN | CF_PROBE_THINK, "u", GEN | CF_PROBE_NO_THINK, &c->thinking_switch,
                  err);
}

static cf_status call_ids(cf_prober *p, cf_template_caps *c, cf_error *err)
{
    bool without, other = false;
    if (!cf_cap_is_written(c->tool_calls)) {
        return CF_OK;
    }
    CF_TRY(fails(p, "uzT", TOOLS, &without, err));
    if (without) {
        CF_TRY(fails(p, "ulL", TOOLS, &other, err));
    }
    c->call_id_rule = other ? CF_CALL_ID_NINE : without ? CF_CALL_ID_NEEDED : CF_CALL_ID_FREE;
    return CF_OK;
}

/* A part of another type counts as written if it changes the prompt. */
static cf_status media(cf_prober *p, cf_template_caps *c, cf_error *err)
{
    const struct {
        const char *with, *without;
        cf_cap *out;
    } kinds[] = {
        {"i", "p", &c->image_parts}, {"A", "P", &c->audio_parts}, {"F", "P", &c->video_parts}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bool fail, differs;
        CF_TRY(fails(p, kinds[i].with, GEN, &fail, err));
        CF_TRY(differ(p, kinds[i].with, GEN, kinds[i].without, GEN, &differs, err));
        *kinds[i].out = fail                                 ? CF_CAP_NO
                        : !differs                           ? CF_CAP_DROPPED
                        : c->typed_content == CF_CAP_GARBLED ? CF_CAP_GARBLED
                                                             : CF_CAP_YES;
    }
    return CF_OK;
}

static cf_status whole_prompt(cf_prober *p, cf_template_caps *c, cf_error *err)
{
    cf_shot s;
    CF_TRY(cf_probe(p, "ua", 0, &s, err));
    c->uses_bos = s.status == CF_OK && cf_str_starts(s.render.prompt.text, cf_probe_bos(p));
    c->has_generation_blocks = s.status == CF_OK && s.render.has_generation;
    cf_shot_free(p, &s);
    CF_TRY(is_refused(p, "uU", &c->needs_alternation, err));
    CF_TRY(is_refused(p, "auaU", &c->needs_user_first, err));
    return differ(p, "u", GEN, "u", 0, &c->generation_prompt, err);
}

cf_status cf_lint__caps(cf_prober *p, cf_template_caps *c, cf_error *err)
{
    *c = (cf_template_caps){0};
    CF_TRY(system_role(p, &c->system, err));
    for (size_t i = 0; i < sizeof plain_caps / sizeof plain_caps[0]; i++) {
        const plain_cap *row = &plain_caps[i];
        cf_cap *at = (cf_cap *)(void *)((char *)c + row->at);
        CF_TRY(shows(p, row->letters, row->flags, row->word, at, err));
        if (*at == CF_CAP_NO && row->otherwise != NULL) {
            CF_TRY(shows(p, row->otherwise, row->flags, row->word, at, err));
        }
    }
    CF_TRY(reasoning(p, c, err));
    CF_TRY(call_ids(p, c, err));
    CF_TRY(media(p, c, err));
    return whole_prompt(p, c, err);
}

cf_status cf_template_get_caps(const cf_template *tpl, cf_cancel *cancel, cf_template_caps *out,
                               cf_error *err)
{
    cf_prober p = {.tpl = tpl, .cancel = cancel};
    return cf_lint__caps(&p, out, err);
}

/* ---- as a list ---------------------------------------------------------- */

typedef enum row_kind { ROW_CAP, ROW_FLAG, ROW_ID_RULE, ROW_FIELD } row_kind;

static const struct {
    const char *key, *label;
    row_kind kind;
    size_t at;
} rows[] = {
    {"system", "system", ROW_CAP, AT(system)},
    {"late_system", "system later", ROW_CAP, AT(late_system)},
    {"developer", "developer", ROW_CAP, AT(developer)},
    {"reply", "reply in history", ROW_CAP, AT(reply)},
    {"tool_role", "tool role", ROW_CAP, AT(tool_role)},
    {"unknown_role", "unknown role", ROW_CAP, AT(unknown_role)},
    {"text_content", "content as text", ROW_CAP, AT(text_content)},
    {"typed_content", "content as parts", ROW_CAP, AT(typed_content)},
    {"typed_system", "system as parts", ROW_CAP, AT(typed_system)},
    {"typed_results", "result as parts", ROW_CAP, AT(typed_results)},
    {"object_results", "result as object", ROW_CAP, AT(object_results)},
    {"null_content", "content null", ROW_CAP, AT(null_content)},
    {"call_text", "text with calls", ROW_CAP, AT(call_text)},
    {"image_parts", "image parts", ROW_CAP, AT(image_parts)},
    {"tools", "tools", ROW_CAP, AT(tools)},
    {"tool_calls", "tool calls", ROW_CAP, AT(tool_calls)},
    {"string_args", "arguments as string", ROW_CAP, AT(string_args)},
    {"several_calls", "several calls", ROW_CAP, AT(several_calls)},
    {"call_ids", "call ids", ROW_CAP, AT(call_ids)},
    {"call_id_rule", "call ids must be", ROW_ID_RULE, AT(call_id_rule)},
    {"reasoning", "reasoning", ROW_CAP, AT(reasoning)},
    {"reasoning_calls", "reasoning of calls", ROW_CAP, AT(reasoning_calls)},
    {"reasoning_history", "reasoning in history", ROW_CAP, AT(reasoning_history)},
    {"reasoning_field", "reasoning is read from", ROW_FIELD, AT(reasoning_field)},
    {"thinking_switch", "thinking switch", ROW_FLAG, AT(thinking_switch)},
    {"generation_prompt", "generation prompt", ROW_FLAG, AT(generation_prompt)},
    {"needs_alternation", "roles must alternate", ROW_FLAG, AT(needs_alternation)},
    {"needs_user_first", "user must be first", ROW_FLAG, AT(needs_user_first)},
    {"uses_bos", "begins with bos", ROW_FLAG, AT(uses_bos)},
    {"generation_blocks", "generation blocks", ROW_FLAG, AT(has_generation_blocks)},
};

bool cf_template_caps_row(const cf_template_caps *caps, size_t i, cf_cap_row *out)
{
    if (i >= sizeof rows / sizeof rows[0]) {
        return false;
    }
    const void *at = (const char *)caps + rows[i].at;
    const char *value = "none";
    switch (rows[i].kind) {
    case ROW_CAP:
        value = cf_cap_name(*(const cf_cap *)at);
        break;
    case ROW_FLAG:
        value = *(const bool *)at ? "yes" : "no";
        break;
    case ROW_ID_RULE:
        value = cf_call_id_rule_name(*(const cf_call_id_rule *)at);
        break;
    case ROW_FIELD:
        if (*(const char *const *)at != NULL) {
            value = *(const char *const *)at;
        }
        break;
    }
    *out = (cf_cap_row){rows[i].key, rows[i].label, value, rows[i].kind == ROW_FLAG};
    return true;
}
