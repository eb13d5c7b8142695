/*
 * tool_format.c - writes calls as each family writes them.
 */
#include <string.h>

#include "core/tools/tool_values.h"
#include "core/tools/tool_write.h"

static const char *text_of(const char *s)
{
    return s != NULL ? s : "";
}

static bool is_identifier(cf_str s, bool dotted)
{
    bool at_start = true;
    for (size_t i = 0; i < s.n; i++) {
        if (dotted && s.p[i] == '.' && !at_start) {
            at_start = true;
            continue;
        }
        if (at_start ? !cf_tool__is_name_start(s.p[i]) : !cf_tool__is_name(s.p[i])) {
            return false;
        }
        at_start = false;
    }
    return s.n > 0 && !at_start;
}

/* Whether the name can be written in this syntax without change. */
static bool is_plain_name(cf_str s, const char *more)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!cf_tool__is_name(s.p[i]) && strchr(more, s.p[i]) == NULL) {
            return false;
        }
    }
    return s.n > 0;
}

static cf_status bad_name(cf_str name, cf_error *err)
{
    return cf_fail(err, CF_EUNSUPPORTED, "'%.*s' cannot be a function's name in this syntax",
                   (int)(name.n < 80 ? name.n : 80), name.p);
}

static cf_status check_object(const cf_tool_call *c, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_tool__canonical(&text, c->arguments, true, err);
    cf_buf_deinit(&text);
    return st;
}

/* ---- the forms ---------------------------------------------------------- */

static cf_status put_python_call(cf_buf *out, const cf_tool__syntax *y, const cf_tool_call *c,
                                 cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_tool__writer w = {.out = out,
                         .style = y->values == CF_VALUES_PYTHON ? CF_STYLE_PYTHON : CF_STYLE_JSON};
    cf_status st = cf_tool__canonical(&text, c->arguments, true, err);
    if (st == CF_OK && !is_identifier(c->name, true)) {
        st = bad_name(c->name, err);
    }
    if (st == CF_OK) {
        w.p = cf_buf_cstr(&text) + 1;
        cf_buf_add(out, c->name.p, c->name.n);
        cf_buf_addc(out, '(');
        while (*w.p != '}' && *w.p != '\0') {
            if (*w.p == ',') {
                w.p++;
                cf_buf_adds(out, ", ");
            }
            cf_tool__read_string(&w);
            if (!is_identifier(cf_buf_str(&w.str), false)) {
                w.cannot = "an argument's name is not a Python identifier";
            }
            cf_buf_add(out, w.str.p, w.str.n);
            cf_buf_addc(out, '=');
            w.p++; /* ':' */
            cf_tool__put_value(&w);
        }
        cf_buf_addc(out, ')');
    }
    cf_buf_deinit(&text);
    return cf_tool__writer_finish(&w, st, err);
}

static void put_id(cf_buf *out, const cf_tool__syntax *y, cf_str id)
{
    cf_buf_addf(out, "\"%s\": ", y->id_key);
    cf_json_write_str(out, id);
}

static cf_status put_json_call(cf_buf *out, const cf_tool__syntax *y, const cf_tool_call *c,
                               cf_error *err)
{
    const bool has_id = y->id_key != NULL && c->id.n > 0;
    CF_TRY(check_object(c, err));
    cf_buf_addc(out, '{');
    if (has_id && y->id_first) {
        put_id(out, y, c->id);
        cf_buf_adds(out, ", ");
    }
    cf_buf_addf(out, "\"%s\": ", y->name_key != NULL ? y->name_key : "name");
    cf_json_write_str(out, c->name);
    cf_buf_addf(out, ", \"%s\": ", y->args_key != NULL ? y->args_key : "arguments");
    CF_TRY(cf_tool__put_json(out, CF_STYLE_JSON, NULL, false, c->arguments, err));
    if (has_id && !y->id_first) {
        cf_buf_adds(out, ", ");
        put_id(out, y, c->id);
    }
    cf_buf_addc(out, '}');
    return CF_OK;
}

static cf_status put_keyed_call(cf_buf *out, const cf_tool_call *c, cf_error *err)
{
    CF_TRY(check_object(c, err));
    cf_buf_addc(out, '{');
    cf_json_write_str(out, c->name);
    cf_buf_adds(out, ": ");
    CF_TRY(cf_tool__put_json(out, CF_STYLE_JSON, NULL, false, c->arguments, err));
    cf_buf_addc(out, '}');
    return CF_OK;
}

