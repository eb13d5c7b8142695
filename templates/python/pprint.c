/*
 * pprint.c - the filter pprint: Python's pprint.pformat(value, width=80).
 *
 * A value whose repr does not fit in its line is broken: containers one item
 * a line, strings and bytes into literals that Python would join again.
 */
#include "templates/python/filters.h"
#include "templates/python/methods.h"

enum { WIDTH = 80 };

/* ---- the order of keys -------------------------------------------------- */

/* Keys of types that cannot be compared are ordered by the type's name; all
 * numbers compare with each other. */
static cf_tlist *sorted_keys(cf_tr *r, const cf_tdict *d)
{
    cf_tlist *keys = cf_t__list_new(r, d->n), *by = cf_t__list_new(r, d->n);
    if (keys == NULL || by == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        cf_tv key = d->e[i].key;
        cf_tv type = cf_t__str_cstr(r, cf_tv_is_num(key) ? "int" : cf_t__type_name(key));
        cf_tv pair = type.k != CF_TERR ? cf_t__pair(r, type, key) : type;
        if (pair.k == CF_TERR) {
            return NULL;
        }
        keys->v[keys->n++] = key;
        by->v[by->n++] = pair;
    }
    return cf_t__sort(r, keys, by, false) ? keys : NULL;
}

static cf_tv in_order(cf_tr *r, cf_tv v);

static cf_tv dict_in_order(cf_tr *r, cf_tv v)
{
    cf_tlist *keys = sorted_keys(r, v.u.d);
    cf_tdict *d = keys != NULL ? cf_t__dict_new(r, v.u.d->n) : NULL;
    for (uint32_t i = 0; d != NULL && i < keys->n; i++) {
        uint32_t hash;
        if (!cf_t__hash(r, keys->v[i], &hash)) {
            return CF_TV_ERR;
        }
        const cf_tentry *e = cf_t__dict_find(r, v.u.d, keys->v[i], hash);
        cf_tv item = e != NULL ? in_order(r, e->val) : CF_TV_ERR;
        if (item.k == CF_TERR || !cf_t__dict_set(r, d, keys->v[i], item)) {
            return CF_TV_ERR;
        }
    }
    v.u.d = d;
    return d != NULL ? v : CF_TV_ERR;
}

static cf_tv list_in_order(cf_tr *r, cf_tv v)
{
    cf_tlist *l = cf_t__to_list(r, v);
    for (uint32_t i = 0; l != NULL && i < l->n; i++) {
        l->v[i] = in_order(r, l->v[i]);
        CF_TVTRY(l->v[i]);
    }
    v.u.l = l;
    return l != NULL ? v : CF_TV_ERR;
}

/* v with the keys of all dicts in order. */
static cf_tv in_order(cf_tr *r, cf_tv v)
{
    if (v.k != CF_TDICT && v.k != CF_TLIST && v.k != CF_TTUPLE) {
        return v;
    }
    if (!cf_t__enter(r)) {
        return CF_TV_ERR;
    }
    v = v.k == CF_TDICT ? dict_in_order(r, v) : list_in_order(r, v);
    cf_t__leave(r);
    return v;
}

/* ---- text --------------------------------------------------------------- */

static cf_tv repr_of(cf_tr *r, cf_tv v)
{
    cf_tsb b;
    cf_t__sb_init(&b, r);
    cf_t__add_repr(&b, v);
    return cf_t__sb_take(&b, false);
}

/* Where a value is written: after `indent` columns, with `allowance` columns
 * for what closes after it; level 1 is the outermost value. */
typedef struct place {
    int64_t indent, allowance;
    int level;
} place;

static void break_line(cf_tsb *b, const char *end, int64_t indent, uint32_t org)
{
    cf_t__sb_adds(b, end, org);
    for (int64_t i = 0; i < indent; i++) {
        cf_t__sb_addc(b, ' ', org);
    }
    b->r->steps += (uint64_t)indent;
}

