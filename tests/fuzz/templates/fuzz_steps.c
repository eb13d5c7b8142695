/*
 * fuzz_steps.c - any bytes as a template that is rendered to its limits: what
 * it did must have been counted.  Aborts when processor time for each counted
 * step, or memory for each counted byte, leaves a generous band.
 */
#include <stdint.h>

#include "templates/template.h"
#include "tests/support/law.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char context_text[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi <b> \xC3\xA9\"},"
    "{\"role\":\"assistant\",\"content\":null,\"n\":[1,2.5,true]}],"
    "\"n\":7,\"s\":\"a b c\"}";

/* The bound counts what is asked of the arena.  A request that does not fit
 * leaves the end of a block unused: with strings of some 100 KiB in blocks of
 * 1 MiB up to a quarter (corpus steps/long_numbers).  The rest is for what is
 * in use beside the arena. */
enum { MEMORY = 32 << 20, STEPS = 1000000, MEMORY_SLACK = MEMORY / 4 + (4 << 20) };

/* A step is some tens of nanoseconds; a sanitizer makes it ten times that.
 * Memory has a bound of its own, whatever the steps. */
static const cf_law_band rendering = {"rendering", 2, 20e-6, (size_t)MEMORY + MEMORY_SLACK, 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_context *context = NULL;
    cf_error err;
    const cf_render_options options = {.limits = {.max_steps = STEPS, .max_memory_bytes = MEMORY}};
    if (size > 4000) {
        return 0;
    }
    cf_law_install();
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_template_compile(&tpl, cf_str_make((const char *)data, size), NULL, NULL, NULL, &err);
    CF_THEN(st, cf_context_read(&context, cf_str_from(context_text), &arena, &err));
    if (st == CF_OK) {
        cf_render r;
        cf_law law = cf_law_begin();
        cf_ignore(cf_template_render(tpl, context, &options, &arena, &r, &err));
        cf_law_check(&law, &rendering, r.n_steps);
    }
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
    return 0;
}
