/*
 * remote_body.c - a request of the conversation as one of OpenAI's chat
 * completions.
 *
 * core/wire writes it; here attachments are loaded, so that images and sounds
 * of any form are sent with their bytes and without a path, and the options
 * get the names that servers know.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/api/message_form.h"
#include "core/api/reply_options.h"
#include "core/backend/remote.h"
#include "core/json/json_builder.h"
#include "core/tools/tool_emit.h"
#include "core/wire/wire.h"

enum { TOP_LOGPROBS_MAX = 20 };

/* ---- content ------------------------------------------------------------ */

/* A message on its way to the wire. */
typedef struct wire {
    bool with_thinking;
    size_t n_message; /* as it was given, from 1 */
    cf_buf *notes;    /* lines about what is not sent */
} wire;

/* What takes the place of an attachment that is not here. */
static json_t *absent(wire *w, const cf_attachment *a, const cf_error *why)
{
    cf_buf_addf(w->notes, "message %zu: %s: not sent\n", w->n_message, why->text);
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "[%s: not here]", cf_attachment_kind_name(a->kind));
    json_t *part = json_pack("{s:s, s:o}", "type", "text", "text", cf_json_buf(&text));
    cf_buf_deinit(&text);
    return part;
}

static json_t *wire_part(wire *w, json_t *part)
{
    cf_attachment a;
    cf_error why;
    cf_str text = cf_json_get_str(part, "text");
    json_t *out;
    if (json_is_string(part) || text.p != NULL) {
        json_t *v = json_is_string(part) ? part : json_object_get(part, "text");
        return json_pack("{s:s, s:O}", "type", "text", "text", v);
    }
    if (!cf_attachment_read(&a, part)) {
        out = json_incref(part); /* of a kind that only the server may know */
    } else {
        cf_status st = cf_attachment_load(&a, &why);
        out = st == CF_OK ? cf_attachment_part(&a) : st == CF_ENOMEM ? NULL : absent(w, &a, &why);
    }
    cf_attachment_deinit(&a);
    return out;
}

/* A result that is JSON of its own goes as its text. */
static bool is_value(const json_t *content)
{
    const json_t *first = json_array_get(content, 0);
    return json_is_object(content) || json_is_number(content) || json_is_boolean(content) ||
           (json_is_array(content) && cf_json_get_str(first, "type").n == 0);
}

static json_t *wire_content(wire *w, json_t *content)
{
    if (is_value(content)) {
        cf_buf text = CF_BUF_INIT;
        cf_json_write(&text, content);
        json_t *v = cf_json_buf(&text);
        cf_buf_deinit(&text);
        return v;
    }
    if (!json_is_array(content)) {
        return json_incref(content);
    }
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < json_array_size(content); i++) {
        ok = json_array_append_new(list, wire_part(w, json_array_get(content, i))) == 0;
    }
    json_t *out = ok ? cf_parts_joined(list) : NULL;
    json_decref(list);
    return out;
}

/* ---- messages ----------------------------------------------------------- */

static json_t *wire_message(wire *w, const json_t *m, cf_jb *b)
{
    json_t *v = cf_json_copy(m);
    json_t *content = json_object_get(m, "content");
    if (!w->with_thinking) {
        (void)json_object_del(v, "reasoning_content");
    }
    if (content != NULL) {
        cf_jb_set(b, v, "content", wire_content(w, content));
    }
    return v;
}

static json_t *wire_messages(const json_t *messages, bool with_thinking, cf_buf *notes, cf_jb *b)
{
    wire w = {.with_thinking = with_thinking, .notes = notes};
    json_t *list = json_array();
    cf_formed formed;
    if (cf_messages_form(&formed, messages, NULL) != CF_OK) {
        cf_jb_fail(b);
        return list;
    }
    for (size_t i = 0; i < json_array_size(formed.messages); i++) {
        w.n_message = (size_t)cf_formed_origin(&formed, i) + 1;
        cf_jb_append(b, list, wire_message(&w, json_array_get(formed.messages, i), b));
    }
    cf_formed_deinit(&formed);
    return list;
}

