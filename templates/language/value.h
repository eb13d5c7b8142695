/*
 * value.h - the values of a template: Python's, small and immutable where
 * Python's are.
 *
 * A string is a slice of bytes with its origin: either one segment, or an
 * array of them.  A segment says which origin the bytes have, where in the
 * origin's string they start when they are copied unchanged, and which place
 * of the template wrote them.  Origins are numbers into a table: 0 is
 * "computed from nothing", 1 the template, then the context's, then those
 * made while rendering.
 *
 * Errors travel as a value of kind CF_TERR; the render state holds the text.
 *
 * Invariants
 *   1. All strings are valid UTF-8.
 *   2. The lengths of a string's segments add up to its length.
 *   3. What belongs to a template or a context is never written to.
 */
#ifndef CF_TEMPLATES_LANGUAGE_VALUE_H
#define CF_TEMPLATES_LANGUAGE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/str.h"

typedef enum cf_tkind {
    CF_TMISSING, /* an empty slot; must be zero */
    CF_TERR,     /* an error that is being propagated */
    CF_TUNDEF,
    CF_TNONE,
    CF_TBOOL,
    CF_TINT,
    CF_TBIG, /* an integer beyond 64 bits */
    CF_TFLOAT,
    CF_TSTR,
    CF_TBYTES,
    CF_TLIST,
    CF_TTUPLE,
    CF_TDICT,
    CF_TVIEW, /* d.keys(), d.values(), d.items() */
    CF_TRANGE,
    CF_TGEN, /* an iterator, used up as it is read */
    CF_TNAMESPACE,
    CF_TLOOP,
    CF_TFUNC,   /* a global function */
    CF_TMETHOD, /* bound */
    CF_TMACRO,
    CF_TCYCLER,
    CF_TJOINER
} cf_tkind;

typedef struct cf_tr cf_tr;
typedef struct cf_tnode cf_tnode;
typedef struct cf_tstr cf_tstr;
typedef struct cf_tbig cf_tbig;
typedef struct cf_tlist cf_tlist;
typedef struct cf_tdict cf_tdict;
typedef struct cf_tview cf_tview;
typedef struct cf_trange cf_trange;
typedef struct cf_tgen cf_tgen;
typedef struct cf_tundef cf_tundef;
typedef struct cf_tmethod cf_tmethod;
typedef struct cf_tmacro cf_tmacro;
typedef struct cf_tloop cf_tloop;
typedef struct cf_tcycler cf_tcycler;

typedef struct cf_tv {
    uint8_t k;   /* cf_tkind */
    uint8_t sub; /* by kind: function, "has fields" ... */
    uint16_t pad;
    uint32_t org; /* origin of a value that is not a string */
    union {
        bool b;
        int64_t i;
        double f;
        cf_tstr *s;
        cf_tbig *big;
        cf_tlist *l;
        cf_tdict *d;
        cf_tview *view;
        cf_trange *range;
        cf_tgen *gen;
        cf_tundef *undef;
        cf_tmethod *method;
        cf_tmacro *macro;
        cf_tloop *loop;
        cf_tcycler *cycler;
        void *p;
    } u;
} cf_tv;

enum { CF_ORG_NONE = 0, CF_ORG_TEMPLATE = 1, CF_ORG_FIRST = 2 };

#define CF_NO_COPY UINT32_MAX

typedef struct cf_tseg {
    uint32_t len; /* bytes */
    uint32_t org;
    uint32_t off; /* in the origin's string; CF_NO_COPY: changed */
    uint32_t pos; /* 1 + offset in the template source; 0: not yet written */
} cf_tseg;

#define CF_CP_UNKNOWN UINT32_MAX

struct cf_tstr {
    const char *p;
    uint32_t n;     /* bytes */
    uint32_t n_cp;  /* code points, CF_CP_UNKNOWN until counted */
    uint32_t hash;  /* 0 until computed */
    uint32_t n_seg; /* 0: `one` describes all of it */
    bool is_markup;
    cf_tseg one;
    const cf_tseg *seg;
};

struct cf_tlist {
    cf_tv *v;
    uint32_t n, cap;
};

typedef struct cf_tentry {
    cf_tv key, val;
    uint32_t hash;
} cf_tentry;

struct cf_tdict {
    cf_tentry *e; /* [n], in order of insertion */
    uint32_t n, cap;
    uint32_t *index; /* [mask + 1] entry + 1, 0 empty; NULL while small */
    uint32_t mask;
};

typedef enum cf_tview_kind { CF_VIEW_KEYS, CF_VIEW_VALUES, CF_VIEW_ITEMS } cf_tview_kind;

struct cf_tview {
    cf_tdict *d;
    cf_tview_kind kind;
};

struct cf_trange {
    int64_t start, stop, step;
    int64_t n;
};

/* An undefined value and the reason why it is undefined. */
struct cf_tundef {
    cf_tv obj;        /* CF_TMISSING: a variable */
    cf_tv name;       /* string or number */
    const char *hint; /* NULL: say it by obj and name */
    bool is_unsafe;   /* using it violates the sandbox */
};

struct cf_tmethod {
    cf_tv self;
    int id; /* of methods.h */
};

/* ---- making values ------------------------------------------------------ */

