/*
 * sse.c - splits a stream into events.  Lines end with CR, LF or both; an empty
 * line ends an event.
 */
#include "core/net/sse.h"

#include <string.h>

void cf_sse_init(cf_sse *s)
{
    memset(s, 0, sizeof *s);
    s->retry_ms = -1;
}

void cf_sse_deinit(cf_sse *s)
{
    cf_buf_deinit(&s->line);
    cf_buf_deinit(&s->data);
    cf_buf_deinit(&s->id);
}

/* Whether the line is this field; *value is then what it says. */
static bool is_field(cf_str line, const char *name, cf_str *value)
{
    size_t n = strlen(name);
    if (line.n <= n || memcmp(line.p, name, n) != 0 || line.p[n] != ':') {
        return false;
    }
    n += line.n > n + 1 && line.p[n + 1] == ' ' ? 2 : 1;
    *value = cf_str_make(line.p + n, line.n - n);
    return true;
}

/* Only digits are a time; more than nine of them are no time to wait. */
static void take_retry(cf_sse *s, cf_str value)
{
    int64_t ms = 0;
    if (value.n == 0 || value.n > 9) {
        return;
    }
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9') {
            return;
        }
        ms = ms * 10 + (value.p[i] - '0');
    }
    s->retry_ms = ms;
}

static cf_status end_line(cf_sse *s, cf_sse_fn fn, void *ud, cf_error *err)
{
    cf_status st = CF_OK;
    if (s->line.n == 0) {
        if (s->data.n > 0) {
            st = fn(cf_str_make(s->data.p, s->data.n - 1), ud, err);
            cf_buf_reset(&s->data);
        }
        return st;
    }
    cf_str value, line = cf_buf_str(&s->line);
    if (is_field(line, "data", &value)) {
        cf_buf_add(&s->data, value.p, value.n);
        cf_buf_addc(&s->data, '\n');
    } else if (is_field(line, "id", &value) && memchr(value.p, '\0', value.n) == NULL) {
        cf_buf_reset(&s->id);
        cf_buf_add(&s->id, value.p, value.n);
    } else if (is_field(line, "retry", &value)) {
        take_retry(s, value);
    }
    cf_buf_reset(&s->line);
    return s->data.failed || s->id.failed ? cf_oom_for(err, "an event") : CF_OK;
}

cf_status cf_sse_feed(cf_sse *s, const char *p, size_t n, cf_sse_fn fn, void *ud, cf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        bool is_pair = c == '\n' && s->after_cr;
        s->after_cr = c == '\r';
        if (is_pair) {
            continue;
        }
        if (c == '\r' || c == '\n') {
            CF_TRY(end_line(s, fn, ud, err));
            continue;
        }
        cf_buf_addc(&s->line, c);
        if (s->line.failed) {
            return cf_oom_for(err, "an event");
        }
        if (s->line.n + s->data.n > CF_SSE_EVENT_MAX) {
            return cf_fail(err, CF_ELIMIT, "an event of more than 16 MiB");
        }
    }
    return CF_OK;
}
