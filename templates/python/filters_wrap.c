/*
 * filters_wrap.c - wordwrap (Python's textwrap) and urlize.
 */
#include "templates/language/ast.h"
#include "templates/python/filters.h"
#include "templates/python/methods.h"

#include <stdio.h>

/* ---- wordwrap ----------------------------------------------------------- */

/* textwrap knows ASCII blanks only. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(const cf_tstr *s, uint32_t at)
{
    uint32_t len;
    if (at >= s->n) {
        return false;
    }
    uint32_t cp = cf_t__cp(s->p + at, &len);
    return cp == '_' || cp == '\'' || cp == '"' || cp == '&' || cp == '!' ||
           cp == '.' || cp == ',' || cp == '?' || cf_t__is_alpha(cp) ||
           cf_t__is_numeric(cp);
}

static bool is_letter(const cf_tstr *s, uint32_t at)
{
    uint32_t len;
    return at < s->n && cf_t__is_alpha(cf_t__cp(s->p + at, &len));
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

/* Whether a word may be broken behind the hyphen at `at`: two letters, or a
 * letter and a hyphen, before it and a letter pair behind. */
static bool breaks_at(const cf_tstr *s, uint32_t from, uint32_t at)
{
    if (at < from + 2 || !is_letter(s, before(s, at)) ||
        before(s, at) <= from) {
        return false;
    }
    uint32_t two = before(s, before(s, at));
    if (two < from || (!is_letter(s, two) && s->p[two] != '-')) {
        return false;
    }
    uint32_t x = at + 1;
    if (!is_letter(s, x)) {
        return false;
    }
    x = after(s, x);
    return is_letter(s, x) ||
           (x < s->n && s->p[x] == '-' && is_letter(s, x + 1));
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
    for (; end < s->n && !is_blank(s->p[end]); end++) {
        if (!hyphens || s->p[end] != '-' || end == at) {
            continue;
        }
        uint32_t dash = end;
        while (dash < s->n && s->p[dash] == '-') {
            dash++;
        }
        if (dash - end >= 2 && is_word(s, dash) && is_word(s, before(s, end))) {
            return end; /* "a--b": the dash is a chunk of its own */
        }
        if (dash - end == 1 && breaks_at(s, at, end)) {
            return end + 1;
        }
    }
    if (hyphens && s->p[at] == '-' && end > at) {
        uint32_t dash = at;
        while (dash < end && s->p[dash] == '-') {
            dash++;
        }
        if (dash - at >= 2 && is_word(s, dash)) {
            return dash;
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
    return cf_t__cps_before(s, to) - cf_t__cps_before(s, from);
}

/* Where a chunk [at, end) that is longer than a line is cut, so that its
 * beginning fills the `room` characters that are left: behind its last hyphen
 * there, if it may be. */
static uint32_t cut_chunk(const wrapper *w, uint32_t at, uint32_t end,
                          int64_t room)
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

/* What is left of a chunk: bytes [at, end) of the line, n characters. A cut
 * leaves a rest, which is not cut into chunks anew. */
typedef struct chunk {
    uint32_t at, end;
    uint32_t solid; /* behind the last character that is no blank; or 0 */
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
    CF_TBIND("wordwrap", "s width break_long_words wrapstring break_on_hyphens",
             1, 5)
    int64_t width = 79;
    if (a[0].k != CF_TSTR) {
        return a[0].k == CF_TUNDEF
                   ? cf_t__fail_undef(r, a[0])
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
        return cf_t__fail(r, "invalid width %lld (must be > 0)",
                          (long long)width);
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

/* ---- urlize ------------------------------------------------------------- */

static bool starts(cf_str s, const char *what)
{
    return cf_str_starts(s, cf_str_from(what));
}

static bool ends(cf_str s, const char *what)
{
    size_t n = strlen(what);
    return s.n >= n && memcmp(s.p + s.n - n, what, n) == 0;
}

static bool is_host_char(char c, bool dash)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
           (dash && c == '-');
}

/* "name.name.tld" with an optional port, path, query or fragment behind. */
static bool is_host(cf_str s, bool needs_known_tld)
{
    size_t i = 0, labels = 0, label = 0;
    size_t last = 0;
    while (i < s.n && (is_host_char(s.p[i], true) || s.p[i] == '.' ||
                       (unsigned char)s.p[i] >= 0x80 || s.p[i] == '_')) {
        if (s.p[i] == '.') {
            if (label == 0) {
                return false;
            }
            labels++;
            label = 0;
            last = i + 1;
        } else {
            label++;
        }
        i++;
    }
    if (labels == 0 || label < 2) {
        return false;
    }
    if (needs_known_tld) {
        cf_str tld = cf_str_make(s.p + last, i - last);
        static const char *const known[] = {"com", "net",  "int", "edu", "gov",
                                            "org", "info", "mil", NULL};
        bool ok = false;
        for (size_t k = 0; known[k] != NULL; k++) {
            ok = ok || cf_str_is(tld, known[k]);
        }
        if (!ok) {
            return false;
        }
    }
    if (i < s.n && s.p[i] == ':') {
        size_t from = ++i;
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
            i++;
        }
        if (i == from || i - from > 5) {
            return false;
        }
    }
    return i == s.n || s.p[i] == '/' || s.p[i] == '?' || s.p[i] == '#';
}

static bool is_url(cf_str s)
{
    if (starts(s, "https://") || starts(s, "http://")) {
        size_t n = s.p[4] == 's' ? 8 : 7;
        cf_str rest = cf_str_make(s.p + n, s.n - n);
        return rest.n > 0 &&
               (is_host(rest, false) || starts(rest, "localhost") ||
                (rest.p[0] >= '0' && rest.p[0] <= '9') || rest.p[0] == '[');
    }
    if (starts(s, "www.")) {
        return is_host(cf_str_make(s.p + 4, s.n - 4), false) ||
               is_host(s, false);
    }
    return is_host(s, true);
}

static bool is_email(cf_str s)
{
    const char *at = s.n != 0 ? memchr(s.p, '@', s.n) : NULL;
    if (at == NULL || at == s.p) {
        return false;
    }
    for (const char *more = at;
         (more = memchr(more + 1, '@', s.n - (size_t)(more + 1 - s.p))) !=
         NULL;) {
        at = more;
    }
    cf_str host = cf_str_make(at + 1, s.n - (size_t)(at + 1 - s.p));
    if (host.n == 0 || !is_host_char(host.p[0], false)) {
        return false;
    }
    const char *dot = NULL;
    for (size_t i = 0; i < host.n; i++) {
        if (host.p[i] == '.') {
            dot = host.p + i;
        } else if (!is_host_char(host.p[i], true) && host.p[i] != '_') {
            return false;
        }
    }
    return dot != NULL && dot > host.p && dot + 1 < host.p + host.n &&
           memchr(dot, '-', host.n - (size_t)(dot - host.p)) == NULL;
}

typedef struct urlizer {
    cf_tsb b;
    const cf_tstr *s;
    int64_t limit; /* -1: none */
    cf_str attrs;
    cf_tlist *schemes;
} urlizer;

static void add_link(urlizer *u, uint32_t from, uint32_t to, const char *prefix,
                     uint32_t skip_shown, bool with_attrs)
{
    cf_tsb *b = &u->b;
    cf_t__sb_adds(b, "<a href=\"", CF_ORG_NONE);
    cf_t__sb_adds(b, prefix, CF_ORG_NONE);
    cf_t__sb_sub(b, u->s, from, to);
    cf_t__sb_adds(b, "\"", CF_ORG_NONE);
    if (with_attrs) {
        cf_t__sb_add(b, u->attrs.p, u->attrs.n, CF_ORG_NONE, CF_NO_COPY, 0);
    }
    cf_t__sb_adds(b, ">", CF_ORG_NONE);
    from += skip_shown;
    cf_tv shown = cf_t__str_sub(b->r, u->s, from, to);
    if (shown.k == CF_TERR) {
        b->failed = true;
        return;
    }
    bool cut =
        with_attrs && u->limit >= 0 && cf_t__str_cps(shown.u.s) > u->limit;
    cf_t__sb_sub(b, shown.u.s, 0,
                 cut ? cf_t__str_at_cp(shown.u.s, (uint32_t)u->limit)
                     : shown.u.s->n);
    cf_t__sb_adds(b, cut ? "...</a>" : "</a>", CF_ORG_NONE);
}

static uint32_t count(cf_str s, const char *what)
{
    uint32_t n = 0;
    for (uint32_t at = 0;
         (at = cf_t__find(s, cf_str_from(what), at)) != UINT32_MAX; n++) {
        at += (uint32_t)strlen(what);
    }
    return n;
}

static void urlize_word(urlizer *u, uint32_t from, uint32_t to)
{
    const char *p = u->s->p;
    uint32_t a = from, z = to;
    static const char *const open[] = {"(", "<", "&lt;"};
    static const char *const close[] = {")", ">", "&gt;"};
    static const char *const tails[] = {")", ">", ".", ",", "\n", "&gt;"};
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < 3; i++) {
            if (starts(cf_str_make(p + a, z - a), open[i])) {
                a += (uint32_t)strlen(open[i]);
                more = true;
            }
        }
    }
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < 6; i++) {
            if (ends(cf_str_make(p + a, z - a), tails[i])) {
                z -= (uint32_t)strlen(tails[i]);
                more = true;
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        uint32_t n_open = count(cf_str_make(p + a, z - a), open[i]);
        uint32_t n_close = count(cf_str_make(p + a, z - a), close[i]);
        uint32_t in_tail = count(cf_str_make(p + z, to - z), close[i]);
        uint32_t n_move = n_open <= n_close  ? 0
                          : n_open < in_tail ? n_open
                                             : in_tail;
        for (; n_move > 0; n_move--) {
            z = cf_t__find(cf_str_make(p, to), cf_str_from(close[i]), z) +
                (uint32_t)strlen(close[i]);
        }
    }
    cf_str mid = cf_str_make(p + a, z - a);
    cf_t__sb_sub(&u->b, u->s, from, a);
    if (is_url(mid)) {
        bool has_scheme = starts(mid, "https://") || starts(mid, "http://");
        add_link(u, a, z, has_scheme ? "" : "https://", 0, true);
    } else if (starts(mid, "mailto:") &&
               is_email(cf_str_make(mid.p + 7, mid.n - 7))) {
        add_link(u, a, z, "", 7, false);
    } else if (!starts(mid, "www.") && !starts(mid, "@") &&
               (mid.n == 0 || memchr(mid.p, ':', mid.n) == NULL) &&
               is_email(mid)) {
        add_link(u, a, z, "mailto:", 0, false);
    } else {
        bool is_done = false;
        for (uint32_t i = 0; u->schemes != NULL && i < u->schemes->n; i++) {
            cf_tv x = u->schemes->v[i];
            if (!is_done && x.k == CF_TSTR && mid.n > x.u.s->n &&
                cf_str_starts(mid, cf_tv_text(x))) {
                int64_t limit = u->limit;
                u->limit = -1;
                add_link(u, a, z, "", 0, true);
                u->limit = limit;
                is_done = true;
            }
        }
        if (!is_done) {
            cf_t__sb_sub(&u->b, u->s, a, z);
        }
    }
    cf_t__sb_sub(&u->b, u->s, z, to);
}

