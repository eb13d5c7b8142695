/*
 * scope.c - gives every name its slot, by jinja2's rules.
 *
 * Two walks over each frame, as jinja2 does: the first ("scan") notes which
 * names the frame reads and writes, without going into the frames inside it;
 * the second ("bind") gives the names of expressions their slots and makes
 * the inner frames.  What a frame does with a name on entering:
 *
 *   first read, unknown outside      looked up in the context
 *   first written, known outside     copied from outside
 *   first written, unknown outside   empty
 *   first written in a branch of if  copied, or looked up
 */
#include "templates/language/ast.h"

typedef struct sym {
    const cf_tstr *name;
    uint32_t slot, outer_slot;
    uint16_t outer_hops;
    uint8_t action;
    bool is_stored;
} sym;

typedef struct func {
    struct func *outer;
    uint32_t n_slot;
} func;

enum { FEW_NAMES = 8 };

typedef struct frame {
    struct frame *outer;
    func *fn;
    sym *v;
    uint32_t n, cap;
    uint32_t *index; /* [mask + 1] 1 + position in v, by hash; NULL: few */
    uint32_t mask;
} frame;

typedef struct scope {
    cf_tr *r;
    cf_template *tpl;
    const frame *root;
    int n_loop; /* loops of this function around the node */
} scope;

typedef struct ref {
    uint32_t slot;
    uint16_t hops;
    bool is_known;
} ref;

static bool is_name(const sym *s, const cf_tstr *name)
{
    return s->name->hash == name->hash && s->name->n == name->n &&
           memcmp(s->name->p, name->p, name->n) == 0;
}

static sym *own(const frame *f, const cf_tstr *name)
{
    if (f->index == NULL) {
        for (uint32_t i = 0; i < f->n; i++) {
            if (is_name(&f->v[i], name)) {
                return &f->v[i];
            }
        }
        return NULL;
    }
    for (uint32_t at = name->hash & f->mask; f->index[at] != 0; at = (at + 1) & f->mask) {
        sym *s = &f->v[f->index[at] - 1];
        if (is_name(s, name)) {
            return s;
        }
    }
    return NULL;
}

static void index_add(frame *f, uint32_t i)
{
    uint32_t at = f->v[i].name->hash & f->mask;
    while (f->index[at] != 0) {
        at = (at + 1) & f->mask;
    }
    f->index[at] = i + 1;
}

/* Makes room for more names; larger tables get an index. */
static bool grow_frame(cf_tr *r, frame *f)
{
    uint32_t cap = f->cap < FEW_NAMES ? FEW_NAMES : f->cap * 2;
    sym *grown = cf_t__alloc(r, cap * sizeof *grown);
    uint32_t *index = cap > FEW_NAMES ? cf_t__alloc(r, 2 * cap * sizeof *index) : NULL;
    if (grown == NULL || (cap > FEW_NAMES && index == NULL)) {
        return false;
    }
    if (f->n != 0) {
        memcpy(grown, f->v, f->n * sizeof *grown);
    }
    f->v = grown;
    f->cap = cap;
    f->index = index;
    f->mask = 2 * cap - 1;
    if (index != NULL) {
        memset(index, 0, 2 * cap * sizeof *index);
        for (uint32_t i = 0; i < f->n; i++) {
            index_add(f, i);
        }
    }
    return true;
}

static ref find(const frame *f, const func *from, const cf_tstr *name)
{
    for (; f != NULL; f = f->outer) {
        const sym *s = own(f, name);
        if (s != NULL) {
            uint16_t hops = 0;
            for (const func *fn = from; fn != f->fn; fn = fn->outer) {
                hops++;
            }
            return (ref){s->slot, hops, true};
        }
    }
    return (ref){0, 0, false};
}

static sym *define(scope *c, frame *f, const cf_tstr *name, cf_load action)
{
    if (f->n == f->cap && !grow_frame(c->r, f)) {
        return NULL;
    }
    sym *s = &f->v[f->n++];
    *s = (sym){.name = name, .slot = f->fn->n_slot++, .action = (uint8_t)action};
    if (f->index != NULL) {
        index_add(f, f->n - 1);
    }
    return s;
}

