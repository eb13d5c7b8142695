/*
 * box_tokens.c - a server's tokens, and which bytes of the prompt are whose.
 */
#include <stdio.h>
#include <string.h>

#include "core/backend/box_impl.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/token/bpe.h"

enum {
    PIECES_MAX = 8192, /* distinct tokens that are asked for one by one */
    REACH_MAX = 64     /* bytes that tokens without a text may stand for */
};

/* ---- places ------------------------------------------------------------- */

/* Where the next token with a text that is there begins: its bytes are within
 * reach of `at`.  *next is its index, n if there is none. */
static size_t next_place(const cf_str *texts, size_t n, size_t i, cf_str prompt, size_t at,
                         size_t *next)
{
    for (size_t k = i; k < n && k < i + REACH_MAX; k++) {
        cf_str t = texts[k];
        for (size_t p = at; t.n > 0 && p + t.n <= prompt.n && p <= at + REACH_MAX; p++) {
            if (memcmp(prompt.p + p, t.p, t.n) == 0) {
                *next = k;
                return p;
            }
        }
    }
    *next = n;
    return prompt.n;
}

void cf_box__place(cf_token_span *v, const cf_str *texts, size_t n, cf_str prompt)
{
    size_t at = 0;
    for (size_t i = 0; i < n;) {
        size_t next;
        size_t found = next_place(texts, n, i, prompt, at, &next);
        for (size_t k = i; k < next; k++) { /* no text of their own */
            v[k].off = (uint32_t)(k == i ? at : found);
            v[k].len = (uint32_t)(k == i ? found - at : 0);
        }
        if (next == i && found > at && i > 0) {
            v[i - 1].len += (uint32_t)(found - at); /* bytes nobody claims */
        }
        at = found;
        if (next < n) {
            v[next].off = (uint32_t)at;
            v[next].len = (uint32_t)texts[next].n;
            at += texts[next].n;
        }
        i = next < n ? next + 1 : n;
    }
}

/* ---- lists -------------------------------------------------------------- */

/* An id; CF_TOKEN_NONE for what is not one. */
static cf_token id_of(const json_t *v)
{
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    return n >= 0 && n <= INT32_MAX ? (cf_token)n : CF_TOKEN_NONE;
}

/* Room for n tokens and their texts. */
static cf_status make_list(size_t n, cf_arena *arena, cf_token_list *out, cf_str **texts,
                           cf_error *err)
{
    out->n = n;
    out->v = cf_arena_calloc(arena, n + 1, sizeof *out->v);
    *texts = cf_arena_calloc(arena, n + 1, sizeof **texts);
    return out->v != NULL && *texts != NULL ? CF_OK : cf_oom_for(err, "the server's tokens");
}

static cf_status copy_text(cf_str *out, cf_str text, cf_arena *arena, cf_error *err)
{
    char *p = cf_arena_strndup(arena, text.p != NULL ? text.p : "", text.n);
    *out = cf_str_make(p, text.n);
    return p != NULL ? CF_OK : cf_oom_for(err, "the server's tokens");
}

/* ---- llama-server ------------------------------------------------------- */

/* A piece is a text, or a list of bytes that are not UTF-8. */
static cf_status read_piece(cf_str *out, const json_t *v, cf_arena *arena, cf_error *err)
{
    size_t n = json_array_size(v);
    if (json_is_string(v)) {
        return copy_text(out, cf_str_make(json_string_value(v), json_string_length(v)), arena, err);
    }
    char *p = cf_arena_alloc(arena, n + 1);
    if (p == NULL) {
        return cf_oom_for(err, "the server's tokens");
    }
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(json_integer_value(json_array_get(v, i)) & 0xFF);
    }
    *out = cf_str_make(p, n);
    return CF_OK;
}

/* A server that leaves the pieces out is asked for each token's text; NULL
 * where it is not known. */
static cf_status ask_piece(cf_box *box, const cf_box_ask *ask, cf_token id, cf_str *out,
                           cf_error *err)
{
    char key[16];
    snprintf(key, sizeof key, "%d", (int)id);
    box->pieces = box->pieces != NULL ? box->pieces : json_object();
    json_t *known = json_object_get(box->pieces, key);
    if (known == NULL) {
        if (json_object_size(box->pieces) >= PIECES_MAX) {
            return cf_fail(err, CF_ELIMIT,
                           "the server shows the text of one token at a time, "
                           "and this prompt has more than %d different ones",
                           PIECES_MAX);
        }
        json_t *v = NULL;
        json_t *body = json_pack("{s:[i]}", "tokens", (int)id);
        cf_status st =
            body != NULL ? cf_box__ask_json(ask, "/detokenize", body, &v, err) : cf_oom(err);
        json_decref(body);
        /* Some servers fail over half a character. */
        st = st == CF_EINVAL ? CF_OK : st;
        CF_TRY(st);
        json_t *text = json_object_get(v, "content");
        known = json_is_string(text) ? json_incref(text) : json_null();
        bool ok = box->pieces != NULL && json_object_set_new(box->pieces, key, known) == 0;
        json_decref(v);
        if (!ok) {
            return cf_oom_for(err, "the server's tokens");
        }
    }
    *out = cf_str_make(json_string_value(known), json_string_length(known));
    return CF_OK;
}

static cf_status llama_one(cf_box *box, const cf_box_ask *ask, const json_t *v, cf_arena *arena,
                           cf_token_span *to, cf_str *text, cf_error *err)
{
    const json_t *piece = json_object_get(v, "piece");
    to->id = id_of(piece != NULL ? json_object_get(v, "id") : v);
    if (to->id == CF_TOKEN_NONE) {
        return cf_box__strange("/tokenize", err);
    }
    return piece != NULL ? read_piece(text, piece, arena, err)
                         : ask_piece(box, ask, to->id, text, err);
}

