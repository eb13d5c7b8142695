/*
 * gguf_tokenizer.h - the tokenizer that a GGUF file describes.
 *
 * Place in the flow:  model/gguf.h --> here --> token/tokenizer_new.h.
 */
#ifndef CF_CORE_INFER_GGUF_TOKENIZER_H
#define CF_CORE_INFER_GGUF_TOKENIZER_H

#include "core/model/gguf.h"
#include "core/token/tokenizer_new.h"

/* Builds the tokenizer; it borrows strings from g, which must outlive it.
 * CF_EFORMAT for missing or inconsistent keys, CF_EUNSUPPORTED for a
 * tokenizer model or pre-tokenizer confab does not know, CF_ENOMEM.
 * Keys: the GGUF specification, section "Tokenizer". */
CF_MUST_USE cf_status cf_gguf_tokenizer(cf_tokenizer **out, const cf_gguf *g, cf_error *err);

#endif
