/*
 * about.c - reports the versions of confab and of the libraries the core calls.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/api/about.h"

#include <jansson.h>
#include <nettle/version.h>
#include <pcre2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/os.h"
#include "core/base/status.h"
#include "core/base/version.h"
#include "core/kernel/blas.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static void add(cf_about *out, const char *name, const char *fmt, ...) CF_PRINTF(3, 4);

static void add(cf_about *out, const char *name, const char *fmt, ...)
{
    cf_about_library *lib = &out->library[out->n_library++];
    lib->name = name;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(lib->version, sizeof lib->version, fmt, ap);
    va_end(ap);
}

static void add_products(cf_about *out, const cf_kernels *best)
{
    cf_blas blas;
    cf_blas_open(&blas, best, false);
    snprintf(out->encoder_products, sizeof out->encoder_products, "%s%s",
             cf_blas_serves(&blas) ? "" : "confab's own: ",
             cf_blas_serves(&blas) ? blas.name : blas.why);
    cf_blas_close(&blas);
}

void cf_about_get(cf_about *out)
{
    const cf_kernels *best = cf_kernels_pick(NULL);
    *out = (cf_about){
        .version = CF_VERSION,
        .kernel_set = best != NULL ? best->name : "none",
        .compiler = COMPILER,
        .n_cpus = cf_os_n_cpus(),
    };
    cf_kernels_entry set;
    for (size_t i = 0; i < CF_ABOUT_KERNELS && cf_kernels_list(i, &set); i++) {
        out->kernel[out->n_kernel++] = (cf_about_kernels){set.name, set.needs, set.is_there};
    }
    add_products(out, best != NULL ? best : cf_kernels_ref());
    char pcre2[CF_ABOUT_TEXT] = "";
    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) < (int)sizeof pcre2) {
        pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    }
    add(out, "jansson", "%s", jansson_version_str());
    add(out, "nettle", "%d.%d", nettle_version_major(), nettle_version_minor());
    pcre2[strcspn(pcre2, " ")] = '\0'; /* a date follows */
    add(out, "pcre2", "%s", pcre2);
    add(out, "utf8proc", "%s", utf8proc_version());
}
