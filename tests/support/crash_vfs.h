/*
 * crash_vfs.h - a file system below SQLite whose machine loses power.
 *
 * Between syncs a disk may keep any of the writes to a file, in any order and
 * in parts of a sector.  The layer passes every call on and notes the writes
 * since the last sync of each file; when the power is cut, nothing more is
 * written, and crash_vfs_image() writes what the disk might then hold.
 * Files are created and removed at once: losing directory entries is not
 * modelled.
 *
 * Threads:  any; install, cut and image from the test's.
 */
#ifndef CF_TESTS_SUPPORT_CRASH_VFS_H
#define CF_TESTS_SUPPORT_CRASH_VFS_H

#include <stddef.h>
#include <stdint.h>

#include "tests/support/rand.h"

/* Makes it the default of all connections opened from now on. */
void crash_vfs_install(void);

/* Forgets all files.  The power is cut before write, truncation or sync
 * number `n` from now, never if n is 0. */
void crash_vfs_begin(size_t n);

/* The number of writes, truncations and syncs since the beginning. */
size_t crash_vfs_count(void);

typedef enum crash_loss {
    CRASH_PROCESS, /* only the program died: the system has every write */
    CRASH_NOTHING, /* the disk kept nothing that was not synced */
    CRASH_ANY      /* it kept what `r` says: sectors, parts of one, any order */
} crash_loss;

/* Writes the files whose paths begin with `path` as they are after the power
 * failed, to paths that begin with `to`; a number for what was written. */
uint64_t crash_vfs_image(const char *path, const char *to, crash_loss loss, cf_rand *r);

#endif
