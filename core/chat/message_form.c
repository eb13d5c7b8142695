/*
 * message_form.c - takes a message apart into items, and puts it together in
 * the one form.
 *
 * Whatever holds a part leads to take_part(), so that a form is read wherever
 * it stands.  Results leave their message and become messages after it; one
 * that held nothing else is replaced by them.
 */
#include "core/api/message_form.h"

#include <stdio.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/base64.h"
#include "core/chat/message_parts.h"
#include "core/json/json_builder.h"

enum { NEST_MAX = 8 };

/* A message on its way. */
typedef struct reader {
    cf_formed *out;
    cf_jb tree;      /* makes trees; failed: memory ran out */
    const json_t *m; /* the message, as it was given */
    json_t *body;    /* the message in the one form, but for what follows */
    json_t *content; /* list of parts */
    json_t *calls;   /* list */
    json_t *results; /* messages, in turn with `held` */
    cf_buf thought;
    cf_buf held;       /* cf_item of the results; message is a place in them */
    uint32_t origin;   /* of the message */
    uint32_t result;   /* in hand, 1 + its place; 0: the message itself */
    const json_t *one; /* VALUE of what is in hand; NULL: none */
    unsigned depth;
} reader;

/* ---- paths and items ---------------------------------------------------- */

static cf_str keep(reader *r, const char *p, size_t n)
{
    char *s = cf_arena_strndup(&r->out->arena, p, n);
    return cf_str_make(s, s != NULL ? n : 0);
}

/* path.key, or path[i] without a key. */
static cf_str below(reader *r, cf_str path, const char *key, size_t i)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_add(&b, path.p, path.n);
    if (key != NULL) {
        cf_buf_addf(&b, ".%s", key);
    } else {
        cf_buf_addf(&b, "[%zu]", i);
    }
    if (b.failed) {
        cf_jb_fail(&r->tree);
    }
    cf_str s = keep(r, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return s;
}

static void add_item(reader *r, cf_item item)
{
    item.origin = r->origin;
    if (r->result > 0) {
        item.message = r->result - 1;
        cf_buf_add(&r->held, &item, sizeof item);
    } else {
        item.message = (uint32_t)json_array_size(r->out->messages);
        cf_buf_add(&r->out->items, &item, sizeof item);
    }
}

static void add_text(reader *r, cf_item_kind kind, cf_str path, cf_str text)
{
    if (text.n > 0) {
        add_item(r, (cf_item){.kind = kind, .path = path, .text = text});
    }
}

/* A text of the content. */
static void say(reader *r, cf_str path, cf_str text)
{
    add_text(r, CF_ITEM_TEXT, path, text);
    if (text.n > 0) {
        cf_jb_append(&r->tree, r->content,
                     json_pack("{s:s, s:o}", "type", "text", "text", cf_json_str(text)));
    }
}

static void think(reader *r, cf_str path, cf_str text)
{
    add_text(r, CF_ITEM_REASONING, path, text);
    cf_buf_add(&r->thought, text.p, text.n);
}

static void unread(reader *r, cf_str path, const json_t *v)
{
    add_item(r, (cf_item){.kind = CF_ITEM_UNREAD, .path = path, .value = v});
}

static void take_value(reader *r, const json_t *v, cf_str path, bool is_result);

/* ---- calls -------------------------------------------------------------- */

/* A call in the one form, from an object with a function in it or without. */
static json_t *call_of(reader *r, const json_t *given)
{
    static const char *const names[] = {"arguments", "args", "input", "parameters"};
    const json_t *inner = json_object_get(given, "function");
    const bool is_flat = !json_is_object(inner);
    json_t *f = cf_json_without_nulls(is_flat ? given : inner);
    if (f == NULL) {
        cf_jb_fail(&r->tree);
    }
    json_t *arguments = NULL;
    for (size_t i = 0; arguments == NULL && i < sizeof names / sizeof names[0]; i++) {
        arguments = json_incref(json_object_get(f, names[i]));
    }
    arguments = arguments != NULL ? arguments : json_object();
    json_t *call = is_flat ? json_object() : cf_json_without_nulls(given);
    if (is_flat) {
        json_t *name = json_incref(json_object_get(f, "name"));
        json_t *id = json_object_get(f, "id");
        if (id != NULL) {
            cf_jb_set(&r->tree, call, "id", json_incref(id));
        }
        json_decref(f);
        f = name != NULL ? json_pack("{s:o}", "name", name) : json_object();
    }
    cf_jb_set(&r->tree, call, "type", json_string("function"));
    cf_jb_set(&r->tree, f, "arguments", arguments);
    cf_jb_set(&r->tree, call, "function", f);
    return call;
}

