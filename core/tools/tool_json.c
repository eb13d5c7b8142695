/*
 * tool_json.c - reads calls written as JSON (RFC 8259, strictly), and JSON
 * values inside other syntaxes.
 *
 * A call is an object with "name" and one of "arguments", "parameters",
 * "args", in any order and among other members; or {"type":"function",
 * "function":{...}} around one; or {"function":"name",...}.  Arguments may be
 * a JSON string that holds the object, as OpenAI's interface has it.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/tools/tool_emit.h"

void cf_tool__json_space(cf_tool__emit *e)
{
    while (e->at < e->end && cf_tool__is_space(e->p[e->at])) {
        e->at++;
    }
}

static bool at_char(const cf_tool__emit *e, char c)
{
    return e->at < e->end && e->p[e->at] == c;
}

/* ---- strings ------------------------------------------------------------ */

static bool read_hex4(cf_tool__emit *e, uint32_t *out)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, e->at++) {
        char c = e->at < e->end ? e->p[e->at] : '\0';
        unsigned d;
        if (c >= '0' && c <= '9') {
            d = (unsigned)(c - '0');
        } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
            d = (unsigned)((c | 32) - 'a' + 10);
        } else {
            return cf_tool__expect(e, e->at, "four hex digits");
        }
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

/* After "\u". */
static bool read_unicode(cf_tool__emit *e)
{
    uint32_t cp;
    if (!read_hex4(e, &cp)) {
        return false;
    }
    if (cp >= 0xD800 && cp < 0xDC00 && e->end - e->at >= 6 && e->p[e->at] == '\\' &&
        e->p[e->at + 1] == 'u') {
        size_t back = e->at;
        uint32_t low;
        e->at += 2;
        if (!read_hex4(e, &low)) {
            return false;
        }
        if (low >= 0xDC00 && low < 0xE000) {
            cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
        } else {
            e->at = back;
        }
    }
    if (cp >= 0xD800 && cp < 0xE000) {
        cp = 0xFFFD; /* half a surrogate pair */
    }
    char out[4];
    cf_buf_add(&e->str, out, cf_utf8_encode(out, cp));
    return true;
}

static bool read_escape(cf_tool__emit *e)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char c = e->at < e->end ? e->p[e->at] : '\0';
    if (c == 'u') {
        e->at++;
        return read_unicode(e);
    }
    const char *hit = c != '\0' ? strchr(from, c) : NULL;
    if (hit == NULL) {
        return cf_tool__expect(e, e->at, "one of \" \\ / b f n r t u");
    }
    e->at++;
    cf_buf_addc(&e->str, to[hit - from]);
    return true;
}

bool cf_tool__json_string(cf_tool__emit *e)
{
    if (!at_char(e, '"')) {
        return cf_tool__expect(e, e->at, "'\"'");
    }
    size_t open = e->at++;
    cf_buf_reset(&e->str);
    while (e->at < e->end) {
        unsigned char c = (unsigned char)e->p[e->at];
        if (c == '"') {
            e->at++;
            return !e->str.failed || cf_tool__oom(e);
        }
        if (c == '\\') {
            e->at++;
            if (!read_escape(e)) {
                return false;
            }
        } else if (c < 0x20) {
            return cf_tool__expect(e, e->at, "no control character inside a string");
        } else {
            cf_buf_addc(&e->str, (char)c);
            e->at++;
        }
    }
    cf_tool__expect(e, e->at, "'\"' at the end of the string");
    e->open_off = open;
    return false;
}

/* ---- numbers and words -------------------------------------------------- */

static size_t digits(const cf_tool__emit *e, size_t at)
{
    size_t n = 0;
    while (at + n < e->end && cf_tool__is_digit(e->p[at + n])) {
        n++;
    }
    return n;
}

