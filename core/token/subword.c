/*
 * subword.c - implements BPE over characters or bytes, Unigram, WordPiece,
 * WordLevel.
 *
 * Source: tokenizers, src/models/.  Known oddities are kept: a character that
 * BPE drops does not count in the places of those after it, and an unknown
 * character waits until a known one comes, even past byte tokens.
 */
#include "core/token/subword.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

/* ---- making -------------------------------------------------------------- */

static void find_bytes(cf_subword *m, const cf_vocab *v)
{
    for (unsigned b = 0; b < 256; b++) {
        char s[8];
        snprintf(s, sizeof s, "<0x%02X>", b);
        m->byte[b] = cf_vocab__find(v, cf_str_from(s));
    }
}

/* Whether every byte has a letter, and nothing is added to letters. */
static bool find_letters(cf_subword *m, const cf_vocab *v)
{
    for (unsigned b = 0; b < 256; b++) {
        char s[2];
        size_t n = cf_bpe__spell(s, (unsigned char)b);
        m->byte[b] = cf_vocab__find(v, cf_str_make(s, n));
        if (m->byte[b] == CF_TOKEN_NONE) {
            return false;
        }
    }
    return m->prefix.n == 0 && m->suffix.n == 0;
}

static cf_status init_unigram(cf_subword *m, const cf_vocab *v, cf_error *err)
{
    cf_str *key = cf_calloc(m->n_score + 1, sizeof *key);
    if (key == NULL) {
        return cf_oom(err);
    }
    double least = INFINITY;
    for (size_t i = 0; i < m->n_score; i++) {
        cf_str piece = cf_vocab__spelling(v, (cf_token)i);
        if (cf_vocab__find(v, piece) != CF_TOKEN_NONE) {
            key[i] = piece; /* not only an added token */
        }
        least = m->score[i] < least ? m->score[i] : least;
    }
    m->unk_score = least - 10.0;
    cf_status st = cf_trie_init(&m->pieces, key, m->n_score, true, err);
    cf_free(key);
    return st;
}

cf_status cf_subword_init(cf_subword *m, const cf_vocab *v, const cf_vocab_desc *desc,
                          cf_error *err)
{
    if (m->max_chars > CF_WORDPIECE_CHARS_MAX) {
        return cf_fail(err, CF_ELIMIT, "words of %zu characters, at most %d are supported",
                       m->max_chars, CF_WORDPIECE_CHARS_MAX);
    }
    m->raw_bytes = m->raw_bytes && find_letters(m, v);
    if (!m->raw_bytes) {
        find_bytes(m, v);
    }
    if (m->kind == CF_SUBWORD_UNIGRAM) {
        return init_unigram(m, v, err);
    }
    return m->kind == CF_SUBWORD_BPE ? cf_merges__init(&m->merges, v, desc, err) : CF_OK;
}

void cf_subword_deinit(cf_subword *m)
{
    cf_merges__deinit(&m->merges);
    cf_trie_deinit(&m->pieces);
    cf_free(m->score);
    memset(m, 0, sizeof *m);
}

void cf_subwording_deinit(cf_subwording *w)
{
    cf_merge__deinit(&w->merge);
    cf_free(w->spelled);
    cf_free(w->path);
    w->spelled = NULL;
    w->path = NULL;
    w->cap_spelled = w->cap_path = 0;
}

/* ---- looking up ---------------------------------------------------------- */

/* The token spelled prefix + s + suffix. */
static cf_status find_spelled(cf_subwording *w, cf_str prefix, cf_str s, cf_str suffix,
                              cf_token *out)
{
    size_t n = prefix.n + s.n + suffix.n;
    if (prefix.n == 0 && suffix.n == 0) {
        *out = cf_vocab__find(w->vocab, s);
        return CF_OK;
    }
    if (!cf_grow(&w->spelled, &w->cap_spelled, n, 1)) {
        return cf_oom(w->err);
    }
    memcpy(w->spelled, prefix.n != 0 ? prefix.p : "", prefix.n);
    memcpy(w->spelled + prefix.n, s.p, s.n);
    memcpy(w->spelled + prefix.n + s.n, suffix.n != 0 ? suffix.p : "", suffix.n);
    *out = cf_vocab__find(w->vocab, cf_str_make(w->spelled, n));
    return CF_OK;
}

