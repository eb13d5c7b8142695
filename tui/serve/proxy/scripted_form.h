/*
 * scripted_form.h - a reply of a script as the answer of an interface.
 */
#ifndef CF_TUI_SERVE_SCRIPTED_FORM_H
#define CF_TUI_SERVE_SCRIPTED_FORM_H

#include "core/base/json.h"
#include "core/wire/wire.h"

/* Whether answers of this interface can be written. */
bool cf_scripted__writes(cf_api api);

/* Appends the whole answer, or all events of a stream.  `id` is a part of
 * every id in it.  A failure is the buffer's. */
void cf_scripted__write(cf_buf *out, cf_api api, bool is_stream, const json_t *reply,
                        const char *model, const char *id);

/* The type of that answer. */
const char *cf_scripted__type(cf_api api, bool is_stream);

#endif
