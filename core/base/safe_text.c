/*
 * safe_text.c - finds harmful characters and escapes them.
 */
#include "core/base/safe_text.h"

#include <stdio.h>

#include "core/base/utf8.h"

typedef struct range {
    uint32_t first, last;
} range;

/* Unicode 15; in order.  Newline and tab are left out of C0. */
static const range harmful[] = {
    {0x00, 0x08},          /* C0 */
    {0x0B, 0x1F},          /* C0 */
    {0x7F, 0x9F},          /* DEL, C1 */
    {0x061C, 0x061C},      /* Arabic letter mark */
    {0x200E, 0x200F},      /* left-to-right and right-to-left mark */
    {0x2028, 0x202E},      /* separators, bidi embeddings and overrides */
    {0x2066, 0x2069},      /* bidi isolates */
    {0xFDD0, 0xFDEF},      /* noncharacters */
    {0xFFF9, 0xFFFB},      /* interlinear annotation */
    {0xE0000, 0xE007F},    /* tags: invisible letters */
    {0x110000, 0xFFFFFFFF} /* no code point at all */
};

bool cf_safe_is_harmful(uint32_t cp)
{
    if (cp >= 0x20 && cp < 0x7F) {
        return false;
    }
    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++) {
        if (cp <= harmful[i].last) {
            if (cp >= harmful[i].first) {
                return true;
            }
            break;
        }
    }
    return (cp & 0xFFFE) == 0xFFFE; /* U+nFFFE, U+nFFFF */
}

/* Copies text[0..len) to out. */
static size_t copy(char out[CF_SAFE_ESCAPE_MAX], const char *text, int n)
{
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len > CF_SAFE_ESCAPE_MAX) {
        len = CF_SAFE_ESCAPE_MAX;
    }
    for (size_t i = 0; i < len; i++) {
        out[i] = text[i];
    }
    return len;
}

size_t cf_safe_escape_byte(char out[CF_SAFE_ESCAPE_MAX], unsigned char byte)
{
    char text[16];
    return copy(out, text, snprintf(text, sizeof text, "\\x%02x", (unsigned)byte));
}

size_t cf_safe_escape(char out[CF_SAFE_ESCAPE_MAX], uint32_t cp)
{
    char text[16];
    if (cp == '\n' || cp == '\t') {
        return copy(out, cp == '\n' ? "\\n" : "\\t", 2);
    }
    int n = cp < 0x80 ? snprintf(text, sizeof text, "\\x%02x", (unsigned)cp)
                      : snprintf(text, sizeof text, "\\u{%x}", (unsigned)cp);
    return copy(out, text, n);
}

/* `one_line`: newline and tab are spelled out too. */
static void escape(cf_buf *out, const char *p, size_t n, bool one_line)
{
    size_t plain = 0; /* start of the stretch that goes out as it is */
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, p + i, n - i);
        char text[CF_SAFE_ESCAPE_MAX];
        size_t n_text = 0;
        if (cp == CF_UTF8_BAD) {
            n_text = cf_safe_escape_byte(text, (unsigned char)p[i]);
        } else if (cf_safe_is_harmful(cp) || (one_line && (cp == '\n' || cp == '\t'))) {
            n_text = cf_safe_escape(text, cp);
        }
        if (n_text > 0) {
            cf_buf_add(out, p + plain, i - plain);
            cf_buf_add(out, text, n_text);
            plain = i + len;
        }
        i += len;
    }
    if (n > plain) {
        cf_buf_add(out, p + plain, n - plain);
    }
}

void cf_safe_text(cf_buf *out, const char *p, size_t n)
{
    escape(out, p, n, false);
}

void cf_safe_line(cf_buf *out, const char *p, size_t n)
{
    escape(out, p, n, true);
}
