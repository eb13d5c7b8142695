/*
 * tokenizer.c - makes a tokenizer and runs the outer loop of encoding: special
 * tokens first, the text between them through bpe.c or spm.c.
 */
#include "core/token/tokenizer_new.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/token/tokenizer_impl.h"
#include "core/token/unicode.h"

/* Spellings after which every known model's turn is over. */
static const char *const turn_ends[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endofturn|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|END_RESPONSE|>",
    "<|role_end|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<end_of_utterance>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "</s>",
    "<eos>",
};

static bool is_id(const cf_tokenizer *tok, cf_token id)
{
    return id >= 0 && (size_t)id < tok->vocab.n;
}

static bool is_special(const cf_tokenizer *tok, cf_token id)
{
    return is_id(tok, id) && (cf_vocab__is_control(&tok->vocab, id) ||
                              tok->vocab.piece[id].type == CF_TOKEN_USER_DEFINED);
}

/* A file without token types: its named tokens are control tokens, and
 * "<0x41>" and its like are bytes. */
static void guess_types(cf_tokenizer *tok)
{
    cf_vocab *v = &tok->vocab;
    for (size_t i = 0; tok->model == CF_MODEL_SPM && i < v->n; i++) {
        if (cf_token__byte_spelled(cf_vocab__spelling(v, (cf_token)i)) >= 0) {
            v->piece[i].type = CF_TOKEN_BYTE;
        }
    }
    const cf_token named[] = {tok->named.bos, tok->named.eos, tok->named.eot, tok->named.pad,
                              tok->named.sep};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (named[i] != CF_TOKEN_NONE) {
            v->piece[named[i]].type = CF_TOKEN_CONTROL;
        }
    }
    if (tok->named.unk != CF_TOKEN_NONE) {
        v->piece[tok->named.unk].type = CF_TOKEN_UNKNOWN;
    }
}

static cf_token find_special(const cf_tokenizer *tok, const char *spelling)
{
    cf_token id = cf_tokenizer_find(tok, cf_str_from(spelling));
    return is_special(tok, id) ? id : CF_TOKEN_NONE;
}

static void mark(cf_tokenizer *tok, cf_token id, unsigned flag, bool on)
{
    if (id != CF_TOKEN_NONE) {
        uint8_t *flags = &tok->vocab.piece[id].flags;
        *flags = (uint8_t)(on ? *flags | flag : *flags & ~flag);
    }
}

static void mark_ends(cf_tokenizer *tok)
{
    for (size_t i = 0; i < sizeof turn_ends / sizeof turn_ends[0]; i++) {
        mark(tok, find_special(tok, turn_ends[i]), CF_VOCAB_END, true);
    }
    /* In the harmony format <|end|> closes a message, not the turn. */
    if (find_special(tok, "<|return|>") != CF_TOKEN_NONE &&
        find_special(tok, "<|call|>") != CF_TOKEN_NONE) {
        mark(tok, find_special(tok, "<|end|>"), CF_VOCAB_END, false);
    }
    mark(tok, tok->named.eos, CF_VOCAB_END, true);
    mark(tok, tok->named.eot, CF_VOCAB_END, true);
}

/* Special tokens that take the white space after them along, as Phi-3's do. */
static void mark_rstrip(cf_tokenizer *tok)
{
    for (size_t i = 0; i < tok->vocab.n; i++) {
        if (is_special(tok, (cf_token)i)) {
            mark(tok, (cf_token)i, CF_VOCAB_RSTRIP, true);
        }
    }
    mark(tok, find_special(tok, "<unk>"), CF_VOCAB_RSTRIP, false);
    mark(tok, find_special(tok, "<s>"), CF_VOCAB_RSTRIP, false);
    mark(tok, find_special(tok, "<|endoftext|>"), CF_VOCAB_RSTRIP, false);
}

