/*
 * norm_unicode.c - implements Unicode's normalisation forms and SentencePiece's
 * character map.
 *
 * Both write a list of characters that says for each which characters of the
 * text it replaces.  Decomposed marks are put in canonical order with what
 * they replace, and two characters that are composed replace what both did.
 * Source: UAX #15; the lists are those of the crate that Hugging Face's
 * tokenizers use (unicode-normalization-alignments).
 */
#include <string.h>
#include <utf8proc.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/token/normalize.h"

enum { DECOMPOSED_MAX = 32, SMALL_RUN = 16, CLASSES = 256 };

static unsigned class_of(uint32_t cp)
{
    return cp < 0x300 ? 0 : (unsigned)utf8proc_get_property((int32_t)cp)->combining_class;
}

/* Stable and linear, for text that is nothing but marks. */
static bool sort_long(cf_made_char *v, size_t n)
{
    cf_made_char *copy = cf_calloc(n, sizeof *copy);
    if (copy == NULL) {
        return false;
    }
    size_t at[CLASSES + 1] = {0};
    for (size_t i = 0; i < n; i++) {
        at[(class_of(v[i].cp) & 0xFF) + 1]++;
    }
    for (size_t c = 0; c < CLASSES; c++) {
        at[c + 1] += at[c];
    }
    memcpy(copy, v, n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        v[at[class_of(copy[i].cp) & 0xFF]++] = copy[i];
    }
    cf_free(copy);
    return true;
}

static void sort_short(cf_made_char *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        cf_made_char m = v[i];
        size_t k = i;
        for (; k > 0 && class_of(v[k - 1].cp) > class_of(m.cp); k--) {
            v[k] = v[k - 1];
        }
        v[k] = m;
    }
}

/* Puts every run of marks in canonical order. */
static bool reorder(cf_made_char *v, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (class_of(v[i].cp) == 0) {
            i++;
            continue;
        }
        size_t from = i;
        while (i < n && class_of(v[i].cp) != 0) {
            i++;
        }
        if (i - from <= SMALL_RUN) {
            sort_short(v + from, i - from);
        } else if (!sort_long(v + from, i - from)) {
            return false;
        }
    }
    return true;
}

static bool decompose(cf_normalizing *z, cf_str s, bool compat)
{
    bool ok = true;
    int how = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
    utf8proc_option_t options = (utf8proc_option_t)(compat ? how | UTF8PROC_COMPAT : how);
    for (size_t i = 0; ok && i < s.n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, s.p + i, s.n - i);
        utf8proc_int32_t part[DECOMPOSED_MAX];
        int boundary = 0;
        utf8proc_ssize_t n = cp < 0x80 ? 0
                                       : utf8proc_decompose_char((int32_t)cp, part, DECOMPOSED_MAX,
                                                                 options, &boundary);
        if (n <= 0 || n > DECOMPOSED_MAX) {
            cf_norm__add(z, cp, 0, &ok);
            continue;
        }
        for (utf8proc_ssize_t k = 0; k < n; k++) {
            cf_norm__add(z, (uint32_t)part[k], k > 0, &ok);
        }
    }
    return ok && reorder(z->made, z->n_made);
}

