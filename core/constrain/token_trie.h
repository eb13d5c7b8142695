/*
 * token_trie.h - a vocabulary as tries, and what is known about it beforehand.
 *
 * A trie is an array of nodes in depth-first order, children by byte, so
 * that a walk is a loop and skipping a subtree is one jump.  The entries of a
 * subtree stand side by side.
 *
 * Inside a JSON string most of the vocabulary is allowed, and the same part
 * of it in every schema.  That part is kept ready as a bit set, and the
 * tokens that close the string as a trie of what follows the quote.
 *
 * Room-internal.  Constant after it was made.
 */
#ifndef CF_CORE_CONSTRAIN_TOKEN_TRIE_H
#define CF_CORE_CONSTRAIN_TOKEN_TRIE_H

#include "core/api/constraint.h"

/* A token that ends at a trie node. */
typedef struct cf_entry {
    cf_token id;
    uint16_t n_before; /* tries of endings: characters before the quote */
} cf_entry;

/* Node 0 is the root. */
typedef struct cf_trie {
    uint8_t *byte;
    uint16_t *depth;
    uint32_t *end;      /* first node after the subtree */
    uint32_t *entry_at; /* [n + 1] into entry */
    cf_entry *entry;
    size_t n, cap;
    size_t n_entry;
    uint16_t depth_max;
    uint8_t *slice; /* the least slice that holds all tokens of the subtree;
                       NULL for tries of endings */
} cf_trie;

/*
 * Slices: tokens made of one alphabet only, each holding the one before.
 * Where an automaton can take every text over an alphabet, the slice is
 * allowed as a whole and subtrees inside it need no walk.
 */
enum {
    CF_SLICE_LOWER, /* a-z */
    CF_SLICE_ALPHA, /* A-Z */
    CF_SLICE_WORD,  /* 0-9 _ */
    CF_SLICE_GRAPH, /* ASCII that is seen, but for quote and backslash */
    CF_SLICE_PRINT, /* the space */
    CF_SLICE_TEXT,  /* every other character in whole, but for controls */
    CF_SLICE_N,
    CF_SLICE_NONE = CF_SLICE_N
};

enum { CF_CHARS_MAX = 32, CF_PIECE_MAX = 1000 };

/* Tokens inside a string that began before, by what they do to it. */
typedef struct cf_string_tokens {
    uint32_t *inside; /* bit set: tokens that stay inside */
    cf_trie endings;  /* tokens that close it, by what follows the quote */
    cf_trie others;   /* the same tokens, whole, where two quotes follow:
                         not among the endings (keys only) */
    /* strings of counted length */
    uint32_t *at_most; /* [CF_CHARS_MAX + 1] bit sets: of at most so many
                          characters */
    cf_entry *longer;  /* those with more, and their count */
    size_t n_longer;
} cf_string_tokens;

struct cf_constraint_vocab {
    size_t n;       /* tokens */
    size_t n_words; /* of a bit set */
    cf_trie all;
    uint32_t child[256]; /* of the root: node, 0: none */
    cf_string_tokens str, key;
    uint32_t *slice[CF_SLICE_N]; /* bit sets */
    char *bytes;                 /* of all pieces */
    uint32_t *off;               /* [n + 1] */
    uint8_t *kind;               /* [n] cf_piece_kind */
    cf_token *ends;              /* end tokens */
    size_t n_ends;
    cf_token *controls;
    size_t n_controls;
};

static inline void cf_trie__set(uint32_t *set, cf_token id)
{
    set[id / 32] |= UINT32_C(1) << (id % 32);
}

static inline void cf_trie__clear(uint32_t *set, cf_token id)
{
    set[id / 32] &= ~(UINT32_C(1) << (id % 32));
}

/* The node below `node` with the byte, 0 when there is none. */
uint32_t cf_trie__child(const cf_trie *t, uint32_t node, uint8_t byte);

#endif
