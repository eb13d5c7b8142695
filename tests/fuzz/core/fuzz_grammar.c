/*
 * fuzz_grammar.c - any bytes as grammar notation; the same bytes, as a text,
 * against what they describe.
 */
#include "core/api/constraint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    const cf_grammar_options opts = {.max_nodes = 100000, .max_work = 500000};
    cf_grammar *g = NULL;
    cf_constraint *c = NULL;
    cf_error err;
    size_t taken;
    if (cf_grammar_from_text(&g, cf_str_make(p, size), &opts, &err) == CF_OK &&
        cf_constraint_new(&c, g, NULL, &err) == CF_OK &&
        cf_constraint_bytes(c, p, size, &taken, &err) == CF_OK) {
        uint32_t set[8];
        cf_constraint_next_bytes(c, set);
    }
    cf_constraint_free(c);
    cf_grammar_free(g);
    return 0;
}
