/*
 * prepare_avx512.c - activations as 8-bit blocks with scales and sums.
 */
#include "core/kernel/kernel.h"

#if defined(__x86_64__)

#include <assert.h>
#include <immintrin.h>
#include <string.h>

#include "core/kernel/avx512.h"

/* q = round(x / d) with d = largest / 127; a block so small that 1 / d would
 * overflow becomes zeros. */
static __m128i quantise_16(const float *x, __m512 inv)
{
    __m512 v = _mm512_mul_ps(_mm512_loadu_ps(x), inv);
    return _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(v));
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

static void zero_tail(char *out, size_t from, size_t to)
{
    memset(out + from, 0, to - from);
}

static void prepare_blocks(char *restrict out, const float *restrict x,
                           size_t n_col)
{
    size_t n = n_col / 32;
    float *d = (float *)(out + cf_xp_d(n_col));
    int32_t *s = (int32_t *)(out + cf_xp_s(n_col, 32));
    zero_tail(out, n_col, cf_xp_d(n_col));
    for (size_t b = 0; b < n; b++) {
        float top = largest(x + 32 * b, 32);
        __m512 inv = _mm512_set1_ps(cf_inverse_step(top));
        __m128i q0 = quantise_16(x + 32 * b, inv);
        __m128i q1 = quantise_16(x + 32 * b + 16, inv);
        _mm_storeu_si128((__m128i *)(out + 32 * b), q0);
        _mm_storeu_si128((__m128i *)(out + 32 * b + 16), q1);
        d[b] = top / 127.0f;
        s[b] = sum_16(q0) + sum_16(q1);
    }
    size_t used = cf_up64(n * 4);
    zero_tail((char *)d, n * sizeof *d, used);
    zero_tail((char *)s, n * sizeof *s, used);
}

static void prepare_supers(char *restrict out, const float *restrict x,
                           size_t n_col)
{
    size_t n = n_col / 256;
    float *d = (float *)(out + cf_xp_d(n_col));
    int16_t *s16 = (int16_t *)(out + cf_xp_s(n_col, 256));
    int16_t *s32 = (int16_t *)(out + cf_xp_s32(n_col));
    for (size_t b = 0; b < n; b++) {
        float top = largest(x + 256 * b, 256);
        __m512 inv = _mm512_set1_ps(cf_inverse_step(top));
        d[b] = top / 127.0f;
        for (size_t i = 0; i < 16; i++) {
            __m128i q = quantise_16(x + 256 * b + 16 * i, inv);
            _mm_storeu_si128((__m128i *)(out + 256 * b + 16 * i), q);
            s16[16 * b + i] = (int16_t)sum_16(q);
        }
        for (size_t i = 8 * b; i < 8 * b + 8; i++) {
            s32[i] = (int16_t)(s16[2 * i] + s16[2 * i + 1]);
        }
    }
    zero_tail((char *)d, n * sizeof *d, cf_up64(n * sizeof *d));
    zero_tail((char *)s16, 32 * n, cf_up64(32 * n));
    zero_tail((char *)s32, 16 * n, cf_up64(16 * n));
}

void cf_avx512__prepare(void *restrict out, cf_dtype type,
                        const float *restrict x, size_t n_x, size_t n_col)
{
    size_t step = cf_prepared_bytes(type, n_col);
    unsigned class = cf_prepared_class(type);
    for (size_t t = 0; t < n_x; t++, x += n_col) {
        char *row = (char *)out + t * step;
        if (class == CLASS_BLOCK) {
            prepare_blocks(row, x, n_col);
        } else if (class == CLASS_SUPER) {
            prepare_supers(row, x, n_col);
        } else {
            memcpy(row, x, n_col * sizeof *x);
            zero_tail(row, n_col * sizeof *x, step);
        }
    }
}

#endif
