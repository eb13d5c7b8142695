/*
 * strftime.c - datetime.now().strftime(format) in the C locale, in UTC.
 */
#include <stdio.h>

#include "core/base/os.h"
#include "templates/language/ast.h"

typedef struct when {
    int64_t year;
    int month, day, hour, minute, second; /* month and day from 1 */
    int weekday;                          /* 0: Sunday */
    int yearday;                          /* 1.. */
    int us;
    int64_t unix_s;
} when;

/* Days to a date of the Gregorian calendar: Howard Hinnant's
 * "chrono-compatible low-level date algorithms", civil_from_days. */
static void civil(int64_t days, when *w)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    w->day = (int)(doy - (153 * mp + 2) / 5) + 1;
    w->month = (int)(mp < 10 ? mp + 3 : mp - 9);
    w->year = yoe + era * 400 + (w->month <= 2);
    bool leap = (w->year % 4 == 0 && w->year % 100 != 0) || w->year % 400 == 0;
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    w->yearday = before[w->month - 1] + w->day + (leap && w->month > 2);
    w->weekday = (int)(((days + 4) % 7 + 7) % 7);
}

static when now(const cf_tr *r)
{
    int64_t ms = r->now != 0 ? r->now * 1000 : cf_os_now_ms();
    int64_t s = ms >= 0 ? ms / 1000 : -((-ms + 999) / 1000);
    int64_t days = s >= 0 ? s / 86400 : -((-s + 86399) / 86400);
    int64_t rest = s - days * 86400;
    when w = {.hour = (int)(rest / 3600),
              .minute = (int)(rest / 60 % 60),
              .second = (int)(rest % 60),
              .us = (int)(ms - s * 1000) * 1000,
              .unix_s = s};
    civil(days, &w);
    return w;
}

static int weeks_in(int64_t year)
{
    int64_t p = (year + year / 4 - year / 100 + year / 400) % 7;
    int64_t y = year - 1;
    int64_t q = (y + y / 4 - y / 100 + y / 400) % 7;
    return p == 4 || q == 3 ? 53 : 52;
}

/* ISO 8601 week and the year it belongs to. */
static int iso_week(const when *w, int64_t *year)
{
    int monday = w->weekday == 0 ? 7 : w->weekday;
    int week = (w->yearday - monday + 10) / 7;
    *year = w->year;
    if (week < 1) {
        *year = w->year - 1;
        return weeks_in(*year);
    }
    if (week > weeks_in(w->year)) {
        *year = w->year + 1;
        return 1;
    }
    return week;
}

static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

