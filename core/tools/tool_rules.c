/*
 * tool_rules.c - the families' rules, and where a block starts.
 *
 * A decision depends on a bounded number of bytes behind the place it is
 * about, and never changes when more come: that is what makes a parse the
 * same for every cut into chunks.
 */
#include "core/tools/tool_rules.h"

#include <string.h>

enum {
    LOOKAHEAD_SPACE = 256, /* spaces looked through */
    LOOKAHEAD_NAME = 256   /* longest function name looked through */
};

#define END                                    \
    {                                          \
        CF_RULE_FENCE, CF_LEX_JSON, NULL, NULL \
    }
#define MARKER(text)                            \
    {                                           \
        CF_RULE_MARKER, CF_LEX_JSON, text, NULL \
    }

static const cf_tool__rule none[] = {END};
static const cf_tool__rule generic[] = {
    {CF_RULE_FENCE, CF_LEX_JSON, "<tool_call>", "</tool_call>"},
    {CF_RULE_MARKDOWN, CF_LEX_JSON, "```", "```"},
    {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL},
    {CF_RULE_BARE_OBJECT, CF_LEX_JSON, "{", NULL},
    {CF_RULE_SEPARATOR, CF_LEX_JSON, ";", NULL},
    END};
static const cf_tool__rule hermes[] = {
    {CF_RULE_FENCE, CF_LEX_JSON, "<tool_call>", "</tool_call>"},
    MARKER("<|im_end|>"),
    END};
static const cf_tool__rule gemma3[] = {
    {CF_RULE_CODE_FENCE, CF_LEX_PYTHON, "```tool_code", "```"},
    MARKER("<end_of_turn>"),
    END};
static const cf_tool__rule functiongemma[] = {
    {CF_RULE_FENCE, CF_LEX_FC, "<start_function_call>", "<end_function_call>"},
    MARKER("<start_function_response>"),
    MARKER("<end_of_turn>"),
    END};
static const cf_tool__rule gemma4[] = {
    {CF_RULE_FENCE, CF_LEX_FC, "<|tool_call>", "<tool_call|>"},
    MARKER("<|tool_response>"),
    MARKER("<turn|>"),
    END};
static const cf_tool__rule hammer[] = {
    {CF_RULE_MARKDOWN, CF_LEX_JSON, "```", "```"},
    {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL},
    MARKER("<|im_end|>"),
    MARKER("<|endoftext|>"),
    END};
static const cf_tool__rule llama_pythonic[] = {
    {CF_RULE_BARE_PYTHON, CF_LEX_PYTHON, "[", NULL},
    MARKER("<|python_start|>"),
    MARKER("<|python_end|>"),
    MARKER("<|python_tag|>"),
    MARKER("<|eot_id|>"),
    MARKER("<|eom_id|>"),
    END};
static const cf_tool__rule llama_json[] = {
    {CF_RULE_BARE_OBJECT, CF_LEX_JSON, "{", NULL},
    {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL},
    {CF_RULE_SEPARATOR, CF_LEX_JSON, ";", NULL},
    MARKER("<|python_tag|>"),
    MARKER("<|eot_id|>"),
    MARKER("<|eom_id|>"),
    END};
static const cf_tool__rule mistral[] = {
    {CF_RULE_MISTRAL, CF_LEX_JSON, "[TOOL_CALLS]", NULL}, MARKER("</s>"), END};
static const cf_tool__rule phi4_mini[] = {
    {CF_RULE_FENCE, CF_LEX_JSON, "<|tool_call|>", "<|/tool_call|>"},
    {CF_RULE_PREFIX, CF_LEX_JSON, "functools", NULL},
    {CF_RULE_BARE_LIST, CF_LEX_JSON, "[", NULL},
    MARKER("<|end|>"),
    END};
static const cf_tool__rule lfm2[] = {
    {CF_RULE_FENCE, CF_LEX_PYTHON, "<|tool_call_start|>", "<|tool_call_end|>"},
    MARKER("<|im_end|>"),
    END};

