/*
 * status.c - fills a cf_error.
 */
#include "core/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

static void fill_text(cf_error *err, const char *fmt, va_list ap)
{
    int want = vsnprintf(err->text, sizeof err->text, fmt, ap);
    if (want < 0) {
        err->text[0] = '\0';
    }
    size_t n = strlen(err->text);
    if (want >= (int)sizeof err->text) {
        n -= cf_utf8_incomplete_tail(err->text, n);
        err->text[n] = '\0';
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)err->text[i];
        if (c < 0x20 || c == 0x7F) {
            err->text[i] = '?';
        }
    }
}

static cf_status fill(cf_error *err, cf_status code, uint64_t off,
                      uint32_t line, uint32_t col, const char *fmt, va_list ap)
{
    if (err != NULL) {
        err->code = code;
        err->off = off;
        err->line = line;
        err->col = col;
        fill_text(err, fmt, ap);
    }
    return code;
}

cf_status(cf_fail)(cf_error *err, cf_status code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, CF_NO_OFFSET, 0, 0, fmt, ap);
    va_end(ap);
    return code;
}

cf_status(cf_fail_at)(cf_error *err, cf_status code, uint64_t off,
                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, off, 0, 0, fmt, ap);
    va_end(ap);
    return code;
}

cf_status(cf_fail_line)(cf_error *err, cf_status code, uint32_t line,
                        uint32_t col, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, CF_NO_OFFSET, line, col, fmt, ap);
    va_end(ap);
    return code;
}

cf_status cf_fail_in(cf_error *err, cf_status code, const char *prefix)
{
    if (err == NULL) {
        return code;
    }
    cf_error was = *err;
    cf_fail(err, code, "%s: %s", prefix, was.text);
    err->code = was.code;
    err->off = was.off;
    err->line = was.line;
    err->col = was.col;
    return err->code;
}

cf_status cf_oom(cf_error *err)
{
    return cf_fail(err, CF_ENOMEM, "out of memory");
}

cf_status cf_oom_for(cf_error *err, const char *what)
{
    return cf_fail(err, CF_ENOMEM, "out of memory for %s", what);
}

const char *cf_status_name(cf_status code)
{
    switch (code) {
    case CF_OK:
        return "ok";
    case CF_ENOMEM:
        return "out of memory";
    case CF_EIO:
        return "input/output";
    case CF_EFORMAT:
        return "format";
    case CF_EUNSUPPORTED:
        return "unsupported";
    case CF_ENOTFOUND:
        return "not found";
    case CF_ELIMIT:
        return "limit";
    case CF_ECANCELLED:
        return "cancelled";
    case CF_EBUSY:
        return "busy";
    case CF_EINVAL:
        return "invalid argument";
    }
    return "unknown";
}

void cf_assert_failed(const char *cond, const char *file, int line)
{
    fprintf(stderr, "confab: internal error: %s at %s:%d\n", cond, file, line);
    abort();
}
