/*
 * notation_parts.c - the parts of written grammars, and the automaton that
 * they become.
 */
#include "core/regex/notation_parts.h"

#include "core/base/alloc.h"

enum { BUCKETS = 4096 };

void cf_notation_fail(cf_notation *r, cf_status code, size_t at, const char *what)
{
    uint32_t line = 1;
    uint32_t col = 1;
    for (size_t i = 0; i < at && i < r->s.n; i++) {
        col = r->s.p[i] == '\n' ? 1 : col + 1;
        line += r->s.p[i] == '\n' ? 1 : 0;
    }
    if (r->b->st == CF_OK) {
        cf_gbuild_fail(r->b, code, "line %u column %u: %s", (unsigned)line, (unsigned)col, what);
        r->b->err.line = line;
        r->b->err.col = col;
        r->b->err.off = at;
    }
}

bool cf_notation_is_ok(const cf_notation *r)
{
    return r->b->st == CF_OK;
}

cf_part *cf_notation_part(cf_notation *r, cf_part_kind kind, size_t at)
{
    cf_part *p = cf_arena_calloc(&r->arena, 1, sizeof *p);
    if (p == NULL) {
        cf_notation_fail(r, CF_ENOMEM, at, "out of memory");
        return NULL;
    }
    p->kind = kind;
    p->at = at;
    return p;
}

cf_part *cf_notation_repeat(cf_notation *r, cf_part *p, uint32_t min, uint32_t max)
{
    uint32_t counts = 0;
    for (const cf_part *q = p; q->kind == CF_PART_REPEAT; q = q->first) {
        if (++counts == CF_NOTATION_COUNTS_MAX) {
            cf_notation_fail(r, CF_ELIMIT, p->at, "over 10 counts in a row");
            return NULL;
        }
    }
    cf_part *loop = cf_notation_part(r, CF_PART_REPEAT, p->at);
    if (loop != NULL) {
        loop->first = p;
        loop->min = min;
        loop->max = max;
    }
    return loop;
}

bool cf_notation_number(cf_notation *r, uint32_t *out)
{
    uint32_t v = 0;
    size_t from = r->i;
    while (r->i < r->s.n && r->s.p[r->i] >= '0' && r->s.p[r->i] <= '9') {
        v = v * 10 + (uint32_t)(r->s.p[r->i++] - '0');
        if (v > CF_NOTATION_COUNT_MAX) {
            cf_notation_fail(r, CF_ELIMIT, from, "a count over 10000");
            return false;
        }
    }
    *out = v;
    return r->i > from;
}

static cf_rule **bucket_of(const cf_notation *r, cf_str name)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < name.n; i++) {
        h = (h ^ (unsigned char)name.p[i]) * 16777619u;
    }
    return &r->bucket[(h ^ h >> 15) % BUCKETS];
}

cf_rule *cf_notation_find(const cf_notation *r, cf_str name)
{
    cf_rule *k = *bucket_of(r, name);
    while (k != NULL && !cf_str_eq(k->name, name)) {
        k = cf_gbuild_spend(r->b, 1) ? k->chain : NULL;
    }
    return k;
}

cf_rule *cf_notation_rule(cf_notation *r, cf_str name, size_t at)
{
    if (cf_notation_find(r, name) != NULL) {
        cf_notation_fail(r, CF_EFORMAT, at, "the rule is there twice");
        return NULL;
    }
    cf_rule *k = cf_arena_calloc(&r->arena, 1, sizeof *k);
    char *copy = cf_arena_strndup(&r->arena, name.p, name.n);
    if (k == NULL || copy == NULL || !cf_gbuild_spend(r->b, 10)) {
        cf_notation_fail(r, CF_ENOMEM, at, "out of memory");
        return NULL;
    }
    k->name = cf_str_make(copy, name.n);
    k->id = cf_g_rule(r->b, copy);
    cf_rule **head = bucket_of(r, k->name);
    k->chain = *head;
    *head = k;
    if (r->last != NULL) {
        r->last->next = k;
    } else {
        r->rules = k;
    }
    r->last = k;
    return k;
}

/* ---- emission ----------------------------------------------------------- */

static void emit(cf_notation *r, const cf_part *p, uint32_t from, uint32_t to);

static void emit_expression(cf_notation *r, cf_rx e, uint32_t from, uint32_t to)
{
    cf_dfa d = {0};
    if (cf_notation_is_ok(r)) {
        cf_rx_dfa(r->rx, e, &d);
    }
    cf_dfa_emit(r->b, &d, CF_SPELL_RAW, -1, from, to);
    cf_dfa_deinit(&d);
}

