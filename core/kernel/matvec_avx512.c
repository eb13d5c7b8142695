/*
 * matvec_avx512.c - quantised matrices times one row of x, for decoding.
 *
 * Sixteen weight rows at a time, a block of each, straight from the file's
 * layout.  The integer sums of the sixteen blocks are folded by shuffles into
 * one vector with a lane a row; integer sums have no order, so the result is
 * bit for bit what matmul_avx512.c makes from its tiles.
 *
 * The file is read almost as fast as memory gives it; the rows that come next
 * are prefetched line by line while these are worked on.
 */
#include "core/kernel/kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/kernel/avx512.h"
#include "core/kernel/unpack_avx512.inc"

#define INLINE static inline __attribute__((always_inline))

/* Sixteen rows and the row of x that they meet. */
typedef struct strip {
    const unsigned char *row[16];
    __m512i off;   /* bytes from row[0] to each */
    const char *x; /* prepared */
    size_t n_col;
} strip;

static const void *at(const strip *s, size_t off)
{
    return s->x + off;
}

/* Four rows' 16 bytes at off + b: rows j, 4 + j, 8 + j, 12 + j. */
INLINE __m512i load_4x16(const strip *s, int j, size_t off)
{
    __m512i v = _mm512_castsi128_si512(
        _mm_loadu_si128((const __m128i *)(s->row[j] + off)));
    v = _mm512_inserti32x4(
        v, _mm_loadu_si128((const __m128i *)(s->row[4 + j] + off)), 1);
    v = _mm512_inserti32x4(
        v, _mm_loadu_si128((const __m128i *)(s->row[8 + j] + off)), 2);
    return _mm512_inserti32x4(
        v, _mm_loadu_si128((const __m128i *)(s->row[12 + j] + off)), 3);
}

/* a[j] holds row 4 q + j in its 128-bit part q: lane r of the result is the
 * sum of the four lanes of row r. */
INLINE __m512i fold_4(const __m512i a[4])
{
    __m512i t0 = _mm512_add_epi32(_mm512_unpacklo_epi32(a[0], a[1]),
                                  _mm512_unpackhi_epi32(a[0], a[1]));
    __m512i t1 = _mm512_add_epi32(_mm512_unpacklo_epi32(a[2], a[3]),
                                  _mm512_unpackhi_epi32(a[2], a[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(t0, t1),
                            _mm512_unpackhi_epi64(t0, t1));
}

/* Lane r of the result is the sum of the lanes of a[r]. */
INLINE __m512i fold_16(const __m512i a[16])
{
    __m512i f[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        f[i] = fold_4(a + 4 * i);
    }
    __m512i t0 = _mm512_add_epi32(_mm512_shuffle_i32x4(f[0], f[1], 0x88),
                                  _mm512_shuffle_i32x4(f[0], f[1], 0xDD));
    __m512i t1 = _mm512_add_epi32(_mm512_shuffle_i32x4(f[2], f[3], 0x88),
                                  _mm512_shuffle_i32x4(f[2], f[3], 0xDD));
    return _mm512_add_epi32(_mm512_shuffle_i32x4(t0, t1, 0x88),
                            _mm512_shuffle_i32x4(t0, t1, 0xDD));
}

/* The 32 bits at `off` of each row: one or two half floats. */
INLINE __m512i gather(const strip *s, size_t off)
{
    return _mm512_i32gather_epi32(s->off, s->row[0] + off, 1);
}

/* Lanes of halves in the low or the high 16 bits, as floats. */
INLINE __m512 low_half(__m512i v)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
}
INLINE __m512 high_half(__m512i v)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16)));
}

INLINE void prefetch(const unsigned char *p, size_t from, size_t to)
{
    for (size_t i = from / 64 * 64; i < to; i += 64) {
        _mm_prefetch((const char *)p + i, _MM_HINT_T0);
    }
}

/* ---- types of 32-weight blocks ------------------------------------------ */

/* The table of values, or none. */
INLINE __m512i codes_of(cf_dtype type, __m512i nibble, __m512i table)
{
    return type == CF_IQ4_NL ? _mm512_shuffle_epi8(table, nibble) : nibble;
}

