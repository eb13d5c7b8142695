/*
 * breakpoint.h - requests that a proxy holds until the user releases them: read,
 * edited, forwarded or dropped.
 *
 * Place in the flow:  proxy --> [breakpoint: a folder beside the history] -->
 *                     watch, workbench --> the same folder --> proxy.
 * Knows: the folder.  Does not know: HTTP, screens.
 *
 * The folder is the history's path with "-break" after it:
 *
 *   on           the breakpoint is set; its text must be in a request's body
 *   ID.request   the body of a request that waits
 *   ID.send      it is sent, with this body
 *   ID.drop      it is answered with an error
 *
 * Threads:  any; files appear whole, by renaming.
 * Memory:   results are the caller's.
 */
#ifndef CF_TUI_LAB_WATCH_BREAKPOINT_H
#define CF_TUI_LAB_WATCH_BREAKPOINT_H

#include <stdatomic.h>

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/str.h"

enum { CF_BREAK_BODY_MAX = 128 << 20, CF_BREAK_HELD_MAX = 1000 };

/* Appends the folder of a history. */
void cf_break_folder(cf_buf *out, const char *db);

/* Sets it for requests that hold `text` ("": all).  CF_EIO, CF_ENOMEM. */
CF_MUST_USE cf_status cf_break_set(const char *folder, const char *text, cf_error *err);
/* Takes it away; all requests that wait go on as they are. */
void cf_break_clear(const char *folder);
/* Whether it is set; then the text it was set with is appended. */
bool cf_break_is_set(const char *folder, cf_buf *text);

/* Appends the ids of requests that wait, oldest first, each with a NUL after
 * it. */
CF_MUST_USE cf_status cf_break_held(const char *folder, cf_buf *ids, cf_error *err);
/* Appends the body of one that waits; CF_ENOTFOUND for another. */
CF_MUST_USE cf_status cf_break_read(const char *folder, const char *id, cf_buf *body,
                                    cf_error *err);
/* Lets it go with this body.  CF_ENOTFOUND as above. */
CF_MUST_USE cf_status cf_break_send(const char *folder, const char *id, cf_str body, cf_error *err);
CF_MUST_USE cf_status cf_break_drop(const char *folder, const char *id, cf_error *err);

/* ---- for the proxy ------------------------------------------------------ */

/* Removes what an earlier run left waiting. */
void cf_break_begin(const char *folder);

typedef enum cf_break_how {
    CF_BREAK_PASSED, /* the breakpoint is not for this request */
    CF_BREAK_SENT,   /* `body` is what goes on */
    CF_BREAK_DROPPED,
    CF_BREAK_LEFT /* is_over() was true: the client has gone */
} cf_break_how;

/* Holds a request if the breakpoint is set for it, until it is let go.  `id`
 * is its name; `body` is empty, and gets what goes on.  A folder that cannot
 * be written holds nothing. */
cf_break_how cf_break_hold(const char *folder, const char *id, cf_str request,
                           bool (*is_over)(void *ud), void *ud, cf_buf *body);

#endif
