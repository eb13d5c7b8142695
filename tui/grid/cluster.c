/*
 * cluster.c - segmentation, widths, and what is shown in place of what.
 */
#include "tui/grid/cluster.h"

#include <string.h>
#include <utf8proc.h>

#include "core/base/safe_text.h"
#include "core/base/utf8.h"

enum { TAB = 8 };

static void add_glyph(cf_cluster *c, uint32_t cp, uint8_t width)
{
    cf_glyph *g = &c->glyph[c->n_glyph++];
    memset(g, 0, sizeof *g);
    g->cp[0] = cp;
    g->width = width;
    c->width = (uint8_t)(c->width + width);
}

static void add_ascii(cf_cluster *c, const char *text, size_t n)
{
    for (size_t i = 0; i < n && c->n_glyph < CF_CLUSTER_CELLS; i++) {
        add_glyph(c, (unsigned char)text[i], 1);
    }
    c->is_escaped = true;
}

static void add_escape(cf_cluster *c, uint32_t cp)
{
    char text[CF_SAFE_ESCAPE_MAX];
    add_ascii(c, text, cf_safe_escape(text, cp));
}

static bool is_mark(uint32_t cp)
{
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)cp);
    return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_ME || k == UTF8PROC_CATEGORY_MC;
}

/* Shows nothing by itself: joiners, variation selectors, unassigned. */
static bool is_invisible(uint32_t cp)
{
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)cp);
    return k == UTF8PROC_CATEGORY_CN || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CS ||
           k == UTF8PROC_CATEGORY_CO || k == UTF8PROC_CATEGORY_ZL || k == UTF8PROC_CATEGORY_ZP ||
           k == UTF8PROC_CATEGORY_CC;
}

static bool is_regional_indicator(uint32_t cp)
{
    return cp >= 0x1F1E6 && cp <= 0x1F1FF;
}

/* Length in bytes of the grapheme cluster at p[0..n), whose first code point
 * is `cp` of `len` bytes.  A bad byte or a harmful character ends it. */
static size_t cluster_length(const char *p, size_t n, uint32_t cp, size_t len)
{
    utf8proc_int32_t state = 0;
    uint32_t before = cp;
    while (len < n) {
        uint32_t next;
        size_t more = cf_utf8_decode(&next, p + len, n - len);
        if (next == CF_UTF8_BAD || next == '\n' || cf_safe_is_harmful(next) ||
            utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)next,
                                             &state)) {
            break;
        }
        before = next;
        len += more;
    }
    return len;
}

/* Adds the marks of p[0..n) that a cell can hold to the last glyph. */
static void add_marks(cf_cluster *c, const char *p, size_t n)
{
    cf_glyph *g = &c->glyph[c->n_glyph - 1];
    size_t n_marks = 0;
    for (size_t i = 0; i < n && n_marks < CF_CELL_MARKS;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, p + i, n - i);
        /* Variation selectors (U+FE00..FE0F) and the keycap change widths. */
        bool changes_width = (cp >= 0xFE00 && cp <= 0xFE0F) || cp == 0x20E3;
        if (is_mark(cp) && utf8proc_charwidth((utf8proc_int32_t)cp) == 0 && !changes_width) {
            g->cp[++n_marks] = cp;
        }
    }
}

static void add_space(cf_cluster *c, uint32_t cp, size_t column, cf_space_mode mode)
{
    c->is_space = true;
    if (mode == CF_SPACE_VISIBLE) {
        if (cp == '\t') {
            add_ascii(c, "\\t", 2);
        } else {
            add_glyph(c, 0xB7, 1);
        }
        return;
    }
    size_t cells = cp == '\t' ? TAB - column % TAB : 1;
    for (size_t i = 0; i < cells; i++) {
        add_glyph(c, ' ', 1);
    }
}

/* A part of an emoji sequence that has a width of its own. */
static bool is_part(uint32_t cp)
{
    return utf8proc_charwidth((utf8proc_int32_t)cp) > 0 && !is_mark(cp) && !is_invisible(cp);
}

/* Adds what follows the first character of an emoji sequence, each after a
 * '+'; what there is no room for is a '+' at the end.  Tags of a flag are their
 * letters. */
