/*
 * kernel_neoni8mm.c - builds the set for ARM64 with I8MM.
 */
#if defined(__aarch64__)

#define CF_HAS_DOT
#define CF_DOT_MATRICES
#define CF_SET_NAME    "neon-i8mm"
#define CF_SET_8(part) cf_neoni8mm_8__##part
#define CF_SET_GET     cf_kernels__neoni8mm
#include "core/kernel/simd_neon.h"

#include "core/kernel/set.inc"

#else
typedef int cf_not_this_processor;
#endif
