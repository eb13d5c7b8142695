/*
 * kernel_avx512.c - AVX-512 with VNNI: vectors, attention, the table.
 *
 * Matrices are in matmul_avx512.c.  A tail of a vector goes through a mask,
 * so an element's value does not depend on where it lies.
 */
#include "core/kernel/kernel.h"

#if defined(__x86_64__)

#include <assert.h>
#include <immintrin.h>
#include <math.h>

#include "core/kernel/avx512.h"
#include "core/kernel/sets.h"
#include "core/kernel/unpack_avx512.inc"

#define INLINE static inline __attribute__((always_inline))

/* exp(x) to about one unit in the last place: x = n ln 2 + r with ln 2 in two
 * parts, and a polynomial for exp(r), |r| <= ln 2 / 2 (coefficients from
 * Moshier's Cephes library). */
INLINE __m512 exp_16(__m512 x)
{
    x = _mm512_max_ps(_mm512_set1_ps(-110.0f), x);
    x = _mm512_min_ps(_mm512_set1_ps(90.0f), x);
    __m512 n =
        _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
    p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
    return _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1.0f)), n);
}

/* x / (1 + exp(-z)) */
INLINE __m512 gated(__m512 x, __m512 z)
{
    __m512 e = exp_16(_mm512_sub_ps(_mm512_setzero_ps(), z));
    return _mm512_div_ps(x, _mm512_add_ps(e, _mm512_set1_ps(1.0f)));
}

static void vec_silu_mul(float *out, const float *gate, const float *up,
                         size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m512 g = _mm512_maskz_loadu_ps(m, gate + i);
        __m512 u = _mm512_maskz_loadu_ps(m, up + i);
        _mm512_mask_storeu_ps(out + i, m, _mm512_mul_ps(gated(g, g), u));
    }
}

/* (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)) */
static void vec_gelu_mul(float *out, const float *gate, const float *up,
                         size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m512 g = _mm512_maskz_loadu_ps(m, gate + i);
        __m512 u = _mm512_maskz_loadu_ps(m, up + i);
        __m512 g3 = _mm512_mul_ps(_mm512_mul_ps(g, g), g);
        __m512 z = _mm512_fmadd_ps(g3, _mm512_set1_ps(0.044715f), g);
        z = _mm512_mul_ps(z, _mm512_set1_ps(2 * 0.79788456f));
        _mm512_mask_storeu_ps(out + i, m, _mm512_mul_ps(gated(g, z), u));
    }
}

static void vec_add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m512 v = _mm512_add_ps(_mm512_maskz_loadu_ps(m, y + i),
                                 _mm512_maskz_loadu_ps(m, x + i));
        _mm512_mask_storeu_ps(y + i, m, v);
    }
}

static void vec_rms_norm(float *out, const float *x, const float *w, size_t n,
                         float eps)
{
    __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (size_t i = 0; i < n; i += 16) {
        __m512 v = _mm512_maskz_loadu_ps(lanes(i, n), x + i);
        sum[i / 16 % 2] = _mm512_fmadd_ps(v, v, sum[i / 16 % 2]);
    }
    float total = _mm512_reduce_add_ps(_mm512_add_ps(sum[0], sum[1]));
    __m512 scale = _mm512_set1_ps(1.0f / sqrtf(total / (float)n + eps));
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(m, x + i), scale);
        if (w) {
            v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(m, w + i));
        }
        _mm512_mask_storeu_ps(out + i, m, v);
    }
}

static void vec_f32_to_f16(uint16_t *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m256i h = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(m, x + i),
                                    _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16(out + i, m, h);
    }
}

static void vec_f16_to_f32(float *out, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m256i h = _mm256_maskz_loadu_epi16(m, x + i);
        _mm512_mask_storeu_ps(out + i, m, _mm512_cvtph_ps(h));
    }
}

/* ---- attention ---------------------------------------------------------- */

enum {
    POS = 8,       /* positions at once */
    DIMS = 8,      /* vectors of dimensions at once */
    WIDE_MAX = 256 /* the largest head whose halves are widened once a block */
};

/* 16 dimensions from c of a cached row; all of them where full, since a mask
 * costs an operation. */
INLINE __m512 cached(const void *row, size_t c, __mmask16 m, bool is_f16,
                     bool full)
{
    const uint16_t *h = (const uint16_t *)row + c;
    const float *f = (const float *)row + c;
    if (is_f16) {
        return _mm512_cvtph_ps(full ? _mm256_loadu_si256((const __m256i *)h)
                                    : _mm256_maskz_loadu_epi16(m, h));
    }
    return full ? _mm512_loadu_ps(f) : _mm512_maskz_loadu_ps(m, f);
}

