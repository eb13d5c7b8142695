/*
 * message_shape.c - the steps, each of them only where the template's
 * capabilities ask for it.
 *
 *   1. Messages of Gemini, the FC SDK and Xaibo get OpenAI's form.
 *   2. A list of text parts becomes a string, or a string a list.
 *   3. A result that is an object becomes its JSON text.
 *   4. Calls without ids get some, where the template wants them; arguments
 *      that are a string of JSON become the object.
 *   5. Calls that the template does not write are written into the content,
 *      results become messages of the user, both in the family's syntax.
 *   6. A system message that the template does not take becomes the beginning
 *      of the user's first one.
 *   7. Declarations that it does not write go into the system message.
 *
 * Always true: shaped message i is of message origin[i] of the context; where
 * its content was composed, pieces cover the content without a gap.
 */
#include "templates/shape/message_shape.h"

#include <stdio.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/api/message.h"
#include "core/api/message_form.h"
#include "core/base/alloc.h"
#include "core/json/json_builder.h"

typedef struct shaper {
    cf_shape *out;
    const cf_template_caps *caps;
    const cf_role_map *roles; /* to the template's names */
    cf_role_map usual;        /* to OpenAI's, which the steps know */
    cf_tool_family family;
    json_t *messages; /* the shaped list */
    json_t *ids;      /* of the calls that wait for results, in order */
    size_t next_id;
    unsigned n_ids;
    uint32_t origin; /* of the message in hand */
    cf_jb tree;      /* changes the messages; failed: memory ran out */
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
    bool after_user = false;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        const bool is_user = role_is(m, "user");
        const json_t *content = json_object_get(m, "content");
        if (json_is_array(content) || json_is_object(content) ||
            json_object_get(m, "tool_calls") != NULL || role_is(m, "tool") ||
            role_is(m, "system") || role_is(m, "model") ||
            json_object_get(m, "reasoning_content") != NULL || (is_user && after_user)) {
            return true;
        }
        after_user = is_user;
    }
    return cf_messages_need_form(messages);
}

static void check(shaper *s, cf_status st)
{
    if (st == CF_ENOMEM) {
        cf_jb_fail(&s->tree);
    }
}

static void set(shaper *s, json_t *m, const char *key, json_t *v)
{
    cf_jb_set(&s->tree, m, key, v);
}

/* ---- pieces ------------------------------------------------------------- */

static const char no_calls[] = "added by confab: the template writes no calls";
static const char no_results[] = "added by confab: the template writes no results";
static const char no_tools[] = "added by confab: the template writes no tools";
static const char no_system[] = "added by confab: the template takes no system message";
static const char alternates[] = "added by confab: roles must alternate";

static cf_shape_piece *pieces_of(const cf_shape *s, size_t *n)
{
    *n = s->pieces.n / sizeof(cf_shape_piece);
    return (cf_shape_piece *)(void *)s->pieces.p;
}

static void add_piece(shaper *s, const cf_shape_piece *piece)
{
    if (piece->to > piece->from) {
        cf_buf_add(&s->out->pieces, piece, sizeof *piece);
    }
}

/* The place of the message in hand among the shaped ones. */
static uint32_t here(const shaper *s)
{
    return (uint32_t)json_array_size(s->messages);
}

static uint32_t origin_of(const cf_shape *s, uint32_t message)
{
    uint32_t v = UINT32_MAX;
    if (((size_t)message + 1) * sizeof v <= s->origin.n) {
        memcpy(&v, s->origin.p + message * sizeof v, sizeof v);
    }
    return v;
}

static bool has_pieces(const cf_shape *s, uint32_t message)
{
    size_t n;
    const cf_shape_piece *v = pieces_of(s, &n);
    for (size_t i = 0; i < n; i++) {
        if (v[i].message == message) {
            return true;
        }
    }
    return false;
}

/* The content of `message` moves by `by` bytes, into message `to`.  A content
 * of n bytes without pieces gets one. */
