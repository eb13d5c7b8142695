/*
 * cached.c - stores and reads single positions of a cache block.
 */
#include "core/kernel/cached.h"

#include <string.h>

#include "core/kernel/half.h"
#include "core/kernel/quantise.h"

enum { PIECE = 64, BLOCK_MAX = 34 };

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t cf_cached_bytes(cf_dtype type, size_t size)
{
    if (!cf_cached_is_rounded(type)) {
        return size * (type == CF_F16 ? sizeof(uint16_t) : sizeof(float));
    }
    return (size + CF_CACHED_GROUP - 1) / CF_CACHED_GROUP *
           (sizeof(uint16_t) + cf_cached_codes(type));
}

/* Where a group's keys begin. */
static size_t group_at(cf_dtype type, size_t c)
{
    return c / CF_CACHED_GROUP * (sizeof(uint16_t) + cf_cached_codes(type)) * CF_KV_BLOCK;
}

/* Rounds the group of x[n] that begins at c. */
static void round_group(cf_dtype type, unsigned char block[BLOCK_MAX], const float *x, size_t n,
                        size_t c)
{
    float group[CF_CACHED_GROUP] = {0};
    memcpy(group, x + c, min_size(n - c, CF_CACHED_GROUP) * sizeof *group);
    cf_quantise(type, block, group, CF_CACHED_GROUP);
}

static void put_rounded_key(cf_dtype type, unsigned char *keys, size_t at, const float *x,
                            size_t size)
{
    unsigned char block[BLOCK_MAX];
    for (size_t c = 0; c < size; c += CF_CACHED_GROUP) {
        unsigned char *group = keys + group_at(type, c);
        round_group(type, block, x, size, c);
        memcpy(group + at * sizeof(uint16_t), block, sizeof(uint16_t));
        group += CF_KV_BLOCK * sizeof(uint16_t);
        for (size_t j = 0; j < cf_cached_codes(type); j++) {
            group[j * CF_KV_BLOCK + at] = block[sizeof(uint16_t) + j];
        }
    }
}

void cf_cached_put_key(const cf_kernels *k, cf_dtype type, void *keys, size_t at, const float *x,
                       size_t size)
{
    uint16_t half[PIECE];
    if (cf_cached_is_rounded(type)) {
        put_rounded_key(type, keys, at, x, size);
        return;
    }
    for (size_t c = 0; c < size; c++) {
        if (type == CF_F32) {
            ((float *)keys)[c * CF_KV_BLOCK + at] = x[c];
            continue;
        }
        if (c % PIECE == 0) {
            k->f32_to_f16(half, x + c, min_size(size - c, PIECE));
        }
        ((uint16_t *)keys)[c * CF_KV_BLOCK + at] = half[c % PIECE];
    }
}

void cf_cached_put_value(const cf_kernels *k, cf_dtype type, void *values, size_t at,
                         const float *x, size_t size)
{
    unsigned char *to = (unsigned char *)values + at * cf_cached_bytes(type, size);
    if (type == CF_F32) {
        memcpy(to, x, size * sizeof *x);
    } else if (type == CF_F16) {
        k->f32_to_f16((uint16_t *)(void *)to, x, size);
    } else {
        for (size_t c = 0; c < size; c += CF_CACHED_GROUP) {
            round_group(type, to, x, size, c);
            to += sizeof(uint16_t) + cf_cached_codes(type);
        }
    }
}

static float half_at(const unsigned char *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return cf_half_to_float(h);
}

/* The code of dimension c in the byte that has it. */
static float code_in(cf_dtype type, unsigned char byte, size_t c)
{
    if (type == CF_Q8_0) {
        return (float)(signed char)byte;
    }
    return (float)((c % CF_CACHED_GROUP < CF_CACHED_GROUP / 2 ? byte & 15 : byte >> 4) - 8);
}

float cf_cached_key(cf_dtype type, const void *keys, size_t at, size_t c)
{
    if (type == CF_F32) {
        return ((const float *)keys)[c * CF_KV_BLOCK + at];
    }
    if (type == CF_F16) {
        return cf_half_to_float(((const uint16_t *)keys)[c * CF_KV_BLOCK + at]);
    }
    const unsigned char *group = (const unsigned char *)keys + group_at(type, c);
    size_t j = c % cf_cached_codes(type);
    return half_at(group + at * sizeof(uint16_t)) *
           code_in(type, group[(sizeof(uint16_t) + j) * CF_KV_BLOCK + at], c);
}

void cf_cached_keys(const cf_kernels *k, cf_dtype type, const void *keys, size_t c, float *out)
{
    if (type == CF_F16) {
        k->f16_to_f32(out, (const uint16_t *)keys + c * CF_KV_BLOCK, CF_KV_BLOCK);
        return;
    }
    for (size_t at = 0; at < CF_KV_BLOCK; at++) {
        out[at] = cf_cached_key(type, keys, at, c);
    }
}

float cf_cached_value(cf_dtype type, const void *values, size_t at, size_t c, size_t size)
{
    const unsigned char *row = (const unsigned char *)values + at * cf_cached_bytes(type, size);
    if (type == CF_F32) {
        return ((const float *)(const void *)row)[c];
    }
    if (type == CF_F16) {
        return half_at(row + c * sizeof(uint16_t));
    }
    const unsigned char *block =
        row + c / CF_CACHED_GROUP * (sizeof(uint16_t) + cf_cached_codes(type));
    return half_at(block) * code_in(type, block[sizeof(uint16_t) + c % cf_cached_codes(type)], c);
}
