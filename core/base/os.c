/*
 * os.c - POSIX.1-2008, with Linux's more precise calls where they exist.
 */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity */
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE
#endif
#include "core/base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/random.h>
#endif

#include "core/base/alloc.h"
#include "core/base/os_append.h"

const char *cf_os_why(char why[CF_OS_WHY], int code)
{
#if defined(__GLIBC__)
    const char *text = strerrordesc_np(code);
    snprintf(why, CF_OS_WHY, "%s", text != NULL ? text : "unknown error");
#else
    strerror_r(code, why, CF_OS_WHY);
#endif
    return why;
}

static cf_status fail_errno(cf_error *err, const char *path, int code)
{
    char why[CF_OS_WHY];
    return cf_fail(err, code == ENOENT ? CF_ENOTFOUND : CF_EIO, "%s: %s", path,
                   cf_os_why(why, code));
}

/* ---- maps --------------------------------------------------------------- */

/* The maps that a handler of SIGBUS may mend.  A slot is free while its size
 * is 0; it belongs to the thread that changed `taken` to true. */
enum { GUARDED_MAX = 256 };
static struct guarded {
    atomic_bool taken;
    atomic_size_t n;
    atomic_uintptr_t p;
} guarded[GUARDED_MAX];

/* With all slots taken, the map is not guarded. */
static void guard(const void *p, size_t n)
{
    for (size_t i = 0; i < GUARDED_MAX; i++) {
        bool is_taken = false;
        if (atomic_compare_exchange_strong(&guarded[i].taken, &is_taken, true)) {
            atomic_store(&guarded[i].p, (uintptr_t)p);
            atomic_store(&guarded[i].n, n);
            return;
        }
    }
}

static void unguard(const void *p)
{
    for (size_t i = 0; i < GUARDED_MAX; i++) {
        if (atomic_load(&guarded[i].n) != 0 && atomic_load(&guarded[i].p) == (uintptr_t)p) {
            atomic_store(&guarded[i].n, 0);
            atomic_store(&guarded[i].taken, false);
            return;
        }
    }
}

/* All of the map from the page of `address` on was cut off: the file ends
 * before it.  mmap() is a plain system call here. */
bool cf_os_map_mend(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < GUARDED_MAX; i++) {
        uintptr_t p = atomic_load(&guarded[i].p);
        size_t n = atomic_load(&guarded[i].n);
        if (n != 0 && at >= p && at - p < n) {
            uintptr_t from = p + (at - p) / page * page;
            union {
                uintptr_t in;
                void *out;
            } to = {from};
            return mmap(to.out, p + n - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                        -1, 0) != MAP_FAILED;
        }
    }
    return false;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (!cf_os_map_mend(info->si_addr)) {
        signal(number, SIG_DFL); /* the next try to read ends the process */
    }
    errno = saved;
}

void cf_os_guard_maps(void)
{
    struct sigaction sa = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGBUS, &sa, NULL);
}

static int64_t changed_ns(const struct stat *sb)
{
#if defined(__APPLE__)
    struct timespec t = sb->st_mtimespec;
#else
    struct timespec t = sb->st_mtim;
#endif
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

cf_status cf_os_map_open(cf_os_map *out, const char *path, cf_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return fail_errno(err, path, errno);
    }
    struct stat sb;
    if (fstat(fd, &sb) != 0) {
        int code = errno;
        close(fd);
        return fail_errno(err, path, code);
    }
    if (!S_ISREG(sb.st_mode)) {
        close(fd);
        return cf_fail(err, CF_EIO, "%s: not a regular file", path);
    }
    cf_os_map map = {.n = (size_t)sb.st_size,
                     .dev = (uint64_t)sb.st_dev,
                     .ino = (uint64_t)sb.st_ino,
                     .fd = fd,
                     .changed_ns = changed_ns(&sb)};
    if (map.n != 0) {
        void *p = mmap(NULL, map.n, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            int code = errno;
            close(fd);
            return fail_errno(err, path, code);
        }
        map.p = p;
        guard(p, map.n);
    } else {
        close(fd);
    }
    *out = map;
    return CF_OK;
}

