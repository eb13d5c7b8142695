/*
 * server_tokens.c - tokens of a server, which bytes of the prompt are whose, and
 * what they score.
 */
#include <math.h>
#include <string.h>

#include "core/backend/server_kind_impl.h"

enum {
    REACH_MAX = 64,  /* bytes that tokens without a text may stand for */
    REACH = 1 << 20, /* tokens of one answer */
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

void cf_server_kind__place(cf_token_span *v, const cf_str *texts, size_t n, cf_str prompt)
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
cf_token cf_server_kind__id(const json_t *v)
{
    json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
    return n >= 0 && n <= INT32_MAX ? (cf_token)n : CF_TOKEN_NONE;
}

/* Room for n tokens and their texts. */
cf_status cf_server_kind__make_list(size_t n, cf_arena *arena, cf_token_list *out, cf_str **texts,
                                    cf_error *err)
{
    out->n = n;
    out->v = cf_arena_calloc(arena, n + 1, sizeof *out->v);
    *texts = cf_arena_calloc(arena, n + 1, sizeof **texts);
    return out->v != NULL && *texts != NULL ? CF_OK : cf_oom_for(err, "the server's tokens");
}

cf_status cf_server_kind__copy_text(cf_str *out, cf_str text, cf_arena *arena, cf_error *err)
{
    char *p = cf_arena_strndup(arena, text.p != NULL ? text.p : "", text.n);
    *out = cf_str_make(p, text.n);
    return p != NULL ? CF_OK : cf_oom_for(err, "the server's tokens");
}

/* ---- scores ------------------------------------------------------------- */

cf_status cf_server_kind__make_scored(cf_server_kind__scored *s, size_t n, cf_arena *arena,
                                      cf_error *err)
{
    if (n > REACH) {
        return cf_fail(err, CF_ELIMIT, "the server counts %zu tokens", n);
    }
    s->n = n;
    s->id = cf_arena_calloc(arena, n + 1, sizeof *s->id);
    s->log_p = cf_arena_calloc(arena, n + 1, sizeof *s->log_p);
    s->text = cf_arena_calloc(arena, n + 1, sizeof *s->text);
    return s->id != NULL && s->log_p != NULL && s->text != NULL ? CF_OK
                                                                : cf_oom_for(err, "the scores");
}

cf_status cf_server_kind__set_text(cf_str *out, const json_t *v, cf_arena *arena, cf_error *err)
{
    const char *s = json_string_value(v);
    size_t n = s != NULL ? json_string_length(v) : 0;
    char *copy = cf_arena_strndup(arena, s != NULL ? s : "", n);
    *out = cf_str_make(copy, n);
    return copy != NULL ? CF_OK : cf_oom_for(err, "the scores");
}

float cf_server_kind__number(const json_t *v)
{
    return json_is_number(v) ? (float)json_number_value(v) : (float)NAN;
}

/* A vocabulary may write a space before the first word, which the text does not
 * have. */
static void drop_space(const cf_server_kind__scored *s, cf_str all)
{
    for (size_t i = 0; i < s->n && i < 2 && !cf_str_begins(all, " "); i++) { /* after a BOS */
        cf_str *text = &s->text[i];
        if (text->n > 1 && text->p[0] == ' ' &&
            cf_str_starts(all, cf_str_make(text->p + 1, text->n - 1))) {
            *text = cf_str_make(text->p + 1, text->n - 1);
            return;
        }
    }
}

static bool is_half(cf_str text)
{
    return text.n == 0 || cf_str_find(text, cf_str_from("\xEF\xBF\xBD"), NULL);
}

/* What a server scores must be what it was asked about: each token's text is
 * where the token is, and all of the text has a token.  Half a character has no
 * text of its own; tokens without a place come before the text, or were generated
 * after it. */
static cf_status check_echo(const cf_token_span *v, const cf_server_kind__scored *s, cf_str all,
                            cf_error *err)
{
    size_t end = 0;
    bool is_same = true;
    for (size_t i = 0; i < s->n && is_same; i++) {
        const cf_str text = s->text[i], bytes = cf_str_make(all.p + v[i].off, v[i].len);
        is_same = v[i].len == 0 || (v[i].off == end && (is_half(text) || cf_str_eq(text, bytes)));
        end += v[i].len;
    }
    return is_same && end == all.n
               ? CF_OK
               : cf_fail(err, CF_EUNSUPPORTED,
                         "the server does not score prompts: what it answers to an echo is not "
                         "the text");
}

/* The tokens that begin in the text, or after its beginning.  A token that
 * lies across the border belongs to the text. */
static cf_status cut(const cf_server_kind__scored *s, cf_str all, size_t n_context, cf_arena *arena,
                     cf_score *out, cf_error *err)
{
    cf_token_span *v = cf_arena_calloc(arena, s->n + 1, sizeof *v);
    out->v = cf_arena_calloc(arena, s->n + 1, sizeof *out->v);
    out->log_p = cf_arena_calloc(arena, s->n + 1, sizeof *out->log_p);
    if (v == NULL || out->v == NULL || out->log_p == NULL) {
        return cf_oom_for(err, "the scores");
    }
    drop_space(s, all);
    cf_server_kind__place(v, s->text, s->n, all);
    CF_TRY(check_echo(v, s, all, err));
    out->n = 0;
    out->sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t end = (size_t)v[i].off + v[i].len;
        const bool is_after = v[i].len == 0 && v[i].off == all.n && !is_half(s->text[i]);
        if (end <= n_context || isnan(s->log_p[i]) || is_after) {
            continue; /* of the context, the very first token, or a generated one */
        }
        uint32_t off = v[i].off > n_context ? v[i].off - (uint32_t)n_context : 0;
        out->v[out->n] = (cf_token_span){s->id[i], off, (uint32_t)(end - n_context) - off};
        out->log_p[out->n] = s->log_p[i];
        out->sum += (double)s->log_p[i];
        out->n++;
    }
    return CF_OK;
}

cf_status cf_server_kind__score(cf_server_kind *kind, const cf_server_ask *ask, cf_str context,
                                cf_str text, cf_arena *arena, cf_score *out, cf_error *err)
{
    cf_server_kind__scored s = {.n = 0};
    cf_buf both = CF_BUF_INIT;
    cf_buf_add(&both, context.p, context.n);
    cf_buf_add(&both, text.p, text.n);
    cf_str all = cf_buf_str(&both);
    cf_status st = cf_buf_check(&both, err);
    CF_THEN(st, kind->row->score(kind, ask, all, context.n, &s, arena, err));
    CF_THEN(st, cut(&s, all, context.n, arena, out, err));
    cf_buf_deinit(&both);
    return st;
}
