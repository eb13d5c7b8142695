/*
 * cause.h - the conditions under which a template writes, recorded while it
 * renders.
 *
 * Place in the flow:  eval and exec evaluate a test --> [record] --> sites of
 * segments --> spans with causes.
 * Nothing is recorded unless cf_tr.record is set: then each function is one
 * comparison.
 *
 * Threads:  as the render.
 * Memory:   the render's; at most CF_CAUSES_MAX conditions.
 */
#ifndef CF_TEMPLATES_LANGUAGE_CAUSE_H
#define CF_TEMPLATES_LANGUAGE_CAUSE_H

#include "templates/language/ast.h"

enum { CF_CAUSES_MAX = 1 << 16 };

/* Recording is rare, so the compiler moves it off the hot path. */
static inline bool cf_t__records(const cf_tr *r)
{
    return __builtin_expect(r->record != NULL, 0);
}

/* The innermost condition; 1 + its index, 0 without one. */
static inline uint32_t cf_t__cause_now(const cf_tr *r)
{
    return cf_t__records(r) ? r->record->now : 0;
}

/* Restores the condition that cf_t__cause_now() returned. */
static inline void cf_t__cause_leave(cf_tr *r, uint32_t was)
{
    if (cf_t__records(r)) {
        r->record->now = was;
    }
}

void cf_t__cause_add(cf_tr *r, cf_cause_kind kind, const cf_tnode *test, bool is_true,
                     uint32_t round, cf_tv item);

/* Records the outcome of a test, which applies to what follows. */
static inline void cf_t__cause_enter(cf_tr *r, cf_cause_kind kind, const cf_tnode *test,
                                     bool is_true)
{
    if (cf_t__records(r)) {
        cf_t__cause_add(r, kind, test, is_true, 0, CF_TV_NONE);
    }
}

/* Records the `round`th item of a loop in the same way. */
static inline void cf_t__cause_round(cf_tr *r, cf_cause_kind kind, const cf_tnode *test,
                                     bool is_true, uint32_t round, cf_tv item)
{
    if (cf_t__records(r)) {
        cf_t__cause_add(r, kind, test, is_true, round, item);
    }
}

/* A string that was chosen or assigned under the present condition: where it
 * is written later, both conditions count. */
cf_tv cf_t__cause_mark_str(cf_tr *r, cf_tv v);
static inline cf_tv cf_t__cause_mark(cf_tr *r, cf_tv v)
{
    return cf_t__records(r) && v.k == CF_TSTR ? cf_t__cause_mark_str(r, v) : v;
}

/* The position of the template that a segment's pos stands for. */
uint32_t cf_t__site_pos(const cf_tr *r, uint32_t pos);

/* The conditions recorded, as the caller of the render gets them: NULL with
 * the error set when there is no memory; [record->n]. */
cf_prompt_cause *cf_t__causes(cf_tr *r);

/* The cause of a segment, of those; NULL. */
const cf_prompt_cause *cf_t__cause_of(const cf_tr *r, const cf_prompt_cause *causes, uint32_t pos);

#endif