cf_status cf_box__llama_tokens(cf_box *box, const cf_box_ask *ask, cf_str prompt, cf_arena *arena,
                               cf_token_list *out, cf_error *err)
{
    json_t *body = json_pack("{s:s%, s:b, s:b, s:b}", "content", prompt.p, prompt.n, "add_special",
                             1, "parse_special", 1, "with_pieces", 1);
    json_t *v = NULL;
    cf_str *texts = NULL;
    cf_status st = body != NULL ? cf_box__ask_json(ask, "/tokenize", body, &v, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list = json_object_get(v, "tokens");
    st = json_is_array(list) ? make_list(json_array_size(list), arena, out, &texts, err)
                             : cf_box__strange("/tokenize", err);
    for (size_t i = 0; st == CF_OK && i < out->n; i++) {
        st = llama_one(box, ask, json_array_get(list, i), arena, &out->v[i], &texts[i], err);
    }
    if (st == CF_OK) {
        cf_box__place(out->v, texts, out->n, prompt);
    }
    json_decref(v);
    return st;
}

/* ---- vLLM --------------------------------------------------------------- */

/* How a vocabulary spells its entries. */
typedef enum spelling {
    SPELL_PLAIN,  /* U+2581 for a space, if there is one */
    SPELL_LETTERS /* GPT-2's letters for bytes: some entry has U+0120 or
                     U+010A, a space and a line break */
} spelling;

static spelling spelling_of(const json_t *strs)
{
    for (size_t i = 0; i < json_array_size(strs); i++) {
        const char *s = json_string_value(json_array_get(strs, i));
        if (s != NULL && (strstr(s, "\xc4\xa0") != NULL || strstr(s, "\xc4\x8a") != NULL)) {
            return SPELL_LETTERS;
        }
    }
    return SPELL_PLAIN;
}

/* The bytes that an entry stands for; a special token stands for itself. */
static cf_status spell(cf_str *out, cf_str entry, spelling how, cf_arena *arena, cf_error *err)
{
    cf_buf bytes = CF_BUF_INIT;
    bool is_plain = false;
    for (size_t i = 0; !is_plain && i < entry.n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, entry.p + i, entry.n - i);
        n = n != 0 ? n : 1;
        int byte = cf_bpe__byte_of(cp);
        if (how == SPELL_LETTERS && byte >= 0) {
            cf_buf_addc(&bytes, (char)byte);
        } else if (how == SPELL_PLAIN && cp == 0x2581) {
            cf_buf_addc(&bytes, ' ');
        } else {
            is_plain = how == SPELL_LETTERS;
            cf_buf_add(&bytes, entry.p + i, n);
        }
        i += n;
    }
    cf_status st = cf_buf_check(&bytes, err);
    CF_THEN(st, copy_text(out, is_plain ? entry : cf_buf_str(&bytes), arena, err));
    cf_buf_deinit(&bytes);
    return st;
}

cf_status cf_box__vllm_tokens(const json_t *answer, cf_str prompt, cf_arena *arena,
                              cf_token_list *out, cf_error *err)
{
    const json_t *ids = json_object_get(answer, "tokens");
    const json_t *strs = json_object_get(answer, "token_strs");
    const spelling how = spelling_of(strs);
    cf_str *texts = NULL;
    CF_TRY(make_list(json_array_size(ids), arena, out, &texts, err));
    for (size_t i = 0; i < out->n; i++) {
        const json_t *s = json_array_get(strs, i);
        out->v[i].id = id_of(json_array_get(ids, i));
        if (out->v[i].id == CF_TOKEN_NONE || !json_is_string(s)) {
            return cf_box__strange("/tokenize", err);
        }
        CF_TRY(spell(&texts[i], cf_str_make(json_string_value(s), json_string_length(s)), how,
                     arena, err));
    }
    cf_box__place(out->v, texts, out->n, prompt);
    return CF_OK;
}

/* ---- TGI ---------------------------------------------------------------- */

cf_status cf_box__tgi_tokens(const json_t *list, cf_str prompt, cf_arena *arena, cf_token_list *out,
                             cf_error *err)
{
    static const char path[] = "/chat_tokenize";
    cf_str *unused = NULL;
    size_t at = 0;
    json_int_t n_char = 0; /* characters before byte `at` */
    if (!json_is_array(list)) {
        return cf_box__strange(path, err);
    }
    CF_TRY(make_list(json_array_size(list), arena, out, &unused, err));
    for (size_t i = 0; i < out->n; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t bounds[2] = {json_integer_value(json_object_get(v, "start")),
                                json_integer_value(json_object_get(v, "stop"))};
        size_t place[2];
        out->v[i].id = id_of(json_object_get(v, "id"));
        if (out->v[i].id == CF_TOKEN_NONE || bounds[1] < bounds[0]) {
            return cf_box__strange(path, err);
        }
        for (int k = 0; k < 2; k++) {
            while (n_char < bounds[k] && at < prompt.n) {
                at++;
                while (at < prompt.n && ((unsigned char)prompt.p[at] & 0xC0) == 0x80) {
                    at++;
                }
                n_char++;
            }
            place[k] = at;
        }
        out->v[i].off = (uint32_t)place[0];
        out->v[i].len = (uint32_t)(place[1] - place[0]);
    }
    return CF_OK;
}
