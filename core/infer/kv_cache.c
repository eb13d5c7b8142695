/*
 * kv_cache.c - keeps keys and values in pages with reference counts.
 *
 * Rules that always hold:
 *   1. page[0..n) are pages this list holds a reference to; a page's count is
 *      the number of lists it is in.
 *   2. A page is written only by a list that holds its only reference.
 *   3. A page belongs to a slab, which is freed when none of its pages is in a
 *      list and no list takes pages from it: small pages lie together, so that
 *      they fill huge pages (os.h).  A dropped page is not used again.
 *   4. What a page holds after its timeline's length is never read.
 */
#include "core/infer/kv_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/kernel/cached.h"

enum { PAGE_ALIGN = 64, SLAB_BYTES = 2 * CF_OS_HUGE, SLAB_PAGES = 16 };

/* Counts are taken and dropped by lists on any thread; the last drop frees. */
struct cf_kv_slab {
    _Alignas(PAGE_ALIGN) atomic_uint n_ref; /* pages in use, and the list that takes them */
    _Alignas(PAGE_ALIGN) unsigned char data[];
};

struct cf_kv_page {
    _Alignas(PAGE_ALIGN) atomic_uint n_ref;
    cf_kv_slab *slab;
    _Alignas(PAGE_ALIGN) unsigned char data[];
};

/* Bytes from a page of a slab to the next. */
static size_t page_step(const cf_kv_layout *l)
{
    return (sizeof(cf_kv_page) + l->page_bytes + PAGE_ALIGN - 1) / PAGE_ALIGN * PAGE_ALIGN;
}

cf_status cf_kv_layout_init(cf_kv_layout *out, const cf_hparams *hp, cf_dtype type, cf_error *err)
{
    cf_kv_layout l = {.type = type, .n_layer = hp->n_layer, .has_values = hp->latent.n == 0};
    l.layer = cf_calloc(hp->n_layer, sizeof *l.layer);
    if (l.layer == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for %u layers", hp->n_layer);
    }
    size_t off = 0;
    for (uint32_t i = 0; i < hp->n_layer; i++) {
        const cf_layer_hparams *h = &hp->layer[i];
        struct cf_kv_layer *to = &l.layer[i];
        to->k_head = cf_cached_bytes(type, h->head_size) * CF_KV_BLOCK;
        to->v_head = l.has_values ? cf_cached_bytes(type, h->head_size_v) * CF_KV_BLOCK : 0;
        if (h->kv_layer != i) { /* keys and values of an earlier layer */
            *to = l.layer[h->kv_layer];
            continue;
        }
        to->k_off = off;
        off += to->k_head * h->n_head_kv;
        to->v_off = off;
        off += to->v_head * h->n_head_kv;
        l.n_number += h->n_head_kv * ((size_t)h->head_size + (l.has_values ? h->head_size_v : 0));
    }
    l.page_bytes = off; /* at most 2^38, see the bounds in hparams.h */
    size_t fill = (SLAB_BYTES + page_step(&l) - 1) / page_step(&l);
    l.n_together = fill <= SLAB_PAGES && off < CF_OS_HUGE ? (uint32_t)fill : 1;
    *out = l;
    return CF_OK;
}

void cf_kv_layout_deinit(cf_kv_layout *l)
{
    cf_free(l->layer);
    *l = (cf_kv_layout){0};
}

uint32_t cf_kv_pages(uint32_t n_ctx)
{
    return n_ctx / CF_KV_BLOCK + (n_ctx % CF_KV_BLOCK != 0);
}

cf_status cf_kv_init(cf_kv *out, const cf_kv_layout *layout, uint32_t n_ctx, cf_error *err)
{
    cf_kv kv = {.layout = layout, .cap = cf_kv_pages(n_ctx)};
    kv.page = cf_calloc(kv.cap, sizeof(cf_kv_page *));
    if (kv.page == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for %u cache blocks", kv.cap);
    }
    *out = kv;
    return CF_OK;
}

static void drop_slab(cf_kv_slab *slab)
{
    /* Release, so that what we read from it comes before another's free. */
    if (slab != NULL && atomic_fetch_sub_explicit(&slab->n_ref, 1, memory_order_acq_rel) == 1) {
        cf_free_aligned(slab);
    }
}

