/*
 * schema_array.c - emits arrays as nodes.
 *
 * Items are counted in a register where there are limits.  Items that must
 * differ are either keys of a small set (a bit for each value, so that no
 * text leads nowhere), or compared by the machine.  Where some item must
 * satisfy more than the others, each item is read as one that does and as one
 * that need not; a bit says that one did.  Where such items are counted, there
 * is a node for each count, and with a maximum the others must not satisfy it.
 */
#include <stdio.h>
#include <string.h>

#include "core/json/json_same.h"
#include "core/schema/schema.h"

enum { SET_MAX = 63, SOME_MAX = 4, COUNTS_MAX = 2000 };

/* An array being emitted. */
typedef struct array {
    cf_schema *s;
    const cf_atom *a;
    uint32_t close;                   /* node before "]" */
    uint32_t mark_op, seen_op;        /* 0: items may be equal */
    uint64_t need;                    /* a bit for each of a->some */
    uint32_t providers[SOME_MAX][64]; /* rules of items that meet it */
    uint32_t n_providers[SOME_MAX];
} array;

/* An item that satisfies c, from `from`; the node after it. */
static uint32_t emit_value(array *r, uint32_t from, cf_conj c, uint32_t label)
{
    cf_gbuild *b = r->s->b;
    uint32_t to = cf_g_node(b);
    if (r->seen_op == 0) {
        cf_g_call(b, from, cf_conj__rule(r->s, c), label, to);
        return to;
    }
    uint32_t marked = cf_g_node(b);
    uint32_t done = cf_g_node(b);
    cf_g_jump(b, from, r->mark_op, marked);
    cf_g_call(b, marked, cf_conj__rule(r->s, c), label, done);
    cf_g_jump(b, done, r->seen_op, to);
    return to;
}

/* Records that an item of c meets the conditions of `bits`; false if no item can. */
static bool provide(array *r, uint64_t bits, cf_conj c)
{
    for (uint32_t i = 0; i < r->a->n_some; i++) {
        if ((bits >> i & 1) != 0 && r->n_providers[i] < 64) {
            r->providers[i][r->n_providers[i]++] = cf_conj__rule(r->s, c);
        }
    }
    return cf_schema_ok(r->s);
}

/* An item of c in every way that it can meet conditions.  at_most: with a
 * condition open the item is taken while the count is below. */
static uint32_t emit_item(array *r, uint32_t from, cf_conj c, uint32_t at_most, uint32_t label)
{
    cf_schema *s = r->s;
    cf_gbuild *b = s->b;
    if (r->a->n_some == 0) {
        return emit_value(r, from, c, label);
    }
    uint32_t to = cf_g_node(b);
    for (uint64_t set = 0; set < UINT64_C(1) << r->a->n_some; set++) {
        cf_conj both = c;
        for (uint32_t i = 0; i < r->a->n_some; i++) {
            if ((set >> i & 1) != 0) {
                both = cf_conj__and(s, both, r->a->some[i].value);
            }
        }
        if (both == CF_CONJ_FALSE || !provide(r, set, both)) {
            continue;
        }
        cf_gop op = {.kind = CF_OP_SET, .also = set, .need = r->need, .max = at_most};
        uint32_t begin = cf_g_node(b);
        cf_g_jump(b, from, cf_g_op(b, &op), begin);
        cf_g_jump(b, emit_value(r, begin, both, label), 0, to);
    }
    return to;
}

/* Items after the prefix, counted in a register when limits ask for it.
 * `after` is the node after the prefix, 0 without one. */
static void emit_items(array *r, uint32_t first, uint32_t after, uint32_t may_close)
{
    cf_schema *s = r->s;
    cf_gbuild *b = s->b;
    const cf_atom *a = r->a;
    uint32_t n = a->n_prefix;
    uint32_t min = a->min > n ? a->min - n : 0;
    uint32_t max = a->max == CF_RX_INF ? CF_RX_INF : a->max - n;
    uint32_t item = cf_g_node(b); /* an item begins */
    uint32_t enough = 0;
    uint32_t more = 0;
    if (min > 1 || max != CF_RX_INF) {
        cf_gop count = {.kind = CF_OP_COUNT, .max = max};
        cf_gop atleast = {.kind = CF_OP_ATLEAST, .min = min};
        more = cf_g_op(b, &count);
        enough = cf_g_op(b, &atleast);
    }
    uint32_t counted = cf_g_node(b);
    uint32_t label = cf_g_label(b, cf_str_from("[]"));
    uint32_t done = emit_item(r, item, a->items, max, label);
    cf_g_jump(b, counted, more, item);
    uint32_t gap = cf_emit_gap(s, done);
    /* The limit is looked at before the comma, so that none is left over. */
    uint32_t comma = cf_g_node(b);
    cf_g_jump(b, gap, more, comma);
    cf_g_jump(b, cf_emit_comma(s, comma), 0, item);
    cf_g_jump(b, gap, enough, may_close);
    if (after != 0) { /* a prefix comes before: its comma */
        uint32_t comma2 = cf_g_node(b);
        cf_g_jump(b, after, more, comma2);
        cf_g_jump(b, cf_emit_comma(s, comma2), 0, item);
    } else {
        cf_g_jump(b, first, 0, counted);
    }
}

