/*
 * message_shape.c - the steps, each of them only where the template's
 * capabilities ask for it.
 *
 *   1. Gemini's "parts" become content, calls and results.
 *   2. A list of text parts becomes a string, or a string a list.
 *   3. A result that is an object becomes its JSON text.
 *   4. Calls without ids get some, where the template wants them; arguments
 *      that are a string of JSON become the object.
 *   5. Calls that the template does not write are written into the content,
 *      results become messages of the user, both in the family's syntax.
 *   6. Declarations that it does not write go into the system message.
 */
#include "templates/shape/message_shape.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"

typedef struct shaper {
    cf_shape *out;
    const cf_template_caps *caps;
    cf_tool_family family;
    json_t *messages; /* the shaped list */
    json_t *ids;      /* of the calls that wait for results, in order */
    size_t next_id;
    unsigned n_ids;
    bool oom;
} shaper;

static bool role_is(const json_t *m, const char *role)
{
    return cf_str_is(cf_json_get_str(m, "role"), role);
}

static bool is_missing(cf_cap cap)
{
    return cap == CF_CAP_NO || cap == CF_CAP_DROPPED;
}

bool cf_shape_is_needed(const json_t *context)
{
    const json_t *messages = json_object_get(context, "messages");
    if (json_array_size(json_object_get(context, "tools")) > 0) {
        return true;
    }
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        const json_t *content = json_object_get(m, "content");
        if (json_is_array(content) || json_is_object(content) ||
            json_object_get(m, "tool_calls") != NULL ||
            json_object_get(m, "parts") != NULL || role_is(m, "tool")) {
            return true;
        }
    }
    return false;
}

static void set(shaper *s, json_t *m, const char *key, json_t *v)
{
    if (v == NULL || json_object_set_new(m, key, v) != 0) {
        s->oom = true;
    }
}

static json_t *text_json(const cf_buf *b)
{
    return b->failed ? NULL : json_stringn(b->n > 0 ? b->p : "", b->n);
}

/* ---- 1: parts of Gemini ------------------------------------------------- */

static void read_parts(shaper *s, json_t *m)
{
    const json_t *parts = json_object_get(m, "parts");
    cf_buf text = CF_BUF_INIT;
    json_t *calls = json_array();
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *p = json_array_get(parts, i);
        const json_t *call = json_object_get(p, "functionCall");
        const json_t *response = json_object_get(p, "functionResponse");
        cf_str t = cf_json_get_str(p, "text");
        cf_buf_add(&text, t.p, t.n);
        if (call != NULL) {
            json_array_append_new(
                calls, json_pack("{s:s, s:{s:O?, s:O?}}", "type", "function",
                                 "function", "name",
                                 cf_json_ref(json_object_get(call, "name")),
                                 "arguments",
                                 cf_json_ref(json_object_get(call, "args"))));
        }
        if (response != NULL) {
            json_object_set_new(m, "role", json_string("tool"));
            json_object_set(m, "name", json_object_get(response, "name"));
            json_object_set(m, "content",
                            json_object_get(response, "response"));
        }
    }
    if (json_object_get(m, "content") == NULL) {
        set(s, m, "content", text_json(&text));
    }
    if (json_array_size(calls) > 0) {
        json_object_set(m, "tool_calls", calls);
    }
    json_object_del(m, "parts");
    json_decref(calls);
    cf_buf_deinit(&text);
}

/* ---- 2 and 3: content --------------------------------------------------- */

/* The text of a list that holds nothing but text; false for any other. */
static bool joined(const json_t *list, cf_buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);
        cf_str t = cf_json_get_str(p, "text");
        if (json_is_string(p)) {
            t = cf_str_make(json_string_value(p), json_string_length(p));
        } else if (t.p == NULL ||
                   !cf_str_is(cf_json_get_str(p, "type"), "text")) {
            return false;
        }
        cf_buf_add(out, t.p, t.n);
    }
    return json_array_size(list) > 0;
}

