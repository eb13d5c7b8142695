/*
 * kernel_avxvnni.c - builds the set for AVX2 with AVX-VNNI.
 */
#if defined(__x86_64__)

#define CF_HAS_DOT
#define CF_SET_NAME    "avx2-vnni"
#define CF_SET_8(part) cf_avxvnni_8__##part
#define CF_SET_GET     cf_kernels__avxvnni
#include "core/kernel/simd_avx2.h"

#include "core/kernel/set.inc"

#else
typedef int cf_not_this_processor;
#endif
