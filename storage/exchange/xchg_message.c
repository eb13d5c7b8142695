/*
 * xchg_message.c - messages of Gemini and Xaibo as messages of OpenAI's form.
 *
 * Gemini (and the FC SDK) write {"role","parts":[{"text"},{"functionCall"},
 * {"functionResponse"},{"inlineData"}]}.  Xaibo writes calls without a
 * "function" object, results as a list "tool_results" and images as
 * {"type":"image","image":"data:..."}.  One message can hold several results;
 * each becomes a message of its own.  Fields without a counterpart stay in
 * the message.
 */
#include <string.h>

#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_media.h"

static json_t *get2(const json_t *v, const char *a, const char *b)
{
    json_t *found = json_object_get(v, a);
    return found != NULL ? found : json_object_get(v, b);
}

static bool is_flat_call(const json_t *call)
{
    return json_object_get(call, "function") == NULL &&
           cf_json_get_str(call, "name").n != 0;
}

static bool is_xaibo_image(const json_t *part)
{
    return cf_str_is(cf_json_get_str(part, "type"), "image") &&
           cf_json_get_str(part, "image").n != 0;
}

bool cf_xchg__is_xaibo(const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    if (json_is_array(json_object_get(m, "tool_results")) ||
        is_flat_call(json_array_get(json_object_get(m, "tool_calls"), 0))) {
        return true;
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        if (is_xaibo_image(json_array_get(content, i))) {
            return true;
        }
    }
    return false;
}

bool cf_xchg__is_gemini(const json_t *m)
{
    return json_is_array(json_object_get(m, "parts")) &&
           json_object_get(m, "content") == NULL;
}

/* Steals `item`; false when memory is out. */
static bool push(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0;
}

static json_t *call_of(const json_t *call, const char *args_key)
{
    json_t *args = json_object_get(call, args_key);
    return json_pack(
        "{s:O*,s:s,s:{s:O?,s:o}}", "id", json_object_get(call, "id"), "type",
        "function", "function", "name", json_object_get(call, "name"),
        "arguments", args != NULL ? json_incref(args) : json_object());
}

/* ---- Gemini ------------------------------------------------------------- */

typedef struct pieces {
    json_t *content, *calls, *results; /* lists */
    cf_buf thought;
} pieces;

static bool take_response(pieces *p, const json_t *r)
{
    cf_buf text = CF_BUF_INIT;
    json_t *response = json_object_get(r, "response");
    cf_str s = cf_xchg__str(response);
    if (s.p != NULL) {
        cf_buf_add(&text, s.p, s.n);
    } else {
        cf_json_write(&text, response);
    }
    bool ok = !text.failed &&
              push(p->results,
                   json_pack("{s:s,s:O*,s:O*,s:o}", "role", "tool", "name",
                             json_object_get(r, "name"), "tool_call_id",
                             json_object_get(r, "id"), "content",
                             json_stringn(cf_buf_cstr(&text), text.n)));
    cf_buf_deinit(&text);
    return ok;
}

static bool take_data(pieces *p, const json_t *data)
{
    cf_str mime = cf_str_is(cf_json_get_str(data, "mimeType"), "")
                      ? cf_json_get_str(data, "mime_type")
                      : cf_json_get_str(data, "mimeType");
    cf_str bytes = cf_json_get_str(data, "data");
    if (strcmp(cf_xmedia__kind(mime), "image") != 0) {
        return push(
            p->content,
            json_pack("{s:s,s:o,s:o}", "type", cf_xmedia__kind(mime), "blob",
                      json_stringn(bytes.p != NULL ? bytes.p : "", bytes.n),
                      "mime_type",
                      json_stringn(mime.p != NULL ? mime.p : "", mime.n)));
    }
    cf_buf url = CF_BUF_INIT;
    cf_buf_adds(&url, "data:");
    cf_buf_add(&url, mime.p, mime.n);
    cf_buf_adds(&url, ";base64,");
    cf_buf_add(&url, bytes.p, bytes.n);
    bool ok = !url.failed &&
              push(p->content,
                   json_pack("{s:s,s:{s:o}}", "type", "image_url", "image_url",
                             "url", json_stringn(cf_buf_cstr(&url), url.n)));
    cf_buf_deinit(&url);
    return ok;
}

