/*
 * gguf_index.c - finds keys and tensors by name.
 *
 * Names are looked up through sorted indices: unlike a hash table, no choice
 * of names makes them slow.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/model/gguf_impl.h"

static int compare_str(cf_str a, cf_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int d = n == 0 ? 0 : memcmp(a.p, b.p, n);
    return d != 0 ? d : (a.n > b.n) - (a.n < b.n);
}

/* < 0, 0, > 0 as item a sorts before, with or after item b. */
typedef int (*compare_fn)(const void *ud, uint32_t a, uint32_t b);

static void sift_down(uint32_t *v, size_t root, size_t n, compare_fn cmp, const void *ud)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= n) {
            return;
        }
        if (child + 1 < n && cmp(ud, v[child], v[child + 1]) < 0) {
            child++;
        }
        if (cmp(ud, v[root], v[child]) >= 0) {
            return;
        }
        uint32_t t = v[root];
        v[root] = v[child];
        v[child] = t;
        root = child;
    }
}

/* Heapsort: in place and never worse than n log n, whatever the names. */
static void sort_indices(uint32_t *v, size_t n, compare_fn cmp, const void *ud)
{
    for (size_t i = n / 2; i-- > 0;) {
        sift_down(v, i, n, cmp, ud);
    }
    for (size_t end = n; end-- > 1;) {
        uint32_t t = v[0];
        v[0] = v[end];
        v[end] = t;
        sift_down(v, 0, end, cmp, ud);
    }
}

static cf_status make_order(uint32_t **out, size_t n, compare_fn cmp, const void *ud, cf_error *err)
{
    uint32_t *v = cf_realloc(NULL, n != 0 ? n : 1, sizeof *v);
    if (v == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for %zu names", n);
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = (uint32_t)i;
    }
    sort_indices(v, n, cmp, ud);
    *out = v;
    return CF_OK;
}

static int compare_values(const void *ud, uint32_t a, uint32_t b)
{
    const cf_gguf_value *v = ud;
    return compare_str(v[a].key, v[b].key);
}

static int compare_tensor_names(const void *ud, uint32_t a, uint32_t b)
{
    const cf_gguf_tensor *t = ud;
    return compare_str(t[a].name, t[b].name);
}

static int compare_tensor_places(const void *ud, uint32_t a, uint32_t b)
{
    const cf_gguf_tensor *t = ud;
    if (t[a].part != t[b].part) {
        return t[a].part < t[b].part ? -1 : 1;
    }
    return (t[a].file_off > t[b].file_off) - (t[a].file_off < t[b].file_off);
}

cf_status cf_gguf__order_values(cf_gguf *g, cf_error *err)
{
    CF_TRY(make_order(&g->value_order, g->n_values, compare_values, g->values, err));
    for (size_t i = 1; i < g->n_values; i++) {
        const cf_gguf_value *a = &g->values[g->value_order[i - 1]];
        const cf_gguf_value *b = &g->values[g->value_order[i]];
        if (cf_str_eq(a->key, b->key)) {
            uint64_t at = a->off > b->off ? a->off : b->off;
            return cf_fail_at(err, CF_EFORMAT, at,
                              "%.*s: key is given a second time, value at "
                              "byte %" PRIu64,
                              cf_gguf__shown(a->key), a->key.p, at);
        }
    }
    return CF_OK;
}

cf_status cf_gguf__order_tensors(cf_gguf *g, cf_error *err)
{
    CF_TRY(make_order(&g->tensor_order, g->n_tensors, compare_tensor_names, g->tensors, err));
    for (size_t i = 1; i < g->n_tensors; i++) {
        const cf_gguf_tensor *a = &g->tensors[g->tensor_order[i - 1]];
        const cf_gguf_tensor *b = &g->tensors[g->tensor_order[i]];
        if (cf_str_eq(a->name, b->name)) {
            const cf_gguf_tensor *late = a > b ? a : b;
            return cf_fail_at(err, CF_EFORMAT, late->file_off,
                              "tensor %.*s is declared twice, data at byte "
                              "%" PRIu64,
                              cf_gguf__shown(a->name), a->name.p, late->file_off);
        }
    }
    return CF_OK;
}

cf_status cf_gguf__check_overlap(const cf_gguf *g, cf_error *err)
{
    uint32_t *order = NULL;
    cf_status st = CF_OK;
    CF_TRY(make_order(&order, g->n_tensors, compare_tensor_places, g->tensors, err));
    assert(order != NULL);
    for (size_t i = 1; i < g->n_tensors && st == CF_OK; i++) {
        const cf_gguf_tensor *a = &g->tensors[order[i - 1]];
        const cf_gguf_tensor *b = &g->tensors[order[i]];
        /* A tensor of unknown type has at least one byte. */
        uint64_t used = a->bytes != 0 ? a->bytes : 1;
        if (a->part == b->part && b->file_off - a->file_off < used) {
            st = cf_fail_at(err, CF_EFORMAT, b->file_off,
                            "tensors %.*s and %.*s overlap at byte %" PRIu64,
                            cf_gguf__shown(a->name), a->name.p, cf_gguf__shown(b->name), b->name.p,
                            b->file_off);
        }
    }
    cf_free(order);
    return st;
}

/* Where `want` is among n names in their sorted order, each at the start of an
 * item of `size` bytes; SIZE_MAX: nowhere. */
static size_t find(const void *items, size_t size, const uint32_t *order, size_t n,
                   const char *want)
{
    cf_str name;
    size_t lo = 0;
    size_t hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        memcpy(&name, (const char *)items + order[mid] * size, sizeof name);
        int d = compare_str(cf_str_from(want), name);
        if (d == 0) {
            return order[mid];
        }
        if (d < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return SIZE_MAX;
}

const cf_gguf_value *cf_gguf_find(const cf_gguf *g, const char *key)
{
    size_t i = find(g->values, sizeof *g->values, g->value_order, g->n_values, key);
    return i != SIZE_MAX ? &g->values[i] : NULL;
}

const cf_gguf_tensor *cf_gguf_find_tensor(const cf_gguf *g, const char *name)
{
    size_t i = find(g->tensors, sizeof *g->tensors, g->tensor_order, g->n_tensors, name);
    return i != SIZE_MAX ? &g->tensors[i] : NULL;
}
