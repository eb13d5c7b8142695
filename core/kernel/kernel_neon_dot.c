/*
 * kernel_neon_dot.c - ARM64 machines with the SDOT instruction; see
 * neon_ops.inc.
 */
#include "core/kernel/sets.h"

#if defined(__aarch64__)

#include "core/kernel/neon_ops.inc"

const cf_kernels *cf_kernels__neon_dot(void)
{
    static const cf_kernels set = CF_KERNEL_SET("neon-dot");
    return &set;
}

#endif