static bool sym_load(scope *c, frame *f, const cf_tstr *name)
{
    return find(f, f->fn, name).is_known || define(c, f, name, CF_LOAD_RESOLVE) != NULL;
}

/* How the outer frames see a name when the frame is entered. */
static void outer_action(sym *s, const frame *f, cf_load otherwise)
{
    ref out = find(f->outer, f->fn, s->name);
    if (f->outer != NULL && out.is_known) {
        s->action = CF_LOAD_ALIAS;
        s->outer_slot = out.slot;
        s->outer_hops = out.hops;
    } else {
        s->action = (uint8_t)otherwise;
    }
}

static bool sym_store(scope *c, frame *f, const cf_tstr *name)
{
    sym *s = own(f, name);
    if (s == NULL) {
        s = define(c, f, name, CF_LOAD_EMPTY);
        if (s == NULL) {
            return false;
        }
        outer_action(s, f, CF_LOAD_EMPTY);
    }
    s->is_stored = true;
    return true;
}

static sym *sym_param(scope *c, frame *f, const cf_tstr *name)
{
    sym *s = own(f, name);
    if (s == NULL) {
        s = define(c, f, name, CF_LOAD_PARAM);
    }
    if (s != NULL) {
        s->action = CF_LOAD_PARAM;
        s->is_stored = true;
    }
    return s;
}

/* ---- first walk --------------------------------------------------------- */

static bool scan(scope *c, frame *f, const cf_tnode *n);

static bool scan_list(scope *c, frame *f, cf_tnode *const *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!scan(c, f, v[i])) {
            return false;
        }
    }
    return true;
}

static bool scan_body(scope *c, frame *f, const cf_tbody *b)
{
    return scan_list(c, f, b->v, b->n);
}

static bool scan_if(scope *c, frame *f, const cf_tnode *n)
{
    /* jinja2 sees an elif as an if inside the list of branches; its test and
     * body count as one branch, the first test belongs to the frame. */
    if (!scan(c, f, n->list[0])) {
        return false;
    }
    bool was_stored[512];
    uint32_t n_before = f->n < 512 ? f->n : 512;
    for (uint32_t i = 0; i < n_before; i++) {
        was_stored[i] = f->v[i].is_stored;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        if ((i > 0 && !scan(c, f, n->list[i])) || !scan_body(c, f, &n->bodies[i])) {
            return false;
        }
    }
    if (!scan_body(c, f, &n->other)) {
        return false;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->v[i].is_stored && (i >= n_before || !was_stored[i])) {
            outer_action(&f->v[i], f, CF_LOAD_RESOLVE);
        }
    }
    return true;
}

static bool scan_target(scope *c, frame *f, const cf_tnode *n, bool as_param)
{
    if (n->kind == CF_N_TUPLE) {
        for (uint32_t i = 0; i < n->n; i++) {
            if (!scan_target(c, f, n->list[i], as_param)) {
                return false;
            }
        }
        return true;
    }
    if (n->kind == CF_N_NSREF) {
        return sym_load(c, f, n->a->val.u.s);
    }
    return as_param ? sym_param(c, f, n->val.u.s) != NULL : sym_store(c, f, n->val.u.s);
}

static bool scan_children(scope *c, frame *f, const cf_tnode *n)
{
    if ((n->a != NULL && !scan(c, f, n->a)) ||
        (n->b != NULL && n->b != n->a && !scan(c, f, n->b)) ||
        (n->c != NULL && !scan(c, f, n->c)) || !scan_list(c, f, n->list, n->n)) {
        return false;
    }
    for (uint32_t i = 0; i < n->n_kw; i++) {
        if (!scan(c, f, n->kw[i].val)) {
            return false;
        }
    }
    return true;
}

