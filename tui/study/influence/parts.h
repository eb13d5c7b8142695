/*
 * parts.h - the parts of a context and of its prompt, and a context or prompt
 * without one of them.
 *
 * Threads:  pure functions.
 * Memory:   lists and texts live in the arena given; JSON is a new reference.
 */
#ifndef CF_TUI_STUDY_INFLUENCE_PARTS_H
#define CF_TUI_STUDY_INFLUENCE_PARTS_H

#include "tui/study/influence/influence.h"

typedef struct cf_part_list {
    cf_part *v;
    size_t n, cap;
} cf_part_list;

/* Appends all parts of one kind; the list's array is freed with cf_free().
 * `prompt` is of the whole context.  CF_ELIMIT past CF_INFLUENCE_PARTS_MAX,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_parts_add(cf_part_list *out, cf_part_kind kind,
                                   const cf_study_context *context, const cf_prompt *prompt,
                                   const cf_influence_options *options, cf_arena *arena,
                                   cf_error *err);

/*
 * The context with `instead` in the place of the part; NULL: without it.
 * For sentences and words `instead` is a string, for messages and tools an
 * object.  *out holds new references.  CF_EUNSUPPORTED for a piece.
 */
CF_MUST_USE cf_status cf_parts_change(cf_study_context *out, const cf_study_context *context,
                                      const cf_part *part, const json_t *instead, cf_error *err);
void cf_parts_drop(cf_study_context *changed);

/* The context with the message's content left out, and the message kept. */
CF_MUST_USE cf_status cf_parts_empty(cf_study_context *out, const cf_study_context *context,
                                     size_t message, cf_error *err);

/* The same part in another context: the same kind, number and role.  False
 * when it has none. */
bool cf_parts_find(const cf_study_context *in, const cf_part *part, const cf_study_context *other,
                   const json_t **instead, cf_buf *text);

/* The prompt without what one place of the template wrote. */
CF_MUST_USE cf_status cf_parts_cut_prompt(cf_prompt *out, const cf_prompt *prompt, uint32_t line,
                                          uint32_t col, cf_arena *arena, cf_error *err);

/* Whether byte `off` of the prompt shows the part. */
bool cf_parts_has_byte(const cf_prompt *prompt, const cf_part *part, size_t off);

#endif