static cf_status put_fc_call(cf_buf *out, const cf_tool__syntax *y, const cf_tool_call *c,
                             cf_error *err)
{
    if (!is_plain_name(c->name, ".-")) {
        return bad_name(c->name, err);
    }
    CF_TRY(check_object(c, err));
    cf_buf_adds(out, "call:");
    cf_buf_add(out, c->name.p, c->name.n);
    return cf_tool__put_json(out, CF_STYLE_FC, y->esc, false, c->arguments, err);
}

static cf_status put_named_call(cf_buf *out, const cf_tool__syntax *y, const cf_tool_call *c,
                                size_t index, cf_error *err)
{
    if (!is_plain_name(c->name, ".-")) {
        return bad_name(c->name, err);
    }
    CF_TRY(check_object(c, err));
    if (y->id_end != NULL) {
        if (c->id.n > 0) {
            cf_buf_add(out, c->id.p, c->id.n);
        } else {
            cf_buf_addf(out, "call%05zu", index + 1);
        }
        cf_buf_adds(out, y->id_end);
    }
    if (y->ids == CF_IDS_INDEX) {
        cf_buf_addf(out, "functions.%.*s:%zu", (int)c->name.n, c->name.p, index);
    } else {
        cf_buf_add(out, c->name.p, c->name.n);
    }
    cf_buf_adds(out, y->name_end);
    return cf_tool__put_json(out, CF_STYLE_JSON, NULL, false, c->arguments, err);
}

/* ---- arguments between tags --------------------------------------------- */

/* What ends the value of `key`. */
static void put_value_end(cf_buf *out, const cf_tool__syntax *y, cf_str key)
{
    cf_buf_adds(out, y->value_end);
    if (y->keys_are_tags) {
        cf_buf_add(out, key.p, key.n);
        cf_buf_adds(out, y->key_end);
    }
}

/* Whether `text` is read back unchanged as the value of `key`. */
static bool is_readable(cf_tool__writer *writer, const cf_tool__syntax *y, cf_str key, cf_str text)
{
    cf_buf call = CF_BUF_INIT;
    cf_buf_adds(&call, "f");
    cf_buf_adds(&call, y->name_end);
    cf_buf_addf(&call, y->name_again != NULL ? "f%s" : "", text_of(y->name_again));
    cf_buf_adds(&call, text_of(y->index_end));
    cf_buf_adds(&call, y->param);
    cf_buf_add(&call, key.p, key.n);
    cf_buf_adds(&call, y->key_end);
    if (y->attr_end != NULL) {
        cf_buf_addf(&call, "string%s", y->attr_end);
    }
    cf_buf_adds(&call, text_of(y->value_open));
    size_t off = call.n;
    cf_buf_add(&call, text.p, text.n);
    put_value_end(&call, y, key);
    cf_buf_adds(&call, y->call_close);
    cf_tool__walk w = {.at = 0};
    cf_tool__step s = CF_STEP_ON;
    while (s == CF_STEP_ON && w.state != CF_WALK_DONE && !call.failed) {
        s = cf_tool__walk_step(y, cf_buf_str(&call), true, false, &w);
    }
    writer->oom = writer->oom || call.failed;
    bool ok = s == CF_STEP_ARGUMENT && w.value_off == off && w.value_len == text.n;
    cf_buf_deinit(&call);
    return ok;
}

static bool needs_cdata(cf_str s)
{
    return memchr(s.p, '<', s.n) != NULL || memchr(s.p, '&', s.n) != NULL ||
           memchr(s.p, '\n', s.n) != NULL;
}

static void put_raw_string(cf_tool__writer *w, const cf_tool__syntax *y, cf_str key)
{
    cf_str s = cf_buf_str(&w->str);
    cf_buf whole = CF_BUF_INIT;
    if (y->typing == CF_TYPING_LOOSE && cf_str_is(s, "null")) {
        w->cannot = "the string null reads as null";
    }
    bool wrap = y->has_cdata && s.n > 0 && needs_cdata(s);
    cf_buf_adds(&whole, wrap ? "<![CDATA[" : "");
    cf_buf_add(&whole, s.p, s.n);
    cf_buf_adds(&whole, wrap ? "]]>" : "");
    for (size_t i = 0; wrap && i + 3 <= s.n; i++) {
        if (memcmp(s.p + i, "]]>", 3) == 0) {
            w->cannot = "a string holds the end of its own marks";
        }
    }
    w->oom = w->oom || whole.failed;
    if (!whole.failed && !is_readable(w, y, key, cf_buf_str(&whole))) {
        w->cannot = "a string holds the end of its own marks";
    }
    cf_buf_add(w->out, whole.p, whole.n);
    cf_buf_deinit(&whole);
}

