/*
 * urlize.c - the filter urlize: addresses in a text become links.
 *
 * jinja2 defines an address by two regular expressions (_http_re and
 * _email_re of its utils.py); the functions here accept the same texts.
 */
#include "templates/python/filters.h"
#include "templates/python/methods.h"

/* \w, at s.p[i]; *len is the character's length. */
static bool is_word(cf_str s, size_t i, uint32_t *len)
{
    *len = 1;
    if (i >= s.n) {
        return false;
    }
    uint32_t cp = cf_t__cp(s.p + i, len);
    return cp == '_' || cf_t__is_alpha(cp) || cf_t__is_numeric(cp);
}

/* Length of [\w%-]+ at s.p[i]; *n_chars are its characters. */
static size_t label_at(cf_str s, size_t i, uint32_t *n_chars)
{
    size_t from = i;
    uint32_t len;
    *n_chars = 0;
    while (i < s.n && (s.p[i] == '%' || s.p[i] == '-' || is_word(s, i, &len))) {
        i += s.p[i] == '%' || s.p[i] == '-' ? 1 : len;
        (*n_chars)++;
    }
    return i - from;
}

/* [a-z]{2,63} or xn--[\w%]{2,59} */
static bool is_any_tld(cf_str s, uint32_t n_chars)
{
    if (s.n > 4 && (s.p[0] | 32) == 'x' && (s.p[1] | 32) == 'n' && s.p[2] == '-' && s.p[3] == '-') {
        return n_chars >= 6 && n_chars <= 63 && memchr(s.p + 4, '-', s.n - 4) == NULL;
    }
    for (size_t i = 0; i < s.n; i++) {
        if ((s.p[i] | 32) < 'a' || (s.p[i] | 32) > 'z') {
            return false;
        }
    }
    return s.n >= 2 && s.n <= 63;
}

static bool is_basic_tld(cf_str s)
{
    static const char *const known[] = {"com", "net", "int", "edu", "gov", "org", "info", "mil"};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        size_t i = 0;
        while (i < s.n && (s.p[i] | 32) == known[k][i] && known[k][i] != 0) {
            i++;
        }
        if (i == s.n && known[k][i] == '\0') {
            return true;
        }
    }
    return false;
}

/* Length of a name with dots at the start of s; 0.  A basic one has labels of
 * 2 to 63 characters and a well-known end, any other one just an end that
 * could be one. */
static size_t host_length(cf_str s, bool is_basic)
{
    size_t at = 0, n;
    uint32_t n_chars;
    for (uint32_t labels = 0;; labels++) {
        n = label_at(s, at, &n_chars);
        if (at + n >= s.n || s.p[at + n] != '.') {
            cf_str tld = cf_str_make(s.p + at, n);
            return (is_basic ? labels != 0 && is_basic_tld(tld) : is_any_tld(tld, n_chars)) ? at + n
                                                                                            : 0;
        }
        if (n == 0 || (is_basic && (n_chars < 2 || n_chars > 63))) {
            return 0;
        }
        at += n + 1;
    }
}

static bool is_digit(cf_str s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* Length of four numbers of up to three digits at the start of s; 0. */
static size_t ipv4_length(cf_str s)
{
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        size_t from = at;
        while (at - from < 3 && is_digit(s, at)) {
            at++;
        }
        if (at == from) {
            return 0;
        }
        if (part < 3) {
            if (at >= s.n || s.p[at] != '.') {
                return 0;
            }
            at++;
        }
    }
    return at;
}

/* Length of "[...]" with hexadecimal groups and colons; 0. */
static size_t ipv6_length(cf_str s)
{
    size_t at = 1;
    for (int group = 0; group < 8 && s.n != 0 && s.p[0] == '['; group++) {
        for (int k = 0; k < 4 && at < s.n; k++) {
            char c = (char)(s.p[at] | 32);
            at += is_digit(s, at) || (c >= 'a' && c <= 'f');
        }
        bool has_colon = at < s.n && s.p[at] == ':';
        if (!has_colon && group < 2) {
            return 0;
        }
        at += has_colon;
        if (group >= 2 && at < s.n && s.p[at] == ']') {
            return at + 1;
        }
    }
    return 0;
}

/* An optional port, then nothing or a path, query or fragment. */
static bool ends_url(cf_str s, size_t at)
{
    if (at < s.n && s.p[at] == ':') {
        size_t from = ++at;
        while (is_digit(s, at)) {
            at++;
        }
        if (at == from || at - from > 5) {
            return false;
        }
    }
    return at == s.n || s.p[at] == '/' || s.p[at] == '?' || s.p[at] == '#';
}

static bool starts_any_case(cf_str s, const char *what)
{
    size_t i = 0;
    for (; what[i] != '\0' && i < s.n; i++) {
        char c = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] | 32) : s.p[i];
        if (c != what[i]) {
            return false;
        }
    }
    return what[i] == '\0';
}

