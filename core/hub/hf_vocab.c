/*
 * hf_vocab.c - reads the pieces and merges of tokenizer.json.
 *
 * Old files do not name the kind of model: merges mean BPE, a list of pairs
 * Unigram, and a limit on the characters of a word WordPiece.
 * Source: tokenizers, src/models/ and src/tokenizer/serialization.rs.
 */
#include "core/hub/hf_vocab.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/token/tokenizer_new.h"

enum { ADDED_MAX = 1 << 20 };

void cf_hf_vocab_deinit(cf_hf_vocab *v)
{
    cf_free(v->piece);
    cf_free(v->type);
    cf_free(v->is_added);
    cf_free(v->score);
    memset(v, 0, sizeof *v);
}

/* Makes room for the token `id`.  Ids are at most as many as the file has
 * bytes, so that a short file cannot ask for much memory. */
static cf_status reach(cf_hf_vocab *v, size_t id, cf_error *err)
{
    if (id < v->n) {
        return CF_OK;
    }
    if (!cf_grow(&v->piece, &v->cap_piece, id + 1, sizeof *v->piece) ||
        !cf_grow(&v->type, &v->cap_type, id + 1, sizeof *v->type) ||
        !cf_grow(&v->is_added, &v->cap_added, id + 1, sizeof *v->is_added)) {
        return cf_oom(err);
    }
    for (; v->n <= id; v->n++) {
        v->piece[v->n] = (cf_str){NULL, 0};
        v->type[v->n] = CF_TOKEN_UNUSED;
        v->is_added[v->n] = true;
    }
    return CF_OK;
}

static cf_status set_piece(cf_hf_vocab *v, size_t id, cf_str s, size_t id_max, cf_error *err)
{
    if (id > id_max) {
        return cf_fail(err, CF_EFORMAT, "token id %zu is more than the file can list", id);
    }
    CF_TRY(reach(v, id, err));
    v->n_model += v->piece[id].p == NULL;
    v->piece[id] = s;
    v->type[id] = CF_TOKEN_NORMAL;
    v->is_added[id] = false;
    return CF_OK;
}

/* {"piece": id, ...} */
static cf_status read_table(cf_hf_vocab *v, cf_json_scan *s)
{
    bool more;
    CF_TRY(cf_json_scan_enter(s, '{'));
    for (bool first = true;; first = false) {
        cf_str key;
        uint32_t id;
        CF_TRY(cf_json_scan_key(s, first, &more, &key));
        if (!more) {
            return CF_OK;
        }
        CF_TRY(cf_json_scan_id(s, &id));
        CF_TRY(set_piece(v, id, key, s->text.n, s->err));
    }
}

/* [["piece", score], ...] */
static cf_status read_pairs(cf_hf_vocab *v, cf_json_scan *s)
{
    bool more;
    CF_TRY(cf_json_scan_enter(s, '['));
    for (bool first = true;; first = false) {
        cf_str piece = {NULL, 0};
        double score = 0;
        CF_TRY(cf_json_scan_item(s, first, &more));
        if (!more) {
            return CF_OK;
        }
        CF_TRY(cf_json_scan_enter(s, '['));
        CF_TRY(cf_json_scan_string(s, &piece));
        CF_TRY(cf_json_scan_item(s, false, &more));
        CF_TRY(cf_json_scan_number(s, &score));
        CF_TRY(cf_json_scan_item(s, false, &more));
        if (more) {
            return cf_fail(s->err, CF_EFORMAT, "a piece of the vocabulary is not a pair");
        }
        if (!cf_grow(&v->score, &v->cap_score, v->n_score + 1, sizeof *v->score)) {
            return cf_oom(s->err);
        }
        v->score[v->n_score] = score;
        CF_TRY(set_piece(v, v->n_score++, piece, s->text.n, s->err));
    }
}

