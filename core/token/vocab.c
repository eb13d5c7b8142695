/*
 * vocab.c - reading the pieces and indexing their spellings.
 */
#include "core/token/vocab.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

enum { VOCAB_MAX = 1 << 28 };

/* Multiplies two 64-bit numbers by halves and folds the four products. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t hh = (a >> 32) * (b >> 32);
    uint64_t hl = (a >> 32) * (uint32_t)b;
    uint64_t lh = (uint32_t)a * (b >> 32);
    uint64_t ll = (uint64_t)(uint32_t)a * (uint32_t)b;
    return (hl >> 32 | hl << 32) ^ hh ^ (lh >> 32 | lh << 32) ^ ll;
}

static uint64_t load(const char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

/* Eight bytes at a time; without the seed collisions cannot be built on
 * purpose. */
static uint64_t hash_bytes(uint64_t seed, const char *p, size_t n)
{
    uint64_t h = seed ^ n;
    for (; n > 8; p += 8, n -= 8) {
        h = mix(load(p, 8) ^ h, seed ^ UINT64_C(0x9E3779B97F4A7C15));
    }
    h = mix(load(p, n) ^ h, seed ^ UINT64_C(0xD6E8FEB86659FD93));
    return mix(h ^ UINT64_C(0xA0761D6478BD642F),
               seed ^ UINT64_C(0xE7037ED1A0B428DB));
}

/* The slot that holds s, or the empty one where it belongs. */
static size_t locate(const cf_vocab *v, cf_str s, uint64_t hash)
{
    size_t i = (size_t)hash & v->mask;
    for (; v->slot[i] != 0; i = (i + 1) & v->mask) {
        if (v->slot[i] >> 32 == hash >> 32) {
            const cf_piece *piece = &v->piece[(uint32_t)v->slot[i] - 1];
            if (piece->n == s.n && memcmp(piece->p, s.p, s.n) == 0) {
                return i;
            }
        }
    }
    return i;
}

cf_token cf_vocab__find(const cf_vocab *v, cf_str s)
{
    if (s.n == 0 || s.n > CF_PIECE_MAX) {
        return CF_TOKEN_NONE;
    }
    size_t i = locate(v, s, hash_bytes(v->seed, s.p, s.n));
    return v->slot[i] == 0 ? CF_TOKEN_NONE
                           : (cf_token)((uint32_t)v->slot[i] - 1);
}

void cf_vocab__find_each(const cf_vocab *v, const cf_str *s, cf_token *out,
                         size_t n)
{
    uint64_t hash[CF_FIND_EACH], first[CF_FIND_EACH];
    const cf_piece *piece[CF_FIND_EACH];
    CF_ASSERT(n <= CF_FIND_EACH);
    for (size_t i = 0; i < n; i++) {
        hash[i] = hash_bytes(v->seed, s[i].p, s[i].n);
    }
    for (size_t i = 0; i < n; i++) {
        first[i] = v->slot[(size_t)hash[i] & v->mask];
    }
    for (size_t i = 0; i < n; i++) {
        piece[i] = first[i] != 0 ? &v->piece[(uint32_t)first[i] - 1] : NULL;
        out[i] = piece[i] != NULL && piece[i]->n == s[i].n ? 0 : CF_TOKEN_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        if (out[i] == 0 && memcmp(piece[i]->p, s[i].p, s[i].n) == 0) {
            out[i] = (cf_token)(piece[i] - v->piece);
        } else {
            out[i] = cf_vocab__find(v, s[i]);
        }
    }
}

static cf_status read_spellings(cf_vocab *v, const cf_gguf_value *tokens,
                                cf_error *err)
{
    uint64_t at = 0;
    uint64_t i = 0;
    cf_str s;
    for (uint32_t id = 0; id < v->n; id++) {
        if (!cf_gguf_next_str(tokens, &at, &i, &s)) {
            return cf_fail_at(err, CF_EFORMAT, tokens->off,
                              "tokenizer.ggml.tokens ends early");
        }
        if (s.n > CF_PIECE_MAX) {
            return cf_fail_at(err, CF_ELIMIT, tokens->off,
                              "token %u is %zu bytes long, at most %d are "
                              "supported",
                              id, s.n, CF_PIECE_MAX);
        }
        v->piece[id] =
            (cf_piece){.p = s.p, .n = (uint16_t)s.n, .type = CF_TOKEN_NORMAL};
        if (s.n == 0) {
            continue;
        }
        uint64_t hash = hash_bytes(v->seed, s.p, s.n);
        size_t slot = locate(v, s, hash);
        if (v->slot[slot] == 0) {
            v->slot[slot] = hash >> 32 << 32 | (id + 1);
        }
    }
    return CF_OK;
}

