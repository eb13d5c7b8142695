/*
 * peft.h - a LoRA adapter as PEFT saves it, in the names and orders of a GGUF.
 *
 * Place in the flow:  adapter_config.json, adapter_model.safetensors --> here
 *                     --> infer/adapter.c.
 * Source: PEFT, src/peft/tuners/lora/config.py and layer.py.
 *
 * Rows of B follow the rows of their matrix, columns of A its columns: the
 * tables of hf_families.h say in what order.
 *
 * Threads:  constant after open.
 * Memory:   owns files and copies.
 */
#ifndef CF_CORE_HUB_PEFT_H
#define CF_CORE_HUB_PEFT_H

#include "core/hub/hf_weights.h"

typedef struct cf_peft cf_peft;

/* `folder` holds both files; arch, heads and n_layer are the base model's.
 * CF_ENOTFOUND, CF_EFORMAT, CF_EUNSUPPORTED naming a setting or a tensor that
 * is not computed, CF_ENOMEM. */
CF_MUST_USE cf_status cf_peft_open(cf_peft **out, const char *folder, const char *arch,
                                   const cf_hf_heads *heads, uint32_t n_layer, cf_error *err);
void cf_peft_close(cf_peft *p);

/* "blk.N.MATRIX.lora_a" [rank, columns] and "...lora_b" [rows, rank]; *n. */
const cf_gguf_tensor *cf_peft_tensors(const cf_peft *p, size_t *n);

/* The factor that the product B A is scaled by. */
float cf_peft_scale(const cf_peft *p, const char *name, uint32_t rank);

#endif
