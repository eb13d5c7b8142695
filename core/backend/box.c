/*
 * box.c - recognises a server, and asks it for its prompt.
 *
 * Each kind has a row: the request that only it answers, what the answer
 * holds, and where its context limit is.
 */
#include "core/backend/box.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend/box_impl.h"
#include "core/base/alloc.h"
#include "core/base/utf8.h"

/* ---- asking ------------------------------------------------------------- */

cf_status cf_box__ask_json(const cf_box_ask *ask, const char *path, const json_t *body,
                           json_t **out, cf_error *err)
{
    long status = 0;
    json_t *v = NULL;
    CF_TRY(ask->fn(ask->ud, path, body, ask->cancel, &status, &v, err));
    if (status == 200 && v != NULL) {
        *out = v;
        return CF_OK;
    }
    const json_t *error = json_object_get(v, "error");
    cf_str text = cf_json_get_str(error, "message");
    text = text.p != NULL ? text : cf_json_get_str(v, "error");
    text = text.p != NULL ? text : cf_json_get_str(v, "message");
    cf_status st = status == 404 || status == 405 || status == 501
                       ? cf_fail(err, CF_EUNSUPPORTED, "the server does not know %s", path)
                   : status == 200
                       ? cf_fail(err, CF_EFORMAT, "the server's answer to %s is not JSON", path)
                       : cf_fail(err, CF_EINVAL, "the server says %ld to %s%s%.*s", status, path,
                                 text.n > 0 ? ": " : "", (int)(text.n < 120 ? text.n : 120),
                                 text.p != NULL ? text.p : "");
    json_decref(v);
    return st;
}

cf_status cf_box__strange(const char *path, cf_error *err)
{
    return cf_fail(err, CF_EFORMAT, "the server's answer to %s is not what was expected", path);
}

static uint32_t limit(const json_t *v)
{
    json_int_t n = json_integer_value(v);
    return n > 0 && n <= INT32_MAX ? (uint32_t)n : 0;
}

/* ---- what it is --------------------------------------------------------- */

typedef struct probe {
    cf_box_kind kind;
    const char *name;
    const char *path; /* that only this kind answers with */
    const char *key;  /* this member */
} probe;

/* In this order: LM Studio answers every path, and Ollama is asked before TGI
 * because its kind is the commoner one. */
static const probe probes[] = {
    {CF_BOX_LLAMA, "llama-server", "/props", "default_generation_settings"},
    {CF_BOX_OLLAMA, "Ollama", "/api/version", "version"},
    {CF_BOX_VLLM, "vLLM", "/version", "version"},
    {CF_BOX_TGI, "TGI", "/info", "max_total_tokens"},
    {CF_BOX_LMSTUDIO, "LM Studio", "/api/v0/models", "data"},
};

enum { N_PROBES = sizeof probes / sizeof probes[0] };

const char *cf_box__name(cf_box_kind kind)
{
    for (size_t i = 0; i < N_PROBES; i++) {
        if (probes[i].kind == kind) {
            return probes[i].name;
        }
    }
    return "";
}

void cf_box__deinit(cf_box *box)
{
    json_decref(box->pieces);
    memset(box, 0, sizeof *box);
}

/* The entry of a list whose `key` is the model's name, else the first. */
static const json_t *entry(const json_t *list, const char *key, const char *model)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (cf_str_is(cf_json_get_str(v, key), model)) {
            return v;
        }
    }
    return json_array_get(list, 0);
}

/* "num_ctx   4096" among the lines of Ollama's parameters. */
static uint32_t ollama_num_ctx(const json_t *show)
{
    const char *text = json_string_value(json_object_get(show, "parameters"));
    const char *at = text != NULL ? strstr(text, "num_ctx") : NULL;
    long n = at != NULL ? strtol(at + strlen("num_ctx"), NULL, 10) : 0;
    return n > 0 && n <= INT32_MAX ? (uint32_t)n : 0;
}

/* The context that Ollama loaded the model with, else what its file asks
 * for; not the length that the model was trained with. */