static void add_parts(cf_cluster *c, const char *p, size_t n)
{
    bool has_tags = false;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, p + i, n - i);
        bool is_tag = cp > 0xE0020 && cp < 0xE007F;
        if (!is_tag && !is_part(cp)) {
            continue;
        }
        int width = is_tag ? 1 : utf8proc_charwidth((utf8proc_int32_t)cp);
        bool has_mark = !is_tag || !has_tags;
        /* One cell stays free for the last mark. */
        bool fits =
            c->n_glyph + 2 < CF_CLUSTER_CELLS && c->width + has_mark + width < CF_CLUSTER_CELLS;
        if (has_mark && c->n_glyph < CF_CLUSTER_CELLS) {
            add_glyph(c, '+', 1);
        }
        if (!fits) {
            return;
        }
        add_glyph(c, is_tag ? cp - 0xE0000 : cp, (uint8_t)(width > 2 ? 2 : width));
        has_tags = has_tags || is_tag;
    }
}

/* U+20E3 makes a key of what it follows. */
static bool is_keycap(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, p + i, n - i);
        if (cp == 0x20E3) {
            return true;
        }
    }
    return false;
}

static void add_character(cf_cluster *c, uint32_t cp, const char *p, size_t first_len)
{
    int width = utf8proc_charwidth((utf8proc_int32_t)cp);
    if (is_invisible(cp) || is_mark(cp) || width <= 0) {
        /* Alone at the start of a cluster it would show nothing. */
        for (size_t i = 0; i < c->len;) {
            uint32_t part;
            i += cf_utf8_decode(&part, p + i, c->len - i);
            if (c->n_glyph != 0) {
                break;
            }
            add_escape(c, part);
        }
        return;
    }
    add_glyph(c, cp, (uint8_t)(width > 2 ? 2 : width));
    uint32_t second = 0; /* a joiner may follow instead of another letter */
    if (c->len > first_len) {
        cf_utf8_decode(&second, p + first_len, c->len - first_len);
    }
    if (is_regional_indicator(cp) && is_regional_indicator(second)) {
        c->n_glyph = 0;
        c->width = 0;
        add_glyph(c, 'A' + cp - 0x1F1E6, 1);
        add_glyph(c, 'A' + second - 0x1F1E6, 1);
        return;
    }
    add_marks(c, p + first_len, c->len - first_len);
    if (is_keycap(p + first_len, c->len - first_len)) {
        cf_glyph key = c->glyph[0];
        c->n_glyph = 0;
        c->width = 0;
        add_glyph(c, '[', 1);
        c->glyph[c->n_glyph++] = key;
        c->width = (uint8_t)(c->width + key.width);
        add_glyph(c, ']', 1);
    }
    add_parts(c, p + first_len, c->len - first_len);
}

bool cf_cluster_next(cf_cluster *out, const char *p, size_t n, size_t *at, size_t column,
                     cf_space_mode mode)
{
    if (*at >= n) {
        return false;
    }
    cf_cluster c = {.off = (uint32_t)*at};
    const char *here = p + *at;
    uint32_t cp;
    size_t len = cf_utf8_decode(&cp, here, n - *at);
    c.len = (uint32_t)len;
    if (cp == CF_UTF8_BAD) {
        add_escape(&c, 0);
        static const char hex[] = "0123456789abcdef";
        unsigned char byte = (unsigned char)*here;
        c.glyph[2].cp[0] = (unsigned char)hex[byte >> 4];
        c.glyph[3].cp[0] = (unsigned char)hex[byte & 15];
    } else if (cp == '\n') {
        c.is_newline = true;
        if (mode == CF_SPACE_VISIBLE) {
            add_ascii(&c, "\\n", 2);
        }
    } else if (cp == ' ' || cp == '\t') {
        add_space(&c, cp, column, mode);
    } else if (cp > ' ' && cp < 0x7F && (*at + 1 >= n || (unsigned char)here[1] < 0x80)) {
        add_glyph(&c, cp, 1); /* plain ASCII, the common case */
    } else if (cf_safe_is_harmful(cp)) {
        add_escape(&c, cp);
    } else {
        c.len = (uint32_t)cluster_length(here, n - *at, cp, len);
        add_character(&c, cp, here, len);
    }
    *at += c.len;
    *out = c;
    return true;
}

size_t cf_text_width(const char *p, size_t n)
{
    size_t width = 0;
    cf_cluster c;
    for (size_t at = 0; cf_cluster_next(&c, p, n, &at, width, CF_SPACE_PLAIN);) {
        width += c.width;
    }
    return width;
}

int cf_text_width_visible(cf_str text)
{
    int width = 0;
    cf_cluster c;
    for (size_t at = 0;
         cf_cluster_next(&c, text.p, text.n, &at, (size_t)width, CF_SPACE_VISIBLE);) {
        width += c.width;
    }
    return width;
}
