/*
 * filters.c - the filters on strings and numbers, and how filters are found
 * and called.  Those on sequences are in filters_seq.c.
 */
#include "templates/python/filters.h"

#include <math.h>
#include <stdio.h>

#include "core/base/utf8.h"
#include "templates/language/number.h"
#include "templates/python/methods.h"

/* ---- finding and binding ------------------------------------------------ */

static size_t name_len(const char *p)
{
    size_t n = 0;
    while (p[n] != '\0' && p[n] != ' ') {
        n++;
    }
    return n;
}

/* Whether the list of names contains the keyword. */
static bool is_listed(const char *names, const cf_tstr *kw)
{
    while (*names != '\0') {
        size_t n = name_len(names);
        if (kw->n == n && memcmp(kw->p, names, n) == 0) {
            return true;
        }
        names += n + (names[n] == ' ');
    }
    return false;
}

bool cf_t__bind(cf_tr *r, const char *what, const char *names, uint32_t n_must,
                const cf_targs *args, cf_tv *out)
{
    uint32_t i = 0;
    for (const char *p = names; *p != '\0'; i++) {
        size_t n = name_len(p);
        out[i] = i < args->n ? args->v[i] : cf_tv_make(CF_TMISSING);
        for (uint32_t k = 0; k < args->n_kw; k++) {
            const cf_tstr *name = args->kw[k].name;
            if (name->n != n || memcmp(name->p, p, n) != 0) {
                continue;
            }
            if (out[i].k != CF_TMISSING) {
                cf_t__fail(r, "%s() got multiple values for argument '%.*s'", what, (int)n, p);
                return false;
            }
            out[i] = args->kw[k].val;
        }
        if (out[i].k == CF_TMISSING && i < n_must) {
            cf_t__fail(r, "%s() misses the argument '%.*s'", what, (int)n, p);
            return false;
        }
        p += n + (p[n] == ' ');
    }
    if (args->n > i) {
        cf_t__fail(r, "%s() takes at most %u arguments, %u are given", what, (unsigned)i,
                   (unsigned)args->n);
        return false;
    }
    for (uint32_t k = 0; k < args->n_kw; k++) {
        const cf_tstr *name = args->kw[k].name;
        if (!is_listed(names, name)) {
            cf_t__fail(r, "%s() got an unexpected keyword argument '%.*s'", what, (int)name->n,
                       name->p);
            return false;
        }
    }
    return true;
}

static const cf_tfn_entry *const tables[] = {cf_t__str_filters, cf_t__seq_filters};
enum { TABLE_SHIFT = 8 };

int cf_t__filter_find(cf_str name)
{
    for (int t = 0; t < 2; t++) {
        for (int i = 0; tables[t][i].name != NULL; i++) {
            if (cf_t__is_called(name, tables[t][i].name)) {
                return t << TABLE_SHIFT | i;
            }
        }
    }
    return -1;
}

cf_tv cf_t__filter_call(cf_tr *r, int id, const cf_targs *args)
{
    return tables[id >> TABLE_SHIFT][id & ((1 << TABLE_SHIFT) - 1)].fn(r, args);
}

cf_tv cf_t__filter_by_name(cf_tr *r, cf_tv name, const cf_targs *args)
{
    int id = name.k == CF_TSTR ? cf_t__filter_find(cf_tv_text(name)) : -1;
    if (id < 0) {
        return cf_t__fail(r, "No filter named '%.*s'.", name.k == CF_TSTR ? (int)name.u.s->n : 1,
                          name.k == CF_TSTR ? name.u.s->p : "?");
    }
    return cf_t__filter_call(r, id, args);
}

/* The subject as a string, in `s`. */
#define SUBJECT                              \
    cf_tv subject = cf_t__soft_str(r, a[0]); \
    CF_TVTRY(subject);                       \
    cf_tstr *s = subject.u.s;

static bool is_given(cf_tv v)
{
    return v.k != CF_TMISSING;
}

/* ---- strings ------------------------------------------------------------ */

