/*
 * text.c - strings with origins.
 */
#include "templates/language/text.h"

#include "core/base/utf8.h"
#include "templates/language/state.h"

void cf_t__sb_init(cf_tsb *b, cf_tr *r)
{
    *b = (cf_tsb){.r = r};
}

void cf_t__sb_reserve(cf_tsb *b, uint32_t bytes, uint32_t segments)
{
    char *p = cf_t__alloc(b->r, bytes);
    cf_tseg *seg = cf_t__alloc(b->r, segments * sizeof *seg);
    if (p != NULL && seg != NULL) {
        b->p = p;
        b->cap = bytes;
        b->seg = seg;
        b->cap_seg = segments;
    } else {
        b->failed = true;
    }
}

static bool grow(cf_tsb *b, size_t n)
{
    cf_tr *r = b->r;
    if (b->failed) {
        return false;
    }
    size_t need = (size_t)b->n + n;
    if (need > r->max_out) {
        if (b->is_output) {
            cf_t__fail_limit(r, "the output is over %zu bytes", r->max_out);
        } else {
            cf_t__fail_limit(r, "a string is over %zu bytes", r->max_out);
        }
        b->failed = true;
        return false;
    }
    size_t cap = b->cap < 64 ? 64 : (size_t)b->cap * 2;
    if (cap < need) {
        cap = need;
    }
    char *p = cf_t__alloc(r, cap);
    if (p == NULL) {
        b->failed = true;
        return false;
    }
    if (b->n != 0) {
        memcpy(p, b->p, b->n);
    }
    b->p = p;
    b->cap = (uint32_t)cap;
    return true;
}

static bool grow_seg(cf_tsb *b)
{
    uint32_t cap = b->cap_seg < 8 ? 8 : b->cap_seg * 2;
    cf_tseg *seg = cf_t__alloc(b->r, cap * sizeof *seg);
    if (seg == NULL) {
        b->failed = true;
        return false;
    }
    if (b->n_seg != 0) {
        memcpy(seg, b->seg, b->n_seg * sizeof *seg);
    }
    b->seg = seg;
    b->cap_seg = cap;
    return true;
}

static inline void put_seg(cf_tsb *b, uint32_t len, uint32_t org, uint32_t off, uint32_t pos)
{
    if (__builtin_expect(b->r->record != NULL, 0)) {
        pos = cf_t__site(b->r, pos, b->pos);
    } else if (pos == 0) {
        pos = b->pos;
    }
    if (b->n_seg != 0) {
        cf_tseg *last = &b->seg[b->n_seg - 1];
        if (last->org == org && last->pos == pos &&
            (off == CF_NO_COPY ? last->off == CF_NO_COPY
                               : last->off != CF_NO_COPY && last->off + last->len == off)) {
            last->len += len;
            return;
        }
    }
    if (b->n_seg == b->cap_seg && !grow_seg(b)) {
        return;
    }
    b->seg[b->n_seg++] = (cf_tseg){len, org, off, pos};
}

static inline bool put_bytes(cf_tsb *b, const char *p, size_t n)
{
    if (n > (size_t)(b->cap - b->n) || b->failed) {
        if (!grow(b, n)) {
            return false;
        }
    }
    memcpy(b->p + b->n, p, n);
    b->n += (uint32_t)n;
    b->r->steps += n >> 4;
    return true;
}

void cf_t__sb_add(cf_tsb *b, const char *p, size_t n, uint32_t org, uint32_t off, uint32_t pos)
{
    if (n != 0 && put_bytes(b, p, n)) {
        put_seg(b, (uint32_t)n, org, off, pos);
    }
}

void cf_t__sb_adds(cf_tsb *b, const char *s, uint32_t org)
{
    cf_t__sb_add(b, s, strlen(s), org, CF_NO_COPY, 0);
}

void cf_t__sb_addc(cf_tsb *b, char c, uint32_t org)
{
    cf_t__sb_add(b, &c, 1, org, CF_NO_COPY, 0);
}

static inline uint32_t off_plus(uint32_t off, uint32_t n)
{
    return off == CF_NO_COPY ? CF_NO_COPY : off + n;
}

/*
 * The segment of byte `from` (< s->n) of a string with several, and where it
 * starts.  Goes on from the segment found before, so that a walk over a string
 * costs what it has segments; a jump back is counted as the steps it takes.
 */
static uint32_t seg_find(cf_tr *r, const cf_tstr *s, uint32_t from, uint32_t *start)
{
    uint32_t i = 0, at = 0;
    if (r->seg_last.seg == s->seg && r->seg_last.at <= from) {
        i = r->seg_last.i;
        at = r->seg_last.at;
    }
    uint32_t first = i;
    while (i + 1 < s->n_seg && at + s->seg[i].len <= from) {
        at += s->seg[i++].len;
    }
    r->steps += (i - first) >> 3;
    r->seg_last.seg = s->seg;
    r->seg_last.i = i;
    r->seg_last.at = at;
    *start = at;
    return i;
}

