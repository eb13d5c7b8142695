/*
 * position.h - the inside of a position, for the files that make masks.
 * Room-internal.
 */
#ifndef CF_CORE_CONSTRAIN_POSITION_H
#define CF_CORE_CONSTRAIN_POSITION_H

#include "core/grammar/machine.h"

/* A position to return to. */
typedef struct cf_constraint_step {
    size_t past, n_item; /* items, in cf_constraint.past */
    size_t n_text;
    cf_machine_mark mark;
    bool may_end, has_ended;
} cf_constraint_step;

typedef struct cf_masker cf_masker;

struct cf_constraint {
    const cf_grammar *g;
    const cf_constraint_vocab *vocab;
    cf_machine m;
    cf_item *item;
    size_t n_item, cap_item;
    bool may_end;
    bool has_ended; /* an end token was taken */
    cf_constraint_step *step;
    size_t n_step, cap_step;
    cf_item *past;
    size_t n_past, cap_past;
    cf_masker *masker; /* NULL without a vocabulary */
};

/* CF_ENOMEM or CF_ELIMIT with its text. */
cf_status cf_constraint__fail(cf_status st, cf_error *err);

CF_MUST_USE cf_status cf_constraint__mask_init(cf_constraint *c, cf_error *err);
void cf_constraint__mask_deinit(cf_constraint *c);

/* A reading is inside a free key: its end depends on the text. */
bool cf_constraint__in_key(const cf_constraint *c);

#endif
