/*
 * kernel_set.c - builds a kernel set, once for each that the Makefile names.
 *
 * The Makefile compiles it with the instructions of a set, CF_SET (avx2vnni),
 * CF_SET_NAME ("avx2-vnni") and CF_WIDTH (avx2), and once more with CF_EIGHT, for
 * the products with activations of 8 bits.  With CF_WIDE it is what the sets of a
 * width share.
 */
#define CF_JOIN(a, b, c)          CF_JOIN_AS_IT_IS(a, b, c)
#define CF_JOIN_AS_IT_IS(a, b, c) a##b##c

#define CF_SET_8(part) CF_JOIN(cf_, CF_SET, _8__##part)
#define CF_SET_GET     CF_JOIN(cf_kernels__, CF_SET, )
#define CF_WIDE_(part) CF_JOIN(cf_, CF_WIDTH, _wide__##part)

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) || defined(__ARM_FEATURE_DOTPROD)
#define CF_HAS_DOT
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define CF_DOT_MATRICES
#endif

#if defined(__AVX512F__)
#include "core/kernel/simd_avx512.h"
#elif defined(__AVX2__)
#include "core/kernel/simd_avx2.h"
#else
#include "core/kernel/simd_neon.h"
#endif

#if defined(CF_EIGHT)
#include "core/kernel/eight.inc"
#elif defined(CF_WIDE)
#include "core/kernel/wide.inc"
#else
#include "core/kernel/set.inc"
#endif