static cf_tv f_upper(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("upper", "s", 1, 1)
    SUBJECT
    return cf_t__map_str(r, s, CF_CASE_UPPER);
}

static cf_tv f_lower(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("lower", "s", 1, 1)
    SUBJECT
    return cf_t__map_str(r, s, CF_CASE_LOWER);
}

static cf_tv f_capitalize(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("capitalize", "s", 1, 1)
    SUBJECT
    return cf_t__capitalize(r, s);
}

static bool is_word_break(uint32_t cp)
{
    return cp == '-' || cp == '(' || cp == '{' || cp == '[' || cp == '<' || cf_t__is_space(cp);
}

/* Words start after blanks and opening brackets: the first letter goes up,
 * the rest down. */
static cf_tv f_title(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("title", "s", 1, 1)
    SUBJECT
    cf_tsb b;
    cf_t__sb_init(&b, r);
    for (uint32_t at = 0; at < s->n && !b.failed;) {
        uint32_t len, from = at;
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (is_word_break(cp)) {
            cf_t__sb_sub(&b, s, at, at + len);
            at += len;
            continue;
        }
        uint32_t first = len;
        if (!cf_t__spend(r, 2)) {
            return CF_TV_ERR;
        }
        while (at < s->n && !is_word_break(cf_t__cp(s->p + at, &len))) {
            at += len;
        }
        cf_tv head = cf_t__str_sub(r, s, from, from + first);
        cf_tv tail = cf_t__str_sub(r, s, from + first, at);
        CF_TVTRY(head);
        CF_TVTRY(tail);
        head = cf_t__map_str(r, head.u.s, CF_CASE_UPPER);
        tail = cf_t__map_str(r, tail.u.s, CF_CASE_LOWER);
        CF_TVTRY(head);
        CF_TVTRY(tail);
        cf_t__sb_str(&b, head.u.s);
        cf_t__sb_str(&b, tail.u.s);
    }
    return cf_t__sb_take(&b, false);
}

static cf_tv f_trim(cf_tr *r, const cf_targs *args)
{
    if (args->n == 1 && args->n_kw == 0 && args->v[0].k == CF_TSTR) {
        return cf_t__strip(r, args->v[0].u.s, NULL, true, true);
    }
    CF_TBIND("trim", "value chars", 1, 2)
    SUBJECT
    if (is_given(a[1]) && a[1].k != CF_TNONE && a[1].k != CF_TSTR) {
        return cf_t__fail(r, "strip arg must be None or str");
    }
    return cf_t__strip(r, s, a[1].k == CF_TSTR ? a[1].u.s : NULL, true, true);
}

static cf_tv f_replace(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("replace", "s old new count", 3, 4)
    int64_t n = -1;
    if (is_given(a[3]) && a[3].k != CF_TNONE && !cf_t__arg_int(r, a[3], &n)) {
        return CF_TV_ERR;
    }
    cf_tv s = r->autoescape ? cf_t__soft_str(r, a[0]) : cf_t__to_str(r, a[0]);
    cf_tv old = cf_t__to_str(r, a[1]), new_ = cf_t__soft_str(r, a[2]);
    if (s.k == CF_TERR || old.k == CF_TERR || new_.k == CF_TERR) {
        return CF_TV_ERR;
    }
    if (r->autoescape && !s.u.s->is_markup &&
        ((a[1].k == CF_TSTR && a[1].u.s->is_markup) || new_.u.s->is_markup)) {
        s = cf_t__escape(r, s);
        CF_TVTRY(s);
    }
    if (s.u.s->is_markup && !new_.u.s->is_markup) {
        new_ = cf_t__escape(r, new_);
        CF_TVTRY(new_);
    }
    return cf_t__replace(r, s.u.s, old.u.s, new_.u.s, n);
}

static cf_tv f_center(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("center", "value width", 1, 2)
    SUBJECT
    int64_t width = 80;
    if (is_given(a[1]) && !cf_t__arg_int(r, a[1], &width)) {
        return CF_TV_ERR;
    }
    return cf_t__center(r, s, width, NULL);
}