/* An array of numbers with one item a token; *out NULL when absent. */
static cf_status number_array(const cf_vocab *v, const cf_gguf *g,
                              const char *key, const cf_gguf_value **out,
                              cf_error *err)
{
    const cf_gguf_value *a = cf_gguf_find(g, key);
    *out = a;
    if (a == NULL) {
        return CF_OK;
    }
    if (a->type != CF_GGUF_ARRAY || a->item == CF_GGUF_STRING ||
        a->item == CF_GGUF_ARRAY) {
        return cf_fail_at(err, CF_EFORMAT, a->off,
                          "%s is not an array of numbers", key);
    }
    if (a->n != v->n) {
        return cf_fail_at(err, CF_EFORMAT, a->off,
                          "%s has %llu items for %zu tokens", key,
                          (unsigned long long)a->n, v->n);
    }
    return CF_OK;
}

static cf_status read_types(cf_vocab *v, const cf_gguf *g, cf_error *err)
{
    const cf_gguf_value *types;
    CF_TRY(number_array(v, g, "tokenizer.ggml.token_type", &types, err));
    if (types == NULL) {
        return CF_OK;
    }
    if (types->item == CF_GGUF_F32 || types->item == CF_GGUF_F64) {
        return cf_fail_at(err, CF_EFORMAT, types->off,
                          "tokenizer.ggml.token_type is not of integers");
    }
    for (size_t i = 0; i < v->n; i++) {
        int64_t t = cf_gguf_item_i64(types, i);
        /* 0 is "undefined" in the format and means a normal token. */
        if (t < 0 || t > CF_TOKEN_BYTE) {
            return cf_fail_at(err, CF_EFORMAT, types->off,
                              "token %zu has the unknown type %lld", i,
                              (long long)t);
        }
        v->piece[i].type = (uint8_t)(t == 0 ? CF_TOKEN_NORMAL : t);
    }
    return CF_OK;
}

/* A float as a number that is lower the higher the score. */
static uint32_t prio_of_score(float score)
{
    float f = isnan(score) ? -INFINITY : score + 0.0f; /* -0 becomes 0 */
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rising = bits >> 31 != 0 ? ~bits : bits | UINT32_C(0x80000000);
    return ~rising;
}

static cf_status read_scores(cf_vocab *v, const cf_gguf *g, cf_error *err)
{
    const cf_gguf_value *scores;
    CF_TRY(number_array(v, g, "tokenizer.ggml.scores", &scores, err));
    for (size_t i = 0; scores != NULL && i < v->n; i++) {
        v->piece[i].prio = prio_of_score((float)cf_gguf_item_f64(scores, i));
    }
    return CF_OK;
}

static cf_status allocate(cf_vocab *v, cf_error *err)
{
    size_t n_slot = 16;
    while (n_slot < v->n * 2) {
        n_slot *= 2;
    }
    v->mask = n_slot - 1;
    v->piece = cf_calloc(v->n, sizeof *v->piece);
    v->slot = cf_calloc(n_slot, sizeof *v->slot);
    if (v->piece == NULL || v->slot == NULL) {
        return cf_oom(err);
    }
    return CF_OK;
}

cf_status cf_vocab__init(cf_vocab *v, const cf_gguf *g, cf_error *err)
{
    memset(v, 0, sizeof *v);
    const cf_gguf_value *tokens = cf_gguf_find(g, "tokenizer.ggml.tokens");
    if (tokens == NULL || tokens->type != CF_GGUF_ARRAY ||
        tokens->item != CF_GGUF_STRING || tokens->n == 0) {
        return cf_fail(err, CF_EFORMAT,
                       "tokenizer.ggml.tokens is not an array of strings");
    }
    if (tokens->n > VOCAB_MAX) {
        return cf_fail_at(err, CF_ELIMIT, tokens->off,
                          "%llu tokens are more than supported",
                          (unsigned long long)tokens->n);
    }
    v->n = (size_t)tokens->n;
    cf_os_entropy(&v->seed, sizeof v->seed);
    cf_status st = allocate(v, err);
    CF_THEN(st, read_spellings(v, tokens, err));
    CF_THEN(st, read_types(v, g, err));
    CF_THEN(st, read_scores(v, g, err));
    for (size_t i = 0; st == CF_OK && i < v->n; i++) {
        if (v->piece[i].n > v->max_len && cf_vocab__is_text(v, (cf_token)i)) {
            v->max_len = v->piece[i].n;
        }
    }
    if (st != CF_OK) {
        cf_vocab__deinit(v);
    }
    return st;
}

void cf_vocab__deinit(cf_vocab *v)
{
    cf_free(v->piece);
    cf_free(v->slot);
    memset(v, 0, sizeof *v);
}
