/*
 * schema_object.c - emits objects as nodes.
 */
#include "core/schema/schema.h"

#include <string.h>

#include "core/base/alloc.h"

enum { BITS_MAX = 63, SOME_MAX = 3, HUB_MAX = 1000 };

/* An object being emitted. */
typedef struct object {
    cf_schema *s;
    const cf_atom *a;
    cf_prop *prop; /* declared keys, and listed keys of small classes */
    uint32_t n_prop;
    uint32_t n_bits;   /* of prop: the first so many have a bit */
    cf_key_class *cls; /* classes with keys beyond listing */
    uint32_t n_cls;
    uint32_t key_op; /* "this key is new", shared */
    uint32_t mark_op, free_label;
    uint32_t close; /* before "}" */
    bool any_order;
    bool is_args; /* of a call in Python */
} object;

/* Keys without quotes. */
static bool has_bare_keys(const object *o)
{
    return o->is_args || cf_dialect__is_fc(o->s);
}

static uint32_t spell(object *o, uint32_t from, cf_str name)
{
    cf_buf t = CF_BUF_INIT;
    if (has_bare_keys(o)) {
        return cf_g_bytes(o->s->b, from, name.p, name.n);
    }
    cf_json_write_str(&t, name);
    if (t.failed) {
        cf_gbuild_oom(o->s->b);
    } else {
        from = cf_g_bytes(o->s->b, from, t.p, t.n);
    }
    cf_buf_deinit(&t);
    return from;
}

static uint32_t label_of(cf_gbuild *b, cf_str name)
{
    char text[70] = ".";
    size_t n = name.n < 60 ? name.n : 60;
    memcpy(text + 1, name.p, n);
    return cf_g_label(b, cf_str_make(text, n + 1));
}

/* Emits what separates a key from its value. */
static uint32_t emit_colon(object *o, uint32_t from)
{
    cf_gbuild *b = o->s->b;
    if (!o->is_args) {
        return cf_emit_colon(o->s, from);
    }
    uint32_t before = cf_g_node(b);
    uint32_t after = cf_g_node(b);
    uint32_t to = cf_g_node(b);
    cf_g_jump(b, from, 0, before);
    cf_g_byte(b, from, ' ', ' ', before);
    cf_g_byte(b, before, '=', '=', after);
    cf_g_jump(b, after, 0, to);
    cf_g_byte(b, after, ' ', ' ', to);
    return to;
}

/* `"name": value`, from `from`; the node after the value. */
static uint32_t emit_pair(object *o, uint32_t from, const cf_prop *p)
{
    cf_gbuild *b = o->s->b;
    uint32_t at = emit_colon(o, spell(o, from, p->name));
    uint32_t to = cf_g_node(b);
    cf_g_call(b, at, cf_conj__rule(o->s, p->value), label_of(b, p->name), to);
    return to;
}

/* ---- free keys ---------------------------------------------------------- */

static uint32_t class_rule(object *o, cf_rx class_keys)
{
    cf_schema *s = o->s;
    bool is_bare = has_bare_keys(o);
    if (class_keys == cf_rx_all(&s->rx) && !is_bare) {
        return cf_key__rule(s);
    }
    for (size_t i = 0; i < s->n_leaf; i++) {
        if (s->leaf[i].min == UINT32_MAX && s->leaf[i].text == class_keys) {
            return s->leaf[i].rule;
        }
    }
    uint32_t rule = cf_g_rule(s->b, "key of a pattern");
    if (!cf_schema_ok(s) || !cf_grow(&s->leaf, &s->cap_leaf, s->n_leaf + 1, sizeof *s->leaf)) {
        cf_gbuild_oom(s->b);
        return 0;
    }
    /* min UINT32_MAX marks a key among the shared rules */
    s->leaf[s->n_leaf++] = (cf_leaf){class_keys, UINT32_MAX, UINT32_MAX, NULL, rule};
    cf_gbuild *b = s->b;
    uint32_t was = b->rule;
    b->rule = rule;
    cf_dfa d;
    cf_rx keys = class_keys;
    if (is_bare) {
        cf_rx id = cf_rx_parse(&s->rx, cf_str_from("[A-Za-z_][A-Za-z0-9_.-]{0,200}"), false);
        keys = cf_rx_and2(&s->rx, keys, id);
    }
    cf_rx_dfa(&s->rx, keys, &d);
    uint32_t end = cf_g_node(b);
    cf_dfa_emit(b, &d, is_bare ? CF_SPELL_RAW : CF_SPELL_KEY, is_bare ? -1 : '"',
                cf_g_start(b, rule), end);
    cf_g_end(b, end, 0);
    cf_dfa_deinit(&d);
    b->rule = was;
    if (b->st == CF_OK) {
        b->g->rule[rule].is_key = true;
    }
    return rule;
}