/* The newline that replaces the line break of s that ends at `to`: any
 * break that splitlines() knows becomes one "\n", of the break's origin. */
static void add_newline(cf_tsb *b, const cf_tstr *s, uint32_t to)
{
    uint32_t from = to - 1;
    while (from > 0 && ((unsigned char)s->p[from] & 0xC0) == 0x80) {
        from--;
    }
    if (s->p[from] == '\n') {
        cf_t__sb_sub(b, s, from, to);
    } else {
        cf_t__sb_changed(b, s, from, "\n", 1);
    }
}

static cf_tv f_indent(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("indent", "s width first blank", 1, 4)
    cf_tsb b;
    int64_t width = 4;
    const cf_tstr *pad = NULL;
    if (a[0].k != CF_TSTR) {
        return a[0].k == CF_TUNDEF
                   ? cf_t__fail_undef(r, a[0])
                   : cf_t__fail(r, "indent needs a string, not '%s'", cf_t__type_name(a[0]));
    }
    if (a[1].k == CF_TSTR) {
        pad = a[1].u.s;
    } else if (is_given(a[1]) && !cf_t__arg_int(r, a[1], &width)) {
        return CF_TV_ERR;
    }
    if (width > 1 << 20) {
        return cf_t__fail_limit(r, "an indent of over %d columns", 1 << 20);
    }
    if (pad == NULL) {
        cf_t__sb_init(&b, r);
        for (int64_t i = 0; i < width; i++) {
            cf_t__sb_addc(&b, ' ', CF_ORG_NONE);
        }
        cf_tv v = cf_t__sb_take(&b, false);
        CF_TVTRY(v);
        pad = v.u.s;
    }
    bool first = cf_t__truth(a[2]), blank = cf_t__truth(a[3]);
    cf_tv line_end = cf_t__str_cstr(r, "\n");
    CF_TVTRY(line_end);
    cf_tv whole = cf_t__concat(r, a[0].u.s, line_end.u.s);
    CF_TVTRY(whole);
    cf_tlist *lines = cf_t__split_lines(r, whole.u.s, false);
    if (lines == NULL) {
        return CF_TV_ERR;
    }
    cf_t__sb_init(&b, r);
    for (uint32_t i = 0; i < lines->n && !b.failed; i++) {
        const cf_tstr *line = lines->v[i].u.s;
        if (i != 0) {
            add_newline(&b, a[0].u.s, (uint32_t)(line->p - whole.u.s->p));
        }
        if (i == 0 ? first : line->n != 0 || blank) {
            cf_t__sb_str(&b, pad);
        }
        cf_t__sb_str(&b, line);
    }
    return cf_t__sb_take(&b, a[0].u.s->is_markup);
}

static cf_tv f_truncate(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("truncate", "s length killwords end leeway", 1, 5)
    int64_t length = 255, leeway = 5;
    cf_tv end = is_given(a[3]) ? a[3] : cf_t__str_cstr(r, "...");
    CF_TVTRY(end);
    if ((is_given(a[1]) && !cf_t__arg_int(r, a[1], &length)) ||
        (is_given(a[4]) && a[4].k != CF_TNONE && !cf_t__arg_int(r, a[4], &leeway))) {
        return CF_TV_ERR;
    }
    int64_t n_end = cf_t__len(end), n = cf_t__len(a[0]);
    if (end.k != CF_TSTR) {
        return cf_t__fail(r, "truncate: end must be a string");
    }
    if (length < n_end || leeway < 0) {
        return cf_t__fail(r, length < n_end ? "truncate: the length is less than that of "
                                              "the ending"
                                            : "truncate: leeway is negative");
    }
    if (n < 0) {
        return cf_t__fail(r, "object of type '%s' has no len()", cf_t__type_name(a[0]));
    }
    if (n <= length + leeway) {
        return a[0];
    }
    if (a[0].k != CF_TSTR) {
        return cf_t__fail(r, "truncate needs a string, not '%s'", cf_t__type_name(a[0]));
    }
    const cf_tstr *s = a[0].u.s;
    uint32_t cut = cf_t__str_at_cp(s, (uint32_t)(length - n_end));
    if (!cf_t__truth(a[2])) {
        uint32_t at = cf_t__rfind(cf_str_make(s->p, cut), cf_str_from(" "));
        cut = at != UINT32_MAX ? at : cut;
    }
    cf_tv head = cf_t__str_sub(r, s, 0, cut);
    CF_TVTRY(head);
    return cf_t__concat(r, head.u.s, end.u.s);
}