/* From may_close to the bracket: every condition is met. */
static void emit_conditions(array *r, uint32_t may_close)
{
    cf_gbuild *b = r->s->b;
    for (uint32_t i = 0; i < r->a->n_some; i++) {
        cf_gop has = {.kind = CF_OP_HAS, .need = UINT64_C(1) << i};
        for (uint32_t k = 0; k < r->n_providers[i]; k++) {
            uint32_t at = cf_g_need(b, r->providers[i][k]);
            has.name = k == 0 ? at : has.name;
            has.n_name++;
        }
        uint32_t next = cf_g_node(b);
        cf_g_jump(b, may_close, cf_g_op(b, &has), next);
        may_close = next;
    }
    cf_g_jump(b, may_close, 0, r->close);
}

static void emit_list(array *r, uint32_t first)
{
    cf_schema *s = r->s;
    cf_gbuild *b = s->b;
    const cf_atom *a = r->a;
    uint32_t may_close = cf_g_node(b);
    if (a->min == 0) {
        cf_g_jump(b, first, 0, may_close);
    }
    uint32_t after = 0;
    uint32_t n = a->n_prefix < a->max ? a->n_prefix : a->max;
    for (uint32_t i = 0; i < n && cf_schema_ok(s); i++) {
        uint32_t start = first;
        if (after != 0) {
            start = cf_emit_comma(s, after);
        }
        char name[16];
        snprintf(name, sizeof name, "[%u]", (unsigned)i);
        uint32_t label = cf_g_label(b, cf_str_from(name));
        uint32_t at_most = i + 1 == a->max ? 0 : CF_RX_INF;
        after = cf_emit_gap(s, emit_item(r, start, a->prefix[i], at_most, label));
        if (i + 1 >= a->min) {
            cf_g_jump(b, after, 0, may_close);
        }
    }
    if (a->max > a->n_prefix && a->items != CF_CONJ_FALSE) {
        emit_items(r, first, after, may_close);
    }
    emit_conditions(r, may_close);
}

/* ---- items that are counted --------------------------------------------- */

/* The counts of some items, and of all, as one number: a state.  Nothing is
 * left to registers, so what leads nowhere is removed with other dead ends. */
typedef struct counting {
    array *r;
    cf_some some[SOME_MAX + 1]; /* the array's conditions, and that of all items */
    uint32_t cap[SOME_MAX + 1]; /* counts are told apart up to this */
    uint32_t n_some;
    uint32_t n;      /* number of states */
    uint32_t *begin; /* [n] node where an item begins; 0: not reached */
    uint32_t *done;  /* [n] node after an item */
} counting;

static uint32_t count_at(const counting *c, uint32_t state, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++) {
        state /= c->cap[k] + 1;
    }
    return state % (c->cap[i] + 1);
}

static bool has_enough(const counting *c, uint32_t state)
{
    for (uint32_t i = 0; i < c->n_some; i++) {
        if (count_at(c, state, i) < c->some[i].min) {
            return false;
        }
    }
    return true;
}

/* The state after an item that satisfies the conditions of `set`, and what it
 * must be for that; CF_CONJ_FALSE if it cannot be. */
static cf_conj advance(const counting *c, uint32_t *state, uint64_t set, cf_conj item)
{
    cf_schema *s = c->r->s;
    uint32_t step = 1;
    uint32_t next = *state;
    for (uint32_t i = 0; i < c->n_some; i++) {
        const cf_some *some = &c->some[i];
        uint32_t have = count_at(c, *state, i);
        bool is_one = (set >> i & 1) != 0;
        if (is_one && some->max != CF_RX_INF && have >= some->max) {
            return CF_CONJ_FALSE;
        }
        if (is_one) {
            item = cf_conj__and(s, item, some->value);
        } else if (some->max != CF_RX_INF) {
            item = cf_conj__and(s, item, cf_conj__not(s, some->value));
        }
        next += is_one && have < c->cap[i] ? step : 0;
        step *= c->cap[i] + 1;
    }
    *state = next;
    return item;
}

