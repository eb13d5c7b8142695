/*
 * lab_tools.h - tools of the conversation in the workbench: what is declared,
 * and the outcome of each call.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TOOLS_LAB_TOOLS_H
#define CF_TUI_LAB_TOOLS_LAB_TOOLS_H

#include "storage/store.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/tools/tool_desk.h"

/* The desk and no notes, and back; called by lab.c. */
CF_MUST_USE cf_status cf_lab_tools_open(cf_lab *lab, cf_error *err);
void cf_lab_tools_close(cf_lab *lab);

/* Mocks, commands and policies. */
cf_tool_desk *cf_lab_desk(cf_lab *lab);

/* The outcome of a call. */
typedef struct cf_call_note {
    cf_uuid reply;
    size_t n;
    char state[16]; /* "parsed", "typed", "mock", "ran", "failed", "refused" */
    bool is_mocked;
    int64_t started_ms, duration_us, exit_code; /* -1: unknown */
} cf_call_note;

/* NULL when memory ran out, or nothing is known and there is no history; an
 * empty state when nothing is known. */
const cf_call_note *cf_lab_call_note(cf_lab *lab, cf_uuid reply, size_t n);
/* Remembers it, in the history too.  `call` is what is known of a call that
 * the history does not have. */
void cf_lab_note_call(cf_lab *lab, const cf_call_note *note, const cf_store_call *call,
                      cf_str result);

#endif
