/*
 * mcp.c - all servers of a session: the loop, requests and their time limits.
 *
 * 1. A request in s->request has been sent and has no answer yet.  It is taken
 *    out before what it leads to is done.
 * 2. Nothing waits for a server that is failed or stopped.
 * 3. mcp->waiting.server is set only while cf_mcp_call() waits.
 */
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/version.h"
#include "core/mcp/mcp_impl.h"
#include "core/mcp/mcp_oauth.h"

enum {
    PROBE_MS = 3000,
    START_MS = 30000,
    CALL_MS = 60000,
    GRACE_MS = 2000,
    LEAVE_MS = 800, /* for all servers together, when the program ends */
    MESSAGE_MAX = 16 << 20,
    STEP_MS = 50,
    NOTE_SIZE = 400
};

const char *const cf_mcp_revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18",
                                        "2025-03-26", "2024-11-05", NULL};

const char *cf_mcp_state_name(cf_mcp_state state)
{
    static const char *const names[] = {"starting", "ready", "failed", "stopped"};
    return names[state];
}

uint64_t cf_mcp__now(void)
{
    return cf_os_monotonic_us();
}

/* ---- telling ------------------------------------------------------------ */

void cf_mcp__tell(cf_mcp__server *s, cf_mcp_event_kind kind, uint64_t call, cf_str text)
{
    const cf_mcp_options *o = &s->mcp->options;
    if (o->event != NULL) {
        const cf_mcp_event ev = {
            .kind = kind, .server = s->index, .call = call, .text = text, .total = -1};
        o->event(o->ud, &ev);
    }
}

void cf_mcp__note(cf_mcp__server *s, const char *fmt, ...)
{
    char text[NOTE_SIZE];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cf_mcp__tell(s, CF_MCP_NOTE, 0,
                 cf_str_make(text, n < 0           ? 0
                                   : n < NOTE_SIZE ? (size_t)n
                                                   : NOTE_SIZE - 1));
}

void cf_mcp__set_state(cf_mcp__server *s, cf_mcp_state state)
{
    s->state = state;
    cf_mcp__tell(s, CF_MCP_STATE, 0, cf_str_from(cf_mcp_state_name(state)));
}

/* ---- requests ----------------------------------------------------------- */

static void take_request(cf_mcp__server *s, size_t i, cf_mcp__request *out)
{
    *out = s->request[i];
    s->request[i] = s->request[--s->n_request];
}

static bool find_request(const cf_mcp__server *s, int64_t id, size_t *at)
{
    for (size_t i = 0; i < s->n_request; i++) {
        if (s->request[i].id == id) {
            *at = i;
            return true;
        }
    }
    return false;
}

void cf_mcp__forget_all(cf_mcp__server *s)
{
    while (s->n_request > 0) {
        s->transport->forget(s, s->request[--s->n_request].id);
    }
}

/* What every request of the new era says about us. */
static bool add_meta(const cf_mcp__server *s, json_t *params, int64_t progress)
{
    json_t *meta = json_object();
    bool ok = meta != NULL && json_object_set_new(params, "_meta", meta) == 0;
    if (ok && progress >= 0) {
        ok = json_object_set_new(meta, "progressToken", json_integer(progress)) == 0;
    }
    if (!ok || s->era == CF_MCP__LEGACY) {
        return ok;
    }
    const char *revision = s->revision != NULL ? s->revision : cf_mcp_revisions[0];
    return json_object_set_new(meta, "io.modelcontextprotocol/protocolVersion",
                               json_string(revision)) == 0 &&
           json_object_set_new(meta, "io.modelcontextprotocol/clientInfo",
                               json_pack("{s:s, s:s}", "name", "confab", "version", CF_VERSION)) ==
               0 &&
           json_object_set_new(meta, "io.modelcontextprotocol/clientCapabilities",
                               json_pack("{s:{s:{}, s:{}}}", "elicitation", "form", "url")) == 0;
}

static cf_status send_text(cf_mcp__server *s, const json_t *message, const cf_mcp__parcel *like,
                           uint64_t call, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_error why = {0};
    cf_json_write(&text, message);
    cf_status st = cf_buf_check(&text, &why);
    if (st == CF_OK) {
        cf_mcp__parcel parcel = *like;
        parcel.text = cf_buf_str(&text);
        cf_mcp__tell(s, CF_MCP_SENT, call, parcel.text);
        st = s->transport->send(s, &parcel, &why);
    }
    cf_buf_deinit(&text);
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    return st;
}