/* A piece of raw bytes as a whole, spelled in letters. */
static cf_status find_whole(cf_subwording *w, cf_str piece, cf_token *out)
{
    if (!w->model->raw_bytes) {
        *out = cf_vocab__find(w->vocab, piece);
        return CF_OK;
    }
    *out = CF_TOKEN_NONE;
    if (piece.n > w->vocab->max_len) {
        return CF_OK;
    }
    if (!cf_grow(&w->spelled, &w->cap_spelled, 2 * piece.n, 1)) {
        return cf_oom(w->err);
    }
    size_t n = 0;
    for (size_t i = 0; i < piece.n; i++) {
        n += cf_bpe__spell(w->spelled + n, (unsigned char)piece.p[i]);
    }
    *out = cf_vocab__find(w->vocab, cf_str_make(w->spelled, n));
    return CF_OK;
}

static cf_status no_token(const cf_subwording *w, cf_str s)
{
    return cf_fail(w->err, CF_EFORMAT,
                   "'%.*s' is not in the vocabulary, which has no token for "
                   "unknown text",
                   s.n > 60 ? 60 : (int)s.n, s.p);
}

/* ---- BPE ----------------------------------------------------------------- */

/* The symbols of a piece, and the unknown one that waits to be added. */
typedef struct symbols {
    cf_subwording *w;
    size_t n;
    size_t at; /* where the next symbol's place begins */
    size_t unk_len;
} symbols;

static cf_status add_symbol(symbols *y, cf_token id, size_t len)
{
    CF_TRY(cf_merge__reserve(&y->w->merge, y->n + 1, y->w->err));
    y->w->merge.sym[y->n++] = (cf_symbol){.off = (uint32_t)y->at,
                                          .len = (uint32_t)len,
                                          .src = (uint32_t)y->at,
                                          .src_len = (uint32_t)len,
                                          .id = id,
                                          .prio = CF_MERGE_NONE,
                                          .joined = CF_TOKEN_NONE};
    y->at += len;
    return CF_OK;
}

static cf_status flush_unknown(symbols *y)
{
    size_t len = y->unk_len;
    y->unk_len = 0;
    return len != 0 ? add_symbol(y, y->w->model->unk, len) : CF_OK;
}

/* Whether every byte of s has a token. */
static bool has_bytes(const cf_subword *m, cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (m->byte[(unsigned char)s.p[i]] == CF_TOKEN_NONE) {
            return false;
        }
    }
    return true;
}

/* A character that has no token, spelled s and `len` bytes long. */
static cf_status add_unknown(symbols *y, cf_str s, size_t len)
{
    const cf_subword *m = y->w->model;
    if (m->byte_fallback && has_bytes(m, s)) {
        for (size_t i = 0; i < s.n; i++) {
            CF_TRY(add_symbol(y, m->byte[(unsigned char)s.p[i]], 1));
        }
        return CF_OK;
    }
    if (m->unk == CF_TOKEN_NONE) {
        return m->lacks_unk ? no_token(y->w, s) : CF_OK;
    }
    if (!m->fuse_unk) {
        CF_TRY(flush_unknown(y));
    }
    y->unk_len += len;
    return CF_OK;
}

static cf_status add_chars(symbols *y, cf_str piece)
{
    const cf_subword *m = y->w->model;
    const cf_str none = {NULL, 0};
    for (size_t i = 0; i < piece.n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, piece.p + i, piece.n - i);
        cf_str s = {piece.p + i, n};
        cf_str prefix = i > 0 ? m->prefix : none;
        cf_str suffix = i + n == piece.n ? m->suffix : none;
        cf_token id;
        CF_TRY(find_spelled(y->w, prefix, s, suffix, &id));
        if (id != CF_TOKEN_NONE) {
            CF_TRY(flush_unknown(y));
            CF_TRY(add_symbol(y, id, n));
        } else {
            if (prefix.n + suffix.n != 0) {
                s = cf_str_make(y->w->spelled, prefix.n + n + suffix.n);
            }
            CF_TRY(add_unknown(y, s, n));
        }
        i += n;
    }
    return flush_unknown(y);
}

