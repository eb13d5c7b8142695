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

static char folder[256];

int store_dir_make(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/confab-test-XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *sb, int kind,
                      struct FTW *ftw)
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
    static char path[8][512];
    static unsigned next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}
