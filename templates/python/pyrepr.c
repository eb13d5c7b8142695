/*
 * pyrepr.c - values as text: str(), repr(), JSON, HTML escaping.
 *
 * The text of a string inside a list or a dict keeps its origin, byte for
 * byte where it is unchanged; brackets and commas have the container's.
 */
#include <stdio.h>

#include "core/base/utf8.h"
#include "templates/language/ast.h"
#include "templates/language/number.h"
#include "templates/python/methods.h"

static void repr_str(cf_tsb *b, const cf_tstr *s, bool is_bytes)
{
    uint32_t org = cf_t__str_org(s), len, run = 0;
    bool has_single = memchr(s->p, '\'', s->n) != NULL;
    bool has_double = memchr(s->p, '"', s->n) != NULL;
    char quote = has_single && !has_double ? '"' : '\'';
    cf_t__sb_addc(b, quote, org);
    for (uint32_t at = 0; at < s->n && !b->failed; at += len) {
        uint32_t cp = (unsigned char)s->p[at];
        len = 1;
        if (!is_bytes) {
            cp = cf_t__cp(s->p + at, &len);
        }
        char out[12];
        int n = 0;
        if (cp == (unsigned char)quote || cp == '\\') {
            n = snprintf(out, sizeof out, "\\%c", (char)cp);
        } else if (cp == '\n' || cp == '\r' || cp == '\t') {
            n = snprintf(out, sizeof out, "\\%c", cp == '\n' ? 'n' : cp == '\r' ? 'r' : 't');
        } else if (is_bytes && (cp < 0x20 || cp >= 0x7F)) {
            n = snprintf(out, sizeof out, "\\x%02x", (unsigned)cp);
        } else if (!is_bytes && !cf_t__is_printable(cp)) {
            n = snprintf(out, sizeof out,
                         cp < 0x100     ? "\\x%02x"
                         : cp < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                         (unsigned)cp);
        }
        if (n != 0) {
            cf_t__sb_sub(b, s, run, at);
            cf_t__sb_changed(b, s, at, out, (size_t)n);
            run = at + len;
        }
    }
    cf_t__sb_sub(b, s, run, s->n);
    cf_t__sb_addc(b, quote, org);
    b->r->steps += s->n >> 3;
}

static void add_number(cf_tsb *b, cf_tv v)
{
    char text[CF_FLOAT_TEXT];
    if (v.k == CF_TFLOAT) {
        size_t n = cf_t__float_repr(text, v.u.f);
        cf_t__sb_add(b, text, n, v.org, CF_NO_COPY, 0);
    } else if (v.k == CF_TINT) {
        size_t n = cf_t__int64_text(text, v.u.i);
        cf_t__sb_add(b, text, n, v.org, CF_NO_COPY, 0);
    } else {
        cf_tv s = cf_t__int_text(b->r, v, 10);
        if (s.k == CF_TERR) {
            b->failed = true;
        } else {
            cf_t__sb_str(b, s.u.s);
        }
    }
}

static void repr_items(cf_tsb *b, cf_tv v)
{
    const cf_tlist *l = v.u.l;
    bool is_tuple = v.k == CF_TTUPLE;
    cf_t__sb_addc(b, is_tuple ? '(' : '[', v.org);
    for (uint32_t i = 0; i < l->n && !b->failed; i++) {
        if (i != 0) {
            cf_t__sb_adds(b, ", ", v.org);
        }
        cf_t__add_repr(b, l->v[i]);
    }
    cf_t__sb_adds(b, is_tuple ? (l->n == 1 ? ",)" : ")") : "]", v.org);
}

static void repr_dict(cf_tsb *b, cf_tv v)
{
    const cf_tdict *d = v.u.d;
    cf_t__sb_addc(b, '{', v.org);
    for (uint32_t i = 0; i < d->n && !b->failed; i++) {
        if (i != 0) {
            cf_t__sb_adds(b, ", ", v.org);
        }
        cf_t__add_repr(b, d->e[i].key);
        cf_t__sb_adds(b, ": ", v.org);
        cf_t__add_repr(b, d->e[i].val);
    }
    cf_t__sb_addc(b, '}', v.org);
}

static void repr_view(cf_tsb *b, cf_tv v)
{
    static const char *const open[] = {"dict_keys([", "dict_values([", "dict_items(["};
    const cf_tview *w = v.u.view;
    cf_t__sb_adds(b, open[w->kind], v.org);
    for (uint32_t i = 0; i < w->d->n && !b->failed; i++) {
        const cf_tentry *e = &w->d->e[i];
        if (i != 0) {
            cf_t__sb_adds(b, ", ", v.org);
        }
        if (w->kind == CF_VIEW_ITEMS) {
            cf_t__sb_addc(b, '(', v.org);
        }
        if (w->kind != CF_VIEW_VALUES) {
            cf_t__add_repr(b, e->key);
        }
        if (w->kind == CF_VIEW_ITEMS) {
            cf_t__sb_adds(b, ", ", v.org);
        }
        if (w->kind != CF_VIEW_KEYS) {
            cf_t__add_repr(b, e->val);
        }
        if (w->kind == CF_VIEW_ITEMS) {
            cf_t__sb_addc(b, ')', v.org);
        }
    }
    cf_t__sb_adds(b, "])", v.org);
}

