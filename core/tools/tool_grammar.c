/*
 * tool_grammar.c - compiles the grammar of a reply with tool calls, in every
 * family's syntax.
 *
 * The calls' parameters go through the same expansion as any schema; the
 * dialect decides how values are written.
 */
#include <string.h>

#include "core/schema/schema.h"
#include "core/tools/tool_family.h"
#include "core/tools/tool_rules.h"

typedef struct maker {
    cf_schema s;
    cf_gbuild *b;
    const cf_tool__row *row;
    const cf_tool__syntax *syn;
    const cf_tool_constraint *spec;
    const cf_grammar_options *opts;
    cf_buf open, close; /* of a block, as used */
    bool is_each;       /* they stand around every call */
    bool has_marks;     /* each call has marks of its own inside them */
    json_t *none;       /* parameters of a tool that declares none */
} maker;

static cf_dialect dialect_of(const cf_tool__syntax *y)
{
    switch (y->form) {
    case CF_FORM_FC:
        return strcmp(y->esc, "<escape>") == 0 ? CF_DIALECT_FC_ESCAPE : CF_DIALECT_FC_QUOTE;
    case CF_FORM_PYTHON:
    case CF_FORM_TAGS:
        return y->values == CF_VALUES_PYTHON ? CF_DIALECT_PYTHON : CF_DIALECT_JSON;
    case CF_FORM_NONE:
    case CF_FORM_JSON:
    case CF_FORM_KEYED:
    case CF_FORM_NAMED:
        break;
    }
    return CF_DIALECT_JSON;
}

/* ---- one call ----------------------------------------------------------- */

static json_t *no_parameters(void)
{
    return json_pack("{s:s,s:{},s:b}", "type", "object", "properties", "additionalProperties", 0);
}

/* Required keys first, in the order of `required`; the others as they are. */
static const cf_prop *seed_order(maker *m, const cf_atom *a, const json_t *required)
{
    cf_prop *v = cf_schema_alloc(&m->s, a->n_prop, sizeof *v);
    uint32_t n = 0;
    for (size_t i = 0; v != NULL && i < json_array_size(required); i++) {
        const json_t *name = json_array_get(required, i);
        cf_str key = {json_string_value(name), json_string_length(name)};
        bool is_known = false;
        for (uint32_t k = 0; k < n; k++) {
            is_known |= cf_str_eq(v[k].name, key);
        }
        for (uint32_t k = 0; k < a->n_prop && !is_known; k++) {
            if (cf_str_eq(a->prop[k].name, key)) {
                v[n++] = a->prop[k];
            }
        }
    }
    for (uint32_t k = 0; v != NULL && k < a->n_prop; k++) {
        if (!a->prop[k].is_required) {
            v[n++] = a->prop[k];
        }
    }
    return v != NULL && n == a->n_prop ? v : a->prop;
}

/* The atom of a tool's arguments: an object with no undeclared keys unless
 * the declaration speaks of them. */
static const cf_atom *args_atom(maker *m, const cf_tool *tool, const json_t *declared)
{
    cf_schema *s = &m->s;
    json_t *parameters = cf_tool__closed(declared, false);
    if (parameters == NULL || json_array_append_new(s->made, parameters) != 0) {
        cf_gbuild_oom(m->b);
        return NULL;
    }
    char path[100];
    memcpy(path, "tool ", 5);
    size_t n = tool->name.n < 80 ? tool->name.n : 80;
    memcpy(path + 5, tool->name.p, n);
    path[5 + n] = '\0';
    uint32_t ref = cf_schema_root(s, parameters, path);
    const cf_dnf *d = cf_conj_expand(s, cf_conj_one(s, ref, false));
    const cf_atom *object = NULL;
    size_t n_object = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i]->kind == CF_ATOM_OBJ) {
            object = d->v[i];
            n_object++;
        }
    }
    if (object == NULL || n_object != 1) {
        cf_schema_fail(s, path, "the parameters are not one object");
        return NULL;
    }
    cf_atom *own = cf_schema_alloc(s, 1, sizeof *own);
    if (!cf_schema_ok(s) || own == NULL) {
        return NULL;
    }
    *own = *object;
    bool says_more = json_object_get(parameters, "additionalProperties") != NULL ||
                     json_object_get(parameters, "patternProperties") != NULL;
    if (!says_more || (m->syn->form != CF_FORM_JSON && m->syn->form != CF_FORM_KEYED &&
                       m->syn->form != CF_FORM_NAMED)) {
        own->n_cls = 0;
    }
    if (m->spec->seed_order) {
        own->prop = seed_order(m, own, json_object_get(parameters, "required"));
    }
    return own;
}

