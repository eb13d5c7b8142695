/*
 * hf_weights.h - the weights of a Hugging Face folder as the tensors of a
 * GGUF.
 *
 * Place in the flow:  safetensors.h, hf_config.h --> here --> model/gguf.h -->
 *                     model/weights.h.
 * Knows: prefixes of names, stacks of experts, orders of rows.
 * Does not know: which tensors a family needs; weights.h says what is missing.
 *
 * A tensor whose rows keep their order stays where it is, in the mapped file;
 * others are copied once.
 *
 * Threads:  constant after init.
 * Memory:   owns the copies; borrows from the files.
 */
#ifndef CF_CORE_HUB_HF_WEIGHTS_H
#define CF_CORE_HUB_HF_WEIGHTS_H

#include "core/base/arena.h"
#include "core/hub/hf_config.h"
#include "core/hub/safetensors.h"

/* The sizes that orders of rows depend on. */
typedef struct cf_hf_heads {
    uint32_t n_head, n_head_kv;
    uint32_t n_key_head, n_value_head; /* DeltaNet; 0 without */
    uint32_t key_size, value_size;
} cf_hf_heads;

typedef struct cf_hf_weights {
    cf_gguf_tensor *v; /* [n] */
    size_t n, cap;
    uint32_t n_vocab; /* rows of the embeddings */
    void **copy;      /* [n_copy], cf_free_aligned() */
    size_t n_copy, cap_copy;
    cf_arena arena; /* names */
} cf_hf_weights;

/* Maps all tensors of the text model. CF_EUNSUPPORTED for a tensor that the family does
 * not use or whose type cannot be read, CF_EFORMAT for a wrong shape, CF_ENOMEM. On
 * failure *out is empty. */
CF_MUST_USE cf_status cf_hf_weights_init(cf_hf_weights *out, const cf_safetensors *files,
                                         const cf_hf_config *c, cf_error *err);

/* Adds a copy of one tensor of other files.  CF_EFORMAT for one that is not
 * there, else as above; on failure *w has no such tensor. */
CF_MUST_USE cf_status cf_hf_weights_add(cf_hf_weights *w, const cf_safetensors *files,
                                        const char *from, const char *to, cf_error *err);

/* The same for the matrices of a LoRA adapter: tensors "blk.N.MATRIX.lora_a"
 * and "...lora_b".  CF_EUNSUPPORTED for one whose matrix is not in the tables
 * or has rows that an adapter cannot follow. */
CF_MUST_USE cf_status cf_hf_weights_adapter(cf_hf_weights *out, const cf_safetensors *files,
                                            const cf_hf_family *family, const cf_hf_heads *heads,
                                            uint32_t n_layer, cf_error *err);
void cf_hf_weights_deinit(cf_hf_weights *w);

#endif
