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

#define MM(op)           _mm256_##op
#define VEX              "%{vex%} "
#define REG(v)           "x"(v)
#define REG_OR_MEMORY(v) "xm"(v)

INLINE VB vb_dup(const void *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}
#include "core/kernel/simd_x86.h"

/* ---- floats -------------------------------------------------------------- */

INLINE VF vf_load_half(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
INLINE void vf_store_half(uint16_t *p, VF v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
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

INLINE VI vi_load_bytes(const void *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
INLINE int32_t vi_total(VI a)
{
    __m128i v = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    v = _mm_add_epi32(v, _mm_unpackhi_epi64(v, v));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 1)));
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
INLINE VB vb_equal(VB a, VB b)
{
    return _mm256_cmpeq_epi8(a, b);
}

/* ---- products ------------------------------------------------------------- */

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