/* `part` (may be NULL) is what holds the call, with the signature of the
 * thinking before it. */
static void take_call(reader *r, const json_t *given, const json_t *part, cf_str path)
{
    const json_t *named = json_object_get(given, "function");
    if (cf_json_get_str(json_is_object(named) ? named : given, "name").n == 0) {
        unread(r, path, given);
        return;
    }
    json_t *call = call_of(r, given);
    json_t *sign = cf_json_get_any(part, "thoughtSignature", "thought_signature");
    if (sign != NULL) {
        cf_jb_set(&r->tree, call, "thoughtSignature", json_incref(sign));
    }
    add_item(r, (cf_item){.kind = CF_ITEM_CALL,
                          .path = path,
                          .at = (uint32_t)json_array_size(r->calls),
                          .value = call});
    cf_jb_append(&r->tree, r->calls, call);
}

static void take_calls(reader *r)
{
    const json_t *calls = json_object_get(r->m, "tool_calls");
    const json_t *old = json_object_get(r->m, "function_call");
    cf_str path = cf_str_from(".tool_calls");
    if (json_is_object(calls)) {
        take_call(r, calls, NULL, path);
    } else if (calls != NULL && !json_is_null(calls) && !json_is_array(calls)) {
        unread(r, path, calls);
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        take_call(r, json_array_get(calls, i), NULL, below(r, path, NULL, i));
    }
    if (old != NULL && !json_is_null(old) && json_array_size(r->calls) == 0) {
        take_call(r, old, NULL, cf_str_from(".function_call"));
    }
}

/* ---- results ------------------------------------------------------------ */

/* The members that name a result's call and function, under their names. */
static void name_result(reader *r, json_t *to, const json_t *from)
{
    static const char *const ids[] = {"tool_call_id", "tool_use_id", "call_id", "id"};
    json_t *id = NULL;
    for (size_t i = 0; id == NULL && i < sizeof ids / sizeof ids[0]; i++) {
        json_t *v = json_object_get(from, ids[i]);
        id = v != NULL && !json_is_null(v) ? v : NULL;
    }
    json_t *name = cf_json_get_any(from, "name", "tool_name");
    if (id != NULL && json_object_get(to, "tool_call_id") == NULL) {
        cf_jb_set(&r->tree, to, "tool_call_id", json_incref(id));
    }
    if (name != NULL && json_object_get(to, "name") == NULL) {
        cf_jb_set(&r->tree, to, "name", json_incref(name));
    }
}

/* A result as a message of its own; `path` is that of `given`.  Members of a
 * tool's message go with its first one. */
static void take_result(reader *r, const json_t *given, cf_str path)
{
    static const char *const places[] = {"response", "value",  "content",
                                         "result",   "output", "error"};
    const size_t n = sizeof places / sizeof places[0];
    size_t i = 0;
    while (i < n && json_object_get(given, places[i]) == NULL) {
        i++;
    }
    const json_t *value = i < n ? json_object_get(given, places[i]) : given;
    const bool is_tool = cf_role_is_result(cf_json_get_str(r->m, "role"));
    const bool is_first = json_array_size(r->results) == 0;
    json_t *m = is_tool && is_first ? cf_json_copy(r->body) : json_object();
    cf_jb_set(&r->tree, m, "role", json_string("tool"));
    name_result(r, m, given);
    if (is_tool && !is_first) {
        name_result(r, m, r->body);
    }
    cf_jb_append(&r->tree, r->results, m);
    json_t *before = r->content;
    const json_t *one = r->one;
    uint32_t outer = r->result;
    r->content = json_array();
    r->result = (uint32_t)json_array_size(r->results);
    r->one = NULL;
    take_value(r, value, i < n ? below(r, path, places[i], 0) : path, true);
    cf_jb_set(&r->tree, m, "content",
              r->one != NULL ? json_incref(cf_json_ref(r->one)) : cf_parts_joined(r->content));
    json_decref(r->content);
    r->content = before;
    r->one = one;
    r->result = outer;
}

static void take_results(reader *r)
{
    const json_t *list = json_object_get(r->m, "tool_results");
    cf_str path = cf_str_from(".tool_results");
    if (json_is_object(list)) {
        take_result(r, list, path);
    } else if (list != NULL && !json_is_null(list) && !json_is_array(list)) {
        unread(r, path, list);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        take_result(r, json_array_get(list, i), below(r, path, NULL, i));
    }
}

/* ---- parts -------------------------------------------------------------- */

