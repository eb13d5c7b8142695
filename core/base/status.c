/*
 * status.c - fills a cf_error.
 */
#include "core/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/safe_text.h"
#include "core/base/utf8.h"

/* Bytes at the start of p[0..n), n > 0, that are a character without its end:
 * a caller has cut the text there. */
static size_t cut_character(const char *p, size_t n)
{
    for (size_t m = n < 3 ? n : 3; m > 0; m--) {
        if (cf_utf8_incomplete_tail(p, m) == m) {
            return m;
        }
    }
    return 0;
}

/* Copies text[0..n) to err->text with visible escapes for what a terminal
 * must not get, newlines and tabs too. */
static void put_text(cf_error *err, const char *text, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        char escape[CF_SAFE_ESCAPE_MAX];
        const char *from = text + i;
        size_t len = cf_utf8_decode(&cp, from, n - i);
        size_t n_cut = cp == CF_UTF8_BAD ? cut_character(from, n - i) : 0;
        i += n_cut > 0 ? n_cut : len;
        if (n_cut > 0) {
            from = "...";
            len = 3;
        } else if (cp == CF_UTF8_BAD) {
            len = cf_safe_escape_byte(escape, (unsigned char)*from);
            from = escape;
        } else if (cf_safe_is_harmful(cp) || cp == '\n' || cp == '\t') {
            len = cf_safe_escape(escape, cp);
            from = escape;
        }
        if (at + len >= sizeof err->text) {
            break;
        }
        memcpy(err->text + at, from, len);
        at += len;
    }
    err->text[at] = '\0';
}

static void fill_text(cf_error *err, const char *fmt, va_list ap)
{
    char text[CF_ERROR_TEXT_MAX];
    int want = vsnprintf(text, sizeof text, fmt, ap);
    size_t n = want < 0 ? 0 : strlen(text);
    if (want >= (int)sizeof text) {
        n -= cf_utf8_incomplete_tail(text, n);
    }
    put_text(err, text, n);
}

static cf_status fill(cf_error *err, cf_status code, uint64_t off, uint32_t line, uint32_t col,
                      const char *fmt, va_list ap)
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

cf_status(cf_fail_at)(cf_error *err, cf_status code, uint64_t off, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err, code, off, 0, 0, fmt, ap);
    va_end(ap);
    return code;
}

cf_status(cf_fail_line)(cf_error *err, cf_status code, uint32_t line, uint32_t col, const char *fmt,
                        ...)
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
