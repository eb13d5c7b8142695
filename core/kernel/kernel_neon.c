/*
 * kernel_neon.c - any ARM64 machine; see neon_ops.inc.
 */
#include "core/kernel/sets.h"

#if defined(__aarch64__)

#include "core/kernel/neon_ops.inc"

const cf_kernels *cf_kernels__neon(void)
{
    static const cf_kernels set = CF_KERNEL_SET("neon");
    return &set;
}

#endif
