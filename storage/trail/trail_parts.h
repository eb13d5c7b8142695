/*
 * trail_parts.h - messages in parts, as all interfaces have them.
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_PARTS_H
#define CF_STORAGE_TRAIL_TRAIL_PARTS_H

#include "storage/trail/trail_build.h"

typedef enum trail_part_kind {
    TRAIL_PART_TEXT,
    TRAIL_PART_THINKING,
    TRAIL_PART_CALL,
    TRAIL_PART_NOTHING /* nothing, or a picture */
} trail_part_kind;

/* What a type of parts is; the type "" stands for all that have the field. */
typedef struct trail_part {
    const char *type; /* NULL ends a list */
    trail_part_kind kind;
    const char *field; /* of its text, or of a call's arguments */
} trail_part;

/* Texts that come in pieces: an empty piece counts, too. */
typedef struct trail_texts {
    cf_buf text, thinking;
    bool has_text, has_thinking;
} trail_texts;

#define TRAIL_TEXTS_INIT                       \
    {                                          \
        CF_BUF_INIT, CF_BUF_INIT, false, false \
    }

void trail_join(trail_texts *t, trail_part_kind kind, cf_str piece);
/* What was joined is the message's. */
void trail_joined(trail_reader *r, trail_texts *t, cf_trail_message *m);

/* Adds a part: text and thinking to `t`, calls and pictures to `m`.  False: it
 * is of none of `kinds`. */
bool trail_part_read(trail_reader *r, trail_texts *t, cf_trail_message *m, const json_t *part,
                     const trail_part *kinds);
/* A content that is a string or a list of parts; those of other kinds are
 * passed over. */
void trail_content(trail_reader *r, cf_trail_message *m, const json_t *content,
                   const trail_part *kinds);
bool trail_is_image(const json_t *part);

/* ---- Gemini's interface -------------------------------------------------- */

/* Text, thoughts, pictures and calls of `parts` (a string, a part or a list)
 * into `m`. */
void trail_parts_read(trail_reader *r, cf_trail_message *m, const json_t *parts);

/* The parts' functionResponse at *i or after it, *i after it; NULL: no more. */
const json_t *trail_parts_response(const json_t *parts, size_t *i);

/* A result's text, error and pictures into a tool message. */
void trail_parts_result(trail_reader *r, cf_trail_message *m, const json_t *response);

#endif
