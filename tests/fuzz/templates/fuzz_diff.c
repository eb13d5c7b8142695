/*
 * fuzz_diff.c - two prompts with spans and tokens: the first byte seeds spans
 * and tokens, the rest up to the first NUL is one text, what follows the
 * other.  Each side's units must come out once, in order.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "templates/template_diff.h"
#include "tests/support/rand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SPANS = 24 };

static cf_prompt make_prompt(cf_arena *arena, cf_rand *r, cf_str text)
{
    cf_prompt_span *v = cf_arena_calloc(arena, SPANS, sizeof *v);
    size_t n = 0;
    for (size_t at = 0; at < text.n && v != NULL; n++) {
        size_t len = 1 + cf_rand_below(r, text.n - at);
        len = n + 1 == SPANS ? text.n - at : len;
        v[n] = (cf_prompt_span){.off = (uint32_t)at,
                                .len = (uint32_t)len,
                                .source = (cf_span_source)cf_rand_below(r, 5),
                                .index = (uint32_t)cf_rand_below(r, 3),
                                .is_copy = cf_rand_below(r, 3) != 0,
                                .src_off = cf_rand_below(r, 9) == 0 ? (uint32_t)cf_rand_u64(r)
                                                                    : (uint32_t)at,
                                .line = (uint32_t)cf_rand_below(r, 3),
                                .path = cf_str_from(cf_rand_below(r, 2) == 0 ? ".content" : "")};
        at += len;
    }
    return (cf_prompt){.text = text, .spans = v, .n_spans = n};
}

static cf_token_list make_tokens(cf_arena *arena, cf_rand *r, cf_str text)
{
    cf_token_span *v = cf_arena_calloc(arena, text.n + 1, sizeof *v);
    size_t n = 0;
    if (v == NULL) {
        return (cf_token_list){NULL, 0};
    }
    v[n++] = (cf_token_span){1, 0, 0};
    for (size_t at = 0; at < text.n; n++) {
        size_t len = 1 + cf_rand_below(r, 4);
        len = len > text.n - at ? text.n - at : len;
        v[n] = (cf_token_span){(cf_token)(unsigned char)text.p[at], (uint32_t)at, (uint32_t)len};
        at += len;
    }
    return (cf_token_list){v, n};
}

static void check(const cf_diff *d)
{
    uint32_t a = 0, b = 0;
    for (size_t i = 0; i < d->n_rows; i++) {
        const cf_diff_row *r = &d->rows[i];
        if ((r->a != CF_DIFF_NONE && r->a != a++) || (r->b != CF_DIFF_NONE && r->b != b++)) {
            abort();
        }
        for (uint32_t k = 0; k < r->n_mark_a + r->n_mark_b; k++) {
            const cf_diff_side *s = k < r->n_mark_a ? &d->a : &d->b;
            uint32_t unit = k < r->n_mark_a ? r->a : r->b;
            const cf_diff_mark *m = &d->marks[r->mark + k];
            if (m->off + m->len > s->v[unit].len) {
                abort();
            }
        }
    }
    if (a != d->a.n || b != d->b.n) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    const char *text = (const char *)data + 1;
    const char *nul = memchr(text, 0, size - 1);
    size_t n = nul != NULL ? (size_t)(nul - text) : (size - 1) / 2;
    cf_str left = cf_str_make(text, n);
    cf_str rest = cf_str_make(text + n, size - 1 - n);
    cf_rand r = {data[0]};
    cf_arena arena;
    cf_diff d;
    cf_arena_init(&arena, (size_t)256 << 20);
    cf_prompt p = make_prompt(&arena, &r, left);
    cf_prompt q = make_prompt(&arena, &r, rest);
    cf_token_list a = make_tokens(&arena, &r, left);
    cf_token_list b = make_tokens(&arena, &r, rest);
    if (cf_diff_texts(&d, left, rest, &arena, NULL) == CF_OK) {
        check(&d);
    }
    if (cf_diff_prompts(&d, &p, &q, &arena, NULL) == CF_OK) {
        check(&d);
    }
    if (cf_diff_tokens(&d, &p, &a, &q, &b, &arena, NULL) == CF_OK) {
        check(&d);
    }
    cf_arena_deinit(&arena);
    return 0;
}
