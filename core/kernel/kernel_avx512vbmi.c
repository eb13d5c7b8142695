/*
 * kernel_avx512vbmi.c - builds the set for AVX-512 with VNNI and VBMI.
 */
#if defined(__x86_64__)

#define CF_HAS_DOT
#define CF_HAS_VBMI
#define CF_SET_NAME    "avx512-vbmi"
#define CF_SET_8(part) cf_avx512vbmi_8__##part
#define CF_SET_GET     cf_kernels__avx512vbmi
#include "core/kernel/simd_avx512.h"

#include "core/kernel/set.inc"

#else
typedef int cf_not_this_processor;
#endif
