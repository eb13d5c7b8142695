/*
 * token_trie.c - builds tries from pieces and classifies the tokens of strings.
 */
#include "core/constrain/token_trie.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/schema/json_char.h"

/* A text to be put into a trie. */
typedef struct item {
    const char *p;
    uint32_t n;
    cf_entry entry;
} item;

static int by_bytes(const void *x, const void *y)
{
    const item *a = x;
    const item *b = y;
    size_t n = a->n < b->n ? a->n : b->n;
    int c = memcmp(a->p, b->p, n);
    if (c == 0) {
        c = (a->n > b->n) - (a->n < b->n);
    }
    return c != 0 ? c : (a->entry.id > b->entry.id) - (a->entry.id < b->entry.id);
}

static void trie_deinit(cf_trie *t)
{
    cf_free(t->byte);
    cf_free(t->depth);
    cf_free(t->end);
    cf_free(t->entry_at);
    cf_free(t->entry);
    cf_free(t->slice);
    memset(t, 0, sizeof *t);
}

static bool trie_reserve(cf_trie *t, size_t n, size_t n_entry)
{
    t->byte = cf_calloc(n, sizeof *t->byte);
    t->depth = cf_calloc(n, sizeof *t->depth);
    t->end = cf_calloc(n, sizeof *t->end);
    t->entry_at = cf_calloc(n + 1, sizeof *t->entry_at);
    t->entry = cf_calloc(n_entry > 0 ? n_entry : 1, sizeof *t->entry);
    return t->byte != NULL && t->depth != NULL && t->end != NULL && t->entry_at != NULL &&
           t->entry != NULL;
}

static size_t common(const item *a, const item *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    size_t i = 0;
    while (i < n && a->p[i] == b->p[i]) {
        i++;
    }
    return i;
}

/* Sorts v[0..n) and makes the trie of it; false when memory ran out. */
static bool trie_make(cf_trie *t, item *v, size_t n)
{
    memset(t, 0, sizeof *t);
    if (n > 1) {
        qsort(v, n, sizeof *v, by_bytes);
    }
    size_t n_node = 1;
    for (size_t i = 0; i < n; i++) {
        n_node += v[i].n - (i > 0 ? common(&v[i - 1], &v[i]) : 0);
    }
    if (!trie_reserve(t, n_node, n)) {
        trie_deinit(t);
        return false;
    }
    uint32_t open[CF_PIECE_MAX + 1] = {0}; /* the path to the last node */
    size_t depth = 0;
    t->n = 1;
    for (size_t i = 0; i < n; i++) {
        size_t same = i > 0 ? common(&v[i - 1], &v[i]) : 0;
        for (; depth > same; depth--) {
            t->end[open[depth]] = (uint32_t)t->n;
        }
        for (; depth < v[i].n; depth++) {
            uint32_t node = (uint32_t)t->n++;
            t->byte[node] = (uint8_t)v[i].p[depth];
            t->depth[node] = (uint16_t)(depth + 1);
            t->entry_at[node] = (uint32_t)t->n_entry;
            open[depth + 1] = node;
        }
        t->depth_max = depth > t->depth_max ? (uint16_t)depth : t->depth_max;
        t->entry[t->n_entry++] = v[i].entry;
    }
    for (; depth > 0; depth--) {
        t->end[open[depth]] = (uint32_t)t->n;
    }
    t->end[0] = (uint32_t)t->n;
    t->entry_at[t->n] = (uint32_t)t->n_entry;
    return true;
}

uint32_t cf_trie__child(const cf_trie *t, uint32_t node, uint8_t byte)
{
    for (uint32_t i = node + 1; i < t->end[node]; i = t->end[i]) {
        if (t->byte[i] == byte) {
            return i;
        }
        if (t->byte[i] > byte) {
            break;
        }
    }
    return 0;
}

/* ---- tokens of strings -------------------------------------------------- */

/* The effect of a token on a string it begins in. */
typedef struct fate {
    bool is_inside;  /* all of it stays inside */
    bool closes;     /* a quote closes the string */
    uint32_t n_char; /* begun before the quote, or in all */
    uint32_t quote;  /* offset of the quote */
} fate;

