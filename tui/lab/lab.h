/*
 * lab.h - the workbench's model: one conversation, the engine that answers
 * it, the threads that wait for the engine, and what is known of each reply.
 * Views read it; commands change it.
 *
 * Place in the flow:  commands --> [lab] --> core, templates, storage;
 * cf_lab_poll() brings back what the threads have done.
 * Knows: conversations, prompts, replies, the history.  Does not know: grids,
 * terminals, standard streams, the command line.
 *
 * Its parts, a header and a file each:
 *   lab_conversation.h  turns, replies, opening, marks
 *   lab_send.h          sends and the live reply
 *   lab_system.h        the system prompt
 *   lab_prompt.h        the prompt and its variables
 *   lab_template.h      another template
 *   lab_lint.h          lint results, variables of a template
 *   lab_tools.h         declarations, outcomes of calls
 *   lab_constraint.h    the constraint of the replies to come
 *   lab_task.h          other long work
 *
 * Threads:  the interface thread.
 * Memory:   results are borrowed until the next change.
 */
#ifndef CF_TUI_LAB_LAB_H
#define CF_TUI_LAB_LAB_H

#include "tui/lab/state/lab_state.h"

/* `store` may be NULL: no history. */
CF_MUST_USE cf_status cf_lab_new(cf_lab **out, const cf_lab_engine *engine, cf_store *store,
                                 cf_error *err);
void cf_lab_free(cf_lab *lab);

/* A descriptor that gets a byte when there is something to poll. */
void cf_lab_wake_with(cf_lab *lab, int fd);

/* Takes what the threads have done; true when something changed.  A failure
 * that the user should see is put into *err (code CF_OK when there is
 * none). */
bool cf_lab_poll(cf_lab *lab, cf_error *err);

/* Waits until nothing runs and everything was taken.  For tests. */
void cf_lab_settle(cf_lab *lab, cf_error *err);

#endif
