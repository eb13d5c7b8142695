/*
 * trail_parts.h - messages in parts as Gemini's interface has them, which
 * Gemini CLI and Qwen Code write.
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_PARTS_H
#define CF_STORAGE_TRAIL_TRAIL_PARTS_H

#include "storage/trail/trail_build.h"

/* Text, thoughts, pictures and calls of `parts` (a string, a part or a list)
 * into `m`. */
void trail_parts_read(trail_reader *r, cf_trail_message *m, const json_t *parts);

/* The parts' functionResponse at *i or after it, *i after it; NULL: no more. */
const json_t *trail_parts_response(const json_t *parts, size_t *i);
bool trail_parts_has_text(const json_t *parts);

/* A result's text, error and pictures into a tool message. */
void trail_parts_result(trail_reader *r, cf_trail_message *m, const json_t *response);

#endif
