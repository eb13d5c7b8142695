/*
 * quantise.h - float32 weights to blocks.
 *
 * Source: the reference quantisers of ggml (Q8_0, Q4_0), restated in
 * docs/models/quantisation.md.
 */
#ifndef CF_CORE_KERNEL_QUANTISE_H
#define CF_CORE_KERNEL_QUANTISE_H

#include "core/kernel/dtype.h"

/* Whether cf_quantise() makes that type. */
bool cf_quantise_can(cf_dtype type);

/* out: cf_dtype_row_bytes(type, n) bytes; n a multiple of 32. */
void cf_quantise(cf_dtype type, void *restrict out, const float *restrict x, size_t n);

#endif
