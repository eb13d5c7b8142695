/*
 * hf_file.h - small tokenizer files, made by the tests.
 */
#ifndef CF_TESTS_SUPPORT_HF_FILE_H
#define CF_TESTS_SUPPORT_HF_FILE_H

#include "core/base/buf.h"

typedef enum cf_hf_sample {
    CF_HF_BYTES,     /* BPE over GPT-2's letters, as most models have it */
    CF_HF_CHARS,     /* BPE over characters, Prepend and Replace, bytes */
    CF_HF_WORDPIECE, /* BERT */
    CF_HF_UNIGRAM,   /* Metaspace, scores, unknown characters */
    CF_HF_SAMPLES
} cf_hf_sample;

/* Appends a tokenizer.json. */
void cf_hf_file(cf_buf *out, cf_hf_sample sample);

/* Appends a SentencePiece model: Unigram, or BPE. */
void cf_spm_file(cf_buf *out, bool is_bpe);

#endif
