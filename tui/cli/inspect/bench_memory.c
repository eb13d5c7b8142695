/*
 * bench_memory.c - times a plain read of as much memory as the weights take.
 */
#include "tui/cli/inspect/bench_memory.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/pool.h"

enum { LINE = 64, MOST_THREADS = 256 };

typedef struct reading {
    const uint64_t *p; /* [n] */
    size_t n;
    volatile uint64_t sum[MOST_THREADS]; /* keeps the loop from vanishing */
} reading;

/* Eight sums, so that loads do not wait for one another. */
static void read_part(void *ud, unsigned i, unsigned n)
{
    reading *r = ud;
    const uint64_t *p = r->p + r->n / n * i, *end = p + r->n / n;
    uint64_t sum[8] = {0};
    for (; p + 8 <= end; p += 8) {
        for (size_t j = 0; j < 8; j++) {
            sum[j] += p[j];
        }
    }
    for (size_t j = 1; j < 8; j++) {
        sum[0] += sum[j];
    }
    r->sum[i % MOST_THREADS] = sum[0];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static double median_seconds(reading *r, cf_pool *pool, double *seconds, uint32_t n_reps)
{
    for (uint32_t i = 0; i < n_reps; i++) {
        uint64_t started = cf_os_monotonic_us();
        cf_pool_run(pool, read_part, r);
        seconds[i] = (double)(cf_os_monotonic_us() - started) * 1e-6;
    }
    qsort(seconds, n_reps, sizeof *seconds, by_value);
    return seconds[n_reps / 2];
}

cf_status cf_bench_memory(double *out, size_t size, unsigned n_threads, uint32_t n_reps,
                          cf_error *err)
{
    cf_pool *pool = NULL;
    reading *r = cf_calloc(1, sizeof *r);
    double *seconds = cf_calloc(n_reps, sizeof *seconds);
    size = size < CF_BENCH_MEMORY_MAX ? size : CF_BENCH_MEMORY_MAX;
    size = size / LINE * LINE;
    void *p = cf_alloc_aligned(LINE, size > 0 ? size : LINE);
    cf_status st = CF_OK;
    if (r == NULL || seconds == NULL || p == NULL) {
        st = cf_oom_for(err, "a reading of memory");
    }
    CF_THEN(st, cf_pool_new(&pool, n_threads, err));
    if (st == CF_OK) {
        memset(p, 1, size);
        r->p = p;
        r->n = size / sizeof *r->p;
        double s = median_seconds(r, pool, seconds, n_reps);
        *out = s > 0 ? (double)size / s : 0;
        cf_pool_free(pool);
    }
    cf_free_aligned(p);
    cf_free(seconds);
    cf_free(r);
    return st;
}
