/*
 * peft.c - reads adapter_config.json and adapter_model.safetensors.
 */
#include "core/hub/peft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/json/json.h"

struct cf_peft {
    cf_safetensors *files;
    cf_hf_weights weights;
    double alpha;
    bool is_stabilised; /* divided by the root of the rank */
};

/* Settings that would change the result and that confab does not implement. */
static cf_status refuse(const json_t *v, cf_error *err)
{
    static const char *const flags[] = {"use_dora", "fan_in_fan_out", "lora_bias", "use_qalora"};
    static const char *const lists[] = {"alpha_pattern", "modules_to_save",
                                        "trainable_token_indices", "layer_replication",
                                        "target_parameters"};
    cf_str type = cf_json_get_str(v, "peft_type");
    cf_str bias = cf_json_get_str(v, "bias");
    const char *what = NULL;
    if (type.p != NULL && !cf_str_is(type, "LORA")) {
        what = "peft_type";
    } else if (bias.p != NULL && !cf_str_is(bias, "none")) {
        what = "bias";
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        what = json_is_true(json_object_get(v, flags[i])) ? flags[i] : what;
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const json_t *m = json_object_get(v, lists[i]);
        what = json_array_size(m) + json_object_size(m) != 0 ? lists[i] : what;
    }
    return what == NULL ? CF_OK
                        : cf_fail(err, CF_EUNSUPPORTED,
                                  "adapter_config.json: \"%s\" as it is set "
                                  "here is not supported",
                                  what);
}

static cf_status read_config(cf_peft *p, const char *folder, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    json_t *v = NULL;
    cf_buf_addf(&path, "%s/adapter_config.json", folder);
    cf_status st = cf_buf_check(&path, err);
    CF_THEN(st, cf_json_read_file(&v, cf_buf_cstr(&path), err));
    CF_THEN(st, refuse(v, err));
    if (st == CF_OK) {
        const json_t *alpha = json_object_get(v, "lora_alpha");
        p->alpha = json_is_number(alpha) ? json_number_value(alpha) : 8;
        p->is_stabilised = json_is_true(json_object_get(v, "use_rslora"));
    }
    json_decref(v);
    cf_buf_deinit(&path);
    return st;
}

static cf_status open_files(cf_peft *p, const char *folder, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_buf_addf(&path, "%s/adapter_model.safetensors", folder);
    cf_status st = cf_buf_check(&path, err);
    CF_THEN(st, cf_safetensors_open(&p->files, cf_buf_cstr(&path), err));
    cf_buf_deinit(&path);
    return st;
}

cf_status cf_peft_open(cf_peft **out, const char *folder, const char *arch,
                       const cf_hf_heads *heads, uint32_t n_layer, cf_error *err)
{
    const cf_hf_family *f = cf_hf_family_of_arch(arch);
    if (f == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "adapters of PEFT are not supported for %s", arch);
    }
    cf_peft *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom(err);
    }
    cf_status st = read_config(p, folder, err);
    CF_THEN(st, open_files(p, folder, err));
    CF_THEN(st, cf_hf_weights_adapter(&p->weights, p->files, f, heads, n_layer, err));
    if (st != CF_OK) {
        cf_peft_close(p);
        return st;
    }
    *out = p;
    return CF_OK;
}

void cf_peft_close(cf_peft *p)
{
    if (p != NULL) {
        cf_hf_weights_deinit(&p->weights);
        cf_safetensors_close(p->files);
        cf_free(p);
    }
}

const cf_gguf_tensor *cf_peft_tensors(const cf_peft *p, size_t *n)
{
    *n = p->weights.n;
    return p->weights.v;
}

float cf_peft_scale(const cf_peft *p, const char *name, uint32_t rank)
{
    (void)name;
    double r = (double)rank;
    return (float)(p->alpha / (p->is_stabilised ? sqrt(r) : r));
}