static bool is_tag_key(cf_str s)
{
    bool has_end = false;
    for (size_t i = 0; i < s.n; i++) {
        has_end = has_end || strchr("<>\"'\r\n", s.p[i]) != NULL;
    }
    return s.n > 0 && !has_end && !cf_tool__is_space(s.p[0]) && !cf_tool__is_space(s.p[s.n - 1]);
}

static void put_tag(cf_tool__writer *w, const cf_tool__syntax *y, const char *lead, cf_str key)
{
    bool is_bad = !is_tag_key(key) || key.p[0] == '/';
    w->cannot = is_bad ? "an argument's name cannot be written in a tag" : w->cannot;
    cf_buf_adds(w->out, lead);
    cf_buf_add(w->out, key.p, key.n);
    cf_buf_adds(w->out, y->key_end);
}

/* The value at w->p as the text between two tags. */
static void put_tagged(cf_tool__writer *w, const cf_tool__syntax *y)
{
    const bool is_list = *w->p == '[';
    if (*w->p == '"') {
        cf_tool__read_string(w);
        cf_buf_add(w->out, w->str.p, w->str.n);
        return;
    }
    if (!is_list && *w->p != '{') {
        cf_tool__put_value(w);
        return;
    }
    for (w->p++; *w->p != ']' && *w->p != '}' && *w->p != '\0';) {
        const char *leads[] = {y->param, y->value_end};
        w->p += *w->p == ',';
        const char *key = w->p, *after = NULL;
        for (size_t i = 0; i < 2; i++) { /* the key is read again for the closing tag */
            if (!is_list) {
                w->p = key;
                cf_tool__read_string(w);
            }
            put_tag(w, y, leads[i], is_list ? cf_str_from("item") : cf_buf_str(&w->str));
            if (i == 0) {
                w->p += is_list ? 0 : 1; /* ':' */
                put_tagged(w, y);
                after = w->p;
            }
        }
        w->p = after;
    }
    w->p++;
}

/* The object or list at w->p, the value of `key`: in nested tags where they read
 * back the same, else as JSON. */
static void put_nested(cf_tool__writer *w, const cf_tool__syntax *y, cf_str key)
{
    cf_buf text = CF_BUF_INIT;
    cf_tool__writer nested = {.out = &text, .style = w->style, .p = w->p};
    put_tagged(&nested, y);
    w->oom = w->oom || nested.oom || text.failed || nested.str.failed;
    cf_str json = cf_str_make(w->p, (size_t)(nested.p - w->p));
    bool is_same =
        nested.cannot == NULL && !w->oom && cf_tool__nested_is(y, cf_buf_str(&text), json, &w->oom);
    if (!is_same) {
        cf_tool__writer plain = {.out = &text, .style = w->style, .p = w->p};
        cf_buf_reset(&text);
        cf_tool__put_value(&plain);
        cf_buf_deinit(&plain.str);
    }
    if (!w->oom && !is_readable(w, y, key, cf_buf_str(&text))) {
        w->cannot = "a value holds the end of its own tag";
    }
    cf_buf_add(w->out, text.p, text.n);
    w->p = nested.p;
    cf_buf_deinit(&nested.str);
    cf_buf_deinit(&text);
}

/* The attribute that names the type of the value at w->p. */
static void put_attr(cf_tool__writer *w, const cf_tool__syntax *y)
{
    const char *type = "number";
    switch (*w->p) {
    case '"':
        type = "string";
        break;
    case '{':
        type = "object";
        break;
    case '[':
        type = "array";
        break;
    case 't':
    case 'f':
        type = "boolean";
        break;
    case 'n':
        type = "null";
        break;
    default:
        break;
    }
    if (y->attr_is_flag) {
        type = *w->p == '"' ? "true" : "false";
    }
    cf_buf_adds(w->out, type);
    cf_buf_adds(w->out, y->attr_end);
}

static void put_xml(cf_buf *out, cf_str s, bool escape)
{
    for (size_t i = 0; i < s.n; i++) {
        if (escape && s.p[i] == '&') {
            cf_buf_adds(out, "&amp;");
        } else if (escape && s.p[i] == '"') {
            cf_buf_adds(out, "&quot;");
        } else {
            cf_buf_addc(out, s.p[i]);
        }
    }
}

