/*
 * mcp_call.c - a call of a tool, the reading of a resource, the making of a
 * prompt, and what servers ask of us meanwhile.
 *
 * In the new era a server that needs an answer from the user ends the request
 * with "input_required"; the same request is sent again with a new id, the
 * answers and the server's state (the specification's "Multi Round-Trip
 * Requests").  In the old era it sends a request of its own.
 */
#include <stdio.h>
#include <string.h>

#include "core/mcp/mcp_impl.h"

enum { STEP_MS = 50, NOT_FOUND = 404 };

/* ---- what a server may ask ---------------------------------------------- */

static json_t *elicit(cf_mcp__server *s, const json_t *params)
{
    const cf_mcp_options *o = &s->mcp->options;
    json_t *answer = NULL;
    if (o->ask != NULL) {
        uint64_t began = cf_mcp__now();
        o->ask(o->ud, s->index, params, &answer);
        uint64_t took = cf_mcp__now() - began;
        for (size_t i = 0; i < s->n_request; i++) {
            if (s->request[i].deadline_us != 0) {
                s->request[i].deadline_us += took;
            }
        }
    }
    if (!json_is_object(answer)) {
        json_decref(answer);
        answer = json_pack("{s:s}", "action", "decline");
    }
    return answer;
}

/* The answer to what a server may ask of us, or NULL and the error's code and
 * text: of a request in the old era, of an input request in the new one. */
static json_t *answer_to(cf_mcp__server *s, cf_str method, const json_t *params, int *code,
                         const char **why)
{
    *code = CF_MCP__NO_METHOD;
    *why = "method not found";
    if (cf_str_is(method, "elicitation/create")) {
        return elicit(s, params);
    }
    if (cf_str_is(method, "ping")) {
        return json_object();
    }
    if (cf_str_is(method, "sampling/createMessage")) {
        *why = "sampling is not offered";
        cf_mcp__note(s, "the server asks the model for something: sampling is not offered");
    } else if (cf_str_is(method, "roots/list")) {
        *why = "roots are not offered";
    }
    return NULL;
}

void cf_mcp__on_request(cf_mcp__server *s, const json_t *message)
{
    int code;
    const char *why;
    cf_error err;
    const json_t *id = json_object_get(message, "id");
    if (s->era == CF_MCP__MODERN) {
        cf_mcp__note(s, "a request of the server's own: the new era has none, "
                        "it gets no answer");
        return;
    }
    uint64_t call = s->mcp->waiting.server == s ? s->mcp->n_call : 0;
    json_t *result = answer_to(s, cf_json_get_str(message, "method"),
                               json_object_get(message, "params"), &code, &why);
    json_t *answer =
        result != NULL ? json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result)
                       : json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error",
                                   "code", code, "message", why);
    if (cf_mcp__say(s, "", answer, call, &err) != CF_OK) {
        cf_mcp__fail(s, &err, 0);
    }
}

/* The answers to all input requests of a result; NULL for want of memory. */
static json_t *answer_inputs(cf_mcp__server *s, const json_t *requests)
{
    json_t *answers = json_object();
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(requests), key, v)
    {
        int code;
        const char *why;
        json_t *answer =
            answer_to(s, cf_json_get_str(v, "method"), json_object_get(v, "params"), &code, &why);
        if (answer == NULL) {
            answer = json_pack("{s:{s:i, s:s}}", "error", "code", code, "message", why);
        }
        if (json_object_set_new(answers, key, answer) != 0) {
            json_decref(answers);
            return NULL;
        }
    }
    return answers;
}

/* ---- one request -------------------------------------------------------- */

typedef struct calling {
    cf_mcp__server *s;
    const char *method;
    cf_str name;             /* of a tool or a prompt */
    cf_str uri;              /* of a resource, in place of a name */
    const json_t *arguments; /* NULL: none */
    json_t *inputs;          /* answers to input requests; NULL: none */
    const json_t *state;     /* requestState; NULL: none */
    json_t *held;            /* keeps `state` alive */
    uint64_t call;
    uint64_t deadline_us;
    cf_cancel *cancel;
} calling;

static json_t *call_params(const calling *c)
{
    json_t *params = c->uri.n > 0 ? json_pack("{s:s%}", "uri", c->uri.p, c->uri.n)
                                  : json_pack("{s:s%, s:O*}", "name", c->name.p, c->name.n,
                                              "arguments", c->arguments);
    bool ok = params != NULL;
    if (ok && c->inputs != NULL) {
        ok = json_object_set(params, "inputResponses", c->inputs) == 0;
    }
    if (ok && c->state != NULL) {
        ok = json_object_set(params, "requestState", cf_json_ref(c->state)) == 0;
    }
    if (!ok) {
        json_decref(params);
        return NULL;
    }
    return params;
}

