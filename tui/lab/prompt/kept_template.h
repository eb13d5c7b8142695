/*
 * kept_template.h - the templates in the history, by name.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_PROMPT_KEPT_TEMPLATE_H
#define CF_TUI_LAB_PROMPT_KEPT_TEMPLATE_H

#include "core/base/buf.h"
#include "core/base/status.h"

typedef struct cf_store cf_store;

/* Appends the source of the newest template that is kept under `name`.
 * `store` may be NULL.  CF_ENOTFOUND, and what reading may give. */
CF_MUST_USE cf_status cf_kept_template(cf_buf *out, cf_store *store, const char *name,
                                       cf_error *err);

/* Appends the names of the kept templates, each once, a space before each.
 * `store` may be NULL.  Errors as above. */
CF_MUST_USE cf_status cf_kept_template_names(cf_buf *out, cf_store *store, cf_error *err);

#endif