cf_status cf_os_map_check(const cf_os_map *map, cf_error *err)
{
    struct stat sb;
    if (map->p == NULL || (fstat(map->fd, &sb) == 0 && (uint64_t)sb.st_size == map->n &&
                           changed_ns(&sb) == map->changed_ns)) {
        return CF_OK;
    }
    return cf_fail(err, CF_EIO, "the file was truncated or written to while it was in use");
}

void cf_os_map_close(cf_os_map *map)
{
    if (map->p != NULL) {
        union {
            const void *in;
            void *out;
        } p = {map->p};
        unguard(map->p);
        munmap(p.out, map->n);
        close(map->fd);
    }
    *map = (cf_os_map){0};
}

void cf_os_map_prefetch(const cf_os_map *map, size_t off, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (map->p == NULL || off >= map->n) {
        return;
    }
    size_t start = off / page * page;
    size_t end = n < map->n - off ? off + n : map->n;
    union {
        const void *in;
        void *out;
    } p = {map->p + start};
#if defined(MADV_HUGEPAGE)
    (void)madvise(p.out, end - start, MADV_HUGEPAGE); /* read in huge pages, where a file can be */
#endif
    (void)posix_madvise(p.out, end - start, POSIX_MADV_WILLNEED);
}

/* What is mapped for n bytes: whole huge pages if at most an eighth of them is
 * left over. */
static size_t mapped_bytes(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t small = (n + page - 1) / page * page;
    size_t huge = (n + CF_OS_HUGE - 1) / CF_OS_HUGE * CF_OS_HUGE;
    return huge - n <= huge / 8 ? huge : small;
}

/* Maps one huge page more and gives back what lies before and after. */
void *cf_os_pages_map(size_t n)
{
    if (n > SIZE_MAX - 2 * (size_t)CF_OS_HUGE) {
        return NULL;
    }
    n = mapped_bytes(n);
    unsigned char *p =
        mmap(NULL, n + CF_OS_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    size_t before = (size_t)(-(uintptr_t)p % CF_OS_HUGE);
    if (before > 0) {
        munmap(p, before);
    }
    munmap(p + before + n, CF_OS_HUGE - before);
#if defined(MADV_HUGEPAGE)
    (void)madvise(p + before, n, MADV_HUGEPAGE);
#endif
    return p + before;
}

void cf_os_pages_unmap(void *p, size_t n)
{
    munmap(p, mapped_bytes(n));
}

static cf_status too_large(const char *name, size_t max_bytes, cf_error *err)
{
    return cf_fail(err, CF_ELIMIT, "%s: larger than %zu bytes", name, max_bytes);
}

/* Appends everything `fd` gives; CF_ELIMIT past max_bytes.  A FIFO that no
 * program writes to, opened without waiting for one, ends after a second. */
static cf_status read_all(cf_buf *out, int fd, const char *name, size_t max_bytes, cf_error *err)
{
    enum { WRITER_MS = 1000 };
    size_t total = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (fd != STDIN_FILENO) {
            (void)poll(&p, 1, WRITER_MS);
        }
        char *to = cf_buf_reserve(out, 65536);
        if (to == NULL) {
            return cf_fail(err, CF_ENOMEM, "%s: out of memory", name);
        }
        ssize_t got = read(fd, to, 65536);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (got < 0) {
            return fail_errno(err, name, errno);
        }
        if (got == 0) {
            *to = '\0';
            return CF_OK;
        }
        if ((size_t)got > max_bytes - total) {
            return too_large(name, max_bytes, err);
        }
        total += (size_t)got;
        out->n += (size_t)got;
        out->p[out->n] = '\0';
    }
}

/* What is refused before it is read: a file that is too large, and a device with bytes,
 * which may never end.  A terminal is read, and /dev/null is empty. */
static cf_status check_readable(int fd, const char *name, size_t max_bytes, cf_error *err)
{
    struct stat s;
    char one;
    if (fstat(fd, &s) != 0) {
        return fail_errno(err, name, errno);
    }
    if (S_ISREG(s.st_mode) && s.st_size > 0 && (uint64_t)s.st_size > max_bytes) {
        return too_large(name, max_bytes, err);
    }
    return (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode)) && !isatty(fd) && read(fd, &one, 1) > 0
               ? cf_fail(err, CF_EINVAL, "%s: a device, not a file", name)
               : CF_OK;
}