static bool scan(scope *c, frame *f, const cf_tnode *n)
{
    if (!cf_t__enter(c->r)) {
        return false;
    }
    bool ok = true;
    switch ((cf_nkind)n->kind) {
    case CF_N_NAME:
        ok = sym_load(c, f, n->val.u.s);
        break;
    case CF_N_IF:
        ok = scan_if(c, f, n);
        break;
    case CF_N_FOR:
        ok = scan(c, f, n->b);
        break;
    case CF_N_SET:
        ok = scan(c, f, n->b) && scan_target(c, f, n->a, false);
        break;
    case CF_N_SETBLOCK:
        ok = scan_target(c, f, n->a, false);
        break;
    case CF_N_MACRO:
        ok = sym_store(c, f, n->val.u.s);
        break;
    case CF_N_CALLBLOCK:
    case CF_N_FILTERBLOCK:
    case CF_N_AUTOESCAPE:
        ok = scan(c, f, n->a);
        break;
    case CF_N_WITH:
        for (uint32_t i = 1; i < n->n && ok; i += 2) {
            ok = scan(c, f, n->list[i]);
        }
        break;
    case CF_N_BLOCK:
    case CF_N_GENERATION:
    case CF_N_DATA:
    case CF_N_CONST:
        break;
    default:
        ok = scan_children(c, f, n);
    }
    cf_t__leave(c->r);
    return ok;
}

/* ---- does a body use a special name? ------------------------------------ */

/* 0: not (yet), 1: read before anything assigned it, 2: assigned first. */
static int uses_node(const cf_tnode *n, const char *name);

static int uses_list(cf_tnode *const *v, uint32_t n, const char *name)
{
    int u = 0;
    for (uint32_t i = 0; i < n && u == 0; i++) {
        u = uses_node(v[i], name);
    }
    return u;
}

static int uses_node(const cf_tnode *n, const char *name)
{
    if (n == NULL || n->kind == CF_N_BLOCK) {
        return 0;
    }
    if (n->kind == CF_N_NAME) {
        return !cf_str_is(cf_tv_text(n->val), name) ? 0 : n->flag ? 2 : 1;
    }
    int u = 0;
    if (n->kind == CF_N_SET) { /* jinja2's order of fields: target first */
        u = uses_node(n->a, name);
        return u != 0 ? u : uses_node(n->b, name);
    }
    if (n->kind == CF_N_MACRO || n->kind == CF_N_CALLBLOCK) {
        if (n->kind == CF_N_CALLBLOCK) {
            u = uses_node(n->a, name);
        }
        if (u == 0) {
            u = uses_list(n->list, n->n, name);
        }
        for (uint32_t i = 0; i < n->n_kw && u == 0; i++) {
            u = uses_node(n->kw[i].val, name);
        }
        return u != 0 ? u : uses_list(n->body.v, n->body.n, name);
    }
    u = uses_node(n->a, name);
    if (u == 0 && n->b != n->a) {
        u = uses_node(n->b, name);
    }
    if (u == 0) {
        u = uses_list(n->list, n->n, name);
    }
    for (uint32_t i = 0; i < n->n_kw && u == 0; i++) {
        u = uses_node(n->kw[i].val, name);
    }
    for (uint32_t i = 0; n->bodies != NULL && i < n->n && u == 0; i++) {
        u = uses_list(n->bodies[i].v, n->bodies[i].n, name);
    }
    if (u == 0) {
        u = uses_list(n->body.v, n->body.n, name);
    }
    if (u == 0) {
        u = uses_list(n->other.v, n->other.n, name);
    }
    return u != 0 ? u : uses_node(n->c, name);
}

static bool uses(const cf_tbody *b, const char *name)
{
    return uses_list(b->v, b->n, name) == 1;
}

