/*
 * kernel_pick.c - which kernels this machine runs.
 */
#include <string.h>

#include "core/kernel/sets.h"

typedef struct candidate {
    const char *name;
    bool (*is_there)(void);
    const cf_kernels *(*get)(void);
} candidate;

#if defined(__x86_64__)
static bool has_avx2(void)
{
    __builtin_cpu_init();
    /* F16C comes with AVX2; clang 14 has no name for it. */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512vbmi");
}
#endif

static bool always(void)
{
    return true;
}

/* The best first. */
static const candidate candidates[] = {
#if defined(__x86_64__)
    {"avx512", has_avx512, cf_kernels__avx512},
    {"avx2", has_avx2, cf_kernels__avx2},
#endif
#if defined(__aarch64__)
    {"neon", always, cf_kernels__neon},
#endif
    {"ref", always, cf_kernels_ref},
};

const cf_kernels *cf_kernels_pick(const char *name)
{
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        const candidate *c = &candidates[i];
        if ((!name || strcmp(name, c->name) == 0) && c->is_there()) {
            return c->get();
        }
    }
    return NULL;
}