/* ---- options ------------------------------------------------------------ */

/* A float as the decimal that was written: 0.7, not 0.699999988. */
static json_t *decimal(float v)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)v);
    double d = 0;
    (void)sscanf(text, "%lf", &d);
    return json_real(d);
}

/* {"50": -3}; a suppressed token has the least possible bias. */
static json_t *bias_object(const cf_chat_options *o, cf_jb *b)
{
    enum { BIAS_MIN = -100 };
    const cf_sampling *s = &o->sampling;
    json_t *v = json_object();
    char key[16];
    for (size_t i = 0; i < s->n_bias; i++) {
        float bias = isfinite(s->bias[i].bias) ? s->bias[i].bias : BIAS_MIN;
        snprintf(key, sizeof key, "%d", (int)s->bias[i].id);
        bool is_whole = floorf(bias) >= bias;
        cf_jb_set(b, v, key, is_whole ? json_integer((json_int_t)bias) : decimal(bias));
    }
    for (size_t i = 0; i < s->n_suppress; i++) {
        snprintf(key, sizeof key, "%d", (int)s->suppress[i]);
        cf_jb_set(b, v, key, json_integer(BIAS_MIN));
    }
    return v;
}

static json_t *option_value(const cf_chat_options *o, cf_option_id id, cf_jb *b)
{
    switch (cf_options[id].kind) {
    case CF_OPTION_F32:
        return decimal((float)cf_option_number(o, id));
    case CF_OPTION_U32:
        return json_integer((json_int_t)cf_option_number(o, id));
    case CF_OPTION_SEED:
        return json_integer((json_int_t)(o->sampling.seed & INT64_MAX));
    case CF_OPTION_BIAS:
    case CF_OPTION_TOKENS:
        break;
    }
    return bias_object(o, b);
}

/* Options that no server can do. */
static cf_status check_options(const cf_chat_options *o, cf_error *err)
{
    for (int i = 0; i < CF_OPTION_N; i++) {
        if (cf_option_is_asked(o, (cf_option_id)i) && cf_options[i].wire[0] == NULL) {
            return cf_fail(err, CF_EUNSUPPORTED, "a server cannot do %s; leave it out",
                           cf_options[i].name);
        }
    }
    if (o->has_thinking_budget) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "a server cannot limit its thinking; leave the budget "
                       "out");
    }
    if (o->n_stop_ids > 0) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "a server cannot stop at token ids; stop at their text");
    }
    if (o->grammar != NULL && o->constraint == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "a server cannot be constrained by a grammar");
    }
    return CF_OK;
}

/* The options that the user set and nothing else. */
static json_t *settings_of(const cf_chat_options *o, cf_jb *b)
{
    json_t *v = json_object();
    for (int i = 0; i < CF_OPTION_N; i++) {
        const cf_option *row = &cf_options[i];
        for (size_t k = 0; k < 2 && cf_option_is_asked(o, (cf_option_id)i); k++) {
            if (row->wire[k] != NULL) {
                cf_jb_set(b, v, row->wire[k], option_value(o, (cf_option_id)i, b));
            }
        }
    }
    if (o->max_tokens > 0) {
        cf_jb_set(b, v, "max_tokens", json_integer(o->max_tokens));
    }
    if (o->n_stop > 0) {
        json_t *list = json_array();
        for (size_t i = 0; i < o->n_stop; i++) {
            cf_jb_append(b, list, json_stringn(o->stop[i].p, o->stop[i].n));
        }
        cf_jb_set(b, v, "stop", list);
    }
    if (o->n_top > 0) {
        cf_jb_set(b, v, "logprobs", json_true());
        cf_jb_set(b, v, "top_logprobs",
                  json_integer(o->n_top < TOP_LOGPROBS_MAX ? o->n_top : TOP_LOGPROBS_MAX));
    }
    return v;
}

