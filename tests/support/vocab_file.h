/*
 * vocab_file.h - small vocabularies written as GGUF files in memory.
 *
 * Two ready-made ones cover the families; a test that needs other keys writes
 * its own with the functions below.
 */
#ifndef CF_TESTS_SUPPORT_VOCAB_FILE_H
#define CF_TESTS_SUPPORT_VOCAB_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/str.h"

typedef struct cf_vocab_file {
    cf_buf meta;
    uint64_t n_meta;
    /* One entry a token; written by finish. */
    cf_buf tokens, scores, types;
    uint64_t n_token;
    cf_buf merges;
    uint64_t n_merge;
    unsigned char *bytes; /* [n], 32-byte aligned; set by finish */
    size_t n;
} cf_vocab_file;

void cf_vocab_file_init(cf_vocab_file *f, const char *model, const char *pre);
void cf_vocab_file_deinit(cf_vocab_file *f);

void cf_vocab_file_str(cf_vocab_file *f, const char *key, const char *value);
void cf_vocab_file_bool(cf_vocab_file *f, const char *key, bool value);
void cf_vocab_file_u32(cf_vocab_file *f, const char *key, uint32_t value);

/* Adds a token and returns its id. */
uint32_t cf_vocab_file_token(cf_vocab_file *f, cf_str piece, int type, float score);
/* "left right"; the joined token is added when `add` is set. */
void cf_vocab_file_merge(cf_vocab_file *f, const char *merge, bool add);

/* The tokens of all 256 bytes: "<0x00>" ... for "llama", GPT-2's letters for
 * "gpt2". */
void cf_vocab_file_bytes_spm(cf_vocab_file *f);
void cf_vocab_file_bytes_bpe(cf_vocab_file *f);

/* Writes the file; false when memory ran out. */
bool cf_vocab_file_finish(cf_vocab_file *f, bool with_types);

/* Finishes it with types, writes it to `path` and empties it; false when that
 * failed. */
bool cf_vocab_file_write(cf_vocab_file *f, const char *path);

/* <unk> 0, <s> 1, </s> 2, <|user|> 3, bytes 4 to 259, then pieces: single
 * characters "▁abcdehlorstw!é日", words, "\n\n" and "<tag>" user-defined; the
 * file asks for BOS. */
void cf_vocab_file_small_spm(cf_vocab_file *f, bool space_prefix);

/* Bytes 0 to 255, then <|end|> (control), <tool> (user-defined) and the
 * results of a few English merges. */
void cf_vocab_file_small_bpe(cf_vocab_file *f, const char *pre);

#endif
