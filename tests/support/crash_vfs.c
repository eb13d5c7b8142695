/*
 * crash_vfs.c - notes what each file holds for sure, and what may be lost.
 */
#include "tests/support/crash_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <unistd.h>

#include "tests/support/t.h"

enum { FILES_MAX = 8, SECTOR = 512, NAME_MAX_ = 600 };

typedef struct image {
    unsigned char *p;
    size_t n, cap;
} image;

/* A write, or a truncation to `at` where p is NULL. */
typedef struct change {
    unsigned char *p;
    size_t at, n;
} change;

typedef struct tracked {
    char name[NAME_MAX_]; /* "": free */
    image sure;           /* as of the last sync */
    change *v;            /* [n] since then */
    size_t n, cap;
} tracked;

typedef struct shim_file {
    sqlite3_file base;
    tracked *of;
    sqlite3_file *real; /* after this struct */
} shim_file;

static sqlite3_vfs shim;
static sqlite3_vfs *below;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tracked files[FILES_MAX];
static size_t n_done, cut_at;

static void *grow(void *p, size_t n)
{
    void *q = realloc(p, n != 0 ? n : 1);
    assert_non_null(q);
    return q;
}

static void put(image *to, size_t at, const unsigned char *p, size_t n)
{
    if (at + n > to->cap) {
        to->cap = (at + n) * 2;
        to->p = grow(to->p, to->cap);
    }
    if (at > to->n) {
        memset(to->p + to->n, 0, at - to->n);
    }
    memcpy(to->p + at, p, n);
    to->n = at + n > to->n ? at + n : to->n;
}

static void apply(image *to, const change *c)
{
    if (c->p != NULL) {
        put(to, c->at, c->p, c->n);
    } else if (c->at < to->n) {
        to->n = c->at;
    }
}

static void forget(tracked *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->v[i].p);
    }
    f->n = 0;
}

static void drop(tracked *f)
{
    forget(f);
    free(f->v);
    free(f->sure.p);
    *f = (tracked){0};
}

static tracked *find(const char *name)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (strcmp(files[i].name, name) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

/* Whether the machine still runs; counts the call. */
static bool has_power(void)
{
    n_done++;
    return cut_at == 0 || n_done < cut_at;
}

static void note(tracked *f, const void *p, size_t at, size_t n)
{
    if (f->n == f->cap) {
        f->cap = f->cap == 0 ? 64 : f->cap * 2;
        f->v = grow(f->v, f->cap * sizeof *f->v);
    }
    change *c = &f->v[f->n++];
    *c = (change){p != NULL ? grow(NULL, n) : NULL, at, n};
    if (p != NULL) {
        memcpy(c->p, p, n);
    }
}

/* ---- the layer ---------------------------------------------------------- */

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
    tracked *of = ((shim_file *)f)->of;
    pthread_mutex_lock(&lock);
    bool goes_on = has_power();
    if (goes_on && of != NULL) {
        note(of, p, (size_t)at, (size_t)n);
    }
    pthread_mutex_unlock(&lock);
    return goes_on ? REAL(f)->pMethods->xWrite(REAL(f), p, n, at)
                   : SQLITE_IOERR_WRITE;
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    tracked *of = ((shim_file *)f)->of;
    pthread_mutex_lock(&lock);
    bool goes_on = has_power();
    if (goes_on && of != NULL) {
        note(of, NULL, (size_t)n, 0);
    }
    pthread_mutex_unlock(&lock);
    return goes_on ? REAL(f)->pMethods->xTruncate(REAL(f), n)
                   : SQLITE_IOERR_TRUNCATE;
}

