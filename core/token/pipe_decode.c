/*
 * pipe_decode.c - turns ids back into text by the steps of "decoder".
 *
 * Each step makes a new list of strings out of the one before it; the last
 * list is joined.  Source: tokenizers, src/decoders/.
 *
 * A single token's piece, as it reads in running text, goes through the same
 * steps as one that is neither first nor last, and keeps the bytes of a
 * character that it is only a part of.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/token/bpe.h"
#include "core/token/pipeline.h"
#include "core/token/tokenizer_new.h"

typedef struct strings {
    cf_str *v; /* [n], in the arena */
    size_t n;
} strings;

typedef struct decoding {
    cf_arena *arena;
    void *match;
    bool one; /* a single piece of running text */
    bool keeps_bytes;
    bool failed;
} decoding;

static cf_str keep(decoding *d, cf_buf *b)
{
    char *p = b->failed ? NULL : cf_arena_strndup(d->arena, cf_buf_cstr(b), b->n);
    d->failed |= p == NULL;
    cf_str s = {p != NULL ? p : "", p != NULL ? b->n : 0};
    cf_buf_reset(b);
    return s;
}

/* Appends bytes as UTF-8: U+FFFD for each longest start of a character that
 * is cut off, and for each other invalid byte. */
static void add_lossy(cf_buf *out, cf_str s)
{
    for (size_t i = 0; i < s.n;) {
        size_t good = cf_utf8_valid_prefix(s.p + i, s.n - i);
        cf_buf_add(out, s.p + i, good);
        i += good;
        if (i == s.n) {
            return;
        }
        cf_buf_adds(out, "\xEF\xBF\xBD");
        size_t bad = 1;
        for (size_t n = 2; n < 4 && i + n <= s.n; n++) {
            if (cf_utf8_incomplete_tail(s.p + i, n) == n) {
                bad = n;
            }
        }
        i += bad;
    }
}

/* Replaces every `want` by `with`. */
static void add_replaced(cf_buf *out, cf_str s, cf_str want, cf_str with)
{
    cf_pattern p;
    cf_pattern_init_literal(&p, want);
    cf_search search = {&p, NULL, s, 0, SIZE_MAX};
    size_t done = 0;
    size_t a, b;
    bool found = want.n != 0;
    while (found) {
        cf_ignore(cf_search_next(&search, &a, &b, &found, NULL));
        if (found) {
            cf_buf_add(out, s.p + done, a - done);
            cf_buf_add(out, with.p, with.n);
            done = b;
        }
    }
    cf_buf_add(out, s.p + done, s.n - done);
}

/* ---- steps --------------------------------------------------------------- */

/* The bytes that a token's letters stand for, or its text. */
static void add_letters(cf_buf *out, cf_str s)
{
    size_t before = out->n;
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, s.p + i, s.n - i);
        int byte = cp == CF_UTF8_BAD ? -1 : cf_bpe__byte_of(cp);
        if (byte < 0) {
            out->n = before;
            cf_buf_add(out, s.p, s.n);
            return;
        }
        cf_buf_addc(out, (char)byte);
    }
}

static void byte_level(decoding *d, strings *list, cf_buf *b)
{
    cf_buf bytes = CF_BUF_INIT;
    for (size_t i = 0; i < list->n; i++) {
        add_letters(&bytes, list->v[i]);
    }
    if (d->one) {
        cf_buf_add(b, cf_buf_cstr(&bytes), bytes.n);
    } else {
        add_lossy(b, cf_buf_str(&bytes));
    }
    b->failed |= bytes.failed;
    cf_buf_deinit(&bytes);
    if (list->n != 0) {
        list->v[0] = keep(d, b);
        list->n = 1;
    }
}

/* Ends a run of byte tokens: text where it is UTF-8, else one U+FFFD each. */
static void end_bytes(decoding *d, strings *list, cf_buf *run)
{
    if (run->n == 0) {
        return;
    }
    if (!d->one && !d->keeps_bytes && cf_utf8_valid_prefix(run->p, run->n) != run->n) {
        size_t n = run->n;
        cf_buf_reset(run);
        for (size_t i = 0; i < n; i++) {
            cf_buf_adds(run, "\xEF\xBF\xBD");
        }
    }
    list->v[list->n++] = keep(d, run);
}

