/*
 * fault_vfs.c - every call is handed on, but for those that are to fail.
 */
#include "tests/support/fault_vfs.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

static sqlite3_vfs shim;
static sqlite3_vfs *below;
static atomic_uint kinds;
static atomic_long countdown;
static atomic_bool is_persistent, has_fired;
static atomic_int fail_code;

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real; /* after this struct */
} shim_file;

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

#define REAL(f) (((shim_file *)(f))->real)

static int x_close(sqlite3_file *f)
{
    return REAL(f)->pMethods->xClose(REAL(f));
}

static int x_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return REAL(f)->pMethods->xRead(REAL(f), p, n, at);
}

static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (must_fail(FAULT_WRITE)) {
        return atomic_load(&fail_code);
    }
    return REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return REAL(f)->pMethods->xTruncate(REAL(f), n);
}

static int x_sync(sqlite3_file *f, int flags)
{
    if (must_fail(FAULT_SYNC)) {
        return SQLITE_IOERR_FSYNC;
    }
    return REAL(f)->pMethods->xSync(REAL(f), flags);
}

static int x_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return REAL(f)->pMethods->xFileSize(REAL(f), n);
}

static int x_lock(sqlite3_file *f, int how)
{
    return REAL(f)->pMethods->xLock(REAL(f), how);
}

static int x_unlock(sqlite3_file *f, int how)
{
    return REAL(f)->pMethods->xUnlock(REAL(f), how);
}

static int x_reserved(sqlite3_file *f, int *out)
{
    return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}

static int x_control(sqlite3_file *f, int op, void *arg)
{
    return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int x_sector(sqlite3_file *f)
{
    return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int x_device(sqlite3_file *f)
{
    return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend,
                     void volatile **out)
{
    return REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, out);
}

static int x_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return REAL(f)->pMethods->xShmLock(REAL(f), at, n, flags);
}

static void x_shm_barrier(sqlite3_file *f)
{
    REAL(f)->pMethods->xShmBarrier(REAL(f));
}

static int x_shm_unmap(sqlite3_file *f, int remove)
{
    return REAL(f)->pMethods->xShmUnmap(REAL(f), remove);
}

static const sqlite3_io_methods methods = {
    2,        x_close,   x_read,     x_write,       x_truncate,  x_sync,
    x_size,   x_lock,    x_unlock,   x_reserved,    x_control,   x_sector,
    x_device, x_shm_map, x_shm_lock, x_shm_barrier, x_shm_unmap, NULL,
    NULL};

static int x_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f,
                  int flags, int *out_flags)
{
    (void)vfs;
    shim_file *s = (shim_file *)f;
    memset(s, 0, sizeof *s);
    if ((flags & SQLITE_OPEN_READWRITE) != 0 && must_fail(FAULT_OPEN)) {
        return SQLITE_CANTOPEN;
    }
    s->real = (sqlite3_file *)(void *)(s + 1);
    int rc = below->xOpen(below, name, s->real, flags, out_flags);
    if (s->real->pMethods != NULL) {
        s->base.pMethods = &methods;
    }
    return rc;
}

void fault_vfs_install(void)
{
    below = sqlite3_vfs_find(NULL);
    shim = *below;
    shim.zName = "fault";
    shim.pNext = NULL;
    shim.szOsFile = (int)sizeof(shim_file) + below->szOsFile;
    shim.xOpen = x_open;
    sqlite3_vfs_register(&shim, 1);
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
