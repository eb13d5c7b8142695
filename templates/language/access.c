/*
 * access.c - obj.name, obj[key] and slices, with the sandbox's rules: names
 * with a leading underscore and methods that change lists and dicts are
 * found, but touching them fails.
 */
#include "templates/language/ast.h"
#include "templates/language/number.h"

/* ---- attributes and items ----------------------------------------------- */

static cf_tv namespace_get(cf_tr *r, const cf_tdict *d, const cf_tstr *name)
{
    const cf_tentry *e = cf_t__dict_find_str(r, d, name);
    return e != NULL ? e->val : cf_tv_make(CF_TMISSING);
}

static cf_tv method_value(cf_tr *r, cf_tv self, int id)
{
    cf_tmethod *m = cf_t__alloc(r, sizeof *m);
    if (m == NULL) {
        return CF_TV_ERR;
    }
    *m = (cf_tmethod){self, id};
    return (cf_tv){.k = CF_TMETHOD, .u.method = m};
}

static cf_tv cycler_attr(cf_tr *r, cf_tv obj, cf_str name)
{
    const cf_tcycler *c = obj.u.cycler;
    if (obj.k == CF_TJOINER) {
        if (cf_str_is(name, "sep")) {
            return c->items->v[0];
        }
        return cf_str_is(name, "used") ? cf_tv_bool(c->is_used) : cf_tv_make(CF_TMISSING);
    }
    if (cf_str_is(name, "current")) {
        return c->items->v[c->pos];
    }
    if (cf_str_is(name, "pos")) {
        return cf_tv_int(c->pos);
    }
    if (cf_str_is(name, "items")) {
        return cf_tv_tuple(c->items);
    }
    if (cf_str_is(name, "next") || cf_str_is(name, "reset")) {
        return method_value(r, obj, name.p[0] == 'n' ? 0 : 1);
    }
    return cf_tv_make(CF_TMISSING);
}

static cf_tv macro_attr(cf_tr *r, const cf_tmacro *m, cf_str name)
{
    const cf_tnode *n = m->node;
    if (cf_str_is(name, "name")) {
        return n->kind == CF_N_MACRO ? n->val : CF_TV_NONE;
    }
    if (cf_str_is(name, "arguments")) {
        cf_tlist *l = cf_t__list_new(r, n->n);
        for (uint32_t i = 0; l != NULL && i < n->n; i++) {
            l->v[l->n++] = n->list[i]->val;
        }
        return l != NULL ? cf_tv_tuple(l) : CF_TV_ERR;
    }
    if (cf_str_is(name, "catch_kwargs")) {
        return cf_tv_bool(n->func->takes_kwargs);
    }
    if (cf_str_is(name, "catch_varargs")) {
        return cf_tv_bool(n->func->takes_varargs);
    }
    return cf_str_is(name, "caller") ? cf_tv_bool(n->func->takes_caller) : cf_tv_make(CF_TMISSING);
}

static cf_tv number_attr(cf_tv obj, cf_str name)
{
    if (cf_str_is(name, "real")) {
        return obj.k == CF_TBOOL ? cf_tv_int(obj.u.b) : obj;
    }
    if (cf_str_is(name, "imag")) {
        return obj.k == CF_TFLOAT ? cf_tv_float(0) : cf_tv_int(0);
    }
    if (obj.k != CF_TFLOAT && cf_str_is(name, "numerator")) {
        return obj.k == CF_TBOOL ? cf_tv_int(obj.u.b) : obj;
    }
    return obj.k != CF_TFLOAT && cf_str_is(name, "denominator") ? cf_tv_int(1)
                                                                : cf_tv_make(CF_TMISSING);
}

static bool is_dunder(const cf_tstr *name)
{
    static const char *const all[] = {
        "__class__",        "__doc__",           "__init__",   "__dict__",   "__eq__",
        "__ne__",           "__hash__",          "__str__",    "__repr__",   "__dir__",
        "__new__",          "__format__",        "__reduce__", "__sizeof__", "__getattribute__",
        "__subclasshook__", "__init_subclass__", NULL};
    cf_str s = cf_str_make(name->p, name->n);
    for (size_t i = 0; s.n > 4 && s.p[0] == '_' && all[i] != NULL; i++) {
        if (cf_str_is(s, all[i])) {
            return true;
        }
    }
    return false;
}

