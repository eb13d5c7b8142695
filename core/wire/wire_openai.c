/*
 * wire_openai.c - OpenAI's chat completions and completions, as many servers
 * offer them, with what llama-server and vLLM add ("timings",
 * "reasoning_content", "chat_template_kwargs").
 */
#include <math.h>
#include <string.h>

#include "core/wire/wire_impl.h"

static const cf_wire__setting settings[] = {
    {"temperature", NULL},
    {"top_k", NULL},
    {"top_p", NULL},
    {"min_p", NULL},
    {"repeat_penalty", NULL},
    {"repetition_penalty", NULL},
    {"presence_penalty", NULL},
    {"frequency_penalty", NULL},
    {"repeat_last_n", NULL},
    {"logit_bias", NULL},
    {"seed", NULL},
    {"n", NULL},
    {"max_tokens", NULL},
    {"max_tokens", "max_completion_tokens"},
    {"stop", NULL},
    {"logprobs", NULL},
    {"top_logprobs", NULL},
    {"reasoning_effort", NULL},
    {"echo", NULL},
    {"suffix", NULL},
    {"best_of", NULL},
    {"json_schema", NULL},
    {"grammar", NULL},
    {"guided_json", NULL},
    {"guided_regex", NULL},
    {"guided_choice", NULL},
    {NULL, NULL},
};

/* OpenAI's own words; "function_call" is of its interface before tools. */
static const cf_wire__end ends[] = {
    {"stop", CF_WIRE_STOP_END},
    {"stop", CF_WIRE_STOP_STRING},
    {"length", CF_WIRE_STOP_LENGTH},
    {"tool_calls", CF_WIRE_STOP_CALLS},
    {"function_call", CF_WIRE_STOP_CALLS},
    {"content_filter", CF_WIRE_STOP_FILTER},
    {NULL, CF_WIRE_STOP_NONE},
};

/* ---- requests, read ----------------------------------------------------- */

static void read_tool_choice(cf_wire_request *r, const json_t *body)
{
    static const struct {
        const char *word;
        cf_wire_tool_choice choice;
    } words[] = {{"auto", CF_WIRE_TOOLS_AUTO},
                 {"none", CF_WIRE_TOOLS_NONE},
                 {"required", CF_WIRE_TOOLS_REQUIRED}};
    const json_t *v = json_object_get(body, "tool_choice");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (cf_str_is(cf_json_get_str(body, "tool_choice"), words[i].word)) {
            r->tool_choice = words[i].choice;
        }
    }
    cf_str name = cf_json_get_str(json_object_get(v, "function"), "name");
    if (name.n > 0) {
        r->tool_choice = CF_WIRE_TOOLS_NAMED;
        cf_wire__copy(r->tool_name, sizeof r->tool_name, name);
    }
    r->has_one_call = json_is_false(json_object_get(body, "parallel_tool_calls"));
}

static void read_format(cf_wire_request *r, const json_t *body, cf_jb *b)
{
    const json_t *v = json_object_get(body, "response_format");
    const json_t *inner = json_object_get(v, "json_schema");
    if (v == NULL || json_is_null(v) || cf_str_is(cf_json_get_str(v, "type"), "text")) {
        return;
    }
    json_t *flat = cf_json_copy(v);
    if (json_is_object(inner)) {
        json_object_del(flat, "json_schema");
        if (json_object_update(flat, cf_json_ref(inner)) != 0) {
            cf_jb_fail(b);
        }
    }
    if (flat == NULL) {
        cf_jb_fail(b);
    }
    r->format = flat;
}

static void read_stream(cf_wire_request *r, const json_t *body)
{
    r->has_usage =
        json_is_true(json_object_get(json_object_get(body, "stream_options"), "include_usage"));
}