/* Whether a piece has U+2581 after another character. */
static bool has_inner_space(const cf_vocab *v)
{
    for (size_t i = 0; i < v->n; i++) {
        cf_str s = cf_vocab__spelling(v, (cf_token)i);
        if (!cf_vocab__is_text(v, (cf_token)i)) {
            continue;
        }
        for (size_t k = 1; k + 3 <= s.n; k++) {
            if (memcmp(s.p + k, "\xE2\x96\x81", 3) == 0 &&
                (k < 3 || memcmp(s.p + k - 3, "\xE2\x96\x81", 3) != 0)) {
                return true;
            }
        }
    }
    return false;
}

static void init_spm(cf_tokenizer *tok)
{
    for (size_t i = 0; i < tok->vocab.n; i++) {
        if (tok->vocab.piece[i].type == CF_TOKEN_BYTE) {
            int b = cf_token__byte_spelled(cf_vocab__spelling(&tok->vocab, (cf_token)i));
            if (b >= 0) {
                tok->byte[b] = (cf_token)i;
            }
        }
    }
    tok->joins_spaces = has_inner_space(&tok->vocab);
}

static cf_status init_bpe(cf_tokenizer *tok, const cf_vocab_desc *desc, cf_error *err)
{
    cf_str pre = desc->pre.n != 0 ? desc->pre : cf_str_from("default");
    CF_TRY(cf_pretoken__init(&tok->pretoken, pre, err));
    CF_TRY(cf_merges__init(&tok->merges, &tok->vocab, desc, err));
    cf_bpe__byte_tokens(tok->byte, &tok->vocab);
    return CF_OK;
}

static cf_status pick_model(cf_tokenizer *tok, cf_str model, cf_error *err)
{
    if (cf_str_is(model, "llama")) {
        tok->model = CF_MODEL_SPM;
    } else if (cf_str_is(model, "gpt2")) {
        tok->model = CF_MODEL_BPE;
    } else {
        return cf_fail(err, CF_EUNSUPPORTED, "tokenizer model '%.*s' is not supported",
                       model.n > 60 ? 60 : (int)model.n, model.p);
    }
    return CF_OK;
}

static cf_status fill(cf_tokenizer *tok, const cf_vocab_desc *desc, cf_error *err)
{
    CF_TRY(pick_model(tok, desc->model, err));
    tok->pre = cf_strndup(desc->pre.n != 0 ? desc->pre.p : "", desc->pre.n);
    if (tok->pre == NULL) {
        return cf_oom(err);
    }
    CF_TRY(cf_vocab__init(&tok->vocab, desc, err));
    tok->named = desc->named;
    tok->space_prefix = tok->model == CF_MODEL_SPM && desc->space_prefix;
    if (!desc->has_types) {
        guess_types(tok);
    }
    CF_TRY(cf_specials__init(&tok->specials, &tok->vocab, err));
    mark_ends(tok);
    if (desc->rstrip) {
        mark_rstrip(tok);
    }
    for (size_t i = 0; i < 256; i++) {
        tok->byte[i] = CF_TOKEN_NONE;
    }
    if (tok->model == CF_MODEL_BPE) {
        return init_bpe(tok, desc, err);
    }
    init_spm(tok);
    return CF_OK;
}

cf_status cf_tokenizer_new(cf_tokenizer **out, const cf_vocab_desc *desc, cf_error *err)
{
    cf_tokenizer *tok = cf_calloc(1, sizeof *tok);
    if (tok == NULL) {
        return cf_oom(err);
    }
    cf_status st = fill(tok, desc, err);
    if (st != CF_OK) {
        cf_tokenizer_free(tok);
        return st;
    }
    *out = tok;
    return CF_OK;
}

static cf_status fill_pipeline(cf_tokenizer *tok, const cf_vocab_desc *desc, cf_pipeline *pipe,
                               cf_error *err)
{
    tok->model = CF_MODEL_PIPE;
    tok->pre = cf_strdup("");
    tok->name = cf_strndup(desc->model.p, desc->model.n);
    if (tok->pre == NULL || tok->name == NULL) {
        return cf_oom(err);
    }
    CF_TRY(cf_vocab__init(&tok->vocab, desc, err));
    tok->named = desc->named;
    return cf_pipeline__finish(pipe, &tok->vocab, desc, err);
}

