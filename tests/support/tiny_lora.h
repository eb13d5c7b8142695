/*
 * tiny_lora.h - a LoRA adapter for the models of tiny_gguf.h, from a seed.
 */
#ifndef CF_TESTS_SUPPORT_TINY_LORA_H
#define CF_TESTS_SUPPORT_TINY_LORA_H

#include <stddef.h>
#include <stdint.h>

enum { CF_TINY_RANK = 4, CF_TINY_LORA_LAYERS = 2, CF_TINY_MATS = 3 };
#define CF_TINY_ALPHA 6.0

/* The matrices that it changes, by their names in a GGUF and in PEFT. */
extern const struct cf_tiny_mat {
    const char *name, *peft;
    uint32_t n_row, n_col;
} cf_tiny_mats[CF_TINY_MATS];

/* The numbers of one pair: a [rank, n_col], b [n_row, rank]. */
typedef struct cf_tiny_pair {
    float a[CF_TINY_RANK * 128];
    float b[64 * CF_TINY_RANK];
} cf_tiny_pair;

void cf_tiny_pair_fill(cf_tiny_pair *p, uint64_t seed, uint32_t layer, size_t mat);

/* Writes it in llama.cpp's format; fails the test where that fails. */
void cf_tiny_lora_write(const char *path, const char *arch, uint64_t seed);

#endif
