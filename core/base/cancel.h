/*
 * cancel.h - the flag by which any thread stops a call that takes long.
 *
 * Place in the flow:  interface --> [cancel] --> worker, pass, transfer.
 * Knows: atomics.  Does not know: what is stopped.
 *
 * Set to true by any thread, it stops the running call with CF_ECANCELLED
 * within one layer's work.  The one who set it clears it.
 *
 * Threads:  shared: set and read by any.
 * Memory:   the caller's.
 */
#ifndef CF_CORE_BASE_CANCEL_H
#define CF_CORE_BASE_CANCEL_H

#ifdef __cplusplus
#include <atomic>
typedef std::atomic<bool> cf_cancel; /* of the same size and representation */
#else
#include <stdatomic.h>
typedef atomic_bool cf_cancel;
#endif

#endif