/* All members except the large ones. */
static cf_status read_small(cf_hf_vocab *v, const json_t *o, bool has_merges, cf_error *err)
{
    static const char *const names[] = {"BPE", "Unigram", "WordPiece", "WordLevel"};
    cf_str type = cf_json_get_str(o, "type");
    const json_t *max = json_object_get(o, "max_input_chars_per_word");
    const json_t *unk = json_object_get(o, "unk_id");
    v->unk = cf_json_get_str(o, "unk_token");
    v->prefix = cf_json_get_str(o, "continuing_subword_prefix");
    v->suffix = cf_json_get_str(o, "end_of_word_suffix");
    v->fuse_unk = json_is_true(json_object_get(o, "fuse_unk"));
    v->byte_fallback = json_is_true(json_object_get(o, "byte_fallback"));
    v->ignore_merges = json_is_true(json_object_get(o, "ignore_merges"));
    v->unk_id = json_is_integer(unk) ? json_integer_value(unk) : -1;
    v->max_chars = json_is_integer(max) ? json_integer_value(max) : 100;
    v->kind = has_merges                        ? CF_SUBWORD_BPE
              : v->n_score != 0                 ? CF_SUBWORD_UNIGRAM
              : v->prefix.n != 0 && max != NULL ? CF_SUBWORD_WORDPIECE
                                                : CF_SUBWORD_WORDLEVEL;
    for (size_t i = 0; type.p != NULL && i < 4; i++) {
        if (cf_str_is(type, names[i])) {
            v->kind = (cf_subword_kind)i;
            return CF_OK;
        }
    }
    return type.p == NULL ? CF_OK
                          : cf_fail(err, CF_EUNSUPPORTED,
                                    "the tokenizer model '%.*s' is not "
                                    "supported",
                                    type.n > 60 ? 60 : (int)type.n, type.p);
}

/* Copies the text of one member into `small`, an object without the large
 * ones. */
static void keep_member(cf_buf *small, cf_str key, cf_str value)
{
    cf_buf_adds(small, small->n == 0 ? "{" : ",");
    cf_json_write_str(small, key);
    cf_buf_addc(small, ':');
    cf_buf_add(small, value.p, value.n);
}

static cf_status read_members(cf_hf_vocab *v, cf_json_scan *s, cf_buf *small)
{
    bool more;
    CF_TRY(cf_json_scan_enter(s, '{'));
    for (bool first = true;; first = false) {
        cf_str key, value;
        CF_TRY(cf_json_scan_key(s, first, &more, &key));
        if (!more) {
            return CF_OK;
        }
        if (cf_str_is(key, "vocab")) {
            CF_TRY(cf_json_scan_peek(s) == '[' ? read_pairs(v, s) : read_table(v, s));
        } else if (cf_str_is(key, "merges")) {
            CF_TRY(cf_json_scan_skip(s, &v->merges, &v->n_merges));
        } else {
            CF_TRY(cf_json_scan_skip(s, &value, NULL));
            keep_member(small, key, value);
        }
    }
}

/* Copies the strings of the parsed members, which are freed with them. */
static cf_status keep_text(cf_arena *arena, cf_str *s, cf_error *err)
{
    if (s->p == NULL) {
        return CF_OK;
    }
    char *p = cf_arena_strndup(arena, s->p, s->n);
    if (p == NULL) {
        return cf_oom(err);
    }
    s->p = p;
    return CF_OK;
}

cf_status cf_hf_vocab_read(cf_hf_vocab *v, cf_str model, cf_error *err)
{
    cf_json_scan s = {.text = model, .arena = v->arena, .err = err};
    cf_buf small = CF_BUF_INIT;
    json_t *o = NULL;
    cf_status st = read_members(v, &s, &small);
    cf_buf_adds(&small, small.n == 0 ? "{}" : "}");
    CF_THEN(st, cf_buf_check(&small, err));
    CF_THEN(st, cf_json_read(&o, small.p, small.n, err));
    CF_THEN(st, read_small(v, o, v->merges.p != NULL, err));
    CF_THEN(st, keep_text(v->arena, &v->unk, err));
    CF_THEN(st, keep_text(v->arena, &v->prefix, err));
    CF_THEN(st, keep_text(v->arena, &v->suffix, err));
    json_decref(o);
    cf_buf_deinit(&small);
    return st;
}

/* ---- added tokens -------------------------------------------------------- */

static cf_token find_piece(const cf_hf_vocab *v, cf_str s)
{
    for (size_t i = 0; i < v->n; i++) {
        if (v->piece[i].n == s.n && v->piece[i].p != NULL && !v->is_added[i] &&
            memcmp(v->piece[i].p, s.p, s.n) == 0) {
            return (cf_token)i;
        }
    }
    return CF_TOKEN_NONE;
}

