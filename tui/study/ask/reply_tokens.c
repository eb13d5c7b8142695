/*
 * reply_tokens.c - tokens of a reply after its prompt.
 */
#include "tui/study/ask/reply_tokens.h"

/* The reply's tokens are its own, with the bytes that each writes. */
static cf_status take_own(const cf_study_case *c, const cf_tokenizer *tok, cf_reply_token *out,
                          cf_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < c->n_ids; i++) {
        cf_buf piece = CF_BUF_INIT;
        cf_tokenizer_piece(&piece, tok, c->ids[i], true);
        out[i] = (cf_reply_token){c->ids[i], at, piece.n};
        at += piece.n;
        cf_status st = cf_buf_check(&piece, err);
        cf_buf_deinit(&piece);
        CF_TRY(st);
    }
    return CF_OK;
}

/* The tokens of prompt and reply together; *first of them, and *before bytes,
 * are the prompt's. */
static cf_status tokenise_both(const cf_study_case *c, const cf_tokenizer *tok,
                               const cf_prompt *prompt, cf_token_list *both, size_t *first,
                               size_t *before, cf_arena *arena, cf_error *err)
{
    CF_TRY(cf_prompt_tokenise(both, prompt, c->reply, tok, arena, err));
    *first = 0;
    *before = prompt->text.n;
    while (*first < both->n && (size_t)both->v[*first].off + both->v[*first].len <= *before) {
        ++*first;
    }
    if (*first < both->n && both->v[*first].off < *before) {
        /* One token would hold the end of the prompt and the reply's start,
         * which is not what a model is asked to continue. */
        CF_TRY(cf_tokenizer_encode(both, tok, c->reply, true, false, arena, err));
        *first = *before = 0;
    }
    return CF_OK;
}

cf_status cf_study_reply_tokens(const cf_study_case *c, const cf_study_engine *engine,
                                const cf_prompt *prompt, cf_token_list *of_prompt,
                                cf_reply_token **out, size_t *n, cf_arena *arena, cf_error *err)
{
    const cf_tokenizer *tok = engine->tok;
    cf_token_list both;
    size_t first, before;
    CF_TRY(cf_prompt_tokenise(of_prompt, prompt, cf_str_make("", 0), tok, arena, err));
    CF_TRY(tokenise_both(c, tok, prompt, &both, &first, &before, arena, err));
    *n = c->n_ids > 0 ? c->n_ids : both.n - first;
    *out = cf_arena_calloc(arena, *n + 1, sizeof **out);
    if (*out == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    if (c->n_ids > 0) {
        CF_TRY(take_own(c, tok, *out, err));
    }
    for (size_t i = 0; c->n_ids == 0 && i < *n; i++) {
        const cf_token_span *t = &both.v[first + i];
        (*out)[i] = (cf_reply_token){t->id, t->off - before, t->len};
    }
    while (*n > 1 && cf_tokenizer_is_end(tok, (*out)[*n - 1].id)) {
        --*n; /* that it ended there is not what it says */
    }
    return CF_OK;
}
