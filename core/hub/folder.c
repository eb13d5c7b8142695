/*
 * folder.c - lists the files of a folder and decides which of them counts.
 *
 *   1. chat_template.jinja and additional_chat_templates/NAME.jinja count
 *      before "chat_template" in tokenizer_config.json, and this before
 *      chat_template.json;
 *   2. tokenizer_config.json counts before special_tokens_map.json, token by
 *      token;
 *   3. tokenizer.json counts before tokenizer.model.
 */
#include "core/hub/folder.h"

#include <stdio.h>
#include <string.h>

#include "core/api/engine.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/hub/hf_tokenizer.h"
#include "core/hub/hf_weights.h"
#include "core/hub/meta_writer.h"
#include "core/hub/spm_model.h"
#include "core/json/json.h"
#include "core/token/tokenizer_new.h"

enum { SMALL_MAX = 64 << 20, TEMPLATES_MAX = 256, ENDS_MAX = 64 };

struct cf_hub_folder {
    char *path;
    cf_arena arena;    /* strings, also of the tokenizer */
    cf_os_map map;     /* the tokenizer's file */
    bool is_spm;       /* which is tokenizer.model */
    json_t *config;    /* tokenizer_config.json, {} without one */
    json_t *special;   /* special_tokens_map.json, {} without one */
    json_t *variables; /* of templates: the special tokens by name */
    cf_str variables_text;
    cf_meta_writer meta;
    cf_gguf *gguf;
    cf_token end[ENDS_MAX]; /* "eos_token_id" of generation_config.json */
    size_t n_end;
    size_t n_template;

    cf_hf_config model;    /* config.json */
    cf_safetensors *files; /* NULL without weights */
    cf_hf_weights weights; /* empty until they are loaded */
    bool is_loaded;
    cf_error why; /* why no weights can be loaded; empty: they can */
};

void cf_hub_folder_close(cf_hub_folder *f)
{
    if (f == NULL) {
        return;
    }
    cf_gguf_close(f->gguf);
    cf_hf_weights_deinit(&f->weights);
    cf_safetensors_close(f->files);
    cf_hf_config_deinit(&f->model);
    cf_buf_deinit(&f->meta.bytes);
    json_decref(f->config);
    json_decref(f->special);
    json_decref(f->variables);
    cf_os_map_close(&f->map);
    cf_arena_deinit(&f->arena);
    cf_free(f->path);
    cf_free(f);
}

/* ---- files --------------------------------------------------------------- */

/* "FOLDER/name" in the arena. */
static cf_status join(cf_hub_folder *f, const char *name, const char **out, cf_error *err)
{
    size_t n = strlen(f->path) + strlen(name) + 2;
    char *p = cf_arena_alloc(&f->arena, n);
    if (p == NULL) {
        return cf_oom(err);
    }
    snprintf(p, n, "%s/%s", f->path, name);
    *out = p;
    return CF_OK;
}

/* The text of a small file; empty if the file does not exist. */
static cf_status read_text(cf_hub_folder *f, const char *name, cf_buf *out, cf_error *err)
{
    const char *path;
    CF_TRY(join(f, name, &path, err));
    cf_status st = cf_os_read_file(out, path, SMALL_MAX, err);
    return st == CF_ENOTFOUND ? CF_OK : st;
}

/* Reads a JSON object, with all numbers as doubles (an unlimited length is written as
 * 10^30). A missing file reads as an empty object. */
static cf_status read_object(cf_hub_folder *f, const char *name, json_t **out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = read_text(f, name, &text, err);
    if (st == CF_OK && text.n == 0) {
        *out = json_object();
        return *out != NULL ? CF_OK : cf_oom(err);
    }
    CF_THEN(st, cf_json_read_doubles(out, text.p, text.n, err));
    cf_buf_deinit(&text);
    if (st == CF_OK && !json_is_object(*out)) {
        st = cf_fail(err, CF_EFORMAT, "not a JSON object");
    }
    return st != CF_OK ? cf_fail_in(err, st, name) : CF_OK;
}

/* ---- special tokens ------------------------------------------------------ */

/* A token is a string, or an object whose "content" is the string. */
static const json_t *token_text(const json_t *v)
{
    const json_t *text = json_is_object(v) ? json_object_get(v, "content") : v;
    return json_is_string(text) && json_string_length(text) != 0 ? text : NULL;
}

static cf_status set_variable(cf_hub_folder *f, const char *name, const json_t *text, cf_error *err)
{
    if (text == NULL || json_object_get(f->variables, name) != NULL) {
        return CF_OK;
    }
    return json_object_set(f->variables, name, cf_json_ref(text)) == 0 ? CF_OK : cf_oom(err);
}