/* Sums of the four rows that load_4x16 takes, with the block at off. */
INLINE __m512i dot_4(const strip *s, cf_dtype type, int j, size_t off,
                     const __m512i x[4], __m512i table)
{
    const __m512i low = _mm512_set1_epi8(15);
    __m512i zero = _mm512_setzero_si512(), w0, w1;
    if (type == CF_Q8_0) {
        const __m512i top = _mm512_set1_epi8((char)0x80);
        w0 = _mm512_xor_si512(load_4x16(s, j, off + 2), top);
        w1 = _mm512_xor_si512(load_4x16(s, j, off + 18), top);
    } else {
        size_t skip = type == CF_Q4_1   ? 4
                      : type == CF_Q5_0 ? 6
                      : type == CF_Q5_1 ? 8
                                        : 2;
        __m512i q = load_4x16(s, j, off + skip);
        w0 = _mm512_and_si512(q, low);
        w1 = _mm512_and_si512(_mm512_srli_epi16(q, 4), low);
        if (type == CF_Q5_0 || type == CF_Q5_1) {
            uint32_t h[4];
            for (int i = 0; i < 4; i++) {
                memcpy(&h[i], s->row[4 * i + j] + off + skip - 4, 4);
            }
            uint64_t m0 = (h[0] & 0xFFFF) | (uint64_t)(h[1] & 0xFFFF) << 16 |
                          (uint64_t)(h[2] & 0xFFFF) << 32 |
                          (uint64_t)h[3] << 48;
            uint64_t m1 = h[0] >> 16 | (uint64_t)(h[1] >> 16) << 16 |
                          (uint64_t)(h[2] >> 16) << 32 |
                          (uint64_t)(h[3] >> 16) << 48;
            const __m512i bit = _mm512_set1_epi8(16);
            w0 = _mm512_mask_add_epi8(w0, m0, w0, bit);
            w1 = _mm512_mask_add_epi8(w1, m1, w1, bit);
        }
        w0 = codes_of(type, w0, table);
        w1 = codes_of(type, w1, table);
    }
    __m512i a = _mm512_dpbusd_epi32(zero, w0, x[0]);
    a = _mm512_slli_epi32(_mm512_dpbusd_epi32(a, w1, x[1]), 8);
    return _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(a, w0, x[2]), w1, x[3]);
}

INLINE __m512 strip_blocks(const strip *s, cf_dtype type, size_t bytes,
                           int bias, const unsigned char *next)
{
    const float *d = at(s, cf_xp_d(s->n_col));
    const int32_t *sum = at(s, cf_xp_s(s->n_col, 32));
    bool has_min = type == CF_Q4_1 || type == CF_Q5_1;
    __m512 y = _mm512_setzero_ps();
    __m512i table = _mm512_broadcast_i64x4(iq4_table());
    size_t n = s->n_col / 32;
    for (size_t b = 0; b < n; b++) {
        const __m128i *hi = at(s, 32 * b);
        const __m128i *lo = at(s, cf_xp_lo(s->n_col) + 32 * b);
        __m512i x[4] = {_mm512_broadcast_i32x4(_mm_loadu_si128(hi)),
                        _mm512_broadcast_i32x4(_mm_loadu_si128(hi + 1)),
                        _mm512_broadcast_i32x4(_mm_loadu_si128(lo)),
                        _mm512_broadcast_i32x4(_mm_loadu_si128(lo + 1))};
        __m512i a[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            a[j] = dot_4(s, type, j, b * bytes, x, table);
        }
        prefetch(next, 16 * bytes * b, 16 * bytes * (b + 1));
        __m512i i = fold_4(a);
        if (bias) {
            i = _mm512_sub_epi32(i, _mm512_set1_epi32(bias * sum[b]));
        }
        __m512i h = gather(s, b * bytes);
        __m512 dx = _mm512_set1_ps(d[b]);
        y = _mm512_fmadd_ps(_mm512_mul_ps(low_half(h), dx),
                            _mm512_cvtepi32_ps(i), y);
        if (has_min) {
            y = _mm512_fmadd_ps(high_half(h),
                                _mm512_set1_ps(d[b] * (float)sum[b]), y);
        }
    }
    return y;
}

