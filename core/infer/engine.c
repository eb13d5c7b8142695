/*
 * engine.c - opens a model: file, sizes, weights, tokenizer, kernels, pool.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/infer/engine_impl.h"
#include "core/infer/gguf_tokenizer.h"
#include "core/infer/nextn.h"
#include "core/infer/plugin.h"

/* By cf_cache_type. */
static const struct {
    const char *name;
    cf_dtype type;
} caches[CF_CACHE_COUNT] = {
    [CF_CACHE_DEFAULT] = {"", CF_F32},   [CF_CACHE_F16] = {"f16", CF_F16},
    [CF_CACHE_F32] = {"f32", CF_F32},    [CF_CACHE_Q8_0] = {"q8_0", CF_Q8_0},
    [CF_CACHE_Q4_0] = {"q4_0", CF_Q4_0},
};

const char *cf_cache_name(cf_cache_type type)
{
    return caches[type].name;
}

cf_cache_type cf_cache_named(cf_str name)
{
    size_t i = CF_CACHE_COUNT;
    while (--i > CF_CACHE_DEFAULT && !cf_str_is(name, caches[i].name)) {
    }
    return (cf_cache_type)i;
}

/* Why the named set cannot be had. */
static cf_status no_kernels(const char *name, cf_error *err)
{
    cf_kernels_entry set;
    char names[160] = "";
    for (size_t i = 0, n = 0; cf_kernels_list(i, &set); i++) {
        if (strcmp(set.name, name) == 0) {
            return cf_fail(err, CF_EINVAL, "kernel set %s needs %s, which this machine lacks", name,
                           set.needs);
        }
        int more = snprintf(names + n, sizeof names - n, "%s%s", i == 0 ? "" : ", ", set.name);
        n += more > 0 && (size_t)more < sizeof names - n ? (size_t)more : 0;
    }
    return cf_fail(err, CF_EINVAL, "unknown kernel set \"%.40s\" (%s)", name, names);
}

static cf_status pick_kernels(cf_engine *e, const cf_engine_options *o, cf_error *err)
{
    e->arithmetic = o->arithmetic;
    e->encoder_blas = o->encoder_blas;
    e->cache = o->cache;
    e->k = o->arithmetic == CF_ARITHMETIC_EXACT ? cf_kernels_ref() : cf_kernels_pick(o->kernel_set);
    if (e->k == NULL) {
        return no_kernels(o->kernel_set != NULL ? o->kernel_set : "", err);
    }
    if (o->arithmetic == CF_ARITHMETIC_8) {
        if (e->k->eight == NULL) {
            return cf_fail(err, CF_EINVAL, "kernel set %s has no activations of 8 bits",
                           e->k->name);
        }
        e->k = e->k->eight;
    }
    e->n_threads = o->n_threads != 0 ? o->n_threads : cf_os_n_cpus();
    if (e->n_threads > CF_THREADS_MAX) {
        if (o->n_threads != 0) {
            return cf_fail(err, CF_EINVAL, "%u threads, at most %d are allowed", o->n_threads,
                           CF_THREADS_MAX);
        }
        e->n_threads = CF_THREADS_MAX;
    }
    return CF_OK;
}

/* Frequencies by set and variant; which tensors of factors there are decides,
 * not the name of the scaling, which older files leave out. */
static const float *rope_factors(const cf_weights *w, size_t set, size_t variant)
{
    if (set != CF_ROPE_GLOBAL) {
        return NULL;
    }
    if (w->rope_freqs != NULL) {
        return w->rope_freqs;
    }
    return variant == CF_ROPE_LONG ? w->rope_long : w->rope_short;
}

static cf_status make_ropes(cf_engine *e, cf_error *err)
{
    for (size_t i = 0; i < (size_t)CF_ROPE_SETS * CF_ROPE_VARIANTS; i++) {
        size_t s = i / CF_ROPE_VARIANTS;
        size_t v = i % CF_ROPE_VARIANTS;
        CF_TRY(cf_rope_init(&e->rope[s][v], &e->hp.rope[s], rope_factors(&e->w, s, v), err));
    }
    return CF_OK;
}

