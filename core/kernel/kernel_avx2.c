/*
 * kernel_avx2.c - builds the set for AVX2 with FMA and F16C.
 */
#if defined(__x86_64__)

#define CF_SET_NAME    "avx2"
#define CF_SET_8(part) cf_avx2_8__##part
#define CF_SET_GET     cf_kernels__avx2
#include "core/kernel/simd_avx2.h"

#include "core/kernel/set.inc"

#else
typedef int cf_not_this_processor;
#endif