static cf_status remember(cf_mcp__server *s, const cf_mcp__request *r, cf_error *err)
{
    if (!cf_grow(&s->request, &s->cap_request, s->n_request + 1, sizeof *s->request)) {
        return cf_oom_for(err, "a request");
    }
    s->request[s->n_request++] = *r;
    return CF_OK;
}

cf_status cf_mcp__ask(cf_mcp__server *s, cf_mcp__kind kind, const char *method, json_t *params,
                      uint64_t call, uint32_t limit_ms, int64_t *id, cf_error *err)
{
    cf_error why = {0};
    const cf_mcp__request r = {.id = ++s->next_id,
                               .kind = kind,
                               .deadline_us =
                                   limit_ms > 0 ? cf_mcp__now() + (uint64_t)limit_ms * 1000 : 0,
                               .call = call};
    bool has_meta =
        kind != CF_MCP__INITIALIZE && (s->era != CF_MCP__LEGACY || kind == CF_MCP__CALL);
    bool ok =
        params != NULL && (!has_meta || add_meta(s, params, kind == CF_MCP__CALL ? r.id : -1));
    json_t *message = ok ? json_pack("{s:s, s:I, s:s, s:O}", "jsonrpc", "2.0", "id",
                                     (json_int_t)r.id, "method", method, "params", params)
                         : NULL;
    cf_status st = message != NULL ? CF_OK : cf_oom_for(&why, "a request");
    CF_THEN(st, remember(s, &r, &why));
    if (st == CF_OK) {
        cf_str name = cf_json_get_str(params, "name");
        name = name.n > 0 ? name : cf_json_get_str(params, "uri");
        const cf_mcp__parcel like = {.method = method,
                                     .name = kind == CF_MCP__CALL ? name : cf_str_make("", 0),
                                     .params = params,
                                     .id = r.id};
        if (id != NULL) {
            *id = r.id;
        }
        st = send_text(s, message, &like, call, &why);
    }
    json_decref(message);
    json_decref(params);
    if (st != CF_OK) {
        cf_mcp__fail(s, &why, 0);
        if (err != NULL) {
            *err = why;
        }
    }
    return st;
}

cf_status cf_mcp__say(cf_mcp__server *s, const char *method, json_t *message, uint64_t call,
                      cf_error *err)
{
    const cf_mcp__parcel like = {.method = method, .id = -1};
    cf_status st =
        message != NULL ? send_text(s, message, &like, call, err) : cf_oom_for(err, "a message");
    json_decref(message);
    return st;
}

/* ---- what comes --------------------------------------------------------- */

bool cf_mcp__count(cf_mcp__server *s, size_t n)
{
    s->n_bytes += n;
    if (s->n_bytes > CF_MCP__LISTS_MAX) {
        cf_error why;
        cf_fail(&why, CF_ELIMIT, "the server sent more than %d MiB without an answer",
                CF_MCP__LISTS_MAX >> 20);
        cf_mcp__fail(s, &why, 0);
        return false;
    }
    return true;
}

/* The call that a message without a request of ours belongs to. */
static uint64_t current_call(const cf_mcp__server *s)
{
    for (size_t i = 0; i < s->n_request; i++) {
        if (s->request[i].kind == CF_MCP__CALL) {
            return s->request[i].call;
        }
    }
    return 0;
}

static void end_waiting(cf_mcp__server *s, const json_t *answer, long status, const cf_error *why)
{
    cf_mcp__waiting *w = &s->mcp->waiting;
    w->is_over = true;
    w->http_status = status;
    if (answer != NULL) {
        w->answer = json_incref(cf_json_ref(answer));
        w->st = CF_OK;
    } else {
        CF_ASSERT(why != NULL);
        w->st = why->code;
        w->err = *why;
    }
}

/* What follows from the end of a request. */
static void conclude(cf_mcp__server *s, const cf_mcp__request *r, const json_t *answer, long status,
                     const cf_error *why, bool is_silent)
{
    s->n_bytes = 0;
    switch (r->kind) {
    case CF_MCP__DISCOVER:
    case CF_MCP__INITIALIZE:
        cf_mcp__on_start(s, r->kind, answer, status, why, is_silent);
        break;
    case CF_MCP__LIST:
        cf_mcp__on_list(s, answer, why);
        break;
    case CF_MCP__CALL:
        if (s->mcp->waiting.server == s && s->mcp->waiting.id == r->id) {
            end_waiting(s, answer, status, why);
        }
        break;
    case CF_MCP__LISTEN:
        break; /* the stream of changes has ended */
    }
}

