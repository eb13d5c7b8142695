/*
 * simd_avx2.h - the vector operations of simd.h with 256 bits.
 *
 * Needs AVX2, FMA and F16C; with CF_HAS_DOT also AVX-VNNI.
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_SIMD_AVX2_H
#define CF_CORE_KERNEL_SIMD_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "core/kernel/simd.h"

enum { LANES = 8 };
typedef __m256 VF;
typedef __m256i VI;
typedef __m256i VB;

#ifdef CF_HAS_DOT
enum { BYTE_CODES = 255 };
#else
/* Two products of two columns stay within 16 bits. */
enum { BYTE_CODES = 63 };
#ifdef CF_EIGHT
#define CF_SHORT_SUMS
#endif
#endif

/* ---- floats -------------------------------------------------------------- */

INLINE VF vf_zero(void)
{
    return _mm256_setzero_ps();
}
INLINE VF vf_set1(float x)
{
    return _mm256_set1_ps(x);
}
INLINE VF vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
INLINE void vf_store(float *p, VF v)
{
    _mm256_storeu_ps(p, v);
}
INLINE VF vf_load_half(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
INLINE void vf_store_half(uint16_t *p, VF v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
INLINE VF vf_add(VF a, VF b)
{
    return _mm256_add_ps(a, b);
}
INLINE VF vf_sub(VF a, VF b)
{
    return _mm256_sub_ps(a, b);
}
INLINE VF vf_mul(VF a, VF b)
{
    return _mm256_mul_ps(a, b);
}
INLINE VF vf_div(VF a, VF b)
{
    return _mm256_div_ps(a, b);
}
INLINE VF vf_fma(VF a, VF b, VF c)
{
    return _mm256_fmadd_ps(a, b, c);
}
INLINE VF vf_max(VF a, VF b)
{
    return _mm256_max_ps(a, b);
}
INLINE VF vf_min(VF a, VF b)
{
    return _mm256_min_ps(a, b);
}
INLINE VF vf_abs(VF a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
INLINE float vf_top(VF a)
{
    __m128 v = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)));
}
INLINE VF vf_round(VF a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* ---- 32-bit integers ------------------------------------------------------ */

INLINE VI vi_zero(void)
{
    return _mm256_setzero_si256();
}
INLINE VI vi_set1(int32_t x)
{
    return _mm256_set1_epi32(x);
}
INLINE VI vi_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
INLINE VI vi_load_bytes(const void *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
INLINE void vi_store(void *p, VI v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}
INLINE VI vi_add(VI a, VI b)
{
    return _mm256_add_epi32(a, b);
}
INLINE VI vi_sub(VI a, VI b)
{
    return _mm256_sub_epi32(a, b);
}
INLINE VI vi_and(VI a, VI b)
{
    return _mm256_and_si256(a, b);
}
INLINE VI vi_or(VI a, VI b)
{
    return _mm256_or_si256(a, b);
}
INLINE VI vi_shl(VI a, int n)
{
    return _mm256_slli_epi32(a, n);
}
INLINE VI vi_shr(VI a, int n)
{
    return _mm256_srli_epi32(a, n);
}
INLINE VI vi_sar(VI a, int n)
{
    return _mm256_srai_epi32(a, n);
}
INLINE VI vi_fold(const VI a[4])
{
    VI b = _mm256_add_epi32(_mm256_unpacklo_epi32(a[0], a[1]), _mm256_unpackhi_epi32(a[0], a[1]));
    VI c = _mm256_add_epi32(_mm256_unpacklo_epi32(a[2], a[3]), _mm256_unpackhi_epi32(a[2], a[3]));
    return _mm256_add_epi32(_mm256_unpacklo_epi64(b, c), _mm256_unpackhi_epi64(b, c));
}
INLINE int32_t vi_total(VI a)
{
    __m128i v = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    v = _mm_add_epi32(v, _mm_unpackhi_epi64(v, v));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 1)));
}
INLINE VF vi_to_vf(VI v)
{
    return _mm256_cvtepi32_ps(v);
}
INLINE VI vf_to_vi(VF v)
{
    return _mm256_cvtps_epi32(v);
}
INLINE VF vi_as_vf(VI v)
{
    return _mm256_castsi256_ps(v);
}
INLINE VF vi_half_to_vf(VI v)
{
    v = _mm256_packus_epi32(_mm256_and_si256(v, _mm256_set1_epi32(0xFFFF)), v);
    v = _mm256_permute4x64_epi64(v, 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(v));
}
INLINE void vi_pair_to_vf(VF out[2], VI v)
{
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0,
                                           1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    v = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, order), 0xD8);
    out[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(v));
    out[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1));
}
INLINE VF vf_scale2(VF p, VF n)
{
    VI i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1);
    VI one = _mm256_set1_epi32(127);
    VI a = _mm256_slli_epi32(_mm256_add_epi32(half, one), 23);
    VI b = _mm256_add_epi32(_mm256_sub_epi32(i, half), one);
    b = _mm256_slli_epi32(b, 23);
    return _mm256_mul_ps(_mm256_mul_ps(p, _mm256_castsi256_ps(a)), _mm256_castsi256_ps(b));
}

/* ---- bytes ---------------------------------------------------------------- */