/* The vector of position p in its cache block. */
INLINE const void *cached_row(const void *block, size_t p, size_t size,
                              bool is_f16)
{
    return (const char *)block + p % CF_KV_BLOCK * size * (is_f16 ? 2 : 4);
}

/* Lane i of the result is the sum of the lanes of v[i]. */
INLINE __m256 sums_of_8(const __m512 v[8])
{
    __m512 a[4], b[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_add_ps(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]),
                             _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m512d lo = _mm512_unpacklo_pd(_mm512_castps_pd(a[2 * i]),
                                        _mm512_castps_pd(a[2 * i + 1]));
        __m512d hi = _mm512_unpackhi_pd(_mm512_castps_pd(a[2 * i]),
                                        _mm512_castps_pd(a[2 * i + 1]));
        b[i] = _mm512_add_ps(_mm512_castpd_ps(lo), _mm512_castpd_ps(hi));
    }
    /* 128-bit parts: [0..3] of b[0], [4..7] of b[1] */
    __m512 c = _mm512_add_ps(_mm512_shuffle_f32x4(b[0], b[1], 0x88),
                             _mm512_shuffle_f32x4(b[0], b[1], 0xDD));
    c = _mm512_add_ps(c, _mm512_shuffle_f32x4(c, c, 0xB1));
    return _mm512_castps512_ps256(_mm512_shuffle_f32x4(c, c, 0x88));
}

/* acc[h][i] += q[h] . k[i] in 16 dimensions from c. */
INLINE void dot_keys_16(__m512 acc[2][POS], const float *const q[2],
                        const void *const k[POS], size_t c, __mmask16 m,
                        bool is_f16, bool full, int n_h)
{
    __m512 q0 = _mm512_maskz_loadu_ps(m, q[0] + c);
    __m512 q1 = _mm512_maskz_loadu_ps(m, q[n_h - 1] + c);
#pragma GCC unroll 8
    for (int i = 0; i < POS; i++) {
        __m512 v = cached(k[i], c, m, is_f16, full);
        acc[0][i] = _mm512_fmadd_ps(q0, v, acc[0][i]);
        if (n_h == 2) {
            acc[1][i] = _mm512_fmadd_ps(q1, v, acc[1][i]);
        }
    }
}

/* s[h][i] = q[h] . k[i] for POS positions and n_h heads. */
INLINE void dot_keys(float *const s[2], const float *const q[2],
                     const void *const k[POS], size_t size, bool is_f16,
                     int n_h)
{
    __m512 acc[2][POS];
    size_t c = 0;
#pragma GCC unroll 8
    for (int i = 0; i < POS; i++) {
        acc[0][i] = acc[1][i] = _mm512_setzero_ps();
    }
    for (; c + 16 <= size; c += 16) {
        dot_keys_16(acc, q, k, c, 0xFFFF, is_f16, true, n_h);
    }
    if (c < size) {
        dot_keys_16(acc, q, k, c, lanes(c, size), is_f16, false, n_h);
    }
    _mm256_storeu_ps(s[0], sums_of_8(acc[0]));
    if (n_h == 2) {
        _mm256_storeu_ps(s[1], sums_of_8(acc[1]));
    }
}

/* Scores of n_h heads against the positions from p0 to p1 of one cache block;
 * what lies beyond the last one in a group of POS is that position again. */
INLINE void score(const cf_attn *a, const void *block, float *const s[2],
                  const float *const q[2], size_t p0, size_t p1, bool is_f16,
                  int n_h)
{
    for (size_t p = p0; p <= p1; p += POS) {
        const void *k[POS];
        for (size_t j = 0; j < POS; j++) {
            k[j] = cached_row(block, p + j < p1 ? p + j : p1, a->head_size,
                              is_f16);
        }
        float *to[2] = {s[0] + (p - a->first), s[1] + (p - a->first)};
        dot_keys(to, q, k, a->head_size, is_f16, n_h);
    }
}

/* s[n] becomes exp(s - largest), and the sum of that is returned, the sink
 * (or NULL) included; s is scaled and capped first. */