static uint32_t next_node(const cf_grammar *g, uint32_t node, uint8_t c)
{
    const cf_gnode *n = &g->node[node];
    for (uint32_t k = 0; k < n->n_edge; k++) {
        const cf_gedge *e = &g->edge[n->edge + k];
        if (c >= e->lo && c <= e->hi) {
            return e->to;
        }
    }
    return 0;
}

static fate follow(const cf_grammar *g, uint32_t body, const char *p, size_t n)
{
    fate f = {false, false, 0, 0};
    uint32_t at = body;
    for (size_t i = 0; i < n; i++) {
        uint32_t to = next_node(g, at, (uint8_t)p[i]);
        if (to == 0) {
            return f;
        }
        if (g->node[to].n_step > 0) { /* after the closing quote */
            f.closes = true;
            f.quote = (uint32_t)i;
            return f;
        }
        f.n_char += at == body ? 1 : 0;
        at = to;
    }
    f.is_inside = n > 0;
    return f;
}

static unsigned quotes(const char *p, size_t n)
{
    unsigned count = 0;
    for (size_t i = 0; i < n; i++) {
        count += p[i] == '"';
    }
    return count;
}

static bool keep_inside(cf_string_tokens *s, const cf_constraint_vocab *v, cf_token id,
                        const fate *f, bool is_key)
{
    cf_trie__set(s->inside, id);
    if (is_key) {
        return true;
    }
    if (f->n_char > CF_CHARS_MAX) {
        s->longer[s->n_longer++] = (cf_entry){id, (uint16_t)f->n_char};
    }
    for (uint32_t k = f->n_char; k <= CF_CHARS_MAX; k++) {
        cf_trie__set(s->at_most + k * v->n_words, id);
    }
    return true;
}

static bool sort_tokens(cf_string_tokens *s, const cf_constraint_vocab *v, const cf_grammar *g,
                        bool is_key, item *ends, item *others)
{
    size_t n_ends = 0;
    size_t n_others = 0;
    uint32_t body = 0;
    for (uint32_t i = 1; i < g->n_node; i++) {
        cf_gtag want = is_key ? CF_TAG_KEY_BODY : CF_TAG_STR_BODY;
        body = g->node[i].tag == want ? i : body;
    }
    for (size_t id = 0; id < v->n; id++) {
        const char *p = v->bytes + v->off[id];
        size_t n = v->off[id + 1] - v->off[id];
        if (v->kind[id] != CF_PIECE_TEXT || n == 0) {
            continue;
        }
        fate f = follow(g, body, p, n);
        cf_token tok = (cf_token)id;
        if (f.is_inside) {
            keep_inside(s, v, tok, &f, is_key);
        } else if (f.closes) {
            const char *rest = p + f.quote + 1;
            size_t n_rest = n - f.quote - 1;
            if (is_key && quotes(rest, n_rest) >= 2) {
                others[n_others++] = (item){p, (uint32_t)n, {tok, 0}};
            } else {
                ends[n_ends++] = (item){rest, (uint32_t)n_rest, {tok, (uint16_t)f.n_char}};
            }
        }
    }
    return trie_make(&s->endings, ends, n_ends) && trie_make(&s->others, others, n_others);
}

static cf_status string_tokens(cf_string_tokens *s, const cf_constraint_vocab *v, bool is_key,
                               cf_error *err)
{
    cf_gbuild b;
    cf_grammar *g = NULL;
    cf_gbuild_init(&b, NULL);
    uint32_t rule = cf_g_rule(&b, "string");
    cf_json_string(&b, rule, is_key);
    cf_status st = cf_gbuild_finish(&b, rule, &g, err);
    cf_gbuild_deinit(&b);
    if (st != CF_OK) {
        return st;
    }
    size_t n_sets = is_key ? 1 : CF_CHARS_MAX + 1;
    item *ends = cf_calloc(v->n + 1, sizeof *ends);
    item *others = cf_calloc(v->n + 1, sizeof *others);
    s->inside = cf_calloc(v->n_words, sizeof *s->inside);
    s->at_most = cf_calloc(n_sets * v->n_words, sizeof *s->at_most);
    s->longer = cf_calloc(v->n + 1, sizeof *s->longer);
    if (ends == NULL || others == NULL || s->inside == NULL || s->at_most == NULL ||
        s->longer == NULL || !sort_tokens(s, v, g, is_key, ends, others)) {
        st = cf_oom(err);
    }
    cf_free(ends);
    cf_free(others);
    cf_grammar_free(g);
    return st;
}

