/*
 * simd_avx512.h - the vector operations of simd.h with 512 bits.
 *
 * Needs AVX-512 F, BW, DQ and VL; with CF_HAS_DOT also VNNI.
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_SIMD_AVX512_H
#define CF_CORE_KERNEL_SIMD_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "core/kernel/simd.h"

enum { LANES = 16 };
typedef __m512 VF;
typedef __m512i VI;
typedef __m512i VB;

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
    return _mm512_setzero_ps();
}
INLINE VF vf_set1(float x)
{
    return _mm512_set1_ps(x);
}
INLINE VF vf_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
INLINE void vf_store(float *p, VF v)
{
    _mm512_storeu_ps(p, v);
}
INLINE VF vf_load_half(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
INLINE void vf_store_half(uint16_t *p, VF v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
INLINE VF vf_add(VF a, VF b)
{
    return _mm512_add_ps(a, b);
}
INLINE VF vf_sub(VF a, VF b)
{
    return _mm512_sub_ps(a, b);
}
INLINE VF vf_mul(VF a, VF b)
{
    return _mm512_mul_ps(a, b);
}
INLINE VF vf_div(VF a, VF b)
{
    return _mm512_div_ps(a, b);
}
INLINE VF vf_fma(VF a, VF b, VF c)
{
    return _mm512_fmadd_ps(a, b, c);
}
INLINE VF vf_max(VF a, VF b)
{
    return _mm512_max_ps(a, b);
}
INLINE VF vf_min(VF a, VF b)
{
    return _mm512_min_ps(a, b);
}
INLINE VF vf_abs(VF a)
{
    return _mm512_abs_ps(a);
}
INLINE float vf_top(VF a)
{
    return _mm512_reduce_max_ps(a);
}
INLINE VF vf_round(VF a)
{
    return _mm512_roundscale_ps(a, 0);
}

/* ---- 32-bit integers ------------------------------------------------------ */

INLINE VI vi_zero(void)
{
    return _mm512_setzero_si512();
}
INLINE VI vi_set1(int32_t x)
{
    return _mm512_set1_epi32(x);
}
INLINE VI vi_load(const void *p)
{
    return _mm512_loadu_si512(p);
}
INLINE VI vi_load_bytes(const void *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
}
INLINE void vi_store(void *p, VI v)
{
    _mm512_storeu_si512(p, v);
}
INLINE VI vi_add(VI a, VI b)
{
    return _mm512_add_epi32(a, b);
}
INLINE VI vi_sub(VI a, VI b)
{
    return _mm512_sub_epi32(a, b);
}
INLINE VI vi_and(VI a, VI b)
{
    return _mm512_and_si512(a, b);
}
INLINE VI vi_or(VI a, VI b)
{
    return _mm512_or_si512(a, b);
}
INLINE VI vi_shl(VI a, int n)
{
    return _mm512_slli_epi32(a, (unsigned)n);
}
INLINE VI vi_shr(VI a, int n)
{
    return _mm512_srli_epi32(a, (unsigned)n);
}
INLINE VI vi_sar(VI a, int n)
{
    return _mm512_srai_epi32(a, (unsigned)n);
}
INLINE VI vi_fold(const VI a[4])
{
    VI b = _mm512_add_epi32(_mm512_unpacklo_epi32(a[0], a[1]), _mm512_unpackhi_epi32(a[0], a[1]));
    VI c = _mm512_add_epi32(_mm512_unpacklo_epi32(a[2], a[3]), _mm512_unpackhi_epi32(a[2], a[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(b, c), _mm512_unpackhi_epi64(b, c));
}
INLINE int32_t vi_total(VI a)
{
    return _mm512_reduce_add_epi32(a);
}
INLINE VF vi_to_vf(VI v)
{
    return _mm512_cvtepi32_ps(v);
}
INLINE VI vf_to_vi(VF v)
{
    return _mm512_cvtps_epi32(v);
}
INLINE VF vi_as_vf(VI v)
{
    return _mm512_castsi512_ps(v);
}
INLINE VF vi_half_to_vf(VI v)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
}
INLINE void vi_pair_to_vf(VF out[2], VI v)
{
    out[0] = vi_half_to_vf(v);
    out[1] = vi_half_to_vf(_mm512_srli_epi32(v, 16));
}
INLINE VF vf_scale2(VF p, VF n)
{
    return _mm512_scalef_ps(p, n);
}

/* ---- bytes ---------------------------------------------------------------- */

INLINE VB vb_quads(const unsigned char *const *row, size_t off)
{
    VB v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(row[0] + off)));
    for (int i = 1; i < 4; i++) {
        const __m128i *p = (const __m128i *)(const void *)(row[4 * i] + off);
        v = i == 1   ? _mm512_inserti32x4(v, _mm_loadu_si128(p), 1)
            : i == 2 ? _mm512_inserti32x4(v, _mm_loadu_si128(p), 2)
                     : _mm512_inserti32x4(v, _mm_loadu_si128(p), 3);
    }
    return v;
}
INLINE VB vb_dup(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
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
    return _mm512_set1_epi8((char)x);
}
INLINE VB vb_and(VB a, VB b)
{
    return _mm512_and_si512(a, b);
}
INLINE VB vb_or(VB a, VB b)
{
    return _mm512_or_si512(a, b);
}
INLINE VB vb_xor(VB a, VB b)
{
    return _mm512_xor_si512(a, b);
}
INLINE VB vb_shl(VB a, int n)
{
    return _mm512_sll_epi16(a, _mm_cvtsi32_si128(n));
}
INLINE VB vb_shr(VB a, int n)
{
    return _mm512_srl_epi16(a, _mm_cvtsi32_si128(n));
}
INLINE VB vb_equal(VB a, VB b)
{
    return _mm512_movm_epi8(_mm512_cmpeq_epi8_mask(a, b));
}
INLINE VB vb_lookup(VB table, VB i)
{
    return _mm512_shuffle_epi8(table, i);
}
INLINE void vb_turn(VI out[4], const VB a[4])
{
    VI b0 = _mm512_unpacklo_epi32(a[0], a[1]);
    VI b1 = _mm512_unpackhi_epi32(a[0], a[1]);
    VI b2 = _mm512_unpacklo_epi32(a[2], a[3]);
    VI b3 = _mm512_unpackhi_epi32(a[2], a[3]);
    out[0] = _mm512_unpacklo_epi64(b0, b2);
    out[1] = _mm512_unpackhi_epi64(b0, b2);
    out[2] = _mm512_unpacklo_epi64(b1, b3);
    out[3] = _mm512_unpackhi_epi64(b1, b3);
}

