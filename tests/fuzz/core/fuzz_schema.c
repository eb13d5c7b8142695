/*
 * fuzz_schema.c - any bytes as a JSON Schema, then a text against it.  What
 * follows the first line is the text.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/constraint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(const cf_grammar *g, const char *p, size_t n)
{
    cf_constraint *c = NULL;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    size_t taken = 0;
    uint32_t set[8];
    if (cf_constraint_new(&c, g, NULL, &err) == CF_OK &&
        cf_constraint_bytes(c, p, n, &taken, &err) == CF_OK) {
        cf_constraint_next_bytes(c, set);
        cf_constraint_where(c, &out, &out, &out);
        if (cf_constraint_forced(c, &out, 200, &err) == CF_OK &&
            !cf_constraint_may_end(c) && !cf_constraint_may_continue(c)) {
            abort(); /* a position must lead somewhere */
        }
    }
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
    cf_error err;
    if (cf_json_read(&schema, p, n, &err) == CF_OK &&
        cf_grammar_from_schema(&g, schema, NULL, &err) == CF_OK) {
        feed(g, end != NULL ? end + 1 : p, end != NULL ? size - n - 1 : 0);
    }
    cf_grammar_free(g);
    json_decref(schema);
    return 0;
}
