/*
 * eval.c - expressions, by walking the tree.
 *
 * Rules
 *   1. An evaluator returns CF_TERR only after the error was set.
 *   2. The innermost node that fails gives the error its place.
 *   3. Each level of recursion is counted (cf_t__enter), so that no template
 *      overflows the stack; each node costs a step, so that every one ends.
 */
#include "templates/language/cause.h"

#include <math.h>

#include "templates/language/number.h"

static cf_tv eval_or_none(cf_tr *r, const cf_tnode *n)
{
    return n != NULL ? cf_t__eval(r, n) : CF_TV_NONE;
}

/* Whether jinja2 evaluates the node at compile time. */
static bool is_constant(const cf_tnode *n)
{
    if (n == NULL || n->kind == CF_N_CONST) {
        return true;
    }
    if (n->kind == CF_N_NEG || n->kind == CF_N_POS) {
        return is_constant(n->a);
    }
    bool all = n->kind == CF_N_LIST || n->kind == CF_N_TUPLE || n->kind == CF_N_DICT;
    for (uint32_t i = 0; all && i < n->n; i++) {
        all = n->list[i]->kind == CF_N_CONST;
    }
    return all;
}

static bool can_bound(cf_tv v)
{
    return v.k == CF_TNONE || cf_tv_is_intlike(v);
}

/* jinja2 computes a slice of constants when compiling, and there a type that
 * does not fit gives an undefined value; at run time it is an error. */
static bool is_folded(const cf_tnode *n, cf_tv obj, cf_tv from, cf_tv to, cf_tv step)
{
    bool fits = obj.k == CF_TSTR || obj.k == CF_TLIST || obj.k == CF_TTUPLE;
    return (!fits || !can_bound(from) || !can_bound(to) || !can_bound(step)) && is_constant(n->a) &&
           is_constant(n->b->a) && is_constant(n->b->b) && is_constant(n->b->c);
}

static cf_tv eval_getitem(cf_tr *r, const cf_tnode *n)
{
    cf_tv obj = cf_t__eval(r, n->a);
    CF_TVTRY(obj);
    if (n->b->kind == CF_N_SLICE) {
        cf_tv from = eval_or_none(r, n->b->a);
        CF_TVTRY(from);
        cf_tv to = eval_or_none(r, n->b->b);
        CF_TVTRY(to);
        cf_tv step = eval_or_none(r, n->b->c);
        CF_TVTRY(step);
        if (is_folded(n, obj, from, to, step)) {
            return cf_t__undef_attr(r, obj, CF_TV_NONE);
        }
        return cf_t__slice(r, obj, from, to, step);
    }
    cf_tv key = cf_t__eval(r, n->b);
    CF_TVTRY(key);
    return cf_t__getitem_id(r, obj, key, n->id, n->b->kind == CF_N_CONST);
}

/* ---- operators ---------------------------------------------------------- */

static cf_tv repeat_list(cf_tr *r, cf_tv v, int64_t n)
{
    uint64_t total = n > 0 ? (uint64_t)n * v.u.l->n : 0;
    if (total > 1000000 || (n > 0 && (uint64_t)n > 1000000)) {
        return cf_t__fail_limit(r, "a repeated list is over 1000000 items");
    }
    cf_tlist *l = cf_t__list_new(r, (uint32_t)total);
    if (l == NULL || !cf_t__spend(r, total)) {
        return CF_TV_ERR;
    }
    while (l->n < total) {
        memcpy(l->v + l->n, v.u.l->v, v.u.l->n * sizeof *l->v);
        l->n += v.u.l->n;
    }
    return (cf_tv){.k = v.k, .org = v.org, .u.l = l};
}

