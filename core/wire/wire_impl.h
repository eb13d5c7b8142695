/*
 * wire_impl.h - what the readers of requests and of answers share.
 *
 * Threads:  no state.
 * Memory:   each function says whose its result is.
 */
#ifndef CF_CORE_WIRE_WIRE_IMPL_H
#define CF_CORE_WIRE_WIRE_IMPL_H

#include "core/wire/wire.h"

/* A new string; bytes that are not UTF-8 give "". */
json_t *cf_wire__text(cf_str s);

/* Copies at most size - 1 bytes, cut at a character boundary. */
void cf_wire__copy(char *to, size_t size, cf_str from);

/* A list of text parts as one string, any other list as it is.  Takes the
 * list and returns a new reference. */
json_t *cf_wire__plain(json_t *parts);

/* Whether an item of OpenAI's responses with this type is a call. */
bool cf_wire__is_call(cf_str type);

/* Adds an item of OpenAI's responses, of a request or an answer. */
void cf_wire__item(json_t *messages, const json_t *item);

/* The choice with this number, which counts as seen from now on; NULL beyond
 * the most. */
cf_wire_choice *cf_wire__choice(cf_wire_reader *r, int64_t index);

/* Takes one JSON value of a stream, or the whole answer. */
CF_MUST_USE cf_status cf_wire__value(cf_wire_reader *r, const json_t *v, cf_error *err);

#endif
