/*
 * sse.c - splits a stream into events.  Lines end with CR, LF or both; an empty
 * line ends an event.
 */
#include "core/net/sse.h"

#include <string.h>

void cf_sse_init(cf_sse *s)
{
    memset(s, 0, sizeof *s);
}

void cf_sse_deinit(cf_sse *s)
{
    cf_buf_deinit(&s->line);
    cf_buf_deinit(&s->data);
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
    cf_str line = cf_str_make(s->line.p, s->line.n);
    if (cf_str_starts(line, cf_str_from("data:"))) {
        size_t skip = line.n > 5 && line.p[5] == ' ' ? 6 : 5;
        cf_buf_add(&s->data, line.p + skip, line.n - skip);
        cf_buf_addc(&s->data, '\n');
    }
    cf_buf_reset(&s->line);
    return s->data.failed ? cf_oom_for(err, "an event") : CF_OK;
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
