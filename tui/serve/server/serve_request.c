/*
 * serve_request.c - what a request asks for, or why that cannot be done.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/api/constraint_spec.h"
#include "core/api/reply_options.h"
#include "core/base/os.h"
#include "core/json/json_builder.h"
#include "tui/serve/server/serve_impl.h"

void cf_serve__asked_deinit(cf_serve__asked *a)
{
    cf_wire_request_deinit(&a->wire);
    json_decref(a->messages);
    cf_tool_set_free(a->tools);
    cf_grammar_free(a->grammar);
    memset(a, 0, sizeof *a);
}

/* A setting; NULL: not given. */
static const json_t *get(const cf_serve__asked *a, const char *key)
{
    return json_object_get(a->wire.settings, key);
}

cf_status cf_serve__token(cf_token *out, const json_t *v, const cf_tokenizer *tok,
                          const char *field, cf_error *err)
{
    const json_int_t n_vocab = (json_int_t)cf_tokenizer_n_vocab(tok);
    const json_int_t id = json_integer_value(v);
    if (!json_is_integer(v) || id < 0 || id >= n_vocab) {
        return cf_fail(err, CF_EINVAL, "'%s': a token is not a number below %lld", field,
                       (long long)n_vocab);
    }
    *out = (cf_token)id;
    return CF_OK;
}

/* ---- messages ----------------------------------------------------------- */

/* Pictures and sounds come with the request: a path of this machine, or an
 * address, would have the server read what the client may not. */
static cf_status check_part(const json_t *part, size_t message, const cf_opened *opened,
                            cf_error *err)
{
    cf_attachment a;
    cf_status st = CF_OK;
    if (!cf_attachment_read(&a, part)) {
        st = CF_OK;
    } else if (opened->media_cache == NULL) {
        st = cf_fail(err, CF_EINVAL, "messages[%zu] has %s: this server's model reads none",
                     message, a.kind == CF_ATTACHMENT_IMAGE ? "a picture" : "a sound");
    } else if (a.base64.n == 0) {
        st = cf_fail(err, CF_EINVAL,
                     "messages[%zu]: pictures and sounds must be in the request "
                     "as base64",
                     message);
    }
    cf_attachment_deinit(&a);
    return st;
}

static cf_status check_parts(const json_t *content, size_t message, const cf_opened *opened,
                             cf_error *err)
{
    for (size_t i = 0; i < json_array_size(content); i++) {
        CF_TRY(check_part(json_array_get(content, i), message, opened, err));
    }
    return CF_OK;
}

/* The messages, with the roles as the template names them. */
static cf_status read_messages(cf_serve__asked *a, const cf_opened *opened, cf_jb *b, cf_error *err)
{
    const json_t *list = a->wire.messages;
    a->messages = json_array();
    if (json_array_size(list) == 0) {
        return cf_fail(err, CF_EINVAL, "'messages' must be a list of messages");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *m = cf_json_copy(json_array_get(list, i));
        cf_str to = cf_role_map_get(&opened->roles, cf_json_get_str(m, "role"));
        cf_jb_set(b, m, "role", json_stringn(to.p, to.n));
        cf_jb_append(b, a->messages, m);
        CF_TRY(check_parts(json_object_get(m, "content"), i, opened, err));
    }
    return CF_OK;
}

/* Fields of a request that cannot be left out, in a form that cannot be
 * read. */
static cf_status check_unknown(const cf_serve__asked *a, cf_error *err)
{
    static const struct {
        const char *path, *want;
    } rows[] = {{"tools[", "'tools' must be functions"},
                {"prompt[", "'prompt' must be one text"},
                {"chat_template_kwargs", "'chat_template_kwargs' must be an object"}};
    for (size_t i = 0; i < json_array_size(a->wire.unknown); i++) {
        const char *path = json_string_value(json_array_get(a->wire.unknown, i));
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            if (strncmp(path, rows[k].path, strlen(rows[k].path)) == 0) {
                return cf_fail(err, CF_EINVAL, "%s", rows[k].want);
            }
        }
    }
    return CF_OK;
}

/* ---- numbers ------------------------------------------------------------ */

static cf_status read_u32(const cf_serve__asked *a, const char *key, uint32_t max, uint32_t *out,
                          cf_error *err)
{
    const json_t *v = get(a, key);
    if (v == NULL) {
        return CF_OK;
    }
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < 0 || n > (json_int_t)max) {
        return cf_fail(err, CF_EINVAL, "'%s' must be a number from 0 to %u", key, max);
    }
    *out = (uint32_t)n;
    return CF_OK;
}