static cf_tv f_wordcount(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("wordcount", "s", 1, 1)
    SUBJECT
    int64_t n = 0;
    bool in_word = false;
    uint32_t len;
    for (uint32_t at = 0; at < s->n; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        bool is_word = cp == '_' || cf_t__is_alpha(cp) || cf_t__is_numeric(cp);
        n += is_word && !in_word;
        in_word = is_word;
    }
    return cf_t__spend(r, s->n >> 2) ? cf_tv_int(n) : CF_TV_ERR;
}

static cf_tv f_string(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("string", "object", 1, 1)
    return cf_t__soft_str(r, a[0]);
}

static cf_tv f_format(cf_tr *r, const cf_targs *args)
{
    cf_tv s = cf_t__soft_str(r, args->v[0]);
    CF_TVTRY(s);
    if (args->n > 1 && args->n_kw != 0) {
        return cf_t__fail(r, "can't handle positional and keyword arguments "
                             "at the same time");
    }
    if (args->n_kw != 0) {
        cf_tdict *d = cf_t__dict_new(r, args->n_kw);
        for (uint32_t i = 0; d != NULL && i < args->n_kw; i++) {
            cf_tv key = cf_t__str_copy(r, args->kw[i].name->p, args->kw[i].name->n, 0);
            if (key.k == CF_TERR || !cf_t__dict_set(r, d, key, args->kw[i].val)) {
                return CF_TV_ERR;
            }
        }
        return d != NULL ? cf_t__percent(r, s.u.s, cf_tv_dict(d)) : CF_TV_ERR;
    }
    cf_tlist *l = cf_t__list_new(r, args->n);
    if (l == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 1; i < args->n; i++) {
        l->v[l->n++] = args->v[i];
    }
    return cf_t__percent(r, s.u.s, cf_tv_tuple(l));
}

/* ---- HTML and URLs ------------------------------------------------------ */

static cf_tv f_escape(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("escape", "s", 1, 1)
    return cf_t__escape(r, a[0]);
}

static cf_tv f_forceescape(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("forceescape", "value", 1, 1)
    cf_tv s = cf_t__to_str(r, a[0]);
    return s.k == CF_TERR ? s : cf_t__escape(r, s);
}

static cf_tv f_safe(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("safe", "value", 1, 1)
    cf_tv s = cf_t__to_str(r, a[0]);
    return s.k == CF_TERR ? s : cf_t__str_mark(r, s.u.s, true);
}

static cf_tv f_striptags(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("striptags", "value", 1, 1)
    SUBJECT
    return cf_t__strip_tags(r, s);
}

static void add_quoted(cf_tsb *b, const cf_tstr *s, bool for_query)
{
    for (uint32_t at = 0; at < s->n && !b->failed; at++) {
        unsigned char c = (unsigned char)s->p[at];
        bool is_safe = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' ||
                       c == '.' || c == '-' || c == '~' || (c == '/' && !for_query);
        if (is_safe) {
            cf_t__sb_sub(b, s, at, at + 1);
        } else if (c == ' ' && for_query) {
            cf_t__sb_changed(b, s, at, "+", 1);
        } else {
            char out[4];
            snprintf(out, sizeof out, "%%%02X", c);
            cf_t__sb_changed(b, s, at, out, 3);
        }
    }
    b->r->steps += s->n;
}