/* Writes the value of one letter; false for a letter without one. */
static bool one(char out[80], const when *w, char c)
{
    int hour12 = w->hour % 12 == 0 ? 12 : w->hour % 12;
    int64_t iso_year;
    int iso = iso_week(w, &iso_year);
    long long year = (long long)w->year;
    switch (c) {
    case 'a':
        return snprintf(out, 80, "%.3s", days[w->weekday]) > 0;
    case 'A':
        return snprintf(out, 80, "%s", days[w->weekday]) > 0;
    case 'b':
    case 'h':
        return snprintf(out, 80, "%.3s", months[w->month - 1]) > 0;
    case 'B':
        return snprintf(out, 80, "%s", months[w->month - 1]) > 0;
    case 'c':
        return snprintf(out, 80, "%.3s %.3s %2d %02d:%02d:%02d %lld", days[w->weekday],
                        months[w->month - 1], w->day, w->hour, w->minute, w->second, year) > 0;
    case 'C':
        return snprintf(out, 80, "%02lld", year / 100) > 0;
    case 'd':
        return snprintf(out, 80, "%02d", w->day) > 0;
    case 'D':
    case 'x':
        return snprintf(out, 80, "%02d/%02d/%02lld", w->month, w->day, year % 100) > 0;
    case 'e':
        return snprintf(out, 80, "%2d", w->day) > 0;
    case 'f':
        return snprintf(out, 80, "%06d", w->us) > 0;
    case 'F':
        return snprintf(out, 80, "%lld-%02d-%02d", year, w->month, w->day) > 0;
    case 'g':
        return snprintf(out, 80, "%02lld", (long long)iso_year % 100) > 0;
    case 'G':
        return snprintf(out, 80, "%lld", (long long)iso_year) > 0;
    case 'H':
        return snprintf(out, 80, "%02d", w->hour) > 0;
    case 'I':
        return snprintf(out, 80, "%02d", hour12) > 0;
    case 'j':
        return snprintf(out, 80, "%03d", w->yearday) > 0;
    case 'k':
        return snprintf(out, 80, "%2d", w->hour) > 0;
    case 'l':
        return snprintf(out, 80, "%2d", hour12) > 0;
    case 'm':
        return snprintf(out, 80, "%02d", w->month) > 0;
    case 'M':
        return snprintf(out, 80, "%02d", w->minute) > 0;
    case 'n':
        return snprintf(out, 80, "\n") > 0;
    case 'p':
        return snprintf(out, 80, "%s", w->hour < 12 ? "AM" : "PM") > 0;
    case 'P':
        return snprintf(out, 80, "%s", w->hour < 12 ? "am" : "pm") > 0;
    case 'r':
        return snprintf(out, 80, "%02d:%02d:%02d %s", hour12, w->minute, w->second,
                        w->hour < 12 ? "AM" : "PM") > 0;
    case 'R':
        return snprintf(out, 80, "%02d:%02d", w->hour, w->minute) > 0;
    case 's':
        return snprintf(out, 80, "%lld", (long long)w->unix_s) > 0;
    case 'S':
        return snprintf(out, 80, "%02d", w->second) > 0;
    case 't':
        return snprintf(out, 80, "\t") > 0;
    case 'T':
    case 'X':
        return snprintf(out, 80, "%02d:%02d:%02d", w->hour, w->minute, w->second) > 0;
    case 'u':
        return snprintf(out, 80, "%d", w->weekday == 0 ? 7 : w->weekday) > 0;
    case 'U':
        return snprintf(out, 80, "%02d", (w->yearday + 6 - w->weekday) / 7) > 0;
    case 'V':
        return snprintf(out, 80, "%02d", iso) > 0;
    case 'w':
        return snprintf(out, 80, "%d", w->weekday) > 0;
    case 'W':
        return snprintf(out, 80, "%02d", (w->yearday + 6 - (w->weekday + 6) % 7) / 7) > 0;
    case 'y':
        return snprintf(out, 80, "%02lld", year % 100) > 0;
    case 'Y':
        return snprintf(out, 80, "%lld", year) > 0;
    case 'z':
    case 'Z':
        out[0] = '\0'; /* a datetime without a time zone */
        return true;
    case '%':
        return snprintf(out, 80, "%%") > 0;
    default:
        return false;
    }
}

/* One directive as glibc reads it: flags, a width, E or O, a letter. */
typedef struct directive {
    char pad; /* '-', '_', '0', or none */
    bool upper, swap;
    int width;
    char modifier, letter;
    uint32_t end; /* just after it */
} directive;

enum { WIDTH_MAX = 1023 };

/* False where the width is over WIDTH_MAX. */
static bool read_directive(directive *d, const cf_tstr *s, uint32_t at)
{
    *d = (directive){0};
    for (; at < s->n; at++) {
        char c = s->p[at];
        if (c == '-' || c == '_' || c == '0') {
            d->pad = c;
        } else if (c == '^') {
            d->upper = true;
        } else if (c == '#') {
            d->swap = true;
        } else {
            break;
        }
    }
    for (; at < s->n && s->p[at] >= '0' && s->p[at] <= '9'; at++) {
        d->width = d->width * 10 + (s->p[at] - '0');
        if (d->width > WIDTH_MAX) {
            return false;
        }
    }
    if (at < s->n && (s->p[at] == 'E' || s->p[at] == 'O')) {
        d->modifier = s->p[at++];
    }
    d->letter = at < s->n ? s->p[at] : '\0';
    uint32_t len = 0;
    if (at < s->n) {
        cf_t__cp(s->p + at, &len);
    }
    d->end = at + len;
    return true;
}

