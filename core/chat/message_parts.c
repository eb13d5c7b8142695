/*
 * message_parts.c - parts of messages by their type, or by their members
 * where they have none.
 */
#include "core/chat/message_parts.h"

#include <string.h>

#include "core/api/attachment.h"
#include "core/api/message_form.h"
#include "core/base/base64.h"

/* ---- JSON --------------------------------------------------------------- */

json_t *cf_json_get_any(const json_t *v, const char *a, const char *b)
{
    json_t *found = json_object_get(v, a);
    if (found == NULL || json_is_null(found)) {
        found = json_object_get(v, b);
    }
    return found == NULL || json_is_null(found) ? NULL : found;
}

json_t *cf_json_without_nulls(const json_t *v)
{
    json_t *copy = cf_json_copy(v);
    const char *key;
    json_t *item;
    void *next;
    json_object_foreach_safe(copy, next, key, item)
    {
        if (json_is_null(item)) {
            (void)json_object_del(copy, key);
        }
    }
    return copy;
}

static bool is_one_of(cf_str s, const char *const *words)
{
    bool is = false;
    for (; !is && *words != NULL; words++) {
        is = cf_str_is(s, *words);
    }
    return is;
}

/* ---- kinds -------------------------------------------------------------- */

static const char *const text_types[] = {"text", "input_text", "output_text", "TEXT", NULL};
static const char *const thought_types[] = {"thinking",       "reasoning",    "thought",
                                            "reasoning_text", "summary_text", NULL};
static const char *const other_types[] = {
    "refusal",   "tool_response", "tool_result",          "tool_use",
    "tool_call", "function_call", "function_call_output", NULL};
static const char *const file_types[] = {"file",      "input_file",  "document", "video",
                                         "video_url", "input_video", "media",    NULL};

static bool is_film(cf_str type, cf_str mime)
{
    static const char *const types[] = {"video", "video_url", "input_video", NULL};
    return is_one_of(type, types) || cf_str_begins(mime, "video/");
}

const char *cf_part_medium(const json_t *part)
{
    cf_attachment a;
    cf_str type = cf_json_get_str(part, "type");
    const json_t *data = cf_json_get_any(part, "inlineData", "inline_data");
    data = data != NULL ? data : cf_json_get_any(part, "fileData", "file_data");
    const bool is_medium = cf_attachment_read(&a, part);
    const char *kind = is_medium               ? cf_attachment_kind_name(a.kind)
                       : is_film(type, a.mime) ? "video"
                       : is_one_of(type, file_types) || json_is_object(data) ? "file"
                                                                             : NULL;
    cf_attachment_deinit(&a);
    return kind;
}

/* The member of a part that has its text. */
static const char *text_key(const json_t *part)
{
    static const char *const keys[] = {"text", "thinking", "reasoning", "refusal", "summary"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *v = json_object_get(part, keys[i]);
        if (json_is_string(v) || json_is_string(json_object_get(v, "value"))) {
            return keys[i];
        }
    }
    return NULL;
}

cf_str cf_part_text(const json_t *part, const char **where)
{
    const char *key = text_key(part);
    const json_t *v = key != NULL ? json_object_get(part, key) : NULL;
    *where = key;
    return json_is_object(v) ? cf_json_get_str(v, "value")
                             : cf_json_get_str(part, key != NULL ? key : "");
}

cf_part_kind cf_part_kind_of(const json_t *part, const char **where)
{
    cf_str type = cf_json_get_str(part, "type");
    const char *key = text_key(part);
    const bool is_text = key != NULL && strcmp(key, "text") == 0;
    *where = key;
    if (cf_str_is(type, "refusal")) {
        return key != NULL ? CF_PART_REFUSAL : CF_PART_OTHER;
    }
    if (key != NULL &&
        (is_one_of(type, thought_types) || json_is_true(json_object_get(part, "thought")))) {
        return CF_PART_THOUGHT;
    }
    if (is_text && (type.n == 0 || is_one_of(type, text_types))) {
        return CF_PART_TEXT;
    }
    if (cf_part_medium(part) != NULL) {
        return CF_PART_MEDIUM;
    }
    return is_text ? CF_PART_TEXT : CF_PART_OTHER;
}

bool cf_part_is_typed(const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    return json_is_object(v) &&
           (((is_one_of(type, text_types) || is_one_of(type, thought_types)) &&
             text_key(v) != NULL) ||
            is_one_of(type, other_types) || (type.n > 0 && cf_part_medium(v) != NULL));
}

void cf_part_put_text(cf_buf *out, const json_t *v)
{
    const char *where;
    cf_str text = json_is_string(v) ? cf_str_make(json_string_value(v), json_string_length(v))
                                    : cf_part_text(v, &where);
    cf_buf_add(out, text.p, text.n);
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *item = json_array_get(v, i);
        if (!json_is_array(item)) {
            cf_part_put_text(out, item);
        }
    }
}

bool cf_channel_is_thinking(const char *name)
{
    static const char *const names[] = {"thought",   "thoughts", "thinking", "think",
                                        "reasoning", "analysis", NULL};
    return is_one_of(cf_str_from(name), names);
}

/* ---- media -------------------------------------------------------------- */

/* {"type":"image_url","image_url":{"url":..}} */
static json_t *image_part(cf_str url)
{
    return json_pack("{s:s, s:{s:o}}", "type", "image_url", "image_url", "url", cf_json_str(url));
}

