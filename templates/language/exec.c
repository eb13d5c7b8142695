/*
 * exec.c - statements: output, assignments, loops, macros.
 */
#include "templates/language/cause.h"
#include "templates/language/number.h"

/* ---- slots -------------------------------------------------------------- */

static cf_tact *act_at(cf_tr *r, uint16_t hops)
{
    cf_tact *act = r->act;
    for (; hops > 0; hops--) {
        act = act->outer;
        CF_ASSERT(act != NULL);
    }
    return act;
}

static cf_tact *new_act(cf_tr *r, uint32_t n_slot, cf_tact *outer)
{
    cf_tact *act = cf_t__alloc(r, sizeof *act);
    cf_tv *slot = cf_t__alloc(r, (n_slot + 1) * sizeof *slot);
    if (act == NULL || slot == NULL) {
        return NULL;
    }
    memset(slot, 0, n_slot * sizeof *slot); /* all CF_TMISSING */
    *act = (cf_tact){slot, outer};
    return act;
}

static cf_tv resolve(cf_tr *r, const cf_tstr *name)
{
    const cf_tentry *e = NULL;
    if (r->exported != NULL) {
        e = cf_t__dict_find_str(r, r->exported, name);
    }
    if (e == NULL) {
        e = cf_t__dict_find_str(r, r->vars, name);
    }
    if (e == NULL && cf_str_is(cf_str_make(name->p, name->n), "self")) {
        cf_tdict *d = cf_t__dict_new(r, 0);
        return d != NULL ? (cf_tv){.k = CF_TNAMESPACE, .sub = 1, .u.d = d}
                         : cf_tv_make(CF_TMISSING);
    }
    return e != NULL ? e->val : cf_t__global(cf_str_make(name->p, name->n));
}

static void enter_frame(cf_tr *r, const cf_tframe *f)
{
    for (uint32_t i = 0; f != NULL && i < f->n_load; i++) {
        const cf_tload *l = &f->load[i];
        cf_tv *to = &r->act->slot[l->slot];
        switch ((cf_load)l->action) {
        case CF_LOAD_RESOLVE:
            *to = resolve(r, l->name);
            break;
        case CF_LOAD_ALIAS:
            *to = act_at(r, l->outer_hops)->slot[l->outer_slot];
            break;
        default:
            *to = cf_tv_make(CF_TMISSING);
        }
    }
}

/* ---- assignment --------------------------------------------------------- */

static bool unpack(cf_tr *r, const cf_tnode *target, cf_tv v)
{
    cf_titer it;
    if (v.k == CF_TUNDEF) {
        v = cf_tv_list(cf_t__list_new(r, 0));
        if (v.u.l == NULL) {
            return false;
        }
    }
    if (!cf_t__can_iterate(v)) {
        cf_t__fail(r, "cannot unpack non-iterable %s object", cf_t__type_name(v));
        return false;
    }
    if (!cf_t__iter_init(r, &it, v)) {
        return false;
    }
    cf_tlist *items = cf_t__list_new(r, target->n);
    for (uint32_t i = 0; items != NULL && i <= target->n; i++) {
        cf_tv item;
        int got = cf_t__iter_next(r, &it, &item);
        if (got < 0) {
            return false;
        }
        if (got == 0 && i < target->n) {
            cf_t__fail(r, "not enough values to unpack (expected %u, got %u)", (unsigned)target->n,
                       (unsigned)i);
            return false;
        }
        if (got != 0 && i == target->n) {
            cf_t__fail(r, "too many values to unpack (expected %u)", (unsigned)target->n);
            return false;
        }
        if (got != 0) {
            items->v[items->n++] = item;
        }
    }
    for (uint32_t i = 0; items != NULL && i < target->n; i++) {
        if (!cf_t__assign(r, target->list[i], items->v[i])) {
            return false;
        }
    }
    return items != NULL;
}

static cf_tv namespace_of(cf_tr *r, const cf_tnode *target)
{
    cf_tv ns = act_at(r, target->a->hops)->slot[target->a->slot];
    if (ns.k != CF_TNAMESPACE) {
        return cf_t__fail(r, "cannot assign attribute on non-namespace object");
    }
    return ns;
}

