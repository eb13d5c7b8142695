/*
 * fuzz_grammar.c - any bytes as grammar notation; the same bytes, or what
 * follows the first line that is "---", as a text against what they describe.
 * Compiling and matching obey their laws: time and memory follow the steps
 * that were counted.
 */
#include <string.h>

#include "core/api/constraint.h"
#include "core/constrain/position.h"
#include "tests/support/match_law.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const cf_law_band compiling = {"compiling a grammar", 0.5, 2e-6, 16 << 20, 64};
static const cf_law_band matching = {"matching a grammar", 0.5, 2e-6, 4 << 20, 256};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    const cf_grammar_options opts = {.max_nodes = 100000, .max_work = 2000000};
    cf_law law = cf_law_begin();
    cf_grammar *g = NULL;
    cf_error err;
    size_t n = size, from = 0;
    for (size_t i = 0; i + 5 <= size; i++) {
        if (memcmp(p + i, "\n---\n", 5) == 0) {
            n = i + 1;
            from = i + 5;
            break;
        }
    }
    cf_status st = cf_grammar_from_text(&g, cf_str_make(p, n), &opts, &err);
    cf_law_check(&law, &compiling, n + (st == CF_OK ? g->work : (uint64_t)opts.max_work));
    if (st == CF_OK) {
        cf_match_law(g, p + from, size - from, &matching);
    }
    cf_grammar_free(g);
    return 0;
}
