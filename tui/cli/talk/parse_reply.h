/*
 * parse_reply.h - a reply taken apart as a family writes it: thinking first,
 * then text and calls.
 */
#ifndef CF_TUI_CLI_TALK_PARSE_REPLY_H
#define CF_TUI_CLI_TALK_PARSE_REPLY_H

#include "core/api/tool.h"

typedef struct cf_parsed {
    cf_tool_parser *parser;
    const cf_tool_parse *parse; /* of the content; offsets are in it */
    cf_channel_split split;
    cf_buf thinking;
    cf_buf content;
    struct cf_parsed_piece {
        size_t content_off, raw_off;
    } * pieces; /* where the content is in the reply */
    size_t n_pieces, cap_pieces;
} cf_parsed;

/* Parses `raw`, fed in pieces of at most `step` bytes (0: whole) after a
 * first one of `first` bytes (0: as all).  `prefill` is the end of the
 * prompt, which may open the thinking. */
CF_MUST_USE cf_status cf_parsed_init(cf_parsed *out, cf_tool_family family,
                                     const cf_tool_set *tools, cf_str prefill, cf_str raw,
                                     size_t first, size_t step, cf_error *err);
void cf_parsed_deinit(cf_parsed *p);

/* The offset in the reply of byte `off` of the content. */
size_t cf_parsed_offset(const cf_parsed *p, size_t off);

/* Text, thinking, calls and status as members of a JSON object; `is_full`
 * with offsets and segments. */
void cf_parsed_write(cf_buf *out, const cf_parsed *p, bool is_full);

/* confab parse --all: every family over one reply. */
CF_MUST_USE cf_status cf_parse_all(cf_buf *out, const cf_tool_set *tools, cf_str prefill,
                                   cf_str raw, bool is_json, bool *is_read, cf_error *err);

#endif