/* The literals that a string is broken into. */
typedef struct literals {
    cf_tr *r;
    cf_tlist *list; /* of their reprs */
    cf_tv current;  /* pieces collected for the next literal */
    bool is_bytes;
} literals;

/* Whether repr(v) fits in `width` columns; *text is the repr. */
static bool fits(literals *t, cf_tv v, int64_t width, cf_tv *text)
{
    *text = repr_of(t->r, v);
    return text->k != CF_TERR && (int64_t)cf_t__str_cps(text->u.s) <= width;
}

static bool flush(literals *t)
{
    cf_tv text = CF_TV_NONE;
    if (t->current.k == CF_TNONE) {
        return true;
    }
    fits(t, t->current, 0, &text);
    t->current = CF_TV_NONE;
    return text.k != CF_TERR && cf_t__list_add(t->r, t->list, text);
}

/* Adds bytes [from, to) of s to the current literal, or begins the next one
 * with them where it would get wider than `width`. */
static bool add_piece(literals *t, const cf_tstr *s, uint32_t from, uint32_t to, int64_t width)
{
    cf_tv piece = cf_t__str_sub(t->r, s, from, to), text;
    cf_tv both = piece;
    if (piece.k == CF_TSTR && t->current.k != CF_TNONE) {
        both = cf_t__concat(t->r, t->current.u.s, piece.u.s);
    }
    if (both.k == CF_TERR) {
        return false;
    }
    if (t->is_bytes) {
        piece.k = both.k = CF_TBYTES;
        piece.u.s->n_cp = piece.u.s->n;
        both.u.s->n_cp = both.u.s->n;
    }
    if (fits(t, both, width, &text)) {
        t->current = both;
        return true;
    }
    bool ok = text.k != CF_TERR && flush(t);
    t->current = piece;
    return ok;
}

/* A line that is too wide, cut after blanks. */
static bool cut_line(literals *t, const cf_tstr *s, int64_t width, int64_t last_width)
{
    uint32_t at = 0, len;
    while (at < s->n) {
        uint32_t from = at;
        while (at < s->n && !cf_t__is_space(cf_t__cp(s->p + at, &len))) {
            at += len;
        }
        while (at < s->n && cf_t__is_space(cf_t__cp(s->p + at, &len))) {
            at += len;
        }
        if (!add_piece(t, s, from, at, at < s->n ? width : last_width)) {
            return false;
        }
    }
    return flush(t);
}

static bool cut_text(literals *t, const cf_tstr *s, int64_t width, int64_t allowance)
{
    cf_tlist *lines = cf_t__split_lines(t->r, s, true);
    for (uint32_t i = 0; lines != NULL && i < lines->n; i++) {
        cf_tv line = lines->v[i], text;
        int64_t last = i + 1 == lines->n ? width - allowance : width;
        bool ok = fits(t, line, last, &text)
                      ? cf_t__list_add(t->r, t->list, text)
                      : text.k != CF_TERR && cut_line(t, line.u.s, width, last);
        if (!ok) {
            return false;
        }
    }
    return lines != NULL;
}

static bool cut_bytes(literals *t, const cf_tstr *s, int64_t width, int64_t allowance)
{
    for (uint32_t at = 0; at < s->n; at += 4) {
        uint32_t to = s->n - at > 4 ? at + 4 : s->n;
        width -= at == s->n / 4 * 4 ? allowance : 0;
        if (!add_piece(t, s, at, to, width)) {
            return false;
        }
    }
    return flush(t);
}

