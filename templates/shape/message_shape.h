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

#include "core/api/conversation.h"
#include "core/api/message_form.h"
#include "core/api/tool.h"
#include "templates/template_caps.h"

enum { CF_SHAPE_TEXT = UINT32_MAX }; /* the content is one string */

/* Bytes of a shaped message's content, or one part of it, and where they are
 * from. */
typedef struct cf_shape_piece {
    uint32_t message;  /* index among the shaped messages */
    uint32_t part;     /* of the list that its content is; CF_SHAPE_TEXT */
    uint32_t from, to; /* bytes of that text */
    uint32_t origin;   /* the message they belong to, as it was given */
    cf_str path;       /* in that message */
    bool is_copy;      /* the bytes are those of the text at `path`: */
    uint32_t src;      /* where they start in it */
    bool is_tools;     /* declarations: of no message */
    const char *why;   /* "added by confab: ..."; NULL: the message's own */
} cf_shape_piece;

/* A member of a shaped message that had another place. */
typedef struct cf_shape_move {
    uint32_t message;
    cf_str to, from; /* paths in the shaped message, and in the given one */
} cf_shape_move;

typedef struct cf_shape {
    json_t *context;    /* the shaped one */
    cf_buf origins;     /* uint32_t for each shaped message: as it was given */
    cf_buf pieces;      /* cf_shape_piece */
    cf_buf moves;       /* cf_shape_move */
    cf_tool_set *tools; /* as they were given; NULL: none */
    cf_formed formed;   /* what paths are borrowed from */
    cf_arena arena;
} cf_shape;

/* Whether anything of the context needs a look at the template's
 * capabilities. */
bool cf_shape_is_needed(const json_t *context);

/* Makes out->context; `roles` are the names that the template has for roles;
 * released by cf_shape_deinit().  CF_ENOMEM. */
CF_MUST_USE cf_status cf_shape_init(cf_shape *out, const json_t *context,
                                    const cf_template_caps *caps, const cf_role_map *roles,
                                    cf_tool_family family, cf_error *err);
void cf_shape_deinit(cf_shape *s);

/* Spans of a prompt of the shaped context, as spans of the original one.  The
 * path of what was added says why: calls and results are spans of their
 * message, declarations of a variable. */
CF_MUST_USE cf_status cf_shape_spans(const cf_shape *s, cf_prompt *prompt, cf_arena *arena,
                                     cf_error *err);

#endif