static void emit_repeat(cf_notation *r, const cf_part *p, uint32_t from, uint32_t to)
{
    cf_gbuild *b = r->b;
    for (uint32_t i = 0; i < p->min && cf_notation_is_ok(r); i++) {
        uint32_t next = cf_g_node(b);
        emit(r, p->first, from, next);
        from = next;
    }
    if (p->max == CF_RX_INF) {
        uint32_t loop = cf_g_node(b);
        uint32_t after = cf_g_node(b);
        cf_g_jump(b, from, 0, loop);
        emit(r, p->first, loop, after);
        cf_g_jump(b, after, 0, loop);
        cf_g_jump(b, loop, 0, to);
        return;
    }
    for (uint32_t i = p->min; i < p->max && cf_notation_is_ok(r); i++) {
        uint32_t next = cf_g_node(b);
        cf_g_jump(b, from, 0, to);
        emit(r, p->first, from, next);
        from = next;
    }
    cf_g_jump(b, from, 0, to);
}

static void emit(cf_notation *r, const cf_part *p, uint32_t from, uint32_t to)
{
    cf_gbuild *b = r->b;
    if (!cf_gbuild_spend(b, 1)) {
        return;
    }
    switch (p->kind) {
    case CF_PART_TEXT:
        cf_g_jump(b, cf_g_bytes(b, from, p->text.p, p->text.n), 0, to);
        break;
    case CF_PART_REGEX:
        emit_expression(r, cf_rx_parse(r->rx, p->text, false), from, to);
        break;
    case CF_PART_SET:
        emit_expression(r, p->set, from, to);
        break;
    case CF_PART_RULE: {
        const cf_rule *k = cf_notation_find(r, p->text);
        if (k == NULL) {
            cf_notation_fail(r, CF_EFORMAT, p->at, "no such rule");
        } else {
            cf_g_call(b, from, k->id, 0, to);
        }
        break;
    }
    case CF_PART_SEQUENCE:
        for (const cf_part *c = p->first; c != NULL && cf_notation_is_ok(r); c = c->next) {
            uint32_t next = cf_g_node(b);
            emit(r, c, from, next);
            from = next;
        }
        cf_g_jump(b, from, 0, to);
        break;
    case CF_PART_CHOICE:
        for (const cf_part *c = p->first; c != NULL && cf_notation_is_ok(r); c = c->next) {
            uint32_t begin = cf_g_node(b);
            cf_g_jump(b, from, 0, begin);
            emit(r, c, begin, to);
        }
        break;
    case CF_PART_REPEAT:
        emit_repeat(r, p, from, to);
        break;
    }
}

cf_status cf_grammar_from_text(cf_grammar **out, cf_str text, const cf_grammar_options *opts,
                               cf_error *err)
{
    cf_gbuild b;
    cf_rx_pool rx;
    cf_gbuild_init(&b, opts);
    cf_rx_init(&rx, &b);
    cf_notation r = {.b = &b, .rx = &rx, .s = text};
    cf_arena_init(&r.arena, (size_t)64 << 20);
    r.bucket = cf_arena_calloc(&r.arena, BUCKETS, sizeof *r.bucket);
    if (r.bucket == NULL) {
        cf_gbuild_oom(&b);
    }
    bool is_gbnf = cf_gbnf_is(text);
    if (cf_notation_is_ok(&r)) {
        (is_gbnf ? cf_gbnf_read : cf_notation_read)(&r);
    }
    const cf_rule *start =
        is_gbnf && r.bucket != NULL ? cf_notation_find(&r, cf_str_from("root")) : r.rules;
    if (cf_notation_is_ok(&r) && start == NULL) {
        cf_notation_fail(&r, CF_EFORMAT, 0, is_gbnf ? "no rule named root" : "no rules");
    }
    for (const cf_rule *k = r.rules; k != NULL && cf_notation_is_ok(&r); k = k->next) {
        b.rule = k->id;
        uint32_t end = cf_g_node(&b);
        emit(&r, k->body, cf_g_start(&b, k->id), end);
        cf_g_end(&b, end, 0);
    }
    uint32_t first = start != NULL ? start->id : 0;
    cf_arena_deinit(&r.arena);
    cf_rx_deinit(&rx);
    cf_status st = cf_gbuild_finish(&b, first, out, err);
    cf_gbuild_deinit(&b);
    return st;
}
