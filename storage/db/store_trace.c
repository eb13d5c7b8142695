/*
 * store_trace.c - encodes and decodes candidates.
 */
#include "storage/trace.h"

#include <string.h>

#include "storage/db/store_codec.h"

enum {
    WHY_MASK = 7,      /* cf_removed_by */
    HAS_POST = 1 << 3, /* logit_post differs from logit */
    HAS_P = 1 << 4     /* p_post is not zero */
};

_Static_assert((int)CF_REMOVED_TEMPERATURE == (int)WHY_MASK,
               "every reason has its bits, and all bits are a reason");

static void put_f32(cf_buf *b, float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    for (int i = 0; i < 4; i++) {
        cf_buf_addc(b, (char)(u >> 8 * i));
    }
}

static void put_f64(cf_buf *b, double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    for (int i = 0; i < 8; i++) {
        cf_buf_addc(b, (char)(u >> 8 * i));
    }
}

static bool same_bits(float a, float b)
{
    uint32_t u, v;
    memcpy(&u, &a, sizeof u);
    memcpy(&v, &b, sizeof v);
    return u == v;
}

static void put_candidate(cf_buf *b, const cf_candidate *c)
{
    unsigned flags = (unsigned)c->removed_by & WHY_MASK;
    flags |= same_bits(c->logit_post, c->logit) ? 0 : HAS_POST;
    flags |= same_bits(c->p_post, 0.0f) ? 0 : HAS_P;
    cf_codec__put_varint(b, c->id >= 0 ? (uint64_t)c->id : 0);
    cf_buf_addc(b, (char)flags);
    cf_codec__put_varint(b, c->rank);
    put_f32(b, c->logit);
    put_f32(b, c->p_raw);
    if ((flags & HAS_POST) != 0) {
        put_f32(b, c->logit_post);
    }
    if ((flags & HAS_P) != 0) {
        put_f32(b, c->p_post);
    }
}

static void put_name(cf_trace_writer *w, cf_buf *b, const char *name)
{
    size_t n = strlen(name);
    n = n < CF_TRACE_NAME - 1 ? n : CF_TRACE_NAME - 1;
    size_t i = 0;
    while (i < w->n_names && (strlen(w->names[i]) != n || memcmp(w->names[i], name, n) != 0)) {
        i++;
    }
    if (i == CF_TRACE_NAMES) {
        i = 0; /* more names than a chain can have */
    }
    cf_codec__put_varint(b, i);
    if (i == w->n_names) {
        memcpy(w->names[i], name, n);
        w->names[i][n] = '\0';
        w->n_names++;
        cf_codec__put_varint(b, n);
        cf_buf_add(b, name, n);
    }
}

void cf_trace_put(cf_trace_writer *w, cf_buf *b, cf_token id, const cf_draw *d)
{
    cf_buf_addc(b, d != NULL ? 1 : 0);
    cf_codec__put_varint(b, id >= 0 ? (uint64_t)id : 0);
    if (d == NULL) {
        return;
    }
    size_t n_top = d->n_top < CF_TRACE_TOP_MAX ? d->n_top : CF_TRACE_TOP_MAX;
    size_t n_step = d->n_step < CF_CHAIN_MAX ? d->n_step : CF_CHAIN_MAX;
    put_candidate(b, &d->chosen);
    put_f32(b, d->entropy_bits);
    put_f32(b, d->log_z);
    put_f32(b, d->allowed_mass);
    put_f64(b, d->r);
    cf_codec__put_varint(b, d->n_draw);
    cf_codec__put_varint(b, n_top);
    for (size_t i = 0; i < n_top; i++) {
        put_candidate(b, &d->top[i]);
    }
    cf_codec__put_varint(b, n_step);
    for (size_t i = 0; i < n_step; i++) {
        put_name(w, b, d->step[i].name != NULL ? d->step[i].name : "");
        cf_codec__put_varint(b, d->step[i].n_left);
    }
}

/* ---- reading ------------------------------------------------------------ */