static void move_pieces(shaper *s, uint32_t message, size_t n, uint32_t to, size_t by,
                        uint32_t origin)
{
    if (!has_pieces(s->out, message)) {
        const cf_shape_piece whole = {
            .message = to, .from = (uint32_t)by, .to = (uint32_t)(by + n), .origin = origin};
        add_piece(s, &whole);
        return;
    }
    size_t n_pieces;
    cf_shape_piece *v = pieces_of(s->out, &n_pieces);
    for (size_t i = 0; i < n_pieces; i++) {
        if (v[i].message == message) {
            v[i].message = to;
            v[i].from += (uint32_t)by;
            v[i].to += (uint32_t)by;
        }
    }
}

/* Bytes [from, to) of message `message` that confab wrote. */
static void add_ours(shaper *s, uint32_t message, size_t from, size_t to, uint32_t origin,
                     const char *why)
{
    const cf_shape_piece piece = {.message = message,
                                  .from = (uint32_t)from,
                                  .to = (uint32_t)to,
                                  .origin = origin,
                                  .is_tools = why == no_tools,
                                  .why = why};
    add_piece(s, &piece);
}

/* ---- 2 and 3: content --------------------------------------------------- */

static bool is_media(const json_t *part)
{
    cf_attachment a;
    bool is = cf_attachment_read(&a, part);
    cf_attachment_deinit(&a);
    return is;
}

/* The text of a list that holds nothing but text; false for any other. */
static bool joined(const json_t *list, bool skips_media, cf_buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *p = json_array_get(list, i);
        cf_str t = cf_json_get_str(p, "text");
        if (skips_media && is_media(p)) {
            continue; /* the text says that there is one */
        }
        if (json_is_string(p)) {
            t = cf_str_make(json_string_value(p), json_string_length(p));
        } else if (t.p == NULL || !cf_str_is(cf_json_get_str(p, "type"), "text")) {
            return false;
        }
        cf_buf_add(out, t.p, t.n);
    }
    return json_array_size(list) > 0;
}

/* The result inside [{"type":"tool_response","tool_response":{...}}]. */
static const json_t *tool_response(shaper *s, const json_t *content, json_t *m)
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
        set(s, m, "name", json_incref(name));
    }
    return value != NULL ? value : r;
}

/* Whether content that is a string is written; templates of models with
 * pictures may look through parts only. */
static bool takes_text(const cf_template_caps *c, const json_t *m)
{
    if (role_is(m, "user")) {
        return c->text_content == CF_CAP_YES;
    }
    return !is_missing(role_is(m, "system")      ? c->system
                       : role_is(m, "assistant") ? c->reply
                                                 : c->text_content);
}

static void fit_content(shaper *s, json_t *m)
{
    const cf_template_caps *c = s->caps;
    const bool is_tool = role_is(m, "tool");
    const json_t *content = json_object_get(m, "content");
    const json_t *inner = is_tool ? tool_response(s, content, m) : NULL;
    if (inner != NULL) {
        set(s, m, "content", json_incref(cf_json_ref(inner)));
        content = inner;
    }
    cf_cap typed = is_tool                ? c->typed_results
                   : role_is(m, "system") ? c->typed_system
                                          : c->typed_content;
    cf_buf text = CF_BUF_INIT;
    if (json_is_array(content) && typed != CF_CAP_YES &&
        joined(content, is_tool && cf_attachment_is_content(content), &text)) {
        set(s, m, "content", cf_json_buf(&text));
    } else if (is_tool && content != NULL && !json_is_string(content) && !json_is_null(content) &&
               c->object_results != CF_CAP_YES) {
        cf_buf_reset(&text);
        cf_json_write_spaced(&text, content);
        set(s, m, "content", cf_json_buf(&text));
    } else if (json_string_length(content) > 0 && !is_tool && typed == CF_CAP_YES &&
               !takes_text(c, m)) {
        set(s, m, "content",
            json_pack("[{s:s, s:O}]", "type", "text", "text", cf_json_ref(content)));
    }
    cf_buf_deinit(&text);
}