/* A scoped block sees the loops around it, whatever it says of them. */
static bool has_scoped_block(const cf_tbody *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const cf_tnode *n = b->v[i];
        if (n->kind < CF_N_DATA) {
            continue;
        }
        if ((n->kind == CF_N_BLOCK && n->flag) || has_scoped_block(&n->body) ||
            has_scoped_block(&n->other)) {
            return true;
        }
        for (uint32_t k = 0; n->bodies != NULL && k < n->n; k++) {
            if (has_scoped_block(&n->bodies[k])) {
                return true;
            }
        }
    }
    return false;
}

/* ---- second walk -------------------------------------------------------- */

static bool bind(scope *c, frame *f, cf_tnode *n, bool soft);

static bool bind_body(scope *c, frame *f, const cf_tbody *b, bool soft)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (!bind(c, f, b->v[i], soft)) {
            return false;
        }
    }
    return true;
}

/* Determines the loads of a frame after its scan. */
static bool make_frame(scope *c, const frame *f, cf_tframe *out)
{
    out->load = cf_t__alloc(c->r, (f->n + 1) * sizeof *out->load);
    if (out->load == NULL) {
        return false;
    }
    out->n_load = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const sym *s = &f->v[i];
        if (s->action != CF_LOAD_PARAM) {
            out->load[out->n_load++] =
                (cf_tload){s->name, s->slot, s->outer_slot, s->outer_hops, s->action};
        }
    }
    return true;
}

static cf_tframe *new_frame(scope *c, const frame *f)
{
    cf_tframe *out = cf_t__alloc(c->r, sizeof *out);
    return out != NULL && make_frame(c, f, out) ? out : NULL;
}

/* A frame that only holds a body: with, set block, filter block ... */
static bool bind_inner(scope *c, frame *f, cf_tnode *n, const cf_tnode *filter)
{
    frame in = {.outer = f, .fn = f->fn};
    if ((filter != NULL && !scan(c, &in, filter)) || !scan_body(c, &in, &n->body)) {
        return false;
    }
    n->frame = new_frame(c, &in);
    if (n->frame == NULL || !bind_body(c, &in, &n->body, false)) {
        return false;
    }
    if (filter != NULL) {
        cf_tnode *chain = n->kind == CF_N_SETBLOCK ? n->b : n->a;
        return bind(c, &in, chain, false);
    }
    return true;
}

static bool bind_with(scope *c, frame *f, cf_tnode *n)
{
    frame in = {.outer = f, .fn = f->fn};
    for (uint32_t i = 0; i < n->n; i += 2) {
        if (!scan_target(c, &in, n->list[i], true)) {
            return false;
        }
    }
    if (!scan_body(c, &in, &n->body)) {
        return false;
    }
    n->frame = new_frame(c, &in);
    for (uint32_t i = 0; i < n->n; i += 2) {
        if (!bind(c, &in, n->list[i], false) || !bind(c, f, n->list[i + 1], false)) {
            return false;
        }
    }
    return n->frame != NULL && bind_body(c, &in, &n->body, false);
}

static bool forbids_loop(const cf_tnode *n, cf_tr *r);

static bool forbids_loop_in(const cf_tbody *b, cf_tr *r)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (!forbids_loop(b->v[i], r)) {
            return false;
        }
    }
    return true;
}

/* Rejects assignments to `loop` inside a for loop. */
static bool forbids_loop(const cf_tnode *n, cf_tr *r)
{
    if (n == NULL) {
        return true;
    }
    if (n->kind == CF_N_NAME && n->flag && cf_str_is(cf_tv_text(n->val), "loop")) {
        cf_t__fail_at(r, n->pos, n->end,
                      "Can't assign to special loop variable in for-loop "
                      "target");
        return false;
    }
    if (n->kind == CF_N_TUPLE && n->flag) {
        for (uint32_t i = 0; i < n->n; i++) {
            if (!forbids_loop(n->list[i], r)) {
                return false;
            }
        }
    }
    if (n->kind == CF_N_SET || n->kind == CF_N_FOR || n->kind == CF_N_SETBLOCK) {
        if (!forbids_loop(n->a, r)) {
            return false;
        }
    }
    if (n->kind < CF_N_DATA) {
        return true;
    }
    for (uint32_t i = 0; n->bodies != NULL && i < n->n; i++) {
        if (!forbids_loop_in(&n->bodies[i], r)) {
            return false;
        }
    }
    return forbids_loop_in(&n->body, r) && forbids_loop_in(&n->other, r);
}

