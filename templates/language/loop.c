/*
 * loop.c - the variable `loop`: its rounds, its attributes, and its methods
 * cycle and changed.
 */
#include "templates/language/ast.h"
#include "templates/language/gen.h"

bool cf_t__loop_init(cf_tr *r, cf_tloop *loop, cf_tv src)
{
    loop->src = src;
    loop->cur = loop->before = loop->after = loop->changed = cf_tv_make(CF_TMISSING);
    loop->index0 = -1;
    loop->length = -1;
    return cf_t__iter_init(r, &loop->it, src);
}

int cf_t__loop_next(cf_tr *r, cf_tloop *loop, cf_tv *out)
{
    if (loop->after.k != CF_TMISSING) {
        *out = loop->after;
        loop->after = cf_tv_make(CF_TMISSING);
    } else {
        int got = cf_t__iter_next(r, &loop->it, out);
        if (got <= 0) {
            return got;
        }
    }
    loop->index0++;
    loop->before = loop->cur;
    loop->cur = *out;
    return 1;
}

int cf_t__loop_pair(cf_tr *r, cf_tloop *loop, cf_tv *out)
{
    cf_tv v;
    int got = cf_t__loop_next(r, loop, &v);
    if (got <= 0) {
        return got;
    }
    *out = cf_t__pair(r, v, (cf_tv){.k = CF_TLOOP, .u.loop = loop});
    return out->k == CF_TERR ? -1 : 1;
}

static int loop_peek(cf_tr *r, cf_tloop *loop)
{
    if (loop->after.k != CF_TMISSING) {
        return 1;
    }
    cf_tv v;
    int got = cf_t__iter_next(r, &loop->it, &v);
    if (got > 0) {
        loop->after = v;
    }
    return got;
}

static int64_t loop_length(cf_tr *r, cf_tloop *loop)
{
    if (loop->length >= 0) {
        return loop->length;
    }
    loop->length = cf_t__len(loop->src);
    if (loop->length < 0) {
        cf_tlist *rest = cf_t__list_new(r, 0);
        int got = rest != NULL ? 1 : -1;
        while (got > 0) {
            cf_tv v;
            got = cf_t__iter_next(r, &loop->it, &v);
            if (got > 0 && !cf_t__list_add(r, rest, v)) {
                got = -1;
            }
        }
        if (got < 0) {
            return -1;
        }
        loop->it = (cf_titer){cf_tv_list(rest), 0};
        loop->length = rest->n + loop->index0 + 1 + (loop->after.k != CF_TMISSING);
    }
    return loop->length;
}

static cf_tv loop_fn(cf_tr *r, cf_tloop *loop, int id)
{
    cf_tmethod *m = cf_t__alloc(r, sizeof *m);
    if (m == NULL) {
        return CF_TV_ERR;
    }
    *m = (cf_tmethod){{.k = CF_TLOOP, .u.loop = loop}, id};
    return (cf_tv){.k = CF_TMETHOD, .u.method = m};
}

static cf_tv loop_from_length(cf_tr *r, cf_tloop *loop, int64_t less)
{
    int64_t n = loop_length(r, loop);
    return n < 0 ? CF_TV_ERR : cf_tv_int(n - less);
}

typedef enum loop_name {
    LOOP_INDEX,
    LOOP_INDEX0,
    LOOP_FIRST,
    LOOP_LAST,
    LOOP_LENGTH,
    LOOP_REVINDEX,
    LOOP_REVINDEX0,
    LOOP_PREVITEM,
    LOOP_NEXTITEM,
    LOOP_DEPTH,
    LOOP_DEPTH0,
    LOOP_CYCLE_FN,
    LOOP_CHANGED_FN,
    LOOP_NAMES
} loop_name;

static const char *const loop_names[LOOP_NAMES] = {
    "index",    "index0",   "first", "last",   "length", "revindex", "revindex0",
    "previtem", "nextitem", "depth", "depth0", "cycle",  "changed"};

static cf_tv loop_next_item(cf_tr *r, cf_tloop *loop)
{
    int got = loop_peek(r, loop);
    return got < 0    ? CF_TV_ERR
           : got == 0 ? cf_t__undef_hint(r, "there is no next item")
                      : loop->after;
}

cf_tv cf_t__loop_attr(cf_tr *r, cf_tloop *loop, cf_str name)
{
    int which = 0, got;
    while (which < LOOP_NAMES && !cf_t__is_called(name, loop_names[which])) {
        which++;
    }
    switch ((loop_name)which) {
    case LOOP_INDEX:
        return cf_tv_int(loop->index0 + 1);
    case LOOP_INDEX0:
        return cf_tv_int(loop->index0);
    case LOOP_FIRST:
        return cf_tv_bool(loop->index0 == 0);
    case LOOP_LAST:
        got = loop_peek(r, loop);
        return got < 0 ? CF_TV_ERR : cf_tv_bool(got == 0);
    case LOOP_LENGTH:
        return loop_from_length(r, loop, 0);
    case LOOP_REVINDEX:
        return loop_from_length(r, loop, loop->index0);
    case LOOP_REVINDEX0:
        return loop_from_length(r, loop, loop->index0 + 1);
    case LOOP_PREVITEM:
        return loop->index0 == 0 ? cf_t__undef_hint(r, "there is no previous item") : loop->before;
    case LOOP_NEXTITEM:
        return loop_next_item(r, loop);
    case LOOP_DEPTH:
        return cf_tv_int(loop->depth0 + 1);
    case LOOP_DEPTH0:
        return cf_tv_int(loop->depth0);
    case LOOP_CYCLE_FN:
        return loop_fn(r, loop, CF_LOOP_CYCLE);
    case LOOP_CHANGED_FN:
        return loop_fn(r, loop, CF_LOOP_CHANGED);
    case LOOP_NAMES:
        break;
    }
    return cf_tv_make(CF_TMISSING);
}

cf_tv cf_t__loop_method(cf_tr *r, cf_tloop *loop, int id, const cf_targs *args)
{
    if (args->n_kw != 0) {
        return cf_t__fail(r, "unexpected keyword argument '%.*s'", (int)args->kw[0].name->n,
                          args->kw[0].name->p);
    }
    if (id == CF_LOOP_CYCLE) {
        if (args->n == 0) {
            return cf_t__fail(r, "no items for cycling given");
        }
        return args->v[loop->index0 % args->n];
    }
    cf_tlist *now = cf_t__list_new(r, args->n);
    if (now == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < args->n; i++) {
        now->v[now->n++] = args->v[i];
    }
    cf_tv v = cf_tv_tuple(now);
    int same = loop->changed.k == CF_TMISSING ? 0 : cf_t__eq(r, loop->changed, v);
    if (same < 0) {
        return CF_TV_ERR;
    }
    loop->changed = v;
    return cf_tv_bool(!same);
}