/* ---- 4: ids ------------------------------------------------------------- */

static bool is_nine(cf_str id)
{
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
            return false;
        }
    }
    return id.n == 9;
}

static bool id_fits(const shaper *s, cf_str id)
{
    return s->caps->call_id_rule == CF_CALL_ID_FREE ||
           (s->caps->call_id_rule == CF_CALL_ID_NEEDED ? id.n > 0 : is_nine(id));
}

/* Pairs of the id that a call had and the one it has now. */
static void name_calls(shaper *s, json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    if (json_array_size(calls) == 0 || s->caps->call_id_rule == CF_CALL_ID_FREE) {
        return;
    }
    json_t *list = json_array();
    json_array_clear(s->ids);
    s->next_id = 0;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = cf_json_copy(json_array_get(calls, i));
        json_t *old = cf_json_str(cf_json_get_str(call, "id"));
        if (json_is_object(call) && !id_fits(s, cf_json_get_str(call, "id"))) {
            char made[16];
            snprintf(made, sizeof made, "call%05u", ++s->n_ids % 100000);
            set(s, call, "id", json_string(made));
        }
        cf_jb_append(&s->tree, s->ids, json_pack("[o, O?]", old, json_object_get(call, "id")));
        cf_jb_append(&s->tree, list, call);
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
        if (cf_str_eq(id, cf_str_make(json_string_value(old), json_string_length(old)))) {
            pair = p;
        }
    }
    s->next_id++;
    if (pair != NULL) {
        set(s, m, "tool_call_id", json_incref(json_array_get(pair, 1)));
    }
}

/* The JSON in a string; NULL where it is none. */
static json_t *read_json(shaper *s, cf_str text)
{
    json_t *v = NULL;
    cf_error why;
    check(s, cf_json_read(&v, text.p, text.n, &why));
    return v;
}

/* Arguments that are JSON in a string, as objects: OpenAI's interface has the
 * one, templates read the other. */
static void read_arguments(shaper *s, json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    json_t *list = json_array();
    bool has_changed = false;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = cf_json_copy(json_array_get(calls, i));
        const json_t *function = json_object_get(call, "function");
        cf_str text = cf_json_get_str(function, "arguments");
        json_t *v = text.p != NULL ? read_json(s, text) : NULL;
        if (json_is_object(v)) {
            json_t *copy = cf_json_copy(function);
            set(s, copy, "arguments", json_incref(v));
            set(s, call, "function", copy);
            has_changed = true;
        }
        json_decref(v);
        cf_jb_append(&s->tree, list, call);
    }
    if (has_changed && s->caps->string_args != CF_CAP_YES) {
        set(s, m, "tool_calls", json_incref(list));
    }
    json_decref(list);
}

/* ---- 5: calls and results ----------------------------------------------- */

/* The calls of a message in the family's syntax. */
static bool written_calls(shaper *s, const json_t *message, cf_buf *out)
{
    enum { CALLS_MAX = 32 };
    cf_tool_call v[CALLS_MAX];
    cf_buf args[CALLS_MAX];
    cf_message_call call;
    cf_error ignored;
    size_t n = 0;
    for (; n < CALLS_MAX && cf_message_call_at(&call, message, n); n++) {
        cf_buf_init(&args[n]);
        if (json_is_string(call.arguments) || json_is_object(call.arguments)) {
            cf_message_put_arguments(&args[n], &call, "");
        } else {
            cf_buf_adds(&args[n], "{}");
        }
        v[n] = (cf_tool_call){.name = call.name, .id = call.id, .arguments = cf_buf_str(&args[n])};
    }
    cf_status st = cf_tool_format_calls(out, s->family, v, n, &ignored);
    if (st == CF_EUNSUPPORTED && s->family != CF_TOOLS_GENERIC) {
        st = cf_tool_format_calls(out, CF_TOOLS_GENERIC, v, n, &ignored);
    }
    for (size_t i = 0; i < n; i++) {
        cf_buf_deinit(&args[i]);
    }
    check(s, st);
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
    if (written_calls(s, m, &text)) {
        move_pieces(s, here(s), content.n, here(s), 0, s->origin);
        add_ours(s, here(s), content.n, text.n, s->origin, no_calls);
        set(s, m, "content", cf_json_buf(&text));
        json_object_del(m, "tool_calls");
    }
    cf_buf_deinit(&text);
}