static bool read_number(cf_tool__emit *e)
{
    size_t at = e->at;
    bool is_real = false;
    if (e->p[at] == '-') {
        at++;
    }
    size_t n = digits(e, at);
    if (n == 0) {
        return cf_tool__expect(e, at, "a digit");
    }
    if (n > 1 && e->p[at] == '0') {
        return cf_tool__expect(e, at, "a number without leading zeros");
    }
    at += n;
    if (at < e->end && e->p[at] == '.') {
        n = digits(e, at + 1);
        if (n == 0) {
            return cf_tool__expect(e, at + 1, "a digit after '.'");
        }
        at += 1 + n;
        is_real = true;
    }
    if (at < e->end && (e->p[at] == 'e' || e->p[at] == 'E')) {
        size_t sign = at + 1 < e->end && (e->p[at + 1] == '-' || e->p[at + 1] == '+');
        n = digits(e, at + 1 + sign);
        if (n == 0) {
            return cf_tool__expect(e, at + 1 + sign, "a digit of the exponent");
        }
        at += 1 + sign + n;
        is_real = true;
    }
    if (!cf_tool__number(e, e->p + e->at, at - e->at, is_real)) {
        return false;
    }
    e->at = at;
    return true;
}

static bool read_word(cf_tool__emit *e)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if (e->end - e->at >= n && memcmp(e->p + e->at, words[i], n) == 0 &&
            (e->at + n == e->end || !cf_tool__is_name(e->p[e->at + n]))) {
            cf_buf_add(&e->json, words[i], n);
            e->at += n;
            return true;
        }
    }
    return cf_tool__expect(e, e->at, "a JSON value");
}

/* ---- objects and arrays ------------------------------------------------- */

bool cf_tool__array(cf_tool__emit *e, cf_tool__value_fn value)
{
    cf_buf_addc(&e->json, '[');
    e->at++;
    cf_tool__json_space(e);
    if (at_char(e, ']')) {
        e->at++;
        cf_buf_addc(&e->json, ']');
        return true;
    }
    for (size_t i = 0;; i++) {
        size_t mark = cf_tool__path_index(e, i);
        bool ok = value(e);
        cf_tool__path_pop(e, mark);
        if (!ok) {
            return false;
        }
        cf_tool__json_space(e);
        if (at_char(e, ']')) {
            e->at++;
            cf_buf_addc(&e->json, ']');
            return true;
        }
        if (!at_char(e, ',')) {
            return cf_tool__expect(e, e->at, "',' or ']'");
        }
        e->at++;
        cf_buf_addc(&e->json, ',');
    }
}

/* One key and its value. */
static bool read_member(cf_tool__emit *e, cf_tool__members *m)
{
    size_t key_off = e->at;
    if (!at_char(e, '"')) {
        return cf_tool__expect(e, key_off, "a key in quotes");
    }
    if (!cf_tool__json_string(e)) {
        return false;
    }
    cf_str key = cf_str_make(e->str.p, e->str.n);
    size_t which = 0;
    cf_tool__dup dup = cf_tool__member_begin(e, m, key, &which);
    if (dup == CF_TOOL_DUP_FAILED) {
        return false;
    }
    size_t mark = cf_tool__path_key(e, key);
    cf_tool__json_space(e);
    bool ok = at_char(e, ':');
    if (ok) {
        e->at++;
        ok = cf_tool__json_value(e);
    } else {
        cf_tool__expect(e, e->at, "':'");
    }
    cf_tool__path_pop(e, mark);
    if (ok && dup == CF_TOOL_DUP_YES) {
        cf_tool__note_add(e, key_off, "repeated key: the last value counts");
        cf_tool__member_drop(e, m, which);
    }
    return ok;
}

bool cf_tool__object(cf_tool__emit *e, cf_tool__member_fn member)
{
    cf_tool__members m = {NULL, 0, 0};
    bool ok = true;
    cf_buf_addc(&e->json, '{');
    e->at++;
    cf_tool__json_space(e);
    if (at_char(e, '}')) {
        e->at++;
    } else {
        for (;;) {
            cf_tool__json_space(e);
            ok = member(e, &m);
            if (!ok) {
                break;
            }
            cf_tool__json_space(e);
            if (at_char(e, '}')) {
                e->at++;
                break;
            }
            if (!at_char(e, ',')) {
                ok = cf_tool__expect(e, e->at, "',' or '}'");
                break;
            }
            e->at++;
        }
    }
    cf_buf_addc(&e->json, '}');
    cf_tool__members_deinit(&m);
    return ok;
}

