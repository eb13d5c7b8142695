/*
 * cached.h - how a block of a key/value cache keeps its numbers.
 *
 * A block holds CF_KV_BLOCK positions of one key/value head.  Of type float or
 * half it is
 *   keys    [size, CF_KV_BLOCK]   positions side by side
 *   values  [CF_KV_BLOCK, size]   dimensions side by side
 * Q8_0 and Q4_0 cut what a position has into groups of 32 dimensions, the last
 * one filled up with zeros, and round each as cf_quantise() does: a half d and
 * the bytes of the codes, so that a number is d times a whole number, which a
 * float holds exactly.
 *   keys    for each group: d [CF_KV_BLOCK], then [bytes, CF_KV_BLOCK]: byte j
 *           of the codes of all positions side by side
 *   values  [CF_KV_BLOCK, groups] blocks as in a file
 * A position is rounded when it is stored, by itself, and attention computes
 * with the floats that its numbers stand for: what a Q8_0 cache gives is, bit
 * for bit, what a float cache of the rounded numbers would.
 *
 * Source of the rounding: quantise.h.  Threads may store different positions
 * of a block at the same time.  Private to core.
 */
#ifndef CF_CORE_KERNEL_CACHED_H
#define CF_CORE_KERNEL_CACHED_H

#include "core/kernel/kernel.h"

enum { CF_CACHED_GROUP = 32 };

static inline bool cf_cached_is_rounded(cf_dtype type)
{
    return type == CF_Q8_0 || type == CF_Q4_0;
}

/* Bytes of a group's codes of one position; a half more with its scale. */
static inline size_t cf_cached_codes(cf_dtype type)
{
    return type == CF_Q8_0 ? CF_CACHED_GROUP : CF_CACHED_GROUP / 2;
}

/* Bytes that the `size` keys, or values, of one position take; those of a
 * block are CF_KV_BLOCK times that.  `type` is F32, F16, Q8_0 or Q4_0. */
size_t cf_cached_bytes(cf_dtype type, size_t size);

/* Stores what position `at` of a block has, x[size], with conversions of k. */
void cf_cached_put_key(const cf_kernels *k, cf_dtype type, void *keys, size_t at, const float *x,
                       size_t size);
void cf_cached_put_value(const cf_kernels *k, cf_dtype type, void *values, size_t at,
                         const float *x, size_t size);

/* out[CF_KV_BLOCK]: dimension c of the keys of all positions. */
void cf_cached_keys(const cf_kernels *k, cf_dtype type, const void *keys, size_t c, float *out);

/* Dimension c at one position, of keys and of values of `size` dimensions. */
float cf_cached_key(cf_dtype type, const void *keys, size_t at, size_t c);
float cf_cached_value(cf_dtype type, const void *values, size_t at, size_t c, size_t size);

#endif
