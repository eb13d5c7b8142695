/*
 * arithmetic.h - the arithmetic of a model's quantised matrices, which the
 * bits of a reply depend on.
 *
 * Place in the flow:  options --> [arithmetic] --> engine, stored runs.
 * Knows: the choices and their names.  Does not know: how they are computed
 * (core/kernel/prepared.h says it).
 *
 * Threads:  any.
 * Memory:   none.
 */
#ifndef CF_CORE_API_ARITHMETIC_H
#define CF_CORE_API_ARITHMETIC_H

#include "core/base/decls.h"

CF_BEGIN_DECLS

/* The numbers are stored in histories, prefix files and keys of results. */
typedef enum cf_arithmetic {
    CF_ARITHMETIC_16 = 0,    /* activations of 16 bits; the default */
    CF_ARITHMETIC_EXACT = 1, /* floats on dequantised weights, slow */
    CF_ARITHMETIC_8 = 2      /* activations of 8 bits: faster, less precise */
} cf_arithmetic;

/* Bits of the activations that meet quantised weights. */
static inline unsigned cf_arithmetic_bits(cf_arithmetic a)
{
    return a == CF_ARITHMETIC_8 ? 8 : a == CF_ARITHMETIC_EXACT ? 32 : 16;
}

/* The description in one line of text. */
static inline const char *cf_arithmetic_name(cf_arithmetic a)
{
    return a == CF_ARITHMETIC_8       ? "activations of 8 bits"
           : a == CF_ARITHMETIC_EXACT ? "exact"
                                      : "activations of 16 bits";
}

/* Of a stored number; those that are not known are the default. */
static inline cf_arithmetic cf_arithmetic_from(long long n)
{
    return n == CF_ARITHMETIC_8       ? CF_ARITHMETIC_8
           : n == CF_ARITHMETIC_EXACT ? CF_ARITHMETIC_EXACT
                                      : CF_ARITHMETIC_16;
}

CF_END_DECLS

#endif