static void take_medium(reader *r, const json_t *part, cf_str path)
{
    json_t *own = cf_part_openai(part);
    add_item(r, (cf_item){.kind = CF_ITEM_MEDIA, .path = path, .value = own});
    cf_jb_append(&r->tree, r->content, own);
}

/* A part that is a call or a result, in any interface's words. */
static bool take_tool_part(reader *r, const json_t *part, cf_str path)
{
    static const struct {
        const char *key; /* of an object inside, or NULL: */
        const char *type;
        bool is_result;
    } rows[] = {{"functionCall", NULL, false},    {"function_call", NULL, false},
                {"functionResponse", NULL, true}, {"function_response", NULL, true},
                {"tool_response", NULL, true},    {"tool_call", NULL, false},
                {NULL, "tool_use", false},        {NULL, "tool_call", false},
                {NULL, "function_call", false},   {NULL, "tool_response", true},
                {NULL, "tool_result", true},      {NULL, "function_call_output", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const json_t *inner = rows[i].key != NULL ? json_object_get(part, rows[i].key)
                              : cf_str_is(cf_json_get_str(part, "type"), rows[i].type) ? part
                                                                                       : NULL;
        if (!json_is_object(inner)) {
            continue;
        }
        cf_str at = rows[i].key != NULL ? below(r, path, rows[i].key, 0) : path;
        if (rows[i].is_result) {
            take_result(r, inner, at);
        } else {
            take_call(r, inner, part, at);
        }
        return true;
    }
    return false;
}

/* A document that is text: Anthropic's {"source":{"type":"text","data":..}}. */
static bool take_document(reader *r, const json_t *part, cf_str path)
{
    const json_t *source = json_object_get(part, "source");
    cf_str type = cf_json_get_str(source, "type");
    cf_str data = cf_json_get_str(source, "data");
    if (cf_str_is(type, "text") && data.p != NULL) {
        say(r, below(r, below(r, path, "source", 0), "data", 0), data);
        return true;
    }
    const json_t *content = cf_str_is(type, "content") ? json_object_get(source, "content") : NULL;
    if (content != NULL) {
        take_value(r, content, below(r, below(r, path, "source", 0), "content", 0), false);
    }
    return content != NULL;
}

/* A content of ConverseHistory: its text, and files beside it. */
static bool take_binaries(reader *r, const json_t *content, cf_str path)
{
    const json_t *list = json_object_get(content, "binaryContent");
    cf_str inner = below(r, path, "binaryContent", 0);
    if (!json_is_array(list)) {
        return false;
    }
    say(r, below(r, path, "text", 0), cf_json_get_str(content, "text"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        cf_str at = below(r, inner, NULL, i);
        cf_str text = cf_json_get_str(item, "content");
        json_t *part = text.p == NULL ? cf_part_of_binary(item) : NULL;
        if (part != NULL) {
            add_item(r, (cf_item){.kind = CF_ITEM_MEDIA, .path = at, .value = part});
            cf_jb_append(&r->tree, r->content, part);
        } else if (text.p != NULL) {
            say(r, below(r, at, "content", 0), text);
        } else if (json_is_object(item)) {
            cf_jb_fail(&r->tree);
        } else {
            unread(r, at, item);
        }
    }
    return true;
}

static void take_object(reader *r, const json_t *part, cf_str path)
{
    const char *where = NULL;
    cf_part_kind kind = cf_part_kind_of(part, &where);
    cf_str text = cf_part_text(part, &where);
    cf_str at = where != NULL ? below(r, path, where, 0) : path;
    if (take_tool_part(r, part, path) || take_document(r, part, path) ||
        take_binaries(r, part, path)) {
        return;
    }
    switch (kind) {
    case CF_PART_TEXT:
        say(r, at, text);
        break;
    case CF_PART_THOUGHT:
        think(r, at, text);
        break;
    case CF_PART_REFUSAL:
        add_text(r, CF_ITEM_REFUSAL, at, text);
        cf_jb_set(&r->tree, r->body, "refusal", cf_json_str(text));
        break;
    case CF_PART_MEDIUM:
        take_medium(r, part, path);
        break;
    case CF_PART_OTHER:
        unread(r, path, part);
        cf_jb_append(&r->tree, r->content, json_incref(cf_json_ref(part)));
        break;
    }
}

static void take_list(reader *r, const json_t *list, cf_str path)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        take_value(r, json_array_get(list, i), below(r, path, NULL, i), false);
    }
}

/* A number or a truth value among the texts. */
static void take_number(reader *r, const json_t *v, cf_str path)
{
    cf_buf text = CF_BUF_INIT;
    cf_json_write_spaced(&text, v);
    if (text.failed) {
        cf_jb_fail(&r->tree);
    }
    say(r, path, keep(r, cf_buf_cstr(&text), text.n));
    cf_buf_deinit(&text);
}

