/*
 * lab_messages.h - the messages that are sent for the path: none, one or several for a
 * turn.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_MESSAGES_H
#define CF_TUI_LAB_TALK_LAB_MESSAGES_H

#include "tui/lab/state/lab_state.h"

/* The messages of the prompt, without unsent text: their number, the role of one,
 * and the one that a turn of the path is (SIZE_MAX: nothing of the turn is
 * sent). */
size_t cf_lab_n_messages(const cf_lab *lab);
/* The number that Chat shows for the turn of a message; 0: it is before the
 * first turn. */
size_t cf_lab_number_of(const cf_lab *lab, size_t message);
/* Where `text` (of `cap` bytes) says "message N" of a message, counted from 1
 * as the engine counts them, puts what Chat calls it: "turn 3", or "the system
 * prompt". */
void cf_lab_name_turn(const cf_lab *lab, size_t message, char *text, size_t cap);
/* NULL past the last. */
const json_t *cf_lab_message(const cf_lab *lab, size_t message);
const char *cf_lab_message_role(const cf_lab *lab, size_t message);
size_t cf_lab_message_of(const cf_lab *lab, size_t turn);

#endif
