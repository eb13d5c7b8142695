/*
 * live_file.h - the replies of running exchanges so far, as files beside the
 * history, for programs that watch it.
 *
 * Place in the flow:  recorder --> [the history's path with "-live" after it,
 *                     a folder] --> the list of exchanges.
 * Knows: the files, and whether their writer still runs.  Does not know: where
 * replies come from, screens.
 *
 * A file is named by the exchange's UUID and holds {"pid": N, "message": {...}}.
 * It goes when the exchange is stored.
 *
 * Threads:  any; a file appears whole, by renaming.
 */
#ifndef CF_TUI_LAB_WATCH_LIVE_FILE_H
#define CF_TUI_LAB_WATCH_LIVE_FILE_H

#include "core/base/uuid.h"
#include "core/json/json.h"

/* Makes the folder, and removes what programs that have ended left in it. */
void cf_live_begin(const char *db);
/* Writes a message.  A failure costs nothing but the view of it. */
void cf_live_write(const char *db, cf_uuid exchange, const json_t *message);
void cf_live_remove(const char *db, cf_uuid exchange);
/* Removes the folder if nothing is in it. */
void cf_live_end(const char *db);
/* The message, a new reference; NULL when there is none. */
json_t *cf_live_read(const char *db, cf_uuid exchange);

#endif
