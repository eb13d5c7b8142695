/*
 * pass_vfs.c - each function calls the one of the file below.
 */
#include "tests/support/pass_vfs.h"

#include <string.h>

sqlite3_file *pass_real(sqlite3_file *f)
{
    return ((pass_file *)f)->real;
}

static int x_close(sqlite3_file *f)
{
    return pass_real(f)->pMethods->xClose(pass_real(f));
}

static int x_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return pass_real(f)->pMethods->xRead(pass_real(f), p, n, at);
}

static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    return pass_real(f)->pMethods->xWrite(pass_real(f), p, n, at);
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return pass_real(f)->pMethods->xTruncate(pass_real(f), n);
}

static int x_sync(sqlite3_file *f, int flags)
{
    return pass_real(f)->pMethods->xSync(pass_real(f), flags);
}

static int x_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return pass_real(f)->pMethods->xFileSize(pass_real(f), n);
}

static int x_lock(sqlite3_file *f, int how)
{
    return pass_real(f)->pMethods->xLock(pass_real(f), how);
}

static int x_unlock(sqlite3_file *f, int how)
{
    return pass_real(f)->pMethods->xUnlock(pass_real(f), how);
}

static int x_reserved(sqlite3_file *f, int *out)
{
    return pass_real(f)->pMethods->xCheckReservedLock(pass_real(f), out);
}

static int x_control(sqlite3_file *f, int op, void *arg)
{
    return pass_real(f)->pMethods->xFileControl(pass_real(f), op, arg);
}

static int x_sector(sqlite3_file *f)
{
    return pass_real(f)->pMethods->xSectorSize(pass_real(f));
}

static int x_device(sqlite3_file *f)
{
    return pass_real(f)->pMethods->xDeviceCharacteristics(pass_real(f));
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return pass_real(f)->pMethods->xShmMap(pass_real(f), page, size, extend, out);
}

static int x_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return pass_real(f)->pMethods->xShmLock(pass_real(f), at, n, flags);
}

static void x_shm_barrier(sqlite3_file *f)
{
    pass_real(f)->pMethods->xShmBarrier(pass_real(f));
}

static int x_shm_unmap(sqlite3_file *f, int remove)
{
    return pass_real(f)->pMethods->xShmUnmap(pass_real(f), remove);
}

static const sqlite3_io_methods pass_methods = {
    2,          x_close,       x_read,      x_write,   x_truncate, x_sync,   x_size,
    x_lock,     x_unlock,      x_reserved,  x_control, x_sector,   x_device, x_shm_map,
    x_shm_lock, x_shm_barrier, x_shm_unmap, NULL,      NULL};

int pass_vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags,
                  int *out_flags)
{
    pass_vfs *v = (pass_vfs *)vfs;
    pass_file *s = (pass_file *)f;
    memset(s, 0, sizeof *s);
    s->real = (sqlite3_file *)(void *)(s + 1);
    int rc = v->below->xOpen(v->below, name, s->real, flags, out_flags);
    if (s->real->pMethods != NULL) {
        s->base.pMethods = &v->methods;
    }
    return rc;
}

void pass_vfs_init(pass_vfs *v, const char *name)
{
    v->below = sqlite3_vfs_find(NULL);
    v->vfs = *v->below;
    v->vfs.zName = name;
    v->vfs.pNext = NULL;
    v->vfs.szOsFile = (int)sizeof(pass_file) + v->below->szOsFile;
    v->vfs.xOpen = pass_vfs_open;
    v->methods = pass_methods;
}