static bool is_among(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Whether the letter has a meaning after that modifier. Python
 * itself writes %f, so it has neither flags nor width. */
static bool is_known(const directive *d)
{
    if (d->letter == 'f') {
        return d->pad == '\0' && !d->upper && !d->swap && d->width == 0 && d->modifier == '\0';
    }
    return !(d->modifier == 'E' && is_among(d->letter, "aAbhBDdeFHIkljmMSUVWwgG")) &&
           !(d->modifier == 'O' && is_among(d->letter, "aAcDFxXY"));
}

static void change_case(char *p, bool upper)
{
    for (; *p != '\0'; p++) {
        if (upper ? *p >= 'a' && *p <= 'z' : *p >= 'A' && *p <= 'Z') {
            *p = (char)(*p ^ 32);
        }
    }
}

/* Writes text, n characters, after the fill of the width. */
static void fill(cf_tsb *b, const directive *d, const char *text, size_t n)
{
    for (size_t i = n; i < (size_t)d->width; i++) {
        cf_t__sb_addc(b, d->pad == '0' ? '0' : ' ', CF_ORG_NONE);
    }
    cf_t__sb_adds(b, text, CF_ORG_NONE);
}

/* A number: its digits are filled up to the width or to what is usual. */
static void add_number(cf_tsb *b, const directive *d, const char *text)
{
    size_t usual = strlen(text);
    while ((*text == '0' || *text == ' ') && text[1] != '\0') {
        text++;
    }
    char pad = d->pad != '\0' ? d->pad : is_among(d->letter, "ekl") ? '_' : '0';
    directive how = *d;
    how.pad = pad;
    if (d->letter == 's') {
        how.pad = d->pad;
    } else if (pad != '-' && (size_t)how.width < usual) {
        how.width = (int)usual;
    }
    fill(b, &how, text, strlen(text));
}

static void add_directive(cf_tsb *b, const when *w, const directive *d, const cf_tstr *s,
                          uint32_t from)
{
    char text[80];
    if (!is_known(d) || !one(text, w, d->letter)) {
        directive as_is = *d; /* the directive itself, filled */
        uint32_t n = cf_t__cps_before(s, d->end) - cf_t__cps_before(s, from);
        as_is.width = d->width > (int)n ? d->width - (int)n : 0;
        fill(b, &as_is, "", 0);
        for (uint32_t i = from; d->upper && i < d->end; i++) {
            char c[2] = {s->p[i], '\0'};
            change_case(c, true);
            cf_t__sb_add(b, c, 1, CF_ORG_NONE, CF_NO_COPY, 0);
        }
        cf_t__sb_sub(b, s, d->upper ? d->end : from, d->end);
        return;
    }
    if (is_among(d->letter, "CdeHIkljmMSsuUVwWgGyY")) {
        add_number(b, d, text);
        return;
    }
    bool is_name = is_among(d->letter, "aAbhB");
    if (d->letter == 'p' && d->swap) {
        change_case(text, false);
    } else if ((is_name && d->swap) || (d->upper && d->letter != 'P')) {
        change_case(text, true);
    }
    if (d->letter != 'z') {
        fill(b, d, text, strlen(text));
    }
}

cf_tv cf_t__strftime(cf_tr *r, const cf_tstr *format)
{
    when w = now(r);
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t run = 0;
    for (uint32_t at = 0; at < format->n && !b.failed;) {
        directive d;
        if (format->p[at] != '%') {
            at++;
            continue;
        }
        if (!read_directive(&d, format, at + 1)) {
            return cf_t__fail_limit(r, "a width in strftime is over %d", (int)WIDTH_MAX);
        }
        cf_t__sb_sub(&b, format, run, at);
        add_directive(&b, &w, &d, format, at);
        run = at = d.end;
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    cf_t__sb_sub(&b, format, run, format->n);
    return cf_t__sb_take(&b, false);
}
