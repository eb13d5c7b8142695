/*
 * form.c - fields of a question and their values.
 */
#include "tui/lab/tools/form.h"

#include <stdlib.h>
#include <string.h>

size_t cf_form_n(const json_t *schema)
{
    return json_object_size(json_object_get(schema, "properties"));
}

static bool is_in(const json_t *list, cf_str name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (json_is_string(v) &&
            cf_str_eq(cf_str_make(json_string_value(v), json_string_length(v)), name)) {
            return true;
        }
    }
    return false;
}

bool cf_form_field_at(const json_t *schema, size_t i, cf_form_field *out)
{
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(schema, "properties"), key, v)
    {
        if (i-- == 0) {
            cf_str title = cf_json_get_str(v, "title");
            *out = (cf_form_field){
                .name = cf_str_from(key),
                .title = title.n > 0 ? title : cf_str_from(key),
                .description = cf_json_get_str(v, "description"),
                .schema = v,
                .is_required = is_in(json_object_get(schema, "required"), cf_str_from(key))};
            return true;
        }
    }
    return false;
}

/* ---- choices ------------------------------------------------------------ */

/* The schema of one choice: of the items of a list, else the field's own. */
static const json_t *choice_schema(const cf_form_field *field)
{
    const json_t *items = json_object_get(field->schema, "items");
    return items != NULL ? items : field->schema;
}

/* Choice i: its value and how it is called; false past the last. */
static bool choice_at(const cf_form_field *field, size_t i, const json_t **value, cf_str *label)
{
    const json_t *s = choice_schema(field);
    const json_t *plain = json_object_get(s, "enum");
    const json_t *titled = json_object_get(s, "oneOf");
    titled = titled != NULL ? titled : json_object_get(s, "anyOf");
    const json_t *one = json_array_get(titled, i);
    *value = json_is_array(plain) ? json_array_get(plain, i) : json_object_get(one, "const");
    if (*value == NULL) {
        return false;
    }
    *label = cf_json_get_str(one, "title");
    if (json_is_array(plain)) {
        const json_t *name = json_array_get(json_object_get(s, "enumNames"), i);
        name = json_is_string(name) ? name : *value;
        *label = cf_str_make(json_string_value(name), json_string_length(name));
    }
    return true;
}

static bool has_choices(const cf_form_field *field)
{
    const json_t *value;
    cf_str label;
    return choice_at(field, 0, &value, &label);
}

static bool is_type(const cf_form_field *field, const char *type)
{
    return cf_str_is(cf_json_get_str(field->schema, "type"), type);
}

void cf_form_hint(const cf_form_field *field, cf_buf *out)
{
    const json_t *usual = json_object_get(field->schema, "default");
    if (has_choices(field)) {
        const json_t *value;
        cf_str label;
        cf_buf_adds(out, is_type(field, "array") ? "some of, with commas: " : "one of ");
        for (size_t i = 0; choice_at(field, i, &value, &label); i++) {
            cf_buf_adds(out, i > 0 ? ", " : "");
            cf_buf_add(out, label.n > 0 ? label.p : "", label.n);
        }
    } else if (is_type(field, "boolean")) {
        cf_buf_adds(out, "yes or no");
    } else if (is_type(field, "integer")) {
        cf_buf_adds(out, "a whole number");
    } else if (is_type(field, "number")) {
        cf_buf_adds(out, "a number");
    } else {
        cf_str format = cf_json_get_str(field->schema, "format");
        cf_buf_adds(out, "text");
        if (format.n > 0) {
            cf_buf_addf(out, ", %.*s", (int)format.n, format.p);
        }
    }
    if (usual != NULL) {
        cf_buf_adds(out, "; empty: ");
        cf_json_write(out, usual);
    } else if (!field->is_required) {
        cf_buf_adds(out, "; may be empty");
    }
}

/* ---- values ------------------------------------------------------------- */

static cf_str trimmed(cf_str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) {
        s.n--;
    }
    return s;
}

/* The choice of that name or value; NULL. */
static json_t *find_choice(const cf_form_field *field, cf_str text)
{
    const json_t *value;
    cf_str label;
    for (size_t i = 0; choice_at(field, i, &value, &label); i++) {
        cf_str plain = cf_str_make(json_string_value(value), json_string_length(value));
        if (cf_str_eq(label, text) || (json_is_string(value) && cf_str_eq(plain, text))) {
            return json_incref(cf_json_ref(value));
        }
    }
    return NULL;
}

static cf_status read_list(const cf_form_field *field, cf_str text, json_t **out, cf_error *err)
{
    *out = json_array();
    for (size_t at = 0; at <= text.n;) {
        size_t n = 0;
        while (at + n < text.n && text.p[at + n] != ',') {
            n++;
        }
        json_t *one = find_choice(field, trimmed(cf_str_make(text.p + at, n)));
        if (one == NULL || json_array_append_new(*out, one) != 0) {
            json_decref(*out);
            *out = NULL;
            return cf_fail(err, CF_EINVAL, "not one of the choices: %.*s", (int)(n < 80 ? n : 80),
                           text.p + at);
        }
        at += n + 1;
    }
    return CF_OK;
}

static bool is_word(cf_str text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (cf_str_is(text, *words)) {
            return true;
        }
    }
    return false;
}

static json_t *read_plain(const cf_form_field *field, cf_str text)
{
    static const char *const yes[] = {"yes", "y", "true", "1", NULL};
    static const char *const no[] = {"no", "n", "false", "0", NULL};
    json_t *v = NULL;
    if (is_type(field, "boolean")) {
        return is_word(text, yes) ? json_true() : is_word(text, no) ? json_false() : NULL;
    }
    if (is_type(field, "integer") || is_type(field, "number")) {
        bool is_number = cf_json_read(&v, text.p, text.n, NULL) == CF_OK &&
                         (json_is_integer(v) || (json_is_number(v) && !is_type(field, "integer")));
        if (!is_number) {
            json_decref(v);
            return NULL;
        }
        return v;
    }
    return json_stringn(text.p, text.n);
}

cf_status cf_form_value(const cf_form_field *field, cf_str text, json_t **out, cf_error *err)
{
    const json_t *usual = json_object_get(field->schema, "default");
    bool is_text = !has_choices(field) && !is_type(field, "boolean") && !is_type(field, "number") &&
                   !is_type(field, "integer");
    *out = NULL;
    text = is_text ? text : trimmed(text);
    if (text.n == 0) {
        *out = json_incref(cf_json_ref(usual));
        return *out != NULL || !field->is_required ? CF_OK
                                                   : cf_fail(err, CF_EINVAL, "a value is needed");
    }
    if (has_choices(field) && is_type(field, "array")) {
        return read_list(field, text, out, err);
    }
    *out = has_choices(field) ? find_choice(field, text) : read_plain(field, text);
    if (*out == NULL) {
        cf_buf hint = CF_BUF_INIT;
        cf_form_hint(field, &hint);
        cf_status st = cf_fail(err, CF_EINVAL, "it is to be %.160s", cf_buf_cstr(&hint));
        cf_buf_deinit(&hint);
        return st;
    }
    return CF_OK;
}
