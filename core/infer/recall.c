/*
 * recall.c - an index of every three tokens in a row, by chains of places.
 *
 * Rules that always hold:
 *   1. Place i (CF_RECALL_GRAM <= i <= n) is the end of ids[i - GRAM..i); it
 *      is in the chain of their hash, unless a text ends among them.
 *   2. before[i - 1] is the place before i in its chain; chains descend, so
 *      the latest place can be taken off again.
 */
#include "core/infer/recall.h"

#include <string.h>

#include "core/base/alloc.h"

enum {
    HASH_BITS = 14,
    TRIES_MAX = 64, /* places of a chain that are looked at */
    MATCH_MAX = 32  /* tokens compared backwards */
};

cf_status cf_recall_init(cf_recall *out, cf_error *err)
{
    *out = (cf_recall){.head = cf_calloc(1U << HASH_BITS, sizeof *out->head)};
    return out->head != NULL ? CF_OK : cf_oom_for(err, "the index of drafts");
}

void cf_recall_deinit(cf_recall *l)
{
    cf_free(l->ids);
    cf_free(l->before);
    cf_free(l->head);
    *l = (cf_recall){0};
}

/* The chain that place i belongs to; NULL: to none. */
static uint32_t *chain(const cf_recall *l, size_t i)
{
    uint32_t h = 0;
    for (size_t k = i - CF_RECALL_GRAM; k < i; k++) {
        if (l->ids[k] == CF_TOKEN_NONE) {
            return NULL;
        }
        h = (h ^ (uint32_t)l->ids[k]) * 2654435761U;
    }
    return &l->head[h >> (32 - HASH_BITS)];
}

cf_status cf_recall_add(cf_recall *l, const cf_token *ids, size_t n, cf_error *err)
{
    if (n > UINT32_MAX - 1 - l->n || !cf_grow(&l->ids, &l->cap, l->n + n, sizeof *l->ids) ||
        !cf_grow(&l->before, &l->cap_before, l->n + n, sizeof *l->before)) {
        return cf_oom_for(err, "the index of drafts");
    }
    for (size_t k = 0; k < n; k++) {
        l->ids[l->n++] = ids[k];
        uint32_t *head = l->n >= CF_RECALL_GRAM ? chain(l, l->n) : NULL;
        l->before[l->n - 1] = head != NULL ? *head : 0;
        if (head != NULL) {
            *head = (uint32_t)l->n;
        }
    }
    return CF_OK;
}

void cf_recall_truncate(cf_recall *l, size_t n)
{
    for (; l->n > n; l->n--) {
        uint32_t *head = l->n >= CF_RECALL_GRAM ? chain(l, l->n) : NULL;
        if (head != NULL) {
            *head = l->before[l->n - 1];
        }
    }
}

/* How many tokens before place i are those before the end. */
static size_t common(const cf_recall *l, size_t i)
{
    size_t m = 0;
    while (m < MATCH_MAX && m < i && l->ids[i - 1 - m] != CF_TOKEN_NONE &&
           l->ids[i - 1 - m] == l->ids[l->n - 1 - m]) {
        m++;
    }
    return m;
}

size_t cf_recall_find(const cf_recall *l, cf_token *out, size_t cap, size_t *match)
{
    size_t best = 0;
    *match = 0;
    if (l->n < CF_RECALL_GRAM || chain(l, l->n) == NULL) {
        return 0;
    }
    size_t i = l->before[l->n - 1];
    for (size_t k = 0; i != 0 && k < TRIES_MAX; k++, i = l->before[i - 1]) {
        size_t m = common(l, i);
        if (m >= CF_RECALL_GRAM && m > *match) {
            *match = m;
            best = i;
        }
    }
    size_t n = 0;
    for (; *match > 0 && n < cap; n++) { /* past the end it repeats itself */
        size_t at = best + n;
        cf_token id = at < l->n ? l->ids[at] : out[at - l->n];
        if (id == CF_TOKEN_NONE) {
            break;
        }
        out[n] = id;
    }
    return n;
}
