/*
 * kernel_pick.c - which kernels this machine runs.
 */
#include <string.h>

#include "core/kernel/sets.h"

#if defined(__x86_64__)
static bool has_avx512(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
}
#endif

const cf_kernels *cf_kernels_pick(const char *name)
{
#if defined(__x86_64__)
    if ((!name || strcmp(name, "avx512") == 0) && has_avx512()) {
        return cf_kernels__avx512();
    }
#endif
    if (!name || strcmp(name, "ref") == 0) {
        return cf_kernels_ref();
    }
    return NULL;
}