/* The result inside [{"type":"tool_response","tool_response":{...}}]. */
static const json_t *tool_response(const json_t *content, json_t *m)
{
    const json_t *first = json_array_get(content, 0);
    const json_t *r = json_object_get(first, "tool_response");
    if (json_array_size(content) != 1 ||
        !cf_str_is(cf_json_get_str(first, "type"), "tool_response")) {
        return NULL;
    }
    r = r != NULL ? r : first;
    const json_t *value = json_object_get(r, "response");
    value = value != NULL ? value : json_object_get(r, "value");
    json_t *name = json_object_get(r, "name");
    if (name != NULL && json_object_get(m, "name") == NULL) {
        json_object_set(m, "name", name);
    }
    return value != NULL ? value : r;
}

static void fit_content(shaper *s, json_t *m)
{
    const cf_template_caps *c = s->caps;
    const bool is_tool = role_is(m, "tool");
    const json_t *content = json_object_get(m, "content");
    const json_t *inner = is_tool ? tool_response(content, m) : NULL;
    if (inner != NULL) {
        json_object_set(m, "content", cf_json_ref(inner));
        content = inner;
    }
    cf_cap typed = is_tool                ? c->typed_results
                   : role_is(m, "system") ? c->typed_system
                                          : c->typed_content;
    cf_buf text = CF_BUF_INIT;
    if (json_is_array(content) && typed != CF_CAP_YES &&
        joined(content, &text)) {
        set(s, m, "content", text_json(&text));
    } else if (is_tool && content != NULL && !json_is_string(content) &&
               !json_is_null(content) && c->object_results != CF_CAP_YES) {
        cf_buf_reset(&text);
        cf_json_write_spaced(&text, content);
        set(s, m, "content", text_json(&text));
    } else if (json_is_string(content) && role_is(m, "user") &&
               c->text_content != CF_CAP_YES && typed == CF_CAP_YES) {
        set(s, m, "content",
            json_pack("[{s:s, s:O}]", "type", "text", "text",
                      cf_json_ref(content)));
    }
    cf_buf_deinit(&text);
}

/* ---- 4: ids ------------------------------------------------------------- */

static bool is_nine(cf_str id)
{
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
              (c >= 'A' && c <= 'Z'))) {
            return false;
        }
    }
    return id.n == 9;
}

static bool id_fits(const shaper *s, cf_str id)
{
    return s->caps->call_id_rule == CF_CALL_ID_FREE ||
           (s->caps->call_id_rule == CF_CALL_ID_NEEDED ? id.n > 0
                                                       : is_nine(id));
}

/* Pairs of the id that a call had and the one it has now. */
static void name_calls(shaper *s, json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    if (json_array_size(calls) == 0 ||
        s->caps->call_id_rule == CF_CALL_ID_FREE) {
        return;
    }
    json_t *list = json_array();
    json_array_clear(s->ids);
    s->next_id = 0;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = json_copy(cf_json_ref(json_array_get(calls, i)));
        cf_str id = cf_json_get_str(call, "id");
        json_t *old = json_stringn(id.n > 0 ? id.p : "", id.n);
        if (!id_fits(s, id)) {
            char made[16];
            snprintf(made, sizeof made, "call%05u", ++s->n_ids % 100000);
            json_object_set_new(call, "id", json_string(made));
        }
        json_array_append_new(
            s->ids, json_pack("[o, O]", old, json_object_get(call, "id")));
        if (json_array_append_new(list, call) != 0) {
            s->oom = true;
        }
    }
    set(s, m, "tool_calls", list);
}

/* The result's id: that of the call it names, else of the next in order. */
static void name_result(shaper *s, json_t *m)
{
    cf_str id = cf_json_get_str(m, "tool_call_id");
    if (s->caps->call_id_rule == CF_CALL_ID_FREE) {
        return;
    }
    json_t *pair = json_array_get(s->ids, s->next_id);
    for (size_t i = 0; id.n > 0 && i < json_array_size(s->ids); i++) {
        json_t *p = json_array_get(s->ids, i);
        const json_t *old = json_array_get(p, 0);
        if (cf_str_eq(id, cf_str_make(json_string_value(old),
                                      json_string_length(old)))) {
            pair = p;
        }
    }
    s->next_id++;
    if (pair != NULL) {
        json_object_set(m, "tool_call_id", json_array_get(pair, 1));
    }
}

/* Arguments that are JSON in a string, as objects: OpenAI's interface has the
 * one, templates read the other. */
