/*
 * engines.c - one timeline through two engines, token by token.
 */
#include "tui/study/shrink/engines.h"

#include <math.h>
#include <string.h>

#include "core/api/inside.h"
#include "core/base/alloc.h"

/* The largest difference over the largest value of the first; not a number where
 * one of the values is none. */
static double share_of(const float *a, const float *b, size_t n)
{
    double most = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        most = d > most || isnan(d) ? d : most;
        size = fabs((double)a[i]) > size ? fabs((double)a[i]) : size;
        if (isnan(most)) {
            return most;
        }
    }
    return size > 0 ? most / size : most;
}

static bool parts(double share, double limit)
{
    return !(share <= limit); /* not a number does */
}

static cf_token best_of(const float *logits, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return (cf_token)best;
}

static double limit_of(const cf_engine *e)
{
    const char *type = cf_engine_get_info(e).file_type;
    bool is_float = strcmp(type, "F32") == 0 || strcmp(type, "F16") == 0 ||
                    strcmp(type, "BF16") == 0 || strcmp(type, "F64") == 0;
    return is_float ? CF_ENGINES_FLOAT : CF_ENGINES_QUANTISED;
}

/* The first layer that parts after the token at `at`. */
static cf_status compare_layers(cf_engines_found *out, cf_session *const s[2],
                                const cf_engines_ask *ask, uint32_t at, cf_error *err)
{
    const cf_engine_info info = cf_engine_get_info(ask->engine[0]);
    const cf_inside_ask look = {
        .ids = ask->ids, .n = at + (size_t)1, .at = at, .cancel = ask->cancel};
    size_t n = info.n_embd, n_layer = info.n_layer;
    float *x[2] = {NULL, NULL};
    cf_status st = CF_OK;
    for (int i = 0; i < 2; i++) {
        const cf_engine_info one = cf_engine_get_info(ask->engine[i]);
        if (one.n_layer != n_layer || one.n_embd != n) {
            st = cf_fail(err, CF_EUNSUPPORTED, "the engines have different layers");
        }
        x[i] = cf_calloc(n_layer * n, sizeof *x[i]);
        st = st == CF_OK && x[i] == NULL ? cf_oom_for(err, "layers") : st;
        CF_THEN(st, cf_inside_after_layers(s[i], &look, x[i], err));
    }
    out->has_layers = st == CF_OK;
    for (size_t l = 0; st == CF_OK && !out->has_layer && l < n_layer; l++) {
        out->layer = (uint32_t)l;
        out->layer_share = share_of(x[0] + l * n, x[1] + l * n, n);
        out->has_layer = parts(out->layer_share, out->limit);
    }
    cf_free(x[0]);
    cf_free(x[1]);
    return st == CF_EUNSUPPORTED ? CF_OK : st; /* one of them does not disclose them */
}

/* The logits before token `at` of the timeline, in both engines. */
static cf_status go_to(cf_session *const s[2], const cf_engines_ask *ask, size_t at, cf_error *err)
{
    const cf_run run = {.cancel = ask->cancel};
    for (int i = 0; i < 2; i++) {
        CF_TRY(at == ask->n_prompt ? cf_session_sync(s[i], ask->ids, at, &run, NULL, err)
                                   : cf_session_step(s[i], ask->ids[at - 1], &run, err));
    }
    return CF_OK;
}

static cf_status walk(cf_engines_found *out, cf_session *const s[2], const cf_engines_ask *ask,
                      cf_error *err)
{
    size_t n_vocab = cf_engine_get_info(ask->engine[0]).n_vocab;
    for (size_t at = ask->n_prompt; at < ask->n; at++) {
        CF_TRY(go_to(s, ask, at, err));
        const float *a = cf_session_logits(s[0]), *b = cf_session_logits(s[1]);
        double share = share_of(a, b, n_vocab);
        out->share = share > out->share || isnan(share) ? share : out->share;
        if (parts(share, out->limit)) {
            out->is_parted = true;
            out->share = share;
            out->token = at - ask->n_prompt;
            out->best[0] = best_of(a, n_vocab);
            out->best[1] = best_of(b, n_vocab);
            return compare_layers(out, s, ask, (uint32_t)at - 1, err);
        }
    }
    return CF_OK;
}

cf_status cf_engines_compare(cf_engines_found *out, const cf_engines_ask *ask, cf_error *err)
{
    cf_session *s[2] = {NULL, NULL};
    const cf_session_options o = {.n_ctx = ask->n_ctx};
    cf_engines_found found = {.limit = limit_of(ask->engine[0])};
    cf_status st = CF_OK;
    if (cf_engine_get_info(ask->engine[0]).n_vocab != cf_engine_get_info(ask->engine[1]).n_vocab) {
        return cf_fail(err, CF_EINVAL, "the engines have different vocabularies");
    }
    for (int i = 0; i < 2; i++) {
        CF_THEN(st, cf_session_new(&s[i], ask->engine[i], &o, err));
    }
    CF_THEN(st, walk(&found, s, ask, err));
    cf_session_free(s[0]);
    cf_session_free(s[1]);
    if (st == CF_OK) {
        *out = found;
    }
    return st;
}
