/*
 * schema_emit.c - turns atoms into nodes.
 *
 * Each conj is a rule; strings, numbers and keys are rules of their own that
 * all share.  Two forms of objects: a chain of nodes when keys come in their
 * declared order and nothing is counted, and otherwise a hub whose keys are
 * bits in a register.
 */
#include "core/schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/schema/json_char.h"

/* ---- white space -------------------------------------------------------- */

uint32_t cf_emit_gap(cf_schema *s, uint32_t from)
{
    cf_gbuild *b = s->b;
    if (s->opts.space != CF_SPACE_FLEXIBLE || cf_dialect__is_fc(s)) {
        return from;
    }
    uint32_t to = cf_g_node(b);
    uint32_t line = cf_g_node(b);
    uint32_t cr = cf_g_node(b);
    cf_g_jump(b, from, 0, to);
    cf_g_byte(b, from, ' ', ' ', to);
    cf_g_byte(b, from, '\n', '\n', line);
    cf_g_byte(b, from, '\r', '\r', cr);
    cf_g_byte(b, cr, '\n', '\n', line);
    cf_g_byte(b, line, ' ', ' ', line);
    cf_g_byte(b, line, '\t', '\t', line);
    cf_g_jump(b, line, 0, to);
    return to;
}

uint32_t cf_emit_colon(cf_schema *s, uint32_t from)
{
    cf_gbuild *b = s->b;
    uint32_t at = cf_g_node(b);
    cf_g_byte(b, from, ':', ':', at);
    if (s->opts.space == CF_SPACE_COMPACT || cf_dialect__is_fc(s)) {
        return at;
    }
    uint32_t to = cf_g_node(b);
    cf_g_byte(b, at, ' ', ' ', to);
    if (s->opts.space == CF_SPACE_FLEXIBLE) {
        cf_g_jump(b, at, 0, to);
    }
    return to;
}

uint32_t cf_emit_comma(cf_schema *s, uint32_t from)
{
    cf_gbuild *b = s->b;
    uint32_t at = cf_g_node(b);
    cf_g_byte(b, from, ',', ',', at);
    if (s->opts.space == CF_SPACE_PYTHON && !cf_dialect__is_fc(s)) {
        uint32_t to = cf_g_node(b);
        cf_g_byte(b, at, ' ', ' ', to);
        return to;
    }
    return cf_emit_gap(s, at);
}

/* ---- strings, keys, numbers --------------------------------------------- */

/* min to max characters of any kind, counted in a register. */
static void emit_counted_string(cf_gbuild *b, uint32_t rule, uint32_t min, uint32_t max)
{
    b->rule = rule;
    uint32_t body = cf_g_node(b);
    uint32_t one = cf_g_node(b);
    uint32_t quote = cf_g_node(b);
    uint32_t end = cf_g_node(b);
    cf_gop count = {.kind = CF_OP_COUNT, .min = min, .max = max, .node = end};
    cf_gop enough = {.kind = CF_OP_ATLEAST, .min = min};
    uint32_t count_op = cf_g_op(b, &count);
    cf_g_byte(b, cf_g_start(b, rule), '"', '"', body);
    cf_g_jump(b, body, count_op, one);
    cf_json_char(b, one, body, false);
    cf_g_jump(b, body, cf_g_op(b, &enough), quote);
    cf_g_byte(b, quote, '"', '"', end);
    cf_g_end(b, end, 0);
    if (b->st == CF_OK) {
        b->g->node[one].tag = CF_TAG_STR_COUNT;
        b->g->node[one].arg = count_op;
    }
}

/* Strings of a pattern with min to max characters: the automaton of both, or
 * where that is large the pattern's with a counter. */
static void emit_pattern_string(cf_schema *s, uint32_t rule, cf_rx text, uint32_t min, uint32_t max)
{
    enum { PRODUCT_MAX = 4000 };
    cf_gbuild *b = s->b;
    cf_dfa d;
    cf_rx_dfa(&s->rx, text, &d);
    bool is_limited = min > 0 || max != CF_RX_INF;
    uint64_t product = (uint64_t)d.n_state * (max != CF_RX_INF ? max : min);
    bool is_counted = is_limited && product > PRODUCT_MAX;
    if (is_limited && !is_counted) {
        cf_rx len = cf_rx_loop(&s->rx, cf_rx_any(&s->rx), min, max);
        cf_dfa_deinit(&d);
        cf_rx_dfa(&s->rx, cf_rx_and2(&s->rx, text, len), &d);
    }
    b->rule = rule;
    uint32_t body = cf_g_node(b);
    uint32_t end = cf_g_node(b);
    cf_g_byte(b, cf_g_start(b, rule), '"', '"', body);
    if (is_counted) {
        cf_dfa_emit_counted(b, &d, CF_SPELL_JSON, '"', min, max, body, end);
    } else {
        cf_dfa_emit(b, &d, CF_SPELL_JSON, '"', body, end);
    }
    cf_g_end(b, end, 0);
    cf_dfa_deinit(&d);
}