/* Whether jinja2's _http_re matches. */
static bool is_url(cf_str s)
{
    static const char *const schemes[] = {"https://", "http://", "www."};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(schemes[i]);
        if (!starts_any_case(s, schemes[i])) {
            continue;
        }
        cf_str rest = cf_str_make(s.p + n, s.n - n);
        size_t host = host_length(rest, false);
        if (i < 2 && host == 0) {
            host = ipv4_length(rest);
            host = host != 0 ? host : ipv6_length(rest);
        }
        if (host != 0 && ends_url(rest, host)) {
            return true;
        }
    }
    size_t host = host_length(s, true);
    return host != 0 && ends_url(s, host);
}

/* Whether jinja2's _email_re matches: \S+@\w[\w.-]*\.\w+ */
static bool is_email(cf_str s)
{
    size_t at = s.n, dot = 0;
    uint32_t len;
    while (at > 0 && s.p[at - 1] != '@') {
        at--;
    }
    if (at < 2 || !is_word(s, at, &len)) {
        return false;
    }
    for (size_t i = at; i < s.n; i += len) {
        bool is_dot = s.p[i] == '.', is_hyphen = s.p[i] == '-';
        if (!is_word(s, i, &len) && !is_dot && !is_hyphen) {
            return false;
        }
        dot = is_dot ? i : is_hyphen ? 0 : dot; /* only \w after it */
    }
    return dot != 0 && dot + 1 < s.n;
}

/* One link: how its address and its text are written. */
typedef struct link {
    const char *prefix; /* of the address */
    uint32_t skip;      /* bytes of the address that the text leaves out */
    bool has_attrs, is_trimmed;
} link;

typedef struct urlizer {
    cf_tsb b;
    const cf_tstr *s;
    int64_t limit; /* -1: none */
    cf_str attrs;
    cf_tlist *schemes;
} urlizer;

static void add_link(urlizer *u, uint32_t from, uint32_t to, link k)
{
    cf_tsb *b = &u->b;
    cf_t__sb_adds(b, "<a href=\"", CF_ORG_NONE);
    cf_t__sb_adds(b, k.prefix, CF_ORG_NONE);
    cf_t__sb_sub(b, u->s, from, to);
    cf_t__sb_adds(b, "\"", CF_ORG_NONE);
    if (k.has_attrs) {
        cf_t__sb_add(b, u->attrs.p, u->attrs.n, CF_ORG_NONE, CF_NO_COPY, 0);
    }
    cf_t__sb_adds(b, ">", CF_ORG_NONE);
    cf_tv shown = cf_t__str_sub(b->r, u->s, from + k.skip, to);
    if (shown.k == CF_TERR) {
        b->failed = true;
        return;
    }
    const cf_tstr *s = shown.u.s;
    bool cut = k.is_trimmed && u->limit >= 0 && cf_t__str_cps(s) > u->limit;
    cf_t__sb_sub(b, s, 0, cut ? cf_t__str_at_cp(s, (uint32_t)u->limit) : s->n);
    cf_t__sb_adds(b, cut ? "...</a>" : "</a>", CF_ORG_NONE);
}

static uint32_t count(cf_str s, const char *what)
{
    uint32_t n = 0;
    for (uint32_t at = 0; (at = cf_t__find(s, cf_str_from(what), at)) != UINT32_MAX; n++) {
        at += (uint32_t)strlen(what);
    }
    return n;
}

/* The head of a word: "(", "<" and "&lt;" as often as they come. */
static uint32_t skip_head(cf_str s)
{
    static const char *const open[] = {"(", "<", "&lt;"};
    uint32_t n = 0;
    for (int i = 0; i < 3; i++) {
        if (cf_str_begins(cf_str_make(s.p + n, s.n - n), open[i])) {
            n += (uint32_t)strlen(open[i]);
            i = -1;
        }
    }
    return n;
}

/* Bytes of the tail: closing marks and punctuation as often as they come. */
static uint32_t skip_tail(cf_str s)
{
    static const char *const tails[] = {")", ">", ".", ",", "\n", "&gt;"};
    uint32_t n = 0;
    for (int i = 0; i < 6; i++) {
        if (cf_str_ends(cf_str_make(s.p, s.n - n), tails[i])) {
            n += (uint32_t)strlen(tails[i]);
            i = -1;
        }
    }
    return n;
}

/* Moves closing marks from the tail, which begins at z, to the middle [a, z),
 * as far as that has more opening ones; returns the new z. */
static uint32_t balance(const char *p, uint32_t a, uint32_t z, uint32_t to)
{
    static const char *const open[] = {"(", "<", "&lt;"};
    static const char *const close[] = {")", ">", "&gt;"};
    for (int i = 0; i < 3; i++) {
        uint32_t n_open = count(cf_str_make(p + a, z - a), open[i]);
        uint32_t n_close = count(cf_str_make(p + a, z - a), close[i]);
        uint32_t in_tail = count(cf_str_make(p + z, to - z), close[i]);
        uint32_t n_move = n_open <= n_close ? 0 : n_open < in_tail ? n_open : in_tail;
        for (; n_move > 0; n_move--) {
            z = cf_t__find(cf_str_make(p, to), cf_str_from(close[i]), z) +
                (uint32_t)strlen(close[i]);
        }
    }
    return z;
}