static void string_tokens_deinit(cf_string_tokens *s)
{
    cf_free(s->inside);
    cf_free(s->at_most);
    cf_free(s->longer);
    trie_deinit(&s->endings);
    trie_deinit(&s->others);
}

/* ---- making a vocabulary ------------------------------------------------ */

void cf_constraint_vocab_free(cf_constraint_vocab *v)
{
    if (v == NULL) {
        return;
    }
    trie_deinit(&v->all);
    string_tokens_deinit(&v->str);
    string_tokens_deinit(&v->key);
    for (int k = 0; k < CF_SLICE_N; k++) {
        cf_free(v->slice[k]);
    }
    cf_free(v->bytes);
    cf_free(v->off);
    cf_free(v->kind);
    cf_free(v->ends);
    cf_free(v->controls);
    cf_free(v);
}

size_t cf_constraint_vocab_n(const cf_constraint_vocab *v)
{
    return v->n;
}

static bool copy_pieces(cf_constraint_vocab *v, const cf_piece *pieces)
{
    size_t total = 0;
    for (size_t i = 0; i < v->n; i++) {
        total += pieces[i].bytes.n <= CF_PIECE_MAX ? pieces[i].bytes.n : 0;
    }
    v->bytes = cf_alloc(total);
    v->off = cf_calloc(v->n + 1, sizeof *v->off);
    v->kind = cf_calloc(v->n + 1, sizeof *v->kind);
    v->ends = cf_calloc(v->n + 1, sizeof *v->ends);
    v->controls = cf_calloc(v->n + 1, sizeof *v->controls);
    if (v->bytes == NULL || v->off == NULL || v->kind == NULL || v->ends == NULL ||
        v->controls == NULL || total > UINT32_MAX) {
        return false;
    }
    size_t at = 0;
    for (size_t i = 0; i < v->n; i++) {
        cf_str s = pieces[i].bytes;
        v->off[i] = (uint32_t)at;
        v->kind[i] = (uint8_t)pieces[i].kind;
        if (s.n > CF_PIECE_MAX) {
            s.n = 0;
        }
        if (s.n > 0) {
            memcpy(v->bytes + at, s.p, s.n);
        }
        at += s.n;
        if (pieces[i].kind == CF_PIECE_END) {
            v->ends[v->n_ends++] = (cf_token)i;
        } else if (pieces[i].kind == CF_PIECE_CONTROL && s.n > 0) {
            v->controls[v->n_controls++] = (cf_token)i;
        }
    }
    v->off[v->n] = (uint32_t)at;
    return true;
}

static unsigned byte_slice(uint8_t c)
{
    if (c >= 'a' && c <= 'z') {
        return CF_SLICE_LOWER;
    }
    if (c >= 'A' && c <= 'Z') {
        return CF_SLICE_ALPHA;
    }
    if ((c >= '0' && c <= '9') || c == '_') {
        return CF_SLICE_WORD;
    }
    if (c == '"' || c == '\\' || c < 0x20 || c == 0x7F) {
        return CF_SLICE_NONE;
    }
    return c == ' ' ? CF_SLICE_PRINT : c < 0x80 ? CF_SLICE_GRAPH : CF_SLICE_TEXT;
}

static uint8_t token_slice(const char *p, size_t n)
{
    unsigned out = CF_SLICE_LOWER;
    for (size_t i = 0; i < n; i++) {
        unsigned one = byte_slice((uint8_t)p[i]);
        out = one > out ? one : out;
    }
    if (out == CF_SLICE_TEXT && cf_utf8_valid_prefix(p, n) != n) {
        return CF_SLICE_NONE;
    }
    return (uint8_t)out;
}

/* Sorts the tokens into slices and notes for each node of the trie what its
 * whole subtree fits into. */