static cf_status read_chat(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err)
{
    const json_t *list = json_object_get(body, "messages");
    CF_TRY(cf_wire__check_messages(list, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        cf_jb_append(b, r->messages, json_incref(json_array_get(list, i)));
    }
    const json_t *tools = json_object_get(body, "tools");
    const json_t *functions = json_object_get(body, "functions");
    cf_wire__tools(r, b, tools != NULL ? tools : functions, "parameters");
    json_t *variables = json_object_get(body, "chat_template_kwargs");
    if (json_is_object(variables)) {
        r->variables = json_incref(variables);
    }
    read_tool_choice(r, body);
    read_format(r, body, b);
    read_stream(r, body);
    return CF_OK;
}

/* A text, a list of tokens, or a list of either: always a list of these. */
static json_t *prompt_list(const json_t *prompt)
{
    const json_t *first = json_array_get(prompt, 0);
    return json_is_string(prompt) || json_is_integer(first) ? json_pack("[O]", prompt)
                                                            : json_incref(cf_json_ref(prompt));
}

static cf_status read_completions(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err)
{
    const json_t *prompt = json_object_get(body, "prompt");
    if (!json_is_string(prompt) && json_array_size(prompt) == 0) {
        return cf_fail(err, CF_EFORMAT, "'prompt' must be a text or a list");
    }
    r->prompts = prompt_list(prompt);
    if (r->prompts == NULL) {
        return cf_oom(err);
    }
    json_t *first = json_array_get(r->prompts, 0);
    if (json_is_string(first)) {
        cf_jb_append(b, r->messages, cf_wire__message(cf_str_from("user"), json_incref(first)));
    }
    read_format(r, body, b);
    read_stream(r, body);
    return CF_OK;
}

/* ---- requests, written -------------------------------------------------- */

static void write_head(const cf_wire_request *r, cf_jb *b)
{
    cf_jb_text(b, "model", r->model);
}

static void write_stream(const cf_wire_request *r, cf_jb *b)
{
    if (r->is_stream) {
        cf_jb_bool(b, "stream", true);
        if (r->has_usage) {
            cf_jb_pack(b, "stream_options", "{s:b}", "include_usage", 1);
        }
    }
}

static void write_call(const json_t *call, cf_jb *b)
{
    const json_t *function = json_object_get(call, "function");
    const json_t *arguments = json_object_get(function, "arguments");
    cf_jb_object(b, NULL);
    cf_jb_add(b, "id", json_object_get(call, "id"));
    cf_jb_text(b, "type", "function");
    cf_jb_object(b, "function");
    cf_jb_add(b, "name", json_object_get(function, "name"));
    if (json_is_string(arguments)) {
        cf_jb_add(b, "arguments", arguments);
    } else {
        cf_buf text = CF_BUF_INIT;
        cf_json_write(&text, arguments);
        cf_jb_buf(b, "arguments", &text);
        cf_buf_deinit(&text);
    }
    cf_jb_end(b);
    cf_jb_end(b);
}

/* The fields of this interface; those that an import or a store keeps in a
 * message go to no server. */
static void write_message(const json_t *m, cf_jb *b)
{
    static const char *const fields[] = {"role",          "name",   "refusal", "tool_call_id",
                                         "cache_control", "prefix", "content", "reasoning_content"};
    cf_jb_object(b, NULL);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const json_t *v = json_object_get(m, fields[i]);
        if (v != NULL) {
            cf_jb_add(b, fields[i], v);
        }
    }
    const json_t *calls = json_object_get(m, "tool_calls");
    if (json_array_size(calls) > 0) {
        cf_jb_array(b, "tool_calls");
        for (size_t i = 0; i < json_array_size(calls); i++) {
            write_call(json_array_get(calls, i), b);
        }
        cf_jb_end(b);
    }
    cf_jb_end(b);
}

static void write_tool_choice(const cf_wire_request *r, cf_jb *b)
{
    static const char *const words[] = {[CF_WIRE_TOOLS_AUTO] = "auto",
                                        [CF_WIRE_TOOLS_NONE] = "none",
                                        [CF_WIRE_TOOLS_REQUIRED] = "required"};
    if (r->tool_choice == CF_WIRE_TOOLS_NAMED) {
        cf_jb_pack(b, "tool_choice", "{s:s, s:{s:s}}", "type", "function", "function", "name",
                   r->tool_name);
    } else if (r->tool_choice != CF_WIRE_TOOLS_UNSET) {
        cf_jb_text(b, "tool_choice", words[r->tool_choice]);
    }
    if (r->has_one_call) {
        cf_jb_bool(b, "parallel_tool_calls", false);
    }
}

