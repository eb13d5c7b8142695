/*
 * state.h - one render in progress: memory, limits, origins, the error.
 */
#ifndef CF_TEMPLATES_LANGUAGE_STATE_H
#define CF_TEMPLATES_LANGUAGE_STATE_H

#include "core/api/renderer.h"
#include "templates/language/text.h"
#include "templates/language/value.h"
#include "templates/template.h"

/* Where a byte range comes from. */
typedef struct cf_torg {
    cf_str path;            /* as in cf_prompt_span */
    uint32_t index;         /* likewise */
    uint8_t source;         /* cf_span_source */
    uint8_t n_inputs;       /* CF_SPAN_COMPUTED: what it was made of */
    const uint32_t *inputs; /* [n_inputs] origins */
} cf_torg;

struct cf_context {
    cf_tdict *vars;
    const cf_torg *org; /* [n_org]; origin CF_ORG_FIRST + i */
    uint32_t n_org;
};

/* The slots of one running function (the template, a macro, a call block). */
typedef struct cf_tact {
    cf_tv *slot;
    struct cf_tact *outer; /* where the function was defined */
} cf_tact;

/* A condition that was evaluated: a node of the tree of outcomes. */
typedef struct cf_tcause {
    uint64_t way; /* as in cf_prompt_cause */
    uint32_t up;  /* 1 + the cause decided before it; 0 */
    const cf_tnode *test;
    uint32_t round, message, tool; /* as in cf_prompt_cause */
    uint8_t kind;                  /* cf_cause_kind */
    bool is_true;
    bool is_copy;
} cf_tcause;

/* Where and under which condition a segment was written.  While a render
 * records, cf_tseg.pos is CF_SITE | the index of a site. */
typedef struct cf_tsite {
    uint32_t pos;   /* as cf_tseg.pos without sites */
    uint32_t cause; /* 1 + index; 0: under none */
} cf_tsite;

#define CF_SITE 0x80000000u

typedef struct cf_trecord {
    cf_tcause *v;
    uint32_t n, cap;
    cf_tsite *site;
    uint32_t n_site, cap_site;
    uint32_t now;                        /* the innermost cause; 1 + index */
    uint32_t joined_a, joined_b, joined; /* the last join */
} cf_trecord;

typedef enum cf_tflow { CF_FLOW_NEXT, CF_FLOW_BREAK, CF_FLOW_CONTINUE } cf_tflow;

typedef enum cf_terror_kind {
    CF_TE_NONE,
    CF_TE_TEMPLATE, /* the failure is the template's own */
    CF_TE_RAISED,   /* raise_exception */
    CF_TE_LIMIT,
    CF_TE_CANCELLED,
    CF_TE_MEMORY
} cf_terror_kind;

struct cf_tr {
    cf_arena *arena;
    char *cur, *end; /* the unused part of the pool */
    size_t mem;      /* bytes taken from the arena */
    size_t max_mem;

    const cf_template *tpl;
    const cf_context *ctx;
    cf_tdict *vars;     /* the context's, or a copy when lists may change */
    cf_tdict *exported; /* top-level sets, for blocks; NULL until needed */

    uint64_t steps, max_steps;
    uint64_t check_at; /* steps at which cf_t__spend looks further */
    cf_cancel *cancel; /* may be NULL */

    /* The segment of a string that was looked at last, and its start. */
    struct {
        const cf_tseg *seg;
        uint32_t i, at;
    } seg_last;

    size_t max_out;
    uint32_t depth, max_depth;
    uint32_t n_call; /* macro and loop() calls on the stack */

    cf_trecord *record; /* NULL: conditions are not recorded */

    cf_tsb *out; /* the current output */
    cf_tsb root;
    cf_tact *act;
    cf_tflow flow;
    bool autoescape;
    bool allow_mutation;
    uint64_t rng;
    int64_t now; /* as in cf_render_options */

    const cf_torg *org; /* origins made while rendering: CF_ORG_FIRST + n_ctx + i */
    cf_torg *org_own;
    uint32_t n_org, cap_org;
    uint32_t last_a, last_b, last_org; /* the most recent combination */

    /* Stretches of {% generation %}. */
    struct {
        cf_generation *v;
        uint32_t n, cap;
        uint32_t cp, cp_bytes; /* code points of the output counted so far, and their bytes */
    } gens;

    cf_terror_kind error;
    cf_str message;
    uint32_t err_pos, err_end; /* 1 + offset; 0: not known yet */
};

static inline void *cf_t__alloc(cf_tr *r, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if (n <= (size_t)(r->end - r->cur)) {
        void *p = r->cur;
        r->cur += n;
        return p;
    }
    return cf_t__alloc_slow(r, n);
}

/* Sets the error (the first one stays) and returns CF_TERR. */
cf_tv cf_t__fail(cf_tr *r, const char *fmt, ...) CF_PRINTF(2, 3);
cf_tv cf_t__fail_limit(cf_tr *r, const char *fmt, ...) CF_PRINTF(2, 3);
cf_tv cf_t__fail_memory(cf_tr *r);
cf_tv cf_t__raise(cf_tr *r, cf_str message);

/*
 * Charges n steps; false, with the error set, when the render has none left
 * or is cancelled.  One step stands for at most some tens of nanoseconds:
 * visiting a node, comparing two small values, moving 16 bytes.  Whatever
 * takes time in proportion to its input charges that time, or the limit would
 * not end it.
 */
bool cf_t__spend_slow(cf_tr *r);
static inline bool cf_t__spend(cf_tr *r, uint64_t n)
{
    r->steps += n;
    return r->steps < r->check_at || cf_t__spend_slow(r);
}
/* The same for work over n bytes. */
static inline bool cf_t__spend_bytes(cf_tr *r, uint64_t n)
{
    return cf_t__spend(r, n >> 4);
}

/* Goes one level deeper; false, with the error set, at the limit.  Each
 * success is paired with cf_t__leave. */
bool cf_t__enter_slow(cf_tr *r);
static inline bool cf_t__enter(cf_tr *r)
{
    return ++r->depth <= r->max_depth || cf_t__enter_slow(r);
}
static inline void cf_t__leave(cf_tr *r)
{
    r->depth--;
}

/* The origin of something computed from things with origins a and b. */
uint32_t cf_t__org_join(cf_tr *r, uint32_t a, uint32_t b);
/* The origin of a value: a string's first segment, or what it carries. */
uint32_t cf_t__org_of(cf_tv v);
const cf_torg *cf_t__org_get(const cf_tr *r, uint32_t org);

/* While conditions are recorded: the position that a segment at `pos` gets
 * when it is written now; `otherwise` where it has none yet (cause.c). */
uint32_t cf_t__site(cf_tr *r, uint32_t pos, uint32_t otherwise);

/* An undefined value. */
cf_tv cf_t__undef_name(cf_tr *r, cf_tv name);
cf_tv cf_t__undef_attr(cf_tr *r, cf_tv obj, cf_tv name);
cf_tv cf_t__undef_hint(cf_tr *r, const char *hint);
/* Fails with a message about the undefined value `v`. */
cf_tv cf_t__fail_undef(cf_tr *r, cf_tv v);

#endif