/* The items that may follow in each state: from c->begin to c->done. */
static void emit_counted_item(counting *c, cf_conj item, uint32_t label)
{
    cf_gbuild *b = c->r->s->b;
    uint64_t all = UINT64_C(1) << c->r->a->n_some; /* the bit of all items */
    memset(c->done, 0, c->n * sizeof *c->done);
    for (uint32_t from = 0; from < c->n; from++) {
        for (uint64_t set = 0; c->begin[from] != 0 && set < all && b->st == CF_OK; set++) {
            uint32_t to = from;
            cf_conj one = advance(c, &to, set | all, item);
            if (one != CF_CONJ_FALSE) {
                c->done[to] = c->done[to] != 0 ? c->done[to] : cf_g_node(b);
                cf_g_jump(b, emit_value(c->r, c->begin[from], one, label), 0, c->done[to]);
            }
        }
    }
}

/* What follows an item in each state: the end, or a comma and c->begin. */
static void emit_counted_rest(counting *c)
{
    cf_schema *s = c->r->s;
    cf_gbuild *b = s->b;
    for (uint32_t i = 0; i < c->n && cf_schema_ok(s); i++) {
        if (c->done[i] == 0) {
            continue;
        }
        uint32_t gap = cf_emit_gap(s, c->done[i]);
        if (has_enough(c, i)) {
            cf_g_jump(b, gap, 0, c->r->close);
        }
        c->begin[i] = c->begin[i] != 0 ? c->begin[i] : cf_g_node(b);
        cf_g_jump(b, cf_emit_comma(s, gap), 0, c->begin[i]);
    }
}

/* Makes the states; false when there are too many. */
static bool make_states(counting *c)
{
    cf_schema *s = c->r->s;
    const cf_atom *a = c->r->a;
    if (a->n_some > 0) {
        memcpy(c->some, a->some, a->n_some * sizeof *c->some);
    }
    c->some[a->n_some] = (cf_some){CF_CONJ_TRUE, a->min, a->max};
    c->n_some = a->n_some + 1;
    c->n = 1;
    for (uint32_t i = 0; i < c->n_some; i++) {
        c->cap[i] = c->some[i].max != CF_RX_INF ? c->some[i].max : c->some[i].min;
        if (c->cap[i] >= COUNTS_MAX || c->n * (c->cap[i] + 1) > COUNTS_MAX) {
            cf_schema__exceed(s, s->at, "contains with minContains or maxContains counts too far");
            return false;
        }
        c->n *= c->cap[i] + 1;
    }
    c->begin = cf_schema_alloc(s, c->n, sizeof *c->begin);
    c->done = cf_schema_alloc(s, c->n, sizeof *c->done);
    return cf_schema_ok(s) && cf_gbuild_spend(s->b, c->n);
}

static void emit_counted(array *r, uint32_t first)
{
    cf_schema *s = r->s;
    cf_gbuild *b = s->b;
    const cf_atom *a = r->a;
    counting c = {.r = r};
    if (!make_states(&c)) {
        return;
    }
    if (has_enough(&c, 0)) {
        cf_g_jump(b, first, 0, r->close);
    }
    c.begin[0] = first;
    for (uint32_t i = 0; i < a->n_prefix && cf_schema_ok(s); i++) {
        char name[16];
        snprintf(name, sizeof name, "[%u]", (unsigned)i);
        emit_counted_item(&c, a->prefix[i], cf_g_label(b, cf_str_from(name)));
        memset(c.begin, 0, c.n * sizeof *c.begin);
        emit_counted_rest(&c);
    }
    for (uint32_t i = 0; i < c.n && cf_schema_ok(s); i++) {
        c.begin[i] = c.begin[i] != 0 ? c.begin[i] : cf_g_node(b);
    }
    emit_counted_item(&c, a->items, cf_g_label(b, cf_str_from("[]")));
    emit_counted_rest(&c);
}

/* ---- items of a small set ----------------------------------------------- */

typedef struct value_list {
    const json_t *v[SET_MAX];
    size_t n;
    bool is_over;
} value_list;

static void add_value(value_list *l, const json_t *v)
{
    for (size_t i = 0; i < l->n; i++) {
        if (cf_json_same(l->v[i], v)) {
            return;
        }
    }
    if (v == NULL || l->n == SET_MAX) {
        l->is_over = true;
        return;
    }
    l->v[l->n++] = v;
}

static void add_made(cf_schema *s, value_list *l, json_t *v)
{
    if (v == NULL || json_array_append_new(s->made, v) != 0) {
        cf_gbuild_oom(s->b);
        return;
    }
    add_value(l, v);
}

/* Whole numbers between two bounds that are not far apart. */
static void add_range(cf_schema *s, value_list *l, const cf_atom *a)
{
    int64_t lo;
    int64_t hi;
    if (a->num != CF_NUM_INT || !cf_dec__to_int(a->lo, true, &lo) ||
        !cf_dec__to_int(a->hi, false, &hi) || hi - lo >= SET_MAX) {
        l->is_over = true;
        return;
    }
    for (int64_t i = lo; i <= hi && cf_schema_ok(s); i++) {
        json_t *v = json_integer((json_int_t)i);
        if (v != NULL && !cf_atom__accepts(s, a, v)) {
            json_decref(v);
            continue;
        }
        add_made(s, l, v);
    }
}

