/*
 * unpack_avx512.h - weights of a block as unsigned 8-bit codes.
 *
 * A weight is scale * (code - bias), plus a minimum in some types; the bias is
 * 128 for Q8_0, IQ4_NL and IQ4_XS, 8 for Q4_0, 16 for Q5_0, 32 for Q6_K, 4
 * for Q3_K and 0 for the rest.
 * Private to the AVX-512 files; the layouts are those of dtype.c.
 */
#ifndef CF_CORE_KERNEL_UNPACK_AVX512_H
#define CF_CORE_KERNEL_UNPACK_AVX512_H

#include <immintrin.h>
#include <string.h>

#include "core/kernel/half.h"
#include "core/kernel/kernel.h"

static inline float half_at(const unsigned char *p)
{
    uint16_t h;
    memcpy(&h, p, sizeof h);
    return _cvtsh_ss(h);
}

static inline __m256i load_32(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline void store_32(void *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

/* 16 bytes of nibbles: the low ones in bytes 0..15, the high in 16..31. */
static inline __m256i nibbles(const unsigned char *p)
{
    __m128i q = _mm_loadu_si128((const __m128i *)p);
    __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(q),
                                        _mm_srli_epi16(q, 4), 1);
    return _mm256_and_si256(v, _mm256_set1_epi8(15));
}

/* v plus `add` in the bytes whose bit is set. */
static inline __m256i add_bits(__m256i v, uint32_t bits, char add)
{
    return _mm256_mask_add_epi8(v, bits, v, _mm256_set1_epi8(add));
}

/* The IQ4 table, each value plus 128, in both halves. */
static inline __m256i iq4_table(void)
{
    __m128i t = _mm_loadu_si128((const __m128i *)cf_iq4_values);
    return _mm256_broadcastsi128_si256(
        _mm_xor_si128(t, _mm_set1_epi8((char)0x80)));
}

/* The 32 codes of one block of a 32-weight type. */
static inline __m256i block_codes(cf_dtype type, const unsigned char *b)
{
    uint32_t bits;
    switch ((unsigned)type) {
    case CF_Q8_0:
        return _mm256_xor_si256(load_32(b + 2), _mm256_set1_epi8((char)0x80));
    case CF_Q4_0:
        return nibbles(b + 2);
    case CF_Q4_1:
        return nibbles(b + 4);
    case CF_Q5_0:
        memcpy(&bits, b + 2, sizeof bits);
        return add_bits(nibbles(b + 6), bits, 16);
    case CF_Q5_1:
        memcpy(&bits, b + 4, sizeof bits);
        return add_bits(nibbles(b + 8), bits, 16);
    default: /* CF_IQ4_NL */
        return _mm256_shuffle_epi8(iq4_table(), nibbles(b + 2));
    }
}

static inline void codes_q2_k(uint8_t *out, const unsigned char *b)
{
    const __m256i three = _mm256_set1_epi8(3);
    for (int h = 0; h < 2; h++) {
        __m256i q = load_32(b + 16 + 32 * h);
        for (int j = 0; j < 4; j++) {
            store_32(out + 128 * h + 32 * j,
                     _mm256_and_si256(_mm256_srli_epi16(q, 2 * j), three));
        }
    }
}

static inline void codes_q3_k(uint8_t *out, const unsigned char *b)
{
    const __m256i three = _mm256_set1_epi8(3);
    __m256i high = load_32(b);
    for (int h = 0; h < 2; h++) {
        __m256i q = load_32(b + 32 + 32 * h);
        for (int j = 0; j < 4; j++) {
            __m256i v = _mm256_and_si256(_mm256_srli_epi16(q, 2 * j), three);
            __m256i bit = _mm256_set1_epi8((char)(1 << (4 * h + j)));
            store_32(out + 128 * h + 32 * j,
                     add_bits(v, _mm256_test_epi8_mask(high, bit), 4));
        }
    }
}

static inline void codes_q4_k(uint8_t *out, const unsigned char *b)
{
    const __m256i low = _mm256_set1_epi8(15);
    for (int j = 0; j < 4; j++) {
        __m256i q = load_32(b + 16 + 32 * j);
        store_32(out + 64 * j, _mm256_and_si256(q, low));
        store_32(out + 64 * j + 32,
                 _mm256_and_si256(_mm256_srli_epi16(q, 4), low));
    }
}

static inline void codes_q5_k(uint8_t *out, const unsigned char *b)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i high = load_32(b + 16);
    for (int j = 0; j < 4; j++) {
        __m256i q = load_32(b + 48 + 32 * j);
        __m256i bit0 = _mm256_set1_epi8((char)(1 << (2 * j)));
        __m256i bit1 = _mm256_set1_epi8((char)(2 << (2 * j)));
        __m256i hi = _mm256_and_si256(_mm256_srli_epi16(q, 4), low);
        store_32(out + 64 * j, add_bits(_mm256_and_si256(q, low),
                                        _mm256_test_epi8_mask(high, bit0), 16));
        store_32(out + 64 * j + 32,
                 add_bits(hi, _mm256_test_epi8_mask(high, bit1), 16));
    }
}

