/*
 * eight.h - what a kernel set's two compilations know of each other.
 *
 * That with CF_EIGHT has the products with activations of 8 bits, the other one
 * the set and the table that calls them.  Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_EIGHT_H
#define CF_CORE_KERNEL_EIGHT_H

#include "core/kernel/kernel.h"

/* Declares prepare, matmul and matmul_scratch_bytes (kernel.h) of this set for
 * weights that meet bytes. */
#define CF_EIGHT_FUNCTIONS                                                                         \
    void CF_SET_8(prepare)(void *restrict out, const float *restrict x, size_t n_x, size_t n_col); \
    void CF_SET_8(matmul)(float *y, size_t y_stride, const cf_mat *w, const void *xp, size_t n_x,  \
                          size_t row0, size_t row1, void *scratch);                                \
    size_t CF_SET_8(scratch_bytes)(void);

#endif
