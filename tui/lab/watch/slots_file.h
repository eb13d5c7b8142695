/*
 * slots_file.h - the address of a running `confab serve` or `proxy` and the state of
 * its slots, in a file beside its history, for programs that watch it.
 *
 * Place in the flow:  serve, proxy --> [the history's path with "-slots" after it]
 *                     --> watch.
 * Knows: the file, and whether its writer still runs.  Does not know: slots,
 * screens.
 *
 * The file is {"pid": N, "server": "what answers where", "slots": [...]}, with
 * the list of GET /slots; it is empty for the proxy.
 *
 * Threads:  any; the file appears whole, by renaming.
 */
#ifndef CF_TUI_LAB_WATCH_SLOTS_FILE_H
#define CF_TUI_LAB_WATCH_SLOTS_FILE_H

#include "core/base/str.h"
#include "core/json/json.h"

/* Writes what runs, and the list of its slots.  A failure costs nothing but the
 * view of it. */
void cf_slots_write(const char *db, const char *server, cf_str slots);
void cf_slots_remove(const char *db);
/* The file's object, a new reference; NULL when no server writes this history
 * now. */
json_t *cf_slots_read(const char *db);

#endif