static void read_arguments(shaper *s, json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    json_t *list = json_array();
    bool has_changed = false;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = json_copy(cf_json_ref(json_array_get(calls, i)));
        json_t *function = json_copy(json_object_get(call, "function"));
        cf_str text = cf_json_get_str(function, "arguments");
        json_t *v = text.p != NULL ? json_loadb(text.p, text.n, 0, NULL) : NULL;
        if (json_is_object(v) && function != NULL) {
            json_object_set(function, "arguments", v);
            json_object_set(call, "function", function);
            has_changed = true;
        }
        json_decref(v);
        json_decref(function);
        if (json_array_append_new(list, call) != 0) {
            s->oom = true;
        }
    }
    if (has_changed && s->caps->string_args != CF_CAP_YES) {
        json_object_set(m, "tool_calls", list);
    }
    json_decref(list);
}

/* ---- 5: calls and results ----------------------------------------------- */

static void note_added(shaper *s, size_t from, size_t to, const char *why)
{
    cf_shape *o = s->out;
    if (o->n_added < CF_SHAPE_ADDED_MAX && to > from) {
        o->added[o->n_added++] =
            (cf_shape_added){(uint32_t)json_array_size(s->messages),
                             (uint32_t)from, (uint32_t)to, why};
    }
}

/* The calls of a message in the family's syntax. */
static bool written_calls(shaper *s, const json_t *calls, cf_buf *out)
{
    size_t n = json_array_size(calls);
    cf_tool_call v[32];
    cf_buf args[32];
    cf_error ignored;
    n = n < 32 ? n : 32;
    memset(v, 0, sizeof v);
    memset(args, 0, sizeof args);
    for (size_t i = 0; i < n; i++) {
        const json_t *call = json_array_get(calls, i);
        const json_t *function = json_object_get(call, "function");
        function = function != NULL ? function : call;
        const json_t *a = json_object_get(function, "arguments");
        if (json_is_string(a)) {
            cf_buf_add(&args[i], json_string_value(a), json_string_length(a));
        } else if (json_is_object(a)) {
            cf_json_write(&args[i], a);
        } else {
            cf_buf_adds(&args[i], "{}");
        }
        v[i].name = cf_json_get_str(function, "name");
        v[i].id = cf_json_get_str(call, "id");
        v[i].arguments = cf_buf_str(&args[i]);
    }
    cf_status st = cf_tool_format_calls(out, s->family, v, n, &ignored);
    if (st == CF_EUNSUPPORTED && s->family != CF_TOOLS_GENERIC) {
        st = cf_tool_format_calls(out, CF_TOOLS_GENERIC, v, n, &ignored);
    }
    for (size_t i = 0; i < n; i++) {
        cf_buf_deinit(&args[i]);
    }
    s->oom = s->oom || st == CF_ENOMEM;
    return st == CF_OK;
}

static void write_calls(shaper *s, json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    if (json_array_size(calls) == 0 || !is_missing(s->caps->tool_calls)) {
        return;
    }
    cf_str content = cf_json_get_str(m, "content");
    cf_buf text = CF_BUF_INIT;
    cf_buf_add(&text, content.p, content.n);
    cf_buf_adds(&text, content.n > 0 ? "\n" : "");
    if (written_calls(s, calls, &text)) {
        note_added(s, content.n, text.n, "added: the template writes no calls");
        set(s, m, "content", text_json(&text));
        json_object_del(m, "tool_calls");
    }
    cf_buf_deinit(&text);
}

/* A result that the template does not write, as a message of the user. */
static void write_result(shaper *s, json_t *m)
{
    if (!role_is(m, "tool") || !is_missing(s->caps->tool_role)) {
        return;
    }
    const json_t *content = json_object_get(m, "content");
    cf_buf text = CF_BUF_INIT;
    cf_error ignored;
    json_t *value = NULL; /* results are often JSON in a string */
    if (json_is_string(content)) {
        value = json_loadb(json_string_value(content),
                           json_string_length(content), JSON_DECODE_ANY, NULL);
    }
    cf_status st =
        cf_tool_format_result(&text, s->family, cf_json_get_str(m, "name"),
                              value != NULL ? value : content, &ignored);
    json_decref(value);
    if (st == CF_OK) {
        set(s, m, "role", json_string("user"));
        set(s, m, "content", text_json(&text));
    }
    s->oom = s->oom || st == CF_ENOMEM;
    cf_buf_deinit(&text);
}

