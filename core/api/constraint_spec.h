/*
 * constraint_spec.h - a constraint as JSON, as the history keeps it with a
 * reply, and as the user writes it:
 *
 *   {"schema":S}       schema FILE       a JSON Schema
 *   {"regex":"R"}      regex PATTERN     the whole reply matches it
 *   {"grammar":"G"}    grammar FILE      docs/constraints.md has the notation
 *   {"choices":[...]}  choice A|B        one of the texts
 *   {"json":true}      json              an object or an array
 *   {"tools":"calls","family":"hermes"}
 *                      tools [MODE]      calls of the declared tools; MODE is
 *                                        calls, text-and or text-until;
 *                                        with "schema":S beside it calls or
 *                                        a value of S
 *
 * Place in the flow:  options, the history, ":constrain" --> [spec] -->
 *                     grammar of constraint.h.
 * Knows: the kinds of constraints, their files.  Does not know: vocabularies,
 * replies.
 *
 * Threads:  pure functions.
 * Memory:   specs are counted by jansson, grammars freed by the caller.
 */
#ifndef CF_CORE_API_CONSTRAINT_SPEC_H
#define CF_CORE_API_CONSTRAINT_SPEC_H

#include "core/api/constraint.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

/* Compiles a spec.  `tools` (may be NULL) is for {"tools":...}.  CF_EINVAL
 * for what is not a spec; else as the functions of constraint.h. */
CF_MUST_USE cf_status cf_constraint_spec_compile(cf_grammar **out, const json_t *spec,
                                                 const cf_tool_set *tools, cf_error *err);

/* The spec that "KIND ARGUMENT" means; files are read.  CF_EINVAL names the
 * kinds; CF_ENOTFOUND, CF_EIO, CF_EFORMAT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_constraint_spec_parse(json_t **out, const char *text,
                                               cf_tool_family family, cf_error *err);

/* The spec of a file's text: `kind` is "schema" or "grammar". */
CF_MUST_USE cf_status cf_constraint_spec_file(json_t **out, const char *kind, const char *path,
                                              cf_error *err);

/* Describes it in a few words: "schema", "regex [0-9]+", "tools: calls". */
void cf_constraint_spec_label(const json_t *spec, cf_buf *out);

/* The i-th kind, as it is written; NULL past the last. */
const char *cf_constraint_kind(size_t i);

CF_END_DECLS

#endif
