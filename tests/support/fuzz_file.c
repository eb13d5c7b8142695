/*
 * fuzz_file.c - a folder below TMPDIR.
 */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* nftw */
#endif
#include "tests/support/fuzz_file.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/os.h"

static char folder[200];

static int remove_one(const char *path, const struct stat *sb, int kind, struct FTW *ftw)
{
    (void)sb;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void remove_folder(void)
{
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *cf_fuzz_path(const char *name)
{
    static char path[4][300];
    static unsigned next;
    if (folder[0] == '\0') {
        const char *tmp = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/confab-fuzz-XXXXXX", tmp != NULL ? tmp : "/tmp");
        if (mkdtemp(folder) == NULL) {
            abort();
        }
        atexit(remove_folder);
    }
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

const char *cf_fuzz_file(const char *name, const void *p, size_t n)
{
    cf_error err;
    const char *path = cf_fuzz_path(name);
    if (cf_os_write_file(path, p, n, 0600, &err) != CF_OK) {
        abort();
    }
    return path;
}
