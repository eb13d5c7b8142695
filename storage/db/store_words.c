/*
 * store_words.c - indexes scripts without spaces as pairs of characters.
 */
#include "storage/db/store_words.h"

#include "core/base/utf8.h"

enum { INDEX_MAX = 1 << 20 };

bool cf_words__is_unspaced(uint32_t cp)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        {0x0E00, 0x0EFF},   /* Thai, Lao */
        {0x1000, 0x109F},   /* Myanmar */
        {0x1780, 0x17FF},   /* Khmer */
        {0x3040, 0x318F},   /* Kana, Bopomofo, Hangul letters */
        {0x31A0, 0x31FF},   /* more of them */
        {0x3400, 0x4DBF},   /* Han, extension A */
        {0x4E00, 0x9FFF},   /* Han */
        {0xAC00, 0xD7AF},   /* Hangul */
        {0xF900, 0xFAFF},   /* Han, compatibility */
        {0xFF66, 0xFF9F},   /* halfwidth Katakana */
        {0x20000, 0x323AF}, /* Han, extensions B and later */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (cp >= ranges[i].from && cp <= ranges[i].to) {
            return true;
        }
    }
    return false;
}

/* The run of unspaced characters at p[0..n) as pairs; with_last: and its last
 * character alone, so that one character is found as the start of a pair. */
static size_t add_pairs(cf_buf *out, const char *p, size_t n, bool with_last)
{
    uint32_t cp;
    size_t at = 0, before = 0;
    bool is_first = true;
    while (at < n) {
        size_t len = cf_utf8_decode(&cp, p + at, n - at);
        if (cp == CF_UTF8_BAD || !cf_words__is_unspaced(cp)) {
            break;
        }
        if (!is_first) {
            cf_buf_add(out, p + before, at + len - before);
            cf_buf_addc(out, ' ');
        }
        is_first = false;
        before = at;
        at += len;
    }
    if (with_last) {
        cf_buf_add(out, p + before, at - before);
        cf_buf_addc(out, ' ');
    }
    return at;
}

void cf_words__index(cf_buf *out, cf_str text)
{
    size_t n = text.n < INDEX_MAX ? text.n : INDEX_MAX;
    size_t plain = 0;
    for (size_t i = 0; i < n;) {
        if ((unsigned char)text.p[i] < 0x80) {
            i++;
            continue;
        }
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, text.p + i, n - i);
        if (cp == CF_UTF8_BAD || !cf_words__is_unspaced(cp)) {
            i += len;
            continue;
        }
        cf_buf_add(out, text.p + plain, i - plain);
        cf_buf_addc(out, ' ');
        i += add_pairs(out, text.p + i, n - i, true);
        plain = i;
    }
    if (n > plain) {
        cf_buf_add(out, text.p + plain, n - plain);
    }
}

/* A character that unicode61 takes into words, roughly: enough to know that
 * a term is not empty. */
static bool has_word(cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
            (c >= 'a' && c <= 'z')) {
            return true;
        }
    }
    return false;
}

static void add_quoted(cf_buf *out, cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"') {
            cf_buf_addc(out, '"');
        }
        cf_buf_addc(out, s.p[i] != '\0' ? s.p[i] : ' ');
    }
}

bool cf_words__term(cf_buf *out, cf_str text, bool is_prefix)
{
    if (!has_word(text)) {
        return false;
    }
    size_t before = out->n;
    size_t i = 0;
    while (i < text.n) {
        uint32_t cp;
        size_t start = i;
        size_t len = cf_utf8_decode(&cp, text.p + i, text.n - i);
        if (cp != CF_UTF8_BAD && cf_words__is_unspaced(cp)) {
            cf_buf_adds(out, out->n != before ? " AND \"" : "\"");
            size_t mark = out->n;
            i += add_pairs(out, text.p + i, text.n - i, false);
            bool is_single = out->n == mark;
            if (is_single) {
                cf_buf_add(out, text.p + start, i - start);
            }
            cf_buf_adds(out, is_single ? "\"*" : "\"");
            continue;
        }
        while (i < text.n && (cp == CF_UTF8_BAD || !cf_words__is_unspaced(cp))) {
            i += len;
            if (i < text.n) {
                len = cf_utf8_decode(&cp, text.p + i, text.n - i);
            }
        }
        cf_str part = cf_str_make(text.p + start, i - start);
        if (has_word(part)) {
            cf_buf_adds(out, out->n != before ? " AND \"" : "\"");
            add_quoted(out, part);
            cf_buf_adds(out, is_prefix && i == text.n ? "\"*" : "\"");
        }
    }
    return out->n != before;
}