static cf_status put_tags_call(cf_buf *out, const cf_tool__syntax *y, const cf_tool_call *c,
                               size_t index, cf_error *err)
{
    cf_buf text = CF_BUF_INIT, key = CF_BUF_INIT;
    cf_tool__writer w = {.out = out,
                         .style = y->values == CF_VALUES_PYTHON ? CF_STYLE_PYTHON : CF_STYLE_JSON};
    cf_status st = cf_tool__canonical(&text, c->arguments, true, err);
    if (st == CF_OK && !is_plain_name(c->name, ".-:/")) {
        st = bad_name(c->name, err);
    }
    if (st == CF_OK) {
        put_xml(out, c->name, y->xml_attrs);
        cf_buf_adds(out, y->name_end);
        if (y->name_again != NULL) {
            cf_buf_add(out, c->name.p, c->name.n);
            cf_buf_adds(out, y->name_again);
        }
        if (y->index_end != NULL) {
            cf_buf_addf(out, "%zu%s", index + 1, y->index_end);
        }
        w.p = cf_buf_cstr(&text) + 1;
        while (*w.p != '}' && *w.p != '\0') {
            w.p += *w.p == ',';
            cf_tool__read_string(&w);
            if (!is_tag_key(cf_buf_str(&w.str))) {
                w.cannot = "an argument's name cannot be written in a tag";
            }
            cf_buf_reset(&key);
            cf_buf_add(&key, w.str.p, w.str.n);
            cf_buf_adds(out, y->param);
            put_xml(out, cf_buf_str(&w.str), y->xml_attrs);
            cf_buf_adds(out, y->key_end);
            w.p++; /* ':' */
            if (y->attr_end != NULL) {
                put_attr(&w, y);
            }
            cf_buf_adds(out, text_of(y->value_open));
            if (*w.p == '"') {
                const char *json = w.p;
                cf_tool__read_string(&w);
                if (y->typing == CF_TYPING_JSON) { /* as it stands, in its quotes */
                    cf_buf_reset(&w.str);
                    cf_buf_add(&w.str, json, (size_t)(w.p - json));
                }
                put_raw_string(&w, y, cf_buf_str(&key));
            } else if (y->keys_are_tags && (*w.p == '{' || *w.p == '[')) {
                put_nested(&w, y, cf_buf_str(&key));
            } else {
                cf_tool__put_value(&w);
            }
            put_value_end(out, y, cf_buf_str(&key));
        }
    }
    w.oom = w.oom || key.failed;
    cf_buf_deinit(&key);
    cf_buf_deinit(&text);
    return cf_tool__writer_finish(&w, st, err);
}

/* ---- a block of calls --------------------------------------------------- */

static cf_status put_call(cf_buf *out, const cf_tool__syntax *y, const cf_tool_call *c,
                          size_t index, cf_error *err)
{
    switch (y->form) {
    case CF_FORM_JSON:
        return put_json_call(out, y, c, err);
    case CF_FORM_KEYED:
        return put_keyed_call(out, c, err);
    case CF_FORM_PYTHON:
        return put_python_call(out, y, c, err);
    case CF_FORM_FC:
        return put_fc_call(out, y, c, err);
    case CF_FORM_NAMED:
        return put_named_call(out, y, c, index, err);
    case CF_FORM_TAGS:
        return put_tags_call(out, y, c, index, err);
    case CF_FORM_NONE:
        break;
    }
    return CF_OK;
}

static cf_status format_calls(cf_buf *out, const cf_tool__row *row, const cf_tool_call *calls,
                              size_t n, cf_error *err)
{
    const cf_tool__syntax *y = &row->calls;
    const bool is_bare = y->one_is_bare && n == 1;
    if (y->form == CF_FORM_NONE) {
        return cf_fail(err, CF_EUNSUPPORTED, "family %s writes no calls", row->name);
    }
    cf_buf_adds(out, y->each_opens ? "" : text_of(y->open));
    cf_buf_adds(out, is_bare ? "" : text_of(y->list_open));
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, i > 0 ? text_of(y->between) : "");
        cf_buf_adds(out, y->each_opens ? text_of(y->open) : "");
        cf_buf_adds(out, text_of(y->call_open));
        CF_TRY(put_call(out, y, &calls[i], i, err));
        cf_buf_adds(out, text_of(y->call_close));
        cf_buf_adds(out, y->each_opens ? text_of(y->close) : "");
    }
    cf_buf_adds(out, is_bare ? "" : text_of(y->list_close));
    cf_buf_adds(out, y->each_opens ? "" : text_of(y->close));
    return CF_OK;
}

cf_status cf_tool_format_calls(cf_buf *out, cf_tool_family family, const cf_tool_call *calls,
                               size_t n, cf_error *err)
{
    size_t mark = out->n;
    cf_status st = format_calls(out, cf_tool__row_of(family), calls, n, err);
    return cf_tool__undo(out, mark, st, err);
}