bool cf_tool__json_value(cf_tool__emit *e)
{
    cf_tool__json_space(e);
    if (e->at >= e->end) {
        return cf_tool__expect(e, e->at, "a JSON value");
    }
    if (!cf_tool__enter(e)) {
        return false;
    }
    size_t span = cf_tool__span_open(e);
    bool ok;
    char c = e->p[e->at];
    if (c == '"') {
        ok = cf_tool__json_string(e);
        if (ok) {
            cf_json_write_str(&e->json, cf_str_make(e->str.p, e->str.n));
        }
    } else if (c == '{') {
        ok = cf_tool__object(e, read_member);
    } else if (c == '[') {
        ok = cf_tool__array(e, cf_tool__json_value);
    } else if (c == '-' || cf_tool__is_digit(c)) {
        ok = read_number(e);
    } else {
        ok = read_word(e);
    }
    cf_tool__span_close(e, span);
    cf_tool__leave(e);
    return ok && ((!e->oom && !e->json.failed) || cf_tool__oom(e));
}

/* ---- calls -------------------------------------------------------------- */

/* A call object while it is read; json offsets into e->json. */
typedef struct call_parts {
    cf_tool__raw_call call;
    bool has_name, is_named_function;
    size_t args_json, args_json_len;
} call_parts;

static cf_str keep(cf_tool__emit *e, const char *p, size_t n)
{
    char *copy = cf_arena_strndup(e->arena, p, n);
    if (copy == NULL) {
        e->oom = true;
        return cf_str_make(NULL, 0);
    }
    return cf_str_make(copy, n);
}

/* Arguments given as a string: its content is the object. */
static bool arguments_from_string(cf_tool__emit *e, call_parts *parts)
{
    cf_str text = keep(e, e->str.p, e->str.n);
    if (e->oom) {
        return false;
    }
    cf_tool__emit inner;
    cf_tool__emit_init(&inner, text.p, 0, text.n, e->arena);
    inner.quiet = 1;
    cf_tool__json_space(&inner);
    bool ok = inner.at < inner.end && inner.p[inner.at] == '{' && cf_tool__json_value(&inner);
    cf_tool__json_space(&inner);
    ok = ok && inner.at == inner.end;
    if (ok) {
        cf_buf_add(&e->json, inner.json.p, inner.json.n);
        cf_tool__note_add(e, parts->call.args_off, "arguments are a string that holds JSON");
    } else if (inner.oom) {
        e->oom = true;
    } else {
        cf_tool__expect(e, parts->call.args_off, "an object of arguments (the string is none)");
    }
    cf_tool__emit_deinit(&inner);
    return ok;
}

static bool read_arguments(cf_tool__emit *e, call_parts *parts)
{
    cf_tool__json_space(e);
    parts->call.args_off = e->at;
    parts->args_json = e->json.n;
    parts->call.first_span = e->n_spans;
    bool ok;
    if (at_char(e, '"')) {
        ok = cf_tool__json_string(e) && arguments_from_string(e, parts);
    } else if (at_char(e, '{')) {
        ok = cf_tool__json_value(e);
    } else if (e->end - e->at >= 4 && memcmp(e->p + e->at, "null", 4) == 0) {
        e->at += 4;
        cf_buf_adds(&e->json, "{}");
        ok = true;
    } else {
        ok = cf_tool__expect(e, e->at, "an object of arguments");
    }
    parts->call.has_args = ok;
    parts->call.args_len = e->at - parts->call.args_off;
    parts->args_json_len = e->json.n - parts->args_json;
    parts->call.n_spans = e->n_spans - parts->call.first_span;
    return ok;
}

static bool call_members(cf_tool__emit *e, call_parts *parts, unsigned level);

/* The string at the cursor as name or id. */
static bool read_name(cf_tool__emit *e, call_parts *parts, bool is_id)
{
    cf_tool__json_space(e);
    size_t off = e->at;
    if (!at_char(e, '"')) {
        if (is_id) {
            e->quiet++;
            bool ok = cf_tool__json_value(e);
            e->quiet--;
            return ok;
        }
        return cf_tool__expect(e, off, "a name in quotes");
    }
    if (!cf_tool__json_string(e)) {
        return false;
    }
    cf_str text = keep(e, cf_buf_cstr(&e->str), e->str.n);
    if (is_id) {
        parts->call.id = text;
    } else {
        parts->call.name = text;
        parts->call.name_off = off;
        parts->call.name_len = e->at - off;
        parts->has_name = true;
    }
    return !e->oom;
}