static cf_status add_bytes(symbols *y, cf_str piece)
{
    const cf_subword *m = y->w->model;
    CF_TRY(cf_merge__reserve(&y->w->merge, piece.n, y->w->err));
    cf_symbol *sym = y->w->merge.sym;
    for (size_t i = 0; i < piece.n; i++) {
        sym[i] = (cf_symbol){.off = (uint32_t)i,
                             .len = 1,
                             .src = (uint32_t)i,
                             .src_len = 1,
                             .id = m->byte[(unsigned char)piece.p[i]],
                             .prio = CF_MERGE_NONE,
                             .joined = CF_TOKEN_NONE};
    }
    y->n = piece.n;
    return CF_OK;
}

static void pair(void *ud, cf_symbol *left, const cf_symbol *right)
{
    const cf_subwording *w = ud;
    cf_merges__pair(&w->model->merges, left, right);
}

static cf_status encode_bpe(cf_subwording *w, cf_str piece)
{
    if (w->model->ignore_merges) {
        cf_token id;
        CF_TRY(find_whole(w, piece, &id));
        if (id != CF_TOKEN_NONE) {
            return w->fn(w->ud, id, 0, piece.n);
        }
    }
    symbols y = {.w = w};
    CF_TRY(w->model->raw_bytes ? add_bytes(&y, piece) : add_chars(&y, piece));
    size_t n;
    CF_TRY(cf_merge__run(&w->merge, y.n, &n, pair, w, w->err));
    for (size_t i = 0; i < n; i++) {
        const cf_symbol *s = &w->merge.sym[i];
        CF_TRY(w->fn(w->ud, s->id, s->src, s->src + s->src_len));
    }
    return CF_OK;
}

/* ---- Unigram ------------------------------------------------------------- */

/* The best way to the place a node is for. */
typedef struct cf_path_node {
    double score;
    size_t from; /* where its last piece begins; SIZE_MAX: not reached */
    cf_token id;
    size_t next; /* on the best path, once that is known */
} cf_path_node;

static void offer(cf_path_node *node, double score, size_t from, cf_token id)
{
    if (node->from == SIZE_MAX || score > node->score) {
        node->score = score;
        node->from = from;
        node->id = id;
    }
}

/* Offers each piece that starts at `at`; *whole: one is the character. */
static void offer_pieces(const cf_subword *m, cf_path_node *path, cf_str s, size_t at, size_t len,
                         bool *whole)
{
    uint32_t node = CF_TRIE_ROOT;
    for (size_t i = at; i < s.n; i++) {
        node = cf_trie_step(&m->pieces, node, (unsigned char)s.p[i]);
        if (node == CF_TRIE_NONE) {
            return;
        }
        uint32_t value = m->pieces.node[node].value;
        if (value != CF_TRIE_NONE) {
            offer(&path[i + 1], path[at].score + m->score[value], at, (cf_token)value);
            *whole |= i + 1 - at == len;
        }
    }
}

/* A stretch of the best path; unknown characters side by side are one. */
static cf_status put_stretch(cf_subwording *w, cf_str piece, size_t from, size_t to)
{
    const cf_subword *m = w->model;
    cf_str s = {piece.p + from, to - from};
    cf_token id = cf_vocab__find(w->vocab, s);
    if (id == CF_TOKEN_NONE && m->byte_fallback && has_bytes(m, s)) {
        for (size_t i = 0; i < s.n; i++) {
            CF_TRY(w->fn(w->ud, m->byte[(unsigned char)s.p[i]], from, to));
        }
        return CF_OK;
    }
    id = id != CF_TOKEN_NONE ? id : m->unk;
    return id != CF_TOKEN_NONE ? w->fn(w->ud, id, from, to) : no_token(w, s);
}

