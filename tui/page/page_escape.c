/*
 * page_escape.c - escapes untrusted text for HTML, SVG and Markdown.
 */
#include "tui/page/page_escape.h"

#include <ctype.h>

#include "core/base/safe_text.h"
#include "core/base/utf8.h"

typedef enum form {
    FORM_HTML,
    FORM_TOKEN, /* HTML with newlines marked */
    FORM_ATTR,
    FORM_LINE /* text of a picture */
} form;

/* Characters that show nothing, beyond those that a terminal must not get. */
static const uint32_t blank[][2] = {
    {0x00AD, 0x00AD}, {0x034F, 0x034F}, {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
    {0x200B, 0x200C}, {0x2060, 0x2065}, {0x206A, 0x206F},   {0x3164, 0x3164},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3}, {0xE0080, 0xE0FFF},
};

bool cf_escape_hides(uint32_t cp)
{
    for (size_t i = 0; i < sizeof blank / sizeof blank[0]; i++) {
        if (cp >= blank[i][0] && cp <= blank[i][1]) {
            return true;
        }
    }
    return cf_safe_is_harmful(cp);
}

/* ASCII that no parser of a page gives a meaning to. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr(" .,;!?()[]{}_+*-|~^%$", c) != NULL;
}

static void put_escape(cf_buf *out, form f, const char *text, size_t n)
{
    const bool is_element = f == FORM_HTML || f == FORM_TOKEN;
    cf_buf_adds(out, is_element ? "<b class=x>" : "");
    cf_buf_adds(out, "&#92;");
    cf_buf_add(out, text + 1, n - 1);
    cf_buf_adds(out, is_element ? "</b>" : "");
}

static void put_ascii(cf_buf *out, form f, char c)
{
    if (c == '\n' && f == FORM_LINE) {
        cf_buf_adds(out, "\xe2\x86\xb5"); /* U+21B5, return */
    } else if (c == '\n' && f == FORM_TOKEN) {
        cf_buf_adds(out, "<b class=n>\xe2\x86\xb5</b>\n");
    } else if (c == '\n' && f == FORM_ATTR) {
        cf_buf_adds(out, "&#10;");
    } else if (c == '\n' || (c == '\t' && f != FORM_LINE)) {
        cf_buf_addc(out, c);
    } else if (c == '\t') {
        cf_buf_adds(out, "\xe2\x86\x92"); /* U+2192, an arrow */
    } else if (c != '\0' && is_plain(c)) {
        cf_buf_addc(out, c);
    } else {
        cf_buf_addf(out, "&#%d;", c);
    }
}

static void put(cf_buf *out, form f, cf_str s)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        char text[CF_SAFE_ESCAPE_MAX];
        size_t n = cf_utf8_decode(&cp, s.p + i, s.n - i);
        if (cp == CF_UTF8_BAD) {
            put_escape(out, f, text, cf_safe_escape_byte(text, (unsigned char)s.p[i]));
        } else if (cf_escape_hides(cp)) {
            put_escape(out, f, text, cf_safe_escape(text, cp));
        } else if (cp < 0x80) {
            put_ascii(out, f, s.p[i]);
        } else {
            cf_buf_add(out, s.p + i, n);
        }
        i += n;
    }
}

void cf_escape_html(cf_buf *out, cf_str text)
{
    put(out, FORM_HTML, text);
}

void cf_escape_html_token(cf_buf *out, cf_str text)
{
    put(out, FORM_TOKEN, text);
}

void cf_escape_attr(cf_buf *out, cf_str text)
{
    put(out, FORM_ATTR, text);
}

void cf_escape_attrs(cf_buf *out, const char *text)
{
    put(out, FORM_ATTR, cf_str_from(text));
}

void cf_escape_xml(cf_buf *out, cf_str text)
{
    put(out, FORM_LINE, text);
}

/* ---- Markdown ----------------------------------------------------------- */

/* Text with everything hidden escaped; newlines stay where asked. */
static void put_visible(cf_buf *out, cf_str s, bool one_line)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        char text[CF_SAFE_ESCAPE_MAX];
        size_t n = cf_utf8_decode(&cp, s.p + i, s.n - i);
        if (cp == CF_UTF8_BAD) {
            cf_buf_add(out, text, cf_safe_escape_byte(text, (unsigned char)s.p[i]));
        } else if (cf_escape_hides(cp) || (one_line && cp == '\n')) {
            cf_buf_add(out, text, cf_safe_escape(text, cp));
        } else {
            cf_buf_add(out, s.p + i, n);
        }
        i += n;
    }
}

void cf_escape_md_block(cf_buf *out, const char *language, cf_str text)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++) {
        cf_buf_addc(out, '`');
    }
    cf_buf_addf(out, "%s\n", language);
    put_visible(out, text, false);
    cf_buf_adds(out, text.n > 0 && text.p[text.n - 1] == '\n' ? "" : "\n");
    for (size_t i = 0; i <= longest; i++) {
        cf_buf_addc(out, '`');
    }
    cf_buf_adds(out, "\n\n");
}

void cf_escape_md_line(cf_buf *out, cf_str text)
{
    cf_buf plain = CF_BUF_INIT;
    put_visible(&plain, text, true);
    for (size_t i = 0; i < plain.n; i++) {
        char c = plain.p[i];
        bool is_inside = c == '-' && i > 0 && i + 1 < plain.n && /* of an id: it means nothing */
                         isalnum((unsigned char)plain.p[i - 1]) &&
                         isalnum((unsigned char)plain.p[i + 1]);
        if (is_inside) {
            cf_buf_addc(out, c);
        } else if (c == '<' || c == '>' || c == '&') {
            cf_buf_addf(out, "&#%d;", c);
        } else {
            cf_buf_adds(out, strchr("\\`*_{}[]()#+-.!|~:@", c) != NULL ? "\\" : "");
            cf_buf_addc(out, c);
        }
    }
    out->failed = out->failed || plain.failed;
    cf_buf_deinit(&plain);
}