static void repr_other(cf_tsb *b, cf_tv v)
{
    char text[96];
    const cf_trange *g = v.u.range;
    switch (v.k) {
    case CF_TRANGE:
        if (g->step == 1) {
            snprintf(text, sizeof text, "range(%lld, %lld)", (long long)g->start,
                     (long long)g->stop);
        } else {
            snprintf(text, sizeof text, "range(%lld, %lld, %lld)", (long long)g->start,
                     (long long)g->stop, (long long)g->step);
        }
        break;
    case CF_TNAMESPACE:
        if (v.sub == 1) {
            cf_t__sb_adds(b, "<TemplateReference None>", 0);
            return;
        }
        cf_t__sb_adds(b, "<Namespace ", 0);
        repr_dict(b, (cf_tv){.k = CF_TDICT, .u.d = v.u.d});
        cf_t__sb_addc(b, '>', 0);
        return;
    case CF_TLOOP: {
        cf_tv n = cf_t__loop_attr(b->r, v.u.loop, cf_str_from("length"));
        snprintf(text, sizeof text, "<LoopContext %lld/%lld>", (long long)v.u.loop->index0 + 1,
                 n.k == CF_TINT ? (long long)n.u.i : 0);
        break;
    }
    case CF_TMACRO:
        if (v.u.macro->node->kind == CF_N_MACRO) {
            cf_t__sb_adds(b, "<Macro ", 0);
            repr_str(b, v.u.macro->node->val.u.s, false);
            cf_t__sb_addc(b, '>', 0);
            return;
        }
        snprintf(text, sizeof text, "<Macro anonymous>");
        break;
    case CF_TFUNC:
        if (cf_t__global_class(v.sub) != NULL) {
            snprintf(text, sizeof text, "<class '%s'>", cf_t__global_class(v.sub));
            break;
        }
        snprintf(text, sizeof text, "<function object>");
        break;
    default:
        snprintf(text, sizeof text, "<%s object>", cf_t__type_name(v));
    }
    cf_t__sb_adds(b, text, v.org);
}

void cf_t__add_repr(cf_tsb *b, cf_tv v)
{
    if (b->failed || !cf_t__enter(b->r) || !cf_t__spend(b->r, 1)) {
        b->failed = true;
        return;
    }
    switch (v.k) {
    case CF_TUNDEF:
        cf_t__sb_adds(b, "Undefined", 0);
        break;
    case CF_TNONE:
        cf_t__sb_adds(b, "None", v.org);
        break;
    case CF_TBOOL:
        cf_t__sb_adds(b, v.u.b ? "True" : "False", v.org);
        break;
    case CF_TINT:
    case CF_TBIG:
    case CF_TFLOAT:
        add_number(b, v);
        break;
    case CF_TSTR:
        if (v.u.s->is_markup) {
            cf_t__sb_adds(b, "Markup(", cf_t__str_org(v.u.s));
            repr_str(b, v.u.s, false);
            cf_t__sb_addc(b, ')', cf_t__str_org(v.u.s));
        } else {
            repr_str(b, v.u.s, false);
        }
        break;
    case CF_TBYTES:
        cf_t__sb_addc(b, 'b', cf_t__str_org(v.u.s));
        repr_str(b, v.u.s, true);
        break;
    case CF_TLIST:
    case CF_TTUPLE:
        repr_items(b, v);
        break;
    case CF_TDICT:
        repr_dict(b, v);
        break;
    case CF_TVIEW:
        repr_view(b, v);
        break;
    default:
        repr_other(b, v);
    }
    cf_t__leave(b->r);
}

cf_tv cf_t__ascii(cf_tr *r, cf_tv v)
{
    cf_tsb b;
    cf_t__sb_init(&b, r);
    cf_t__add_repr(&b, v);
    cf_tv text = cf_t__sb_take(&b, false);
    CF_TVTRY(text);
    const cf_tstr *s = text.u.s;
    uint32_t len, run = 0;
    cf_t__sb_init(&b, r);
    for (uint32_t at = 0; at < s->n && !b.failed; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (cp < 0x80) {
            continue;
        }
        char out[12];
        int n = snprintf(out, sizeof out,
                         cp < 0x100     ? "\\x%02x"
                         : cp < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                         (unsigned)cp);
        cf_t__sb_sub(&b, s, run, at);
        cf_t__sb_changed(&b, s, at, out, (size_t)n);
        run = at + len;
    }
    cf_t__sb_sub(&b, s, run, s->n);
    return cf_t__spend(r, s->n >> 2) ? cf_t__sb_take(&b, false) : CF_TV_ERR;
}