void cf_trace_open(cf_trace_reader *r, cf_str trace)
{
    memset(r, 0, sizeof *r);
    r->in = trace;
}

static bool get_bits(cf_trace_reader *r, size_t n, uint64_t *out)
{
    if (r->in.n - r->at < n) {
        return false;
    }
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        *out |= (uint64_t)(unsigned char)r->in.p[r->at + i] << 8 * i;
    }
    r->at += n;
    return true;
}

static bool get_f32(cf_trace_reader *r, float *out)
{
    uint64_t v;
    if (!get_bits(r, 4, &v)) {
        return false;
    }
    uint32_t u = (uint32_t)v;
    memcpy(out, &u, sizeof u);
    return true;
}

static bool get_u(cf_trace_reader *r, uint64_t max, uint64_t *out)
{
    return cf_codec__get_varint(out, r->in, &r->at) && *out <= max;
}

static bool get_candidate(cf_trace_reader *r, cf_candidate *c)
{
    uint64_t id, flags, rank;
    *c = (cf_candidate){0};
    if (!get_u(r, INT32_MAX, &id) || !get_bits(r, 1, &flags) || !get_u(r, UINT32_MAX, &rank) ||
        !get_f32(r, &c->logit) || !get_f32(r, &c->p_raw)) {
        return false;
    }
    c->id = (cf_token)id;
    c->rank = (uint32_t)rank;
    c->removed_by = (cf_removed_by)(flags & WHY_MASK);
    c->logit_post = c->logit;
    if ((flags & HAS_POST) != 0 && !get_f32(r, &c->logit_post)) {
        return false;
    }
    return (flags & HAS_P) == 0 || get_f32(r, &c->p_post);
}

static bool get_step(cf_trace_reader *r, cf_chain_step *step)
{
    uint64_t i, n;
    cf_trace_writer *w = &r->names;
    if (!get_u(r, w->n_names, &i) || i >= CF_TRACE_NAMES) {
        return false;
    }
    if (i == w->n_names) {
        if (!get_u(r, CF_TRACE_NAME - 1, &n) || r->in.n - r->at < n) {
            return false;
        }
        memcpy(w->names[i], r->in.p + r->at, n);
        w->names[i][n] = '\0';
        w->n_names++;
        r->at += n;
    }
    step->name = w->names[i];
    if (!get_u(r, UINT32_MAX, &n)) {
        return false;
    }
    step->n_left = (uint32_t)n;
    return true;
}

static bool get_draw(cf_trace_reader *r, cf_draw *d)
{
    uint64_t bits, n;
    if (!get_candidate(r, &d->chosen) || !get_f32(r, &d->entropy_bits) || !get_f32(r, &d->log_z) ||
        !get_f32(r, &d->allowed_mass) || !get_bits(r, 8, &bits) ||
        !get_u(r, UINT64_MAX, &d->n_draw) || !get_u(r, CF_TRACE_TOP_MAX, &n)) {
        return false;
    }
    memcpy(&d->r, &bits, sizeof bits);
    d->n_top = (size_t)n;
    for (size_t i = 0; i < d->n_top; i++) {
        if (!get_candidate(r, &d->top[i])) {
            return false;
        }
    }
    if (!get_u(r, CF_CHAIN_MAX, &n)) {
        return false;
    }
    d->n_step = (size_t)n;
    for (size_t i = 0; i < d->n_step; i++) {
        if (!get_step(r, &d->step[i])) {
            return false;
        }
    }
    return true;
}

bool cf_trace_next(cf_trace_reader *r, cf_token *id, bool *has_draw, cf_draw *draw)
{
    uint64_t kind, v;
    if (!get_bits(r, 1, &kind) || kind > 1 || !get_u(r, INT32_MAX, &v)) {
        return false;
    }
    *id = (cf_token)v;
    *has_draw = kind == 1;
    if (kind == 0) {
        return true;
    }
    *draw = (cf_draw){0};
    draw->id = *id;
    return get_draw(r, draw);
}
