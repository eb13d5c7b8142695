/*
 * bench_memory.h - how fast this machine's memory is read.
 *
 * Threads:  starts and ends its own.
 */
#ifndef CF_TUI_CLI_INSPECT_BENCH_MEMORY_H
#define CF_TUI_CLI_INSPECT_BENCH_MEMORY_H

#include "core/base/status.h"

/* The most that is allocated to be read. */
#define CF_BENCH_MEMORY_MAX ((size_t)1 << 30)

/*
 * Bytes per second of a plain read of `size` bytes (at most
 * CF_BENCH_MEMORY_MAX of them, from front to back, each thread its share), the
 * median of n_reps.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_bench_memory(double *out, size_t size, unsigned n_threads, uint32_t n_reps,
                                      cf_error *err);

#endif
