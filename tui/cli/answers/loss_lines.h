/*
 * loss_lines.h - what of a context is not in its prompt, a line each.
 */
#ifndef CF_TUI_CLI_ANSWERS_LOSS_LINES_H
#define CF_TUI_CLI_ANSWERS_LOSS_LINES_H

#include "core/api/renderer.h"

/* How losses are said on standard error: cf_loss_note()'s `ud`. */
typedef struct cf_loss_lines {
    const char *of; /* the context's name, "" or NULL for the only one */
    bool as_json;
} cf_loss_lines;

/* "[prompt] OF: WHAT is lost: WHY", or {"event":"loss","of","what","path",
 * "why"}; a cf_loss_fn. */
void cf_loss_note(void *ud, const cf_loss *loss);

/* Says that a server read less than the prompt, if it did: n_read of about n
 * tokens. */
void cf_loss_of_server(const cf_loss_lines *how, uint64_t n_read, uint64_t n);

/* Appends the object and a line end. */
void cf_loss_json(cf_buf *out, const cf_loss *loss, const char *of);

#endif