static bool make_slices(cf_constraint_vocab *v)
{
    cf_trie *t = &v->all;
    t->slice = cf_calloc(t->n, 1);
    bool ok = t->slice != NULL;
    for (int k = 0; k < CF_SLICE_N; k++) {
        v->slice[k] = cf_calloc(v->n_words, sizeof *v->slice[k]);
        ok = ok && v->slice[k] != NULL;
    }
    if (!ok) {
        return false;
    }
    for (uint32_t i = (uint32_t)t->n; i-- > 0;) {
        uint32_t end = i + 1 < t->n ? t->entry_at[i + 1] : (uint32_t)t->n_entry;
        for (uint32_t e = t->entry_at[i]; e < end; e++) {
            cf_token id = t->entry[e].id;
            uint8_t s = token_slice(v->bytes + v->off[id], v->off[id + 1] - v->off[id]);
            t->slice[i] = s > t->slice[i] ? s : t->slice[i];
            for (unsigned k = s; k < CF_SLICE_N; k++) {
                cf_trie__set(v->slice[k], id);
            }
        }
        for (uint32_t c = i + 1; c < t->end[i]; c = t->end[c]) {
            t->slice[i] = t->slice[c] > t->slice[i] ? t->slice[c] : t->slice[i];
        }
    }
    return true;
}

static bool make_all(cf_constraint_vocab *v)
{
    item *items = cf_calloc(v->n + 1, sizeof *items);
    size_t n = 0;
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < v->n; i++) {
        uint32_t len = v->off[i + 1] - v->off[i];
        if (v->kind[i] == CF_PIECE_TEXT && len > 0) {
            items[n++] = (item){v->bytes + v->off[i], len, {(cf_token)i, 0}};
        }
    }
    bool ok = trie_make(&v->all, items, n);
    cf_free(items);
    for (uint32_t i = 1; ok && i < v->all.n; i = v->all.end[i]) {
        v->child[v->all.byte[i]] = i;
    }
    return ok;
}

cf_status cf_constraint_vocab_new(cf_constraint_vocab **out, const cf_piece *pieces, size_t n,
                                  cf_error *err)
{
    if (n > (size_t)1 << 24) {
        return cf_fail(err, CF_ELIMIT, "a vocabulary of over 2^24 pieces");
    }
    cf_constraint_vocab *v = cf_calloc(1, sizeof *v);
    if (v == NULL) {
        return cf_oom(err);
    }
    v->n = n;
    v->n_words = (n + 31) / 32 + 1;
    cf_status st = CF_OK;
    if (!copy_pieces(v, pieces) || !make_all(v) || !make_slices(v)) {
        st = cf_oom(err);
    }
    CF_THEN(st, string_tokens(&v->str, v, false, err));
    CF_THEN(st, string_tokens(&v->key, v, true, err));
    if (st != CF_OK) {
        cf_constraint_vocab_free(v);
        return st;
    }
    *out = v;
    return CF_OK;
}

static cf_piece_kind kind_of(const cf_tokenizer *tok, cf_token id)
{
    if (cf_tokenizer_is_end(tok, id)) {
        return CF_PIECE_END;
    }
    switch (cf_tokenizer_type(tok, id)) {
    case CF_TOKEN_CONTROL:
        return CF_PIECE_CONTROL;
    case CF_TOKEN_UNKNOWN:
    case CF_TOKEN_UNUSED:
        return CF_PIECE_NONE;
    default:
        return CF_PIECE_TEXT;
    }
}

cf_status cf_constraint_vocab_from_tokenizer(cf_constraint_vocab **out, const cf_tokenizer *tok,
                                             cf_error *err)
{
    size_t n = cf_tokenizer_n_vocab(tok);
    cf_buf bytes = CF_BUF_INIT;
    cf_piece *pieces = cf_calloc(n > 0 ? n : 1, sizeof *pieces);
    cf_status st = CF_OK;
    if (pieces == NULL) {
        st = cf_oom(err);
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        size_t at = bytes.n;
        cf_tokenizer_piece(&bytes, tok, (cf_token)i, true);
        pieces[i].bytes.n = bytes.n - at;
        pieces[i].kind = kind_of(tok, (cf_token)i);
    }
    CF_THEN(st, cf_buf_check(&bytes, err));
    size_t at = 0;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        pieces[i].bytes.p = cf_buf_cstr(&bytes) + at;
        at += pieces[i].bytes.n;
    }
    CF_THEN(st, cf_constraint_vocab_new(out, pieces, n, err));
    cf_free(pieces);
    cf_buf_deinit(&bytes);
    return st;
}
