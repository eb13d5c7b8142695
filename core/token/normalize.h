/*
 * normalize.h - the steps by which a tokenizer changes text before it is
 * split, as tokenizer.json lists them under "normalizer".
 *
 * Threads:  a step is constant; a cf_normalizing belongs to one thread.
 */
#ifndef CF_CORE_TOKEN_NORMALIZE_H
#define CF_CORE_TOKEN_NORMALIZE_H

#include "core/token/aligned.h"
#include "core/token/pattern.h"

typedef enum cf_norm_kind {
    CF_NORM_NFC,
    CF_NORM_NFD,
    CF_NORM_NFKC,
    CF_NORM_NFKD,
    CF_NORM_LOWERCASE,
    CF_NORM_STRIP,
    CF_NORM_STRIP_ACCENTS,
    CF_NORM_REPLACE,
    CF_NORM_PREPEND,
    CF_NORM_NMT,
    CF_NORM_CHARSMAP,   /* "Precompiled" */
    CF_NORM_BYTE_LEVEL, /* bytes to GPT-2's letters */
    /* The parts of BertNormalizer. */
    CF_NORM_CLEAN_TEXT,
    CF_NORM_SPACE_CJK,
    CF_NORM_DROP_NONSPACING
} cf_norm_kind;

/* SentencePiece's map of characters: a double array over bytes, and the
 * replacements, each with a NUL after it. */
typedef struct cf_charsmap {
    const unsigned char *unit; /* [n_unit] little-endian 32-bit numbers */
    size_t n_unit;
    const char *text; /* [n_text] */
    size_t n_text;
} cf_charsmap;

typedef struct cf_norm_step {
    cf_norm_kind kind;
    bool left, right;   /* CF_NORM_STRIP */
    cf_str text;        /* what REPLACE and PREPEND put in */
    cf_pattern pattern; /* CF_NORM_REPLACE */
    cf_charsmap map;    /* CF_NORM_CHARSMAP */
} cf_norm_step;

/* A character that a step makes of others.  change > 0: it was put in;
 * otherwise it takes the place of one character and of -change more. */
typedef struct cf_made_char {
    uint32_t cp;
    int32_t change;
} cf_made_char;

/* Scratch for one thread. */
typedef struct cf_normalizing {
    void *match;        /* of cf_pattern_new_match() */
    cf_rewrite edit[2]; /* results of every other step */
    cf_made_char *made; /* [n_made] */
    size_t n_made, cap_made;
} cf_normalizing;

void cf_normalizing_deinit(cf_normalizing *z);

/*
 * Applies steps[0..n) to `text`.  *out is `text` itself where nothing changed,
 * else it lives in z until the next call.  `limit` bounds the result's bytes.
 * CF_ENOMEM, CF_ELIMIT.
 */
CF_MUST_USE cf_status cf_normalize(cf_view *out, cf_normalizing *z, const cf_norm_step *steps,
                                   size_t n, const cf_view *text, size_t limit, cf_error *err);

/* ---- room-internal: each appends the result to z->made ------------------- */

void cf_norm__add(cf_normalizing *z, uint32_t cp, int32_t change, bool *ok);
/* Unicode normalisation; false when memory ran out. */
bool cf_norm__unicode(cf_normalizing *z, cf_norm_kind form, cf_str text);
bool cf_norm__charsmap(cf_normalizing *z, const cf_charsmap *map, cf_str text);

#endif
