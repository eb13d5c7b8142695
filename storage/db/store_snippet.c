/*
 * store_snippet.c - folds text and finds search terms in it.
 */
#include "storage/db/store_snippet.h"

#include <string.h>
#include <utf8proc.h>

#include "core/base/utf8.h"
#include "storage/db/store_words.h"

enum {
    BEFORE = 50,     /* bytes shown before the first match */
    SHOWN = 170,     /* bytes shown in all */
    LOOKED = 1 << 20 /* bytes looked at: what is indexed */
};

/* Appends cp without case and accents. */
static void fold(cf_buf *out, uint32_t cp)
{
    char utf8[4];
    if (cp < 0x80) {
        cf_buf_addc(out, (char)(cp >= 'A' && cp <= 'Z' ? cp + 32 : cp));
        return;
    }
    utf8proc_int32_t to[8];
    int last = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)cp, to, 8,
                                UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK, &last);
    for (utf8proc_ssize_t i = 0; i < n && i < 8; i++) {
        cf_buf_add(out, utf8, cf_utf8_encode(utf8, (uint32_t)to[i]));
    }
}

void cf_terms__add(cf_terms *t, cf_str term)
{
    if (t->n == CF_SNIPPET_TERMS) {
        return;
    }
    size_t from = t->text.n;
    for (size_t i = 0; i < term.n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, term.p + i, term.n - i);
        if (cp != CF_UTF8_BAD) {
            fold(&t->text, cp);
        }
    }
    if (t->text.n > from) {
        t->v[t->n].off = from;
        t->v[t->n++].n = t->text.n - from;
    }
}

void cf_terms__deinit(cf_terms *t)
{
    cf_buf_deinit(&t->text);
    t->n = 0;
}

static bool is_word(uint32_t cp)
{
    if (cp < 0x80) {
        return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z');
    }
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return true;
    default:
        return false;
    }
}

/* Bytes of text at p[0..n) that fold to the term; 0: they do not.  Once
 * `scratch` has failed nothing matches. */
static size_t match_here(const char *p, size_t n, const char *term, size_t term_n, cf_buf *scratch)
{
    size_t at = 0;
    if (scratch->failed) {
        return 0;
    }
    cf_buf_reset(scratch);
    while (at < n && scratch->n < term_n && !scratch->failed) {
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, p + at, n - at);
        if (cp == CF_UTF8_BAD) {
            return 0;
        }
        size_t before = scratch->n;
        fold(scratch, cp);
        size_t same = scratch->n < term_n ? scratch->n : term_n;
        if (same > before && memcmp(scratch->p + before, term + before, same - before) != 0) {
            return 0;
        }
        at += len;
    }
    return scratch->n >= term_n && !scratch->failed ? at : 0;
}

/* Longest term that matches at p, at the start of a word. */
static size_t match_any(const cf_terms *t, const char *p, size_t n, cf_buf *scratch)
{
    size_t best = 0;
    for (size_t i = 0; i < t->n; i++) {
        size_t len = match_here(p, n, t->text.p + t->v[i].off, t->v[i].n, scratch);
        best = len > best ? len : best;
    }
    return best;
}

/* Puts the matches in s[from..upto) into out[max]; returns how many.  Running
 * out of memory fails the arena. */
static size_t find_all(const cf_terms *t, cf_str s, size_t from, size_t upto, cf_store_span *out,
                       size_t max, cf_arena *arena)
{
    cf_buf scratch = CF_BUF_INIT;
    size_t n = 0;
    bool in_word = false;
    for (size_t i = from; i < upto && n < max;) {
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, s.p + i, s.n - i);
        bool word = cp != CF_UTF8_BAD && is_word(cp);
        bool can_start = word && (!in_word || cf_words__is_unspaced(cp));
        size_t match = can_start ? match_any(t, s.p + i, s.n - i, &scratch) : 0;
        in_word = word;
        if (match != 0) {
            out[n++] = (cf_store_span){(uint32_t)i, (uint32_t)match};
            len = match;
        }
        i += len;
    }
    arena->failed = arena->failed || scratch.failed || t->text.failed;
    cf_buf_deinit(&scratch);
    return n;
}

/* The nearest start of a character at or before i. */
static size_t char_start(cf_str s, size_t i)
{
    while (i > 0 && i < s.n && ((unsigned char)s.p[i] & 0xC0) == 0x80) {
        i--;
    }
    return i;
}

void cf_snippet__make(cf_store_hit *hit, const cf_terms *terms, cf_str text, cf_str more,
                      cf_arena *arena)
{
    cf_store_span first;
    cf_str s = text;
    size_t n = s.n < LOOKED ? s.n : LOOKED;
    bool found = find_all(terms, s, 0, n, &first, 1, arena) != 0;
    if (!found && more.n != 0) {
        size_t n_more = more.n < LOOKED ? more.n : LOOKED;
        found = find_all(terms, more, 0, n_more, &first, 1, arena) != 0;
        s = found || text.n == 0 ? more : text;
    }
    size_t from = found && first.off > BEFORE ? char_start(s, first.off - BEFORE) : 0;
    size_t upto = s.n - from > SHOWN ? char_start(s, from + SHOWN) : s.n;
    cf_store_span *marks = cf_arena_calloc(arena, CF_SNIPPET_MARKS, sizeof *marks);
    hit->snippet.p = cf_arena_strndup(arena, s.n != 0 ? s.p + from : "", upto - from);
    hit->snippet.n = hit->snippet.p != NULL ? upto - from : 0;
    if (marks == NULL || hit->snippet.p == NULL) {
        return;
    }
    size_t got = find_all(terms, s, found ? first.off : upto, upto, marks, CF_SNIPPET_MARKS, arena);
    for (size_t i = 0; i < got; i++) {
        size_t end = (size_t)marks[i].off + marks[i].len;
        if (end <= upto) {
            marks[i].off -= (uint32_t)from;
            hit->n_marks = i + 1;
        }
    }
    hit->marks = marks;
}