bool cf_t__assign(cf_tr *r, const cf_tnode *target, cf_tv v)
{
    if (target->kind == CF_N_TUPLE) {
        return unpack(r, target, v);
    }
    if (target->kind == CF_N_NSREF) {
        cf_tv ns = namespace_of(r, target);
        return ns.k != CF_TERR && cf_t__dict_set(r, ns.u.d, target->val, v);
    }
    act_at(r, target->hops)->slot[target->slot] = v;
    return true;
}

/* Names of the top level are visible in blocks. */
static bool export_names(cf_tr *r, const cf_tnode *target)
{
    if (target->kind == CF_N_TUPLE) {
        for (uint32_t i = 0; i < target->n; i++) {
            if (!export_names(r, target->list[i])) {
                return false;
            }
        }
        return true;
    }
    if (target->kind != CF_N_NAME) {
        return true;
    }
    if (r->exported == NULL) {
        r->exported = cf_t__dict_new(r, 4);
    }
    return r->exported != NULL &&
           cf_t__dict_set(r, r->exported, target->val, r->act->slot[target->slot]);
}

/* ---- output ------------------------------------------------------------- */

static bool print(cf_tr *r, cf_tv v, uint32_t pos)
{
    r->out->pos = pos + 1;
    if (v.k == CF_TSTR && !r->autoescape) {
        cf_t__sb_str(r->out, v.u.s);
    } else if (r->autoescape) {
        cf_tv e = cf_t__escape(r, v);
        if (e.k == CF_TERR) {
            return false;
        }
        cf_t__sb_str(r->out, e.u.s);
    } else {
        cf_t__add_str(r->out, v);
    }
    return !r->out->failed && r->error == CF_TE_NONE;
}

static bool exec_print(cf_tr *r, const cf_tnode *n)
{
    for (uint32_t i = 0; i < n->n; i++) {
        cf_tv v = cf_t__eval(r, n->list[i]);
        if (v.k == CF_TERR || !print(r, v, n->list[i]->pos)) {
            return false;
        }
    }
    return true;
}

/* Runs a body and returns what it printed. */
static cf_tv capture(cf_tr *r, const cf_tbody *body)
{
    cf_tsb b, *out = r->out;
    cf_t__sb_init(&b, r);
    r->out = &b;
    bool ok = cf_t__exec(r, body);
    r->out = out;
    return ok ? cf_t__sb_take(&b, r->autoescape) : CF_TV_ERR;
}

/* ---- loops -------------------------------------------------------------- */

/* The state of a running loop. */
typedef struct loop_run {
    const cf_tnode *node;
    const cf_tgen *filter; /* of its `if`; NULL */
    uint32_t round;
    bool stop; /* after a break */
    bool did;
} loop_run;

/* Records whether the loop has another item. */
static void note_round(cf_tr *r, loop_run *run, bool has_item, cf_tv item)
{
    if (cf_t__records(r)) {
        if (has_item && run->filter != NULL) {
            cf_t__cause_leave(r, run->filter->cause);
        }
        cf_t__cause_round(r, CF_CAUSE_ROUND, run->node->b, has_item, ++run->round, item);
    }
}

/* One round of the body; false on error. */
static bool round_of(cf_tr *r, loop_run *run, cf_tv item)
{
    const cf_tnode *n = run->node;
    uint32_t was = cf_t__cause_now(r);
    note_round(r, run, true, item);
    if (!cf_t__assign(r, n->a, item)) {
        return false;
    }
    enter_frame(r, n->frame);
    if (!cf_t__exec(r, &n->body)) {
        return false;
    }
    /* jinja2 notes that the loop ran at the end of the body, so a break or
     * continue in the first round still lets the else part run. */
    if (r->flow == CF_FLOW_NEXT) {
        run->did = true;
    }
    run->stop = r->flow == CF_FLOW_BREAK;
    r->flow = CF_FLOW_NEXT;
    cf_t__cause_leave(r, was);
    return true;
}