const cf_tool__rule *cf_tool__rules(cf_tool_family family)
{
    static const cf_tool__rule *const all[CF_TOOL_FAMILY_N] = {
        [CF_TOOLS_NONE] = none,
        [CF_TOOLS_GENERIC] = generic,
        [CF_TOOLS_HERMES] = hermes,
        [CF_TOOLS_GEMMA3] = gemma3,
        [CF_TOOLS_FUNCTIONGEMMA] = functiongemma,
        [CF_TOOLS_GEMMA4] = gemma4,
        [CF_TOOLS_HAMMER] = hammer,
        [CF_TOOLS_LLAMA_PYTHONIC] = llama_pythonic,
        [CF_TOOLS_LLAMA_JSON] = llama_json,
        [CF_TOOLS_MISTRAL] = mistral,
        [CF_TOOLS_PHI4_MINI] = phi4_mini,
        [CF_TOOLS_LFM2] = lfm2,
    };
    return (unsigned)family < CF_TOOL_FAMILY_N ? all[family] : none;
}

/* ---- looking ahead ------------------------------------------------------ */

/* A cursor that knows when it ran out of bytes. */
typedef struct look {
    cf_str raw;
    size_t at;
    bool is_final;
    bool ran_out; /* more bytes could change the answer */
} look;

static char look_char(look *l)
{
    if (l->at < l->raw.n) {
        return l->raw.p[l->at];
    }
    if (!l->is_final) {
        l->ran_out = true;
    }
    return '\0';
}

static bool look_literal(look *l, const char *text)
{
    size_t n = strlen(text);
    size_t have = l->raw.n - l->at < n ? l->raw.n - l->at : n;
    if (memcmp(l->raw.p + l->at, text, have) != 0) {
        return false;
    }
    if (have < n) {
        l->ran_out = l->ran_out || !l->is_final;
        return false;
    }
    l->at += n;
    return true;
}

static void look_space(look *l)
{
    for (size_t n = 0; n < LOOKAHEAD_SPACE && cf_tool__is_space(look_char(l));
         n++) {
        l->at++;
    }
}

/* Letters, digits, '_' and, with `more`, its characters; how many. */
static size_t look_name(look *l, const char *more)
{
    size_t off = l->at;
    while (l->at - off < LOOKAHEAD_NAME) {
        char c = look_char(l);
        if (c == '\0' || (!cf_tool__is_name(c) && strchr(more, c) == NULL)) {
            break;
        }
        l->at++;
    }
    return l->at - off;
}

static cf_tool__match decide(const look *l, bool yes)
{
    if (l->ran_out) {
        return CF_MATCH_MORE;
    }
    return yes ? CF_MATCH_YES : CF_MATCH_NO;
}

/* Only spaces stand between raw[i] and the start of its line, or `fresh`. */
static bool is_line_start(cf_str raw, size_t i, size_t fresh)
{
    while (i > fresh && (raw.p[i - 1] == ' ' || raw.p[i - 1] == '\t')) {
        i--;
    }
    return i == fresh || raw.p[i - 1] == '\n' || raw.p[i - 1] == '\r';
}

/* A quoted key that calls have. */
static bool look_call_key(look *l, bool *is_sure)
{
    static const char *const keys[] = {"name",       "function",    "type",
                                       "id",         "args",        "arguments",
                                       "parameters", "tool_call_id"};
    look_space(l);
    if (look_char(l) != '"') {
        return false;
    }
    l->at++;
    size_t off = l->at;
    size_t n = look_name(l, "");
    bool closed = look_char(l) == '"';
    if (l->ran_out || !closed) {
        return false;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strlen(keys[i]) == n && memcmp(keys[i], l->raw.p + off, n) == 0) {
            *is_sure = i < 3;
            return true;
        }
    }
    return false;
}