static float soften(const cf_attn *a, float *s, size_t n, const float *sink)
{
    __m512 top = _mm512_set1_ps(-INFINITY), total = _mm512_setzero_ps();
    __m512 scale = _mm512_set1_ps(a->scale), cap = _mm512_set1_ps(a->soft_cap);
    const __m512 one = _mm512_set1_ps(1.0f), two = _mm512_set1_ps(2.0f);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(m, s + i), scale);
        if (a->soft_cap > 0) { /* tanh z = 1 - 2 / (exp(2 z) + 1) */
            __m512 e = exp_16(_mm512_mul_ps(two, _mm512_div_ps(v, cap)));
            e = _mm512_div_ps(two, _mm512_add_ps(e, one));
            v = _mm512_mul_ps(cap, _mm512_sub_ps(one, e));
        }
        _mm512_mask_storeu_ps(s + i, m, v);
        top = _mm512_mask_max_ps(top, m, top, v);
    }
    if (sink) {
        top = _mm512_max_ps(top, _mm512_set1_ps(*sink));
    }
    top = _mm512_set1_ps(_mm512_reduce_max_ps(top));
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 m = lanes(i, n);
        __m512 v = _mm512_maskz_loadu_ps(m, s + i);
        v = exp_16(_mm512_sub_ps(v, top));
        _mm512_mask_storeu_ps(s + i, m, v);
        total = _mm512_mask_add_ps(total, m, total, v);
    }
    if (sink) {
        __m512 v = exp_16(_mm512_sub_ps(_mm512_set1_ps(*sink), top));
        total = _mm512_mask_add_ps(total, 1, total, v);
    }
    return _mm512_reduce_add_ps(total);
}

/* out[h] += sum over positions p0..p1 of s[h] * v, for n_d vectors of
 * dimensions from c0 on.  The first position seen starts from 0, and after
 * the last one the sum is multiplied by inv[h]. */
INLINE void mix_values(const cf_attn *a, const void *block, float *const out[2],
                       const float *const s[2], const float inv[2], size_t p0,
                       size_t p1, size_t c0, bool is_f16, int n_h, int n_d)
{
    size_t size = a->head_size_v;
    __m512 acc[2][DIMS];
    __mmask16 m[DIMS];
#pragma GCC unroll 8
    for (int d = 0; d < n_d; d++) {
        size_t c = c0 + 16 * (size_t)d;
        m[d] = lanes(c, size);
        __mmask16 old = p0 == a->first ? 0 : m[d];
        acc[0][d] = _mm512_maskz_loadu_ps(old, out[0] + c);
        acc[1][d] = _mm512_maskz_loadu_ps(old, out[n_h - 1] + c);
    }
    for (size_t p = p0; p <= p1; p++) {
        const void *v = cached_row(block, p, size, is_f16);
        __m512 s0 = _mm512_set1_ps(s[0][p - a->first]);
        __m512 s1 = _mm512_set1_ps(s[n_h - 1][p - a->first]);
#pragma GCC unroll 8
        for (int d = 0; d < n_d; d++) {
            __m512 x =
                cached(v, c0 + 16 * (size_t)d, m[d], is_f16, n_d == DIMS);
            acc[0][d] = _mm512_fmadd_ps(s0, x, acc[0][d]);
            if (n_h == 2) {
                acc[1][d] = _mm512_fmadd_ps(s1, x, acc[1][d]);
            }
        }
    }
    for (int h = 0; h < n_h; h++) {
        __m512 scale = _mm512_set1_ps(p1 == a->last ? inv[h] : 1.0f);
#pragma GCC unroll 8
        for (int d = 0; d < n_d; d++) {
            _mm512_mask_storeu_ps(out[h] + c0 + 16 * (size_t)d, m[d],
                                  _mm512_mul_ps(acc[h][d], scale));
        }
    }
}

/* One row's heads h and, where n_h is 2, h + 1. */
typedef struct head_pair {
    cf_attn a;
    const float *q[2];
    float *s[2], *out[2];
    const float *sink[2]; /* or NULL */
    float inv[2];
} head_pair;

/* The positions of cache block b that a row sees; false when none. */
INLINE bool in_block(const cf_attn *a, size_t b, size_t *p0, size_t *p1)
{
    *p0 = b * CF_KV_BLOCK > a->first ? b * CF_KV_BLOCK : a->first;
    *p1 = b * CF_KV_BLOCK + CF_KV_BLOCK - 1;
    *p1 = *p1 < a->last ? *p1 : a->last;
    return *p0 <= *p1;
}

/* Keys or values of a cache block as floats, those up to `end`. */
static const void *widen(float *out, const void *block, size_t b, size_t end,
                         size_t size)
{
    size_t n = end - b * CF_KV_BLOCK + 1;
    vec_f16_to_f32(out, block, (n < CF_KV_BLOCK ? n : CF_KV_BLOCK) * size);
    return out;
}

/* A cache block at a time for all rows, so that it is fetched once; wide:
 * halves are made floats once, too. */