/* ---- types of 256-weight blocks ----------------------------------------- */

/* What one plane of a 256-column block of x offers: columns in the order that
 * the type's codes need, and sums. */
typedef struct xblock {
    __m512i q[4];
    __m256i s16;
    __m128i s32;
} xblock;

INLINE __m512i pair(const int8_t *a, const int8_t *b)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_32(a)), load_32(b),
                              1);
}

INLINE __m512i four(const int8_t *p)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 32)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 64)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 96)), 3);
}

INLINE xblock load_x(const strip *s, cf_dtype type, size_t b, size_t part)
{
    const int8_t *q = at(s, part * cf_xp_lo(s->n_col) + 256 * b);
    const int16_t *s16 = at(s, cf_xp_s16(s->n_col, part));
    const int16_t *s32 = at(s, cf_xp_s32(s->n_col, part));
    xblock x;
    x.s16 = load_32(s16 + 16 * b);
    x.s32 = _mm_loadu_si128((const __m128i *)(s32 + 8 * b));
    if (type == CF_Q4_K || type == CF_Q5_K) {
        /* low nibbles of 64 bytes, then the high ones */
        x.q[0] = pair(q, q + 64);
        x.q[1] = pair(q + 32, q + 96);
        x.q[2] = pair(q + 128, q + 192);
        x.q[3] = pair(q + 160, q + 224);
    } else if (type == CF_IQ4_XS) {
        x.q[0] = four(q);
        x.q[1] = four(q + 16);
        x.q[2] = four(q + 128);
        x.q[3] = four(q + 144);
    } else {
        for (int i = 0; i < 4; i++) {
            x.q[i] = _mm512_loadu_si512(q + 64 * i);
        }
    }
    return x;
}

/* The integer sums of a row's block with each plane of x: to be added over the
 * lanes.  m gets the sums of minima times sums of x, likewise, where the type
 * has minima. */
typedef struct sums {
    __m512i part[2];
    __m128i m[2];
} sums;

INLINE sums dot_q45_k(bool five, const unsigned char *b, const xblock x[2])
{
    const __m512i low = _mm512_set1_epi8(15), bit5 = _mm512_set1_epi8(16);
    const __m512i zero = _mm512_setzero_si512();
    const unsigned char *q = b + (five ? 48 : 16);
    __m512i q0 = _mm512_loadu_si512(q), q1 = _mm512_loadu_si512(q + 64);
    __m512i w[4] = {_mm512_and_si512(q0, low),
                    _mm512_and_si512(_mm512_srli_epi16(q0, 4), low),
                    _mm512_and_si512(q1, low),
                    _mm512_and_si512(_mm512_srli_epi16(q1, 4), low)};
    __m128i s = q4_k_scales(b + 4);
    __m128i min = _mm_cvtepu8_epi16(_mm_srli_si128(s, 8));
    __m512i s4 = _mm512_broadcast_i32x4(s);
    __m512i high = five ? _mm512_broadcast_i64x4(load_32(b + 16)) : zero;
    sums out = {{zero, zero},
                {_mm_madd_epi16(min, x[0].s32), _mm_madd_epi16(min, x[1].s32)}};
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        /* sub-blocks 0 and 2, 1 and 3, 4 and 6, 5 and 7 */
        int s0 = i / 2 * 4 + i % 2;
        if (five) {
            __m512i bits =
                _mm512_mask_blend_epi64(0xF0, _mm512_set1_epi8((char)(1 << s0)),
                                        _mm512_set1_epi8((char)(4 << s0)));
            w[i] = _mm512_mask_add_epi8(w[i], _mm512_test_epi8_mask(high, bits),
                                        w[i], bit5);
        }
        /* the scale in the low byte of each lane, the rest zero */
        __m512i pick = _mm512_mask_blend_epi64(
            0xF0, _mm512_set1_epi32((int)0x80808000 | s0),
            _mm512_set1_epi32((int)0x80808000 | (s0 + 2)));
        __m512i scale = _mm512_shuffle_epi8(s4, pick);
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            __m512i p = _mm512_dpbusd_epi32(zero, w[i], x[j].q[i]);
            out.part[j] = _mm512_dpwssd_epi32(out.part[j], p, scale);
        }
    }
    return out;
}