static uint32_t put(maker *m, uint32_t from, const char *text)
{
    return text != NULL ? cf_g_bytes(m->b, from, text, strlen(text)) : from;
}

/* Text whose tokens may be control tokens. */
static uint32_t fence(maker *m, uint32_t from, cf_str text)
{
    bool was = m->b->is_fence;
    m->b->is_fence = true;
    from = cf_g_bytes(m->b, from, text.p, text.n);
    m->b->is_fence = was;
    return from;
}

static uint32_t mark(maker *m, uint32_t from, const char *text)
{
    return text != NULL ? fence(m, from, cf_str_from(text)) : from;
}

/* One or more bytes from `lo` to `hi`. */
static uint32_t some(maker *m, uint32_t from, uint8_t lo, uint8_t hi)
{
    uint32_t to = cf_g_node(m->b);
    cf_g_byte(m->b, from, lo, hi, to);
    cf_g_byte(m->b, to, lo, hi, to);
    return to;
}

static uint32_t put_key(maker *m, uint32_t from, const char *key)
{
    from = put(m, put(m, put(m, from, "\""), key), "\"");
    return cf_emit_colon(&m->s, from);
}

static uint32_t emit_args(maker *m, uint32_t from, const cf_atom *args)
{
    uint32_t to = cf_g_node(m->b);
    cf_emit_object(&m->s, args, from, to);
    return to;
}

static uint32_t emit_json_call(maker *m, uint32_t from, const cf_tool *tool, const cf_atom *args)
{
    cf_schema *s = &m->s;
    const cf_tool__syntax *y = m->syn;
    from = cf_emit_gap(s, put(m, from, "{"));
    if (y->form == CF_FORM_KEYED) {
        from = cf_emit_colon(s, cf_emit_text(s, from, tool->name));
        return put(m, cf_emit_gap(s, emit_args(m, from, args)), "}");
    }
    if (y->id_first) {
        from = put(m, put_key(m, from, y->id_key), "\"");
        from = cf_emit_comma(s, put(m, some(m, from, '0', '9'), "\""));
    }
    from = put_key(m, from, y->name_key != NULL ? y->name_key : "name");
    from = cf_emit_comma(s, cf_emit_text(s, from, tool->name));
    from = put_key(m, from, y->args_key != NULL ? y->args_key : "arguments");
    return put(m, cf_emit_gap(s, emit_args(m, from, args)), "}");
}

static uint32_t emit_named_call(maker *m, uint32_t from, const cf_tool *tool, const cf_atom *args)
{
    const cf_tool__syntax *y = m->syn;
    if (y->id_end != NULL) {
        uint32_t id = put(m, from, "call");
        from = mark(m, some(m, id, '0', '9'), y->id_end);
    }
    from = put(m, from, y->ids == CF_IDS_INDEX ? "functions." : "");
    from = cf_g_bytes(m->b, from, tool->name.p, tool->name.n);
    if (y->ids == CF_IDS_INDEX) {
        from = some(m, put(m, from, ":"), '0', '9');
    }
    return emit_args(m, mark(m, from, y->name_end), args);
}

/* "true" and "false" for is-a-string, or the types of JSON Schema: what the
 * value's grammar leaves possible. */
static uint32_t emit_attr(maker *m, uint32_t from, cf_conj value, bool is_text)
{
    static const char *const words[] = {
        [CF_ATOM_NULL] = "null",  [CF_ATOM_BOOL] = "boolean", [CF_ATOM_NUM] = "number",
        [CF_ATOM_STR] = "string", [CF_ATOM_ARR] = "array",    [CF_ATOM_OBJ] = "object"};
    const cf_tool__syntax *y = m->syn;
    if (is_text || y->attr_is_flag) {
        const char *word = is_text ? "string" : "false";
        return put(m, from, is_text && y->attr_is_flag ? "true" : word);
    }
    const cf_dnf *d = cf_conj_expand(&m->s, value);
    uint32_t to = cf_g_node(m->b);
    bool done[8] = {false};
    for (size_t i = 0; i < d->n && cf_schema_ok(&m->s); i++) {
        unsigned kind = d->v[i]->kind;
        if (kind == CF_ATOM_LIT) {
            const json_t *v = d->v[i]->lit;
            kind = json_is_null(v)      ? CF_ATOM_NULL
                   : json_is_boolean(v) ? CF_ATOM_BOOL
                   : json_is_number(v)  ? CF_ATOM_NUM
                   : json_is_array(v)   ? CF_ATOM_ARR
                                        : CF_ATOM_OBJ;
        }
        if (!done[kind]) {
            done[kind] = true;
            cf_g_jump(m->b, put(m, from, words[kind]), 0, to);
        }
    }
    return to;
}

