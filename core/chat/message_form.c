/*
 * message_form.c - takes a message apart into content, calls, results and
 * thinking, and puts it together in OpenAI's form.
 *
 * A message that carries nothing but results is replaced by them; other
 * fields of a message stay where they are.
 */
#include "core/api/message_form.h"

#include <stdint.h>
#include <string.h>

#include "core/base/base64.h"

/* The pieces of a message. */
typedef struct pieces {
    json_t *content, *calls, *results; /* lists */
    cf_buf thought;
} pieces;

static json_t *get2(const json_t *v, const char *a, const char *b)
{
    json_t *found = json_object_get(v, a);
    return found != NULL ? found : json_object_get(v, b);
}

static bool is_flat_call(const json_t *call)
{
    return json_object_get(call, "function") == NULL && cf_json_get_str(call, "name").n > 0;
}

static bool is_gemini(const json_t *m)
{
    return json_is_array(json_object_get(m, "parts")) && json_object_get(m, "content") == NULL;
}

/* {"type":"image","image":"data:..."} */
static bool is_flat_image(const json_t *part)
{
    return cf_str_is(cf_json_get_str(part, "type"), "image") &&
           cf_json_get_str(part, "image").n > 0;
}

static bool has_flat_image(const json_t *content)
{
    bool found = false;
    for (size_t i = 0; !found && i < json_array_size(content); i++) {
        found = is_flat_image(json_array_get(content, i));
    }
    return found;
}

cf_message_form cf_message_form_of(const json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    if (is_gemini(m)) {
        return CF_MESSAGE_GEMINI;
    }
    if (json_is_array(json_object_get(m, "tool_results")) ||
        is_flat_call(json_array_get(calls, 0)) || has_flat_image(json_object_get(m, "content"))) {
        return CF_MESSAGE_XAIBO;
    }
    return json_is_object(json_object_get(m, "function_call")) ? CF_MESSAGE_OLD_CALL
                                                               : CF_MESSAGE_OPENAI;
}

static bool is_other_form(const json_t *m)
{
    return cf_message_form_of(m) != CF_MESSAGE_OPENAI;
}

bool cf_messages_need_form(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (is_other_form(json_array_get(list, i))) {
            return true;
        }
    }
    return false;
}

/* Takes the reference; false when memory ran out. */
static bool push(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0;
}

static bool set(json_t *m, const char *key, json_t *v)
{
    return json_object_set_new(m, key, v) == 0;
}

static json_t *call_of(const json_t *call, const char *key)
{
    json_t *args = json_object_get(call, key);
    return json_pack("{s:O*, s:s, s:{s:O?, s:o}}", "id", json_object_get(call, "id"), "type",
                     "function", "function", "name", json_object_get(call, "name"), "arguments",
                     args != NULL ? json_incref(args) : json_object());
}

/* ---- Gemini ------------------------------------------------------------- */

static bool take_response(pieces *p, const json_t *r)
{
    json_t *response = json_object_get(r, "response");
    return push(p->results,
                json_pack("{s:s, s:O*, s:O*, s:o}", "role", "tool", "name",
                          json_object_get(r, "name"), "tool_call_id", json_object_get(r, "id"),
                          "content", response != NULL ? json_incref(response) : json_string("")));
}

/* {"type":"image_url"} with a reference to `url`; NULL without memory. */
static json_t *image_part(json_t *url)
{
    return json_pack("{s:s, s:{s:O?}}", "type", "image_url", "image_url", "url", url);
}

static json_t *data_url(cf_str mime, cf_str base64)
{
    cf_buf url = CF_BUF_INIT;
    cf_data_url_put(&url, mime, base64);
    json_t *v = url.failed ? NULL : json_stringn(cf_buf_cstr(&url), url.n);
    cf_buf_deinit(&url);
    return v;
}

static const char *kind_of(cf_str mime)
{
    static const char *const kinds[] = {"image", "audio", "video"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t n = strlen(kinds[i]);
        if (mime.n > n && memcmp(mime.p, kinds[i], n) == 0 && mime.p[n] == '/') {
            return kinds[i];
        }
    }
    return "file";
}

static cf_str mime_of(const json_t *file)
{
    cf_str mime = cf_json_get_str(file, "mimeType");
    return mime.n > 0 ? mime : cf_json_get_str(file, "mime_type");
}