/* The attribute, by a method number found before (or -1). */
static cf_tv attribute(cf_tr *r, cf_tv obj, const cf_tstr *name, int id)
{
    cf_str text = cf_str_make(name->p, name->n);
    switch (obj.k) {
    case CF_TNAMESPACE:
        return namespace_get(r, obj.u.d, name);
    case CF_TLOOP:
        return cf_t__loop_attr(r, obj.u.loop, text);
    case CF_TMACRO:
        return macro_attr(r, obj.u.macro, text);
    case CF_TCYCLER:
    case CF_TJOINER:
        return cycler_attr(r, obj, text);
    case CF_TTUPLE:
        if (obj.sub == 1 && cf_str_is(text, "grouper")) {
            return obj.u.l->v[0];
        }
        if (obj.sub == 1 && cf_str_is(text, "list")) {
            return obj.u.l->v[1];
        }
        break;
    case CF_TBOOL:
    case CF_TINT:
    case CF_TBIG:
    case CF_TFLOAT: {
        cf_tv v = number_attr(obj, text);
        if (v.k != CF_TMISSING) {
            return v;
        }
        break;
    }
    case CF_TRANGE:
        if (cf_str_is(text, "start")) {
            return cf_tv_int(obj.u.range->start);
        }
        if (cf_str_is(text, "stop")) {
            return cf_tv_int(obj.u.range->stop);
        }
        if (cf_str_is(text, "step")) {
            return cf_tv_int(obj.u.range->step);
        }
        break;
    default:
        break;
    }
    if (id >= 0 && cf_t__method_has(obj, id)) {
        return method_value(r, obj, id);
    }
    return cf_tv_make(CF_TMISSING);
}

cf_tv cf_t__attribute(cf_tr *r, cf_tv obj, const cf_tstr *name)
{
    return attribute(r, obj, name, cf_t__method_find(cf_str_make(name->p, name->n)));
}

static cf_tv unsafe(cf_tr *r, cf_tv obj, cf_tv name)
{
    cf_tv v = cf_t__undef_attr(r, obj, name);
    if (v.k == CF_TUNDEF) {
        v.u.undef->is_unsafe = true;
    }
    return v;
}

/* Returns an attribute unless the sandbox forbids it. */
static cf_tv checked(cf_tr *r, cf_tv obj, cf_tv name, cf_tv v)
{
    if (name.u.s->n != 0 && name.u.s->p[0] == '_') {
        return unsafe(r, obj, name);
    }
    if (v.k == CF_TMETHOD && (obj.k == CF_TLIST || obj.k == CF_TDICT) &&
        ((!r->allow_mutation && cf_t__method_is_unsafe(obj, v.u.method->id)) ||
         (r->vars == r->ctx->vars && cf_t__method_mutates(v.u.method->id)))) {
        return unsafe(r, obj, name);
    }
    return v;
}

/* obj[key]; CF_TMISSING where Python raises TypeError or LookupError. */
static cf_tv item(cf_tr *r, cf_tv obj, cf_tv key)
{
    int64_t i;
    switch (obj.k) {
    case CF_TDICT: {
        uint32_t hash;
        int got = cf_t__try_hash(r, key, &hash);
        if (got <= 0) {
            if (got < 0) {
                return CF_TV_ERR;
            }
            break;
        }
        const cf_tentry *e = cf_t__dict_find(r, obj.u.d, key, hash);
        return e != NULL ? e->val : cf_tv_make(CF_TMISSING);
    }
    case CF_TLIST:
    case CF_TTUPLE:
    case CF_TSTR:
    case CF_TBYTES:
    case CF_TRANGE:
        if (key.k != CF_TINT && key.k != CF_TBOOL) {
            break;
        }
        i = key.k == CF_TINT ? key.u.i : key.u.b;
        if (i < 0) {
            i += cf_t__len(obj);
        }
        if (i < 0 || i >= cf_t__len(obj)) {
            break;
        }
        if (obj.k == CF_TSTR) {
            uint32_t at = cf_t__str_at_cp(obj.u.s, (uint32_t)i), len;
            if (!cf_t__spend(r, cf_t__str_is_ascii(obj.u.s) ? 0 : at >> 4)) {
                return CF_TV_ERR;
            }
            cf_t__cp(obj.u.s->p + at, &len);
            return cf_t__str_sub(r, obj.u.s, at, at + len);
        }
        if (obj.k == CF_TBYTES) {
            return cf_tv_int((unsigned char)obj.u.s->p[i]);
        }
        return obj.k == CF_TRANGE ? cf_tv_int(obj.u.range->start + i * obj.u.range->step)
                                  : obj.u.l->v[i];
    default:
        break;
    }
    return cf_tv_make(CF_TMISSING);
}

