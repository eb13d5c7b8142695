/*
 * gen.h - iterators that are computed as they are read: what map, select and
 * their like return, and the filter of a for loop.
 */
#ifndef CF_TEMPLATES_LANGUAGE_GEN_H
#define CF_TEMPLATES_LANGUAGE_GEN_H

#include "templates/language/call.h"
#include "templates/language/value.h"

typedef enum cf_tgen_kind {
    CF_GEN_ITER,     /* the items of src */
    CF_GEN_REVERSED, /* of the list `l`, from its end */
    CF_GEN_ITEMS,    /* pairs of a dict */
    CF_GEN_MAP,
    CF_GEN_MAP_ATTR,
    CF_GEN_SELECT, /* and reject, selectattr, rejectattr */
    CF_GEN_UNIQUE,
    CF_GEN_BATCH,
    CF_GEN_SLICE,
    CF_GEN_LOOP_TEST /* {% for x in src if test %} */
} cf_tgen_kind;

struct cf_tgen {
    cf_tgen_kind kind;
    bool is_started, is_done;
    bool is_reject, has_attr, case_sensitive;
    cf_tv src;
    cf_titer it;
    uint32_t i, n;
    cf_tlist *l;
    cf_tdict *seen;
    cf_tv attr, fill;     /* attribute path; default or filler */
    cf_tv name;           /* of the filter or test */
    cf_targs args;        /* its further arguments */
    const cf_tnode *loop; /* CF_GEN_LOOP_TEST */
    struct cf_tact *act;
    /* CF_GEN_LOOP_TEST, while conditions are recorded: that of the loop, and
     * that of the last item; 1 + index. */
    uint32_t outer, cause;
};

/* A new generator over src; NULL on error. */
cf_tgen *cf_t__gen_new(cf_tr *r, cf_tgen_kind kind, cf_tv src);
static inline cf_tv cf_tv_gen(cf_tgen *g)
{
    return g == NULL ? CF_TV_ERR : (cf_tv){.k = CF_TGEN, .u.gen = g};
}
int cf_t__gen_next(cf_tr *r, cf_tgen *g, cf_tv *out);
/* The next (item, loop) pair of a loop that is iterated over itself. */
int cf_t__loop_pair(cf_tr *r, cf_tloop *loop, cf_tv *out);

#endif
