/*
 * kernel_pick.c - which kernels this machine runs.
 */
#include <string.h>

#include "core/kernel/kernel.h"

const cf_kernels *cf_kernels_pick(const char *name)
{
    if (!name || strcmp(name, "ref") == 0) {
        return cf_kernels_ref();
    }
    return NULL;
}
