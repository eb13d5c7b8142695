/*
 * changes.c - checks changes and makes a probe of them.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/inside/inside_impl.h"

/* ---- checks ------------------------------------------------------------- */

static cf_status check_range(const cf_position_range *r, size_t n, cf_error *err)
{
    return r->first <= r->end && r->end <= n
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "positions %u to %u are not a range of %zu", r->first,
                         r->end, n);
}

static cf_status check_layer(const cf_engine *e, uint32_t layer, cf_error *err)
{
    return layer < e->hp.n_layer ? CF_OK
                                 : cf_fail(err, CF_EINVAL, "layer %u of %u", layer, e->hp.n_layer);
}

/* Whether the layer has what is changed. */
static cf_status check_part(const cf_engine *e, const cf_inside_change *c, cf_error *err)
{
    const cf_layer_hparams *l = &e->hp.layer[c->layer];
    bool is_head = c->kind == CF_CHANGE_HEAD;
    if ((is_head || c->kind == CF_CHANGE_ATTENTION) && l->n_head == 0) {
        return cf_fail(err, CF_EINVAL, "layer %u has no attention", c->layer);
    }
    if (is_head && c->index >= l->n_head) {
        return cf_fail(err, CF_EINVAL, "head %u of %u", c->index, l->n_head);
    }
    if (c->kind == CF_CHANGE_RECURRENT && l->mixer == CF_MIX_ATTENTION) {
        return cf_fail(err, CF_EINVAL, "layer %u has no recurrent part", c->layer);
    }
    if (c->kind == CF_CHANGE_EXPERT && !l->has_experts) {
        return cf_fail(err, CF_EINVAL, "layer %u has no experts", c->layer);
    }
    if (c->kind == CF_CHANGE_EXPERT && c->index >= e->hp.expert.n) {
        return cf_fail(err, CF_EINVAL, "expert %u of %u", c->index, e->hp.expert.n);
    }
    return CF_OK;
}

static cf_status check_change(const cf_engine *e, const cf_inside_change *c, size_t n,
                              cf_error *err)
{
    CF_TRY(check_range(&c->at, n, err));
    CF_TRY(check_layer(e, c->layer, err));
    if (c->kind != CF_CHANGE_LOOK) {
        return check_part(e, c, err);
    }
    CF_TRY(check_layer(e, c->last_layer, err));
    if (c->layer > c->last_layer) {
        return cf_fail(err, CF_EINVAL, "layers %u to %u", c->layer, c->last_layer);
    }
    return c->from <= n ? CF_OK : cf_fail(err, CF_EINVAL, "position %u is outside %zu", c->from, n);
}

static cf_status check_stream(const cf_engine *e, uint32_t l, cf_error *err)
{
    return l <= e->hp.n_layer
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "stream %u: a model of %u layers has 0 to %u", l,
                         e->hp.n_layer, e->hp.n_layer);
}

cf_status cf_changes_check(const cf_engine *e, const cf_changes *c, size_t n, cf_error *err)
{
    if (c->n > CF_CHANGES_MAX || c->n_patch > CF_CTX_MAX || c->n_push > CF_CHANGES_MAX) {
        return cf_fail(err, CF_ELIMIT, "more than %d changes", CF_CHANGES_MAX);
    }
    for (size_t i = 0; i < c->n; i++) {
        CF_TRY(check_change(e, &c->v[i], n, err));
    }
    for (size_t i = 0; i < c->n_patch; i++) {
        CF_TRY(check_stream(e, c->patch[i].layer, err));
        if (c->patch[i].pos >= n) {
            return cf_fail(err, CF_EINVAL, "position %u of %zu", c->patch[i].pos, n);
        }
    }
    for (size_t i = 0; i < c->n_push; i++) {
        CF_TRY(check_stream(e, c->push[i].layer, err));
        CF_TRY(check_range(&c->push[i].at, n, err));
    }
    return CF_OK;
}

/* ---- where they begin --------------------------------------------------- */

static uint32_t first_of(const cf_inside_change *c)
{
    if (c->at.first == c->at.end) {
        return UINT32_MAX;
    }
    return c->kind == CF_CHANGE_LOOK && c->from > c->at.first ? c->from : c->at.first;
}

uint32_t cf_changes_first(const cf_changes *c)
{
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        uint32_t f = first_of(&c->v[i]);
        first = f < first ? f : first;
    }
    for (size_t i = 0; c != NULL && i < c->n_patch; i++) {
        first = c->patch[i].pos < first ? c->patch[i].pos : first;
    }
    for (size_t i = 0; c != NULL && i < c->n_push; i++) {
        const cf_position_range *at = &c->push[i].at;
        first = at->first < at->end && at->first < first ? at->first : first;
    }
    return first;
}

/* ---- the probe ---------------------------------------------------------- */

static bool holds(const cf_position_range *r, uint32_t pos)
{
    return pos >= r->first && pos < r->end;
}