/* A copy of a loop's target: its slots are found through another frame. */
static cf_tnode *copy_target(cf_tr *r, const cf_tnode *from)
{
    cf_tnode *to = cf_t__alloc(r, sizeof *to);
    if (to == NULL) {
        return NULL;
    }
    *to = *from;
    if (to->kind != CF_N_TUPLE) {
        return to;
    }
    to->list = cf_t__alloc(r, to->n * sizeof(cf_tnode *));
    for (uint32_t i = 0; to->list != NULL && i < to->n; i++) {
        to->list[i] = cf_t__alloc(r, sizeof(cf_tnode));
        if (to->list[i] == NULL) {
            return NULL;
        }
        *to->list[i] = *from->list[i];
    }
    return to->list != NULL ? to : NULL;
}

/* The test of a loop sees its own copy of the target. */
static bool bind_loop_test(scope *c, frame *f, func *fn, cf_tnode *n)
{
    frame test = {.outer = f, .fn = fn};
    if (!scan_target(c, &test, n->a, true) || !scan(c, &test, n->c)) {
        return false;
    }
    n->frame2 = new_frame(c, &test);
    cf_tnode *target = copy_target(c->r, n->a);
    n->list = cf_t__alloc(c->r, sizeof(cf_tnode *));
    if (target == NULL || n->frame2 == NULL || n->list == NULL) {
        return false;
    }
    n->list[0] = target;
    return bind(c, &test, target, false) && bind(c, &test, n->c, false);
}

/* The body, in which break and continue may be used, and the else part. */
static bool bind_loop_bodies(scope *c, frame *f, frame *loop, cf_tnode *n)
{
    int n_loop = c->n_loop;
    c->n_loop = n->flag ? 1 : n_loop + 1;
    bool ok = bind_body(c, loop, &n->body, false);
    c->n_loop = n->flag ? 0 : n_loop;
    if (ok && n->other.n != 0) {
        frame other = {.outer = f, .fn = loop->fn};
        ok = scan_body(c, &other, &n->other);
        n->frame3 = ok ? new_frame(c, &other) : NULL;
        ok = n->frame3 != NULL && bind_body(c, &other, &n->other, false);
    }
    c->n_loop = n_loop;
    return ok;
}

static bool bind_for(scope *c, frame *f, cf_tnode *n, bool soft)
{
    if (!forbids_loop(n, c->r) || !bind(c, f, n->b, soft)) {
        return false;
    }
    func own_fn = {.outer = f->fn};
    frame loop = {.outer = f, .fn = n->flag ? &own_fn : f->fn};
    n->has_loop = n->flag || uses(&n->body, "loop") || has_scoped_block(&n->body);
    if (n->has_loop) {
        cf_tstr *name = cf_t__const_str(c->r, cf_str_from("loop"));
        sym *s = name != NULL ? sym_param(c, &loop, name) : NULL;
        if (s == NULL) {
            return false;
        }
        n->slot = s->slot;
    }
    if (!scan_target(c, &loop, n->a, true) || !scan_body(c, &loop, &n->body)) {
        return false;
    }
    n->frame = new_frame(c, &loop);
    if (n->frame == NULL || !bind(c, &loop, n->a, false) ||
        (n->c != NULL && !bind_loop_test(c, f, loop.fn, n)) || !bind_loop_bodies(c, f, &loop, n)) {
        return false;
    }
    if (n->flag) {
        n->func = cf_t__alloc(c->r, sizeof *n->func);
        if (n->func == NULL) {
            return false;
        }
        *n->func = (cf_tfunc){.n_slot = own_fn.n_slot};
    }
    return true;
}

