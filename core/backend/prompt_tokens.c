/*
 * prompt_tokens.c - turns a rendered prompt into tokens: decides what may
 * become a control token, and who writes the first one.
 */
#include <string.h>

#include "core/backend/backend_impl.h"
#include "core/backend/media_prompt.h"

/* A token that the vocabulary does not have is empty, as in llama.cpp: a
 * template made for another model then renders. */
static bool set_special(json_t *context, const char *key, const cf_tokenizer *tok, cf_token id)
{
    if (json_object_get(context, key) != NULL) {
        return true;
    }
    cf_buf text = CF_BUF_INIT;
    if (id != CF_TOKEN_NONE) {
        cf_tokenizer_piece(&text, tok, id, true);
    }
    json_t *v = text.failed ? NULL : json_stringn_nocheck(cf_buf_cstr(&text), text.n);
    bool ok = v != NULL && json_object_set_new(context, key, v) == 0;
    cf_buf_deinit(&text);
    return ok;
}

/* Adds the variables that the model's files list.  Missing tools and documents
 * become none instead of undefined. */
static cf_status add_listed(json_t *context, cf_str listed, cf_error *err)
{
    static const char *const none[] = {"tools", "documents"};
    json_t *v = NULL;
    CF_TRY(cf_json_read(&v, listed.p, listed.n, err));
    bool ok = json_object_update_missing(context, v) == 0;
    json_decref(v);
    for (size_t i = 0; ok && i < 2; i++) {
        ok = json_object_get(context, none[i]) != NULL ||
             json_object_set_new(context, none[i], json_null()) == 0;
    }
    return ok ? CF_OK : cf_oom_for(err, "the context");
}

cf_status cf_prompt_add_special(json_t *context, const cf_tokenizer *tok, cf_error *err)
{
    cf_str listed = cf_tokenizer_variables(tok);
    if (listed.p != NULL) {
        return add_listed(context, listed, err);
    }
    cf_special_tokens special = cf_tokenizer_special(tok);
    return set_special(context, "bos_token", tok, special.bos) &&
                   set_special(context, "eos_token", tok, special.eos)
               ? CF_OK
               : cf_oom_for(err, "the context");
}

static bool is_one_of(cf_str s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (cf_str_is(s, *words)) {
            return true;
        }
    }
    return false;
}

/*
 * Template text may become control tokens, and so may what a template makes
 * marks of: the spelling of the special tokens, and a role that is a known
 * word ('<|' + message.role + '|>').  Any other role is text like what a
 * person writes.
 */
static bool is_trusted(const cf_prompt_span *s, cf_str prompt)
{
    static const char *const spellings[] = {"bos_token", "eos_token", "unk_token",  "pad_token",
                                            "sep_token", "cls_token", "mask_token", NULL};
    static const char *const roles[] = {
        "system",   "developer",   "user",        "assistant", "model",   "tool", "agent",
        "function", "observation", "environment", "tools",     "ipython", NULL};
    switch (s->source) {
    case CF_SPAN_TEMPLATE:
        return true;
    case CF_SPAN_VARIABLE:
        return is_one_of(s->path, spellings);
    case CF_SPAN_MESSAGE:
        return s->media.n > 0 || (cf_str_is(s->path, ".role") &&
                                  is_one_of(cf_str_make(prompt.p + s->off, s->len), roles));
    case CF_SPAN_TOOL:
    case CF_SPAN_COMPUTED:
        break;
    }
    return false;
}

cf_status cf_chat__starts_with_bos(bool *yes, const cf_tokenizer *tok, cf_str text, cf_error *err)
{
    cf_token bos = cf_tokenizer_special(tok).bos;
    cf_buf piece = CF_BUF_INIT;
    if (bos != CF_TOKEN_NONE) {
        cf_tokenizer_piece(&piece, tok, bos, true);
    }
    cf_status st = cf_buf_check(&piece, err);
    *yes = piece.n > 0 && cf_str_starts(text, cf_buf_str(&piece));
    cf_buf_deinit(&piece);
    return st;
}

cf_status cf_prompt_tokenise(cf_token_list *out, const cf_prompt *prompt, cf_str prefix,
                             const cf_tokenizer *tok, cf_arena *arena, cf_error *err)
{
    return cf_chat__tokenise(out, prompt, NULL, prefix, tok, arena, err);
}

cf_status cf_chat__tokenise(cf_token_list *out, const cf_prompt *prompt, const cf_chat__media *m,
                            cf_str prefix, const cf_tokenizer *tok, cf_arena *arena, cf_error *err)
{
    cf_text_span *spans = cf_arena_calloc(arena, prompt->n_spans + 1, sizeof *spans);
    cf_str text = prompt->text;
    size_t n = prompt->n_spans;
    if (spans != NULL && prefix.n > 0) {
        char *both =
            prefix.n < UINT32_MAX - text.n ? cf_arena_alloc(arena, text.n + prefix.n) : NULL;
        if (both != NULL && text.n > 0) {
            memcpy(both, text.p, text.n);
        }
        if (both != NULL) {
            memcpy(both + text.n, prefix.p, prefix.n);
            spans[n++] = (cf_text_span){(uint32_t)text.n, (uint32_t)prefix.n, true};
        }
        text = cf_str_make(both, text.n + prefix.n);
    }
    if (spans == NULL || (text.p == NULL && text.n > 0)) {
        return cf_oom_for(err, "the prompt's spans");
    }
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        spans[i] = (cf_text_span){s->off, s->len, is_trusted(s, text)};
    }
    bool has_bos;
    CF_TRY(cf_chat__starts_with_bos(&has_bos, tok, text, err));
    return cf_chat__media_encode_spans(out, m, text, spans, n, !has_bos, tok, arena, err);
}

uint32_t cf_chat__end_of_messages(const cf_prompt *prompt, const cf_token_list *list)
{
    uint32_t end = 0;
    uint32_t n = 0;
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        end = s->source == CF_SPAN_MESSAGE ? s->off + s->len : end;
    }
    while (n < list->n && list->v[n].off < end) {
        n++;
    }
    return n;
}
