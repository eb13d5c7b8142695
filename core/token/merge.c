/*
 * merge.c - merges symbols in two ways with the same result: a plain scan for
 * the few symbols of a word, a heap over a linked list for long runs.
 *
 * Heap entries are never taken back.  An entry is good when the pair that now
 * starts at its symbol has its priority, even if it was pushed for an
 * earlier pair there: the lowest entry then names the leftmost lowest pair.
 */
#include "core/token/merge.h"

#include <string.h>

#include "core/base/alloc.h"

#ifdef CF_TIGHT
enum { SHORT_RUN = 3, FIRST_CAP = 1 };
#else
enum { SHORT_RUN = 24, FIRST_CAP = 64 };
#endif

#define NO_SYMBOL UINT32_MAX

void cf_merge__deinit(cf_merge *m)
{
    cf_free(m->sym);
    cf_free(m->heap);
    memset(m, 0, sizeof *m);
}

bool cf_merge__grow(void **p, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap) {
        return true;
    }
    size_t n = *cap < FIRST_CAP ? FIRST_CAP : *cap;
    while (n < need) {
        if (n > SIZE_MAX / 2) {
            return false;
        }
        n *= 2;
    }
    void *grown = cf_realloc(*p, n, size);
    if (grown == NULL) {
        return false;
    }
    *p = grown;
    *cap = n;
    return true;
}

cf_status cf_merge__reserve(cf_merge *m, size_t n, cf_error *err)
{
    void *p = m->sym;
    bool ok = cf_merge__grow(&p, &m->cap_sym, n, sizeof *m->sym);
    m->sym = p;
    return ok ? CF_OK : cf_oom(err);
}

static void join(cf_symbol *left, const cf_symbol *right)
{
    left->len += right->len;
    left->src_len = right->src + right->src_len - left->src;
    left->id = left->joined;
}

static size_t run_short(cf_symbol *sym, size_t n, cf_merge_pair_fn pair, void *ud)
{
    for (size_t i = 0; i + 1 < n; i++) {
        pair(ud, &sym[i], &sym[i + 1]);
    }
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++) {
            if (sym[i].prio < sym[best].prio) {
                best = i;
            }
        }
        if (sym[best].prio == CF_MERGE_NONE) {
            break;
        }
        join(&sym[best], &sym[best + 1]);
        n--;
        memmove(&sym[best + 1], &sym[best + 2], (n - best - 1) * sizeof *sym);
        if (best + 1 < n) {
            pair(ud, &sym[best], &sym[best + 1]);
        }
        if (best > 0) {
            pair(ud, &sym[best - 1], &sym[best]);
        }
    }
    return n;
}

static bool push(cf_merge *m, uint32_t prio, uint32_t left)
{
    if (prio == CF_MERGE_NONE) {
        return true;
    }
    void *p = m->heap;
    bool ok = cf_merge__grow(&p, &m->cap_heap, m->n_heap + 1, sizeof *m->heap);
    m->heap = p;
    if (!ok) {
        return false;
    }
    uint64_t item = (uint64_t)prio << 32 | left;
    size_t i = m->n_heap++;
    while (i > 0 && m->heap[(i - 1) / 2] > item) {
        m->heap[i] = m->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    m->heap[i] = item;
    return true;
}

static uint64_t pop(cf_merge *m)
{
    uint64_t top = m->heap[0];
    uint64_t item = m->heap[--m->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= m->n_heap) {
            break;
        }
        if (child + 1 < m->n_heap && m->heap[child + 1] < m->heap[child]) {
            child++;
        }
        if (m->heap[child] >= item) {
            break;
        }
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = item;
    return top;
}

/* Looks at the pair that starts at i again and queues it. */
static bool renew(cf_merge *m, uint32_t i, cf_merge_pair_fn pair, void *ud)
{
    cf_symbol *left = &m->sym[i];
    if (left->next == NO_SYMBOL) {
        left->prio = CF_MERGE_NONE;
        return true;
    }
    pair(ud, left, &m->sym[left->next]);
    return push(m, left->prio, i);
}

static bool run_long(cf_merge *m, size_t n, cf_merge_pair_fn pair, void *ud)
{
    m->n_heap = 0;
    cf_symbol *sym = m->sym;
    for (size_t i = 0; i < n; i++) {
        sym[i].prev = i == 0 ? NO_SYMBOL : (uint32_t)(i - 1);
        sym[i].next = i + 1 == n ? NO_SYMBOL : (uint32_t)(i + 1);
    }
    for (size_t i = 0; i < n; i++) {
        if (!renew(m, (uint32_t)i, pair, ud)) {
            return false;
        }
    }
    while (m->n_heap > 0) {
        uint64_t item = pop(m);
        uint32_t i = (uint32_t)item;
        if (sym[i].prio != item >> 32) {
            continue;
        }
        uint32_t gone = sym[i].next;
        join(&sym[i], &sym[gone]);
        sym[gone].prio = CF_MERGE_NONE; /* its entries die with it */
        sym[i].next = sym[gone].next;
        if (sym[i].next != NO_SYMBOL) {
            sym[sym[i].next].prev = i;
        }
        bool ok = renew(m, i, pair, ud);
        if (ok && sym[i].prev != NO_SYMBOL) {
            ok = renew(m, sym[i].prev, pair, ud);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

cf_status cf_merge__run(cf_merge *m, size_t n, size_t *n_out, cf_merge_pair_fn pair, void *ud,
                        cf_error *err)
{
    if (n <= SHORT_RUN) {
        *n_out = run_short(m->sym, n, pair, ud);
        return CF_OK;
    }
    if (!run_long(m, n, pair, ud)) {
        return cf_oom(err);
    }
    size_t kept = 0;
    for (uint32_t i = 0; i != NO_SYMBOL;) {
        uint32_t next = m->sym[i].next;
        m->sym[kept++] = m->sym[i];
        i = next;
    }
    *n_out = kept;
    return CF_OK;
}
