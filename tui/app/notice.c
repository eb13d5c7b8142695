/*
 * notice.c - what the program says: on the screen until the next key, and in
 * the log for good.
 *
 * The log is what was done and with which figures: each line has the time, the
 * command that said it, and the text.  Hints (dim notices) are not in it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/os.h"
#include "tui/app/app.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/sys/when.h"

enum { LOG_MAX = 1 << 20 };

/* Forgets the older half of a log that has grown too long. */
static void trim(cf_buf *log)
{
    if (log->n <= LOG_MAX) {
        return;
    }
    const char *nl = memchr(log->p + log->n / 2, '\n', log->n - log->n / 2);
    size_t from = nl != NULL ? (size_t)(nl - log->p) + 1 : log->n;
    memmove(log->p, log->p + from, log->n - from);
    log->n -= from;
}

void cf_app_log(cf_app *app, const char *what, const char *text)
{
    char clock[CF_WHEN_CLOCK];
    cf_when_clock(clock, cf_os_now_ms());
    if (what[0] != '\0') {
        cf_buf_addf(&app->log, "%s  %s: %s\n", clock, what, text);
    } else {
        cf_buf_addf(&app->log, "%s  %s\n", clock, text);
    }
    trim(&app->log);
}

void cf_app_say(cf_app *app, cf_style style, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(app->notice.text, sizeof app->notice.text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        app->notice.text[0] = '\0';
    }
    app->notice.style = style;
    app->notice.while_busy = false;
    app->is_dirty = true;
    if ((style & CF_STYLE_NAME_MASK) != CF_STYLE_DIM && n > 0) {
        cf_app_log(app, app->doing, app->notice.text);
    }
}

void cf_app_say_while_busy(cf_app *app, const char *text)
{
    cf_app_say(app, CF_STYLE_DIM, "%s", text);
    app->notice.while_busy = true;
}

void cf_app_error(cf_app *app, const cf_error *err)
{
    cf_app_say(app, CF_STYLE_ERROR, "%s", err->text);
}

void cf_app_log_reply(cf_app *app)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(app->lab, &n);
    const cf_reply *r = n > 0 ? cf_lab_reply(app->lab, path[n - 1]->id) : NULL;
    cf_buf text = CF_BUF_INIT;
    if (r == NULL || r->n_token == 0) {
        return;
    }
    if (r->usage.is_known) {
        cf_buf_addf(&text, "prompt %llu tokens, %llu of them from the cache; ",
                    (unsigned long long)r->usage.n_prompt, (unsigned long long)r->usage.n_cached);
    }
    cf_buf_addf(&text, "%zu tokens", r->n_token);
    /* Less is not worth a figure; without a terminal screens repeat. */
    bool has_times = r->timings.total_us >= 100000 && app->term != NULL;
    if (has_times) {
        cf_buf_addf(&text, " in %.1f s, the first after %.0f ms", (double)r->timings.total_us / 1e6,
                    (double)r->timings.first_us / 1e3);
    }
    double rate = cf_decode_rate(&r->timings, 8);
    if (rate > 0 && has_times) {
        cf_buf_addf(&text, ", %.1f a second", rate);
    }
    if (r->timings.n_drafted > 0) {
        cf_buf_addf(&text, ", %u of %u drafted accepted (%u%%)", r->timings.n_accepted,
                    r->timings.n_drafted,
                    (unsigned)(100ULL * r->timings.n_accepted / r->timings.n_drafted));
    }
    if (r->cause[0] != '\0') {
        cf_buf_addf(&text, "; cache lost: %s", r->cause);
    }
    cf_app_log(app, "reply", cf_buf_cstr(&text));
    cf_buf_deinit(&text);
}