static cf_leaf *new_leaf(cf_schema *s, cf_leaf leaf, const char *name)
{
    if (!cf_schema_ok(s) || !cf_grow(&s->leaf, &s->cap_leaf, s->n_leaf + 1, sizeof *s->leaf)) {
        cf_gbuild_oom(s->b);
        return NULL;
    }
    leaf.rule = cf_g_rule(s->b, name);
    s->leaf[s->n_leaf] = leaf;
    return &s->leaf[s->n_leaf++];
}

uint32_t cf_key__rule(cf_schema *s)
{
    if (s->key_rule == 0) {
        s->key_rule = cf_g_rule(s->b, "key");
        uint32_t was = s->b->rule;
        cf_json_string(s->b, s->key_rule, true);
        s->b->rule = was;
        if (cf_schema_ok(s)) {
            s->b->g->rule[s->key_rule].is_key = true;
        }
    }
    return s->key_rule;
}

static uint32_t string_rule(cf_schema *s, cf_rx text, uint32_t min, uint32_t max)
{
    for (size_t i = 0; i < s->n_leaf; i++) {
        const cf_leaf *l = &s->leaf[i];
        if (l->num == NULL && l->text == text && l->min == min && l->max == max) {
            return l->rule;
        }
    }
    const bool is_free = text == cf_rx_all(&s->rx);
    const cf_leaf *l =
        new_leaf(s, (cf_leaf){text, min, max, NULL, 0}, is_free ? "string" : "string of a pattern");
    if (l == NULL) {
        return 0;
    }
    uint32_t rule = l->rule;
    uint32_t was = s->b->rule;
    if (s->dialect != CF_DIALECT_JSON) {
        cf_rx len = cf_rx_loop(&s->rx, cf_rx_any(&s->rx), min, max);
        cf_dfa d;
        cf_rx_dfa(&s->rx, cf_dialect__texts(s, cf_rx_and2(&s->rx, text, len)), &d);
        cf_dialect__string(s, rule, &d);
        cf_dfa_deinit(&d);
    } else if (is_free && min == 0 && max == CF_RX_INF) {
        cf_json_string(s->b, rule, false);
    } else if (is_free) {
        char name[60];
        snprintf(name, sizeof name, "string of %u%s characters", (unsigned)min,
                 max == CF_RX_INF ? " or more" : " or more, limited,");
        cf_g_rename(s->b, rule, name);
        emit_counted_string(s->b, rule, min, max);
    } else {
        emit_pattern_string(s, rule, text, min, max);
    }
    s->b->rule = was;
    return rule;
}

static bool same_number(const cf_atom *x, const cf_atom *y)
{
    if (x == y) {
        return true;
    }
    if (x->num != y->num || x->n_factor + y->n_factor + x->n_not_factor + y->n_not_factor != 0 ||
        x->n_except + y->n_except != 0 || (x->lo == NULL) != (y->lo == NULL) ||
        (x->hi == NULL) != (y->hi == NULL)) {
        return false;
    }
    return (x->lo == NULL || (cf_dec__cmp(x->lo, y->lo) == 0 && x->lo_open == y->lo_open)) &&
           (x->hi == NULL || (cf_dec__cmp(x->hi, y->hi) == 0 && x->hi_open == y->hi_open));
}

static uint32_t num_rule(cf_schema *s, const cf_atom *a)
{
    for (size_t i = 0; i < s->n_leaf; i++) {
        if (s->leaf[i].num != NULL && same_number(s->leaf[i].num, a)) {
            return s->leaf[i].rule;
        }
    }
    const cf_leaf *l =
        new_leaf(s, (cf_leaf){CF_RX_FAIL, 0, 0, a, 0}, a->num == CF_NUM_INT ? "integer" : "number");
    if (l == NULL) {
        return 0;
    }
    uint32_t rule = l->rule;
    uint32_t was = s->b->rule;
    s->b->rule = rule;
    cf_dfa d;
    cf_num__dfa(s, a, &d);
    uint32_t end = cf_g_node(s->b);
    cf_dfa_emit(s->b, &d, CF_SPELL_RAW, -1, cf_g_start(s->b, rule), end);
    cf_g_end(s->b, end, 0);
    cf_dfa_deinit(&d);
    s->b->rule = was;
    return rule;
}

