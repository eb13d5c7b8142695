/*
 * fuzz_template.c - any bytes as a template: compiled, rendered over a small
 * context, and its errors pointed at.
 */
#include <stdint.h>
#include <stdlib.h>

#include "templates/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char context_text[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi <b> \xC3\xA9\"},"
    "{\"role\":\"assistant\",\"content\":null,\"n\":[1,2.5,true]}],"
    "\"tools\":null,\"n\":7,\"s\":\"a b c\",\"add_generation_prompt\":true}";

/* The promises of the header, for every render that succeeds. */
static void check(const cf_prompt *p)
{
    size_t at = 0;
    for (size_t i = 0; i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        if (s->off != at || s->len == 0 || s->line == 0 || s->col == 0) {
            abort();
        }
        at += s->len;
    }
    if (at != p->text.n) {
        abort();
    }
}

static void run(cf_str source, const cf_template_options *options)
{
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_context *context = NULL;
    cf_template_error why;
    cf_error err;
    cf_buf caret = CF_BUF_INIT;
    cf_arena_init(&arena, 0);
    cf_status st = cf_template_compile(&tpl, source, options, &arena, &why, &err);
    if (st == CF_OK &&
        cf_context_read(&context, cf_str_from(context_text), &arena, &err) == CF_OK) {
        const cf_render_options limits = {.limits = {.max_steps = 200000}};
        cf_render r;
        st = cf_template_render(tpl, context, &limits, &arena, &r, &err);
        if (st == CF_OK) {
            check(&r.prompt);
        } else {
            why = r.error;
        }
    }
    if (st != CF_OK) {
        cf_template_caret(&caret, source, &why);
    }
    cf_buf_deinit(&caret);
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_str source = cf_str_make((const char *)data, size);
    if (size > 20000) {
        return 0;
    }
    run(source, NULL);
    run(source, &(const cf_template_options){.allow_mutation = true,
                                             .no_trim_blocks = true,
                                             .no_lstrip_blocks = true,
                                             .keep_trailing_newline = true});
    return 0;
}