/* All rounds of a loop whose body uses `loop`; false on error. */
static bool run_with_loop(cf_tr *r, loop_run *run, cf_tloop *loop)
{
    cf_tv item;
    int got = 1;
    while (!run->stop && (got = cf_t__loop_next(r, loop, &item)) > 0) {
        r->act->slot[run->node->slot] = (cf_tv){.k = CF_TLOOP, .u.loop = loop};
        if (!round_of(r, run, item)) {
            return false;
        }
    }
    return got >= 0;
}

/* Runs all rounds of a loop whose body does not use `loop`. */
static bool run_plain(cf_tr *r, loop_run *run, cf_tv src)
{
    cf_titer it;
    cf_tv item;
    int got = 1;
    if (!cf_t__iter_init(r, &it, src)) {
        return false;
    }
    while (!run->stop && (got = cf_t__iter_next(r, &it, &item)) > 0) {
        if (!round_of(r, run, item)) {
            return false;
        }
    }
    return got >= 0;
}

static bool run_loop(cf_tr *r, const cf_tnode *n, cf_tv src, uint32_t depth0, cf_tact *outer)
{
    loop_run run = {.node = n};
    cf_tloop *loop = NULL;
    if (n->c != NULL) {
        enter_frame(r, n->frame2);
        cf_tgen *g = cf_t__gen_new(r, CF_GEN_LOOP_TEST, src);
        if (g == NULL || !cf_t__iter_init(r, &g->it, src)) {
            return false;
        }
        g->loop = n;
        g->act = r->act;
        g->outer = cf_t__cause_now(r);
        run.filter = g;
        src = cf_tv_gen(g);
    }
    if (n->has_loop) {
        loop = cf_t__alloc(r, sizeof *loop);
        if (loop == NULL || !cf_t__loop_init(r, loop, src)) {
            return false;
        }
        loop->depth0 = depth0;
        loop->node = n;
        loop->outer = outer;
    }
    if (loop != NULL ? !run_with_loop(r, &run, loop) : !run_plain(r, &run, src)) {
        return false;
    }
    uint32_t was = cf_t__cause_now(r);
    if (!run.stop) {
        note_round(r, &run, false, CF_TV_NONE);
    }
    if (!run.did && n->other.n != 0) {
        enter_frame(r, n->frame3);
        if (!cf_t__exec(r, &n->other)) {
            return false;
        }
    }
    cf_t__cause_leave(r, was);
    return true;
}

static cf_tv run_recursive(cf_tr *r, const cf_tnode *n, cf_tv src, uint32_t depth0, cf_tact *outer)
{
    if (!cf_t__enter(r)) {
        return CF_TV_ERR;
    }
    cf_tact *act = new_act(r, n->func->n_slot, outer), *was = r->act;
    if (act == NULL) {
        return CF_TV_ERR;
    }
    cf_tsb b, *out = r->out;
    cf_t__sb_init(&b, r);
    r->out = &b;
    r->act = act;
    bool ok = run_loop(r, n, src, depth0, outer);
    r->act = was;
    r->out = out;
    cf_t__leave(r);
    return ok ? cf_t__sb_take(&b, r->autoescape) : CF_TV_ERR;
}

cf_tv cf_t__loop_call(cf_tr *r, cf_tloop *loop, const cf_targs *args)
{
    if (args->n != 1 || args->n_kw != 0) {
        return cf_t__fail(r, "loop() takes one argument, what to iterate over");
    }
    if (!loop->node->flag) {
        return cf_t__fail(r, "The loop must have the 'recursive' marker to be "
                             "called recursively.");
    }
    return run_recursive(r, loop->node, args->v[0], loop->depth0 + 1, loop->outer);
}

static bool exec_for(cf_tr *r, const cf_tnode *n)
{
    cf_tv src = cf_t__eval(r, n->b);
    if (src.k == CF_TERR) {
        return false;
    }
    if (!cf_t__can_iterate(src)) {
        cf_t__fail(r, "'%s' object is not iterable", cf_t__type_name(src));
        r->err_pos = n->b->pos + 1;
        r->err_end = n->b->end + 1;
        return false;
    }
    if (!n->flag) {
        return run_loop(r, n, src, 0, r->act);
    }
    cf_tv v = run_recursive(r, n, src, 0, r->act);
    return v.k != CF_TERR && print(r, v, n->pos);
}