/* One option of the sampler under one of its names. */
static cf_status read_option(cf_serve__asked *a, const cf_option *o, const char *name,
                             cf_error *err)
{
    const json_t *v = name != NULL ? get(a, name) : NULL;
    char *to = (char *)&a->options + o->offset;
    if (v == NULL || (o->kind != CF_OPTION_F32 && o->kind != CF_OPTION_U32)) {
        return CF_OK;
    }
    double x = json_number_value(v);
    if (!json_is_number(v) || !(x >= o->min && x <= o->max)) {
        return cf_fail(err, CF_EINVAL, "'%s' must be %s", name, o->range);
    }
    if (o->kind == CF_OPTION_F32) {
        float f = (float)x;
        memcpy(to, &f, sizeof f);
    } else {
        uint32_t u = (uint32_t)x;
        memcpy(to, &u, sizeof u);
    }
    return CF_OK;
}

static cf_status read_bias(cf_serve__asked *a, cf_error *err)
{
    json_t *v = json_object_get(a->wire.settings, "logit_bias");
    size_t n = 0;
    for (void *it = json_object_iter(v); it != NULL; it = json_object_iter_next(v, it)) {
        const json_t *bias = json_object_iter_value(it);
        char *end;
        long id = strtol(json_object_iter_key(it), &end, 10);
        if (n == CF_SERVE_BIAS_MAX || *end != '\0' || id < 0 || id > INT32_MAX ||
            !json_is_number(bias)) {
            return cf_fail(err, CF_EINVAL, "'logit_bias' must map token ids to numbers");
        }
        double x = json_number_value(bias);
        a->bias[n++] = (cf_logit_bias){(cf_token)id, x <= -100 ? -INFINITY : (float)x};
    }
    a->options.sampling.bias = n > 0 ? a->bias : NULL;
    a->options.sampling.n_bias = n;
    return CF_OK;
}

/* Options that are not given are those of the command line. */
static cf_status read_sampling(cf_serve__asked *a, cf_error *err)
{
    cf_sampling *s = &a->options.sampling;
    *s = (cf_sampling){.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f};
    a->options.has_sampling = true;
    for (int i = 0; i < CF_OPTION_N; i++) {
        CF_TRY(read_option(a, &cf_options[i], cf_options[i].wire[0], err));
        CF_TRY(read_option(a, &cf_options[i], cf_options[i].wire[1], err));
    }
    const json_t *seed = get(a, "seed");
    a->has_seed = json_is_integer(seed) && json_integer_value(seed) >= 0;
    if (seed != NULL && !json_is_integer(seed)) {
        return cf_fail(err, CF_EINVAL, "'seed' must be a whole number");
    }
    if (a->has_seed) {
        s->seed = (uint64_t)json_integer_value(seed);
    } else {
        cf_os_entropy(&s->seed, sizeof s->seed);
    }
    return read_bias(a, err);
}

static cf_status read_stops(cf_serve__asked *a, cf_error *err)
{
    const json_t *v = get(a, "stop");
    size_t n = json_array_size(v);
    if (v != NULL && !json_is_array(v)) {
        return cf_fail(err, CF_EINVAL, "'stop' must be texts");
    }
    if (n > CF_SERVE_STOPS_MAX) {
        return cf_fail(err, CF_EINVAL, "'stop' has more than %d texts", CF_SERVE_STOPS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(v, i);
        if (json_string_length(one) == 0) {
            return cf_fail(err, CF_EINVAL, "'stop' must be texts");
        }
        a->stops[i] = cf_str_make(json_string_value(one), json_string_length(one));
    }
    a->options.stop = a->stops;
    a->options.n_stop = n;
    return CF_OK;
}

static cf_status read_numbers(cf_serve__asked *a, cf_error *err)
{
    uint32_t top = 0;
    a->n = 1;
    CF_TRY(read_u32(a, "n", CF_SERVE_N_MAX, &a->n, err));
    CF_TRY(read_u32(a, "max_tokens", INT32_MAX, &a->options.max_tokens, err));
    CF_TRY(read_u32(a, "top_logprobs", 20, &top, err));
    const json_t *logprobs = get(a, "logprobs");
    if (json_is_integer(logprobs)) { /* completions give the number itself */
        CF_TRY(read_u32(a, "logprobs", 20, &top, err));
    }
    a->has_logprobs = json_is_true(logprobs) || json_is_integer(logprobs);
    a->options.n_top = !a->has_logprobs ? 0 : top > 0 ? top : 1;
    return a->n > 0 ? CF_OK : cf_fail(err, CF_EINVAL, "'n' must be at least 1");
}

/* ---- form of the reply -------------------------------------------------- */

/* The spec (constraint_spec.h) that the request's form means; NULL: none. */
static cf_status form_of(const cf_serve__asked *a, json_t **spec, cf_jb *b, cf_error *err)
{
    static const struct {
        const char *key, *spec;
    } others[] = {{"json_schema", "schema"},
                  {"guided_json", "schema"},
                  {"guided_regex", "regex"},
                  {"guided_choice", "choices"},
                  {"grammar", "grammar"}};
    const json_t *form = a->wire.format;
    cf_str type = cf_json_get_str(form, "type");
    bool is_wanted = form != NULL;
    *spec = NULL;
    if (cf_str_is(type, "json_object")) {
        *spec = json_pack("{s:b}", "json", 1);
    } else if (cf_str_is(type, "json_schema")) {
        const json_t *schema = json_object_get(form, "schema");
        if (schema == NULL) {
            return cf_fail(err, CF_EINVAL, "'response_format' has no json_schema.schema");
        }
        *spec = json_pack("{s:O}", "schema", schema);
    } else if (form != NULL) {
        return cf_fail(err, CF_EINVAL,
                       "'response_format' must be text, json_object or "
                       "json_schema");
    }
    for (size_t i = 0; *spec == NULL && i < sizeof others / sizeof others[0]; i++) {
        const json_t *v = get(a, others[i].key);
        if (v != NULL) {
            *spec = json_pack("{s:O}", others[i].spec, v);
            is_wanted = true;
        }
    }
    if (is_wanted && *spec == NULL) {
        cf_jb_fail(b);
    }
    return CF_OK;
}

static cf_status read_tools(cf_serve__asked *a, const cf_opened *opened, json_t **spec, cf_jb *b,
                            cf_error *err)
{
    const json_t *list = a->wire.tools;
    const cf_wire_tool_choice choice = a->wire.tool_choice;
    const bool is_named = choice == CF_WIRE_TOOLS_NAMED;
    if (json_array_size(list) == 0 || choice == CF_WIRE_TOOLS_NONE) {
        return CF_OK;
    }
    json_t *some = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        cf_str name = cf_json_get_str(json_object_get(one, "function"), "name");
        if (!is_named || cf_str_is(name, a->wire.tool_name)) {
            cf_jb_append(b, some, json_incref(one));
        }
    }
    cf_status st =
        !is_named || json_array_size(some) > 0
            ? cf_tool_set_new(&a->tools, some, err)
            : cf_fail(err, CF_EINVAL, "'tool_choice': there is no tool %.60s", a->wire.tool_name);
    json_decref(some);
    if (st == CF_OK && (is_named || choice == CF_WIRE_TOOLS_REQUIRED) && *spec == NULL) {
        *spec = json_pack("{s:s, s:s}", "tools", "calls", "family",
                          cf_tool_family_name(opened->family));
        if (*spec == NULL) {
            cf_jb_fail(b);
        }
    }
    return st == CF_EFORMAT ? cf_fail_in(err, CF_EINVAL, "tools") : st;
}

