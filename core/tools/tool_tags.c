/*
 * tool_tags.c - reads calls whose arguments are between tags, each as raw text:
 * <parameter=KEY>VALUE</parameter>.
 *
 * A closing literal inside a value ends the value only when something that
 * may follow does follow: the next argument or the end of the
 * call.  The last value's own closing literal may be missing.
 *
 * The declaration decides the type of a value: a string is the text as it is;
 * other types are read as JSON, else as Python's spelling of the same; text
 * that does not fit stays a string, and the check of types reports it.
 * Without a declaration, JSON that is not a string, else a string.
 */
#include "core/tools/tool_rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_MAX_ = 256, /* bytes of a function's name */
    KEY_MAX = 1024   /* of an argument's, or of its attribute */
};

static const cf_str cdata_open = {"<![CDATA[", 9};
static const cf_str cdata_close = {"]]>", 3};

/* ---- the walk ----------------------------------------------------------- */

typedef struct walker {
    const cf_tool__syntax *y;
    cf_str raw;
    bool is_final, closed;
    cf_tool__walk *w;
    bool ran_out;
} walker;

static cf_tool__step fail_at(walker *k, size_t at, const char *phrase)
{
    k->w->err_off = at;
    snprintf(k->w->expected, sizeof k->w->expected, "%s", phrase);
    return CF_STEP_BAD;
}

/* One of two literals should have stood there; `other` may be empty. */
static cf_tool__step bad(walker *k, size_t at, cf_str what, cf_str other)
{
    char text[96];
    snprintf(text, sizeof text, other.n > 0 ? "'%.*s' or '%.*s'" : "'%.*s'%.*s",
             (int)(what.n < 40 ? what.n : 40), what.p, (int)(other.n < 40 ? other.n : 40),
             other.n > 0 ? other.p : "");
    return fail_at(k, at, text);
}

static bool literal(walker *k, size_t *at, cf_str text)
{
    cf_tool__match m = cf_tool__literal(k->raw, *at, k->is_final, text, at);
    k->ran_out = k->ran_out || m == CF_MATCH_MORE;
    return m == CF_MATCH_YES;
}

static size_t skip_space(const walker *k, size_t at)
{
    while (at < k->raw.n && cf_tool__is_space(k->raw.p[at])) {
        at++;
    }
    return at;
}

/* Bytes from *at up to `end`, at most `max`; *at is then after it. */
static cf_tool__step until(walker *k, size_t *at, cf_str end, size_t max, size_t *off, size_t *len)
{
    *off = *at;
    for (size_t i = *at; i < k->raw.n && i - *at <= max; i++) {
        size_t after = i;
        if (literal(k, &after, end)) {
            *len = i - *at;
            *at = after;
            return CF_STEP_ON;
        }
        if (k->ran_out) {
            return CF_STEP_MORE;
        }
    }
    if (k->raw.n - *at <= max && !k->is_final) {
        return CF_STEP_MORE;
    }
    return bad(k, k->raw.n - *at <= max ? k->raw.n : *at, end, cf_str_make(NULL, 0));
}

static cf_tool__step read_name(walker *k)
{
    cf_tool__walk *w = k->w;
    const cf_tool__syntax *y = k->y;
    size_t at = skip_space(k, w->at);
    w->name_off = at;
    while (at < k->raw.n && at - w->name_off <= NAME_MAX_ &&
           strchr(" \t\r\n<>\"'", k->raw.p[at]) == NULL) {
        at++;
    }
    if (at == k->raw.n && !k->is_final) {
        return CF_STEP_MORE;
    }
    w->name_len = at - w->name_off;
    if (w->name_len == 0 || w->name_len > NAME_MAX_) {
        return fail_at(k, w->name_off, "a function's name");
    }
    cf_str end = cf_tool__trim(y->name_end);
    size_t after = skip_space(k, at);
    if (end.n > 0 && !literal(k, &after, end)) {
        return k->ran_out ? CF_STEP_MORE : bad(k, after, end, cf_str_make(NULL, 0));
    }
    if (y->index_end != NULL) {
        size_t off, len;
        cf_tool__step s = until(k, &after, cf_tool__trim(y->index_end), 64, &off, &len);
        if (s != CF_STEP_ON) {
            return s;
        }
    }
    w->at = after;
    w->state = CF_WALK_NEXT;
    return CF_STEP_ON;
}

