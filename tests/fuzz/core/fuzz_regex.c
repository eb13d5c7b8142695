/*
 * fuzz_regex.c - any bytes as a regular expression, then a text against it.
 * The text follows the first line.  Compiling and matching obey their laws:
 * time and memory follow the steps that were counted.
 */
#include <string.h>

#include "core/api/constraint.h"
#include "core/constrain/position.h"
#include "tests/support/match_law.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const cf_law_band compiling = {"compiling an expression", 0.5, 2e-6, 16 << 20, 64};
static const cf_law_band matching = {"matching an expression", 0.5, 2e-6, 4 << 20, 256};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    const char *end = size > 0 ? memchr(p, '\n', size) : NULL;
    size_t n = end != NULL ? (size_t)(end - p) : size;
    const cf_grammar_options opts = {.max_nodes = 100000, .max_work = 500000};
    cf_law law = cf_law_begin();
    cf_grammar *g = NULL;
    cf_error err;
    cf_status st = cf_grammar_from_regex(&g, cf_str_make(p, n), &opts, &err);
    cf_law_check(&law, &compiling, n + (st == CF_OK ? g->work : (uint64_t)opts.max_work));
    if (st == CF_OK && end != NULL) {
        cf_match_law(g, end + 1, size - n - 1, &matching);
    }
    cf_grammar_free(g);
    return 0;
}
