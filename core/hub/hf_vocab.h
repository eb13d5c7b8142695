/*
 * hf_vocab.h - the "model" and "added_tokens" of a tokenizer.json.
 *
 * Place in the flow:  the file's bytes --> here --> token/vocab_desc.h.
 */
#ifndef CF_CORE_HUB_HF_VOCAB_H
#define CF_CORE_HUB_HF_VOCAB_H

#include "core/hub/json_scan.h"
#include "core/json/json.h"
#include "core/token/pipeline.h"
#include "core/token/vocab_desc.h"

/* A vocabulary while it is read, and how far the tokenizer has pulled it. */
typedef struct cf_hf_vocab {
    cf_arena *arena;
    cf_str *piece;  /* [n] by id; {NULL, 0} where no token has the id */
    uint8_t *type;  /* [n] cf_token_type */
    bool *is_added; /* [n] */
    size_t n, cap_piece, cap_type, cap_added;
    size_t n_model; /* tokens that the model lists */
    double *score;  /* [n_score] Unigram; taken by the pipeline */
    size_t n_score, cap_score;
    cf_str merges; /* the text of the list */
    size_t n_merges;
    cf_str unk, prefix, suffix; /* of the model */
    cf_subword_kind kind;
    bool fuse_unk, byte_fallback, ignore_merges;
    int64_t unk_id, max_chars;
    size_t next; /* token that is pulled next */
    cf_json_scan scan;
    bool began;
} cf_hf_vocab;

void cf_hf_vocab_deinit(cf_hf_vocab *v);

/* Reads the object `model`.  CF_EFORMAT, CF_EUNSUPPORTED, CF_ENOMEM. */
CF_MUST_USE cf_status cf_hf_vocab_read(cf_hf_vocab *v, cf_str model, cf_error *err);

/* Adds the list "added_tokens" (may be NULL): ids by the rules of the
 * library, and the list of the pipeline. */
CF_MUST_USE cf_status cf_hf_vocab_add(cf_hf_vocab *v, const json_t *list, cf_pipeline *p,
                                      cf_error *err);

/* Resizes the vocabulary to n tokens by adding unused tokens or dropping added tokens
 * beyond n. CF_EFORMAT if tokens of the model itself lie beyond n, CF_ENOMEM. */
CF_MUST_USE cf_status cf_hf_vocab_resize(cf_hf_vocab *v, uint32_t n, cf_pipeline *p, cf_error *err);

/* The id of the token spelled s, added ones first, or CF_TOKEN_NONE. */
cf_token cf_hf_vocab_find(const cf_hf_vocab *v, const cf_pipeline *p, cf_str s);

/* Fills the model of `p` and the lists of `desc`, which pulls from v. */
void cf_hf_vocab_describe(cf_hf_vocab *v, cf_vocab_desc *desc, cf_pipeline *p, cf_error *err);

#endif