static void write_format(const cf_wire_request *r, cf_jb *b)
{
    cf_str type = cf_json_get_str(r->format, "type");
    if (r->format == NULL) {
        return;
    }
    if (!cf_str_is(type, "json_schema")) {
        cf_jb_add(b, "response_format", r->format);
        return;
    }
    json_t *inner = cf_json_copy(r->format);
    json_object_del(inner, "type");
    cf_jb_object(b, "response_format");
    cf_jb_text(b, "type", "json_schema");
    cf_jb_take(b, "json_schema", inner);
    cf_jb_end(b);
}

static void write_chat(const cf_wire_request *r, const json_t *messages, cf_jb *b)
{
    write_head(r, b);
    cf_jb_array(b, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        write_message(json_array_get(messages, i), b);
    }
    cf_jb_end(b);
    write_stream(r, b);
    if (r->tools != NULL) {
        cf_jb_add(b, "tools", r->tools);
    }
    write_tool_choice(r, b);
    write_format(r, b);
    if (json_object_size(r->variables) > 0) {
        cf_jb_add(b, "chat_template_kwargs", r->variables);
    }
}

/* The prompts, else the last message: this interface has no roles. */
static void write_completions(const cf_wire_request *r, const json_t *messages, cf_jb *b)
{
    size_t n = json_array_size(messages);
    cf_buf text = CF_BUF_INIT;
    write_head(r, b);
    if (r->prompts != NULL) {
        cf_jb_add(b, "prompt",
                  json_array_size(r->prompts) == 1 ? json_array_get(r->prompts, 0) : r->prompts);
    } else {
        cf_wire__content_text(&text, json_object_get(json_array_get(messages, n - 1), "content"));
        cf_jb_buf(b, "prompt", &text);
    }
    write_stream(r, b);
    write_format(r, b);
    cf_buf_deinit(&text);
}

/* ---- answers, read ------------------------------------------------------ */

enum { TOP_MAX = 20 };

static cf_wire_token token_of(const json_t *item)
{
    const json_t *id = json_object_get(item, "id");
    json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
    return (cf_wire_token){.text = cf_json_get_str(item, "token"),
                           .id = n >= 0 && n <= INT32_MAX ? (int32_t)n : -1,
                           .log_p = json_number_value(json_object_get(item, "logprob"))};
}

static void read_tokens(cf_wire_reader *r, size_t choice, const json_t *tokens)
{
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *item = json_array_get(tokens, i);
        const json_t *list = json_object_get(item, "top_logprobs");
        cf_wire_token top[TOP_MAX];
        size_t n = json_array_size(list) < TOP_MAX ? json_array_size(list) : TOP_MAX;
        for (size_t k = 0; k < n; k++) {
            top[k] = token_of(json_array_get(list, k));
        }
        cf_wire__emit(r, &(cf_wire_event){.kind = CF_WIRE_TOKEN,
                                          .choice = choice,
                                          .token = token_of(item),
                                          .top = top,
                                          .n_top = n});
    }
}

static void read_call(cf_wire_reader *r, size_t choice, const json_t *call, int64_t index)
{
    const json_t *f = json_object_get(call, "function");
    cf_wire__emit_call(r, choice, index, cf_json_get_str(call, "id"), cf_json_get_str(f, "name"),
                       json_object_get(f, "arguments"));
}

void cf_wire__read_calls(cf_wire_reader *r, size_t choice, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *one = json_array_get(calls, i);
        const json_t *at = json_object_get(one, "index");
        /* A whole list has no numbers. */
        json_int_t n = json_is_integer(at) ? json_integer_value(at)
                                           : (json_int_t)r->reply.choice[choice].n_calls;
        if (n < 0 || n >= CF_WIRE_CALLS_MAX) {
            r->has_too_many = true;
        } else {
            read_call(r, choice, one, n);
        }
    }
}

