/*
 * state.c - memory, errors, origins and undefined values of one render.
 */
#include "templates/language/state.h"

#include <stdio.h>

#include "templates/language/number.h"

enum { CHUNK = 8192, MESSAGE_MAX = 400 };

void *cf_t__alloc_slow(cf_tr *r, size_t n)
{
    size_t take = r->mem / 2;
    take = take < CHUNK ? CHUNK : take > 1 << 18 ? 1 << 18 : take;
    bool is_large = n > take / 4;
    if (is_large) {
        take = n;
    }
    if (r->error == CF_TE_MEMORY || r->error == CF_TE_LIMIT) {
        return NULL;
    }
    if (take > r->max_mem || r->mem > r->max_mem - take) {
        cf_t__fail_limit(r, "the template needs over %zu bytes of memory", r->max_mem);
        return NULL;
    }
    char *p = cf_arena_alloc(r->arena, take);
    if (p == NULL) {
        cf_t__fail_memory(r);
        return NULL;
    }
    r->mem += take;
    if (!is_large) {
        r->cur = p + n;
        r->end = p + take;
    }
    return p;
}

/* ---- errors ------------------------------------------------------------- */

static cf_tv fail_with(cf_tr *r, cf_terror_kind kind, const char *fmt, va_list ap)
{
    if (r->error == CF_TE_NONE) {
        char text[MESSAGE_MAX];
        int n = vsnprintf(text, sizeof text, fmt, ap);
        size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
        while (len > 0 && n >= (int)sizeof text && ((unsigned char)text[len] & 0xC0) == 0x80) {
            len--;
        }
        r->error = kind;
        char *copy = cf_arena_strndup(r->arena, text, len);
        r->message = copy != NULL ? cf_str_make(copy, len) : cf_str_from("out of memory");
    }
    return CF_TV_ERR;
}

cf_tv cf_t__fail(cf_tr *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_with(r, CF_TE_TEMPLATE, fmt, ap);
    va_end(ap);
    return CF_TV_ERR;
}

cf_tv cf_t__fail_limit(cf_tr *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_with(r, CF_TE_LIMIT, fmt, ap);
    va_end(ap);
    return CF_TV_ERR;
}

cf_tv cf_t__fail_memory(cf_tr *r)
{
    if (r->error == CF_TE_NONE) {
        r->error = CF_TE_MEMORY;
        r->message = cf_str_from("out of memory");
    }
    return CF_TV_ERR;
}

cf_tv cf_t__raise(cf_tr *r, cf_str message)
{
    if (r->error == CF_TE_NONE) {
        r->error = CF_TE_RAISED;
        r->message = message;
    }
    return CF_TV_ERR;
}

/* Steps between two checks of the cancel flag. */
enum { CHECK_STEPS = 1 << 14 };

bool cf_t__spend_slow(cf_tr *r)
{
    if (r->steps > r->max_steps) {
        cf_t__fail_limit(r, "the render takes over %llu steps", (unsigned long long)r->max_steps);
        return false;
    }
    if (r->cancel != NULL && atomic_load_explicit(r->cancel, memory_order_relaxed)) {
        if (r->error == CF_TE_NONE) {
            r->error = CF_TE_CANCELLED;
            r->message = cf_str_from("cancelled");
        }
        return false;
    }
    uint64_t left = r->max_steps - r->steps;
    r->check_at = r->steps + (left < CHECK_STEPS ? left + 1 : CHECK_STEPS);
    return true;
}

bool cf_t__enter_slow(cf_tr *r)
{
    r->depth--;
    cf_t__fail_limit(r, "calls and expressions are nested over %u deep", (unsigned)r->max_depth);
    return false;
}

/* ---- origins ------------------------------------------------------------ */

uint32_t cf_t__org_of(cf_tv v)
{
    if (v.k == CF_TSTR || v.k == CF_TBYTES) {
        return cf_t__str_org(v.u.s);
    }
    return v.org;
}

const cf_torg *cf_t__org_get(const cf_tr *r, uint32_t org)
{
    if (org < CF_ORG_FIRST) {
        return NULL;
    }
    org -= CF_ORG_FIRST;
    return org < r->ctx->n_org ? &r->ctx->org[org] : &r->org_own[org - r->ctx->n_org];
}

static uint32_t org_add(cf_tr *r, cf_torg o)
{
    if (r->org_own == NULL || r->n_org == r->cap_org) {
        uint32_t cap = r->cap_org < 16 ? 16 : r->cap_org * 2;
        cf_torg *grown = cf_t__alloc(r, cap * sizeof *grown);
        if (grown == NULL) {
            return CF_ORG_NONE;
        }
        if (r->org_own != NULL) {
            memcpy(grown, r->org_own, r->n_org * sizeof *grown);
        }
        r->org_own = grown;
        r->cap_org = cap;
    }
    r->org_own[r->n_org] = o;
    return CF_ORG_FIRST + r->ctx->n_org + r->n_org++;
}

enum { INPUTS_MAX = 8 };