/* The operation that looks whether a free key is new; declared names are
 * not. */
static uint32_t key_op(object *o)
{
    cf_gbuild *b = o->s->b;
    if (o->key_op != 0) {
        return o->key_op;
    }
    cf_gop op = {.kind = CF_OP_KEY};
    for (uint32_t i = 0; i < o->n_prop && b->st == CF_OK; i++) {
        cf_buf t = CF_BUF_INIT;
        if (has_bare_keys(o)) {
            cf_buf_addc(&t, ' '); /* in the place of the first quote */
            cf_buf_add(&t, o->prop[i].name.p, o->prop[i].name.n);
        } else {
            cf_json_write_str(&t, o->prop[i].name);
        }
        uint32_t at = 0;
        if (t.failed) {
            cf_gbuild_oom(b);
        } else {
            at = cf_g_name(b, cf_str_make(t.p + 1, t.n - 1));
        }
        if (op.n_name == 0) {
            op.name = at;
        }
        op.n_name++;
        cf_buf_deinit(&t);
    }
    o->key_op = cf_g_op(b, &op);
    return o->key_op;
}

/* `"key": value` of a class, from `from` (guarded by `fits`) to `to`. */
static void emit_class(object *o, uint32_t from, uint32_t fits, cf_rx keys, cf_conj value,
                       uint32_t to)
{
    cf_gbuild *b = o->s->b;
    if (o->mark_op == 0) {
        const cf_gop begins = {.kind = CF_OP_MARK};
        o->mark_op = cf_g_op(b, &begins);
        o->free_label = cf_g_label(b, cf_str_from(".*"));
    }
    uint32_t begin = cf_g_node(b);
    uint32_t after = cf_g_node(b);
    uint32_t known = cf_g_node(b);
    uint32_t quote = cf_g_node(b);
    uint32_t marked = cf_g_node(b);
    cf_g_jump(b, from, fits, begin);
    if (has_bare_keys(o)) {
        cf_g_jump(b, begin, 0, quote);
    } else {
        cf_g_byte(b, begin, '"', '"', quote);
    }
    cf_g_jump(b, quote, o->mark_op, marked);
    cf_g_call(b, marked, class_rule(o, keys), 0, after);
    cf_g_jump(b, after, key_op(o), known);
    uint32_t at = emit_colon(o, known);
    cf_g_call(b, at, cf_conj__rule(o->s, value), o->free_label, to);
}

/* ---- the chain: declared order, nothing counted ------------------------- */

static void emit_chain(object *o, uint32_t open)
{
    cf_schema *s = o->s;
    cf_gbuild *b = s->b;
    uint32_t n = o->n_prop;
    uint32_t *choice = cf_schema_alloc(s, (size_t)n + 1, sizeof *choice);
    if (choice == NULL) {
        return;
    }
    bool *may_close = cf_schema_alloc(s, (size_t)n + 1, sizeof *may_close);
    if (may_close == NULL) {
        return;
    }
    may_close[n] = true;
    for (uint32_t i = n; i-- > 0;) {
        may_close[i] = may_close[i + 1] && !o->prop[i].is_required;
    }
    for (uint32_t i = 0; i <= n; i++) {
        choice[i] = cf_g_node(b);
    }
    cf_g_jump(b, open, 0, choice[0]);
    if (may_close[0]) {
        cf_g_jump(b, open, 0, o->close);
    }
    for (uint32_t i = 0; i < n && b->st == CF_OK; i++) {
        const cf_prop *p = &o->prop[i];
        if (!p->is_required) {
            cf_g_jump(b, choice[i], 0, choice[i + 1]);
        }
        if (p->value == CF_CONJ_FALSE) {
            continue;
        }
        uint32_t end = cf_emit_gap(s, emit_pair(o, choice[i], p));
        if (may_close[i + 1]) {
            cf_g_jump(b, end, 0, o->close);
        }
        cf_g_jump(b, cf_emit_comma(s, end), 0, choice[i + 1]);
    }
    if (o->n_cls > 0) {
        cf_gop op = {.kind = CF_OP_FREE, .max = CF_RX_INF};
        uint32_t after = cf_g_node(b);
        uint32_t fits = cf_g_op(b, &op);
        for (uint32_t i = 0; i < o->n_cls && b->st == CF_OK; i++) {
            emit_class(o, choice[n], fits, o->cls[i].keys, o->cls[i].value, after);
        }
        uint32_t end = cf_emit_gap(s, after);
        cf_g_jump(b, end, 0, o->close);
        cf_g_jump(b, cf_emit_comma(s, end), 0, choice[n]);
    }
}