static uint32_t ollama_limit(const cf_box_ask *ask)
{
    cf_error ignored;
    json_t *v = NULL;
    uint32_t n = 0;
    if (cf_box__ask_json(ask, "/api/ps", NULL, &v, &ignored) == CF_OK) {
        const json_t *list = json_object_get(v, "models");
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *m = json_array_get(list, i);
            if (cf_str_is(cf_json_get_str(m, "name"), ask->model) ||
                cf_str_is(cf_json_get_str(m, "model"), ask->model)) {
                n = limit(json_object_get(m, "context_length"));
            }
        }
        json_decref(v);
    }
    v = NULL;
    json_t *body = json_pack("{s:s}", "model", ask->model);
    if (n == 0 && body != NULL && cf_box__ask_json(ask, "/api/show", body, &v, &ignored) == CF_OK) {
        n = ollama_num_ctx(v);
        json_decref(v);
    }
    json_decref(body);
    return n;
}

static uint32_t vllm_limit(const cf_box_ask *ask)
{
    cf_error ignored;
    json_t *v = NULL;
    uint32_t n = 0;
    if (cf_box__ask_json(ask, "/v1/models", NULL, &v, &ignored) == CF_OK) {
        n = limit(
            json_object_get(entry(json_object_get(v, "data"), "id", ask->model), "max_model_len"));
        json_decref(v);
    }
    return n;
}

static uint32_t find_limit(cf_box_kind kind, const cf_box_ask *ask, const json_t *answer)
{
    const json_t *v;
    switch (kind) {
    case CF_BOX_LLAMA:
        v = json_object_get(answer, "default_generation_settings");
        return limit(json_object_get(v, "n_ctx"));
    case CF_BOX_VLLM:
        return vllm_limit(ask);
    case CF_BOX_OLLAMA:
        return ollama_limit(ask);
    case CF_BOX_TGI:
        return limit(json_object_get(answer, "max_total_tokens"));
    case CF_BOX_LMSTUDIO:
        v = entry(json_object_get(answer, "data"), "id", ask->model);
        return limit(json_object_get(v, "loaded_context_length"));
    case CF_BOX_UNKNOWN:
    case CF_BOX_PLAIN:
        break;
    }
    return 0;
}

cf_status cf_box__probe(cf_box *box, const cf_box_ask *ask, cf_error *err)
{
    for (size_t i = 0; box->kind == CF_BOX_UNKNOWN && i < N_PROBES; i++) {
        const probe *p = &probes[i];
        long status = 0;
        json_t *v = NULL;
        CF_TRY(ask->fn(ask->ud, p->path, NULL, ask->cancel, &status, &v, err));
        if (status == 200 && json_object_get(v, p->key) != NULL &&
            json_object_get(v, "error") == NULL) {
            cf_str version = cf_json_get_str(v, "version");
            version = version.p != NULL ? version : cf_json_get_str(v, "build_info");
            cf_utf8_copy(box->version, sizeof box->version, version);
            box->kind = p->kind;
            box->n_ctx = find_limit(p->kind, ask, v);
        }
        json_decref(v);
    }
    if (box->kind == CF_BOX_UNKNOWN) {
        box->kind = CF_BOX_PLAIN;
    }
    return CF_OK;
}

bool cf_box__is_at_least(const cf_box *box, unsigned major, unsigned minor)
{
    unsigned a = 0, b = 0;
    const char *p = box->version;
    p += *p == 'v';
    return sscanf(p, "%u.%u", &a, &b) == 2 && (a > major || (a == major && b >= minor));
}

bool cf_box__shows_prompt(const cf_box *box)
{
    return box->kind == CF_BOX_LLAMA || box->kind == CF_BOX_VLLM || box->kind == CF_BOX_TGI ||
           (box->kind == CF_BOX_OLLAMA && cf_box__is_at_least(box, 0, 12));
}

bool cf_box__shows_tokens(const cf_box *box)
{
    return box->kind == CF_BOX_LLAMA || box->kind == CF_BOX_VLLM || box->kind == CF_BOX_TGI;
}

/* ---- its prompt --------------------------------------------------------- */

