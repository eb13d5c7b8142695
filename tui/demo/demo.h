/*
 * demo.h - eight tools that come with confab, so that a tool call has
 * something to call: real results, made on this machine alone.
 *
 *   get_weather        of 72 cities, made up from their climate
 *   get_time           the clock, in any time zone (demo_zone.h)
 *   calculate          arithmetic, exact where it can be
 *   set_timer          rings in the workbench
 *   convert_currency   by rounded rates of June 2025
 *   search_notes       full-text search in the history
 *   send_message       into a conversation of the history called Outbox
 *   get_stock_price    a table of invented prices
 *
 * and a ninth, confab_help, which searches keys, commands, options and settings
 * of the program at hand.  It is declared for the bundled model alone.
 *
 * They change nothing but the history and start nothing, so they run without
 * asking.  Arguments come from a model: whatever they are, the result is an
 * object (of confab_help a text), and {"error": text} where nothing else is right.
 *
 * To add a tool: its declaration in tools.json, a row in tools[] of demo.c with its
 * function next to the others, its known answers in tests/unit/tui/demo/.
 *
 * Threads:  one thread at a time.
 */
#ifndef CF_TUI_DEMO_DEMO_H
#define CF_TUI_DEMO_DEMO_H

#include "core/api/conversation.h"
#include "core/base/uuid.h"

typedef struct cf_store cf_store;
typedef struct cf_demo cf_demo;

/* `store` may be NULL: then there is no outbox, and only the prepared notes
 * are searched.  Borrowed.  `rings`: the caller uses cf_demo_ring(), so timers
 * may be started. */
CF_MUST_USE cf_status cf_demo_new(cf_demo **out, cf_store *store, bool rings, cf_error *err);
void cf_demo_free(cf_demo *demo);

/* The declarations, as tools of OpenAI's form: a new reference, NULL when
 * memory ran out. */
json_t *cf_demo_declarations(void);

/* Appends the declaration of confab_help.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_demo_declare_help(json_t *declarations, cf_error *err);

/* Who answers confab_help: appends the text of the result. */
typedef cf_status (*cf_demo_help_fn)(void *ud, const char *question, cf_buf *out, cf_error *err);
void cf_demo_set_help(cf_demo *demo, cf_demo_help_fn fn, void *ud);

/* Whether a tool of that name is one of the nine. */
bool cf_demo_has(cf_str name);

/* Makes the result of a call: a new reference.  `here` is the conversation
 * that calls, whose own turns are no notes.  CF_ENOTFOUND for a name that is
 * none of them, CF_ENOMEM. */
CF_MUST_USE cf_status cf_demo_run(cf_demo *demo, cf_uuid here, cf_str name, const json_t *arguments,
                                  json_t **result, cf_error *err);

/* Milliseconds until the next timer rings; -1: none runs. */
int cf_demo_wait_ms(const cf_demo *demo);
/* Takes a timer that is due and appends a line about it; false when there is
 * none. */
bool cf_demo_ring(cf_demo *demo, cf_buf *line);

#endif