static bool may_be_text(maker *m, cf_conj value)
{
    const cf_dnf *d = cf_conj_expand(&m->s, value);
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i]->kind == CF_ATOM_STR ||
            (d->v[i]->kind == CF_ATOM_LIT && json_is_string(d->v[i]->lit))) {
            return true;
        }
    }
    return false;
}

static uint32_t emit_tag(maker *m, uint32_t from, const cf_prop *p)
{
    const cf_tool__syntax *y = m->syn;
    const cf_str stops[] = {cf_tool__trim(y->keys_are_tags ? y->param : y->value_end),
                            cf_tool__trim(y->call_close), cf_str_from("<![CDATA[")};
    from = mark(m, from, y->param);
    from = cf_g_bytes(m->b, from, p->name.p, p->name.n);
    from = mark(m, from, y->key_end);
    if (y->attr_end != NULL) {
        bool is_text = may_be_text(m, p->value);
        from = mark(m, emit_attr(m, from, p->value, is_text), y->attr_end);
    }
    from = mark(m, from, y->value_open);
    uint32_t to = cf_g_node(m->b);
    if (y->typing == CF_TYPING_JSON) {
        cf_g_call(m->b, from, cf_conj__rule(&m->s, p->value), 0, to);
    } else {
        cf_emit_between_tags(&m->s, p->value, stops, y->has_cdata ? 3 : 2, from, to);
    }
    from = mark(m, to, y->value_end);
    if (y->keys_are_tags) {
        from = mark(m, cf_g_bytes(m->b, from, p->name.p, p->name.n), y->key_end);
    }
    return from;
}

/* Arguments in the order of their declaration. */
static uint32_t emit_tags_call(maker *m, uint32_t from, const cf_tool *tool, const cf_atom *args)
{
    const cf_tool__syntax *y = m->syn;
    if (args->n_dep > 0 || args->max != CF_RX_INF) {
        cf_schema_fail(&m->s, m->s.at,
                       "counts and dependencies of parameters are not "
                       "supported in the syntax of %s",
                       m->row->name);
        return from;
    }
    from = cf_g_bytes(m->b, from, tool->name.p, tool->name.n);
    from = mark(m, from, y->name_end);
    if (y->name_again != NULL) {
        from = mark(m, cf_g_bytes(m->b, from, tool->name.p, tool->name.n), y->name_again);
    }
    if (y->index_end != NULL) {
        from = mark(m, some(m, from, '0', '9'), y->index_end);
    }
    for (uint32_t i = 0; i < args->n_prop && m->b->st == CF_OK; i++) {
        uint32_t next = cf_g_node(m->b);
        cf_g_jump(m->b, emit_tag(m, from, &args->prop[i]), 0, next);
        if (!args->prop[i].is_required) {
            cf_g_jump(m->b, from, 0, next);
        }
        from = next;
    }
    return from;
}

/* NAME(...), and where the family's models write it, print(...) around it
 * and default_api. before the name. */
static uint32_t emit_python_call(maker *m, uint32_t from, const cf_tool *tool, const cf_atom *args)
{
    cf_gbuild *b = m->b;
    uint32_t to = cf_g_node(b);
    for (int printed = 0; printed <= (m->syn->python_api ? 1 : 0); printed++) {
        uint32_t name = cf_g_node(b);
        uint32_t end = cf_g_node(b);
        uint32_t begin = printed ? put(m, from, "print(") : from;
        cf_g_jump(b, begin, 0, name);
        if (m->syn->python_api) {
            cf_g_jump(b, put(m, begin, "default_api."), 0, name);
        }
        uint32_t open = cf_g_bytes(b, name, tool->name.p, tool->name.n);
        cf_emit_arguments(&m->s, args, open, end);
        cf_g_jump(b, printed ? put(m, end, ")") : end, 0, to);
    }
    return to;
}