/* The pieces of a result's text: its own content, where that is in it as it
 * was, and what the family's syntax has around it. */
static void note_result(shaper *s, cf_str content, cf_str text)
{
    size_t at = 0;
    while (content.n > 0 && at + content.n <= text.n &&
           memcmp(text.p + at, content.p, content.n) != 0) {
        at++;
    }
    if (content.n == 0 || at + content.n > text.n) {
        add_ours(s, here(s), 0, text.n, s->origin, no_results);
        return;
    }
    const cf_shape_piece own = {.message = here(s),
                                .from = (uint32_t)at,
                                .to = (uint32_t)(at + content.n),
                                .origin = s->origin};
    add_ours(s, here(s), 0, at, s->origin, no_results);
    add_piece(s, &own);
    add_ours(s, here(s), at + content.n, text.n, s->origin, no_results);
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
        value = read_json(s, cf_json_get_str(m, "content"));
    }
    cf_status st = cf_tool_format_result(&text, s->family, cf_json_get_str(m, "name"),
                                         value != NULL ? value : content, &ignored);
    json_decref(value);
    if (st == CF_OK) {
        note_result(s, cf_json_get_str(m, "content"), cf_buf_str(&text));
        set(s, m, "role", json_string("user"));
        set(s, m, "content", cf_json_buf(&text));
    }
    check(s, st);
    cf_buf_deinit(&text);
}

/* Puts `b` after `a` in the content of message `at`, which had a; b was the
 * content of message `from`, of message `origin` of the context. */
static void join_contents(shaper *s, uint32_t at, uint32_t from, uint32_t origin,
                          const char *between, const char *why)
{
    json_t *host = json_array_get(s->messages, at);
    const json_t *other = json_array_get(s->messages, from);
    cf_str a = cf_json_get_str(host, "content");
    cf_str b = cf_json_get_str(other, "content");
    size_t n = strlen(between);
    cf_buf text = CF_BUF_INIT;
    cf_buf_add(&text, a.p, a.n);
    cf_buf_add(&text, between, n);
    cf_buf_add(&text, b.p, b.n);
    move_pieces(s, from, b.n, UINT32_MAX, a.n + n, origin);
    move_pieces(s, at, a.n, at, 0, origin_of(s->out, at));
    add_ours(s, at, a.n, a.n + n, origin, why);
    move_pieces(s, UINT32_MAX, 0, at, 0, origin);
    set(s, host, "content", cf_json_buf(&text));
    cf_buf_deinit(&text);
}

/* Two messages of the user in a row are one where roles must alternate; the
 * last one was added to the list. */
static void join_last(shaper *s)
{
    size_t n = json_array_size(s->messages);
    const json_t *last = n > 1 ? json_array_get(s->messages, n - 2) : NULL;
    const json_t *m = n > 1 ? json_array_get(s->messages, n - 1) : NULL;
    if (!s->caps->needs_alternation || !role_is(m, "user") || !role_is(last, "user") ||
        cf_json_get_str(last, "content").p == NULL || cf_json_get_str(m, "content").p == NULL) {
        return;
    }
    join_contents(s, (uint32_t)n - 2, (uint32_t)n - 1, s->origin, "\n", alternates);
    json_array_remove(s->messages, n - 1);
    s->out->origin.n -= sizeof(uint32_t);
}

/* ---- 6: the system message ---------------------------------------------- */

