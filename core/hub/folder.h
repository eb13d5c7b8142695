/*
 * folder.h - a model as a Hugging Face folder: tokenizer, templates, sizes and,
 * where it has them, weights.
 *
 * Place in the flow:  the files --> here --> infer/engine.c.
 * Knows: tokenizer.json, tokenizer.model, tokenizer_config.json,
 * special_tokens_map.json, chat_template.jinja and .json,
 * additional_chat_templates/, generation_config.json, config.json,
 * model.safetensors and its index.
 * Does not know: caches and names of models, templates' language.
 * Source: transformers 4.57, tokenization_utils_base.py.
 *
 * Threads:  constant after open and load.
 * Memory:   owns the mapped files; everything borrowed from it lives as long.
 */
#ifndef CF_CORE_HUB_FOLDER_H
#define CF_CORE_HUB_FOLDER_H

#include "core/api/tokenizer.h"
#include "core/hub/safetensors.h"
#include "core/model/gguf.h"

typedef struct cf_hub_folder cf_hub_folder;

/* Reads the small files.  CF_ENOTFOUND when the folder has neither a
 * tokenizer nor a template, CF_EFORMAT and others with the file's name. */
CF_MUST_USE cf_status cf_hub_folder_open(cf_hub_folder **out, const char *path, cf_error *err);
void cf_hub_folder_close(cf_hub_folder *f);

/* The metadata in the keys of a GGUF: general.architecture and name,
 * tokenizer.chat_template and .NAME, sizes from config.json. */
cf_gguf *cf_hub_folder_gguf(const cf_hub_folder *f);

/* Reads the weights: afterwards cf_hub_folder_gguf() is another object, with
 * all sizes and the tensors, and the tokenizer has as many tokens as the
 * weights have rows.  CF_EFORMAT, CF_EUNSUPPORTED, CF_ENOMEM.  Only where
 * cf_hub_folder_no_weights() is NULL. */
CF_MUST_USE cf_status cf_hub_folder_load(cf_hub_folder *f, cf_error *err);

/* The reason why no weights can be loaded; NULL if they can. */
const char *cf_hub_folder_no_weights(const cf_hub_folder *f);
/* CF_EFORMAT, and what is wrong, where the weight files are damaged. */
CF_MUST_USE cf_status cf_hub_folder_check_weights(const cf_hub_folder *f, cf_error *err);

/* The weight files; NULL if there are none. */
const cf_safetensors *cf_hub_folder_files(const cf_hub_folder *f);

/* Builds the tokenizer, which the caller frees before the folder. */
CF_MUST_USE cf_status cf_hub_folder_tokenizer(cf_hub_folder *f, cf_tokenizer **out, cf_error *err);

const char *cf_hub_folder_path(const cf_hub_folder *f);
/* Sizes of the tokenizer file and of the weights, in bytes. */
uint64_t cf_hub_folder_bytes(const cf_hub_folder *f);

#endif
