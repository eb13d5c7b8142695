/*
 * open_store.c - the place of the history.
 */
#include "tui/lab/state/open_store.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/sys/paths.h"

cf_status cf_open_store_path(const cf_open_options *o, char **out, cf_error *err)
{
    cf_paths paths = {0};
    const char *path = o->db;
    if (path == NULL) {
        CF_TRY(cf_paths_find(&paths, err));
        path = paths.database;
    }
    *out = cf_strdup(path);
    cf_paths_deinit(&paths);
    return *out != NULL ? CF_OK : cf_oom(err);
}

void cf_open_store_hint(cf_error *err)
{
    const char *hint = NULL;
    switch (err->code) {
    case CF_EFORMAT:
    case CF_EIO:
        hint = "--db names another file";
        break;
    case CF_EUNSUPPORTED:
        hint = "update confab, or name another file with --db";
        break;
    case CF_EBUSY:
        hint = "end that program, or name another file with --db";
        break;
    default:
        break;
    }
    size_t n = strlen(err->text);
    if (hint != NULL && n + strlen(hint) + 3 <= sizeof err->text) {
        snprintf(err->text + n, sizeof err->text - n, "; %s", hint);
    }
}