static bool add_query(cf_tr *r, cf_tsb *b, cf_tv pair)
{
    cf_tlist *l = cf_t__to_list(r, pair);
    if (l == NULL) {
        return false;
    }
    if (l->n != 2) {
        cf_t__fail(r, "urlencode needs pairs");
        return false;
    }
    for (int i = 0; i < 2; i++) {
        cf_tv s = cf_t__to_str(r, l->v[i]);
        if (s.k == CF_TERR) {
            return false;
        }
        if (i != 0) {
            cf_t__sb_addc(b, '=', CF_ORG_NONE);
        }
        add_quoted(b, s.u.s, true);
    }
    return !b->failed;
}

static cf_tv f_urlencode(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("urlencode", "value", 1, 1)
    cf_tsb b;
    cf_t__sb_init(&b, r);
    if (a[0].k == CF_TSTR || !cf_t__can_iterate(a[0])) {
        SUBJECT
        add_quoted(&b, s, false);
        return cf_t__sb_take(&b, false);
    }
    cf_tv src = a[0];
    if (src.k == CF_TDICT) {
        src = cf_tv_gen(cf_t__gen_new(r, CF_GEN_ITEMS, a[0]));
        CF_TVTRY(src);
    }
    cf_titer it;
    cf_tv pair;
    int got;
    if (!cf_t__iter_init(r, &it, src)) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; (got = cf_t__iter_next(r, &it, &pair)) > 0; i++) {
        if (i != 0) {
            cf_t__sb_addc(&b, '&', CF_ORG_NONE);
        }
        if (!add_query(r, &b, pair)) {
            return CF_TV_ERR;
        }
    }
    return got < 0 ? CF_TV_ERR : cf_t__sb_take(&b, false);
}

/* No blanks and none of "/>=", as jinja2 asks since CVE-2024-34064. */
static bool is_attr_name(cf_str name)
{
    uint32_t len;
    for (size_t i = 0; i < name.n; i += len) {
        uint32_t cp = cf_t__cp(name.p + i, &len);
        if (cp == '/' || cp == '>' || cp == '=' || cp == ' ' || (cp >= '\t' && cp <= '\r')) {
            return false;
        }
    }
    return true;
}