static void on_answer(cf_mcp__server *s, const json_t *message, cf_str text)
{
    size_t at;
    cf_mcp__request r;
    int64_t id = cf_mcp__answer_id(message);
    if (id < 0 || !find_request(s, id, &at)) {
        cf_mcp__tell(s, CF_MCP_RECEIVED, 0, text);
        return; /* too late, or to nothing that was asked */
    }
    take_request(s, at, &r);
    cf_mcp__tell(s, CF_MCP_RECEIVED, r.call, text);
    conclude(s, &r, message, 0, NULL, false);
}

static void on_progress(cf_mcp__server *s, const json_t *params, uint64_t call)
{
    const cf_mcp_options *o = &s->mcp->options;
    const json_t *now = json_object_get(params, "progress");
    const json_t *total = json_object_get(params, "total");
    if (o->event != NULL && json_is_number(now)) {
        const cf_mcp_event ev = {.kind = CF_MCP_PROGRESS,
                                 .server = s->index,
                                 .call = call,
                                 .text = cf_json_get_str(params, "message"),
                                 .progress = json_number_value(now),
                                 .total = json_is_number(total) ? json_number_value(total) : -1};
        o->event(o->ud, &ev);
    }
}

static void on_notification(cf_mcp__server *s, const json_t *message, cf_str text)
{
    cf_str method = cf_json_get_str(message, "method");
    const json_t *params = json_object_get(message, "params");
    size_t at;
    uint64_t call = current_call(s);
    bool is_progress = cf_str_is(method, "notifications/progress");
    if (is_progress) {
        const json_t *token = json_object_get(params, "progressToken");
        call = json_is_integer(token) && find_request(s, json_integer_value(token), &at)
                   ? s->request[at].call
                   : 0;
    }
    cf_mcp__tell(s, CF_MCP_RECEIVED, call, text);
    if (is_progress) {
        on_progress(s, params, call);
    } else if (cf_str_is(method, "notifications/tools/list_changed") ||
               cf_str_is(method, "notifications/prompts/list_changed") ||
               cf_str_is(method, "notifications/resources/list_changed")) {
        cf_mcp__list_changed(s);
    }
}

static void on_message(cf_mcp__server *s, const json_t *message, cf_str text)
{
    switch (cf_mcp__classify(message)) {
    case CF_MCP__ANSWER:
        on_answer(s, message, text);
        break;
    case CF_MCP__REQUEST:
        cf_mcp__tell(s, CF_MCP_RECEIVED, current_call(s), text);
        cf_mcp__on_request(s, message);
        break;
    case CF_MCP__NOTIFICATION:
        on_notification(s, message, text);
        break;
    case CF_MCP__STRAY:
        cf_mcp__tell(s, CF_MCP_STRAY, 0, text);
        break;
    }
}

void cf_mcp__receive(cf_mcp__server *s, cf_str text)
{
    json_t *message = NULL;
    cf_error err;
    cf_status st = cf_mcp__read(&message, text, &err);
    if (st == CF_ENOMEM) {
        cf_mcp__fail(s, &err, 0);
    } else if (st != CF_OK) {
        cf_mcp__tell(s, CF_MCP_STRAY, 0, text);
    } else if (json_is_array(message)) { /* a batch of revision 2025-03-26 */
        for (size_t i = 0; i < json_array_size(message); i++) {
            cf_buf one = CF_BUF_INIT;
            cf_json_write(&one, json_array_get(message, i));
            on_message(s, json_array_get(message, i), cf_buf_str(&one));
            cf_buf_deinit(&one);
        }
    } else {
        on_message(s, message, text);
    }
    json_decref(message);
}

void cf_mcp__lose(cf_mcp__server *s, int64_t id, long status, const cf_error *why)
{
    size_t at;
    cf_mcp__request r;
    if (find_request(s, id, &at)) {
        take_request(s, at, &r);
        conclude(s, &r, NULL, status, why, false);
    }
}

void cf_mcp__fail(cf_mcp__server *s, const cf_error *why, uint32_t grace_ms)
{
    if (s->state == CF_MCP_FAILED || s->state == CF_MCP_STOPPED) {
        return;
    }
    s->mcp->is_out_of_memory = s->mcp->is_out_of_memory || why->code == CF_ENOMEM;
    s->error = *why;
    cf_mcp__forget_all(s);
    s->transport->stop(s, grace_ms);
    if (s->mcp->waiting.server == s && !s->mcp->waiting.is_over) {
        end_waiting(s, NULL, 0, why);
    }
    cf_mcp__set_state(s, CF_MCP_FAILED);
}

