/*
 * demo_zone.h - the offset of a time zone from UTC at an instant.
 *
 * The C library keeps one time zone for the whole process, so the rules are computed
 * here.  zones.txt holds the present rule of every zone of the time zone database: now
 * and in the years to come offsets are right for as long as no country changes its
 * law; those of the past are not known.
 *
 * Threads:  any.
 */
#ifndef CF_TUI_DEMO_DEMO_ZONE_H
#define CF_TUI_DEMO_DEMO_ZONE_H

#include "core/base/status.h"
#include "core/base/str.h"

/* Seconds east of UTC at `t` (seconds since 1970 UTC) in a zone, by its usual name:
 * "Europe/Paris", "UTC+2", "CET", "Paris".  CF_ENOTFOUND for an unknown name. */
CF_MUST_USE cf_status cf_zone_find(int32_t *offset, cf_str name, int64_t t, cf_error *err);

#endif