/* Scales 4 i .. 4 i + 3, four lanes each, in the low half of a lane. */
INLINE __m512i spread(__m256i scales, int i)
{
    const __m512i lane =
        _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    return _mm512_maskz_permutexvar_epi16(
        0x55555555, _mm512_add_epi32(lane, _mm512_set1_epi32(4 * i)),
        _mm512_castsi256_si512(scales));
}

/* Codes of the four 64-column parts, scales of 16 columns each:
 * sum of scale * (code - bias) * x. */
INLINE sums dot_sub16(const __m512i w[4], const xblock x[2], __m256i scales,
                      int bias)
{
    const __m512i zero = _mm512_setzero_si512();
    sums out = {{zero, zero}, {_mm_setzero_si128(), _mm_setzero_si128()}};
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i scale = spread(scales, i);
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            __m512i p = _mm512_dpbusd_epi32(zero, w[i], x[j].q[i]);
            out.part[j] = _mm512_dpwssd_epi32(out.part[j], p, scale);
        }
    }
#pragma GCC unroll 2
    for (int j = 0; bias && j < 2; j++) {
        __m256i c = _mm256_madd_epi16(scales, x[j].s16);
        c = _mm256_mullo_epi32(c, _mm256_set1_epi32(bias));
        out.part[j] = _mm512_sub_epi32(out.part[j], _mm512_zextsi256_si512(c));
    }
    return out;
}

INLINE sums dot_q6_k(const unsigned char *b, const xblock x[2])
{
    const __m512i low = _mm512_set1_epi8(15), two = _mm512_set1_epi8(0x30);
    const __m512i up = _mm512_mask_blend_epi64(0xF0, _mm512_set1_epi16(4),
                                               _mm512_set1_epi16(2));
    const __m512i down = _mm512_mask_blend_epi64(0xF0, _mm512_set1_epi16(0),
                                                 _mm512_set1_epi16(2));
    __m512i w[4];
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        __m512i q = _mm512_loadu_si512(b + 64 * h);
        __m512i high = _mm512_broadcast_i64x4(load_32(b + 128 + 32 * h));
        __m512i h0 = _mm512_and_si512(_mm512_sllv_epi16(high, up), two);
        __m512i h1 = _mm512_and_si512(_mm512_srlv_epi16(high, down), two);
        w[2 * h] = _mm512_or_si512(_mm512_and_si512(q, low), h0);
        w[2 * h + 1] =
            _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(q, 4), low), h1);
    }
    __m256i scales =
        _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(b + 192)));
    return dot_sub16(w, x, scales, 32);
}

/* Four planes of two bits: 0 and 1, then 2 and 3, of each half. */
INLINE void planes(__m512i w[4], const unsigned char *q)
{
    const __m512i three = _mm512_set1_epi8(3);
    const __m512i a = _mm512_mask_blend_epi64(0xF0, _mm512_set1_epi16(0),
                                              _mm512_set1_epi16(2));
    const __m512i c = _mm512_mask_blend_epi64(0xF0, _mm512_set1_epi16(4),
                                              _mm512_set1_epi16(6));
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        __m512i v = _mm512_broadcast_i64x4(load_32(q + 32 * h));
        w[2 * h] = _mm512_and_si512(_mm512_srlv_epi16(v, a), three);
        w[2 * h + 1] = _mm512_and_si512(_mm512_srlv_epi16(v, c), three);
    }
}

