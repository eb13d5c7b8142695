/*
 * progress.c - shows progress.  Quick work shows nothing: a counted line waits
 * 300 ms.
 */
#include "tui/cli/shell/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/os.h"

enum { PATIENCE_US = 300 * 1000, RENEW_US = 100 * 1000 };

void cf_progress_start(cf_progress *p, const char *what)
{
    *p = (cf_progress){
        .what = what,
        .started_us = cf_os_monotonic_us(),
        .is_on = isatty(STDERR_FILENO) != 0,
    };
}

void cf_progress_say(cf_progress *p, const char *far)
{
    uint64_t now = cf_os_monotonic_us();
    if (p->is_on && now - p->started_us >= PATIENCE_US && now - p->shown_us >= RENEW_US) {
        fprintf(stderr, "\r%s: %s\033[K", p->what, far);
        fflush(stderr);
        p->shown_us = now;
    }
}

void cf_progress_show(cf_progress *p, size_t done, size_t total)
{
    char far[64];
    if (total > 0) {
        snprintf(far, sizeof far, "%zu of %zu", done, total);
        cf_progress_say(p, far);
    } else if (p->is_on) {
        fprintf(stderr, "\r%s ...\033[K", p->what);
        fflush(stderr);
        p->shown_us = cf_os_monotonic_us();
    }
}

void cf_progress_end(cf_progress *p)
{
    if (p->shown_us != 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        p->shown_us = 0;
    }
}

void cf_progress_busy(void *ud, const char *what)
{
    cf_progress *p = ud;
    if (what != NULL) {
        cf_progress_start(p, what);
        cf_progress_show(p, 0, 0);
    } else {
        cf_progress_end(p);
    }
}
