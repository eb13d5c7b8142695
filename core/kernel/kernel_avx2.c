/*
 * kernel_avx2.c - AVX2 with FMA and F16C: the operations that the templates
 * rows.inc and vectors.inc are filled with.
 */
#include "core/kernel/sets.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "core/kernel/half.h"

enum { VF_LANES = 8 };
typedef __m256 VF;
typedef __m256i VI;

static inline VF vf_zero(void)
{
    return _mm256_setzero_ps();
}

static inline VF vf_set1(float x)
{
    return _mm256_set1_ps(x);
}

static inline VF vf_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void vf_store(float *p, VF v)
{
    _mm256_storeu_ps(p, v);
}

static inline VF vf_load_half(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline VF vf_add(VF a, VF b)
{
    return _mm256_add_ps(a, b);
}

static inline VF vf_mul(VF a, VF b)
{
    return _mm256_mul_ps(a, b);
}

static inline VF vf_fma(VF a, VF b, VF c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline float vf_sum(VF v)
{
    __m128 s =
        _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static inline VI vi_zero(void)
{
    return _mm256_setzero_si256();
}

static inline VF vi_to_vf(VI v)
{
    return _mm256_cvtepi32_ps(v);
}

static inline VI vi_dot(VI acc, const int16_t *w, const int16_t *t)
{
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)w);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)t);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}

static inline float half_at(const unsigned char *p)
{
    return _cvtsh_ss((uint16_t)(p[0] | p[1] << 8));
}

/* 32 signed bytes widened into q. */
static inline void put_codes(int16_t *q, __m256i v)
{
    __m128i lo = _mm256_castsi256_si128(v), hi = _mm256_extracti128_si256(v, 1);
    _mm256_storeu_si256((__m256i *)(void *)q, _mm256_cvtepi8_epi16(lo));
    _mm256_storeu_si256((__m256i *)(void *)(q + 16), _mm256_cvtepi8_epi16(hi));
}

static inline __m256i nibbles(const unsigned char *p)
{
    __m128i q = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m256i v = _mm256_set_m128i(_mm_srli_epi16(q, 4), q);
    return _mm256_and_si256(v, _mm256_set1_epi8(15));
}

static inline void put_bytes(int16_t *q, const unsigned char *p)
{
    put_codes(q, _mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline void put_nibbles(int16_t *q, const unsigned char *p, int bias)
{
    put_codes(q, _mm256_sub_epi8(nibbles(p), _mm256_set1_epi8((char)bias)));
}

static inline __m256i iq4_codes(const unsigned char *p)
{
    __m128i t = _mm_loadu_si128((const __m128i *)(const void *)cf_iq4_values);
    return _mm256_shuffle_epi8(_mm256_set_m128i(t, t), nibbles(p));
}

static inline void put_iq4(int16_t *q, const unsigned char *p)
{
    put_codes(q, iq4_codes(p));
}

static inline void iq4_bytes(int8_t *v, const unsigned char *p)
{
    _mm256_storeu_si256((__m256i *)(void *)v, iq4_codes(p));
}

static inline void put_scaled(int16_t *q, const int8_t *v, const int8_t s[2])
{
    for (int i = 0; i < 2; i++) {
        __m256i *to = (__m256i *)(void *)(q + 16 * i);
        const __m128i *from = (const __m128i *)(const void *)(v + 16 * i);
        __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
        w = _mm256_mullo_epi16(w, _mm256_set1_epi16(s[i]));
        _mm256_storeu_si256(to, w);
    }
}

/* Sixteen bits go to every lane, and each lane keeps its own. */
static inline void put_fifth_bits(int16_t *q, const unsigned char *p)
{
    const __m256i own =
        _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
                          4096, 8192, 16384, -32768);
    for (int i = 0; i < 2; i++) {
        __m256i *to = (__m256i *)(void *)(q + 16 * i);
        __m256i b = _mm256_set1_epi16((short)(p[2 * i] | p[2 * i + 1] << 8));
        b = _mm256_cmpeq_epi16(_mm256_and_si256(b, own), own);
        b = _mm256_and_si256(b, _mm256_set1_epi16(16));
        _mm256_storeu_si256(to, _mm256_add_epi16(_mm256_loadu_si256(to), b));
    }
}

static void vec_f32_to_f16(uint16_t *out, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i h =
            _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)(out + i), h);
    }
    for (; i < n; i++) {
        out[i] = cf_float_to_half(x[i]);
    }
}

static void vec_f16_to_f32(float *out, const uint16_t *x, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, vf_load_half(x + i));
    }
    for (; i < n; i++) {
        out[i] = cf_half_to_float(x[i]);
    }
}

#include "core/kernel/rows.inc"
#include "core/kernel/vectors.inc"

const cf_kernels *cf_kernels__avx2(void)
{
    static const cf_kernels set = CF_KERNEL_SET("avx2", &cf_recurrent_avx2);
    return &set;
}

#endif
