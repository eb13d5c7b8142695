/*
 * engine_llama.c - llama.cpp as an engine plug-in, by the public functions of the
 * user's own llama.h.
 *
 * Compiled by `make engine-llama LLAMA=PREFIX`, which defines
 *   CF_LLAMA_LIB      the folder of the library, with its kernels
 *   CF_LLAMA_VERSION  as name() gave it then, or "" to find out; not defined where
 *                     the header has no llama_version().
 * llama.cpp passes structures by value and changes them without changing their
 * names, so a library of another version than the header must not be called.
 *
 * Source of the functions and their results: llama.h of llama.cpp v0.5.0.
 */
#include <ggml-backend.h>
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/engine_plugin.h"

enum { SEQS_RECURRENT = 16, CTX_DEFAULT = 8192, BATCH = 512, ALL_LAYERS = 9999 };

typedef struct model {
    struct llama_model *model;
    struct llama_context *ctx;
    struct llama_batch batch;
    uint32_t n_layer, n_embd;
    float *streams;  /* [n_layer, n_embd] of the last pass that wanted them */
    uint32_t n_seen; /* layers of them */
    bool wants_streams;
    bool (*stop)(void *ud);
    void *ud;
} model;

static char last_error[CF_PLUGIN_WHY];

static void on_log(enum ggml_log_level level, const char *text, void *unused)
{
    (void)unused;
    if (level == GGML_LOG_LEVEL_ERROR && text[0] != '\n' && text[0] != '\0') {
        snprintf(last_error, sizeof last_error, "%.*s", (int)strcspn(text, "\n"), text);
        fputs(text, stderr);
    }
}

static const char *name(char why[CF_PLUGIN_WHY])
{
    setenv("GGML_NO_BACKTRACE", "1", 1); /* it would start a debugger */
    llama_log_set(on_log, NULL);
#ifdef CF_LLAMA_VERSION
    static char text[CF_PLUGIN_NAME];
    const char *is = llama_version();
    snprintf(text, sizeof text, "llama.cpp %s%.40s", is[0] >= '0' && is[0] <= '9' ? "v" : "", is);
    if (CF_LLAMA_VERSION[0] != '\0' && strcmp(text, CF_LLAMA_VERSION) != 0) {
        snprintf(why, CF_PLUGIN_WHY,
                 "built for %.48s, and the library is %.48s: run make engine-llama again",
                 CF_LLAMA_VERSION, text);
        return NULL;
    }
    return text;
#else
    (void)why;
    return "llama.cpp of an unknown version";
#endif
}

/* ---- opening ------------------------------------------------------------- */

static bool on_abort(void *ud)
{
    model *m = ud;
    return m->stop != NULL && m->stop(m->ud);
}

/* Keeps the stream after each layer, which llama.cpp names "l_out-LAYER". */
static bool on_eval(struct ggml_tensor *t, bool asks, void *ud)
{
    model *m = ud;
    unsigned layer = 0;
    if (!m->wants_streams || sscanf(ggml_get_name(t), "l_out-%u", &layer) != 1) {
        return !asks;
    }
    if (asks) {
        return true;
    }
    size_t n = m->n_embd * sizeof(float);
    if (layer < m->n_layer && t->type == GGML_TYPE_F32 && ggml_nbytes(t) == n) {
        ggml_backend_tensor_get(t, m->streams + (size_t)layer * m->n_embd, 0, n);
        m->n_seen++;
    }
    return true;
}

static bool cache_type(const char *cache, enum ggml_type *out)
{
    static const struct {
        const char *name;
        enum ggml_type type;
    } types[] = {{"", GGML_TYPE_F16},
                 {"f16", GGML_TYPE_F16},
                 {"f32", GGML_TYPE_F32},
                 {"q8_0", GGML_TYPE_Q8_0},
                 {"q4_0", GGML_TYPE_Q4_0}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(cache, types[i].name) == 0) {
            *out = types[i].type;
            return true;
        }
    }
    return false;
}

