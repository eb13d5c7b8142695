/*
 * prepare_avx512.c - activations as 16-bit blocks with scales and sums.
 */
#include "core/kernel/kernel.h"

#if defined(__x86_64__)

#include <assert.h>
#include <immintrin.h>
#include <string.h>

#include "core/kernel/avx512.h"

/* Sixteen t and their two planes; see prepared.h. */
typedef struct split {
    __m128i hi, lo;
} split;

static split quantise_16(const float *x, __m512 inv)
{
    __m512i t = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), inv));
    __m512i hi = _mm512_add_epi32(t, _mm512_set1_epi32(128));
    hi = _mm512_srai_epi32(hi, 8);
    t = _mm512_sub_epi32(t, _mm512_slli_epi32(hi, 8));
    return (split){_mm512_cvtsepi32_epi8(hi), _mm512_cvtepi32_epi8(t)};
}

static float largest(const float *x, size_t n)
{
    __m512 m = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += 16) {
        m = _mm512_max_ps(m, _mm512_abs_ps(_mm512_loadu_ps(x + i)));
    }
    return _mm512_reduce_max_ps(m);
}

/* The sum of 16 signed bytes. */
static int sum_16(__m128i q)
{
    __m128i ones = _mm_set1_epi8(1);
    __m128i s = _mm_dpbusd_epi32(_mm_setzero_si128(), ones, q);
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
    return _mm_cvtsi128_si32(s);
}

/* Writes t 16 i .. 16 i + 15 of a row. */
static void put_split(char *out, size_t n_col, size_t i, split t)
{
    _mm_storeu_si128((__m128i *)(out + 16 * i), t.hi);
    _mm_storeu_si128((__m128i *)(out + cf_xp_lo(n_col) + 16 * i), t.lo);
}

static void prepare_blocks(char *restrict out, const float *restrict x,
                           size_t n_col)
{
    float *d = (float *)(out + cf_xp_d(n_col));
    int32_t *s = (int32_t *)(out + cf_xp_s(n_col, 32));
    for (size_t b = 0; b < n_col / 32; b++) {
        float top = largest(x + 32 * b, 32);
        __m512 inv = _mm512_set1_ps(cf_inverse_step(top));
        split t0 = quantise_16(x + 32 * b, inv);
        split t1 = quantise_16(x + 32 * b + 16, inv);
        put_split(out, n_col, 2 * b, t0);
        put_split(out, n_col, 2 * b + 1, t1);
        d[b] = top / CF_T_MAX;
        s[b] = 256 * (sum_16(t0.hi) + sum_16(t1.hi)) + sum_16(t0.lo) +
               sum_16(t1.lo);
    }
}

static void prepare_supers(char *restrict out, const float *restrict x,
                           size_t n_col)
{
    float *d = (float *)(out + cf_xp_d(n_col));
    for (size_t b = 0; b < n_col / 256; b++) {
        float top = largest(x + 256 * b, 256);
        __m512 inv = _mm512_set1_ps(cf_inverse_step(top));
        d[b] = top / CF_T_MAX;
        for (size_t i = 16 * b; i < 16 * b + 16; i++) {
            split t = quantise_16(x + 16 * i, inv);
            put_split(out, n_col, i, t);
            ((int16_t *)(out + cf_xp_s16(n_col, 0)))[i] = (int16_t)sum_16(t.hi);
            ((int16_t *)(out + cf_xp_s16(n_col, 1)))[i] = (int16_t)sum_16(t.lo);
        }
    }
    for (size_t part = 0; part < 2; part++) {
        const int16_t *s16 = (const int16_t *)(out + cf_xp_s16(n_col, part));
        int16_t *s32 = (int16_t *)(out + cf_xp_s32(n_col, part));
        for (size_t i = 0; i < n_col / 32; i++) {
            s32[i] = (int16_t)(s16[2 * i] + s16[2 * i + 1]);
        }
    }
}

void cf_avx512__prepare(void *restrict out, cf_dtype type,
                        const float *restrict x, size_t n_x, size_t n_col)
{
    size_t step = cf_prepared_bytes(type, n_col);
    unsigned class = cf_prepared_class(type);
    memset(out, 0, step * n_x);
    for (size_t t = 0; t < n_x; t++, x += n_col) {
        char *row = (char *)out + t * step;
        if (class == CLASS_BLOCK) {
            prepare_blocks(row, x, n_col);
        } else if (class == CLASS_SUPER) {
            prepare_supers(row, x, n_col);
        } else {
            memcpy(row, x, n_col * sizeof *x);
        }
    }
}

#endif
