/*
 * tokenizer.h - text to token ids and back, by the vocabulary of a GGUF file
 * or of a Hugging Face folder.
 *
 * Place in the flow:  rendered prompt --> [tokenizer] --> session.
 * Knows: vocabulary, merges, pre-token rules.  Does not know: chat roles,
 * templates, sampling.
 *
 * Threads:  a cf_tokenizer never changes after it was made, so any number of
 *           threads may use one at the same time.
 * Memory:   the engine owns it and outlives it.
 */
#ifndef CF_CORE_API_TOKENIZER_H
#define CF_CORE_API_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

typedef struct cf_tokenizer cf_tokenizer;

typedef int32_t cf_token; /* 0 .. n_vocab-1; CF_TOKEN_NONE means "no token" */
#define CF_TOKEN_NONE ((cf_token)-1)

/* Token types as GGUF numbers them (tokenizer.ggml.token_type). */
typedef enum cf_token_type {
    CF_TOKEN_NORMAL = 1,
    CF_TOKEN_UNKNOWN = 2,
    CF_TOKEN_CONTROL = 3,
    CF_TOKEN_USER_DEFINED = 4,
    CF_TOKEN_UNUSED = 5,
    CF_TOKEN_BYTE = 6
} cf_token_type;

/* One token and its bytes of the input. */
typedef struct cf_token_span {
    cf_token id;
    uint32_t off; /* bytes from the start of the input text */
    uint32_t len; /* bytes; 0 for a token the tokenizer added (BOS), and for
                     all but the first byte token of one character */
} cf_token_span;

typedef struct cf_token_list {
    cf_token_span *v; /* [n], in the arena given to encode */
    size_t n;
} cf_token_list;

/* A stretch of the input that shares one rule about special tokens. */
typedef struct cf_text_span {
    uint32_t off, len;  /* bytes; spans are in order and cover the text */
    bool parse_special; /* "<|im_end|>" and its like become control tokens:
                           true for template text, false for text of a
                           user, a tool or a model */
} cf_text_span;

/* Which special tokens the file names; CF_TOKEN_NONE where it names none. */
typedef struct cf_special_tokens {
    cf_token bos, eos, eot, unk, pad, sep;
    bool add_bos; /* tokenizer.ggml.add_bos_token; false when absent */
    bool add_eos; /* likewise */
} cf_special_tokens;

/*
 * Splits `text` into tokens.
 *
 *   text           bytes; UTF-8 is not required and NUL is allowed.  SPM
 *                  vocabularies encode a bad byte through its byte token,
 *                  byte-level BPE as the byte it is.
 *   parse_special  whether control tokens spelled out in the text become
 *                  that token.  User-defined tokens are always taken.
 *   add_special    add BOS before (EOS after) the text if the file asks for
 *                  it.
 *   out            set on success only; its array lives in `arena`.
 *
 * Returns CF_OK, CF_ENOMEM, or CF_ELIMIT when text is 4 GiB or longer.
 *
 * Cost   O(n log n) time.
 * Holds  spans are in order and do not overlap; they cover every byte of the
 *        text that the vocabulary can express.
 */
CF_MUST_USE cf_status cf_tokenizer_encode(cf_token_list *out, const cf_tokenizer *tok, cf_str text,
                                          bool parse_special, bool add_special, cf_arena *arena,
                                          cf_error *err);

/*
 * The same over stretches with their own rule.  Text on both sides of a span
 * boundary is still split and merged as one text where both sides have the
 * same rule; where the rule changes, plain text keeps its neighbours for
 * pre-tokenisation, but no control token is recognised that touches a byte
 * of a span with parse_special false.
 */
CF_MUST_USE cf_status cf_tokenizer_encode_spans(cf_token_list *out, const cf_tokenizer *tok,
                                                cf_str text, const cf_text_span *spans,
                                                size_t n_spans, bool add_special, cf_arena *arena,
                                                cf_error *err);

/*
 * As cf_tokenizer_encode(), with the places that the model's own library
 * reports: *offsets holds begin and end of each token in bytes of the text,
 * two numbers a token, in `arena`.  They may overlap, and leave white space
 * out where the model's files say so.  NULL where the vocabulary comes from a
 * file without such rules (GGUF, SentencePiece): the spans say it all.
 */
CF_MUST_USE cf_status cf_tokenizer_encode_offsets(cf_token_list *out, uint32_t **offsets,
                                                  const cf_tokenizer *tok, cf_str text,
                                                  bool parse_special, bool add_special,
                                                  cf_arena *arena, cf_error *err);

/*
 * Appends the bytes of `id` in running text: byte tokens as
 * their byte, U+2581 as a space (SPM), byte-level letters as bytes (BPE).
 * Control tokens give their spelling when `spell_control`, else nothing.
 */
void cf_tokenizer_piece(cf_buf *out, const cf_tokenizer *tok, cf_token id, bool spell_control);

/* Appends the text of ids[0..n): the pieces joined; with an SPM vocabulary
 * that adds a space prefix, one leading space of the first piece is dropped
 * unless that piece is a control token. */
void cf_tokenizer_decode(cf_buf *out, const cf_tokenizer *tok, const cf_token *ids, size_t n,
                         bool spell_control);

size_t cf_tokenizer_n_vocab(const cf_tokenizer *tok);
cf_special_tokens cf_tokenizer_special(const cf_tokenizer *tok);
cf_token_type cf_tokenizer_type(const cf_tokenizer *tok, cf_token id);

/* The entry as the vocabulary spells it (not decoded); borrowed. */
cf_str cf_tokenizer_raw_piece(const cf_tokenizer *tok, cf_token id);

/* The token whose vocabulary entry is exactly `piece`, or CF_TOKEN_NONE. */
cf_token cf_tokenizer_find(const cf_tokenizer *tok, cf_str piece);

/* Whether generation ends at `id`: EOS, EOT, and tokens whose spelling is a
 * known end of turn ("<|im_end|>", "<end_of_turn>", "<|eot_id|>" ...). */
bool cf_tokenizer_is_end(const cf_tokenizer *tok, cf_token id);

/* The special tokens that templates of this model see, as the text of a JSON
 * object: {"bos_token":"<s>", ...}; tokens that are not in it are undefined.
 * {NULL, 0} where the model's file has no such list: then bos_token and
 * eos_token are what cf_tokenizer_special() names. */
cf_str cf_tokenizer_variables(const cf_tokenizer *tok);

/* "llama", "gpt2" ... and the pre-tokenizer's name, "" if there is none. */
const char *cf_tokenizer_model(const cf_tokenizer *tok);
const char *cf_tokenizer_pre(const cf_tokenizer *tok);

CF_END_DECLS

#endif
