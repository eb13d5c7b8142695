/*
 * server_kind.c - recognises a server, and asks it for its prompt.
 *
 * Each kind is a row of operations in a file of its own.
 */
#include <stdio.h>
#include <string.h>

#include "core/backend/server_kind_impl.h"
#include "core/base/utf8.h"

/* In the order in which they are asked: our own server also answers as
 * llama-server, LM Studio answers every path, and
 * Ollama is asked before TGI because its kind is the commoner one. */
static const cf_server_kind__row *const rows[] = {
    &cf_server_confab, &cf_server_llama, &cf_server_ollama,
    &cf_server_vllm,   &cf_server_tgi,   &cf_server_lmstudio,
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- asking ------------------------------------------------------------- */

cf_status cf_server_kind__ask_json(const cf_server_ask *ask, const char *path, const json_t *body,
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

cf_status cf_server_kind__strange(const char *path, cf_error *err)
{
    return cf_fail(err, CF_EFORMAT, "the server's answer to %s is not what was expected", path);
}

uint32_t cf_server_kind__limit(const json_t *v)
{
    json_int_t n = json_integer_value(v);
    return n > 0 && n <= INT32_MAX ? (uint32_t)n : 0;
}

/* The entry of a list whose `key` is the model's name, else the first. */
const json_t *cf_server_kind__entry(const json_t *list, const char *key, const char *model)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        if (cf_str_is(cf_json_get_str(v, key), model)) {
            return v;
        }
    }
    return json_array_get(list, 0);
}

/* ---- what it is --------------------------------------------------------- */

const char *cf_server_kind__name(const cf_server_kind *kind)
{
    return kind->row != NULL ? kind->row->name : "";
}

void cf_server_kind__deinit(cf_server_kind *kind)
{
    json_decref(kind->pieces);
    memset(kind, 0, sizeof *kind);
}

cf_status cf_server_kind__probe(cf_server_kind *kind, const cf_server_ask *ask, cf_error *err)
{
    for (size_t i = 0; kind->row == NULL && i < N_ROWS; i++) {
        const cf_server_kind__row *row = rows[i];
        long status = 0;
        json_t *v = NULL;
        CF_TRY(ask->fn(ask->ud, row->path, NULL, ask->cancel, &status, &v, err));
        if (status == 200 && json_object_get(v, row->key) != NULL &&
            json_object_get(v, "error") == NULL) {
            cf_str version = cf_json_get_str(v, "version");
            version = version.p != NULL ? version : cf_json_get_str(v, "build_info");
            cf_utf8_copy(kind->version, sizeof kind->version, version);
            kind->row = row;
            kind->n_ctx = row->limit(ask, v);
        }
        json_decref(v);
    }
    if (kind->row == NULL) {
        kind->row = &cf_server_plain;
    }
    return CF_OK;
}

bool cf_server_kind__is_plain(const cf_server_kind *kind)
{
    return kind->row == &cf_server_plain;
}

bool cf_server_kind__has_slots(const cf_server_kind *kind)
{
    return kind->row != NULL && kind->row->has_slots;
}

bool cf_server_kind__returns_ids(const cf_server_kind *kind)
{
    return kind->row != NULL && kind->row->returns_ids;
}

bool cf_server_kind__is_at_least(const cf_server_kind *kind, unsigned major, unsigned minor)
{
    unsigned a = 0, b = 0;
    const char *p = kind->version;
    p += *p == 'v';
    return sscanf(p, "%u.%u", &a, &b) == 2 && (a > major || (a == major && b >= minor));
}

bool cf_server_kind__shows_prompt(const cf_server_kind *kind)
{
    return kind->row != NULL && kind->row->prompt != NULL && kind->row->shows_prompt(kind);
}