/* Makes the float matrices of the type that the options name. */
static cf_status load_as(cf_engine *e, const char *name, cf_error *err)
{
    cf_dtype type;
    if (name == NULL) {
        return CF_OK;
    }
    if (!cf_requantise_type(&type, name)) {
        return cf_fail(err, CF_EINVAL,
                       "weights cannot be loaded as \"%.20s\" (q8_0 and q4_0 "
                       "are possible)",
                       name);
    }
    e->load_as = cf_requantise_name(type);
    return cf_requantise(&e->requantised, e->gguf, type, e->pool, err);
}

cf_status cf_engine__make_layouts(cf_engine *e, cf_error *err)
{
    for (size_t i = CF_CACHE_DEFAULT + 1; i < CF_CACHE_COUNT; i++) {
        CF_TRY(cf_kv_layout_init(&e->kv[i], &e->hp, caches[i].type, err));
    }
    return CF_OK;
}

/* Loads what computing needs beyond the vocabulary. */
static cf_status load_weights(cf_engine *e, const cf_engine_options *o, cf_error *err)
{
    if (cf_gguf_n_tensors(e->gguf) == 0 && e->hp.arch != NULL) {
        return cf_fail(err, CF_EFORMAT, "the file holds no tensors, only a vocabulary");
    }
    CF_TRY(cf_hparams_init(&e->hp, e->gguf, err));
    CF_TRY(cf_pool_new(&e->pool, e->n_threads, err));
    CF_TRY(load_as(e, o->load_as, err));
    CF_TRY(cf_weights_init(&e->w, e->gguf, &e->hp, err));
    CF_TRY(make_ropes(e, err));
    CF_TRY(cf_engine__make_layouts(e, err));
    CF_TRY(cf_nextn_open(e, err));
    if (o->load_as == NULL) {
        cf_gguf_prefetch(e->gguf);
    }
    if (e->folder != NULL && o->load_as == NULL) {
        cf_safetensors_prefetch(cf_hub_folder_files(e->folder));
    }
    e->has_weights = true;
    return CF_OK;
}

/* Has a plug-in compute in place of weights: the engine has its sizes, and layers
 * without keys and values. */
static cf_status load_plugin(cf_engine *e, const cf_engine_options *o, cf_error *err)
{
    cf_plugin_options options = {
        .n_ctx = o->n_ctx,
        /* Threads that wait for each other by spinning need free processors. */
        .n_threads = o->n_threads != 0 ? o->n_threads : (cf_os_n_cpus() + 1) / 2,
        .n_gpu_layers = o->has_gpu_layers ? (int32_t)(o->n_gpu_layers & INT32_MAX) : -1};
    snprintf(options.cache, sizeof options.cache, "%s", caches[o->cache].name);
    CF_TRY(cf_plugin_open(&e->plugin, o->plugin, cf_gguf_path(e->gguf), &options, err));
    const cf_plugin_info *about = cf_plugin_about(e->plugin);
    if (about->n_vocab != cf_tokenizer_n_vocab(e->tok)) {
        return cf_fail(err, CF_EUNSUPPORTED, "%s has %u tokens, and the file's vocabulary %zu",
                       about->engine, about->n_vocab, cf_tokenizer_n_vocab(e->tok));
    }
    e->hp.n_vocab = about->n_vocab;
    e->hp.n_embd = about->n_embd;
    e->hp.n_layer = about->n_layer;
    e->hp.n_ctx_train = about->n_ctx_train;
    e->n_threads = about->n_threads;
    e->cache = cf_cache_named(cf_str_from(about->cache));
    e->hp.layer = cf_calloc(about->n_layer, sizeof *e->hp.layer);
    e->ws.plan.n_row = CF_BATCH_DEFAULT;
    e->ws.plan.n_logit = 1;
    if (e->hp.layer == NULL) {
        return cf_oom_for(err, "an engine");
    }
    CF_TRY(cf_engine__make_layouts(e, err));
    CF_TRY(cf_session__grow_rows(e, err));
    e->has_weights = true;
    return CF_OK;
}

/* A string of the metadata as a C string, "" when absent. */
static cf_status copy_meta(const cf_gguf *g, const char *key, char **out, cf_error *err)
{
    cf_str s = {"", 0};
    cf_gguf_get_str(g, key, &s);
    *out = cf_strndup(s.p, s.n);
    return *out != NULL ? CF_OK : cf_oom(err);
}