static cf_status read_form(cf_serve__asked *a, const cf_opened *opened,
                           const cf_constraint_vocab *vocab, cf_jb *b, cf_error *err)
{
    json_t *spec;
    CF_TRY(form_of(a, &spec, b, err));
    cf_status st = read_tools(a, opened, &spec, b, err);
    if (st == CF_OK && spec != NULL) {
        st = cf_constraint_spec_compile(&a->grammar, spec, a->tools, err);
        a->options.grammar = a->grammar;
        a->options.vocab = vocab;
    }
    json_decref(spec);
    return st;
}

/* The messages of the response that this one goes on from come before its own;
 * the instructions of each hold for that one alone. */
static cf_status add_past(cf_serve__asked *a, const cf_serve *s, cf_error *err)
{
    json_t *past = NULL;
    const cf_wire_request *w = &a->wire;
    a->n_rules = cf_json_get_str(w->body, "instructions").n > 0;
    if (a->api != CF_API_OPENAI_RESPONSES || w->previous[0] == '\0') {
        return CF_OK;
    }
    a->param = "previous_response_id";
    cf_status st = cf_serve__past_get(s->past, w->previous, &past, err);
    size_t at = a->n_rules;
    for (size_t i = 0; st == CF_OK && i < json_array_size(past); i++) {
        st = json_array_insert(w->messages, at++, json_array_get(past, i)) == 0 ? CF_OK
                                                                                : cf_oom(err);
    }
    json_decref(past);
    return st;
}

cf_status cf_serve__read(cf_serve__asked *a, const cf_serve *s, cf_str body, cf_api api,
                         cf_error *err)
{
    const cf_opened *opened = s->opened;
    cf_jb b = CF_JB_INIT;
    memset(a, 0, sizeof *a);
    a->api = api;
    a->is_raw = api == CF_API_OPENAI_COMPLETIONS;
    cf_status st = cf_wire_request_read(&a->wire, api, body, err);
    CF_THEN(st, check_unknown(a, err));
    CF_THEN(st, add_past(a, s, err));
    if (a->is_raw) { /* the prompt takes the place of a message */
        a->messages = json_incref(a->wire.messages);
    } else {
        CF_THEN(st, read_messages(a, opened, &b, err));
    }
    CF_THEN(st, read_sampling(a, err));
    CF_THEN(st, read_stops(a, err));
    CF_THEN(st, read_numbers(a, err));
    CF_THEN(st, read_form(a, opened, s->vocab, &b, err));
    CF_THEN(st, cf_jb_check(&b, err));
    return st;
}