/* Two messages of the user in a row are one where roles must alternate. */
static bool joins_last(shaper *s, const json_t *m)
{
    size_t n = json_array_size(s->messages);
    json_t *last = n > 0 ? json_array_get(s->messages, n - 1) : NULL;
    cf_str a = cf_json_get_str(last, "content");
    cf_str b = cf_json_get_str(m, "content");
    if (!s->caps->needs_alternation || !role_is(m, "user") ||
        !role_is(last, "user") || a.p == NULL || b.p == NULL) {
        return false;
    }
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "%.*s\n%.*s", (int)a.n, a.p, (int)b.n, b.p);
    set(s, last, "content", text_json(&text));
    cf_buf_deinit(&text);
    return true;
}

/* ---- 6: declarations ---------------------------------------------------- */

static bool declaration_text(shaper *s, const json_t *tools, cf_buf *out)
{
    static const cf_tool_call example = {
        .name = {"function_name", 13},
        .arguments = {"{\"parameter\":\"value\"}", 21}};
    cf_tool_set *set = NULL;
    cf_error err;
    cf_status st = cf_tool_set_new(&set, tools, &err);
    cf_buf_adds(out, "You can call these functions:\n");
    CF_THEN(st, cf_tool_format_declarations(out, s->family, set, &err));
    cf_buf_adds(out, "\nWrite a call like this:\n");
    CF_THEN(st, cf_tool_format_calls(out, s->family, &example, 1, &err));
    cf_tool_set_free(set);
    s->oom = s->oom || st == CF_ENOMEM;
    return st == CF_OK;
}

/* Into the system message, else in front of the first message of the user. */
static void write_tools(shaper *s, const json_t *context)
{
    static const char why[] = "added: the template writes no tools";
    const json_t *tools = json_object_get(context, "tools");
    cf_buf text = CF_BUF_INIT;
    if (json_array_size(tools) == 0 || !is_missing(s->caps->tools) ||
        !declaration_text(s, tools, &text)) {
        cf_buf_deinit(&text);
        return;
    }
    const bool has_system = !is_missing(s->caps->system);
    size_t at = 0;
    while (at < json_array_size(s->messages) &&
           !role_is(json_array_get(s->messages, at),
                    has_system ? "system" : "user")) {
        at++;
    }
    json_t *host = json_array_get(
        s->messages, has_system && at > 0 ? json_array_size(s->messages) : at);
    cf_str content = cf_json_get_str(host, "content");
    if (host != NULL && content.p != NULL) {
        cf_buf whole = CF_BUF_INIT;
        if (has_system) {
            cf_buf_addf(&whole, "%.*s\n\n", (int)content.n, content.p);
        }
        size_t from = has_system ? content.n : 0;
        cf_buf_add(&whole, text.p, text.n);
        cf_buf_adds(&whole, has_system ? "" : "\n\n");
        size_t to = whole.n;
        if (!has_system) {
            cf_buf_add(&whole, content.p, content.n);
        }
        cf_shape *o = s->out;
        if (o->n_added < CF_SHAPE_ADDED_MAX) {
            o->added[o->n_added++] = (cf_shape_added){
                (uint32_t)at, (uint32_t)from, (uint32_t)to, why};
        }
        set(s, host, "content", text_json(&whole));
        cf_buf_deinit(&whole);
    } else if (has_system) {
        json_t *m = json_pack("{s:s, s:o}", "role", "system", "content",
                              text_json(&text));
        if (m == NULL || json_array_insert_new(s->messages, 0, m) != 0) {
            s->oom = true;
        }
        for (size_t i = 0; i < s->out->n_added; i++) {
            s->out->added[i].message++;
        }
        s->out->n_before = 1;
        if (s->out->n_added < CF_SHAPE_ADDED_MAX) {
            s->out->added[s->out->n_added++] =
                (cf_shape_added){0, 0, UINT32_MAX, why};
        }
    }
    cf_buf_deinit(&text);
}