/* ---- macros ------------------------------------------------------------- */

static cf_tv macro_value(cf_tr *r, const cf_tnode *n)
{
    cf_tmacro *m = cf_t__alloc(r, sizeof *m);
    if (m == NULL) {
        return CF_TV_ERR;
    }
    *m = (cf_tmacro){n, r->act};
    return (cf_tv){.k = CF_TMACRO, .u.macro = m};
}

/* The keyword argument called `name`; *used notes that it was taken. */
static const cf_tv *take_kw(cf_tr *r, const cf_targs *args, bool *used, const cf_tstr *name)
{
    if (!cf_t__spend(r, 1 + args->n_kw)) {
        return NULL;
    }
    for (uint32_t i = 0; i < args->n_kw; i++) {
        const cf_tstr *k = args->kw[i].name;
        if (!used[i] && k->n == name->n && memcmp(k->p, name->p, k->n) == 0) {
            used[i] = true;
            return &args->kw[i].val;
        }
    }
    return NULL;
}

static bool macro_rest(cf_tr *r, const cf_tnode *n, const cf_targs *args, const bool *used,
                       cf_tact *act)
{
    const cf_tfunc *f = n->func;
    const char *name = n->kind == CF_N_MACRO ? n->val.u.s->p : "caller";
    int name_n = n->kind == CF_N_MACRO ? (int)n->val.u.s->n : 6;
    cf_tdict *rest = f->takes_kwargs ? cf_t__dict_new(r, 0) : NULL;
    for (uint32_t i = 0; i < args->n_kw; i++) {
        if (used[i]) {
            continue;
        }
        if (!f->takes_kwargs) {
            cf_t__fail(r, "macro '%.*s' takes no keyword argument '%.*s'", name_n, name,
                       (int)args->kw[i].name->n, args->kw[i].name->p);
            return false;
        }
        union {
            const cf_tstr *in;
            cf_tstr *out;
        } u = {args->kw[i].name};
        if (rest == NULL || !cf_t__dict_set(r, rest, cf_tv_str(u.out), args->kw[i].val)) {
            return false;
        }
    }
    if (f->takes_kwargs) {
        if (rest == NULL) {
            return false;
        }
        act->slot[f->kwargs_slot] = cf_tv_dict(rest);
    }
    uint32_t extra = args->n > n->n ? args->n - n->n : 0;
    if (f->takes_varargs) {
        cf_tlist *l = cf_t__list_new(r, extra);
        if (l == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < extra; i++) {
            l->v[l->n++] = args->v[n->n + i];
        }
        act->slot[f->varargs_slot] = cf_tv_tuple(l);
    } else if (extra != 0) {
        cf_t__fail(r, "macro '%.*s' takes not more than %u argument(s)", name_n, name,
                   (unsigned)n->n);
        return false;
    }
    return true;
}

static bool macro_args(cf_tr *r, const cf_tnode *n, const cf_targs *args, cf_tv caller,
                       cf_tact *act)
{
    const cf_tfunc *f = n->func;
    bool few[16] = {0}, *used = few;
    if (args->n_kw > 16) {
        used = cf_t__alloc(r, args->n_kw);
        if (used == NULL) {
            return false;
        }
        memset(used, 0, args->n_kw);
    }
    bool found_caller = false;
    for (uint32_t i = 0; i < n->n; i++) {
        const cf_tstr *name = n->list[i]->val.u.s;
        bool is_caller = cf_str_is(cf_str_make(name->p, name->n), "caller");
        found_caller = found_caller || is_caller;
        if (i < args->n) {
            act->slot[f->param[i]] = args->v[i];
            continue;
        }
        const cf_tv *given = take_kw(r, args, used, name);
        if (given != NULL) {
            act->slot[f->param[i]] = *given;
        } else if (is_caller && caller.k != CF_TMISSING) {
            act->slot[f->param[i]] = caller;
            caller = cf_tv_make(CF_TMISSING);
        }
    }
    if (f->takes_caller && !found_caller) {
        if (caller.k == CF_TMISSING) {
            static cf_tstr name = {.p = "caller", .n = 6, .n_cp = 6};
            const cf_tv *given = take_kw(r, args, used, &name);
            caller = given != NULL && given->k != CF_TNONE
                         ? *given
                         : cf_t__undef_hint(r, "No caller defined");
        }
        act->slot[f->caller_slot] = caller;
    } else if (caller.k != CF_TMISSING && n->kind == CF_N_MACRO && !f->takes_kwargs) {
        cf_t__fail(r, "macro '%.*s' takes no caller", (int)n->val.u.s->n, n->val.u.s->p);
        return false;
    }
    return macro_rest(r, n, args, used, act);
}

