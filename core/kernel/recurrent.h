/*
 * recurrent.h - arithmetic of layers that carry a state, and of their gates.
 *
 * Part of cf_kernels.  One template (recurrent.inc) is compiled for each
 * instruction set; it adds numbers in the same order everywhere, lane by lane,
 * so that every set gives the same bits, and so does every way to cut a
 * prompt into batches: these functions see one token at a time.
 *
 * Threads:  no state.
 */
#ifndef CF_CORE_KERNEL_RECURRENT_H
#define CF_CORE_KERNEL_RECURRENT_H

#include <stddef.h>

/* Inputs of a causal convolution at most. */
enum { CF_TAP_MAX = 16 };

/* xIELU's numbers (Huang and Schlag 2024), after softplus. */
typedef struct cf_xielu {
    float positive, negative; /* of the quadratic and the exponential half */
    float beta;               /* of the linear part */
    float eps;                /* the exponential half's argument is at most this */
} cf_xielu;

/* One token of one head with a state m[n_key, n_value]. */
typedef struct cf_state_step {
    float *m;          /* the state after the token */
    const float *m_in; /* before it; may be m */
    const float *k;    /* [n_key] */
    const float *q;    /* [n_key] */
    const float *v;    /* [n_value] */
    float *out;        /* [n_value] */
    float decay;       /* the state is multiplied by it first */
    float beta;        /* delta rule only: how much is written */
    size_t n_key, n_value;
} cf_state_step;

typedef struct cf_recurrent_kernels {
    /* Gated delta rule (Yang, Kautz and Hatamizadeh 2024), in this order:
     *   m = decay m_in;  m += k (beta (v - m^T k))^T;  out = m^T q
     * tmp[n_value] is overwritten. */
    void (*delta)(const cf_state_step *s, float *tmp);

    /* State space duality (Dao and Gu 2024):
     *   m = decay m_in + k v^T;  out = m^T q */
    void (*scan)(const cf_state_step *s);

    /* out[c] = bias[c] + sum over t of w[c, t] * x[t][c], a causal depthwise
     * convolution at one token; x[n_tap - 1] is the token's own input.  bias
     * may be NULL. */
    void (*conv)(float *out, const float *const *x, const float *w, const float *bias, size_t n_tap,
                 size_t n);

    /* x[n] = x sigmoid(x), in place */
    void (*silu)(float *x, size_t n);

    /* out[n] = x[n] * sigmoid(gate[n]);  out may be x. */
    void (*sigmoid_mul)(float *out, const float *x, const float *gate, size_t n);

    /* gpt-oss:  g = min(gate, 7), u = clamp(up, -7, 7),
     * out[n] = g sigmoid(1.702 g) (u + 1).  out may be gate. */
    void (*clamped_glu)(float *out, const float *gate, const float *up, size_t n);

    /* out[n] = max(gate[n], 0) * up[n];  out may be gate. */
    void (*relu_mul)(float *out, const float *gate, const float *up, size_t n);

    /* x[n] = max(x, 0)^2, in place */
    void (*relu2)(float *x, size_t n);

    /* x[n] = positive x^2 + beta x where x > 0, and else
     * (exp(min(x, eps)) - 1 - x) negative + beta x, in place */
    void (*xielu)(float *x, const cf_xielu *p, size_t n);
} cf_recurrent_kernels;

extern const cf_recurrent_kernels cf_recurrent_ref;

#endif