static void read_choice(cf_wire_reader *r, const json_t *v, int64_t n)
{
    const json_t *at = json_object_get(v, "index");
    n = json_is_integer(at) ? json_integer_value(at) : n;
    if (!cf_wire__has_choice(r, n)) {
        return;
    }
    const size_t i = (size_t)n;
    const json_t *m = json_object_get(v, "delta");
    m = m != NULL ? m : json_object_get(v, "message");
    read_tokens(r, i, json_object_get(json_object_get(v, "logprobs"), "content"));
    cf_str thinking = cf_json_get_str(m, "reasoning_content");
    thinking = thinking.n > 0 ? thinking : cf_json_get_str(m, "reasoning");
    cf_wire__emit_text(r, i, CF_WIRE_THINKING, thinking);
    cf_wire__emit_text(r, i, CF_WIRE_TEXT, cf_json_get_str(m, "content"));
    cf_wire__emit_text(r, i, CF_WIRE_TEXT, cf_json_get_str(v, "text"));
    cf_wire__emit_text(r, i, CF_WIRE_REFUSAL, cf_json_get_str(m, "refusal"));
    const json_t *old = json_object_get(m, "function_call");
    if (json_is_object(old)) {
        cf_wire__emit_call(r, i, 0, cf_str_make(NULL, 0), cf_json_get_str(old, "name"),
                           json_object_get(old, "arguments"));
    }
    cf_wire__read_calls(r, i, json_object_get(m, "tool_calls"));
    cf_wire__emit_end(r, i, cf_json_get_str(v, "finish_reason"));
}

static void read_us(int64_t *to, const json_t *t, const char *key)
{
    const json_t *ms = json_object_get(t, key);
    if (json_is_number(ms) && json_number_value(ms) >= 0 && json_number_value(ms) < 1e12) {
        *to = (int64_t)(json_number_value(ms) * 1000 + 0.5);
    }
}

static void read_usage(cf_wire_reader *r, const json_t *v)
{
    const json_t *u = json_object_get(v, "usage");
    cf_wire_usage *out = &r->reply.usage;
    cf_wire__count(&out->n_prompt, u, "prompt_tokens");
    cf_wire__count(&out->n_reply, u, "completion_tokens");
    cf_wire__count(&out->n_cached, json_object_get(u, "prompt_tokens_details"), "cached_tokens");
    cf_wire__count(&out->n_cached, u, "prompt_cache_hit_tokens");
    cf_wire__count(&out->n_thinking, json_object_get(u, "completion_tokens_details"),
                   "reasoning_tokens");
    /* llama-server says it better, and without being asked. */
    const json_t *t = json_object_get(v, "timings");
    int64_t fresh = -1;
    cf_wire__count(&out->n_cached, t, "cache_n");
    cf_wire__count(&fresh, t, "prompt_n");
    if (out->n_prompt < 0 && fresh >= 0 && out->n_cached >= 0) {
        out->n_prompt = fresh + out->n_cached;
    }
    if (out->n_reply < 0) {
        cf_wire__count(&out->n_reply, t, "predicted_n");
    }
    read_us(&out->prompt_us, t, "prompt_ms");
    read_us(&out->reply_us, t, "predicted_ms");
}

static void read_value(cf_wire_reader *r, const json_t *v)
{
    const json_t *choices = json_object_get(v, "choices");
    r->n_pieces += json_array_size(choices) > 0;
    for (size_t i = 0; i < json_array_size(choices); i++) {
        read_choice(r, json_array_get(choices, i), (int64_t)i);
    }
    read_usage(r, v);
    cf_wire__name(r, cf_json_get_str(v, "id"), cf_str_make(NULL, 0));
}

/* ---- answers, written --------------------------------------------------- */

static bool is_raw(const cf_wire_writer *w)
{
    return w->o.api == CF_API_OPENAI_COMPLETIONS;
}

/* The lists of a completion's logprobs; a chat has the first only, of
 * objects. */
enum { TOKENS, LOGPROBS, TOP, OFFSETS, N_LISTS };

static void put_token(cf_jw *j, const cf_wire_token *t)
{
    cf_jw_str(j, "token", t->text);
    cf_jw_int(j, "id", t->id);
    cf_jw_double(j, "logprob", t->log_p);
    cf_jw_array(j, "bytes");
    for (size_t i = 0; i < t->text.n; i++) {
        cf_jw_int(j, NULL, (unsigned char)t->text.p[i]);
    }
    cf_jw_end(j);
}