cf_status cf_tokenizer_new_pipeline(cf_tokenizer **out, const cf_vocab_desc *desc,
                                    cf_pipeline *pipe, const cf_token *ends, size_t n_ends,
                                    cf_error *err)
{
    cf_tokenizer *tok = cf_calloc(1, sizeof *tok);
    if (tok == NULL) {
        return cf_oom(err);
    }
    cf_status st = fill_pipeline(tok, desc, pipe, err);
    if (st != CF_OK) {
        cf_tokenizer_free(tok);
        return st;
    }
    tok->pipe = pipe;
    mark_ends(tok);
    for (size_t i = 0; i < n_ends; i++) {
        mark(tok, is_id(tok, ends[i]) ? ends[i] : CF_TOKEN_NONE, CF_VOCAB_END, true);
    }
    *out = tok;
    return CF_OK;
}

void cf_tokenizer_free(cf_tokenizer *tok)
{
    if (tok == NULL) {
        return;
    }
    cf_merges__deinit(&tok->merges);
    cf_pretoken__deinit(&tok->pretoken);
    cf_specials__deinit(&tok->specials);
    cf_vocab__deinit(&tok->vocab);
    cf_pipeline_free(tok->pipe);
    cf_free(tok->name);
    cf_free(tok->pre);
    cf_free(tok);
}

cf_status cf_encoder__put(cf_encoder *e, cf_token id, size_t off, size_t len)
{
    void *p = e->out;
    bool ok = cf_merge__grow(&p, &e->cap_out, e->n_out + 1, sizeof *e->out);
    e->out = p;
    if (!ok) {
        return cf_oom(e->err);
    }
    e->out[e->n_out++] = (cf_token_span){id, (uint32_t)off, (uint32_t)len};
    return CF_OK;
}

static cf_status encode_plain(cf_encoder *e, size_t from, size_t to)
{
    if (from == to) {
        return CF_OK;
    }
    return e->tok->model == CF_MODEL_BPE ? cf_bpe__encode(e, from, to)
                                         : cf_spm__encode(e, from, to);
}

static cf_status encode_all(cf_encoder *e, cf_special_walk *walk, bool add_special)
{
    const cf_tokenizer *tok = e->tok;
    if (add_special && tok->named.add_bos) {
        CF_TRY(cf_encoder__put(e, tok->named.bos, 0, 0));
    }
    for (size_t at = 0; at < e->text.n;) {
        cf_special_hit hit = cf_specials__next(&tok->specials, walk, e->text, at);
        CF_TRY(encode_plain(e, at, hit.off));
        at = hit.off;
        if (hit.id != CF_TOKEN_NONE) {
            at += hit.len;
            if (tok->vocab.piece[hit.id].flags & CF_VOCAB_RSTRIP) {
                at = cf_unicode_skip_white(e->text, at);
            }
            CF_TRY(cf_encoder__put(e, hit.id, hit.off, at - hit.off));
        }
    }
    if (add_special && tok->named.add_eos) {
        CF_TRY(cf_encoder__put(e, tok->named.eos, e->text.n, 0));
    }
    return CF_OK;
}

/* Hands the finished list over to the arena. */
static cf_status hand_over(cf_token_list *out, const cf_encoder *e, cf_arena *arena)
{
    cf_token_span *v = cf_arena_alloc(arena, e->n_out * sizeof *v);
    if (v == NULL) {
        return cf_oom(e->err);
    }
    if (e->n_out != 0) {
        memcpy(v, e->out, e->n_out * sizeof *v);
    }
    out->v = v;
    out->n = e->n_out;
    return CF_OK;
}