static void on_stream(void *ud, uint32_t l, uint32_t pos, float *const *x, size_t n)
{
    const cf_changer *c = ud;
    size_t n_embd = c->engine->hp.n_embd;
    for (size_t i = 0; i < c->changes->n_patch; i++) {
        const cf_patch *p = &c->changes->patch[i];
        for (size_t j = 0; p->layer == l && p->pos == pos && j < n; j++) {
            memcpy(x[j], p->x + j * n_embd, n_embd * sizeof(float));
        }
    }
    for (size_t i = 0; i < c->changes->n_push; i++) {
        const cf_push *p = &c->changes->push[i];
        for (size_t j = 0; p->layer == l && holds(&p->at, pos) && j < n; j++) {
            for (size_t k = 0; k < n_embd; k++) {
                x[j][k] += p->scale * p->v[k];
            }
        }
    }
}

static bool is_about(cf_inside_change_kind change, cf_layer_part part)
{
    switch (change) {
    case CF_CHANGE_ATTENTION:
        return part == CF_LAYER_PART_ATTENTION;
    case CF_CHANGE_RECURRENT:
        return part == CF_LAYER_PART_RECURRENT;
    case CF_CHANGE_MLP:
        return part == CF_LAYER_PART_MLP;
    case CF_CHANGE_LAYER:
        return true;
    default:
        return false;
    }
}

static void on_part(void *ud, uint32_t layer, uint32_t pos, cf_layer_part kind, float *x)
{
    const cf_changer *c = ud;
    for (size_t i = 0; i < c->changes->n; i++) {
        const cf_inside_change *v = &c->changes->v[i];
        if (v->layer == layer && is_about(v->kind, kind) && holds(&v->at, pos)) {
            memset(x, 0, c->engine->hp.n_embd * sizeof *x);
        }
    }
}

static void on_heads(void *ud, uint32_t layer, uint32_t pos, float *out)
{
    const cf_changer *c = ud;
    size_t n = cf_hparams_head_out(&c->engine->hp, layer);
    for (size_t i = 0; i < c->changes->n; i++) {
        const cf_inside_change *v = &c->changes->v[i];
        if (v->layer == layer && v->kind == CF_CHANGE_HEAD && holds(&v->at, pos)) {
            memset(out + v->index * n, 0, n * sizeof *out);
        }
    }
}

static void on_expert(void *ud, uint32_t layer, uint32_t pos, uint32_t expert, float *weight,
                      const float *out)
{
    const cf_changer *c = ud;
    (void)out;
    for (size_t i = 0; i < c->changes->n; i++) {
        const cf_inside_change *v = &c->changes->v[i];
        if (v->layer == layer && v->kind == CF_CHANGE_EXPERT && v->index == expert &&
            holds(&v->at, pos)) {
            *weight = 0;
        }
    }
}

static const cf_attn_hide *on_hidden(void *ud, uint32_t layer, size_t *n)
{
    const cf_changer *c = ud;
    size_t first = layer == 0 ? 0 : c->hide_end[layer - 1];
    *n = c->hide_end[layer] - first;
    return *n != 0 ? c->hide + first : NULL;
}

static bool has_kind(const cf_changes *c, cf_inside_change_kind kind)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* The looks that each layer has. */
static cf_status make_hidden(cf_changer *c, cf_error *err)
{
    const cf_changes *all = c->changes;
    uint32_t n_layer = c->engine->hp.n_layer;
    size_t n = 0, at = 0;
    for (size_t i = 0; i < all->n; i++) {
        n += all->v[i].kind == CF_CHANGE_LOOK ? all->v[i].last_layer - all->v[i].layer + 1 : 0;
    }
    c->hide = cf_calloc(n, sizeof *c->hide);
    c->hide_end = cf_calloc(n_layer, sizeof *c->hide_end);
    if (c->hide == NULL || c->hide_end == NULL) {
        return cf_oom_for(err, "what is hidden");
    }
    for (uint32_t l = 0; l < n_layer; l++) {
        for (size_t i = 0; i < all->n; i++) {
            const cf_inside_change *v = &all->v[i];
            if (v->kind == CF_CHANGE_LOOK && l >= v->layer && l <= v->last_layer) {
                c->hide[at++] = (cf_attn_hide){v->at.first, v->at.end, v->from};
            }
        }
        c->hide_end[l] = at;
    }
    c->probe.hidden = on_hidden;
    return CF_OK;
}

cf_status cf_changer_init(cf_changer *out, const cf_engine *e, const cf_changes *c, cf_error *err)
{
    static const cf_changes none = {0};
    *out = (cf_changer){.engine = e, .changes = c != NULL ? c : &none};
    c = out->changes;
    out->probe.ud = out;
    out->probe.stream = c->n_patch + c->n_push != 0 ? on_stream : NULL;
    out->probe.heads = has_kind(c, CF_CHANGE_HEAD) ? on_heads : NULL;
    out->probe.expert = has_kind(c, CF_CHANGE_EXPERT) ? on_expert : NULL;
    out->probe.part = has_kind(c, CF_CHANGE_ATTENTION) || has_kind(c, CF_CHANGE_RECURRENT) ||
                              has_kind(c, CF_CHANGE_MLP) || has_kind(c, CF_CHANGE_LAYER)
                          ? on_part
                          : NULL;
    cf_status st = has_kind(c, CF_CHANGE_LOOK) ? make_hidden(out, err) : CF_OK;
    if (st != CF_OK) {
        cf_changer_deinit(out);
    }
    return st;
}

void cf_changer_deinit(cf_changer *c)
{
    cf_free(c->hide);
    cf_free(c->hide_end);
}
