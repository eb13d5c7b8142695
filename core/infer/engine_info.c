/*
 * engine_info.c - reports the facts about an engine's model file.
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/infer/engine_impl.h"
#include "core/infer/plugin.h"
#include "core/json/json.h"

enum { ITEMS_SHOWN = 8, EDGE_BYTES = 64 << 10 };

/* The type that most bytes of weights have. */
static const char *main_type(const cf_engine *e)
{
    const cf_gguf *g = e->gguf;
    uint64_t bytes[CF_DTYPE_COUNT] = {0};
    size_t best = 0;
    if (e->folder != NULL && !e->has_weights) {
        return cf_safetensors_main_type(cf_hub_folder_files(e->folder));
    }
    for (size_t i = 0; i < cf_gguf_n_tensors(g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(g, i);
        if (t->type < CF_DTYPE_COUNT) {
            bytes[t->type] += t->bytes;
        }
    }
    for (size_t i = 0; i < CF_DTYPE_COUNT; i++) {
        best = bytes[i] > bytes[best] ? i : best;
    }
    return bytes[best] != 0 ? cf_dtype_get((uint32_t)best).name : "";
}

/* Bytes of a tensor that one token reads. */
static uint64_t step_bytes(const cf_engine *e, const cf_gguf_tensor *t)
{
    const cf_expert_hparams *x = &e->hp.expert;
    bool is_tied = e->w.output.p == e->w.embd.p;
    if (!e->has_weights || e->plugin != NULL) {
        return t->bytes;
    }
    if (x->n != 0 && cf_weights_is_expert(t->name)) {
        return t->bytes * x->n_used / x->n;
    }
    if ((t->p == e->w.embd.p && !is_tied) || t->p == e->w.per_layer_embd.p) {
        return t->bytes / t->dim[1];
    }
    return t->bytes;
}

cf_engine_info cf_engine_get_info(const cf_engine *e)
{
    cf_engine_info info = {
        .arch = e->arch,
        .name = e->name,
        .path = e->folder != NULL ? cf_hub_folder_path(e->folder) : cf_gguf_path(e->gguf),
        .engine = e->plugin != NULL ? cf_plugin_engine(e->plugin) : "own",
        .kernel_set = e->plugin != NULL ? cf_plugin_engine(e->plugin) : e->k->name,
        .file_type = main_type(e),
        .file_bytes =
            e->folder != NULL ? cf_hub_folder_bytes(e->folder) : cf_gguf_file_bytes(e->gguf),
        .n_layer = e->hp.n_layer,
        .n_embd = e->hp.n_embd,
        .n_deepstack = e->hp.n_deepstack,
        .is_folder = e->folder != NULL,
        .n_vocab = e->folder != NULL && !e->has_weights && e->tok != NULL
                       ? (uint32_t)cf_tokenizer_n_vocab(e->tok)
                       : e->hp.n_vocab,
        .n_ctx_train = e->hp.n_ctx_train,
        .pooling = e->hp.pooling <= CF_POOLING_RANK ? (cf_pooling)e->hp.pooling : CF_POOLING_NONE,
        .is_encoder = e->hp.arch != NULL && e->hp.arch->is_encoder,
        .n_threads = e->n_threads,
        .encoder_blas = e->encoder_blas,
        .arithmetic = e->arithmetic,
        .load_as = e->load_as,
        .has_weights = e->has_weights,
    };
    for (size_t i = 0; i < cf_gguf_n_tensors(e->gguf); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(e->gguf, i);
        info.weight_bytes += t->bytes;
        info.step_bytes += step_bytes(e, t);
        info.n_param += t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    }
    if (e->has_weights && e->plugin == NULL) {
        const cf_layer_hparams *l = &e->hp.layer[0];
        info.n_expert = e->hp.expert.n;
        info.n_expert_used = e->hp.expert.n_used;
        for (uint32_t i = 0; i < e->hp.n_layer; i++) {
            info.n_recurrent += e->hp.layer[i].mixer != CF_MIX_ATTENTION;
        }
        info.n_ff = l->n_ff != 0 ? l->n_ff : e->hp.expert.n_ff;
        for (uint32_t i = 1; l->n_head == 0 && i < e->hp.n_layer; i++) {
            l = &e->hp.layer[i]; /* the first with attention */
        }
        info.n_head = l->n_head;
        info.n_head_kv = l->n_head_kv;
        info.head_size = l->head_size;
    }
    return info;
}

/* Puts the digests of a part's header, of the first and of the last 64 KiB of
 * its tensor data after the n bytes of `sum`, and hashes all of it into
 * `out`. */
static void hash_part(char *sum, size_t n, cf_str part, uint64_t header, char out[65])
{
    const size_t one = CF_HASH_TEXT;
    size_t data = part.n - (size_t)header;
    size_t edge = data < EDGE_BYTES ? data : EDGE_BYTES;
    cf_hash_hex(sum + n, part.p, (size_t)header);
    cf_hash_hex(sum + n + one, part.p + header, edge);
    cf_hash_hex(sum + n + 2 * one, part.p + part.n - edge, edge);
    cf_hash_hex(out, sum, n + 3 * one);
}

void cf_engine_hash(const cf_engine *e, char out[65])
{
    const cf_safetensors *files = e->folder != NULL ? cf_hub_folder_files(e->folder) : NULL;
    uint32_t n_part = cf_gguf_n_parts(e->gguf);
    char text[4 * CF_HASH_TEXT + 1] = ""; /* what came before, then a part's */
    for (size_t i = 0; i < n_part + cf_safetensors_n_files(files); i++) {
        uint64_t header = 0;
        cf_str part = i < n_part ? cf_gguf_part(e->gguf, (uint32_t)i, &header)
                                 : cf_safetensors_file(files, i - n_part, &header);
        hash_part(text, i == 0 ? 0 : CF_HASH_TEXT, part, header, out);
        memcpy(text, out, CF_HASH_TEXT);
    }
}

cf_str cf_engine_chat_template(const cf_engine *e, const char *name)
{
    cf_str out = {NULL, 0};
    cf_buf key = CF_BUF_INIT;
    cf_buf_adds(&key, "tokenizer.chat_template");
    if (name != NULL && name[0] != '\0' && strcmp(name, "default") != 0) {
        cf_buf_addf(&key, ".%s", name);
    }
    if (!key.failed) {
        cf_gguf_get_str(e->gguf, cf_buf_cstr(&key), &out);
    }
    cf_buf_deinit(&key);
    return out;
}

/* ---- metadata ----------------------------------------------------------- */

static void add_number(cf_buf *b, const cf_gguf_value *v, uint64_t i)
{
    switch (v->item) {
    case CF_GGUF_BOOL:
        cf_buf_adds(b, cf_gguf_item_i64(v, i) != 0 ? "true" : "false");
        break;
    case CF_GGUF_F32:
        cf_buf_addf(b, "%.7g", cf_gguf_item_f64(v, i));
        break;
    case CF_GGUF_F64:
        cf_buf_addf(b, "%.15g", cf_gguf_item_f64(v, i));
        break;
    default:
        cf_buf_addf(b, "%" PRId64, cf_gguf_item_i64(v, i));
    }
}

static void add_array(cf_buf *b, const cf_gguf_value *v)
{
    uint64_t n = v->n < ITEMS_SHOWN ? v->n : ITEMS_SHOWN;
    uint64_t at = 0;
    uint64_t next = 0;
    cf_str s;
    cf_buf_addc(b, '[');
    for (uint64_t i = 0; i < n; i++) {
        cf_buf_adds(b, i == 0 ? "" : ", ");
        if (v->item != CF_GGUF_STRING) {
            add_number(b, v, i);
        } else if (cf_gguf_next_str(v, &at, &next, &s)) {
            cf_json_write_str(b, s);
        }
    }
    if (v->n > n) {
        cf_buf_addf(b, ", ... %" PRIu64 " in all", v->n);
    }
    cf_buf_addc(b, ']');
}

bool cf_engine_meta(const cf_engine *e, size_t i, cf_str *key, const char **type_name,
                    cf_buf *value)
{
    if (i >= cf_gguf_n_values(e->gguf)) {
        return false;
    }
    const cf_gguf_value *v = cf_gguf_value_at(e->gguf, i);
    *key = v->key;
    *type_name = cf_gguf_type_name(v->type);
    if (v->type == CF_GGUF_ARRAY) {
        add_array(value, v);
    } else if (v->type == CF_GGUF_STRING) {
        uint64_t at = 0;
        uint64_t next = 0;
        cf_str s = {NULL, 0};
        cf_gguf_next_str(v, &at, &next, &s);
        cf_buf_add(value, s.p, s.n);
    } else {
        add_number(value, v, 0);
    }
    return true;
}

bool cf_engine_meta_str(const cf_engine *e, const char *key, cf_str *out)
{
    return cf_gguf_get_str(e->gguf, key, out);
}

bool cf_engine_meta_i64(const cf_engine *e, const char *key, int64_t *out)
{
    bool flag = false;
    if (cf_gguf_get_bool(e->gguf, key, &flag)) {
        *out = flag;
        return true;
    }
    return cf_gguf_get_i64(e->gguf, key, out);
}

bool cf_engine_tensor(const cf_engine *e, size_t i, cf_tensor_info *out)
{
    if (i >= cf_gguf_n_tensors(e->gguf)) {
        return false;
    }
    const cf_gguf_tensor *t = cf_gguf_tensor_at(e->gguf, i);
    const char *type = cf_dtype_get(t->type).name;
    *out = (cf_tensor_info){.name = t->name,
                            .type = type != NULL ? type : "unknown",
                            .n_dim = t->n_dim,
                            .bytes = t->bytes,
                            .file_off = t->file_off};
    memcpy(out->dim, t->dim, sizeof out->dim);
    return true;
}