void cf_t__sb_sub(cf_tsb *b, const cf_tstr *s, uint32_t from, uint32_t to)
{
    if (from >= to || !put_bytes(b, s->p + from, to - from)) {
        return;
    }
    if (s->n_seg == 0) {
        put_seg(b, to - from, s->one.org, off_plus(s->one.off, from), s->one.pos);
        return;
    }
    uint32_t at;
    for (uint32_t i = seg_find(b->r, s, from, &at); i < s->n_seg; i++) {
        const cf_tseg *g = &s->seg[i];
        uint32_t end = at + g->len;
        uint32_t lo = at > from ? at : from;
        uint32_t hi = end < to ? end : to;
        put_seg(b, hi - lo, g->org, off_plus(g->off, lo - at), g->pos);
        if (end >= to) {
            break;
        }
        at = end;
    }
}

void cf_t__sb_str(cf_tsb *b, const cf_tstr *s)
{
    cf_t__sb_sub(b, s, 0, s->n);
}

void cf_t__sb_changed(cf_tsb *b, const cf_tstr *s, uint32_t at, const char *p, size_t n)
{
    uint32_t start;
    const cf_tseg *g = s->n_seg == 0 ? &s->one : &s->seg[seg_find(b->r, s, at, &start)];
    cf_t__sb_add(b, p, n, g->org, CF_NO_COPY, g->pos);
}

cf_tv cf_t__sb_take(cf_tsb *b, bool is_markup)
{
    if (b->failed) {
        return CF_TV_ERR;
    }
    cf_tstr *s = cf_t__alloc(b->r, sizeof *s);
    if (s == NULL) {
        return CF_TV_ERR;
    }
    *s = (cf_tstr){
        .p = b->n != 0 ? b->p : "", .n = b->n, .n_cp = CF_CP_UNKNOWN, .is_markup = is_markup};
    if (b->n_seg == 1) {
        s->one = b->seg[0];
    } else if (b->n_seg > 1) {
        s->n_seg = b->n_seg;
        s->seg = b->seg;
    }
    return cf_tv_str(s);
}

cf_tv cf_t__str_of(cf_tr *r, const char *p, size_t n, uint32_t org)
{
    cf_tstr *s = cf_t__alloc(r, sizeof *s);
    if (s == NULL) {
        return CF_TV_ERR;
    }
    *s = (cf_tstr){
        .p = p, .n = (uint32_t)n, .n_cp = CF_CP_UNKNOWN, .one = {(uint32_t)n, org, CF_NO_COPY, 0}};
    return cf_tv_str(s);
}

cf_tv cf_t__str_copy(cf_tr *r, const char *p, size_t n, uint32_t org)
{
    char *copy = cf_t__alloc(r, n + 1);
    if (copy == NULL) {
        return CF_TV_ERR;
    }
    if (n != 0) {
        memcpy(copy, p, n);
    }
    return cf_t__str_of(r, copy, n, org);
}

cf_tv cf_t__str_cstr(cf_tr *r, const char *s)
{
    return cf_t__str_of(r, s, strlen(s), CF_ORG_NONE);
}

cf_tv cf_t__str_sub(cf_tr *r, const cf_tstr *s, uint32_t from, uint32_t to)
{
    if (from >= to) {
        from = to = from < s->n ? from : s->n;
    }
    cf_tstr *t = cf_t__alloc(r, sizeof *t);
    if (t == NULL) {
        return CF_TV_ERR;
    }
    *t = (cf_tstr){.p = s->p + from,
                   .n = to - from,
                   .n_cp = s->n_cp == s->n ? to - from : CF_CP_UNKNOWN,
                   .is_markup = s->is_markup};
    if (s->n_seg == 0) {
        t->one = s->one;
        t->one.len = t->n;
        t->one.off = off_plus(s->one.off, from);
        return cf_tv_str(t);
    }
    if (from == 0 && to == s->n) {
        t->n_seg = s->n_seg;
        t->seg = s->seg;
        return cf_tv_str(t);
    }
    /* Copies the segments that the slice touches, trimming the outer ones. */
    uint32_t at, first = seg_find(r, s, from, &at);
    uint32_t last = first, end = at + s->seg[first].len;
    while (last + 1 < s->n_seg && end < to) {
        end += s->seg[++last].len;
    }
    uint32_t n = last - first + 1;
    cf_tseg cut = s->seg[first];
    cut.off = off_plus(cut.off, from - at);
    cut.len -= from - at;
    if (n == 1) {
        cut.len = t->n;
        t->one = cut;
        return cf_tv_str(t);
    }
    cf_tseg *seg = cf_t__alloc(r, n * sizeof *seg);
    if (seg == NULL) {
        return CF_TV_ERR;
    }
    memcpy(seg, s->seg + first, n * sizeof *seg);
    seg[0] = cut;
    seg[n - 1].len -= end - to;
    t->seg = seg;
    t->n_seg = n;
    return cf_tv_str(t);
}

cf_tv cf_t__str_mark(cf_tr *r, const cf_tstr *s, bool is_markup)
{
    cf_tstr *t = cf_t__alloc(r, sizeof *t);
    if (t == NULL) {
        return CF_TV_ERR;
    }
    *t = *s;
    t->is_markup = is_markup;
    return cf_tv_str(t);
}

