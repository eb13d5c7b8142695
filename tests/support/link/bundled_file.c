/*
 * bundled_file.c - the bundled model for test programs, mapped from its file.
 *
 * Linked in place of core/bundled/bundled.c, which holds 7 MB of model, so that
 * a hundred test programs do not hold one each.  The Makefile defines
 * CF_BUNDLED_FILE, a path, when the file is there.
 */
#include "core/api/bundled.h"
#include "core/base/os.h"

#ifndef CF_BUNDLED_FILE
#define CF_BUNDLED_FILE ""
#endif

bool cf_bundled_model(const void **bytes, size_t *n)
{
    static cf_os_map map;
    cf_error ignored;
    if (map.p == NULL && cf_os_map_open(&map, CF_BUNDLED_FILE, &ignored) != CF_OK) {
        return false;
    }
    *bytes = map.p;
    *n = map.n;
    return true;
}
