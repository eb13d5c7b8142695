/*
 * tool_rules.c - finds where a block starts.
 *
 * A decision depends on a bounded number of bytes after the place it is
 * about, and never changes when more come: that is what makes a parse the
 * same for every cut into chunks.
 */
#include "core/tools/tool_rules.h"

#include <stdio.h>
#include <string.h>

enum {
    LOOKAHEAD_SPACE = 256, /* spaces looked through */
    LOOKAHEAD_NAME = 256   /* longest function name looked through */
};

static bool holds(const cf_tool__rule *v, size_t n, cf_str start)
{
    for (size_t i = 0; i < n; i++) {
        if (cf_str_eq(v[i].start, start)) {
            return true;
        }
    }
    return false;
}

/* A rule of the row with literals of its own or of the syntax. */
static cf_tool__rule resolve(const cf_tool__rule_row *r, const cf_tool__syntax *y)
{
    bool is_call = r->kind == CF_RULE_CALL || (r->kind == CF_RULE_FENCE && y->open == NULL);
    const char *start = is_call ? y->call_open : y->open;
    const char *end = is_call ? y->call_close : y->close;
    return (cf_tool__rule){
        .kind = r->kind,
        .lexer = r->lexer,
        .start = cf_tool__trim(r->start != NULL ? r->start : start),
        .end = cf_tool__trim(r->start != NULL ? r->end : end),
        .place = r->place,
        .syntax = y,
    };
}

/* Moves the brackets of a list, "[" and "]", from the fences to the body. */
static void leave_brackets(cf_tool__rule *r)
{
    while (r->kind == CF_RULE_FENCE && r->start.n > 0 &&
           strchr("[ \n", r->start.p[r->start.n - 1]) != NULL) {
        r->start.n--;
    }
    while (r->kind == CF_RULE_FENCE && r->end.n > 0 && strchr("] \n", r->end.p[0]) != NULL) {
        r->end.p++;
        r->end.n--;
    }
}

size_t cf_tool__rules(cf_tool_family family, cf_tool__rule out[CF_TOOL_RULES_MAX])
{
    const cf_tool__row *row = cf_tool__row_of(family);
    const size_t n_row = sizeof row->rules / sizeof row->rules[0];
    size_t n = 0;
    for (size_t i = 0; i < n_row && row->rules[i].kind != CF_RULE_NONE; i++) {
        out[n] = resolve(&row->rules[i], &row->calls);
        leave_brackets(&out[n++]);
    }
    for (size_t i = 0; row->variant != NULL && i < n_row; i++) {
        bool is_own = row->rules[i].kind == CF_RULE_SECTION || row->rules[i].kind == CF_RULE_CALL;
        if (is_own && row->rules[i].start == NULL) {
            out[n++] = resolve(&row->rules[i], row->variant);
        }
    }
    for (size_t i = 0, n_own = n; i < n_own; i++) {
        bool has_end = out[i].kind == CF_RULE_FENCE || out[i].kind == CF_RULE_JSON_FENCE ||
                       out[i].kind == CF_RULE_SECTION || out[i].kind == CF_RULE_CALL;
        if (has_end && out[i].end.n > 0 && !holds(out, n, out[i].end)) {
            out[n++] = (cf_tool__rule){.kind = CF_RULE_MARKER,
                                       .start = out[i].end,
                                       .is_stray = true,
                                       .syntax = out[i].syntax};
        }
    }
    return n;
}

size_t cf_tool_family_stops(cf_tool_family family, cf_str *out)
{
    enum { LENGTH_MIN = 4 }; /* shorter marks are prose too often */
    cf_tool__rule rules[CF_TOOL_RULES_MAX];
    size_t n_rules = cf_tool__rules(family, rules);
    size_t n = 0;
    for (size_t i = 0; i < n_rules && n < CF_CHANNEL_STOPS_MAX; i++) {
        const cf_tool__rule *r = &rules[i];
        cf_str mark = r->start;
        for (size_t k = 0; k < mark.n; k++) {
            mark.n = cf_tool__is_space(mark.p[k]) ? k : mark.n;
        }
        bool is_mark = r->kind == CF_RULE_FENCE || r->kind == CF_RULE_SECTION ||
                       r->kind == CF_RULE_CALL || r->kind == CF_RULE_MISTRAL ||
                       r->kind == CF_RULE_MARKER;
        if (is_mark && !r->is_stray && r->place != CF_PLACE_MARK && mark.n >= LENGTH_MIN) {
            out[n++] = mark;
        }
    }
    return n;
}

/* ---- literals ----------------------------------------------------------- */

