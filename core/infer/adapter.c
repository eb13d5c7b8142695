/*
 * adapter.c - reads adapters and joins them to a model's matrices.
 *
 * Both kinds of files become a list of tensors "MATRIX.lora_a" and
 * "MATRIX.lora_b" in the names of a GGUF (PEFT's through core/hub/peft.h), and
 * from there on there is one way.
 */
#include "core/api/adapter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/hub/peft.h"
#include "core/infer/adapter_impl.h"
#include "core/infer/engine_impl.h"

enum { RANK_MAX = 4096, NAME_BYTES = 128 };

#define CONFIG_FILE "adapter_config.json"

/* Where an adapter's tensors come from. */
typedef struct source {
    cf_gguf *gguf;
    cf_peft *peft;
    const cf_gguf_tensor *v; /* [n] */
    size_t n;
} source;

/* ---- sources ------------------------------------------------------------- */

static cf_status check_gguf(const cf_gguf *g, const cf_engine *e, cf_error *err)
{
    cf_str type = {"", 0}, kind = {"", 0}, arch = {"", 0};
    cf_gguf_get_str(g, "general.type", &type);
    cf_gguf_get_str(g, "adapter.type", &kind);
    cf_gguf_get_str(g, "general.architecture", &arch);
    if (!cf_str_is(type, "adapter")) {
        return cf_fail(err, CF_EFORMAT,
                       "not an adapter (general.type is \"%.*s\"): -m opens "
                       "models",
                       type.n < 32 ? (int)type.n : 32, type.p);
    }
    if (!cf_str_is(kind, "lora") || cf_gguf_find(g, "adapter.alora.invocation_tokens") != NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "adapter.type \"%.*s\" is not supported",
                       kind.n < 32 ? (int)kind.n : 32, kind.p);
    }
    return cf_str_is(arch, e->arch)
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "the adapter is for %.*s, the model is %s",
                         arch.n < 32 ? (int)arch.n : 32, arch.p, e->arch);
}

static cf_status open_gguf(source *s, const cf_engine *e, const char *path, cf_error *err)
{
    CF_TRY(cf_gguf_open(&s->gguf, path, err));
    CF_TRY(check_gguf(s->gguf, e, err));
    s->n = cf_gguf_n_tensors(s->gguf);
    s->v = s->n != 0 ? cf_gguf_tensor_at(s->gguf, 0) : NULL;
    return CF_OK;
}

static cf_hf_heads heads_of(const cf_engine *e)
{
    const cf_layer_hparams *l = &e->hp.layer[0];
    for (uint32_t i = 1; l->n_head == 0 && i < e->hp.n_layer; i++) {
        l = &e->hp.layer[i];
    }
    return (cf_hf_heads){.n_head = l->n_head,
                         .n_head_kv = l->n_head_kv,
                         .n_key_head = e->hp.state.n_group,
                         .n_value_head = e->hp.state.n_head,
                         .key_size = e->hp.state.n_key,
                         .value_size = e->hp.state.n_value};
}

/* The folder of a file in it. */
static cf_status folder_of(cf_buf *out, const char *path, cf_error *err)
{
    const char *slash = strrchr(path, '/');
    if (cf_os_is_dir(path)) {
        cf_buf_adds(out, path);
    } else if (slash == NULL) {
        cf_buf_adds(out, ".");
    } else {
        cf_buf_add(out, path, (size_t)(slash - path) + (slash == path));
    }
    return cf_buf_check(out, err);
}

static cf_status open_peft(source *s, const cf_engine *e, const char *path, cf_error *err)
{
    cf_buf folder = CF_BUF_INIT;
    cf_hf_heads h = heads_of(e);
    cf_status st = folder_of(&folder, path, err);
    CF_THEN(st, cf_peft_open(&s->peft, cf_buf_cstr(&folder), e->arch, &h, e->hp.n_layer, err));
    if (st == CF_OK) {
        s->v = cf_peft_tensors(s->peft, &s->n);
    }
    cf_buf_deinit(&folder);
    return st;
}

static bool ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

static cf_status open_source(source *s, const cf_engine *e, const char *path, cf_error *err)
{
    bool is_peft = cf_os_is_dir(path) || ends(path, CONFIG_FILE) || ends(path, ".safetensors");
    return is_peft ? open_peft(s, e, path, err) : open_gguf(s, e, path, err);
}

static void close_source(source *s)
{
    cf_gguf_close(s->gguf);
    cf_peft_close(s->peft);
}