/* A file at Google's or elsewhere, by its address. */
static bool take_file(pieces *p, const json_t *file)
{
    json_t *uri = get2(file, "fileUri", "file_uri");
    json_t *mime = get2(file, "mimeType", "mime_type");
    const char *kind = cf_xmedia__kind(cf_xchg__str(mime));
    return push(p->content,
                strcmp(kind, "image") == 0
                    ? json_pack("{s:s,s:{s:O?}}", "type", "image_url",
                                "image_url", "url", uri)
                    : json_pack("{s:s,s:O?,s:O*}", "type", kind, "url", uri,
                                "mime_type", mime));
}

static bool take_part(pieces *p, json_t *part)
{
    json_t *text = json_object_get(part, "text");
    const json_t *call = get2(part, "functionCall", "function_call");
    const json_t *response =
        get2(part, "functionResponse", "function_response");
    const json_t *data = get2(part, "inlineData", "inline_data");
    if (json_is_string(part)) {
        return push(p->content,
                    json_pack("{s:s,s:O}", "type", "text", "text", part));
    }
    if (json_is_string(text) &&
        json_is_true(json_object_get(part, "thought"))) {
        cf_str s = cf_xchg__str(text);
        cf_buf_add(&p->thought, s.p, s.n);
        return !p->thought.failed;
    }
    if (json_is_object(call)) {
        json_t *c = call_of(call, "args");
        json_t *sign = json_object_get(part, "thoughtSignature");
        return c != NULL &&
               (sign == NULL ||
                json_object_set(c, "thoughtSignature", sign) == 0) &&
               push(p->calls, c);
    }
    if (json_is_object(response)) {
        return take_response(p, response);
    }
    if (json_is_object(data)) {
        return take_data(p, data);
    }
    const json_t *file = get2(part, "fileData", "file_data");
    if (json_is_object(file)) {
        return take_file(p, file);
    }
    json_t *copy = json_is_object(part) ? json_copy(part) : NULL;
    if (copy == NULL) {
        return !json_is_object(part);
    }
    const char *type =
        text != NULL ? "text" : json_object_iter_key(json_object_iter(copy));
    if (json_object_get(copy, "type") == NULL &&
        json_object_set_new(copy, "type",
                            json_string(type != NULL ? type : "")) != 0) {
        json_decref(copy);
        return false;
    }
    return push(p->content, copy);
}

/* A single text is a string. */
static json_t *content_of(const json_t *list)
{
    const json_t *only = json_array_get(list, 0);
    if (json_array_size(list) == 0) {
        return json_string("");
    }
    if (json_array_size(list) == 1 && json_object_size(only) == 2 &&
        json_is_string(json_object_get(only, "text"))) {
        return json_incref(json_object_get(only, "text"));
    }
    return json_incref(cf_json_ref(list));
}

static json_t *gemini_message(const json_t *in, const pieces *p)
{
    cf_str role = cf_json_get_str(in, "role");
    json_t *m = json_copy(cf_json_ref(in));
    bool ok = m != NULL && json_object_del(m, "parts") == 0;
    if (role.n == 0 || cf_str_is(role, "model")) {
        ok = ok && json_object_set_new(
                       m, "role",
                       json_string(role.n == 0 ? "user" : "assistant")) == 0;
    }
    ok = ok && json_object_set_new(m, "content", content_of(p->content)) == 0;
    if (p->thought.n != 0) {
        ok = ok &&
             json_object_set_new(m, "reasoning_content",
                                 json_stringn(p->thought.p, p->thought.n)) == 0;
    }
    if (json_array_size(p->calls) != 0) {
        ok = ok && json_object_set(m, "tool_calls", p->calls) == 0;
    }
    if (!ok) {
        json_decref(m);
        return NULL;
    }
    return m;
}

/* ---- Xaibo -------------------------------------------------------------- */

static bool xaibo_calls(pieces *p, const json_t *calls)
{
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(calls); i++) {
        json_t *call = json_array_get(calls, i);
        ok = is_flat_call(call) ? push(p->calls, call_of(call, "arguments"))
                                : json_array_append(p->calls, call) == 0;
    }
    return ok;
}