INLINE sums dot_q3_k(const unsigned char *b, const xblock x[2])
{
    __m512i w[4], high = _mm512_broadcast_i64x4(load_32(b));
    planes(w, b + 32);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i bits =
            _mm512_mask_blend_epi64(0xF0, _mm512_set1_epi8((char)(1 << 2 * i)),
                                    _mm512_set1_epi8((char)(2 << 2 * i)));
        w[i] = _mm512_mask_add_epi8(w[i], _mm512_test_epi8_mask(high, bits),
                                    w[i], _mm512_set1_epi8(4));
    }
    return dot_sub16(w, x, _mm256_cvtepi8_epi16(q3_k_scales(b + 96)), 4);
}

INLINE sums dot_q2_k(const unsigned char *b, const xblock x[2])
{
    __m512i w[4];
    __m128i s = _mm_loadu_si128((const __m128i *)b);
    __m128i low = _mm_set1_epi8(15);
    __m256i scale = _mm256_cvtepu8_epi16(_mm_and_si128(s, low));
    __m256i min =
        _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(s, 4), low));
    planes(w, b + 16);
    sums out = dot_sub16(w, x, scale, 0);
    for (int j = 0; j < 2; j++) {
        __m256i m = _mm256_madd_epi16(min, x[j].s16);
        out.m[j] = _mm_add_epi32(_mm256_castsi256_si128(m),
                                 _mm256_extracti128_si256(m, 1));
    }
    return out;
}

INLINE sums dot_iq4_xs(const unsigned char *b, const xblock x[2], __m512i table)
{
    const __m512i low = _mm512_set1_epi8(15), zero = _mm512_setzero_si512();
    const __m512i lane =
        _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    __m128i s = _mm_cvtepi8_epi16(iq4_xs_scales(b));
    __m512i scales = _mm512_castsi256_si512(_mm256_cvtepi16_epi32(s));
    sums out = {{zero, zero}, {_mm_setzero_si128(), _mm_setzero_si128()}};
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m512i q = _mm512_loadu_si512(b + 8 + 64 * i);
        __m512i w0 = _mm512_shuffle_epi8(table, _mm512_and_si512(q, low));
        __m512i w1 = _mm512_shuffle_epi8(
            table, _mm512_and_si512(_mm512_srli_epi16(q, 4), low));
        __m512i scale = _mm512_permutexvar_epi32(
            _mm512_add_epi32(lane, _mm512_set1_epi32(4 * i)), scales);
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            __m512i p = _mm512_dpbusd_epi32(zero, w0, x[j].q[2 * i]);
            p = _mm512_dpbusd_epi32(p, w1, x[j].q[2 * i + 1]);
            out.part[j] =
                _mm512_add_epi32(out.part[j], _mm512_mullo_epi32(p, scale));
        }
    }
    for (int j = 0; j < 2; j++) {
        __m128i c = _mm_slli_epi32(_mm_madd_epi16(s, x[j].s32), 7);
        out.part[j] = _mm512_sub_epi32(out.part[j], _mm512_zextsi128_si512(c));
    }
    return out;
}

INLINE sums dot_super(cf_dtype type, const unsigned char *b, const xblock x[2],
                      __m512i table)
{
    switch ((unsigned)type) {
    case CF_Q2_K:
        return dot_q2_k(b, x);
    case CF_Q3_K:
        return dot_q3_k(b, x);
    case CF_Q4_K:
        return dot_q45_k(false, b, x);
    case CF_Q5_K:
        return dot_q45_k(true, b, x);
    case CF_Q6_K:
        return dot_q6_k(b, x);
    default:
        return dot_iq4_xs(b, x, table);
    }
}

