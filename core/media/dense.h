/*
 * dense.h - the arithmetic of an encoder: products, norms, attention of all
 * positions to each other.
 *
 * Rows of activations are float32, one after the other.  What is computed for
 * a row does not depend on the number of threads.  Large products of float
 * weights are OpenBLAS's where the caller has it, others confab's.
 *
 * Work is cut into pieces of a few milliseconds; between two of them it looks
 * whether it is cancelled, and leaves the rest undone.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_DENSE_H
#define CF_CORE_MEDIA_DENSE_H

#include "core/base/pool.h"
#include "core/kernel/blas.h"
#include "core/media/mmproj.h"
#include "core/media/stop.h"

/* The number of finished layers of a picture or sound, for progress displays. */
typedef struct cf_dense_steps {
    void (*fn)(void *ud, size_t done, size_t total); /* may be NULL */
    void *ud;
    size_t done, total;
} cf_dense_steps;

typedef struct cf_dense {
    const cf_kernels *k;
    cf_pool *pool;
    const cf_stop *stop;   /* may be NULL */
    const cf_blas *blas;   /* NULL: confab's kernels only */
    cf_dense_steps *steps; /* may be NULL */
} cf_dense;

typedef enum cf_act {
    CF_ACT_QUICK,    /* x sigmoid(1.702 x) */
    CF_ACT_GELU,     /* the tanh form */
    CF_ACT_GELU_ERF, /* x (1 + erf(x / sqrt 2)) / 2 */
    CF_ACT_SILU
} cf_act;

/* y[n, n_row] = l(x[n, n_col]); CF_ENOMEM, CF_ECANCELLED. */
CF_MUST_USE cf_status cf_dense_linear(const cf_dense *d, float *y, const float *x, size_t n,
                                      const cf_linear *l, cf_error *err);

/* Attention of n positions [n, n_head * head_size] to the first n_key of them;
 * scores are q . k * scale.  CF_ENOMEM, CF_ECANCELLED. */
CF_MUST_USE cf_status cf_dense_attend(const cf_dense *d, float *out, const float *q, const float *k,
                                      const float *v, size_t n, size_t n_key, uint32_t n_head,
                                      uint32_t head_size, float scale, cf_error *err);

/* After a cancellation the functions below stop early and report nothing; the next
 * product or attention returns CF_ECANCELLED. */

/* out = (x - mean) / sqrt(variance + eps) * w + b, each row of `width`; b may
 * be NULL, out may be x. */
void cf_dense_layer_norm(const cf_dense *d, float *out, const float *x, const float *w,
                         const float *b, size_t n, size_t width, float eps);
/* out = x / sqrt(mean of squares + eps) * w; w may be NULL. */
void cf_dense_rms_norm(const cf_dense *d, float *out, const float *x, const float *w, size_t n,
                       size_t width, float eps);
/* x = act(x), in place. */
void cf_dense_act(const cf_dense *d, float *x, size_t n, cf_act act);

/* y[n] += by * x[n] */
void cf_dense_add(const cf_dense *d, float *y, const float *x, float by, size_t n);
/* y[n] *= x[n] */
void cf_dense_mul(const cf_dense *d, float *y, const float *x, size_t n);

/* Counts one more finished step. */
void cf_dense_step(const cf_dense *d);

/* A part of an encoder's memory: n floats, whose address is stored in *at. */
typedef struct cf_dense_part {
    float **at;
    size_t n;
} cf_dense_part;

/* One block of zeros that the parts share, to be freed as a whole; NULL when
 * memory runs out. */
float *cf_dense_parts(const cf_dense_part *part, size_t n);

/* Part i of n of `total`, a multiple of `unit` but for the last. */
static inline void cf_dense__share(size_t total, size_t unit, unsigned i, unsigned n, size_t *begin,
                                   size_t *end)
{
    size_t units = (total + unit - 1) / unit;
    *begin = units * i / n * unit;
    *end = units * (i + 1) / n * unit;
    *end = *end < total ? *end : total;
}

#endif
