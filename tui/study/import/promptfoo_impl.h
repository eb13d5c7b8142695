/*
 * promptfoo_impl.h - shared by promptfoo*.c.
 *
 * Threads:  one thread.
 * Memory:   as promptfoo.h says; JSON values that are returned are new
 *           references.
 */
#ifndef CF_TUI_STUDY_IMPORT_PROMPTFOO_IMPL_H
#define CF_TUI_STUDY_IMPORT_PROMPTFOO_IMPL_H

#include "tui/study/import/promptfoo.h"
#include "tui/study/import/yaml_read.h"

typedef struct cf_promptfoo {
    cf_plan__reader *r;
    const json_t *root;     /* the configuration */
    const cf_yaml *config;  /* its lines */
    const json_t *defaults; /* its defaultTest; NULL: none */
    json_t *wording;        /* a list: texts, and lists of messages */
    size_t n_bytes;         /* of prompts, rendered */

    /* The file at hand, for messages. */
    const char *name;
    const cf_yaml *doc; /* NULL: not YAML */
    size_t line;        /* where `doc` knows none; 0: not known */
} cf_promptfoo;

/* Fails with "FILE:LINE: ..." for a value of the file at hand. */
cf_status cf_promptfoo__fail(const cf_promptfoo *f, const json_t *at, cf_status st, cf_error *err,
                             const char *fmt, ...) CF_PRINTF(5, 6);

/* Fails for the first key of the mapping that is not in the list, which NULL
 * ends. */
CF_MUST_USE cf_status cf_promptfoo__keys(const cf_promptfoo *f, const json_t *v,
                                         const char *const *known, cf_error *err);

/* ---- promptfoo_text.c --------------------------------------------------- */

/* Appends the text rendered with the variables. */
CF_MUST_USE cf_status cf_promptfoo__render(cf_str text, const json_t *vars, cf_buf *out,
                                           cf_error *err);

/* The value with every text in it rendered. */
CF_MUST_USE cf_status cf_promptfoo__render_all(json_t **out, const json_t *v, const json_t *vars,
                                               cf_error *err);

/* A text, number or truth value as text, not rendered; false: another value.
 */
bool cf_promptfoo__text_of(const json_t *v, cf_buf *out);

/* Whether the text is "file://...", and then where that file is; NULL in *path
 * when memory ran out. */
bool cf_promptfoo__is_file(const cf_promptfoo *f, cf_str text, const char **path);

/* Whether a name ends so, as in ".json". */
bool cf_promptfoo__ends(const char *name, const char *end);

/* A file of JSON or YAML. */
CF_MUST_USE cf_status cf_promptfoo__load(json_t **out, const char *path, cf_error *err);

/* ---- promptfoo_prompts.c ------------------------------------------------ */

/* The configuration's prompts as wordings: their names in the plan, the rest
 * in f->wording. */
CF_MUST_USE cf_status cf_promptfoo__prompts(cf_promptfoo *f, cf_error *err);

/* The messages that a text writes as JSON; NULL: it writes none. */
json_t *cf_promptfoo__messages_in(cf_str text);

/* The beginning of a text in one line, as a name.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_promptfoo__name(cf_promptfoo *f, cf_str text, cf_str *out, cf_error *err);

/* ---- promptfoo_provider.c ----------------------------------------------- */

/* A provider: "openai:chat:NAME", an address, a model of confab's, or a
 * mapping with id, label and config. */
CF_MUST_USE cf_status cf_promptfoo__provider(cf_promptfoo *f, const json_t *v, cf_sweep_model *out,
                                             cf_error *err);

/* ---- promptfoo_assert.c ------------------------------------------------- */

/* The assertions of defaultTest and of the test, for the prompt that is to be
 * the plan's next. */
CF_MUST_USE cf_status cf_promptfoo__asserts(cf_promptfoo *f, const json_t *test, const json_t *vars,
                                            cf_sweep_item *item, cf_error *err);

#endif