/* ---- rule by rule ------------------------------------------------------- */

static cf_tool__match match_code_fence(look *l)
{
    return decide(l, cf_tool__is_space(look_char(l)));
}

/* Behind the three backticks. */
static cf_tool__match match_markdown(look *l, cf_tool__block *b)
{
    static const char *const infos[] = {"", "json", "JSON", "tool_call",
                                        "tool_calls"};
    size_t off = l->at;
    size_t n = look_name(l, "+-");
    if (l->ran_out) {
        return CF_MATCH_MORE;
    }
    bool is_known = false;
    for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++) {
        is_known = is_known || (strlen(infos[i]) == n &&
                                memcmp(infos[i], l->raw.p + off, n) == 0);
    }
    if (!is_known) {
        return CF_MATCH_NO;
    }
    b->body_off = l->at;
    look_space(l);
    char open = look_char(l);
    if (open != '[' && open != '{') {
        return decide(l, false);
    }
    l->at++;
    look_space(l);
    char next = look_char(l);
    bool yes = open == '{' ? next == '"' : next == '{' || next == ']';
    bool is_sure = false;
    if (yes && next == '{') {
        l->at++;
    }
    if (yes && next != ']') {
        look copy = *l;
        if (!look_call_key(&copy, &is_sure) && copy.ran_out) {
            return CF_MATCH_MORE;
        }
    }
    b->is_sure = is_sure;
    return decide(l, yes);
}

static cf_tool__match match_bare_json(look *l, cf_tool__block *b)
{
    b->body_off = b->off;
    if (b->rule->kind == CF_RULE_BARE_LIST) {
        look_space(l);
        if (look_char(l) != '{') {
            return decide(l, false);
        }
        l->at++;
    }
    bool is_sure = false;
    bool yes = look_call_key(l, &is_sure);
    b->is_sure = is_sure;
    return decide(l, yes);
}

static cf_tool__match match_bare_python(look *l, const cf_tool_set *tools,
                                        cf_tool__block *b)
{
    b->body_off = b->off;
    b->is_sure = true;
    look_space(l);
    size_t off = l->at;
    size_t n = look_name(l, ".");
    size_t name_end = l->at;
    look_space(l);
    if (n == 0 || !cf_tool__is_name_start(l->raw.p[off]) ||
        look_char(l) != '(') {
        return decide(l, false);
    }
    if (tools != NULL &&
        cf_tool_set_find(tools, cf_str_make(l->raw.p + off, name_end - off)) !=
            NULL) {
        return CF_MATCH_YES;
    }
    l->at++;
    look_space(l);
    if (look_char(l) == ')') {
        return CF_MATCH_YES;
    }
    n = look_name(l, "");
    look_space(l);
    return decide(l, n > 0 && look_char(l) == '=');
}

static cf_tool__match nothing_follows(look *l, cf_tool__block *b,
                                      const char *expected)
{
    if (l->ran_out) {
        return CF_MATCH_MORE;
    }
    b->is_empty = true;
    b->expected = expected;
    return CF_MATCH_YES;
}

static cf_tool__match match_mistral(look *l, cf_tool__block *b)
{
    size_t fence = l->at;
    b->is_sure = true;
    b->body_off = fence;
    look_space(l);
    if (look_char(l) == '[' || look_char(l) == '{') {
        b->body_off = l->at;
        return CF_MATCH_YES;
    }
    b->name_off = l->at;
    b->name_len = look_name(l, ".-");
    if (l->ran_out) {
        return CF_MATCH_MORE;
    }
    if (b->name_len == 0) {
        return nothing_follows(l, b, "'[', '{' or a function's name");
    }
    if (look_literal(l, "[CALL_ID]")) {
        b->id_off = l->at;
        b->id_len = look_name(l, "-");
    }
    if (!l->ran_out) {
        (void)look_literal(l, "[ARGS]");
    }
    if (!l->ran_out) {
        look_space(l);
    }
    if (l->ran_out || look_char(l) != '{') {
        return nothing_follows(l, b, "'{' of the arguments");
    }
    b->is_named = true;
    b->body_off = l->at;
    return CF_MATCH_YES;
}