/* Moves all pieces and origins by one message, up or down. */
static void shift_messages(shaper *s, int by)
{
    size_t n;
    cf_shape_piece *v = pieces_of(s->out, &n);
    for (size_t i = 0; i < n; i++) {
        v[i].message = (uint32_t)((int64_t)v[i].message + by);
    }
    cf_buf *o = &s->out->origin;
    uint32_t none = UINT32_MAX;
    if (by > 0) {
        cf_buf_add(o, &none, sizeof none);
        if (!o->failed) {
            memmove(o->p + sizeof none, o->p, o->n - sizeof none);
            memcpy(o->p, &none, sizeof none);
        }
    } else if (o->n >= sizeof none) {
        memmove(o->p, o->p + sizeof none, o->n - sizeof none);
        o->n -= sizeof none;
    }
}

static void fold_system(shaper *s)
{
    json_t *first = json_array_get(s->messages, 0);
    json_t *user = json_array_get(s->messages, 1);
    if (!is_missing(s->caps->system) || !role_is(first, "system") || !role_is(user, "user") ||
        cf_json_get_str(first, "content").p == NULL || cf_json_get_str(user, "content").p == NULL) {
        return;
    }
    /* The user's message goes after the text of the first, takes its place. */
    join_contents(s, 0, 1, origin_of(s->out, 1), "\n\n", no_system);
    set(s, user, "content", json_incref(json_object_get(first, "content")));
    size_t n;
    cf_shape_piece *v = pieces_of(s->out, &n);
    for (size_t i = 0; i < n; i++) {
        v[i].message = v[i].message == 0 ? 1 : v[i].message;
    }
    json_array_remove(s->messages, 0);
    shift_messages(s, -1);
}

/* ---- 7: declarations ---------------------------------------------------- */

static bool declaration_text(shaper *s, const json_t *tools, cf_buf *out)
{
    static const cf_tool_call example = {.name = {"function_name", 13},
                                         .arguments = {"{\"parameter\":\"value\"}", 21}};
    cf_tool_set *set = NULL;
    cf_error err;
    cf_status st = cf_tool_set_new(&set, tools, &err);
    cf_buf_adds(out, "You can call these functions:\n");
    CF_THEN(st, cf_tool_format_declarations(out, s->family, set, &err));
    cf_buf_adds(out, "\nWrite a call like this:\n");
    CF_THEN(st, cf_tool_format_calls(out, s->family, &example, 1, &err));
    cf_tool_set_free(set);
    check(s, st);
    return st == CF_OK;
}

/* After the text of the system message. */
static void tools_after(shaper *s, uint32_t at, const cf_buf *text)
{
    json_t *host = json_array_get(s->messages, at);
    cf_str content = cf_json_get_str(host, "content");
    cf_buf whole = CF_BUF_INIT;
    cf_buf_add(&whole, content.p, content.n);
    cf_buf_adds(&whole, "\n\n");
    cf_buf_add(&whole, text->p, text->n);
    move_pieces(s, at, content.n, at, 0, origin_of(s->out, at));
    add_ours(s, at, content.n, whole.n, 0, no_tools);
    set(s, host, "content", cf_json_buf(&whole));
    cf_buf_deinit(&whole);
}

/* Before the text of a message of the user. */
static void tools_before(shaper *s, uint32_t at, const cf_buf *text)
{
    json_t *host = json_array_get(s->messages, at);
    cf_str content = cf_json_get_str(host, "content");
    cf_buf whole = CF_BUF_INIT;
    cf_buf_add(&whole, text->p, text->n);
    cf_buf_adds(&whole, "\n\n");
    move_pieces(s, at, content.n, at, whole.n, origin_of(s->out, at));
    add_ours(s, at, 0, whole.n, 0, no_tools);
    cf_buf_add(&whole, content.p, content.n);
    set(s, host, "content", cf_json_buf(&whole));
    cf_buf_deinit(&whole);
}