cf_status cf_tokenizer_encode_spans(cf_token_list *out, const cf_tokenizer *tok, cf_str text,
                                    const cf_text_span *spans, size_t n_spans, bool add_special,
                                    cf_arena *arena, cf_error *err)
{
    if (text.n > UINT32_MAX) {
        return cf_fail(err, CF_ELIMIT, "a text of %zu bytes is too long", text.n);
    }
    if (tok->pipe != NULL) {
        return cf_pipeline__encode(out, NULL, tok, text, spans, n_spans, add_special, arena, err);
    }
    cf_special_walk walk = {.span = spans, .n_span = n_spans};
    cf_encoder e = {.tok = tok, .text = text, .err = err};
    cf_status st = encode_all(&e, &walk, add_special);
    CF_THEN(st, hand_over(out, &e, arena));
    cf_merge__deinit(&e.merge);
    cf_pattern_free_match(e.match);
    cf_free(e.buf);
    cf_free(e.out);
    return st;
}

cf_status cf_tokenizer_encode(cf_token_list *out, const cf_tokenizer *tok, cf_str text,
                              bool parse_special, bool add_special, cf_arena *arena, cf_error *err)
{
    if (text.n > UINT32_MAX) {
        return cf_fail(err, CF_ELIMIT, "a text of %zu bytes is too long", text.n);
    }
    cf_text_span all = {0, (uint32_t)text.n, parse_special};
    return cf_tokenizer_encode_spans(out, tok, text, &all, 1, add_special, arena, err);
}

cf_status cf_tokenizer_encode_offsets(cf_token_list *out, uint32_t **offsets,
                                      const cf_tokenizer *tok, cf_str text, bool parse_special,
                                      bool add_special, cf_arena *arena, cf_error *err)
{
    *offsets = NULL;
    if (tok->pipe == NULL || text.n > UINT32_MAX) {
        return cf_tokenizer_encode(out, tok, text, parse_special, add_special, arena, err);
    }
    cf_text_span all = {0, (uint32_t)text.n, parse_special};
    return cf_pipeline__encode(out, offsets, tok, text, &all, 1, add_special, arena, err);
}

size_t cf_tokenizer_n_vocab(const cf_tokenizer *tok)
{
    return tok->vocab.n;
}

cf_special_tokens cf_tokenizer_special(const cf_tokenizer *tok)
{
    return tok->named;
}

cf_token_type cf_tokenizer_type(const cf_tokenizer *tok, cf_token id)
{
    return is_id(tok, id) ? (cf_token_type)tok->vocab.piece[id].type : CF_TOKEN_UNUSED;
}

cf_str cf_tokenizer_raw_piece(const cf_tokenizer *tok, cf_token id)
{
    return is_id(tok, id) ? cf_vocab__spelling(&tok->vocab, id) : cf_str_make(NULL, 0);
}

cf_token cf_tokenizer_find(const cf_tokenizer *tok, cf_str piece)
{
    const cf_pipeline *p = tok->pipe;
    for (size_t i = 0; p != NULL && i < p->n_added; i++) {
        if (cf_str_eq(p->added[i].content, piece)) {
            return p->added[i].id;
        }
    }
    return cf_vocab__find(&tok->vocab, piece);
}

bool cf_tokenizer_is_end(const cf_tokenizer *tok, cf_token id)
{
    return is_id(tok, id) && (tok->vocab.piece[id].flags & CF_VOCAB_END) != 0;
}

const char *cf_tokenizer_model(const cf_tokenizer *tok)
{
    return tok->name != NULL ? tok->name : tok->model == CF_MODEL_BPE ? "gpt2" : "llama";
}

void cf_tokenizer__set_variables(cf_tokenizer *tok, cf_str variables)
{
    tok->variables = variables;
}

cf_str cf_tokenizer_variables(const cf_tokenizer *tok)
{
    return tok->variables;
}

const char *cf_tokenizer_pre(const cf_tokenizer *tok)
{
    return tok->pre;
}