static bool call_member(cf_tool__emit *e, call_parts *parts, unsigned level)
{
    cf_tool__json_space(e);
    if (!at_char(e, '"')) {
        return cf_tool__expect(e, e->at, "a key in quotes");
    }
    if (!cf_tool__json_string(e)) {
        return false;
    }
    char key[16] = "";
    if (e->str.n < sizeof key) {
        memcpy(key, cf_buf_cstr(&e->str), e->str.n + 1);
    }
    cf_tool__json_space(e);
    if (!at_char(e, ':')) {
        return cf_tool__expect(e, e->at, "':'");
    }
    e->at++;
    cf_tool__json_space(e);
    if (strcmp(key, "name") == 0 || strcmp(key, "tool_name") == 0) {
        return read_name(e, parts, false);
    }
    if (strcmp(key, "id") == 0 || strcmp(key, "tool_call_id") == 0) {
        return read_name(e, parts, true);
    }
    if (strcmp(key, "arguments") == 0 || strcmp(key, "parameters") == 0 ||
        strcmp(key, "args") == 0) {
        return read_arguments(e, parts);
    }
    if (strcmp(key, "function") == 0 && at_char(e, '{') && level == 0) {
        return call_members(e, parts, 1);
    }
    if (strcmp(key, "function") == 0 && at_char(e, '"') && !parts->has_name) {
        return read_name(e, parts, false);
    }
    e->quiet++;
    bool ok = cf_tool__json_value(e);
    e->quiet--;
    return ok;
}

/* {"NAME": {ARGUMENTS}} */
static bool keyed_members(cf_tool__emit *e, call_parts *parts)
{
    e->at++; /* '{' */
    cf_tool__json_space(e);
    if (!read_name(e, parts, false)) {
        return false;
    }
    cf_tool__json_space(e);
    if (!at_char(e, ':')) {
        return cf_tool__expect(e, e->at, "':'");
    }
    e->at++;
    if (!read_arguments(e, parts)) {
        return false;
    }
    cf_tool__json_space(e);
    if (!at_char(e, '}')) {
        return cf_tool__expect(e, e->at, "'}'");
    }
    e->at++;
    return true;
}

static bool call_members(cf_tool__emit *e, call_parts *parts, unsigned level)
{
    e->at++; /* '{' */
    cf_tool__json_space(e);
    if (at_char(e, '}')) {
        e->at++;
        return true;
    }
    for (;;) {
        if (!call_member(e, parts, level)) {
            return false;
        }
        cf_tool__json_space(e);
        if (at_char(e, '}')) {
            e->at++;
            return true;
        }
        if (!at_char(e, ',')) {
            return cf_tool__expect(e, e->at, "',' or '}'");
        }
        e->at++;
    }
}

/* One call object at the cursor. */
static bool json_call(cf_tool__emit *e, unsigned flags, const cf_tool_set *tools)
{
    call_parts parts;
    memset(&parts, 0, sizeof parts);
    size_t off = e->at;
    cf_buf_reset(&e->json);
    e->path.n = 0;
    if ((flags & CF_TOOL_JSON_KEYED) != 0 ? !keyed_members(e, &parts)
                                          : !call_members(e, &parts, 0)) {
        return false;
    }
    if ((flags & CF_TOOL_JSON_LOOSE) != 0 &&
        (!parts.has_name ||
         (!parts.call.has_args &&
          (tools == NULL || cf_tool_set_find(tools, parts.call.name) == NULL)))) {
        e->not_calls = true;
        return cf_tool__expect(e, off, "a call");
    }
    if (!parts.has_name) {
        return cf_tool__expect(e, off, "\"name\" in the call");
    }
    parts.call.off = off;
    parts.call.len = e->at - off;
    parts.call.arguments = parts.call.has_args && !e->json.failed
                               ? cf_str_make(e->json.p + parts.args_json, parts.args_json_len)
                               : cf_str_make("{}", 2);
    return (!e->json.failed || cf_tool__oom(e)) && cf_tool__call_add(e, &parts.call);
}

/* Items of a list of calls, after '['. */
static bool json_call_list(cf_tool__emit *e, unsigned flags, const cf_tool_set *tools)
{
    cf_tool__json_space(e);
    if (at_char(e, ']')) {
        e->at++;
        return true;
    }
    for (;;) {
        cf_tool__json_space(e);
        if (!at_char(e, '{')) {
            e->not_calls = (flags & CF_TOOL_JSON_LOOSE) != 0 && e->n_calls == 0;
            return cf_tool__expect(e, e->at, "'{' of a call");
        }
        if (!json_call(e, flags, tools)) {
            return false;
        }
        cf_tool__json_space(e);
        if (at_char(e, ']')) {
            e->at++;
            return true;
        }
        if (!at_char(e, ',')) {
            return cf_tool__expect(e, e->at, "',' or ']'");
        }
        e->at++;
    }
}