cf_tv cf_t__getattr_id(cf_tr *r, cf_tv obj, cf_tv name, int id)
{
    if (obj.k == CF_TUNDEF) {
        return cf_t__fail_undef(r, obj);
    }
    if (obj.k == CF_TDICT && id < 0) {
        const cf_tentry *e = cf_t__dict_find_str(r, obj.u.d, name.u.s);
        if (e != NULL) {
            return e->val;
        }
    } else {
        cf_tv v = attribute(r, obj, name.u.s, id);
        if (v.k != CF_TMISSING) {
            return v.k == CF_TERR ? v : checked(r, obj, name, v);
        }
        if (obj.k == CF_TDICT) {
            const cf_tentry *e = cf_t__dict_find_str(r, obj.u.d, name.u.s);
            if (e != NULL) {
                return e->val;
            }
        }
    }
    return is_dunder(name.u.s) ? unsafe(r, obj, name) : cf_t__undef_attr(r, obj, name);
}

cf_tv cf_t__getattr(cf_tr *r, cf_tv obj, cf_tv name)
{
    return cf_t__getattr_id(r, obj, name, cf_t__method_find(cf_tv_text(name)));
}

cf_tv cf_t__getitem_id(cf_tr *r, cf_tv obj, cf_tv key, int id, bool has_id)
{
    if (obj.k == CF_TUNDEF) {
        return cf_t__fail_undef(r, obj);
    }
    cf_tv v = item(r, obj, key);
    if (v.k != CF_TMISSING) {
        return v;
    }
    if (key.k == CF_TSTR) {
        if (!has_id) {
            id = cf_t__method_find(cf_tv_text(key));
        }
        v = attribute(r, obj, key.u.s, id);
        if (v.k != CF_TMISSING) {
            return v.k == CF_TERR ? v : checked(r, obj, key, v);
        }
        if (is_dunder(key.u.s)) {
            return unsafe(r, obj, key);
        }
    }
    return cf_t__undef_attr(r, obj, key);
}

cf_tv cf_t__getitem(cf_tr *r, cf_tv obj, cf_tv key)
{
    return cf_t__getitem_id(r, obj, key, -1, false);
}

static cf_tv step(cf_tr *r, cf_tv obj, cf_tv key, cf_tv otherwise)
{
    cf_tv v = cf_t__getitem(r, obj, key);
    return v.k == CF_TUNDEF && otherwise.k != CF_TMISSING && otherwise.k != CF_TNONE ? otherwise
                                                                                     : v;
}

cf_tv cf_t__path(cf_tr *r, cf_tv obj, cf_tv path, cf_tv otherwise)
{
    if (path.k != CF_TSTR) {
        return step(r, obj, path, otherwise);
    }
    const cf_tstr *s = path.u.s;
    for (uint32_t at = 0; obj.k != CF_TERR && at <= s->n;) {
        uint32_t end = cf_t__find(cf_tv_text(path), cf_str_from("."), at);
        end = end == UINT32_MAX ? s->n : end;
        bool is_number = end > at;
        for (uint32_t i = at; i < end; i++) {
            is_number = is_number && s->p[i] >= '0' && s->p[i] <= '9';
        }
        cf_tv key = is_number ? cf_t__int_parse(r, s->p + at, end - at, 10, false)
                              : cf_t__str_sub(r, s, at, end);
        CF_TVTRY(key);
        obj = step(r, obj, key, otherwise);
        at = end + 1;
    }
    return obj;
}

/* ---- slices ------------------------------------------------------------- */

static bool slice_bound(cf_tr *r, cf_tv v, int64_t none, int64_t *out)
{
    if (v.k == CF_TNONE) {
        *out = none;
        return true;
    }
    if (v.k == CF_TBIG) {
        *out = v.u.big->is_neg ? INT64_MIN / 4 : INT64_MAX / 4;
        return true;
    }
    if (v.k != CF_TINT && v.k != CF_TBOOL) {
        if (v.k == CF_TUNDEF) {
            cf_t__fail_undef(r, v);
        } else {
            cf_t__fail(r, "slice indices must be integers or None, not '%s'", cf_t__type_name(v));
        }
        return false;
    }
    *out = v.k == CF_TINT ? v.u.i : v.u.b;
    if (*out > INT64_MAX / 4) {
        *out = INT64_MAX / 4;
    } else if (*out < INT64_MIN / 4) {
        *out = INT64_MIN / 4;
    }
    return true;
}