/* Lists the values that satisfy c if there are few. */
static bool list_values(cf_schema *s, cf_conj c, value_list *l)
{
    memset(l, 0, sizeof *l);
    const cf_dnf *d = cf_conj_expand(s, c);
    for (size_t i = 0; i < d->n && !l->is_over && cf_schema_ok(s); i++) {
        const cf_atom *a = d->v[i];
        switch (a->kind) {
        case CF_ATOM_LIT:
            add_value(l, a->lit);
            break;
        case CF_ATOM_NULL:
            add_made(s, l, json_null());
            break;
        case CF_ATOM_BOOL:
            if ((a->bools & 1) != 0) {
                add_made(s, l, json_false());
            }
            if ((a->bools & 2) != 0) {
                add_made(s, l, json_true());
            }
            break;
        case CF_ATOM_NUM:
            add_range(s, l, a);
            break;
        default:
            l->is_over = true;
        }
    }
    return !l->is_over && cf_schema_ok(s);
}

/* Different values of the list, each with a bit. */
static void emit_set(array *r, const value_list *l, uint32_t first)
{
    cf_schema *s = r->s;
    cf_gbuild *b = s->b;
    uint64_t all = l->n > 0 ? UINT64_MAX >> (64 - l->n) : 0;
    uint32_t hub = cf_g_node(b);
    uint32_t after = cf_g_node(b);
    uint32_t label = cf_g_label(b, cf_str_from("[]"));
    uint32_t op_of[SET_MAX];
    uint32_t rule_of[SET_MAX];
    cf_gop op = {.kind = CF_OP_BIT, .min = r->a->min, .max = r->a->max};
    for (size_t i = 0; i < l->n && cf_schema_ok(s); i++) {
        op.bit = UINT64_C(1) << i;
        op.before = all & ~op.bit;
        op.later = all & ~op.bit;
        rule_of[i] = cf_conj__rule(s, cf_conj__of_constant(s, l->v[i]));
        op.name = cf_g_need(b, rule_of[i]);
        op.n_name = 1;
        op_of[i] = cf_g_op(b, &op);
    }
    for (size_t i = 0; i < l->n && cf_schema_ok(s); i++) {
        uint32_t begin = cf_g_node(b);
        cf_g_jump(b, hub, op_of[i], begin);
        cf_g_call(b, begin, rule_of[i], label, after);
    }
    uint32_t alt = l->n > 0 ? op_of[0] : 0;
    op.n_name = 0;
    cf_emit__hub_end(s, &op, alt, (uint32_t)l->n, first, hub, after, r->close);
}

/* ---- the array ---------------------------------------------------------- */

/* Gives each condition its bit; whether they must be counted. */
static bool take_conditions(array *r)
{
    bool is_counted = false;
    if (r->a->n_some > SOME_MAX) {
        cf_schema_fail(r->s, r->s->at, "contains is there too often");
    }
    for (uint32_t i = 0; i < r->a->n_some; i++) {
        is_counted = is_counted || r->a->some[i].min != 1 || r->a->some[i].max != CF_RX_INF;
        r->need |= UINT64_C(1) << i;
    }
    return is_counted;
}

void cf_emit__array(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to)
{
    cf_gbuild *b = s->b;
    array r = {.s = s, .a = a};
    value_list l = {.is_over = true};
    bool is_counted = take_conditions(&r);
    if (!cf_schema_ok(s)) {
        return;
    }
    uint32_t open = cf_g_node(b);
    r.close = cf_g_node(b);
    cf_g_byte(b, from, '[', '[', open);
    cf_g_byte(b, r.close, ']', ']', to);
    uint32_t first = cf_emit_gap(s, open);
    if (a->is_unique && a->n_prefix == 0 && a->n_some == 0) {
        list_values(s, a->items, &l);
    }
    if (!l.is_over) {
        emit_set(&r, &l, first);
        return;
    }
    if (a->is_unique && s->dialect != CF_DIALECT_JSON) {
        cf_schema_fail(s, s->at, "uniqueItems is not supported in this syntax");
        return;
    }
    if (a->is_unique && cf_schema_ok(s)) {
        const cf_gop mark = {.kind = CF_OP_MARK};
        const cf_gop seen = {.kind = CF_OP_DISTINCT};
        r.mark_op = cf_g_op(b, &mark);
        r.seen_op = cf_g_op(b, &seen);
        if (cf_schema_ok(s)) {
            b->g->rule[b->rule].is_compared = true;
        }
    }
    if (is_counted) {
        emit_counted(&r, first);
    } else {
        emit_list(&r, first);
    }
}