static cf_kv_page *new_page(cf_kv *kv)
{
    const cf_kv_layout *l = kv->layout;
    const size_t step = page_step(l);
    if (kv->slab == NULL || kv->n_taken == l->n_together) {
        cf_kv_slab *slab = cf_alloc_aligned(PAGE_ALIGN, sizeof *slab + l->n_together * step);
        if (slab == NULL) {
            return NULL;
        }
        drop_slab(kv->slab);
        atomic_init(&slab->n_ref, 1);
        kv->slab = slab;
        kv->n_taken = 0;
    }
    cf_kv_page *page = (void *)(kv->slab->data + kv->n_taken++ * step);
    atomic_init(&page->n_ref, 1);
    page->slab = kv->slab;
    atomic_fetch_add_explicit(&page->slab->n_ref, 1, memory_order_relaxed);
    return page;
}

static void drop_page(cf_kv_page *page)
{
    if (atomic_fetch_sub_explicit(&page->n_ref, 1, memory_order_acq_rel) == 1) {
        drop_slab(page->slab);
    }
}

void cf_kv_deinit(cf_kv *kv)
{
    cf_kv_truncate(kv, 0);
    drop_slab(kv->slab);
    cf_free(kv->page);
    *kv = (cf_kv){0};
}

void cf_kv_share(cf_kv *kv, const cf_kv *from, uint32_t n_page)
{
    CF_ASSERT(kv->n == 0 && n_page <= kv->cap && n_page <= from->n);
    for (uint32_t i = 0; i < n_page; i++) {
        kv->page[i] = from->page[i];
        atomic_fetch_add_explicit(&kv->page[i]->n_ref, 1, memory_order_relaxed);
    }
    kv->n = n_page;
}

cf_status cf_kv_fork(cf_kv *out, const cf_kv *from, cf_error *err)
{
    CF_TRY(cf_kv_init(out, from->layout, from->cap * CF_KV_BLOCK, err));
    cf_kv_share(out, from, from->n);
    return CF_OK;
}

void *cf_kv_page_data(const cf_kv *kv, uint32_t i)
{
    return kv->page[i]->data;
}

/* Whether another list holds the page too.  Acquire pairs with the release in
 * drop_page(): a reader of 1 may overwrite what the other has read. */
static bool is_shared(const cf_kv_page *page)
{
    return atomic_load_explicit(&page->n_ref, memory_order_acquire) > 1;
}

/* Keeps rule 2. */
static cf_status own_page(cf_kv *kv, uint32_t i, cf_error *err)
{
    if (i < kv->n && !is_shared(kv->page[i])) {
        return CF_OK;
    }
    cf_kv_page *page = new_page(kv);
    if (page == NULL) {
        return cf_fail(err, CF_ENOMEM,
                       "out of memory for a cache block of %zu bytes (%u in "
                       "use)",
                       kv->layout->page_bytes, kv->n);
    }
    if (i < kv->n) {
        memcpy(page->data, kv->page[i]->data, kv->layout->page_bytes);
        drop_page(kv->page[i]);
    } else {
        kv->n = i + 1;
    }
    kv->page[i] = page;
    return CF_OK;
}

cf_status cf_kv_reserve(cf_kv *kv, uint32_t first, uint32_t end, cf_error *err)
{
    CF_ASSERT(end <= kv->cap * CF_KV_BLOCK && first < end);
    CF_ASSERT(first / CF_KV_BLOCK <= kv->n);
    for (uint32_t i = first / CF_KV_BLOCK; i < cf_kv_pages(end); i++) {
        CF_TRY(own_page(kv, i, err));
    }
    return CF_OK;
}

void cf_kv_truncate(cf_kv *kv, uint32_t n)
{
    uint32_t keep = cf_kv_pages(n);
    while (kv->n > keep) {
        drop_page(kv->page[--kv->n]);
    }
}

void *cf_kv_keys(const cf_kv *kv, uint32_t i, uint32_t layer, uint32_t head)
{
    const struct cf_kv_layer *l = &kv->layout->layer[layer];
    return kv->page[i]->data + l->k_off + head * l->k_head;
}

void *cf_kv_values(const cf_kv *kv, uint32_t i, uint32_t layer, uint32_t head)
{
    const struct cf_kv_layer *l = &kv->layout->layer[layer];
    return kv->layout->has_values ? kv->page[i]->data + l->v_off + head * l->v_head : NULL;
}

void cf_kv_memory(const cf_kv *kv, uint64_t *bytes, uint64_t *shared)
{
    *bytes = 0;
    *shared = 0;
    for (uint32_t i = 0; i < kv->n; i++) {
        *bytes += kv->layout->page_bytes;
        *shared += is_shared(kv->page[i]) ? kv->layout->page_bytes : 0;
    }
}
