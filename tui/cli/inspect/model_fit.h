/*
 * model_fit.h - whether a model runs on this machine, and with how many tokens.
 *
 * Place in the flow:  an engine --> its plan of memory --> [model_fit] --> the first
 *                     lines of `confab model`.
 * Knows: the memory that is available now.  Does not know: other programs' needs a
 * moment later.
 *
 * Threads:  no state.
 * Memory:   nothing is kept.
 */
#ifndef CF_TUI_CLI_INSPECT_MODEL_FIT_H
#define CF_TUI_CLI_INSPECT_MODEL_FIT_H

#include "core/api/engine.h"
#include "core/base/buf.h"

typedef struct cf_model_fit {
    uint32_t n_ctx;         /* tokens that were asked about */
    uint64_t bytes;         /* all memory with them, mapped weights included */
    uint64_t available;     /* bytes that can be had without swapping; 0: not known */
    uint32_t largest_ctx;   /* the largest context up to the trained one that fits; 0: none */
    uint64_t largest_bytes; /* all memory with it */
} cf_model_fit;

/* n_ctx 0: the smaller of the trained context and 8192.  Fails as cf_engine_plan(). */
CF_MUST_USE cf_status cf_model_fit_find(cf_model_fit *out, const cf_engine *engine, uint32_t n_ctx,
                                        cf_cache_type cache, uint64_t available, cf_error *err);

/* Two lines: whether it runs with that context, and the largest one that fits. */
void cf_model_fit_text(cf_buf *out, const cf_model_fit *fit);

#endif