static uint32_t add_inputs(const cf_tr *r, uint32_t *in, uint32_t n, uint32_t org)
{
    const cf_torg *o = cf_t__org_get(r, org);
    uint32_t n_more = o != NULL && o->source == CF_SPAN_COMPUTED ? o->n_inputs : 1;
    for (uint32_t i = 0; i < n_more && n < INPUTS_MAX; i++) {
        uint32_t one = o != NULL && o->source == CF_SPAN_COMPUTED ? o->inputs[i] : org;
        bool is_known = one < CF_ORG_FIRST;
        for (uint32_t k = 0; k < n && !is_known; k++) {
            is_known = in[k] == one;
        }
        if (!is_known) {
            in[n++] = one;
        }
    }
    return n;
}

uint32_t cf_t__org_join(cf_tr *r, uint32_t a, uint32_t b)
{
    if (a < CF_ORG_FIRST && b < CF_ORG_FIRST) {
        return CF_ORG_NONE;
    }
    if (r->last_org != 0 && r->last_a == a && r->last_b == b) {
        return r->last_org;
    }
    const cf_torg *oa = cf_t__org_get(r, a);
    if ((b == a || b < CF_ORG_FIRST) && oa != NULL && oa->source == CF_SPAN_COMPUTED) {
        return a;
    }
    uint32_t in[INPUTS_MAX];
    uint32_t n = add_inputs(r, in, 0, a);
    n = add_inputs(r, in, n, b);
    uint32_t *keep = cf_t__alloc(r, n * sizeof *keep);
    if (keep == NULL) {
        return CF_ORG_NONE;
    }
    memcpy(keep, in, n * sizeof *keep);
    uint32_t org =
        org_add(r, (cf_torg){.inputs = keep, .n_inputs = (uint8_t)n, .source = CF_SPAN_COMPUTED});
    r->last_a = a;
    r->last_b = b;
    r->last_org = org;
    return org;
}

/* ---- undefined ---------------------------------------------------------- */

static cf_tv undef(cf_tr *r, cf_tundef u)
{
    cf_tundef *p = cf_t__alloc(r, sizeof *p);
    if (p == NULL) {
        return CF_TV_ERR;
    }
    *p = u;
    return (cf_tv){.k = CF_TUNDEF, .u.undef = p};
}

cf_tv cf_t__undef_name(cf_tr *r, cf_tv name)
{
    return undef(r, (cf_tundef){cf_tv_make(CF_TMISSING), name, NULL, false});
}

cf_tv cf_t__undef_attr(cf_tr *r, cf_tv obj, cf_tv name)
{
    return undef(r, (cf_tundef){obj, name, NULL, false});
}

cf_tv cf_t__undef_hint(cf_tr *r, const char *hint)
{
    return undef(r, (cf_tundef){cf_tv_make(CF_TMISSING), cf_tv_make(CF_TNONE), hint, false});
}

/* "; there are: a, b, c" from the keys of d, as far as they fit. */
static void list_keys(char *out, size_t cap, const cf_tdict *d, const char *lead)
{
    size_t n = (size_t)snprintf(out, cap, "%s", lead);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < d->n && shown < 12 && n + 40 < cap; i++) {
        cf_tv k = d->e[i].key;
        if (k.k == CF_TSTR && k.u.s->n < 32) {
            n += (size_t)snprintf(out + n, cap - n, "%s%.*s", shown != 0 ? ", " : "", (int)k.u.s->n,
                                  k.u.s->p);
            shown++;
        }
    }
    if (shown < d->n) {
        snprintf(out + n, cap - n, "%s...", shown != 0 ? ", " : "");
    }
    if (d->n == 0) {
        snprintf(out + n, cap - n, "nothing");
    }
}

cf_tv cf_t__fail_undef(cf_tr *r, cf_tv v)
{
    const cf_tundef *u = v.u.undef;
    char there[200] = "";
    if (u->is_unsafe) {
        return cf_t__fail(r,
                          "access to attribute '%.*s' of '%s' object is "
                          "unsafe",
                          u->name.k == CF_TSTR ? (int)u->name.u.s->n : 0,
                          u->name.k == CF_TSTR ? u->name.u.s->p : "", cf_t__type_name(u->obj));
    }
    if (u->hint != NULL) {
        return cf_t__fail(r, "%s", u->hint);
    }
    if (u->obj.k == CF_TMISSING) {
        list_keys(there, sizeof there, r->vars, "; the context has: ");
        return cf_t__fail(r, "'%.*s' is undefined%s", (int)u->name.u.s->n, u->name.u.s->p, there);
    }
    const char *type = cf_t__type_name(u->obj);
    const char *object = u->obj.k == CF_TNONE ? "None" : type;
    const char *tail = u->obj.k == CF_TNONE ? "" : " object";
    if (u->name.k != CF_TSTR) {
        char text[24];
        size_t n = 0;
        if (u->name.k == CF_TINT) {
            n = cf_t__int64_text(text, u->name.u.i);
        }
        if (u->obj.k == CF_TLIST || u->obj.k == CF_TTUPLE) {
            snprintf(there, sizeof there, "; it has %u", (unsigned)u->obj.u.l->n);
        }
        return cf_t__fail(r, "%s%s has no element %.*s%s", object, tail, (int)n, text, there);
    }
    if (u->obj.k == CF_TDICT) {
        list_keys(there, sizeof there, u->obj.u.d, "; it has: ");
    }
    return cf_t__fail(r, "'%s%s' has no attribute '%.*s'%s", object, tail,
                      (int)(u->name.u.s->n < 100 ? u->name.u.s->n : 100), u->name.u.s->p, there);
}
