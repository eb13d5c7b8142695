/*
 * pipeline.h - a tokenizer as tokenizer.json describes one: a row of steps.
 *
 * Flow of a text:  added tokens are cut out, what is between them is
 * normalised (normalize.h), added tokens are cut out of that too, the rest is
 * split (split.h), each piece becomes tokens (subword.h), and tokens are put
 * around all of it.  Decoding has steps of its own.
 * Source: tokenizers, src/tokenizer/mod.rs and added_vocabulary.rs.
 *
 * Threads:  constant after it was made.
 * Memory:   strings and lists of steps live in `arena`, or are borrowed from
 *           the file; a reader fills the lists.
 */
#ifndef CF_CORE_TOKEN_PIPELINE_H
#define CF_CORE_TOKEN_PIPELINE_H

#include "core/base/arena.h"
#include "core/token/normalize.h"
#include "core/token/special.h"
#include "core/token/split.h"
#include "core/token/subword.h"

enum { CF_PIPE_STEPS_MAX = CF_SPLIT_STEPS_MAX };

/* A token that is taken from the text as a whole. */
typedef struct cf_added_token {
    cf_str content;
    cf_token id;
    bool is_special;     /* a control token */
    bool single_word;    /* not where a word character touches it */
    bool lstrip, rstrip; /* takes the white space on that side along */
    bool normalized;     /* looked for in the normalised text */
} cf_added_token;

/* The changes to the list of tokens. */
typedef struct cf_wrap_step {
    bool trims;                     /* white space is left out of offsets */
    bool prefix_space;              /* one leading space of the first token is not text */
    const cf_token *before, *after; /* put around the list */
    size_t n_before, n_after;
} cf_wrap_step;

typedef enum cf_decode_kind {
    CF_DECODE_BYTE_LEVEL,
    CF_DECODE_BYTE_FALLBACK,
    CF_DECODE_FUSE,
    CF_DECODE_STRIP,
    CF_DECODE_REPLACE,
    CF_DECODE_METASPACE,
    CF_DECODE_WORDPIECE,
    CF_DECODE_BPE,
    CF_DECODE_CTC
} cf_decode_kind;

typedef struct cf_decode_step {
    cf_decode_kind kind;
    cf_str text;        /* prefix, suffix, what is stripped or put in, pad */
    cf_str delimiter;   /* CTC */
    cf_pattern pattern; /* REPLACE */
    size_t start, stop; /* STRIP: most characters from each end */
    bool cleanup;       /* WORDPIECE, CTC */
    bool keep_first;    /* METASPACE: the first token keeps its spaces */
} cf_decode_step;

typedef struct cf_pipeline {
    cf_arena arena;
    cf_norm_step norm[CF_PIPE_STEPS_MAX];
    size_t n_norm;
    cf_split_step split[CF_PIPE_STEPS_MAX];
    size_t n_split;
    cf_subword model;
    cf_added_token *added; /* [n_added], in the arena */
    size_t n_added;
    cf_trie raw, normal; /* of added tokens, by whether they are normalised */
    cf_wrap_step wrap[CF_PIPE_STEPS_MAX];
    size_t n_wrap;
    bool trims; /* some of these steps does; set by finish */
    cf_decode_step decode[CF_PIPE_STEPS_MAX];
    size_t n_decode;
    bool keeps_bytes; /* decoding gives the bytes of cut characters as they
                         are, not U+FFFD */
} cf_pipeline;

/* An empty pipeline; NULL without memory. */
cf_pipeline *cf_pipeline_new(void);
void cf_pipeline_free(cf_pipeline *p);

/* Adds the step that puts BOS and EOS around the list, where `s` says so.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_pipeline_wrap(cf_pipeline *p, const cf_special_tokens *s, cf_error *err);

/* SentencePiece's map of characters from its bytes, copied.  CF_EFORMAT,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_pipeline_charsmap(cf_pipeline *p, cf_str bytes, cf_charsmap *out,
                                           cf_error *err);
/* Adds the steps around SentencePiece's Unigram: the map (may be empty), white
 * space joined and dropped at the ends, and a mark before the first word. */
CF_MUST_USE cf_status cf_pipeline_unigram(cf_pipeline *p, cf_str charsmap, bool joins_spaces,
                                          bool prefix, cf_error *err);
/* Adds BERT's, for a vocabulary that spells the begin of a word with U+2581. */
void cf_pipeline_wordpiece(cf_pipeline *p, bool lowercase, bool strip_accents);

/* Prepares what a reader filled in for the vocabulary.  CF_ELIMIT,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_pipeline__finish(cf_pipeline *p, const cf_vocab *v,
                                          const cf_vocab_desc *desc, cf_error *err);

/* As cf_tokenizer_encode_spans() and cf_tokenizer_encode_offsets();
 * `offsets` may be NULL. */
CF_MUST_USE cf_status cf_pipeline__encode(cf_token_list *out, uint32_t **offsets,
                                          const cf_tokenizer *tok, cf_str text,
                                          const cf_text_span *spans, size_t n_spans,
                                          bool add_special, cf_arena *arena, cf_error *err);

/* As cf_tokenizer_decode() and cf_tokenizer_piece(). */
void cf_pipeline__decode(cf_buf *out, const cf_pipeline *p, const cf_vocab *v, const cf_token *ids,
                         size_t n, bool spell_control);
void cf_pipeline__piece(cf_buf *out, const cf_pipeline *p, const cf_vocab *v, cf_token id,
                        bool spell_control);

/* An added token in text[at..). */
typedef struct cf_added_hit {
    const cf_added_token *token; /* NULL: none */
    size_t from, to;             /* with the white space it takes along */
    size_t next;                 /* where to look for the one after it */
} cf_added_hit;

/* The next added token of `set` in `text` from `at` on; control tokens count
 * only in the stretches of `walk`.  `done`: end of the token before, whose
 * white space is taken. */
cf_added_hit cf_added__next(const cf_pipeline *p, const cf_trie *set, cf_special_walk *walk,
                            const cf_view *text, size_t at, size_t done);

#endif
