/*
 * cause.c - conditions and their outcomes in one render.
 *
 * 1. The cause that a cause is `up` to was recorded before it.
 * 2. A site never changes; neighbours of one place and one cause share it, so
 *    a record splits a segment only where the cause changes.
 * 3. When there is no room for a further cause, what is written counts as
 *    written under the last one that was recorded.
 */
#include "templates/language/cause.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b) * 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

/* Copies an array of n elements into a larger one; NULL with the error set. */
static void *grow(cf_tr *r, const void *was, uint32_t n, uint32_t *cap, size_t size)
{
    uint32_t more = *cap < 32 ? 32 : *cap * 2;
    void *grown = cf_t__alloc(r, more * size);
    if (grown != NULL) {
        if (n != 0) {
            memcpy(grown, was, n * size);
        }
        *cap = more;
    }
    return grown;
}

/* Returns 1 + the index of the new cause, or 0 if there is no room. */
static uint32_t append(cf_tr *r, cf_tcause c)
{
    cf_trecord *rec = r->record;
    if (rec->n == CF_CAUSES_MAX) {
        return 0;
    }
    if (rec->n == rec->cap) {
        cf_tcause *v = grow(r, rec->v, rec->n, &rec->cap, sizeof *v);
        if (v == NULL) {
            return 0;
        }
        rec->v = v;
    }
    rec->v[rec->n] = c;
    return ++rec->n;
}

/* 1 + the index of the message or tool that a value is; 0. */
static uint32_t item_of(const cf_tr *r, cf_tv item, cf_span_source source)
{
    const cf_torg *o = item.k == CF_TDICT ? cf_t__org_get(r, cf_t__org_of(item)) : NULL;
    return o != NULL && o->source == source && o->path.n == 0 ? o->index + 1 : 0;
}

void cf_t__cause_add(cf_tr *r, cf_cause_kind kind, const cf_tnode *test, bool is_true,
                     uint32_t round, cf_tv item)
{
    cf_trecord *rec = r->record;
    const cf_tcause *up = rec->now != 0 ? &rec->v[rec->now - 1] : NULL;
    uint64_t way = up != NULL ? mix(up->way, up->is_true ? 1 : 2) : 1;
    way = mix(mix(way, test->pos), (uint64_t)kind << 32 | round);
    uint32_t made = append(r, (cf_tcause){.way = way != 0 ? way : 1,
                                          .up = rec->now,
                                          .test = test,
                                          .round = round,
                                          .message = item_of(r, item, CF_SPAN_MESSAGE),
                                          .tool = item_of(r, item, CF_SPAN_TOOL),
                                          .kind = (uint8_t)kind,
                                          .is_true = is_true});
    if (made != 0) {
        rec->now = made;
    }
}

/* ---- sites -------------------------------------------------------------- */

static bool is_within(const cf_trecord *rec, uint32_t cause, uint32_t outer)
{
    while (cause > outer) {
        cause = rec->v[cause - 1].up;
    }
    return cause == outer;
}

enum { JOIN_MAX = 16 };

/* Extends the chain of `now` with the causes of `made` that it lacks. */
static uint32_t join(cf_tr *r, uint32_t now, uint32_t made)
{
    cf_trecord *rec = r->record;
    if (is_within(rec, made, now)) {
        return made;
    }
    if (is_within(rec, now, made)) {
        return now;
    }
    if (rec->joined != 0 && rec->joined_a == now && rec->joined_b == made) {
        return rec->joined;
    }
    uint32_t own[JOIN_MAX], n = 0, at = now;
    for (uint32_t c = made; n < JOIN_MAX && !is_within(rec, now, c); c = rec->v[c - 1].up) {
        own[n++] = c;
    }
    while (n > 0) {
        cf_tcause copy = rec->v[own[--n] - 1];
        copy.is_copy = true;
        copy.up = at;
        uint32_t next = append(r, copy);
        if (next == 0) {
            return at;
        }
        at = next;
    }
    rec->joined_a = now;
    rec->joined_b = made;
    rec->joined = at;
    return at;
}

static uint32_t site(cf_tr *r, uint32_t pos, uint32_t cause)
{
    cf_trecord *rec = r->record;
    const cf_tsite *last = rec->n_site != 0 ? &rec->site[rec->n_site - 1] : NULL;
    if (last != NULL && last->pos == pos && last->cause == cause) {
        return CF_SITE | (rec->n_site - 1);
    }
    if (rec->n_site == rec->cap_site) {
        cf_tsite *v = grow(r, rec->site, rec->n_site, &rec->cap_site, sizeof *v);
        if (v == NULL) {
            return pos;
        }
        rec->site = v;
    }
    rec->site[rec->n_site] = (cf_tsite){pos, cause};
    return CF_SITE | rec->n_site++;
}

