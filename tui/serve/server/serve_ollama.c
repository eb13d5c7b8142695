/*
 * serve_ollama.c - what Ollama's clients ask before they talk: the models, what
 * one of them is, and the server's version.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/version.h"
#include "tui/serve/server/serve_impl.h"

void cf_serve__write_version(cf_serve *s, cf_jw *w)
{
    (void)s;
    cf_jw_object(w, NULL);
    cf_jw_text(w, "version", CF_VERSION);
    cf_jw_end(w);
}

static void put_details(const cf_engine_info *info, cf_jw *w)
{
    char size[32];
    const double n = (double)info->n_param;
    if (n >= 1e9) {
        snprintf(size, sizeof size, "%.1fB", n / 1e9);
    } else {
        snprintf(size, sizeof size, "%.1fM", n / 1e6);
    }
    cf_jw_object(w, "details");
    cf_jw_text(w, "parent_model", "");
    cf_jw_text(w, "format", info->is_folder ? "safetensors" : "gguf");
    cf_jw_text(w, "family", info->arch);
    cf_jw_array(w, "families");
    cf_jw_text(w, NULL, info->arch);
    cf_jw_end(w);
    cf_jw_text(w, "parameter_size", size);
    cf_jw_text(w, "quantization_level", info->file_type);
    cf_jw_end(w);
}

/* A list of the one model; one that is loaded stays so. */
static void put_list(const cf_serve *s, bool is_loaded, cf_jw *w)
{
    const cf_engine_info info = cf_engine_get_info(s->opened->engine);
    char hash[65], made[CF_SERVE_TIME_MAX];
    cf_engine_hash(s->opened->engine, hash);
    cf_serve__time(made, s->created);
    cf_jw_object(w, NULL);
    cf_jw_array(w, "models");
    cf_jw_object(w, NULL);
    cf_jw_text(w, "name", s->o.model);
    cf_jw_text(w, "model", s->o.model);
    cf_jw_uint(w, "size", info.file_bytes);
    cf_jw_text(w, "digest", hash);
    put_details(&info, w);
    if (is_loaded) {
        cf_jw_text(w, "expires_at", "9999-12-31T00:00:00Z");
        cf_jw_uint(w, "size_vram", 0);
        cf_jw_uint(w, "context_length", cf_serve__slots_ctx(s->slots));
    } else {
        cf_jw_text(w, "modified_at", made);
    }
    cf_jw_end(w);
    cf_jw_end(w);
    cf_jw_end(w);
}

void cf_serve__write_tags(cf_serve *s, cf_jw *w)
{
    put_list(s, false, w);
}

void cf_serve__write_ps(cf_serve *s, cf_jw *w)
{
    put_list(s, true, w);
}

static void put_model_info(const cf_engine_info *info, cf_jw *w)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {{"context_length", info->n_ctx_train},
                {"embedding_length", info->n_embd},
                {"block_count", info->n_layer}};
    char key[128];
    cf_jw_object(w, "model_info");
    cf_jw_text(w, "general.architecture", info->arch);
    cf_jw_uint(w, "general.parameter_count", info->n_param);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(key, sizeof key, "%.80s.%s", info->arch, rows[i].key);
        cf_jw_uint(w, key, rows[i].value);
    }
    cf_jw_end(w);
}

void cf_serve__write_show(cf_serve *s, cf_jw *w)
{
    const cf_engine_info info = cf_engine_get_info(s->opened->engine);
    const struct {
        const char *name;
        bool has;
    } can[] = {{"completion", true},
               {"tools", s->opened->family != CF_TOOLS_NONE},
               {"vision", cf_serve__reads(s, false)},
               {"audio", cf_serve__reads(s, true)},
               {"thinking", s->chat.n_channels > 0},
               {"embedding", info.pooling != CF_POOLING_NONE}};
    cf_jw_object(w, NULL);
    cf_jw_text(w, "modelfile", "");
    cf_jw_text(w, "parameters", "");
    cf_jw_buf(w, "template", &s->opened->source);
    put_details(&info, w);
    put_model_info(&info, w);
    cf_jw_array(w, "capabilities");
    for (size_t i = 0; i < sizeof can / sizeof can[0]; i++) {
        if (can[i].has) {
            cf_jw_text(w, NULL, can[i].name);
        }
    }
    cf_jw_end(w);
    cf_jw_end(w);
}
