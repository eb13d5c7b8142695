/*
 * model_fit.c - memory of a model against the memory of this machine.
 */
#include "tui/cli/inspect/model_fit.h"

#include "tui/cli/answers/facts.h"

enum { DEFAULT_CTX = 8192 };

static cf_status bytes_with(uint64_t *bytes, const cf_engine *engine, uint32_t n_ctx,
                            cf_cache_type cache, cf_error *err)
{
    cf_plan plan;
    CF_TRY(cf_engine_plan(engine, n_ctx, cache, &plan, err));
    *bytes = plan.session_bytes + plan.shared_bytes + plan.mapped_bytes;
    return CF_OK;
}

/* Memory grows with the context, so the largest one is found by halving. */
static cf_status find_largest(cf_model_fit *fit, const cf_engine *engine, uint32_t most,
                              cf_cache_type cache, cf_error *err)
{
    uint32_t low = 0, high = most;
    while (low < high) {
        uint32_t n = low + (high - low + 1) / 2;
        uint64_t bytes;
        CF_TRY(bytes_with(&bytes, engine, n, cache, err));
        if (bytes <= fit->available) {
            low = n;
            fit->largest_bytes = bytes;
        } else {
            high = n - 1;
        }
    }
    fit->largest_ctx = low;
    return CF_OK;
}

cf_status cf_model_fit_find(cf_model_fit *out, const cf_engine *engine, uint32_t n_ctx,
                            cf_cache_type cache, uint64_t available, cf_error *err)
{
    uint32_t trained = cf_engine_get_info(engine).n_ctx_train;
    cf_model_fit fit = {.available = available};
    fit.n_ctx = n_ctx != 0 ? n_ctx : trained != 0 && trained < DEFAULT_CTX ? trained : DEFAULT_CTX;
    CF_TRY(bytes_with(&fit.bytes, engine, fit.n_ctx, cache, err));
    if (available != 0) {
        uint32_t most = trained > fit.n_ctx ? trained : fit.n_ctx;
        CF_TRY(find_largest(&fit, engine, most, cache, err));
    }
    *out = fit;
    return CF_OK;
}

static void put_largest(cf_buf *out, const cf_model_fit *fit)
{
    if (fit->largest_ctx == 0) {
        cf_buf_adds(out, "no context fits: close other programs, or take a smaller file\n");
        return;
    }
    cf_buf_addf(out, "largest context that fits: %u tokens, ", fit->largest_ctx);
    cf_facts_size(out, fit->largest_bytes);
    cf_buf_addf(out, fit->largest_ctx < fit->n_ctx ? " (--ctx %u)\n" : "\n", fit->largest_ctx);
}

void cf_model_fit_text(cf_buf *out, const cf_model_fit *fit)
{
    bool is_known = fit->available != 0;
    cf_buf_adds(out, !is_known                      ? "needs "
                     : fit->bytes <= fit->available ? "runs here: "
                                                    : "does not fit: ");
    cf_facts_size(out, fit->bytes);
    cf_buf_addf(out, " with %u tokens", fit->n_ctx);
    if (is_known) {
        cf_buf_adds(out, "; this machine has ");
        cf_facts_size(out, fit->available);
        cf_buf_adds(out, " available");
    }
    cf_buf_addc(out, '\n');
    if (is_known) {
        put_largest(out, fit);
    }
}
