/*
 * subword.h - how a vocabulary is applied to one piece of text: the models of
 * tokenizer.json.
 *
 * Threads:  a cf_subword is constant; a cf_subwording belongs to one thread.
 */
#ifndef CF_CORE_TOKEN_SUBWORD_H
#define CF_CORE_TOKEN_SUBWORD_H

#include "core/token/aligned.h"
#include "core/token/bpe.h"
#include "core/token/merge.h"
#include "core/token/trie.h"
#include "core/token/vocab.h"

/* Longest word that WordPiece takes apart; the file's limit is at most this. */
enum { CF_WORDPIECE_CHARS_MAX = 1000 };

typedef enum cf_subword_kind {
    CF_SUBWORD_BPE,
    CF_SUBWORD_UNIGRAM,
    CF_SUBWORD_WORDPIECE,
    CF_SUBWORD_WORDLEVEL
} cf_subword_kind;

typedef struct cf_subword {
    cf_subword_kind kind;
    cf_token unk;       /* or CF_TOKEN_NONE */
    bool lacks_unk;     /* a token for unknown text is named that does not exist */
    bool fuse_unk;      /* BPE: neighbouring unknown characters are one */
    bool byte_fallback; /* an unknown character becomes its bytes' tokens */
    bool ignore_merges; /* BPE: a piece that is a token is one */
    bool raw_bytes;     /* BPE: the vocabulary is spelled in GPT-2's letters,
                           the text is not: `byte` has the tokens */
    cf_str head;        /* WordPiece: of the first part of a word */
    cf_str prefix;      /* of all but the first part of a word */
    cf_str suffix;      /* BPE: of a word's last character */
    size_t max_chars;   /* WordPiece: of a word; longer ones are unknown */
    double *score;      /* Unigram: [n] log probabilities; owned */
    size_t n_score;
    double unk_score;
    cf_trie pieces; /* Unigram */
    cf_merges merges;
    cf_token byte[256]; /* of single letters when raw_bytes, else "<0x41>" */
} cf_subword;

/* Prepares the model for `v` from what the reader filled in: kind, flags,
 * texts and scores.  desc: where the merges come from. */
CF_MUST_USE cf_status cf_subword_init(cf_subword *m, const cf_vocab *v, const cf_vocab_desc *desc,
                                      cf_error *err);
void cf_subword_deinit(cf_subword *m);

/* Gets a token and the bytes of the piece that it stands for. */
typedef cf_status (*cf_subword_fn)(void *ud, cf_token id, size_t from, size_t to);

/* One walk, and its scratch. */
typedef struct cf_subwording {
    const cf_subword *model;
    const cf_vocab *vocab;
    cf_merge merge;
    char *spelled; /* a part as the vocabulary spells it */
    size_t cap_spelled;
    struct cf_path_node *path; /* Unigram */
    size_t cap_path;
    cf_subword_fn fn;
    void *ud;
    cf_error *err;
} cf_subwording;

void cf_subwording_deinit(cf_subwording *w);

/* Calls w->fn for each token of the piece, in order.  CF_ENOMEM; CF_EFORMAT
 * when a character has no token and the vocabulary no token for unknown
 * ones. */
CF_MUST_USE cf_status cf_subword_encode(cf_subwording *w, cf_str piece);

#endif