static bool macro_defaults(cf_tr *r, const cf_tnode *n)
{
    const cf_tfunc *f = n->func;
    for (uint32_t i = 0; i < n->n; i++) {
        cf_tv *slot = &r->act->slot[f->param[i]];
        if (slot->k != CF_TMISSING) {
            continue;
        }
        uint32_t first = n->n - n->n_kw;
        *slot = i >= first ? cf_t__eval(r, n->kw[i - first].val)
                           : cf_t__undef_hint(r, "a parameter was not provided");
        if (slot->k == CF_TUNDEF && i < first) {
            slot->u.undef->name = n->list[i]->val;
        }
        if (slot->k == CF_TERR) {
            return false;
        }
    }
    return true;
}

cf_tv cf_t__macro_call(cf_tr *r, const cf_tmacro *m, const cf_targs *args, cf_tv caller)
{
    const cf_tnode *n = m->node;
    cf_tact *act = new_act(r, n->func->n_slot, m->outer), *was = r->act;
    if (act == NULL || !cf_t__enter(r) || !macro_args(r, n, args, caller, act)) {
        return CF_TV_ERR;
    }
    cf_tsb b, *out = r->out;
    cf_t__sb_init(&b, r);
    r->out = &b;
    r->act = act;
    enter_frame(r, &n->func->frame);
    bool ok = macro_defaults(r, n) && cf_t__exec(r, &n->body);
    r->act = was;
    r->out = out;
    cf_t__leave(r);
    return ok ? cf_t__sb_take(&b, r->autoescape) : CF_TV_ERR;
}

/* The output of a block is written as it is, so it must be a string. */
static bool print_block(cf_tr *r, cf_tv v, uint32_t pos)
{
    if (v.k != CF_TSTR) {
        cf_t__fail(r, "expected str instance, %s found", cf_t__type_name(v));
        return false;
    }
    return print(r, v, pos);
}

static bool exec_call_block(cf_tr *r, const cf_tnode *n)
{
    cf_tv caller = macro_value(r, n);
    if (caller.k == CF_TERR) {
        return false;
    }
    cf_tv v = cf_t__eval_call_block(r, n->a, caller);
    if (v.k == CF_TERR) {
        if (r->err_pos == 0) {
            r->err_pos = n->a->pos + 1;
            r->err_end = n->a->end + 1;
        }
        return false;
    }
    return print_block(r, v, n->pos);
}

/* ---- blocks ------------------------------------------------------------- */

/* Finds the node of the filter chain that takes the captured text. */
static const cf_tnode *body_value(const cf_tnode *chain)
{
    while (chain->kind == CF_N_FILTER) {
        chain = chain->list[0];
    }
    return chain;
}

static cf_tv filtered(cf_tr *r, const cf_tnode *chain, cf_tv text)
{
    if (chain == NULL || text.k == CF_TERR) {
        return text;
    }
    r->act->slot[body_value(chain)->slot] = text;
    return cf_t__eval(r, chain);
}

