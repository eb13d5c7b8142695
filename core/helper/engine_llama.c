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
 * The end of the process frees the model.
 *
 * Source of the functions and their results: llama.h of llama.cpp v0.5.0; of the
 * names of what is looked at: its llama-graph.cpp and models/.
 */
#include <ggml-backend.h>
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/engine_plugin.h"

enum { SEQS_RECURRENT = 16, CTX_DEFAULT = 8192, BATCH = 512, ALL_LAYERS = 9999 };

static struct llama_model *model;
static struct llama_context *ctx;
static struct llama_batch batch;
static cf_plugin_info info;
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

/* ---- looking into a pass -------------------------------------------------- */

/* The pass that is looked at. */
static struct {
    bool is_on;
    cf_plugin_look what;
    uint32_t first, n_row; /* of a lens: row i reads the stream before layer first + i */
    uint32_t n;            /* positions */
    uint32_t n_seen;       /* layers */
    bool has_first;        /* the stream before them */
    float *stream;         /* [n_layer + 1, n_embd] of the first row */
    float *out;            /* [n_out] */
    size_t n_out, cap;
} look;

/* Room for n more floats of the answer. */
static float *add(size_t n)
{
    if (look.cap < look.n_out + n) {
        look.cap = 2 * (look.n_out + n);
        look.out = realloc(look.out, look.cap * sizeof *look.out);
    }
    if (look.out == NULL) {
        fputs("out of memory\n", stderr);
        abort();
    }
    look.n_out += n;
    return look.out + look.n_out - n;
}

/* Of a lens, the rows of the last layer become streams before it, for the head. */
static void see_stream(struct ggml_tensor *t, uint32_t layer)
{
    size_t n = info.n_embd * sizeof(float);
    ggml_backend_tensor_get(t, look.stream + (size_t)layer * info.n_embd, 0, n);
    if (look.what == CF_PLUGIN_LENS && layer == info.n_layer) {
        ggml_backend_tensor_set(t, look.stream + (size_t)look.first * info.n_embd, 0,
                                look.n_row * n);
    }
}

/* Layers without attention have 0 heads. */
static void see_weights(struct ggml_tensor *t, uint32_t layer)
{
    for (; look.n_seen < layer; look.n_seen++) {
        *add(1) = 0;
    }
    *add(1) = (float)t->ne[2];
    for (int64_t h = 0; h < t->ne[2]; h++) {
        ggml_backend_tensor_get(t, add(look.n), (size_t)h * t->nb[2], look.n * sizeof(float));
    }
    look.n_seen++;
}

/* Attention is "kq_soft_max-LAYER", [cells, rows, heads], and cell i is position i in
 * a cache that was empty.  The stream after a layer is "l_out-LAYER"; the one before
 * all is the last that is named an embedding or an input, without a number. */
static bool on_eval(struct ggml_tensor *t, bool asks, void *unused)
{
    const char *is = ggml_get_name(t);
    unsigned layer = 0;
    (void)unused;
    if (!look.is_on || t->type != GGML_TYPE_F32) {
        return !asks;
    }
    if (look.what == CF_PLUGIN_ATTENTION) {
        bool wants = sscanf(is, "kq_soft_max-%u", &layer) == 1 && layer < info.n_layer &&
                     t->ne[0] >= look.n && t->ne[1] == 1;
        if (wants && !asks) {
            see_weights(t, layer);
        }
        return !asks || wants;
    }
    bool is_after = sscanf(is, "l_out-%u", &layer) == 1 && layer < info.n_layer;
    bool is_first = look.n_seen == 0 && strchr(is, '-') == NULL &&
                    (strstr(is, "emb") != NULL || strncmp(is, "inp", 3) == 0);
    bool wants = (is_after || is_first) && t->ne[0] == info.n_embd && t->ne[1] == look.n_row &&
                 ggml_nelements(t) == t->ne[0] * t->ne[1];
    if (wants && !asks) {
        see_stream(t, is_after ? layer + 1 : 0);
        look.n_seen += is_after;
        look.has_first = look.has_first || is_first;
    }
    return !asks || wants;
}

/* ---- opening ------------------------------------------------------------- */

