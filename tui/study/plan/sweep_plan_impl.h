/*
 * sweep_plan_impl.h - shared by the formats of plans: sweep_plan.c and
 * tui/study/import.
 *
 * Threads:  one thread.
 * Memory:   what is read belongs to the plan.
 */
#ifndef CF_TUI_STUDY_PLAN_SWEEP_PLAN_IMPL_H
#define CF_TUI_STUDY_PLAN_SWEEP_PLAN_IMPL_H

#include "tui/study/plan/sweep_plan.h"

enum {
    CF_PLAN__FILE_MAX = 16 << 20,
    CF_PLAN__PROMPTS_MAX = 512 << 20 /* bytes of prompts, and of their files */
};

typedef struct cf_plan__reader {
    cf_sweep_plan *p;
    const cf_sweep_saved *saved;
} cf_plan__reader;

/* Reads the lines of a plan.  Errors as those of cf_plan_load(). */
CF_MUST_USE cf_status cf_plan__lines(cf_plan__reader *r, cf_str text, cf_error *err);

/* A copy of the text in the plan.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_plan__copy(cf_plan__reader *r, cf_str *to, cf_str s, cf_error *err);

/* The path of a file relative to the plan if it exists, else the name as given;
 * NULL when memory ran out.  `ud` is the reader. */
const char *cf_plan__find_file(void *ud, cf_str name);

/* Takes over the references, even on failure.  CF_ELIMIT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_plan__add_item(cf_plan__reader *r, const cf_sweep_item *item,
                                        cf_error *err);

/* The sampler of a plan without one: greedy, 256 tokens. */
CF_MUST_USE cf_status cf_plan__plain_sampler(cf_sweep_sampler *s, cf_error *err);

bool cf_plan__is_address(cf_str word);

#endif
