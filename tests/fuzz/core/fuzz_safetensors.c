/*
 * fuzz_safetensors.c - any config.json with any safetensors file.
 *
 * Input: two bytes are the length of config.json, which follows; the rest is
 * the file.  Whatever opens is mapped to tensors, all of whose bytes are read,
 * and the sizes become a model's.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/hub/hf_weights.h"
#include "core/model/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned sink;

/* The sizes as metadata, and the tensors found by role. */
static void describe(const cf_hf_config *c, const cf_hf_weights *w)
{
    cf_meta_writer meta;
    cf_gguf *g = NULL;
    cf_hparams hp;
    cf_weights weights;
    cf_error err;
    char key[128];
    cf_meta_writer_init(&meta);
    cf_meta_put_str(&meta, "general.architecture", cf_str_from(c->family->arch));
    cf_status st = cf_hf_config_put(c, &meta, &err);
    snprintf(key, sizeof key, "%s.vocab_size", c->family->arch);
    cf_meta_put_u32(&meta, key, w->n_vocab);
    CF_THEN(st, cf_meta_writer_open(&meta, &g, &err));
    CF_THEN(st, cf_gguf_add_tensors(g, w->v, w->n, &err));
    CF_THEN(st, cf_hparams_init(&hp, g, &err));
    if (st == CF_OK) {
        st = cf_weights_init(&weights, g, &hp, &err);
        if (st == CF_OK) {
            cf_weights_deinit(&weights);
        }
        cf_hparams_deinit(&hp);
    }
    cf_gguf_close(g);
    cf_buf_deinit(&meta.bytes);
}

static void map(const cf_safetensors *files, const json_t *config)
{
    cf_hf_config c;
    cf_hf_weights w;
    cf_error err;
    if (cf_hf_config_init(&c, config, &err) != CF_OK) {
        return;
    }
    if (c.family != NULL && cf_hf_weights_init(&w, files, &c, &err) == CF_OK) {
        for (size_t i = 0; i < w.n; i++) {
            for (uint64_t k = 0; k < w.v[i].bytes; k++) {
                sink += w.v[i].p[k];
            }
        }
        describe(&c, &w);
        cf_hf_weights_deinit(&w);
    }
    cf_hf_config_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_safetensors *files = NULL;
    json_t *config = NULL;
    cf_error err;
    size_t n = size >= 2 ? data[0] + 256u * data[1] : 0;
    if (size < 2 || n > size - 2) {
        return 0;
    }
    cf_status st = cf_safetensors_open_memory(&files, data + 2 + n, size - 2 - n, &err);
    if (st == CF_OK && cf_json_read_doubles(&config, (const char *)data + 2, n, &err) == CF_OK) {
        map(files, config);
    }
    json_decref(config);
    cf_safetensors_close(files);
    return 0;
}