/* Template variables go where llama-server and vLLM look for them. */
static json_t *variables_of(const cf_chat_request *request, cf_jb *b)
{
    json_t *v =
        request->extra_context != NULL ? cf_json_copy(request->extra_context) : json_object();
    const cf_chat_options *o = request->options;
    if (o != NULL && o->thinking != CF_THINKING_DEFAULT &&
        json_object_get(v, "enable_thinking") == NULL) {
        cf_jb_set(b, v, "enable_thinking", json_boolean(o->thinking == CF_THINKING_ON));
    }
    if (v == NULL) {
        cf_jb_fail(b);
    }
    return v;
}

cf_status cf_remote__body(json_t **out, const char *model, const cf_chat_request *request,
                          cf_buf *notes, cf_error *err)
{
    static const cf_chat_options none;
    const cf_chat_options *o = request->options != NULL ? request->options : &none;
    cf_wire_request q = {.is_stream = true, .has_usage = true};
    cf_jb b = CF_JB_INIT;
    json_t *body = NULL;
    size_t n_tools = 0;
    if (request->options != NULL) {
        CF_TRY(check_options(o, err));
    }
    q.messages = wire_messages(request->messages, o->sends_thinking, notes, &b);
    q.settings = request->options != NULL ? settings_of(o, &b) : NULL;
    q.variables = variables_of(request, &b);
    if (request->tools != NULL) {
        cf_tool_set_items(request->tools, &n_tools);
    }
    q.tools = n_tools > 0 ? cf_tool_set_openai(request->tools) : NULL;
    if (n_tools > 0 && q.tools == NULL) {
        cf_jb_fail(&b);
    }
    cf_status st = cf_jb_check(&b, err);
    CF_THEN(st, cf_wire_request_write(&body, CF_API_OPENAI_CHAT, &q, err));
    if (st == CF_OK) {
        cf_jb_set(&b, body, "model", json_string(model));
        if (o->vendor != NULL && json_object_update(body, cf_json_ref(o->vendor)) != 0) {
            cf_jb_fail(&b);
        }
        st = cf_jb_check(&b, err);
    }
    cf_wire_request_deinit(&q);
    cf_jb_deinit(&b);
    if (st != CF_OK) {
        json_decref(body);
        return st;
    }
    *out = body;
    return CF_OK;
}

/* ---- arguments that a server refuses ------------------------------------ */

/* Whether `text` names the argument, as a word of its own. */
static bool names(cf_str text, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, key, n) == 0 && (i == 0 || !cf_tool__is_name(text.p[i - 1])) &&
            (i + n == text.n || !cf_tool__is_name(text.p[i + n]))) {
            return true;
        }
    }
    return false;
}

static bool may_be_left_out(const char *key)
{
    static const char *const needed[] = {"model", "messages", "stream", "tools", "response_format"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (strcmp(key, needed[i]) == 0) {
            return false;
        }
    }
    return true;
}

bool cf_remote__find_refused(const json_t *body, cf_str text, json_t *refused)
{
    json_t *in = cf_json_ref(body);
    const char *key;
    json_t *v;
    bool found = false;
    json_object_foreach(in, key, v)
    {
        if (may_be_left_out(key) && json_object_get(refused, key) == NULL && names(text, key)) {
            /* OpenAI's newer models take the limit under another name. */
            bool is_renamed =
                strcmp(key, "max_tokens") == 0 && names(text, "max_completion_tokens");
            found = json_object_set_new(refused, key,
                                        is_renamed ? json_string("max_completion_tokens")
                                                   : json_null()) == 0 ||
                    found;
        }
    }
    return found;
}

cf_status cf_remote__leave_out(json_t *body, const json_t *refused, cf_error *err)
{
    json_t *in = cf_json_ref(refused);
    const char *key;
    json_t *to;
    json_object_foreach(in, key, to)
    {
        json_t *v = json_object_get(body, key);
        if (v != NULL && json_is_string(to) &&
            json_object_set(body, json_string_value(to), v) != 0) {
            return cf_oom_for(err, "the request");
        }
        (void)json_object_del(body, key);
    }
    if (json_object_get(body, "logprobs") == NULL) {
        (void)json_object_del(body, "top_logprobs");
    }
    return CF_OK;
}
