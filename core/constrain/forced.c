/*
 * forced.c - forced text as tokens.
 */
#include "core/api/constraint.h"

/* Text beyond this is left for the next call. */
enum { FORCED_MAX = 4096 };

cf_status cf_constraint_forced_tokens(cf_constraint *c, const cf_tokenizer *tok,
                                      cf_arena *arena, cf_token_list *out,
                                      cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_token_list ids = {NULL, 0};
    cf_status st = cf_constraint_forced(c, &text, FORCED_MAX, err);
    if (st == CF_OK && text.n > 0) {
        st = cf_tokenizer_encode(&ids, tok,
                                 cf_str_make(cf_buf_cstr(&text), text.n), true,
                                 false, arena, err);
    }
    /* What follows could merge with the last token, unless nothing can. */
    if (st == CF_OK && ids.n > 0) {
        size_t taken;
        size_t had = cf_constraint_n_steps(c);
        st = cf_constraint_bytes(c, text.p, text.n, &taken, err);
        if (st == CF_OK && cf_constraint_may_continue(c)) {
            ids.n--;
        }
        cf_constraint_rollback(c, cf_constraint_n_steps(c) - had);
    }
    cf_buf_deinit(&text);
    if (st == CF_OK) {
        *out = ids;
    }
    return st;
}