/* Fills an engine whose gguf is there; the caller closes it on failure. */
static cf_status load(cf_engine *e, const cf_engine_options *opts, cf_error *err)
{
    cf_engine_options none = {0};
    const cf_engine_options *o = opts != NULL ? opts : &none;
    CF_TRY(copy_meta(e->gguf, "general.architecture", &e->arch, err));
    CF_TRY(copy_meta(e->gguf, "general.name", &e->name, err));
    CF_TRY(pick_kernels(e, o, err));
    cf_hparams_glance(&e->hp, e->gguf);
    if (o->metadata_only) {
        return CF_OK;
    }
    if (o->plugin != NULL && !o->vocab_only) {
        if (e->folder != NULL) {
            return cf_fail(err, CF_EUNSUPPORTED, "a folder: the engine needs a GGUF file");
        }
        CF_TRY(cf_gguf_tokenizer(&e->tok, e->gguf, err));
        return load_plugin(e, o, err);
    }
    bool has_weights = e->folder == NULL || cf_hub_folder_no_weights(e->folder) == NULL;
    if (has_weights && !o->vocab_only) {
        if (e->folder != NULL) {
            CF_TRY(cf_hub_folder_load(e->folder, err));
            e->gguf = cf_hub_folder_gguf(e->folder);
        }
        CF_TRY(load_weights(e, o, err));
    }
    return e->folder != NULL ? cf_hub_folder_tokenizer(e->folder, &e->tok, err)
                             : cf_gguf_tokenizer(&e->tok, e->gguf, err);
}

static cf_status new_engine(cf_engine **out, cf_error *err)
{
    cf_engine *e = cf_calloc(1, sizeof *e);
    if (e == NULL) {
        return cf_oom(err);
    }
    if (pthread_mutex_init(&e->pass_lock, NULL) != 0) {
        cf_free(e);
        return cf_fail(err, CF_ENOMEM, "no memory for a lock");
    }
    *out = e;
    return CF_OK;
}

cf_status cf_engine_open(cf_engine **out, const char *path, const cf_engine_options *opts,
                         cf_error *err)
{
    cf_engine *e = NULL;
    CF_TRY(new_engine(&e, err));
    assert(e != NULL);
    cf_status st;
    if (cf_os_is_dir(path)) {
        st = cf_hub_folder_open(&e->folder, path, err);
        e->gguf = st == CF_OK ? cf_hub_folder_gguf(e->folder) : NULL;
    } else {
        st = cf_gguf_open(&e->file, path, err);
        e->gguf = e->file;
    }
    CF_THEN(st, load(e, opts, err));
    CF_THEN(st, cf_engine__check_files(e, err));
    if (st != CF_OK) {
        cf_engine_close(e);
        return st;
    }
    *out = e;
    return CF_OK;
}

cf_status cf_engine_open_memory(cf_engine **out, const void *bytes, size_t n,
                                const cf_engine_options *opts, cf_error *err)
{
    cf_engine *e = NULL;
    CF_TRY(new_engine(&e, err));
    assert(e != NULL);
    cf_status st = cf_gguf_open_memory(&e->file, bytes, n, err);
    e->gguf = e->file;
    CF_THEN(st, load(e, opts, err));
    if (st != CF_OK) {
        cf_engine_close(e);
        return st;
    }
    *out = e;
    return CF_OK;
}

void cf_engine__free_passes(cf_engine *e)
{
    cf_pool_free(e->pool);
    cf_ws_deinit(&e->ws);
    cf_free(e->rows);
    cf_free(e->lora);
    cf_ws_deinit(&e->spare.ws);
    cf_free(e->spare.rows);
    cf_free(e->spare.lora);
    for (size_t i = 0; i < CF_CACHE_COUNT; i++) {
        cf_kv_layout_deinit(&e->kv[i]);
    }
    cf_weights_deinit(&e->w);
    cf_hparams_deinit(&e->hp);
    pthread_mutex_destroy(&e->pass_lock);
}

void cf_engine_close(cf_engine *e)
{
    if (e == NULL) {
        return;
    }
    cf_nextn_close(e->nextn);
    cf_plugin_close(e->plugin);
    cf_engine__free_passes(e);
    for (size_t s = 0; s < CF_ROPE_SETS; s++) {
        for (size_t v = 0; v < CF_ROPE_VARIANTS; v++) {
            cf_rope_deinit(&e->rope[s][v]);
        }
    }
    cf_tokenizer_free(e->tok);
    cf_hub_folder_close(e->folder);
    cf_gguf_close(e->file);
    cf_requantised_deinit(&e->requantised);
    cf_free(e->arch);
    cf_free(e->name);
    cf_free(e);
}

