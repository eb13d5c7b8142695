/*
 * kernel_neon.c - builds the set for ARM64.
 */
#if defined(__aarch64__)

#define CF_SET_NAME    "neon"
#define CF_SET_8(part) cf_neon_8__##part
#define CF_SET_GET     cf_kernels__neon
#include "core/kernel/simd_neon.h"

#include "core/kernel/set.inc"

#else
typedef int cf_not_this_processor;
#endif
