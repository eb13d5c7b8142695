/*
 * embed.c - makes one vector of a text out of the states after its tokens.
 */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/session_impl.h"

typedef struct pool {
    cf_pooling kind;
    size_t n_embd, n; /* tokens in all */
    double *sum;      /* [n_embd] */
} pool;

static void on_hidden(void *ud, uint32_t pos, const float *h)
{
    pool *p = ud;
    if ((p->kind == CF_POOLING_FIRST && pos != 0) ||
        (p->kind == CF_POOLING_LAST && pos + 1 != p->n)) {
        return;
    }
    for (size_t i = 0; i < p->n_embd; i++) {
        p->sum[i] += (double)h[i];
    }
}

/* The sum with length 1; a mean has the same direction. */
static void normalise(const pool *p, float *out)
{
    double square = 0;
    for (size_t i = 0; i < p->n_embd; i++) {
        square += p->sum[i] * p->sum[i];
    }
    double scale = square > 0 ? 1 / sqrt(square) : 0;
    for (size_t i = 0; i < p->n_embd; i++) {
        out[i] = (float)(p->sum[i] * scale);
    }
}

/* All positions are computed here: neither the timeline's nor those of a
 * prefix have their states any more. */
static cf_status run(cf_session *s, const cf_token *ids, pool *p, cf_cancel *cancel, cf_error *err)
{
    const cf_run r = {.cancel = cancel, .hidden = on_hidden, .ud = p};
    cf_prefix_cache *prefixes = s->prefixes;
    cf_session_rewind(s, 0);
    s->prefixes = NULL;
    cf_status st = cf_session_sync(s, ids, p->n, &r, NULL, err);
    s->prefixes = prefixes;
    return st;
}

cf_status cf_session_embed(cf_session *s, const cf_token *ids, size_t n, cf_cancel *cancel,
                           float *out, cf_error *err)
{
    cf_engine_info info = cf_engine_get_info(s->engine);
    pool p = {.kind = info.pooling, .n_embd = info.n_embd, .n = n};
    if (p.kind == CF_POOLING_NONE) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the model makes no embeddings: its file declares no "
                       "%s.pooling_type",
                       info.arch);
    }
    if (p.kind == CF_POOLING_RANK) {
        return cf_fail(err, CF_EUNSUPPORTED, "the model ranks texts, and makes no embeddings");
    }
    if (n == 0) {
        return cf_fail(err, CF_EINVAL, "a text without tokens has no vector");
    }
    p.sum = cf_calloc(p.n_embd, sizeof *p.sum);
    if (p.sum == NULL) {
        return cf_oom_for(err, "the vector");
    }
    cf_status st = run(s, ids, &p, cancel, err);
    if (st == CF_OK) {
        normalise(&p, out);
    }
    cf_free(p.sum);
    return st;
}
