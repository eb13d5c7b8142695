/*
 * spm_model.h - the tokenizer of a SentencePiece file, tokenizer.model.
 *
 * Format: sentencepiece, src/sentencepiece_model.proto, a protocol buffer.
 */
#ifndef CF_CORE_HUB_SPM_MODEL_H
#define CF_CORE_HUB_SPM_MODEL_H

#include "core/api/tokenizer.h"

/* Whether BOS and EOS are added to a text; -1 if unspecified, which means the default for
 * the kind of model. */
typedef struct cf_spm_options {
    int add_bos, add_eos;
    uint32_t n_vocab; /* as in cf_hf_names */
} cf_spm_options;

/* Builds the tokenizer; `file` must outlive it.  CF_EFORMAT with
 * the offset, CF_EUNSUPPORTED for the kinds "word" and "char", CF_ELIMIT,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_spm_tokenizer(cf_tokenizer **out, cf_str file,
                                       const cf_spm_options *options, cf_error *err);

#endif