cf_status cf_os_read_file(cf_buf *out, const char *path, size_t max_bytes, cf_error *err)
{
    size_t before = out->n;
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return fail_errno(err, path, errno);
    }
    const char *name = is_stdin ? "standard input" : path;
    cf_status st = check_readable(fd, name, max_bytes, err);
    CF_THEN(st, read_all(out, fd, name, max_bytes, err));
    if (!is_stdin) {
        close(fd);
    }
    if (st != CF_OK && before > 0) {
        cf_buf_rewind(out, before);
    } else if (st != CF_OK) { /* not even the memory of what was read is left */
        cf_buf_deinit(out);
    }
    return st;
}

static cf_status write_all(int fd, const char *path, const char *p, size_t n, cf_error *err)
{
    while (n != 0) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return fail_errno(err, path, errno);
        }
        p += put;
        n -= (size_t)put;
    }
    return CF_OK;
}

/* A pipe or a device: written to, not replaced. */
static bool is_special(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

static cf_status open_temporary(cf_os_out *out, cf_error *err)
{
    cf_buf name = CF_BUF_INIT;
    cf_buf_addf(&name, "%s.XXXXXX", out->path);
    out->tmp = name.failed ? NULL : cf_strdup(cf_buf_cstr(&name));
    cf_buf_deinit(&name);
    if (out->tmp == NULL) {
        return cf_oom(err);
    }
    out->fd = mkstemp(out->tmp);
    return out->fd >= 0 ? CF_OK : fail_errno(err, out->path, errno);
}

static cf_status open_special(cf_os_out *out, cf_error *err)
{
    /* A pipe that no program reads would keep open() for ever. */
    out->fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (out->fd < 0) {
        return errno == ENXIO ? cf_fail(err, CF_EIO, "%s: no program reads this pipe", out->path)
                              : fail_errno(err, out->path, errno);
    }
    int flags = fcntl(out->fd, F_GETFL);
    (void)fcntl(out->fd, F_SETFL, flags & ~O_NONBLOCK);
    return CF_OK;
}

cf_status cf_os_append_open(int *fd, const char *path, cf_error *err)
{
    struct stat s;
    int f = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (f < 0) {
        return fail_errno(err, path, errno);
    }
    if (fstat(f, &s) != 0 || !S_ISREG(s.st_mode)) {
        close(f);
        return cf_fail(err, CF_EIO, "%s: not a regular file", path);
    }
    *fd = f;
    return CF_OK;
}

cf_status cf_os_out_open(cf_os_out *out, const char *path, cf_error *err)
{
    *out = (cf_os_out){.fd = -1, .path = cf_strdup(path)};
    cf_status st = out->path == NULL  ? cf_oom(err)
                   : is_special(path) ? open_special(out, err)
                                      : open_temporary(out, err);
    if (st != CF_OK) {
        cf_free(out->path);
        cf_free(out->tmp);
    }
    return st;
}

cf_status cf_os_out_put(cf_os_out *out, const void *p, size_t n, cf_error *err)
{
    CF_TRY(write_all(out->fd, out->path, p, n, err));
    out->n += n;
    return CF_OK;
}

cf_status cf_os_out_close(cf_os_out *out, cf_status st, unsigned mode, cf_error *err)
{
    bool replaces = out->tmp != NULL;
    if (st == CF_OK && replaces && (fsync(out->fd) != 0 || fchmod(out->fd, (mode_t)mode) != 0)) {
        st = fail_errno(err, out->path, errno);
    }
    close(out->fd);
    if (st == CF_OK && replaces && rename(out->tmp, out->path) != 0) {
        st = fail_errno(err, out->path, errno);
    }
    if (st != CF_OK && replaces) {
        unlink(out->tmp);
    }
    cf_free(out->path);
    cf_free(out->tmp);
    return st;
}

cf_status cf_os_write_file(const char *path, const void *p, size_t n, unsigned mode, cf_error *err)
{
    cf_os_out out;
    CF_TRY(cf_os_out_open(&out, path, err));
    cf_status st = cf_os_out_put(&out, p, n, err);
    return cf_os_out_close(&out, st, mode, err);
}

cf_status cf_os_make_dirs(const char *path, cf_error *err)
{
    char *copy = cf_strdup(path);
    if (copy == NULL) {
        return cf_oom(err);
    }
    cf_status st = CF_OK;
    for (char *at = copy + 1; st == CF_OK; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char was = *at;
        *at = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST) {
            st = fail_errno(err, copy, errno);
        }
        *at = was;
        if (was == '\0') {
            break;
        }
    }
    cf_free(copy);
    return st;
}

