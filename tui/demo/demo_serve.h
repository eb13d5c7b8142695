/*
 * demo_serve.h - the demonstration tools at work in the workbench: a reply
 * that calls nothing else is answered, and timers ring.
 *
 * Answered is a reply of this session at the end of the path, once, and no
 * more than CF_DEMO_ROUNDS times behind one message of a person.  A reply that
 * also calls something else is left to the person, in the Tools view.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_DEMO_DEMO_SERVE_H
#define CF_TUI_DEMO_DEMO_SERVE_H

#include "tui/app/app.h"
#include "tui/demo/demo.h"

enum { CF_DEMO_ROUNDS = 8 };

/* From now on app->demo answers calls, or does not; its timers go on. */
void cf_demo_switch(cf_app *app, bool is_on);

/* Does what is due; nothing without app->demo. */
void cf_demo_step(cf_app *app);

/* The result as a message's content: as the bundled model knows it, with ", "
 * and ": ".  A new reference of a string; NULL: memory ran out. */
json_t *cf_demo_content(const json_t *result);

#endif
