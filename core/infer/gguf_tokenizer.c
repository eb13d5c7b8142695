/*
 * gguf_tokenizer.c - reads tokenizer.ggml.* into a description of a vocabulary.
 *
 * The lists of a file are walked as the tokenizer asks for them; nothing is
 * copied.
 */
#include "core/infer/gguf_tokenizer.h"

#include <string.h>

#include "core/base/alloc.h"

typedef struct lists {
    const cf_gguf_value *tokens, *types, *scores, *merges;
    uint64_t token_at, token_i; /* the walk over tokens, types and scores */
    uint64_t merge_at, merge_i;
} lists;

static cf_status next_token(void *ud, cf_vocab_entry *out, cf_error *err)
{
    lists *l = ud;
    uint64_t i = l->token_i;
    if (!cf_gguf_next_str(l->tokens, &l->token_at, &l->token_i, &out->spelling)) {
        return cf_fail_at(err, CF_EFORMAT, l->tokens->off, "tokenizer.ggml.tokens ends early");
    }
    if (l->types != NULL) {
        int64_t t = cf_gguf_item_i64(l->types, i);
        /* 0 is "undefined" in the format and means a normal token. */
        if (t < 0 || t > CF_TOKEN_BYTE) {
            return cf_fail_at(err, CF_EFORMAT, l->types->off,
                              "token %llu has the unknown type %lld", (unsigned long long)i,
                              (long long)t);
        }
        out->type = t == 0 ? CF_TOKEN_NORMAL : (cf_token_type)t;
    }
    if (l->scores != NULL) {
        out->score = (float)cf_gguf_item_f64(l->scores, i);
    }
    return CF_OK;
}

/* The same for a pipeline: merges never make special tokens. */
static cf_status next_piece(void *ud, cf_vocab_entry *out, cf_error *err)
{
    CF_TRY(next_token(ud, out, err));
    out->is_added = out->type == CF_TOKEN_CONTROL || out->type == CF_TOKEN_USER_DEFINED ||
                    out->type == CF_TOKEN_UNKNOWN;
    return CF_OK;
}

static cf_status next_merge(void *ud, cf_str part[2], cf_error *err)
{
    lists *l = ud;
    uint64_t i = l->merge_i;
    cf_str s = {NULL, 0};
    (void)cf_gguf_next_str(l->merges, &l->merge_at, &l->merge_i, &s);
    /* A part may itself begin with a blank, so look after the first byte. */
    const char *gap = s.n > 2 ? memchr(s.p + 1, ' ', s.n - 1) : NULL;
    if (gap == NULL || gap == s.p + s.n - 1) {
        return cf_fail_at(err, CF_EFORMAT, l->merges->off, "merge %llu is not two parts",
                          (unsigned long long)i);
    }
    part[0] = cf_str_make(s.p, (size_t)(gap - s.p));
    part[1] = cf_str_make(gap + 1, s.n - part[0].n - 1);
    return CF_OK;
}

/* A list of strings; *out NULL when absent. */
static cf_status find_strings(const cf_gguf *g, const char *key, const cf_gguf_value **out,
                              cf_error *err)
{
    const cf_gguf_value *v = cf_gguf_find(g, key);
    if (v == NULL || v->type != CF_GGUF_ARRAY || v->item != CF_GGUF_STRING || v->n == 0) {
        return cf_fail(err, CF_EFORMAT, "%s is not an array of strings", key);
    }
    *out = v;
    return CF_OK;
}

/* An array of numbers with one item a token; *out NULL when absent. */
static cf_status find_numbers(const cf_gguf *g, const char *key, uint64_t n,
                              const cf_gguf_value **out, cf_error *err)
{
    const cf_gguf_value *a = cf_gguf_find(g, key);
    *out = a;
    if (a == NULL) {
        return CF_OK;
    }
    if (a->type != CF_GGUF_ARRAY || a->item == CF_GGUF_STRING || a->item == CF_GGUF_ARRAY) {
        return cf_fail_at(err, CF_EFORMAT, a->off, "%s is not an array of numbers", key);
    }
    return a->n == n ? CF_OK
                     : cf_fail_at(err, CF_EFORMAT, a->off, "%s has %llu items for %llu tokens", key,
                                  (unsigned long long)a->n, (unsigned long long)n);
}

static cf_status find_lists(lists *l, const cf_gguf *g, bool merges, cf_error *err)
{
    CF_TRY(find_strings(g, "tokenizer.ggml.tokens", &l->tokens, err));
    CF_TRY(find_numbers(g, "tokenizer.ggml.token_type", l->tokens->n, &l->types, err));
    if (l->types != NULL && (l->types->item == CF_GGUF_F32 || l->types->item == CF_GGUF_F64)) {
        return cf_fail_at(err, CF_EFORMAT, l->types->off,
                          "tokenizer.ggml.token_type is not of integers");
    }
    CF_TRY(find_numbers(g, "tokenizer.ggml.scores", l->tokens->n, &l->scores, err));
    return merges ? find_strings(g, "tokenizer.ggml.merges", &l->merges, err) : CF_OK;
}

