/*
 * store_codec.c - LEB128 lists and base64.
 */
#include "storage/db/store_codec.h"

#include <string.h>

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
    *out = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
           (uint64_t)p[3] << 24;
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

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cf_codec__put_base64(cf_buf *b, cf_str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    char *to = cf_buf_reserve(b, (bytes.n + 2) / 3 * 4);
    if (to == NULL) {
        return;
    }
    char *start = to;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        unsigned v = (unsigned)p[i] << 16;
        v |= left > 1 ? (unsigned)p[i + 1] << 8 : 0;
        v |= left > 2 ? (unsigned)p[i + 2] : 0;
        *to++ = alphabet[v >> 18];
        *to++ = alphabet[v >> 12 & 63];
        *to++ = left > 1 ? alphabet[v >> 6 & 63] : '=';
        *to++ = left > 2 ? alphabet[v & 63] : '=';
    }
    b->n += (size_t)(to - start);
    b->p[b->n] = '\0';
}

static int digit_value(char c)
{
    const char *at = c != '\0' ? strchr(alphabet, c) : NULL;
    return at != NULL ? (int)(at - alphabet) : -1;
}

bool cf_codec__get_base64(cf_buf *b, cf_str text)
{
    if (text.n % 4 != 0) {
        return false;
    }
    size_t before = b->n;
    char *to = cf_buf_reserve(b, text.n / 4 * 3);
    if (to == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < text.n; i += 4) {
        const char *q = text.p + i;
        bool is_last = i + 4 == text.n;
        int pad = is_last ? (q[3] == '=') + (q[3] == '=' && q[2] == '=') : 0;
        unsigned v = 0;
        for (int k = 0; k < 4; k++) {
            int d = k >= 4 - pad ? 0 : digit_value(q[k]);
            if (d < 0) {
                return false;
            }
            v = v << 6 | (unsigned)d;
        }
        /* Spare bits must be zero, or another text would decode the same. */
        if ((pad == 1 && (v & 0xFF) != 0) || (pad == 2 && (v & 0xFFFF) != 0)) {
            return false;
        }
        to[n++] = (char)(v >> 16);
        if (pad < 2) {
            to[n++] = (char)(v >> 8);
        }
        if (pad < 1) {
            to[n++] = (char)v;
        }
    }
    b->n = before + n;
    b->p[b->n] = '\0';
    return true;
}
