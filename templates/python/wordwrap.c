/*
 * wordwrap.c - the filter wordwrap: Python's textwrap.wrap, line by line.
 *
 * The chunks a line is made of are those of TextWrapper.wordsep_re.
 */
#include "templates/python/filters.h"
#include "templates/python/methods.h"

/* textwrap knows ASCII blanks only. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* \w */
static bool is_word(const cf_tstr *s, uint32_t at)
{
    uint32_t len;
    if (at >= s->n) {
        return false;
    }
    uint32_t cp = cf_t__cp(s->p + at, &len);
    return cp == '_' || cf_t__is_alpha(cp) || cf_t__is_numeric(cp);
}

/* \w and the punctuation that belongs to words. */
static bool is_word_or_punct(const cf_tstr *s, uint32_t at)
{
    return is_word(s, at) || (at < s->n && s->p[at] != '\0' && strchr("!\"'&.,?", s->p[at]));
}

/* A character of a word that is not a digit. */
static bool is_letter(const cf_tstr *s, uint32_t at)
{
    uint32_t len;
    return is_word(s, at) && !cf_t__is_decimal(cf_t__cp(s->p + at, &len));
}

static uint32_t before(const cf_tstr *s, uint32_t at)
{
    do {
        at--;
    } while (at > 0 && ((unsigned char)s->p[at] & 0xC0) == 0x80);
    return at;
}

static uint32_t after(const cf_tstr *s, uint32_t at)
{
    uint32_t len;
    cf_t__cp(s->p + at, &len);
    return at + len;
}

/* Whether a word may be broken after the hyphen at `at`: two letters, or
 * "letter-letter", before it, and two letters, perhaps with a hyphen between
 * them, after it. */
static bool breaks_at(const cf_tstr *s, uint32_t at)
{
    uint32_t one = at != 0 ? before(s, at) : 0;
    if (at == 0 || one == 0 || !is_letter(s, one)) {
        return false;
    }
    uint32_t two = before(s, one);
    bool is_hyphenated = s->p[two] == '-' && two != 0 && is_letter(s, before(s, two));
    if (!is_letter(s, two) && !is_hyphenated) {
        return false;
    }
    uint32_t x = at + 1;
    if (!is_letter(s, x)) {
        return false;
    }
    x = after(s, x);
    return is_letter(s, x) || (x < s->n && s->p[x] == '-' && is_letter(s, x + 1));
}

/* Length of a dash of two hyphens or more between words at `at`; 0. */
static uint32_t dash_at(const cf_tstr *s, uint32_t at)
{
    uint32_t end = at;
    while (end < s->n && s->p[end] == '-') {
        end++;
    }
    return end - at >= 2 && at != 0 && is_word_or_punct(s, before(s, at)) && is_word(s, end)
               ? end - at
               : 0;
}

/* End of the chunk that starts at `at`: blanks, a dash, or (part of) a
 * word. */
static uint32_t chunk_end(const cf_tstr *s, uint32_t at, bool hyphens)
{
    uint32_t end = at;
    if (is_blank(s->p[at])) {
        while (end < s->n && is_blank(s->p[end])) {
            end++;
        }
        return end;
    }
    if (hyphens && dash_at(s, at) != 0) {
        return at + dash_at(s, at);
    }
    for (end++; end < s->n && !is_blank(s->p[end]); end++) {
        if (!hyphens || s->p[end] != '-') {
            continue;
        }
        if (breaks_at(s, end)) {
            return end + 1;
        }
        if (s->p[end - 1] != '-' && dash_at(s, end) != 0) {
            return end; /* "a--b": the dash is a chunk of its own */
        }
    }
    return end;
}

typedef struct wrapper {
    cf_tsb b;
    const cf_tstr *s, *end;
    int64_t width;
    bool long_words, hyphens;
} wrapper;

static uint32_t cps(const cf_tstr *s, uint32_t from, uint32_t to)
{
    uint32_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        n += ((unsigned char)s->p[i] & 0xC0) != 0x80;
    }
    return n;
}

/* Where a chunk [at, end) that is longer than a line is cut, so that its
 * beginning fills the `room` characters that are left: after its last hyphen
 * there, if it may be. */
static uint32_t cut_chunk(const wrapper *w, uint32_t at, uint32_t end, int64_t room)
{
    const cf_tstr *s = w->s;
    uint32_t cut = at;
    for (int64_t i = 0; i < room && cut < end; i++) {
        cut = after(s, cut);
    }
    if (!w->hyphens || cut == end) {
        return cut;
    }
    bool other = false;
    uint32_t hyphen = cut;
    for (uint32_t k = at; k < cut; k++) {
        if (s->p[k] == '-' && k > at && other) {
            hyphen = k + 1;
        }
        other = other || s->p[k] != '-';
    }
    return hyphen;
}