/* The members of a chat request that a prompt depends on; a new reference. */
static json_t *prompt_request(const json_t *body, const char *model)
{
    static const char *const keys[] = {"messages", "tools", "chat_template_kwargs"};
    json_t *v = json_object();
    bool ok = v != NULL;
    for (size_t i = 0; ok && i < sizeof keys / sizeof keys[0]; i++) {
        json_t *item = json_object_get(body, keys[i]);
        ok = item == NULL || json_object_set(v, keys[i], item) == 0;
    }
    if (ok && model != NULL) {
        ok = json_object_set_new(v, "model", json_string(model)) == 0;
    }
    if (!ok) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static cf_status keep(cf_str *out, cf_str text, const char *path, cf_arena *arena, cf_error *err)
{
    if (text.p == NULL) {
        return cf_box__strange(path, err);
    }
    char *copy = cf_arena_strndup(arena, text.p, text.n);
    *out = cf_str_make(copy, text.n);
    return copy != NULL ? CF_OK : cf_oom_for(err, "the server's prompt");
}

/* Asks and keeps one text of the answer; `in` NULL: of the answer itself. */
static cf_status ask_text(const cf_box_ask *ask, const char *path, const json_t *body,
                          const char *in, const char *key, cf_arena *arena, cf_str *out,
                          cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_box__ask_json(ask, path, body, &v, err));
    const json_t *from = in != NULL ? json_object_get(v, in) : v;
    cf_status st = keep(out, cf_json_get_str(from, key), path, arena, err);
    json_decref(v);
    return st;
}

static cf_status llama_prompt(cf_box *box, const cf_box_ask *ask, const json_t *body,
                              cf_arena *arena, cf_str *prompt, cf_token_list *tokens, cf_error *err)
{
    CF_TRY(ask_text(ask, "/apply-template", body, NULL, "prompt", arena, prompt, err));
    return tokens != NULL ? cf_box__llama_tokens(box, ask, *prompt, arena, tokens, err) : CF_OK;
}

static cf_status vllm_prompt(const cf_box_ask *ask, json_t *body, cf_arena *arena, cf_str *prompt,
                             cf_token_list *tokens, cf_error *err)
{
    json_t *v = NULL, *request = NULL;
    json_object_set_new(body, "add_generation_prompt", json_true());
    json_object_set_new(body, "add_special_tokens", json_false());
    json_object_set_new(body, "return_token_strs", json_true());
    CF_TRY(cf_box__ask_json(ask, "/tokenize", body, &v, err));
    json_t *ids = json_object_get(v, "tokens");
    cf_status st = CF_OK;
    if (!json_is_array(ids)) {
        st = cf_box__strange("/tokenize", err);
    } else {
        request = json_pack("{s:s, s:O}", "model", ask->model, "tokens", ids);
        st = request != NULL ? CF_OK : cf_oom(err);
    }
    CF_THEN(st, ask_text(ask, "/detokenize", request, NULL, "prompt", arena, prompt, err));
    if (st == CF_OK && tokens != NULL) {
        st = cf_box__vllm_tokens(v, *prompt, arena, tokens, err);
    }
    json_decref(request);
    json_decref(v);
    return st;
}

/* Renders only; a server from before that option writes one token at most. */
static cf_status ollama_prompt(const cf_box_ask *ask, json_t *body, cf_arena *arena, cf_str *prompt,
                               cf_error *err)
{
    const json_t *kwargs = json_object_get(body, "chat_template_kwargs");
    json_t *think = json_object_get(kwargs, "enable_thinking");
    json_object_set_new(body, "stream", json_false());
    json_object_set_new(body, "_debug_render_only", json_true());
    json_object_set_new(body, "options", json_pack("{s:i}", "num_predict", 1));
    if (think != NULL) {
        json_object_set(body, "think", think);
    }
    json_object_del(body, "chat_template_kwargs");
    return ask_text(ask, "/api/chat", body, "_debug_info", "rendered_template", arena, prompt, err);
}

