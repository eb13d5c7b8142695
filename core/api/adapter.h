/*
 * adapter.h - LoRA adapters: small changes of a model's matrices that are
 * applied while it computes.
 *
 * Place in the flow:  adapter file --> [adapter] --> session.h.
 * Knows: llama.cpp's GGUF adapters, and folders of PEFT.
 * Does not know: who chooses one, templates.
 *
 * A matrix W becomes W + scale * alpha / rank * B A; the base model's weights
 * are not touched, so sessions with different adapters share one engine and
 * one pass over its weights.
 * Source: Hu et al. 2021, arXiv 2106.09685; rank-stabilised: Kalajdzievski
 * 2023, arXiv 2312.03732.
 *
 * Threads:  constant after open.
 * Memory:   an adapter is freed after the sessions that use it and before its
 *           engine.
 */
#ifndef CF_CORE_API_ADAPTER_H
#define CF_CORE_API_ADAPTER_H

#include <stddef.h>
#include <stdint.h>

#include "core/api/session.h"

CF_BEGIN_DECLS

typedef struct cf_adapter cf_adapter;

typedef struct cf_adapter_info {
    const char *path; /* borrowed */
    size_t n_matrix;  /* matrices that it changes */
    uint32_t rank;    /* the largest */
    uint64_t bytes;   /* in memory */
    const char *hash; /* SHA-256 of its matrices with their names and scales,
                         64 hex digits */
} cf_adapter_info;

/* Opens a .gguf file, a folder with adapter_config.json and
 * adapter_model.safetensors, or either of these files, for an engine with
 * weights.  CF_ENOTFOUND, CF_EIO; CF_EFORMAT for an adapter of another model
 * or a wrong shape; CF_EUNSUPPORTED for a kind that is not computed (DoRA,
 * experts, embeddings); CF_ENOMEM. */
CF_MUST_USE cf_status cf_adapter_open(cf_adapter **out, const cf_engine *engine, const char *path,
                                      cf_error *err);
void cf_adapter_free(cf_adapter *a);

cf_adapter_info cf_adapter_get_info(const cf_adapter *a);

enum { CF_ADAPTERS_MAX = 8 };

/* An adapter in use; scale 0 leaves it out, bit for bit. */
typedef struct cf_adapter_use {
    const cf_adapter *adapter;
    float scale;
} cf_adapter_use;

/* Sets a session's adapters, none for n 0, in place of those it had.  If they
 * are others, its timeline is forgotten.  CF_EINVAL for more than
 * CF_ADAPTERS_MAX or for one of another engine. */
CF_MUST_USE cf_status cf_session_set_adapters(cf_session *session, const cf_adapter_use *v,
                                              size_t n, cf_error *err);

/* Those of a session; *n of them. */
const cf_adapter_use *cf_session_adapters(const cf_session *session, size_t *n);

CF_END_DECLS

#endif