/* ---- the hub: keys as bits ---------------------------------------------- */

static uint64_t bit_of(const object *o, cf_str name)
{
    for (uint32_t i = 0; i < o->n_prop && i < o->n_bits; i++) {
        if (cf_str_eq(o->prop[i].name, name)) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

/* Fills the fields that all operations of the object share; false when a
 * dependency names a key without a bit. */
static bool shared_op(object *o, cf_gop *op)
{
    cf_gbuild *b = o->s->b;
    memset(op, 0, sizeof *op);
    op->min = o->a->min;
    op->max = o->a->max;
    for (uint32_t i = 0; i < o->n_prop; i++) {
        if (!o->prop[i].is_required) {
            continue;
        }
        if (i < o->n_bits) {
            op->need |= UINT64_C(1) << i;
        } else { /* give_bits() has put them side by side */
            op->listed = op->n_listed == 0 ? i : op->listed;
            op->n_listed++;
        }
    }
    for (uint32_t i = 0; i < o->a->n_some_key; i++) {
        op->some |= UINT64_C(1) << (o->n_bits + i);
    }
    op->need |= op->some;
    for (uint32_t i = 0; i < o->a->n_dep && b->st == CF_OK; i++) {
        const cf_dep *d = &o->a->dep[i];
        uint64_t has = bit_of(o, d->has);
        uint64_t needs = bit_of(o, d->needs);
        if (has == 0 || needs == 0) {
            return false;
        }
        uint32_t at = cf_g_dep(b, has, needs);
        op->dep = op->n_dep == 0 ? at : op->dep;
        op->n_dep++;
    }
    return true;
}

void cf_emit__hub_end(cf_schema *s, const cf_gop *op, uint32_t alt, uint32_t n_alt, uint32_t open,
                      uint32_t hub, uint32_t after, uint32_t to)
{
    cf_gbuild *b = s->b;
    cf_gop close = *op;
    close.kind = CF_OP_CLOSE;
    close.alt = alt;
    close.n_alt = n_alt;
    cf_gop more = {.kind = CF_OP_MORE, .alt = alt, .n_alt = n_alt};
    uint32_t close_op = cf_g_op(b, &close);
    uint32_t more_op = cf_g_op(b, &more);
    cf_g_jump(b, open, 0, hub);
    cf_g_jump(b, open, close_op, to);
    uint32_t end = cf_emit_gap(s, after);
    uint32_t comma = cf_g_node(b);
    cf_g_jump(b, end, close_op, to);
    cf_g_jump(b, end, more_op, comma);
    cf_g_jump(b, cf_emit_comma(s, comma), 0, hub);
}

/* A possible next member in the hub: a declared key, or keys of a class, with
 * the conditions of a->some_key that it meets. */
typedef struct member {
    const cf_prop *prop; /* NULL: keys of a class */
    uint32_t bit;        /* of prop */
    cf_rx keys;          /* of a class; CF_RX_FAIL: all classes */
    cf_conj value;
    uint64_t also;
    uint32_t op;
} member;

typedef struct member_list {
    member *v;
    size_t n, cap;
} member_list;

/* Restricts m to values that meet the conditions of `set`; false if none can. */
static bool meets(object *o, member *m, uint64_t set)
{
    cf_schema *s = o->s;
    for (uint32_t i = 0; i < o->a->n_some_key && cf_schema_ok(s); i++) {
        const cf_key_class *some = &o->a->some_key[i];
        if ((set >> i & 1) == 0) {
            continue;
        }
        if (m->prop != NULL && !cf_rx_matches(&s->rx, some->keys, m->prop->name)) {
            return false;
        }
        if (m->prop == NULL) {
            m->keys = cf_rx_and2(&s->rx, m->keys, some->keys);
        }
        m->value = cf_conj__and(s, m->value, some->value);
    }
    m->also = set << o->n_bits;
    return m->value != CF_CONJ_FALSE && (m->prop != NULL || !cf_rx_is_empty(&s->rx, m->keys));
}

static void add_members(object *o, member_list *l, member m, bool is_plain)
{
    uint64_t end = UINT64_C(1) << o->a->n_some_key;
    for (uint64_t set = is_plain ? 0 : 1; set < end; set++) {
        member one = m;
        if (cf_schema_ok(o->s) && (set == 0 || meets(o, &one, set))) {
            l->v[l->n++] = one;
        }
    }
}

static bool list_members(object *o, member_list *l)
{
    cf_schema *s = o->s;
    l->cap = ((size_t)o->n_prop + o->n_cls + 1) << o->a->n_some_key;
    l->n = 0;
    l->v = cf_schema_alloc(s, l->cap, sizeof *l->v);
    for (uint32_t i = 0; l->v != NULL && i < o->n_prop; i++) {
        const cf_prop *p = &o->prop[i];
        if (!cf_conj__is_empty(s, p->value, 0)) {
            member m = {.prop = p, .bit = i, .value = p->value};
            add_members(o, l, m, true);
        }
    }
    if (l->v != NULL && o->n_cls > 0) {
        l->v[l->n++] = (member){.keys = CF_RX_FAIL};
    }
    for (uint32_t i = 0; l->v != NULL && i < o->n_cls; i++) {
        member m = {.keys = o->cls[i].keys, .value = o->cls[i].value};
        add_members(o, l, m, false);
    }
    return cf_schema_ok(s);
}

static void note_class(object *o, cf_gop *op, cf_rx keys, cf_conj value)
{
    cf_gbuild *b = o->s->b;
    uint32_t rule = class_rule(o, keys);
    uint32_t at = cf_g_need(b, rule);
    cf_g_need(b, cf_conj__rule(o->s, value));
    op->name = op->n_name == 0 ? at : op->name;
    op->n_name += 2;
}

/* Completes the operation of a declared key: which keys may be there before
 * it and after it, in the order that is wanted. */
static void set_order(const object *o, cf_gop *op, const member *m, uint64_t live)
{
    uint64_t all = o->n_bits > 0 ? UINT64_MAX >> (64 - o->n_bits) : 0;
    uint64_t below = op->bit - 1;
    uint64_t above = ~(2 * op->bit - 1);
    if (o->s->seed_order) {
        /* required keys in order, then the others in any */
        bool is_needed = m->prop->is_required;
        op->before = is_needed ? below & op->need : all & ~op->bit;
        op->later = live & ~op->bit & (is_needed ? above | ~op->need : ~op->need);
    } else {
        op->before = o->any_order ? all & ~op->bit : below;
        op->later = live & (o->any_order ? ~op->bit : above);
    }
    op->before |= op->some;
    op->later |= op->some;
}

/* The operation that reads a member, with the rules it requires. */
static void member_op(object *o, cf_gop op, member *m, uint64_t live)
{
    cf_gbuild *b = o->s->b;
    op.also = m->also;
    bool has_more = o->n_cls > 0 || o->n_prop > o->n_bits;
    op.rest = has_more ? UINT32_MAX : 0;
    if (m->prop != NULL && m->bit >= o->n_bits) {
        op.kind = CF_OP_NTH;
        op.bit = m->bit;
        op.name = cf_g_need(b, cf_conj__rule(o->s, m->value));
        op.n_name = 1;
    } else if (m->prop != NULL) {
        op.kind = CF_OP_BIT;
        op.bit = UINT64_C(1) << m->bit;
        set_order(o, &op, m, live);
        op.name = cf_g_need(b, cf_conj__rule(o->s, m->value));
        op.n_name = 1;
    } else {
        op.kind = CF_OP_FREE;
        op.is_last = !o->any_order;
        for (uint32_t k = 0; m->keys == CF_RX_FAIL && k < o->n_cls; k++) {
            note_class(o, &op, o->cls[k].keys, o->cls[k].value);
        }
        if (m->keys != CF_RX_FAIL) {
            note_class(o, &op, m->keys, m->value);
        }
    }
    m->op = cf_g_op(b, &op);
}

static void emit_member(object *o, const member *m, uint32_t hub, uint32_t after)
{
    cf_gbuild *b = o->s->b;
    if (m->prop != NULL) {
        const cf_prop p = {m->prop->name, m->value, false};
        uint32_t begin = cf_g_node(b);
        cf_g_jump(b, hub, m->op, begin);
        cf_g_jump(b, emit_pair(o, begin, &p), 0, after);
        return;
    }
    for (uint32_t i = 0; m->keys == CF_RX_FAIL && i < o->n_cls; i++) {
        emit_class(o, hub, m->op, o->cls[i].keys, o->cls[i].value, after);
    }
    if (m->keys != CF_RX_FAIL) {
        emit_class(o, hub, m->op, m->keys, m->value, after);
    }
}

static bool is_in_dep(const object *o, cf_str name)
{
    for (uint32_t i = 0; i < o->a->n_dep; i++) {
        if (cf_str_eq(o->a->dep[i].has, name) || cf_str_eq(o->a->dep[i].needs, name)) {
            return true;
        }
    }
    return false;
}

/* Assigns bits to keys. If there are too many keys, those that depend on others get bits
 * first, then required ones. */
static void give_bits(object *o)
{
    o->n_bits = BITS_MAX - o->a->n_some_key;
    if (o->n_prop <= o->n_bits) {
        o->n_bits = o->n_prop;
        return;
    }
    cf_prop *v = cf_schema_alloc(o->s, o->n_prop, sizeof *v);
    uint32_t n = 0;
    for (int pass = 0; pass < 3 && v != NULL; pass++) {
        for (uint32_t i = 0; i < o->n_prop; i++) {
            const cf_prop *p = &o->prop[i];
            int place = is_in_dep(o, p->name) ? 0 : p->is_required ? 1 : 2;
            if (place == pass) {
                v[n++] = *p;
            }
        }
    }
    o->prop = v != NULL ? v : o->prop;
}

static void emit_hub(object *o, uint32_t open)
{
    cf_schema *s = o->s;
    cf_gbuild *b = s->b;
    cf_gop op;
    member_list l;
    if (o->a->n_some_key <= SOME_MAX) {
        give_bits(o);
    }
    if (o->a->n_some_key > SOME_MAX || !shared_op(o, &op) ||
        (op.n_listed > 0 && op.max != CF_RX_INF)) {
        cf_schema_fail(s, s->at,
                       "counts or dependencies of over %d keys are not "
                       "supported",
                       (int)BITS_MAX);
        return;
    }
    uint32_t hub = cf_g_node(b);
    uint32_t after = cf_g_node(b);
    uint64_t live = 0;
    if (!list_members(o, &l)) {
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        bool has_bit = l.v[i].prop != NULL && l.v[i].bit < o->n_bits;
        live |= has_bit ? UINT64_C(1) << l.v[i].bit : 0;
    }
    /* The operations are adjacent so that MORE can try them all. */
    for (size_t i = 0; i < l.n && b->st == CF_OK; i++) {
        member_op(o, op, &l.v[i], live);
    }
    for (size_t i = 0; i < l.n && b->st == CF_OK; i++) {
        emit_member(o, &l.v[i], hub, after);
    }
    op.n_name = 0;
    for (uint32_t i = 0; i < o->n_prop && b->st == CF_OK; i++) {
        if (o->prop[i].is_required) {
            uint32_t at = cf_g_need(b, cf_conj__rule(s, o->prop[i].value));
            op.name = op.n_name == 0 ? at : op.name;
            op.n_name++;
        }
    }
    cf_emit__hub_end(s, &op, l.n > 0 ? l.v[0].op : 0, (uint32_t)l.n, open, hub, after, o->close);
}

/* ---- choosing ----------------------------------------------------------- */

typedef struct listing {
    object *o;
    cf_conj value;
    size_t cap;
} listing;

static void add_listed(void *ud, cf_str text)
{
    listing *l = ud;
    object *o = l->o;
    for (uint32_t i = 0; i < o->n_prop; i++) {
        if (cf_str_eq(o->prop[i].name, text)) {
            return;
        }
    }
    char *copy = cf_arena_strndup(&o->s->arena, text.p, text.n);
    if (copy == NULL || o->n_prop >= l->cap) {
        cf_gbuild_oom(o->s->b);
        return;
    }
    o->prop[o->n_prop++] = (cf_prop){cf_str_make(copy, text.n), l->value, false};
}

/* Turns the keys of a class with few members into declared keys in any order, because its
 * free keys could run out. */
static bool list_classes(object *o, size_t cap)
{
    cf_schema *s = o->s;
    bool has_listed = false;
    cf_rx all = cf_rx_all(&s->rx);
    for (uint32_t i = 0; i < o->a->n_cls && cf_schema_ok(s); i++) {
        const cf_key_class *c = &o->a->cls[i];
        size_t room = o->n_prop < BITS_MAX ? BITS_MAX - o->n_prop : 0;
        listing l = {o, c->value, cap};
        if (c->keys != all && room > 0 && cf_rx_list(&s->rx, c->keys, room, NULL, NULL)) {
            cf_rx_list(&s->rx, c->keys, room, add_listed, &l);
            has_listed = true;
        } else {
            o->cls[o->n_cls++] = *c;
        }
    }
    return has_listed;
}

static bool is_declared(const object *o, cf_str name)
{
    for (uint32_t i = 0; i < o->n_prop; i++) {
        if (cf_str_eq(o->prop[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void emit_object(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to, bool is_args)
{
    cf_gbuild *b = s->b;
    size_t cap = (size_t)a->n_prop + BITS_MAX + 2 * (size_t)a->n_dep;
    object o = {.s = s, .a = a, .is_args = is_args};
    o.prop = cf_schema_alloc(s, cap, sizeof *o.prop);
    o.cls = cf_schema_alloc(s, a->n_cls, sizeof *o.cls);
    if (o.prop == NULL || o.cls == NULL) {
        return;
    }
    if (a->n_prop > 0) {
        memcpy(o.prop, a->prop, a->n_prop * sizeof *o.prop);
    }
    o.n_prop = a->n_prop;
    for (uint32_t i = 0; i < 2 * a->n_dep; i++) {
        cf_str name = i % 2 == 0 ? a->dep[i / 2].has : a->dep[i / 2].needs;
        if (!is_declared(&o, name)) {
            o.prop[o.n_prop++] = (cf_prop){name, cf_atom__key(s, a, name), false};
        }
    }
    bool has_listed = list_classes(&o, cap);
    uint32_t n_required = 0;
    for (uint32_t i = 0; i < o.n_prop; i++) {
        n_required += o.prop[i].is_required ? 1 : 0;
    }
    bool is_counted = a->min > n_required || a->max != CF_RX_INF;
    bool wants_any = s->opts.order == CF_KEYS_ANY || a->is_mixed || has_listed || s->seed_order;
    uint32_t open = cf_g_node(b);
    o.close = cf_g_node(b);
    uint8_t opener = is_args ? '(' : '{';
    uint8_t closer = is_args ? ')' : '}';
    cf_g_byte(b, from, opener, opener, open);
    cf_g_byte(b, o.close, closer, closer, to);
    open = cf_emit_gap(s, open);
    o.any_order = wants_any;
    if (is_counted || a->n_dep > 0 || a->n_some_key > 0 || (wants_any && o.n_prop <= HUB_MAX)) {
        emit_hub(&o, open);
    } else {
        emit_chain(&o, open);
    }
}

void cf_emit_object(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to)
{
    emit_object(s, a, from, to, false);
}

void cf_emit_arguments(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to)
{
    emit_object(s, a, from, to, true);
}