static cf_tool__step read_next(walker *k)
{
    cf_tool__walk *w = k->w;
    size_t at = skip_space(k, w->at);
    cf_str param = cf_tool__trim(k->y->param);
    cf_str close = cf_tool__trim(k->y->call_close);
    size_t after = at;
    if (literal(k, &after, param)) {
        w->at = after;
        w->state = CF_WALK_KEY;
        return CF_STEP_ON;
    }
    if (k->closed && at == k->raw.n) {
        w->at = w->end = at;
        w->state = CF_WALK_DONE;
        return CF_STEP_ON;
    }
    if (!k->ran_out && literal(k, &after, close)) {
        w->at = at; /* set if the body ends before the literal */
        w->end = after;
        w->state = CF_WALK_DONE;
        return CF_STEP_ON;
    }
    return k->ran_out ? CF_STEP_MORE : bad(k, at, param, close);
}

/* One line end belongs to the syntax where key_end is written with one. */
static bool skip_line_end(walker *k, size_t *at)
{
    size_t n = strlen(k->y->key_end);
    if (k->y->key_end[n - 1] != '\n' || k->y->value_open != NULL) {
        return true;
    }
    if (*at == k->raw.n && !k->is_final) {
        return false;
    }
    size_t i = *at;
    if (i < k->raw.n && k->raw.p[i] == '\r') {
        i++;
        if (i == k->raw.n && !k->is_final) {
            return false;
        }
    }
    if (i < k->raw.n && k->raw.p[i] == '\n') {
        *at = i + 1;
    }
    return true;
}

static cf_tool__step read_key(walker *k)
{
    cf_tool__walk *w = k->w;
    const cf_tool__syntax *y = k->y;
    size_t at = w->at;
    cf_str key_end = cf_tool__trim(y->key_end);
    cf_tool__step s = until(k, &at, key_end, KEY_MAX, &w->key_off, &w->key_len);
    if (s == CF_STEP_ON && y->attr_end != NULL) {
        s = until(k, &at, cf_tool__trim(y->attr_end), KEY_MAX, &w->attr_off, &w->attr_len);
    }
    if (s != CF_STEP_ON) {
        return s;
    }
    if (y->skipped != NULL) {
        at = skip_space(k, at);
        size_t off, len;
        if (literal(k, &at, cf_tool__trim(y->skipped))) {
            s = until(k, &at, cf_tool__trim(y->skipped_end), KEY_MAX, &off, &len);
        }
        if (s != CF_STEP_ON || k->ran_out) {
            return k->ran_out ? CF_STEP_MORE : s;
        }
    }
    if (y->value_open != NULL) {
        cf_str open = cf_tool__trim(y->value_open);
        at = skip_space(k, at);
        while (literal(k, &at, key_end)) { /* closed twice */
            at = skip_space(k, at);
        }
        if (!k->ran_out && !literal(k, &at, open)) {
            return k->ran_out ? CF_STEP_MORE : bad(k, at, open, cf_str_make(NULL, 0));
        }
    }
    if (k->ran_out || !skip_line_end(k, &at)) {
        return CF_STEP_MORE;
    }
    w->value_off = at;
    w->in_cdata = y->has_cdata && literal(k, &at, cdata_open);
    if (k->ran_out) {
        return CF_STEP_MORE;
    }
    w->at = at;
    w->state = CF_WALK_VALUE;
    return CF_STEP_ON;
}

/* Whether this may follow a value's closing literal, or replace it. */
static bool may_follow(walker *k, size_t at, bool is_call_end)
{
    const cf_tool__syntax *y = k->y;
    const char *const after_value[] = {y->param, y->call_close};
    const char *const after_call[] = {y->close, y->call_open};
    const char *const *next = is_call_end ? after_call : after_value;
    at = skip_space(k, at);
    if (at == k->raw.n) {
        k->ran_out = k->ran_out || !k->is_final;
        return k->is_final;
    }
    for (size_t i = 0; i < 2; i++) {
        size_t after = at;
        if (next[i] != NULL && literal(k, &after, cf_tool__trim(next[i]))) {
            return true;
        }
    }
    return false;
}

