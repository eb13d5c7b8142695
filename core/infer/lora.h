/*
 * lora.h - adapters in a pass: what each row's session adds to a matrix.
 *
 * Place in the flow:  adapter.c --> here <-- pass.c.
 * Knows: matrices by the place of their weights, also slices of fused ones.
 * Does not know: files.
 *
 * By row, where a matrix's input is prepared:  t = scale * A in.
 * By output, where it was multiplied:          y += B t.
 * The order of each sum is fixed by the sizes: other rows and the number of
 * threads change no bit.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_LORA_H
#define CF_CORE_INFER_LORA_H

#include "core/api/adapter.h"
#include "core/kernel/kernel.h"

/* What an adapter adds to one matrix of the model. */
typedef struct cf_lora_pair {
    const unsigned char *p; /* of the matrix, [bytes] */
    uint64_t bytes;
    uint32_t n_col, n_row, rank;
    float scale;
    const float *a; /* [rank, n_col] */
    const float *b; /* [rank, n_row] */
} cf_lora_pair;

/* A session's adapters. */
typedef struct cf_lora_set {
    cf_adapter_use use[CF_ADAPTERS_MAX];
    size_t n; /* 0: none */
} cf_lora_set;

/* Most numbers of t that the set needs for a matrix. */
size_t cf_lora_n_rank(const cf_lora_set *set);

/* t[n_rank] for matrix m: used of them are filled and returned. */
size_t cf_lora_in(const cf_lora_set *set, const cf_mat *m, const float *in, float *t);
/* y[lo..hi) += B t. */
void cf_lora_out(const cf_lora_set *set, const cf_mat *m, const float *t, float *y, size_t lo,
                 size_t hi);

/* y[n_col] += (scale B A)^T d, for d[n_row]: the way back. */
void cf_lora_back(const cf_lora_set *set, const cf_mat *m, const double *d, double *y);

#endif