static cf_status find_path(cf_subwording *w, cf_str piece)
{
    const cf_subword *m = w->model;
    if (!cf_grow(&w->path, &w->cap_path, piece.n + 1, sizeof *w->path)) {
        return cf_oom(w->err);
    }
    cf_path_node *path = w->path;
    for (size_t i = 0; i <= piece.n; i++) {
        path[i] = (cf_path_node){0, SIZE_MAX, CF_TOKEN_NONE, 0};
    }
    for (size_t at = 0; at < piece.n;) {
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, piece.p + at, piece.n - at);
        bool whole = false;
        offer_pieces(m, path, piece, at, len, &whole);
        if (!whole) {
            if (m->unk == CF_TOKEN_NONE) {
                return no_token(w, cf_str_make(piece.p + at, len));
            }
            offer(&path[at + len], path[at].score + m->unk_score, at, m->unk);
        }
        at += len;
    }
    for (size_t at = piece.n; at > 0; at = path[at].from) {
        path[path[at].from].next = at;
    }
    return CF_OK;
}

static cf_status encode_unigram(cf_subwording *w, cf_str piece)
{
    CF_TRY(find_path(w, piece));
    const cf_path_node *path = w->path;
    cf_token unk = w->model->unk;
    for (size_t at = 0; at < piece.n;) {
        size_t end = path[at].next;
        while (unk != CF_TOKEN_NONE && path[end].id == unk && end < piece.n &&
               path[path[end].next].id == unk) {
            end = path[end].next;
        }
        CF_TRY(put_stretch(w, piece, at, end));
        at = end;
    }
    return CF_OK;
}

/* ---- WordPiece and WordLevel --------------------------------------------- */

static cf_status encode_word(cf_subwording *w, cf_str piece)
{
    cf_token id = cf_vocab__find(w->vocab, piece);
    id = id != CF_TOKEN_NONE ? id : w->model->unk;
    return id != CF_TOKEN_NONE ? w->fn(w->ud, id, 0, piece.n) : no_token(w, piece);
}

/* The longest token at `from`; *to is `from` when there is none. */
static cf_status longest(cf_subwording *w, cf_str piece, size_t from, size_t *to, cf_token *id)
{
    const cf_str none = {NULL, 0};
    size_t max = w->vocab->max_len;
    size_t end = piece.n - from > max ? from + max : piece.n;
    for (; end > from; end--) {
        if (end < piece.n && ((unsigned char)piece.p[end] & 0xC0) == 0x80) {
            continue;
        }
        CF_TRY(find_spelled(w, from > 0 ? w->model->prefix : w->model->head,
                            cf_str_make(piece.p + from, end - from), none, id));
        if (*id != CF_TOKEN_NONE) {
            break;
        }
    }
    *to = end;
    return CF_OK;
}

static cf_status encode_wordpiece(cf_subwording *w, cf_str piece)
{
    const cf_subword *m = w->model;
    bool known = cf_utf8_count(piece.p, piece.n) <= m->max_chars;
    size_t n = 0;
    for (size_t at = 0; known && at < piece.n;) {
        size_t end;
        cf_token id = CF_TOKEN_NONE;
        CF_TRY(longest(w, piece, at, &end, &id));
        known = id != CF_TOKEN_NONE;
        CF_TRY(cf_merge__reserve(&w->merge, n + 1, w->err));
        w->merge.sym[n++] =
            (cf_symbol){.id = id, .src = (uint32_t)at, .src_len = (uint32_t)(end - at)};
        at = end;
    }
    if (!known) {
        return m->unk != CF_TOKEN_NONE ? w->fn(w->ud, m->unk, 0, piece.n) : no_token(w, piece);
    }
    for (size_t i = 0; i < n; i++) {
        const cf_symbol *s = &w->merge.sym[i];
        CF_TRY(w->fn(w->ud, s->id, s->src, s->src + s->src_len));
    }
    return CF_OK;
}

cf_status cf_subword_encode(cf_subwording *w, cf_str piece)
{
    switch (w->model->kind) {
    case CF_SUBWORD_BPE:
        return encode_bpe(w, piece);
    case CF_SUBWORD_UNIGRAM:
        return encode_unigram(w, piece);
    case CF_SUBWORD_WORDPIECE:
        return encode_wordpiece(w, piece);
    case CF_SUBWORD_WORDLEVEL:
        break;
    }
    return encode_word(w, piece);
}
