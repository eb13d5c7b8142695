/*
 * lint_impl.h - one lint in progress, and what its rules share.
 *
 * A rule is a row of the table in lint.c: its words and its check.  While a
 * check runs, findings that it adds are findings of its row, so a check can
 * only report its own rule.
 *
 * Threads:  a linter belongs to one thread.
 * Memory:   findings live in the arena of the report; probes in their own.
 */
#ifndef CF_TEMPLATES_LINT_LINT_IMPL_H
#define CF_TEMPLATES_LINT_LINT_IMPL_H

#include "templates/lint/probe.h"

enum { CF_LINT_FINDINGS_MAX = 64, CF_LINT_BECAUSE_MAX = 6 };

typedef struct cf_lint_names cf_lint_names; /* rules_variables.c */

typedef struct cf_linter {
    cf_prober prober; /* tpl NULL: the source does not compile, `why` ... */
    cf_template_error why;
    const char *why_text; /* ... says why */
    const cf_tokenizer *tokenizer;
    cf_str source;
    const char *const *markers[2]; /* of images and sounds; NULL: not known */
    cf_str client;                 /* whose requests are tried; empty: none */
    cf_arena *arena;
    cf_lint_report *report;
    const cf_lint_rule *rule; /* the row whose check is running */
    bool by_message;          /* whether one place may have several findings */
    cf_lint_names *names;     /* made once, when first asked for */
    cf_lint_finding finding[CF_LINT_FINDINGS_MAX];
    size_t n;
    cf_lint_because because[CF_LINT_BECAUSE_MAX]; /* conditions of the next finding */
    size_t n_because;
} cf_linter;

/* Adds a finding of the rule that runs, one for each place (of a row
 * by_message: for each place and message); those over CF_LINT_FINDINGS_MAX
 * are left out.  `shot` (may be NULL) is the render that shows it: its context
 * is kept, and where off is not SIZE_MAX the place in the template that wrote
 * byte `off`.  The conditions named since the last finding are the new one's;
 * without any, those under which that byte was written or the render failed. */
cf_status cf_lint__add(cf_linter *l, const cf_shot *shot, size_t off, cf_error *err,
                       const char *fmt, ...) CF_PRINTF(5, 6);
/* Adds a finding at a place of the source. */
cf_status cf_lint__add_at(cf_linter *l, uint32_t line, uint32_t col, cf_error *err, const char *fmt,
                          ...) CF_PRINTF(5, 6);

cf_status cf_lint__caps(cf_prober *p, cf_template_caps *c, cf_error *err);

/* First byte in which a and b differ; the shorter length when one begins the
 * other. */
size_t cf_lint__diverge(cf_str a, cf_str b);

/* Whether the source fails to compile at a construct that is left out on
 * purpose: W009, not E005. */
bool cf_lint__is_left_out(const cf_linter *l);

/* ---- what decided (because.c): named before the finding is added --------- */

/* One place with its outcome, constant; those over CF_LINT_BECAUSE_MAX and
 * places named before are left out. */
void cf_lint__because(cf_linter *l, uint32_t line, uint32_t col, cf_str test, const char *outcome);
/* Names a chain of conditions, innermost first; NULL names none. */
void cf_lint__because_chain(cf_linter *l, const cf_prompt_cause *inner);
/* The condition that made two renders differ at byte `off`, or those under
 * which each wrote it. */
void cf_lint__because_differs(cf_linter *l, const cf_shot *shorter, const cf_shot *longer,
                              size_t off);
/* Names the conditions that were evaluated for a message. */
void cf_lint__because_message(cf_linter *l, const cf_shot *s, size_t message);
/* Names the conditions whose text contains this word. */
void cf_lint__because_mentions(cf_linter *l, const cf_shot *s, const char *word);
/* The first message of the context that contains `word`, or SIZE_MAX. */
size_t cf_lint__message_with(const cf_shot *s, const char *word);
/* Moves the named conditions into the finding. */
cf_status cf_lint__keep_because(cf_linter *l, cf_lint_finding *f, cf_error *err);

/* ---- checks, by file ---------------------------------------------------- */

typedef cf_status (*cf_lint_check)(cf_linter *l, cf_error *err);

/* Whether text[at..] is inside the source text of a value: a list of parts in
 * Python or JSON, or JSON whose quotes are escaped (caps.c). */
bool cf_lint__is_garbled(cf_str text, size_t at);

/* clients.c */
cf_status cf_lint__client_refused(cf_linter *l, cf_error *err);
cf_status cf_lint__client_lost(cf_linter *l, cf_error *err);
/* rules_basic.c */
cf_status cf_lint__bos_twice(cf_linter *l, cf_error *err);
cf_status cf_lint__bos_missing(cf_linter *l, cf_error *err);
cf_status cf_lint__generation_prompt(cf_linter *l, cf_error *err);
cf_status cf_lint__crashes(cf_linter *l, cf_error *err);
cf_status cf_lint__reasoning(cf_linter *l, cf_error *err);
cf_status cf_lint__system(cf_linter *l, cf_error *err);
cf_status cf_lint__last_blank(cf_linter *l, cf_error *err);
/* rules_drops.c */
cf_status cf_lint__tools_dropped(cf_linter *l, cf_error *err);
cf_status cf_lint__calls_dropped(cf_linter *l, cf_error *err);
cf_status cf_lint__results_dropped(cf_linter *l, cf_error *err);
cf_status cf_lint__replies_dropped(cf_linter *l, cf_error *err);
/* rules_markers.c */
cf_status cf_lint__balance(cf_linter *l, cf_error *err);
cf_status cf_lint__glued(cf_linter *l, cf_error *err);
cf_status cf_lint__tokens(cf_linter *l, cf_error *err);
/* rules_media.c */
cf_status cf_lint__media_dropped(cf_linter *l, cf_error *err);
cf_status cf_lint__media_marker(cf_linter *l, cf_error *err);
cf_status cf_lint__media_place(cf_linter *l, cf_error *err);
/* rules_prefix.c */
cf_status cf_lint__prefix(cf_linter *l, cf_error *err);
/* rules_tools.c */
cf_status cf_lint__round_trip(cf_linter *l, cf_error *err);
cf_status cf_lint__result_role(cf_linter *l, cf_error *err);
cf_status cf_lint__escaping(cf_linter *l, cf_error *err);
/* rules_variables.c */
cf_status cf_lint__constructs(cf_linter *l, cf_error *err);
cf_status cf_lint__chance(cf_linter *l, cf_error *err);
cf_status cf_lint__unset(cf_linter *l, cf_error *err);
/* rules_version.c */
cf_status cf_lint__superseded(cf_linter *l, cf_error *err);

#endif
