/*
 * paths.c - XDG base directories (freedesktop.org, version 0.8).
 */
#include "tui/sys/paths.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buf.h"

static cf_status place(char **out, const char *variable, const char *below_home, const char *file,
                       cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    /* The main thread alone touches the environment. */
    const char *base = getenv(variable); /* NOLINT(concurrency-mt-unsafe) */
    if (base != NULL && base[0] == '/') {
        cf_buf_adds(&b, base);
    } else {
        const char *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe) */
        if (home == NULL || home[0] != '/') {
            return cf_fail(err, CF_EINVAL, "neither %s nor HOME is set", variable);
        }
        cf_buf_addf(&b, "%s/%s", home, below_home);
    }
    cf_buf_adds(&b, "/confab");
    cf_buf_adds(&b, file);
    *out = cf_buf_take(&b);
    cf_buf_deinit(&b);
    return *out != NULL ? CF_OK : cf_oom_for(err, "a path");
}

cf_status cf_paths_find(cf_paths *out, cf_error *err)
{
    cf_paths p = {NULL, NULL, NULL, NULL};
    cf_status st = place(&p.config, "XDG_CONFIG_HOME", ".config", "/confabrc", err);
    CF_THEN(st, place(&p.database, "XDG_DATA_HOME", ".local/share", "/confab.db", err));
    CF_THEN(st, place(&p.state, "XDG_STATE_HOME", ".local/state", "", err));
    CF_THEN(st, place(&p.cache, "XDG_CACHE_HOME", ".cache", "", err));
    if (st != CF_OK) {
        cf_paths_deinit(&p);
        return st;
    }
    *out = p;
    return CF_OK;
}

void cf_paths_deinit(cf_paths *paths)
{
    cf_free(paths->config);
    cf_free(paths->database);
    cf_free(paths->state);
    cf_free(paths->cache);
    memset(paths, 0, sizeof *paths);
}

void cf_paths_expand(cf_buf *out, const char *path)
{
    const char *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe) */
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0') && home != NULL) {
        cf_buf_adds(out, home);
        path++;
    }
    cf_buf_adds(out, path);
}