/* Whether one of the extra schemes begins the middle of a word. */
static bool has_extra_scheme(const urlizer *u, cf_str mid)
{
    for (uint32_t i = 0; u->schemes != NULL && i < u->schemes->n; i++) {
        cf_str x = cf_tv_text(u->schemes->v[i]);
        if (mid.n > x.n && cf_str_starts(mid, x)) {
            return true;
        }
    }
    return false;
}

static void urlize_word(urlizer *u, uint32_t from, uint32_t to)
{
    const char *p = u->s->p;
    uint32_t a = from + skip_head(cf_str_make(p + from, to - from));
    uint32_t z = to - skip_tail(cf_str_make(p + a, to - a));
    z = balance(p, a, z, to);
    cf_str mid = cf_str_make(p + a, z - a);
    cf_t__sb_sub(&u->b, u->s, from, a);
    if (is_url(mid)) {
        bool has_scheme = cf_str_begins(mid, "https://") || cf_str_begins(mid, "http://");
        add_link(u, a, z, (link){has_scheme ? "" : "https://", 0, true, true});
    } else if (cf_str_begins(mid, "mailto:") && is_email(cf_str_make(mid.p + 7, mid.n - 7))) {
        add_link(u, a, z, (link){"", 7, false, false});
    } else if (!cf_str_begins(mid, "www.") && !cf_str_begins(mid, "@") && mid.n != 0 &&
               memchr(mid.p, ':', mid.n) == NULL && is_email(mid)) {
        add_link(u, a, z, (link){"mailto:", 0, false, false});
    } else if (has_extra_scheme(u, mid)) {
        add_link(u, a, z, (link){"", 0, true, false});
    } else {
        cf_t__sb_sub(&u->b, u->s, a, z);
    }
    cf_t__sb_sub(&u->b, u->s, z, to);
}

/* rel="..." target="...": the words of rel, nofollow and noopener, sorted. */
static bool link_attrs(cf_tr *r, urlizer *u, cf_tv rel, bool nofollow, cf_tv target)
{
    cf_tlist *words = cf_t__list_new(r, 4);
    cf_tv blank = cf_t__str_cstr(r, "noopener");
    cf_tv no = cf_t__str_cstr(r, "nofollow");
    if (words == NULL || blank.k == CF_TERR || no.k == CF_TERR) {
        return false;
    }
    if (rel.k == CF_TSTR) {
        cf_tv name = cf_t__str_cstr(r, "split");
        cf_tv split = name.k != CF_TERR ? cf_t__attribute(r, rel, name.u.s) : name;
        cf_tv parts =
            split.k != CF_TERR ? cf_t__call(r, split, &(cf_targs){NULL, 0, NULL, 0}) : split;
        words = parts.k != CF_TERR ? cf_t__to_list(r, parts) : NULL;
    }
    if (words == NULL || (nofollow && !cf_t__list_add(r, words, no)) ||
        !cf_t__list_add(r, words, blank) || !cf_t__sort(r, words, NULL, false)) {
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

/* [\w.+-]{2,}:/{0,2} */
static bool is_scheme(cf_str s)
{
    size_t at = 0, chars = 0;
    uint32_t len;
    while (at < s.n &&
           (is_word(s, at, &len) || s.p[at] == '.' || s.p[at] == '+' || s.p[at] == '-')) {
        at += len;
        chars++;
    }
    cf_str tail = cf_str_make(s.p + at, s.n - at);
    return chars >= 2 && (cf_str_is(tail, ":") || cf_str_is(tail, ":/") || cf_str_is(tail, "://"));
}

static bool are_schemes(cf_tr *r, const cf_tlist *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->v[i].k != CF_TSTR || !is_scheme(cf_tv_text(l->v[i]))) {
            cf_t__fail(r, "an extra scheme of urlize is not a URI scheme "
                          "prefix");
            return false;
        }
    }
    return true;
}

cf_tv cf_t__filter_urlize(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("urlize", "value trim_url_limit nofollow target rel extra_schemes", 1, 6)
    cf_tv text = cf_t__escape(r, a[0]);
    CF_TVTRY(text);
    urlizer u = {.s = text.u.s, .limit = -1};
    cf_t__sb_init(&u.b, r);
    if ((a[1].k != CF_TMISSING && a[1].k != CF_TNONE && !cf_t__arg_int(r, a[1], &u.limit)) ||
        !link_attrs(r, &u, a[4], cf_t__truth(a[2]), a[3])) {
        return CF_TV_ERR;
    }
    if (a[5].k != CF_TMISSING && a[5].k != CF_TNONE) {
        u.schemes = cf_t__to_list(r, a[5]);
        if (u.schemes == NULL || !are_schemes(r, u.schemes)) {
            return CF_TV_ERR;
        }
    }
    const cf_tstr *s = u.s;
    uint32_t len;
    for (uint32_t at = 0; at < s->n && !u.b.failed;) {
        uint32_t from = at;
        bool blank = cf_t__is_space(cf_t__cp(s->p + at, &len));
        while (at < s->n && cf_t__is_space(cf_t__cp(s->p + at, &len)) == blank) {
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