static inline cf_tv cf_tv_make(cf_tkind k)
{
    return (cf_tv){.k = (uint8_t)k};
}
static inline cf_tv cf_tv_int(int64_t i)
{
    return (cf_tv){.k = CF_TINT, .u.i = i};
}
static inline cf_tv cf_tv_bool(bool b)
{
    return (cf_tv){.k = CF_TBOOL, .u.b = b};
}
static inline cf_tv cf_tv_float(double f)
{
    return (cf_tv){.k = CF_TFLOAT, .u.f = f};
}
static inline cf_tv cf_tv_str(cf_tstr *s)
{
    return (cf_tv){.k = CF_TSTR, .u.s = s};
}
static inline cf_tv cf_tv_list(cf_tlist *l)
{
    return (cf_tv){.k = CF_TLIST, .u.l = l};
}
static inline cf_tv cf_tv_tuple(cf_tlist *l)
{
    return (cf_tv){.k = CF_TTUPLE, .u.l = l};
}
static inline cf_tv cf_tv_dict(cf_tdict *d)
{
    return (cf_tv){.k = CF_TDICT, .u.d = d};
}
#define CF_TV_ERR  cf_tv_make(CF_TERR)
#define CF_TV_NONE cf_tv_make(CF_TNONE)

static inline bool cf_tv_is_str(cf_tv v)
{
    return v.k == CF_TSTR;
}
static inline bool cf_tv_is_intlike(cf_tv v)
{
    return v.k == CF_TINT || v.k == CF_TBOOL || v.k == CF_TBIG;
}
static inline bool cf_tv_is_num(cf_tv v)
{
    return v.k >= CF_TBOOL && v.k <= CF_TFLOAT;
}
static inline cf_str cf_tv_text(cf_tv v)
{
    return cf_str_make(v.u.s->p, v.u.s->n);
}

/* Returns the error from the current function. */
#define CF_TVTRY(v)             \
    do {                        \
        if ((v).k == CF_TERR) { \
            return CF_TV_ERR;   \
        }                       \
    } while (0)

/* ---- memory ------------------------------------------------------------- */

/* Memory for values comes from a pool over the caller's arena, counted
 * against the render's limit.  NULL, with the error set, when it is spent. */
void *cf_t__alloc_slow(cf_tr *r, size_t n);

cf_tlist *cf_t__list_new(cf_tr *r, uint32_t cap);
bool cf_t__list_add(cf_tr *r, cf_tlist *l, cf_tv v);
/* A pair as a tuple. */
cf_tv cf_t__pair(cf_tr *r, cf_tv a, cf_tv b);
cf_tdict *cf_t__dict_new(cf_tr *r, uint32_t cap);
/* d[key] = val; false with the error set (unhashable key, memory). */
bool cf_t__dict_set(cf_tr *r, cf_tdict *d, cf_tv key, cf_tv val);
/* The entry for a hashable key; NULL when there is none.  Comparing keys is
 * charged; a caller that loops over finds spends steps itself, too, and so
 * notices when they are used up. */
cf_tentry *cf_t__dict_find(cf_tr *r, const cf_tdict *d, cf_tv key, uint32_t hash);
cf_tentry *cf_t__dict_find_str(cf_tr *r, const cf_tdict *d, const cf_tstr *key);
bool cf_t__dict_remove(cf_tr *r, cf_tdict *d, cf_tentry *e);
cf_tdict *cf_t__dict_copy(cf_tr *r, const cf_tdict *d);
void cf_t__dict_build_index(cf_tdict *d, uint32_t *index, uint32_t size);

/* ---- what Python's operators say ---------------------------------------- */

/* These charge steps in proportion to the bytes and items they look at. */
uint32_t cf_t__hash_bytes(const char *p, size_t n);
/* false, with the error set, for a value that has no hash. */
bool cf_t__hash(cf_tr *r, cf_tv v, uint32_t *out);
/* The same without an error for such a value: 1, 0 no hash, -1 error. */
int cf_t__try_hash(cf_tr *r, cf_tv v, uint32_t *out);
bool cf_t__truth(cf_tv v);
/* 1, 0, -1: error (nested too deeply, no steps left). */
int cf_t__eq(cf_tr *r, cf_tv a, cf_tv b);
/* Order of a and b in *out (<0, 0, >0; 2: neither, a NaN); false with the
 * error set when they have none.  op: the operator for the message. */
bool cf_t__compare(cf_tr *r, cf_tv a, cf_tv b, const char *op, int *out);
/* The "in" operator: 1, 0, -1 error. */
int cf_t__contains(cf_tr *r, cf_tv container, cf_tv item);
/* len(v), or -1 when it has none. */
int64_t cf_t__len(cf_tv v);
/* "str", "dict", "Undefined" ... */
const char *cf_t__type_name(cf_tv v);

/* ---- iteration ---------------------------------------------------------- */

typedef struct cf_titer {
    cf_tv src;
    uint64_t i;
} cf_titer;

/* false, with the error set, when v cannot be iterated. */
bool cf_t__iter_init(cf_tr *r, cf_titer *it, cf_tv v);
bool cf_t__can_iterate(cf_tv v);
/* 1 and *out; 0 at the end; -1 on error. */
int cf_t__iter_next(cf_tr *r, cf_titer *it, cf_tv *out);
/* A new list of all items; NULL on error. */
cf_tlist *cf_t__to_list(cf_tr *r, cf_tv v);

#endif