static void note_in_lists(cf_wire_writing *at, const cf_wire_event *e)
{
    cf_buf *lists = at->tokens;
    cf_jw j;
    for (int k = 0; k < N_LISTS; k++) {
        cf_buf_adds(&lists[k], lists[k].n > 0 ? "," : "");
    }
    cf_jw_init(&j, &lists[TOKENS]);
    cf_jw_str(&j, NULL, e->token.text);
    cf_jw_init(&j, &lists[LOGPROBS]);
    cf_jw_double(&j, NULL, e->token.log_p);
    cf_jw_init(&j, &lists[OFFSETS]);
    cf_jw_uint(&j, NULL, at->n_bytes);
    at->n_bytes += e->token.text.n;
    cf_jw_init(&j, &lists[TOP]);
    if (isnan(e->token.log_p)) { /* nothing comes before it */
        cf_jw_null(&j, NULL);
        return;
    }
    cf_jw_object(&j, NULL);
    for (size_t k = 0; k < e->n_top; k++) {
        cf_jw_key(&j, e->top[k].text);
        cf_jw_double(&j, NULL, e->top[k].log_p);
    }
    cf_jw_end(&j);
}

/* Keeps a token for the next piece of its reply. */
static void note_token(const cf_wire_writer *w, cf_wire_writing *at, const cf_wire_event *e)
{
    cf_buf *out = &at->tokens[TOKENS];
    cf_jw j;
    if (is_raw(w)) {
        note_in_lists(at, e);
        return;
    }
    cf_buf_adds(out, out->n > 0 ? "," : "");
    cf_jw_init(&j, out);
    cf_jw_object(&j, NULL);
    put_token(&j, &e->token);
    cf_jw_array(&j, "top_logprobs");
    for (size_t k = 0; k < e->n_top; k++) {
        cf_jw_object(&j, NULL);
        put_token(&j, &e->top[k]);
        cf_jw_end(&j);
    }
    cf_jw_end(&j);
    cf_jw_end(&j);
}

/* A list of the items, which are forgotten. */
static void put_items(cf_jw *j, const char *key, cf_buf *items)
{
    cf_buf list = CF_BUF_INIT;
    cf_buf_addc(&list, '[');
    cf_buf_add(&list, items->p, items->n);
    cf_buf_addc(&list, ']');
    j->out->failed = j->out->failed || list.failed || items->failed;
    cf_jw_raw(j, key, cf_buf_str(&list));
    cf_buf_reset(items);
    cf_buf_deinit(&list);
}

static void put_logprobs(cf_wire_writer *w, size_t i, cf_jw *j)
{
    static const char *const keys[N_LISTS] = {[TOKENS] = "tokens",
                                              [LOGPROBS] = "token_logprobs",
                                              [TOP] = "top_logprobs",
                                              [OFFSETS] = "text_offset"};
    if (!w->o.has_logprobs) {
        cf_jw_null(j, "logprobs");
        return;
    }
    cf_jw_object(j, "logprobs");
    for (int k = 0; k < (is_raw(w) ? N_LISTS : 1); k++) {
        put_items(j, is_raw(w) ? keys[k] : "content", &w->at[i].tokens[k]);
    }
    cf_jw_end(j);
}

static void begin(const cf_wire_writer *w, cf_jw *j, cf_buf *out)
{
    cf_buf id = CF_BUF_INIT;
    if (w->o.is_stream) {
        cf_wire__frame(j, NULL, out);
    } else {
        cf_jw_init(j, out);
        cf_jw_object(j, NULL);
    }
    cf_buf_addf(&id, "%s-%s", is_raw(w) ? "cmpl" : "chatcmpl", w->o.id);
    cf_jw_buf(j, "id", &id);
    cf_jw_text(j, "object",
               is_raw(w)        ? "text_completion"
               : w->o.is_stream ? "chat.completion.chunk"
                                : "chat.completion");
    cf_jw_int(j, "created", w->o.created);
    cf_jw_text(j, "model", w->o.model);
    cf_jw_text(j, "system_fingerprint", "confab");
    cf_jw_array(j, "choices");
    cf_buf_deinit(&id);
}

static void begin_choice(const cf_wire_writer *w, size_t i, cf_jw *j, cf_buf *out)
{
    begin(w, j, out);
    cf_jw_object(j, NULL);
    cf_jw_uint(j, "index", i);
    if (!is_raw(w)) {
        cf_jw_object(j, "delta");
    }
}

