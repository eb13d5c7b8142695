/*
 * hf_file.h - small tokenizer files, made by the tests.
 */
#ifndef CF_TESTS_SUPPORT_HF_FILE_H
#define CF_TESTS_SUPPORT_HF_FILE_H

#include "core/api/tokenizer.h"
#include "core/base/arena.h"
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

/* A tokenizer made from such a file, whose BOS is called <s>. */
typedef struct cf_hf_opened {
    cf_buf file;
    cf_arena arena;
    cf_tokenizer *tok;
} cf_hf_opened;

cf_hf_opened cf_hf_open(cf_hf_sample sample);
void cf_hf_close(cf_hf_opened *x);

/* Appends a SentencePiece model: Unigram, or BPE. */
void cf_spm_file(cf_buf *out, bool is_bpe);

#endif
