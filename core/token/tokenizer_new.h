/*
 * tokenizer_new.h - making a tokenizer: the part of core/api/tokenizer.h that
 * only the readers of model files need.
 */
#ifndef CF_CORE_TOKEN_TOKENIZER_NEW_H
#define CF_CORE_TOKEN_TOKENIZER_NEW_H

#include "core/token/pipeline.h"
#include "core/token/vocab_desc.h"

/* Builds the tokenizer that `desc` describes; the strings it names must
 * outlive the tokenizer.  CF_EFORMAT for inconsistent lists, CF_EUNSUPPORTED
 * for a tokenizer model or pre-tokenizer confab does not know, CF_ENOMEM, or
 * what a function of `desc` returned. */
CF_MUST_USE cf_status cf_tokenizer_new(cf_tokenizer **out, const cf_vocab_desc *desc,
                                       cf_error *err);
/* The same from a row of steps, which becomes the tokenizer's on success.
 * desc->model names the kind of model, desc->named its special tokens;
 * ends[0..n_ends) end a turn as well. */
CF_MUST_USE cf_status cf_tokenizer_new_pipeline(cf_tokenizer **out, const cf_vocab_desc *desc,
                                                cf_pipeline *pipe, const cf_token *ends,
                                                size_t n_ends, cf_error *err);
void cf_tokenizer_free(cf_tokenizer *tok);

/* Sets what cf_tokenizer_variables() returns; borrowed. */
void cf_tokenizer__set_variables(cf_tokenizer *tok, cf_str variables);

/* "<0x41>" is byte 41 hex; -1 for another spelling. */
int cf_token__byte_spelled(cf_str s);

#endif
