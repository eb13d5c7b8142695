/*
 * serve_request.c - what a request asks for, or why that cannot be done.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
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
    for (uint32_t i = 0; i < a->n_given; i++) {
        json_decref(a->given[i].messages);
    }
    cf_tool_set_free(a->tools);
    cf_grammar_free(a->grammar);
    cf_buf_deinit(&a->accepted);
    cf_arena_deinit(&a->arena);
    memset(a, 0, sizeof *a);
}

cf_status cf_serve__refuse(cf_error *err, const char *field, const char *fmt, ...)
{
    char why[CF_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return cf_fail(err, CF_EINVAL, "'%.100s' %s", field, why);
}

/* A setting; NULL: not given. */
static const json_t *get(const cf_serve__asked *a, const char *key)
{
    return json_object_get(a->wire.settings, key);
}

/* The path of a setting in the request. */
static const char *place(const cf_serve__asked *a, const char *key)
{
    return cf_wire_place(&a->wire, a->api, key);
}

cf_status cf_serve__token(cf_token *out, const json_t *v, const cf_tokenizer *tok,
                          const char *field, cf_error *err)
{
    const json_int_t n_vocab = (json_int_t)cf_tokenizer_n_vocab(tok);
    const json_int_t id = json_integer_value(v);
    if (!json_is_integer(v) || id < 0 || id >= n_vocab) {
        return cf_serve__refuse(err, field, "must have tokens that are numbers below %lld",
                                (long long)n_vocab);
    }
    *out = (cf_token)id;
    return CF_OK;
}

/* ---- messages ----------------------------------------------------------- */

/* Where a message is in the request, as far as its interface has messages. */
static const char *list_name(const cf_serve__asked *a)
{
    return a->api == CF_API_OPENAI_RESPONSES  ? "input"
           : a->api == CF_API_OLLAMA_GENERATE ? "images"
                                              : "messages";
}

/* Pictures and sounds come with the request: a path of this machine, or an
 * address, would have the server read what the client may not. */
static cf_status check_part(const json_t *part, const char *field, const cf_opened *opened,
                            cf_error *err)
{
    cf_attachment at;
    cf_str type = cf_json_get_str(part, "type");
    cf_status st = CF_OK;
    if (!cf_attachment_read(&at, part)) {
        st = cf_str_is(type, "text") && cf_json_get_str(part, "text").p != NULL
                 ? CF_OK
                 : cf_serve__refuse(err, field, "is a part of a type that no model reads: %.*s",
                                    (int)(type.n < 40 ? type.n : 40), type.n > 0 ? type.p : "");
    } else if (opened->media_cache == NULL) {
        st = cf_serve__refuse(err, field, "has %s: this server's model reads none",
                              at.kind == CF_ATTACHMENT_IMAGE ? "a picture" : "a sound");
    } else if (at.base64.n == 0) {
        st = cf_serve__refuse(err, field, "must have pictures and sounds in the request as base64");
    }
    cf_attachment_deinit(&at);
    return st;
}

/* Checks the parts of a content; *is_text: all of them are text. */
static cf_status check_parts(cf_serve__asked *a, const json_t *content, size_t message,
                             const cf_opened *opened, bool *is_text, cf_error *err)
{
    char field[80];
    *is_text = json_array_size(content) > 0;
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        snprintf(field, sizeof field, "%s[%zu].content[%zu]", list_name(a), message, i);
        CF_TRY(check_part(part, field, opened, err));
        *is_text = *is_text && cf_json_get_str(part, "text").p != NULL;
    }
    return CF_OK;
}