uint32_t cf_t__site(cf_tr *r, uint32_t pos, uint32_t otherwise)
{
    uint32_t cause = r->record->now;
    if ((pos & CF_SITE) != 0) {
        const cf_tsite s = r->record->site[pos & ~CF_SITE];
        cause = join(r, cause, s.cause);
        if (s.pos != 0 && cause == s.cause) {
            return pos;
        }
        pos = s.pos;
    }
    if (pos == 0 && (otherwise & CF_SITE) == 0) {
        pos = otherwise;
    }
    return site(r, pos, cause);
}

cf_tv cf_t__cause_mark_str(cf_tr *r, cf_tv v)
{
    if (r->record->now == 0) {
        return v;
    }
    cf_tstr *s = cf_t__alloc(r, sizeof *s);
    if (s == NULL) {
        return CF_TV_ERR;
    }
    *s = *v.u.s;
    if (s->n_seg == 0) {
        s->one.pos = cf_t__site(r, s->one.pos, 0);
        return cf_tv_str(s);
    }
    cf_tseg *seg = cf_t__alloc(r, s->n_seg * sizeof *seg);
    if (seg == NULL || !cf_t__spend(r, s->n_seg)) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < s->n_seg; i++) {
        seg[i] = s->seg[i];
        seg[i].pos = cf_t__site(r, seg[i].pos, 0);
    }
    s->seg = seg;
    return cf_tv_str(s);
}

uint32_t cf_t__site_pos(const cf_tr *r, uint32_t pos)
{
    return (pos & CF_SITE) != 0 ? r->record->site[pos & ~CF_SITE].pos : pos;
}

/* ---- for the caller ----------------------------------------------------- */

/* The first and the last byte of an expression: an operand may come before
 * the place that stands for the whole, as in `x is string`. */
static void extent(const cf_tnode *n, uint32_t *from, uint32_t *end)
{
    if (n == NULL) {
        return;
    }
    *from = n->pos < *from ? n->pos : *from;
    *end = n->end > *end ? n->end : *end;
    extent(n->a, from, end);
    extent(n->b, from, end);
    extent(n->c, from, end);
    for (uint32_t i = 0; n->list != NULL && i < n->n; i++) {
        extent(n->list[i], from, end);
    }
    for (uint32_t i = 0; n->kw != NULL && i < n->n_kw; i++) {
        extent(n->kw[i].val, from, end);
    }
}

/* text[from, end) with the brackets after it that were opened in it, for an
 * expression ends with its last name or value. */
static cf_str close_brackets(cf_str text, size_t from, size_t end)
{
    int open = 0;
    for (size_t i = from; i < end; i++) {
        open += text.p[i] == '(' || text.p[i] == '[' || text.p[i] == '{';
        open -= text.p[i] == ')' || text.p[i] == ']' || text.p[i] == '}';
    }
    for (size_t i = end; i < text.n && open > 0; i++) {
        if (text.p[i] == ')' || text.p[i] == ']') {
            open--;
            end = i + 1;
        } else if (text.p[i] != ' ' && text.p[i] != '\n') {
            break;
        }
    }
    while (end > from && (text.p[end - 1] == ' ' || text.p[end - 1] == '\n')) {
        end--;
    }
    return cf_str_make(text.p + from, end - from);
}

cf_prompt_cause *cf_t__causes(cf_tr *r)
{
    const cf_trecord *rec = r->record;
    const cf_template *t = r->tpl;
    char *text = cf_t__alloc(r, t->text.n + 1);
    cf_prompt_cause *v = cf_t__alloc(r, (rec->n + 1) * sizeof *v);
    if (text == NULL || v == NULL) {
        return NULL;
    }
    if (t->text.n != 0) {
        memcpy(text, t->text.p, t->text.n); /* copied, because it may outlive the template */
    }
    for (uint32_t i = 0; i < rec->n; i++) {
        const cf_tcause *c = &rec->v[i];
        uint32_t from = c->test->pos, end = c->test->end;
        extent(c->test, &from, &end);
        end = end < t->text.n ? end : (uint32_t)t->text.n;
        v[i] = (cf_prompt_cause){.outer = c->up != 0 ? &v[c->up - 1] : NULL,
                                 .kind = (cf_cause_kind)c->kind,
                                 .is_true = c->is_true,
                                 .round = c->round,
                                 .message = c->message,
                                 .tool = c->tool,
                                 .test = close_brackets(cf_str_make(text, t->text.n), from, end),
                                 .way = c->way,
                                 .is_copy = c->is_copy};
        cf_t__line_of(t, from, &v[i].line, &v[i].col);
    }
    return v;
}

const cf_prompt_cause *cf_t__cause_of(const cf_tr *r, const cf_prompt_cause *causes, uint32_t pos)
{
    if (causes == NULL || (pos & CF_SITE) == 0) {
        return NULL;
    }
    uint32_t c = r->record->site[pos & ~CF_SITE].cause;
    return c != 0 ? &causes[c - 1] : NULL;
}
