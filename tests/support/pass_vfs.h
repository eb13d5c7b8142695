/*
 * pass_vfs.h - a layer below SQLite that passes every call on; a layer that
 * does more replaces some of its functions.
 *
 * Threads:  any; init and registration from the test's.
 */
#ifndef CF_TESTS_SUPPORT_PASS_VFS_H
#define CF_TESTS_SUPPORT_PASS_VFS_H

#include <sqlite3.h>

typedef struct pass_vfs {
    sqlite3_vfs vfs;
    sqlite3_vfs *below;
    sqlite3_io_methods methods; /* of its files */
} pass_vfs;

typedef struct pass_file {
    sqlite3_file base;
    sqlite3_file *real; /* after this struct */
    void *of;           /* the layer's own; NULL when opened */
} pass_file;

/* Above the file system that is the default one now.  The caller replaces
 * what it wants in v->vfs and v->methods, then registers v->vfs. */
void pass_vfs_init(pass_vfs *v, const char *name);

/* The xOpen of such a layer; `f` is a pass_file. */
int pass_vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags,
                  int *out_flags);

/* The file below. */
sqlite3_file *pass_real(sqlite3_file *f);

#endif
