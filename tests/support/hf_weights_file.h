/*
 * hf_weights_file.h - a GGUF model written as a Hugging Face folder.
 *
 * The way back from the tables of core/hub/hf_families.c, written for itself:
 * names, orders and shapes as transformers saves them.
 */
#ifndef CF_TESTS_SUPPORT_HF_WEIGHTS_FILE_H
#define CF_TESTS_SUPPORT_HF_WEIGHTS_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Changes numbers of a GGUF in memory to those that survive the way through a
 * folder: norms that are kept less one, -exp(log(-a)). */
void cf_hf_round(void *gguf, size_t n);

/* Writes config.json, model.safetensors (or two files and an index) and a
 * tokenizer.json into the folder.  Stops the test on a tensor that no rule
 * names. */
void cf_hf_write_folder(const char *dir, const void *gguf, size_t n, bool in_parts);

/* Removes those files. */
/* The same for a BERT, as an XLM-RoBERTa: other names, and two more positions. */
void cf_hf_write_roberta(const char *dir, const void *gguf, size_t n);
void cf_hf_remove_files(const char *dir);

#endif
