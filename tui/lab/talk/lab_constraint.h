/*
 * lab_constraint.h - the constraint on the next replies.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_CONSTRAINT_H
#define CF_TUI_LAB_TALK_LAB_CONSTRAINT_H

#include "core/api/constraint.h"
#include "tui/lab/state/lab_state.h"

/*
 * Constrains the replies to come: "schema FILE", "regex PATTERN", "grammar
 * FILE", "choice A|B", "json", "tools [MODE]", or "off".
 * CF_EUNSUPPORTED where the engine cannot; CF_EINVAL, CF_ENOTFOUND,
 * CF_EFORMAT; the constraint before then stays.
 */
CF_MUST_USE cf_status cf_lab_constrain(cf_lab *lab, const char *words, cf_error *err);
/* "schema weather.json"; "" for none. */
const char *cf_lab_constraint(const cf_lab *lab);

/* The vocabulary that constraints need, made once, in a tenth of a second.  On
 * the thread of a send or of a task. */
CF_MUST_USE cf_status cf_lab_vocab(cf_lab *lab, cf_constraint_vocab **out, cf_error *err);

#endif
