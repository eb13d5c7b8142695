/*
 * globals.c - the functions every template has: range, dict, namespace,
 * cycler, joiner, lipsum, raise_exception, strftime_now.
 */
#include "templates/language/ast.h"
#include "templates/language/number.h"
#include "templates/python/methods.h"

enum { RANGE_MAX = 100000 };

static cf_tv g_range(cf_tr *r, const cf_targs *args)
{
    int64_t v[3] = {0, 0, 1};
    if (args->n_kw != 0 || args->n < 1 || args->n > 3) {
        return cf_t__fail(r, "range expected 1 to 3 arguments, got %u",
                          (unsigned)(args->n + args->n_kw));
    }
    for (uint32_t i = 0; i < args->n; i++) {
        if (!cf_t__arg_int(r, args->v[i], &v[args->n == 1 ? 1 : i])) {
            return CF_TV_ERR;
        }
    }
    if (v[2] == 0) {
        return cf_t__fail(r, "range() arg 3 must not be zero");
    }
    uint64_t span = 0, step = v[2] > 0 ? (uint64_t)v[2] : -(uint64_t)v[2];
    if (v[2] > 0 ? v[1] > v[0] : v[1] < v[0]) {
        span = v[2] > 0 ? (uint64_t)v[1] - (uint64_t)v[0] : (uint64_t)v[0] - (uint64_t)v[1];
    }
    uint64_t n = span == 0 ? 0 : (span - 1) / step + 1;
    if (n > RANGE_MAX) {
        return cf_t__fail(r,
                          "Range too big. The sandbox blocks ranges larger "
                          "than MAX_RANGE (%d).",
                          RANGE_MAX);
    }
    cf_trange *g = cf_t__alloc(r, sizeof *g);
    if (g == NULL) {
        return CF_TV_ERR;
    }
    *g = (cf_trange){v[0], v[1], v[2], (int64_t)n};
    return (cf_tv){.k = CF_TRANGE, .u.range = g};
}

/* dict(mapping or pairs, key=value ...) */
static cf_tdict *make_dict(cf_tr *r, const char *what, const cf_targs *args)
{
    cf_tdict *d = NULL;
    if (args->n > 1) {
        cf_t__fail(r, "%s expected at most 1 argument, got %u", what, (unsigned)args->n);
        return NULL;
    }
    if (args->n == 1 && args->v[0].k == CF_TDICT) {
        d = cf_t__dict_copy(r, args->v[0].u.d);
    } else {
        d = cf_t__dict_new(r, args->n_kw);
    }
    if (d != NULL && args->n == 1 && args->v[0].k == CF_TUNDEF) {
        /* dict() looks for a method called keys */
        cf_t__fail_undef(r, args->v[0]);
        return NULL;
    }
    if (d != NULL && args->n == 1 && args->v[0].k != CF_TDICT) {
        cf_titer it;
        cf_tv item;
        int got;
        if (!cf_t__iter_init(r, &it, args->v[0])) {
            return NULL;
        }
        while ((got = cf_t__iter_next(r, &it, &item)) > 0) {
            cf_tlist *pair = cf_t__to_list(r, item);
            if (pair == NULL) {
                return NULL;
            }
            if (pair->n != 2) {
                cf_t__fail(r,
                           "dictionary update sequence element has length "
                           "%u; 2 is required",
                           (unsigned)pair->n);
                return NULL;
            }
            if (!cf_t__dict_set(r, d, pair->v[0], pair->v[1])) {
                return NULL;
            }
        }
        if (got < 0) {
            return NULL;
        }
    }
    for (uint32_t i = 0; d != NULL && i < args->n_kw; i++) {
        cf_tv key = cf_t__str_copy(r, args->kw[i].name->p, args->kw[i].name->n, CF_ORG_TEMPLATE);
        if (key.k == CF_TERR || !cf_t__dict_set(r, d, key, args->kw[i].val)) {
            return NULL;
        }
    }
    return d;
}

static cf_tv g_dict(cf_tr *r, const cf_targs *args)
{
    cf_tdict *d = make_dict(r, "dict", args);
    return d != NULL ? cf_tv_dict(d) : CF_TV_ERR;
}

static cf_tv g_namespace(cf_tr *r, const cf_targs *args)
{
    cf_tdict *d = make_dict(r, "namespace", args);
    return d != NULL ? (cf_tv){.k = CF_TNAMESPACE, .u.d = d} : CF_TV_ERR;
}

static cf_tv g_cycler(cf_tr *r, const cf_targs *args)
{
    if (args->n == 0 || args->n_kw != 0) {
        return cf_t__fail(r, "at least one item has to be provided");
    }
    cf_tcycler *c = cf_t__alloc(r, sizeof *c);
    cf_tlist *l = cf_t__list_new(r, args->n);
    if (c == NULL || l == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < args->n; i++) {
        l->v[l->n++] = args->v[i];
    }
    *c = (cf_tcycler){.items = l};
    return (cf_tv){.k = CF_TCYCLER, .u.cycler = c};
}