static cf_tool__step end_value(walker *k, size_t end, size_t at)
{
    cf_tool__walk *w = k->w;
    const cf_tool__syntax *y = k->y;
    w->value_len = end - w->value_off;
    if (y->value_end[0] == '\n' && w->value_len > 0 && k->raw.p[end - 1] == '\n') {
        w->value_len--;
        if (w->value_len > 0 && k->raw.p[end - 2] == '\r') {
            w->value_len--;
        }
    }
    w->at = at;
    w->state = CF_WALK_NEXT;
    return CF_STEP_ARGUMENT;
}

static cf_tool__step read_value(walker *k)
{
    cf_tool__walk *w = k->w;
    cf_str value_end = cf_tool__trim(k->y->value_end);
    cf_str call_end = cf_tool__trim(k->y->call_close);
    for (; w->at < k->raw.n; w->at++) {
        size_t after = w->at;
        if (w->in_cdata) {
            w->in_cdata = !literal(k, &after, cdata_close);
        } else if (k->raw.p[after] == value_end.p[0] || k->raw.p[after] == call_end.p[0]) {
            if (literal(k, &after, value_end) && (may_follow(k, after, false) || k->ran_out)) {
                return k->ran_out ? CF_STEP_MORE : end_value(k, w->at, after);
            }
            after = w->at;
            if (!k->ran_out && literal(k, &after, call_end) && may_follow(k, after, true)) {
                return k->ran_out ? CF_STEP_MORE : end_value(k, w->at, w->at);
            }
        }
        if (k->ran_out) {
            return CF_STEP_MORE;
        }
    }
    if (k->closed) { /* the last value's end is missing */
        return end_value(k, k->raw.n, k->raw.n);
    }
    return k->is_final ? bad(k, k->raw.n, value_end, cf_str_make(NULL, 0)) : CF_STEP_MORE;
}

cf_tool__step cf_tool__walk_step(const cf_tool__syntax *y, cf_str raw, bool is_final, bool closed,
                                 cf_tool__walk *w)
{
    walker k = {y, raw, is_final, closed, w, false};
    switch (w->state) {
    case CF_WALK_NAME:
        return read_name(&k);
    case CF_WALK_NEXT:
        return read_next(&k);
    case CF_WALK_KEY:
        return read_key(&k);
    case CF_WALK_VALUE:
        return read_value(&k);
    case CF_WALK_DONE:
        break;
    }
    return CF_STEP_ON;
}

/* ---- values ------------------------------------------------------------- */

enum {
    IS_STRING = 1,
    IS_INTEGER = 2,
    IS_NUMBER = 4,
    IS_BOOLEAN = 8,
    IS_ARRAY = 16,
    IS_OBJECT = 32,
    IS_NULL = 64,
    IS_ANY = 127,
    REF_MAX = 8,
    SCHEMA_DEPTH_MAX = 16
};

static unsigned type_bit(cf_str name)
{
    static const struct {
        const char *name;
        unsigned bit;
    } bits[] = {
        {"string", IS_STRING},   {"integer", IS_INTEGER}, {"number", IS_NUMBER | IS_INTEGER},
        {"boolean", IS_BOOLEAN}, {"array", IS_ARRAY},     {"object", IS_OBJECT},
        {"null", IS_NULL}};
    const char *type = cf_tool__schema_type(name);
    for (size_t i = 0; type != NULL && i < sizeof bits / sizeof bits[0]; i++) {
        if (strcmp(type, bits[i].name) == 0) {
            return bits[i].bit;
        }
    }
    return 0;
}

