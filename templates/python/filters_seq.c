/*
 * filters_seq.c - the filters on lists, dicts and other sequences.
 */
#include "templates/python/filters.h"

#include "templates/language/ast.h"
#include "templates/language/number.h"
#include "templates/python/methods.h"

static bool is_given(cf_tv v)
{
    return v.k != CF_TMISSING && v.k != CF_TNONE;
}

static cf_tv fold(cf_tr *r, cf_tv v, bool case_sensitive)
{
    return v.k == CF_TSTR && !case_sensitive ? cf_t__map_str(r, v.u.s, CF_CASE_LOWER) : v;
}

static cf_tv f_length(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("length", "obj", 1, 1)
    int64_t n = cf_t__len(a[0]);
    if (n < 0 && a[0].k == CF_TLOOP) {
        return cf_t__getattr(r, a[0], cf_t__str_cstr(r, "length"));
    }
    return n >= 0 ? cf_tv_int(n)
                  : cf_t__fail(r, "object of type '%s' has no len()", cf_t__type_name(a[0]));
}

static cf_tv f_list(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("list", "value", 1, 1)
    cf_tlist *l = cf_t__to_list(r, a[0]);
    return l == NULL ? CF_TV_ERR : (cf_tv){.k = CF_TLIST, .org = a[0].org, .u.l = l};
}

static cf_tv f_first(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("first", "seq", 1, 1)
    cf_titer it;
    cf_tv v;
    if (!cf_t__iter_init(r, &it, a[0])) {
        return CF_TV_ERR;
    }
    int got = cf_t__iter_next(r, &it, &v);
    return got < 0   ? CF_TV_ERR
           : got > 0 ? v
                     : cf_t__undef_hint(r, "No first item, sequence was empty.");
}

static bool can_reverse(cf_tv v)
{
    return v.k == CF_TLIST || v.k == CF_TTUPLE || v.k == CF_TSTR || v.k == CF_TDICT ||
           v.k == CF_TVIEW || v.k == CF_TRANGE || v.k == CF_TBYTES || v.k == CF_TUNDEF;
}

static cf_tv f_last(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("last", "seq", 1, 1)
    if (!can_reverse(a[0])) {
        return a[0].k == CF_TUNDEF
                   ? cf_t__fail_undef(r, a[0])
                   : cf_t__fail(r, "'%s' object is not reversible", cf_t__type_name(a[0]));
    }
    if (a[0].k == CF_TLIST && a[0].u.l->n != 0) {
        return a[0].u.l->v[a[0].u.l->n - 1];
    }
    cf_tlist *l = cf_t__to_list(r, a[0]);
    if (l == NULL) {
        return CF_TV_ERR;
    }
    return l->n != 0 ? l->v[l->n - 1] : cf_t__undef_hint(r, "No last item, sequence was empty.");
}