cf_token cf_hf_vocab_find(const cf_hf_vocab *v, const cf_pipeline *p, cf_str s)
{
    for (size_t i = 0; i < p->n_added; i++) {
        if (cf_str_eq(p->added[i].content, s)) {
            return p->added[i].id;
        }
    }
    return s.n != 0 ? find_piece(v, s) : CF_TOKEN_NONE;
}

/* An index of the model's pieces by spelling, for long lists of added
 * tokens: which id has the content of each. */
static cf_status match_contents(const cf_hf_vocab *v, const json_t *list, cf_token *id,
                                cf_error *err)
{
    size_t n = json_array_size(list);
    cf_str *key = cf_calloc(n + 1, sizeof *key);
    cf_trie t;
    if (key == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < n; i++) {
        key[i] = cf_json_get_str(json_array_get(list, i), "content");
        id[i] = CF_TOKEN_NONE;
    }
    cf_status st = cf_trie_init(&t, key, n, false, err);
    for (size_t i = 0; st == CF_OK && i < v->n; i++) {
        uint32_t node = CF_TRIE_ROOT;
        for (size_t k = 0; k < v->piece[i].n && node != CF_TRIE_NONE; k++) {
            node = cf_trie_step(&t, node, (unsigned char)v->piece[i].p[k]);
        }
        if (node != CF_TRIE_NONE && node != CF_TRIE_ROOT && t.node[node].value != CF_TRIE_NONE) {
            id[t.node[node].value] = (cf_token)i;
        }
    }
    if (st == CF_OK) {
        cf_trie_deinit(&t);
    }
    cf_free(key);
    return st;
}

/* The id that follows the last added token, or the last of the model. */
static size_t free_id(const cf_hf_vocab *v, const cf_pipeline *p)
{
    size_t id = v->n_model;
    for (size_t i = 0; i < p->n_added; i++) {
        if ((size_t)p->added[i].id >= id) {
            id = (size_t)p->added[i].id + 1;
        }
    }
    return id;
}

static bool flag(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

static cf_status add_one(cf_hf_vocab *v, const json_t *o, cf_token id, size_t *next, cf_pipeline *p,
                         cf_error *err)
{
    cf_str content = cf_json_get_str(o, "content");
    if (content.n == 0) {
        return CF_OK;
    }
    if (content.n > CF_SPECIAL_MAX) {
        return cf_fail(err, CF_ELIMIT,
                       "an added token is %zu bytes long, at most %d are "
                       "supported",
                       content.n, CF_SPECIAL_MAX);
    }
    CF_TRY(keep_text(v->arena, &content, err));
    bool is_new = id == CF_TOKEN_NONE;
    if (is_new) {
        id = (cf_token)(*next)++;
        CF_TRY(reach(v, (size_t)id, err));
        v->piece[id] = content;
    }
    cf_added_token t = {.content = content,
                        .id = id,
                        .is_special = flag(o, "special"),
                        .single_word = flag(o, "single_word"),
                        .lstrip = flag(o, "lstrip"),
                        .rstrip = flag(o, "rstrip"),
                        .normalized = flag(o, "normalized")};
    if (v->type[id] != CF_TOKEN_CONTROL) {
        v->type[id] = t.is_special ? CF_TOKEN_CONTROL : CF_TOKEN_USER_DEFINED;
    }
    p->added[p->n_added++] = t;
    /* The model's size does not grow, but a new id is the next one's base. */
    if (!is_new && (size_t)id >= *next) {
        *next = (size_t)id + 1;
    }
    return CF_OK;
}

cf_status cf_hf_vocab_add(cf_hf_vocab *v, const json_t *list, cf_pipeline *p, cf_error *err)
{
    size_t n = json_array_size(list);
    if (n == 0) {
        return CF_OK;
    }
    if (n > ADDED_MAX) {
        return cf_fail(err, CF_ELIMIT, "%zu added tokens are too many", n);
    }
    p->added = cf_arena_calloc(&p->arena, n, sizeof *p->added);
    cf_token *id = cf_calloc(n, sizeof *id);
    cf_status st = p->added != NULL && id != NULL ? match_contents(v, list, id, err) : cf_oom(err);
    size_t next = free_id(v, p);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = add_one(v, json_array_get(list, i), id[i], &next, p, err);
    }
    cf_free(id);
    return st;
}

