/*
 * demo_zone.c - names to rules, rules to offsets.
 *
 * The rules are those of POSIX's TZ, with changes by month, week and day only:
 * "CET-1CEST,M3.5.0,M10.5.0/3" changes on the last Sundays of March and October.
 */
#include "tui/demo/demo_zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/os.h"
#include "tui/demo/demo_places.h"

enum { NAME_MAX_BYTES = 64, RULE_MAX = 64, DAY = 86400 };

extern const unsigned char cf_embed_tui_demo_zones_txt[];
extern const size_t cf_embed_tui_demo_zones_txt_size;

/* ---- rules -------------------------------------------------------------- */

/* Reads "[+-]hours[:minutes]" as seconds. */
static int32_t read_time(const char **p)
{
    char *end;
    int sign = **p == '-' ? -1 : 1;
    *p += **p == '-' || **p == '+';
    long seconds = strtol(*p, &end, 10) * 3600;
    if (*end == ':') {
        seconds += strtol(end + 1, &end, 10) * 60;
    }
    *p = end;
    return (int32_t)(sign * seconds);
}

static void skip_name(const char **p)
{
    *p += **p == '<' ? strcspn(*p, ">") + 1 : strcspn(*p, ",+-0123456789");
}

/* The number after the byte at *p. */
static int read_part(const char **p)
{
    char *end;
    long v = strtol(*p + 1, &end, 10);
    *p = end;
    return (int)v;
}

/* Days from 1970-01-01 to the first of a month; month 13 is that of the next year. */
static int64_t first_of(int year, int month)
{
    char text[40];
    int64_t ms = 0;
    snprintf(text, sizeof text, "%04d-%02d-01T00:00:00Z", year + month / 13, (month - 1) % 12 + 1);
    (void)cf_os_parse_time(&ms, text);
    return ms / 1000 / DAY;
}

/* Reads ",Mmonth.week.day[/time]": seconds since 1970 of that change of a year, as the
 * clock on the wall has it.  Week 5 is the last. */
static int64_t read_change(const char **p, int year)
{
    ++*p; /* the comma */
    int month = read_part(p), week = read_part(p), day = read_part(p);
    int32_t time = 2 * 3600;
    if (**p == '/') {
        ++*p;
        time = read_time(p);
    }
    int64_t first = first_of(year, month), next = first_of(year, month + 1);
    int64_t at = first + (day - (first + 4) % 7 + 7) % 7 + INT64_C(7) * (week - 1);
    return (at < next ? at : at - 7) * DAY + time; /* 1970-01-01 was a Thursday, 4 */
}

static int32_t offset_by(const char *rule, int64_t t)
{
    skip_name(&rule);
    int32_t standard = -read_time(&rule), summer = standard + 3600;
    if (*rule == '\0') {
        return standard;
    }
    skip_name(&rule);
    if (*rule != ',') {
        summer = -read_time(&rule);
    }
    struct tm tm = {.tm_year = 70};
    time_t here = (time_t)(t + standard);
    (void)gmtime_r(&here, &tm);
    int64_t from = read_change(&rule, tm.tm_year + 1900) - standard;
    int64_t to = read_change(&rule, tm.tm_year + 1900) - summer;
    bool is_summer = from < to ? t >= from && t < to : t >= from || t < to;
    return is_summer ? summer : standard;
}

/* ---- names -------------------------------------------------------------- */

/* The rule that zones.txt has for a name; false when it has none. */
static bool find_rule(char rule[RULE_MAX], const char *name)
{
    cf_str text = {(const char *)cf_embed_tui_demo_zones_txt, cf_embed_tui_demo_zones_txt_size};
    size_t n = 0, len = strlen(name);
    for (const char *p = text.p, *line = p, *end = p + text.n; p < end; p += n + 1) {
        n = strcspn(p, " \n"); /* a word, and the byte after it */
        if (p > line && *line != '#' && n == len && cf_place_same(cf_str_make(p, n), name)) {
            snprintf(rule, RULE_MAX, "%.*s", (int)strcspn(line, " "), line);
            return true;
        }
        line = p[n] == '\n' ? p + n + 1 : line;
    }
    return false;
}

/* "UTC+2", "GMT-03:30": TZ of POSIX counts west of Greenwich, people count east. */
static bool by_offset(int32_t *offset, const char *name)
{
    cf_str start = {name, 3};
    if (!cf_place_same(start, "UTC") && !cf_place_same(start, "GMT")) {
        return false;
    }
    const char *p = name + 3;
    size_t n_hours = strspn(p + 1, "0123456789");
    size_t n_minutes = p[1 + n_hours] == ':' ? strspn(p + n_hours + 2, "0123456789") : 0;
    bool is_whole = p[1 + n_hours + (n_minutes != 0 ? 1 + n_minutes : 0)] == '\0';
    if ((*p != '+' && *p != '-') || n_hours < 1 || n_hours > 2 || n_minutes > 2 || !is_whole) {
        return false;
    }
    int32_t v = read_time(&p);
    bool is_real = v > -15 * 3600 && v < 15 * 3600;
    *offset = is_real ? v : *offset;
    return is_real;
}

cf_status cf_zone_find(int32_t *offset, cf_str given, int64_t t, cf_error *err)
{
    char name[NAME_MAX_BYTES + 1], rule[RULE_MAX];
    if (given.n == 0 || given.n > NAME_MAX_BYTES || memchr(given.p, '\0', given.n) != NULL) {
        return cf_fail(err, CF_ENOTFOUND, "a time zone or a city is needed, of 1 to %d bytes",
                       NAME_MAX_BYTES);
    }
    snprintf(name, sizeof name, "%.*s", (int)given.n, given.p);
    for (char *p = name; (p = strchr(p, ' ')) != NULL;) {
        *p = '_';
    }
    if (given.n > 3 && by_offset(offset, name)) {
        return CF_OK;
    }
    const cf_place *place = cf_place_find(given);
    if (!find_rule(rule, place != NULL ? place->zone : name)) {
        return cf_fail(err, CF_ENOTFOUND, "no time zone or city '%.*s' is known", (int)given.n,
                       given.p);
    }
    *offset = offset_by(rule, t);
    return CF_OK;
}