/* {"tool_calls": [...]} around the calls, as in a message; moves to the list
 * where the cursor is at one. */
static bool at_wrapper(cf_tool__emit *e)
{
    static const char key[] = "\"tool_calls\"";
    size_t was = e->at;
    e->at++; /* '{' */
    cf_tool__json_space(e);
    if (e->end - e->at >= sizeof key - 1 && memcmp(e->p + e->at, key, sizeof key - 1) == 0) {
        e->at += sizeof key - 1;
        cf_tool__json_space(e);
        if (at_char(e, ':')) {
            e->at++;
            cf_tool__json_space(e);
            if (at_char(e, '[')) {
                return true;
            }
        }
    }
    e->at = was;
    return false;
}

static bool json_wrapped_calls(cf_tool__emit *e, unsigned flags, const cf_tool_set *tools)
{
    e->at++; /* '[' */
    if (!json_call_list(e, flags, tools)) {
        return false;
    }
    cf_tool__json_space(e);
    if (!at_char(e, '}')) {
        return cf_tool__expect(e, e->at, "'}'");
    }
    e->at++;
    return true;
}

/* Where a line that is no call may be passed over: goes on after it. */
static bool skip_line(cf_tool__emit *e, unsigned flags, size_t from)
{
    if ((flags & CF_TOOL_JSON_LINES) == 0 || e->oom) {
        return false;
    }
    const char *end = memchr(e->p + from, '\n', e->end - from);
    e->at = end != NULL ? (size_t)(end - e->p) + 1 : e->end;
    cf_tool__note_add(e, from, "a line that is no call is passed over");
    cf_tool__json_space(e);
    return true;
}

bool cf_tool__json_calls(cf_tool__emit *e, unsigned flags, const cf_tool_set *tools)
{
    cf_tool__json_space(e);
    if (e->at == e->end) {
        return true; /* nothing between the fences */
    }
    if (!at_char(e, '{') && !at_char(e, '[') && (flags & CF_TOOL_JSON_LINES) == 0) {
        e->not_calls = (flags & CF_TOOL_JSON_LOOSE) != 0;
        return cf_tool__expect(e, e->at, "'{' or '['");
    }
    while (e->at < e->end) {
        bool ok;
        size_t from = e->at;
        if (at_char(e, '[')) {
            e->at++;
            ok = json_call_list(e, flags, tools);
        } else if (at_char(e, '{') && at_wrapper(e)) {
            ok = json_wrapped_calls(e, flags, tools);
        } else if (at_char(e, '{')) {
            ok = json_call(e, flags, tools);
        } else {
            ok = cf_tool__expect(e, e->at, "the end of the block");
        }
        if (!ok && skip_line(e, flags, from)) {
            continue;
        }
        if (!ok) {
            return false;
        }
        cf_tool__json_space(e);
        if (e->at < e->end && (e->p[e->at] == ';' || e->p[e->at] == ',')) {
            size_t sep = e->at;
            e->at++;
            cf_tool__json_space(e);
            if (e->at == e->end) {
                return cf_tool__expect(e, sep, "the end of the block");
            }
        }
    }
    return true;
}

bool cf_tool__json_arguments(cf_tool__emit *e, cf_tool__raw_call *call)
{
    cf_tool__json_space(e);
    if (!at_char(e, '{')) {
        return cf_tool__expect(e, e->at, "'{' of the arguments");
    }
    cf_buf_reset(&e->json);
    e->path.n = 0;
    call->args_off = e->at;
    call->first_span = e->n_spans;
    if (!cf_tool__json_value(e)) {
        return false;
    }
    call->has_args = true;
    call->args_len = e->at - call->args_off;
    call->n_spans = e->n_spans - call->first_span;
    call->arguments = cf_str_make(e->json.p, e->json.n);
    cf_tool__json_space(e);
    if (e->at != e->end) {
        return cf_tool__expect(e, e->at, "the end of the call");
    }
    call->len = e->at - call->off;
    return cf_tool__call_add(e, call);
}
