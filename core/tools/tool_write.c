/*
 * tool_write.c - writes values in the spelling of each syntax.
 */
#include "core/tools/tool_write.h"

#include <string.h>

static void put_value(cf_tool__writer *w, bool is_type);

/* Reads the JSON string at w->p, decoded, into w->str. */
void cf_tool__read_string(cf_tool__writer *w)
{
    cf_tool__emit e;
    cf_tool__emit_init(&e, w->p, 0, strlen(w->p), NULL);
    (void)cf_tool__json_string(&e);
    cf_buf_reset(&w->str);
    cf_buf_add(&w->str, e.str.p, e.str.n);
    w->oom = w->oom || w->str.failed || e.str.failed;
    w->p += e.at;
    cf_tool__emit_deinit(&e);
}

static bool holds(const cf_buf *b, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= b->n; i++) {
        if (memcmp(b->p + i, what, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes w->str between markers: the family's, or another if the text contains it. */
static void put_escaped(cf_tool__writer *w)
{
    const char *const all[] = {w->esc, "<|\"|>", "<escape>", "<ctrl46>"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!holds(&w->str, all[i])) {
            cf_buf_adds(w->out, all[i]);
            cf_buf_add(w->out, w->str.p, w->str.n);
            cf_buf_adds(w->out, all[i]);
            return;
        }
    }
    w->cannot = "a string holds every escape marker";
}

static void upper(cf_buf *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->p[i] >= 'a' && b->p[i] <= 'z') {
            b->p[i] = (char)(b->p[i] - 32);
        }
    }
}

static void put_string(cf_tool__writer *w, bool is_type)
{
    const char *from = w->p;
    cf_tool__read_string(w);
    if (w->style != CF_STYLE_FC) {
        cf_buf_add(w->out, from, (size_t)(w->p - from));
        return;
    }
    if (is_type && w->upper_types) {
        upper(&w->str);
    }
    put_escaped(w);
}

static bool is_id(const cf_buf *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (!cf_tool__is_name(b->p[i]) && b->p[i] != '.' && b->p[i] != '-') {
            return false;
        }
    }
    return b->n > 0;
}

/* Writes a key; returns whether it is "type". */
static bool put_key(cf_tool__writer *w)
{
    const char *from = w->p;
    cf_tool__read_string(w);
    if (w->style != CF_STYLE_FC) {
        cf_buf_add(w->out, from, (size_t)(w->p - from));
    } else if (is_id(&w->str)) {
        cf_buf_add(w->out, w->str.p, w->str.n);
    } else {
        put_escaped(w);
    }
    return w->str.n == 4 && memcmp(w->str.p, "type", 4) == 0;
}

static void put_members(cf_tool__writer *w, char close, bool is_object, bool is_type)
{
    const char *comma = w->style == CF_STYLE_FC ? "," : ", ";
    const char *colon = w->style == CF_STYLE_FC ? ":" : ": ";
    cf_buf_addc(w->out, *w->p++);
    while (*w->p != close && *w->p != '\0') {
        bool of_type = is_type;
        if (*w->p == ',') {
            w->p++;
            cf_buf_adds(w->out, comma);
        }
        if (is_object) {
            of_type = put_key(w);
            w->p++; /* ':' */
            cf_buf_adds(w->out, colon);
        }
        put_value(w, of_type);
    }
    cf_buf_addc(w->out, close);
    w->p += *w->p != '\0';
}

static void put_value(cf_tool__writer *w, bool is_type)
{
    static const char *const words[][2] = {{"true", "True"}, {"false", "False"}, {"null", "None"}};
    if (*w->p == '"') {
        put_string(w, is_type);
        return;
    }
    if (*w->p == '{' || *w->p == '[') {
        bool is_object = *w->p == '{';
        put_members(w, is_object ? '}' : ']', is_object, is_type);
        return;
    }
    size_t n = strcspn(w->p, ",]}");
    const char *text = w->p;
    size_t len = n;
    for (size_t i = 0; w->style == CF_STYLE_PYTHON && i < 3; i++) {
        if (strlen(words[i][0]) == n && memcmp(words[i][0], w->p, n) == 0) {
            text = words[i][1];
            len = strlen(text);
        }
    }
    cf_buf_add(w->out, text, len);
    w->p += n;
}

/* Canonical text of a JSON value; must be an object when `object`. */
cf_status cf_tool__canonical(cf_buf *out, cf_str json, bool object, cf_error *err)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_tool__emit e;
    cf_tool__emit_init(&e, json.p != NULL ? json.p : "", 0, json.n, &arena);
    e.quiet = 1;
    cf_tool__json_space(&e);
    bool ok = (!object || (e.at < e.end && e.p[e.at] == '{')) && cf_tool__json_value(&e);
    cf_tool__json_space(&e);
    ok = ok && e.at == e.end;
    cf_status st = CF_OK;
    if (ok) {
        cf_buf_add(out, e.json.p, e.json.n);
        st = cf_buf_check(out, err);
    } else if (e.oom) {
        st = cf_oom_for(err, "a value");
    } else {
        st = cf_fail(err, CF_EFORMAT, "the arguments are not a JSON object");
    }
    cf_tool__emit_deinit(&e);
    cf_arena_deinit(&arena);
    return st;
}

cf_status cf_tool__writer_finish(cf_tool__writer *w, cf_status st, cf_error *err)
{
    cf_buf_deinit(&w->str);
    if (st == CF_OK && w->oom) {
        st = cf_oom_for(err, "a string");
    }
    if (st == CF_OK && w->cannot != NULL) {
        st = cf_fail(err, CF_EUNSUPPORTED, "%s", w->cannot);
    }
    return st == CF_OK ? cf_buf_check(w->out, err) : st;
}

cf_status cf_tool__put_json(cf_buf *out, cf_tool__style how, const char *esc, bool upper_types,
                            cf_str json, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_tool__writer w = {.out = out, .style = how, .esc = esc, .upper_types = upper_types};
    cf_status st = cf_tool__canonical(&text, json, false, err);
    if (st == CF_OK) {
        w.p = cf_buf_cstr(&text);
        put_value(&w, false);
    }
    cf_buf_deinit(&text);
    return cf_tool__writer_finish(&w, st, err);
}

cf_status cf_tool__put_tree(cf_buf *out, cf_tool__style how, const char *esc, bool upper_types,
                            const json_t *v, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, v);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_tool__put_json(out, how, esc, upper_types, cf_buf_str(&text), err));
    cf_buf_deinit(&text);
    return st;
}

void cf_tool__put_value(cf_tool__writer *w)
{
    put_value(w, false);
}

cf_status cf_tool__undo(cf_buf *out, size_t mark, cf_status st, cf_error *err)
{
    if (st == CF_OK) {
        st = cf_buf_check(out, err);
    }
    if (st != CF_OK && out->n > mark) {
        out->n = mark;
        out->p[mark] = '\0';
    }
    return st;
}
