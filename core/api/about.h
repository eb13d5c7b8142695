/*
 * about.h - what this build of confab consists of.
 *
 * Place in the flow:  build and machine --> [about] --> `confab version`.
 * Knows: versions, instruction sets, processors.  Does not know: models.
 *
 * Threads:  no state.
 * Memory:   the caller's struct; names are constant.
 */
#ifndef CF_CORE_API_ABOUT_H
#define CF_CORE_API_ABOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

enum { CF_ABOUT_LIBRARIES = 8, CF_ABOUT_TEXT = 48, CF_ABOUT_KERNELS = 8, CF_ABOUT_LINE = 192 };

typedef struct cf_about_library {
    const char *name;
    char version[CF_ABOUT_TEXT]; /* of the library that is loaded now */
} cf_about_library;

/* A kernel set of this processor family. */
typedef struct cf_about_kernels {
    const char *name, *needs; /* "avx2", "AVX2 with FMA" */
    bool is_there;            /* this machine has what it needs */
} cf_about_kernels;

typedef struct cf_about {
    const char *version;                       /* confab's */
    const char *kernel_set;                    /* the best this machine runs */
    cf_about_kernels kernel[CF_ABOUT_KERNELS]; /* all, the best first */
    size_t n_kernel;
    char encoder_products[CF_ABOUT_LINE]; /* what computes an encoder's, and
                                             why */
    const char *compiler;
    unsigned n_cpus; /* processors this process may run on */
    cf_about_library library[CF_ABOUT_LIBRARIES];
    size_t n_library;
} cf_about;

void cf_about_get(cf_about *out);

CF_END_DECLS

#endif
