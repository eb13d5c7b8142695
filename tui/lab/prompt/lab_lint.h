/*
 * lab_lint.h - lint results of templates and the variables of the one in
 * use.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_PROMPT_LAB_LINT_H
#define CF_TUI_LAB_PROMPT_LAB_LINT_H

#include "templates/template_lint.h"
#include "tui/lab/state/lab_state.h"

/* The lint result of a template. */
typedef struct cf_lab_lint {
    cf_status status;
    cf_error err;
    cf_lint_report report;                /* when the status is CF_OK */
    const cf_template_variable *variable; /* [n_variables]; none when it does
                                             not compile */
    size_t n_variables;
} cf_lab_lint;

/* Lint result of `source` with the model in the workbench.  NULL while the lint
 * runs on a thread of its own; cf_lab_poll() returns true when it is ready.
 * Lives until the next call with another source. */
const cf_lab_lint *cf_lab_lint_of(cf_lab *lab, cf_str source);

/* A variable of the prompt: what it is and who set it. */
typedef struct cf_lab_variable {
    cf_str name;
    cf_buf value;       /* JSON in short; "" when it is not set */
    const char *origin; /* "the conversation", ":var" ...; constant */
    uint32_t line;      /* of the template, where it is first used; 0: it is
                           not */
} cf_lab_variable;

/* The variables of the template in use, and those that were set but are not
 * used there; *v is owned by the caller (cf_lab_variables_free).  CF_EBUSY
 * while the template is linted. */
CF_MUST_USE cf_status cf_lab_variables(cf_lab *lab, cf_lab_variable **v, size_t *n, cf_error *err);
void cf_lab_variables_free(cf_lab_variable *v, size_t n);

#endif