/* The rest of a chunk: bytes [at, end) of the line, n characters.  What a cut
 * leaves is not divided into chunks again. */
typedef struct chunk {
    uint32_t at, end;
    uint32_t solid; /* end of the last character that is not blank; or 0 */
    int64_t n;
} chunk;

/* Where the last character of [at, end) that Python's strip() keeps ends; 0
 * where there is none. (strip() knows more blanks than textwrap.) */
static uint32_t solid_end(const cf_tstr *s, uint32_t at, uint32_t end)
{
    uint32_t solid = 0, len;
    for (; at < end; at += len) {
        if (!cf_t__is_space(cf_t__cp(s->p + at, &len))) {
            solid = at + len;
        }
    }
    return solid;
}

static void next_chunk(const wrapper *w, chunk *c)
{
    c->at = c->end;
    if (c->at < w->s->n) {
        c->end = chunk_end(w->s, c->at, w->hyphens);
        c->solid = solid_end(w->s, c->at, c->end);
        c->n = cps(w->s, c->at, c->end);
    }
}

/* Takes the next line's worth of chunks off c: bytes [*from, *to). The last
 * piece is dropped where it is blank, be it empty. */
static void take_line(const wrapper *w, chunk *c, uint32_t *from, uint32_t *to)
{
    const cf_tstr *s = w->s;
    uint32_t last = c->at;
    int64_t len = 0;
    bool is_blank_last = false;
    *from = *to = c->at;
    while (c->at < s->n && len + c->n <= w->width) {
        last = c->at;
        is_blank_last = c->solid <= c->at;
        len += c->n;
        *to = c->end;
        next_chunk(w, c);
    }
    if (c->at < s->n && c->n > w->width) {
        if (w->long_words) {
            uint32_t cut = cut_chunk(w, c->at, c->end, w->width - len);
            last = c->at;
            is_blank_last = solid_end(s, c->at, cut) == 0;
            c->n -= cps(s, c->at, cut);
            *to = c->at = cut;
        } else if (*to == *from) {
            is_blank_last = c->solid <= c->at;
            *to = c->end;
            next_chunk(w, c);
        }
    }
    if (is_blank_last) {
        *to = last;
    }
}

/* Wraps one line of the text, as textwrap's _wrap_chunks does. */
static bool wrap_line(wrapper *w)
{
    chunk c = {0};
    bool has_line = false;
    next_chunk(w, &c);
    while (c.at < w->s->n) {
        if (has_line && c.solid <= c.at) {
            next_chunk(w, &c);
        }
        uint32_t from, to;
        take_line(w, &c, &from, &to);
        if (to > from) {
            if (has_line) {
                cf_t__sb_str(&w->b, w->end);
            }
            has_line = true;
            cf_t__sb_sub(&w->b, w->s, from, to);
        }
        if (!cf_t__spend(w->b.r, 1 + (to - from)) || w->b.failed) {
            return false;
        }
    }
    return true;
}

cf_tv cf_t__filter_wordwrap(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("wordwrap", "s width break_long_words wrapstring break_on_hyphens", 1, 5)
    int64_t width = 79;
    if (a[0].k != CF_TSTR) {
        return a[0].k == CF_TUNDEF ? cf_t__fail_undef(r, a[0])
                                   : cf_t__fail(r, "'%s' object has no attribute 'splitlines'",
                                                cf_t__type_name(a[0]));
    }
    if (a[1].k != CF_TMISSING && !cf_t__arg_int(r, a[1], &width)) {
        return CF_TV_ERR;
    }
    cf_tv end = a[3].k == CF_TSTR ? a[3] : cf_t__str_cstr(r, "\n");
    cf_tlist *lines = cf_t__split_lines(r, a[0].u.s, false);
    if (lines == NULL || end.k == CF_TERR) {
        return CF_TV_ERR;
    }
    if (width <= 0 && lines->n != 0) {
        return cf_t__fail(r, "invalid width %lld (must be > 0)", (long long)width);
    }
    wrapper w = {.end = end.u.s,
                 .width = width,
                 .long_words = a[2].k == CF_TMISSING || cf_t__truth(a[2]),
                 .hyphens = a[4].k == CF_TMISSING || cf_t__truth(a[4])};
    cf_t__sb_init(&w.b, r);
    for (uint32_t i = 0; i < lines->n; i++) {
        if (i != 0) {
            cf_t__sb_str(&w.b, w.end);
        }
        w.s = lines->v[i].u.s;
        if (!wrap_line(&w)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&w.b, false);
}