static unsigned value_bit(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return IS_OBJECT;
    case JSON_ARRAY:
        return IS_ARRAY;
    case JSON_STRING:
        return IS_STRING;
    case JSON_INTEGER:
        return IS_INTEGER;
    case JSON_REAL:
        return IS_NUMBER | IS_INTEGER;
    case JSON_TRUE:
    case JSON_FALSE:
        return IS_BOOLEAN;
    case JSON_NULL:
        return IS_NULL;
    }
    return 0;
}

/* Resolves "#/$defs/x" inside the parameters; NULL if there is no such schema. */
static const json_t *follow(const json_t *root, const char *ref)
{
    if (ref[0] != '#') {
        return NULL;
    }
    const json_t *v = root;
    for (const char *p = ref + 1; v != NULL && *p == '/';) {
        char key[128];
        size_t n = strcspn(p + 1, "/");
        if (n >= sizeof key) {
            return NULL;
        }
        memcpy(key, p + 1, n);
        key[n] = '\0';
        v = json_object_get(v, key);
        p += 1 + n;
    }
    return v;
}

static unsigned types_of(const json_t *root, const json_t *schema, unsigned depth)
{
    static const char *const unions[] = {"anyOf", "oneOf", "any_of", "one_of", "allOf"};
    unsigned bits = 0;
    if (!json_is_object(schema) || depth > SCHEMA_DEPTH_MAX) {
        return 0;
    }
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref != NULL) {
        return types_of(root, follow(root, ref), depth + 1);
    }
    const json_t *type = json_object_get(schema, "type");
    for (size_t i = 0; i < json_array_size(type); i++) {
        const json_t *t = json_array_get(type, i);
        bits |= json_is_string(t) ? type_bit(cf_str_from(json_string_value(t))) : 0;
    }
    bits |= json_is_string(type) ? type_bit(cf_str_from(json_string_value(type))) : 0;
    for (size_t k = 0; k < sizeof unions / sizeof unions[0]; k++) {
        const json_t *list = json_object_get(schema, unions[k]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            bits |= types_of(root, json_array_get(list, i), depth + 1);
        }
    }
    const json_t *values = json_object_get(schema, "enum");
    for (size_t i = 0; type == NULL && i < json_array_size(values); i++) {
        bits |= value_bit(json_array_get(values, i));
    }
    const json_t *only = json_object_get(schema, "const");
    if (type == NULL && only != NULL) {
        bits |= value_bit(only);
    }
    if (json_is_true(json_object_get(schema, "nullable"))) {
        bits |= IS_NULL;
    }
    return bits;
}

/* The declared types of an argument; 0 if unknown. */
static unsigned declared(const cf_tool_set *tools, cf_str name, cf_str key)
{
    const cf_tool *tool = tools != NULL ? cf_tool_set_find(tools, name) : NULL;
    if (tool == NULL || key.n >= KEY_MAX) {
        return 0;
    }
    char text[KEY_MAX + 1];
    memcpy(text, key.p, key.n);
    text[key.n] = '\0';
    const json_t *properties = json_object_get(tool->parameters, "properties");
    return types_of(tool->parameters, json_object_get(properties, text), 0);
}

static void put_text(cf_tool__emit *e, size_t off, size_t end)
{
    size_t was = e->at;
    e->at = off;
    size_t span = cf_tool__span_open(e);
    cf_json_write_str(&e->json, cf_str_make(e->p + off, end - off));
    e->at = end;
    cf_tool__span_close(e, span);
    e->at = was;
}

/* The types that the JSON text `v` belongs to. */
static unsigned text_bits(cf_str v)
{
    switch (v.p[0]) {
    case '"':
        return IS_STRING;
    case '{':
        return IS_OBJECT;
    case '[':
        return IS_ARRAY;
    case 't':
    case 'f':
        return IS_BOOLEAN;
    case 'n':
        return IS_NULL;
    default:
        break;
    }
    if (memchr(v.p, '.', v.n) == NULL && memchr(v.p, 'e', v.n) == NULL) {
        return IS_INTEGER;
    }
    double d = strtod(v.p, NULL);
    return d == floor(d) ? IS_NUMBER | IS_INTEGER : IS_NUMBER;
}

/* The value in [off, end) by one grammar, when all of it is one value of the
 * types `bits`; else nothing is written. */