static cf_status set_list(cf_hub_folder *f, const json_t *from, cf_error *err)
{
    static const char name[] = "additional_special_tokens";
    const json_t *list = json_object_get(from, name);
    if (json_array_size(list) == 0 || json_object_get(f->variables, name) != NULL) {
        return CF_OK;
    }
    json_t *texts = json_array();
    bool ok = texts != NULL;
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        const json_t *text = token_text(json_array_get(list, i));
        ok = text == NULL || json_array_append(texts, cf_json_ref(text)) == 0;
    }
    ok = ok && json_object_set(f->variables, name, texts) == 0;
    json_decref(texts);
    return ok ? CF_OK : cf_oom(err);
}

static cf_status add_variables(cf_hub_folder *f, const json_t *from, cf_error *err)
{
    static const char *const names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CF_TRY(set_variable(f, names[i], token_text(json_object_get(from, names[i])), err));
    }
    CF_TRY(set_list(f, from, err));
    const char *key;
    json_t *v;
    json_object_foreach(json_object_get(from, "extra_special_tokens"), key, v)
    {
        CF_TRY(set_variable(f, key, token_text(v), err));
    }
    return CF_OK;
}

/* Keeps the variables' text in the arena too. */
static cf_status read_variables(cf_hub_folder *f, cf_error *err)
{
    f->variables = json_object();
    if (f->variables == NULL) {
        return cf_oom(err);
    }
    CF_TRY(add_variables(f, f->config, err));
    CF_TRY(add_variables(f, f->special, err));
    cf_buf b = CF_BUF_INIT;
    cf_json_write(&b, f->variables);
    cf_status st = cf_buf_check(&b, err);
    const char *copy = st == CF_OK ? cf_arena_strndup(&f->arena, b.p, b.n) : NULL;
    f->variables_text = cf_str_make(copy, b.n);
    cf_buf_deinit(&b);
    return st != CF_OK ? st : copy != NULL ? CF_OK : cf_oom(err);
}

/* ---- templates ----------------------------------------------------------- */

/* The template called "default" has the plain key. */
static cf_status put_template(cf_hub_folder *f, cf_str name, cf_str source, cf_error *err)
{
    cf_buf key = CF_BUF_INIT;
    cf_buf_adds(&key, "tokenizer.chat_template");
    if (name.n != 0 && !cf_str_is(name, "default")) {
        cf_buf_addc(&key, '.');
        cf_buf_add(&key, name.p, name.n);
    }
    cf_status st = cf_buf_check(&key, err);
    if (st == CF_OK && f->n_template++ == TEMPLATES_MAX) {
        st = cf_fail(err, CF_ELIMIT, "more than %d templates", TEMPLATES_MAX);
    }
    if (st == CF_OK) {
        cf_meta_put_str(&f->meta, cf_buf_cstr(&key), source);
    }
    cf_buf_deinit(&key);
    return st;
}

static cf_status put_template_file(cf_hub_folder *f, const char *file, cf_str name, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = read_text(f, file, &text, err);
    if (st == CF_OK && text.n != 0) {
        st = put_template(f, name, cf_buf_str(&text), err);
    }
    cf_buf_deinit(&text);
    return st;
}

/* additional_chat_templates/NAME.jinja */
static cf_status put_additional(cf_hub_folder *f, cf_error *err)
{
    static const char dir[] = "additional_chat_templates";
    static const char end[] = ".jinja";
    const char *path;
    cf_buf names = CF_BUF_INIT;
    CF_TRY(join(f, dir, &path, err));
    if (!cf_os_is_dir(path)) {
        return CF_OK;
    }
    cf_status st = cf_os_list_dir(&names, path, TEMPLATES_MAX, err);
    for (size_t at = 0; st == CF_OK && at < names.n;) {
        const char *name = names.p + at;
        size_t n = strlen(name);
        at += n + 1;
        if (n > strlen(end) && strcmp(name + n - strlen(end), end) == 0) {
            char file[512];
            snprintf(file, sizeof file, "%s/%.400s", dir, name);
            st = put_template_file(f, file, cf_str_make(name, n - strlen(end)), err);
        }
    }
    cf_buf_deinit(&names);
    return st;
}

/* A string, or a list of objects with a name and a template. */
static cf_status put_member(cf_hub_folder *f, const json_t *v, cf_error *err)
{
    if (json_is_string(v)) {
        return put_template(f, cf_str_make("", 0),
                            cf_str_make(json_string_value(v), json_string_length(v)), err);
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *one = json_array_get(v, i);
        cf_str source = cf_json_get_str(one, "template");
        if (source.p != NULL) {
            CF_TRY(put_template(f, cf_json_get_str(one, "name"), source, err));
        }
    }
    return CF_OK;
}