static cf_tv repeat_str(cf_tr *r, const cf_tstr *s, int64_t n)
{
    if (n <= 0 || s->n == 0) {
        return cf_t__str_sub(r, s, 0, 0);
    }
    if ((uint64_t)n > r->max_out / s->n) {
        return cf_t__fail_limit(r, "a string is over %zu bytes", r->max_out);
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    for (int64_t i = 0; i < n && !b.failed; i++) {
        cf_t__sb_str(&b, s);
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

static cf_tv bad_operands(cf_tr *r, const char *op, cf_tv a, cf_tv b)
{
    if (a.k == CF_TUNDEF || b.k == CF_TUNDEF) {
        return cf_t__fail_undef(r, a.k == CF_TUNDEF ? a : b);
    }
    if (op[0] == '+' && (a.k == CF_TSTR || a.k == CF_TLIST || a.k == CF_TTUPLE) &&
        !(a.k == CF_TSTR && a.u.s->is_markup)) {
        return cf_t__fail(r, "can only concatenate %s (not \"%s\") to %s", cf_t__type_name(a),
                          cf_t__type_name(b), cf_t__type_name(a));
    }
    return cf_t__fail(r, "unsupported operand type(s) for %s: '%s' and '%s'", op,
                      cf_t__type_name(a), cf_t__type_name(b));
}

static cf_tv add_strs(cf_tr *r, cf_tv a, cf_tv b)
{
    if (a.u.s->is_markup && !b.u.s->is_markup) {
        b = cf_t__escape(r, b);
        CF_TVTRY(b);
    } else if (b.u.s->is_markup && !a.u.s->is_markup) {
        a = cf_t__escape(r, a);
        CF_TVTRY(a);
    }
    return cf_t__concat(r, a.u.s, b.u.s);
}

static cf_tv add_lists(cf_tr *r, cf_tv a, cf_tv b)
{
    uint32_t n = a.u.l->n + b.u.l->n;
    cf_tlist *l = cf_t__list_new(r, n);
    if (l == NULL || !cf_t__spend(r, n)) {
        return CF_TV_ERR;
    }
    if (a.u.l->n != 0) {
        memcpy(l->v, a.u.l->v, a.u.l->n * sizeof *l->v);
    }
    if (b.u.l->n != 0) {
        memcpy(l->v + a.u.l->n, b.u.l->v, b.u.l->n * sizeof *l->v);
    }
    l->n = n;
    return (cf_tv){.k = a.k, .u.l = l};
}

static cf_tv multiply(cf_tr *r, cf_tv a, cf_tv b)
{
    bool swap = cf_tv_is_intlike(a);
    cf_tv seq = swap ? b : a, times = swap ? a : b;
    if (!cf_tv_is_intlike(times) || (seq.k != CF_TSTR && seq.k != CF_TLIST && seq.k != CF_TTUPLE)) {
        return bad_operands(r, "*", a, b);
    }
    int64_t n = times.k == CF_TINT    ? times.u.i
                : times.k == CF_TBOOL ? times.u.b
                : times.u.big->is_neg ? -1
                                      : INT64_MAX;
    return seq.k == CF_TSTR ? repeat_str(r, seq.u.s, n) : repeat_list(r, seq, n);
}

cf_tv cf_t__binary(cf_tr *r, int op, cf_tv a, cf_tv b)
{
    static const char *const names[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
    if (cf_tv_is_num(a) && cf_tv_is_num(b)) {
        cf_tv v = cf_t__arith(r, (cf_tarith)op, a, b);
        if ((a.org | b.org) != 0 && v.k != CF_TERR) {
            v.org = cf_t__org_join(r, a.org, b.org);
        }
        return v;
    }
    if (a.k == CF_TSTR && op == CF_OP_MOD) {
        return cf_t__percent(r, a.u.s, b);
    }
    if (op == CF_OP_ADD && a.k == b.k) {
        if (a.k == CF_TSTR) {
            return add_strs(r, a, b);
        }
        if (a.k == CF_TLIST || a.k == CF_TTUPLE) {
            return add_lists(r, a, b);
        }
    }
    if (op == CF_OP_MUL && a.k != CF_TUNDEF && b.k != CF_TUNDEF) {
        return multiply(r, a, b);
    }
    return bad_operands(r, names[op], a, b);
}

cf_tv cf_t__tilde(cf_tr *r, const cf_tv *v, uint32_t n)
{
    bool is_markup = false;
    for (uint32_t i = 0; r->autoescape && i < n; i++) {
        is_markup = is_markup || (v[i].k == CF_TSTR && v[i].u.s->is_markup);
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    for (uint32_t i = 0; i < n; i++) {
        if (is_markup && !(v[i].k == CF_TSTR && v[i].u.s->is_markup)) {
            cf_tv e = cf_t__escape(r, v[i]);
            CF_TVTRY(e);
            cf_t__sb_str(&b, e.u.s);
        } else {
            cf_t__add_str(&b, v[i]);
        }
    }
    return cf_t__sb_take(&b, is_markup);
}

static cf_tv eval_concat(cf_tr *r, const cf_tnode *n)
{
    cf_tv few[8];
    cf_tv *v = n->n <= 8 ? few : cf_t__alloc(r, n->n * sizeof *v);
    if (v == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        v[i] = cf_t__eval(r, n->list[i]);
        CF_TVTRY(v[i]);
    }
    return cf_t__tilde(r, v, n->n);
}

/* 1, 0 or -1 */
static int compare_one(cf_tr *r, cf_cmpop op, cf_tv a, cf_tv b)
{
    static const char *const names[] = {"==", "!=", "<", "<=", ">", ">="};
    int c;
    switch (op) {
    case CF_CMP_EQ:
        return cf_t__eq(r, a, b);
    case CF_CMP_NE:
        c = cf_t__eq(r, a, b);
        return c < 0 ? c : !c;
    case CF_CMP_IN:
        return cf_t__contains(r, b, a);
    case CF_CMP_NOTIN:
        c = cf_t__contains(r, b, a);
        return c < 0 ? c : !c;
    default:
        break;
    }
    if (!cf_t__compare(r, a, b, names[op], &c)) {
        return -1;
    }
    return c != 2 && (op == CF_CMP_LT   ? c < 0
                      : op == CF_CMP_LE ? c <= 0
                      : op == CF_CMP_GT ? c > 0
                                        : c >= 0);
}

static cf_tv eval_compare(cf_tr *r, const cf_tnode *n)
{
    cf_tv left = cf_t__eval(r, n->a);
    CF_TVTRY(left);
    for (uint32_t i = 0; i < n->n; i++) {
        cf_tv right = cf_t__eval(r, n->list[i]->a);
        CF_TVTRY(right);
        int c = compare_one(r, (cf_cmpop)n->list[i]->op, left, right);
        if (c < 0) {
            return CF_TV_ERR;
        }
        if (c == 0) {
            return cf_tv_bool(false);
        }
        left = right;
    }
    return cf_tv_bool(true);
}

static cf_tv eval_sign(cf_tr *r, const cf_tnode *n)
{
    cf_tv v = cf_t__eval(r, n->a);
    CF_TVTRY(v);
    if (v.k == CF_TUNDEF) {
        return cf_t__fail_undef(r, v);
    }
    if (!cf_tv_is_num(v)) {
        return cf_t__fail(r, "bad operand type for unary %c: '%s'", n->kind == CF_N_NEG ? '-' : '+',
                          cf_t__type_name(v));
    }
    if (n->kind == CF_N_NEG) {
        uint32_t org = v.org;
        v = cf_t__negate(r, v);
        v.org = org != 0 && v.k != CF_TERR ? cf_t__org_join(r, org, 0) : 0;
        return v;
    }
    return v.k == CF_TBOOL ? cf_tv_int(v.u.b) : v;
}

/* ---- calls -------------------------------------------------------------- */

enum { ARGS_FEW = 6 };

typedef struct argbuf {
    cf_targs args;
    cf_tv few[ARGS_FEW];
    cf_tkw few_kw[4];
} argbuf;

static bool add_star(cf_tr *r, argbuf *b, cf_tv star)
{
    cf_tlist *l = cf_t__to_list(r, star);
    if (l == NULL) {
        return false;
    }
    cf_tv *v = cf_t__alloc(r, (b->args.n + l->n + 1) * sizeof *v);
    if (v == NULL) {
        return false;
    }
    memcpy(v, b->args.v, b->args.n * sizeof *v);
    if (l->n != 0) {
        memcpy(v + b->args.n, l->v, l->n * sizeof *v);
    }
    b->args.v = v;
    b->args.n += l->n;
    return true;
}

static bool add_star_star(cf_tr *r, argbuf *b, cf_tv map)
{
    if (map.k != CF_TDICT) {
        cf_t__fail(r, "argument after ** must be a mapping, not %s", cf_t__type_name(map));
        return false;
    }
    const cf_tdict *d = map.u.d;
    cf_tkw *kw = cf_t__alloc(r, (b->args.n_kw + d->n + 1) * sizeof *kw);
    if (kw == NULL) {
        return false;
    }
    memcpy(kw, b->args.kw, b->args.n_kw * sizeof *kw);
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->e[i].key.k != CF_TSTR) {
            cf_t__fail(r, "keywords must be strings");
            return false;
        }
        if (!cf_t__spend(r, 1 + b->args.n_kw)) {
            return false;
        }
        for (uint32_t k = 0; k < b->args.n_kw; k++) {
            if (cf_str_eq(cf_str_make(kw[k].name->p, kw[k].name->n), cf_tv_text(d->e[i].key))) {
                cf_t__fail(r, "multiple values for keyword argument '%.*s'", (int)kw[k].name->n,
                           kw[k].name->p);
                return false;
            }
        }
        kw[b->args.n_kw + i] = (cf_tkw){d->e[i].key.u.s, d->e[i].val};
    }
    b->args.kw = kw;
    b->args.n_kw += d->n;
    return true;
}

static bool eval_args(cf_tr *r, const cf_tnode *n, argbuf *b)
{
    b->args = (cf_targs){b->few, n->n, b->few_kw, n->n_kw};
    if (n->n > ARGS_FEW) {
        b->args.v = cf_t__alloc(r, n->n * sizeof *b->args.v);
    }
    if (n->n_kw > 4) {
        b->args.kw = cf_t__alloc(r, n->n_kw * sizeof *b->args.kw);
    }
    if (b->args.v == NULL || b->args.kw == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        b->args.v[i] = cf_t__eval(r, n->list[i]);
        if (b->args.v[i].k == CF_TERR) {
            return false;
        }
    }
    for (uint32_t i = 0; i < n->n_kw; i++) {
        b->args.kw[i].name = n->kw[i].name;
        b->args.kw[i].val = cf_t__eval(r, n->kw[i].val);
        if (b->args.kw[i].val.k == CF_TERR) {
            return false;
        }
    }
    if (n->b != NULL) {
        cf_tv star = cf_t__eval(r, n->b);
        if (star.k == CF_TERR || !add_star(r, b, star)) {
            return false;
        }
    }
    if (n->c != NULL) {
        cf_tv map = cf_t__eval(r, n->c);
        if (map.k == CF_TERR || !add_star_star(r, b, map)) {
            return false;
        }
    }
    return true;
}

static cf_tv cycler_call(cf_tr *r, cf_tv self, int id)
{
    cf_tcycler *c = self.u.cycler;
    (void)r;
    if (id == 1) {
        c->pos = 0;
        return CF_TV_NONE;
    }
    cf_tv v = c->items->v[c->pos];
    c->pos = (c->pos + 1) % c->items->n;
    return v;
}

static cf_tv joiner_call(cf_tr *r, cf_tcycler *c)
{
    if (!c->is_used) {
        c->is_used = true;
        return cf_t__str_of(r, "", 0, CF_ORG_NONE);
    }
    return c->items->v[0];
}

static cf_tv call_value(cf_tr *r, cf_tv fn, const cf_targs *args, cf_tv caller)
{
    if (caller.k != CF_TMISSING && fn.k != CF_TMACRO && fn.k != CF_TUNDEF) {
        return cf_t__fail(r, "'%s' takes no caller", cf_t__type_name(fn));
    }
    switch (fn.k) {
    case CF_TMETHOD: {
        cf_tv self = fn.u.method->self;
        if (self.k == CF_TCYCLER) {
            return cycler_call(r, self, fn.u.method->id);
        }
        if (self.k == CF_TLOOP) {
            return cf_t__loop_method(r, self.u.loop, fn.u.method->id, args);
        }
        return cf_t__method_call(r, self, fn.u.method->id, args);
    }
    case CF_TFUNC:
        return cf_t__global_call(r, fn.sub, args);
    case CF_TMACRO:
        return cf_t__macro_call(r, fn.u.macro, args, caller);
    case CF_TLOOP:
        return cf_t__loop_call(r, fn.u.loop, args);
    case CF_TJOINER:
        return joiner_call(r, fn.u.cycler);
    case CF_TUNDEF:
        return cf_t__fail_undef(r, fn);
    default:
        return cf_t__fail(r, "'%s' object is not callable", cf_t__type_name(fn));
    }
}

cf_tv cf_t__call(cf_tr *r, cf_tv fn, const cf_targs *args)
{
    return call_value(r, fn, args, cf_tv_make(CF_TMISSING));
}

/* A result that is not a string carries the origin of its inputs. */
static inline cf_tv with_org(cf_tr *r, cf_tv v, cf_tv from)
{
    if (v.k >= CF_TBOOL && v.k <= CF_TFLOAT && v.org == 0) {
        uint32_t org = cf_t__org_of(from);
        if (org >= CF_ORG_FIRST) {
            v.org = cf_t__org_join(r, org, 0);
        }
    }
    return v;
}

static cf_tv eval_call(cf_tr *r, const cf_tnode *n)
{
    argbuf b;
    /* self.method(...): no bound method is made */
    if (n->a->kind == CF_N_GETATTR && n->a->id >= 0) {
        cf_tv self = cf_t__eval(r, n->a->a);
        CF_TVTRY(self);
        if (cf_t__method_has(self, n->a->id) && !(self.k == CF_TLIST || self.k == CF_TDICT) &&
            self.k != CF_TTUPLE) {
            if (!eval_args(r, n, &b)) {
                return CF_TV_ERR;
            }
            return with_org(r, cf_t__method_call(r, self, n->a->id, &b.args), self);
        }
        cf_tv fn = cf_t__getattr_id(r, self, n->a->val, n->a->id);
        if (fn.k == CF_TERR && r->err_pos == 0) {
            r->err_pos = n->a->pos + 1;
            r->err_end = n->a->end + 1;
        }
        CF_TVTRY(fn);
        if (fn.k == CF_TUNDEF) {
            return cf_t__fail_undef(r, fn);
        }
        if (!eval_args(r, n, &b)) {
            return CF_TV_ERR;
        }
        return call_value(r, fn, &b.args, cf_tv_make(CF_TMISSING));
    }
    cf_tv fn = cf_t__eval(r, n->a);
    CF_TVTRY(fn);
    if (!eval_args(r, n, &b)) {
        return CF_TV_ERR;
    }
    return call_value(r, fn, &b.args, cf_tv_make(CF_TMISSING));
}

cf_tv cf_t__eval_call_block(cf_tr *r, const cf_tnode *n, cf_tv caller)
{
    argbuf b;
    cf_tv fn = cf_t__eval(r, n->a);
    CF_TVTRY(fn);
    if (!eval_args(r, n, &b)) {
        return CF_TV_ERR;
    }
    return call_value(r, fn, &b.args, caller);
}

static cf_tv eval_filter(cf_tr *r, const cf_tnode *n)
{
    argbuf b;
    if (!eval_args(r, n, &b)) {
        return CF_TV_ERR;
    }
    if (n->id < 0) {
        return cf_t__fail(r, "No filter named '%.*s' found.", (int)n->val.u.s->n, n->val.u.s->p);
    }
    return with_org(r, cf_t__filter_call(r, n->id, &b.args), b.args.v[0]);
}

static cf_tv eval_test(cf_tr *r, const cf_tnode *n)
{
    argbuf b;
    if (!eval_args(r, n, &b)) {
        return CF_TV_ERR;
    }
    if (n->id < 0) {
        return cf_t__fail(r, "No test named '%.*s' found.", (int)n->val.u.s->n, n->val.u.s->p);
    }
    return cf_t__test_call(r, n->id, &b.args);
}

/* ---- the walk ----------------------------------------------------------- */

static cf_tv eval_name(cf_tr *r, const cf_tnode *n)
{
    const cf_tact *act = r->act;
    for (uint16_t i = n->hops; i > 0; i--) {
        act = act->outer;
    }
    cf_tv v = act->slot[n->slot];
    return v.k == CF_TMISSING ? cf_t__undef_name(r, n->val) : v;
}

static cf_tv eval_items(cf_tr *r, const cf_tnode *n)
{
    cf_tlist *l = cf_t__list_new(r, n->n);
    if (l == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        cf_tv v = cf_t__eval(r, n->list[i]);
        CF_TVTRY(v);
        l->v[l->n++] = v;
    }
    return n->kind == CF_N_LIST ? cf_tv_list(l) : cf_tv_tuple(l);
}

static cf_tv eval_dict(cf_tr *r, const cf_tnode *n)
{
    cf_tdict *d = cf_t__dict_new(r, n->n / 2);
    if (d == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < n->n; i += 2) {
        cf_tv key = cf_t__eval(r, n->list[i]);
        CF_TVTRY(key);
        cf_tv val = cf_t__eval(r, n->list[i + 1]);
        CF_TVTRY(val);
        if (!cf_t__dict_set(r, d, key, val)) {
            return CF_TV_ERR;
        }
    }
    return cf_tv_dict(d);
}

static cf_tv eval_cond(cf_tr *r, const cf_tnode *n)
{
    cf_tv test = cf_t__eval(r, n->a);
    CF_TVTRY(test);
    uint32_t was = cf_t__cause_now(r);
    bool is_true = cf_t__truth(test);
    const cf_tnode *branch = is_true ? n->b : n->c;
    cf_t__cause_enter(r, CF_CAUSE_CHOICE, n->a, is_true);
    cf_tv v = branch != NULL ? cf_t__cause_mark(r, cf_t__eval(r, branch))
                             : cf_t__undef_hint(r, "the inline if-expression evaluated to "
                                                   "false and no else section was "
                                                   "defined.");
    if (v.k != CF_TERR) {
        cf_t__cause_leave(r, was);
    }
    return v;
}

static cf_tv eval_getattr(cf_tr *r, const cf_tnode *n)
{
    cf_tv v = cf_t__eval(r, n->a);
    CF_TVTRY(v);
    return cf_t__getattr_id(r, v, n->val, n->id);
}

static cf_tv eval_not(cf_tr *r, const cf_tnode *n)
{
    cf_tv v = cf_t__eval(r, n->a);
    CF_TVTRY(v);
    return cf_tv_bool(!cf_t__truth(v));
}

static cf_tv eval_arith(cf_tr *r, const cf_tnode *n)
{
    cf_tv a = cf_t__eval(r, n->a);
    CF_TVTRY(a);
    cf_tv b = cf_t__eval(r, n->b);
    CF_TVTRY(b);
    return cf_t__binary(r, n->op, a, b);
}

static cf_tv eval_and_or(cf_tr *r, const cf_tnode *n)
{
    cf_tv v = cf_t__eval(r, n->a);
    if (v.k == CF_TERR || cf_t__truth(v) == (n->kind == CF_N_OR)) {
        return v;
    }
    return cf_t__eval(r, n->b);
}

static cf_tv eval_body_value(cf_tr *r, const cf_tnode *n)
{
    return r->act->slot[n->slot];
}

static cf_tv eval_none(cf_tr *r, const cf_tnode *n)
{
    (void)n;
    return cf_t__fail(r, "a slice is used where a value is expected");
}

static cf_tv eval_const(cf_tr *r, const cf_tnode *n)
{
    (void)r;
    return n->val;
}

/* By kind of node: a table, so that each evaluator has a stack frame of its
 * own size. */
static cf_tv (*const evaluators[])(cf_tr *r, const cf_tnode *n) = {
    [CF_N_CONST] = eval_const,
    [CF_N_NAME] = eval_name,
    [CF_N_GETATTR] = eval_getattr,
    [CF_N_GETITEM] = eval_getitem,
    [CF_N_SLICE] = eval_none,
    [CF_N_CALL] = eval_call,
    [CF_N_FILTER] = eval_filter,
    [CF_N_TEST] = eval_test,
    [CF_N_NOT] = eval_not,
    [CF_N_NEG] = eval_sign,
    [CF_N_POS] = eval_sign,
    [CF_N_ARITH] = eval_arith,
    [CF_N_CONCAT] = eval_concat,
    [CF_N_COMPARE] = eval_compare,
    [CF_N_OPERAND] = eval_none,
    [CF_N_AND] = eval_and_or,
    [CF_N_OR] = eval_and_or,
    [CF_N_COND] = eval_cond,
    [CF_N_LIST] = eval_items,
    [CF_N_TUPLE] = eval_items,
    [CF_N_DICT] = eval_dict,
    [CF_N_NSREF] = eval_none,
    [CF_N_DATA] = eval_none,
    [CF_N_PRINT] = eval_none,
    [CF_N_FOR] = eval_none,
    [CF_N_IF] = eval_none,
    [CF_N_SET] = eval_none,
    [CF_N_SETBLOCK] = eval_none,
    [CF_N_MACRO] = eval_none,
    [CF_N_CALLBLOCK] = eval_none,
    [CF_N_FILTERBLOCK] = eval_none,
    [CF_N_WITH] = eval_none,
    [CF_N_AUTOESCAPE] = eval_none,
    [CF_N_BLOCK] = eval_none,
    [CF_N_GENERATION] = eval_none,
    [CF_N_BREAK] = eval_none,
    [CF_N_CONTINUE] = eval_none,
    [CF_N_LOADER] = eval_none,
    [CF_N_BODYVALUE] = eval_body_value,
};

cf_tv cf_t__eval(cf_tr *r, const cf_tnode *n)
{
    if (n->kind == CF_N_CONST) {
        return n->val;
    }
    if (n->kind == CF_N_NAME) {
        return eval_name(r, n);
    }
    if (!cf_t__enter(r) || !cf_t__spend(r, 1)) {
        return CF_TV_ERR;
    }
    cf_tv v = evaluators[n->kind](r, n);
    cf_t__leave(r);
    if (v.k == CF_TERR && r->err_pos == 0) {
        r->err_pos = n->pos + 1;
        r->err_end = n->end + 1;
    }
    return v;
}
