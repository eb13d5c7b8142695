/*
 * rank.c - writes a query and a document as one text for a ranker.
 *
 * The template "rerank" of a file is plain text with two names in braces, as
 * converters write it for Qwen3.  Other rankers read the query with the tokens
 * that the vocabulary puts around any text, then the document and the closing
 * tokens again; RoBERTa's kind has its separator once more between the two.
 */
#include <string.h>

#include "core/api/embed.h"

enum { PAIR_BYTES_MAX = 64 << 20 };

/* ---- by a template ------------------------------------------------------ */

/* A text and which stretches of it may hold control tokens. */
typedef struct filled {
    cf_buf text;
    cf_text_span *span; /* [n], in the arena */
    size_t n, cap;
} filled;

/* A template may name a text more than once. */
static cf_status add(filled *f, cf_str s, bool is_template, cf_error *err)
{
    if (s.n == 0) {
        return CF_OK;
    }
    CF_ASSERT(f->n < f->cap);
    if (s.n > PAIR_BYTES_MAX - f->text.n) {
        return cf_fail(err, CF_ELIMIT, "a query and a document of more than %d MiB are too long",
                       PAIR_BYTES_MAX >> 20);
    }
    f->span[f->n++] = (cf_text_span){(uint32_t)f->text.n, (uint32_t)s.n, is_template};
    cf_buf_add(&f->text, s.p, s.n);
    return cf_buf_check(&f->text, err);
}

/* Whether t[at..) begins with a name in braces, and whose text that is. */
static bool takes_name(cf_str t, size_t at, const cf_str text[2], cf_str *out, size_t *n)
{
    static const char *const names[] = {"{query}", "{document}"};
    for (size_t i = 0; i < 2; i++) {
        *n = strlen(names[i]);
        if (t.n - at >= *n && memcmp(t.p + at, names[i], *n) == 0) {
            *out = text[i];
            return true;
        }
    }
    return false;
}

static cf_status fill(filled *f, cf_str t, const cf_str text[2], cf_error *err)
{
    size_t done = 0, n;
    cf_str part;
    for (size_t at = 0; at < t.n;) {
        if (t.p[at] != '{' || !takes_name(t, at, text, &part, &n)) {
            at++;
            continue;
        }
        CF_TRY(add(f, cf_str_make(t.p + done, at - done), true, err));
        CF_TRY(add(f, part, false, err));
        done = at += n;
    }
    return add(f, cf_str_make(t.p + done, t.n - done), true, err);
}

static cf_status by_template(cf_token_list *out, const cf_tokenizer *tok, cf_str t,
                             const cf_str text[2], cf_arena *arena, cf_error *err)
{
    filled f = {.text = CF_BUF_INIT, .cap = 1};
    for (size_t i = 0; i < t.n; i++) {
        f.cap += t.p[i] == '{' ? 2 : 0;
    }
    f.span = cf_arena_calloc(arena, f.cap, sizeof *f.span);
    cf_status st = f.span != NULL ? fill(&f, t, text, err) : cf_oom_for(err, "a pair of texts");
    CF_THEN(st, cf_tokenizer_encode_spans(out, tok, cf_buf_str(&f.text), f.span, f.n, false, arena,
                                          err));
    cf_buf_deinit(&f.text);
    return st;
}

/* ---- by special tokens -------------------------------------------------- */

static void put(cf_token_list *out, const cf_token_list *from, size_t at)
{
    for (; at < from->n; at++) {
        out->v[out->n++] = from->v[at];
    }
}

static cf_status by_tokens(cf_token_list *out, const cf_engine *e, const cf_str text[2],
                           cf_arena *arena, cf_error *err)
{
    const cf_tokenizer *tok = cf_engine_tokenizer(e);
    cf_token_list q, d;
    int64_t twice = 0;
    CF_TRY(cf_tokenizer_encode(&q, tok, text[0], false, true, arena, err));
    CF_TRY(cf_tokenizer_encode(&d, tok, text[1], false, false, arena, err));
    size_t end = q.n; /* where the closing tokens begin */
    while (end > 0 && q.v[end - 1].len == 0 && q.v[end - 1].off == text[0].n) {
        end--;
    }
    cf_token_list all = {cf_arena_calloc(arena, 2 * q.n + d.n + 1, sizeof *all.v), 0};
    if (all.v == NULL) {
        return cf_oom_for(err, "a pair of texts");
    }
    put(&all, &q, 0);
    cf_token sep = cf_tokenizer_special(tok).sep;
    (void)cf_engine_meta_i64(e, "tokenizer.ggml.add_sep_token", &twice);
    if (twice != 0 && sep != CF_TOKEN_NONE && strcmp(cf_tokenizer_model(tok), "bert") != 0) {
        all.v[all.n++] = (cf_token_span){.id = sep};
    }
    put(&all, &d, 0);
    put(&all, &q, end);
    *out = all;
    return CF_OK;
}

cf_status cf_rank_ids(cf_token **ids, size_t *n, const cf_engine *e, cf_str query, cf_str document,
                      cf_arena *arena, cf_error *err)
{
    cf_token_list list = {NULL, 0};
    const cf_str text[2] = {query, document};
    cf_str t = cf_engine_chat_template(e, "rerank");
    if (query.n == 0) {
        return cf_fail(err, CF_EINVAL, "the query is empty");
    }
    CF_TRY(t.n != 0 ? by_template(&list, cf_engine_tokenizer(e), t, text, arena, err)
                    : by_tokens(&list, e, text, arena, err));
    cf_token *v = cf_arena_calloc(arena, list.n + 1, sizeof *v);
    if (v == NULL) {
        return cf_oom_for(err, "token ids");
    }
    for (size_t i = 0; i < list.n; i++) {
        v[i] = list.v[i].id;
    }
    *ids = v;
    *n = list.n;
    return CF_OK;
}
