/*
 * fuzz_schema.c - any bytes as a JSON Schema, then a text against it.  What
 * follows the first line is the text.  Compiling and matching obey their
 * laws: time and memory follow the steps that were counted.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/constraint.h"
#include "core/constrain/position.h"
#include "tests/support/law.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const cf_law_band compiling = {"compiling a schema", 0.5, 2e-6, 16 << 20, 64};
static const cf_law_band matching = {"matching a schema", 0.5, 2e-6, 4 << 20, 256};

static void feed(const cf_grammar *g, const char *p, size_t n)
{
    cf_constraint *c = NULL;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    size_t taken = 0;
    uint32_t set[8];
    cf_law law = cf_law_begin();
    if (cf_constraint_new(&c, g, NULL, &err) == CF_OK &&
        cf_constraint_bytes(c, p, n, &taken, &err) == CF_OK) {
        cf_constraint_next_bytes(c, set);
        cf_constraint_where(c, &out, &out, &out);
        if (cf_constraint_forced(c, &out, 200, &err) == CF_OK && !cf_constraint_may_end(c) &&
            !cf_constraint_may_continue(c)) {
            abort(); /* a position must lead somewhere */
        }
    }
    cf_law_check(&law, &matching, n + (c != NULL ? c->m.work : 0));
    cf_buf_deinit(&out);
    cf_constraint_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    const char *end = size > 0 ? memchr(p, '\n', size) : NULL;
    size_t n = end != NULL ? (size_t)(end - p) : size;
    json_t *schema = NULL;
    cf_grammar *g = NULL;
    const cf_grammar_options opts = {.max_work = 2000000};
    cf_error err;
    cf_law law = cf_law_begin();
    if (cf_json_read(&schema, p, n, &err) == CF_OK) {
        cf_status st = cf_grammar_from_schema(&g, schema, &opts, &err);
        cf_law_check(&law, &compiling, n + (st == CF_OK ? g->work : (uint64_t)opts.max_work));
    }
    if (g != NULL) {
        feed(g, end != NULL ? end + 1 : p, end != NULL ? size - n - 1 : 0);
    }
    cf_grammar_free(g);
    json_decref(schema);
    return 0;
}
