/*
 * forced.c - forced text as tokens.
 */
#include "core/api/constraint.h"

/* Text beyond this is left for the next call. */
enum { FORCED_MAX = 4096 };

/* Whether the tokens' bytes are the text from `from` on. */
static bool spells(const cf_tokenizer *tok, const cf_token_list *ids,
                   size_t from, cf_str text)
{
    cf_buf bytes = CF_BUF_INIT;
    for (size_t i = from; i < ids->n; i++) {
        cf_tokenizer_piece(&bytes, tok, ids->v[i].id, true);
    }
    bool ok = !bytes.failed &&
              cf_str_eq(cf_str_make(cf_buf_cstr(&bytes), bytes.n), text);
    cf_buf_deinit(&bytes);
    return ok;
}

/* Some tokenizers put a space before a text; here the text goes on from
 * something, so it is read behind a line break.  Where that does not come
 * apart from it, nothing is forced. */
static cf_status encode_inside(cf_token_list *out, const cf_tokenizer *tok,
                               cf_str text, cf_arena *arena, cf_error *err)
{
    cf_buf behind = CF_BUF_INIT;
    *out = (cf_token_list){NULL, 0};
    CF_TRY(cf_tokenizer_encode(out, tok, text, true, false, arena, err));
    if (spells(tok, out, 0, text)) {
        return CF_OK;
    }
    cf_buf_addc(&behind, '\n');
    cf_buf_add(&behind, text.p, text.n);
    cf_status st = cf_buf_check(&behind, err);
    if (st == CF_OK) {
        st = cf_tokenizer_encode(out, tok,
                                 cf_str_make(cf_buf_cstr(&behind), behind.n),
                                 true, false, arena, err);
    }
    cf_buf_deinit(&behind);
    CF_TRY(st);
    size_t from = 0;
    while (from < out->n && out->v[from].off == 0) {
        from++;
    }
    if (!spells(tok, out, from, text)) {
        out->n = 0;
        return CF_OK;
    }
    out->v += from;
    out->n -= from;
    for (size_t i = 0; i < out->n; i++) {
        out->v[i].off--;
    }
    return CF_OK;
}

cf_status cf_constraint_forced_tokens(cf_constraint *c, const cf_tokenizer *tok,
                                      cf_arena *arena, cf_token_list *out,
                                      cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_token_list ids = {NULL, 0};
    cf_status st = cf_constraint_forced(c, &text, FORCED_MAX, err);
    if (st == CF_OK && text.n > 0) {
        st = encode_inside(&ids, tok, cf_str_make(cf_buf_cstr(&text), text.n),
                           arena, err);
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