/* ---- all of it ---------------------------------------------------------- */

cf_status cf_shape_init(cf_shape *out, const json_t *context,
                        const cf_template_caps *caps, cf_tool_family family,
                        cf_error *err)
{
    memset(out, 0, sizeof *out);
    const json_t *messages = json_object_get(context, "messages");
    shaper s = {.out = out, .caps = caps, .family = family};
    s.messages = json_array();
    s.ids = json_array();
    out->context = json_copy(cf_json_ref(context));
    s.oom = s.messages == NULL || s.ids == NULL || out->context == NULL;
    for (size_t i = 0; !s.oom && i < json_array_size(messages); i++) {
        json_t *m = json_copy(cf_json_ref(json_array_get(messages, i)));
        if (m == NULL) {
            s.oom = true;
            break;
        }
        if (json_is_object(m)) {
            if (json_is_array(json_object_get(m, "parts"))) {
                read_parts(&s, m);
            }
            fit_content(&s, m);
            name_calls(&s, m);
            if (json_object_get(m, "tool_calls") != NULL) {
                read_arguments(&s, m);
            }
            if (role_is(m, "tool")) {
                name_result(&s, m);
            }
            write_calls(&s, m);
            write_result(&s, m);
        }
        if (joins_last(&s, m)) {
            json_decref(m);
        } else if (json_array_append_new(s.messages, m) != 0) {
            s.oom = true;
        }
    }
    if (!s.oom) {
        write_tools(&s, context);
    }
    s.oom = s.oom || json_object_set(out->context, "messages", s.messages) != 0;
    json_decref(s.messages);
    json_decref(s.ids);
    if (s.oom) {
        cf_shape_deinit(out);
        return cf_oom_for(err, "the messages");
    }
    return CF_OK;
}

void cf_shape_deinit(cf_shape *s)
{
    json_decref(s->context);
    s->context = NULL;
}

/* ---- spans -------------------------------------------------------------- */

static const cf_shape_added *added_at(const cf_shape *s, uint32_t message,
                                      uint32_t off, uint32_t *end)
{
    for (size_t i = 0; i < s->n_added; i++) {
        const cf_shape_added *a = &s->added[i];
        if (a->message != message) {
            continue;
        }
        if (off >= a->from && off < a->to) {
            *end = a->to;
            return a;
        }
        if (off < a->from && a->from < *end) {
            *end = a->from;
        }
    }
    return NULL;
}

cf_status cf_shape_spans(const cf_shape *s, cf_prompt *prompt, cf_arena *arena,
                         cf_error *err)
{
    if (s->n_added == 0 && s->n_before == 0) {
        return CF_OK;
    }
    size_t cap = prompt->n_spans * 3 + 1;
    cf_prompt_span *v = cf_arena_calloc(arena, cap, sizeof *v);
    size_t n = 0;
    if (v == NULL) {
        return cf_oom_for(err, "spans");
    }
    for (size_t i = 0; i < prompt->n_spans; i++) {
        cf_prompt_span left = prompt->spans[i];
        const bool is_content = left.source == CF_SPAN_MESSAGE && left.is_copy;
        uint32_t message = left.index;
        while (is_content && left.len > 0 && n + 2 < cap) {
            uint32_t end = UINT32_MAX;
            const cf_shape_added *a = added_at(s, message, left.src_off, &end);
            uint32_t len =
                end - left.src_off < left.len ? end - left.src_off : left.len;
            cf_prompt_span one = left;
            one.len = len;
            one.index -= one.index >= s->n_before ? s->n_before : one.index;
            if (a != NULL) {
                one.source = CF_SPAN_VARIABLE;
                one.is_copy = false;
                one.index = 0;
                one.path = cf_str_from(a->why);
            }
            v[n++] = one;
            left.off += len;
            left.src_off += len;
            left.len -= len;
        }
        if (left.len > 0 || !is_content) {
            if (left.source == CF_SPAN_MESSAGE) {
                left.index -=
                    left.index >= s->n_before ? s->n_before : left.index;
            }
            v[n++] = left;
        }
    }
    prompt->spans = v;
    prompt->n_spans = n;
    return CF_OK;
}
