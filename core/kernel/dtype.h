/*
 * dtype.h - the tensor types of GGUF that confab reads, and their blocks.
 *
 * Source: the GGUF specification and the block layouts of ggml, restated in
 * docs/models/quantisation.md.
 */
#ifndef CF_CORE_KERNEL_DTYPE_H
#define CF_CORE_KERNEL_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbered as in the file. */
typedef enum cf_dtype {
    CF_F32 = 0,
    CF_F16 = 1,
    CF_Q4_0 = 2,
    CF_Q4_1 = 3,
    CF_Q5_0 = 6,
    CF_Q5_1 = 7,
    CF_Q8_0 = 8,
    CF_Q2_K = 10,
    CF_Q3_K = 11,
    CF_Q4_K = 12,
    CF_Q5_K = 13,
    CF_Q6_K = 14,
    CF_IQ2_XXS = 16,
    CF_IQ2_XS = 17,
    CF_IQ3_XXS = 18,
    CF_IQ1_S = 19,
    CF_IQ4_NL = 20,
    CF_IQ3_S = 21,
    CF_IQ2_S = 22,
    CF_IQ4_XS = 23,
    CF_IQ1_M = 29,
    CF_BF16 = 30,
    CF_TQ1_0 = 34,
    CF_TQ2_0 = 35,
    CF_MXFP4 = 39,
    CF_NVFP4 = 40,
    CF_Q1_0 = 41,
    CF_Q2_0 = 42,
    CF_IQ2_K = 137, /* these are ik_llama.cpp's */
    CF_IQ3_K = 138,
    CF_IQ4_K = 139,
    CF_IQ5_K = 140,
    CF_IQ6_K = 141
} cf_dtype;

enum { CF_DTYPE_COUNT = 142 };

typedef struct cf_dtype_info {
    const char *name;   /* "Q4_K"; NULL for a number confab does not read */
    uint32_t n_block;   /* weights in a block */
    uint32_t blk_bytes; /* bytes of a block */
} cf_dtype_info;

/* Facts of a type; name is NULL when `type` is not one of the above. */
cf_dtype_info cf_dtype_get(uint32_t type);

/* The name of any type number that GGUF writers are known to use, also of
 * those that confab does not read: "Q8_1"; NULL for others. */
const char *cf_dtype_name(uint32_t type);

/* Bytes of a row of n weights; n must be a multiple of the block. */
size_t cf_dtype_row_bytes(cf_dtype type, size_t n);

/* Dequantises n weights (a multiple of the block) to float32.  This defines
 * the values of the weights. */
void cf_dtype_to_f32(cf_dtype type, float *restrict out, const void *restrict in, size_t n);

#endif