static inline void codes_q6_k(uint8_t *out, const unsigned char *b)
{
    const __m256i low = _mm256_set1_epi8(15), two = _mm256_set1_epi8(0x30);
    for (int h = 0; h < 2; h++) {
        __m256i high = load_32(b + 128 + 32 * h);
        __m256i q0 = load_32(b + 64 * h), q1 = load_32(b + 64 * h + 32);
        __m256i h0 = _mm256_and_si256(_mm256_slli_epi16(high, 4), two);
        __m256i h1 = _mm256_and_si256(_mm256_slli_epi16(high, 2), two);
        __m256i h2 = _mm256_and_si256(high, two);
        __m256i h3 = _mm256_and_si256(_mm256_srli_epi16(high, 2), two);
        __m256i q2 = _mm256_srli_epi16(q0, 4), q3 = _mm256_srli_epi16(q1, 4);
        uint8_t *o = out + 128 * h;
        store_32(o, _mm256_or_si256(_mm256_and_si256(q0, low), h0));
        store_32(o + 32, _mm256_or_si256(_mm256_and_si256(q1, low), h1));
        store_32(o + 64, _mm256_or_si256(_mm256_and_si256(q2, low), h2));
        store_32(o + 96, _mm256_or_si256(_mm256_and_si256(q3, low), h3));
    }
}

static inline void codes_iq4_xs(uint8_t *out, const unsigned char *b)
{
    __m256i table = iq4_table();
    for (int s = 0; s < 8; s++) {
        store_32(out + 32 * s,
                 _mm256_shuffle_epi8(table, nibbles(b + 8 + 16 * s)));
    }
}

/* Scales[8] and minima[8] of Q4_K and Q5_K from their 12 bytes: scales in
 * the low eight bytes of the result, minima in the high eight. */
static inline __m128i q4_k_scales(const unsigned char *s)
{
    uint32_t a, b, c;
    memcpy(&a, s, 4);
    memcpy(&b, s + 4, 4);
    memcpy(&c, s + 8, 4);
    uint32_t sc1 = (c & 0x0F0F0F0F) | (a >> 2 & 0x30303030);
    uint32_t mn1 = (c >> 4 & 0x0F0F0F0F) | (b >> 2 & 0x30303030);
    return _mm_set_epi32((int)mn1, (int)(b & 0x3F3F3F3F), (int)sc1,
                         (int)(a & 0x3F3F3F3F));
}

/* The sixteen scales of Q3_K, signed bytes. */
static inline __m128i q3_k_scales(const unsigned char *s)
{
    uint32_t a, b, c;
    memcpy(&a, s, 4);
    memcpy(&b, s + 4, 4);
    memcpy(&c, s + 8, 4);
    const uint32_t low = 0x0F0F0F0F, two = 0x30303030;
    __m128i v = _mm_set_epi32((int)((b >> 4 & low) | (c >> 2 & two)),
                              (int)((a >> 4 & low) | (c & two)),
                              (int)((b & low) | (c << 2 & two)),
                              (int)((a & low) | (c << 4 & two)));
    return _mm_sub_epi8(v, _mm_set1_epi8(32));
}

/* The eight scales of IQ4_XS, signed bytes in the low half. */
static inline __m128i iq4_xs_scales(const unsigned char *b)
{
    int high = b[2] | b[3] << 8;
    alignas(16) int8_t s[16] = {0};
    for (int i = 0; i < 8; i++) {
        int lo = b[4 + i / 2] >> (4 * (i % 2)) & 15;
        s[i] = (int8_t)((lo | (high >> (2 * i) & 3) << 4) - 32);
    }
    return _mm_load_si128((const __m128i *)s);
}

#endif
