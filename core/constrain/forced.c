/*
 * forced.c - turns forced text into tokens.
 */
#include "core/constrain/position.h"
#include "core/constrain/token_trie.h"

/* Text beyond this is left for the next call. */
enum { FORCED_MAX = 4096 };

/* Whether the tokens' bytes are the text from `from` on. */
static bool spells(const cf_tokenizer *tok, const cf_token_list *ids, size_t from, cf_str text)
{
    cf_buf bytes = CF_BUF_INIT;
    for (size_t i = from; i < ids->n; i++) {
        cf_tokenizer_piece(&bytes, tok, ids->v[i].id, true);
    }
    bool ok = !bytes.failed && cf_str_eq(cf_buf_str(&bytes), text);
    cf_buf_deinit(&bytes);
    return ok;
}

/* Some tokenizers put a space before a text; here the text goes on from
 * something, so it is read after a line break.  If the line break does not
 * separate from it, nothing is forced. */
static cf_status encode_inside(cf_token_list *out, const cf_tokenizer *tok, cf_str text,
                               cf_arena *arena, cf_error *err)
{
    cf_buf after = CF_BUF_INIT;
    *out = (cf_token_list){NULL, 0};
    CF_TRY(cf_tokenizer_encode(out, tok, text, true, false, arena, err));
    if (spells(tok, out, 0, text)) {
        return CF_OK;
    }
    cf_buf_addc(&after, '\n');
    cf_buf_add(&after, text.p, text.n);
    cf_status st = cf_buf_check(&after, err);
    CF_THEN(st, cf_tokenizer_encode(out, tok, cf_buf_str(&after), true, false, arena, err));
    cf_buf_deinit(&after);
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

/* Whether some token begins with the text and is longer. */
static bool begins_token(const cf_constraint_vocab *vocab, cf_str text)
{
    uint32_t node = vocab->child[(uint8_t)text.p[0]];
    for (size_t i = 1; node != 0 && i < text.n; i++) {
        node = cf_trie__child(&vocab->all, node, (uint8_t)text.p[i]);
    }
    return node != 0 && vocab->all.end[node] > node + 1;
}

/* How many of the tokens stay as they are whatever follows the text: those
 * in front of the first place from which one token could reach beyond it. */
static size_t n_settled(const cf_constraint *c, const cf_token_list *ids, cf_str text)
{
    size_t n = ids->n - 1;
    if (c->vocab == NULL) {
        return n;
    }
    size_t at = text.n > CF_PIECE_MAX ? text.n - CF_PIECE_MAX : 0;
    while (at < text.n && !begins_token(c->vocab, cf_str_make(text.p + at, text.n - at))) {
        at++;
    }
    while (n > 0 && ids->v[n - 1].off + ids->v[n - 1].len > at) {
        n--;
    }
    return n;
}

cf_status cf_constraint_forced_tokens(cf_constraint *c, const cf_tokenizer *tok, cf_arena *arena,
                                      cf_token_list *out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_token_list ids = {NULL, 0};
    cf_status st = cf_constraint_forced(c, &text, FORCED_MAX, err);
    if (st == CF_OK && text.n > 0) {
        st = encode_inside(&ids, tok, cf_buf_str(&text), arena, err);
    }
    /* The next text could merge into one token with the end of this one,
     * unless nothing follows. */
    if (st == CF_OK && ids.n > 0) {
        size_t taken;
        size_t had = cf_constraint_n_steps(c);
        st = cf_constraint_bytes(c, text.p, text.n, &taken, err);
        if (st == CF_OK && cf_constraint_may_continue(c)) {
            ids.n = n_settled(c, &ids, cf_buf_str(&text));
        }
        cf_constraint_rollback(c, cf_constraint_n_steps(c) - had);
    }
    cf_buf_deinit(&text);
    if (st == CF_OK) {
        *out = ids;
    }
    return st;
}
