/*
 * requantise.h - a model's float matrices as another type, in memory.
 *
 * Place in the flow:  gguf.h (mapped tensors) --> here --> weights.h.
 * Knows: which tensors are matrices that may lose bits.
 * Does not know: families.
 *
 * Norms, biases, convolutions, routers and small tables stay as they are, as
 * do matrices that are quantised already or whose rows are no multiple of 32.
 *
 * Threads:  the caller's pool does the work.
 */
#ifndef CF_CORE_MODEL_REQUANTISE_H
#define CF_CORE_MODEL_REQUANTISE_H

#include "core/base/pool.h"
#include "core/kernel/dtype.h"
#include "core/model/gguf.h"

typedef struct cf_requantised {
    void **copy; /* [n], cf_free_aligned() */
    size_t n;
} cf_requantised;

/* The type of a name, "q8_0" or "q4_0"; false for others. */
bool cf_requantise_type(cf_dtype *out, const char *name);
/* The name of such a type; NULL for another one. */
const char *cf_requantise_name(cf_dtype type);

/* Makes copies and points g's tensors to them.  CF_ENOMEM; then g is as it
 * was but for some tensors, whose copies *out has. */
CF_MUST_USE cf_status cf_requantise(cf_requantised *out, cf_gguf *g, cf_dtype type, cf_pool *pool,
                                    cf_error *err);
/* After g was closed, or is not used any more. */
void cf_requantised_deinit(cf_requantised *r);

#endif
