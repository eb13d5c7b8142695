/*
 * inside_steer.h - confab inside steer make: a control vector from pairs of
 * prompts, or from the output row of a token.
 */
#ifndef CF_TUI_CLI_INSIDE_INSIDE_STEER_H
#define CF_TUI_CLI_INSIDE_INSIDE_STEER_H

#include "tui/study/inside/inside_case.h"

typedef struct cf_inside_steer {
    const char *output, *pairs, *row;
} cf_inside_steer;

/* Writes s->output and says so in `out`.  `c` has engine and session.
 * CF_EINVAL without a file, or without one of pairs and row; errors of files,
 * templates and the model. */
CF_MUST_USE cf_status cf_inside_steer_make(const cf_inside_steer *s, cf_inside_case *c, cf_buf *out,
                                           cf_error *err);

#endif
