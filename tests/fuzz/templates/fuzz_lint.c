/*
 * fuzz_lint.c - any bytes as a template that is linted, with the requests of
 * all clients: the report keeps the promises of its header.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "templates/template_lint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const cf_lint_report *r, size_t memory)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const cf_lint_finding *f = &r->v[i];
        n += f->rule[0] == 'E';
        if (f->message.n == 0 || (f->line == 0) != (f->col == 0)) {
            abort();
        }
    }
    if (n != r->n_errors || r->n_stability > CF_LINT_STABILITY_MAX || (r->is_cut && r->n == 0) ||
        memory > (size_t)16 << 20) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_arena arena;
    cf_error err;
    cf_lint_report r;
    const cf_lint_options options = {.client = cf_str_from("all")};
    if (size > 8000) {
        return 0;
    }
    cf_arena_init(&arena, 0);
    if (cf_template_lint(cf_str_make((const char *)data, size), &options, &arena, &r, &err) ==
        CF_OK) {
        check(&r, arena.total);
    }
    cf_arena_deinit(&arena);
    return 0;
}
