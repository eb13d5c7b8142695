/*
 * inside.c - runs a timeline under changes, and reads residual streams.
 *
 * The caller's session holds the positions that no change reaches; a fork of
 * it computes the others.  Its probes are, in this order, those of the session
 * (steering), the changes, the tap.
 */
#include <assert.h>
#include <string.h>

#include "core/api/batch.h"
#include "core/base/alloc.h"
#include "core/inside/inside_impl.h"

/* ---- a run -------------------------------------------------------------- */

static cf_status check_ask(const cf_session *s, const cf_inside_ask *ask, cf_error *err)
{
    if (ask->at >= ask->n) {
        return cf_fail(err, CF_EINVAL, "position %u of %zu", ask->at, ask->n);
    }
    for (size_t i = 0; ask->in == NULL && i < ask->n; i++) {
        CF_TRY(cf_session__check_id(s->engine, ask->ids[i], err));
    }
    return ask->changes != NULL ? cf_changes_check(s->engine, ask->changes, ask->n, err) : CF_OK;
}

cf_status cf_inside__see(cf_session *s, const cf_inside_ask *ask, cf_plugin_look what, float **out,
                         size_t *n, cf_error *err)
{
    cf_engine *e = s->engine;
    size_t n_want = *n;
    if (ask->changes != NULL || ask->in != NULL) {
        return cf_engine__need_own(e, "changes, pictures and sounds", err);
    }
    CF_TRY(check_ask(s, ask, err));
    if (ask->at >= s->n_ctx) {
        return cf_fail(err, CF_ELIMIT, "position %u in a context of %u", ask->at, s->n_ctx);
    }
    pthread_mutex_lock(&e->pass_lock);
    cf_status st = cf_plugin_see(e->plugin, what, ask->ids, ask->at + 1, out, n, ask->cancel, err);
    pthread_mutex_unlock(&e->pass_lock);
    if (st == CF_OK && n_want != 0 && *n != n_want) {
        cf_free(*out);
        st = cf_fail(err, CF_EUNSUPPORTED, "the engine shows %zu numbers of %zu", *n, n_want);
    }
    return st;
}

static cf_status sync(cf_session *s, const cf_inside_ask *ask, size_t n, const cf_run *more,
                      cf_error *err)
{
    cf_run run = more != NULL ? *more : (cf_run){.cancel = NULL};
    run.cancel = ask->cancel;
    return ask->in != NULL ? cf_session_sync_inputs(s, ask->in, n, &run, NULL, err)
                           : cf_session_sync(s, ask->ids, n, &run, NULL, err);
}

/* The session gets the first n positions, where it has not got them. */
static cf_status bring(cf_session *s, const cf_inside_ask *ask, uint32_t n, cf_error *err)
{
    const cf_source src = {.ids = ask->ids, .in = ask->in};
    return cf_session__common(s, &src, n) < n ? sync(s, ask, n, NULL, err) : CF_OK;
}

/* Positions that see each other are not parted. */
static uint32_t start_of_block(const cf_inside_ask *ask, uint32_t pos)
{
    while (ask->in != NULL && pos > 0 && ask->in[pos - 1].see_end > pos) {
        pos--;
    }
    return pos;
}

/* The length that `at` needs: what it sees, and no more. */
static size_t length_of(const cf_inside_ask *ask)
{
    size_t n = ask->at + (size_t)1;
    return ask->in != NULL && ask->in[ask->at].see_end > n ? ask->in[ask->at].see_end : n;
}

/* A fork of `s` whose passes call `probe`, synchronised to the whole ask. */
static cf_status run_fork(cf_session *s, const cf_inside_ask *ask, const cf_probe *probe,
                          uint32_t first, const cf_inside_watch *w, cf_error *err)
{
    cf_session *fork = NULL;
    CF_TRY(cf_session_fork(&fork, s, err));
    assert(fork != NULL);
    cf_session__set_probe(fork, probe, first);
    cf_status st = sync(fork, ask, ask->at + (size_t)1, w->run, err);
    if (st == CF_OK && w->logits != NULL) {
        memcpy(w->logits, cf_session_logits(fork), s->engine->hp.n_vocab * sizeof *w->logits);
    }
    cf_session_free(fork);
    return st;
}