static int64_t frozen_ms;
static bool is_frozen;

void cf_os_freeze_clock(int64_t ms)
{
    frozen_ms = ms;
    is_frozen = true;
}

int64_t cf_os_now_ms(void)
{
    if (is_frozen) {
        return frozen_ms;
    }
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

uint64_t cf_os_monotonic_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Days since 1970-01-01 of a Gregorian date; month 1 to 12. */
static int64_t days_from_date(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

bool cf_os_parse_time(int64_t *ms, const char *text)
{
    int y, mo, d, h, mi, s, used = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &y, &mo, &d, &h, &mi, &s, &used) != 6 || mo < 1 ||
        mo > 12 || d < 1 || d > 31 || h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 60) {
        return false;
    }
    const char *at = text + used;
    int64_t fraction = 0;
    if (*at == '.') {
        int64_t unit = 100;
        for (at++; *at >= '0' && *at <= '9'; at++) {
            fraction += (*at - '0') * unit;
            unit /= 10;
        }
    }
    if (strcmp(at, "Z") != 0 && *at != '\0') {
        return false;
    }
    int64_t day = days_from_date(y, mo, d);
    *ms = ((day * 24 + h) * 60 + mi) * 60000 + (int64_t)s * 1000 + fraction;
    return true;
}

void cf_os_format_time(char out[25], int64_t ms)
{
    int64_t s = ms >= 0 ? ms / 1000 : (ms - 999) / 1000;
    time_t t = (time_t)s;
    struct tm tm;
    char date[20];
    if (gmtime_r(&t, &tm) == NULL || tm.tm_year < -1900 || tm.tm_year > 8099) {
        memcpy(out, "0000-00-00T00:00:00.000Z", 25);
        return;
    }
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    int rest = (int)(ms - s * 1000);
    char full[40];
    snprintf(full, sizeof full, "%s.%03dZ", date, rest);
    memcpy(out, full, 24);
    out[24] = '\0';
}

static pthread_mutex_t seed_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed_state;
static bool is_seeded;

void cf_os_seed_entropy(uint64_t seed)
{
    seed_state = seed;
    is_seeded = true;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_seeded(void)
{
    uint64_t z = seed_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static bool system_entropy(unsigned char *p, size_t n)
{
    while (n != 0) {
        size_t part = n < 256 ? n : 256;
        if (getentropy(p, part) != 0) {
            return false;
        }
        p += part;
        n -= part;
    }
    return true;
}

void cf_os_entropy(void *p, size_t n)
{
    unsigned char *to = p;
    if (!is_seeded && system_entropy(to, n)) {
        return;
    }
    pthread_mutex_lock(&seed_lock);
    if (!is_seeded && seed_state == 0) {
        seed_state = cf_os_monotonic_us() ^ (uint64_t)getpid() << 40;
    }
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = next_seeded();
        memcpy(to + i, &v, n - i < 8 ? n - i : 8);
    }
    pthread_mutex_unlock(&seed_lock);
}

cf_status cf_os_thread(pthread_t *out, void *(*fn)(void *), void *arg, cf_error *err)
{
    int rc = pthread_create(out, NULL, fn, arg);
    if (rc != 0) {
        char why[CF_OS_WHY];
        return cf_fail(err, CF_EIO, "cannot create a thread: %s", cf_os_why(why, rc));
    }
    return CF_OK;
}

unsigned cf_os_n_cpus(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (unsigned)CPU_COUNT(&set);
    }
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

uint64_t cf_os_memory_available(void)
{
    uint64_t kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    if (f == NULL) {
        return 0;
    }
    char line[128];
    while (fgets(line, sizeof line, f) != NULL) {
        unsigned long long v;
        if (sscanf(line, "MemAvailable: %llu kB", &v) == 1) {
            kib = v;
            break;
        }
    }
    (void)fclose(f); /* only read from: nothing can be lost */
    return kib * 1024;
}