static cf_tv f_xmlattr(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("xmlattr", "d autospace", 1, 2)
    if (a[0].k != CF_TDICT) {
        return a[0].k == CF_TUNDEF
                   ? cf_t__fail_undef(r, a[0])
                   : cf_t__fail(r, "'%s' object has no attribute 'items'", cf_t__type_name(a[0]));
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    const cf_tdict *d = a[0].u.d;
    bool space = !is_given(a[1]) || cf_t__truth(a[1]);
    for (uint32_t i = 0; i < d->n && !b.failed; i++) {
        cf_tv val = d->e[i].val;
        if (val.k == CF_TNONE || val.k == CF_TUNDEF) {
            continue;
        }
        if (d->e[i].key.k != CF_TSTR) {
            return cf_t__fail(r,
                              "xmlattr: an attribute's name is a string, "
                              "not '%s'",
                              cf_t__type_name(d->e[i].key));
        }
        if (!is_attr_name(cf_tv_text(d->e[i].key))) {
            return cf_t__fail(r, "xmlattr: a blank or one of />= in an "
                                 "attribute's name");
        }
        cf_tv key = cf_t__escape(r, d->e[i].key);
        val = cf_t__escape(r, val);
        if (key.k == CF_TERR || val.k == CF_TERR) {
            return CF_TV_ERR;
        }
        if (b.n != 0 || space) {
            cf_t__sb_addc(&b, ' ', CF_ORG_NONE);
        }
        cf_t__sb_str(&b, key.u.s);
        cf_t__sb_adds(&b, "=\"", CF_ORG_NONE);
        cf_t__sb_str(&b, val.u.s);
        cf_t__sb_addc(&b, '"', CF_ORG_NONE);
    }
    return cf_t__sb_take(&b, r->autoescape);
}

static cf_tv f_tojson(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("tojson", "x ensure_ascii indent separators sort_keys", 1, 5)
    cf_tjson how = {.indent = CF_TV_NONE,
                    .item_sep = cf_tv_make(CF_TMISSING),
                    .key_sep = cf_tv_make(CF_TMISSING)};
    how.ensure_ascii = cf_t__truth(a[1]);
    how.sort_keys = cf_t__truth(a[4]);
    if (is_given(a[2])) {
        how.indent = a[2];
    }
    if (is_given(a[3]) && a[3].k != CF_TNONE) {
        cf_tlist *l = cf_t__to_list(r, a[3]);
        if (l == NULL) {
            return CF_TV_ERR;
        }
        if (l->n != 2) {
            return cf_t__fail(r, "separators must be two strings");
        }
        how.item_sep = l->v[0];
        how.key_sep = l->v[1];
    }
    return cf_t__to_json(r, a[0], &how);
}

/* ---- numbers ------------------------------------------------------------ */

static cf_tv f_abs(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("abs", "x", 1, 1)
    if (!cf_tv_is_num(a[0])) {
        return a[0].k == CF_TUNDEF
                   ? cf_t__fail_undef(r, a[0])
                   : cf_t__fail(r, "bad operand type for abs(): '%s'", cf_t__type_name(a[0]));
    }
    return cf_t__abs(r, a[0]);
}

/* Python's int(text, base); false when it is not a number. */
static bool parse_int(cf_tr *r, const cf_tstr *s, int64_t base, cf_tv *out)
{
    cf_tv v = cf_t__strip(r, s, NULL, true, true);
    if (v.k == CF_TERR) {
        return false;
    }
    char text[CF_INT_MAX_DIGITS + 2];
    size_t n = 0;
    bool is_neg = false, has_sign = false, last_under = true;
    uint32_t len;
    s = v.u.s;
    for (uint32_t at = 0; at < s->n; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        int d = cf_t__digit_value(cp);
        if (at == 0 && (cp == '-' || cp == '+')) {
            is_neg = cp == '-';
            has_sign = true;
            continue;
        }
        char next = at + 1 < s->n ? (char)(s->p[at + 1] | 32) : '\0';
        if (cp == '0' && at == has_sign &&
            ((next == 'x' && (base == 16 || base == 0)) ||
             (next == 'o' && (base == 8 || base == 0)) ||
             (next == 'b' && (base == 2 || base == 0)))) {
            base = next == 'x' ? 16 : next == 'o' ? 8 : 2;
            len = 2;
            last_under = false;
            continue;
        }
        if (cp == '_') {
            if (last_under) {
                return false;
            }
            last_under = true;
            continue;
        }
        last_under = false;
        if (d < 0 && cp < 0x80 && (cp | 32) >= 'a' && (cp | 32) <= 'z') {
            d = (int)(cp | 32) - 'a' + 10;
        }
        if (d < 0 || d >= (base == 0 ? 10 : base) || n + 1 >= sizeof text) {
            return false;
        }
        text[n++] = (char)(d < 10 ? '0' + d : 'a' + d - 10);
    }
    if (n == 0 || last_under || (base == 0 && n > 1 && text[0] == '0')) {
        return false;
    }
    *out = cf_t__int_parse(r, text, n, base == 0 ? 10 : (unsigned)base, is_neg);
    return out->k != CF_TERR;
}

static cf_tv f_int(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("int", "value default base", 1, 3)
    cf_tv otherwise = is_given(a[1]) ? a[1] : cf_tv_int(0), out;
    int64_t base = 10;
    double f;
    if (is_given(a[2])) { /* only base 10 falls back to float() */
        base = a[2].k == CF_TINT ? a[2].u.i : -1;
    }
    switch (a[0].k) {
    case CF_TUNDEF:
        return cf_t__fail_undef(r, a[0]);
    case CF_TINT:
    case CF_TBIG:
        return a[0];
    case CF_TBOOL:
        return cf_tv_int(a[0].u.b);
    case CF_TFLOAT:
        if (isinf(a[0].u.f)) { /* an OverflowError, which the filter does not catch */
            return cf_t__fail(r, "cannot convert float infinity to integer");
        }
        return isfinite(a[0].u.f) ? cf_t__int_from_double(r, a[0].u.f) : otherwise;
    case CF_TSTR:
        if (base == 0 || (base >= 2 && base <= 36)) {
            if (parse_int(r, a[0].u.s, base, &out)) {
                return out;
            }
            if (r->error != CF_TE_NONE) {
                return CF_TV_ERR;
            }
        }
        return cf_t__float_parse(r, cf_tv_text(a[0]), &f) && isfinite(f)
                   ? cf_t__int_from_double(r, f)
                   : otherwise;
    default:
        return otherwise;
    }
}

static cf_tv f_float(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("float", "value default", 1, 2)
    cf_tv otherwise = is_given(a[1]) ? a[1] : cf_tv_float(0);
    double f;
    if (a[0].k == CF_TUNDEF) {
        return cf_t__fail_undef(r, a[0]);
    }
    if (cf_tv_is_num(a[0])) {
        return cf_t__to_double(a[0], &f) ? cf_tv_float(f)
                                         : cf_t__fail(r, "int too large to convert to float");
    }
    return a[0].k == CF_TSTR && cf_t__float_parse(r, cf_tv_text(a[0]), &f) ? cf_tv_float(f)
           : r->error != CF_TE_NONE                                        ? CF_TV_ERR
                                                                           : otherwise;
}

/* round() of an integer to tens, hundreds ...: halves to even. */
static cf_tv round_int(cf_tr *r, cf_tv v, int64_t digits)
{
    if (digits >= 0) {
        return v.k == CF_TBOOL ? cf_tv_int(v.u.b) : v;
    }
    if (digits < -CF_INT_MAX_DIGITS) {
        return cf_tv_int(0);
    }
    cf_tv unit = cf_t__arith(r, CF_OP_POW, cf_tv_int(10), cf_tv_int(-digits));
    CF_TVTRY(unit);
    cf_tv rest = cf_t__arith(r, CF_OP_MOD, v, unit);
    CF_TVTRY(rest);
    cf_tv low = cf_t__arith(r, CF_OP_SUB, v, rest);
    CF_TVTRY(low);
    cf_tv twice = cf_t__arith(r, CF_OP_MUL, rest, cf_tv_int(2));
    CF_TVTRY(twice);
    int c = cf_t__num_compare(twice, unit);
    if (c == 0) {
        cf_tv q = cf_t__arith(r, CF_OP_FLOORDIV, low, unit);
        CF_TVTRY(q);
        cf_tv odd = cf_t__arith(r, CF_OP_MOD, q, cf_tv_int(2));
        CF_TVTRY(odd);
        c = odd.u.i != 0 ? 1 : -1;
    }
    return c > 0 ? cf_t__arith(r, CF_OP_ADD, low, unit) : low;
}

static cf_tv f_round(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("round", "value precision method", 1, 3)
    int64_t digits = 0;
    cf_str how = cf_str_from("common");
    if (is_given(a[2])) {
        how = a[2].k == CF_TSTR ? cf_tv_text(a[2]) : cf_str_from("");
    }
    bool is_common = cf_str_is(how, "common"), is_ceil = cf_str_is(how, "ceil");
    if (!is_common && !is_ceil && !cf_str_is(how, "floor")) {
        return cf_t__fail(r, "method must be common, ceil or floor");
    }
    if (!cf_tv_is_num(a[0])) {
        return cf_t__fail(r, "type %s doesn't define __round__ method", cf_t__type_name(a[0]));
    }
    if (is_given(a[1]) && !cf_t__arg_int(r, a[1], &digits)) {
        return CF_TV_ERR;
    }
    if (is_common) {
        return a[0].k != CF_TFLOAT
                   ? round_int(r, a[0], digits)
                   : cf_tv_float(cf_t__round_digits(a[0].u.f, digits > 400    ? 400
                                                              : digits < -400 ? -400
                                                                              : (int)digits));
    }
    cf_tv unit = cf_t__arith(r, CF_OP_POW, cf_tv_int(10), cf_tv_int(digits));
    CF_TVTRY(unit);
    cf_tv v = cf_t__arith(r, CF_OP_MUL, a[0], unit);
    CF_TVTRY(v);
    if (v.k == CF_TFLOAT) {
        if (!isfinite(v.u.f)) {
            return cf_t__fail(r, "cannot convert float infinity to integer");
        }
        v = cf_t__int_from_double(r, is_ceil ? ceil(v.u.f) : floor(v.u.f));
        CF_TVTRY(v);
    }
    return cf_t__arith(r, CF_OP_DIV, v, unit);
}

/* Whether a float is below a power of 1000 or 1024, exactly: all powers in
 * question are doubles but 10^24, whose nearest double is below it. */
static bool is_below_power(double bytes, double power)
{
    return power == 1e24 ? bytes <= power : bytes < power;
}

static cf_tv f_filesizeformat(cf_tr *r, const cf_targs *args)
{
    static const char *const decimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
    static const char *const binary[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
    CF_TBIND("filesizeformat", "value binary", 1, 2)
    double bytes;
    bool ok = cf_tv_is_num(a[0])
                  ? cf_t__to_double(a[0], &bytes)
                  : a[0].k == CF_TSTR && cf_t__float_parse(r, cf_tv_text(a[0]), &bytes);
    if (!ok) {
        return a[0].k == CF_TUNDEF
                   ? cf_t__fail_undef(r, a[0])
                   : cf_t__fail(r, "could not convert '%s' to float", cf_t__type_name(a[0]));
    }
    bool is_binary = cf_t__truth(a[1]);
    double base = is_binary ? 1024 : 1000;
    char text[400];
    if (bytes == 1) {
        return cf_t__str_cstr(r, "1 Byte");
    }
    if (!(bytes >= base)) {
        if (!isfinite(bytes)) {
            return cf_t__fail(r, "cannot convert this float to integer");
        }
        /* + 0.0: there is no -0 among integers */
        snprintf(text, sizeof text, "%.0f Bytes", trunc(bytes) + 0.0);
    } else {
        double unit = base * base;
        int i = 0;
        while (i < 7 && !is_below_power(bytes, unit)) {
            unit *= base;
            i++;
        }
        snprintf(text, sizeof text, "%.1f %s", base * bytes / unit,
                 (is_binary ? binary : decimal)[i]);
    }
    return cf_t__str_copy(r, text, strlen(text), cf_t__org_join(r, cf_t__org_of(a[0]), 0));
}

static cf_tv f_default(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("default", "value default_value boolean", 1, 3)
    bool use = a[0].k == CF_TUNDEF || (cf_t__truth(a[2]) && !cf_t__truth(a[0]));
    return !use ? a[0] : is_given(a[1]) ? a[1] : cf_t__str_cstr(r, "");
}

const cf_tfn_entry cf_t__str_filters[] = {
    {"trim", f_trim},
    {"tojson", f_tojson},
    {"default", f_default},
    {"d", f_default},
    {"upper", f_upper},
    {"lower", f_lower},
    {"string", f_string},
    {"replace", f_replace},
    {"safe", f_safe},
    {"int", f_int},
    {"float", f_float},
    {"abs", f_abs},
    {"capitalize", f_capitalize},
    {"center", f_center},
    {"e", f_escape},
    {"escape", f_escape},
    {"filesizeformat", f_filesizeformat},
    {"forceescape", f_forceescape},
    {"format", f_format},
    {"indent", f_indent},
    {"round", f_round},
    {"striptags", f_striptags},
    {"title", f_title},
    {"truncate", f_truncate},
    {"urlencode", f_urlencode},
    {"urlize", cf_t__filter_urlize},
    {"wordcount", f_wordcount},
    {"wordwrap", cf_t__filter_wordwrap},
    {"xmlattr", f_xmlattr},
    {NULL, NULL},
};