/* ---- pairs --------------------------------------------------------------- */

static const cf_gguf_tensor *find(const source *s, const char *name, const char *suffix)
{
    char full[NAME_BYTES + 16];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    for (size_t i = 0; i < s->n; i++) {
        if (cf_str_is(s->v[i].name, full)) {
            return &s->v[i];
        }
    }
    return NULL;
}

/* "MATRIX.lora_a" to "MATRIX"; false for another name. */
static bool matrix_name(char out[NAME_BYTES], cf_str name)
{
    static const char end[] = ".lora_a";
    size_t k = strlen(end);
    if (name.n <= k || name.n - k >= NAME_BYTES || memcmp(name.p + name.n - k, end, k) != 0) {
        return false;
    }
    memcpy(out, name.p, name.n - k);
    out[name.n - k] = '\0';
    return true;
}

/* Matrices that are not read by way of a group of pass.h. */
static bool is_elsewhere(const char *name)
{
    static const char *const names[] = {"token_embd.weight", "output.weight",
                                        "per_layer_token_embd.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return cf_weights_is_expert(cf_str_from(name)) || strstr(name, "altup") != NULL ||
           strstr(name, "attn_kv_b.") != NULL || strstr(name, "ssm_conv1d") != NULL ||
           strstr(name, "shortconv.conv") != NULL;
}

static cf_status check_pair(const char *name, const cf_gguf_tensor *w, const cf_gguf_tensor *a,
                            const cf_gguf_tensor *b, cf_error *err)
{
    if (w == NULL) {
        return cf_fail(err, CF_EFORMAT, "the model has no tensor %s", name);
    }
    if (is_elsewhere(name) || w->n_dim != 2) {
        return cf_fail(err, CF_EUNSUPPORTED, "an adapter of %s is not supported", name);
    }
    if (b == NULL || a->n_dim != 2 || b->n_dim != 2 || a->dim[0] != w->dim[0] ||
        b->dim[1] != w->dim[1] || a->dim[1] != b->dim[0] || a->dim[1] > RANK_MAX) {
        return cf_fail(err, CF_EFORMAT,
                       "the adapter's %s does not suit the model's "
                       "[%llu, %llu]",
                       name, (unsigned long long)w->dim[0], (unsigned long long)w->dim[1]);
    }
    return cf_dtype_get(a->type).name != NULL && cf_dtype_get(b->type).name != NULL
               ? CF_OK
               : cf_fail(err, CF_EUNSUPPORTED, "the adapter's %s has an unknown type", name);
}

/* Fills x from the tensors; numbers go to `at`. */
static void fill(cf_lora_pair *x, const cf_gguf_tensor *w, const cf_gguf_tensor *a,
                 const cf_gguf_tensor *b, float *at, float *row)
{
    *x = (cf_lora_pair){.p = w->p,
                        .bytes = w->bytes,
                        .n_col = (uint32_t)w->dim[0],
                        .n_row = (uint32_t)w->dim[1],
                        .rank = (uint32_t)a->dim[1],
                        .a = at};
    size_t n_a = (size_t)x->rank * x->n_col;
    size_t row_bytes = cf_dtype_row_bytes((cf_dtype)b->type, x->rank);
    cf_dtype_to_f32((cf_dtype)a->type, at, a->p, n_a);
    float *turned = at + n_a;
    for (uint32_t r = 0; r < x->n_row; r++) {
        cf_dtype_to_f32((cf_dtype)b->type, row, b->p + r * row_bytes, x->rank);
        for (uint32_t k = 0; k < x->rank; k++) {
            turned[(size_t)k * x->n_row + r] = row[k];
        }
    }
    x->b = turned;
}

/* alpha / rank; 1 where the file has no alpha. */
static float scale_of(const source *s, const char *name, uint32_t rank)
{
    double alpha = 0;
    if (s->peft != NULL) {
        return cf_peft_scale(s->peft, name, rank);
    }
    cf_gguf_get_f64(s->gguf, "adapter.lora.alpha", &alpha);
    return alpha != 0 ? (float)(alpha / (double)rank) : 1.0f;
}

static int by_place(const void *a, const void *b)
{
    const cf_lora_pair *x = a, *y = b;
    return ((uintptr_t)x->p > (uintptr_t)y->p) - ((uintptr_t)x->p < (uintptr_t)y->p);
}

/* Counts pairs and numbers, and checks all tensors. */
static cf_status measure(cf_adapter *a, const source *s, cf_error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        char name[NAME_BYTES];
        const cf_gguf_tensor *t = &s->v[i];
        if (!matrix_name(name, t->name)) {
            bool is_b = t->name.n > 7 && memcmp(t->name.p + t->name.n - 7, ".lora_b", 7) == 0;
            if (is_b) {
                continue;
            }
            return cf_fail(err, CF_EUNSUPPORTED,
                           "the adapter's tensor %.*s is neither lora_a nor "
                           "lora_b",
                           t->name.n < 80 ? (int)t->name.n : 80, t->name.p);
        }
        const cf_gguf_tensor *w = cf_gguf_find_tensor(a->engine->gguf, name);
        const cf_gguf_tensor *b = find(s, name, ".lora_b");
        CF_TRY(check_pair(name, w, t, b, err));
        a->n_pair++;
        a->n_number += t->dim[1] * (w->dim[0] + w->dim[1]);
        a->rank = t->dim[1] > a->rank ? (uint32_t)t->dim[1] : a->rank;
    }
    return a->n_pair != 0 ? CF_OK : cf_fail(err, CF_EFORMAT, "the adapter has no matrices");
}

