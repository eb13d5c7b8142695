/*
 * lint_impl.h - what the rules share.
 */
#ifndef CF_TEMPLATES_LINT_LINT_IMPL_H
#define CF_TEMPLATES_LINT_LINT_IMPL_H

#include "templates/lint/probe.h"

enum { CF_LINT_FINDINGS_MAX = 64 };

typedef struct cf_linter {
    cf_prober prober;
    cf_str source;
    cf_lint_report *report;
    cf_lint_finding finding[CF_LINT_FINDINGS_MAX];
    size_t n;
} cf_linter;

/* Adds a finding (one a rule and place; more are dropped).  `shot` (may be
 * NULL) is the render that shows it: its context is kept, and the template
 * place of byte `off` where off is not SIZE_MAX. */
cf_status cf_lint__add(cf_linter *l, const char *rule, const cf_shot *shot,
                       size_t off, cf_error *err, const char *fmt, ...)
    CF_PRINTF(6, 7);
/* The same at a place of the source. */
cf_status cf_lint__add_at(cf_linter *l, const char *rule, uint32_t line,
                          uint32_t col, cf_error *err, const char *fmt, ...)
    CF_PRINTF(6, 7);

cf_status cf_lint__caps(const cf_prober *p, cf_template_caps *c, cf_error *err);

/* Groups of rules, a file each. */
cf_status cf_lint__basic_rules(cf_linter *l, cf_error *err);
cf_status cf_lint__marker_rules(cf_linter *l, cf_error *err);
cf_status cf_lint__tool_rules(cf_linter *l, cf_error *err);
cf_status cf_lint__prefix_rules(cf_linter *l, cf_error *err);
cf_status cf_lint__variable_rules(cf_linter *l, cf_error *err);

/* First byte in which a and b differ; the shorter length when one begins the
 * other. */
size_t cf_lint__diverge(cf_str a, cf_str b);

#endif