/* The composition of two characters, or 0. */
static uint32_t composed(uint32_t a, uint32_t b)
{
    if (b < 0x300 || (b >= 0x3400 && b < 0xA000)) {
        return 0; /* nothing composes with these */
    }
    utf8proc_int32_t pair[3] = {(int32_t)a, (int32_t)b, 0};
    utf8proc_ssize_t n =
        utf8proc_normalize_utf32(pair, 2, (utf8proc_option_t)(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    return n == 1 ? (uint32_t)pair[0] : 0;
}

static void compose(cf_normalizing *z)
{
    cf_made_char *v = z->made;
    size_t n = 0;
    size_t starter = SIZE_MAX;
    int last = -1; /* class of the mark before; -1: directly after starter */
    for (size_t i = 0; i < z->n_made; i++) {
        int class = (int)class_of(v[i].cp);
        if (starter != SIZE_MAX && last < class) {
            uint32_t made = composed(v[starter].cp, v[i].cp);
            if (made != 0) {
                v[starter].cp = made;
                v[starter].change += v[i].change - 1;
                continue;
            }
        }
        if (class == 0) {
            starter = n;
        }
        last = class == 0 ? -1 : class;
        v[n++] = v[i];
    }
    z->n_made = n;
}

bool cf_norm__unicode(cf_normalizing *z, cf_norm_kind form, cf_str text)
{
    bool compat = form == CF_NORM_NFKC || form == CF_NORM_NFKD;
    if (!decompose(z, text, compat)) {
        return false;
    }
    if (form == CF_NORM_NFC || form == CF_NORM_NFKC) {
        compose(z);
    }
    return true;
}

/* ---- SentencePiece's map ------------------------------------------------- */

/* A unit of the double array (darts-clone): label, offset, leaf, value. */
static uint32_t unit_at(const cf_charsmap *m, size_t i)
{
    const unsigned char *p = m->unit + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static size_t unit_offset(uint32_t u)
{
    return (size_t)(u >> 10) << ((u & 0x200) >> 6);
}

/* The replacement for the shortest prefix of s that has one. */
static bool look_up(const cf_charsmap *m, cf_str s, cf_str *out)
{
    size_t at = 0;
    if (m->n_unit == 0) {
        return false;
    }
    at ^= unit_offset(unit_at(m, 0));
    for (size_t i = 0; i < s.n && s.p[i] != '\0'; i++) {
        unsigned char c = (unsigned char)s.p[i];
        at ^= c;
        if (at >= m->n_unit) {
            return false;
        }
        uint32_t u = unit_at(m, at);
        if ((u & UINT32_C(0x800000FF)) != c) {
            return false;
        }
        at ^= unit_offset(u);
        if ((u >> 8 & 1) == 0) {
            continue;
        }
        size_t text = at < m->n_unit ? unit_at(m, at) & INT32_MAX : m->n_text;
        if (text >= m->n_text) {
            return false;
        }
        const char *end = memchr(m->text + text, '\0', m->n_text - text);
        *out = cf_str_make(m->text + text,
                           end != NULL ? (size_t)(end - (m->text + text)) : m->n_text - text);
        return true;
    }
    return false;
}

/* `with` takes the place of n_old characters. */
static void put_replacement(cf_normalizing *z, size_t n_old, cf_str with, bool *ok)
{
    size_t first = z->n_made;
    for (size_t i = 0; i < with.n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, with.p + i, with.n - i);
        cf_norm__add(z, cp == CF_UTF8_BAD ? 0xFFFD : cp, 0, ok);
    }
    size_t n_new = z->n_made - first;
    if (!*ok) {
        return;
    }
    for (size_t i = n_old; i < n_new; i++) {
        z->made[first + i].change = 1;
    }
    if (n_new < n_old && z->n_made > 0) {
        z->made[z->n_made - 1].change -= (int32_t)(n_old - n_new);
    }
}

/* The end of the grapheme cluster that starts at byte `at`. */
static size_t cluster_end(cf_str s, size_t at)
{
    utf8proc_int32_t state = 0;
    uint32_t cp, next;
    at += cf_utf8_decode(&cp, s.p + at, s.n - at);
    while (at < s.n) {
        /* No ASCII character but the line feed after CR joins another. */
        if (cp < 0x80 && (unsigned char)s.p[at] < 0x80) {
            return cp == '\r' && s.p[at] == '\n' ? at + 1 : at;
        }
        size_t n = cf_utf8_decode(&next, s.p + at, s.n - at);
        if (utf8proc_grapheme_break_stateful((int32_t)cp, (int32_t)next, &state)) {
            return at;
        }
        cp = next;
        at += n;
    }
    return at;
}

/* By clusters: a small one is looked up as a whole and is replaced as a whole
 * by what its shortest known prefix becomes; others character by character. */
bool cf_norm__charsmap(cf_normalizing *z, const cf_charsmap *map, cf_str s)
{
    enum { SMALL_CLUSTER = 6 };
    bool ok = true;
    cf_str with;
    for (size_t at = 0; ok && at < s.n;) {
        size_t end = cluster_end(s, at);
        cf_str cluster = {s.p + at, end - at};
        if (cluster.n < SMALL_CLUSTER && look_up(map, cluster, &with)) {
            put_replacement(z, cf_utf8_count(cluster.p, cluster.n), with, &ok);
            at = end;
            continue;
        }
        while (ok && at < end) {
            uint32_t cp;
            size_t n = cf_utf8_decode(&cp, s.p + at, end - at);
            if (look_up(map, cf_str_make(s.p + at, n), &with)) {
                put_replacement(z, 1, with, &ok);
            } else {
                cf_norm__add(z, cp, 0, &ok);
            }
            at += n;
        }
    }
    return ok;
}