/* In a system message of their own. */
static void tools_first(shaper *s, const cf_buf *text)
{
    json_t *m = json_pack("{s:s, s:o}", "role", "system", "content", cf_json_buf(text));
    if (m == NULL || json_array_insert_new(s->messages, 0, m) != 0) {
        cf_jb_fail(&s->tree);
        return;
    }
    shift_messages(s, 1);
    add_ours(s, 0, 0, text->n, 0, no_tools);
}

/* Into the system message, else in front of the user's first message. */
static void write_tools(shaper *s, const json_t *context)
{
    const json_t *tools = json_object_get(context, "tools");
    cf_buf text = CF_BUF_INIT;
    if (json_array_size(tools) == 0 || !is_missing(s->caps->tools) ||
        !declaration_text(s, tools, &text)) {
        cf_buf_deinit(&text);
        return;
    }
    size_t n = json_array_size(s->messages), at = 0;
    const json_t *first = json_array_get(s->messages, 0);
    if (!is_missing(s->caps->system)) {
        if (role_is(first, "system") && cf_json_get_str(first, "content").p != NULL) {
            tools_after(s, 0, &text);
        } else {
            tools_first(s, &text);
        }
    } else {
        while (at < n && !role_is(json_array_get(s->messages, at), "user")) {
            at++;
        }
        if (cf_json_get_str(json_array_get(s->messages, at), "content").p != NULL) {
            tools_before(s, (uint32_t)at, &text);
        }
    }
    cf_buf_deinit(&text);
}

/* ---- all of it ---------------------------------------------------------- */

/* Reasoning under the name that the template reads. */
static void name_reasoning(shaper *s, json_t *m)
{
    const char *to = s->caps->reasoning_field;
    json_t *v = json_object_get(m, "reasoning_content");
    if (v != NULL && to != NULL && strcmp(to, "reasoning_content") != 0 &&
        json_object_get(m, to) == NULL) {
        set(s, m, to, json_incref(v));
    }
}

/* One message on its way into the list. */
static void shape_message(shaper *s, json_t *m)
{
    fit_content(s, m);
    name_calls(s, m);
    name_reasoning(s, m);
    if (json_object_get(m, "tool_calls") != NULL) {
        read_arguments(s, m);
    }
    if (role_is(m, "tool")) {
        name_result(s, m);
    }
    write_calls(s, m);
    write_result(s, m);
}

static void name_role(shaper *s, json_t *m, const cf_role_map *map)
{
    cf_str role = cf_json_get_str(m, "role");
    cf_str to = cf_role_map_get(map, role);
    if (role.n > 0 && !cf_str_eq(role, to)) {
        set(s, m, "role", cf_json_str(to));
    }
}

static void shape_all(shaper *s, const json_t *messages, const cf_buf *places)
{
    for (size_t i = 0; !s->tree.failed && i < json_array_size(messages); i++) {
        json_t *m = cf_json_copy(json_array_get(messages, i));
        memcpy(&s->origin, places->p + i * sizeof s->origin, sizeof s->origin);
        if (json_is_object(m)) {
            name_role(s, m, &s->usual);
            shape_message(s, m);
        }
        cf_buf_add(&s->out->origin, &s->origin, sizeof s->origin);
        cf_jb_append(&s->tree, s->messages, m);
        if (!s->tree.failed) {
            join_last(s);
        }
    }
    fold_system(s);
}