static bool is_role(const cf_opened *opened, cf_str role)
{
    static const char *const roles[] = {"system",    "developer", "user",
                                        "assistant", "tool",      "function"};
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (cf_str_is(role, roles[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < opened->roles.n; i++) {
        if (cf_str_is(role, opened->roles.v[i].from)) {
            return true;
        }
    }
    return false;
}

/* A tool's result in parts of text becomes one text: few templates write such
 * parts. */
static cf_status read_message(cf_serve__asked *a, const json_t *in, size_t i,
                              const cf_opened *opened, cf_jb *b, cf_error *err)
{
    char field[80];
    bool is_text = false;
    cf_str role = cf_json_get_str(in, "role");
    const json_t *content = json_object_get(in, "content");
    json_t *m = cf_json_copy(in);
    cf_str to = cf_role_map_get(&opened->roles, role);
    cf_jb_set(b, m, "role", json_stringn(to.p, to.n));
    cf_jb_append(b, a->messages, m);
    if (!is_role(opened, role)) {
        snprintf(field, sizeof field, "%s[%zu].role", list_name(a), i);
        return cf_serve__refuse(err, field, "is no role: %.*s", (int)(role.n < 40 ? role.n : 40),
                                role.p);
    }
    if (content != NULL && !json_is_null(content) && !json_is_string(content) &&
        !json_is_array(content)) {
        snprintf(field, sizeof field, "%s[%zu].content", list_name(a), i);
        return cf_serve__refuse(err, field, "must be a text or a list of parts");
    }
    CF_TRY(check_parts(a, content, i, opened, &is_text, err));
    if (is_text && cf_str_is(role, "tool")) {
        cf_buf text = CF_BUF_INIT;
        for (size_t k = 0; k < json_array_size(content); k++) {
            cf_str s = cf_json_get_str(json_array_get(content, k), "text");
            cf_buf_add(&text, s.p, s.n);
        }
        cf_jb_set(b, m, "content", cf_json_buf(&text));
        cf_buf_deinit(&text);
    }
    return CF_OK;
}

/* A reply that stands at the end is one to go on with. */
static cf_status take_prefix(cf_serve__asked *a, cf_error *err)
{
    const size_t n = json_array_size(a->messages);
    const json_t *last = json_array_get(a->wire.messages, n - 1);
    char field[80];
    if (n == 0 || !cf_str_is(cf_json_get_str(last, "role"), "assistant")) {
        return CF_OK;
    }
    snprintf(field, sizeof field, "%s[%zu]", list_name(a), n - 1);
    const json_t *content = json_object_get(last, "content");
    if (json_array_size(json_object_get(last, "tool_calls")) > 0) {
        return cf_serve__refuse(err, field, "calls tools, and no results follow");
    }
    if (cf_json_get_str(last, "reasoning_content").n > 0) {
        return cf_serve__refuse(err, field,
                                "is to be gone on with, and cannot begin with thinking");
    }
    cf_buf text = CF_BUF_INIT;
    cf_str s = cf_json_get_str(last, "content");
    cf_buf_add(&text, s.p, s.n);
    for (size_t i = 0; i < json_array_size(content); i++) {
        s = cf_json_get_str(json_array_get(content, i), "text");
        cf_buf_add(&text, s.p, s.n);
    }
    char *copy = cf_arena_strndup(&a->arena, cf_buf_cstr(&text), text.n);
    a->prefix = cf_str_make(copy, text.n);
    const bool ok = !text.failed && copy != NULL && json_array_remove(a->messages, n - 1) == 0;
    cf_buf_deinit(&text);
    return ok ? CF_OK : cf_oom(err);
}

/* The messages, with the roles as the template names them. */
static cf_status read_messages(cf_serve__asked *a, const cf_opened *opened, cf_jb *b, cf_error *err)
{
    const json_t *list = a->wire.messages;
    a->messages = json_array();
    if (json_array_size(list) == 0) {
        return cf_serve__refuse(err, list_name(a), "must be a list of messages");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        CF_TRY(read_message(a, json_array_get(list, i), i, opened, b, err));
    }
    CF_TRY(take_prefix(a, err));
    a->given[0].messages = json_incref(a->messages);
    a->n_given = 1;
    return CF_OK;
}

/* ---- prompts that are not conversations --------------------------------- */

static json_t *message_of(json_t *text)
{
    return json_pack("[{s:s, s:O}]", "role", "user", "content", text);
}

static cf_status read_prompt(cf_serve__asked *a, json_t *v, const cf_tokenizer *tok, cf_error *err)
{
    cf_serve__given *to = &a->given[a->n_given];
    const size_t n = json_array_size(v);
    json_t *none = NULL;
    if (!json_is_string(v) && n == 0) {
        return cf_serve__refuse(err, "prompt",
                                "must be a text, a list of tokens, or a list of these");
    }
    cf_token *ids = n > 0 ? cf_arena_calloc(&a->arena, n, sizeof *ids) : NULL;
    if (n > 0 && ids == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < n; i++) {
        CF_TRY(cf_serve__token(&ids[i], json_array_get(v, i), tok, "prompt", err));
    }
    none = n > 0 ? json_string("") : json_incref(v);
    *to = (cf_serve__given){.messages = message_of(none), .ids = ids, .n_ids = n};
    json_decref(none);
    a->n_given++;
    return to->messages != NULL ? CF_OK : cf_oom(err);
}

static cf_status read_prompts(cf_serve__asked *a, const cf_tokenizer *tok, cf_error *err)
{
    const json_t *list = a->wire.prompts;
    const size_t n = json_array_size(list);
    if (n * a->n > CF_SERVE_N_MAX) {
        return cf_serve__refuse(err, "prompt", "and 'n' ask for %zu replies: %d at most", n * a->n,
                                CF_SERVE_N_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        CF_TRY(read_prompt(a, json_array_get(list, i), tok, err));
    }
    a->messages = json_incref(a->given[0].messages);
    a->has_echo = json_is_true(get(a, "echo"));
    return CF_OK;
}

/* Ollama's "raw": the prompt without a template. */
static cf_status read_raw(cf_serve__asked *a, const cf_tokenizer *tok, cf_error *err)
{
    if (json_array_size(a->wire.messages) > 1) {
        return cf_serve__refuse(err, "system", "has no place in a raw prompt");
    }
    return read_prompt(a, json_object_get(a->wire.body, "prompt"), tok, err);
}

/* ---- numbers ------------------------------------------------------------ */

static cf_status read_u32(cf_serve__asked *a, const char *key, uint32_t max, uint32_t *out,
                          cf_error *err)
{
    const json_t *v = get(a, key);
    if (v == NULL) {
        return CF_OK;
    }
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < 0 || n > (json_int_t)max) {
        return cf_serve__refuse(err, place(a, key), "must be a number from 0 to %u", max);
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
        return cf_serve__refuse(err, place(a, name), "must be %s", o->range);
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

static cf_status read_bias(cf_serve__asked *a, const cf_tokenizer *tok, cf_error *err)
{
    json_t *v = json_object_get(a->wire.settings, "logit_bias");
    size_t n = 0;
    for (void *it = json_object_iter(v); it != NULL; it = json_object_iter_next(v, it)) {
        const json_t *bias = json_object_iter_value(it);
        const double x = json_number_value(bias);
        char *end;
        long id = strtol(json_object_iter_key(it), &end, 10);
        if (n == CF_SERVE_BIAS_MAX || *end != '\0' || end == json_object_iter_key(it) || id < 0 ||
            (unsigned long)id >= cf_tokenizer_n_vocab(tok) || !json_is_number(bias) ||
            fabs(x) > 100) {
            return cf_serve__refuse(err, "logit_bias",
                                    "must map ids of tokens to numbers from -100 to 100");
        }
        a->bias[n++] = (cf_logit_bias){(cf_token)id, x <= -100 ? -INFINITY : (float)x};
    }
    a->options.sampling.bias = n > 0 ? a->bias : NULL;
    a->options.sampling.n_bias = n;
    return CF_OK;
}

/* Options that are not given are those of the command line. */
static cf_status read_sampling(cf_serve__asked *a, const cf_tokenizer *tok, cf_error *err)
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
        return cf_serve__refuse(err, place(a, "seed"), "must be a whole number");
    }
    if (a->has_seed) {
        s->seed = (uint64_t)json_integer_value(seed);
    } else {
        cf_os_entropy(&s->seed, sizeof s->seed);
    }
    return read_bias(a, tok, err);
}

static cf_status read_stops(cf_serve__asked *a, cf_error *err)
{
    const json_t *v = get(a, "stop");
    size_t n = json_array_size(v);
    if (v != NULL && !json_is_array(v)) {
        return cf_serve__refuse(err, place(a, "stop"), "must be texts");
    }
    if (n > CF_SERVE_STOPS_MAX) {
        return cf_serve__refuse(err, place(a, "stop"), "has more than %d texts",
                                CF_SERVE_STOPS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(v, i);
        if (json_string_length(one) == 0) {
            return cf_serve__refuse(err, place(a, "stop"), "must be texts");
        }
        a->stops[i] = cf_str_make(json_string_value(one), json_string_length(one));
    }
    a->options.stop = a->stops;
    a->options.n_stop = n;
    return CF_OK;
}

/* -1, and Ollama's -2, are no limit; of 0 tokens nothing is generated. */
static cf_status read_limit(cf_serve__asked *a, cf_error *err)
{
    const json_t *v = get(a, "max_tokens");
    const json_int_t n = json_integer_value(v);
    if (json_is_integer(v) && (n == -1 || n == -2)) {
        return CF_OK;
    }
    CF_TRY(read_u32(a, "max_tokens", INT32_MAX, &a->options.max_tokens, err));
    a->is_prompt_only = v != NULL && n == 0;
    return CF_OK;
}

static cf_status read_numbers(cf_serve__asked *a, cf_error *err)
{
    uint32_t top = 0;
    a->n = 1;
    CF_TRY(read_u32(a, "n", CF_SERVE_N_MAX, &a->n, err));
    CF_TRY(read_limit(a, err));
    CF_TRY(read_u32(a, "top_logprobs", 20, &top, err));
    const json_t *logprobs = get(a, "logprobs");
    if (json_is_integer(logprobs)) { /* completions give the number itself */
        CF_TRY(read_u32(a, "logprobs", 20, &top, err));
    }
    a->has_logprobs = json_is_true(logprobs) || json_is_integer(logprobs);
    if (top > 0 && !a->has_logprobs) {
        return cf_serve__refuse(err, place(a, "top_logprobs"), "needs 'logprobs'");
    }
    a->options.n_top = !a->has_logprobs ? 0 : top > 0 ? top : 1;
    return a->n > 0 ? CF_OK
                    : cf_serve__refuse(err, place(a, "n"), "must be a number from 1 to %d",
                                       CF_SERVE_N_MAX);
}

/* ---- thinking ----------------------------------------------------------- */

/* Tokens of thinking that an effort allows; -1: no limit. */
static int32_t budget_of(cf_str effort)
{
    static const struct {
        const char *word;
        int32_t budget;
    } rows[] = {{"none", 0},  {"minimal", 256}, {"low", 1024}, {"medium", 4096},
                {"high", -1}, {"xhigh", -1},    {"max", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (cf_str_is(effort, rows[i].word)) {
            return rows[i].budget;
        }
    }
    return INT32_MIN;
}

static void set_variable(cf_serve__asked *a, const char *name, json_t *value, cf_jb *b)
{
    if (a->wire.variables == NULL) {
        a->wire.variables = json_object();
    }
    if (json_object_get(a->wire.variables, name) == NULL) {
        cf_jb_set(b, a->wire.variables, name, json_incref(value));
    }
    json_decref(value);
}

static void set_budget(cf_serve__asked *a, int32_t budget)
{
    a->options.has_thinking_budget = budget >= 0;
    a->options.thinking_budget = budget;
}

/* Thinking is switched by the template where it can be, else ended at once. */
static void switch_thinking(cf_serve__asked *a, const cf_serve *s, bool is_on, cf_jb *b)
{
    if (cf_str_find(cf_buf_str(&s->opened->source), cf_str_from("enable_thinking"), NULL)) {
        set_variable(a, "enable_thinking", json_boolean(is_on), b);
    } else if (!is_on) {
        set_budget(a, 0);
    }
}

static cf_status read_effort(cf_serve__asked *a, const cf_serve *s, cf_jb *b, cf_error *err)
{
    const json_t *v = get(a, "reasoning_effort");
    cf_str effort = cf_json_get_str(a->wire.settings, "reasoning_effort");
    if (v == NULL) {
        return CF_OK;
    }
    const int32_t budget = budget_of(effort);
    if (budget == INT32_MIN) {
        return cf_serve__refuse(err, place(a, "reasoning_effort"),
                                "must be none, minimal, low, medium, high, xhigh or max");
    }
    if (cf_str_find(cf_buf_str(&s->opened->source), cf_str_from("reasoning_effort"), NULL)) {
        set_variable(a, "reasoning_effort", json_stringn(effort.p, effort.n), b);
        return CF_OK;
    }
    switch_thinking(a, s, budget != 0, b);
    if (budget != 0) {
        set_budget(a, budget);
    }
    return CF_OK;
}

/* A model that does not think does what is asked in any case. */
static cf_status read_thinking(cf_serve__asked *a, const cf_serve *s, cf_jb *b, cf_error *err)
{
    uint32_t budget = 0;
    cf_str type = cf_json_get_str(a->wire.settings, "thinking");
    CF_TRY(read_effort(a, s, b, err));
    if (get(a, "thinking") != NULL) {
        const bool is_off = cf_str_is(type, "disabled");
        if (!is_off && !cf_str_is(type, "enabled") && !cf_str_is(type, "adaptive")) {
            return cf_serve__refuse(err, place(a, "thinking"),
                                    "must be enabled, adaptive or disabled");
        }
        switch_thinking(a, s, !is_off, b);
    }
    if (get(a, "thinking_budget") != NULL) {
        CF_TRY(read_u32(a, "thinking_budget", INT32_MAX, &budget, err));
        set_budget(a, (int32_t)budget);
    }
    return CF_OK;
}

/* ---- form of the reply -------------------------------------------------- */

static const char *form_name(const cf_serve__asked *a)
{
    return a->api == CF_API_OPENAI_RESPONSES     ? "text.format"
           : a->api == CF_API_ANTHROPIC_MESSAGES ? "output_config.format"
           : a->api == CF_API_OLLAMA_CHAT || a->api == CF_API_OLLAMA_GENERATE ? "format"
                                                                              : "response_format";
}

/* The spec (constraint_spec.h) that the request's form means; NULL: none. */
static cf_status form_of(cf_serve__asked *a, json_t **spec, cf_jb *b, cf_error *err)
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
            return cf_serve__refuse(err, form_name(a), "has no schema");
        }
        *spec = json_pack("{s:O}", "schema", schema);
    } else if (form != NULL) {
        return cf_serve__refuse(err, form_name(a), "must be text, json_object or json_schema");
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const json_t *v = get(a, others[i].key);
        if (v != NULL && is_wanted) {
            return cf_serve__refuse(err, place(a, others[i].key),
                                    "cannot be asked for together with another form");
        }
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

/* All tools are in the prompt, whichever may be called: so it begins like that of
 * the next request. */
static cf_status declare(cf_serve__asked *a, cf_error *err)
{
    const json_t *sent = json_object_get(a->wire.body, "tools");
    for (size_t i = 0; a->api == CF_API_OPENAI_RESPONSES && i < json_array_size(sent); i++) {
        if (cf_str_is(cf_json_get_str(json_array_get(sent, i), "type"), "custom")) {
            return cf_serve__refuse(err, "tools",
                                    "has a custom tool: this server's models call functions");
        }
    }
    cf_status st = cf_tool_set_new(&a->tools, a->wire.tools, err);
    return st == CF_EFORMAT ? cf_fail_in(err, CF_EINVAL, "'tools'") : st;
}

/* The one tool that must be called, in a set of its own. */
static cf_status find_named(cf_tool_set **out, const cf_serve__asked *a, cf_error *err)
{
    for (size_t i = 0; i < json_array_size(a->wire.tools); i++) {
        json_t *one = json_array_get(a->wire.tools, i);
        if (cf_str_is(cf_json_get_str(json_object_get(one, "function"), "name"),
                      a->wire.tool_name)) {
            json_t *list = json_pack("[O]", one);
            cf_status st = list != NULL ? cf_tool_set_new(out, list, err) : cf_oom(err);
            json_decref(list);
            return st;
        }
    }
    return cf_serve__refuse(err, "tool_choice", "names a tool that there is not: %.60s",
                            a->wire.tool_name);
}

/* Calls are what the reply must be, or may be in place of its form. */
static json_t *tools_spec(const json_t *schema, cf_tool_family family)
{
    return json_pack("{s:s, s:s, s:O*}", "tools", "calls", "family", cf_tool_family_name(family),
                     "schema", schema);
}

static cf_status read_tools(cf_serve__asked *a, const cf_opened *opened, json_t **spec, cf_jb *b,
                            cf_error *err)
{
    const cf_wire_tool_choice choice = a->wire.tool_choice;
    const json_t *asked = json_object_get(a->wire.body, "tool_choice");
    const bool is_needed = choice == CF_WIRE_TOOLS_NAMED || choice == CF_WIRE_TOOLS_REQUIRED;
    if (choice == CF_WIRE_TOOLS_UNSET && asked != NULL && !json_is_null(asked)) {
        return cf_serve__refuse(err, "tool_choice",
                                "must be auto, none, required or one declared function");
    }
    if (json_array_size(a->wire.tools) == 0 && is_needed) {
        return cf_serve__refuse(err, "tool_choice", "asks for a call, and 'tools' declares none");
    }
    if (json_array_size(a->wire.tools) == 0 || choice == CF_WIRE_TOOLS_NONE) {
        return CF_OK;
    }
    CF_TRY(declare(a, err));
    a->options.max_calls = a->wire.has_one_call ? 1 : 0;
    a->options.sends_call_parts = a->wire.is_stream;
    if (!is_needed && *spec == NULL) {
        return CF_OK;
    }
    json_t *schema = json_object_get(*spec, "schema");
    json_t *any = json_is_true(json_object_get(*spec, "json"))
                      ? json_pack("{s:[s, s]}", "type", "object", "array")
                      : NULL;
    if (!is_needed && schema == NULL && any == NULL) {
        return cf_serve__refuse(err, "tools", "cannot be declared together with this constraint");
    }
    json_t *both = tools_spec(is_needed ? NULL : any != NULL ? any : schema, opened->family);
    json_decref(any);
    json_decref(*spec);
    *spec = both;
    if (both == NULL) {
        cf_jb_fail(b);
    }
    return CF_OK;
}

static cf_status read_form(cf_serve__asked *a, const cf_opened *opened,
                           const cf_constraint_vocab *vocab, cf_jb *b, cf_error *err)
{
    json_t *spec = NULL;
    cf_tool_set *named = NULL;
    char field[40];
    cf_status st = form_of(a, &spec, b, err);
    CF_THEN(st, read_tools(a, opened, &spec, b, err));
    if (a->wire.tool_choice == CF_WIRE_TOOLS_NAMED) {
        CF_THEN(st, find_named(&named, a, err));
    }
    if (st == CF_OK && spec != NULL) {
        st = cf_constraint_spec_compile(&a->grammar, spec, named != NULL ? named : a->tools, err);
        if (st != CF_OK && (a->wire.format != NULL || a->tools != NULL)) {
            snprintf(field, sizeof field, "'%s'", a->wire.format != NULL ? form_name(a) : "tools");
            st = cf_fail_in(err, st, field);
        }
        a->options.grammar = a->grammar;
        a->options.vocab = vocab;
    }
    cf_tool_set_free(named);
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
    cf_jb b = CF_JB_INIT;
    memset(a, 0, sizeof *a);
    cf_arena_init(&a->arena, 0);
    a->api = api;
    cf_status st = cf_wire_request_read(&a->wire, api, body, err);
    const bool is_ollama_raw =
        api == CF_API_OLLAMA_GENERATE && json_is_true(json_object_get(a->wire.body, "raw"));
    a->is_raw = api == CF_API_OPENAI_COMPLETIONS || is_ollama_raw;
    CF_THEN(st, cf_serve__check_fields(a, err));
    CF_THEN(st, add_past(a, s, err));
    CF_THEN(st, read_sampling(a, s->tok, err));
    CF_THEN(st, read_stops(a, err));
    CF_THEN(st, read_numbers(a, err));
    CF_THEN(st, read_thinking(a, s, &b, err));
    CF_THEN(st, is_ollama_raw ? read_raw(a, s->tok, err)
                : a->is_raw   ? read_prompts(a, s->tok, err)
                              : read_messages(a, s->opened, &b, err));
    CF_THEN(st, read_form(a, s->opened, s->vocab, &b, err));
    CF_THEN(st, cf_jb_check(&b, err));
    cf_jb_deinit(&b);
    return st;
}
