/*
 * gen.c - lazy iterators.
 */
#include "templates/language/gen.h"

#include "templates/language/cause.h"

cf_tgen *cf_t__gen_new(cf_tr *r, cf_tgen_kind kind, cf_tv src)
{
    cf_tgen *g = cf_t__alloc(r, sizeof *g);
    if (g != NULL) {
        *g = (cf_tgen){.kind = kind, .src = src};
        g->fill = cf_tv_make(CF_TMISSING);
        g->attr = cf_tv_make(CF_TMISSING);
        g->name = cf_tv_make(CF_TMISSING);
    }
    return g;
}

static cf_tv with_item(cf_tr *r, cf_tgen *g, cf_tv item, bool is_filter)
{
    cf_tv few[8], *v = few;
    if (g->args.n + 1 > 8) {
        v = cf_t__alloc(r, (g->args.n + 1) * sizeof *v);
        if (v == NULL) {
            return CF_TV_ERR;
        }
    }
    v[0] = item;
    if (g->args.n != 0) {
        memcpy(v + 1, g->args.v, g->args.n * sizeof *v);
    }
    cf_targs args = {v, g->args.n + 1, g->args.kw, g->args.n_kw};
    return is_filter ? cf_t__filter_by_name(r, g->name, &args)
                     : cf_t__test_by_name(r, g->name, &args);
}

static cf_tv get_path(cf_tr *r, const cf_tgen *g, cf_tv item)
{
    return cf_t__path(r, item, g->attr, g->fill);
}

static int next_selected(cf_tr *r, cf_tgen *g, cf_tv *out)
{
    for (;;) {
        int got = cf_t__iter_next(r, &g->it, out);
        if (got <= 0) {
            return got;
        }
        cf_tv v = *out;
        if (g->has_attr) {
            v = get_path(r, g, v);
        }
        if (v.k != CF_TERR && g->name.k != CF_TMISSING) {
            v = with_item(r, g, v, false);
        }
        if (v.k == CF_TERR) {
            return -1;
        }
        if (cf_t__truth(v) != g->is_reject) {
            return 1;
        }
    }
}

static int next_unique(cf_tr *r, cf_tgen *g, cf_tv *out)
{
    if (g->seen == NULL) {
        g->seen = cf_t__dict_new(r, 8);
        if (g->seen == NULL) {
            return -1;
        }
    }
    for (;;) {
        int got = cf_t__iter_next(r, &g->it, out);
        if (got <= 0) {
            return got;
        }
        cf_tv key = g->has_attr ? get_path(r, g, *out) : *out;
        if (key.k == CF_TSTR && !g->case_sensitive) {
            key = cf_t__map_str(r, key.u.s, CF_CASE_LOWER);
        }
        uint32_t hash;
        if (key.k == CF_TERR || !cf_t__hash(r, key, &hash)) {
            return -1;
        }
        if (cf_t__dict_find(r, g->seen, key, hash) == NULL) {
            return cf_t__dict_set(r, g->seen, key, CF_TV_NONE) ? 1 : -1;
        }
    }
}

static int next_batch(cf_tr *r, cf_tgen *g, cf_tv *out)
{
    cf_tlist *l = cf_t__list_new(r, 4);
    if (l == NULL) {
        return -1;
    }
    if (g->attr.k != CF_TMISSING) {
        cf_tv first = g->attr;
        g->attr = cf_tv_make(CF_TMISSING);
        if (!cf_t__list_add(r, l, first)) {
            return -1;
        }
    }
    while (l->n == 0 || l->n != g->n) {
        cf_tv v;
        int got = cf_t__iter_next(r, &g->it, &v);
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        if (g->n == 0 && g->i == 0) { /* as in Python's loop */
            g->i = 1;
            g->attr = v;
            *out = cf_tv_list(l);
            return 1;
        }
        if (!cf_t__list_add(r, l, v)) {
            return -1;
        }
    }
    if (l->n == 0) {
        return 0;
    }
    while (g->fill.k != CF_TNONE && l->n < g->n) {
        if (!cf_t__list_add(r, l, g->fill) || !cf_t__spend(r, 1)) {
            return -1;
        }
    }
    *out = cf_tv_list(l);
    return 1;
}

