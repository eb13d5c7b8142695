/*
 * adapter_impl.h - an open adapter.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_ADAPTER_IMPL_H
#define CF_CORE_INFER_ADAPTER_IMPL_H

#include "core/base/hash.h"
#include "core/infer/lora.h"

struct cf_adapter {
    const cf_engine *engine;
    char *path;
    cf_lora_pair *pair; /* [n_pair], by the place of their matrices */
    size_t n_pair;
    uint32_t rank;  /* the largest */
    float *numbers; /* of all pairs */
    uint64_t n_number;
    char hash[CF_HASH_TEXT + 1];
};

#endif