static cf_tv g_joiner(cf_tr *r, const cf_targs *args)
{
    cf_tv a[1];
    if (!cf_t__bind(r, "joiner", "sep", 0, args, a)) {
        return CF_TV_ERR;
    }
    cf_tv sep = a[0].k != CF_TMISSING ? a[0] : cf_t__str_cstr(r, ", ");
    cf_tcycler *c = cf_t__alloc(r, sizeof *c);
    cf_tlist *l = cf_t__list_new(r, 1);
    if (c == NULL || l == NULL || sep.k == CF_TERR) {
        return CF_TV_ERR;
    }
    l->v[l->n++] = sep;
    *c = (cf_tcycler){.items = l};
    return (cf_tv){.k = CF_TJOINER, .u.cycler = c};
}

static uint32_t draw(cf_tr *r, uint32_t from, uint32_t to)
{
    r->rng += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = (r->rng ^ r->rng >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return from + (uint32_t)((z >> 33) % (to - from));
}

/* Blind text: n paragraphs of words that mean nothing, as sentences. */
static cf_tv g_lipsum(cf_tr *r, const cf_targs *args)
{
    static const char *const words[] = {"lorem", "ipsum", "dolor", "sit",   "amet",  "elit", "sed",
                                        "magna", "nunc",  "quis",  "vitae", "massa", "urna", "orci",
                                        "felis", "arcu",  "justo", "donec", "risus", "velit"};
    cf_tv a[4];
    int64_t n = 5, least = 20, most = 100;
    if (!cf_t__bind(r, "lipsum", "n html min max", 0, args, a) ||
        (a[0].k != CF_TMISSING && !cf_t__arg_int(r, a[0], &n)) ||
        (a[2].k != CF_TMISSING && !cf_t__arg_int(r, a[2], &least)) ||
        (a[3].k != CF_TMISSING && !cf_t__arg_int(r, a[3], &most))) {
        return CF_TV_ERR;
    }
    if (least < 0 || most <= least || most > 10000) {
        return cf_t__fail(r, "lipsum: min and max are no range");
    }
    bool html = a[1].k == CF_TMISSING || cf_t__truth(a[1]);
    cf_tsb b;
    cf_t__sb_init(&b, r);
    for (int64_t p = 0; p < n && !b.failed; p++) {
        cf_t__sb_adds(&b, p == 0 ? "" : html ? "\n" : "\n\n", CF_ORG_NONE);
        cf_t__sb_adds(&b, html ? "<p>" : "", CF_ORG_NONE);
        uint32_t count = draw(r, (uint32_t)least, (uint32_t)most);
        bool is_start = true;
        for (uint32_t i = 0; i < count && !b.failed; i++) {
            const char *w = words[draw(r, 0, sizeof words / sizeof *words)];
            char first = is_start ? (char)(w[0] - 32) : w[0];
            cf_t__sb_adds(&b, i != 0 ? " " : "", CF_ORG_NONE);
            cf_t__sb_addc(&b, first, CF_ORG_NONE);
            cf_t__sb_adds(&b, w + 1, CF_ORG_NONE);
            is_start = i + 1 < count && draw(r, 0, 12) == 0;
            cf_t__sb_adds(&b, is_start ? "." : "", CF_ORG_NONE);
            if (!cf_t__spend(r, 1)) {
                return CF_TV_ERR;
            }
        }
        cf_t__sb_adds(&b, html ? ".</p>" : ".", CF_ORG_NONE);
    }
    return cf_t__sb_take(&b, html);
}

static cf_tv g_raise(cf_tr *r, const cf_targs *args)
{
    cf_tv a[1];
    if (!cf_t__bind(r, "raise_exception", "message", 1, args, a)) {
        return CF_TV_ERR;
    }
    cf_tv s = cf_t__to_str(r, a[0]);
    return s.k == CF_TERR ? s : cf_t__raise(r, cf_tv_text(s));
}

static cf_tv g_strftime(cf_tr *r, const cf_targs *args)
{
    cf_tv a[1];
    if (!cf_t__bind(r, "strftime_now", "format", 1, args, a)) {
        return CF_TV_ERR;
    }
    if (a[0].k != CF_TSTR) {
        return cf_t__fail(r, "strftime() argument 1 must be str, not %s", cf_t__type_name(a[0]));
    }
    return cf_t__strftime(r, a[0].u.s);
}

static const cf_tfn_entry globals[] = {
    {"range", g_range},           {"namespace", g_namespace}, {"raise_exception", g_raise},
    {"strftime_now", g_strftime}, {"dict", g_dict},           {"cycler", g_cycler},
    {"joiner", g_joiner},         {"lipsum", g_lipsum},       {NULL, NULL},
};

cf_tv cf_t__global(cf_str name)
{
    for (int i = 0; globals[i].name != NULL; i++) {
        if (cf_t__is_called(name, globals[i].name)) {
            return (cf_tv){.k = CF_TFUNC, .sub = (uint8_t)i};
        }
    }
    return cf_tv_make(CF_TMISSING);
}

const char *cf_t__global_class(int id)
{
    cf_tfn fn = globals[id].fn;
    return fn == g_dict        ? "dict"
           : fn == g_namespace ? "jinja2.utils.Namespace"
           : fn == g_cycler    ? "jinja2.utils.Cycler"
           : fn == g_joiner    ? "jinja2.utils.Joiner"
                               : NULL;
}

cf_tv cf_t__global_call(cf_tr *r, int id, const cf_targs *args)
{
    return globals[id].fn(r, args);
}
