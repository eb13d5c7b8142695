/*
 * fuzz_render.c - a template and a context: the input up to the first NUL is
 * the template, what follows is JSON text, or else the seed of a context.
 */
#include <stdint.h>
#include <stdlib.h>

#include "templates/template.h"
#include "tests/support/rand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void random_value(cf_buf *b, cf_rand *r, int depth)
{
    static const char *const words[] = {"\"\"",
                                        "\"user\"",
                                        "\"a <|x|> b\"",
                                        "\"\\u00e9\\n\"",
                                        "null",
                                        "true",
                                        "-7",
                                        "1e300",
                                        "3.25",
                                        "123456789012345678901234567890",
                                        "\"{{ x }}\"",
                                        "\"\\ud83d\\ude42 z\"",
                                        "\"  pad \"",
                                        "false",
                                        "0"};
    static const char *const keys[] = {"role",     "content",   "tool_calls", "name",
                                       "function", "arguments", "a",          "items"};
    size_t kind = depth > 0 ? cf_rand_below(r, 6) : 2;
    size_t n = cf_rand_below(r, 4);
    if (kind == 0) {
        cf_buf_addc(b, '[');
        for (size_t i = 0; i < n; i++) {
            cf_buf_adds(b, i != 0 ? "," : "");
            random_value(b, r, depth - 1);
        }
        cf_buf_addc(b, ']');
    } else if (kind == 1) {
        cf_buf_addc(b, '{');
        for (size_t i = 0; i < n; i++) {
            cf_buf_addf(b, "%s\"%s\":", i != 0 ? "," : "", keys[cf_rand_below(r, 8)]);
            random_value(b, r, depth - 1);
        }
        cf_buf_addc(b, '}');
    } else {
        cf_buf_adds(b, words[cf_rand_below(r, 15)]);
    }
}

static void random_context(cf_buf *b, uint64_t seed)
{
    static const char *const vars[] = {"messages", "tools", "x", "s", "n", "l", "bos_token"};
    cf_rand r = {seed};
    cf_buf_addc(b, '{');
    for (size_t i = 0; i < 7; i++) {
        cf_buf_addf(b, "%s\"%s\":", i != 0 ? "," : "", vars[i]);
        random_value(b, &r, 4);
    }
    cf_buf_addc(b, '}');
}

/* Spans cover the text; what is said to be a copy of the template is. */
static void check(const cf_prompt *p, cf_str source)
{
    size_t at = 0;
    for (size_t i = 0; i < p->n_spans; i++) {
        const cf_prompt_span *s = &p->spans[i];
        if (s->off != at || s->len == 0) {
            abort();
        }
        if (s->source == CF_SPAN_TEMPLATE && s->is_copy &&
            (s->src_off + (size_t)s->len > source.n ||
             memcmp(p->text.p + s->off, source.p + s->src_off, s->len) != 0)) {
            abort();
        }
        at += s->len;
    }
    if (at != p->text.n) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size != 0 ? memchr(data, 0, size) : NULL;
    size_t n = nul != NULL ? (size_t)(nul - data) : size;
    cf_str source = cf_str_make((const char *)data, n);
    cf_str rest = cf_str_make((const char *)data + n, size - n);
    cf_arena arena;
    cf_template *tpl = NULL;
    cf_context *context = NULL;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    if (size > 20000) {
        return 0;
    }
    cf_arena_init(&arena, 0);
    if (cf_template_compile(&tpl, source, NULL, NULL, NULL, &err) == CF_OK) {
        if (rest.n > 1 &&
            cf_context_read(&context, cf_str_make(rest.p + 1, rest.n - 1), &arena, &err) != CF_OK) {
            context = NULL;
        }
        if (context == NULL) {
            random_context(&text, rest.n * 77 + n);
            if (cf_context_read(&context, cf_buf_str(&text), &arena, &err) != CF_OK) {
                abort();
            }
        }
        const cf_render_options options = {.limits = {.max_steps = 200000},
                                           .continue_final_message = (n & 7) == 7};
        cf_render r;
        if (cf_template_render(tpl, context, &options, &arena, &r, &err) == CF_OK) {
            check(&r.prompt, source);
        }
    }
    cf_buf_deinit(&text);
    cf_template_free(tpl);
    cf_arena_deinit(&arena);
    return 0;
}