static bool is_cancelled(const calling *c)
{
    return c->cancel != NULL && atomic_load_explicit(c->cancel, memory_order_relaxed);
}

/* Tells the server that its answer is not wanted any more. */
static void call_off(const calling *c, int64_t id, const char *reason)
{
    cf_mcp__server *s = c->s;
    cf_error ignored;
    if (s->state != CF_MCP_READY) {
        return;
    }
    for (size_t i = 0; i < s->n_request; i++) {
        if (s->request[i].id == id) {
            s->request[i] = s->request[--s->n_request];
            break;
        }
    }
    s->transport->forget(s, id);
    if (s->era == CF_MCP__MODERN && s->transport->forgets_by_closing) {
        cf_mcp__note(s, "the answer's stream was closed: %s", reason);
        return;
    }
    cf_ignore(cf_mcp__say(s, "notifications/cancelled",
                          json_pack("{s:s, s:s, s:{s:I, s:s}}", "jsonrpc", "2.0", "method",
                                    "notifications/cancelled", "params", "requestId",
                                    (json_int_t)id, "reason", reason),
                          c->call, &ignored));
}

/* Sends the request and waits; *answer is the caller's. */
static cf_status exchange(calling *c, json_t **answer, long *status, cf_error *err)
{
    cf_mcp__server *s = c->s;
    cf_mcp__waiting *w = &s->mcp->waiting;
    uint64_t now = cf_mcp__now(), asked_us = s->mcp->asked_us;
    uint64_t left_ms = now < c->deadline_us ? (c->deadline_us - now) / 1000 + 1 : 1;
    *w = (cf_mcp__waiting){.server = s, .id = s->next_id + 1};
    s->n_bytes = 0;
    cf_status st = cf_mcp__ask(s, CF_MCP__CALL, c->method, call_params(c), c->call,
                               left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX, NULL, err);
    while (st == CF_OK && !w->is_over) {
        st = cf_mcp_step(s->mcp, STEP_MS, err);
        /* Also where the answer came in the same step: stopping a question
         * has the server answer at once. */
        if (st == CF_OK && is_cancelled(c)) {
            if (!w->is_over) {
                call_off(c, w->id, "stopped by the user");
            }
            st = cf_fail(err, CF_ECANCELLED, "stopped");
        }
    }
    if (st == CF_OK && w->st != CF_OK) {
        if (w->st == CF_ELIMIT) {
            call_off(c, w->id, "no answer in time");
        }
        st = w->st;
        if (err != NULL) {
            *err = w->err;
        }
    }
    c->deadline_us += s->mcp->asked_us - asked_us;
    *answer = w->answer;
    *status = w->http_status;
    *w = (cf_mcp__waiting){.server = NULL};
    return st;
}

/* ---- the result --------------------------------------------------------- */

void cf_mcp_result_deinit(cf_mcp_result *result)
{
    json_decref(result->content);
    json_decref(result->structured);
    json_decref(result->findings);
    *result = (cf_mcp_result){.is_sent = false};
}

static cf_status add_finding(cf_mcp_result *out, const char *path, const char *text, cf_error *err)
{
    return json_array_append_new(out->findings,
                                 json_pack("{s:s, s:s}", "path", path, "text", text)) == 0
               ? CF_OK
               : cf_oom_for(err, "a finding");
}

static cf_status read_result(const json_t *tool, const json_t *result, cf_mcp_result *out,
                             cf_error *err)
{
    const json_t *content = json_object_get(result, "content");
    json_t *structured = json_object_get(result, "structuredContent");
    const json_t *schema = json_object_get(tool, "outputSchema");
    const json_t *is_error = json_object_get(result, "isError");
    if (!json_is_object(result)) {
        return cf_fail(err, CF_EFORMAT, "the server's result is not an object");
    }
    if (json_is_array(content)) {
        json_decref(out->content);
        out->content = json_incref(cf_json_ref(content));
    } else if (content != NULL && !json_is_null(content)) {
        CF_TRY(add_finding(out, "content", "is not a list", err));
    }
    out->is_error = json_is_true(is_error);
    out->structured = json_incref(structured);
    if (!json_is_object(schema) || out->is_error) {
        return CF_OK;
    }
    bool fits = false;
    if (structured == NULL) {
        CF_TRY(add_finding(out, "structuredContent", "is missing, and the tool has an outputSchema",
                           err));
    } else {
        CF_TRY(cf_mcp__check(schema, structured, "structuredContent", out->findings, &fits, err));
    }
    out->is_bad = !fits;
    return CF_OK;
}

static bool is_input_required(const json_t *result)
{
    return cf_str_is(cf_json_get_str(result, "resultType"), "input_required");
}

