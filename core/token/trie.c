/*
 * trie.c - builds a trie from sorted keys, level by level.
 *
 * A node is at first a range of the sorted keys that share a prefix; its
 * children are the ranges that share one byte more.  Nodes are worked off in
 * the order they were made, so the children of one are adjacent.
 */
#include "core/token/trie.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

typedef struct entry {
    cf_str key;
    uint32_t index;
} entry;

/* The keys below a node, and how many bytes they share. */
typedef struct range {
    uint32_t from, to, depth;
} range;

static int by_key(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    size_t n = x->key.n < y->key.n ? x->key.n : y->key.n;
    int order = memcmp(x->key.p, y->key.p, n);
    if (order == 0 && x->key.n != y->key.n) {
        order = x->key.n < y->key.n ? -1 : 1;
    }
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

typedef struct builder {
    cf_trie *t;
    const entry *e;
    range *r; /* [t->n], one for each node */
    size_t cap_r;
    bool last_wins;
} builder;

static bool add_node(builder *b, uint8_t label, range r)
{
    cf_trie *t = b->t;
    if (!cf_grow(&t->node, &t->cap, t->n + 1, sizeof *t->node) ||
        !cf_grow(&b->r, &b->cap_r, t->n + 1, sizeof *b->r)) {
        return false;
    }
    t->node[t->n] = (cf_trie_node){0, CF_TRIE_NONE, 0, label};
    b->r[t->n++] = r;
    return true;
}

/* Makes the children of node i. */
static bool expand(builder *b, size_t i)
{
    range r = b->r[i];
    while (r.from < r.to && b->e[r.from].key.n == r.depth) {
        if (b->t->node[i].value == CF_TRIE_NONE || b->last_wins) {
            b->t->node[i].value = b->e[r.from].index;
        }
        r.from++;
    }
    b->t->node[i].child = (uint32_t)b->t->n;
    while (r.from < r.to) {
        uint8_t label = (uint8_t)b->e[r.from].key.p[r.depth];
        uint32_t end = r.from + 1;
        while (end < r.to && (uint8_t)b->e[end].key.p[r.depth] == label) {
            end++;
        }
        if (!add_node(b, label, (range){r.from, end, r.depth + 1})) {
            return false;
        }
        b->t->node[i].n_child++;
        r.from = end;
    }
    return true;
}

static cf_status build(builder *b, size_t n, cf_error *err)
{
    cf_trie *t = b->t;
    bool ok = add_node(b, 0, (range){0, (uint32_t)n, 0});
    for (size_t i = 0; ok && i < t->n; i++) {
        ok = t->n < UINT32_MAX / 2 && expand(b, i);
    }
    for (size_t c = 0; c < 256; c++) {
        t->first[c] = CF_TRIE_NONE;
    }
    for (size_t k = 0; ok && k < t->node[0].n_child; k++) {
        uint32_t child = t->node[0].child + (uint32_t)k;
        t->first[t->node[child].label] = child;
    }
    return ok ? CF_OK : cf_oom(err);
}

cf_status cf_trie_init(cf_trie *t, const cf_str *key, size_t n, bool last_wins, cf_error *err)
{
    memset(t, 0, sizeof *t);
    if (n >= UINT32_MAX) {
        return cf_fail(err, CF_ELIMIT, "%zu pieces are too many", n);
    }
    entry *e = cf_calloc(n + 1, sizeof *e);
    if (e == NULL) {
        return cf_oom(err);
    }
    size_t n_entry = 0;
    for (size_t i = 0; i < n; i++) {
        if (key[i].n != 0) {
            e[n_entry++] = (entry){key[i], (uint32_t)i};
        }
    }
    qsort(e, n_entry, sizeof *e, by_key);
    builder b = {.t = t, .e = e, .last_wins = last_wins};
    cf_status st = build(&b, n_entry, err);
    cf_free(b.r);
    cf_free(e);
    if (st != CF_OK) {
        cf_trie_deinit(t);
    }
    return st;
}

void cf_trie_deinit(cf_trie *t)
{
    cf_free(t->node);
    memset(t, 0, sizeof *t);
}