static void byte_fallback(decoding *d, strings *list, cf_buf *b)
{
    strings out = {list->v, 0};
    for (size_t i = 0; i < list->n; i++) {
        int byte = cf_token__byte_spelled(list->v[i]);
        cf_str s = list->v[i];
        if (byte >= 0) {
            cf_buf_addc(b, (char)byte);
            continue;
        }
        end_bytes(d, &out, b);
        out.v[out.n++] = s;
    }
    end_bytes(d, &out, b);
    *list = out;
}

static void fuse(decoding *d, strings *list, cf_buf *b)
{
    for (size_t i = 0; i < list->n; i++) {
        cf_buf_add(b, list->v[i].p, list->v[i].n);
    }
    if (list->n != 0) {
        list->v[0] = keep(d, b);
        list->n = 1;
    }
}

static cf_str stripped(const cf_decode_step *step, cf_str s)
{
    size_t n = step->text.n;
    for (size_t i = 0; i < step->start && s.n >= n && n != 0 && memcmp(s.p, step->text.p, n) == 0;
         i++) {
        s = cf_str_make(s.p + n, s.n - n);
    }
    for (size_t i = 0;
         i < step->stop && s.n >= n && n != 0 && memcmp(s.p + s.n - n, step->text.p, n) == 0; i++) {
        s.n -= n;
    }
    return s;
}

static void add_pattern_replaced(decoding *d, cf_buf *b, const cf_decode_step *step, cf_str s)
{
    cf_search search = {&step->pattern, d->match, s, 0, SIZE_MAX};
    size_t done = 0;
    size_t from, to;
    /* A piece of a broken vocabulary is not for PCRE2. */
    bool found = s.n != 0 && cf_utf8_valid_prefix(s.p, s.n) == s.n;
    while (found) {
        if (cf_search_next(&search, &from, &to, &found, NULL) != CF_OK) {
            d->failed = true;
            return;
        }
        if (found) {
            cf_buf_add(b, s.p + done, from - done);
            cf_buf_add(b, step->text.p, step->text.n);
            done = to;
        }
    }
    cf_buf_add(b, s.p + done, s.n - done);
}

/* English contractions and the spaces before signs, in this order. */
static cf_str cleaned(decoding *d, cf_str s, cf_buf *b)
{
    static const char *const pairs[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        add_replaced(b, s, cf_str_from(pairs[i][0]), cf_str_from(pairs[i][1]));
        s = keep(d, b);
    }
    return s;
}

static void metaspace(decoding *d, const cf_decode_step *step, strings *list, cf_buf *b)
{
    for (size_t i = 0; i < list->n; i++) {
        bool drop = i == 0 && !step->keep_first && !d->one;
        add_replaced(b, list->v[i], step->text, cf_str_make(" ", drop ? 0 : 1));
        list->v[i] = keep(d, b);
    }
}

static void wordpiece(decoding *d, const cf_decode_step *step, strings *list, cf_buf *b)
{
    cf_str prefix = step->text;
    for (size_t i = 0; i < list->n; i++) {
        cf_str s = list->v[i];
        if (i != 0 || d->one) {
            if (s.n >= prefix.n && prefix.n != 0 && memcmp(s.p, prefix.p, prefix.n) == 0) {
                s = cf_str_make(s.p + prefix.n, s.n - prefix.n);
            } else {
                cf_buf_addc(b, ' ');
                cf_buf_add(b, s.p, s.n);
                s = keep(d, b);
            }
        }
        list->v[i] = step->cleanup ? cleaned(d, s, b) : s;
    }
}

static void suffixes(decoding *d, const cf_decode_step *step, strings *list, cf_buf *b)
{
    for (size_t i = 0; i < list->n; i++) {
        bool last = i + 1 == list->n && !d->one;
        add_replaced(b, list->v[i], step->text, cf_str_make(" ", last ? 0 : 1));
        list->v[i] = keep(d, b);
    }
}

static void ctc(decoding *d, const cf_decode_step *step, strings *list, cf_buf *b)
{
    size_t n = 0;
    cf_str last = {NULL, 0};
    for (size_t i = 0; i < list->n; i++) {
        cf_str s = list->v[i];
        bool again = i > 0 && cf_str_eq(s, last);
        last = s;
        if (again) {
            continue;
        }
        add_replaced(b, s, step->text, cf_str_make("", 0));
        s = keep(d, b);
        if (step->cleanup) {
            s = cleaned(d, s, b);
            add_replaced(b, s, step->delimiter, cf_str_make(" ", 1));
            s = keep(d, b);
        }
        if (s.n != 0) {
            list->v[n++] = s;
        }
    }
    list->n = n;
}