static bool special(scope *c, frame *in, cf_tnode *n, const char *name, bool *takes, uint32_t *slot)
{
    for (uint32_t i = 0; i < n->n; i++) {
        if (cf_str_is(cf_tv_text(n->list[i]->val), name)) {
            return true;
        }
    }
    if (!uses(&n->body, name)) {
        return true;
    }
    cf_tstr *s = cf_t__const_str(c->r, cf_str_from(name));
    sym *y = s != NULL ? sym_param(c, in, s) : NULL;
    if (y == NULL) {
        return false;
    }
    *takes = true;
    *slot = y->slot;
    return true;
}

static bool bind_macro(scope *c, frame *f, cf_tnode *n)
{
    func fn = {.outer = f->fn};
    frame in = {.outer = f, .fn = &fn};
    cf_tfunc *out = cf_t__alloc(c->r, sizeof *out);
    uint32_t *param = cf_t__alloc(c->r, (n->n + 1) * sizeof *param);
    if (out == NULL || param == NULL) {
        return false;
    }
    *out = (cf_tfunc){.param = param};
    for (uint32_t i = 0; i < n->n; i++) {
        const cf_tstr *name = n->list[i]->val.u.s;
        if (own(&in, name) != NULL) {
            cf_t__fail_at(c->r, n->list[i]->pos, n->list[i]->end, "duplicate argument '%.*s'",
                          (int)name->n, name->p);
            return false;
        }
        sym *s = sym_param(c, &in, name);
        if (s == NULL) {
            return false;
        }
        param[i] = s->slot;
        if (cf_str_is(cf_tv_text(n->list[i]->val), "caller") && i < n->n - n->n_kw &&
            uses(&n->body, "caller")) {
            cf_t__fail_at(c->r, n->list[i]->pos, n->list[i]->end,
                          "the special \"caller\" argument must be omitted or "
                          "be given a default");
            return false;
        }
    }
    if (!special(c, &in, n, "caller", &out->takes_caller, &out->caller_slot) ||
        !special(c, &in, n, "kwargs", &out->takes_kwargs, &out->kwargs_slot) ||
        !special(c, &in, n, "varargs", &out->takes_varargs, &out->varargs_slot)) {
        return false;
    }
    for (uint32_t i = 0; i < n->n_kw; i++) {
        if (!scan(c, &in, n->kw[i].val)) {
            return false;
        }
    }
    if (!scan_body(c, &in, &n->body) || !make_frame(c, &in, &out->frame)) {
        return false;
    }
    int n_loop = c->n_loop;
    c->n_loop = 0;
    for (uint32_t i = 0; i < n->n_kw; i++) {
        if (!bind(c, &in, n->kw[i].val, false)) {
            return false;
        }
    }
    bool ok = bind_body(c, &in, &n->body, false);
    c->n_loop = n_loop;
    out->n_slot = fn.n_slot;
    n->func = out;
    return ok;
}

/* A block sees the context and the top level's assignments, not the frames
 * around it, unless it is scoped. */
static bool bind_block(scope *c, frame *f, cf_tnode *n)
{
    frame in = {.outer = n->flag ? f : NULL, .fn = f->fn};
    if (!scan_body(c, &in, &n->body)) {
        return false;
    }
    n->frame = new_frame(c, &in);
    int n_loop = c->n_loop;
    c->n_loop = 0;
    bool ok = n->frame != NULL && bind_body(c, &in, &n->body, false);
    c->n_loop = n_loop;
    return ok;
}

static bool bind_name(frame *f, cf_tnode *n)
{
    ref at = find(f, f->fn, n->val.u.s);
    n->slot = at.slot;
    n->hops = at.hops;
    return at.is_known;
}