/* Gemini's {"inlineData":{"mimeType","data"}} and {"fileData":{..,"fileUri"}}. */
static json_t *gemini_part(const json_t *data, const char *kind)
{
    json_t *mime = cf_json_get_any(data, "mimeType", "mime_type");
    json_t *uri = cf_json_get_any(data, "fileUri", "file_uri");
    json_t *bytes = json_object_get(data, "data");
    cf_str type = cf_str_make(json_string_value(mime), json_string_length(mime));
    if (strcmp(kind, "image") != 0) {
        return json_pack("{s:s, s:O*, s:O*, s:O*}", "type", kind, "blob", bytes, "url", uri,
                         "mime_type", mime);
    }
    cf_buf url = CF_BUF_INIT;
    if (bytes != NULL) {
        cf_data_url_put(&url, type, cf_json_get_str(data, "data"));
    } else {
        cf_buf_add(&url, json_string_value(uri), json_string_length(uri));
    }
    json_t *part = url.failed ? NULL : image_part(cf_buf_str(&url));
    cf_buf_deinit(&url);
    return part;
}

json_t *cf_part_openai(const json_t *part)
{
    const char *kind = cf_part_medium(part);
    const json_t *data = cf_json_get_any(part, "inlineData", "inline_data");
    data = data != NULL ? data : cf_json_get_any(part, "fileData", "file_data");
    cf_str image = cf_json_get_str(part, "image");
    if (json_is_object(data)) {
        return gemini_part(data, kind != NULL ? kind : "file");
    }
    if (cf_str_is(cf_json_get_str(part, "type"), "image") && image.n > 0) {
        return image_part(image);
    }
    return cf_json_without_nulls(part);
}

json_t *cf_part_of_binary(const json_t *item)
{
    static const char *const kinds[] = {"image", "audio", "video"};
    cf_str mime = cf_json_get_str(item, "mimeType");
    const char *kind = "file";
    mime = mime.n > 0 ? mime : cf_attachment_mime(cf_json_get_str(item, "data"), mime);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        kind = cf_str_begins(mime, kinds[i]) ? kinds[i] : kind;
    }
    if (!json_is_object(item)) {
        return NULL;
    }
    json_t *part = cf_json_without_nulls(item);
    if (part != NULL && json_object_set_new(part, "type", json_string(kind)) != 0) {
        json_decref(part);
        return NULL;
    }
    return part;
}

json_t *cf_parts_joined(json_t *list)
{
    cf_buf text = CF_BUF_INIT;
    bool is_text = true;
    for (size_t i = 0; is_text && i < json_array_size(list); i++) {
        const json_t *part = json_array_get(list, i);
        cf_str s = cf_json_get_str(part, "text");
        is_text = cf_str_is(cf_json_get_str(part, "type"), "text") && s.p != NULL;
        cf_buf_add(&text, s.p, is_text ? s.n : 0);
    }
    json_t *v = is_text ? cf_json_buf(&text) : json_incref(list);
    cf_buf_deinit(&text);
    return v;
}

/* ---- whole messages ----------------------------------------------------- */

json_t *cf_context_messages(const json_t *context)
{
    static const char *const keys[] = {"messages", "contents", "history"};
    json_t *list = NULL;
    for (size_t i = 0; list == NULL && i < sizeof keys / sizeof keys[0]; i++) {
        list = json_object_get(context, keys[i]);
    }
    json_t *given = cf_json_get_any(context, "systemInstruction", "system_instruction");
    if (given == NULL || json_object_get(context, "messages") != NULL) {
        return json_incref(list);
    }
    json_t *system =
        json_is_object(given) ? cf_json_copy(given) : json_pack("{s:O}", "content", given);
    json_t *all = json_array();
    bool ok = system != NULL && json_object_set_new(system, "role", json_string("system")) == 0 &&
              json_array_append(all, system) == 0 &&
              (json_is_array(list) ? json_array_extend(all, list) == 0
                                   : list == NULL || json_array_append(all, list) == 0);
    json_decref(system);
    if (!ok) {
        json_decref(all);
        return NULL;
    }
    return all;
}

bool cf_role_is_result(cf_str role)
{
    static const char *const names[] = {"tool",         "function",     "tool_response",
                                        "pcp_response", "mcp_response", "tool_result",
                                        "observation",  "ipython",      NULL};
    return is_one_of(role, names);
}

static bool has_flat_image(const json_t *content)
{
    bool found = false;
    for (size_t i = 0; !found && i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        found = cf_str_is(cf_json_get_str(part, "type"), "image") &&
                cf_json_get_str(part, "image").n > 0;
    }
    return found;
}

cf_message_form cf_message_form_of(const json_t *m)
{
    const json_t *call = json_array_get(json_object_get(m, "tool_calls"), 0);
    const json_t *content = json_object_get(m, "content");
    const json_t *parts = json_object_get(m, "parts");
    if (parts != NULL && !json_is_null(parts) && (content == NULL || json_is_null(content))) {
        return CF_MESSAGE_GEMINI;
    }
    const bool is_flat =
        json_object_get(call, "function") == NULL && cf_json_get_str(call, "name").n > 0;
    if (json_is_array(json_object_get(m, "tool_results")) || is_flat || has_flat_image(content)) {
        return CF_MESSAGE_XAIBO;
    }
    return json_is_object(json_object_get(m, "function_call")) ? CF_MESSAGE_OLD_CALL
                                                               : CF_MESSAGE_OPENAI;
}