/* d_off: where the scale of the block is; dmin follows it where there is one */
INLINE __m512 strip_super(const strip *s, cf_dtype type, size_t bytes,
                          size_t d_off, const unsigned char *next)
{
    const float *d = at(s, cf_xp_d(s->n_col));
    bool has_min = type == CF_Q2_K || type == CF_Q4_K || type == CF_Q5_K;
    __m512 y = _mm512_setzero_ps();
    __m512i table = _mm512_broadcast_i64x4(iq4_table());
    for (size_t b = 0; b < s->n_col / 256; b++) {
        xblock x[2] = {load_x(s, type, b, 0), load_x(s, type, b, 1)};
        __m512i a[2][16];
        alignas(64) __m128i m[2][16];
#pragma GCC unroll 2
        for (int r = 0; r < 16; r++) {
            sums v = dot_super(type, s->row[r] + b * bytes, x, table);
            a[0][r] = v.part[0];
            a[1][r] = v.part[1];
            m[0][r % 4 * 4 + r / 4] = v.m[0];
            m[1][r % 4 * 4 + r / 4] = v.m[1];
            prefetch(next, (16 * b + (size_t)r) * bytes,
                     (16 * b + (size_t)r + 1) * bytes);
        }
        /* d lies at the end of some blocks: reach back from its end */
        bool at_end = d_off + 2 == bytes;
        __m512i h = gather(s, b * bytes + d_off - (at_end ? 2 : 0));
        __m512 dw = at_end ? high_half(h) : low_half(h);
        for (int j = 0; j < 2; j++) {
            __m512 dx = _mm512_set1_ps(j == 0 ? 256 * d[b] : d[b]);
            y = _mm512_fmadd_ps(_mm512_mul_ps(dw, dx),
                                _mm512_cvtepi32_ps(fold_16(a[j])), y);
            if (has_min) {
                __m512i i = fold_4((const __m512i *)(const void *)m[j]);
                y = _mm512_fnmadd_ps(_mm512_mul_ps(high_half(h), dx),
                                     _mm512_cvtepi32_ps(i), y);
            }
        }
    }
    return y;
}

/* ---- the loop around ---------------------------------------------------- */

static __m512 strip_dot(const strip *s, cf_dtype type,
                        const unsigned char *next)
{
    switch ((unsigned)type) {
    case CF_Q8_0:
        return strip_blocks(s, CF_Q8_0, 34, 128, next);
    case CF_Q4_0:
        return strip_blocks(s, CF_Q4_0, 18, 8, next);
    case CF_Q4_1:
        return strip_blocks(s, CF_Q4_1, 20, 0, next);
    case CF_Q5_0:
        return strip_blocks(s, CF_Q5_0, 22, 16, next);
    case CF_Q5_1:
        return strip_blocks(s, CF_Q5_1, 24, 0, next);
    case CF_IQ4_NL:
        return strip_blocks(s, CF_IQ4_NL, 18, 128, next);
    case CF_Q2_K:
        return strip_super(s, CF_Q2_K, 84, 80, next);
    case CF_Q3_K:
        return strip_super(s, CF_Q3_K, 110, 108, next);
    case CF_Q4_K:
        return strip_super(s, CF_Q4_K, 144, 0, next);
    case CF_Q5_K:
        return strip_super(s, CF_Q5_K, 176, 0, next);
    case CF_Q6_K:
        return strip_super(s, CF_Q6_K, 210, 208, next);
    default:
        return strip_super(s, CF_IQ4_XS, 136, 0, next);
    }
}

void cf_avx512__matvec(float *y, size_t y_stride, const cf_mat *w,
                       const void *xp, size_t n_x, size_t row0, size_t row1)
{
    size_t bytes = cf_prepared_bytes(w->type, w->n_col);
    const unsigned char *base = w->p, *end = base + w->n_row * w->row_bytes;
    for (size_t r = row0; r < row1; r += 16) {
        strip s = {.n_col = w->n_col};
        alignas(64) int32_t off[16];
        for (size_t i = 0; i < 16; i++) {
            size_t row = r + i < w->n_row ? i : w->n_row - 1 - r;
            s.row[i] = base + (r + row) * w->row_bytes;
            off[i] = (int32_t)(row * w->row_bytes);
        }
        s.off = _mm512_load_si512(off);
        const unsigned char *next = base + (r + 16) * w->row_bytes;
        if (r + 32 > w->n_row) {
            next = end - 16 * w->row_bytes;
        }
        if (w->n_row < 32) {
            next = base;
        }
        __mmask16 m = lanes(r, row1);
        for (size_t t = 0; t < n_x; t++) {
            s.x = (const char *)xp + t * bytes;
            __m512 v = strip_dot(&s, w->type, next);
            _mm512_mask_storeu_ps(y + t * y_stride + r, m, v);
        }
    }
}

#endif