static cf_tv f_random(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("random", "seq", 1, 1)
    int64_t n = cf_t__len(a[0]);
    if (n < 0) {
        return cf_t__fail(r, "object of type '%s' has no len()", cf_t__type_name(a[0]));
    }
    if (n == 0) {
        return cf_t__undef_hint(r, "No random item, sequence was empty.");
    }
    r->rng += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = (r->rng ^ r->rng >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return cf_t__getitem(r, a[0], cf_tv_int((int64_t)((z >> 1) % (uint64_t)n)));
}

static cf_tv f_reverse(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("reverse", "value", 1, 1)
    if (a[0].k == CF_TSTR) {
        return cf_t__slice(r, a[0], CF_TV_NONE, CF_TV_NONE, cf_tv_int(-1));
    }
    if (!cf_t__can_iterate(a[0])) {
        return cf_t__fail(r, "argument must be iterable");
    }
    cf_tlist *l = cf_t__to_list(r, a[0]);
    cf_tgen *g = l != NULL ? cf_t__gen_new(r, CF_GEN_REVERSED, a[0]) : NULL;
    if (g == NULL) {
        return CF_TV_ERR;
    }
    g->l = l;
    if (can_reverse(a[0])) {
        return cf_tv_gen(g);
    }
    l = cf_t__to_list(r, cf_tv_gen(g)); /* an exhausted iterator, replaced by a list */
    return l != NULL ? cf_tv_list(l) : CF_TV_ERR;
}

static cf_tv f_join(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("join", "value d attribute", 1, 3)
    cf_tv items = a[0];
    cf_tv sep = a[1].k != CF_TMISSING ? cf_t__soft_str(r, a[1]) : cf_t__str_cstr(r, "");
    CF_TVTRY(sep);
    if (is_given(a[2])) {
        cf_tgen *g = cf_t__gen_new(r, CF_GEN_MAP_ATTR, items);
        if (g == NULL || !cf_t__iter_init(r, &g->it, items)) {
            return CF_TV_ERR;
        }
        g->is_started = true;
        g->attr = a[2];
        items = cf_tv_gen(g);
    }
    if (!r->autoescape) {
        /* str(d).join(map(str, value)): the result is a plain string unless
         * the separator is Markup. */
        cf_tv plain = cf_t__to_str(r, sep);
        return plain.k == CF_TERR ? plain : cf_t__join(r, plain.u.s, items, true);
    }
    cf_tlist *l = cf_t__to_list(r, items);
    if (l == NULL) {
        return CF_TV_ERR;
    }
    bool any = sep.u.s->is_markup;
    for (uint32_t i = 0; i < l->n; i++) {
        any = any || (l->v[i].k == CF_TSTR && l->v[i].u.s->is_markup);
    }
    if (any) {
        sep = cf_t__escape(r, sep);
        CF_TVTRY(sep);
    }
    return cf_t__join(r, sep.u.s, cf_tv_list(l), true);
}

static cf_tv f_items(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("items", "value", 1, 1)
    return cf_tv_gen(cf_t__gen_new(r, CF_GEN_ITEMS, a[0]));
}

/* ---- map, select -------------------------------------------------------- */

/* The arguments after the first `skip`, kept for later. */
static bool keep_args(cf_tr *r, cf_tgen *g, const cf_targs *args, uint32_t skip)
{
    uint32_t n = args->n > skip ? args->n - skip : 0;
    g->args.v = cf_t__alloc(r, (n + 1) * sizeof *g->args.v);
    g->args.kw = cf_t__alloc(r, (args->n_kw + 1) * sizeof *g->args.kw);
    if (g->args.v == NULL || g->args.kw == NULL) {
        return false;
    }
    if (n != 0) {
        memcpy(g->args.v, args->v + skip, n * sizeof *g->args.v);
    }
    if (args->n_kw != 0) {
        memcpy(g->args.kw, args->kw, args->n_kw * sizeof *g->args.kw);
    }
    g->args.n = n;
    g->args.n_kw = args->n_kw;
    return true;
}

static cf_tv f_map(cf_tr *r, const cf_targs *args)
{
    cf_tgen *g = cf_t__gen_new(r, CF_GEN_MAP, args->v[0]);
    if (g == NULL) {
        return CF_TV_ERR;
    }
    if (args->n > 1) {
        g->name = args->v[1];
        return keep_args(r, g, args, 2) ? cf_tv_gen(g) : CF_TV_ERR;
    }
    CF_TBIND("map", "value attribute default", 1, 3)
    if (a[1].k == CF_TMISSING) {
        return cf_t__fail(r, "map requires a filter argument");
    }
    g->kind = CF_GEN_MAP_ATTR;
    g->attr = a[1];
    g->fill = a[2];
    return cf_tv_gen(g);
}

static cf_tv select_by(cf_tr *r, const cf_targs *args, bool reject, bool attr)
{
    cf_tgen *g = cf_t__gen_new(r, CF_GEN_SELECT, args->v[0]);
    uint32_t skip = attr ? 2 : 1;
    if (g == NULL) {
        return CF_TV_ERR;
    }
    if (attr && args->n < 2) {
        if (!cf_t__truth(args->v[0])) {
            return cf_tv_gen(g);
        }
        return cf_t__fail(r, "Missing parameter for attribute name");
    }
    g->is_reject = reject;
    g->has_attr = attr;
    if (attr) {
        g->attr = args->v[1];
    }
    if (args->n > skip) {
        g->name = args->v[skip];
        if (!keep_args(r, g, args, skip + 1)) {
            return CF_TV_ERR;
        }
    }
    return cf_tv_gen(g);
}

static cf_tv f_select(cf_tr *r, const cf_targs *args)
{
    return select_by(r, args, false, false);
}

static cf_tv f_reject(cf_tr *r, const cf_targs *args)
{
    return select_by(r, args, true, false);
}

static cf_tv f_selectattr(cf_tr *r, const cf_targs *args)
{
    return select_by(r, args, false, true);
}

static cf_tv f_rejectattr(cf_tr *r, const cf_targs *args)
{
    return select_by(r, args, true, true);
}

static cf_tv f_attr(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("attr", "obj name", 2, 2)
    if (a[1].k != CF_TSTR) {
        return cf_t__fail(r, "attribute name must be string, not '%s'", cf_t__type_name(a[1]));
    }
    cf_tv name = a[1];
    if (a[0].k == CF_TUNDEF) {
        return cf_t__getattr(r, a[0], name);
    }
    cf_tv v = cf_t__attribute(r, a[0], name.u.s);
    CF_TVTRY(v);
    /* getattr() falls back to the item, so ask for the attribute first. */
    return v.k == CF_TMISSING ? cf_t__undef_attr(r, a[0], name) : cf_t__getattr(r, a[0], name);
}

/* ---- order -------------------------------------------------------------- */

/* The key to sort or group an item by: the value at `path`, folded. */
static cf_tv sort_key(cf_tr *r, cf_tv item, cf_tv path, bool case_sensitive)
{
    cf_tv v = is_given(path) ? cf_t__path(r, item, path, cf_tv_make(CF_TMISSING)) : item;
    return v.k == CF_TERR ? v : fold(r, v, case_sensitive);
}

/* Keys for "a,b": a list of the values at each path. */
static cf_tv multi_key(cf_tr *r, cf_tv item, cf_tv path, bool case_sensitive)
{
    cf_tlist *l = cf_t__list_new(r, 2);
    if (l == NULL) {
        return CF_TV_ERR;
    }
    if (path.k != CF_TSTR) {
        cf_tv v = sort_key(r, item, path, case_sensitive);
        return v.k != CF_TERR && cf_t__list_add(r, l, v) ? cf_tv_list(l) : CF_TV_ERR;
    }
    for (uint32_t at = 0; at <= path.u.s->n;) {
        uint32_t end = cf_t__find(cf_tv_text(path), cf_str_from(","), at);
        end = end == UINT32_MAX ? path.u.s->n : end;
        cf_tv part = cf_t__str_sub(r, path.u.s, at, end);
        CF_TVTRY(part);
        cf_tv v = sort_key(r, item, part, case_sensitive);
        if (v.k == CF_TERR || !cf_t__list_add(r, l, v)) {
            return CF_TV_ERR;
        }
        at = end + 1;
    }
    return cf_tv_list(l);
}

/* Python's sorted() wants an integer there, not just any truth. */
static bool reverse_arg(cf_tr *r, cf_tv v, bool *out)
{
    int64_t i = 0;
    bool ok = v.k == CF_TMISSING || cf_t__arg_int(r, v, &i);
    *out = i != 0;
    return ok;
}

static cf_tv f_sort(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("sort", "value reverse case_sensitive attribute", 1, 4)
    bool reverse;
    cf_tlist *l = cf_t__to_list(r, a[0]);
    cf_tlist *keys = l != NULL ? cf_t__list_new(r, l->n) : NULL;
    if (keys == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        cf_tv k = multi_key(r, l->v[i], a[3], cf_t__truth(a[2]));
        CF_TVTRY(k);
        keys->v[keys->n++] = k;
    }
    return reverse_arg(r, a[1], &reverse) && cf_t__sort(r, l, keys, reverse) ? cf_tv_list(l)
                                                                             : CF_TV_ERR;
}

static cf_tv f_dictsort(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("dictsort", "value case_sensitive by reverse", 1, 4)
    bool by_value = false, reverse;
    if (a[2].k != CF_TMISSING) {
        by_value = a[2].k == CF_TSTR && cf_str_is(cf_tv_text(a[2]), "value");
        if (!by_value && !(a[2].k == CF_TSTR && cf_str_is(cf_tv_text(a[2]), "key"))) {
            return cf_t__fail(r, "You can only sort by either \"key\" or \"value\"");
        }
    }
    if (a[0].k != CF_TDICT) {
        return a[0].k == CF_TUNDEF
                   ? cf_t__fail_undef(r, a[0])
                   : cf_t__fail(r, "'%s' object has no attribute 'items'", cf_t__type_name(a[0]));
    }
    const cf_tdict *d = a[0].u.d;
    cf_tlist *l = cf_t__list_new(r, d->n), *keys = cf_t__list_new(r, d->n);
    if (l == NULL || keys == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        cf_tv pair = cf_t__pair(r, d->e[i].key, d->e[i].val);
        cf_tv k = fold(r, by_value ? d->e[i].val : d->e[i].key, cf_t__truth(a[1]));
        if (pair.k == CF_TERR || k.k == CF_TERR) {
            return CF_TV_ERR;
        }
        l->v[l->n++] = pair;
        keys->v[keys->n++] = k;
    }
    return reverse_arg(r, a[3], &reverse) && cf_t__sort(r, l, keys, reverse) ? cf_tv_list(l)
                                                                             : CF_TV_ERR;
}

static cf_tv extreme(cf_tr *r, const cf_targs *args, bool want_max)
{
    CF_TBIND(want_max ? "max" : "min", "value case_sensitive attribute", 1, 3)
    cf_titer it;
    cf_tv v, best = cf_tv_make(CF_TMISSING), best_key = best;
    int got, c;
    if (!cf_t__iter_init(r, &it, a[0])) {
        return CF_TV_ERR;
    }
    while ((got = cf_t__iter_next(r, &it, &v)) > 0) {
        cf_tv k = sort_key(r, v, a[2], cf_t__truth(a[1]));
        CF_TVTRY(k);
        if (best.k != CF_TMISSING) {
            if (!cf_t__compare(r, k, best_key, want_max ? ">" : "<", &c)) {
                return CF_TV_ERR;
            }
            if (c != (want_max ? 1 : -1)) {
                continue;
            }
        }
        best = v;
        best_key = k;
    }
    return got < 0                 ? CF_TV_ERR
           : best.k != CF_TMISSING ? best
                                   : cf_t__undef_hint(r, "No aggregated item, sequence was empty.");
}

static cf_tv f_min(cf_tr *r, const cf_targs *args)
{
    return extreme(r, args, false);
}

static cf_tv f_max(cf_tr *r, const cf_targs *args)
{
    return extreme(r, args, true);
}

static cf_tv f_unique(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("unique", "value case_sensitive attribute", 1, 3)
    cf_tgen *g = cf_t__gen_new(r, CF_GEN_UNIQUE, a[0]);
    if (g != NULL) {
        g->case_sensitive = cf_t__truth(a[1]);
        g->has_attr = is_given(a[2]);
        g->attr = a[2];
    }
    return cf_tv_gen(g);
}

static cf_tv group_key(cf_tr *r, cf_tv item, const cf_tv *a, bool folded)
{
    cf_tv v = cf_t__path(r, item, a[1], a[2]);
    return v.k == CF_TERR || !folded ? v : fold(r, v, cf_t__truth(a[3]));
}

static cf_tv f_groupby(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("groupby", "value attribute default case_sensitive", 2, 4)
    cf_tlist *l = cf_t__to_list(r, a[0]);
    cf_tlist *keys = l != NULL ? cf_t__list_new(r, l->n) : NULL;
    cf_tlist *out = cf_t__list_new(r, 4);
    if (keys == NULL || out == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        cf_tv k = group_key(r, l->v[i], a, true);
        CF_TVTRY(k);
        keys->v[keys->n++] = k;
    }
    if (!cf_t__sort(r, l, keys, false)) {
        return CF_TV_ERR;
    }
    cf_tv last = cf_tv_make(CF_TMISSING);
    cf_tlist *group = NULL;
    for (uint32_t i = 0; i < l->n; i++) {
        cf_tv k = group_key(r, l->v[i], a, true);
        CF_TVTRY(k);
        int same = group != NULL ? cf_t__eq(r, k, last) : 0;
        if (same < 0) {
            return CF_TV_ERR;
        }
        if (!same) {
            group = cf_t__list_new(r, 4);
            cf_tv name = group_key(r, l->v[i], a, false);
            if (group == NULL || name.k == CF_TERR) {
                return CF_TV_ERR;
            }
            cf_tv pair = cf_t__pair(r, name, cf_tv_list(group));
            pair.sub = 1; /* a tuple with the fields grouper and list */
            if (pair.k == CF_TERR || !cf_t__list_add(r, out, pair)) {
                return CF_TV_ERR;
            }
            last = k;
        }
        if (!cf_t__list_add(r, group, l->v[i])) {
            return CF_TV_ERR;
        }
    }
    return cf_tv_list(out);
}

static cf_tv f_sum(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("sum", "iterable attribute start", 1, 3)
    cf_tv sum = a[2].k == CF_TMISSING ? cf_tv_int(0) : a[2], v;
    cf_titer it;
    int got;
    if (sum.k == CF_TSTR) {
        return cf_t__fail(r, "sum() can't sum strings [use ''.join(seq) "
                             "instead]");
    }
    if (!cf_t__iter_init(r, &it, a[0])) {
        return CF_TV_ERR;
    }
    while ((got = cf_t__iter_next(r, &it, &v)) > 0) {
        if (is_given(a[1])) {
            v = cf_t__path(r, v, a[1], cf_tv_make(CF_TMISSING));
            CF_TVTRY(v);
        }
        sum = cf_t__binary(r, CF_OP_ADD, sum, v);
        CF_TVTRY(sum);
    }
    return got < 0 ? CF_TV_ERR : sum;
}

/* ---- pieces ------------------------------------------------------------- */

static cf_tv f_batch(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("batch", "value linecount fill_with", 2, 3)
    int64_t n;
    if (!cf_t__arg_int(r, a[1], &n)) {
        return CF_TV_ERR;
    }
    cf_tgen *g = cf_t__gen_new(r, CF_GEN_BATCH, a[0]);
    if (g != NULL) {
        g->n = n < 0 || n > UINT32_MAX / 64 ? UINT32_MAX / 64 : (uint32_t)n;
        g->fill = a[2].k == CF_TMISSING || n < 0 ? CF_TV_NONE : a[2];
    }
    return cf_tv_gen(g);
}

static cf_tv f_slice(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("slice", "value slices fill_with", 2, 3)
    int64_t n;
    if (!cf_t__arg_int(r, a[1], &n)) {
        return CF_TV_ERR;
    }
    cf_tgen *g = cf_t__gen_new(r, CF_GEN_SLICE, a[0]);
    if (g == NULL) {
        return CF_TV_ERR;
    }
    if (n < 0) {
        g->is_done = true;
        n = 1;
    }
    g->n = n > UINT32_MAX / 64 ? UINT32_MAX / 64 : (uint32_t)n;
    g->fill = a[2].k == CF_TMISSING ? CF_TV_NONE : a[2];
    return cf_tv_gen(g);
}

const cf_tfn_entry cf_t__seq_filters[] = {
    {"length", f_length},
    {"count", f_length},
    {"join", f_join},
    {"list", f_list},
    {"map", f_map},
    {"select", f_select},
    {"selectattr", f_selectattr},
    {"reject", f_reject},
    {"rejectattr", f_rejectattr},
    {"items", f_items},
    {"dictsort", f_dictsort},
    {"first", f_first},
    {"last", f_last},
    {"attr", f_attr},
    {"batch", f_batch},
    {"groupby", f_groupby},
    {"max", f_max},
    {"min", f_min},
    {"pprint", cf_t__filter_pprint},
    {"random", f_random},
    {"reverse", f_reverse},
    {"slice", f_slice},
    {"sort", f_sort},
    {"sum", f_sum},
    {"unique", f_unique},
    {NULL, NULL},
};
