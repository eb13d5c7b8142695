/*
 * blas.c - finds, loads and judges OpenBLAS.
 *
 * Source of the interface: the OpenBLAS manual, "Extensions", and the CBLAS
 * interface of the BLAS Technical Forum.
 */
#include "core/kernel/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Values of CBLAS_ORDER and CBLAS_TRANSPOSE. */
enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 };

/* A static program cannot load libraries safely; .ci/dist defines this. */
extern const char cf_program_is_static __attribute__((weak));

static const char *const file_names[] = {"libopenblas.so.0", "libopenblasp.so.0", "libopenblas.so",
                                         "libopenblas.0.dylib", "libopenblas.dylib"};

/* Width of the instructions of a kernel: of OpenBLAS by the processor that it
 * was made for, of confab by the name of the set.  Names not listed: 1. */
static const struct {
    const char *begins;
    int level;
} levels[] = {
    {"ref", 0},    {"avx512", 3},   {"avx2", 2},       {"neon", 2},           {"Haswell", 2},
    {"Zen", 2},    {"SkylakeX", 3}, {"Cooperlake", 3}, {"Sapphirerapids", 3}, {"armv8", 2},
    {"cortex", 2}, {"neoverse", 2}, {"thunderx", 2},   {"vortex", 2},         {"tsv110", 2},
    {"emag", 2},   {"falkor", 2},   {"a64fx", 3}};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int level_of(const char *name)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        const char *a = levels[i].begins, *b = name;
        while (*a != '\0' && lower(*a) == lower(*b)) {
            a++;
            b++;
        }
        if (*a == '\0') {
            return levels[i].level;
        }
    }
    return 1;
}

/* A function pointer from an object pointer, which C has no cast for. */
static bool find(void *library, const char *name, void *to, size_t n)
{
    void *p = dlsym(library, name);
    memcpy(to, &p, n);
    return p != NULL;
}

/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ... Haswell MAX_THREADS=64": the
 * first two words and the kernel. */
static void set_name(cf_blas *b, const char *config, const char *core)
{
    const char *space = strchr(config, ' ');
    size_t n = space != NULL ? (size_t)(space - config) + 1 : 0;
    n += strcspn(config + n, " ");
    snprintf(b->name, sizeof b->name, "%.*s, %.40s", n < 60 ? (int)n : 60, config, core);
}

static void load(cf_blas *b)
{
    for (size_t i = 0; b->library == NULL && i < sizeof file_names / sizeof file_names[0]; i++) {
        b->library = dlopen(file_names[i], RTLD_NOW | RTLD_LOCAL);
    }
}

static void judge(cf_blas *b, const cf_kernels *kernels, bool always)
{
    char *(*corename)(void);
    char *(*config)(void);
    void (*set_threads)(int n);
    if (!find(b->library, "openblas_get_corename", &corename, sizeof corename) ||
        !find(b->library, "openblas_get_config", &config, sizeof config) ||
        !find(b->library, "openblas_set_num_threads", &set_threads, sizeof set_threads) ||
        !find(b->library, "cblas_sgemm", &b->sgemm, sizeof b->sgemm)) {
        snprintf(b->why, sizeof b->why, "the OpenBLAS here lacks functions that confab calls");
        return;
    }
    set_name(b, config(), corename());
    set_threads(1);
    if (!always && level_of(corename()) < level_of(kernels->name)) {
        snprintf(b->why, sizeof b->why, "%.80s is slower here than %.20s", b->name, kernels->name);
    }
}

void cf_blas_open(cf_blas *out, const cf_kernels *kernels, bool always)
{
    *out = (cf_blas){.library = NULL};
    if (kernels == cf_kernels_ref()) {
        snprintf(out->why, sizeof out->why, "reference arithmetic is chosen");
        return;
    }
    if (&cf_program_is_static != NULL) {
        snprintf(out->why, sizeof out->why, "a static program loads no libraries");
        return;
    }
    load(out);
    if (out->library == NULL) {
        snprintf(out->why, sizeof out->why, "OpenBLAS is not installed");
        return;
    }
    judge(out, kernels, always);
    if (out->why[0] != '\0') {
        cf_blas_close(out);
    }
}

void cf_blas_close(cf_blas *b)
{
    if (b->library != NULL) {
        dlclose(b->library);
        b->library = NULL;
    }
}

void cf_blas_product(const cf_blas *b, float *y, size_t y_stride, const float *x, const float *w,
                     size_t m, size_t n, size_t k)
{
    b->sgemm(ROW_MAJOR, AS_IS, TRANSPOSED, (int)m, (int)n, (int)k, 1, x, (int)k, w, (int)k, 0, y,
             (int)y_stride);
}
