/*
 * hf_config.h - config.json as the metadata of a GGUF.
 *
 * Place in the flow:  config.json --> here --> model/hparams.h.
 * Knows: the members of transformers' configuration classes, old and new
 * spellings.  Does not know: tensors.
 *
 * Threads:  constant after init.
 * Memory:   owns its JSON.
 */
#ifndef CF_CORE_HUB_HF_CONFIG_H
#define CF_CORE_HUB_HF_CONFIG_H

#include "core/hub/hf_families.h"
#include "core/hub/meta_writer.h"
#include "core/json/json.h"

typedef struct cf_hf_config {
    json_t *v;                  /* the text model's members, with defaults */
    const cf_hf_family *family; /* NULL: not one that runs */
} cf_hf_config;

/* Takes the members of the text model out of a whole config.json.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_hf_config_init(cf_hf_config *out, const json_t *config, cf_error *err);
void cf_hf_config_deinit(cf_hf_config *c);

/* A number from `c`, or `otherwise` if it is absent, false or null. */
double cf_hf_config_num(const cf_hf_config *c, const char *key, double otherwise);
/* The same as a size; 0 if it is not a valid one. */
uint32_t cf_hf_config_u32(const cf_hf_config *c, const char *key);

/* 0 if the file does not specify it. */
uint32_t cf_hf_config_n_layer(const cf_hf_config *c);

/* Writes all sizes and constants of a family that runs, but vocab_size.
 * CF_EFORMAT naming the member, CF_EUNSUPPORTED. */
CF_MUST_USE cf_status cf_hf_config_put(const cf_hf_config *c, cf_meta_writer *w, cf_error *err);

/* The rotary settings, wherever this version of the format keeps them: an object with
 * "rope_type" and so on; NULL if there are none. */
const json_t *cf_hf_config_rope(const cf_hf_config *c);

/* Divisors of the rotary frequencies that a family computes from its
 * configuration; which: rope_freqs.weight, or longrope's two. */
typedef enum cf_hf_factors { CF_HF_FACTORS, CF_HF_FACTORS_LONG, CF_HF_FACTORS_SHORT } cf_hf_factors;

/* Returns how many there are (0: none) and stores the first `max`. */
size_t cf_hf_config_factors(const cf_hf_config *c, cf_hf_factors which, float *out, size_t max);

/* Falcon-H1's multiplier for row `row` of the tensor `to`. */
double cf_hf_config_times(const cf_hf_config *c, const char *to, uint64_t row);

#endif