/* ---- the loop ----------------------------------------------------------- */

/* Ends what has waited too long. */
static void keep_time(cf_mcp__server *s)
{
    uint64_t now = cf_mcp__now();
    for (size_t i = 0; i < s->n_request;) {
        cf_mcp__request r;
        if (s->request[i].deadline_us == 0 || now < s->request[i].deadline_us) {
            i++;
            continue;
        }
        cf_error why;
        take_request(s, i, &r);
        s->transport->forget(s, r.id);
        cf_fail(&why, CF_ELIMIT, "the server did not answer in time");
        conclude(s, &r, NULL, 0, &why, true);
        i = 0; /* the list may be another */
    }
}

/* A server that failed for want of memory is an error of the caller too: with
 * more memory its answer would be another one. */
static cf_status check_memory(cf_mcp *mcp, cf_error *err)
{
    bool is_out = mcp->is_out_of_memory;
    mcp->is_out_of_memory = false;
    return is_out ? cf_oom_for(err, "a tool server") : CF_OK;
}

cf_status cf_mcp_step(cf_mcp *mcp, uint32_t timeout_ms, cf_error *err)
{
    cf_status st = cf_mcp__http_step(mcp, timeout_ms, err);
    for (size_t i = 0; i < mcp->n_server; i++) {
        cf_mcp__server *s = mcp->server[i];
        cf_mcp__stdio_serve(s);
        keep_time(s);
    }
    CF_THEN(st, check_memory(mcp, err));
    return st;
}

static bool is_cancelled(const cf_cancel *cancel)
{
    return cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed);
}

