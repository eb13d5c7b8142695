/*
 * constrain_bench.h - what constraints cost: time to compile, time a mask.
 */
#ifndef CF_TUI_CLI_INSPECT_CONSTRAIN_BENCH_H
#define CF_TUI_CLI_INSPECT_CONSTRAIN_BENCH_H

#include "core/api/constraint.h"
#include "core/api/engine.h"

typedef struct cf_constrain_bench {
    uint32_t *mask_us; /* [n_mask] */
    uint32_t *compile_us;
    size_t n_mask, cap_mask, n_compile, cap_compile;
    uint64_t mask_sum_ns, compile_sum_ns;
    size_t n_text;    /* texts that were followed to their end */
    size_t n_refused; /* a token of the text was not in the mask */
    uint32_t *mask;   /* scratch */
} cf_constrain_bench;

void cf_constrain_bench_deinit(cf_constrain_bench *b);

/* Notes how long a compilation took. */
void cf_constrain_bench_compiled(cf_constrain_bench *b, uint64_t us);

/* Makes a mask before each token of the text and takes the token; whether all
 * of the text was allowed. */
CF_MUST_USE cf_status cf_constrain_bench_text(cf_constrain_bench *b, const cf_grammar *g,
                                              const cf_constraint_vocab *vocab,
                                              const cf_tokenizer *tok, cf_str text,
                                              bool *is_accepted, cf_error *err);

/* Appends the figures: a line with one JSON object. */
void cf_constrain_bench_put(cf_buf *out, cf_constrain_bench *b, size_t n_vocab);

#endif
