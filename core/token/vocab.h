/*
 * vocab.h - the pieces of a vocabulary, by id and by spelling.
 *
 * Spellings are borrowed from the model file; only an index is built: one
 * record a piece and one open-addressed table of 64-bit slots.  The table is
 * keyed with a random seed, so that no choice of spellings makes it slow.
 *
 * Threads:  constant after init.
 */
#ifndef CF_CORE_TOKEN_VOCAB_H
#define CF_CORE_TOKEN_VOCAB_H

#include "core/token/vocab_desc.h"

enum { CF_PIECE_MAX = 65535 }; /* bytes of the longest spelling accepted */

enum cf_vocab_flag {
    CF_VOCAB_END = 1,   /* generation ends here */
    CF_VOCAB_RSTRIP = 2 /* takes the white space after it along */
};

typedef struct cf_vocab_piece {
    const char *p; /* [n], as the file spells it */
    uint32_t prio; /* order of merging by score: lower goes first */
    uint16_t n;
    uint8_t type;  /* cf_token_type */
    uint8_t flags; /* of cf_vocab_flag */
} cf_vocab_piece;

typedef struct cf_vocab {
    cf_vocab_piece *piece; /* [n] */
    size_t n;
    uint64_t *slot; /* [mask + 1]: upper half of the hash, id + 1; 0: empty */
    size_t mask;
    uint64_t seed;
    size_t max_len;   /* bytes of the longest piece that text may become */
    bool by_spelling; /* as in cf_vocab_desc */
} cf_vocab;

/* Reads the tokens of `desc`.  CF_EFORMAT, CF_ELIMIT, CF_ENOMEM; on failure
 * *v needs no deinit. */
CF_MUST_USE cf_status cf_vocab__init(cf_vocab *v, const cf_vocab_desc *desc, cf_error *err);
void cf_vocab__deinit(cf_vocab *v);

/* The first token of the model spelled s, or CF_TOKEN_NONE. */
cf_token cf_vocab__find(const cf_vocab *v, cf_str s);

/* The same for n <= CF_FIND_EACH spellings at once: the misses of the cache
 * overlap. */
enum { CF_FIND_EACH = 128 };
void cf_vocab__find_each(const cf_vocab *v, const cf_str *s, cf_token *out, size_t n);

/* Whether ordinary text may become `id` through merging.  Never control,
 * unknown and byte tokens, whatever their spelling. */
static inline bool cf_vocab__is_text(const cf_vocab *v, cf_token id)
{
    uint8_t t = v->piece[id].type;
    return t == CF_TOKEN_NORMAL || t == CF_TOKEN_USER_DEFINED || t == CF_TOKEN_UNUSED;
}

/* Whether `id` is a special token that text may spell out on request. */
static inline bool cf_vocab__is_control(const cf_vocab *v, cf_token id)
{
    uint8_t t = v->piece[id].type;
    return t == CF_TOKEN_CONTROL || t == CF_TOKEN_UNKNOWN;
}

static inline cf_str cf_vocab__spelling(const cf_vocab *v, cf_token id)
{
    return cf_str_make(v->piece[id].p, v->piece[id].n);
}

#endif
