/*
 * demo_serve.h - the demonstration tools at work in the workbench: replies
 * that call them are answered, and timers ring.
 *
 * A reply is answered when it is of this session and at the end of the path,
 * once, and at most CF_DEMO_ROUNDS times after one message of the user.  A
 * reply that also calls other tools is left to the user, in the Tools view.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_DEMO_DEMO_SERVE_H
#define CF_TUI_DEMO_DEMO_SERVE_H

#include "tui/demo/demo.h"

typedef struct cf_lab cf_lab;

enum { CF_DEMO_ROUNDS = 8 };

/* From now on the tools answer calls, or do not; timers go on.  `demo` may be
 * NULL. */
void cf_demo_switch(cf_demo *demo, bool is_on);

/* The message of a step. */
typedef struct cf_demo_said {
    cf_buf notice; /* one line for the user; empty: nothing */
    bool is_error; /* the notice is */
    cf_buf log;    /* lines for the log */
    bool has_served;
} cf_demo_said;
void cf_demo_said_deinit(cf_demo_said *said);

/* Does what is due and adds to *said.  `lab` may be NULL: only timers ring. */
void cf_demo_step(cf_demo *demo, cf_lab *lab, cf_demo_said *said);

/* The result as a message's content: a text as it is, else as the bundled model
 * knows it, with ", " and ": ".  A new reference of a string; NULL: memory ran out. */
json_t *cf_demo_content(const json_t *result);

/* Whether declarations are those of the demonstration tools, with or without
 * confab_help. */
bool cf_demo_is_declared(const json_t *declarations);

#endif