static bool try_value(cf_tool__emit *e, size_t off, size_t end, unsigned bits,
                      bool (*read)(cf_tool__emit *e))
{
    size_t at = e->at, limit = e->end, mark = e->json.n, spans = e->n_spans;
    e->at = off;
    e->end = end;
    bool ok = read(e);
    cf_tool__json_space(e);
    ok = ok && e->at == end && !e->json.failed;
    e->at = at;
    e->end = limit;
    if (ok) {
        unsigned is = text_bits(cf_str_make(e->json.p + mark, e->json.n - mark));
        ok = (is & bits) != 0 || ((is & IS_INTEGER) != 0 && (bits & IS_NUMBER) != 0);
    }
    if (!ok && !e->json.failed) {
        e->json.n = mark;
        if (e->json.p != NULL) {
            e->json.p[mark] = '\0';
        }
        e->n_spans = spans;
    }
    return ok;
}

static bool is_word(cf_str s, const char *word)
{
    return cf_str_is(s, word);
}

/* The words that stand for another value where the syntax is loose. */
static bool put_loose(cf_tool__emit *e, cf_str word, unsigned bits)
{
    bool is_bool = (bits & IS_BOOLEAN) != 0 && (bits & (IS_INTEGER | IS_NUMBER)) == 0;
    const char *value = is_bool && is_word(word, "1")   ? "true"
                        : is_bool && is_word(word, "0") ? "false"
                        : is_word(word, "null")         ? "null"
                                                        : NULL;
    cf_buf_adds(&e->json, value != NULL ? value : "");
    return value != NULL;
}

static bool put_value(cf_tool__emit *e, const cf_tool__syntax *y, const cf_tool__walk *w,
                      unsigned bits)
{
    size_t off = w->value_off, end = off + w->value_len;
    if (y->has_cdata && w->value_len >= cdata_open.n + cdata_close.n &&
        memcmp(e->p + off, cdata_open.p, cdata_open.n) == 0) {
        while (end > off && e->p[end - 1] != '>') {
            end--;
        }
        off += cdata_open.n;
        end -= end - off >= cdata_close.n ? cdata_close.n : 0;
    }
    cf_str attr = cf_str_make(e->p + w->attr_off, w->attr_len);
    if (y->attr_end != NULL) {
        bits = y->attr_is_flag           ? (is_word(attr, "true") ? IS_STRING : IS_ANY)
               : is_word(attr, "string") ? IS_STRING
                                         : IS_ANY;
    }
    const bool is_known = bits != 0;
    bits = is_known ? bits : IS_ANY & ~(unsigned)IS_STRING;
    size_t from = off, to = end;
    while (from < to && cf_tool__is_space(e->p[from])) {
        from++;
    }
    while (to > from && cf_tool__is_space(e->p[to - 1])) {
        to--;
    }
    cf_str word = cf_str_make(e->p + from, to - from);
    if (y->typing == CF_TYPING_JSON) {
        if (from == to || !try_value(e, from, to, IS_ANY, cf_tool__json_value)) {
            put_text(e, off, end);
        }
        return !e->oom;
    }
    if (y->typing == CF_TYPING_LOOSE && put_loose(e, word, bits)) {
        return true;
    }
    bool is_null = is_word(word, "null") || is_word(word, "None");
    bool is_any = y->attr_end != NULL && bits == IS_ANY;
    if ((bits & IS_STRING) != 0 && !is_any) {
        if (is_null && (bits & IS_NULL) != 0) {
            cf_buf_adds(&e->json, "null");
        } else {
            put_text(e, off, end);
        }
        return true;
    }
    if (from == to || (!try_value(e, from, to, bits, cf_tool__json_value) &&
                       !(is_known && try_value(e, from, to, bits, cf_tool__python_value)))) {
        put_text(e, off, end);
    }
    return !e->oom;
}

/* ---- one call ----------------------------------------------------------- */

