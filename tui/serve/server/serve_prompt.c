/*
 * serve_prompt.c - the prompt of a request, before a slot is chosen for it.
 */
#include "core/json/json_builder.h"
#include "tui/serve/server/serve_impl.h"

static cf_status render_raw(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                            cf_error *err)
{
    (void)ud;
    const json_t *list = json_object_get(context, "messages");
    cf_str text = cf_json_get_str(json_array_get(list, 0), "content");
    cf_prompt_span *span = cf_arena_calloc(arena, 1, sizeof *span);
    const char *copy = cf_arena_strndup(arena, text.p, text.n);
    if (span == NULL || copy == NULL) {
        return cf_oom(err);
    }
    *span =
        (cf_prompt_span){.len = (uint32_t)text.n, .source = CF_SPAN_TEMPLATE, .line = 1, .col = 1};
    *out = (cf_prompt){
        .text = cf_str_make(copy, text.n), .spans = span, .n_spans = text.n > 0 ? 1 : 0};
    return CF_OK;
}

const cf_prompt_renderer cf_serve__renderer_raw = {.render = render_raw};

/* What the prompt is rendered from, as the backend does it; a new reference. */
static cf_status context_of(const cf_serve__asked *a, const json_t *messages, json_t **out,
                            cf_error *err)
{
    const char *key;
    json_t *value;
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    json_object_foreach(a->wire.variables, key, value)
    {
        cf_jb_add(&b, key, value);
    }
    cf_jb_add(&b, "messages", messages);
    if (a->tools != NULL) {
        cf_jb_take(&b, "tools", cf_tool_set_openai(a->tools));
    }
    cf_jb_bool(&b, "add_generation_prompt", true);
    cf_jb_end(&b);
    return cf_jb_finish(&b, out, err);
}

/* The tokens that were given, and their text. */
static cf_status given_tokens(const cf_serve *s, const cf_serve__given *given, cf_arena *arena,
                              cf_prompt *prompt, cf_token_list *tokens, cf_error *err)
{
    cf_token_span *v = cf_arena_calloc(arena, given->n_ids + 1, sizeof *v);
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; v != NULL && i < given->n_ids; i++) {
        const size_t off = text.n;
        cf_tokenizer_piece(&text, s->tok, given->ids[i], true);
        v[i] = (cf_token_span){given->ids[i], (uint32_t)off, (uint32_t)(text.n - off)};
    }
    const char *copy = cf_arena_strndup(arena, cf_buf_cstr(&text), text.n);
    cf_status st = v == NULL || copy == NULL ? cf_oom(err) : cf_buf_check(&text, err);
    *prompt = (cf_prompt){.text = cf_str_make(copy, text.n)};
    *tokens = (cf_token_list){v, given->n_ids};
    cf_buf_deinit(&text);
    return st;
}

cf_status cf_serve__prompt(const cf_serve *s, const cf_serve__asked *a,
                           const cf_serve__given *given, cf_arena *arena, cf_prompt *prompt,
                           cf_token_list *tokens, cf_error *err)
{
    const cf_prompt_renderer *to = a->is_raw ? &s->raw.renderer : &s->chat.renderer;
    json_t *context = NULL;
    if (given->n_ids > 0) {
        return given_tokens(s, given, arena, prompt, tokens, err);
    }
    cf_status st = context_of(a, given->messages, &context, err);
    CF_THEN(st, cf_prompt_add_special(context, s->tok, err));
    CF_THEN(st, to->render(to->ud, context, arena, prompt, err));
    CF_THEN(st, cf_prompt_tokenise(tokens, prompt, a->prefix, s->tok, arena, err));
    json_decref(context);
    return st;
}
