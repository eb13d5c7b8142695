/*
 * vocab_desc.h - a vocabulary as a model file gives it, in plain terms.
 *
 * Whoever reads a file fills one of these; a tokenizer is built from it
 * without knowing the file's format.  Pieces and merges are pulled one after
 * the other, so that no second copy of a large list is ever made.
 *
 * Memory:  every string is borrowed and must outlive the tokenizer.
 */
#ifndef CF_CORE_TOKEN_VOCAB_DESC_H
#define CF_CORE_TOKEN_VOCAB_DESC_H

#include "core/api/tokenizer.h"

/* One token.  Its id is its place in the list. */
typedef struct cf_vocab_entry {
    cf_str spelling;
    cf_token_type type; /* CF_TOKEN_NORMAL where the file does not say */
    float score;        /* 0 where the file does not say */
    bool is_added;      /* not part of the model: text never becomes it by
                           merging or look-up */
} cf_vocab_entry;

typedef struct cf_vocab_desc {
    cf_str model; /* "llama", "gpt2" ... */
    cf_str pre;   /* the pre-tokenizer's name; empty: none */

    /* Called n_tokens times, then n_merges times. */
    size_t n_tokens;
    cf_status (*next_token)(void *ud, cf_vocab_entry *out, cf_error *err);
    size_t n_merges;
    cf_status (*next_merge)(void *ud, cf_str part[2], cf_error *err);
    void *ud;
    size_t merge_skip; /* bytes of a right part that the result lacks */
    bool by_spelling;  /* as in tokenizer.json: any token may be part or result
                          of a merge, and of equal merges the last counts */

    bool has_types;          /* the file says which tokens are special */
    cf_special_tokens named; /* ids below n_tokens, or CF_TOKEN_NONE */
    bool space_prefix;       /* SPM: the text starts with a space of its own */
    bool rstrip;             /* special tokens take the white space after
                                them along */
} cf_vocab_desc;

#endif