/* A result type that the specification does not have is not a result. */
static cf_status check_type(const json_t *result, cf_error *err)
{
    const json_t *type = json_object_get(result, "resultType");
    if (type == NULL || json_is_null(type) || is_input_required(result) ||
        cf_str_is(cf_json_get_str(result, "resultType"), "complete")) {
        return CF_OK;
    }
    return cf_fail(err, CF_EFORMAT, "a result of the unknown type %.60s",
                   json_is_string(type) ? json_string_value(type) : "?");
}

/* Gathers what an interim result asks for. */
static cf_status gather(calling *c, json_t *answer, cf_error *err)
{
    const json_t *result = json_object_get(answer, "result");
    const json_t *requests = json_object_get(result, "inputRequests");
    uint64_t began = cf_mcp__now();
    json_decref(c->inputs);
    c->inputs = NULL;
    if (json_object_size(requests) > 0) {
        c->inputs = answer_inputs(c->s, requests);
        if (c->inputs == NULL) {
            return cf_oom_for(err, "the answers");
        }
    }
    c->deadline_us += cf_mcp__now() - began;
    json_decref(c->held);
    c->held = json_incref(answer);
    c->state = json_object_get(result, "requestState");
    return CF_OK;
}

/* Whether the request may succeed when it is sent again; prepares that. */
static cf_status prepare_again(calling *c, const json_t *answer, long status, bool *again,
                               cf_error *err)
{
    cf_mcp__server *s = c->s;
    const json_t *code = json_object_get(cf_mcp__error_of(answer), "code");
    *again = false;
    if (answer == NULL && cf_mcp__http_lost_session(s, status)) {
        cf_mcp__note(s, "the server has forgotten the session: a new one");
        *again = true;
        CF_TRY(cf_mcp_restart(s->mcp, s->index, err));
        CF_TRY(cf_mcp_settle(s->mcp, c->cancel, err));
    } else if (s->era == CF_MCP__MODERN && json_is_integer(code) &&
               json_integer_value(code) == CF_MCP__HEADER_MISMATCH) {
        *again = true;
        cf_mcp__list_changed(s);
        while (s->pages != NULL && s->state == CF_MCP_READY) {
            if (is_cancelled(c)) {
                return cf_fail(err, CF_ECANCELLED, "stopped");
            }
            CF_TRY(cf_mcp_step(s->mcp, STEP_MS, err));
        }
    }
    return CF_OK;
}

static cf_status protocol_error(const json_t *answer, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_mcp__error_text(&text, cf_mcp__error_of(answer));
    cf_status st = cf_fail(err, CF_EFORMAT, "the server answered with %.200s", cf_buf_cstr(&text));
    cf_buf_deinit(&text);
    return st;
}

/* *out: the result, the caller's. */
static cf_status run(calling *c, json_t **out, cf_error *err)
{
    bool was_again = false;
    for (int round = 0; round < CF_MCP__ROUNDS_MAX; round++) {
        json_t *answer = NULL;
        long status = 0;
        bool again = false;
        cf_status st = exchange(c, &answer, &status, err);
        if (!was_again && (st == CF_EIO || (st == CF_OK && cf_mcp__error_of(answer) != NULL))) {
            cf_status prepared = prepare_again(c, answer, status, &again, err);
            st = prepared != CF_OK ? prepared : again ? CF_OK : st;
            was_again = again;
        }
        const json_t *result = json_object_get(answer, "result");
        if (st == CF_OK && !again && cf_mcp__error_of(answer) != NULL) {
            st = protocol_error(answer, err);
        }
        if (st == CF_OK && !again) {
            st = check_type(result, err);
        }
        bool more = st == CF_OK && !again && is_input_required(result);
        if (more) {
            st = gather(c, answer, err);
        } else if (st == CF_OK && !again) {
            *out = json_incref(cf_json_ref(result));
        }
        json_decref(answer);
        if (st != CF_OK || (!more && !again)) {
            return st;
        }
    }
    return cf_fail(err, CF_ELIMIT, "the server asked for more %d times", CF_MCP__ROUNDS_MAX);
}

static cf_status check_arguments(const json_t *tool, const json_t *arguments, cf_mcp_result *out,
                                 bool *fits, cf_error *err)
{
    *fits = true;
    if (!json_is_object(arguments)) {
        *fits = false;
        return add_finding(out, "arguments", "are not an object", err);
    }
    return cf_mcp__check(json_object_get(tool, "inputSchema"), arguments, "arguments",
                         out->findings, fits, err);
}

