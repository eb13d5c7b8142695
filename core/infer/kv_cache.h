/*
 * kv_cache.h - keys and values of past tokens, in pages that timelines share.
 *
 * A page holds CF_KV_BLOCK positions of every layer and head.  A timeline is
 * a list of pages; forking copies the list, and a page that two lists hold is
 * copied before one of them writes to it.
 *
 * A page:  for each layer: for each key/value head [head_size, CF_KV_BLOCK]
 * keys; then for each head [CF_KV_BLOCK, head_size_v] values, kept as a type
 * does (cached.h).  A layer of latent attention has keys alone: a key's first
 * numbers are its value.  A layer that reads another's keys and values has none
 * of its own, and neither has a recurrent layer (recurrent_state.h).
 *
 * Threads:  a layout is constant; a cf_kv belongs to one thread at a time.
 *           Timelines that share pages may be on different threads.
 * Memory:   a cf_kv owns a reference to each of its pages.  Pages of a
 *           quarter of a MiB or more are allocated in blocks of several MiB, so
 *           that most of them lies in huge pages (os.h).
 *           Such a block is freed with the last of its pages, and
 *           cf_kv_memory() counts pages alone: a list that keeps one page of a
 *           block holds all of it.
 */
#ifndef CF_CORE_INFER_KV_CACHE_H
#define CF_CORE_INFER_KV_CACHE_H

#include "core/kernel/kernel.h"
#include "core/model/hparams.h"

typedef struct cf_kv_layout {
    cf_dtype type;
    bool has_values; /* false: they are in the keys */
    size_t page_bytes;
    size_t n_number;              /* that are kept of a position */
    uint32_t n_layer, n_together; /* pages that are allocated together */
    struct cf_kv_layer {
        size_t k_off, v_off;   /* bytes from a page's start to head 0 */
        size_t k_head, v_head; /* bytes from a head to the next */
    } * layer;                 /* [n_layer] */
} cf_kv_layout;

typedef struct cf_kv_page cf_kv_page;
typedef struct cf_kv_slab cf_kv_slab;

typedef struct cf_kv {
    const cf_kv_layout *layout;
    cf_kv_page **page; /* [cap] */
    uint32_t n, cap;
    cf_kv_slab *slab; /* where the next page comes from; NULL: none yet */
    uint32_t n_taken; /* pages of it that were taken */
} cf_kv;

/* type: F32, F16, Q8_0 or Q4_0. */
CF_MUST_USE cf_status cf_kv_layout_init(cf_kv_layout *out, const cf_hparams *hp, cf_dtype type,
                                        cf_error *err);
void cf_kv_layout_deinit(cf_kv_layout *l);

/* Pages that n_ctx positions need. */
uint32_t cf_kv_pages(uint32_t n_ctx);

/* An empty cache for up to n_ctx positions; the pages come later. */
CF_MUST_USE cf_status cf_kv_init(cf_kv *out, const cf_kv_layout *layout, uint32_t n_ctx,
                                 cf_error *err);
void cf_kv_deinit(cf_kv *kv);

/* The same pages in a second list; `out` as cf_kv_init() leaves it. */
CF_MUST_USE cf_status cf_kv_fork(cf_kv *out, const cf_kv *from, cf_error *err);

/* An empty list gets the first n_page pages of another of its layout; it has
 * room for them. */
void cf_kv_share(cf_kv *kv, const cf_kv *from, uint32_t n_page);

/* The bytes of page i, [layout->page_bytes]. */
void *cf_kv_page_data(const cf_kv *kv, uint32_t i);

/* Makes positions first..end-1 writable: pages exist and are not shared.
 * Positions before `first` keep their contents.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_kv_reserve(cf_kv *kv, uint32_t first, uint32_t end, cf_error *err);

/* Gives back the pages that hold no position below n. */
void cf_kv_truncate(cf_kv *kv, uint32_t n);

/* Where keys (values) of a head start in page i; NULL for values in the keys. */
void *cf_kv_keys(const cf_kv *kv, uint32_t i, uint32_t layer, uint32_t head);
void *cf_kv_values(const cf_kv *kv, uint32_t i, uint32_t layer, uint32_t head);

/* Bytes referred to, and those of them that another timeline shares. */
void cf_kv_memory(const cf_kv *kv, uint64_t *bytes, uint64_t *shared);

#endif
