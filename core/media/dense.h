/*
 * dense.h - the arithmetic of an encoder: products, norms, attention of all
 * positions to each other.
 *
 * Rows of activations are float32, one after the other.  What is computed for
 * a row does not depend on the number of threads.  Large products of float
 * weights are OpenBLAS's where the caller has it, others confab's.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_DENSE_H
#define CF_CORE_MEDIA_DENSE_H

#include "core/api/session.h"
#include "core/base/pool.h"
#include "core/kernel/blas.h"
#include "core/media/mmproj.h"

/* Layers of a picture or sound that are done, for whoever waits. */
typedef struct cf_dense_steps {
    void (*fn)(void *ud, size_t done, size_t total); /* may be NULL */
    void *ud;
    size_t done, total;
} cf_dense_steps;

typedef struct cf_dense {
    const cf_kernels *k;
    cf_pool *pool;
    const cf_cancel *cancel; /* may be NULL */
    const cf_blas *blas;     /* NULL: confab's kernels only */
    cf_dense_steps *steps;   /* may be NULL */
} cf_dense;

bool cf_dense_is_cancelled(const cf_dense *d);

typedef enum cf_act {
    CF_ACT_QUICK,    /* x sigmoid(1.702 x) */
    CF_ACT_GELU,     /* the tanh form */
    CF_ACT_GELU_ERF, /* x (1 + erf(x / sqrt 2)) / 2 */
    CF_ACT_SILU
} cf_act;

/* y[n, n_row] = l(x[n, n_col]); CF_ENOMEM, CF_ECANCELLED. */
CF_MUST_USE cf_status cf_dense_linear(const cf_dense *d, float *y,
                                      const float *x, size_t n,
                                      const cf_linear *l, cf_error *err);

/* Attention of n positions [n, n_head * head_size] to the first n_key of them;
 * scores are q . k * scale. */
CF_MUST_USE cf_status cf_dense_attend(const cf_dense *d, float *out,
                                      const float *q, const float *k,
                                      const float *v, size_t n, size_t n_key,
                                      uint32_t n_head, uint32_t head_size,
                                      float scale, cf_error *err);

/* out = (x - mean) / sqrt(variance + eps) * w + b, each row of `width`; b may
 * be NULL, out may be x. */
void cf_dense_layer_norm(float *out, const float *x, const float *w,
                         const float *b, size_t n, size_t width, float eps);
/* out = x / sqrt(mean of squares + eps) * w; w may be NULL. */
void cf_dense_rms_norm(float *out, const float *x, const float *w, size_t n,
                       size_t width, float eps);
/* x = act(x), in place. */
void cf_dense_act(const cf_dense *d, float *x, size_t n, cf_act act);

/* One step more is done. */
void cf_dense_step(const cf_dense *d);

#endif
