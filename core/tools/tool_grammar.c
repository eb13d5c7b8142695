/*
 * tool_grammar.c - what a reply with tool calls may be, in every family's
 * syntax.
 *
 * The calls' parameters go through the same expansion as any schema; the
 * dialect decides how values are written.
 */
#include <string.h>

#include "core/schema/schema.h"

/* How a family wraps its calls. */
typedef struct syntax {
    cf_tool_family family;
    cf_dialect dialect;
    const char *open, *close; /* fences, control tokens in some vocabularies */
    const char *list_open, *list_close;
    const char *between;  /* two calls of one reply */
    bool is_fenced_each;  /* between is close, then `between`, then open */
    const char *args_key; /* JSON: "arguments" or "parameters" */
} syntax;

static const syntax syntaxes[] = {
    {CF_TOOLS_HERMES, CF_DIALECT_JSON, "<tool_call>\n", "\n</tool_call>", "",
     "", "\n", true, "arguments"},
    {CF_TOOLS_GENERIC, CF_DIALECT_JSON, "", "", "", "", "\n", false,
     "arguments"},
    {CF_TOOLS_HAMMER, CF_DIALECT_JSON, "```\n", "\n```", "[", "]", ", ", false,
     "arguments"},
    {CF_TOOLS_LLAMA_JSON, CF_DIALECT_JSON, "", "", "", "", "; ", false,
     "parameters"},
    {CF_TOOLS_MISTRAL, CF_DIALECT_JSON, "[TOOL_CALLS] ", "", "[", "]", ", ",
     false, "arguments"},
    {CF_TOOLS_PHI4_MINI, CF_DIALECT_JSON, "<|tool_call|>", "<|/tool_call|>",
     "[", "]", ", ", false, "arguments"},
    {CF_TOOLS_GEMMA3, CF_DIALECT_PYTHON, "```tool_code\n", "\n```", "", "",
     "\n", false, NULL},
    {CF_TOOLS_LLAMA_PYTHONIC, CF_DIALECT_PYTHON, "", "", "[", "]", ", ", false,
     NULL},
    {CF_TOOLS_LFM2, CF_DIALECT_PYTHON, "<|tool_call_start|>",
     "<|tool_call_end|>", "[", "]", ", ", false, NULL},
    {CF_TOOLS_FUNCTIONGEMMA, CF_DIALECT_FC_ESCAPE, "<start_function_call>",
     "<end_function_call>", "", "", "", true, NULL},
    {CF_TOOLS_GEMMA4, CF_DIALECT_FC_QUOTE, "<|tool_call>", "<tool_call|>", "",
     "", "", true, NULL},
};

typedef struct maker {
    cf_schema s;
    cf_gbuild *b;
    const syntax *syn;
    const cf_tool_constraint *spec;
    cf_str open, close; /* as used */
    json_t *none;       /* parameters of a tool that declares none */
} maker;

/* ---- one call ----------------------------------------------------------- */

static json_t *no_parameters(void)
{
    return json_pack("{s:s,s:{},s:b}", "type", "object", "properties",
                     "additionalProperties", 0);
}

/* Required keys first, in the order of `required`; the others as they are. */
static const cf_prop *seed_order(maker *m, const cf_atom *a,
                                 const json_t *required)
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

