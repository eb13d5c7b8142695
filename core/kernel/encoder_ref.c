/*
 * encoder_ref.c - the plain definition of encoder.h, summed in double.
 */
#include "core/kernel/encoder.h"

#include <math.h>
#include <string.h>

static size_t up16(size_t n)
{
    return (n + 15) / 16 * 16;
}

static size_t ref_packed_floats(size_t n_key, size_t size)
{
    return up16(2 * n_key * size);
}

/* A row of scores in double. */
static size_t ref_scratch_floats(size_t n_key, size_t size)
{
    (void)size;
    return up16(2 * n_key);
}

/* Keys [n_key, size], then values. */
static void ref_pack(float *to, const float *k, const float *v, size_t stride, size_t n_key,
                     size_t size)
{
    for (size_t t = 0; t < n_key; t++) {
        memcpy(to + t * size, k + t * stride, size * sizeof *to);
        memcpy(to + (n_key + t) * size, v + t * stride, size * sizeof *to);
    }
}

/* The query at position `at`. */
static void attend_one(const cf_encoder_attn *a, float *out, const float *q, size_t at)
{
    double *s = (double *)(void *)a->scratch, top = -INFINITY, total = 0;
    const float *v = a->packed + a->n_key * a->size;
    for (size_t t = 0; t < a->n_key; t++) {
        double sum = 0;
        for (size_t c = 0; c < a->size; c++) {
            sum += (double)q[c] * (double)a->packed[t * a->size + c];
        }
        size_t d = t > at ? t - at : at - t;
        s[t] = sum * (double)a->scale - (double)a->slope * (double)d;
        if (a->window != 0 && d > a->window / 2) {
            s[t] = -INFINITY;
        }
        top = fmax(top, s[t]);
    }
    for (size_t t = 0; t < a->n_key; t++) {
        s[t] = exp(s[t] - top);
        total += s[t];
    }
    for (size_t c = 0; c < a->size; c++) {
        double sum = 0;
        for (size_t t = 0; t < a->n_key; t++) {
            sum += s[t] * (double)v[t * a->size + c];
        }
        out[c] = (float)(sum / total);
    }
}

static void ref_attend(const cf_encoder_attn *a)
{
    for (size_t i = 0; i < a->n_q; i++) {
        attend_one(a, a->out + i * a->out_stride, a->q + i * a->q_stride, a->at + i);
    }
}

static void ref_gelu_erf(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i];
        x[i] = (float)(0.5 * v * (1 + erf(v * 0.70710678118654752)));
    }
}

static void ref_gelu_quick(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i];
        x[i] = (float)(v / (1 + exp(-1.702 * v)));
    }
}

const cf_encoder_kernels cf_encoder_ref = {
    .packed_floats = ref_packed_floats,
    .scratch_floats = ref_scratch_floats,
    .pack = ref_pack,
    .attend = ref_attend,
    .gelu_erf = ref_gelu_erf,
    .gelu_quick = ref_gelu_quick,
};