const cf_tokenizer *cf_engine_tokenizer(const cf_engine *e)
{
    return e->tok;
}

/* ---- for sessions ------------------------------------------------------- */

/* A cache of half floats costs about a thousandth of the largest logit.  Where
 * a position is small, floats are a better default. */
const cf_kv_layout *cf_engine__kv_layout(const cf_engine *e, cf_cache_type t)
{
    t = t != CF_CACHE_DEFAULT ? t : e->cache;
    if (t == CF_CACHE_DEFAULT) {
        size_t per_token = e->kv[CF_CACHE_F32].page_bytes / CF_KV_BLOCK;
        bool is_exact = e->arithmetic == CF_ARITHMETIC_EXACT;
        t = is_exact || per_token <= CF_KV_F32_BYTES ? CF_CACHE_F32 : CF_CACHE_F16;
    }
    return &e->kv[t];
}

const cf_kv_layout *cf_engine__kv_of_type(const cf_engine *e, uint32_t type)
{
    size_t i = CF_CACHE_DEFAULT + 1;
    while (i < CF_CACHE_COUNT && (uint32_t)caches[i].type != type) {
        i++;
    }
    return i < CF_CACHE_COUNT ? &e->kv[i] : NULL;
}

cf_status cf_engine__need_own(const cf_engine *e, const char *what, cf_error *err)
{
    return e->plugin == NULL
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "%s: only confab's own engine has this, not %.100s", what,
                         cf_plugin_engine(e->plugin));
}

cf_status cf_engine__check_files(const cf_engine *e, cf_error *err)
{
    return e->folder != NULL ? cf_safetensors_check(cf_hub_folder_files(e->folder), err)
                             : cf_gguf_check(e->file, err);
}

cf_status cf_engine_check_weights(const cf_engine *e, cf_error *err)
{
    return e->folder != NULL ? cf_hub_folder_check_weights(e->folder, err) : CF_OK;
}

cf_status cf_engine__need_weights(const cf_engine *e, cf_error *err)
{
    if (e->has_weights) {
        return CF_OK;
    }
    const char *why = e->folder != NULL ? cf_hub_folder_no_weights(e->folder) : NULL;
    return why != NULL ? cf_fail(err, CF_EUNSUPPORTED, "%s", why)
                       : cf_fail(err, CF_EINVAL, "the model was opened for its vocabulary only");
}

cf_status cf_engine__n_ctx(const cf_engine *e, uint32_t asked, uint32_t *out, cf_error *err)
{
    if (e->plugin != NULL) {
        uint32_t n_ctx = cf_plugin_about(e->plugin)->n_ctx;
        *out = asked != 0 && asked < n_ctx ? asked : n_ctx;
        return CF_OK;
    }
    if (asked > CF_CTX_MAX) {
        return cf_fail(err, CF_EINVAL, "a context of %u tokens, at most %d are allowed", asked,
                       CF_CTX_MAX);
    }
    *out = asked != 0                           ? asked
           : e->hp.n_ctx_train < CF_CTX_DEFAULT ? e->hp.n_ctx_train
                                                : CF_CTX_DEFAULT;
    return CF_OK;
}

cf_ws_model cf_engine__ws_model(const cf_engine *e)
{
    return (cf_ws_model){&e->hp, &e->w, e->k, e->n_threads};
}

cf_status cf_engine_plan(const cf_engine *e, uint32_t n_ctx, cf_cache_type cache, cf_plan *out,
                         cf_error *err)
{
    CF_TRY(cf_engine__need_weights(e, err));
    CF_TRY(cf_engine__n_ctx(e, n_ctx, &n_ctx, err));
    if (e->plugin != NULL) { /* the engine's own process has the memory */
        *out = (cf_plan){.mapped_bytes = cf_gguf_file_bytes(e->gguf)};
        return CF_OK;
    }
    cf_ws_model m = cf_engine__ws_model(e);
    cf_ws_plan ws;
    cf_ws_plan_make(&ws, &m, e->hp.arch->is_encoder ? n_ctx : CF_BATCH_DEFAULT, n_ctx);
    cf_plan_make(out, &ws, &m, cf_engine__kv_layout(e, cache), n_ctx);
    return CF_OK;
}
