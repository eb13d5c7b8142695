/*
 * tokenizer_impl.h - the parts of a tokenizer, for the files of this folder.
 *
 * Flow of a call:  tokenizer.c finds special tokens and hands the text
 * between them to bpe.c or spm.c, which append to the encoder's list.  With a
 * pipeline, pipeline.c does all of it.
 */
#ifndef CF_CORE_TOKEN_TOKENIZER_IMPL_H
#define CF_CORE_TOKEN_TOKENIZER_IMPL_H

#include "core/token/bpe.h"
#include "core/token/merge.h"
#include "core/token/pipeline.h"
#include "core/token/pretoken.h"
#include "core/token/special.h"
#include "core/token/tokenizer_new.h"
#include "core/token/vocab.h"

typedef enum cf_token_model {
    CF_MODEL_SPM, /* "llama": merging by score, byte fallback */
    CF_MODEL_BPE, /* "gpt2": byte-level, merging by rank */
    CF_MODEL_PIPE /* as tokenizer.json describes it */
} cf_token_model;

struct cf_tokenizer {
    cf_token_model model;
    cf_vocab vocab;
    cf_specials specials;
    cf_special_tokens named;
    char *pre;        /* name of the pre-tokenizer */
    char *name;       /* of the model */
    cf_str variables; /* of templates; borrowed */

    cf_pipeline *pipe; /* CF_MODEL_PIPE; owned */

    /* BPE */
    cf_pretoken pretoken;
    cf_merges merges;

    cf_token byte[256]; /* token of a byte, or CF_TOKEN_NONE */

    /* SPM */
    bool space_prefix; /* text starts with a space of its own */
    bool joins_spaces; /* some piece has a space after another character,
                          so words cannot be merged one by one */
};

/* The state of one call of encode. */
typedef struct cf_encoder {
    const cf_tokenizer *tok;
    cf_str text;        /* all of it */
    cf_token_span *out; /* [n_out], heap */
    size_t n_out, cap_out;
    cf_merge merge;
    char *buf; /* text as it is merged, where that differs; heap */
    size_t cap_buf;
    void *match;                 /* of cf_pattern_new_match(), made when needed */
    size_t from, to;             /* the part of the text at hand */
    size_t text_at, repaired_at; /* where the walk of bpe.c is in both */
    cf_error *err;
} cf_encoder;

/* Appends one token. */
CF_MUST_USE cf_status cf_encoder__put(cf_encoder *e, cf_token id, size_t off, size_t len);

/* Encode e->text[from..to), which has no special tokens. */
CF_MUST_USE cf_status cf_bpe__encode(cf_encoder *e, size_t from, size_t to);
CF_MUST_USE cf_status cf_spm__encode(cf_encoder *e, size_t from, size_t to);

#endif