/* {"inlineData":{"mimeType","data"}}: bytes. */
static bool take_data(pieces *p, const json_t *data)
{
    cf_str mime = mime_of(data);
    if (strcmp(kind_of(mime), "image") != 0) {
        return push(p->content, json_pack("{s:s, s:O?, s:O*}", "type", kind_of(mime), "blob",
                                          json_object_get(data, "data"), "mime_type",
                                          get2(data, "mimeType", "mime_type")));
    }
    json_t *url = data_url(mime, cf_json_get_str(data, "data"));
    bool ok = url != NULL && push(p->content, image_part(url));
    json_decref(url);
    return ok;
}

/* {"fileData":{"mimeType","fileUri"}}: an address. */
static bool take_file(pieces *p, const json_t *file)
{
    json_t *uri = get2(file, "fileUri", "file_uri");
    const char *kind = kind_of(mime_of(file));
    return push(p->content, strcmp(kind, "image") == 0
                                ? image_part(uri)
                                : json_pack("{s:s, s:O?, s:O*}", "type", kind, "url", uri,
                                            "mime_type", get2(file, "mimeType", "mime_type")));
}

/* A call, with the signature of the thinking before it. */
static bool take_call(pieces *p, const json_t *call, const json_t *part)
{
    json_t *c = call_of(call, "args");
    json_t *sign = json_object_get(part, "thoughtSignature");
    if (c != NULL && sign != NULL && !json_is_null(sign) &&
        json_object_set(c, "thoughtSignature", sign) != 0) {
        json_decref(c);
        return false;
    }
    return push(p->calls, c);
}

/* A part of any other kind, typed by its text or its first key. */
static bool take_other(pieces *p, json_t *part)
{
    if (!json_is_object(part) || json_object_get(part, "type") != NULL) {
        return json_array_append(p->content, part) == 0;
    }
    const char *type = json_is_string(json_object_get(part, "text"))
                           ? "text"
                           : json_object_iter_key(json_object_iter(part));
    json_t *copy = cf_json_copy(part);
    if (copy == NULL || !set(copy, "type", json_string(type != NULL ? type : ""))) {
        json_decref(copy);
        return false;
    }
    return push(p->content, copy);
}

static bool take_part(pieces *p, json_t *part)
{
    json_t *text = json_object_get(part, "text");
    const json_t *call = get2(part, "functionCall", "function_call");
    const json_t *response = get2(part, "functionResponse", "function_response");
    const json_t *data = get2(part, "inlineData", "inline_data");
    const json_t *file = get2(part, "fileData", "file_data");
    if (json_is_string(part)) {
        return push(p->content, json_pack("{s:s, s:O}", "type", "text", "text", part));
    }
    if (json_is_string(text) && json_is_true(json_object_get(part, "thought"))) {
        cf_str s = cf_json_get_str(part, "text");
        cf_buf_add(&p->thought, s.p, s.n);
        return !p->thought.failed;
    }
    if (json_is_object(call)) {
        return take_call(p, call, part);
    }
    if (json_is_object(response)) {
        return take_response(p, response);
    }
    if (json_is_object(data)) {
        return take_data(p, data);
    }
    if (json_is_object(file)) {
        return take_file(p, file);
    }
    return take_other(p, part);
}

/* ---- the others --------------------------------------------------------- */

static bool take_calls(pieces *p, const json_t *m)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    const json_t *old = json_object_get(m, "function_call");
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(calls); i++) {
        json_t *call = json_array_get(calls, i);
        ok = is_flat_call(call) ? push(p->calls, call_of(call, "arguments"))
                                : json_array_append(p->calls, call) == 0;
    }
    if (ok && json_is_object(old) && json_array_size(calls) == 0) {
        ok = push(p->calls, call_of(old, "arguments"));
    }
    return ok;
}

static bool take_results(pieces *p, const json_t *results)
{
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(results); i++) {
        json_t *r = cf_json_copy(json_array_get(results, i));
        json_t *id = json_object_get(r, "id");
        ok = r != NULL && set(r, "role", json_string("tool")) &&
             (id == NULL || json_object_set(r, "tool_call_id", id) == 0);
        if (ok) {
            (void)json_object_del(r, "id");
            ok = json_array_append(p->results, r) == 0;
        }
        json_decref(r);
    }
    return ok;
}

