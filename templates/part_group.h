/*
 * part_group.h - parts that hide each other's effect: groups that lose a reply only
 * when they are left out together, or by any one of them.
 *
 * Place in the flow:  the effect of each part alone --> [groups] --> which sets to
 *                     leave out --> groups.
 * Knows: effects, which parts lie in others.  Does not know: prompts, scores.
 *
 * Threads:  no state.
 * Memory:   lists live in the arena given.
 */
#ifndef CF_TEMPLATES_PART_GROUP_H
#define CF_TEMPLATES_PART_GROUP_H

#include "templates/prompt_part.h"

CF_BEGIN_DECLS

/* Of a part left out alone. */
typedef struct cf_part_effect {
    const cf_part *part;
    bool is_known;
    double delta; /* of the reply's log-likelihood: below zero the part raised it */
} cf_part_effect;

/* What is lost without all of row[0..n): `with` - `without`; 0 where that cannot be
 * asked. */
typedef cf_status (*cf_part_cost_fn)(void *ud, const size_t *row, size_t n, double *cost,
                                     cf_error *err);

typedef struct cf_part_grouping {
    const cf_part_effect *effect; /* [n] */
    size_t n;
    cf_part_cost_fn fn;
    void *ud;
    cf_arena *arena; /* gets the groups' lists */
} cf_part_grouping;

typedef enum cf_part_group_kind {
    CF_GROUP_EITHER, /* each suffices: only without all of them the reply is lost */
    CF_GROUP_BOTH,   /* without either it is lost */
    CF_GROUP_SOME    /* `need` of them suffice */
} cf_part_group_kind;

/* "either", "both", "some" */
const char *cf_part_group_name(cf_part_group_kind kind);

typedef struct cf_part_group {
    cf_part_group_kind kind;
    const size_t *row; /* [n] indices of effects */
    size_t n, need;
    double delta; /* of all of them together */
} cf_part_group;

enum { CF_PART_GROUPS_MAX = 8 };

/* Finds out[0..*n_out).  Errors of `fn`; CF_ENOMEM. */
CF_MUST_USE cf_status cf_part_groups_find(cf_part_group out[CF_PART_GROUPS_MAX], size_t *n_out,
                                          const cf_part_grouping *of, cf_error *err);

CF_END_DECLS

#endif