/* A string or bytes too wide for its line. */
static void pretty_text(cf_tsb *b, cf_tv v, place p)
{
    const cf_tstr *s = v.u.s;
    literals t = {.r = b->r,
                  .list = cf_t__list_new(b->r, 4),
                  .current = CF_TV_NONE,
                  .is_bytes = v.k == CF_TBYTES};
    p.indent += p.level == 1;
    p.allowance += p.level == 1;
    bool ok = t.list != NULL && (t.is_bytes ? cut_bytes(&t, s, WIDTH - p.indent, p.allowance)
                                            : cut_text(&t, s, WIDTH - p.indent, p.allowance));
    if (!ok) {
        b->failed = true;
        return;
    }
    bool has_parens = p.level == 1 && (t.is_bytes || t.list->n > 1);
    cf_t__sb_adds(b, has_parens ? "(" : "", v.org);
    for (uint32_t i = 0; i < t.list->n && !b->failed; i++) {
        if (i != 0) {
            break_line(b, "\n", p.indent, v.org);
        }
        cf_t__sb_str(b, t.list->v[i].u.s);
    }
    cf_t__sb_adds(b, has_parens ? ")" : "", v.org);
}

/* ---- containers --------------------------------------------------------- */

static void pretty(cf_tsb *b, cf_tv v, place p);

/* A dict too wide for its line: one pair a line. */
static void pretty_dict(cf_tsb *b, cf_tv v, place p)
{
    const cf_tdict *d = v.u.d;
    cf_t__sb_addc(b, '{', v.org);
    for (uint32_t i = 0; i < d->n && !b->failed; i++) {
        cf_tv key = repr_of(b->r, d->e[i].key);
        if (key.k == CF_TERR) {
            b->failed = true;
            return;
        }
        if (i != 0) {
            break_line(b, ",\n", p.indent + 1, v.org);
        }
        cf_t__sb_str(b, key.u.s);
        cf_t__sb_adds(b, ": ", v.org);
        pretty(b, d->e[i].val,
               (place){p.indent + 3 + cf_t__str_cps(key.u.s), i + 1 == d->n ? p.allowance + 1 : 1,
                       p.level + 1});
    }
    cf_t__sb_addc(b, '}', v.org);
}

static void pretty_list(cf_tsb *b, cf_tv v, place p)
{
    const cf_tlist *l = v.u.l;
    const char *close = v.k == CF_TLIST ? "]" : l->n == 1 ? ",)" : ")";
    cf_t__sb_addc(b, v.k == CF_TLIST ? '[' : '(', v.org);
    for (uint32_t i = 0; i < l->n && !b->failed; i++) {
        if (i != 0) {
            break_line(b, ",\n", p.indent + 1, v.org);
        }
        int64_t after = i + 1 == l->n ? p.allowance + (int64_t)strlen(close) : 1;
        pretty(b, l->v[i], (place){p.indent + 1, after, p.level + 1});
    }
    cf_t__sb_adds(b, close, v.org);
}

static void pretty(cf_tsb *b, cf_tv v, place p)
{
    cf_tv whole = repr_of(b->r, v);
    if (b->failed || whole.k == CF_TERR || !cf_t__enter(b->r)) {
        b->failed = true;
        return;
    }
    bool fits_here = (int64_t)cf_t__str_cps(whole.u.s) <= WIDTH - p.indent - p.allowance;
    bool is_list = (v.k == CF_TLIST || v.k == CF_TTUPLE) && v.u.l->n != 0;
    if (!fits_here && v.k == CF_TDICT && v.u.d->n != 0) {
        pretty_dict(b, v, p);
    } else if (!fits_here && is_list) {
        pretty_list(b, v, p);
    } else if (!fits_here && ((v.k == CF_TSTR && !v.u.s->is_markup && v.u.s->n != 0) ||
                              (v.k == CF_TBYTES && v.u.s->n > 4))) {
        pretty_text(b, v, p);
    } else {
        cf_t__sb_str(b, whole.u.s);
    }
    cf_t__leave(b->r);
}

cf_tv cf_t__filter_pprint(cf_tr *r, const cf_targs *args)
{
    CF_TBIND("pprint", "value", 1, 1)
    cf_tsb b;
    cf_tv v = in_order(r, a[0]);
    CF_TVTRY(v);
    cf_t__sb_init(&b, r);
    pretty(&b, v, (place){0, 0, 1});
    return cf_t__sb_take(&b, false);
}