static bool on_abort(void *unused)
{
    (void)unused;
    return cf_engine_plugin_stops();
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

static struct llama_context *make_context(const cf_plugin_options *o)
{
    struct llama_context_params p = llama_context_default_params();
    uint32_t n_train = info.n_ctx_train;
    p.type_k = p.type_v = strcmp(info.cache, "f32") == 0    ? GGML_TYPE_F32
                          : strcmp(info.cache, "q8_0") == 0 ? GGML_TYPE_Q8_0
                          : strcmp(info.cache, "q4_0") == 0 ? GGML_TYPE_Q4_0
                                                            : GGML_TYPE_F16;
    p.n_ctx = o->n_ctx != 0 ? o->n_ctx : n_train < CTX_DEFAULT ? n_train : CTX_DEFAULT;
    p.n_ubatch = p.n_batch = p.n_ctx < BATCH ? p.n_ctx : BATCH;
    p.n_seq_max = info.is_recurrent != 0 ? SEQS_RECURRENT : CF_PLUGIN_SEQS;
    p.kv_unified = true;
    p.swa_full = true;
    p.flash_attn_type =
        p.type_k == GGML_TYPE_F32 ? LLAMA_FLASH_ATTN_TYPE_DISABLED : LLAMA_FLASH_ATTN_TYPE_AUTO;
    if (o->n_threads != 0) {
        p.n_threads = p.n_threads_batch = (int32_t)o->n_threads;
    }
    p.abort_callback = on_abort;
    p.cb_eval = on_eval;
    return llama_init_from_model(model, p);
}

static bool open_parts(const char *path, const cf_plugin_options *o)
{
    struct llama_model_params p = llama_model_default_params();
    p.n_gpu_layers = o->n_gpu_layers < 0 ? ALL_LAYERS : o->n_gpu_layers;
    model = llama_model_load_from_file(path, p);
    if (model == NULL) {
        return false;
    }
    info = (cf_plugin_info){
        .n_vocab = (uint32_t)llama_vocab_n_tokens(llama_model_get_vocab(model)),
        .n_embd = (uint32_t)llama_model_n_embd(model),
        .n_layer = (uint32_t)llama_model_n_layer(model),
        .n_ctx_train = (uint32_t)llama_model_n_ctx_train(model),
        .is_recurrent = llama_model_is_recurrent(model) || llama_model_is_hybrid(model),
    };
    snprintf(info.cache, sizeof info.cache, "%.7s", o->cache[0] != '\0' ? o->cache : "f16");
    ctx = make_context(o);
    batch = llama_batch_init(BATCH, 0, 1);
    look.stream = calloc((size_t)(info.n_layer + 1) * info.n_embd, sizeof *look.stream);
    return ctx != NULL && batch.token != NULL && look.stream != NULL;
}

static bool open_model(const char *path, const cf_plugin_options *o, cf_plugin_info *out,
                       char why[CF_PLUGIN_WHY])
{
    ggml_backend_load_all_from_path(CF_LLAMA_LIB);
    if (ggml_backend_dev_count() == 0) {
        ggml_backend_load_all();
    }
    llama_backend_init();
    snprintf(last_error, sizeof last_error, "llama.cpp does not say why");
    if (!open_parts(path, o)) {
        snprintf(why, CF_PLUGIN_WHY, "%s", last_error);
        return false;
    }
    info.n_ctx = llama_n_ctx(ctx);
    info.n_seq = llama_n_seq_max(ctx);
    info.n_batch = llama_n_batch(ctx);
    info.n_threads = (uint32_t)llama_n_threads(ctx);
    snprintf(info.engine, sizeof info.engine, "%s", name(why));
    snprintf(info.device, sizeof info.device, "%.40s", device_of(o->n_gpu_layers));
    *out = info;
    return true;
}

/* ---- computing ----------------------------------------------------------- */

static cf_plugin_result pass(const cf_plugin_row *rows, uint32_t n, char why[CF_PLUGIN_WHY])
{
    for (uint32_t i = 0; i < n && n <= BATCH; i++) {
        batch.token[i] = rows[i].id;
        batch.pos[i] = (llama_pos)rows[i].pos;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = (llama_seq_id)rows[i].seq;
        batch.logits[i] = rows[i].wants_logits != 0;
    }
    batch.n_tokens = (int32_t)n;
    snprintf(last_error, sizeof last_error, "llama.cpp does not say why");
    int rc = n <= BATCH ? llama_decode(ctx, batch) : -1;
    snprintf(why, CF_PLUGIN_WHY, "%s", last_error);
    return rc == 0   ? CF_PLUGIN_OK
           : rc == 1 ? CF_PLUGIN_FULL
           : rc == 2 ? CF_PLUGIN_STOPPED
                     : CF_PLUGIN_FAILED;
}

static const float *logits(uint32_t row)
{
    return llama_get_logits_ith(ctx, (int32_t)row);
}

static void fork_sequence(uint32_t from, uint32_t to)
{
    llama_memory_t memory = llama_get_memory(ctx);
    llama_memory_seq_rm(memory, (llama_seq_id)to, -1, -1);
    llama_memory_seq_cp(memory, (llama_seq_id)from, (llama_seq_id)to, -1, -1);
}

static void cut(uint32_t seq, uint32_t length)
{
    llama_memory_seq_rm(llama_get_memory(ctx), (llama_seq_id)seq,
                        length == 0 ? -1 : (llama_pos)length, -1);
}

/* ---- looking -------------------------------------------------------------- */

/* Positions before the last, in sequence 0. */
static cf_plugin_result look_before(const int32_t *ids, uint32_t n, char why[CF_PLUGIN_WHY])
{
    cf_plugin_row row[BATCH];
    cf_plugin_result result = CF_PLUGIN_OK;
    for (uint32_t at = 0; result == CF_PLUGIN_OK && at < n;) {
        uint32_t m = n - at < info.n_batch ? n - at : info.n_batch;
        for (uint32_t i = 0; i < m; i++) {
            row[i] = (cf_plugin_row){.id = ids[at + i], .pos = at + i};
        }
        result = pass(row, m, why);
        at += m;
    }
    return result;
}

/* The last position as look.n_row rows, each in a copy of sequence 0. */
static cf_plugin_result look_at(int32_t id, char why[CF_PLUGIN_WHY])
{
    cf_plugin_row row[CF_PLUGIN_SEQS];
    for (uint32_t i = 0; i < look.n_row; i++) {
        row[i] = (cf_plugin_row){id, i + 1, look.n - 1, true};
        fork_sequence(0, i + 1);
    }
    look.n_seen = 0;
    look.has_first = false;
    look.is_on = true;
    cf_plugin_result result = pass(row, look.n_row, why);
    look.is_on = false;
    for (uint32_t i = 0; look.what == CF_PLUGIN_LENS && result == CF_PLUGIN_OK && i < look.n_row;
         i++) {
        memcpy(add(info.n_vocab), logits(i), info.n_vocab * sizeof(float));
    }
    return result;
}

/* Whether what was asked for has been seen; else why not. */
static bool was_seen(char why[CF_PLUGIN_WHY])
{
    bool is_attention = look.what == CF_PLUGIN_ATTENTION;
    for (; is_attention && look.n_out > 0 && look.n_seen < info.n_layer; look.n_seen++) {
        *add(1) = 0;
    }
    snprintf(why, CF_PLUGIN_WHY, "%s",
             is_attention ? "attention is seen with --cache f32 only, where flash attention is off"
                          : "it does not disclose the layers of this model");
    return look.n_seen == info.n_layer && (look.has_first || look.what != CF_PLUGIN_LENS);
}

static cf_plugin_result look_into(cf_plugin_look what, const int32_t *ids, uint32_t n,
                                  const float **out, size_t *n_out, char why[CF_PLUGIN_WHY])
{
    uint32_t n_all = what == CF_PLUGIN_LENS ? info.n_layer + 1 : 1;
    uint32_t n_max = info.n_seq - 1 < info.n_batch ? info.n_seq - 1 : info.n_batch;
    llama_memory_clear(llama_get_memory(ctx), true);
    look.what = what;
    look.n = n;
    look.n_out = 0;
    cf_plugin_result result = look_before(ids, n - 1, why);
    for (look.first = 0; result == CF_PLUGIN_OK && look.first < n_all; look.first += look.n_row) {
        look.n_row = n_all - look.first < n_max ? n_all - look.first : n_max;
        result = look_at(ids[n - 1], why);
        if (result == CF_PLUGIN_OK && !was_seen(why)) {
            result = CF_PLUGIN_FAILED;
        }
    }
    llama_memory_clear(llama_get_memory(ctx), true);
    if (what == CF_PLUGIN_LAYERS) {
        memcpy(add((size_t)info.n_layer * info.n_embd), look.stream + info.n_embd,
               (size_t)info.n_layer * info.n_embd * sizeof(float));
    }
    *out = look.out;
    *n_out = look.n_out;
    return result;
}

const cf_engine_plugin cf_engine_plugin_v1 = {.name = name,
                                              .open = open_model,
                                              .pass = pass,
                                              .logits = logits,
                                              .look = look_into,
                                              .fork = fork_sequence,
                                              .cut = cut};
