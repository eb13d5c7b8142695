/*
 * demo_zone.h - the offset of a time zone from UTC at an instant, without the
 * C library's one time zone of the whole process.
 *
 * Read are the files of the system's time zone database (TZif, RFC 8536) and
 * the rules at their ends (TZ of POSIX, "CET-1CEST,M3.5.0,M10.5.0/3").  Both
 * are hostile input here.
 *
 * Threads:  any.
 */
#ifndef CF_TUI_DEMO_DEMO_ZONE_H
#define CF_TUI_DEMO_DEMO_ZONE_H

#include "core/base/status.h"
#include "core/base/str.h"

/* Seconds east of UTC at `t` (seconds since 1970 UTC) by a POSIX rule; false
 * when it is none. */
bool cf_zone_posix(int32_t *offset, cf_str rule, int64_t t);

/* The same by the bytes of a TZif file. */
bool cf_zone_tzif(int32_t *offset, cf_str bytes, int64_t t);

/*
 * The same by its usual name: "Europe/Paris", "UTC+2", "CET", "Paris".
 * `folder` is where the database lies; a city's own rule is taken where it has
 * no file.  CF_ENOTFOUND for a name that is not known, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_zone_find(int32_t *offset, cf_str name, int64_t t, const char *folder,
                                   cf_error *err);

#endif
