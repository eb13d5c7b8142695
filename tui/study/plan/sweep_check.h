/*
 * sweep_check.h - a check of a sweep: a question about each reply, whose
 * answer is yes or no and, for likelihoods, a number.
 *
 * Place in the flow:  a reply --> [check] --> passed or not.
 * Knows: predicates, and the two kinds that need a model.  Does not know:
 * which model that is.
 *
 *   regex, contains, equals, schema, calls-valid ...   predicate.h
 *   likelihood [>=X] TEXT    mean log-likelihood of a token of TEXT as the
 *                            reply; passed from X on (default: -1)
 *   judge MODEL QUESTION     another model says yes
 *
 * {FIELD} in a value is the member FIELD of the prompt's line.
 *
 * Threads:  a check is constant once read.
 * Memory:   texts live in the plan's arena.
 */
#ifndef CF_TUI_STUDY_PLAN_SWEEP_CHECK_H
#define CF_TUI_STUDY_PLAN_SWEEP_CHECK_H

#include "tui/study/ask/predicate.h"

typedef enum cf_sweep_check_kind {
    CF_CHECK_PREDICATE,
    CF_CHECK_LIKELIHOOD,
    CF_CHECK_JUDGE
} cf_sweep_check_kind;

typedef struct cf_sweep_check {
    cf_str name;
    cf_sweep_check_kind kind;
    cf_str predicate;               /* its kind */
    cf_str value;                   /* of a predicate; the text; the question */
    bool is_negated;                /* a judge says no */
    const char *model;              /* of a judge */
    const char *server_model, *key; /* of a judge that is a server; may be NULL */
    const char *key_variable;       /* as in cf_sweep_model */
    bool is_service;
    double least;        /* of a likelihood */
    cf_predicate *ready; /* NULL: the value has fields of prompts */
} cf_sweep_check;

/* A check as the plan writes it, "NAME KIND VALUE".  `find` resolves the name
 * of a file.  CF_EINVAL; errors of cf_predicate_new(). */
CF_MUST_USE cf_status cf_sweep_check_read(cf_sweep_check *out, cf_str text, cf_arena *arena,
                                          const char *(*find)(void *ud, cf_str name), void *ud,
                                          cf_error *err);
void cf_sweep_check_deinit(cf_sweep_check *c);

/* Appends the value with the fields of a prompt's line in it. */
void cf_sweep_check_value(const cf_sweep_check *c, const json_t *fields, cf_buf *out);

/* The key of a model's answer to the check in a result. */
void cf_sweep_check_key(const cf_sweep_check *c, const json_t *fields, cf_buf *out);

/* Asks a predicate; `why` gets a line of explanation. */
CF_MUST_USE cf_status cf_sweep_check_ask(const cf_sweep_check *c, const json_t *fields,
                                         const cf_sight *sight, bool *holds, cf_buf *why,
                                         cf_error *err);

#endif