static int64_t clamp(int64_t i, int64_t lo, int64_t hi)
{
    return i < lo ? lo : i > hi ? hi : i;
}

static cf_tv slice_str(cf_tr *r, const cf_tstr *s, int64_t from, int64_t step, int64_t n)
{
    if (n == 0) {
        return cf_t__str_sub(r, s, 0, 0);
    }
    if (step == 1) {
        uint32_t lo = cf_t__str_at_cp(s, (uint32_t)from);
        if (!cf_t__spend(r, cf_t__str_is_ascii(s) ? 0 : s->n >> 4)) {
            return CF_TV_ERR;
        }
        cf_tstr rest = {.p = s->p + lo,
                        .n = s->n - lo,
                        .n_cp = s->n_cp == s->n ? s->n - lo : s->n_cp - (uint32_t)from};
        return cf_t__str_sub(r, s, lo, lo + cf_t__str_at_cp(&rest, (uint32_t)n));
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    for (int64_t i = 0; i < n && !b.failed; i++) {
        uint32_t at = cf_t__str_at_cp(s, (uint32_t)(from + i * step)), len = 1;
        if (s->n_cp != s->n) { /* equal for ASCII, and for bytes */
            cf_t__cp(s->p + at, &len);
        }
        cf_t__sb_sub(&b, s, at, at + len);
        if (!cf_t__spend(r, 1 + (s->n_cp == s->n ? 0 : at >> 4))) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

cf_tv cf_t__slice(cf_tr *r, cf_tv obj, cf_tv vfrom, cf_tv vto, cf_tv vstep)
{
    if (obj.k == CF_TUNDEF) {
        return cf_t__fail_undef(r, obj);
    }
    bool is_list = obj.k == CF_TLIST || obj.k == CF_TTUPLE;
    if (!is_list && obj.k != CF_TSTR && obj.k != CF_TBYTES && obj.k != CF_TRANGE) {
        return cf_t__fail(r, "'%s' object cannot be sliced", cf_t__type_name(obj));
    }
    int64_t len = cf_t__len(obj), step, from, to;
    if (!slice_bound(r, vstep, 1, &step)) {
        return CF_TV_ERR;
    }
    if (step == 0) {
        return cf_t__fail(r, "slice step cannot be zero");
    }
    bool up = step > 0;
    if (!slice_bound(r, vfrom, up ? 0 : len - 1, &from) ||
        !slice_bound(r, vto, up ? len : -1 - len, &to)) {
        return CF_TV_ERR;
    }
    if (vfrom.k != CF_TNONE || !up) {
        from = clamp(from < 0 && vfrom.k != CF_TNONE ? from + len : from, up ? 0 : -1,
                     up ? len : len - 1);
    }
    to = clamp(to < 0 ? to + len : to, up ? 0 : -1, up ? len : len - 1);
    int64_t n = up ? (to > from ? (to - from - 1) / step + 1 : 0)
                   : (from > to ? (from - to - 1) / -step + 1 : 0);
    if (obj.k == CF_TRANGE) {
        cf_trange *g = cf_t__alloc(r, sizeof *g);
        if (g == NULL) {
            return CF_TV_ERR;
        }
        const cf_trange *of = obj.u.range;
        *g =
            (cf_trange){of->start + from * of->step, of->start + to * of->step, of->step * step, n};
        return (cf_tv){.k = CF_TRANGE, .u.range = g};
    }
    if (!is_list) {
        cf_tv v = slice_str(r, obj.u.s, from, step, n);
        if (v.k == CF_TSTR) {
            v.k = obj.k;
        }
        return v;
    }
    cf_tlist *l = cf_t__list_new(r, (uint32_t)n);
    if (l == NULL || !cf_t__spend(r, (uint64_t)n)) {
        return CF_TV_ERR;
    }
    for (int64_t i = 0; i < n; i++) {
        l->v[l->n++] = obj.u.l->v[from + i * step];
    }
    return (cf_tv){.k = obj.k, .org = obj.org, .u.l = l};
}