/* ---- literals ----------------------------------------------------------- */

static uint32_t emit_lit_number(cf_schema *s, uint32_t from, const json_t *v)
{
    cf_gbuild *b = s->b;
    const cf_dec *d = cf_dec__from(s, v);
    if (d == NULL || d->n_whole + d->n_frac > 400) {
        return from;
    }
    uint32_t to = cf_g_node(b);
    cf_buf t = CF_BUF_INIT;
    cf_json_write(&t, v);
    if (t.failed) {
        cf_gbuild_oom(b);
    } else if (memchr(t.p, 'e', t.n) != NULL) {
        cf_g_bytes_to(b, from, t.p, t.n, to); /* for extreme exponents: 1e+100 */
    }
    cf_buf_deinit(&t);
    if (d->neg) {
        from = cf_g_bytes(b, from, "-", 1);
    }
    from = d->n_whole > 0 ? cf_g_bytes(b, from, d->whole, d->n_whole) : cf_g_bytes(b, from, "0", 1);
    if (d->n_frac > 0) {
        from = cf_g_bytes(b, from, ".", 1);
        from = cf_g_bytes(b, from, d->frac, d->n_frac);
    } else {
        cf_g_bytes_to(b, from, ".0", 2, to);
    }
    cf_g_jump(b, from, 0, to);
    return to;
}

static uint32_t emit_literal(cf_schema *s, uint32_t from, const json_t *v)
{
    cf_gbuild *b = s->b;
    if (!cf_gbuild_spend(b, 1) || ++s->depth > 200) {
        cf_gbuild_fail(b, CF_ELIMIT, "a constant nests too deeply");
        return from;
    }
    if (json_is_string(v)) {
        from = cf_emit_text(s, from, cf_schema__text(v));
    } else if (json_is_number(v)) {
        from = emit_lit_number(s, from, v);
    } else if (json_is_object(v)) {
        json_t *in = cf_json_ref(v);
        const char *key;
        size_t len;
        json_t *child;
        bool is_first = true;
        from = cf_emit_gap(s, cf_g_bytes(b, from, "{", 1));
        json_object_keylen_foreach(in, key, len, child)
        {
            if (!is_first) {
                from = cf_emit_comma(s, cf_emit_gap(s, from));
            }
            is_first = false;
            from = cf_dialect__is_fc(s) ? cf_g_bytes(b, from, key, len)
                                        : cf_emit_text(s, from, cf_str_make(key, len));
            from = emit_literal(s, cf_emit_colon(s, from), child);
        }
        from = cf_g_bytes(b, is_first ? from : cf_emit_gap(s, from), "}", 1);
    } else if (json_is_array(v)) {
        from = cf_emit_gap(s, cf_g_bytes(b, from, "[", 1));
        for (size_t i = 0; i < json_array_size(v); i++) {
            if (i > 0) {
                from = cf_emit_comma(s, cf_emit_gap(s, from));
            }
            from = emit_literal(s, from, json_array_get(v, i));
        }
        from = cf_g_bytes(b, json_array_size(v) > 0 ? cf_emit_gap(s, from) : from, "]", 1);
    } else {
        const char *t = cf_dialect__word(s, json_is_null(v) ? 0 : json_is_true(v) ? 1 : 2);
        from = cf_g_bytes(b, from, t, strlen(t));
    }
    s->depth--;
    return from;
}

/* String constants as a tree, so that a thousand of them are one position. */
static int by_text(const void *x, const void *y)
{
    const cf_str *a = x;
    const cf_str *b = y;
    size_t n = a->n < b->n ? a->n : b->n;
    int c = memcmp(a->p, b->p, n);
    return c != 0 ? c : (a->n > b->n) - (a->n < b->n);
}

