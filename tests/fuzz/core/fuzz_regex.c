/*
 * fuzz_regex.c - any bytes as a regular expression, then a text against it.
 * The text follows the first line.
 */
#include <string.h>

#include "core/api/constraint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    const char *end = size > 0 ? memchr(p, '\n', size) : NULL;
    size_t n = end != NULL ? (size_t)(end - p) : size;
    const cf_grammar_options opts = {.max_nodes = 100000, .max_work = 500000};
    cf_grammar *g = NULL;
    cf_constraint *c = NULL;
    cf_error err;
    size_t taken;
    if (cf_grammar_from_regex(&g, cf_str_make(p, n), &opts, &err) == CF_OK &&
        cf_constraint_new(&c, g, NULL, &err) == CF_OK && end != NULL &&
        cf_constraint_bytes(c, end + 1, size - n - 1, &taken, &err) == CF_OK) {
        uint32_t set[8];
        cf_constraint_next_bytes(c, set);
    }
    cf_constraint_free(c);
    cf_grammar_free(g);
    return 0;
}
