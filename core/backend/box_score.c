/*
 * box_score.c - how likely a text is, by what each server offers for it.
 *
 * All ways end in the same: tokens with their places in context + text, and a
 * logarithm each; what begins before the end of the context is left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend/box_impl.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"

enum {
    STEPS_MAX = 4096,    /* of a text that is scored token by token */
    CANDIDATES = 1024,   /* that are asked for first, */
    WHOLE = 1024 * 1024, /* and where the token is not among them */
    REACH = 1 << 20,     /* tokens of one answer */
    HEAD = 64            /* bytes that a special token is within */
};

/* Tokens as they are read, before those of the context are left out. */
typedef struct scored {
    cf_token *id; /* [n], in the arena like the others */
    float *log_p; /* [n]; NaN: not told, as for the first */
    cf_str *text; /* [n] */
    size_t n;
} scored;

static cf_status make_scored(scored *s, size_t n, cf_arena *arena, cf_error *err)
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

static cf_status set_text(cf_str *out, const json_t *v, cf_arena *arena, cf_error *err)
{
    const char *s = json_string_value(v);
    size_t n = s != NULL ? json_string_length(v) : 0;
    char *copy = cf_arena_strndup(arena, s != NULL ? s : "", n);
    *out = cf_str_make(copy, n);
    return copy != NULL ? CF_OK : cf_oom_for(err, "the scores");
}

static float number(const json_t *v)
{
    return json_is_number(v) ? (float)json_number_value(v) : (float)NAN;
}

/* The tokens that begin in the text, or after its beginning.  A token that
 * lies across the border belongs to the text. */
static cf_status cut(const scored *s, cf_str all, size_t n_context, cf_arena *arena, cf_score *out,
                     cf_error *err)
{
    cf_token_span *v = cf_arena_calloc(arena, s->n + 1, sizeof *v);
    out->v = cf_arena_calloc(arena, s->n + 1, sizeof *out->v);
    out->log_p = cf_arena_calloc(arena, s->n + 1, sizeof *out->log_p);
    if (v == NULL || out->v == NULL || out->log_p == NULL) {
        return cf_oom_for(err, "the scores");
    }
    cf_box__place(v, s->text, s->n, all);
    out->n = 0;
    out->sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t end = (size_t)v[i].off + v[i].len;
        if (end <= n_context || isnan(s->log_p[i])) {
            continue; /* of the context, or the very first token */
        }
        uint32_t off = v[i].off > n_context ? v[i].off - (uint32_t)n_context : 0;
        out->v[out->n] = (cf_token_span){s->id[i], off, (uint32_t)(end - n_context) - off};
        out->log_p[out->n] = s->log_p[i];
        out->sum += (double)s->log_p[i];
        out->n++;
    }
    return CF_OK;
}

/* ---- vLLM: prompt_logprobs ---------------------------------------------- */

/* One position: {"1234": {"logprob", "rank", "decoded_token"}, ...}; with one
 * entry asked for, the prompt's own token is the entry of the worst rank. */
static cf_status vllm_one(scored *s, size_t i, const json_t *at, cf_arena *arena, cf_error *err)
{
    json_t *in = cf_json_ref(at);
    const char *key;
    json_t *v;
    json_int_t worst = -1;
    s->id[i] = CF_TOKEN_NONE;
    s->log_p[i] = (float)NAN;
    json_object_foreach(in, key, v)
    {
        json_int_t rank = json_integer_value(json_object_get(v, "rank"));
        if (rank > worst) {
            worst = rank;
            s->id[i] = (cf_token)strtol(key, NULL, 10);
            s->log_p[i] = number(json_object_get(v, "logprob"));
            CF_TRY(set_text(&s->text[i], json_object_get(v, "decoded_token"), arena, err));
        }
    }
    return CF_OK;
}

/* Whether the server would begin a prompt that begins with a special token with
 * another one: a chat template has written it already. */
