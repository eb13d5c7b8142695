/*
 * engine_impl.h - what an engine is made of, for core/infer only.
 *
 * Threads:  everything but `ws`, `rows`, `lora`, `spare` and `is_paused` is constant
 *           after open; they and `pool` belong to the holder of pass_lock.
 */
#ifndef CF_CORE_INFER_ENGINE_IMPL_H
#define CF_CORE_INFER_ENGINE_IMPL_H

#include <pthread.h>

#include "core/api/engine.h"
#include "core/base/pool.h"
#include "core/hub/folder.h"
#include "core/infer/kv_cache.h"
#include "core/infer/plan.h"
#include "core/infer/rope.h"
#include "core/model/requantise.h"
#include "core/model/weights.h"

/* Rotary frequencies by context: longrope has two sets of factors. */
enum { CF_ROPE_SHORT = 0, CF_ROPE_LONG = 1, CF_ROPE_VARIANTS = 2 };

/* What a pass writes to. */
typedef struct cf_buffers {
    cf_ws ws;
    struct cf_row *rows; /* [n_rows], as many as the workspace has */
    uint32_t n_rows;
    float *lora; /* [cap_lora] of a pass with adapters */
    size_t cap_lora;
} cf_buffers;

struct cf_engine {
    cf_gguf *file;         /* a GGUF; NULL for a folder */
    cf_hub_folder *folder; /* NULL for a GGUF */
    cf_gguf *gguf;         /* of either: metadata, tensors */
    cf_requantised requantised;
    const char *load_as; /* the name of their type; NULL: none */
    cf_tokenizer *tok;
    cf_hparams hp; /* as a glance gives them when has_weights is false */
    cf_weights w;
    const cf_kernels *k;
    cf_rope rope[CF_ROPE_SETS][CF_ROPE_VARIANTS];
    cf_kv_layout kv[CF_CACHE_COUNT]; /* by cf_cache_type; none for the default */
    char *arch, *name;
    cf_blas_choice encoder_blas;
    cf_arithmetic arithmetic;
    cf_cache_type cache;     /* of sessions that say none */
    struct cf_engine *nextn; /* the file's draft layer as a model (nextn.h), or NULL */
    bool has_weights;
    unsigned n_threads;
    struct cf_plugin *plugin; /* what computes in place of weights; NULL: confab itself */

    pthread_mutex_t pass_lock;
    cf_pool *pool;
    cf_ws ws;
    struct cf_row *rows; /* [n_rows], as many as the workspace has */
    uint32_t n_rows;
    float *lora; /* [cap_lora] of a pass with adapters */
    size_t cap_lora;
    cf_buffers spare; /* of passes while another one pauses */
    bool is_paused;   /* one pass pauses, or will */
};

/* The layouts of all types of caches. */
CF_MUST_USE cf_status cf_engine__make_layouts(cf_engine *e, cf_error *err);

/* The layout that a cache option means on this engine. */
const cf_kv_layout *cf_engine__kv_layout(const cf_engine *e, cf_cache_type t);

/* That of a type of numbers; NULL: there is none. */
const cf_kv_layout *cf_engine__kv_of_type(const cf_engine *e, uint32_t type);

/* n_ctx as asked for, or the default for 0.  CF_EINVAL when too large. */
CF_MUST_USE cf_status cf_engine__n_ctx(const cf_engine *e, uint32_t asked, uint32_t *out,
                                       cf_error *err);

/* CF_EIO if a file of weights was cut or written to since it was opened. */
CF_MUST_USE cf_status cf_engine__check_files(const cf_engine *e, cf_error *err);

/* CF_EINVAL when the engine has only a vocabulary, CF_EUNSUPPORTED for a
 * folder without weights that can be run. */
CF_MUST_USE cf_status cf_engine__need_weights(const cf_engine *e, cf_error *err);

/* CF_EINVAL, naming what needs it, for an engine whose arithmetic is a plug-in's. */
CF_MUST_USE cf_status cf_engine__need_own(const cf_engine *e, const char *what, cf_error *err);

/* Frees what passes of an engine took. */
void cf_engine__free_passes(cf_engine *e);

cf_ws_model cf_engine__ws_model(const cf_engine *e);

#endif