/* rel="..." target="...": the words of rel, nofollow and noopener, sorted. */
static bool link_attrs(cf_tr *r, urlizer *u, cf_tv rel, bool nofollow,
                       cf_tv target)
{
    cf_tlist *words = cf_t__list_new(r, 4);
    cf_tv blank = cf_t__str_cstr(r, "noopener");
    cf_tv no = cf_t__str_cstr(r, "nofollow");
    if (words == NULL || blank.k == CF_TERR || no.k == CF_TERR) {
        return false;
    }
    if (rel.k == CF_TSTR) {
        cf_tv name = cf_t__str_cstr(r, "split");
        cf_tv split =
            name.k != CF_TERR ? cf_t__attribute(r, rel, name.u.s) : name;
        cf_tv parts = split.k != CF_TERR
                          ? cf_t__call(r, split, &(cf_targs){NULL, 0, NULL, 0})
                          : split;
        words = parts.k != CF_TERR ? cf_t__to_list(r, parts) : NULL;
    }
    if (words == NULL || (nofollow && !cf_t__list_add(r, words, no)) ||
        !cf_t__list_add(r, words, blank) ||
        !cf_t__sort(r, words, NULL, false)) {
        return false;
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    cf_t__sb_adds(&b, " rel=\"", CF_ORG_NONE);
    for (uint32_t i = 0; i < words->n; i++) {
        if (i != 0 && cf_t__eq(r, words->v[i], words->v[i - 1]) == 1) {
            continue;
        }
        cf_t__sb_adds(&b, i != 0 ? " " : "", CF_ORG_NONE);
        cf_tv w = cf_t__escape(r, words->v[i]);
        if (w.k == CF_TERR) {
            return false;
        }
        cf_t__sb_str(&b, w.u.s);
    }
    cf_t__sb_adds(&b, "\"", CF_ORG_NONE);
    if (target.k == CF_TSTR) {
        cf_tv t = cf_t__escape(r, target);
        if (t.k == CF_TERR) {
            return false;
        }
        cf_t__sb_adds(&b, " target=\"", CF_ORG_NONE);
        cf_t__sb_str(&b, t.u.s);
        cf_t__sb_adds(&b, "\"", CF_ORG_NONE);
    }
    u->attrs = cf_str_make(b.p, b.n);
    return !b.failed;
}

cf_tv cf_t__filter_urlize(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("urlize", "value trim_url_limit nofollow target rel extra_schemes",
             1, 6)
    cf_tv text = cf_t__escape(r, a[0]);
    CF_TVTRY(text);
    urlizer u = {.s = text.u.s, .limit = -1};
    cf_t__sb_init(&u.b, r);
    if ((a[1].k != CF_TMISSING && a[1].k != CF_TNONE &&
         !cf_t__arg_int(r, a[1], &u.limit)) ||
        !link_attrs(r, &u, a[4], cf_t__truth(a[2]), a[3])) {
        return CF_TV_ERR;
    }
    if (a[5].k != CF_TMISSING && a[5].k != CF_TNONE) {
        u.schemes = cf_t__to_list(r, a[5]);
        if (u.schemes == NULL) {
            return CF_TV_ERR;
        }
    }
    const cf_tstr *s = u.s;
    uint32_t len;
    for (uint32_t at = 0; at < s->n && !u.b.failed;) {
        uint32_t from = at;
        bool blank = cf_t__is_space(cf_t__cp(s->p + at, &len));
        while (at < s->n &&
               cf_t__is_space(cf_t__cp(s->p + at, &len)) == blank) {
            at += len;
        }
        if (blank) {
            cf_t__sb_sub(&u.b, s, from, at);
        } else {
            urlize_word(&u, from, at);
        }
        if (!cf_t__spend(r, 1 + (uint64_t)(at - from) / 4)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&u.b, r->autoescape);
}