static void end_choice(cf_wire_writer *w, size_t i, const char *reason, cf_jw *j)
{
    if (!is_raw(w)) {
        cf_jw_end(j);
    }
    put_logprobs(w, i, j);
    cf_jw_text(j, "finish_reason", reason);
    cf_jw_end(j);
    cf_jw_end(j);
    cf_wire__frame_end(j);
}

static void put_call(const cf_wire_writer *w, size_t i, size_t k, cf_str id, cf_str name,
                     cf_str arguments, cf_jw *j)
{
    char made[80];
    if (name.n > 0) {
        cf_wire__call_id(made, w, i, k, id);
        cf_jw_text(j, "id", made);
        cf_jw_text(j, "type", "function");
    }
    cf_jw_object(j, "function");
    if (name.n > 0) {
        cf_jw_str(j, "name", name);
    }
    cf_jw_str(j, "arguments", arguments.p != NULL ? arguments : cf_str_make("", 0));
    cf_jw_end(j);
}

static void put_delta(const cf_wire_writer *w, const cf_wire_event *e, cf_jw *j)
{
    if (is_raw(w)) {
        cf_jw_str(j, "text", e->kind == CF_WIRE_END ? cf_str_make("", 0) : e->text);
    } else if (e->kind == CF_WIRE_CALL) {
        cf_jw_array(j, "tool_calls");
        cf_jw_object(j, NULL);
        cf_jw_uint(j, "index", e->call);
        put_call(w, e->choice, e->call, e->id, e->name, e->text, j);
        cf_jw_end(j);
        cf_jw_end(j);
    } else if (e->kind != CF_WIRE_END) {
        cf_jw_str(j,
                  e->kind == CF_WIRE_THINKING  ? "reasoning_content"
                  : e->kind == CF_WIRE_REFUSAL ? "refusal"
                                               : "content",
                  e->text);
    }
}

static void write_event(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    cf_wire_writing *at = &w->at[e->choice];
    cf_jw j;
    if (e->kind == CF_WIRE_TOKEN) {
        if (w->o.has_logprobs) {
            note_token(w, at, e);
        }
        return;
    }
    if (!at->has_begun && !is_raw(w)) {
        begin_choice(w, e->choice, &j, out);
        cf_jw_text(&j, "role", "assistant");
        cf_jw_text(&j, "content", "");
        end_choice(w, e->choice, NULL, &j);
    }
    at->has_begun = true;
    if (e->kind == CF_WIRE_BEGIN || e->kind == CF_WIRE_SIGNATURE) {
        return;
    }
    begin_choice(w, e->choice, &j, out);
    put_delta(w, e, &j);
    if (e->kind == CF_WIRE_END) {
        w->reply.choice[e->choice].stop = e->stop;
    }
    end_choice(w, e->choice, e->kind == CF_WIRE_END ? cf_wire__word(w, e->choice) : NULL, &j);
}

static void put_usage(const cf_wire_writer *w, cf_jw *j)
{
    const cf_wire_usage *u = &w->reply.usage;
    const int64_t n_prompt = cf_wire__known(u->n_prompt), n_reply = cf_wire__known(u->n_reply);
    cf_jw_object(j, "usage");
    cf_jw_int(j, "prompt_tokens", n_prompt);
    cf_jw_int(j, "completion_tokens", n_reply);
    cf_jw_int(j, "total_tokens", n_prompt + n_reply);
    if (u->n_cached >= 0) {
        cf_jw_object(j, "prompt_tokens_details");
        cf_jw_int(j, "cached_tokens", u->n_cached);
        cf_jw_end(j);
    }
    if (u->n_thinking >= 0) {
        cf_jw_object(j, "completion_tokens_details");
        cf_jw_int(j, "reasoning_tokens", u->n_thinking);
        cf_jw_end(j);
    }
    cf_jw_end(j);
    if (u->prompt_us >= 0 && u->reply_us >= 0) {
        cf_jw_object(j, "timings");
        cf_jw_int(j, "cache_n", cf_wire__known(u->n_cached));
        cf_jw_int(j, "prompt_n", n_prompt - cf_wire__known(u->n_cached));
        cf_jw_double(j, "prompt_ms", (double)u->prompt_us / 1000);
        cf_jw_int(j, "predicted_n", n_reply);
        cf_jw_double(j, "predicted_ms", (double)u->reply_us / 1000);
        cf_jw_end(j);
    }
}

