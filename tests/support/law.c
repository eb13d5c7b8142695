/*
 * law.c - each block has its size before it, so that freeing can be counted.
 */
#include "tests/support/law.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tests/support/slow.h"

enum { HEAD = 16 };

static atomic_size_t peak_bytes, live_bytes;

static void *count_resize(void *ud, void *p, size_t n)
{
    (void)ud;
    size_t was = 0;
    if (p != NULL) {
        memcpy(&was, (char *)p - HEAD, sizeof was);
    }
    if (n > SIZE_MAX - HEAD) {
        return NULL;
    }
    char *block = realloc(p != NULL ? (char *)p - HEAD : NULL, n + HEAD);
    if (block == NULL) {
        return NULL;
    }
    memcpy(block, &n, sizeof n);
    size_t now = atomic_fetch_add(&live_bytes, n - was) + n - was;
    if (now > atomic_load(&peak_bytes)) {
        atomic_store(&peak_bytes, now);
    }
    return block + HEAD;
}

static void count_release(void *ud, void *p)
{
    (void)ud;
    size_t n;
    memcpy(&n, (char *)p - HEAD, sizeof n);
    atomic_fetch_sub(&live_bytes, n);
    free((char *)p - HEAD);
}

void cf_law_install(void)
{
    static const cf_allocator counting = {count_resize, count_release, NULL};
    static bool is_done;
    if (!is_done) {
        cf_alloc_use(&counting);
        is_done = true;
    }
}

size_t cf_law_live(void)
{
    return atomic_load(&live_bytes);
}

size_t cf_law_peak(void)
{
    return atomic_load(&peak_bytes);
}

void cf_law_peak_reset(void)
{
    atomic_store(&peak_bytes, atomic_load(&live_bytes));
}

cf_law cf_law_begin(void)
{
    cf_law_install();
    cf_law_peak_reset();
    return (cf_law){clock(), cf_law_live()};
}

/* ThreadSanitizer looks at each access to memory: up to twenty times the
 * time where the release build misses its caches; AddressSanitizer up to ten
 * times while another program takes the caches, and with libFuzzer's counters
 * even alone.  The release build checks the bands as they are. */
#if defined(__SANITIZE_THREAD__)
#define SLOWER 8.0
#elif T_IS_SLOW && defined(__clang__)
#define SLOWER 4.0
#elif T_IS_SLOW
#define SLOWER 2.0
#else
#define SLOWER 1.0
#endif

void cf_law_check(const cf_law *l, const cf_law_band *band, uint64_t steps)
{
    double seconds = (double)(clock() - l->from) / CLOCKS_PER_SEC;
    size_t bytes = cf_law_peak() - l->live;
    if (getenv("CF_LAW_PRINT") != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        printf("%s: %llu steps, %.6f s, %zu bytes\n", band->what, (unsigned long long)steps,
               seconds, bytes);
    }
    double most = band->seconds + band->seconds_per_step * (double)steps;
    if (seconds > most * SLOWER) {
        fprintf(stderr, "%s: %.1f s of processor time for %llu steps\n", band->what, seconds,
                (unsigned long long)steps);
        abort();
    }
    if ((double)bytes > (double)band->bytes + (double)band->bytes_per_step * (double)steps) {
        fprintf(stderr, "%s: %zu bytes of memory for %llu steps\n", band->what, bytes,
                (unsigned long long)steps);
        abort();
    }
}
