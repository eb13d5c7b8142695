/*
 * fuzz_steps.c - any bytes as a template that is rendered to its limits: what
 * it did must have been counted.  Aborts when processor time for each counted
 * step, or memory for each counted byte, leaves a generous band.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "templates/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char context_text[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi <b> \xC3\xA9\"},"
    "{\"role\":\"assistant\",\"content\":null,\"n\":[1,2.5,true]}],"
    "\"n\":7,\"s\":\"a b c\"}";

/* A step is some tens of nanoseconds; a sanitizer makes it ten times that.
 * An uncounted operation is off by thousands. */
static const double seconds_per_step = 20e-6, seconds_always = 2;

enum { MEMORY = 32 << 20, STEPS = 1000000, MEMORY_SLACK = 4 << 20 };

static void check(const cf_render *r, double seconds, size_t memory)
{
    if (seconds > seconds_always + seconds_per_step * (double)r->n_steps) {
        fprintf(stderr, "%.1f s of processor time for %llu steps\n", seconds,
                (unsigned long long)r->n_steps);
        abort();
    }
    if (memory > (size_t)MEMORY + MEMORY_SLACK) {
        fprintf(stderr, "%zu bytes, where %d are allowed\n", memory, MEMORY);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_context *context = NULL;
    cf_error err;
    const cf_render_options options = {
        .limits = {.max_steps = STEPS, .max_memory_bytes = MEMORY}};
    if (size > 4000) {
        return 0;
    }
    cf_arena_init(&arena, 0);
    cf_status st = cf_template_compile(
        &tpl, cf_str_make((const char *)data, size), NULL, NULL, NULL, &err);
    CF_THEN(st,
            cf_context_read(&context, cf_str_from(context_text), &arena, &err));
    if (st == CF_OK) {
        cf_render r;
        clock_t from = clock();
        cf_ignore(cf_template_render(tpl, context, &options, &arena, &r, &err));
        check(&r, (double)(clock() - from) / CLOCKS_PER_SEC, arena.total);
    }
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
    return 0;
}