/* An id under `key`; CF_TOKEN_NONE when absent, or all ones.  One outside of
 * the vocabulary is an error where `must_fit`, else as absent. */
static cf_status read_id(cf_token *out, size_t n_tokens, const cf_gguf *g, const char *key,
                         bool must_fit, cf_error *err)
{
    int64_t id;
    *out = CF_TOKEN_NONE;
    if (!cf_gguf_get_i64(g, key, &id) || id == -1 || id == UINT32_MAX) {
        return CF_OK;
    }
    if (id >= 0 && (uint64_t)id < n_tokens) {
        *out = (cf_token)id;
        return CF_OK;
    }
    return !must_fit ? CF_OK
                     : cf_fail(err, CF_EFORMAT, "%s is %lld, but there are %zu tokens", key,
                               (long long)id, n_tokens);
}

static cf_status read_named(cf_special_tokens *s, size_t n, const cf_gguf *g, cf_error *err)
{
    CF_TRY(read_id(&s->bos, n, g, "tokenizer.ggml.bos_token_id", true, err));
    CF_TRY(read_id(&s->eos, n, g, "tokenizer.ggml.eos_token_id", true, err));
    CF_TRY(read_id(&s->eot, n, g, "tokenizer.ggml.eot_token_id", true, err));
    CF_TRY(read_id(&s->unk, n, g, "tokenizer.ggml.unknown_token_id", false, err));
    CF_TRY(read_id(&s->pad, n, g, "tokenizer.ggml.padding_token_id", false, err));
    /* The format's own spelling, and the right one. */
    CF_TRY(read_id(&s->sep, n, g, "tokenizer.ggml.seperator_token_id", false, err));
    if (s->sep == CF_TOKEN_NONE) {
        CF_TRY(read_id(&s->sep, n, g, "tokenizer.ggml.separator_token_id", false, err));
    }
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &s->add_bos);
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.add_eos_token", &s->add_eos);
    s->add_bos = s->add_bos && s->bos != CF_TOKEN_NONE;
    s->add_eos = s->add_eos && s->eos != CF_TOKEN_NONE;
    return CF_OK;
}

/* Whether name[at..) begins with lower-case `word`, in any case. */
static bool begins(cf_str name, size_t at, const char *word)
{
    for (; *word != '\0'; word++, at++) {
        char c = at < name.n ? name.p[at] : '\0';
        if ((c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c) != *word) {
            return false;
        }
    }
    return true;
}

static bool contains_phi3(cf_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (begins(name, i, "phi-3") || begins(name, i, "phi3") || begins(name, i, "phi 3")) {
            return true;
        }
    }
    return false;
}

/* Phi-3's special tokens take the white space after them along.  No field of
 * the file says so; the name or the architecture does. */
static bool is_phi3(const cf_gguf *g, cf_str model)
{
    cf_str name = {NULL, 0};
    cf_str arch = {NULL, 0};
    (void)cf_gguf_get_str(g, "general.name", &name);
    (void)cf_gguf_get_str(g, "general.architecture", &arch);
    return contains_phi3(name) || (cf_str_is(arch, "phi3") && cf_str_is(model, "llama"));
}

/* ---- pipelines ----------------------------------------------------------- */

/* Special tokens of a file are taken whole: control tokens on request. */
static cf_status add_special(cf_pipeline *p, const cf_vocab_desc *d, cf_error *err)
{
    lists walk = *(const lists *)d->ud;
    size_t n = 0;
    p->added = cf_arena_calloc(&p->arena, d->n_tokens, sizeof *p->added);
    if (p->added == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < d->n_tokens; i++) {
        cf_vocab_entry e = {.type = CF_TOKEN_NORMAL};
        CF_TRY(next_piece(&walk, &e, err));
        if (e.is_added && e.spelling.n != 0 && e.spelling.n <= CF_SPECIAL_MAX) {
            p->added[n++] = (cf_added_token){.content = e.spelling,
                                             .id = (cf_token)i,
                                             .is_special = e.type != CF_TOKEN_USER_DEFINED};
        }
    }
    p->n_added = n;
    return CF_OK;
}

/* Spaces become U+2581, lines are merged one by one by the list of merges
 * over characters, and a character without a piece becomes its bytes.
 * Source: the tokenizer.json of the model. */