static cf_tool__match match_prefix(look *l, cf_tool__block *b)
{
    b->is_sure = true;
    look_space(l);
    if (look_char(l) != '[') {
        return decide(l, false);
    }
    b->body_off = l->at;
    return CF_MATCH_YES;
}

static cf_tool__match match_separator(look *l, size_t i, size_t fresh)
{
    if (fresh == 0) {
        return CF_MATCH_NO;
    }
    for (size_t at = fresh; at < i; at++) {
        if (!cf_tool__is_space(l->raw.p[at])) {
            return CF_MATCH_NO;
        }
    }
    look_space(l);
    char c = look_char(l);
    return decide(l, c == '{' || c == '[' || c == '\0');
}

cf_tool__match cf_tool__match_rule(const cf_tool__rule *rule, cf_str raw,
                                   size_t i, size_t fresh, bool is_final,
                                   const cf_tool_set *tools,
                                   cf_tool__block *out)
{
    look l = {raw, i, is_final, false};
    memset(out, 0, sizeof *out);
    out->rule = rule;
    out->off = i;
    bool needs_line =
        rule->kind == CF_RULE_BARE_LIST || rule->kind == CF_RULE_BARE_PYTHON;
    if (needs_line && !is_line_start(raw, i, fresh)) {
        return CF_MATCH_NO;
    }
    if (!look_literal(&l, rule->start)) {
        return decide(&l, false);
    }
    out->body_off = l.at;
    switch (rule->kind) {
    case CF_RULE_FENCE:
        out->is_sure = true;
        return CF_MATCH_YES;
    case CF_RULE_MARKER:
        return CF_MATCH_YES;
    case CF_RULE_CODE_FENCE:
        out->is_sure = true;
        return match_code_fence(&l);
    case CF_RULE_MARKDOWN:
        return match_markdown(&l, out);
    case CF_RULE_BARE_OBJECT: {
        cf_tool__match match = match_bare_json(&l, out);
        out->is_sure = out->is_sure && is_line_start(raw, i, fresh);
        return match;
    }
    case CF_RULE_BARE_LIST:
        return match_bare_json(&l, out);
    case CF_RULE_BARE_PYTHON:
        return match_bare_python(&l, tools, out);
    case CF_RULE_MISTRAL:
        return match_mistral(&l, out);
    case CF_RULE_PREFIX:
        return match_prefix(&l, out);
    case CF_RULE_SEPARATOR:
        return match_separator(&l, i, fresh);
    }
    return CF_MATCH_NO;
}

bool cf_tool__parse_body(cf_tool__emit *e, const cf_tool__block *block,
                         const cf_tool_set *tools)
{
    unsigned flags = 0;
    switch (block->rule->lexer) {
    case CF_LEX_PYTHON:
        return cf_tool__python_calls(e, tools);
    case CF_LEX_FC:
        return cf_tool__fc_calls(e);
    case CF_LEX_JSON:
        break;
    }
    if (block->is_named) {
        cf_tool__raw_call call;
        memset(&call, 0, sizeof call);
        call.off = block->name_off;
        call.name_off = block->name_off;
        call.name_len = block->name_len;
        call.name = cf_str_make(e->p + block->name_off, block->name_len);
        call.id = cf_str_make(e->p + block->id_off, block->id_len);
        return cf_tool__json_arguments(e, &call);
    }
    if (block->rule->kind == CF_RULE_MARKDOWN ||
        block->rule->kind == CF_RULE_BARE_LIST ||
        block->rule->kind == CF_RULE_BARE_OBJECT) {
        flags |= CF_TOOL_JSON_LOOSE;
    }
    return cf_tool__json_calls(e, flags, tools);
}
