/*
 * examples.h - what a new history holds: a guided conversation and things to
 * look at, made by the program itself.
 *
 *   Welcome to confab                    which keys show what
 *   A tool round                         a call, its result, the answer
 *   A broken template beside its fix     two replies to one question
 *   A reply worth forking                with the candidates of its tokens
 *   Notes                                what search_notes finds
 *
 * They are conversations like any other, with the tag "example", and can be
 * deleted.  They are made once in the life of a database, and only when it
 * holds nothing: the database remembers it as its mark "examples".
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_DEMO_EXAMPLES_H
#define CF_TUI_DEMO_EXAMPLES_H

#include "core/base/status.h"
#include "core/base/uuid.h"
#include "core/json/json.h"

typedef struct cf_store cf_store;
typedef struct cf_lab cf_lab;

#define CF_EXAMPLE_TAG "example"

/* Makes them, unless the database has had them or holds anything; *welcome is
 * the guided conversation, nil when nothing was made.  `tools` (NULL: none) are
 * what the workbench offers the model: the guided conversation goes on with
 * them. */
CF_MUST_USE cf_status cf_examples_make(cf_store *store, const json_t *tools, cf_uuid *welcome,
                                       cf_error *err);

/* Adds the reply worth forking: the engine in the workbench writes it now, which
 * waits for it.  The workbench shows it then.  For an engine that is quick. */
CF_MUST_USE cf_status cf_examples_reply(cf_lab *lab, cf_store *store, cf_error *err);

#endif
