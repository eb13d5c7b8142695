/*
 * open_backend.h - engine, template and tool family joined into what answers.
 *
 * Threads:  any.
 * Memory:   cf_opened owns all of it, until cf_opened_close().
 */
#ifndef CF_TUI_LAB_OPEN_BACKEND_H
#define CF_TUI_LAB_OPEN_BACKEND_H

#include "core/api/conversation.h"
#include "tui/lab/open_engine.h"

typedef struct cf_template cf_template;

typedef struct cf_opened {
    cf_backend *backend;
    cf_engine *engine; /* NULL: no built-in model */
    cf_template *tpl;  /* NULL: rendered without a template */
    cf_buf source;     /* of the template */
    const char *from;  /* where it came from: a file, a name, "model" */
    cf_tool_family family;
    const char *family_why;
    cf_role_map roles;
    bool as_is; /* of the options */
} cf_opened;

/*
 * Opens the model, server (key in $CONFAB_API_KEY) or script that the options
 * name.  `family` NULL: detected from template and metadata.
 */
CF_MUST_USE cf_status cf_open_backend(cf_opened *out, const cf_open_options *o,
                                      const char *family, cf_error *err);
/* For the workbench without a model: saved conversations can be read, and
 * prompts can be rendered (with the template given, else as ChatML). */
CF_MUST_USE cf_status cf_open_without_model(cf_opened *out,
                                            const cf_open_options *o,
                                            cf_error *err);
void cf_opened_close(cf_opened *b);

/* Appends the source of a template file, or of the built-in template of that
 * name.  CF_ENOTFOUND, CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_open_template_text(cf_buf *out, const char *name,
                                            cf_error *err);

/* Appends the source that the options name, or else `engine`'s own (NULL: it
 * has none), and says in *from where it came from: a file, a name, "model".
 * Without either, nothing is appended and *from is "none".  Errors as above. */
CF_MUST_USE cf_status cf_open_template_source(cf_buf *out, const char **from,
                                              const cf_open_options *o,
                                              const cf_engine *engine,
                                              cf_error *err);

#endif
