/*
 * lab_options.h - what is sent besides the messages: the settings
 * and the variables of the template.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_OPTIONS_H
#define CF_TUI_LAB_TALK_LAB_OPTIONS_H

#include "tui/lab/state/lab_state.h"

/* Template variables and options of the next turn; borrowed until one of them
 * changes. */
cf_turn_options cf_lab_options(cf_lab *lab);

/* "NAME=JSON" sets a template variable, "NAME=" removes it. */
CF_MUST_USE cf_status cf_lab_set_var(cf_lab *lab, const char *text, cf_error *err);
/* Those that are set; borrowed. */
const json_t *cf_lab_vars(const cf_lab *lab);

#endif