static cf_status vllm_doubles(const cf_box_ask *ask, cf_str all, bool *doubles, cf_error *err)
{
    json_t *v = NULL;
    size_t n = all.n < HEAD ? all.n : HEAD;
    *doubles = false;
    if (n == 0 || (all.p[0] != '<' && all.p[0] != '[')) {
        return CF_OK;
    }
    n -= cf_utf8_incomplete_tail(all.p, n);
    json_t *body = json_pack("{s:s, s:s%, s:b}", "model", ask->model, "prompt", all.p, n,
                             "add_special_tokens", 1);
    cf_status st = body != NULL ? cf_box__ask_json(ask, "/tokenize", body, &v, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    if (st == CF_OK) {
        const json_t *ids = json_object_get(v, "tokens");
        *doubles = json_array_size(ids) > 1 &&
                   json_equal(json_array_get(ids, 0), json_array_get(ids, 1)) != 0;
    }
    json_decref(v);
    return st == CF_EINVAL || st == CF_EUNSUPPORTED ? CF_OK : st;
}

static cf_status vllm_score(const cf_box_ask *ask, cf_str all, scored *s, cf_arena *arena,
                            cf_error *err)
{
    static const char path[] = "/v1/completions";
    json_t *v = NULL;
    bool doubles;
    CF_TRY(vllm_doubles(ask, all, &doubles, err));
    json_t *body = json_pack("{s:s, s:s%, s:i, s:i, s:f, s:b}", "model", ask->model, "prompt",
                             all.p, all.n, "max_tokens", 1, "prompt_logprobs", 0, "temperature",
                             0.0, "add_special_tokens", !doubles);
    cf_status st =
        body != NULL ? cf_box__ask_json(ask, path, body, &v, err) : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(v, "choices"), 0), "prompt_logprobs");
    list = list != NULL ? list : json_object_get(v, "prompt_logprobs");
    st = json_is_array(list) ? make_scored(s, json_array_size(list), arena, err)
                             : cf_box__strange(path, err);
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        st = vllm_one(s, i, json_array_get(list, i), arena, err);
    }
    json_decref(v);
    return st;
}

/* ---- TGI: details of the prefill ---------------------------------------- */

static cf_status tgi_score(const cf_box_ask *ask, cf_str all, scored *s, cf_arena *arena,
                           cf_error *err)
{
    static const char path[] = "/generate";
    json_t *v = NULL;
    json_t *body = json_pack("{s:s%, s:{s:i, s:b, s:b}}", "inputs", all.p, all.n, "parameters",
                             "max_new_tokens", 1, "details", 1, "decoder_input_details", 1);
    cf_status st =
        body != NULL ? cf_box__ask_json(ask, path, body, &v, err) : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list = json_object_get(json_object_get(v, "details"), "prefill");
    st = json_is_array(list) ? make_scored(s, json_array_size(list), arena, err)
                             : cf_box__strange(path, err);
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        const json_t *t = json_array_get(list, i);
        s->id[i] = (cf_token)json_integer_value(json_object_get(t, "id"));
        s->log_p[i] = number(json_object_get(t, "logprob"));
        st = set_text(&s->text[i], json_object_get(t, "text"), arena, err);
    }
    json_decref(v);
    return st;
}

/* ---- OpenAI's completions: echo ----------------------------------------- */

static cf_status echo_score(const cf_box_ask *ask, cf_str all, scored *s, cf_arena *arena,
                            cf_error *err)
{
    static const char path[] = "/v1/completions";
    json_t *v = NULL;
    json_t *body =
        json_pack("{s:s, s:s%, s:i, s:i, s:b, s:f}", "model", ask->model, "prompt", all.p, all.n,
                  "max_tokens", 0, "logprobs", 1, "echo", 1, "temperature", 0.0);
    cf_status st =
        body != NULL ? cf_box__ask_json(ask, path, body, &v, err) : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(v, "choices"), 0), "logprobs");
    const json_t *texts = json_object_get(list, "tokens");
    const json_t *values = json_object_get(list, "token_logprobs");
    size_t n = json_array_size(texts);
    if (n == 0 || json_array_size(values) != n) {
        st = cf_fail(err, CF_EUNSUPPORTED,
                     "the server does not score prompts: no logprobs of an "
                     "echo");
    }
    CF_THEN(st, make_scored(s, n, arena, err));
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        s->id[i] = CF_TOKEN_NONE;
        s->log_p[i] = number(json_array_get(values, i));
        st = set_text(&s->text[i], json_array_get(texts, i), arena, err);
    }
    json_decref(v);
    return st;
}

/* ---- llama-server: n_probs, a token at a time --------------------------- */

/* The likelihood of the token with this text or id among the candidates of
 * the first generated token; NaN when it is not there.  Newer servers give
 * "top_logprobs" with ids, older ones "probs" with texts. */
static float find_candidate(const json_t *answer, cf_token id, cf_str text)
{
    const json_t *at = json_array_get(json_object_get(answer, "completion_probabilities"), 0);
    const json_t *list = json_object_get(at, "top_logprobs");
    bool has_ids = list != NULL;
    list = has_ids ? list : json_object_get(at, "probs");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        if (has_ids && json_integer_value(json_object_get(c, "id")) == id) {
            return number(json_object_get(c, "logprob"));
        }
        if (!has_ids && cf_str_eq(cf_json_get_str(c, "tok_str"), text)) {
            return logf(number(json_object_get(c, "prob")));
        }
    }
    return (float)NAN;
}

