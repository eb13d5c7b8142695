/*
 * kernel_ref.c - the plain C kernels: the definition, and what --exact runs.
 *
 * Weights are dequantised to float32, activations stay float32, products are
 * summed in double in a fixed order.  Slow on purpose where that is simpler.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/kernel/cached.h"
#include "core/kernel/half.h"
#include "core/kernel/kernel.h"

static size_t ref_prepared_bytes(cf_dtype type, size_t n_col)
{
    (void)type;
    return (n_col * sizeof(float) + 63) / 64 * 64;
}

static unsigned ref_prepared_class(cf_dtype type)
{
    (void)type;
    return 0;
}

static void ref_prepare(void *restrict out, cf_dtype type, const float *restrict x, size_t n_x,
                        size_t n_col)
{
    size_t step = ref_prepared_bytes(type, n_col);
    for (size_t t = 0; t < n_x; t++) {
        memcpy((char *)out + t * step, x + t * n_col, n_col * sizeof *x);
    }
}

/* Eight running sums, so that a compiler can use vectors without changing
 * the order. */
static double dot(const float *a, const float *b, size_t n)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            sum[j] += (double)a[i + j] * (double)b[i + j];
        }
    }
    for (size_t j = 0; i < n; i++, j++) {
        sum[j] += (double)a[i] * (double)b[i];
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* scratch: one dequantised row */
static size_t ref_matmul_scratch_bytes(cf_dtype type, size_t n_col)
{
    return ref_prepared_bytes(type, n_col);
}

static void ref_matmul(float *y, size_t y_stride, const cf_mat *w, const void *xp, size_t n_x,
                       size_t row0, size_t row1, void *scratch)
{
    size_t step = ref_prepared_bytes(w->type, w->n_col);
    float *row = scratch;
    assert(row1 <= w->n_row);
    for (size_t r = row0; r < row1; r++) {
        cf_dtype_to_f32(w->type, row, (const char *)w->p + r * w->row_bytes, w->n_col);
        for (size_t t = 0; t < n_x; t++) {
            const void *x = (const char *)xp + t * step;
            y[t * y_stride + r] = (float)dot(row, x, w->n_col);
        }
    }
}

static void ref_rms_norm(float *out, const float *x, const float *w, size_t n, float eps)
{
    double mean = dot(x, x, n) / (double)n;
    float scale = (float)(1.0 / sqrt(mean + (double)eps));
    for (size_t i = 0; i < n; i++) {
        out[i] = w ? x[i] * scale * w[i] : x[i] * scale;
    }
}

/* silu(x) = x / (1 + exp(-x))   (Elfwing, Uchibe and Doya 2017) */
static void ref_silu_mul(float *out, const float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
    }
}

/* gelu(x) = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))   (Hendrycks
 * and Gimpel 2016, the tanh form) */
static void ref_gelu_mul(float *out, const float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float g = gate[i];
        float u = 0.79788456f * (g + 0.044715f * g * g * g);
        out[i] = 0.5f * g * (1.0f + tanhf(u)) * up[i];
    }
}

static void ref_soft_cap(float *x, size_t n, float cap)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = cap * tanhf(x[i] / cap);
    }
}

static void ref_add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        y[i] += x[i];
    }
}

static void ref_f32_to_f16(uint16_t *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = cf_float_to_half(x[i]);
    }
}

static void ref_f16_to_f32(float *out, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = cf_half_to_float(x[i]);
    }
}

/* Dimension c of the value at position p. */
static float value_at(const cf_attn *a, uint32_t p, size_t c)
{
    uint32_t b = p / CF_KV_BLOCK, at = p % CF_KV_BLOCK;
    return a->v_block == NULL ? cf_cached_key(a->type, a->k_block[b], at, c)
                              : cf_cached_value(a->type, a->v_block[b], at, c, a->head_size_v);
}

static void ref_attend_one(const cf_attn *a, const float *q, float *out, const float *sink)
{
    uint32_t n = a->last - a->first + 1;
    float *s = a->scratch;
    float max = sink != NULL ? *sink : -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p = a->first + i;
        const void *k = a->k_block[p / CF_KV_BLOCK];
        double sum = 0;
        for (size_t c = 0; c < a->head_size; c++) {
            sum += (double)q[c] * (double)cf_cached_key(a->type, k, p % CF_KV_BLOCK, c);
        }
        s[i] = (float)sum * a->scale;
        if (a->soft_cap > 0) {
            s[i] = a->soft_cap * tanhf(s[i] / a->soft_cap);
        }
        s[i] = cf_attn_hides(a, p) ? -INFINITY : s[i];
        max = s[i] > max ? s[i] : max;
    }
    if (max == -INFINITY) { /* nothing is left: the query's own position */
        s[a->at - a->first] = max = 0;
    }
    double total = sink != NULL ? (double)expf(*sink - max) : 0;
    for (uint32_t i = 0; i < n; i++) {
        s[i] = expf(s[i] - max);
        total += (double)s[i];
    }
    for (size_t c = 0; c < a->head_size_v; c++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            sum += (double)s[i] * (double)value_at(a, a->first + i, c);
        }
        out[c] = (float)(sum / total);
    }
}

static void ref_attend(const cf_attn *a)
{
    assert(a->first <= a->last && a->n_row <= CF_ATTN_ROWS);
    for (size_t i = 0; i < a->n_row || i == 0; i++) {
        cf_attn row = cf_attn_row(a, i);
        for (size_t h = 0; h < a->n_q; h++) {
            ref_attend_one(&row, row.q + h * a->q_stride, row.out + h * a->out_stride,
                           a->sinks != NULL ? a->sinks + h : NULL);
        }
    }
}

const cf_kernels *cf_kernels_ref(void)
{
    static const cf_kernels ref = {
        .name = "ref",
        .prepared_bytes = ref_prepared_bytes,
        .prepared_class = ref_prepared_class,
        .prepare = ref_prepare,
        .matmul = ref_matmul,
        .matmul_scratch_bytes = ref_matmul_scratch_bytes,
        .row_multiple = 1,
        .rms_norm = ref_rms_norm,
        .silu_mul = ref_silu_mul,
        .gelu_mul = ref_gelu_mul,
        .soft_cap = ref_soft_cap,
        .add = ref_add,
        .f32_to_f16 = ref_f32_to_f16,
        .f16_to_f32 = ref_f16_to_f32,
        .attend = ref_attend,
        .recurrent = &cf_recurrent_ref,
        .encoder = &cf_encoder_ref,
    };
    return &ref;
}
