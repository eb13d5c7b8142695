/*
 * store_dir.c - a folder below TMPDIR.
 */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* nftw */
#endif
#include "tests/support/store_dir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/t.h"

static char folder[256];

int store_dir_make(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/confab-test-XXXXXX", tmp != NULL ? tmp : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *sb, int kind, struct FTW *ftw)
{
    (void)sb;
    (void)kind;
    (void)ftw;
    return remove(path);
}

int store_dir_remove(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *store_dir_file(const char *name)
{
    static store_path path[8];
    static unsigned next;
    char *p = path[next++ % 8];
    store_dir_path(p, name);
    return p;
}

void store_dir_path(store_path out, const char *name)
{
    snprintf(out, sizeof(store_path), "%s/%s", folder, name);
}

const char *store_dir_put(const char *name, const void *p, size_t n)
{
    const char *path = store_dir_file(name);
    cf_error err;
    T_OK(cf_os_write_file(path, p, n, 0600, &err), err);
    return path;
}

const char *store_dir_put_text(const char *name, const char *text)
{
    return store_dir_put(name, text, strlen(text));
}

void store_dir_write(const char *path, const char *text)
{
    cf_error err;
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
}