/* The kind of the first device that layers may go to. */
static const char *device_of(int32_t n_gpu_layers)
{
    for (size_t i = 0; n_gpu_layers != 0 && i < ggml_backend_dev_count(); i++) {
        ggml_backend_dev_t dev = ggml_backend_dev_get(i);
        enum ggml_backend_dev_type type = ggml_backend_dev_type(dev);
        if (type != GGML_BACKEND_DEVICE_TYPE_CPU && type != GGML_BACKEND_DEVICE_TYPE_ACCEL) {
            return ggml_backend_reg_name(ggml_backend_dev_backend_reg(dev));
        }
    }
    return "CPU";
}

static void close_model(model *m)
{
    if (m == NULL) {
        return;
    }
    if (m->batch.token != NULL) {
        llama_batch_free(m->batch);
    }
    if (m->ctx != NULL) {
        llama_free(m->ctx);
    }
    if (m->model != NULL) {
        llama_model_free(m->model);
    }
    free(m->streams);
    free(m);
}

static void load_kernels(void)
{
    ggml_backend_load_all_from_path(CF_LLAMA_LIB);
    if (ggml_backend_dev_count() == 0) {
        ggml_backend_load_all();
    }
    llama_backend_init();
}

static struct llama_context *make_context(model *m, const cf_plugin_options *o, uint32_t n_ctx)
{
    struct llama_context_params p = llama_context_default_params();
    bool is_recurrent = llama_model_is_recurrent(m->model) || llama_model_is_hybrid(m->model);
    if (!cache_type(o->cache, &p.type_k)) {
        snprintf(last_error, sizeof last_error, "no cache of type %.7s", o->cache);
        return NULL;
    }
    p.type_v = p.type_k;
    p.n_ctx = n_ctx;
    p.n_batch = n_ctx < BATCH ? n_ctx : BATCH;
    p.n_ubatch = p.n_batch;
    p.n_seq_max = is_recurrent ? SEQS_RECURRENT : CF_PLUGIN_SEQS;
    p.kv_unified = true;
    p.swa_full = true;
    p.flash_attn_type =
        p.type_k == GGML_TYPE_F32 ? LLAMA_FLASH_ATTN_TYPE_DISABLED : LLAMA_FLASH_ATTN_TYPE_AUTO;
    if (o->n_threads != 0) {
        p.n_threads = p.n_threads_batch = (int32_t)o->n_threads;
    }
    p.abort_callback = on_abort;
    p.abort_callback_data = m;
    p.cb_eval = on_eval;
    p.cb_eval_user_data = m;
    return llama_init_from_model(m->model, p);
}

static void describe(const model *m, const cf_plugin_options *o, cf_plugin_info *out)
{
    char why[CF_PLUGIN_WHY];
    *out = (cf_plugin_info){
        .n_vocab = (uint32_t)llama_vocab_n_tokens(llama_model_get_vocab(m->model)),
        .n_embd = m->n_embd,
        .n_layer = m->n_layer,
        .n_ctx_train = (uint32_t)llama_model_n_ctx_train(m->model),
        .n_ctx = llama_n_ctx(m->ctx),
        .n_seq = llama_n_seq_max(m->ctx),
        .n_batch = llama_n_batch(m->ctx),
        .n_threads = (uint32_t)llama_n_threads(m->ctx),
        .is_recurrent = llama_model_is_recurrent(m->model) || llama_model_is_hybrid(m->model),
        .has_streams = true,
    };
    snprintf(out->cache, sizeof out->cache, "%.7s", o->cache[0] != '\0' ? o->cache : "f16");
    snprintf(out->engine, sizeof out->engine, "%s", name(why));
    snprintf(out->device, sizeof out->device, "%.40s", device_of(o->n_gpu_layers));
}

