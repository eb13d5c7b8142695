/*
 * trail_parts.c - parts by the names of their types, and those of Gemini's
 * interface, which have none.
 */
#include "storage/trail/trail_parts.h"

void trail_join(trail_texts *t, trail_part_kind kind, cf_str piece)
{
    bool is_text = kind == TRAIL_PART_TEXT;
    cf_buf *b = is_text ? &t->text : &t->thinking;
    bool *has_any = is_text ? &t->has_text : &t->has_thinking;
    if (*has_any) {
        cf_buf_addc(b, '\n');
    }
    *has_any = true;
    cf_buf_add(b, piece.p, piece.n);
}

void trail_joined(trail_reader *r, trail_texts *t, cf_trail_message *m)
{
    m->text = trail_take(r, &t->text);
    m->thinking = trail_take(r, &t->thinking);
    t->has_text = t->has_thinking = false;
}

bool trail_is_image(const json_t *part)
{
    static const char *const types[] = {"mime", "mime_type", "mimeType"};
    const json_t *inside = json_object_get(part, "inlineData");
    inside = inside != NULL ? inside : json_object_get(part, "fileData");
    inside = inside != NULL ? inside : part;
    bool is_image =
        cf_str_ends(cf_json_get_str(part, "type"), "image") || trail_is(part, "modality", "image");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        is_image = is_image || cf_str_begins(cf_json_get_str(inside, types[i]), "image/");
    }
    return is_image;
}

bool trail_part_read(trail_reader *r, trail_texts *t, cf_trail_message *m, const json_t *part,
                     const trail_part *kinds)
{
    cf_str type = cf_json_get_str(part, "type");
    const trail_part *k = kinds;
    while (k->type != NULL &&
           (k->type[0] != '\0' ? !cf_str_is(type, k->type)
                               : !json_is_string(json_object_get(part, k->field)))) {
        k++;
    }
    if (json_is_string(part)) {
        trail_join(t, TRAIL_PART_TEXT,
                   cf_str_make(json_string_value(part), json_string_length(part)));
    } else if (k->type == NULL) {
        m->n_images += trail_is_image(part);
        return false;
    } else if (k->kind == TRAIL_PART_CALL) {
        trail_call(r, m, trail_json_str(r, part, "id"), trail_json_str(r, part, "name"),
                   trail_arguments(r, json_object_get(part, k->field)));
    } else if (k->kind != TRAIL_PART_NOTHING) {
        bool is_hidden = json_is_true(json_object_get(part, "redacted"));
        trail_join(t, k->kind, is_hidden ? cf_str_make("", 0) : cf_json_get_str(part, k->field));
    } else {
        m->n_images += trail_is_image(part);
    }
    return true;
}

void trail_content(trail_reader *r, cf_trail_message *m, const json_t *content,
                   const trail_part *kinds)
{
    trail_texts t = TRAIL_TEXTS_INIT;
    size_t i;
    const json_t *part;
    json_array_foreach(content, i, part)
    {
        (void)trail_part_read(r, &t, m, part, kinds);
    }
    trail_joined(r, &t, m);
    m->text = json_is_array(content) ? m->text : trail_value_text(r, content);
}

/* ---- Gemini's interface -------------------------------------------------- */

static const json_t *part_at(const json_t *parts, size_t i)
{
    return json_is_array(parts) ? json_array_get(parts, i) : i == 0 ? parts : NULL;
}

void trail_parts_read(trail_reader *r, cf_trail_message *m, const json_t *parts)
{
    static const trail_part kinds[] = {{"", TRAIL_PART_TEXT, "text"}, {.type = NULL}};
    trail_texts t = TRAIL_TEXTS_INIT;
    const json_t *part;
    for (size_t i = 0; (part = part_at(parts, i)) != NULL; i++) {
        const json_t *call = json_object_get(part, "functionCall");
        if (json_is_true(json_object_get(part, "thought"))) {
            trail_join(&t, TRAIL_PART_THINKING, cf_json_get_str(part, "text"));
        } else if (!trail_part_read(r, &t, m, part, kinds) && call != NULL) {
            trail_call(r, m, trail_json_str(r, call, "id"), trail_json_str(r, call, "name"),
                       trail_arguments(r, json_object_get(call, "args")));
        }
    }
    trail_joined(r, &t, m);
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

void trail_parts_result(trail_reader *r, cf_trail_message *m, const json_t *response)
{
    const json_t *body = json_object_get(response, "response"), *part;
    const json_t *output = json_object_get(body, "output"), *why = json_object_get(body, "error");
    size_t i;
    trail_fill(r, &m->call_id, response, "id");
    m->text = trail_value_text(r, output != NULL ? output : why != NULL ? why : body);
    m->is_error = m->is_error || (output == NULL && why != NULL);
    json_array_foreach(json_object_get(response, "parts"), i, part)
    {
        m->n_images += trail_is_image(part);
    }
}