static int x_sync(sqlite3_file *f, int flags)
{
    (void)flags; /* nothing real is lost: the system's own sync is spared */
    tracked *of = ((shim_file *)f)->of;
    pthread_mutex_lock(&lock);
    bool goes_on = has_power();
    for (size_t i = 0; goes_on && of != NULL && i < of->n; i++) {
        apply(&of->sure, &of->v[i]);
    }
    if (goes_on && of != NULL) {
        forget(of);
    }
    pthread_mutex_unlock(&lock);
    return goes_on ? SQLITE_OK : SQLITE_IOERR_FSYNC;
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

/* As in use: bytes next to a torn write are not harmed. */
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
    s->real = (sqlite3_file *)(void *)(s + 1);
    int rc = below->xOpen(below, name, s->real, flags, out_flags);
    if (s->real->pMethods != NULL) {
        s->base.pMethods = &methods;
    }
    pthread_mutex_lock(&lock);
    if (rc == SQLITE_OK && name != NULL) {
        s->of = find(name);
        if (s->of == NULL && (s->of = find("")) != NULL) {
            snprintf(s->of->name, sizeof s->of->name, "%s", name);
        }
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

static int x_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    pthread_mutex_lock(&lock);
    bool goes_on = has_power();
    tracked *f = find(name);
    if (goes_on && f != NULL) {
        drop(f);
    }
    pthread_mutex_unlock(&lock);
    return goes_on ? below->xDelete(below, name, sync) : SQLITE_IOERR_DELETE;
}

void crash_vfs_install(void)
{
    below = sqlite3_vfs_find(NULL);
    shim = *below;
    shim.zName = "crash";
    shim.pNext = NULL;
    shim.szOsFile = (int)sizeof(shim_file) + below->szOsFile;
    shim.xOpen = x_open;
    shim.xDelete = x_delete;
    sqlite3_vfs_register(&shim, 1);
}

void crash_vfs_begin(size_t n)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < FILES_MAX; i++) {
        drop(&files[i]);
    }
    n_done = 0;
    cut_at = n;
    pthread_mutex_unlock(&lock);
}

size_t crash_vfs_count(void)
{
    return n_done;
}

/* ---- what is left ------------------------------------------------------- */

/* A sector of a write, or nothing, or its beginning with rubbish after it. */
static void apply_torn(image *to, const change *c, cf_rand *r)
{
    for (size_t at = 0; at < c->n; at += SECTOR) {
        size_t n = c->n - at < SECTOR ? c->n - at : SECTOR;
        size_t how = cf_rand_below(r, 8);
        if (how >= 4) {
            put(to, c->at + at, c->p + at, n);
        } else if (how == 3) {
            unsigned char torn[SECTOR];
            memcpy(torn, c->p + at, n);
            memset(torn + n / 2, (int)cf_rand_below(r, 256), n - n / 2);
            put(to, c->at + at, torn, n);
        }
    }
}

static void apply_any(image *to, const tracked *f, cf_rand *r)
{
    size_t *order = grow(NULL, f->n * sizeof *order);
    for (size_t i = 0; i < f->n; i++) {
        size_t k = cf_rand_below(r, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (size_t i = 0; i < f->n; i++) {
        const change *c = &f->v[order[i]];
        if (c->p != NULL) {
            apply_torn(to, c, r);
        } else if (cf_rand_below(r, 2) == 0) {
            apply(to, c);
        }
    }
    free(order);
}

void crash_vfs_image(const char *path, const char *to, crash_loss loss,
                     cf_rand *r)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        const tracked *f = &files[i];
        char name[NAME_MAX_ * 2];
        if (f->name[0] == '\0' || strncmp(f->name, path, strlen(path)) != 0) {
            continue;
        }
        image left = {0};
        if (f->sure.n > 0) {
            put(&left, 0, f->sure.p, f->sure.n);
        }
        for (size_t k = 0; loss == CRASH_PROCESS && k < f->n; k++) {
            apply(&left, &f->v[k]);
        }
        if (loss == CRASH_ANY) {
            apply_any(&left, f, r);
        }
        snprintf(name, sizeof name, "%s%s", to, f->name + strlen(path));
        FILE *out = fopen(name, "wb");
        assert_non_null(out);
        if (left.n > 0) {
            assert_int_equal(fwrite(left.p, 1, left.n, out), left.n);
        }
        assert_int_equal(fclose(out), 0);
        free(left.p);
    }
}