/* Asks for n candidates after ids[0..i), before any sampler. */
static cf_status llama_ask(const cf_box_ask *ask, const cf_token_list *all, size_t i, int n,
                           json_t **out, cf_error *err)
{
    json_t *ids = json_array();
    bool ok = ids != NULL;
    for (size_t k = 0; ok && k < i; k++) {
        ok = json_array_append_new(ids, json_integer(all->v[k].id)) == 0;
    }
    json_t *body = ok ? json_pack("{s:O, s:i, s:i, s:b, s:f, s:i, s:f, s:f, "
                                  "s:b, s:[s]}",
                                  "prompt", ids, "n_predict", 1, "n_probs", n, "cache_prompt", 1,
                                  "temperature", 1.0, "top_k", 0, "top_p", 1.0, "min_p", 0.0,
                                  "post_sampling_probs", 0, "samplers", "temperature")
                      : NULL;
    json_decref(ids);
    cf_status st = body != NULL ? cf_box__ask_json(ask, "/completion", body, out, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    return st;
}

static cf_status llama_step(const cf_box_ask *ask, const cf_token_list *all, size_t i, cf_str text,
                            float *log_p, cf_error *err)
{
    static const int counts[] = {CANDIDATES, WHOLE};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        json_t *v = NULL;
        CF_TRY(llama_ask(ask, all, i, counts[k], &v, err));
        *log_p = find_candidate(v, all->v[i].id, text);
        json_decref(v);
        if (!isnan(*log_p)) {
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EUNSUPPORTED,
                   "token %d of the text is not among the candidates that the "
                   "server shows",
                   (int)all->v[i].id);
}

/* Leaves out a BOS of the server's own before one that the text has. */
static void drop_double(cf_token_list *list, cf_str all)
{
    size_t n = list->n > 1 ? list->v[0].len : 0;
    if (n > 0 && list->v[0].id == list->v[1].id &&
        (all.n < 2 * n || memcmp(all.p, all.p + n, n) != 0)) {
        list->v[1] = list->v[0];
        list->v++;
        list->n--;
    }
}

static cf_status llama_score(cf_box *box, const cf_box_ask *ask, cf_str all, size_t n_context,
                             scored *s, cf_arena *arena, cf_error *err)
{
    cf_token_list list;
    CF_TRY(cf_box__llama_tokens(box, ask, all, arena, &list, err));
    drop_double(&list, all);
    CF_TRY(make_scored(s, list.n, arena, err));
    size_t n_steps = 0;
    for (size_t i = 0; i < list.n; i++) {
        const cf_token_span *t = &list.v[i];
        s->id[i] = t->id;
        s->text[i] = cf_str_make(all.p + t->off, t->len);
        s->log_p[i] = (float)NAN;
        if (i == 0 || (size_t)t->off + t->len <= n_context) {
            continue;
        }
        if (++n_steps > STEPS_MAX) {
            return cf_fail(err, CF_ELIMIT,
                           "this server scores a token at a time: %d tokens "
                           "at most",
                           STEPS_MAX);
        }
        CF_TRY(llama_step(ask, &list, i, s->text[i], &s->log_p[i], err));
    }
    return CF_OK;
}

cf_status cf_box__score(cf_box *box, const cf_box_ask *ask, cf_str context, cf_str text,
                        cf_arena *arena, cf_score *out, cf_error *err)
{
    scored s = {.n = 0};
    cf_buf both = CF_BUF_INIT;
    cf_buf_add(&both, context.p, context.n);
    cf_buf_add(&both, text.p, text.n);
    cf_str all = cf_buf_str(&both);
    cf_status st = cf_buf_check(&both, err);
    if (st == CF_OK && box->kind == CF_BOX_LLAMA) {
        st = llama_score(box, ask, all, context.n, &s, arena, err);
    } else if (st == CF_OK && box->kind == CF_BOX_VLLM) {
        st = vllm_score(ask, all, &s, arena, err);
    } else if (st == CF_OK && box->kind == CF_BOX_TGI) {
        st = tgi_score(ask, all, &s, arena, err);
    } else if (st == CF_OK) {
        st = echo_score(ask, all, &s, arena, err);
    }
    CF_THEN(st, cut(&s, all, context.n, arena, out, err));
    cf_buf_deinit(&both);
    return st;
}
