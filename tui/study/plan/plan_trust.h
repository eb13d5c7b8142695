/*
 * plan_trust.h - what the addresses of a plan may get.
 *
 * Place in the flow:  a plan that was read --> [plan_trust] --> sweep.h.
 *
 * Threads:  one thread.
 * Memory:   keys of the environment are copied into the plan.
 */
#ifndef CF_TUI_STUDY_PLAN_PLAN_TRUST_H
#define CF_TUI_STUDY_PLAN_PLAN_TRUST_H

#include "tui/study/plan/sweep_plan.h"
#include "tui/sys/trust.h"

/* Checks each address of models and judges (cf_trust_check()), and gives those
 * a key that may have one: the user's where the user named all addresses of the
 * model, else the one that the plan has, else that of the variable that it names
 * and the user allows.  Without this call a plan's models get no key but the
 * plan's.  CF_EINVAL for an address or a variable that is refused, or a variable
 * that is not set; CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep_plan_trust(cf_sweep_plan *plan, cf_trust *trust, cf_error *err);

#endif