static bool take_images(pieces *p, const json_t *content)
{
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(content); i++) {
        json_t *part = json_array_get(content, i);
        ok = is_flat_image(part) ? push(p->content, image_part(json_object_get(part, "image")))
                                 : json_array_append(p->content, part) == 0;
    }
    return ok;
}

static bool take_pieces(pieces *p, const json_t *m)
{
    if (p->content == NULL || p->calls == NULL || p->results == NULL) {
        return false;
    }
    const json_t *parts = json_object_get(m, "parts");
    bool ok = take_calls(p, m) && take_results(p, json_object_get(m, "tool_results")) &&
              take_images(p, json_object_get(m, "content"));
    for (size_t i = 0; ok && is_gemini(m) && i < json_array_size(parts); i++) {
        ok = take_part(p, json_array_get(parts, i));
    }
    return ok;
}

/* A list with one text is that text. */
static json_t *content_of(const json_t *list)
{
    const json_t *only = json_array_get(list, 0);
    if (json_array_size(list) == 0) {
        return json_string("");
    }
    return json_array_size(list) == 1 && json_object_size(only) == 2 &&
                   json_is_string(json_object_get(only, "text"))
               ? json_incref(json_object_get(only, "text"))
               : json_incref(cf_json_ref(list));
}

/* Whether the message consists of results only. */
static bool is_only_results(const json_t *m, const pieces *p)
{
    const json_t *content = json_object_get(m, "content");
    return json_array_size(p->results) > 0 && json_array_size(p->calls) == 0 && p->thought.n == 0 &&
           json_array_size(p->content) == 0 && json_string_length(content) == 0 &&
           json_array_size(content) == 0;
}

/* The message without its results. */
static json_t *rest_of(const json_t *in, const pieces *p)
{
    static const char *const gone[] = {"parts", "tool_results", "function_call", "tool_calls"};
    json_t *m = cf_json_copy(in);
    cf_str role = cf_json_get_str(in, "role");
    bool ok = m != NULL;
    for (size_t i = 0; ok && i < sizeof gone / sizeof gone[0]; i++) {
        (void)json_object_del(m, gone[i]);
    }
    if (is_gemini(in) || json_is_array(json_object_get(in, "content"))) {
        ok = ok && set(m, "content", content_of(p->content));
    }
    if (ok && json_is_null(json_object_get(m, "name"))) {
        (void)json_object_del(m, "name");
    }
    if (p->thought.n > 0) {
        ok = ok && set(m, "reasoning_content", json_stringn(p->thought.p, p->thought.n));
    }
    if (json_array_size(p->calls) > 0) {
        bool is_result = cf_str_is(role, "function") || cf_str_is(role, "tool") ||
                         cf_str_is(role, "tool_response");
        ok = ok && json_object_set(m, "tool_calls", p->calls) == 0 &&
             (!is_result || set(m, "role", json_string("assistant")));
    } else if (role.n == 0) {
        ok = ok && set(m, "role", json_string("user"));
    }
    if (is_gemini(in) && cf_str_is(role, "model")) {
        ok = ok && set(m, "role", json_string("assistant"));
    }
    if (!ok) {
        json_decref(m);
        return NULL;
    }
    return m;
}

static bool add_form(json_t *out, const json_t *m)
{
    pieces p = {json_array(), json_array(), json_array(), CF_BUF_INIT};
    bool ok = take_pieces(&p, m);
    if (ok && !is_only_results(m, &p)) {
        ok = push(out, rest_of(m, &p));
    }
    ok = ok && json_array_extend(out, p.results) == 0;
    json_decref(p.content);
    json_decref(p.calls);
    json_decref(p.results);
    cf_buf_deinit(&p.thought);
    return ok;
}

cf_status cf_messages_form(json_t **out, cf_buf *origin, const json_t *list, cf_error *err)
{
    json_t *v = json_array();
    bool ok = v != NULL;
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        json_t *m = json_array_get(list, i);
        size_t before = json_array_size(v);
        ok = is_other_form(m) ? add_form(v, m) : json_array_append(v, m) == 0;
        uint32_t at = (uint32_t)i;
        for (size_t k = before; origin != NULL && k < json_array_size(v); k++) {
            cf_buf_add(origin, &at, sizeof at);
        }
    }
    if (!ok || (origin != NULL && origin->failed)) {
        json_decref(v);
        return cf_oom_for(err, "the messages");
    }
    *out = v;
    return CF_OK;
}
