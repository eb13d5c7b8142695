/*
 * when.c - local dates.
 */
#include "tui/sys/when.h"

#include <stdio.h>
#include <time.h>

static int64_t day_of(const struct tm *tm)
{
    return (int64_t)tm->tm_year * 366 + tm->tm_yday;
}

void cf_when_format(char out[CF_WHEN_TEXT], int64_t ms, int64_t now_ms)
{
    time_t t = (time_t)(ms / 1000), now = (time_t)(now_ms / 1000);
    time_t before = now - 86400;
    struct tm then, today, yesterday;
    if (localtime_r(&t, &then) == NULL || localtime_r(&now, &today) == NULL ||
        localtime_r(&before, &yesterday) == NULL) {
        snprintf(out, CF_WHEN_TEXT, "?");
        return;
    }
    size_t n = 0;
    if (day_of(&then) == day_of(&today)) {
        n = strftime(out, CF_WHEN_TEXT, "%H:%M", &then);
    } else if (day_of(&then) == day_of(&yesterday)) {
        n = strftime(out, CF_WHEN_TEXT, "yesterday", &then);
    } else if (then.tm_year == today.tm_year) {
        n = strftime(out, CF_WHEN_TEXT, "%m-%d", &then);
    } else {
        n = strftime(out, CF_WHEN_TEXT, "%Y-%m-%d", &then);
    }
    if (n == 0) {
        snprintf(out, CF_WHEN_TEXT, "?");
    }
}

void cf_when_clock(char out[CF_WHEN_CLOCK], int64_t ms)
{
    time_t t = (time_t)(ms / 1000);
    struct tm then;
    if (localtime_r(&t, &then) == NULL || strftime(out, CF_WHEN_CLOCK, "%H:%M:%S", &then) == 0) {
        snprintf(out, CF_WHEN_CLOCK, "?");
    }
}
