/*
 * prompt_span.c - finds a byte of a prompt in its spans.
 */
#include "core/api/renderer.h"

const cf_prompt_span *cf_prompt_span_at(const cf_prompt *prompt, size_t off)
{
    size_t lo = 0, hi = prompt->n_spans;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const cf_prompt_span *s = &prompt->spans[mid];
        if ((size_t)s->off + s->len <= off) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < prompt->n_spans && prompt->spans[lo].off <= off ? &prompt->spans[lo] : NULL;
}