cf_tv cf_t__concat(cf_tr *r, const cf_tstr *a, const cf_tstr *b)
{
    cf_tsb sb;
    cf_t__sb_init(&sb, r);
    size_t n = (size_t)a->n + b->n;
    if (n <= UINT32_MAX / 4 && n > 0 && n <= r->max_out) {
        sb.p = cf_t__alloc(r, n);
        sb.cap = sb.p != NULL ? (uint32_t)n : 0;
        sb.failed = sb.p == NULL;
    }
    cf_t__sb_str(&sb, a);
    cf_t__sb_str(&sb, b);
    return cf_t__sb_take(&sb, a->is_markup);
}

/* ---- code points -------------------------------------------------------- */

static uint32_t count_cps(const char *p, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += ((unsigned char)p[i] & 0xC0) != 0x80;
    }
    return count;
}

uint32_t cf_t__str_cps(const cf_tstr *s)
{
    /* Strings of templates and contexts have their count from the start
     * (invariant 3), so that this write is to a string of this render. */
    if (s->n_cp == CF_CP_UNKNOWN) {
        union {
            const cf_tstr *in;
            cf_tstr *out;
        } u = {s};
        u.out->n_cp = count_cps(s->p, s->n);
    }
    return s->n_cp;
}

uint32_t cf_t__str_at_cp(const cf_tstr *s, uint32_t i)
{
    uint32_t n_cp = cf_t__str_cps(s);
    if (i >= n_cp) {
        return s->n;
    }
    if (n_cp == s->n) {
        return i;
    }
    uint32_t at = 0;
    for (; i > 0; i--) {
        at++;
        while (at < s->n && ((unsigned char)s->p[at] & 0xC0) == 0x80) {
            at++;
        }
    }
    return at;
}

uint32_t cf_t__cps_before(const cf_tstr *s, uint32_t bytes)
{
    return cf_t__str_cps(s) == s->n ? bytes : count_cps(s->p, bytes);
}

/* One byte counted from the start, or from the end. */
static inline uint64_t byte_at(cf_str s, size_t i, bool is_back)
{
    return (unsigned char)s.p[is_back ? s.n - 1 - i : i];
}

/*
 * First (or last) occurrence by a rolling hash (Karp and Rabin, 1987): linear
 * where comparing at each place would be the product of both lengths.
 */
static uint32_t find_hashed(cf_str hay, cf_str needle, bool is_back)
{
    const uint64_t prime = 2147483647, base = 1000003;
    uint64_t want = 0, have = 0, top = 1;
    for (size_t i = 0; i < needle.n; i++) {
        want = (want * base + byte_at(needle, i, is_back)) % prime;
        have = (have * base + byte_at(hay, i, is_back)) % prime;
        top = i + 1 < needle.n ? top * base % prime : top;
    }
    for (size_t i = 0;; i++) {
        size_t at = is_back ? hay.n - needle.n - i : i;
        if (have == want && memcmp(hay.p + at, needle.p, needle.n) == 0) {
            return (uint32_t)at;
        }
        if (i + needle.n >= hay.n) {
            return UINT32_MAX;
        }
        have = (have + prime - byte_at(hay, i, is_back) * top % prime) % prime;
        have = (have * base + byte_at(hay, i + needle.n, is_back)) % prime;
    }
}

/* Bytes that a plain comparison may read before hashing is used instead. */
enum { PLAIN_BYTES = 1 << 14 };

uint32_t cf_t__find(cf_str hay, cf_str needle, uint32_t from)
{
    if (needle.n == 0) {
        return from <= hay.n ? from : UINT32_MAX;
    }
    for (size_t work = 0; from + needle.n <= hay.n; work += needle.n) {
        if (work > PLAIN_BYTES && needle.n > 8) {
            uint32_t at = find_hashed(cf_str_make(hay.p + from, hay.n - from), needle, false);
            return at == UINT32_MAX ? at : from + at;
        }
        const char *at = memchr(hay.p + from, needle.p[0], hay.n - from - needle.n + 1);
        if (at == NULL) {
            break;
        }
        if (memcmp(at, needle.p, needle.n) == 0) {
            return (uint32_t)(at - hay.p);
        }
        from = (uint32_t)(at - hay.p) + 1;
    }
    return UINT32_MAX;
}

uint32_t cf_t__rfind(cf_str hay, cf_str needle)
{
    if (needle.n > hay.n) {
        return UINT32_MAX;
    }
    size_t at = hay.n - needle.n;
    for (size_t work = 0; needle.n != 0; work += needle.n) {
        if (work > PLAIN_BYTES && needle.n > 8) {
            return find_hashed(cf_str_make(hay.p, at + needle.n), needle, true);
        }
        if (memcmp(hay.p + at, needle.p, needle.n) == 0) {
            break;
        }
        if (at-- == 0) {
            return UINT32_MAX;
        }
    }
    return (uint32_t)at;
}
