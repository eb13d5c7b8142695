/*
 * kernel.h - arrays in, arrays out: the arithmetic of a forward pass.
 *
 * Knows numbers and layouts, not models.  kernel_ref.c is plain C and defines
 * what is computed, in double; the fast sets (sets.h) are one source, set.inc,
 * compiled for each kind of processor, and give the same bits as each other.
 * A table of functions is picked at start (kernel_pick.c).
 *
 * Shapes are in brackets, row-major, last axis contiguous.  Nothing aliases
 * unless said.  Preconditions are asserted, kernels return nothing.
 *
 * Batch invariance: what a kernel writes for one row of x does not depend on
 * how many other rows it was given, nor on how output rows were divided among
 * threads.  A sum is taken in an order fixed by its length alone.
 */
#ifndef CF_CORE_KERNEL_KERNEL_H
#define CF_CORE_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel/dtype.h"
#include "core/kernel/encoder.h"
#include "core/kernel/recurrent.h"

/* A weight matrix [n_row, n_col] in the file's layout. */
typedef struct cf_mat {
    const void *p;
    cf_dtype type;
    uint32_t n_row;   /* outputs */
    uint32_t n_col;   /* inputs; a multiple of the type's block */
    size_t row_bytes; /* bytes from one row to the next */
    float by;         /* outputs are multiplied by it, by the caller of matmul;
                         0: they are not */
} cf_mat;

struct cf_attn;

/* Rows of activations made ready for one weight type: float, or blocks of 16
 * or 8 bits with scales and sums.  Made once by prepare, read by many
 * matmuls. */
typedef struct cf_kernels {
    const char *name; /* "ref", "avx2", ... */

    /* Bytes that prepare writes for one row of n_col activations that will
     * meet weights of `type`; a multiple of 64. */
    size_t (*prepared_bytes)(cf_dtype type, size_t n_col);

    /* Weight types with the same class share prepared activations. */
    unsigned (*prepared_class)(cf_dtype type);

    /* out: prepared_bytes() a row, 64-byte aligned.  x[n_x, n_col]. */
    void (*prepare)(void *restrict out, cf_dtype type, const float *restrict x, size_t n_x,
                    size_t n_col);

    /*
     * y[t, r] = sum over c of w[r, c] * x[t, c]  for r in row0..row1-1 and
     * t in 0..n_x-1.   y has stride y_stride floats a row of x; xp is what
     * prepare made for w's type.  scratch: matmul_scratch_bytes(), one per
     * calling thread, 64-byte aligned.
     */
    void (*matmul)(float *y, size_t y_stride, const cf_mat *w, const void *xp, size_t n_x,
                   size_t row0, size_t row1, void *scratch);
    size_t (*matmul_scratch_bytes)(cf_dtype type, size_t n_col);
    /* Row ranges given to threads start at a multiple of this. */
    uint32_t row_multiple;

    /* out[n] = x[n] * w[n] / sqrt(mean of x squared + eps)   (RMSNorm, Zhang
     * and Sennrich 2019).  w may be NULL; out may be x. */
    void (*rms_norm)(float *out, const float *x, const float *w, size_t n, float eps);

    /* out[n] = silu(gate[n]) * up[n];  out may be gate. */
    void (*silu_mul)(float *out, const float *gate, const float *up, size_t n);
    /* out[n] = gelu(gate[n]) * up[n], the tanh form.  out may be gate. */
    void (*gelu_mul)(float *out, const float *gate, const float *up, size_t n);

    /* x[n] = cap * tanh(x[n] / cap), in place; cap > 0 */
    void (*soft_cap)(float *x, size_t n, float cap);

    /* y[n] += x[n] */
    void (*add)(float *y, const float *x, size_t n);

    /* f32 <-> f16 (IEEE 754 binary16, round to nearest even) */
    void (*f32_to_f16)(uint16_t *out, const float *x, size_t n);
    void (*f16_to_f32)(float *out, const uint16_t *x, size_t n);

    /*
     * Query heads against cached keys and values:  out[dv] = sum over p of
     * softmax_p(scale * q . k[p]) * v[p]. See cf_attn below.
     */
    void (*attend)(const struct cf_attn *a);

    const cf_recurrent_kernels *recurrent;
    const cf_encoder_kernels *encoder;

    /* The same set with activations of 8 bits where weights are quantised
     * (prepared.h); NULL in that table, and in the reference's. */
    const struct cf_kernels *eight;
} cf_kernels;

/* Blocks of a key/value cache hold this many positions. */
enum { CF_KV_BLOCK = 32 };

