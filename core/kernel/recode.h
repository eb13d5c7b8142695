/*
 * recode.h - weights of the types that the fast sets have no codes of, as codes
 * of one form that they have.
 *
 * A block of it: 32 weights, two floats that are the scales of 16 each, then 32
 * signed bytes.  A row is recoded just before it is multiplied, so that the file
 * is read in its own size.
 *
 * Threads:  no state.
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_RECODE_H
#define CF_CORE_KERNEL_RECODE_H

#include "core/kernel/dtype.h"

/* The form's type within the sets; no file has it. */
#define CF_RECODED ((cf_dtype)CF_DTYPE_COUNT)
enum { CF_RECODED_COLS = 32, CF_RECODED_BYTES = 40 };

bool cf_recode_can(cf_dtype type);

/* out[n / 32] blocks from n weights, a multiple of the type's block. */
void cf_recode(cf_dtype type, unsigned char *out, const unsigned char *in, size_t n);

#endif
