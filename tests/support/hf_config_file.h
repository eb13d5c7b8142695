/*
 * hf_config_file.h - the config.json of a GGUF model, as transformers writes
 * it, and the keys of the model that it is made from.
 */
#ifndef CF_TESTS_SUPPORT_HF_CONFIG_FILE_H
#define CF_TESTS_SUPPORT_HF_CONFIG_FILE_H

#include "core/base/buf.h"
#include "core/model/arch.h"
#include "core/model/gguf.h"

typedef struct cf_hf_model {
    const cf_gguf *g;
    char arch[32]; /* general.architecture */
    bool is_roberta; /* bert, as XLM-RoBERTa has it */
} cf_hf_model;

/* The key "ARCH.name", or `otherwise`. */
uint64_t cf_hf_number(const cf_hf_model *m, const char *name, uint64_t otherwise);
double cf_hf_real(const cf_hf_model *m, const char *name, double otherwise);
/* Item i of an array, or the number for all. */
int64_t cf_hf_item(const cf_hf_model *m, const char *name, uint64_t i);

const cf_arch *cf_hf_arch(const cf_hf_model *m);
/* Whether its architecture is among the words of `archs`, each with a space on
 * both sides; always for "". */
bool cf_hf_is_of(const cf_hf_model *m, const char *archs);

/* Appends the config.json. */
void cf_hf_config(cf_buf *b, const cf_hf_model *m);

#endif
