/*
 * send.c - runs one turn: makes the request from tree and options, has the
 * engine answer, and puts the reply into the tree.
 *
 * States of a send, each of which may be the last:
 *   MADE      the request is complete; the tree is as before
 *   ADDED     the message's turns are in the tree, the head is as before
 *   ANSWERED  the engine has returned; a reply turn is added when there are
 *             bytes, and the head moves when the end allows it
 * (conversation.h has the table of ends.)
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/safe_text.h"
#include "core/chat/conversation_impl.h"

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the request");
}

/* ---- the request -------------------------------------------------------- */

/* The message with its role as the template calls it. */
static json_t *mapped(const cf_conversation *conv, const json_t *message)
{
    cf_str role = cf_json_get_str(message, "role");
    cf_str to = cf_role_map_get(&conv->roles, role);
    if (cf_str_eq(role, to)) {
        return json_incref(cf_json_ref(message));
    }
    json_t *copy = cf_json_copy(message);
    if (copy != NULL && json_object_set_new(copy, "role", json_stringn(to.p, to.n)) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static bool is_user(const json_t *message)
{
    return cf_str_is(cf_json_get_str(message, "role"), "user");
}

/* The messages of a path as a list under construction. */
typedef struct sources {
    cf_message_source *v; /* [n] */
    size_t n, n_preface;
} sources;

/* Takes the user's message off the end: what a failed reply answered. */
static void drop_question(sources *s)
{
    if (s->n > s->n_preface && is_user(s->v[s->n - 1].message)) {
        s->n--;
    }
}

static cf_status find_sources(sources *out, const cf_conversation *conv, cf_uuid leaf,
                              cf_arena *arena, cf_error *err)
{
    const cf_turn **path = NULL;
    size_t n = 0;
    const json_t *before = conv->preface.messages;
    CF_TRY(cf_conversation_path(conv, leaf, arena, &path, &n, err));
    *out = (sources){.n = 0};
    out->v = cf_arena_calloc(arena, json_array_size(before) + n + 1, sizeof *out->v);
    if (out->v == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *m = json_array_get(before, i);
        if (!cf_conversation__is_replaced(m, path, n)) {
            out->v[out->n++] = (cf_message_source){m, NULL};
        }
    }
    out->n_preface = out->n;
    for (size_t i = 0; i < n; i++) {
        if (cf_turn_is_failed(path[i])) {
            drop_question(out);
        } else if (!cf_conversation__is_silent(path[i])) {
            out->v[out->n++] = (cf_message_source){path[i]->message, path[i]};
        }
    }
    return CF_OK;
}

cf_status cf_conversation_sources(const cf_conversation *conv, cf_uuid leaf, cf_arena *arena,
                                  cf_message_source **out, size_t *n, cf_error *err)
{
    sources s;
    CF_TRY(find_sources(&s, conv, leaf, arena, err));
    *out = s.v;
    *n = s.n;
    return CF_OK;
}

/* Whether the user writes again after a message whose replies all failed. */
static bool asks_again(const cf_conversation *conv, cf_uuid leaf, const json_t *more)
{
    const cf_turn *turn = cf_conversation_find(conv, leaf);
    return is_user(json_array_get(more, 0)) && turn != NULL && !cf_turn_is_failed(turn) &&
           !cf_uuid_eq(cf_conversation_resume(conv, leaf), leaf);
}

static cf_status make_messages(json_t **out, const cf_conversation *conv, cf_uuid leaf,
                               const json_t *more, cf_error *err)
{
    cf_arena arena;
    sources s = {.n = 0};
    json_t *list = json_array();
    cf_arena_init(&arena, 0);
    cf_status st = list != NULL ? find_sources(&s, conv, leaf, &arena, err) : no_memory(err);
    if (st == CF_OK && asks_again(conv, leaf, more)) {
        drop_question(&s);
    }
    bool ok = st == CF_OK;
    for (size_t i = 0; ok && i < s.n; i++) {
        ok = json_array_append_new(list, mapped(conv, s.v[i].message)) == 0;
    }
    for (size_t i = 0; ok && i < json_array_size(more); i++) {
        ok = json_array_append_new(list, mapped(conv, json_array_get(more, i))) == 0;
    }
    cf_arena_deinit(&arena);
    if (!ok) {
        json_decref(list);
        return st != CF_OK ? st : no_memory(err);
    }
    *out = list;
    return CF_OK;
}

/* Variables by precedence, the weakest first (conversation.h). */
static json_t *make_context(const cf_conversation *conv, const cf_turn_options *o)
{
    json_t *v = json_object();
    bool ok = v != NULL;
    if (ok && conv->preface.extra_context != NULL) {
        ok = json_object_update(v, cf_json_ref(conv->preface.extra_context)) == 0;
    }
    cf_thinking thinking = conv->thinking;
    if (o->chat.thinking != CF_THINKING_DEFAULT) {
        thinking = o->chat.thinking;
    }
    if (ok && thinking != CF_THINKING_DEFAULT) {
        ok = json_object_set_new(v, "enable_thinking", json_boolean(thinking == CF_THINKING_ON)) ==
             0;
    }
    if (ok && o->extra_context != NULL) {
        ok = json_object_update(v, cf_json_ref(o->extra_context)) == 0;
    }
    if (!ok) {
        json_decref(v);
        return NULL;
    }
    return v;
}

cf_status cf_conversation__request_init(cf_conversation__request *out, const cf_conversation *conv,
                                        cf_uuid leaf, const json_t *more, const cf_send *send,
                                        cf_error *err)
{
    static const cf_turn_options none;
    const cf_turn_options *o = send->options != NULL ? send->options : &none;
    memset(out, 0, sizeof *out);
    if (o->extra_context != NULL && !json_is_object(o->extra_context)) {
        return cf_fail(err, CF_EINVAL, "extra_context must be an object");
    }
    CF_TRY(make_messages(&out->messages, conv, leaf, more, err));
    out->extra_context = make_context(conv, o);
    if (out->extra_context == NULL) {
        cf_conversation__request_deinit(out);
        return no_memory(err);
    }
    out->options = o->chat;
    if (out->options.thinking == CF_THINKING_DEFAULT) {
        out->options.thinking = conv->thinking;
    }
    if (out->options.grammar == NULL && !o->is_free) {
        out->options.grammar = conv->grammar;
        out->options.vocab = conv->vocab;
    }
    out->request = (cf_chat_request){
        .messages = out->messages,
        .tools = o->tools != NULL ? o->tools : conv->tools,
        .extra_context = out->extra_context,
        .options = &out->options,
        .is_pending = o->is_pending,
        .reply_prefix = send->reply_prefix,
        .reply_ids = send->reply_ids,
        .n_reply_ids = send->n_reply_ids,
        .cancel = send->cancel,
    };
    return CF_OK;
}

void cf_conversation__request_deinit(cf_conversation__request *r)
{
    json_decref(r->messages);
    json_decref(r->extra_context);
    r->messages = r->extra_context = NULL;
}

/* A message or a list of them as a list: a new reference, or NULL with err. */
static json_t *as_list(const json_t *message, cf_error *err)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    if (ok && json_is_array(message)) {
        ok = json_array_extend(list, cf_json_ref(message)) == 0;
    } else if (ok && message != NULL) {
        ok = json_array_append(list, cf_json_ref(message)) == 0;
    }
    if (!ok) {
        json_decref(list);
        (void)no_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (cf_json_get_str(json_array_get(list, i), "role").n == 0) {
            json_decref(list);
            (void)cf_fail(err, CF_EINVAL, "message %zu has no role", i + 1);
            return NULL;
        }
    }
    return list;
}

/* `more` put after `first`: two texts, or two lists of parts, or one of
 * each. */
static json_t *appended(const json_t *first, const json_t *more)
{
    if (json_is_string(first) && json_is_string(more)) {
        cf_buf text = CF_BUF_INIT;
        cf_buf_add(&text, json_string_value(first), json_string_length(first));
        cf_buf_add(&text, json_string_value(more), json_string_length(more));
        json_t *v = text.failed ? NULL : json_stringn(cf_buf_cstr(&text), text.n);
        cf_buf_deinit(&text);
        return v;
    }
    json_t *list = json_array();
    const json_t *both[] = {first, more};
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < 2; i++) {
        ok = json_is_array(both[i])
                 ? json_array_extend(list, cf_json_ref(both[i])) == 0
                 : json_array_append_new(list, json_pack("{s:s, s:O}", "type", "text", "text",
                                                         cf_json_ref(both[i]))) == 0;
    }
    if (!ok) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* Appends the list's first message to the turn that it would follow. */
static cf_status append_first(json_t *list, cf_uuid *parent, const cf_conversation *conv,
                              cf_error *err)
{
    const cf_turn *t = cf_conversation_find(conv, *parent);
    json_t *m = cf_json_copy(json_array_get(list, 0));
    const json_t *before = t != NULL ? json_object_get(t->message, "content") : NULL;
    const json_t *more = json_object_get(m, "content");
    cf_str role = cf_json_get_str(m, "role");
    if (before == NULL || more == NULL || !cf_str_eq(role, cf_json_get_str(t->message, "role"))) {
        json_decref(m);
        return cf_fail(err, CF_EINVAL, "the previous message does not have this role");
    }
    bool ok = json_object_set_new(m, "content", appended(before, more)) == 0 &&
              json_array_set(list, 0, m) == 0;
    json_decref(m);
    *parent = t->parent;
    return ok ? CF_OK : no_memory(err);
}

cf_status cf_conversation__plan(json_t **list, cf_uuid *parent, const cf_conversation *conv,
                                const cf_send *send, cf_error *err)
{
    cf_error why = {0};
    json_t *v = as_list(send->message, &why);
    if (v == NULL) {
        if (err != NULL) {
            *err = why;
        }
        return why.code;
    }
    *parent = send->has_parent ? send->parent : conv->head;
    if (send->options != NULL && send->options->is_appending && json_array_size(v) > 0) {
        cf_status st = append_first(v, parent, conv, err);
        if (st != CF_OK) {
            json_decref(v);
            return st;
        }
    }
    *list = v;
    return CF_OK;
}

/* ---- sending ------------------------------------------------------------ */

void cf_sent_init(cf_sent *sent)
{
    memset(sent, 0, sizeof *sent);
    cf_chat_response_init(&sent->response);
}

void cf_sent_deinit(cf_sent *sent)
{
    cf_chat_response_deinit(&sent->response);
    cf_sent_init(sent);
}

static cf_status add_message(cf_conversation *conv, const json_t *list, cf_uuid parent,
                             cf_sent *out, cf_error *err)
{
    cf_uuid last;
    cf_status st =
        cf_conversation_add_messages(conv, list, parent, NULL, NULL, &last, &out->n_added, err);
    if (out->n_added > 0) {
        out->message = last;
    }
    return st;
}

static bool has_parse_error(const cf_chat_response *r)
{
    for (size_t i = 0; i < json_array_size(r->findings); i++) {
        if (cf_str_is(cf_json_get_str(json_array_get(r->findings, i), "status"),
                      cf_tool_status_name(CF_TOOL_PARSE_ERROR))) {
            return true;
        }
    }
    return false;
}

/* The reply as a turn after `parent`; the head moves where the table says. */
static cf_status keep_reply(cf_conversation *conv, cf_uuid parent, cf_uuid id, cf_sent *out,
                            cf_status ended, cf_error *err)
{
    const cf_chat_response *r = &out->response;
    bool has_bytes = r->raw.n > 0 || json_object_get(r->message, "tool_calls") ||
                     json_object_get(r->message, "reasoning_content");
    if (r->message == NULL || (ended != CF_OK && !has_bytes)) {
        return CF_OK;
    }
    cf_turn turn = {
        .id = id,
        .parent = parent,
        .status = ended == CF_OK           ? CF_TURN_OK
                  : ended == CF_ECANCELLED ? CF_TURN_STOPPED
                                           : CF_TURN_ERROR,
        .message = r->message,
        .raw = cf_str_make(r->raw.p, r->raw.n),
    };
    CF_TRY(cf_conversation_add(conv, &turn, &out->reply, err));
    if (turn.status != CF_TURN_ERROR) {
        conv->head = out->reply;
    }
    return CF_OK;
}

/* A send under way: MADE and ADDED are done. */
typedef struct sending {
    cf_conversation__request q;
    cf_uuid leaf; /* the turn to be answered */
} sending;

static cf_status open_list(sending *s, const cf_send_job *job, const json_t *list, cf_uuid parent,
                           cf_sent *out, cf_error *err)
{
    cf_conversation *conv = job->conv;
    CF_TRY(cf_conversation__request_init(&s->q, conv, parent, list, &job->send, err));
    cf_status st = cf_chat_options_check(&s->q.options, err);
    CF_THEN(st, add_message(conv, list, parent, out, err));
    if (st != CF_OK) {
        cf_conversation__request_deinit(&s->q);
        return st;
    }
    s->leaf = out->n_added > 0 ? out->message : parent;
    return CF_OK;
}

/* On failure nothing needs closing. */
static cf_status open_send(sending *s, cf_send_job *job, cf_error *err)
{
    json_t *list;
    cf_uuid parent;
    cf_sent_deinit(&job->sent);
    CF_TRY(cf_conversation__plan(&list, &parent, job->conv, &job->send, err));
    cf_status st = open_list(s, job, list, parent, &job->sent, err);
    json_decref(list);
    return st;
}

/* The backend answered with st and *why. */
static cf_status close_send(sending *s, cf_send_job *job, cf_status st, cf_error *why)
{
    const cf_send *send = &job->send;
    if (st == CF_OK && send->options != NULL && send->options->fail_on_parse_error &&
        has_parse_error(&job->sent.response)) {
        st = cf_fail(why, CF_EFORMAT, "a tool call of the reply cannot be parsed");
    }
    if (st == CF_OK && send->options != NULL && send->options->fail_on_length &&
        job->sent.response.stop.reason == CF_STOP_LENGTH) {
        st = cf_fail(why, CF_ELIMIT, "the reply reached its limit of %u tokens",
                     (unsigned)send->options->chat.max_tokens);
    }
    if (s->q.request.is_pending) {
        if (st == CF_OK) {
            job->conv->head = s->leaf;
        }
    } else {
        cf_error also;
        cf_status kept = keep_reply(job->conv, s->leaf, send->reply_id, &job->sent, st, &also);
        if (st == CF_OK && kept != CF_OK) {
            st = kept;
            *why = also;
        }
    }
    cf_conversation__request_deinit(&s->q);
    return st;
}

/* With room for n of each. */
static void send_many(cf_send_job *jobs, size_t n, sending *s, cf_backend_job *asked)
{
    size_t n_asked = 0;
    for (size_t i = 0; i < n; i++) {
        cf_send_job *job = &jobs[i];
        job->status = open_send(&s[i], job, &job->err);
        if (job->status == CF_OK) {
            asked[n_asked++] = (cf_backend_job){.backend = job->backend,
                                                .request = &s[i].q.request,
                                                .fn = job->send.fn,
                                                .ud = job->send.ud,
                                                .out = &job->sent.response};
        }
    }
    cf_backend_generate_many(asked, n_asked);
    for (size_t i = 0, k = 0; i < n && k < n_asked; i++) {
        if (asked[k].out == &jobs[i].sent.response) {
            jobs[i].err = asked[k].err;
            jobs[i].status = close_send(&s[i], &jobs[i], asked[k++].status, &jobs[i].err);
        }
    }
}

void cf_conversation_send_many(cf_send_job *jobs, size_t n)
{
    sending *s = cf_calloc(n + 1, sizeof *s);
    cf_backend_job *asked = cf_calloc(n + 1, sizeof *asked);
    if (s != NULL && asked != NULL) {
        send_many(jobs, n, s, asked);
    } else {
        for (size_t i = 0; i < n; i++) {
            jobs[i].status = cf_oom_for(&jobs[i].err, "the requests");
        }
    }
    cf_free(asked);
    cf_free(s);
}

cf_status cf_conversation_send(cf_conversation *conv, cf_backend *backend, const cf_send *send,
                               cf_sent *out, cf_error *err)
{
    sending s;
    cf_error why;
    cf_send_job job = {.conv = conv, .backend = backend, .send = *send, .sent = *out};
    cf_status st = open_send(&s, &job, &why);
    if (st == CF_OK) {
        st = cf_backend_generate_stream(backend, &s.q.request, send->fn, send->ud,
                                        &job.sent.response, &why);
        st = close_send(&s, &job, st, &why);
    }
    *out = job.sent;
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    return st;
}

/* ---- looking without sending -------------------------------------------- */

cf_status cf_conversation_preview(const cf_conversation *conv, cf_backend *backend,
                                  const cf_send *send, cf_arena *arena, cf_prompt *prompt,
                                  cf_token_list *tokens, cf_error *err)
{
    json_t *list;
    cf_uuid parent;
    CF_TRY(cf_conversation__plan(&list, &parent, conv, send, err));
    cf_conversation__request q;
    cf_status st = cf_conversation__request_init(&q, conv, parent, list, send, err);
    if (st == CF_OK) {
        st = tokens != NULL ? cf_backend_tokenise(backend, &q.request, arena, prompt, tokens, err)
                            : cf_backend_render(backend, &q.request, arena, prompt, err);
        cf_conversation__request_deinit(&q);
    }
    json_decref(list);
    return st;
}

static void show(char out[48], cf_str text, size_t off)
{
    cf_buf b = CF_BUF_INIT;
    size_t n = text.n - off < 24 ? text.n - off : 24;
    cf_safe_line(&b, text.p + off, n);
    snprintf(out, 48, "%s", cf_buf_cstr(&b));
    cf_buf_deinit(&b);
}

static void compare(const cf_prompt *old, const cf_prompt *now, cf_double_render *out)
{
    size_t at = 0;
    while (at < old->text.n && at < now->text.n && old->text.p[at] == now->text.p[at]) {
        at++;
    }
    memset(out, 0, sizeof *out);
    out->old_len = old->text.n;
    out->new_len = now->text.n;
    out->off = at;
    out->would_fail = at < old->text.n;
    show(out->was, old->text, at);
    show(out->is, now->text, at);
    const cf_prompt_span *s = cf_prompt_span_at(now, at);
    out->line = s != NULL ? s->line : 0;
}

cf_status cf_conversation_double_render(const cf_conversation *conv, cf_backend *backend,
                                        const cf_send *send, cf_double_render *out, cf_error *err)
{
    cf_arena arena;
    cf_prompt old = {.n_spans = 0}, now = {.n_spans = 0};
    static const cf_turn_options none;
    cf_turn_options options = send->options != NULL ? *send->options : none;
    options.is_pending = true; /* no generation prompt */
    cf_send before = *send;
    before.message = NULL;
    before.options = &options;
    cf_arena_init(&arena, 0);
    cf_status st = cf_conversation_preview(conv, backend, send, &arena, &now, NULL, err);
    CF_THEN(st, cf_conversation_preview(conv, backend, &before, &arena, &old, NULL, err));
    if (st == CF_OK) {
        compare(&old, &now, out);
    }
    cf_arena_deinit(&arena);
    return st;
}