/* Whether a tool's result is parts and not JSON of its own. */
static bool is_parts(const json_t *v)
{
    bool is = true;
    for (size_t i = 0; is && i < json_array_size(v); i++) {
        const json_t *part = json_array_get(v, i);
        is = json_is_string(part) || json_is_null(part) || cf_part_is_typed(part) ||
             (json_object_size(part) == 1 && cf_json_get_str(part, "text").p != NULL);
    }
    return json_is_array(v) ? is : cf_part_is_typed(v);
}

/* Anything that a content may be. */
static void take_value(reader *r, const json_t *v, cf_str path, bool is_result)
{
    const bool is_json = json_is_array(v) || json_is_object(v);
    if (v == NULL || json_is_null(v)) {
        return;
    }
    if (json_is_string(v)) {
        say(r, path, cf_str_make(json_string_value(v), json_string_length(v)));
    } else if (is_result && (!is_json || !is_parts(v))) {
        add_item(r, (cf_item){.kind = CF_ITEM_VALUE, .path = path, .value = v});
        r->one = v;
    } else if (!is_json) {
        take_number(r, v, path);
    } else if (r->depth == NEST_MAX) {
        unread(r, path, v);
    } else {
        r->depth++;
        if (json_is_array(v)) {
            take_list(r, v, path);
        } else {
            take_object(r, v, path);
        }
        r->depth--;
    }
}

/* ---- the members of a message ------------------------------------------- */

/* The text of a channel, in any form that a content may have. */
static void take_channel(reader *r, const json_t *v, cf_str path, bool is_thinking)
{
    cf_buf text = CF_BUF_INIT;
    cf_part_put_text(&text, v);
    if (text.failed) {
        cf_jb_fail(&r->tree);
    }
    cf_str kept = keep(r, cf_buf_cstr(&text), text.n);
    if (kept.n == 0 && json_array_size(v) + json_object_size(v) > 0) {
        unread(r, path, v);
    } else if (is_thinking) {
        think(r, path, kept);
    } else {
        add_text(r, CF_ITEM_CHANNEL, path, kept);
    }
    cf_buf_deinit(&text);
}

/* The thinking beside the content, and other channels. */
static void take_thoughts(reader *r)
{
    static const char *const fields[] = {"reasoning_content", "reasoning", "thinking"};
    const json_t *channels = json_object_get(r->m, "channels");
    const char *key;
    json_t *v;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && r->thought.n == 0; i++) {
        cf_str path = below(r, cf_str_from(""), fields[i], 0);
        take_channel(r, json_object_get(r->m, fields[i]), path, true);
    }
    json_object_foreach(cf_json_ref(channels), key, v)
    {
        cf_str path = below(r, cf_str_from(".channels"), key, 0);
        take_channel(r, v, path, cf_channel_is_thinking(key));
    }
}

/* What an assistant said that is not in its content. */
static void take_said(reader *r)
{
    const json_t *audio = json_object_get(r->m, "audio");
    cf_str transcript = cf_json_get_str(audio, "transcript");
    cf_str refusal = cf_json_get_str(r->m, "refusal");
    if (transcript.n > 0 && json_array_size(r->content) == 0 && r->one == NULL) {
        say(r, cf_str_from(".audio.transcript"), transcript);
    }
    add_text(r, CF_ITEM_REFUSAL, cf_str_from(".refusal"), refusal);
}

static void take_content(reader *r, bool is_result)
{
    const json_t *content = json_object_get(r->m, "content");
    const json_t *parts = json_object_get(r->m, "parts");
    const bool is_gemini = parts != NULL && (content == NULL || json_is_null(content));
    take_value(r, is_gemini ? parts : content, cf_str_from(is_gemini ? ".parts" : ".content"),
               is_result && !is_gemini);
}

/* The members that are taken apart are put back in the one form. */
static json_t *body_of(const json_t *m)
{
    static const char *const gone[] = {"parts", "tool_results", "function_call", "tool_calls"};
    json_t *v = cf_json_without_nulls(m);
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        (void)json_object_del(v, gone[i]);
    }
    return v;
}