/* Bytes of a name or key, its XML escapes undone where it has any. */
static cf_str plain_name(cf_tool__emit *e, const cf_tool__syntax *y, size_t off, size_t len)
{
    static const struct {
        const char *from;
        char to;
    } escapes[] = {{"&amp;", '&'}, {"&quot;", '"'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&apos;", '\''}};
    cf_str s = cf_str_make(e->p + off, len);
    if (!y->xml_attrs || memchr(s.p, '&', s.n) == NULL) {
        return s;
    }
    char *copy = cf_arena_alloc(e->arena, len + 1);
    size_t n = 0;
    if (copy == NULL) {
        e->oom = true;
        return cf_str_make("", 0);
    }
    for (size_t i = 0; i < s.n;) {
        size_t step = 1;
        char c = s.p[i];
        for (size_t k = 0; k < sizeof escapes / sizeof escapes[0]; k++) {
            size_t m = strlen(escapes[k].from);
            if (i + m <= s.n && memcmp(s.p + i, escapes[k].from, m) == 0) {
                step = m;
                c = escapes[k].to;
                break;
            }
        }
        copy[n++] = c;
        i += step;
    }
    copy[n] = '\0';
    return cf_str_make(copy, n);
}

static bool put_argument(cf_tool__emit *e, const cf_tool__syntax *y, const cf_tool__walk *w,
                         cf_str name, cf_tool__members *m, const cf_tool_set *tools)
{
    size_t which = 0;
    size_t key_off = w->key_off, key_len = w->key_len;
    while (key_len > 0 && cf_tool__is_space(e->p[key_off])) {
        key_off++;
        key_len--;
    }
    while (key_len > 0 && cf_tool__is_space(e->p[key_off + key_len - 1])) {
        key_len--;
    }
    cf_str key = plain_name(e, y, key_off, key_len);
    e->at = key_off;
    cf_tool__dup dup = cf_tool__member_begin(e, m, key, &which);
    if (dup == CF_TOOL_DUP_FAILED) {
        return false;
    }
    size_t mark = cf_tool__path_key(e, key);
    bool ok = put_value(e, y, w, declared(tools, name, key));
    cf_tool__path_pop(e, mark);
    if (ok && dup == CF_TOOL_DUP_YES) {
        cf_tool__note_add(e, key_off, "repeated key: the last value counts");
        cf_tool__member_drop(e, m, which);
    }
    return ok && (!e->json.failed || cf_tool__oom(e));
}

bool cf_tool__tags_call(cf_tool__emit *e, const cf_tool__syntax *y, bool closed,
                        const cf_tool_set *tools)
{
    cf_tool__walk w = {.at = e->at};
    cf_tool__members m = {NULL, 0, 0};
    cf_tool__raw_call call;
    memset(&call, 0, sizeof call);
    call.off = e->at;
    call.first_span = e->n_spans;
    cf_buf_reset(&e->json);
    e->path.n = 0;
    cf_buf_addc(&e->json, '{');
    bool ok = true;
    while (ok && w.state != CF_WALK_DONE) {
        cf_tool__step s = cf_tool__walk_step(y, cf_str_make(e->p, e->end), true, closed, &w);
        cf_str name = cf_str_make(e->p + w.name_off, w.name_len);
        if (s == CF_STEP_BAD) {
            ok = cf_tool__expect(e, w.err_off, w.expected);
        } else if (s == CF_STEP_ARGUMENT) {
            ok = put_argument(e, y, &w, name, &m, tools);
        } else if (call.args_off == 0 && w.state == CF_WALK_NEXT) {
            call.args_off = w.at;
        }
    }
    cf_buf_addc(&e->json, '}');
    cf_tool__members_deinit(&m);
    if (!ok || e->json.failed) {
        return ok ? cf_tool__oom(e) : false;
    }
    call.name = plain_name(e, y, w.name_off, w.name_len);
    call.name_off = w.name_off;
    call.name_len = w.name_len;
    call.args_len = w.at - call.args_off;
    call.n_spans = e->n_spans - call.first_span;
    call.has_args = true;
    call.len = e->end - call.off;
    call.arguments = cf_buf_str(&e->json);
    return !e->oom && cf_tool__call_add(e, &call);
}