static cf_status add_gemma4(cf_pipeline *p, const cf_vocab_desc *d, const cf_gguf *g, cf_error *err)
{
    (void)g;
    const cf_str mark = cf_str_from("\xE2\x96\x81");
    cf_norm_step *norm = &p->norm[p->n_norm++];
    norm->kind = CF_NORM_REPLACE;
    norm->text = mark;
    cf_pattern_init_literal(&norm->pattern, cf_str_from(" "));
    cf_split_step *split = &p->split[p->n_split++];
    split->behavior = CF_SPLIT_ISOLATED;
    CF_TRY(cf_pattern_init(&split->pattern, "[^\\n]+|\\n+", err));
    p->model.kind = CF_SUBWORD_BPE;
    p->model.byte_fallback = p->model.fuse_unk = true;
    p->model.unk = d->named.unk;
    cf_decode_step *decode = &p->decode[p->n_decode++];
    decode->kind = CF_DECODE_REPLACE;
    decode->text = cf_str_from(" ");
    cf_pattern_init_literal(&decode->pattern, mark);
    p->decode[p->n_decode++].kind = CF_DECODE_BYTE_FALLBACK;
    p->decode[p->n_decode++].kind = CF_DECODE_FUSE;
    p->keeps_bytes = true;
    return CF_OK;
}

/* Words between white space, which is dropped, are merged over characters.
 * Source: llama.cpp, for jina-embeddings-v2-base-zh. */
static cf_status add_whitespace(cf_pipeline *p, const cf_vocab_desc *d, const cf_gguf *g,
                                cf_error *err)
{
    bool lowercase = false;
    (void)err;
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.normalizer.lowercase", &lowercase);
    if (lowercase) {
        p->norm[p->n_norm++].kind = CF_NORM_LOWERCASE;
    }
    p->split[p->n_split++] = (cf_split_step){.kind = CF_SPLIT_WHITE, .behavior = CF_SPLIT_REMOVED};
    p->model.kind = CF_SUBWORD_BPE;
    p->model.byte_fallback = true;
    p->model.unk = d->named.unk;
    p->decode[p->n_decode++].kind = CF_DECODE_BYTE_FALLBACK;
    p->decode[p->n_decode++].kind = CF_DECODE_FUSE;
    p->keeps_bytes = true;
    return CF_OK;
}

/* Whether an ordinary piece has an upper-case letter: such a vocabulary is not
 * of a model that reads lower case only. */
static cf_status has_upper_case(const cf_vocab_desc *d, bool *out, cf_error *err)
{
    lists walk = *(const lists *)d->ud;
    *out = false;
    for (size_t i = 0; i < d->n_tokens && !*out; i++) {
        cf_vocab_entry e = {.type = CF_TOKEN_NORMAL};
        CF_TRY(next_piece(&walk, &e, err));
        for (size_t k = 0; e.type == CF_TOKEN_NORMAL && k < e.spelling.n; k++) {
            *out |= e.spelling.p[k] >= 'A' && e.spelling.p[k] <= 'Z';
        }
    }
    return CF_OK;
}

static cf_status add_wordpiece(cf_pipeline *p, const cf_vocab_desc *d, const cf_gguf *g,
                               cf_error *err)
{
    bool is_cased = false;
    CF_TRY(has_upper_case(d, &is_cased, err));
    bool lowercase = !is_cased;
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.normalizer.lowercase", &lowercase);
    bool strip_accents = lowercase;
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.normalizer.strip_accents", &strip_accents);
    cf_pipeline_wordpiece(p, lowercase, strip_accents);
    p->model.unk = d->named.unk;
    return CF_OK;
}

/* The log probabilities of the pieces, and the bytes that stand for others. */
static cf_status add_scores(cf_pipeline *p, const cf_vocab_desc *d, cf_error *err)
{
    lists walk = *(const lists *)d->ud;
    cf_subword *m = &p->model;
    m->kind = CF_SUBWORD_UNIGRAM;
    m->unk = d->named.unk;
    m->score = cf_calloc(d->n_tokens, sizeof *m->score);
    if (m->score == NULL) {
        return cf_oom_for(err, "scores");
    }
    m->n_score = d->n_tokens;
    for (size_t i = 0; i < d->n_tokens; i++) {
        cf_vocab_entry e = {.type = CF_TOKEN_NORMAL};
        CF_TRY(next_piece(&walk, &e, err));
        m->score[i] = (double)e.score;
        m->byte_fallback |= e.type == CF_TOKEN_BYTE;
    }
    return CF_OK;
}

