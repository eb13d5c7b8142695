/*
 * os.h - one interface to the operating system: files, maps, time, entropy.
 *
 * Place in the flow:  every room --> [os] --> POSIX.
 * Knows: system calls and their failures.  Does not know: what a file holds.
 *
 * Threads:  every function may be called from any thread; the frozen clock
 *           and the seeded entropy are set once at start.
 * Memory:   a map belongs to the caller until it is closed; everything else is
 *           written to the caller's buffers.
 */
#ifndef CF_CORE_BASE_OS_H
#define CF_CORE_BASE_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

/* A file mapped read-only and private. */
typedef struct cf_os_map {
    const unsigned char *p; /* [n], page aligned; NULL when n is 0 */
    size_t n;               /* bytes */
    uint64_t dev, ino;      /* which file it was */
    int fd;                 /* the file, for cf_os_map_check */
    int64_t changed_ns;     /* time of its last change when it was mapped */
} cf_os_map;

/* Maps the regular file `path`.  CF_ENOTFOUND, CF_EIO (also for directories
 * and devices). */
CF_MUST_USE cf_status cf_os_map_open(cf_os_map *out, const char *path, cf_error *err);
void cf_os_map_close(cf_os_map *map);

/*
 * CF_EIO if the file was written to or cut since it was mapped: what was read
 * from the map after that may be wrong.  A file that was replaced by renaming
 * another over it is as it was.
 */
CF_MUST_USE cf_status cf_os_map_check(const cf_os_map *map, cf_error *err);

/*
 * Reading a part of a map that was cut off its file raises SIGBUS.  After this
 * call such a part reads as zeros, so that the reader goes on to its next
 * cf_os_map_check().  Any other SIGBUS ends the process as before.  Installs a
 * handler of that signal; once per process, by a program and not by a library.
 */
void cf_os_guard_maps(void);
/* The work of that handler, for use in another handler: true if `address` was
 * in a map and can now be read.  Safe in a handler. */
bool cf_os_map_mend(const void *address);

/* Tells the system that the mapped range will be needed soon; a hint. */
void cf_os_map_prefetch(const cf_os_map *map, size_t off, size_t n);

/* Size of a huge page, where the system has such pages. */
enum { CF_OS_HUGE = 2 << 20 };

/*
 * n zeroed bytes of a mapping of their own, at a multiple of CF_OS_HUGE; NULL
 * when memory runs out.  On Linux in huge pages as far as n fills them: weights and
 * a cache that are read whole for each token have more small pages than the
 * processor's TLB holds.  Released by cf_os_pages_unmap() with the same n.
 */
void *cf_os_pages_map(size_t n);
void cf_os_pages_unmap(void *p, size_t n);

/* Appends the file's bytes to `out`; "-" is standard input.  CF_ELIMIT when
 * it holds more than `max_bytes`, CF_EINVAL for a device with bytes that is no
 * terminal; `out` is as it was on any failure. */
CF_MUST_USE cf_status cf_os_read_file(cf_buf *out, const char *path, size_t max_bytes,
                                      cf_error *err);

/* Writes a whole file with `mode` bits: a temporary file in the same folder,
 * synced, then renamed over it, so a reader sees the old or the new one.  A
 * pipe or a device is written to directly. */
CF_MUST_USE cf_status cf_os_write_file(const char *path, const void *p, size_t n, unsigned mode,
                                       cf_error *err);

/* The same a piece at a time, for what need not be in memory whole. */
typedef struct cf_os_out {
    int fd;
    char *path; /* owned */
    char *tmp;  /* owned; NULL: a pipe or a device */
    uint64_t n; /* bytes written */
} cf_os_out;

CF_MUST_USE cf_status cf_os_out_open(cf_os_out *out, const char *path, cf_error *err);
CF_MUST_USE cf_status cf_os_out_put(cf_os_out *out, const void *p, size_t n, cf_error *err);
/* Closes.  The file is replaced if `st`, the outcome so far, is CF_OK, and
 * else left as it was.  Returns `st` or the failure to replace it. */
CF_MUST_USE cf_status cf_os_out_close(cf_os_out *out, cf_status st, unsigned mode, cf_error *err);

/* Whether `path` is a directory, or a link to one. */
bool cf_os_is_dir(const char *path);
/* Whether `path` is a regular file, or a link to one, that may be read. */
bool cf_os_is_readable(const char *path);
/* Whether what the file says is this user's alone to decide, as for files that
 * can start programs: CF_EINVAL with the reason where it belongs to neither this
 * user nor root, or others can write to it (a group with the number of its owner
 * has no others).  CF_OK also where there is no file. */
CF_MUST_USE cf_status cf_os_check_owner(const char *path, cf_error *err);
/* Whether the directory `dir` has such a file called `name`. */
bool cf_os_has_file(const char *dir, const char *name);
/* Appends the names in a directory to `out`, sorted by their bytes, each with
 * a NUL after it; "." and ".." are left out.  CF_ENOTFOUND, CF_EIO; CF_ELIMIT
 * for more than `max`. */
CF_MUST_USE cf_status cf_os_list_dir(cf_buf *out, const char *path, size_t max, cf_error *err);

/* Makes a directory and its missing parents with mode 0700. */
CF_MUST_USE cf_status cf_os_make_dirs(const char *path, cf_error *err);

enum { CF_OS_WHY = 96 };

/* Writes the message of a system error number to `why` and returns `why`.
 * strerror() would share one text between threads. */
const char *cf_os_why(char why[CF_OS_WHY], int code);

/* Milliseconds since 1970 UTC; the frozen instant when one was set. */
int64_t cf_os_now_ms(void);
void cf_os_freeze_clock(int64_t ms);
/* Parses "2025-01-02T03:04:05Z" (UTC only, fraction allowed) to ms. */
bool cf_os_parse_time(int64_t *ms, const char *text);
/* Writes ms as "2025-01-02T03:04:05.006Z" and a NUL (25 bytes). */
void cf_os_format_time(char out[25], int64_t ms);

/* Monotonic microseconds from an unspecified start; never frozen. */
uint64_t cf_os_monotonic_us(void);

/* Fills p[0..n) with random bytes: the system's, or a repeatable stream
 * after cf_os_seed_entropy(). */
void cf_os_entropy(void *p, size_t n);
void cf_os_seed_entropy(uint64_t seed);

/* Starts a thread that runs fn(arg) and is to be joined.  CF_EIO with the
 * system's reason. */
CF_MUST_USE cf_status cf_os_thread(pthread_t *out, void *(*fn)(void *), void *arg, cf_error *err);

/* Processors this process may run on, at least 1. */
unsigned cf_os_n_cpus(void);
/* Bytes of physical memory that could be used now without swapping; 0 when
 * the system does not say. */
uint64_t cf_os_memory_available(void);

CF_END_DECLS

#endif