static uint32_t emit_call(maker *m, uint32_t from, const cf_tool *tool, const cf_atom *args)
{
    switch (m->syn->form) {
    case CF_FORM_JSON:
    case CF_FORM_KEYED:
        return emit_json_call(m, from, tool, args);
    case CF_FORM_PYTHON:
        return emit_python_call(m, from, tool, args);
    case CF_FORM_FC:
        from = put(m, from, "call:");
        from = cf_g_bytes(m->b, from, tool->name.p, tool->name.n);
        return emit_args(m, from, args);
    case CF_FORM_NAMED:
        return emit_named_call(m, from, tool, args);
    case CF_FORM_TAGS:
        return emit_tags_call(m, from, tool, args);
    case CF_FORM_NONE:
        break;
    }
    return from;
}

/* One rule that is any one call. */
static uint32_t call_rule(maker *m, const cf_tool *tools, size_t n_tools)
{
    uint32_t any = cf_g_rule(m->b, "call");
    for (size_t i = 0; i < n_tools && m->b->st == CF_OK; i++) {
        const json_t *parameters = tools[i].parameters;
        if (parameters == NULL || !json_is_object(parameters) ||
            json_object_size(parameters) == 0) {
            parameters = m->none;
        }
        char name[64];
        size_t n = tools[i].name.n < sizeof name - 1 ? tools[i].name.n : sizeof name - 1;
        memcpy(name, tools[i].name.p, n);
        name[n] = '\0';
        const cf_atom *args = args_atom(m, &tools[i], parameters);
        uint32_t rule = cf_g_rule(m->b, name);
        if (args == NULL) {
            cf_gbuild_oom(m->b);
        } else {
            m->b->rule = rule;
            uint32_t end = emit_call(m, cf_g_start(m->b, rule), &tools[i], args);
            cf_g_end(m->b, end, 0);
            m->b->rule = any;
            uint32_t to = cf_g_node(m->b);
            cf_g_call(m->b, cf_g_start(m->b, any), rule, 0, to);
            cf_g_end(m->b, to, 0);
            cf_schema_emit_all(&m->s);
        }
    }
    return any;
}

/* ---- the reply ---------------------------------------------------------- */

/* `between`, whose last space may be missing, then `begin`. */
static void emit_between(maker *m, uint32_t from, const char *between, uint32_t begin)
{
    size_t n = strlen(between);
    cf_g_jump(m->b, mark(m, from, between), 0, begin);
    if (n > 1 && between[n - 1] == ' ') {
        cf_g_jump(m->b, cf_g_bytes(m->b, from, between, n - 1), 0, begin);
    }
}

/* Calls with `between` between them, from `from`; where they end. */
static uint32_t emit_list(maker *m, uint32_t from, uint32_t call, const char *open,
                          const char *between, const char *close)
{
    cf_gbuild *b = m->b;
    const cf_tool__syntax *y = m->syn;
    uint32_t begin = cf_g_node(b);
    uint32_t after = cf_g_node(b);
    cf_g_jump(b, put(m, from, open), 0, begin);
    cf_g_call(b, m->has_marks ? mark(m, begin, y->call_open) : begin, call, 0, after);
    uint32_t end = m->has_marks ? mark(m, after, y->call_close) : after;
    if (m->is_each) {
        uint32_t again = fence(m, end, cf_buf_str(&m->close));
        again = mark(m, again, between);
        cf_g_jump(b, fence(m, again, cf_buf_str(&m->open)), 0, begin);
    } else if (between != NULL) {
        emit_between(m, end, between, begin);
    }
    return put(m, end, close);
}

/* C S: calls from `from`, then the closing text; where they end. */
static uint32_t emit_calls(maker *m, uint32_t from, uint32_t call)
{
    cf_gbuild *b = m->b;
    const cf_tool__syntax *y = m->syn;
    uint32_t end = cf_g_node(b);
    cf_g_jump(b, emit_list(m, from, call, y->list_open, y->between, y->list_close), 0, end);
    if (y->one_is_bare) { /* calls on lines of their own */
        cf_g_jump(b, emit_list(m, from, call, NULL, "\n", NULL), 0, end);
    }
    return fence(m, end, cf_buf_str(&m->close));
}