void cf_t__add_str(cf_tsb *b, cf_tv v)
{
    if (v.k == CF_TSTR) {
        cf_t__sb_str(b, v.u.s);
    } else if (v.k != CF_TUNDEF) {
        cf_t__add_repr(b, v);
    }
}

cf_tv cf_t__to_str(cf_tr *r, cf_tv v)
{
    if (v.k == CF_TSTR && !v.u.s->is_markup) {
        return v;
    }
    if (v.k == CF_TSTR) {
        return cf_t__str_mark(r, v.u.s, false);
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    cf_t__add_str(&b, v);
    return cf_t__sb_take(&b, false);
}

cf_tv cf_t__soft_str(cf_tr *r, cf_tv v)
{
    return v.k == CF_TSTR ? v : cf_t__to_str(r, v);
}

/* ---- JSON --------------------------------------------------------------- */

static void json_str(cf_tsb *b, const cf_tstr *s, bool ascii)
{
    uint32_t org = cf_t__str_org(s), len, run = 0;
    cf_t__sb_addc(b, '"', org);
    for (uint32_t at = 0; at < s->n && !b->failed; at += len) {
        unsigned char c = (unsigned char)s->p[at];
        len = 1;
        if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x7F || !ascii)) {
            continue;
        }
        char out[16];
        int n;
        const char *short_from = "\"\\\n\r\t\b\f", *short_to = "\"\\nrtbf";
        const char *found = c != 0 ? strchr(short_from, c) : NULL;
        if (found != NULL) {
            out[0] = '\\';
            out[1] = short_to[found - short_from];
            n = 2;
        } else {
            uint32_t cp = cf_t__cp(s->p + at, &len);
            if (cp < 0x10000) {
                n = snprintf(out, sizeof out, "\\u%04x", (unsigned)cp);
            } else {
                cp -= 0x10000;
                n = snprintf(out, sizeof out, "\\u%04x\\u%04x", (unsigned)(0xD800 + (cp >> 10)),
                             (unsigned)(0xDC00 + (cp & 0x3FF)));
            }
        }
        cf_t__sb_sub(b, s, run, at);
        cf_t__sb_changed(b, s, at, out, (size_t)n);
        run = at + len;
    }
    cf_t__sb_sub(b, s, run, s->n);
    cf_t__sb_addc(b, '"', org);
    b->r->steps += s->n >> 3;
}

typedef struct dumper {
    cf_tsb b;
    const cf_tjson *how;
    const cf_tstr *indent; /* NULL: one line */
    uint32_t depth;
} dumper;

static void json_value(dumper *d, cf_tv v);

static void json_break(dumper *d, uint32_t org)
{
    if (d->indent == NULL) {
        return;
    }
    cf_t__sb_addc(&d->b, '\n', org);
    for (uint32_t i = 0; i < d->depth && !d->b.failed; i++) {
        cf_t__sb_add(&d->b, d->indent->p, d->indent->n, org, CF_NO_COPY, 0);
    }
}

static void json_between(dumper *d, uint32_t i, uint32_t org)
{
    if (i != 0) {
        const cf_tstr *sep = d->how->item_sep.u.s;
        cf_t__sb_add(&d->b, sep->p, sep->n, org, CF_NO_COPY, 0);
    }
    json_break(d, org);
}

static void json_list(dumper *d, cf_tv v)
{
    const cf_tlist *l = v.u.l;
    if (l->n == 0) {
        cf_t__sb_adds(&d->b, "[]", v.org);
        return;
    }
    cf_t__sb_addc(&d->b, '[', v.org);
    d->depth++;
    for (uint32_t i = 0; i < l->n && !d->b.failed; i++) {
        json_between(d, i, v.org);
        json_value(d, l->v[i]);
    }
    d->depth--;
    json_break(d, v.org);
    cf_t__sb_addc(&d->b, ']', v.org);
}

/* A key, as the text json.dumps makes of it. */
static void json_key(dumper *d, cf_tv key, uint32_t org)
{
    cf_tr *r = d->b.r;
    cf_tv text = key;
    if (key.k == CF_TBOOL) {
        text = cf_t__str_cstr(r, key.u.b ? "true" : "false");
    } else if (key.k == CF_TNONE) {
        text = cf_t__str_cstr(r, "null");
    } else if (cf_tv_is_num(key)) {
        text = cf_t__to_str(r, key);
    } else if (key.k != CF_TSTR) {
        text = cf_t__fail(r, "keys must be str, int, float, bool or None, not %s",
                          cf_t__type_name(key));
    }
    if (text.k == CF_TERR) {
        d->b.failed = true;
        return;
    }
    json_str(&d->b, text.u.s, d->how->ensure_ascii);
    const cf_tstr *sep = d->how->key_sep.u.s;
    cf_t__sb_add(&d->b, sep->p, sep->n, org, CF_NO_COPY, 0);
}

