/*
 * encoder.h - arithmetic of the encoders of pictures and sounds: attention of
 * all positions to each other, and the activations that text models lack.
 *
 * Part of cf_kernels.  Like the other kernels, the sets (encoder.inc) give the
 * same bits as each other: a sum has one order, whatever the width of vectors.
 * The reference (encoder_ref.c) computes in double.
 *
 * Threads:  no state.
 */
#ifndef CF_CORE_KERNEL_ENCODER_H
#define CF_CORE_KERNEL_ENCODER_H

#include <stddef.h>

/* Queries at most in one call. */
enum { CF_ENCODER_QUERIES = 48 };

/* Queries of one head against its keys and values:
 *   out[i] = sum over t of softmax_t(scale * q[i] . k[t] - slope d) * v[t]
 * where d = |at + i - t|, and t is left out where d > window / 2. */
typedef struct cf_encoder_attn {
    float *out;     /* [n_q, size], stride out_stride floats */
    const float *q; /* [n_q, size], stride q_stride floats */
    size_t n_q, q_stride, out_stride;
    const float *packed; /* keys and values, by pack() */
    size_t n_key;        /* at least 1 */
    size_t size;         /* of the head */
    float scale, slope;
    size_t at;      /* position of query 0, where there is a window or a slope */
    size_t window;  /* 0: all keys */
    float *scratch; /* scratch_floats(), 64-byte aligned */
} cf_encoder_attn;

typedef struct cf_encoder_kernels {
    /* Floats that pack() writes, and that attend() needs as scratch; each a
     * multiple of 16. */
    size_t (*packed_floats)(size_t n_key, size_t size);
    size_t (*scratch_floats)(size_t n_key, size_t size);

    /* Keys and values k, v[n_key, size] of one head, rows `stride` floats
     * apart, in the order that attend() reads. */
    void (*pack)(float *to, const float *k, const float *v, size_t stride, size_t n_key,
                 size_t size);
    void (*attend)(const cf_encoder_attn *a);

    /* x[n] = x (1 + erf(x / sqrt 2)) / 2, in place */
    void (*gelu_erf)(float *x, size_t n);
    /* x[n] = x sigmoid(1.702 x), in place */
    void (*gelu_quick)(float *x, size_t n);
} cf_encoder_kernels;

extern const cf_encoder_kernels cf_encoder_ref;

#endif