cf_status cf_shape_init(cf_shape *out, const json_t *context, const cf_template_caps *caps,
                        const cf_role_map *roles, cf_tool_family family, cf_error *err)
{
    memset(out, 0, sizeof *out);
    json_t *messages = NULL;
    cf_buf places = CF_BUF_INIT;
    shaper s = {.out = out, .caps = caps, .roles = roles, .family = family};
    cf_role_map_init(&s.usual, (cf_str){NULL, 0});
    s.messages = json_array();
    s.ids = json_array();
    out->context = cf_json_copy(context);
    cf_status st =
        s.messages == NULL || s.ids == NULL || out->context == NULL ? cf_oom(err) : CF_OK;
    CF_THEN(st, cf_messages_form(&messages, &places, json_object_get(context, "messages"), err));
    if (st == CF_OK) {
        shape_all(&s, messages, &places);
        write_tools(&s, context);
        for (size_t i = 0; i < json_array_size(s.messages); i++) {
            name_role(&s, json_array_get(s.messages, i), roles);
        }
        set(&s, out->context, "messages", json_incref(s.messages));
        st = cf_jb_check(&s.tree, err);
    }
    CF_THEN(st, cf_buf_check(&out->origin, err));
    CF_THEN(st, cf_buf_check(&out->pieces, err));
    json_decref(messages);
    json_decref(s.messages);
    json_decref(s.ids);
    cf_buf_deinit(&places);
    if (st != CF_OK) {
        cf_shape_deinit(out);
    }
    return st;
}

void cf_shape_deinit(cf_shape *s)
{
    json_decref(s->context);
    s->context = NULL;
    cf_buf_deinit(&s->origin);
    cf_buf_deinit(&s->pieces);
}

/* ---- spans -------------------------------------------------------------- */

/* The piece that byte `off` of a message's content lies in, and where the next
 * begins; NULL for bytes between pieces. */
static const cf_shape_piece *piece_at(const cf_shape *s, uint32_t message, uint32_t off,
                                      uint32_t *end)
{
    size_t n;
    const cf_shape_piece *v = pieces_of(s, &n);
    for (size_t i = 0; i < n; i++) {
        if (v[i].message != message) {
            continue;
        }
        if (off >= v[i].from && off < v[i].to) {
            *end = v[i].to;
            return &v[i];
        }
        if (off < v[i].from && v[i].from < *end) {
            *end = v[i].from;
        }
    }
    return NULL;
}

/* A span of the shaped message, as one of the message as it was. */
static void settle(const cf_shape *s, cf_prompt_span *span, const cf_shape_piece *piece)
{
    if (piece != NULL && piece->is_tools) {
        span->source = CF_SPAN_VARIABLE;
    }
    if (piece != NULL && piece->why != NULL) {
        span->is_copy = false;
        span->src_off = 0;
        span->path = cf_str_from(piece->why);
    } else if (piece != NULL) {
        span->src_off = span->src_off - piece->from + piece->src;
    }
    uint32_t origin = piece != NULL ? piece->origin : origin_of(s, span->index);
    span->index = origin != UINT32_MAX && span->source == CF_SPAN_MESSAGE ? origin : 0;
}

cf_status cf_shape_spans(const cf_shape *s, cf_prompt *prompt, cf_arena *arena, cf_error *err)
{
    size_t n_pieces;
    (void)pieces_of(s, &n_pieces);
    /* A content that is written once is cut at its pieces. */
    size_t cap = prompt->n_spans + 4 * n_pieces + 8;
    cf_prompt_span *v = cf_arena_calloc(arena, cap, sizeof *v);
    size_t n = 0;
    if (v == NULL) {
        return cf_oom_for(err, "spans");
    }
    for (size_t i = 0; i < prompt->n_spans; i++) {
        cf_prompt_span left = prompt->spans[i];
        bool is_ours = left.source == CF_SPAN_MESSAGE;
        bool is_content = is_ours && left.is_copy && cf_str_is(left.path, ".content");
        while (left.len > 0) {
            uint32_t end = UINT32_MAX;
            const cf_shape_piece *p =
                is_content ? piece_at(s, left.index, left.src_off, &end) : NULL;
            cf_prompt_span one = left;
            /* With no room for more spans the rest is one. */
            one.len = is_content && end - left.src_off < left.len && n + (prompt->n_spans - i) < cap
                          ? end - left.src_off
                          : left.len;
            if (is_ours) {
                settle(s, &one, p);
            }
            v[n++] = one;
            left.off += one.len;
            left.src_off += one.len;
            left.len -= one.len;
        }
    }
    prompt->spans = v;
    prompt->n_spans = n;
    return CF_OK;
}