cf_status cf_mcp_call(cf_mcp *mcp, size_t index, cf_str tool_name, const json_t *arguments,
                      const cf_mcp_call_options *options, cf_mcp_result *out, cf_error *err)
{
    static const cf_mcp_call_options usual;
    const cf_mcp_call_options *o = options != NULL ? options : &usual;
    cf_mcp__server *s = mcp->server[index];
    *out = (cf_mcp_result){.content = json_array(), .findings = json_array()};
    json_t *empty = json_object();
    json_t *tool = json_incref(cf_json_ref(cf_mcp_tool_find(s->tools, tool_name)));
    cf_status st = out->content != NULL && out->findings != NULL && empty != NULL
                       ? CF_OK
                       : cf_oom_for(err, "a call");
    if (st == CF_OK && s->state != CF_MCP_READY) {
        st = cf_fail(err, CF_ENOTFOUND, "the server is %s%s%.160s", cf_mcp_state_name(s->state),
                     s->state == CF_MCP_FAILED ? ": " : "",
                     s->state == CF_MCP_FAILED ? s->error.text : "");
    } else if (st == CF_OK && tool == NULL) {
        st = cf_fail(err, CF_ENOTFOUND, "the server has no tool %.*s",
                     (int)(tool_name.n < 120 ? tool_name.n : 120), tool_name.p);
    }
    if (st == CF_OK && cf_mcp_tool_needs_task(tool)) {
        st = cf_fail(err, CF_EUNSUPPORTED, "%.*s runs as a task only, which is not offered",
                     (int)(tool_name.n < 120 ? tool_name.n : 120), tool_name.p);
    }
    mcp->n_call = o->call != 0 ? o->call : mcp->n_call + 1;
    out->call = mcp->n_call;
    bool fits = false;
    arguments = arguments != NULL && !json_is_null(arguments) ? arguments : empty;
    CF_THEN(st, check_arguments(tool, arguments, out, &fits, err));
    if (st == CF_OK && fits) {
        uint32_t limit_ms = o->timeout_ms != 0 ? o->timeout_ms : mcp->options.call_ms;
        uint64_t began = cf_mcp__now();
        calling c = {.s = s,
                     .method = "tools/call",
                     .name = tool_name,
                     .arguments = arguments,
                     .call = mcp->n_call,
                     .deadline_us = began + (uint64_t)limit_ms * 1000,
                     .cancel = o->cancel};
        json_t *result = NULL;
        out->is_sent = true;
        st = run(&c, &result, err);
        CF_THEN(st, read_result(tool, result, out, err));
        out->duration_us = cf_mcp__now() - began;
        json_decref(result);
        json_decref(c.inputs);
        json_decref(c.held);
    }
    json_decref(tool);
    json_decref(empty);
    if (st != CF_OK) {
        cf_mcp_result_deinit(out);
    }
    return st;
}

/* ---- resources and prompts ---------------------------------------------- */

/* Asks for something with a list of the name `member` in the result. */
static cf_status get(cf_mcp *mcp, calling *c, const cf_mcp_call_options *options,
                     const char *member, json_t **out, cf_error *err)
{
    static const cf_mcp_call_options usual;
    const cf_mcp_call_options *o = options != NULL ? options : &usual;
    uint32_t limit_ms = o->timeout_ms != 0 ? o->timeout_ms : mcp->options.call_ms;
    json_t *result = NULL;
    *out = NULL;
    if (c->s->state != CF_MCP_READY) {
        return cf_fail(err, CF_ENOTFOUND, "the server is %s", cf_mcp_state_name(c->s->state));
    }
    mcp->n_call = o->call != 0 ? o->call : mcp->n_call + 1;
    c->call = mcp->n_call;
    c->cancel = o->cancel;
    c->deadline_us = cf_mcp__now() + (uint64_t)limit_ms * 1000;
    cf_status st = run(c, &result, err);
    if (st == CF_OK && !json_is_array(json_object_get(result, member))) {
        st = cf_fail(err, CF_EFORMAT, "the server's result has no list \"%s\"", member);
    }
    if (st == CF_OK) {
        *out = json_incref(result);
    }
    json_decref(result);
    json_decref(c->inputs);
    json_decref(c->held);
    return st;
}

cf_status cf_mcp_read_resource(cf_mcp *mcp, size_t index, cf_str uri,
                               const cf_mcp_call_options *options, json_t **out, cf_error *err)
{
    calling c = {.s = mcp->server[index], .method = "resources/read", .uri = uri};
    return get(mcp, &c, options, "contents", out, err);
}

cf_status cf_mcp_get_prompt(cf_mcp *mcp, size_t index, cf_str name, const json_t *arguments,
                            const cf_mcp_call_options *options, json_t **out, cf_error *err)
{
    calling c = {
        .s = mcp->server[index], .method = "prompts/get", .name = name, .arguments = arguments};
    return get(mcp, &c, options, "messages", out, err);
}