cf_status cf_inside__watch(cf_session *s, const cf_inside_ask *ask, const cf_inside_watch *w,
                           cf_error *err)
{
    cf_changer changer;
    cf_probe base;
    CF_TRY(cf_engine__need_own(s->engine, "what is inside beyond lens and attention", err));
    CF_TRY(check_ask(s, ask, err));
    if (length_of(ask) != ask->at + (size_t)1) {
        return cf_fail(err, CF_EUNSUPPORTED, "position %u sees later ones: ask about the last",
                       ask->at);
    }
    uint32_t first = cf_changes_first(ask->changes);
    first = w->from < first ? w->from : first;
    first = start_of_block(ask, first < ask->at ? first : ask->at);
    CF_TRY(bring(s, ask, first, err));
    CF_TRY(cf_changer_init(&changer, s->engine, ask->changes, err));
    changer.probe.next = w->tap;
    const cf_probe *head = &changer.probe;
    if (s->probe != NULL) {
        base = *s->probe;
        base.next = &changer.probe;
        head = &base;
    }
    cf_status st = run_fork(s, ask, head, first, w, err);
    cf_changer_deinit(&changer);
    return st;
}

cf_status cf_inside_run(cf_session *s, const cf_inside_ask *ask, float *logits, cf_error *err)
{
    const cf_inside_watch w = {.from = UINT32_MAX, .logits = logits};
    if (s->engine->plugin == NULL || ask->changes != NULL) {
        return cf_inside__watch(s, ask, &w, err);
    }
    CF_TRY(check_ask(s, ask, err));
    CF_TRY(sync(s, ask, ask->at + (size_t)1, NULL, err));
    memcpy(logits, cf_session_logits(s), s->engine->hp.n_vocab * sizeof *logits);
    return CF_OK;
}

cf_status cf_inside_logits(cf_session *s, const cf_inside_ask *ask, size_t first,
                           void (*fn)(void *ud, uint32_t pos, const float *logits), void *ud,
                           cf_error *err)
{
    const cf_run run = {.logits = fn, .ud = ud};
    cf_inside_ask before = *ask;
    if (first == 0 || first > ask->at || ask->in != NULL) {
        return cf_fail(err, CF_EINVAL, "tokens %zu to %u cannot be scored", first, ask->at);
    }
    before.at--; /* the last token predicts nothing */
    const cf_inside_watch w = {.from = (uint32_t)first - 1, .run = &run};
    return cf_inside__watch(s, &before, &w, err);
}

/* ---- streams ------------------------------------------------------------ */

size_t cf_inside_width(const cf_engine *e)
{
    return (size_t)e->hp.n_embd * (e->hp.n_altup != 0 ? e->hp.n_altup : 1);
}

typedef struct recorder {
    const uint32_t *pos; /* [n]; NULL: one position and all layers */
    size_t n, n_embd, width;
    uint32_t layer, at;
    float *out; /* [n, width]; or [n_layer + 1, width] */
} recorder;

static void copy_streams(const recorder *c, float *out, float *const *x, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        memcpy(out + j * c->n_embd, x[j], c->n_embd * sizeof *out);
    }
}

static void on_stream(void *ud, uint32_t l, uint32_t pos, float *const *x, size_t n)
{
    const recorder *c = ud;
    if (c->pos == NULL && pos == c->at) {
        copy_streams(c, c->out + l * c->width, x, n);
    }
    for (size_t i = 0; c->pos != NULL && l == c->layer && i < c->n; i++) {
        if (c->pos[i] == pos) {
            copy_streams(c, c->out + i * c->width, x, n);
        }
    }
}

cf_status cf_inside_stream(cf_session *s, const cf_inside_ask *ask, uint32_t layer,
                           const uint32_t *pos, size_t n, float *out, cf_error *err)
{
    const cf_hparams *hp = &s->engine->hp;
    recorder c = {.pos = pos,
                  .n = n,
                  .n_embd = hp->n_embd,
                  .width = cf_inside_width(s->engine),
                  .layer = layer,
                  .out = out};
    cf_probe tap = {.ud = &c, .stream = on_stream, .wants_rows = true};
    uint32_t first = UINT32_MAX;
    if (layer > hp->n_layer) {
        return cf_fail(err, CF_EINVAL, "stream %u of %u", layer, hp->n_layer);
    }
    for (size_t i = 0; i < n; i++) {
        if (pos[i] > ask->at) {
            return cf_fail(err, CF_EINVAL, "position %u of %u", pos[i], ask->at + 1);
        }
        first = pos[i] < first ? pos[i] : first;
    }
    const cf_inside_watch w = {.tap = &tap, .from = first};
    return cf_inside__watch(s, ask, &w, err);
}

