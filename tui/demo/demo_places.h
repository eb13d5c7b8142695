/*
 * demo_places.h - the cities of the demonstration tools: their time zone and
 * their weather, which is made up from a climate.
 *
 * The weather of a day is the same on every machine: a curve over the year and
 * a hash of city and day.
 *
 * Threads:  any.
 */
#ifndef CF_TUI_DEMO_DEMO_PLACES_H
#define CF_TUI_DEMO_DEMO_PLACES_H

#include "core/base/str.h"

#include <stdint.h>

typedef struct cf_place {
    const char *names;   /* spellings, parted by '|'; the first is the name */
    const char *country; /* likewise */
    const char *zone;    /* in the time zone database */
    int8_t mean, swing;  /* degrees Celsius: of the year, and how far July is
                            above it (below: negative) */
    uint8_t wet;         /* days of ten with rain */
} cf_place;

/* A city as people write it, "oslo" or "Oslo, Norway"; NULL for others. */
const cf_place *cf_place_find(cf_str name);

const cf_place *cf_places(size_t *n);

typedef struct cf_weather {
    int celsius;
    const char *condition;
} cf_weather;

cf_weather cf_place_weather(const cf_place *place, int64_t now_ms);

/* Equal but for the case of ASCII letters. */
bool cf_place_same(cf_str a, const char *b);

#endif