static bool bind_children(scope *c, frame *f, cf_tnode *n, bool soft)
{
    if ((n->a != NULL && !bind(c, f, n->a, soft)) ||
        (n->b != NULL && n->b != n->a && !bind(c, f, n->b, soft)) ||
        (n->c != NULL && !bind(c, f, n->c, soft))) {
        return false;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        if (!bind(c, f, n->list[i], soft)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < n->n_kw; i++) {
        if (!bind(c, f, n->kw[i].val, soft)) {
            return false;
        }
    }
    return true;
}

static bool bind_if(scope *c, frame *f, cf_tnode *n)
{
    for (uint32_t i = 0; i < n->n; i++) {
        if (!bind(c, f, n->list[i], true) || !bind_body(c, f, &n->bodies[i], true)) {
            return false;
        }
    }
    return bind_body(c, f, &n->other, true);
}

static bool bind_node(scope *c, frame *f, cf_tnode *n, bool soft)
{
    switch ((cf_nkind)n->kind) {
    case CF_N_NAME:
        return bind_name(f, n);
    case CF_N_BODYVALUE:
        n->slot = f->fn->n_slot++;
        return true;
    case CF_N_SET:
        n->has_loop = c->tpl->has_blocks && f == c->root;
        return bind_children(c, f, n, soft);
    case CF_N_FILTER:
    case CF_N_TEST:
        if (n->id < 0 && !soft) {
            cf_t__fail_at(c->r, n->pos, n->end, "No %s named '%.*s'.",
                          n->kind == CF_N_FILTER ? "filter" : "test", (int)n->val.u.s->n,
                          n->val.u.s->p);
            return false;
        }
        return bind_children(c, f, n, soft);
    case CF_N_COND:
        return bind_children(c, f, n, true);
    case CF_N_IF:
        return bind_if(c, f, n);
    case CF_N_FOR:
        return bind_for(c, f, n, soft);
    case CF_N_WITH:
        return bind_with(c, f, n);
    case CF_N_SETBLOCK:
        n->has_loop = c->tpl->has_blocks && f == c->root;
        return bind(c, f, n->a, soft) && bind_inner(c, f, n, n->b);
    case CF_N_FILTERBLOCK:
        return bind_inner(c, f, n, n->a);
    case CF_N_AUTOESCAPE:
        return bind(c, f, n->a, soft) && bind_inner(c, f, n, NULL);
    case CF_N_GENERATION: {
        int n_loop = c->n_loop;
        c->n_loop = 0;
        bool ok = bind_inner(c, f, n, NULL);
        c->n_loop = n_loop;
        return ok;
    }
    case CF_N_MACRO:
        n->has_loop = c->tpl->has_blocks && f == c->root;
        return bind_name(f, n) && bind_macro(c, f, n);
    case CF_N_CALLBLOCK:
        return bind_macro(c, f, n) && bind(c, f, n->a, soft);
    case CF_N_BLOCK:
        return bind_block(c, f, n);
    case CF_N_BREAK:
    case CF_N_CONTINUE:
        if (c->n_loop == 0) {
            cf_t__fail_at(c->r, n->pos, n->end, "'%s' outside loop",
                          n->kind == CF_N_BREAK ? "break" : "continue");
            return false;
        }
        return true;
    default:
        return bind_children(c, f, n, soft);
    }
}

static bool bind(scope *c, frame *f, cf_tnode *n, bool soft)
{
    if (!cf_t__enter(c->r)) {
        return false;
    }
    bool ok = bind_node(c, f, n, soft);
    if (!ok && c->r->err_pos == 0) {
        c->r->err_pos = n->pos + 1;
        c->r->err_end = n->end + 1;
    }
    cf_t__leave(c->r);
    return ok;
}

bool cf_t__resolve(cf_tr *r, cf_template *tpl)
{
    scope c = {.r = r, .tpl = tpl};
    func fn = {0};
    frame root = {.fn = &fn};
    c.root = &root;
    if (!scan_body(&c, &root, &tpl->body) || !make_frame(&c, &root, &tpl->func.frame) ||
        !bind_body(&c, &root, &tpl->body, false)) {
        return false;
    }
    tpl->func.n_slot = fn.n_slot;
    return true;
}