static void put_together(reader *r)
{
    const json_t *given = json_object_get(r->m, "content");
    cf_str role = cf_json_get_str(r->m, "role");
    const bool has_calls = json_array_size(r->calls) > 0;
    json_t *content = r->one != NULL                     ? json_incref(cf_json_ref(r->one))
                      : json_array_size(r->content) > 0  ? cf_parts_joined(r->content)
                      : has_calls && json_is_null(given) ? json_null()
                                                         : json_string("");
    cf_jb_set(&r->tree, r->body, "content", content);
    if (r->thought.n > 0) {
        cf_jb_set(&r->tree, r->body, "reasoning_content", cf_json_buf(&r->thought));
    }
    if (has_calls) {
        cf_jb_set(&r->tree, r->body, "tool_calls", json_incref(r->calls));
    }
    if (has_calls && (role.n == 0 || cf_role_is_result(role))) {
        cf_jb_set(&r->tree, r->body, "role", json_string("assistant"));
    } else if (role.n == 0) {
        cf_jb_set(&r->tree, r->body, "role", json_string("user"));
    } else if (cf_str_is(role, "model") && json_object_get(r->m, "parts") != NULL) {
        cf_jb_set(&r->tree, r->body, "role", json_string("assistant"));
    }
}

/* Whether the message consists of results only. */
static bool is_only_results(const reader *r)
{
    return json_array_size(r->results) > 0 && json_array_size(r->calls) == 0 && r->thought.n == 0 &&
           json_array_size(r->content) == 0 && r->one == NULL;
}

static void add_message(reader *r, json_t *m)
{
    cf_buf_add(&r->out->origins, &r->origin, sizeof r->origin);
    cf_jb_append(&r->tree, r->out->messages, m);
}

static void add_results(reader *r)
{
    uint32_t first = (uint32_t)json_array_size(r->out->messages);
    for (size_t i = 0; i < r->held.n / sizeof(cf_item); i++) {
        cf_item item;
        memcpy(&item, r->held.p + i * sizeof item, sizeof item);
        item.message += first;
        cf_buf_add(&r->out->items, &item, sizeof item);
    }
    for (size_t i = 0; i < json_array_size(r->results); i++) {
        add_message(r, json_incref(json_array_get(r->results, i)));
    }
}

static void take_message(reader *r, const json_t *m)
{
    if (!json_is_object(m)) {
        add_item(r, (cf_item){.kind = CF_ITEM_UNREAD, .path = cf_str_from(""), .value = m});
        return;
    }
    r->m = m;
    r->one = NULL;
    r->content = json_array();
    r->calls = json_array();
    r->results = json_array();
    r->body = body_of(m);
    cf_buf_reset(&r->thought);
    cf_buf_reset(&r->held);
    take_thoughts(r);
    take_content(r, cf_role_is_result(cf_json_get_str(m, "role")));
    take_said(r);
    take_calls(r);
    take_results(r);
    if (!is_only_results(r)) {
        put_together(r);
        add_message(r, json_incref(r->body));
    }
    add_results(r);
    json_decref(r->content);
    json_decref(r->calls);
    json_decref(r->results);
    json_decref(r->body);
}

cf_status cf_messages_form(cf_formed *out, const json_t *list, cf_error *err)
{
    *out = (cf_formed){.messages = json_array(), .kept = json_incref(cf_json_ref(list))};
    reader r = {.out = out, .tree = CF_JB_INIT};
    cf_arena_init(&out->arena, 0);
    if (json_is_array(list)) {
        for (size_t i = 0; !r.tree.failed && i < json_array_size(list); i++) {
            r.origin = (uint32_t)i;
            take_message(&r, json_array_get(list, i));
        }
    } else if (list != NULL && !json_is_null(list)) {
        take_message(&r, list);
    }
    bool has_failed = out->messages == NULL || r.tree.failed || out->arena.failed ||
                      out->items.failed || out->origins.failed || r.held.failed || r.thought.failed;
    cf_buf_deinit(&r.thought);
    cf_buf_deinit(&r.held);
    cf_jb_deinit(&r.tree);
    if (has_failed) {
        cf_formed_deinit(out);
        return cf_oom_for(err, "the messages");
    }
    return CF_OK;
}

void cf_formed_deinit(cf_formed *f)
{
    json_decref(f->messages);
    json_decref(f->kept);
    cf_buf_deinit(&f->origins);
    cf_buf_deinit(&f->items);
    cf_arena_deinit(&f->arena);
    *f = (cf_formed){.messages = NULL};
}

const cf_item *cf_formed_items(const cf_formed *f, size_t *n)
{
    *n = f->items.n / sizeof(cf_item);
    return (const cf_item *)(const void *)f->items.p;
}

uint32_t cf_formed_origin(const cf_formed *f, size_t i)
{
    uint32_t v = UINT32_MAX;
    if ((i + 1) * sizeof v <= f->origins.n) {
        memcpy(&v, f->origins.p + i * sizeof v, sizeof v);
    }
    return v;
}
