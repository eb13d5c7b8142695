/*
 * trail_parts.c - parts of Gemini's interface.
 */
#include "storage/trail/trail_parts.h"

static const json_t *part_at(const json_t *parts, size_t i)
{
    return json_is_array(parts) ? json_array_get(parts, i) : i == 0 ? parts : NULL;
}

static bool is_image(const json_t *part)
{
    const json_t *inside = json_object_get(part, "inlineData");
    inside = inside != NULL ? inside : json_object_get(part, "fileData");
    return cf_str_begins(cf_json_get_str(inside, "mimeType"), "image/");
}

void trail_parts_read(trail_reader *r, cf_trail_message *m, const json_t *parts)
{
    trail_text text = {CF_BUF_INIT, false}, thinking = {CF_BUF_INIT, false};
    const json_t *part;
    if (json_is_string(parts)) {
        m->text = trail_value_text(r, parts);
        return;
    }
    for (size_t i = 0; (part = part_at(parts, i)) != NULL; i++) {
        const json_t *call = json_object_get(part, "functionCall");
        if (json_is_string(part)) {
            trail_join(&text, cf_str_make(json_string_value(part), json_string_length(part)));
        } else if (json_is_true(json_object_get(part, "thought"))) {
            trail_join(&thinking, cf_json_get_str(part, "text"));
        } else if (json_is_string(json_object_get(part, "text"))) {
            trail_join(&text, cf_json_get_str(part, "text"));
        } else if (call != NULL) {
            trail_call(r, m, trail_json_str(r, call, "id"), trail_json_str(r, call, "name"),
                       trail_arguments(r, json_object_get(call, "args")));
        }
        m->n_images += is_image(part);
    }
    m->text = trail_joined(r, &text);
    m->thinking = trail_joined(r, &thinking);
}

const json_t *trail_parts_response(const json_t *parts, size_t *i)
{
    const json_t *part;
    while ((part = part_at(parts, *i)) != NULL) {
        const json_t *response = json_object_get(part, "functionResponse");
        ++*i;
        if (response != NULL) {
            return response;
        }
    }
    return NULL;
}

bool trail_parts_has_text(const json_t *parts)
{
    const json_t *part;
    if (json_is_string(parts)) {
        return true;
    }
    for (size_t i = 0; (part = part_at(parts, i)) != NULL; i++) {
        if (json_is_string(part) || json_object_get(part, "text") != NULL || is_image(part)) {
            return true;
        }
    }
    return false;
}

void trail_parts_result(trail_reader *r, cf_trail_message *m, const json_t *response)
{
    const json_t *body = json_object_get(response, "response"), *part;
    const json_t *output = json_object_get(body, "output"), *why = json_object_get(body, "error");
    size_t i;
    if (m->call_id.n == 0) {
        m->call_id = trail_json_str(r, response, "id");
    }
    m->text = trail_value_text(r, output != NULL ? output : why != NULL ? why : body);
    m->is_error = m->is_error || (output == NULL && why != NULL);
    json_array_foreach(json_object_get(response, "parts"), i, part)
    {
        m->n_images += is_image(part);
    }
}
