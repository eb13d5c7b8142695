/*
 * fault_vfs.c - every call is handed on, but for those that are to fail.
 */
#include "tests/support/fault_vfs.h"

#include <stdatomic.h>

#include "tests/support/pass_vfs.h"

static pass_vfs shim;
static atomic_uint kinds;
static atomic_long countdown;
static atomic_bool is_persistent, has_fired;
static atomic_int fail_code;

static bool must_fail(unsigned kind)
{
    if ((atomic_load(&kinds) & kind) == 0) {
        return false;
    }
    if (atomic_load(&has_fired)) {
        return atomic_load(&is_persistent);
    }
    if (atomic_fetch_sub(&countdown, 1) == 1) {
        atomic_store(&has_fired, true);
        return true;
    }
    return false;
}

static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (must_fail(FAULT_WRITE)) {
        return atomic_load(&fail_code);
    }
    return pass_real(f)->pMethods->xWrite(pass_real(f), p, n, at);
}

static int x_sync(sqlite3_file *f, int flags)
{
    if (must_fail(FAULT_SYNC)) {
        return SQLITE_IOERR_FSYNC;
    }
    return pass_real(f)->pMethods->xSync(pass_real(f), flags);
}

static int x_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags,
                  int *out_flags)
{
    if ((flags & SQLITE_OPEN_READWRITE) != 0 && must_fail(FAULT_OPEN)) {
        f->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    return pass_vfs_open(vfs, name, f, flags, out_flags);
}

void fault_vfs_install(void)
{
    pass_vfs_init(&shim, "fault");
    shim.vfs.xOpen = x_open;
    shim.methods.xWrite = x_write;
    shim.methods.xSync = x_sync;
    sqlite3_vfs_register(&shim.vfs, 1);
}

void fault_vfs_arm(unsigned which, size_t nth, bool persist, int code)
{
    atomic_store(&countdown, (long)nth);
    atomic_store(&has_fired, false);
    atomic_store(&is_persistent, persist);
    atomic_store(&fail_code, code);
    atomic_store(&kinds, which);
}

bool fault_vfs_disarm(void)
{
    atomic_store(&kinds, 0);
    return atomic_load(&has_fired);
}
