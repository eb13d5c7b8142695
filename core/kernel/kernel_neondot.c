/*
 * kernel_neondot.c - builds the set for ARM64 with dot products.
 */
#if defined(__aarch64__)

#define CF_HAS_DOT
#define CF_SET_NAME    "neon-dot"
#define CF_SET_8(part) cf_neondot_8__##part
#define CF_SET_GET     cf_kernels__neondot
#include "core/kernel/simd_neon.h"

#include "core/kernel/set.inc"

#else
typedef int cf_not_this_processor;
#endif
