/*
 * set_parts.h - what the compilations that make up a kernel set know of each other.
 *
 * That with CF_WIDE has what depends on the width of vectors alone, that with
 * CF_EIGHT the products with activations of 8 bits, the third one the other
 * products and the table.  Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_SET_PARTS_H
#define CF_CORE_KERNEL_SET_PARTS_H

#include "core/kernel/kernel.h"

/* Declares prepare, matmul and matmul_scratch_bytes (kernel.h) of this set for
 * weights that meet bytes. */
#define CF_EIGHT_FUNCTIONS                                                                         \
    void CF_SET_8(prepare)(void *restrict out, const float *restrict x, size_t n_x, size_t n_col); \
    void CF_SET_8(matmul)(float *y, size_t y_stride, const cf_mat *w, const void *xp, size_t n_x,  \
                          size_t row0, size_t row1, void *scratch);                                \
    size_t CF_SET_8(scratch_bytes)(void);

/* Declares the functions of kernel.h that the sets of a width share. */
#define CF_WIDE_FUNCTIONS                                                                     \
    void CF_WIDE_(rms_norm)(float *out, const float *x, const float *w, size_t n, float eps); \
    void CF_WIDE_(silu_mul)(float *out, const float *gate, const float *up, size_t n);        \
    void CF_WIDE_(gelu_mul)(float *out, const float *gate, const float *up, size_t n);        \
    void CF_WIDE_(soft_cap)(float *x, size_t n, float cap);                                   \
    void CF_WIDE_(add)(float *y, const float *x, size_t n);                                   \
    void CF_WIDE_(f32_to_f16)(uint16_t * out, const float *x, size_t n);                      \
    void CF_WIDE_(f16_to_f32)(float *out, const uint16_t *x, size_t n);                       \
    void CF_WIDE_(attend)(const cf_attn *a);                                                  \
    extern const cf_recurrent_kernels CF_WIDE_(recurrent);                                    \
    extern const cf_encoder_kernels CF_WIDE_(encoder);

#endif