/* Sizes of attention. */
enum {
    CF_ATTN_ROWS = 64,    /* rows of queries at most in one call */
    CF_ATTN_QUERIES = 64, /* rows times heads that meet a cache block at once */
    CF_ATTN_CHUNK = 512,  /* positions between two steps of the softmax */
    /* Of the scratch: queries up to a whole tile of any set, and floats from
     * a query's scores to the next one's, so that they spread over a cache. */
    CF_ATTN_PADDED = CF_ATTN_QUERIES + 8,
    CF_ATTN_STEP = CF_ATTN_CHUNK + 16
};

/*
 * Attention of the query heads that share one key/value head, at one position
 * or at a few that follow each other.  Keys and values of that head lie in
 * blocks of a type (cached.h); block b holds the positions b * 32 .. b * 32 + 31:
 *   k_block[b] -> [head_size, CF_KV_BLOCK]     positions side by side
 *   v_block[b] -> [CF_KV_BLOCK, head_size_v]   dimensions side by side
 * v_block NULL: the first head_size_v numbers of a key are its value.
 * Positions first..last (inclusive) are attended to.  Row i of n_row sees i
 * positions more, and none that is `window` or more before its own last one.
 * What `hide` takes away is left out of the softmax; where nothing is left, a
 * head with a sink gives 0, another one the value at the query's own position.
 * soft_cap 0 means none; else s = cap * tanh(s / cap) before the softmax.
 * sinks: each head's softmax has one score more, whose weight goes to no value
 * (Xiao et al. 2023).
 */
typedef struct cf_attn_hide {
    uint32_t first, end; /* positions first .. end - 1 are not seen */
    uint32_t from;       /* by queries at this position and later */
} cf_attn_hide;

typedef struct cf_attn {
    float *out;     /* [n_q, head_size_v], stride out_stride floats */
    const float *q; /* [n_q, head_size], stride q_stride floats */
    size_t n_q, q_stride, out_stride;
    size_t n_row;          /* 1..CF_ATTN_ROWS; 0 is 1 */
    size_t q_row, out_row; /* floats from a row's queries, outputs to the
                              next row's; not read for one row */
    uint32_t window;       /* 0 means none */
    const void *const *k_block;
    const void *const *v_block;
    uint32_t first, last;
    uint32_t at;              /* position of row 0; read with `hide` only */
    const cf_attn_hide *hide; /* [n_hide] in any order; they may overlap */
    size_t n_hide;
    uint32_t head_size, head_size_v;
    cf_dtype type; /* F32, F16, Q8_0, Q4_0 */
    float scale, soft_cap;
    const float *sinks; /* [n_q] or NULL */
    float *scratch;     /* CF_ATTN_SCRATCH(head_size, head_size_v, positions from
                       `first` to the last row's last) floats */
} cf_attn;

/* Row i alone. */
static inline cf_attn cf_attn_row(const cf_attn *a, size_t i)
{
    cf_attn one = *a;
    one.n_row = 1;
    one.q += i * a->q_row;
    one.out += i * a->out_row;
    one.last += (uint32_t)i;
    one.at += (uint32_t)i;
    if (a->window != 0 && one.last >= a->window && one.last - a->window + 1 > a->first) {
        one.first = one.last - a->window + 1;
    }
    return one;
}

/* Whether the query of row 0 does not see position p. */
static inline bool cf_attn_hides(const cf_attn *a, uint32_t p)
{
    bool is_hidden = false;
    for (size_t i = 0; i < a->n_hide && !is_hidden; i++) {
        const cf_attn_hide *h = &a->hide[i];
        is_hidden = a->at >= h->from && p >= h->first && p < h->end;
    }
    return is_hidden;
}

/* Floats of scratch: the reference keeps a score a position, the fast sets keep
 * those of a chunk, queries and outputs, and a cache block. */
#define CF_ATTN_SCRATCH(size, size_v, n_pos)                                                    \
    ((size_t)CF_ATTN_PADDED * ((size_t)CF_ATTN_STEP + (size_t)(size) + (size_t)(size_v) + 16) + \
     CF_KV_BLOCK * ((size_t)(size) + (size_t)(size_v)) + (size_t)(n_pos))

/* The reference table: float32 on dequantised weights. */
const cf_kernels *cf_kernels_ref(void);

/* The best table this machine runs, or the named one; NULL when the name is
 * unknown or the machine lacks it. */
const cf_kernels *cf_kernels_pick(const char *name);

/* A set of this processor family. */
typedef struct cf_kernels_entry {
    const char *name, *needs; /* "avx2", "AVX2 with FMA" */
    bool is_there;            /* this machine has what it needs */
} cf_kernels_entry;

/* Set i, the best first; false after the last one. */
bool cf_kernels_list(size_t i, cf_kernels_entry *out);

#endif
