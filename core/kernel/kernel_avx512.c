/*
 * kernel_avx512.c - builds the set for AVX-512 without VNNI.
 */
#if defined(__x86_64__)

#define CF_SET_NAME    "avx512"
#define CF_SET_8(part) cf_avx512_8__##part
#define CF_SET_GET     cf_kernels__avx512
#include "core/kernel/simd_avx512.h"

#include "core/kernel/set.inc"

#else
typedef int cf_not_this_processor;
#endif
