/*
 * store_codec.h - lists of numbers as bytes.
 *
 * A list is one codec byte and then the values: codec 1 is LEB128 (seven bits
 * a byte, low ones first, the top bit set on all bytes but the last); codec 0
 * is 32 bits little-endian, read but not written.  An empty list has no bytes.
 * docs/store.md has the format.
 */
#ifndef CF_STORAGE_DB_STORE_CODEC_H
#define CF_STORAGE_DB_STORE_CODEC_H

#include "core/api/tokenizer.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/str.h"

void cf_codec__put_varint(cf_buf *b, uint64_t v);
/* Reads at *at and moves it; false at the end or when malformed. */
bool cf_codec__get_varint(uint64_t *out, cf_str in, size_t *at);

/* Values are appended; ids must not be negative. */
void cf_codec__put_ids(cf_buf *b, const cf_token *v, size_t n);
void cf_codec__put_u64s(cf_buf *b, const uint64_t *v, size_t n);

/* Malformed bytes end the list early.  NULL and 0 when empty; out of memory
 * marks the arena. */
cf_token *cf_codec__get_ids(cf_str in, cf_arena *arena, size_t *n);
uint64_t *cf_codec__get_u64s(cf_str in, cf_arena *arena, size_t *n);

#endif