cf_status cf_hf_vocab_resize(cf_hf_vocab *v, uint32_t n, cf_pipeline *p, cf_error *err)
{
    size_t kept = 0;
    if (v->n < n) {
        return reach(v, (size_t)n - 1, err);
    }
    for (size_t id = n; id < v->n; id++) {
        if (!v->is_added[id]) {
            return cf_fail(err, CF_EFORMAT,
                           "token %zu of the tokenizer is beyond the %u rows "
                           "of the weights",
                           id, n);
        }
    }
    for (size_t i = 0; i < p->n_added; i++) {
        if ((size_t)p->added[i].id < n) {
            p->added[kept++] = p->added[i];
        }
    }
    p->n_added = kept;
    v->n = n;
    return CF_OK;
}

/* ---- for the tokenizer --------------------------------------------------- */

static cf_status next_token(void *ud, cf_vocab_entry *out, cf_error *err)
{
    (void)err;
    cf_hf_vocab *v = ud;
    size_t i = v->next++;
    out->spelling = v->piece[i];
    out->type = (cf_token_type)v->type[i];
    out->is_added = v->is_added[i];
    if (v->byte_fallback && out->type == CF_TOKEN_NORMAL &&
        cf_token__byte_spelled(v->piece[i]) >= 0) {
        out->type = CF_TOKEN_BYTE;
    }
    return CF_OK;
}

/* "a b", or ["a", "b"]. */
static cf_status next_merge(void *ud, cf_str part[2], cf_error *err)
{
    cf_hf_vocab *v = ud;
    cf_json_scan *s = &v->scan;
    bool more;
    s->err = err;
    if (!v->began) {
        CF_TRY(cf_json_scan_enter(s, '['));
    }
    CF_TRY(cf_json_scan_item(s, !v->began, &more));
    v->began = true;
    if (more && cf_json_scan_peek(s) == '[') {
        CF_TRY(cf_json_scan_enter(s, '['));
        CF_TRY(cf_json_scan_string(s, &part[0]));
        CF_TRY(cf_json_scan_item(s, false, &more));
        CF_TRY(cf_json_scan_string(s, &part[1]));
        CF_TRY(cf_json_scan_item(s, false, &more));
        return !more ? CF_OK : cf_fail_at(err, CF_EFORMAT, s->at, "a merge is not two parts");
    }
    cf_str both = {NULL, 0};
    CF_TRY(cf_json_scan_string(s, &both));
    const char *gap = both.n > 2 ? memchr(both.p + 1, ' ', both.n - 1) : NULL;
    if (gap == NULL || gap == both.p + both.n - 1) {
        return cf_fail_at(err, CF_EFORMAT, s->at, "a merge is not two parts");
    }
    part[0] = cf_str_make(both.p, (size_t)(gap - both.p));
    part[1] = cf_str_make(gap + 1, both.n - part[0].n - 1);
    return CF_OK;
}

void cf_hf_vocab_describe(cf_hf_vocab *v, cf_vocab_desc *desc, cf_pipeline *p, cf_error *err)
{
    static const char *const names[] = {"bpe", "unigram", "wordpiece", "wordlevel"};
    desc->model = cf_str_from(names[v->kind]);
    desc->n_tokens = v->n;
    desc->next_token = next_token;
    desc->n_merges = v->kind == CF_SUBWORD_BPE ? v->n_merges : 0;
    desc->next_merge = next_merge;
    desc->ud = v;
    desc->has_types = desc->by_spelling = true;
    desc->merge_skip = v->prefix.n;
    v->scan = (cf_json_scan){.text = v->merges, .arena = v->arena, .err = err};
    cf_subword *m = &p->model;
    m->kind = v->kind;
    m->fuse_unk = v->fuse_unk;
    m->byte_fallback = v->byte_fallback;
    m->ignore_merges = v->ignore_merges;
    m->prefix = v->prefix;
    m->suffix = v->suffix;
    m->max_chars = v->max_chars > 0 ? (size_t)v->max_chars : 0;
    m->unk = v->kind == CF_SUBWORD_UNIGRAM
                 ? (v->unk_id >= 0 && (uint64_t)v->unk_id < v->n_score ? (cf_token)v->unk_id
                                                                       : CF_TOKEN_NONE)
             : v->unk.n != 0 ? find_piece(v, v->unk)
                             : CF_TOKEN_NONE;
    m->lacks_unk = v->unk.n != 0 && m->unk == CF_TOKEN_NONE;
    m->score = v->score;
    m->n_score = v->n_score;
    v->score = NULL;
}