static bool open_parts(model *m, const char *path, const cf_plugin_options *o)
{
    struct llama_model_params p = llama_model_default_params();
    p.n_gpu_layers = o->n_gpu_layers < 0 ? ALL_LAYERS : o->n_gpu_layers;
    m->model = llama_model_load_from_file(path, p);
    if (m->model == NULL) {
        return false;
    }
    uint32_t n_train = (uint32_t)llama_model_n_ctx_train(m->model);
    uint32_t n_ctx = o->n_ctx != 0 ? o->n_ctx : n_train < CTX_DEFAULT ? n_train : CTX_DEFAULT;
    m->n_layer = (uint32_t)llama_model_n_layer(m->model);
    m->n_embd = (uint32_t)llama_model_n_embd(m->model);
    m->streams = calloc((size_t)m->n_layer * m->n_embd + 1, sizeof(float));
    m->ctx = m->streams != NULL ? make_context(m, o, n_ctx) : NULL;
    m->batch = llama_batch_init(BATCH, 0, 1);
    return m->ctx != NULL && m->batch.token != NULL;
}

static void *open_model(const char *path, const cf_plugin_options *o, cf_plugin_info *out,
                        char why[CF_PLUGIN_WHY])
{
    model *m = calloc(1, sizeof *m);
    load_kernels();
    snprintf(last_error, sizeof last_error, "llama.cpp does not say why");
    if (m == NULL || !open_parts(m, path, o)) {
        snprintf(why, CF_PLUGIN_WHY, "%s", last_error);
        close_model(m);
        return NULL;
    }
    describe(m, o, out);
    return m;
}

/* ---- computing ----------------------------------------------------------- */

static cf_plugin_result pass(void *ud, const cf_plugin_row *rows, uint32_t n,
                             bool (*stop)(void *ud), void *stop_ud, char why[CF_PLUGIN_WHY])
{
    model *m = ud;
    if (n > BATCH) {
        snprintf(why, CF_PLUGIN_WHY, "%u rows, at most %d are allowed", n, BATCH);
        return CF_PLUGIN_FAILED;
    }
    for (uint32_t i = 0; i < n; i++) {
        m->batch.token[i] = rows[i].id;
        m->batch.pos[i] = (llama_pos)rows[i].pos;
        m->batch.n_seq_id[i] = 1;
        m->batch.seq_id[i][0] = (llama_seq_id)rows[i].seq;
        m->batch.logits[i] = rows[i].wants_logits != 0;
    }
    m->batch.n_tokens = (int32_t)n;
    m->stop = stop;
    m->ud = stop_ud;
    m->n_seen = 0;
    m->wants_streams = n == 1 && rows[0].wants_streams != 0;
    snprintf(last_error, sizeof last_error, "llama.cpp does not say why");
    int rc = llama_decode(m->ctx, m->batch);
    m->stop = NULL;
    snprintf(why, CF_PLUGIN_WHY, "%s", last_error);
    return rc == 0   ? CF_PLUGIN_OK
           : rc == 1 ? CF_PLUGIN_FULL
           : rc == 2 ? CF_PLUGIN_STOPPED
                     : CF_PLUGIN_FAILED;
}

static const float *logits(void *ud, uint32_t row)
{
    model *m = ud;
    return llama_get_logits_ith(m->ctx, (int32_t)row);
}

static const float *streams(void *ud)
{
    model *m = ud;
    return m->n_seen == m->n_layer ? m->streams : NULL;
}

static void fork_sequence(void *ud, uint32_t from, uint32_t to)
{
    llama_memory_t memory = llama_get_memory(((model *)ud)->ctx);
    llama_memory_seq_rm(memory, (llama_seq_id)to, -1, -1);
    llama_memory_seq_cp(memory, (llama_seq_id)from, (llama_seq_id)to, -1, -1);
}

static bool cut(void *ud, uint32_t seq, uint32_t length)
{
    llama_memory_t memory = llama_get_memory(((model *)ud)->ctx);
    return llama_memory_seq_rm(memory, (llama_seq_id)seq, length == 0 ? -1 : (llama_pos)length, -1);
}

const cf_engine_plugin cf_engine_plugin_v1 = {.abi = CF_PLUGIN_ABI,
                                              .name = name,
                                              .open = open_model,
                                              .pass = pass,
                                              .logits = logits,
                                              .streams = streams,
                                              .fork = fork_sequence,
                                              .cut = cut};
