/*
 * trie.h - all keys of a fixed list that a text begins with.
 *
 * Threads:  constant after init.
 */
#ifndef CF_CORE_TOKEN_TRIE_H
#define CF_CORE_TOKEN_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/str.h"

enum { CF_TRIE_ROOT = 0 };
#define CF_TRIE_NONE UINT32_MAX

/* The children of a node are adjacent, ordered by label. */
typedef struct cf_trie_node {
    uint32_t child; /* of the first one */
    uint32_t value; /* index of the key that ends here, or CF_TRIE_NONE */
    uint16_t n_child;
    uint8_t label; /* the byte that leads here */
} cf_trie_node;

typedef struct cf_trie {
    cf_trie_node *node; /* [n]; 0 is the root */
    size_t n, cap;
    uint32_t first[256]; /* the root's children by label, or CF_TRIE_NONE */
} cf_trie;

/* Builds the trie of key[0..n); empty keys are left out.  Of equal keys the
 * first counts, or the last.  CF_ENOMEM, CF_ELIMIT. */
CF_MUST_USE cf_status cf_trie_init(cf_trie *t, const cf_str *key, size_t n, bool last_wins,
                                   cf_error *err);
void cf_trie_deinit(cf_trie *t);

/* The node that byte c leads to from `node`, or CF_TRIE_NONE. */
static inline uint32_t cf_trie_step(const cf_trie *t, uint32_t node, unsigned char c)
{
    if (node == CF_TRIE_ROOT) {
        return t->first[c];
    }
    uint32_t lo = t->node[node].child;
    uint32_t hi = lo + t->node[node].n_child;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->node[mid].label < c) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    uint32_t end = t->node[node].child + t->node[node].n_child;
    return lo < end && t->node[lo].label == c ? lo : CF_TRIE_NONE;
}

#endif