static void emit_tree(cf_schema *s, const cf_str *v, size_t n, uint32_t from, uint32_t to)
{
    /* Iterative: each text joins the path of the one before it. */
    enum { PATH_MAX_ = 4096 };
    uint32_t *path = cf_schema_alloc(s, PATH_MAX_, sizeof *path);
    if (path == NULL) {
        return;
    }
    path[0] = from;
    for (size_t i = 0; i < n && cf_schema_ok(s); i++) {
        size_t same = 0;
        while (i > 0 && same < v[i].n && same < v[i - 1].n && same < PATH_MAX_ - 1 &&
               v[i].p[same] == v[i - 1].p[same]) {
            same++;
        }
        if (i > 0 && same == v[i].n && same == v[i - 1].n) {
            continue;
        }
        uint32_t at = path[same];
        for (size_t k = same; k + 1 < v[i].n && cf_schema_ok(s); k++) {
            uint32_t next = cf_g_node(s->b);
            cf_g_byte(s->b, at, (uint8_t)v[i].p[k], (uint8_t)v[i].p[k], next);
            at = next;
            if (k + 1 < PATH_MAX_) {
                path[k + 1] = at;
            }
        }
        uint8_t last = (uint8_t)v[i].p[v[i].n - 1];
        cf_g_byte(s->b, at, last, last, to);
    }
}

static void emit_strings(cf_schema *s, const cf_dnf *d, uint32_t from, uint32_t to)
{
    if (s->dialect != CF_DIALECT_JSON) {
        for (size_t i = 0; i < d->n && cf_schema_ok(s); i++) {
            const json_t *t = d->v[i]->lit;
            if (d->v[i]->kind == CF_ATOM_LIT && json_is_string(t)) {
                cf_str text = cf_schema__text(t);
                cf_g_jump(s->b, cf_emit_text(s, from, text), 0, to);
            }
        }
        return;
    }
    cf_str *v = cf_schema_alloc(s, d->n, sizeof *v);
    size_t n = 0;
    for (size_t i = 0; v != NULL && i < d->n && cf_schema_ok(s); i++) {
        if (d->v[i]->kind != CF_ATOM_LIT || !json_is_string(d->v[i]->lit)) {
            continue;
        }
        cf_buf t = CF_BUF_INIT;
        cf_json_write_str(&t, cf_schema__text(d->v[i]->lit));
        v[n].p = cf_arena_strndup(&s->arena, cf_buf_cstr(&t), t.n);
        v[n].n = t.n;
        if (t.failed || v[n].p == NULL) {
            cf_gbuild_oom(s->b);
        }
        n++;
        cf_buf_deinit(&t);
    }
    if (n > 0 && cf_schema_ok(s)) {
        qsort(v, n, sizeof *v, by_text);
        emit_tree(s, v, n, from, to);
    }
}

/* ---- rules -------------------------------------------------------------- */

/* With more constants than this at one place, objects among them keep the
 * order they are written in: each order is a reading of its own. */
enum { FREE_ORDER_MAX = 100 };

/* Whether a constant holds an object whose keys can change places. */
static bool has_free_order(const cf_schema *s, const json_t *v)
{
    if (s->opts.order != CF_KEYS_ANY || s->seed_order) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (has_free_order(s, json_array_get(v, i))) {
            return true;
        }
    }
    json_t *in = cf_json_ref(v);
    const char *key;
    json_t *child;
    json_object_foreach(in, key, child)
    {
        if (has_free_order(s, child)) {
            return true;
        }
    }
    return json_object_size(v) > 1;
}

static void describe(char *out, size_t size, const cf_dnf *d)
{
    static const char *const names[] = {"null",  "boolean", "number",  "string",
                                        "array", "object",  "constant"};
    size_t n_lit = 0;
    unsigned kinds = 0;
    for (size_t i = 0; i < d->n; i++) {
        kinds |= 1u << d->v[i]->kind;
        n_lit += d->v[i]->kind == CF_ATOM_LIT ? 1 : 0;
    }
    if (n_lit > 1 && n_lit == d->n) {
        snprintf(out, size, "one of %u values", (unsigned)n_lit);
        return;
    }
    if (kinds == 63) {
        snprintf(out, size, "any value");
        return;
    }
    size_t n = 0;
    out[0] = '\0';
    for (int k = 0; k < 7; k++) {
        if ((kinds >> k & 1) != 0 && n < size) {
            int w = snprintf(out + n, size - n, "%s%s", n > 0 ? " or " : "", names[k]);
            n += w > 0 ? (size_t)w : 0;
        }
    }
}

static void emit_word(cf_schema *s, int which, uint32_t from, uint32_t to)
{
    const char *word = cf_dialect__word(s, which);
    cf_g_bytes_to(s->b, from, word, strlen(word), to);
}