static void write_rest(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    if (w->o.has_usage) {
        begin(w, &j, out);
        cf_jw_end(&j);
        put_usage(w, &j);
        cf_wire__frame_end(&j);
    }
    cf_buf_adds(out, "data: [DONE]\n\n");
}

static void put_message(const cf_wire_writer *w, size_t i, cf_jw *j)
{
    const cf_wire_choice *c = &w->reply.choice[i];
    cf_jw_object(j, "message");
    cf_jw_text(j, "role", "assistant");
    if (c->content.n == 0 && (c->n_calls > 0 || c->refusal.n > 0)) {
        cf_jw_null(j, "content");
    } else {
        cf_jw_buf(j, "content", &c->content);
    }
    if (c->refusal.n > 0) {
        cf_jw_buf(j, "refusal", &c->refusal);
    }
    if (c->thinking.n != 0) {
        cf_jw_buf(j, "reasoning_content", &c->thinking);
    }
    for (size_t k = 0; k < c->n_calls; k++) {
        if (k == 0) {
            cf_jw_array(j, "tool_calls");
        }
        cf_jw_object(j, NULL);
        put_call(w, i, k, cf_buf_str(&c->calls[k].id), cf_buf_str(&c->calls[k].name),
                 cf_buf_str(&c->calls[k].arguments), j);
        cf_jw_end(j);
    }
    if (c->n_calls > 0) {
        cf_jw_end(j);
    }
    cf_jw_end(j);
}

static void write_whole(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    begin(w, &j, out);
    for (size_t i = 0; i < w->reply.n_choices; i++) {
        cf_jw_object(&j, NULL);
        cf_jw_uint(&j, "index", i);
        if (is_raw(w)) {
            cf_jw_buf(&j, "text", &w->reply.choice[i].content);
        } else {
            put_message(w, i, &j);
        }
        put_logprobs(w, i, &j);
        cf_jw_text(&j, "finish_reason", cf_wire__word(w, i));
        cf_jw_end(&j);
    }
    cf_jw_end(&j);
    put_usage(w, &j);
    cf_jw_end(&j);
    out->failed = out->failed || cf_jw_finish(&j, NULL) != CF_OK;
}

/* ---- the rows ----------------------------------------------------------- */

static const char *const members[] = {"model",
                                      "messages",
                                      "prompt",
                                      "tools",
                                      "functions",
                                      "tool_choice",
                                      "parallel_tool_calls",
                                      "response_format",
                                      "stream",
                                      "stream_options.include_usage",
                                      "chat_template_kwargs",
                                      NULL};
static const char *const message_members[] = {
    "role",         "content",       "name",   "refusal",           "tool_calls",
    "tool_call_id", "cache_control", "prefix", "reasoning_content", NULL};

const cf_wire__row cf_wire__openai_chat = {
    .name = "openai-chat",
    .suffix = "/chat/completions",
    .read_request = read_chat,
    .write_request = write_chat,
    .settings = settings,
    .members = members,
    .message_members = message_members,
    .message_list = "messages",
    .read_value = read_value,
    .ends = ends,
    .write_event = write_event,
    .write_rest = write_rest,
    .write_whole = write_whole,
};

const cf_wire__row cf_wire__openai_completions = {
    .name = "openai-completions",
    .suffix = "/completions",
    .read_request = read_completions,
    .write_request = write_completions,
    .settings = settings,
    .members = members,
    .read_value = read_value,
    .ends = ends,
    .write_event = write_event,
    .write_rest = write_rest,
    .write_whole = write_whole,
};

const cf_wire__row cf_wire__openai_embeddings = {
    .name = "openai-embeddings", .suffix = "/embeddings", .read_value = read_value, .ends = ends};
const cf_wire__row cf_wire__openai_models = {
    .name = "openai-models", .suffix = "/models", .is_get = true, .ends = ends};
