/*
 * shape_impl.h - messages on their way through the steps of
 * message_shape.c.
 */
#ifndef CF_TEMPLATES_SHAPE_SHAPE_IMPL_H
#define CF_TEMPLATES_SHAPE_SHAPE_IMPL_H

#include "core/json/json_builder.h"
#include "templates/shape/message_shape.h"

/* A stretch of text of a content, or a part that is none. */
typedef struct cf_shape__segment {
    cf_str text;
    const json_t *part; /* a medium; NULL: text */
    uint32_t origin;    /* as in cf_shape_piece, and so on */
    cf_str path;
    bool is_copy;
    bool is_tools;
    const char *why;
} cf_shape__segment;

typedef struct cf_shape__message {
    json_t *m; /* owned: the message but for its content */
    cf_buf segments;
    cf_buf moves;        /* cf_shape_move */
    const json_t *value; /* the content, where that is no text; NULL */
    cf_str value_path;
    uint32_t origin;
} cf_shape__message;

typedef struct cf_shaper {
    cf_shape *out;
    const cf_template_caps *caps;
    cf_role_map usual; /* to OpenAI's names, which the steps know */
    cf_tool_family family;
    cf_shape__message *v; /* [n] */
    size_t n, cap;
    json_t *ids;     /* of the calls that wait for results, in order */
    json_t *new_ids; /* the same by the ids that they were given with */
    size_t next_id;
    unsigned n_ids;
    size_t item;  /* the first of the formed messages' that was not taken yet */
    json_t *kept; /* what segments borrow */
    cf_jb tree;   /* changes the messages; failed: memory ran out */
} cf_shaper;

/* Whether a template writes calls beside a content that is null, and none
 * beside "". */
static inline bool cf_shape__needs_null(const cf_template_caps *c)
{
    return !cf_cap_is_written(c->tool_calls) && c->null_content == CF_CAP_YES;
}

const cf_shape__segment *cf_shape__segments(const cf_shape__message *m, size_t *n);

/* A new message at the end; NULL: no memory. */
cf_shape__message *cf_shape__add(cf_shaper *s);
void cf_shape__free(cf_shape__message *m);
/* Frees all messages. */
void cf_shape__drop(cf_shaper *s);

/* Says that the member `key` (item `at` of it, or UINT32_MAX) had the path
 * `from`, where that differs. */
void cf_shape__move(cf_shaper *s, cf_shape__message *m, const char *key, uint32_t at, cf_str from);
/* The moves of `from`, which becomes a part of `to`. */
void cf_shape__move_all(cf_shaper *s, const cf_shape__message *from, cf_shape__message *to);

/* Makes the content of message i of its segments, with their pieces. */
void cf_shape__finish(cf_shaper *s, size_t i);

#endif