bool cf_server_kind__shows_tokens(const cf_server_kind *kind)
{
    return kind->row != NULL && kind->row->shows_tokens;
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

cf_status cf_server_kind__keep(cf_str *out, cf_str text, const char *path, cf_arena *arena,
                               cf_error *err)
{
    if (text.p == NULL) {
        return cf_server_kind__strange(path, err);
    }
    char *copy = cf_arena_strndup(arena, text.p, text.n);
    *out = cf_str_make(copy, text.n);
    return copy != NULL ? CF_OK : cf_oom_for(err, "the server's prompt");
}

/* Asks and keeps one text of the answer; `in` NULL: of the answer itself. */
cf_status cf_server_kind__ask_text(const cf_server_ask *ask, const char *path, const json_t *body,
                                   const char *in, const char *key, cf_arena *arena, cf_str *out,
                                   cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_server_kind__ask_json(ask, path, body, &v, err));
    const json_t *from = in != NULL ? json_object_get(v, in) : v;
    cf_status st = cf_server_kind__keep(out, cf_json_get_str(from, key), path, arena, err);
    json_decref(v);
    return st;
}

cf_status cf_server_kind__prompt(cf_server_kind *kind, const cf_server_ask *ask, const json_t *body,
                                 cf_arena *arena, cf_str *prompt, cf_token_list *tokens,
                                 cf_error *err)
{
    const bool shows = cf_server_kind__shows_prompt(kind);
    if (!shows || (tokens != NULL && !kind->row->shows_tokens)) {
        const char *name = cf_server_kind__name(kind);
        return cf_fail(err, CF_EUNSUPPORTED, "%s does not show its %s",
                       name[0] != '\0' ? name : "this server", shows ? "tokens" : "prompt");
    }
    json_t *request = prompt_request(body, ask->model);
    if (request == NULL) {
        return cf_oom_for(err, "the request");
    }
    cf_status st = kind->row->prompt(kind, ask, request, arena, prompt, tokens, err);
    json_decref(request);
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

cf_status cf_server_kind__spans(cf_prompt *p, const json_t *messages, cf_arena *arena,
                                cf_error *err)
{
    size_t n = json_array_size(messages), at = 0;
    p->n_spans = 0;
    p->spans = cf_arena_calloc(arena, 2 * n + 1, sizeof *p->spans);
    if (p->spans == NULL) {
        return cf_oom_for(err, "the prompt's spans");
    }
    for (size_t i = 0; i < n; i++) {
        cf_str text = cf_str_trim(cf_json_get_str(json_array_get(messages, i), "content"));
        size_t found = find(p->text, at, text);
        if (found != SIZE_MAX) {
            add_span(p, &at, found, -1);
            add_span(p, &at, found + text.n, (int)i);
        }
    }
    add_span(p, &at, p->text.n, -1);
    return CF_OK;
}

/* ---- constraints -------------------------------------------------------- */

/* Members of a constraint's spec (constraint_spec.h). */
static const char *const forms[CF_FORM_N] = {[CF_FORM_SCHEMA] = "schema",
                                             [CF_FORM_JSON] = "json",
                                             [CF_FORM_REGEX] = "regex",
                                             [CF_FORM_CHOICES] = "choices",
                                             [CF_FORM_GRAMMAR] = "grammar"};

static cf_status refuse(const cf_server_kind *kind, cf_error *err)
{
    cf_buf takes = CF_BUF_INIT;
    for (size_t i = 0; i < CF_FORM_N; i++) {
        if (kind->row->constrain[i] != NULL) {
            cf_buf_addf(&takes, "%s%s", takes.n > 0 ? ", " : "", forms[i]);
        }
    }
    const char *name = kind->row->name;
    cf_status st = cf_fail(err, CF_EUNSUPPORTED, "%s cannot be constrained this way; it takes: %s",
                           name[0] != '\0' ? name : "this server", cf_buf_cstr(&takes));
    cf_buf_deinit(&takes);
    return st;
}

cf_status cf_server_kind__constrain(const cf_server_kind *kind, json_t *body, const json_t *spec,
                                    cf_error *err)
{
    for (size_t i = 0; i < CF_FORM_N; i++) {
        json_t *value = json_object_get(spec, forms[i]);
        if (value != NULL && kind->row->constrain[i] != NULL) {
            return kind->row->constrain[i](kind, body, value) ? CF_OK
                                                              : cf_oom_for(err, "the constraint");
        }
    }
    return refuse(kind, err);
}
