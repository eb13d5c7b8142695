/*
 * message_shape.h - messages as a template can read them.
 *
 * Place in the flow:  context --> [shape] --> template --> prompt --> spans
 * put right for the context as it was.
 * Knows: what a template can write (template_caps.h), how a family of models
 * writes calls.  Does not know: conversations, engines.
 */
#ifndef CF_TEMPLATES_SHAPE_MESSAGE_SHAPE_H
#define CF_TEMPLATES_SHAPE_MESSAGE_SHAPE_H

#include "core/api/renderer.h"
#include "core/api/tool.h"
#include "templates/template_caps.h"

enum { CF_SHAPE_ADDED_MAX = 64 };

/* Text that was put into a message's content. */
typedef struct cf_shape_added {
    uint32_t message;  /* index among the shaped messages */
    uint32_t from, to; /* bytes of its content */
    const char *why;   /* "added: the template writes no tools" */
} cf_shape_added;

typedef struct cf_shape {
    json_t *context;   /* the shaped one */
    uint32_t n_before; /* messages put before the first */
    cf_shape_added added[CF_SHAPE_ADDED_MAX];
    size_t n_added;
} cf_shape;

/* Whether anything of the context needs a look at the template's
 * capabilities. */
bool cf_shape_is_needed(const json_t *context);

/* Makes out->context; released by cf_shape_deinit().  CF_ENOMEM. */
CF_MUST_USE cf_status cf_shape_init(cf_shape *out, const json_t *context,
                                    const cf_template_caps *caps,
                                    cf_tool_family family, cf_error *err);
void cf_shape_deinit(cf_shape *s);

/* Spans of a prompt of the shaped context, as spans of the original one; what
 * was added is a variable whose path says why. */
CF_MUST_USE cf_status cf_shape_spans(const cf_shape *s, cf_prompt *prompt,
                                     cf_arena *arena, cf_error *err);

#endif