/*
 * Text without `stop`, from `from`; where the stop phrase ends.  With may_end
 * the reply may end anywhere before.  `matched` bytes of the phrase count as
 * written already.  Knuth, Morris and Pratt's automaton.
 */
static uint32_t emit_text(maker *m, uint32_t from, cf_str stop, size_t matched, bool may_end)
{
    enum { STOP_MAX = 256 };
    cf_gbuild *b = m->b;
    uint32_t node[STOP_MAX + 1];
    uint16_t fail[STOP_MAX + 1] = {0};
    if (stop.n == 0 || stop.n > STOP_MAX) {
        cf_gbuild_fail(b, CF_EINVAL, "a stop phrase has 1 to 256 bytes");
        return from;
    }
    for (size_t i = 0; i <= stop.n; i++) {
        node[i] = cf_g_node(b);
        if (may_end && i < stop.n) {
            cf_g_end(b, node[i], 0);
        }
    }
    for (size_t i = 1, k = 0; i < stop.n; i++) {
        while (k > 0 && stop.p[i] != stop.p[k]) {
            k = fail[k];
        }
        k += stop.p[i] == stop.p[k] ? 1 : 0;
        fail[i + 1] = (uint16_t)k;
    }
    for (size_t i = 0; i < stop.n && b->st == CF_OK; i++) {
        for (unsigned c = 0; c < 256;) {
            size_t to[2];
            unsigned z = c;
            for (int e = 0; z < 256; e = 1, z++) {
                size_t k = i;
                while (k > 0 && (uint8_t)stop.p[k] != z) {
                    k = fail[k];
                }
                to[e] = k + ((uint8_t)stop.p[k] == z ? 1 : 0);
                if (e == 1 && to[1] != to[0]) {
                    break;
                }
            }
            b->is_fence = to[0] == i + 1;
            cf_g_byte(b, node[i], (uint8_t)c, (uint8_t)(z - 1), node[to[0]]);
            b->is_fence = false;
            c = z;
        }
    }
    cf_g_jump(b, from, 0, node[matched]);
    return node[stop.n];
}

/* A family without fences: text may not begin as a call does. */
static void emit_plain_text(maker *m, uint32_t from)
{
    cf_gbuild *b = m->b;
    const char first = m->syn->list_open != NULL ? '[' : '{';
    uint32_t rest = cf_g_node(b);
    cf_g_byte(b, from, 0, (uint8_t)(first - 1), rest);
    cf_g_byte(b, from, (uint8_t)(first + 1), 255, rest);
    cf_g_byte(b, rest, 0, 255, rest);
    cf_g_end(b, rest, 0);
    cf_g_end(b, from, 0);
}

/* Messages that name their recipient: any that are no call, then calls. */
static void emit_messages(maker *m, uint32_t from, uint32_t call)
{
    cf_gbuild *b = m->b;
    const cf_tool__syntax *y = m->syn;
    uint32_t start = cf_g_node(b);
    cf_g_jump(b, from, 0, start);
    for (size_t i = 0; i < 2 && b->st == CF_OK; i++) {
        uint32_t text = mark(m, start, y->others[i]);
        cf_g_jump(b, emit_text(m, text, cf_str_from(y->between), 0, true), 0, start);
    }
    if (call != 0 && b->st == CF_OK) {
        cf_g_end(b, emit_calls(m, fence(m, start, cf_buf_str(&m->open)), call), 0);
    }
}

static void emit_text_and(maker *m, uint32_t from, uint32_t call)
{
    cf_gbuild *b = m->b;
    cf_buf stop = CF_BUF_INIT;
    if (m->syn->others[0] != NULL && !m->spec->has_fences) {
        emit_messages(m, from, call);
        return;
    }
    if (m->open.n == 0) {
        if (call != 0) {
            cf_g_end(b, emit_calls(m, from, call), 0);
        }
        emit_plain_text(m, from);
        return;
    }
    cf_buf_add(&stop, m->spec->before.p, m->spec->before.n);
    cf_buf_add(&stop, m->open.p, m->open.n);
    if (stop.failed) {
        cf_gbuild_oom(b);
    } else {
        /* A reply that begins with B is one that followed A. */
        uint32_t after = emit_text(m, from, cf_str_make(stop.p, stop.n), m->spec->before.n, true);
        if (call != 0 && b->st == CF_OK) {
            cf_g_end(b, emit_calls(m, after, call), 0);
        }
    }
    cf_buf_deinit(&stop);
}