static const cf_tdict *sorted_dict(cf_tr *r, const cf_tdict *d)
{
    cf_tlist *keys = cf_t__list_new(r, d->n), *vals = cf_t__list_new(r, d->n);
    cf_tdict *out = cf_t__dict_new(r, d->n);
    if (keys == NULL || vals == NULL || out == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        keys->v[keys->n++] = d->e[i].key;
        vals->v[vals->n++] = cf_tv_int(i);
    }
    if (!cf_t__sort(r, vals, keys, false)) {
        return NULL;
    }
    for (uint32_t i = 0; i < d->n; i++) {
        out->e[out->n++] = d->e[vals->v[i].u.i];
    }
    return out;
}

static void json_dict(dumper *d, cf_tv v)
{
    const cf_tdict *m = v.u.d;
    if (m->n == 0) {
        cf_t__sb_adds(&d->b, "{}", v.org);
        return;
    }
    if (d->how->sort_keys) {
        m = sorted_dict(d->b.r, m);
        if (m == NULL) {
            d->b.failed = true;
            return;
        }
    }
    cf_t__sb_addc(&d->b, '{', v.org);
    d->depth++;
    for (uint32_t i = 0; i < m->n && !d->b.failed; i++) {
        json_between(d, i, v.org);
        json_key(d, m->e[i].key, v.org);
        json_value(d, m->e[i].val);
    }
    d->depth--;
    json_break(d, v.org);
    cf_t__sb_addc(&d->b, '}', v.org);
}

static void json_value(dumper *d, cf_tv v)
{
    cf_tsb *b = &d->b;
    if (b->failed || !cf_t__enter(b->r) || !cf_t__spend(b->r, 1)) {
        b->failed = true;
        return;
    }
    switch (v.k) {
    case CF_TNONE:
        cf_t__sb_adds(b, "null", v.org);
        break;
    case CF_TBOOL:
        cf_t__sb_adds(b, v.u.b ? "true" : "false", v.org);
        break;
    case CF_TINT:
    case CF_TBIG:
        add_number(b, v);
        break;
    case CF_TFLOAT:
        if (v.u.f != v.u.f) {
            cf_t__sb_adds(b, "NaN", v.org);
        } else if (v.u.f - v.u.f != 0) {
            cf_t__sb_adds(b, v.u.f > 0 ? "Infinity" : "-Infinity", v.org);
        } else {
            add_number(b, v);
        }
        break;
    case CF_TSTR:
        json_str(b, v.u.s, d->how->ensure_ascii);
        break;
    case CF_TLIST:
    case CF_TTUPLE:
        json_list(d, v);
        break;
    case CF_TDICT:
        json_dict(d, v);
        break;
    default:
        cf_t__fail(b->r, "Object of type %s is not JSON serializable", cf_t__type_name(v));
        b->failed = true;
    }
    cf_t__leave(b->r);
}

cf_tv cf_t__to_json(cf_tr *r, cf_tv v, const cf_tjson *how)
{
    cf_tjson full = *how;
    dumper d = {.how = &full};
    cf_t__sb_init(&d.b, r);
    if (how->indent.k == CF_TSTR) {
        d.indent = how->indent.u.s;
    } else if (how->indent.k != CF_TNONE) {
        int64_t n;
        if (!cf_t__arg_int(r, how->indent, &n)) {
            return CF_TV_ERR;
        }
        if (n > 1000) {
            return cf_t__fail_limit(r, "an indent of over 1000 columns");
        }
        char *blanks = cf_t__alloc(r, n > 0 ? (size_t)n : 1);
        if (blanks == NULL) {
            return CF_TV_ERR;
        }
        memset(blanks, ' ', n > 0 ? (size_t)n : 1);
        cf_tv s = cf_t__str_of(r, blanks, n > 0 ? (size_t)n : 0, 0);
        CF_TVTRY(s);
        d.indent = s.u.s;
    }
    if (full.item_sep.k == CF_TMISSING) {
        full.item_sep = cf_t__str_cstr(r, d.indent != NULL ? "," : ", ");
        full.key_sep = cf_t__str_cstr(r, ": ");
    }
    if (full.item_sep.k != CF_TSTR || full.key_sep.k != CF_TSTR) {
        return full.item_sep.k == CF_TERR || full.key_sep.k == CF_TERR
                   ? CF_TV_ERR
                   : cf_t__fail(r, "separators must be strings");
    }
    json_value(&d, v);
    return cf_t__sb_take(&d.b, false);
}
