/*
 * token_text.c - the text of a token: of its id, else of its bytes.
 */
#include "tui/view/kit/token_text.h"

void cf_token_piece(const cf_lab *lab, cf_token id, cf_buf *out)
{
    const cf_tokenizer *tok = cf_lab_engine_of(lab)->tokenizer;
    if (tok != NULL && id != CF_TOKEN_NONE) {
        cf_tokenizer_piece(out, tok, id, true);
    }
}

void cf_token_text(const cf_lab *lab, const cf_reply *reply, size_t i, cf_buf *out)
{
    size_t before = out->n;
    cf_token_piece(lab, reply->token[i].id, out);
    if (out->n == before) {
        cf_str text = cf_reply_token_text(reply, i);
        cf_buf_add(out, text.p, text.n);
    }
}
