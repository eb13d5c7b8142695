/*
 * demo_zone.c - names to zones, zones to offsets.
 */
#include "tui/demo/demo_zone.h"

#include <stdio.h>
#include <string.h>

#include "core/base/os.h"
#include "tui/demo/demo_places.h"

enum { NAME_MAX_BYTES = 64, FILE_MAX = 64 << 10, DAY = 86400 };

/* ---- days --------------------------------------------------------------- */

/* Days from 1970-01-01 to the first of January. */
static int64_t days_to_year(int64_t year)
{
    int64_t y = year - 1;
    return 365 * (year - 1970) + (y / 4 - 1969 / 4) - (y / 100 - 1969 / 100) +
           (y / 400 - 1969 / 400);
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t year_of(int64_t t)
{
    int64_t year = 1970 + t / ((int64_t)DAY * 366);
    while (days_to_year(year + 1) * DAY <= t) {
        year++;
    }
    return year;
}

/* ---- rules of POSIX ----------------------------------------------------- */

typedef struct rule {
    char kind; /* 'M', 'J' (1-365, no leap day) or 'N' (0-365) */
    int month, week, day;
    int32_t time; /* seconds after midnight; may be negative */
} rule;

/* A number of at most three digits. */
static bool read_number(cf_str *s, int min, int max, int *out)
{
    int v = 0, n = 0;
    for (; s->n > 0 && s->p[0] >= '0' && s->p[0] <= '9' && n < 3; n++) {
        v = v * 10 + (s->p[0] - '0');
        s->p++;
        s->n--;
    }
    *out = v;
    return n > 0 && v >= min && v <= max;
}

static bool eat(cf_str *s, char c)
{
    if (s->n == 0 || s->p[0] != c) {
        return false;
    }
    s->p++;
    s->n--;
    return true;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool read_time(cf_str *s, int32_t *out)
{
    bool is_minus = eat(s, '-');
    int h, m = 0, sec = 0;
    if (!is_minus) {
        eat(s, '+');
    }
    if (!read_number(s, 0, 167, &h)) {
        return false;
    }
    if (eat(s, ':') && !read_number(s, 0, 59, &m)) {
        return false;
    }
    if (eat(s, ':') && !read_number(s, 0, 59, &sec)) {
        return false;
    }
    *out = (is_minus ? -1 : 1) * (h * 3600 + m * 60 + sec);
    return true;
}

static bool skip_name(cf_str *s)
{
    size_t n = 0;
    if (eat(s, '<')) {
        while (s->n > 0 && s->p[0] != '>') {
            s->p++;
            s->n--;
        }
        return eat(s, '>');
    }
    while (n < s->n && ((s->p[n] >= 'A' && s->p[n] <= 'Z') || (s->p[n] >= 'a' && s->p[n] <= 'z'))) {
        n++;
    }
    s->p += n;
    s->n -= n;
    return n >= 3;
}

static bool read_rule(cf_str *s, rule *r)
{
    bool ok;
    *r = (rule){.kind = 'N', .time = 2 * 3600};
    if (eat(s, 'M')) {
        r->kind = 'M';
        ok = read_number(s, 1, 12, &r->month) && eat(s, '.') && read_number(s, 1, 5, &r->week) &&
             eat(s, '.') && read_number(s, 0, 6, &r->day);
    } else if (eat(s, 'J')) {
        r->kind = 'J';
        ok = read_number(s, 1, 365, &r->day);
    } else {
        ok = read_number(s, 0, 365, &r->day);
    }
    return ok && (!eat(s, '/') || read_time(s, &r->time));
}

/* Seconds since 1970 of the rule in `year`, as a clock on the wall says. */
static int64_t rule_in(const rule *r, int64_t year)
{
    static const int first[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    int64_t day = days_to_year(year);
    if (r->kind == 'N') {
        day += r->day;
    } else if (r->kind == 'J') {
        day += r->day - 1 + (is_leap(year) && r->day > 59);
    } else {
        int leap = is_leap(year);
        int64_t start = day + first[r->month - 1] + (leap && r->month > 2);
        int64_t end = day + first[r->month] + (leap && r->month > 1);
        int weekday = (int)((start + 4) % 7); /* 1970-01-01: a Thursday */
        int64_t at = start + (r->day - weekday + 7) % 7 + INT64_C(7) * (r->week - 1);
        day = at < end ? at : at - 7;
    }
    return day * DAY + r->time;
}

bool cf_zone_posix(int32_t *offset, cf_str s, int64_t t)
{
    int32_t standard, summer;
    rule start, end;
    if (t < 0 || t > INT64_C(100000000000) || !skip_name(&s) || !read_time(&s, &standard)) {
        return false;
    }
    *offset = -standard;
    if (s.n == 0) {
        return true;
    }
    if (!skip_name(&s)) {
        return false;
    }
    summer = standard - 3600;
    if (s.n > 0 && s.p[0] != ',' && !read_time(&s, &summer)) {
        return false;
    }
    if (!eat(&s, ',') || !read_rule(&s, &start) || !eat(&s, ',') || !read_rule(&s, &end) ||
        s.n != 0) {
        return false;
    }
    int64_t here = t - standard > 0 ? t - standard : 0;
    int64_t year = year_of(here);
    int64_t from = rule_in(&start, year) + standard;
    int64_t to = rule_in(&end, year) + summer;
    bool is_summer = from < to ? t >= from && t < to : t >= from || t < to;
    *offset = is_summer ? -summer : -standard;
    return true;
}

/* ---- files -------------------------------------------------------------- */

typedef struct header {
    int version;
    size_t n_utc, n_standard, n_leap, n_time, n_type, n_char;
} header;

enum { HEADER = 44, TYPE = 6 };

static uint32_t be32(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t be64(const char *p)
{
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

static bool read_header(header *h, cf_str s)
{
    if (s.n < HEADER || memcmp(s.p, "TZif", 4) != 0) {
        return false;
    }
    h->version = s.p[4] == '\0' ? 1 : s.p[4] - '0';
    h->n_utc = be32(s.p + 20);
    h->n_standard = be32(s.p + 24);
    h->n_leap = be32(s.p + 28);
    h->n_time = be32(s.p + 32);
    h->n_type = be32(s.p + 36);
    h->n_char = be32(s.p + 40);
    /* No real file comes near; sums below cannot overflow then. */
    return h->n_utc < FILE_MAX && h->n_standard < FILE_MAX && h->n_leap < FILE_MAX &&
           h->n_time < FILE_MAX && h->n_type > 0 && h->n_type <= 256 && h->n_char < FILE_MAX;
}

static size_t body_size(const header *h, size_t width)
{
    return h->n_time * (width + 1) + h->n_type * TYPE + h->n_char + h->n_leap * (width + 4) +
           h->n_standard + h->n_utc;
}

/* The transition that holds at `t`, by its type; type 0 before the first. */
static bool by_table(int32_t *offset, const header *h, const char *body, size_t width, int64_t t)
{
    size_t low = 0, high = h->n_time;
    while (low < high) { /* transitions before `low` are at or before t */
        size_t mid = (low + high) / 2;
        const char *p = body + mid * width;
        int64_t at = width == 8 ? be64(p) : (int64_t)(int32_t)be32(p);
        if (at <= t) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    size_t type = 0;
    if (low > 0) {
        type = (unsigned char)body[h->n_time * width + low - 1];
    }
    if (type >= h->n_type) {
        return false;
    }
    int32_t v = (int32_t)be32(body + h->n_time * (width + 1) + type * TYPE);
    *offset = v;
    return v > -DAY && v < DAY;
}

bool cf_zone_tzif(int32_t *offset, cf_str s, int64_t t)
{
    header h;
    size_t width = 4;
    if (!read_header(&h, s)) {
        return false;
    }
    size_t size = body_size(&h, width);
    if (s.n - HEADER < size) {
        return false;
    }
    if (h.version >= 2) { /* again, with times of 64 bits */
        s = cf_str_make(s.p + HEADER + size, s.n - HEADER - size);
        width = 8;
        if (!read_header(&h, s) || s.n - HEADER < (size = body_size(&h, width))) {
            return false;
        }
        const char *foot = s.p + HEADER + size;
        size_t n = s.n - HEADER - size;
        bool is_after = h.n_time == 0 || t >= be64(s.p + HEADER + (h.n_time - 1) * width);
        if (is_after && n > 2 && foot[0] == '\n') {
            const char *end = memchr(foot + 1, '\n', n - 1);
            if (end != NULL && end > foot + 1 &&
                cf_zone_posix(offset, cf_str_make(foot + 1, (size_t)(end - foot - 1)), t)) {
                return true;
            }
        }
    }
    return by_table(offset, &h, s.p + HEADER, width, t);
}

/* ---- names -------------------------------------------------------------- */

typedef struct short_name {
    const char *name;
    int16_t minutes;
} short_name;

static const short_name short_names[] = {
    {"UTC", 0},     {"GMT", 0},    {"Z", 0},      {"WET", 0},    {"WEST", 60},  {"BST", 60},
    {"CET", 60},    {"CEST", 120}, {"EET", 120},  {"EEST", 180}, {"MSK", 180},  {"SAST", 120},
    {"IST", 330},   {"SGT", 480},  {"HKT", 480},  {"AWST", 480}, {"JST", 540},  {"KST", 540},
    {"AEST", 600},  {"AEDT", 660}, {"NZST", 720}, {"NZDT", 780}, {"EST", -300}, {"EDT", -240},
    {"CST", -360},  {"CDT", -300}, {"MST", -420}, {"MDT", -360}, {"PST", -480}, {"PDT", -420},
    {"AKST", -540}, {"HST", -600},
};

/* "CET", "UTC+2", "GMT-03:30". */
static bool by_short_name(int32_t *offset, const char *name)
{
    int h, m = 0;
    for (size_t i = 0; i < sizeof short_names / sizeof short_names[0]; i++) {
        if (cf_place_same(name, short_names[i].name)) {
            *offset = short_names[i].minutes * 60;
            return true;
        }
    }
    char start[4] = "";
    snprintf(start, sizeof start, "%.3s", name);
    if (!cf_place_same(start, "UTC") && !cf_place_same(start, "GMT")) {
        return false;
    }
    cf_str s = cf_str_from(name + 3);
    bool is_minus = eat(&s, '-');
    if ((!is_minus && !eat(&s, '+')) || !read_number(&s, 0, 14, &h) ||
        (eat(&s, ':') && !read_number(&s, 0, 59, &m)) || s.n != 0) {
        return false;
    }
    *offset = (is_minus ? -1 : 1) * (h * 3600 + m * 60);
    return true;
}

/* Whether a name may become a part of a path: nothing that leads out of the
 * folder. */
static bool is_safe(const char *name)
{
    char before = '/';
    for (const char *p = name; *p != '\0'; before = *p++) {
        bool is_letter = (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z');
        bool is_other =
            (*p >= '0' && *p <= '9') || *p == '_' || *p == '+' || *p == '-' || *p == '/';
        if ((!is_letter && !is_other) || (before == '/' && !is_letter)) {
            return false;
        }
    }
    return before != '/';
}

static cf_status by_file(int32_t *offset, const char *name, int64_t t, const char *folder,
                         cf_error *err)
{
    char path[512];
    cf_buf bytes = CF_BUF_INIT;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!is_safe(name) || n < 0 || (size_t)n >= sizeof path) {
        return CF_ENOTFOUND;
    }
    cf_error why;
    cf_status st = cf_os_read_file(&bytes, path, FILE_MAX, &why);
    bool ok = st == CF_OK && cf_zone_tzif(offset, cf_str_make(bytes.p, bytes.n), t);
    cf_buf_deinit(&bytes);
    if (st == CF_ENOMEM) {
        return cf_fail(err, st, "%s", why.text);
    }
    return ok ? CF_OK : CF_ENOTFOUND;
}

/* "europe/paris" and "new york" as the database spells them. */
static void spell(char *name)
{
    bool is_start = true;
    for (char *p = name; *p != '\0'; p++) {
        *p = *p == ' ' ? '_' : *p;
        bool is_small = *p >= 'a' && *p <= 'z', is_big = *p >= 'A' && *p <= 'Z';
        if (is_start && is_small) {
            *p = (char)(*p - 'a' + 'A');
        } else if (!is_start && is_big) {
            *p = (char)(*p - 'A' + 'a');
        }
        is_start = !is_small && !is_big;
    }
}

cf_status cf_zone_find(int32_t *offset, cf_str given, int64_t t, const char *folder, cf_error *err)
{
    char name[NAME_MAX_BYTES + 1];
    if (given.n == 0 || given.n > NAME_MAX_BYTES || memchr(given.p, '\0', given.n) != NULL) {
        return cf_fail(err, CF_ENOTFOUND, "a time zone or a city is asked for, of 1 to %d bytes",
                       NAME_MAX_BYTES);
    }
    snprintf(name, sizeof name, "%.*s", (int)given.n, given.p);
    if (by_short_name(offset, name)) {
        return CF_OK;
    }
    const cf_place *place = cf_place_find(given);
    place = place != NULL ? place : cf_place_of_zone(name);
    const char *zone = place != NULL ? place->zone : name;
    cf_status st = by_file(offset, zone, t, folder, err);
    if (st == CF_ENOTFOUND && place == NULL) {
        spell(name);
        st = by_file(offset, name, t, folder, err);
    }
    if (st == CF_ENOTFOUND && place != NULL && cf_zone_posix(offset, cf_str_from(place->rule), t)) {
        st = CF_OK; /* no database on this machine */
    }
    return st == CF_ENOTFOUND ? cf_fail(err, st, "no time zone or city '%.*s' is known here",
                                        (int)given.n, given.p)
                              : st;
}