static cf_status tgi_prompt(const cf_box_ask *ask, const json_t *body, cf_arena *arena,
                            cf_str *prompt, cf_token_list *tokens, cf_error *err)
{
    static const char path[] = "/chat_tokenize";
    json_t *v = NULL;
    CF_TRY(cf_box__ask_json(ask, path, body, &v, err));
    cf_status st = keep(prompt, cf_json_get_str(v, "templated_text"), path, arena, err);
    if (st == CF_OK && tokens != NULL) {
        st = cf_box__tgi_tokens(json_object_get(v, "tokenize_response"), *prompt, arena, tokens,
                                err);
    }
    json_decref(v);
    return st;
}

cf_status cf_box__prompt(cf_box *box, const cf_box_ask *ask, const json_t *body, cf_arena *arena,
                         cf_str *prompt, cf_token_list *tokens, cf_error *err)
{
    if (!cf_box__shows_prompt(box) || (tokens != NULL && !cf_box__shows_tokens(box))) {
        return cf_fail(err, CF_EUNSUPPORTED, "%s does not show its %s",
                       box->kind > CF_BOX_PLAIN ? cf_box__name(box->kind) : "this server",
                       cf_box__shows_prompt(box) ? "tokens" : "prompt");
    }
    const uint64_t failures = cf_alloc_failures();
    json_t *request = prompt_request(body, ask->model);
    if (request == NULL) {
        return cf_oom_for(err, "the request");
    }
    cf_status st = CF_OK;
    switch (box->kind) {
    case CF_BOX_LLAMA:
        st = llama_prompt(box, ask, request, arena, prompt, tokens, err);
        break;
    case CF_BOX_VLLM:
        st = vllm_prompt(ask, request, arena, prompt, tokens, err);
        break;
    case CF_BOX_OLLAMA:
        st = ollama_prompt(ask, request, arena, prompt, err);
        break;
    case CF_BOX_TGI:
        st = tgi_prompt(ask, request, arena, prompt, tokens, err);
        break;
    case CF_BOX_UNKNOWN:
    case CF_BOX_PLAIN:
    case CF_BOX_LMSTUDIO:
        break;
    }
    json_decref(request);
    CF_THEN(st, cf_alloc_check(failures, err));
    return st;
}

/* ---- spans -------------------------------------------------------------- */

static size_t find(cf_str in, size_t from, cf_str what)
{
    for (size_t i = from; what.n > 0 && i + what.n <= in.n; i++) {
        if (in.p[i] == what.p[0] && memcmp(in.p + i, what.p, what.n) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Blanks at the ends, which many templates take away. */
static cf_str trimmed(cf_str s)
{
    while (s.n > 0 && strchr(" \n\r\t", s.p[0]) != NULL && s.p[0] != '\0') {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && s.p[s.n - 1] != '\0' && strchr(" \n\r\t", s.p[s.n - 1]) != NULL) {
        s.n--;
    }
    return s;
}

static void add_span(cf_prompt *p, size_t *at, size_t to, int message)
{
    if (to > *at) {
        p->spans[p->n_spans++] =
            (cf_prompt_span){.off = (uint32_t)*at,
                             .len = (uint32_t)(to - *at),
                             .source = message >= 0 ? CF_SPAN_MESSAGE : CF_SPAN_TEMPLATE,
                             .index = message >= 0 ? (uint32_t)message : 0,
                             .path = message >= 0 ? cf_str_from(".content") : cf_str_make(NULL, 0)};
    }
    *at = to;
}

cf_status cf_box__spans(cf_prompt *p, const json_t *messages, cf_arena *arena, cf_error *err)
{
    size_t n = json_array_size(messages), at = 0;
    p->n_spans = 0;
    p->spans = cf_arena_calloc(arena, 2 * n + 1, sizeof *p->spans);
    if (p->spans == NULL) {
        return cf_oom_for(err, "the prompt's spans");
    }
    for (size_t i = 0; i < n; i++) {
        cf_str text = trimmed(cf_json_get_str(json_array_get(messages, i), "content"));
        size_t found = find(p->text, at, text);
        if (found != SIZE_MAX) {
            add_span(p, &at, found, -1);
            add_span(p, &at, found + text.n, (int)i);
        }
    }
    add_span(p, &at, p->text.n, -1);
    return CF_OK;
}
