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

#define MM(op)           _mm512_##op
#define VEX              ""
#define REG(v)           "v"(v)
#define REG_OR_MEMORY(v) "vm"(v)

INLINE VB vb_dup(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}
#include "core/kernel/simd_x86.h"

/* ---- floats -------------------------------------------------------------- */

INLINE VF vf_load_half(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
INLINE void vf_store_half(uint16_t *p, VF v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
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

INLINE VI vi_load_bytes(const void *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
}
INLINE int32_t vi_total(VI a)
{
    return _mm512_reduce_add_epi32(a);
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
INLINE VB vb_equal(VB a, VB b)
{
    return _mm512_movm_epi8(_mm512_cmpeq_epi8_mask(a, b));
}

/* ---- products ------------------------------------------------------------- */

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

INLINE void put_t(char *row, size_t lo, size_t c, VI t)
{
    (void)lo;
    _mm256_storeu_si256((__m256i *)(void *)(row + 2 * c), _mm512_cvtsepi32_epi16(t));
}

#endif

enum { GROUPS = 4, STEP = 4, SCORE_Q = 8, SCORE_V = 2, MIX_Q = 4, MIX_D = 4, MIX_WIDE = 8 };

#endif
