/*
 * spm.c - implements SentencePiece's BPE: merges characters by the score of the
 * resulting piece.
 *
 * The text is spelled with U+2581 for each space, and one in front where the
 * file asks for it.  Characters that are not part of a piece become the tokens
 * of their bytes.  If no piece has a space after another character, merges
 * never cross such a place, and each word is merged by itself.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/token/tokenizer_impl.h"

#define SPACE "\xE2\x96\x81" /* U+2581 */
enum { SPACE_BYTES = 3 };

/* A byte that is not part of a character stays alone. */
static bool is_stray(const cf_encoder *e, const cf_symbol *s)
{
    return s->len == 1 && (unsigned char)e->buf[s->off] >= 0x80;
}

static void pair(void *ud, cf_symbol *left, const cf_symbol *right)
{
    const cf_encoder *e = ud;
    const cf_vocab *v = &e->tok->vocab;
    left->prio = CF_MERGE_NONE;
    left->joined = CF_TOKEN_NONE;
    size_t n = (size_t)left->len + right->len;
    if (n > v->max_len || is_stray(e, left) || is_stray(e, right)) {
        return;
    }
    cf_token id = cf_vocab__find(v, cf_str_make(e->buf + left->off, n));
    if (id != CF_TOKEN_NONE && cf_vocab__is_text(v, id)) {
        left->prio = v->piece[id].prio;
        left->joined = id;
    }
}

/* The bytes of a symbol that is not a piece.  A space falls back to the byte of
 * the space; one that was put in front is left out. */
static cf_status put_bytes(cf_encoder *e, const cf_symbol *s)
{
    const cf_tokenizer *tok = e->tok;
    const char *p = e->buf + s->off;
    size_t n = s->len;
    if (n == SPACE_BYTES && memcmp(p, SPACE, n) == 0 && s->src_len <= 1) {
        p = " ";
        n = s->src_len;
    }
    for (size_t i = 0; i < n; i++) {
        if (tok->byte[(unsigned char)p[i]] == CF_TOKEN_NONE) {
            return tok->named.unk == CF_TOKEN_NONE
                       ? CF_OK
                       : cf_encoder__put(e, tok->named.unk, s->src, s->src_len);
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t off = i == 0 ? s->src : (size_t)s->src + s->src_len;
        CF_TRY(cf_encoder__put(e, tok->byte[(unsigned char)p[i]], off, i == 0 ? s->src_len : 0));
    }
    return CF_OK;
}

/* Merges the n symbols collected so far and appends their tokens. */
static cf_status flush(cf_encoder *e, size_t n)
{
    const cf_vocab *v = &e->tok->vocab;
    CF_TRY(cf_merge__run(&e->merge, n, &n, pair, e, e->err));
    for (size_t i = 0; i < n; i++) {
        const cf_symbol *s = &e->merge.sym[i];
        cf_token id = s->id;
        if (id == CF_TOKEN_NONE && !is_stray(e, s)) {
            id = cf_vocab__find(v, cf_str_make(e->buf + s->off, s->len));
        }
        if (id != CF_TOKEN_NONE && cf_vocab__is_text(v, id)) {
            CF_TRY(cf_encoder__put(e, id, s->src, s->src_len));
        } else {
            CF_TRY(put_bytes(e, s));
        }
    }
    return CF_OK;
}

typedef struct word {
    size_t n_sym, n_byte;
    bool ends_in_space;
} word;

/* Adds one character, spelled p[0..n), for text[src..src + src_len). */
static cf_status add(cf_encoder *e, word *w, const char *p, size_t n, size_t src, size_t src_len)
{
    bool is_space = n == SPACE_BYTES && memcmp(p, SPACE, n) == 0;
    if (is_space && w->n_sym > 0 && !w->ends_in_space && !e->tok->joins_spaces) {
        CF_TRY(flush(e, w->n_sym));
        w->n_sym = w->n_byte = 0;
    }
    if (w->n_byte + n > UINT32_MAX) {
        return cf_fail(e->err, CF_ELIMIT, "the text is too long");
    }
    CF_TRY(cf_merge__reserve(&e->merge, w->n_sym + 1, e->err));
    void *buf = e->buf;
    bool ok = cf_merge__grow(&buf, &e->cap_buf, w->n_byte + n, 1);
    e->buf = buf;
    if (!ok) {
        return cf_oom(e->err);
    }
    memcpy(e->buf + w->n_byte, p, n);
    e->merge.sym[w->n_sym++] = (cf_symbol){.off = (uint32_t)w->n_byte,
                                           .len = (uint32_t)n,
                                           .src = (uint32_t)src,
                                           .src_len = (uint32_t)src_len,
                                           .id = CF_TOKEN_NONE,
                                           .prio = CF_MERGE_NONE,
                                           .joined = CF_TOKEN_NONE};
    w->n_byte += n;
    w->ends_in_space = is_space;
    return CF_OK;
}

cf_status cf_spm__encode(cf_encoder *e, size_t from, size_t to)
{
    word w = {0};
    if (e->tok->space_prefix) {
        CF_TRY(add(e, &w, SPACE, SPACE_BYTES, from, 0));
    }
    for (size_t i = from; i < to;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, e->text.p + i, to - i);
        if (cp == ' ') {
            CF_TRY(add(e, &w, SPACE, SPACE_BYTES, i, n));
        } else {
            CF_TRY(add(e, &w, e->text.p + i, n, i, n));
        }
        i += n;
    }
    return flush(e, w.n_sym);
}