static cf_status read_templates(cf_hub_folder *f, cf_error *err)
{
    CF_TRY(put_template_file(f, "chat_template.jinja", cf_str_make("", 0), err));
    CF_TRY(put_additional(f, err));
    if (f->n_template == 0) {
        CF_TRY(put_member(f, json_object_get(f->config, "chat_template"), err));
    }
    if (f->n_template != 0) {
        return CF_OK;
    }
    json_t *v = NULL;
    cf_status st = read_object(f, "chat_template.json", &v, err);
    CF_THEN(st, put_member(f, json_object_get(v, "chat_template"), err));
    json_decref(v);
    return st;
}

/* ---- sizes --------------------------------------------------------------- */

static void put_name(cf_hub_folder *f)
{
    const char *slash = strrchr(f->path, '/');
    cf_meta_put_str(&f->meta, "general.name",
                    cf_str_from(slash != NULL && slash[1] != '\0' ? slash + 1 : f->path));
}

/* Sizes of a model that confab cannot run; `confab model` shows them. */
static void put_glance(cf_hub_folder *f, cf_str arch)
{
    static const struct {
        const char *from, *to;
    } sizes[] = {
        {"max_position_embeddings", "context_length"},
        {"hidden_size", "embedding_length"},
        {"num_hidden_layers", "block_count"},
        {"vocab_size", "vocab_size"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t n = cf_hf_config_u32(&f->model, sizes[i].from);
        char key[128];
        snprintf(key, sizeof key, "%.*s.%s", (int)arch.n, arch.p, sizes[i].to);
        if (n != 0) {
            cf_meta_put_u32(&f->meta, key, n);
        }
    }
}

/* What sentence-transformers computes after pooling: EmbeddingGemma has two
 * matrices, without bias and activation.  Those of other models are not
 * computed, and without them the vectors would be others. */
static const char *const dense_folders[] = {"2_Dense", "3_Dense"};

static bool has_dense_matrices(const cf_hub_folder *f)
{
    return strcmp(f->model.family->arch, "gemma-embedding") == 0;
}

static cf_status check_dense(cf_hub_folder *f)
{
    for (size_t i = 0; i < 2; i++) {
        char name[40];
        json_t *v = NULL;
        snprintf(name, sizeof name, "%s/config.json", dense_folders[i]);
        CF_TRY(read_object(f, name, &v, &f->why));
        bool is_there = json_object_size(v) != 0;
        bool is_plain = has_dense_matrices(f) && !json_is_true(json_object_get(v, "bias")) &&
                        cf_str_ends(cf_json_get_str(v, "activation_function"), "Identity");
        json_decref(v);
        if (is_there && !is_plain) {
            return cf_fail(&f->why, CF_EUNSUPPORTED, "%s: its %s is not supported", f->path,
                           dense_folders[i]);
        }
    }
    return CF_OK;
}

static cf_status add_dense(cf_hub_folder *f, cf_error *err)
{
    static const char *const to[] = {"dense_2.weight", "dense_3.weight"};
    for (size_t i = 0; i < 2; i++) {
        const char *path;
        cf_safetensors *files = NULL;
        CF_TRY(join(f, dense_folders[i], &path, err));
        if (!cf_safetensors_is_in(path)) {
            continue;
        }
        CF_TRY(cf_safetensors_open_folder(&files, path, err));
        cf_status st = cf_hf_weights_add(&f->weights, files, "linear.weight", to[i], err);
        cf_safetensors_close(files);
        CF_TRY(st);
    }
    return CF_OK;
}

/* Opens the weight files; `why` gets the reason if they cannot be used. */
static cf_status open_weights(cf_hub_folder *f)
{
    cf_str type = cf_json_get_str(f->model.v, "model_type");
    if (!cf_safetensors_is_in(f->path)) {
        return cf_fail(&f->why, CF_ENOTFOUND,
                       "%s has no weights (no .safetensors): it serves for "
                       "render, lint, diff and tokenize",
                       f->path);
    }
    if (f->model.family == NULL) {
        return cf_fail(&f->why, CF_EUNSUPPORTED,
                       "%s: confab does not run the family \"%.*s\" of its "
                       "config.json",
                       f->path, type.n < 40 ? (int)type.n : 40, type.n != 0 ? type.p : "");
    }
    CF_TRY(check_dense(f));
    return cf_safetensors_open_folder(&f->files, f->path, &f->why);
}

/* Reads how sentence-transformers pools a text's states into one vector. Writes nothing
 * if its file is missing or combines several ways. */
static cf_status put_pooling(cf_hub_folder *f, cf_str arch, cf_error *err)
{
    static const struct {
        const char *flag, *mode; /* older files have flags, newer ones a mode */
        cf_pooling pooling;
    } ways[] = {
        {"pooling_mode_mean_tokens", "mean", CF_POOLING_MEAN},
        {"pooling_mode_cls_token", "cls", CF_POOLING_FIRST},
        {"pooling_mode_lasttoken", "lasttoken", CF_POOLING_LAST},
    };
    json_t *v = NULL;
    cf_pooling found = CF_POOLING_NONE;
    size_t n = 0;
    CF_TRY(read_object(f, "1_Pooling/config.json", &v, err));
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (json_is_true(json_object_get(v, ways[i].flag)) ||
            cf_str_is(cf_json_get_str(v, "pooling_mode"), ways[i].mode)) {
            found = ways[i].pooling;
            n++;
        }
    }
    if (n == 1) {
        char key[128];
        snprintf(key, sizeof key, "%.*s.pooling_type", (int)arch.n, arch.p);
        cf_meta_put_u32(&f->meta, key, (uint32_t)found);
    }
    json_decref(v);
    return CF_OK;
}

