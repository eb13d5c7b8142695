/*
 * vocab.c - reads the pieces and indexes their spellings.
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
    return mix(h ^ UINT64_C(0xA0761D6478BD642F), seed ^ UINT64_C(0xE7037ED1A0B428DB));
}

/* The slot that holds s, or the empty one where it belongs. */
static size_t locate(const cf_vocab *v, cf_str s, uint64_t hash)
{
    size_t i = (size_t)hash & v->mask;
    for (; v->slot[i] != 0; i = (i + 1) & v->mask) {
        if (v->slot[i] >> 32 == hash >> 32) {
            const cf_vocab_piece *piece = &v->piece[(uint32_t)v->slot[i] - 1];
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
    return v->slot[i] == 0 ? CF_TOKEN_NONE : (cf_token)((uint32_t)v->slot[i] - 1);
}

void cf_vocab__find_each(const cf_vocab *v, const cf_str *s, cf_token *out, size_t n)
{
    uint64_t hash[CF_FIND_EACH], first[CF_FIND_EACH];
    const cf_vocab_piece *piece[CF_FIND_EACH];
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

/* A float as a number that is lower the higher the score. */
static uint32_t prio_of_score(float score)
{
    float f = isnan(score) ? -INFINITY : score + 0.0f; /* -0 becomes 0 */
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rising = bits >> 31 != 0 ? ~bits : bits | UINT32_C(0x80000000);
    return ~rising;
}

static cf_status add(cf_vocab *v, uint32_t id, const cf_vocab_entry *e, cf_error *err)
{
    cf_str s = e->spelling;
    if (s.n > CF_PIECE_MAX) {
        return cf_fail(err, CF_ELIMIT, "token %u is %zu bytes long, at most %d are supported", id,
                       s.n, CF_PIECE_MAX);
    }
    v->piece[id] = (cf_vocab_piece){
        .p = s.p, .n = (uint16_t)s.n, .type = (uint8_t)e->type, .prio = prio_of_score(e->score)};
    if (e->is_added) {
        return CF_OK;
    }
    if (s.n > v->max_len && (v->by_spelling || cf_vocab__is_text(v, (cf_token)id))) {
        v->max_len = s.n;
    }
    if (s.n != 0) {
        uint64_t hash = hash_bytes(v->seed, s.p, s.n);
        size_t slot = locate(v, s, hash);
        if (v->slot[slot] == 0) {
            v->slot[slot] = hash >> 32 << 32 | (id + 1);
        }
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

cf_status cf_vocab__init(cf_vocab *v, const cf_vocab_desc *desc, cf_error *err)
{
    memset(v, 0, sizeof *v);
    if (desc->n_tokens == 0 || desc->n_tokens > VOCAB_MAX) {
        return cf_fail(err, desc->n_tokens == 0 ? CF_EFORMAT : CF_ELIMIT,
                       "%zu tokens, from 1 to %d are supported", desc->n_tokens, VOCAB_MAX);
    }
    v->n = desc->n_tokens;
    v->by_spelling = desc->by_spelling;
    cf_os_entropy(&v->seed, sizeof v->seed);
    cf_status st = allocate(v, err);
    for (uint32_t id = 0; st == CF_OK && id < v->n; id++) {
        cf_vocab_entry e = {.type = CF_TOKEN_NORMAL};
        st = desc->next_token(desc->ud, &e, err);
        CF_THEN(st, add(v, id, &e, err));
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