INLINE VB vb_quads(const unsigned char *const *row, size_t off)
{
    __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(row[0] + off));
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(row[4] + off));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}
INLINE VB vb_dup(const void *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}
INLINE VI vb_as_vi(VB v)
{
    return v;
}
INLINE VB vi_as_vb(VI v)
{
    return v;
}
INLINE VB vb_set1(int x)
{
    return _mm256_set1_epi8((char)x);
}
INLINE VB vb_and(VB a, VB b)
{
    return _mm256_and_si256(a, b);
}
INLINE VB vb_or(VB a, VB b)
{
    return _mm256_or_si256(a, b);
}
INLINE VB vb_xor(VB a, VB b)
{
    return _mm256_xor_si256(a, b);
}
INLINE VB vb_shl(VB a, int n)
{
    return _mm256_sll_epi16(a, _mm_cvtsi32_si128(n));
}
INLINE VB vb_shr(VB a, int n)
{
    return _mm256_srl_epi16(a, _mm_cvtsi32_si128(n));
}
INLINE VB vb_equal(VB a, VB b)
{
    return _mm256_cmpeq_epi8(a, b);
}
INLINE VB vb_lookup(VB table, VB i)
{
    return _mm256_shuffle_epi8(table, i);
}
INLINE void vb_turn(VI out[4], const VB a[4])
{
    VI b0 = _mm256_unpacklo_epi32(a[0], a[1]);
    VI b1 = _mm256_unpackhi_epi32(a[0], a[1]);
    VI b2 = _mm256_unpacklo_epi32(a[2], a[3]);
    VI b3 = _mm256_unpackhi_epi32(a[2], a[3]);
    out[0] = _mm256_unpacklo_epi64(b0, b2);
    out[1] = _mm256_unpackhi_epi64(b0, b2);
    out[2] = _mm256_unpacklo_epi64(b1, b3);
    out[3] = _mm256_unpackhi_epi64(b1, b3);
}

/* ---- products ------------------------------------------------------------- */

#if CF_PLANES != 0
INLINE VI vi_whole(VI acc)
{
#ifdef CF_SHORT_SUMS
    return _mm256_madd_epi16(acc, _mm256_set1_epi16(1));
#else
    return acc;
#endif
}
#endif

#if CF_PLANES != 0 && defined(CF_HAS_DOT)

/* acc + w . v, four bytes a lane.  Written out because gcc 12 copies the sum
 * before almost every such intrinsic in an unrolled loop. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(w), "x"(v));
    return acc;
}

#elif CF_PLANES != 0

/* The same with two sums of 16 bits a lane, of two columns each; written out
 * as below. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    VI product;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
            : "+x"(acc), "=&x"(product)
            : "x"(w), "x"(v));
    return acc;
}

#endif

#if CF_PLANES == 2

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, -1, -1, -1, -1, -1, -1, -1, -1,
                                         0, 4, 8, 12, 1, 5, 9, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    /* the sign of the low byte goes into the high one */
    VI hi = _mm256_add_epi32(t, _mm256_set1_epi32(128));
    t = _mm256_or_si256(_mm256_and_si256(t, _mm256_set1_epi32(255)),
                        _mm256_and_si256(hi, _mm256_set1_epi32(0xFF00)));
    t = _mm256_shuffle_epi8(t, low);
    uint64_t a = (uint64_t)_mm256_extract_epi64(t, 0);
    uint64_t b = (uint64_t)_mm256_extract_epi64(t, 2);
    uint64_t down = (a & 0xFFFFFFFF) | b << 32;
    uint64_t up = a >> 32 | (b & 0xFFFFFFFF00000000);
    memcpy(row + c, &up, sizeof up);
    memcpy(row + lo + c, &down, sizeof down);
}

#elif CF_PLANES == 1

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    (void)lo;
    t = _mm256_packs_epi32(t, t);
    t = _mm256_packs_epi16(t, t);
    uint32_t a = (uint32_t)_mm256_extract_epi32(t, 0);
    uint32_t b = (uint32_t)_mm256_extract_epi32(t, 4);
    uint64_t both = a | (uint64_t)b << 32;
    memcpy(row + c, &both, sizeof both);
}

#else

/* Written out because gcc 12 otherwise puts off all sums of an unrolled loop,
 * and has no registers left for the products. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    VI product;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
            : "+x"(acc), "=&x"(product)
            : "x"(v), "xm"(w));
    return acc;
}

INLINE VI vi_dot_16(VI acc, VB w, VB a, VB b)
{
    VB zero = _mm256_setzero_si256();
    acc = vi_mac(acc, _mm256_unpacklo_epi8(w, zero), a);
    return vi_mac(acc, _mm256_unpackhi_epi8(w, zero), b);
}

INLINE void vi_widen(VI out[2], VI codes, int bias)
{
    const __m256i low = _mm256_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1,
                                         0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
    VI b = _mm256_set1_epi16((short)bias);
    VI high = _mm256_srli_epi32(codes, 16);
    out[0] = _mm256_sub_epi16(_mm256_shuffle_epi8(codes, low), b);
    out[1] = _mm256_sub_epi16(_mm256_shuffle_epi8(high, low), b);
}

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    (void)lo;
    t = _mm256_permute4x64_epi64(_mm256_packs_epi32(t, t), 0x08);
    _mm_storeu_si128((__m128i *)(void *)(row + 2 * c), _mm256_castsi256_si128(t));
}

#endif

/* Rows of weights in registers, rows of x at once; and the same for keys in
 * vectors of positions, values in vectors of dimensions. */
enum { GROUPS = 2, STEP = 4, SCORE_Q = 6, SCORE_V = 2, MIX_Q = 6, MIX_D = 2, MIX_WIDE = 4 };

#endif