/* Writes the sizes under a GGUF's keys: all of them if confab can run the model,
 * otherwise those it knows. */
static cf_status put_sizes(cf_hub_folder *f, cf_error *err)
{
    cf_str type = cf_json_get_str(f->model.v, "model_type");
    cf_str arch = f->model.family != NULL ? cf_str_from(f->model.family->arch) : type;
    put_name(f);
    if (arch.n != 0 && arch.n < 64) {
        cf_meta_put_str(&f->meta, "general.architecture", arch);
    }
    cf_meta_writer before = f->meta;
    cf_status st = open_weights(f);
    CF_THEN(st, cf_hf_config_put(&f->model, &f->meta, &f->why));
    if (st == CF_ENOMEM) {
        return cf_oom(err);
    }
    if (st == CF_OK) {
        f->why = (cf_error){.code = CF_OK}; /* files that were looked for */
        return put_pooling(f, arch, err);
    }
    if (f->meta.bytes.n > before.bytes.n) {
        f->meta.bytes.n = before.bytes.n; /* takes sizes back */
        f->meta.n = before.n;
    }
    put_glance(f, arch.n < 64 ? arch : cf_str_make("", 0));
    return CF_OK;
}

static cf_status read_sizes(cf_hub_folder *f, cf_error *err)
{
    json_t *v = NULL;
    cf_status st = read_object(f, "config.json", &v, err);
    CF_THEN(st, cf_hf_config_init(&f->model, v, err));
    CF_THEN(st, put_sizes(f, err));
    json_decref(v);
    return st;
}

/* "eos_token_id": one id, or several, each of which ends a turn. */
static cf_status read_ends(cf_hub_folder *f, cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(read_object(f, "generation_config.json", &v, err));
    const json_t *ids = json_object_get(v, "eos_token_id");
    size_t n = json_is_array(ids) ? json_array_size(ids) : 1;
    for (size_t i = 0; i < n && f->n_end < ENDS_MAX; i++) {
        const json_t *id = json_is_array(ids) ? json_array_get(ids, i) : ids;
        double value = json_is_number(id) ? json_number_value(id) : -1;
        if (value >= 0 && value <= INT32_MAX) {
            f->end[f->n_end++] = (cf_token)value;
        }
    }
    json_decref(v);
    return CF_OK;
}

/* ---- opening ------------------------------------------------------------- */

static cf_status map_tokenizer(cf_hub_folder *f, cf_error *err)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model"};
    for (size_t i = 0; i < 2; i++) {
        const char *path;
        CF_TRY(join(f, names[i], &path, err));
        cf_status st = cf_os_map_open(&f->map, path, err);
        f->is_spm = i == 1;
        if (st != CF_ENOTFOUND) {
            return st;
        }
    }
    return cf_fail(err, CF_ENOTFOUND, "%s has neither tokenizer.json nor tokenizer.model", f->path);
}

static cf_status read_all(cf_hub_folder *f, cf_error *err)
{
    CF_TRY(map_tokenizer(f, err));
    CF_TRY(read_object(f, "tokenizer_config.json", &f->config, err));
    CF_TRY(read_object(f, "special_tokens_map.json", &f->special, err));
    CF_TRY(read_variables(f, err));
    CF_TRY(read_sizes(f, err));
    CF_TRY(read_templates(f, err));
    CF_TRY(read_ends(f, err));
    return cf_meta_writer_open(&f->meta, &f->gguf, err);
}

