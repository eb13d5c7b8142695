/*
 * out.c - writes stretches of plain text and the escapes between them.
 */
#include "tui/sys/out.h"

#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"

/* The length of the style that p begins with, or 0. */
static size_t style_at(const char *p, size_t n)
{
    static const char *const styles[] = {CF_OUT_PLAIN, CF_OUT_REVERSE, CF_OUT_FORWARD,
                                         CF_OUT_RED,   CF_OUT_GREEN,   CF_OUT_CYAN};
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        size_t len = strlen(styles[i]);
        if (len <= n && memcmp(p, styles[i], len) == 0) {
            return len;
        }
    }
    return 0;
}

static void put_json_escape(FILE *to, uint32_t cp)
{
    if (cp >= 0x10000) {
        fprintf(to, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (cp >> 10)),
                (unsigned)(0xDC00 + (cp & 0x3FF)));
    } else {
        fprintf(to, "\\u%04x", (unsigned)cp);
    }
}

/* The character at p that a terminal must not get. */
static void put_escape(FILE *to, const char *p, uint32_t cp, cf_out_kind kind)
{
    char text[CF_SAFE_ESCAPE_MAX];
    if (kind == CF_OUT_JSON) {
        put_json_escape(to, cp == CF_UTF8_BAD ? 0xFFFD : cp);
    } else {
        size_t n = cp == CF_UTF8_BAD ? cf_safe_escape_byte(text, (unsigned char)*p)
                                     : cf_safe_escape(text, cp);
        fwrite(text, 1, n, to);
    }
}

static bool is_harmful(uint32_t cp, bool is_line)
{
    return cp == CF_UTF8_BAD || cf_safe_is_harmful(cp) || (is_line && (cp == '\n' || cp == '\t'));
}

/* `is_line`: newlines and tabs are escaped too. */
static void put_escaped(FILE *to, cf_str s, cf_out_kind kind, bool is_line)
{
    size_t plain = 0; /* start of the stretch that is not written yet */
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, s.p + i, s.n - i);
        size_t style = kind == CF_OUT_STYLED && cp == 0x1B ? style_at(s.p + i, s.n - i) : 0;
        if (style > 0) {
            len = style;
        } else if (is_harmful(cp, is_line)) {
            fwrite(s.p + plain, 1, i - plain, to);
            put_escape(to, s.p + i, cp, kind);
            plain = i + len;
        }
        i += len;
    }
    if (s.n > plain) {
        fwrite(s.p + plain, 1, s.n - plain, to);
    }
}

void cf_out(FILE *to, cf_str text, cf_out_kind kind)
{
    if (isatty(fileno(to)) != 0) {
        put_escaped(to, text, kind, false);
    } else if (text.n > 0) {
        fwrite(text.p, 1, text.n, to);
    }
}

void cf_note(const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int want = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t n = want < 0 ? 0 : strlen(text);
    if (want >= (int)sizeof text) {
        n -= cf_utf8_incomplete_tail(text, n);
    }
    put_escaped(stderr, cf_str_make(text, n), CF_OUT_TEXT, true);
    fputs(want >= (int)sizeof text ? " ...\n" : "\n", stderr);
}

void cf_note_text(const char *label, cf_str text)
{
    fputs(label, stderr);
    put_escaped(stderr, text, CF_OUT_TEXT, true);
    fputc('\n', stderr);
}
