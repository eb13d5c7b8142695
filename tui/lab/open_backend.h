/*
 * open_backend.h - the engine that -m names, of whichever kind, with the
 * template that -t names or the model brings.
 */
#ifndef CF_TUI_LAB_OPEN_BACKEND_H
#define CF_TUI_LAB_OPEN_BACKEND_H

#include "core/api/conversation.h"
#include "tui/cli/cli.h"

typedef struct cf_template cf_template;

typedef struct cf_cli_backend {
    cf_backend *backend;
    cf_engine *engine; /* NULL: no built-in model */
    cf_template *tpl;  /* NULL: rendered without a template */
    cf_buf source;     /* of the template */
    const char *from;  /* where it came from: a file, a name, "model" */
    cf_tool_family family;
    const char *family_why;
    cf_role_map roles;
} cf_cli_backend;

/*
 * Opens what cli->model names: a .gguf file, an http(s) address (key in
 * $CONFAB_API_KEY), or script:FILE.  `family` NULL: found out from template
 * and metadata.
 */
CF_MUST_USE cf_status cf_cli_open_backend(cf_cli_backend *out,
                                          const cf_cli *cli, const char *family,
                                          cf_error *err);
/* For the workbench without a model: what was said before can be read, and
 * prompts can be rendered (with -t, else as ChatML). */
CF_MUST_USE cf_status cf_cli_open_without_model(cf_cli_backend *out,
                                                const cf_cli *cli,
                                                cf_error *err);
void cf_cli_close_backend(cf_cli_backend *b);

/* Appends the source that a person named: a file, else a template that came
 * with confab.  CF_ENOTFOUND, CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_cli_read_template(cf_buf *out, const char *name,
                                           cf_error *err);

/* Appends the source that -t names, or else `engine`'s own (NULL: it has
 * none), and says in *from where it came from: a file, a name, "model".
 * Without either, nothing is appended and *from is "none".  Errors as above. */
CF_MUST_USE cf_status cf_cli_template_source(cf_buf *out, const char **from,
                                             const cf_cli *cli,
                                             const cf_engine *engine,
                                             cf_error *err);

#endif