cf_status cf_mcp_settle(cf_mcp *mcp, cf_cancel *cancel, cf_error *err)
{
    for (;;) {
        bool is_starting = false;
        for (size_t i = 0; i < mcp->n_server; i++) {
            is_starting = is_starting || mcp->server[i]->state == CF_MCP_STARTING;
        }
        if (!is_starting) {
            return check_memory(mcp, err);
        }
        if (is_cancelled(cancel)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        CF_TRY(cf_mcp_step(mcp, STEP_MS, err));
    }
}

cf_status cf_mcp_refresh(cf_mcp *mcp, cf_cancel *cancel, cf_error *err)
{
    uint64_t now = cf_mcp__now();
    for (size_t i = 0; i < mcp->n_server; i++) {
        cf_mcp__server *s = mcp->server[i];
        if (s->state == CF_MCP_READY && s->fresh_until_us != 0 && now >= s->fresh_until_us) {
            cf_mcp__list_changed(s);
        }
    }
    for (;;) {
        bool is_listing = false;
        for (size_t i = 0; i < mcp->n_server; i++) {
            is_listing = is_listing || mcp->server[i]->pages != NULL;
        }
        if (!is_listing) {
            return check_memory(mcp, err);
        }
        if (is_cancelled(cancel)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        CF_TRY(cf_mcp_step(mcp, STEP_MS, err));
    }
}

void cf_mcp_wake(cf_mcp *mcp)
{
    curl_multi_wakeup(mcp->multi);
}

/* ---- making and ending -------------------------------------------------- */

static uint32_t or_else(uint32_t v, uint32_t usual)
{
    return v != 0 ? v : usual;
}

cf_status cf_mcp_new(cf_mcp **out, const cf_mcp_options *options, cf_error *err)
{
    cf_mcp *mcp = cf_calloc(1, sizeof *mcp);
    if (mcp == NULL) {
        return cf_oom_for(err, "the tool servers");
    }
    if (options != NULL) {
        mcp->options = *options;
    }
    cf_mcp_options *o = &mcp->options;
    o->probe_ms = or_else(o->probe_ms, PROBE_MS);
    o->start_ms = or_else(o->start_ms, START_MS);
    o->call_ms = or_else(o->call_ms, CALL_MS);
    o->grace_ms = or_else(o->grace_ms, GRACE_MS);
    o->message_max = o->message_max != 0 ? o->message_max : MESSAGE_MAX;
    cf_status st = cf_mcp__http_init(mcp, err);
    if (st != CF_OK) {
        cf_free(mcp);
        return st;
    }
    *out = mcp;
    return CF_OK;
}

static void free_server(cf_mcp__server *s)
{
    if (s == NULL) {
        return;
    }
    json_decref(s->config);
    json_decref(s->about);
    json_decref(s->tools);
    json_decref(s->others);
    json_decref(s->pages);
    json_decref(s->cursors);
    cf_mcp__sign_in_deinit(s);
    cf_free(s->request);
    cf_buf_deinit(&s->out);
    cf_buf_deinit(&s->line);
    cf_buf_deinit(&s->errors);
    cf_free(s);
}

void cf_mcp_free(cf_mcp *mcp)
{
    if (mcp == NULL) {
        return;
    }
    /* All learn it first, so that they end at the same time. */
    for (size_t i = 0; i < mcp->n_server; i++) {
        cf_process_close_fd(&mcp->server[i]->process.in);
    }
    mcp->options.event = NULL;
    const uint64_t until = cf_mcp__now() + (uint64_t)LEAVE_MS * 1000;
    for (size_t i = 0; i < mcp->n_server; i++) {
        uint64_t now = cf_mcp__now();
        /* Half of what is left to end by itself, half after a signal. */
        uint64_t left_ms = now < until ? (until - now) / 2000 : 0;
        if (left_ms < mcp->options.grace_ms) {
            mcp->options.grace_ms = (uint32_t)left_ms;
        }
        cf_mcp_stop(mcp, i);
        free_server(mcp->server[i]);
    }
    cf_free(mcp->server);
    cf_mcp__http_deinit(mcp);
    cf_free(mcp);
}

cf_status cf_mcp_add(cf_mcp *mcp, const json_t *config, size_t *index, cf_error *err)
{
    cf_mcp__server *s = cf_calloc(1, sizeof *s);
    if (s == NULL ||
        !cf_grow(&mcp->server, &mcp->cap_server, mcp->n_server + 1, sizeof(cf_mcp__server *))) {
        cf_free(s);
        return cf_oom_for(err, "a tool server");
    }
    s->mcp = mcp;
    s->index = mcp->n_server;
    s->process = (cf_process)CF_PROCESS_INIT;
    s->config = json_incref(cf_json_ref(config));
    s->tools = json_array();
    s->transport = json_object_get(config, "url") != NULL ? &cf_mcp__http : &cf_mcp__stdio;
    if (s->tools == NULL) {
        free_server(s);
        return cf_oom_for(err, "a tool server");
    }
    mcp->server[mcp->n_server++] = s;
    *index = s->index;
    cf_mcp__start(s);
    return CF_OK;
}

void cf_mcp_stop(cf_mcp *mcp, size_t index)
{
    cf_mcp__server *s = mcp->server[index];
    if (s->state == CF_MCP_STOPPED || s->state == CF_MCP_FAILED) {
        return;
    }
    cf_mcp__forget_all(s);
    s->transport->stop(s, mcp->options.grace_ms);
    json_decref(s->pages);
    s->pages = NULL;
    cf_mcp__set_state(s, CF_MCP_STOPPED);
}

cf_status cf_mcp_restart(cf_mcp *mcp, size_t index, cf_error *err)
{
    (void)err;
    cf_mcp_stop(mcp, index);
    mcp->server[index]->is_second_start = false;
    mcp->server[index]->probe_was_silent = false;
    mcp->server[index]->was_sent_back = false;
    cf_mcp__start(mcp->server[index]);
    return CF_OK;
}

size_t cf_mcp_n(const cf_mcp *mcp)
{
    return mcp->n_server;
}

/* The server's own account of itself, in the place that its era has for it. */
static const json_t *info_of(const cf_mcp__server *s)
{
    const json_t *info = json_object_get(s->about, "serverInfo");
    return info != NULL ? info
                        : json_object_get(json_object_get(s->about, "_meta"),
                                          "io.modelcontextprotocol/serverInfo");
}

cf_mcp_server cf_mcp_server_at(const cf_mcp *mcp, size_t index)
{
    const cf_mcp__server *s = mcp->server[index];
    const json_t *info = info_of(s);
    return (cf_mcp_server){
        .name = cf_json_get_str(s->config, "name"),
        .state = s->state,
        .error = s->state == CF_MCP_FAILED ? s->error.text : "",
        .error_code = s->state == CF_MCP_FAILED ? s->error.code : CF_OK,
        .protocol = s->revision != NULL ? s->revision : "",
        .title = cf_json_get_str(info, "name"),
        .version = cf_json_get_str(info, "version"),
        .instructions = cf_json_get_str(s->about, "instructions"),
        .tools = s->tools,
        .prompts = json_object_get(s->others, "prompts"),
        .resources = json_object_get(s->others, "resources"),
        .templates = json_object_get(s->others, "resourceTemplates"),
        .config = s->config,
        .signed_in = s->signed_in,
    };
}
