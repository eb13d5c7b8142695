/*
 * hf_tokenizer.h - the tokenizer of a Hugging Face folder.
 *
 * Place in the flow:  the files' bytes --> here --> token/tokenizer_new.h.
 */
#ifndef CF_CORE_HUB_HF_TOKENIZER_H
#define CF_CORE_HUB_HF_TOKENIZER_H

#include "core/api/tokenizer.h"

/* The spellings of a model's special tokens; empty where it has none. */
typedef struct cf_hf_names {
    cf_str bos, eos, unk, pad, sep;
    const cf_token *ends; /* [n_ends] that end a turn, other than eos */
    size_t n_ends;
    uint32_t n_vocab; /* rows of the weights; 0: one for each token. Tokens beyond that are left
                         out, and missing ones are filled with unused tokens. */
} cf_hf_names;

/*
 * Builds the tokenizer of a tokenizer.json.  `file` must outlive it, and so
 * must `arena`, which gets strings.  CF_EFORMAT, CF_EUNSUPPORTED for a type
 * that confab does not know, CF_ELIMIT, CF_ENOMEM.
 * Source of the format: tokenizers, src/tokenizer/serialization.rs.
 */
CF_MUST_USE cf_status cf_hf_tokenizer(cf_tokenizer **out, cf_str file, const cf_hf_names *names,
                                      cf_arena *arena, cf_error *err);

#endif