cf_status cf_hub_folder_open(cf_hub_folder **out, const char *path, cf_error *err)
{
    cf_hub_folder *f = cf_calloc(1, sizeof *f);
    if (f == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&f->arena, 0);
    cf_meta_writer_init(&f->meta);
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    f->path = cf_strndup(path, n);
    cf_status st = f->path != NULL ? read_all(f, err) : cf_oom(err);
    if (st != CF_OK) {
        cf_hub_folder_close(f);
        return st;
    }
    *out = f;
    return CF_OK;
}

cf_status cf_hub_folder_load(cf_hub_folder *f, cf_error *err)
{
    char key[128];
    cf_gguf *g = NULL;
    if (f->is_loaded) {
        return CF_OK;
    }
    CF_TRY(cf_hf_weights_init(&f->weights, f->files, &f->model, err));
    if (has_dense_matrices(f)) {
        cf_status st = add_dense(f, err);
        if (st != CF_OK) {
            cf_hf_weights_deinit(&f->weights);
            return st;
        }
    }
    snprintf(key, sizeof key, "%s.vocab_size", f->model.family->arch);
    cf_meta_put_u32(&f->meta, key, f->weights.n_vocab);
    f->is_loaded = true;
    cf_gguf_close(f->gguf); /* its bytes may have moved */
    f->gguf = NULL;
    CF_TRY(cf_meta_writer_open(&f->meta, &g, err));
    f->gguf = g;
    return cf_gguf_add_tensors(g, f->weights.v, f->weights.n, err);
}

cf_status cf_hub_folder_check_weights(const cf_hub_folder *f, cf_error *err)
{
    bool is_damaged = f->files == NULL && f->why.code == CF_EFORMAT;
    return is_damaged ? cf_fail(err, CF_EFORMAT, "%s", f->why.text) : CF_OK;
}

const char *cf_hub_folder_no_weights(const cf_hub_folder *f)
{
    return f->why.code != CF_OK ? f->why.text : NULL;
}

const cf_safetensors *cf_hub_folder_files(const cf_hub_folder *f)
{
    return f->files;
}

cf_gguf *cf_hub_folder_gguf(const cf_hub_folder *f)
{
    return f->gguf;
}

const char *cf_hub_folder_path(const cf_hub_folder *f)
{
    return f->path;
}

uint64_t cf_hub_folder_bytes(const cf_hub_folder *f)
{
    uint64_t n = f->map.n;
    for (size_t i = 0; i < cf_safetensors_n_files(f->files); i++) {
        uint64_t header;
        n += cf_safetensors_file(f->files, i, &header).n;
    }
    return n;
}

/* ---- the tokenizer ------------------------------------------------------- */

/* A member of tokenizer_config.json that is true, false, or not there. */
static int tri_state(const json_t *config, const char *key)
{
    const json_t *v = json_object_get(config, key);
    return json_is_boolean(v) ? json_is_true(v) : -1;
}

static cf_status new_tokenizer(cf_hub_folder *f, cf_tokenizer **out, cf_error *err)
{
    cf_str file = {(const char *)f->map.p, f->map.n};
    if (f->is_spm) {
        cf_spm_options o = {tri_state(f->config, "add_bos_token"),
                            tri_state(f->config, "add_eos_token"), f->weights.n_vocab};
        return cf_spm_tokenizer(out, file, &o, err);
    }
    cf_hf_names names = {.bos = cf_json_get_str(f->variables, "bos_token"),
                         .eos = cf_json_get_str(f->variables, "eos_token"),
                         .unk = cf_json_get_str(f->variables, "unk_token"),
                         .pad = cf_json_get_str(f->variables, "pad_token"),
                         .sep = cf_json_get_str(f->variables, "sep_token"),
                         .ends = f->end,
                         .n_ends = f->n_end,
                         .n_vocab = f->weights.n_vocab};
    return cf_hf_tokenizer(out, file, &names, &f->arena, err);
}

cf_status cf_hub_folder_tokenizer(cf_hub_folder *f, cf_tokenizer **out, cf_error *err)
{
    cf_status st = new_tokenizer(f, out, err);
    if (st != CF_OK) {
        return cf_fail_in(err, st, f->is_spm ? "tokenizer.model" : "tokenizer.json");
    }
    cf_tokenizer__set_variables(*out, f->variables_text);
    return CF_OK;
}
