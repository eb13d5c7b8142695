/*
 * saved.h - the one way from a conversation in the history to a conversation
 * in memory, and its preface back.
 *
 * Place in the flow:  history --> [saved] --> workbench, `run --continue`,
 * `diff --all`, comparisons.  All of them render what this returns, so they
 * show the prompt that is sent.
 * Knows: stored trees, prefaces, the tools of stored runs.  Does not know:
 * templates, engines, screens.
 *
 * Threads:  any; one call uses one arena.
 * Memory:   *out is the caller's to free; texts of *about live in the arena.
 */
#ifndef CF_TUI_LAB_TALK_SAVED_H
#define CF_TUI_LAB_TALK_SAVED_H

#include "core/api/conversation.h"
#include "storage/store.h"

typedef struct cf_saved_choice {
    cf_uuid conversation;
    cf_uuid turn;            /* becomes the head; nil: where it was left */
    bool has_raw;            /* load the exact bytes of replies too */
    const cf_preface *given; /* its fields replace the saved ones; may be
                                NULL */
    const json_t *tools;     /* declared where the history does not say which tools
                            were offered; may be NULL */
} cf_saved_choice;

/*
 * Loads a conversation: its turns, its system messages and template
 * variables, and the tools that the newest reply before the head was offered.
 * Where no reply recorded any, the tools are those of the saved preface.
 * Saved tools that cannot be read as declarations were never sent and are
 * left out.  `about` (may be NULL) gets title, counts and head.
 * CF_ENOTFOUND, CF_EFORMAT, CF_ENOMEM, and errors of the store.
 */
CF_MUST_USE cf_status cf_saved_load(cf_conversation **out, cf_store_conv *about, cf_store *store,
                                    const cf_saved_choice *choice, cf_arena *arena, cf_error *err);

/* Stores the conversation under *id (nil: a new UUID, returned there) with
 * its preface and without turns.  CF_EBUSY: the write waits in memory, as
 * storage/store.h says of kept writes. */
CF_MUST_USE cf_status cf_saved_put(cf_store *store, const cf_conversation *conv, cf_str title,
                                   cf_uuid *id, cf_error *err);

/* Tells the backend how long its model thought in stored replies, so that one
 * that thinks far beyond is noticed.  Does nothing without a history. */
void cf_saved_thinking(cf_backend *backend, const cf_engine *engine, cf_store *store);

/* Lets a built-in engine guess from the newest replies of a saved conversation
 * that the same model wrote, on any branch (core/api/draft.h).  What cannot be
 * read is left out: it would only have saved time. */
void cf_saved_drafts(cf_backend *backend, const cf_engine *engine, cf_store *store,
                     const cf_conversation *conv);

#endif