static void emit_atom(cf_schema *s, const cf_atom *a, uint32_t from, uint32_t to, bool is_free)
{
    cf_gbuild *b = s->b;
    switch (a->kind) {
    case CF_ATOM_NULL:
        emit_word(s, 0, from, to);
        break;
    case CF_ATOM_BOOL:
        for (int i = 1; i <= 2; i++) {
            if ((a->bools & (i == 1 ? 2 : 1)) != 0) {
                emit_word(s, i, from, to);
            }
        }
        break;
    case CF_ATOM_NUM:
        cf_g_call(b, from, num_rule(s, a), 0, to);
        break;
    case CF_ATOM_STR:
        cf_g_call(b, from, string_rule(s, a->text, a->min, a->max), 0, to);
        break;
    case CF_ATOM_ARR:
        cf_emit__array(s, a, from, to);
        break;
    case CF_ATOM_OBJ:
        cf_emit_object(s, a, from, to);
        break;
    default:
        if (is_free && has_free_order(s, a->lit)) {
            a = cf_atom__of_constant(s, a->lit);
            if (a != NULL) {
                emit_atom(s, a, from, to, false);
            }
        } else if (!json_is_string(a->lit)) {
            cf_g_jump(b, emit_literal(s, from, a->lit), 0, to);
        }
        break;
    }
}

uint32_t cf_conj__rule(cf_schema *s, cf_conj c)
{
    if (!cf_schema_ok(s)) {
        return 0;
    }
    if (s->conj[c].rule != 0) {
        return s->conj[c].rule;
    }
    if (!cf_grow(&s->pending, &s->cap_pending, s->n_pending + 1, sizeof *s->pending)) {
        cf_gbuild_oom(s->b);
        return 0;
    }
    uint32_t rule = cf_g_rule(s->b, "value");
    s->conj[c].rule = rule;
    s->pending[s->n_pending++] = c;
    return rule;
}

void cf_schema_emit_all(cf_schema *s)
{
    while (s->n_pending > 0 && cf_schema_ok(s)) {
        cf_conj c = s->pending[--s->n_pending];
        uint32_t rule = s->conj[c].rule;
        const cf_dnf *d = cf_conj_expand(s, c);
        if (!cf_schema_ok(s)) {
            return;
        }
        char name[100];
        describe(name, sizeof name, d);
        s->at = c > CF_CONJ_FALSE ? s->ref[s->list[s->conj[c].first] >> 1].path : "$";
        cf_g_rename(s->b, rule, name);
        s->b->rule = rule;
        s->depth = 0;
        uint32_t from = cf_g_start(s->b, rule);
        uint32_t to = cf_g_node(s->b);
        cf_g_end(s->b, to, 0);
        emit_strings(s, d, from, to);
        size_t n_lit = 0;
        for (size_t i = 0; i < d->n; i++) {
            const json_t *lit = d->v[i]->lit;
            n_lit += json_is_object(lit) || json_is_array(lit) ? 1 : 0;
        }
        for (size_t i = 0; i < d->n && cf_schema_ok(s); i++) {
            emit_atom(s, d->v[i], from, to, n_lit <= FREE_ORDER_MAX);
        }
    }
}

uint32_t cf_schema__rule(cf_gbuild *b, const json_t *schema, const cf_grammar_options *opts)
{
    cf_schema s;
    uint32_t rule = 0;
    if (!json_is_object(schema) && !json_is_boolean(schema)) {
        cf_gbuild_fail(b, CF_EFORMAT, "a schema is an object, true or false");
        return rule;
    }
    cf_schema_init(&s, b, schema, opts);
    if (cf_schema_ok(&s)) {
        uint32_t ref = cf_schema_root(&s, schema, "$");
        rule = cf_conj__rule(&s, cf_conj_one(&s, ref, false));
        cf_schema_emit_all(&s);
    }
    cf_schema_deinit(&s);
    return rule;
}

cf_status cf_grammar_from_schema(cf_grammar **out, const json_t *schema,
                                 const cf_grammar_options *opts, cf_error *err)
{
    cf_gbuild b;
    cf_gbuild_init(&b, opts);
    uint32_t start = cf_schema__rule(&b, schema, opts);
    cf_status st = cf_gbuild_finish(&b, start, out, err);
    cf_gbuild_deinit(&b);
    return st;
}
