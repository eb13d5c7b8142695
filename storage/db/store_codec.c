/*
 * store_codec.c - encodes and decodes LEB128 lists.
 */
#include "storage/db/store_codec.h"

enum { CODEC_I32 = 0, CODEC_VARINT = 1 };

void cf_codec__put_varint(cf_buf *b, uint64_t v)
{
    while (v >= 0x80) {
        cf_buf_addc(b, (char)(v | 0x80));
        v >>= 7;
    }
    cf_buf_addc(b, (char)v);
}

bool cf_codec__get_varint(uint64_t *out, cf_str in, size_t *at)
{
    uint64_t v = 0;
    for (unsigned shift = 0; *at < in.n && shift < 64; shift += 7) {
        uint64_t byte = (unsigned char)in.p[(*at)++];
        v |= (byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = v;
            return true;
        }
    }
    return false;
}

void cf_codec__put_ids(cf_buf *b, const cf_token *v, size_t n)
{
    if (n != 0 && b->n == 0) {
        cf_buf_addc(b, CODEC_VARINT);
    }
    for (size_t i = 0; i < n; i++) {
        cf_codec__put_varint(b, v[i] >= 0 ? (uint64_t)v[i] : 0);
    }
}

void cf_codec__put_u64s(cf_buf *b, const uint64_t *v, size_t n)
{
    if (n != 0 && b->n == 0) {
        cf_buf_addc(b, CODEC_VARINT);
    }
    for (size_t i = 0; i < n; i++) {
        cf_codec__put_varint(b, v[i]);
    }
}

static bool next_value(uint64_t *out, cf_str in, size_t *at)
{
    if (in.p[0] == CODEC_VARINT) {
        return cf_codec__get_varint(out, in, at);
    }
    if (in.p[0] != CODEC_I32 || in.n - *at < 4) {
        return false;
    }
    const unsigned char *p = (const unsigned char *)in.p + *at;
    *out = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    *at += 4;
    return true;
}

uint64_t *cf_codec__get_u64s(cf_str in, cf_arena *arena, size_t *n)
{
    *n = 0;
    if (in.n < 2) {
        return NULL;
    }
    /* A value has at least one byte. */
    uint64_t *v = cf_arena_calloc(arena, in.n - 1, sizeof *v);
    if (v == NULL) {
        return NULL;
    }
    for (size_t at = 1; at < in.n && next_value(&v[*n], in, &at);) {
        ++*n;
    }
    return v;
}

cf_token *cf_codec__get_ids(cf_str in, cf_arena *arena, size_t *n)
{
    *n = 0;
    if (in.n < 2) {
        return NULL;
    }
    cf_token *v = cf_arena_calloc(arena, in.n - 1, sizeof *v);
    if (v == NULL) {
        return NULL;
    }
    uint64_t id;
    for (size_t at = 1; at < in.n && next_value(&id, in, &at);) {
        if (id > INT32_MAX) {
            break;
        }
        v[(*n)++] = (cf_token)id;
    }
    return v;
}
