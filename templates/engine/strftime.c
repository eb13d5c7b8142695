/*
 * strftime.c - datetime.now().strftime(format) in the C locale, in UTC.
 */
#include <stdio.h>

#include "core/base/os.h"
#include "templates/engine/ast.h"

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
    static const int before[] = {0,   31,  59,  90,  120, 151,
                                 181, 212, 243, 273, 304, 334};
    w->yearday = before[w->month - 1] + w->day + (leap && w->month > 2);
    w->weekday = (int)(((days + 4) % 7 + 7) % 7);
}

static when now(void)
{
    int64_t ms = cf_os_now_ms();
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
static const char *const months[] = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

/* Writes what one letter stands for; false when it stands for nothing. */
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
        return snprintf(out, 80, "%.3s %.3s %2d %02d:%02d:%02d %lld",
                        days[w->weekday], months[w->month - 1], w->day, w->hour,
                        w->minute, w->second, year) > 0;
    case 'C':
        return snprintf(out, 80, "%02lld", year / 100) > 0;
    case 'd':
        return snprintf(out, 80, "%02d", w->day) > 0;
    case 'D':
    case 'x':
        return snprintf(out, 80, "%02d/%02d/%02lld", w->month, w->day,
                        year % 100) > 0;
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
        return snprintf(out, 80, "%02d:%02d:%02d %s", hour12, w->minute,
                        w->second, w->hour < 12 ? "AM" : "PM") > 0;
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
        return snprintf(out, 80, "%02d:%02d:%02d", w->hour, w->minute,
                        w->second) > 0;
    case 'u':
        return snprintf(out, 80, "%d", w->weekday == 0 ? 7 : w->weekday) > 0;
    case 'U':
        return snprintf(out, 80, "%02d", (w->yearday + 6 - w->weekday) / 7) > 0;
    case 'V':
        return snprintf(out, 80, "%02d", iso) > 0;
    case 'w':
        return snprintf(out, 80, "%d", w->weekday) > 0;
    case 'W':
        return snprintf(out, 80, "%02d",
                        (w->yearday + 6 - (w->weekday + 6) % 7) / 7) > 0;
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

/* "%-d" drops leading zeros, "%_d" blanks them, "%^a" is upper case, "%#a"
 * swaps case: glibc's flags. */
static void flagged(char text[80], char flag)
{
    char *p = text;
    if (flag == '-' || flag == '_') {
        while ((*p == '0' || *p == ' ') && p[1] != '\0') {
            if (flag == '_') {
                *p = ' ';
            }
            p++;
        }
        if (flag == '-') {
            memmove(text, p, strlen(p) + 1);
        }
        return;
    }
    for (; *p != '\0'; p++) {
        if (flag == '^' || flag == '#') {
            bool is_low = *p >= 'a' && *p <= 'z';
            *p = is_low ? (char)(*p - 32) : *p;
        }
    }
}

cf_tv cf_t__strftime(cf_tr *r, const cf_tstr *format)
{
    when w = now();
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t run = 0;
    for (uint32_t at = 0; at < format->n && !b.failed; at++) {
        if (format->p[at] != '%') {
            continue;
        }
        uint32_t c = at + 1;
        char flag = '\0', text[80];
        if (c < format->n && format->p[c] != '\0' &&
            strchr("-_^#", format->p[c]) != NULL) {
            flag = format->p[c++];
        }
        if (c >= format->n || !one(text, &w, format->p[c])) {
            continue;
        }
        if (flag != '\0') {
            flagged(text, flag);
        }
        cf_t__sb_sub(&b, format, run, at);
        cf_t__sb_adds(&b, text, CF_ORG_NONE);
        run = c + 1;
        at = c;
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    cf_t__sb_sub(&b, format, run, format->n);
    return cf_t__sb_take(&b, false);
}
