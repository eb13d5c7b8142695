/*
 * os_dir.c - directories and what is in them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

enum { PATH_SIZE = 4096 };

bool cf_os_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool cf_os_is_readable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

cf_status cf_os_check_owner(const char *path, cf_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return CF_OK; /* whoever opens it says why not */
    }
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        return cf_fail(err, CF_EINVAL, "%s: not read: it belongs to another user, number %ju", path,
                       (uintmax_t)st.st_uid);
    }
    if ((st.st_mode & S_IWOTH) != 0 || ((st.st_mode & S_IWGRP) != 0 && st.st_gid != st.st_uid)) {
        return cf_fail(err, CF_EINVAL, "%s: not read: other users can write to it; chmod go-w",
                       path);
    }
    return CF_OK;
}

bool cf_os_has_file(const char *dir, const char *name)
{
    char path[PATH_SIZE];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && cf_os_is_readable(path);
}

static int by_bytes(const void *a, const void *b)
{
    const char *const *x = a;
    const char *const *y = b;
    return strcmp(*x, *y);
}

/* Sorts the n names that follow each other in `names`. */
static cf_status sort(cf_buf *out, const cf_buf *names, size_t n, cf_error *err)
{
    const char **v = cf_calloc(n + 1, sizeof *v);
    if (v == NULL) {
        return cf_oom(err);
    }
    const char *at = names->p;
    for (size_t i = 0; i < n; i++, at += strlen(at) + 1) {
        v[i] = at;
    }
    qsort(v, n, sizeof *v, by_bytes);
    for (size_t i = 0; i < n; i++) {
        cf_buf_add(out, v[i], strlen(v[i]) + 1);
    }
    cf_free(v);
    return cf_buf_check(out, err);
}

static cf_status read_names(cf_buf *names, size_t *n, DIR *d, const char *path, size_t max,
                            cf_error *err)
{
    for (;;) {
        errno = 0;
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own */
        const struct dirent *e = readdir(d);
        if (e == NULL) {
            break;
        }
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        if ((*n)++ == max) {
            return cf_fail(err, CF_ELIMIT, "%s has more than %zu entries", path, max);
        }
        cf_buf_add(names, e->d_name, strlen(e->d_name) + 1);
    }
    char why[CF_OS_WHY];
    return errno == 0 ? cf_buf_check(names, err)
                      : cf_fail(err, CF_EIO, "%s: %s", path, cf_os_why(why, errno));
}

cf_status cf_os_list_dir(cf_buf *out, const char *path, size_t max, cf_error *err)
{
    DIR *d = opendir(path);
    if (d == NULL) {
        char why[CF_OS_WHY];
        return cf_fail(err, errno == ENOENT ? CF_ENOTFOUND : CF_EIO, "%s: %s", path,
                       cf_os_why(why, errno));
    }
    cf_buf names = CF_BUF_INIT;
    size_t n = 0;
    cf_status st = read_names(&names, &n, d, path, max, err);
    closedir(d);
    CF_THEN(st, sort(out, &names, n, err));
    cf_buf_deinit(&names);
    return st;
}