static bool exec_set_block(cf_tr *r, const cf_tnode *n)
{
    enter_frame(r, n->frame);
    cf_tv v = capture(r, &n->body);
    if (v.k == CF_TERR || r->flow != CF_FLOW_NEXT) {
        return v.k != CF_TERR;
    }
    v = filtered(r, n->b, v);
    if (v.k != CF_TERR && r->autoescape && v.k == CF_TSTR) {
        v = cf_t__str_mark(r, v.u.s, true);
    }
    return v.k != CF_TERR && cf_t__assign(r, n->a, v) && (!n->has_loop || export_names(r, n->a));
}

static bool exec_filter_block(cf_tr *r, const cf_tnode *n)
{
    enter_frame(r, n->frame);
    cf_tv v = capture(r, &n->body);
    if (v.k == CF_TERR || r->flow != CF_FLOW_NEXT) {
        return v.k != CF_TERR;
    }
    v = filtered(r, n->a, v);
    return v.k != CF_TERR && print_block(r, v, n->a->pos);
}

static bool exec_with(cf_tr *r, const cf_tnode *n)
{
    enter_frame(r, n->frame);
    for (uint32_t i = 0; i < n->n; i += 2) {
        cf_tv v = cf_t__eval(r, n->list[i + 1]);
        if (v.k == CF_TERR || !cf_t__assign(r, n->list[i], v)) {
            return false;
        }
    }
    return cf_t__exec(r, &n->body);
}

static bool exec_autoescape(cf_tr *r, const cf_tnode *n)
{
    cf_tv v = cf_t__eval(r, n->a);
    if (v.k == CF_TERR) {
        return false;
    }
    bool was = r->autoescape;
    r->autoescape = cf_t__truth(v);
    enter_frame(r, n->frame);
    bool ok = cf_t__exec(r, &n->body);
    r->autoescape = was;
    return ok;
}

static uint32_t count(const char *p, uint32_t n)
{
    uint32_t cps = 0;
    for (uint32_t i = 0; i < n; i++) {
        cps += ((unsigned char)p[i] & 0xC0) != 0x80;
    }
    return cps;
}

/* transformers counts from what the top level had put out before the block;
 * the block itself is rendered aside, then put out in one piece. */
