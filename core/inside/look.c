/*
 * look.c - the attention weights of one position, from its queries and the
 * cached keys.
 *
 *   w = softmax(scale * q . k), capped before, a sink in the sum
 */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/inside/inside_impl.h"
#include "core/kernel/cached.h"

typedef struct looker {
    const cf_engine *engine;
    uint32_t at;
    cf_inside_looks *layer; /* [n_layer] */
} looker;

/* s[32] = q . k for the positions of a block. */
static void score_block(const cf_engine *e, const cf_attn *a, const float *q, const void *keys,
                        float s[CF_KV_BLOCK])
{
    float wide[CF_KV_BLOCK];
    for (size_t i = 0; i < CF_KV_BLOCK; i++) {
        s[i] = 0;
    }
    for (size_t c = 0; c < a->head_size; c++) {
        cf_cached_keys(e->k, a->type, keys, c, wide);
        for (size_t i = 0; i < CF_KV_BLOCK; i++) {
            s[i] += q[c] * wide[i];
        }
    }
}

/* w[first..last] = scores, those of hidden positions -infinity; the largest. */
static float scores(const cf_engine *e, const cf_attn *a, const float *q, float *w)
{
    float s[CF_KV_BLOCK];
    float top = -INFINITY;
    for (uint32_t p = a->first; p <= a->last; p++) {
        if (p == a->first || p % CF_KV_BLOCK == 0) {
            score_block(e, a, q, a->k_block[p / CF_KV_BLOCK], s);
        }
        float v = s[p % CF_KV_BLOCK] * a->scale;
        v = a->soft_cap > 0 ? a->soft_cap * tanhf(v / a->soft_cap) : v;
        w[p] = cf_attn_hides(a, p) ? -INFINITY : v;
        top = w[p] > top ? w[p] : top;
    }
    return top;
}

/* w[0..at], zero before, of one head. */
static void weigh(const cf_engine *e, const cf_attn *a, const float *q, const float *sink, float *w)
{
    float top = scores(e, a, q, w);
    top = sink != NULL && *sink > top ? *sink : top;
    if (top == -INFINITY) { /* nothing is left */
        w[a->at] = top = 0;
    }
    double total = sink != NULL ? exp((double)*sink - (double)top) : 0;
    for (uint32_t p = a->first; p <= a->last; p++) {
        total += exp((double)w[p] - (double)top);
    }
    for (uint32_t p = a->first; p <= a->last; p++) {
        w[p] = (float)(exp((double)w[p] - (double)top) / total);
    }
}

static void on_weights(void *ud, uint32_t layer, uint32_t pos, uint32_t head, const cf_attn *a)
{
    const looker *l = ud;
    for (size_t h = 0; pos == l->at && h < a->n_q; h++) {
        weigh(l->engine, a, a->q + h * a->q_stride, a->sinks != NULL ? a->sinks + h : NULL,
              l->layer[layer].w + (head + h) * (l->at + (size_t)1));
    }
}

/* An engine plug-in's answer: of each layer the number of heads, then their rows. */
static cf_status plugin_attention(cf_session *s, const cf_inside_ask *ask, cf_inside_looks *layer,
                                  cf_arena *arena, cf_error *err)
{
    size_t n = ask->at + (size_t)1, at = 0, n_seen = 0;
    float *v = NULL;
    CF_TRY(cf_inside__see(s, ask, CF_PLUGIN_ATTENTION, &v, &n_seen, err));
    for (uint32_t i = 0; i < s->engine->hp.n_layer; i++) {
        float n_head = at < n_seen ? v[at] : -1;
        if (!(n_head >= 0 && n_head <= (float)((n_seen - at - 1) / n))) {
            cf_free(v);
            return cf_fail(err, CF_EUNSUPPORTED, "the engine shows %zu numbers", n_seen);
        }
        layer[i].n_head = (uint32_t)n_head;
        layer[i].is_recurrent = n_head == 0;
        layer[i].w = cf_arena_calloc(arena, layer[i].n_head * n, sizeof *v);
        if (layer[i].w != NULL) {
            memcpy(layer[i].w, v + at + 1, layer[i].n_head * n * sizeof *v);
        }
        at += 1 + layer[i].n_head * n;
    }
    cf_free(v);
    return arena->failed ? cf_oom_for(err, "attention weights") : CF_OK;
}

cf_status cf_inside_attention(cf_session *s, const cf_inside_ask *ask, cf_inside_looks **out,
                              cf_arena *arena, cf_error *err)
{
    const cf_hparams *hp = &s->engine->hp;
    looker l = {.engine = s->engine, .at = ask->at};
    l.layer = cf_arena_calloc(arena, hp->n_layer, sizeof *l.layer);
    for (uint32_t i = 0; l.layer != NULL && ask->at < ask->n && i < hp->n_layer; i++) {
        l.layer[i].n_head = hp->layer[i].n_head;
        l.layer[i].is_recurrent = hp->layer[i].mixer != CF_MIX_ATTENTION;
        l.layer[i].w = cf_arena_calloc(arena, hp->layer[i].n_head * (ask->at + (size_t)1),
                                       sizeof *l.layer[i].w);
    }
    if (arena->failed) {
        return cf_oom_for(err, "attention weights");
    }
    if (s->engine->plugin != NULL) {
        *out = l.layer;
        return plugin_attention(s, ask, l.layer, arena, err);
    }
    cf_probe tap = {.ud = &l, .weights = on_weights};
    const cf_inside_watch w = {.tap = &tap, .from = ask->at};
    CF_TRY(cf_inside__watch(s, ask, &w, err));
    *out = l.layer;
    return CF_OK;
}