cf_status cf_inside__streams(cf_session *s, const cf_inside_ask *ask, float *out, cf_error *err)
{
    recorder c = {.n_embd = s->engine->hp.n_embd,
                  .width = cf_inside_width(s->engine),
                  .at = ask->at,
                  .out = out};
    cf_probe tap = {.ud = &c, .stream = on_stream};
    const cf_inside_watch w = {.tap = &tap, .from = ask->at};
    return cf_inside__watch(s, ask, &w, err);
}

/* ---- layers, by any engine ---------------------------------------------- */

cf_status cf_inside_after_layers(cf_session *s, const cf_inside_ask *ask, float *out, cf_error *err)
{
    size_t n = s->engine->hp.n_embd, n_layer = s->engine->hp.n_layer;
    if (s->engine->plugin != NULL) {
        float *v = NULL;
        n *= n_layer;
        CF_TRY(cf_inside__see(s, ask, CF_PLUGIN_LAYERS, &v, &n, err));
        memcpy(out, v, n * sizeof *out);
        cf_free(v);
        return CF_OK;
    }
    if (cf_inside_width(s->engine) != n) {
        return cf_fail(err, CF_EUNSUPPORTED, "the model has several streams");
    }
    float *x = cf_calloc((n_layer + 1) * n, sizeof *x);
    cf_status st = x != NULL ? cf_inside__streams(s, ask, x, err) : cf_oom_for(err, "layers");
    if (st == CF_OK) {
        memcpy(out, x + n, n_layer * n * sizeof *out);
    }
    cf_free(x);
    return st;
}

/* ---- lens --------------------------------------------------------------- */

/* The logits of the streams x[n_layer + 1, width], some at a time. */
static cf_status read_streams(cf_engine *e, const float *x, float *logits, size_t n_at_once,
                              void (*layer)(void *ud, uint32_t l, const float *logits), void *ud,
                              const cf_inside_ask *ask, cf_error *err)
{
    size_t width = cf_inside_width(e);
    for (uint32_t l = 0; l <= e->hp.n_layer; l += (uint32_t)n_at_once) {
        size_t n = e->hp.n_layer + (size_t)1 - l;
        n = n < n_at_once ? n : n_at_once;
        if (ask->cancel != NULL && atomic_load_explicit(ask->cancel, memory_order_relaxed)) {
            return cf_fail(err, CF_ECANCELLED, "cancelled");
        }
        pthread_mutex_lock(&e->pass_lock);
        cf_forward_read(e, x + l * width, n, logits);
        pthread_mutex_unlock(&e->pass_lock);
        for (uint32_t i = 0; i < n; i++) {
            layer(ud, l + i, logits + (size_t)i * e->hp.n_vocab);
        }
    }
    return CF_OK;
}

static cf_status plugin_lens(cf_session *s, const cf_inside_ask *ask,
                             void (*layer)(void *ud, uint32_t l, const float *logits), void *ud,
                             cf_error *err)
{
    const cf_hparams *hp = &s->engine->hp;
    size_t n = (hp->n_layer + (size_t)1) * hp->n_vocab;
    float *v = NULL;
    CF_TRY(cf_inside__see(s, ask, CF_PLUGIN_LENS, &v, &n, err));
    for (uint32_t l = 0; l <= hp->n_layer; l++) {
        layer(ud, l, v + (size_t)l * hp->n_vocab);
    }
    cf_free(v);
    return CF_OK;
}

cf_status cf_inside_lens(cf_session *s, const cf_inside_ask *ask,
                         void (*layer)(void *ud, uint32_t l, const float *logits), void *ud,
                         cf_error *err)
{
    cf_engine *e = s->engine;
    size_t width = cf_inside_width(e);
    size_t n_all = e->hp.n_layer + (size_t)1;
    size_t n = cf_session__max_rows(e);
    n = n < n_all ? n : n_all;
    if (e->plugin != NULL) {
        return plugin_lens(s, ask, layer, ud, err);
    }
    float *x = cf_calloc(n_all * width, sizeof *x);
    float *logits = cf_calloc(n * e->hp.n_vocab, sizeof *logits);
    cf_status st = x != NULL && logits != NULL ? CF_OK : cf_oom_for(err, "a lens");
    CF_THEN(st, cf_inside__streams(s, ask, x, err));
    CF_THEN(st, read_streams(e, x, logits, n, layer, ud, ask, err));
    CF_THEN(st, cf_engine__check_files(e, err));
    cf_free(x);
    cf_free(logits);
    return st;
}
