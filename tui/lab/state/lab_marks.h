/*
 * lab_marks.h - the saved conversations that the user marked for a comparison or ticked
 * for a command on several.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_STATE_LAB_MARKS_H
#define CF_TUI_LAB_STATE_LAB_MARKS_H

#include "tui/lab/state/lab_state.h"

/* Conversations marked A (0) and B (1). */
void cf_lab_mark(cf_lab *lab, int which, cf_uuid conv);
/* 'A', 'B' or ' '. */
char cf_lab_mark_of(const cf_lab *lab, cf_uuid conv);

/* Nil when nothing is marked. */
cf_uuid cf_lab_marked(const cf_lab *lab, int which);

/* Conversations ticked for what is done with several of them, in the order
 * they were; borrowed until the next tick.  Ticking one twice takes it off;
 * false when memory ran out. */
bool cf_lab_tick(cf_lab *lab, cf_uuid conv);
bool cf_lab_is_ticked(const cf_lab *lab, cf_uuid conv);
const cf_uuid *cf_lab_ticked(const cf_lab *lab, size_t *n);
void cf_lab_untick_all(cf_lab *lab); /* choices as well */

/* What else is ticked for a sweep. */
typedef enum cf_tick_kind {
    CF_TICK_SYSTEM,   /* `text` is the system prompt */
    CF_TICK_TEMPLATE, /* its source */
    CF_TICK_MODEL,    /* as -m names it */
    CF_TICK_SAMPLER,  /* options, as a plan has them */
    CF_TICK_KINDS
} cf_tick_kind;

typedef struct cf_lab_choice {
    cf_tick_kind kind;
    char name[64];
    cf_buf text;
} cf_lab_choice;

/* Ticks it, or takes the tick off one of the same text; false when memory ran
 * out. */
bool cf_lab_tick_choice(cf_lab *lab, cf_tick_kind kind, const char *name, cf_str text);
bool cf_lab_has_choice(const cf_lab *lab, cf_tick_kind kind, cf_str text);
/* In the order in which they were ticked; borrowed until the next tick. */
const cf_lab_choice *cf_lab_choices(const cf_lab *lab, size_t *n);

#endif
