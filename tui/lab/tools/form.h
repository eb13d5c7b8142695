/*
 * form.h - the fields of a flat JSON Schema that a tool server requests (elicitation),
 * and the values that the user types.
 *
 * Memory:  texts are borrowed from the schema.
 */
#ifndef CF_TUI_LAB_TOOLS_FORM_H
#define CF_TUI_LAB_TOOLS_FORM_H

#include "core/json/json.h"

typedef struct cf_form_field {
    cf_str name, title, description;
    const json_t *schema;
    bool is_required;
} cf_form_field;

size_t cf_form_n(const json_t *schema);
/* Field i; false past the last. */
bool cf_form_field_at(const json_t *schema, size_t i, cf_form_field *out);

/* Appends what may be typed: "yes or no", "one of red, green", "a number";
 * and the default. */
void cf_form_hint(const cf_form_field *field, cf_buf *out);

/*
 * The value of a typed text, a new reference.  An empty text is the default;
 * *out is NULL where there is none and none is needed.  CF_EINVAL with the
 * reason.
 */
CF_MUST_USE cf_status cf_form_value(const cf_form_field *field, cf_str text, json_t **out,
                                    cf_error *err);

#endif