static void apply(decoding *d, const cf_decode_step *step, strings *list, cf_buf *b)
{
    switch (step->kind) {
    case CF_DECODE_BYTE_LEVEL:
        byte_level(d, list, b);
        return;
    case CF_DECODE_BYTE_FALLBACK:
        byte_fallback(d, list, b);
        return;
    case CF_DECODE_FUSE:
        fuse(d, list, b);
        return;
    case CF_DECODE_METASPACE:
        metaspace(d, step, list, b);
        return;
    case CF_DECODE_WORDPIECE:
        wordpiece(d, step, list, b);
        return;
    case CF_DECODE_BPE:
        suffixes(d, step, list, b);
        return;
    case CF_DECODE_CTC:
        ctc(d, step, list, b);
        return;
    case CF_DECODE_STRIP:
    case CF_DECODE_REPLACE:
        break;
    }
    for (size_t i = 0; i < list->n; i++) {
        if (step->kind == CF_DECODE_STRIP) {
            list->v[i] = stripped(step, list->v[i]);
        } else {
            add_pattern_replaced(d, b, step, list->v[i]);
            list->v[i] = keep(d, b);
        }
    }
}

/* ---- the two ways in ----------------------------------------------------- */

static bool is_shown(const cf_vocab *v, cf_token id, bool spell_control)
{
    return id >= 0 && (size_t)id < v->n && v->piece[id].n != 0 &&
           (spell_control || !cf_vocab__is_control(v, id));
}

/* Steps after which the tokens are one text are not for a single piece. */
static bool skips(const decoding *d, const cf_pipeline *p, size_t step)
{
    if (!d->one || p->decode[step].kind != CF_DECODE_STRIP) {
        return false;
    }
    for (size_t i = 0; i < step; i++) {
        if (p->decode[i].kind == CF_DECODE_FUSE || p->decode[i].kind == CF_DECODE_BYTE_LEVEL) {
            return true;
        }
    }
    return false;
}

static void decode(cf_buf *out, const cf_pipeline *p, strings list, decoding *d)
{
    cf_buf b = CF_BUF_INIT;
    d->match = cf_pattern_new_match();
    d->failed |= d->match == NULL;
    for (size_t i = 0; !d->failed && i < p->n_decode; i++) {
        if (!skips(d, p, i)) {
            apply(d, &p->decode[i], &list, &b);
        }
    }
    for (size_t i = 0; i < list.n; i++) {
        if (p->n_decode == 0 && (i != 0 || d->one)) {
            cf_buf_addc(out, ' ');
        }
        cf_buf_add(out, list.v[i].p, list.v[i].n);
    }
    out->failed |= d->failed || b.failed;
    cf_pattern_free_match(d->match);
    cf_buf_deinit(&b);
}

void cf_pipeline__decode(cf_buf *out, const cf_pipeline *p, const cf_vocab *v, const cf_token *ids,
                         size_t n, bool spell_control)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    decoding d = {.arena = &arena, .keeps_bytes = p->keeps_bytes};
    strings list = {cf_arena_calloc(&arena, n + 1, sizeof *list.v), 0};
    d.failed = list.v == NULL;
    for (size_t i = 0; !d.failed && i < n; i++) {
        if (is_shown(v, ids[i], spell_control)) {
            list.v[list.n++] = cf_vocab__spelling(v, ids[i]);
        }
    }
    decode(out, p, list, &d);
    cf_arena_deinit(&arena);
}

void cf_pipeline__piece(cf_buf *out, const cf_pipeline *p, const cf_vocab *v, cf_token id,
                        bool spell_control)
{
    if (!is_shown(v, id, spell_control)) {
        return;
    }
    if (v->piece[id].type == CF_TOKEN_CONTROL || v->piece[id].type == CF_TOKEN_USER_DEFINED) {
        cf_buf_add(out, v->piece[id].p, v->piece[id].n);
        return;
    }
    cf_arena arena;
    cf_arena_init(&arena, 0);
    decoding d = {.arena = &arena, .one = true};
    cf_str s = cf_vocab__spelling(v, id);
    decode(out, p, (strings){&s, 1}, &d);
    cf_arena_deinit(&arena);
}