/* What tells this adapter from others: its numbers, and what they belong to. */
static cf_status add_hash(cf_adapter *a, cf_buf *about, cf_error *err)
{
    char numbers[CF_HASH_TEXT + 1];
    cf_hash_hex(numbers, a->numbers, (size_t)a->n_number * sizeof *a->numbers);
    cf_buf_adds(about, numbers);
    cf_hash_hex(a->hash, about->p, about->n);
    return cf_buf_check(about, err);
}

static cf_status read_pairs(cf_adapter *a, const source *s, cf_error *err)
{
    CF_TRY(measure(a, s, err));
    a->pair = cf_calloc(a->n_pair, sizeof *a->pair);
    a->numbers = cf_calloc((size_t)a->n_number, sizeof *a->numbers);
    float *row = cf_calloc(a->rank, sizeof *row);
    if (a->pair == NULL || a->numbers == NULL || row == NULL) {
        cf_free(row);
        return cf_oom_for(err, "an adapter");
    }
    float *at = a->numbers;
    cf_lora_pair *x = a->pair;
    cf_buf about = CF_BUF_INIT;
    for (size_t i = 0; i < s->n; i++) {
        char name[NAME_BYTES];
        if (matrix_name(name, s->v[i].name)) {
            const cf_gguf_tensor *w = cf_gguf_find_tensor(a->engine->gguf, name);
            fill(x, w, &s->v[i], find(s, name, ".lora_b"), at, row);
            x->scale = scale_of(s, name, x->rank);
            cf_buf_addf(&about, "%s %u %a\n", name, x->rank, (double)x->scale);
            at += (size_t)x->rank * (x->n_col + (size_t)x->n_row);
            x++;
        }
    }
    cf_free(row);
    qsort(a->pair, a->n_pair, sizeof *a->pair, by_place);
    cf_status st = add_hash(a, &about, err);
    cf_buf_deinit(&about);
    return st;
}

cf_status cf_adapter_open(cf_adapter **out, const cf_engine *engine, const char *path,
                          cf_error *err)
{
    source s = {0};
    CF_TRY(cf_engine__need_weights(engine, err));
    CF_TRY(cf_engine__need_own(engine, "--lora", err));
    cf_adapter *a = cf_calloc(1, sizeof *a);
    if (a == NULL) {
        return cf_oom(err);
    }
    a->engine = engine;
    a->path = cf_strdup(path);
    cf_status st = a->path != NULL ? open_source(&s, engine, path, err) : cf_oom(err);
    CF_THEN(st, read_pairs(a, &s, err));
    close_source(&s);
    if (st != CF_OK) {
        cf_adapter_free(a);
        return st == CF_ENOTFOUND || st == CF_EIO || st == CF_ENOMEM ? st
                                                                     : cf_fail_in(err, st, path);
    }
    *out = a;
    return CF_OK;
}

void cf_adapter_free(cf_adapter *a)
{
    if (a != NULL) {
        cf_free(a->pair);
        cf_free(a->numbers);
        cf_free(a->path);
        cf_free(a);
    }
}

cf_adapter_info cf_adapter_get_info(const cf_adapter *a)
{
    return (cf_adapter_info){.path = a->path,
                             .n_matrix = a->n_pair,
                             .rank = a->rank,
                             .hash = a->hash,
                             .bytes = a->n_number * sizeof *a->numbers};
}
