/*
 * bpe.h - byte-level BPE: the table of merges, and GPT-2's way of spelling
 * bytes as letters.
 *
 * Threads:  constant after init.
 */
#ifndef CF_CORE_TOKEN_BPE_H
#define CF_CORE_TOKEN_BPE_H

#include "core/token/merge.h"
#include "core/token/vocab.h"

typedef struct cf_merge_rule {
    uint32_t left, right; /* ids; left is UINT32_MAX in an empty slot */
    uint32_t rank;        /* position in the file's list: lower goes first */
    uint32_t joined;      /* id */
} cf_merge_rule;

typedef struct cf_merges {
    cf_merge_rule *slot; /* [mask + 1], open addressing */
    size_t mask;
    uint64_t seed; /* odd */
} cf_merges;

/* Reads the merges of `desc`.  A merge is left out where a part or the result
 * is not an ordinary piece.  CF_ELIMIT, CF_ENOMEM, or what desc returned. */
CF_MUST_USE cf_status cf_merges__init(cf_merges *m, const cf_vocab *v, const cf_vocab_desc *desc,
                                      cf_error *err);
void cf_merges__deinit(cf_merges *m);

/* Sets left->prio and left->joined for the pair. */
void cf_merges__pair(const cf_merges *m, cf_symbol *left, const cf_symbol *right);

/* Fills byte[256] with the tokens of single bytes. */
void cf_bpe__byte_tokens(cf_token byte[256], const cf_vocab *v);

/* Writes byte b as GPT-2 spells it and returns the length, 1 or 2. */
size_t cf_bpe__spell(char out[2], unsigned char b);

/* The byte that code point cp spells, or -1. */
int cf_bpe__byte_of(uint32_t cp);

#endif