/* ---- products ------------------------------------------------------------- */

#if CF_PLANES != 0
INLINE VI vi_whole(VI acc)
{
#ifdef CF_SHORT_SUMS
    return _mm512_madd_epi16(acc, _mm512_set1_epi16(1));
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
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(v));
    return acc;
}

#elif CF_PLANES != 0

/* The same with two sums of 16 bits a lane, of two columns each; written out
 * as below. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    VI product;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
            : "+v"(acc), "=&v"(product)
            : "v"(w), "v"(v));
    return acc;
}

#endif

#if CF_PLANES == 2

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    VI hi = _mm512_srai_epi32(_mm512_add_epi32(t, _mm512_set1_epi32(128)), 8);
    _mm_storeu_si128((__m128i *)(void *)(row + c), _mm512_cvtepi32_epi8(hi));
    _mm_storeu_si128((__m128i *)(void *)(row + lo + c), _mm512_cvtepi32_epi8(t));
}

#elif CF_PLANES == 1

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    (void)lo;
    _mm_storeu_si128((__m128i *)(void *)(row + c), _mm512_cvtepi32_epi8(t));
}

#else

/* Written out because gcc 12 otherwise puts off all sums of an unrolled loop,
 * and has no registers left for the products. */
INLINE VI vi_mac(VI acc, VI w, VI v)
{
    VI product;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
            : "+v"(acc), "=&v"(product)
            : "v"(v), "vm"(w));
    return acc;
}
INLINE VI vi_dot_16(VI acc, VB w, VB a, VB b)
{
    VB zero = _mm512_setzero_si512();
    acc = vi_mac(acc, _mm512_unpacklo_epi8(w, zero), a);
    return vi_mac(acc, _mm512_unpackhi_epi8(w, zero), b);
}

INLINE void vi_widen(VI out[2], VI codes, int bias)
{
    const __m512i low = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
    VI b = _mm512_set1_epi16((short)bias);
    VI high = _mm512_srli_epi32(codes, 16);
    out[0] = _mm512_sub_epi16(_mm512_shuffle_epi8(codes, low), b);
    out[1] = _mm512_sub_epi16(_mm512_shuffle_epi8(high, low), b);
}
INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    (void)lo;
    _mm256_storeu_si256((__m256i *)(void *)(row + 2 * c), _mm512_cvtsepi32_epi16(t));
}

#endif

enum { GROUPS = 4, STEP = 4, SCORE_Q = 8, SCORE_V = 2, MIX_Q = 4, MIX_D = 4, MIX_WIDE = 8 };

#endif
