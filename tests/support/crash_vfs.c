/*
 * crash_vfs.c - notes what each file holds for sure, and what may be lost.
 *
 * The device has the properties of the one in use: bytes next to a torn write
 * are not harmed.
 */
#include "tests/support/crash_vfs.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/support/pass_vfs.h"
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

static pass_vfs shim;
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

static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    tracked *of = ((pass_file *)f)->of;
    pthread_mutex_lock(&lock);
    bool goes_on = has_power();
    if (goes_on && of != NULL) {
        note(of, p, (size_t)at, (size_t)n);
    }
    pthread_mutex_unlock(&lock);
    return goes_on ? pass_real(f)->pMethods->xWrite(pass_real(f), p, n, at) : SQLITE_IOERR_WRITE;
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    tracked *of = ((pass_file *)f)->of;
    pthread_mutex_lock(&lock);
    bool goes_on = has_power();
    if (goes_on && of != NULL) {
        note(of, NULL, (size_t)n, 0);
    }
    pthread_mutex_unlock(&lock);
    return goes_on ? pass_real(f)->pMethods->xTruncate(pass_real(f), n) : SQLITE_IOERR_TRUNCATE;
}

static int x_sync(sqlite3_file *f, int flags)
{
    (void)flags; /* nothing real is lost: the system's own sync is spared */
    tracked *of = ((pass_file *)f)->of;
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

static int x_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags,
                  int *out_flags)
{
    int rc = pass_vfs_open(vfs, name, f, flags, out_flags);
    pthread_mutex_lock(&lock);
    if (rc == SQLITE_OK && name != NULL) {
        tracked *of = find(name);
        if (of == NULL && (of = find("")) != NULL) {
            snprintf(of->name, sizeof of->name, "%s", name);
        }
        ((pass_file *)f)->of = of;
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
    return goes_on ? shim.below->xDelete(shim.below, name, sync) : SQLITE_IOERR_DELETE;
}

void crash_vfs_install(void)
{
    pass_vfs_init(&shim, "crash");
    shim.vfs.xOpen = x_open;
    shim.vfs.xDelete = x_delete;
    shim.methods.xWrite = x_write;
    shim.methods.xTruncate = x_truncate;
    shim.methods.xSync = x_sync;
    sqlite3_vfs_register(&shim.vfs, 1);
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

static uint64_t mix(uint64_t h, const unsigned char *p, size_t n)
{
    for (; n >= sizeof h; p += sizeof h, n -= sizeof h) {
        uint64_t v;
        memcpy(&v, p, sizeof v);
        h = (h ^ v) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 0x100000001B3u;
    }
    return (h ^ n) * 0x9E3779B97F4A7C15u;
}

uint64_t crash_vfs_image(const char *path, const char *to, crash_loss loss, cf_rand *r)
{
    uint64_t h = 1;
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
            h = mix(h + i, left.p, left.n);
        }
        assert_int_equal(fclose(out), 0);
        free(left.p);
    }
    return h;
}
