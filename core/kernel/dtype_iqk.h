/*
 * dtype_iqk.h - the weight types IQ2_K to IQ6_K of ik_llama.cpp, whose weights
 * are entries of a short list of bytes: a block of 256 weights as bytes and
 * scales.
 *
 * Layouts: docs/models/quantisation.md.
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_DTYPE_IQK_H
#define CF_CORE_KERNEL_DTYPE_IQK_H

#include <stdint.h>

#include "core/kernel/dtype.h"

enum { CF_IQK_WEIGHTS = 256, CF_IQK_SCALES = 16 };

/* Weight i of the block b is worth scale[i / 16] * code[i]. */
void cf_iqk_split(cf_dtype type, const unsigned char *b, int8_t code[CF_IQK_WEIGHTS],
                  float scale[CF_IQK_SCALES]);

#endif
