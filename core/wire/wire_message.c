/*
 * wire_message.c - messages and their parts, as the rows make them and look
 * at them.
 */
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/base64.h"
#include "core/wire/wire_impl.h"

void cf_wire__copy(char *to, size_t size, cf_str from)
{
    size_t n = from.n < size ? from.n : size - 1;
    while (n > 0 && n < from.n && (from.p[n] & 0xC0) == 0x80) {
        n--;
    }
    if (n > 0) {
        memcpy(to, from.p, n);
    }
    to[n] = '\0';
}

/* ---- making them -------------------------------------------------------- */

json_t *cf_wire__message(cf_str role, json_t *content)
{
    if (content == NULL) {
        return NULL;
    }
    return json_pack("{s:o, s:o}", "role", cf_json_str(role), "content", content);
}

json_t *cf_wire__text_part(cf_str text)
{
    return json_pack("{s:s, s:o}", "type", "text", "text", cf_json_str(text));
}

json_t *cf_wire__image_part(cf_str url)
{
    return json_pack("{s:s, s:{s:o}}", "type", "image_url", "image_url", "url", cf_json_str(url));
}

json_t *cf_wire__data_part(cf_str mime, cf_str base64)
{
    cf_buf url = CF_BUF_INIT;
    cf_data_url_put(&url, mime, base64);
    json_t *part = url.failed ? NULL : cf_wire__image_part(cf_buf_str(&url));
    cf_buf_deinit(&url);
    return part;
}

json_t *cf_wire__call(cf_str id, cf_str name, const json_t *arguments)
{
    cf_buf text = CF_BUF_INIT;
    if (json_is_string(arguments)) {
        cf_buf_add(&text, json_string_value(arguments), json_string_length(arguments));
    } else if (arguments != NULL) {
        cf_json_write(&text, arguments);
    }
    json_t *call = json_pack("{s:s, s:{s:o, s:o}}", "type", "function", "function", "name",
                             cf_json_str(name), "arguments", cf_json_buf(&text));
    cf_buf_deinit(&text);
    if (id.n != 0 && call != NULL && json_object_set_new(call, "id", cf_json_str(id)) != 0) {
        json_decref(call);
        return NULL;
    }
    return call;
}

void cf_wire__add_call(cf_jb *b, json_t *message, json_t *call)
{
    if (json_object_get(message, "tool_calls") == NULL) {
        cf_jb_set(b, message, "tool_calls", json_array());
    }
    cf_jb_append(b, json_object_get(message, "tool_calls"), call);
}

json_t *cf_wire__plain(json_t *parts)
{
    bool is_text = json_array_size(parts) > 0;
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *one = json_array_get(parts, i);
        cf_str s = cf_json_get_str(one, "text");
        is_text = is_text && cf_str_is(cf_json_get_str(one, "type"), "text") && s.p != NULL;
        cf_buf_add(&text, s.p, is_text ? s.n : 0);
    }
    json_t *out = is_text ? cf_json_buf(&text) : json_incref(parts);
    json_decref(parts);
    cf_buf_deinit(&text);
    return out;
}

/* ---- declarations ------------------------------------------------------- */

static json_t *tool_of(cf_jb *b, const json_t *flat, const char *schema)
{
    static const char *const kept[] = {"name", "description", "strict"};
    json_t *f = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        json_t *v = json_object_get(flat, kept[i]);
        if (v != NULL) {
            cf_jb_set(b, f, kept[i], json_incref(v));
        }
    }
    json_t *s = json_object_get(flat, schema);
    if (s != NULL) {
        cf_jb_set(b, f, "parameters", json_incref(s));
    }
    return f != NULL ? json_pack("{s:s, s:o}", "type", "function", "function", f) : NULL;
}

/* Tools of other types are the server's own. */
static bool is_function(const json_t *tool)
{
    cf_str type = cf_json_get_str(tool, "type");
    return cf_json_get_str(tool, "name").n != 0 &&
           (type.n == 0 || cf_str_is(type, "function") || cf_str_is(type, "custom"));
}

void cf_wire__tools(cf_wire_request *r, cf_jb *b, const json_t *list, const char *schema)
{
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        if (json_is_object(json_object_get(one, "function"))) {
            cf_jb_append(b, out, json_incref(one));
        } else if (is_function(one)) {
            cf_jb_append(b, out, tool_of(b, one, schema));
        } else {
            cf_jb_append(b, r->unknown, json_sprintf("tools[%zu]", i));
        }
    }
    if (out == NULL) {
        cf_jb_fail(b);
    }
    if (json_array_size(out) > 0) {
        r->tools = json_incref(out);
    }
    json_decref(out);
}

/* ---- looking at them ---------------------------------------------------- */

cf_status cf_wire__check_messages(const json_t *list, cf_error *err)
{
    if (!json_is_array(list)) {
        return cf_fail(err, CF_EFORMAT, "'messages' must be a list of messages");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (cf_json_get_str(json_array_get(list, i), "role").n == 0) {
            return cf_fail(err, CF_EFORMAT, "'messages[%zu].role' must be a text", i);
        }
    }
    return CF_OK;
}

bool cf_wire__media(const json_t *part, cf_wire__image *out)
{
    cf_attachment a;
    bool is_media = cf_attachment_read(&a, part) && (a.base64.n > 0 || a.url.n > 0) && a.own.n == 0;
    *out = (cf_wire__image){.url = a.url, .mime = a.mime, .base64 = a.base64};
    if (is_media && a.base64.n > 0) {
        out->mime = cf_attachment_mime(a.base64, a.mime);
    }
    if (is_media && out->mime.n == 0) {
        out->mime = cf_str_from(a.kind == CF_ATTACHMENT_AUDIO ? "audio/wav" : "image/png");
    }
    cf_attachment_deinit(&a);
    return is_media;
}

void cf_wire__content_text(cf_buf *out, const json_t *content)
{
    cf_buf_add(out, json_string_value(content), json_string_length(content));
    for (size_t i = 0; i < json_array_size(content); i++) {
        cf_str s = cf_json_get_str(json_array_get(content, i), "text");
        cf_buf_add(out, s.p, s.n);
    }
    if (json_is_object(content)) {
        cf_json_write(out, content);
    }
}

cf_str cf_wire__call_name(const json_t *call)
{
    return cf_json_get_str(json_object_get(call, "function"), "name");
}

json_t *cf_wire__arguments(const json_t *call)
{
    json_t *v = json_object_get(json_object_get(call, "function"), "arguments");
    json_t *read = NULL;
    cf_error why;
    if (json_is_string(v)) {
        cf_status st = cf_json_read(&read, json_string_value(v), json_string_length(v), &why);
        if (st == CF_ENOMEM) {
            return NULL;
        }
    } else {
        read = json_incref(v);
    }
    if (json_is_object(read)) {
        return read;
    }
    json_decref(read);
    return json_object();
}