INLINE void attend_pairs(head_pair *pairs, size_t n_row, size_t b0, size_t b1,
                         bool is_f16, bool wide, int n_h)
{
    size_t p0, p1, end = pairs[n_row - 1].a.last;
    alignas(64) float floats[WIDE_MAX * CF_KV_BLOCK];
    const void *block;
    for (size_t b = b0; b <= b1; b++) {
        block = pairs[0].a.k_block[b];
        if (wide) {
            block = widen(floats, block, b, end, pairs[0].a.head_size);
        }
        for (size_t i = 0; i < n_row; i++) {
            head_pair *t = &pairs[i];
            if (in_block(&t->a, b, &p0, &p1)) {
                score(&t->a, block, t->s, t->q, p0, p1, is_f16 && !wide, n_h);
            }
        }
    }
    for (size_t i = 0; i < n_row; i++) {
        head_pair *t = &pairs[i];
        for (int h = 0; h < n_h; h++) {
            size_t n = (size_t)t->a.last - t->a.first + 1;
            t->inv[h] = 1.0f / soften(&t->a, t->s[h], n, t->sink[h]);
        }
    }
    for (size_t b = b0; b <= b1; b++) {
        block = pairs[0].a.v_block[b];
        if (wide) {
            block = widen(floats, block, b, end, pairs[0].a.head_size_v);
        }
        for (size_t i = 0; i < n_row; i++) {
            head_pair *t = &pairs[i];
            const float *s[2] = {t->s[0], t->s[1]};
            size_t c = 0, size = t->a.head_size_v;
            if (!in_block(&t->a, b, &p0, &p1)) {
                continue;
            }
            for (; c + 16 * DIMS <= size; c += 16 * DIMS) {
                mix_values(&t->a, block, t->out, s, t->inv, p0, p1, c,
                           is_f16 && !wide, n_h, DIMS);
            }
            for (; c < size; c += 16) {
                mix_values(&t->a, block, t->out, s, t->inv, p0, p1, c,
                           is_f16 && !wide, n_h, 1);
            }
        }
    }
}

static void attend_kind(head_pair *pairs, size_t n_row, size_t b0, size_t b1,
                        bool is_f16, bool wide, int n_h)
{
    if (wide && n_h == 2) {
        attend_pairs(pairs, n_row, b0, b1, true, true, 2);
    } else if (wide) {
        attend_pairs(pairs, n_row, b0, b1, true, true, 1);
    } else if (is_f16 && n_h == 2) {
        attend_pairs(pairs, n_row, b0, b1, true, false, 2);
    } else if (is_f16) {
        attend_pairs(pairs, n_row, b0, b1, true, false, 1);
    } else if (n_h == 2) {
        attend_pairs(pairs, n_row, b0, b1, false, false, 2);
    } else {
        attend_pairs(pairs, n_row, b0, b1, false, false, 1);
    }
}

static void vec_attend(const cf_attn *a)
{
    size_t n_row = a->n_row > 0 ? a->n_row : 1;
    size_t end = a->last + n_row - 1, step = end - a->first + 1 + 16;
    assert(a->first <= a->last && n_row <= CF_ATTN_ROWS);
    for (size_t h = 0; h < a->n_q; h += 2) {
        head_pair pairs[CF_ATTN_ROWS];
        int n_h = h + 1 < a->n_q ? 2 : 1;
        for (size_t i = 0; i < n_row; i++) {
            head_pair *t = &pairs[i];
            t->a = cf_attn_row(a, i);
            for (size_t j = 0; j < 2; j++) {
                size_t head = h + (n_h == 2 ? j : 0);
                t->q[j] = t->a.q + head * a->q_stride;
                t->out[j] = t->a.out + head * a->out_stride;
                t->sink[j] = a->sinks ? a->sinks + head : NULL;
                t->s[j] = a->scratch + (i * a->n_q + head) * step;
            }
        }
        size_t b0 = a->first / CF_KV_BLOCK, b1 = end / CF_KV_BLOCK;
        bool wide = a->is_f16 && n_row > 1 && a->head_size <= WIDE_MAX &&
                    a->head_size_v <= WIDE_MAX;
        attend_kind(pairs, n_row, b0, b1, a->is_f16, wide, n_h);
    }
}

const cf_kernels *cf_kernels__avx512(void)
{
    static const cf_kernels set = {
        .name = "avx512",
        .prepared_bytes = cf_prepared_bytes,
        .prepared_class = cf_prepared_class,
        .prepare = cf_avx512__prepare,
        .matmul = cf_avx512__matmul,
        .matmul_scratch_bytes = cf_avx512__scratch_bytes,
        .row_multiple = 16,
        .rms_norm = vec_rms_norm,
        .silu_mul = vec_silu_mul,
        .gelu_mul = vec_gelu_mul,
        .add = vec_add,
        .f32_to_f16 = vec_f32_to_f16,
        .f16_to_f32 = vec_f16_to_f32,
        .attend = vec_attend,
        .recurrent = &cf_recurrent_avx512,
    };
    return &set;
}

#endif