cf_tool__match cf_tool__literal(cf_str raw, size_t at, bool is_final, cf_str text, size_t *end)
{
    for (size_t k = 0; k < text.n; k++) {
        if (cf_tool__is_space(text.p[k])) {
            for (size_t i = 0; i < LOOKAHEAD_SPACE && at < raw.n && cf_tool__is_space(raw.p[at]);
                 i++) {
                at++;
            }
            continue;
        }
        if (at >= raw.n) {
            return is_final ? CF_MATCH_NO : CF_MATCH_MORE;
        }
        if (raw.p[at] != text.p[k] && !(text.p[k] == '"' && raw.p[at] == '\'')) {
            return CF_MATCH_NO;
        }
        at++;
    }
    *end = at;
    return CF_MATCH_YES;
}

size_t cf_tool__partial(cf_str raw, size_t at, cf_str text)
{
    size_t end;
    if (at >= raw.n || cf_tool__literal(raw, at, false, text, &end) != CF_MATCH_MORE) {
        return 0;
    }
    return raw.n - at;
}

/* ---- looking ahead ------------------------------------------------------ */

/* A cursor that knows when it ran out of bytes. */
typedef struct look {
    cf_str raw;
    size_t at;
    bool is_final;
    bool ran_out; /* set if more bytes could change the answer */
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

static bool look_literal(look *l, cf_str text)
{
    cf_tool__match m = cf_tool__literal(l->raw, l->at, l->is_final, text, &l->at);
    l->ran_out = l->ran_out || m == CF_MATCH_MORE;
    return m == CF_MATCH_YES;
}

static void look_space(look *l)
{
    for (size_t n = 0; n < LOOKAHEAD_SPACE && cf_tool__is_space(look_char(l)); n++) {
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
    static const char *const keys[] = {"name",       "function",     "type",
                                       "id",         "args",         "arguments",
                                       "parameters", "tool_call_id", "tool_calls"};
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
    static const char *const infos[] = {"", "json", "JSON", "tool_call", "tool_calls"};
    size_t off = l->at;
    size_t n = look_name(l, "+-");
    if (l->ran_out) {
        return CF_MATCH_MORE;
    }
    bool is_known = false;
    for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++) {
        is_known = is_known || (strlen(infos[i]) == n && memcmp(infos[i], l->raw.p + off, n) == 0);
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

/* Inside a line only a declared name makes a call of it. */
static cf_tool__match match_bare_python(look *l, const cf_tool__view *v, cf_tool__block *b)
{
    const cf_tool_set *tools = v->tools;
    b->body_off = b->off;
    b->is_sure = is_line_start(v->raw, b->off, v->fresh);
    look_space(l);
    size_t off = l->at;
    size_t n = look_name(l, ".");
    size_t name_end = l->at;
    look_space(l);
    if (n == 0 || !cf_tool__is_name_start(l->raw.p[off]) || look_char(l) != '(') {
        return decide(l, false);
    }
    if (tools != NULL &&
        cf_tool_set_find(tools, cf_str_make(l->raw.p + off, name_end - off)) != NULL) {
        return CF_MATCH_YES;
    }
    if (!b->is_sure) {
        return decide(l, false);
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

/* Matches a call that fills a line of its own, as in Python; anything else on
 * the line stays text. */
static cf_tool__match match_python_line(look *l, cf_tool__block *b)
{
    size_t off = l->at;
    b->body_off = off;
    bool is_name = look_name(l, ".") > 0 && cf_tool__is_name_start(l->raw.p[off]);
    if (l->ran_out || !is_name || look_char(l) != '(') {
        return decide(l, false);
    }
    l->at++;
    look_space(l);
    bool is_empty = look_char(l) == ')';
    bool is_key = look_name(l, "") > 0;
    look_space(l);
    return decide(l, is_empty || (is_key && look_char(l) == '='));
}

static cf_tool__match nothing_follows(look *l, cf_tool__block *b, const char *expected)
{
    if (l->ran_out) {
        return CF_MATCH_MORE;
    }
    b->is_bad = true;
    b->err_off = l->at;
    snprintf(b->expected, sizeof b->expected, "%s", expected);
    return CF_MATCH_YES;
}

static cf_tool__match match_mistral(look *l, cf_tool__block *b)
{
    b->is_sure = true;
    b->body_off = l->at;
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
    if (look_literal(l, cf_str_from("[CALL_ID]"))) {
        b->id_off = l->at;
        b->id_len = look_name(l, "-");
    }
    if (!l->ran_out) {
        (void)look_literal(l, cf_str_from("[ARGS]"));
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

/* A literal whose block ends with its brackets: one must follow. */
static cf_tool__match match_open(look *l, cf_tool__block *b)
{
    b->is_sure = true;
    b->body_off = l->at;
    look_space(l);
    char c = look_char(l);
    return decide(l, c == '[' || c == '{' || (l->at >= l->raw.n && b->rule->end.n == 0));
}

static bool is_blank(cf_str raw, size_t from, size_t to)
{
    while (from < to && cf_tool__is_space(raw.p[from])) {
        from++;
    }
    return from >= to;
}

static cf_tool__match match_separator(look *l, size_t i, size_t fresh)
{
    if (fresh == 0 || !is_blank(l->raw, fresh, i)) {
        return CF_MATCH_NO;
    }
    look_space(l);
    char c = look_char(l);
    return decide(l, c == '{' || c == '[' || c == '\0');
}

/* The opening literal of a section: a call or its end must follow.  Where
 * what follows looks like the attempt at a call the section is bad; if it is
 * prose, this is not a section. */
static cf_tool__match match_section(const cf_tool__view *v, look *l, cf_tool__block *b)
{
    b->body_off = l->at;
    look_space(l);
    size_t end;
    for (size_t i = 0; i < v->n_rules; i++) {
        const cf_tool__rule *r = &v->rules[i];
        if (r->kind == CF_RULE_CALL) {
            switch (cf_tool__literal(l->raw, l->at, l->is_final, r->start, &end)) {
            case CF_MATCH_YES:
                return CF_MATCH_YES;
            case CF_MATCH_MORE:
                return CF_MATCH_MORE;
            case CF_MATCH_NO:
                break;
            }
        }
    }
    if (look_literal(l, b->rule->end)) {
        b->is_empty = true;
        b->body_off = l->at;
        return CF_MATCH_YES;
    }
    if (l->ran_out) {
        return CF_MATCH_MORE;
    }
    cf_str call = cf_tool__trim(b->rule->syntax->call_open);
    b->err_off = l->at;
    b->is_bad = l->at >= l->raw.n || strchr("<{[", l->raw.p[l->at]) != NULL;
    snprintf(b->expected, sizeof b->expected, "'%.*s'", (int)(call.n < 64 ? call.n : 64), call.p);
    return b->is_bad ? CF_MATCH_YES : CF_MATCH_NO;
}

static cf_tool__match match_call(cf_tool__block *b)
{
    b->is_sure = true;
    b->in_header = b->rule->syntax->form == CF_FORM_NAMED;
    b->is_named = b->in_header;
    return CF_MATCH_YES;
}

/* Whether the rule may apply at raw[i] at all. */
static bool is_place(const cf_tool__view *v, const cf_tool__rule *rule, size_t i)
{
    if (rule->is_stray) {
        return v->fresh > 0 && is_blank(v->raw, v->fresh, i);
    }
    if (rule->place == CF_PLACE_MARK) {
        return is_blank(v->raw, v->fresh, i);
    }
    if (rule->kind == CF_RULE_BARE_LIST || rule->kind == CF_RULE_PYTHON_LINE) {
        return is_line_start(v->raw, i, v->fresh);
    }
    return true;
}

cf_tool__match cf_tool__match_rule(const cf_tool__view *v, const cf_tool__rule *rule, size_t i,
                                   cf_tool__block *out)
{
    look l = {v->raw, i, v->is_final, false};
    memset(out, 0, sizeof *out);
    out->rule = rule;
    out->off = i;
    if (!is_place(v, rule, i)) {
        return CF_MATCH_NO;
    }
    if (rule->place == CF_PLACE_NAME && is_blank(v->raw, v->fresh, i) &&
        cf_tool__is_name_start(v->raw.p[i])) {
        (void)look_name(&l, ".-");
    }
    if (l.ran_out || !look_literal(&l, rule->start)) {
        return decide(&l, false);
    }
    out->body_off = l.at;
    switch (rule->kind) {
    case CF_RULE_FENCE:
        out->is_sure = true;
        return rule->end.n > 0 ? CF_MATCH_YES : match_open(&l, out);
    case CF_RULE_JSON_FENCE:
        return match_open(&l, out);
    case CF_RULE_MARKER:
        return CF_MATCH_YES;
    case CF_RULE_CODE_FENCE:
        out->is_sure = true;
        return match_code_fence(&l);
    case CF_RULE_MARKDOWN:
        return match_markdown(&l, out);
    case CF_RULE_BARE_OBJECT: {
        cf_tool__match match = match_bare_json(&l, out);
        out->is_sure = out->is_sure && is_line_start(v->raw, i, v->fresh);
        return match;
    }
    case CF_RULE_BARE_LIST:
        return match_bare_json(&l, out);
    case CF_RULE_PYTHON_LINE:
        return match_python_line(&l, out);
    case CF_RULE_BARE_PYTHON:
        return match_bare_python(&l, v, out);
    case CF_RULE_MISTRAL:
        return match_mistral(&l, out);
    case CF_RULE_PREFIX:
        return match_prefix(&l, out);
    case CF_RULE_SECTION:
        return match_section(v, &l, out);
    case CF_RULE_CALL:
        return match_call(out);
    case CF_RULE_SEPARATOR:
        return match_separator(&l, i, v->fresh);
    case CF_RULE_NONE:
        break;
    }
    return CF_MATCH_NO;
}

/* ---- the contents of a block -------------------------------------------- */

static void trim(cf_str raw, size_t *off, size_t *end)
{
    while (*off < *end && cf_tool__is_space(raw.p[*off])) {
        ++*off;
    }
    while (*end > *off && cf_tool__is_space(raw.p[*end - 1])) {
        --*end;
    }
}

/* functions.NAME:INDEX, either part may be missing. */
static void read_index_id(cf_str raw, cf_tool__block *b)
{
    static const char lead[] = "functions.";
    size_t n = sizeof lead - 1;
    b->id_off = b->name_off;
    b->id_len = b->name_len;
    if (b->name_len > n && memcmp(raw.p + b->name_off, lead, n) == 0) {
        b->name_off += n;
        b->name_len -= n;
    }
    size_t digits = 0;
    while (digits < b->name_len &&
           cf_tool__is_digit(raw.p[b->name_off + b->name_len - digits - 1])) {
        digits++;
    }
    if (digits > 0 && digits < b->name_len &&
        raw.p[b->name_off + b->name_len - digits - 1] == ':') {
        b->name_len -= digits + 1;
    }
}

void cf_tool__read_header(cf_str raw, size_t off, size_t end, cf_tool__block *b)
{
    const cf_tool__syntax *y = b->rule->syntax;
    cf_str id_end = cf_tool__trim(y->id_end);
    for (size_t i = off; id_end.n > 0 && i + id_end.n <= end; i++) {
        if (memcmp(raw.p + i, id_end.p, id_end.n) == 0) {
            size_t id = off, stop = i;
            trim(raw, &id, &stop);
            b->id_off = id;
            b->id_len = stop - id;
            off = i + id_end.n;
            break;
        }
    }
    trim(raw, &off, &end);
    if (y->header_end != NULL) { /* only the first word is the name */
        size_t at = off;
        while (at < end && (cf_tool__is_name(raw.p[at]) || strchr(".-:", raw.p[at]) != NULL)) {
            at++;
        }
        end = at;
    }
    b->name_off = off;
    b->name_len = end - off;
    if (y->ids == CF_IDS_INDEX) {
        read_index_id(raw, b);
    }
}

static bool named_call(cf_tool__emit *e, const cf_tool__block *block)
{
    if (block->name_len == 0) {
        return cf_tool__expect(e, block->name_off, "a function's name");
    }
    cf_tool__raw_call call;
    memset(&call, 0, sizeof call);
    call.off = block->rule->kind == CF_RULE_CALL ? block->off : block->name_off;
    call.name_off = block->name_off;
    call.name_len = block->name_len;
    call.name = cf_str_make(e->p + block->name_off, block->name_len);
    call.id = cf_str_make(e->p + block->id_off, block->id_len);
    return cf_tool__json_arguments(e, &call);
}

/* A JSON object, or a list of them. */
static bool looks_like_json(const cf_tool__emit *e)
{
    size_t at = e->at;
    while (at < e->end && (cf_tool__is_space(e->p[at]) || e->p[at] == '[')) {
        at++;
    }
    return at < e->end && e->p[at] == '{';
}

bool cf_tool__parse_body(cf_tool__emit *e, const cf_tool__block *block, bool closed,
                         const cf_tool_set *tools)
{
    const cf_tool__syntax *y = block->rule->syntax;
    unsigned flags = y->form == CF_FORM_KEYED ? CF_TOOL_JSON_KEYED : 0;
    switch (block->rule->lexer) {
    case CF_LEX_PYTHON:
        return cf_tool__python_calls(e, tools, false);
    case CF_LEX_PYTHON_LINES:
        return looks_like_json(e) ? cf_tool__json_calls(e, flags, tools)
                                  : cf_tool__python_calls(e, tools, true);
    case CF_LEX_FC:
        return cf_tool__fc_calls(e);
    case CF_LEX_TAGS:
        return cf_tool__tags_call(e, y, closed, tools);
    case CF_LEX_JSON:
        break;
    }
    if (block->is_named) {
        return named_call(e, block);
    }
    if (block->rule->kind == CF_RULE_MARKDOWN || block->rule->kind == CF_RULE_BARE_LIST ||
        block->rule->kind == CF_RULE_BARE_OBJECT) {
        flags |= CF_TOOL_JSON_LOOSE;
    }
    flags |= y->skips_lines ? CF_TOOL_JSON_LINES : 0;
    return cf_tool__json_calls(e, flags, tools);
}
