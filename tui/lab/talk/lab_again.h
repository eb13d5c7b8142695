/*
 * lab_again.h - the whole branch again: what the user said on it is sent once
 * more, one message after the other, each when the reply before it is complete
 * and its calls are answered.
 *
 * Place in the flow:  another system prompt, template, model ... --> [again] -->
 * a branch beside the old one.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_AGAIN_H
#define CF_TUI_LAB_TALK_LAB_AGAIN_H

#include "tui/lab/state/lab_state.h"

/* Begins with the first message after the system prompt; *n is how many there
 * are.  CF_ENOTFOUND where nothing was said; errors of cf_lab_add(). */
CF_MUST_USE cf_status cf_lab_again(cf_lab *lab, size_t *n, cf_error *err);

/* Sends the next one where it is due.  A reply that failed or was stopped, another
 * branch or conversation end it. */
CF_MUST_USE cf_status cf_lab_again_step(cf_lab *lab, cf_error *err);

#endif
