/*
 * builtin.h - the chat templates that come with confab, by name.
 *
 * Place in the flow:  [name] --> source --> template.h compiles it.
 * Knows: the files of templates/builtin, which are part of the program.
 * Does not know: what is in them.
 *
 * Threads:  constant data.
 * Memory:   needs none; sources are borrowed for ever.
 */
#ifndef CF_TEMPLATES_BUILTIN_H
#define CF_TEMPLATES_BUILTIN_H

#include "core/base/decls.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

/* The source of "qwen3", "gemma3" ...; {NULL, 0} for an unknown name. */
cf_str cf_template_builtin(const char *name);

/* The i-th name (0, 1 ...), in alphabetical order; NULL past the last. */
const char *cf_template_builtin_name(size_t i);

CF_END_DECLS

#endif
