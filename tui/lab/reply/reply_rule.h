/*
 * reply_rule.h - a constraint with its grammar, shared by the lab, by the reply
 * that is being written, and by replies that were written under it; whoever
 * drops it last frees it.
 *
 * Threads:  one thread at a time.
 */
#ifndef CF_TUI_LAB_REPLY_REPLY_RULE_H
#define CF_TUI_LAB_REPLY_REPLY_RULE_H

#include "core/api/constraint.h"
#include "storage/store.h"
#include "tui/lab/reply/lab_reply.h"

struct cf_lab_rule {
    unsigned n_users;
    json_t *spec;
    json_t *tools;       /* declarations for a spec of calls; may be NULL */
    cf_buf text;         /* of the spec */
    cf_grammar *grammar; /* NULL: not compiled yet */
    char label[96];
};

/* Takes `spec` over, whatever comes of it; NULL when memory ran out. */
cf_lab_rule *cf_lab_rule_new(json_t *spec);
/* The constraint of a stored run, not compiled.  NULL when it had none, it is
 * not known here, or memory ran out. */
cf_lab_rule *cf_lab_rule_stored(const cf_store_run *run);
/* NULL is held and dropped as well. */
cf_lab_rule *cf_lab_rule_hold(cf_lab_rule *rule);
void cf_lab_rule_drop(cf_lab_rule *rule);

/* Makes the grammar, where there is none yet. */
CF_MUST_USE cf_status cf_lab_rule_compile(cf_lab_rule *rule, cf_error *err);
/* Cut at a whole character to what the label can hold. */
void cf_lab_rule_set_label(cf_lab_rule *rule, const cf_buf *text);

#endif
