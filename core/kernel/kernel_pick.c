/*
 * kernel_pick.c - picks the kernels that this machine runs.
 */
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "core/kernel/sets.h"

typedef struct candidate {
    const char *name, *needs;
    bool (*is_there)(void);
    const cf_kernels *(*get)(void);
} candidate;

#if defined(__x86_64__)
/* CPUID leaf 7.1: bit 4 of EAX, which compilers have no name for yet. */
static bool has_avx2_vnni_bit(void)
{
    uint32_t a = 7, b, c = 1, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (a >> 4 & 1) != 0;
}

static bool has_avx2(void)
{
    __builtin_cpu_init();
    /* F16C comes with AVX2; clang 14 has no name for it. */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avxvnni(void)
{
    return has_avx2() && has_avx2_vnni_bit();
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_avx512vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool has_avx512vbmi(void)
{
    return has_avx512vnni() && __builtin_cpu_supports("avx512vbmi");
}
#endif

#if defined(__aarch64__)
/* Bits of the kernel's auxiliary vector on ARM64 (its ABI, fixed). */
static bool has_dot(void)
{
    return (getauxval(AT_HWCAP) >> 20 & 1) != 0; /* ASIMDDP */
}

static bool has_i8mm(void)
{
    return has_dot() && (getauxval(AT_HWCAP2) >> 13 & 1) != 0; /* I8MM */
}
#endif

static bool always(void)
{
    return true;
}

/* The best first. */
static const candidate candidates[] = {
#if defined(__x86_64__)
    {"avx512-vbmi", "AVX-512 with VNNI and VBMI", has_avx512vbmi, cf_kernels__avx512vbmi},
    {"avx512-vnni", "AVX-512 with VNNI", has_avx512vnni, cf_kernels__avx512vnni},
    {"avx512", "AVX-512 (F, BW, DQ, VL)", has_avx512, cf_kernels__avx512},
    {"avx2-vnni", "AVX2 with AVX-VNNI", has_avxvnni, cf_kernels__avx2vnni},
    {"avx2", "AVX2 with FMA", has_avx2, cf_kernels__avx2},
#endif
#if defined(__aarch64__)
    {"neon-i8mm", "NEON with I8MM", has_i8mm, cf_kernels__neoni8mm},
    {"neon-dot", "NEON with dot product", has_dot, cf_kernels__neondot},
    {"neon", "NEON", always, cf_kernels__neon},
#endif
    {"ref", "nothing special", always, cf_kernels_ref},
};

bool cf_kernels_list(size_t i, cf_kernels_entry *out)
{
    if (i >= sizeof candidates / sizeof candidates[0]) {
        return false;
    }
    const candidate *c = &candidates[i];
    *out = (cf_kernels_entry){c->name, c->needs, c->is_there()};
    return true;
}

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
