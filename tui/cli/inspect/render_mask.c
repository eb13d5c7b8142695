/*
 * render_mask.c - finds the assistant's bytes, by provenance.
 */
#include "tui/cli/inspect/render_mask.h"

static bool is_assistant(const json_t *message)
{
    cf_str role = cf_json_get_str(message, "role");
    return cf_str_is(role, "assistant") || cf_str_is(role, "model");
}

/* Whether the assistant wrote the text of the span. */
static bool is_written(const cf_prompt_span *s, const json_t *messages)
{
    return s->source == CF_SPAN_MESSAGE && !cf_str_is(s->path, ".role") &&
           is_assistant(json_array_get(messages, s->index));
}

cf_status cf_render_mask_spans(cf_mask_spans *out, const cf_prompt *prompt, const json_t *context,
                               cf_arena *arena, cf_error *err)
{
    const json_t *messages = json_object_get(context, "messages");
    cf_mask_span *v = cf_arena_alloc(arena, (prompt->n_spans + 1) * sizeof *v);
    size_t n = 0;
    if (v == NULL) {
        return cf_oom_for(err, "the mask");
    }
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        if (!is_written(s, messages)) {
            continue;
        }
        if (n > 0 && v[n - 1].to == s->off) {
            v[n - 1].to += s->len;
        } else {
            v[n++] = (cf_mask_span){s->off, s->off + s->len};
        }
    }
    *out = (cf_mask_spans){v, n};
    return CF_OK;
}

bool cf_render_mask_has(const cf_mask_spans *spans, const cf_token_span *token)
{
    size_t lo = 0, hi = spans->n; /* the first span that ends after token->off */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (spans->v[mid].to <= token->off) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return token->len != 0 && lo < spans->n && spans->v[lo].from < token->off + token->len;
}