static bool exec_generation(cf_tr *r, const cf_tnode *n)
{
    r->gens.cp += count(r->root.p + r->gens.cp_bytes, r->root.n - r->gens.cp_bytes);
    r->gens.cp_bytes = r->root.n;
    uint32_t start = r->gens.cp, byte_start = r->root.n;
    enter_frame(r, n->frame);
    cf_tv v = capture(r, &n->body);
    if (v.k == CF_TERR) {
        return false;
    }
    if (r->gens.n == r->gens.cap) {
        uint32_t cap = r->gens.cap < 8 ? 8 : r->gens.cap * 2;
        cf_generation *grown = cf_t__alloc(r, cap * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        if (r->gens.n != 0) {
            memcpy(grown, r->gens.v, r->gens.n * sizeof *grown);
        }
        r->gens.v = grown;
        r->gens.cap = cap;
    }
    r->gens.v[r->gens.n++] =
        (cf_generation){start, start + cf_t__str_cps(v.u.s), byte_start, byte_start + v.u.s->n};
    return print(r, v, n->pos);
}

static bool exec_if(cf_tr *r, const cf_tnode *n)
{
    const cf_tbody *body = &n->other;
    uint32_t was = cf_t__cause_now(r);
    for (uint32_t i = 0; i < n->n; i++) {
        cf_tv test = cf_t__eval(r, n->list[i]);
        if (test.k == CF_TERR) {
            return false;
        }
        bool is_true = cf_t__truth(test);
        cf_t__cause_enter(r, CF_CAUSE_IF, n->list[i], is_true);
        if (is_true) {
            body = &n->bodies[i];
            break;
        }
    }
    if (!cf_t__exec(r, body)) {
        return false; /* causes are kept, because they led to the failure */
    }
    cf_t__cause_leave(r, was);
    return true;
}

/* Attributes can be set on namespaces alone: checked before the value is
 * computed. */
static bool checks_namespaces(cf_tr *r, const cf_tnode *target)
{
    for (uint32_t i = 0; target->kind == CF_N_TUPLE && i < target->n; i++) {
        if (!checks_namespaces(r, target->list[i])) {
            return false;
        }
    }
    return target->kind != CF_N_NSREF || namespace_of(r, target).k != CF_TERR;
}

static bool exec_set(cf_tr *r, const cf_tnode *n)
{
    if (!checks_namespaces(r, n->a)) {
        return false;
    }
    cf_tv v = cf_t__cause_mark(r, cf_t__eval(r, n->b));
    return v.k != CF_TERR && cf_t__assign(r, n->a, v) && (!n->has_loop || export_names(r, n->a));
}

static bool exec_macro(cf_tr *r, const cf_tnode *n)
{
    cf_tv m = macro_value(r, n);
    if (m.k == CF_TERR) {
        return false;
    }
    r->act->slot[n->slot] = m;
    if (n->has_loop) {
        if (r->exported == NULL) {
            r->exported = cf_t__dict_new(r, 4);
        }
        return r->exported != NULL && cf_t__dict_set(r, r->exported, n->val, m);
    }
    return true;
}

static bool exec_data(cf_tr *r, const cf_tnode *n)
{
    cf_t__sb_str(r->out, n->val.u.s);
    return !r->out->failed;
}

static bool exec_block(cf_tr *r, const cf_tnode *n)
{
    enter_frame(r, n->frame);
    return cf_t__exec(r, &n->body);
}

static bool exec_flow(cf_tr *r, const cf_tnode *n)
{
    r->flow = n->kind == CF_N_BREAK ? CF_FLOW_BREAK : CF_FLOW_CONTINUE;
    return true;
}

static bool exec_loader(cf_tr *r, const cf_tnode *n)
{
    (void)n;
    cf_t__fail(r, "no loader for this environment specified: templates "
                  "cannot be included, imported or extended");
    return false;
}

/* By kind of node, from CF_N_DATA on. */
static bool (*const executors[])(cf_tr *r, const cf_tnode *n) = {
    exec_data, /* CF_N_DATA */
    [CF_N_PRINT - CF_N_DATA] = exec_print,
    [CF_N_FOR - CF_N_DATA] = exec_for,
    [CF_N_IF - CF_N_DATA] = exec_if,
    [CF_N_SET - CF_N_DATA] = exec_set,
    [CF_N_SETBLOCK - CF_N_DATA] = exec_set_block,
    [CF_N_MACRO - CF_N_DATA] = exec_macro,
    [CF_N_CALLBLOCK - CF_N_DATA] = exec_call_block,
    [CF_N_FILTERBLOCK - CF_N_DATA] = exec_filter_block,
    [CF_N_WITH - CF_N_DATA] = exec_with,
    [CF_N_AUTOESCAPE - CF_N_DATA] = exec_autoescape,
    [CF_N_BLOCK - CF_N_DATA] = exec_block,
    [CF_N_GENERATION - CF_N_DATA] = exec_generation,
    [CF_N_BREAK - CF_N_DATA] = exec_flow,
    [CF_N_CONTINUE - CF_N_DATA] = exec_flow,
    [CF_N_LOADER - CF_N_DATA] = exec_loader,
};

bool cf_t__exec(cf_tr *r, const cf_tbody *body)
{
    if (!cf_t__enter(r)) {
        return false;
    }
    for (uint32_t i = 0; i < body->n && r->flow == CF_FLOW_NEXT; i++) {
        const cf_tnode *n = body->v[i];
        if (!cf_t__spend(r, 1) || !executors[n->kind - CF_N_DATA](r, n)) {
            if (r->err_pos == 0) {
                r->err_pos = n->pos + 1;
                r->err_end = n->end + 1;
            }
            return false;
        }
    }
    cf_t__leave(r);
    return true;
}

bool cf_t__run(cf_tr *r)
{
    const cf_tfunc *f = &r->tpl->func;
    r->act = new_act(r, f->n_slot, NULL);
    if (r->act == NULL) {
        return false;
    }
    enter_frame(r, &f->frame);
    return cf_t__exec(r, &r->tpl->body) && !r->root.failed;
}