static bool has_any(const json_t *v, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (json_object_get(v, keys[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Closes objects inside parameters as the check of a call takes them: where
 * properties are declared and nothing is said of others, there are none.
 * What is combined of several schemas stays open.  Changes v. */
static void close_objects(json_t *v, unsigned depth)
{
    static const char *const open[] = {"additionalProperties",
                                       "additional_properties",
                                       "patternProperties",
                                       "unevaluatedProperties",
                                       "propertyNames",
                                       "allOf",
                                       "anyOf",
                                       "oneOf",
                                       "not",
                                       "if",
                                       "$ref"};
    enum { DEPTH_MAX = 100 };
    json_t *properties = json_object_get(v, "properties");
    json_t *items = json_object_get(v, "items");
    const char *key;
    json_t *child;
    if (depth > DEPTH_MAX) {
        return;
    }
    json_object_foreach(properties, key, child)
    {
        close_objects(child, depth + 1);
    }
    if (json_is_object(items)) {
        close_objects(items, depth + 1);
    }
    if (depth > 0 && json_object_size(properties) > 0 &&
        !has_any(v, open, sizeof open / sizeof *open)) {
        json_object_set_new(v, "additionalProperties", json_false());
    }
}

/* The atom of a tool's arguments: an object with no undeclared keys unless
 * the declaration speaks of them. */
static const cf_atom *args_atom(maker *m, const cf_tool *tool,
                                const json_t *declared)
{
    cf_schema *s = &m->s;
    json_t *parameters = json_deep_copy(declared);
    if (parameters == NULL || json_array_append_new(s->made, parameters) != 0) {
        cf_gbuild_oom(m->b);
        return NULL;
    }
    close_objects(parameters, 0);
    char path[100];
    memcpy(path, "tool ", 5);
    size_t n = tool->name.n < 80 ? tool->name.n : 80;
    memcpy(path + 5, tool->name.p, n);
    path[5 + n] = '\0';
    s->root = parameters;
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
    bool says_more =
        json_object_get(parameters, "additionalProperties") != NULL ||
        json_object_get(parameters, "patternProperties") != NULL;
    if (!says_more || m->syn->dialect != CF_DIALECT_JSON) {
        own->n_cls = 0;
    }
    if (m->spec->seed_order) {
        own->prop = seed_order(m, own, json_object_get(parameters, "required"));
    }
    return own;
}

static uint32_t put(maker *m, uint32_t from, const char *text)
{
    return cf_g_bytes(m->b, from, text, strlen(text));
}

static uint32_t emit_json_call(maker *m, uint32_t from, const cf_tool *tool,
                               const cf_atom *args)
{
    cf_schema *s = &m->s;
    from = put(m, cf_emit_gap(s, put(m, from, "{")), "\"name\"");
    from = cf_emit_text(s, cf_emit_colon(s, from), tool->name);
    from = put(m, cf_emit_comma(s, from), "\"");
    from = put(m, put(m, from, m->syn->args_key), "\"");
    from = cf_emit_colon(s, from);
    uint32_t to = cf_g_node(m->b);
    cf_emit_object(s, args, from, to);
    return put(m, cf_emit_gap(s, to), "}");
}

static uint32_t emit_call(maker *m, uint32_t from, const cf_tool *tool,
                          const cf_atom *args)
{
    cf_schema *s = &m->s;
    if (m->syn->dialect == CF_DIALECT_JSON) {
        return emit_json_call(m, from, tool, args);
    }
    bool is_python = m->syn->dialect == CF_DIALECT_PYTHON;
    from = is_python ? from : put(m, from, "call:");
    from = cf_g_bytes(m->b, from, tool->name.p, tool->name.n);
    uint32_t to = cf_g_node(m->b);
    if (is_python) {
        cf_emit_arguments(s, args, from, to);
    } else {
        cf_emit_object(s, args, from, to);
    }
    return to;
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
        size_t n = tools[i].name.n < sizeof name - 1 ? tools[i].name.n
                                                     : sizeof name - 1;
        memcpy(name, tools[i].name.p, n);
        name[n] = '\0';
        const cf_atom *args = args_atom(m, &tools[i], parameters);
        uint32_t rule = cf_g_rule(m->b, name);
        if (args == NULL) {
            cf_gbuild_oom(m->b);
        } else {
            m->b->rule = rule;
            uint32_t end =
                emit_call(m, cf_g_start(m->b, rule), &tools[i], args);
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

static uint32_t fence(maker *m, uint32_t from, cf_str text)
{
    bool was = m->b->is_fence;
    m->b->is_fence = true;
    from = cf_g_bytes(m->b, from, text.p, text.n);
    m->b->is_fence = was;
    return from;
}

/* C S: calls from `from`, then the closing text; where they end. */
static uint32_t emit_calls(maker *m, uint32_t from, uint32_t call)
{
    cf_gbuild *b = m->b;
    const syntax *y = m->syn;
    uint32_t begin = cf_g_node(b);
    cf_g_jump(b, put(m, from, y->list_open), 0, begin);
    uint32_t after = cf_g_node(b);
    cf_g_call(b, begin, call, 0, after);
    uint32_t again = after;
    if (y->is_fenced_each && !m->spec->has_fences) {
        again = fence(m, again, cf_str_from(y->close));
        again = put(m, again, y->between);
        again = fence(m, again, cf_str_from(y->open));
    } else if (y->between[0] != '\0') {
        again = put(m, again, y->between);
    } else {
        again = 0;
    }
    if (again != 0) {
        cf_g_jump(b, again, 0, begin);
    }
    uint32_t end = put(m, after, y->list_close);
    if (y->family == CF_TOOLS_GEMMA3) {
        /* the same as a list */
        uint32_t open = put(m, from, "[");
        uint32_t item = cf_g_node(b);
        uint32_t done = cf_g_node(b);
        cf_g_jump(b, open, 0, item);
        cf_g_call(b, item, call, 0, done);
        cf_g_jump(b, put(m, done, ", "), 0, item);
        cf_g_jump(b, put(m, done, "]"), 0, end);
    }
    return fence(m, end, m->close);
}

/*
 * Text without `stop`, from `from`; where the stop phrase ends.  With may_end
 * the reply may end anywhere before.  `matched` bytes of the phrase count as
 * written already.  Knuth, Morris and Pratt's automaton.
 */
static uint32_t emit_text(maker *m, uint32_t from, cf_str stop, size_t matched,
                          bool may_end)
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
    const char first = m->syn->list_open[0] != '\0' ? '[' : '{';
    uint32_t rest = cf_g_node(b);
    cf_g_byte(b, from, 0, (uint8_t)(first - 1), rest);
    cf_g_byte(b, from, (uint8_t)(first + 1), 255, rest);
    cf_g_byte(b, rest, 0, 255, rest);
    cf_g_end(b, rest, 0);
    cf_g_end(b, from, 0);
}

static void emit_text_and(maker *m, uint32_t from, uint32_t call)
{
    cf_gbuild *b = m->b;
    cf_buf stop = CF_BUF_INIT;
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
        uint32_t after = emit_text(m, from, cf_str_make(stop.p, stop.n),
                                   m->spec->before.n, true);
        if (call != 0 && b->st == CF_OK) {
            cf_g_end(b, emit_calls(m, after, call), 0);
        }
    }
    cf_buf_deinit(&stop);
}

static void emit_reply(maker *m, uint32_t rule, uint32_t call)
{
    cf_gbuild *b = m->b;
    uint32_t from = cf_g_start(b, rule);
    b->rule = rule;
    switch (m->spec->mode) {
    case CF_TOOLS_ONLY:
        cf_g_end(b, emit_calls(m, fence(m, from, m->open), call), 0);
        break;
    case CF_TOOLS_TEXT_AND:
        emit_text_and(m, from, call);
        break;
    case CF_TOOLS_TEXT_UNTIL:
        if (m->open.n == 0) {
            cf_gbuild_fail(b, CF_EINVAL,
                           "text-until needs a stop phrase for this family");
            return;
        }
        cf_g_end(b, emit_calls(m, emit_text(m, from, m->open, 0, false), call),
                 0);
        break;
    }
}

cf_status cf_grammar_from_tools(cf_grammar **out,
                                const cf_tool_constraint *spec,
                                const cf_grammar_options *opts, cf_error *err)
{
    const syntax *y = NULL;
    size_t n_tools = 0;
    const cf_tool *tools =
        spec->tools != NULL ? cf_tool_set_items(spec->tools, &n_tools) : NULL;
    for (size_t i = 0; i < sizeof syntaxes / sizeof *syntaxes; i++) {
        y = syntaxes[i].family == spec->family ? &syntaxes[i] : y;
    }
    if (y == NULL) {
        return cf_fail(err, CF_EINVAL, "this family writes no calls");
    }
    if (n_tools == 0 && spec->mode != CF_TOOLS_TEXT_AND) {
        return cf_fail(err, CF_EINVAL, "no tools are declared to be called");
    }
    cf_gbuild b;
    maker m = {.b = &b, .syn = y, .spec = spec};
    m.open = spec->has_fences ? spec->prefix : cf_str_from(y->open);
    m.close = spec->has_fences ? spec->suffix : cf_str_from(y->close);
    cf_gbuild_init(&b, opts);
    cf_schema_init(&m.s, &b, NULL, opts);
    m.s.is_tool = true;
    m.s.dialect = y->dialect;
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
    cf_status st = cf_gbuild_finish(&b, rule, out, err);
    cf_gbuild_deinit(&b);
    return st;
}