static bool xaibo_results(pieces *p, const json_t *results)
{
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(results); i++) {
        json_t *r = json_copy(json_array_get(results, i));
        json_t *id = json_object_get(r, "id");
        ok = json_object_set_new(r, "role", json_string("tool")) == 0 &&
             (id == NULL || json_object_set(r, "tool_call_id", id) == 0);
        if (ok) {
            (void)json_object_del(r, "id");
            ok = json_array_append(p->results, r) == 0;
        }
        json_decref(r);
    }
    return ok;
}

static bool xaibo_content(pieces *p, const json_t *content)
{
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(content); i++) {
        json_t *part = json_array_get(content, i);
        json_t *text = json_object_get(part, "text");
        if (is_xaibo_image(part)) {
            ok = push(p->content, json_pack("{s:s,s:{s:O}}", "type",
                                            "image_url", "image_url", "url",
                                            json_object_get(part, "image")));
        } else if (json_is_string(text)) {
            ok = push(p->content,
                      json_pack("{s:s,s:O}", "type", "text", "text", text));
        } else {
            ok = json_array_append(p->content, part) == 0;
        }
    }
    return ok;
}

static json_t *xaibo_message(const json_t *in, const pieces *p)
{
    const json_t *content = json_object_get(in, "content");
    json_t *m = json_copy(cf_json_ref(in));
    bool ok = m != NULL;
    if (json_is_array(content)) {
        ok = ok &&
             json_object_set_new(m, "content", content_of(p->content)) == 0;
    }
    if (ok && json_array_size(p->calls) != 0) {
        ok = json_object_set(m, "tool_calls", p->calls) == 0;
    } else if (ok) {
        (void)json_object_del(m, "tool_calls");
    }
    if (!ok) {
        json_decref(m);
        return NULL;
    }
    (void)json_object_del(m, "tool_results");
    if (json_is_null(json_object_get(m, "name"))) {
        (void)json_object_del(m, "name");
    }
    return m;
}

/* ---- both --------------------------------------------------------------- */

static bool take_pieces(pieces *p, const json_t *m, bool is_gemini)
{
    if (p->content == NULL || p->calls == NULL || p->results == NULL) {
        return false;
    }
    if (!is_gemini) {
        return xaibo_calls(p, json_object_get(m, "tool_calls")) &&
               xaibo_results(p, json_object_get(m, "tool_results")) &&
               xaibo_content(p, json_object_get(m, "content"));
    }
    const json_t *parts = json_object_get(m, "parts");
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(parts); i++) {
        ok = take_part(p, json_array_get(parts, i));
    }
    return ok;
}

/* A message that only carries results is nothing but them. */
static bool is_only_results(const json_t *m, const pieces *p)
{
    const json_t *content = json_object_get(m, "content");
    return json_array_size(p->results) != 0 && json_array_size(p->calls) == 0 &&
           p->thought.n == 0 && json_array_size(p->content) == 0 &&
           json_string_length(content) == 0;
}

static cf_status say_pieces(cf_build *b, const json_t *m, const pieces *p,
                            bool is_gemini, cf_error *err)
{
    if (!is_only_results(m, p)) {
        CF_TRY(cf_build__say(
            b, is_gemini ? gemini_message(m, p) : xaibo_message(m, p), NULL,
            err));
    }
    for (size_t i = 0; i < json_array_size(p->results); i++) {
        CF_TRY(cf_build__say(b, json_incref(json_array_get(p->results, i)),
                             NULL, err));
    }
    return CF_OK;
}

cf_status cf_build__say_any(cf_build *b, const json_t *m, cf_error *err)
{
    bool is_gemini = cf_xchg__is_gemini(m);
    if (!is_gemini && !cf_xchg__is_xaibo(m)) {
        return cf_build__say(b, json_incref(cf_json_ref(m)), NULL, err);
    }
    pieces p = {json_array(), json_array(), json_array(), CF_BUF_INIT};
    cf_status st = take_pieces(&p, m, is_gemini)
                       ? say_pieces(b, m, &p, is_gemini, err)
                       : cf_sql__oom(err);
    json_decref(p.content);
    json_decref(p.calls);
    json_decref(p.results);
    cf_buf_deinit(&p.thought);
    return st;
}