static cf_status add_unigram(cf_pipeline *p, const cf_vocab_desc *d, const cf_gguf *g,
                             cf_error *err)
{
    const cf_gguf_value *map = cf_gguf_find(g, "tokenizer.ggml.precompiled_charsmap");
    cf_buf bytes = CF_BUF_INIT;
    bool joins_spaces = false;
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.remove_extra_whitespaces", &joins_spaces);
    if (map != NULL &&
        (map->type != CF_GGUF_ARRAY || (map->item != CF_GGUF_U8 && map->item != CF_GGUF_I8))) {
        return cf_fail_at(err, CF_EFORMAT, map->off, "the map of characters is not of bytes");
    }
    for (uint64_t i = 0; map != NULL && i < map->n; i++) {
        cf_buf_addc(&bytes, (char)cf_gguf_item_i64(map, i));
    }
    cf_status st = cf_buf_check(&bytes, err);
    CF_THEN(st, cf_pipeline_unigram(p, cf_buf_str(&bytes), joins_spaces, d->space_prefix, err));
    CF_THEN(st, add_scores(p, d, err));
    cf_buf_deinit(&bytes);
    return st;
}

/* Tokens around a text, where the file does not say: BERT's has [CLS] in front
 * and [SEP] after, Unigram's the end of a text. */
static cf_status name_ends(cf_vocab_desc *d, const cf_gguf *g, cf_error *err)
{
    cf_special_tokens *s = &d->named;
    bool is_bert = cf_str_is(d->model, "bert");
    if (s->bos == CF_TOKEN_NONE) {
        CF_TRY(read_id(&s->bos, d->n_tokens, g, "tokenizer.ggml.cls_token_id", false, err));
    }
    if (is_bert && s->eos == CF_TOKEN_NONE) {
        s->eos = s->sep;
    }
    s->add_bos = is_bert;
    s->add_eos = true;
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &s->add_bos);
    (void)cf_gguf_get_bool(
        g, is_bert ? "tokenizer.ggml.add_sep_token" : "tokenizer.ggml.add_eos_token", &s->add_eos);
    s->add_bos = s->add_bos && s->bos != CF_TOKEN_NONE;
    s->add_eos = s->add_eos && s->eos != CF_TOKEN_NONE;
    return CF_OK;
}

/* Tokenizers that are a row of steps, by their model or their pre-tokenizer. */
typedef struct pipe_kind {
    const char *name;
    bool has_merges;
    cf_status (*add)(cf_pipeline *p, const cf_vocab_desc *d, const cf_gguf *g, cf_error *err);
} pipe_kind;

static const pipe_kind *find_kind(cf_str model, cf_str pre)
{
    static const pipe_kind kinds[] = {
        {"gemma4", true, add_gemma4},     {"granite-embed-multi-311m", true, add_gemma4},
        {"sarvam-moe", true, add_gemma4}, {"whitespace", true, add_whitespace},
        {"bert", false, add_wordpiece},   {"t5", false, add_unigram},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (cf_str_is(model, kinds[i].name) ||
            (cf_str_is(model, "gpt2") && kinds[i].has_merges && cf_str_is(pre, kinds[i].name))) {
            return &kinds[i];
        }
    }
    return NULL;
}

static cf_status new_pipeline(cf_tokenizer **out, const pipe_kind *kind, cf_vocab_desc *d,
                              const cf_gguf *g, cf_error *err)
{
    cf_pipeline *p = cf_pipeline_new();
    if (p == NULL) {
        return cf_oom(err);
    }
    d->next_token = next_piece;
    d->by_spelling = true;
    cf_status st = kind->has_merges ? CF_OK : name_ends(d, g, err);
    CF_THEN(st, kind->add(p, d, g, err));
    CF_THEN(st, add_special(p, d, err));
    CF_THEN(st, cf_pipeline_wrap(p, &d->named, err));
    CF_THEN(st, cf_tokenizer_new_pipeline(out, d, p, NULL, 0, err));
    if (st != CF_OK) {
        cf_pipeline_free(p);
    }
    return st;
}

cf_status cf_gguf_tokenizer(cf_tokenizer **out, const cf_gguf *g, cf_error *err)
{
    lists l = {0};
    cf_vocab_desc d = {
        .next_token = next_token, .next_merge = next_merge, .ud = &l, .space_prefix = true};
    if (!cf_gguf_get_str(g, "tokenizer.ggml.model", &d.model)) {
        return cf_fail(err, CF_EFORMAT, "tokenizer.ggml.model is missing");
    }
    (void)cf_gguf_get_str(g, "tokenizer.ggml.pre", &d.pre);
    (void)cf_gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", &d.space_prefix);
    const pipe_kind *kind = find_kind(d.model, d.pre);
    bool has_merges = kind != NULL ? kind->has_merges : cf_str_is(d.model, "gpt2");
    CF_TRY(find_lists(&l, g, has_merges, err));
    d.n_tokens = (size_t)l.tokens->n;
    d.n_merges = l.merges != NULL ? (size_t)l.merges->n : 0;
    d.has_types = l.types != NULL;
    d.rstrip = is_phi3(g, d.model);
    CF_TRY(read_named(&d.named, d.n_tokens, g, err));
    return kind != NULL ? new_pipeline(out, kind, &d, g, err) : cf_tokenizer_new(out, &d, err);
}