/* A value in place of the calls. */
static void emit_otherwise(maker *m, uint32_t rule, uint32_t from)
{
    cf_gbuild *b = m->b;
    uint32_t value = cf_schema__rule(b, m->spec->otherwise, m->opts);
    if (b->st == CF_OK) {
        b->rule = rule;
        uint32_t to = cf_g_node(b);
        cf_g_call(b, from, value, 0, to);
        cf_g_end(b, to, 0);
    }
}

static void emit_reply(maker *m, uint32_t rule, uint32_t call)
{
    cf_gbuild *b = m->b;
    uint32_t from = cf_g_start(b, rule);
    b->rule = rule;
    switch (m->spec->mode) {
    case CF_TOOLS_ONLY:
        cf_g_end(b, emit_calls(m, fence(m, from, cf_buf_str(&m->open)), call), 0);
        if (m->spec->otherwise != NULL) {
            emit_otherwise(m, rule, from);
        }
        break;
    case CF_TOOLS_TEXT_AND:
        emit_text_and(m, from, call);
        break;
    case CF_TOOLS_TEXT_UNTIL:
        if (m->open.n == 0) {
            cf_gbuild_fail(b, CF_EINVAL, "text-until needs a stop phrase for this family");
            return;
        }
        cf_g_end(b, emit_calls(m, emit_text(m, from, cf_buf_str(&m->open), 0, false), call), 0);
        break;
    }
}

/* Sets the literals that open and close the calls of a reply: the family's,
 * or the caller's. */
static void set_fences(maker *m)
{
    const cf_tool__syntax *y = m->syn;
    const cf_tool_constraint *spec = m->spec;
    const bool is_around_each = y->open == NULL || y->each_opens;
    m->has_marks = !is_around_each;
    if (spec->has_fences) {
        cf_buf_add(&m->open, spec->prefix.p, spec->prefix.n);
        cf_buf_add(&m->close, spec->suffix.p, spec->suffix.n);
        return;
    }
    cf_buf_adds(&m->open, y->open != NULL ? y->open : "");
    if (is_around_each) {
        cf_buf_adds(&m->open, y->call_open != NULL ? y->call_open : "");
        cf_buf_adds(&m->close, y->call_close != NULL ? y->call_close : "");
    }
    cf_buf_adds(&m->close, y->close != NULL ? y->close : "");
    /* Without marks of their own the brackets of a list hold all calls. */
    m->is_each = is_around_each && y->list_open == NULL;
}

cf_status cf_grammar_from_tools(cf_grammar **out, const cf_tool_constraint *spec,
                                const cf_grammar_options *opts, cf_error *err)
{
    const cf_tool__row *row = cf_tool__row_of(spec->family);
    size_t n_tools = 0;
    const cf_tool *tools = spec->tools != NULL ? cf_tool_set_items(spec->tools, &n_tools) : NULL;
    if (row->calls.form == CF_FORM_NONE) {
        return cf_fail(err, CF_EINVAL, "this family writes no calls");
    }
    if (n_tools == 0 && spec->mode != CF_TOOLS_TEXT_AND) {
        return cf_fail(err, CF_EINVAL, "no tools are declared to be called");
    }
    cf_gbuild b;
    maker m = {.b = &b, .row = row, .syn = &row->calls, .spec = spec, .opts = opts};
    set_fences(&m);
    cf_gbuild_init(&b, opts);
    cf_schema_init(&m.s, &b, NULL, opts);
    m.s.is_tool = true;
    m.s.dialect = dialect_of(m.syn);
    m.s.seed_order = spec->seed_order;
    m.none = no_parameters();
    if (m.none == NULL) {
        cf_gbuild_oom(&b);
    }
    uint32_t call = 0;
    uint32_t rule = 0;
    if (b.st == CF_OK && n_tools > 0) {
        call = call_rule(&m, tools, n_tools);
    }
    if (b.st == CF_OK) {
        rule = cf_g_rule(&b, "reply");
        emit_reply(&m, rule, call);
    }
    cf_schema_deinit(&m.s);
    json_decref(m.none);
    cf_buf_deinit(&m.open);
    cf_buf_deinit(&m.close);
    cf_status st = cf_gbuild_finish(&b, rule, out, err);
    cf_gbuild_deinit(&b);
    return st;
}