static int next_slice(cf_tr *r, cf_tgen *g, cf_tv *out)
{
    if (g->i >= g->n) {
        return 0;
    }
    uint32_t per = g->l->n / g->n, extra = g->l->n % g->n;
    uint32_t before = g->i < extra ? g->i : extra;
    uint32_t from = before + g->i * per, n = per + (g->i < extra);
    cf_tlist *l = cf_t__list_new(r, n + 1);
    if (l == NULL || !cf_t__spend(r, n)) {
        return -1;
    }
    if (n != 0) {
        memcpy(l->v, g->l->v + from, n * sizeof *l->v);
    }
    l->n = n;
    if (g->fill.k != CF_TNONE && g->i >= extra) {
        l->v[l->n++] = g->fill;
    }
    g->i++;
    *out = cf_tv_list(l);
    return 1;
}

static int next_loop_test(cf_tr *r, cf_tgen *g, cf_tv *out)
{
    for (;;) {
        int got = cf_t__iter_next(r, &g->it, out);
        if (got <= 0) {
            return got;
        }
        cf_tact *was = r->act;
        r->act = g->act;
        bool ok = cf_t__assign(r, g->loop->list[0], *out);
        cf_tv v = ok ? cf_t__eval(r, g->loop->c) : CF_TV_ERR;
        r->act = was;
        if (v.k == CF_TERR) {
            return -1;
        }
        uint32_t before = cf_t__cause_now(r);
        bool is_true = cf_t__truth(v);
        cf_t__cause_leave(r, g->outer); /* loop.last looks ahead */
        cf_t__cause_round(r, CF_CAUSE_FILTER, g->loop->c, is_true, ++g->i, *out);
        g->cause = cf_t__cause_now(r);
        cf_t__cause_leave(r, before);
        if (is_true) {
            return 1;
        }
    }
}

static bool start(cf_tr *r, cf_tgen *g)
{
    g->is_started = true;
    switch (g->kind) {
    case CF_GEN_MAP:
    case CF_GEN_MAP_ATTR:
    case CF_GEN_SELECT:
        if (!cf_t__truth(g->src)) {
            g->is_done = true;
            return true;
        }
        return cf_t__iter_init(r, &g->it, g->src);
    case CF_GEN_ITER:
    case CF_GEN_UNIQUE:
    case CF_GEN_BATCH:
        return cf_t__iter_init(r, &g->it, g->src);
    case CF_GEN_ITEMS:
        if (g->src.k == CF_TUNDEF) {
            g->is_done = true;
            return true;
        }
        if (g->src.k != CF_TDICT) {
            cf_t__fail(r, "Can only get item pairs from a mapping.");
            return false;
        }
        return true;
    case CF_GEN_SLICE:
        g->l = cf_t__to_list(r, g->src);
        if (g->l != NULL && g->n == 0) {
            cf_t__fail(r, "integer division or modulo by zero");
            return false;
        }
        return g->l != NULL;
    default:
        return true;
    }
}

static int next(cf_tr *r, cf_tgen *g, cf_tv *out)
{
    switch (g->kind) {
    case CF_GEN_ITER:
        return cf_t__iter_next(r, &g->it, out);
    case CF_GEN_REVERSED:
        if (g->i >= g->l->n) {
            return 0;
        }
        *out = g->l->v[g->l->n - 1 - g->i++];
        return 1;
    case CF_GEN_ITEMS: {
        const cf_tdict *d = g->src.u.d;
        if (g->i >= d->n) {
            return 0;
        }
        *out = cf_t__pair(r, d->e[g->i].key, d->e[g->i].val);
        g->i++;
        return out->k == CF_TERR ? -1 : 1;
    }
    case CF_GEN_MAP:
    case CF_GEN_MAP_ATTR: {
        int got = cf_t__iter_next(r, &g->it, out);
        if (got <= 0) {
            return got;
        }
        *out = g->kind == CF_GEN_MAP ? with_item(r, g, *out, true) : get_path(r, g, *out);
        return out->k == CF_TERR ? -1 : 1;
    }
    case CF_GEN_SELECT:
        return next_selected(r, g, out);
    case CF_GEN_UNIQUE:
        return next_unique(r, g, out);
    case CF_GEN_BATCH:
        return next_batch(r, g, out);
    case CF_GEN_SLICE:
        return next_slice(r, g, out);
    case CF_GEN_LOOP_TEST:
        return next_loop_test(r, g, out);
    }
    return 0;
}

int cf_t__gen_next(cf_tr *r, cf_tgen *g, cf_tv *out)
{
    if (g->is_done || (!g->is_started && !start(r, g))) {
        return g->is_done ? 0 : -1;
    }
    if (g->is_done) {
        return 0;
    }
    if (!cf_t__enter(r)) {
        return -1;
    }
    int got = next(r, g, out);
    cf_t__leave(r);
    g->is_done = got <= 0;
    return got;
}
