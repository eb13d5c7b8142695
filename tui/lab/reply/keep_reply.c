/*
 * keep_reply.c - a reply on its way into the history.
 *
 * Always true:
 *   1. Only the thread that sends comes here; `k` is its own from begin to
 *      end.
 *   2. The store is asked once for the turn (is_tried): with a built-in
 *      engine at the first event, when the prompt is known, else before the
 *      engine is asked.
 *   3. `stream` is set exactly while the store has a turn that is not
 *      complete; cf_keep_reply_end() completes it whatever came of the send.
 *   4. The stream's ids are the reply's tokens in order, given ones first:
 *      n_ids is the index of the next, and `forced`, `held` and `drafted`
 *      are such indices.
 *   5. A failure to store never fails the send: it is kept in `why` and
 *      returned at the end.
 */
#include "tui/lab/reply/keep_reply.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/adapter.h"
#include "core/api/steer.h"
#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/os.h"

/* CF_EBUSY: the write is queued and will be retried. */
static cf_status kept(cf_status st)
{
    return st == CF_EBUSY ? CF_OK : st;
}

/* ---- the inputs --------------------------------------------------------- */

/* Buffers that the run's fields point into. */
typedef struct inputs {
    cf_store_run run;
    cf_arena arena;
    cf_buf options, vars, start;
    char template_hash[CF_HASH_TEXT + 1], model_hash[CF_HASH_TEXT + 1];
    char prompt_hash[CF_HASH_TEXT + 1];
    const cf_token *start_ids; /* [n_start] */
} inputs;

static cf_str copy_text(cf_arena *arena, cf_str text)
{
    char *copy = cf_arena_strndup(arena, text.n != 0 ? text.p : "", text.n);
    return cf_str_make(copy, copy != NULL ? text.n : 0);
}

/* The path as a later replay finds it, from whatever folder. */
static void write_absolute(cf_buf *out, const char *path)
{
    char absolute[PATH_MAX];
    const char *found = realpath(path, absolute);
    cf_json_write_str(out, cf_str_from(found != NULL ? found : path));
}

/* The adapters that a session computes with, as run_options.h has them. */
static cf_str describe_adapters(cf_keep_reply *k, const cf_session *session)
{
    size_t n;
    const cf_adapter_use *v = cf_session_adapters(session, &n);
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_adapter_info info = cf_adapter_get_info(v[i].adapter);
        cf_buf_adds(&text, i == 0 ? "[{\"path\":" : ",{\"path\":");
        write_absolute(&text, info.path);
        cf_buf_addf(&text, ",\"sha256\":\"%s\",\"scale\":", info.hash);
        cf_json_write_double(&text, (double)v[i].scale);
        cf_buf_adds(&text, i + 1 == n ? "}]" : "}");
    }
    cf_str copy = {NULL, 0};
    if (n != 0 && !text.failed) {
        copy = copy_text(&k->arena, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
    return copy;
}

/* Its steering, likewise. */
static cf_str describe_steering(cf_keep_reply *k, const cf_session *session)
{
    const cf_steering *steering = cf_session_steering(session);
    size_t n = 0;
    const cf_steering_use *v = steering != NULL ? cf_steering_uses(steering, &n) : NULL;
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&text, i == 0 ? "[{\"path\":" : ",{\"path\":");
        write_absolute(&text, v[i].path);
        cf_buf_addf(&text, ",\"sha256\":\"%s\",\"scale\":", v[i].hash);
        cf_json_write_double(&text, (double)v[i].scale);
        cf_buf_addf(&text, ",\"first\":%u,\"last\":%u%s", v[i].first, v[i].last,
                    i + 1 == n ? "}]" : "}");
    }
    cf_str copy = {NULL, 0};
    if (n != 0 && !text.failed) {
        copy = copy_text(&k->arena, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
    return copy;
}

static void add_engine(inputs *in, cf_keep_reply *k, const cf_keep_engine *e)
{
    cf_store_run *run = &in->run;
    cf_backend_info info = cf_backend_get_info(e->backend);
    run->engine = cf_str_from(info.kind);
    run->model = info.name;
    if (e->engine == NULL) {
        return;
    }
    cf_engine_info about = cf_engine_get_info(e->engine);
    cf_engine_hash(e->engine, in->model_hash);
    run->model_hash = cf_str_from(in->model_hash);
    run->engine = cf_str_from(about.engine);
    run->n_threads = (int)about.n_threads;
    run->isa = cf_str_from(about.kernel_set);
    run->arithmetic = about.arithmetic;
    k->options.load_as = cf_str_from(about.load_as != NULL ? about.load_as : "");
    const cf_session *session = cf_backend_core_session(e->backend);
    if (session != NULL) {
        k->options.n_ctx = cf_session_n_ctx(session);
        k->options.cache = cf_session_cache(session);
        k->options.adapters = describe_adapters(k, session);
        k->options.steering = describe_steering(k, session);
    }
}

static bool add_tools(inputs *in, const cf_conversation *conv)
{
    size_t n;
    const cf_tool *tool = cf_tool_set_items(cf_conversation_tools(conv), &n);
    cf_str *v = cf_arena_calloc(&in->arena, n + 1, sizeof *v);
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; v != NULL && i < n; i++) {
        cf_buf_reset(&text);
        cf_json_write(&text, tool[i].raw);
        char *copy = text.failed ? NULL : cf_arena_alloc(&in->arena, text.n + 1);
        if (copy == NULL) {
            v = NULL;
            break;
        }
        memcpy(copy, cf_buf_cstr(&text), text.n + 1);
        v[i] = cf_str_make(copy, text.n);
    }
    cf_buf_deinit(&text);
    in->run.tools = v;
    in->run.n_tools = v != NULL ? n : 0;
    return v != NULL;
}

/* A JSON value as text in the arena; empty for NULL. */
static cf_str copy_json(cf_arena *arena, const json_t *v)
{
    cf_buf text = CF_BUF_INIT;
    cf_str copy = {NULL, 0};
    if (v != NULL) {
        cf_json_write(&text, v);
        copy = copy_text(arena, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
    return copy;
}

/* The prompt as it is sent, where the engine shows it. */
static void add_prompt(inputs *in, cf_keep_reply *k, const cf_chat_event *e)
{
    if (e == NULL) {
        return;
    }
    cf_hash_hex(in->prompt_hash, e->text.p != NULL ? e->text.p : "", e->text.n);
    in->run.prompt_hash = cf_str_from(in->prompt_hash);
    in->run.prompt_bytes = (int64_t)e->text.n;
    in->run.prompt_ids = e->ids;
    in->run.n_prompt_ids = e->n_prompt;
    in->start_ids = e->ids + e->n_prompt;
    k->options.n_start = e->n_ids - e->n_prompt;
    k->options.media = copy_json(&k->arena, e->media);
}

/* A copy that outlives the send's options: the turn's end writes them too. */
static bool copy_options(cf_keep_reply *k, const cf_send *send)
{
    cf_run_options *o = &k->options;
    static const cf_turn_options none;
    const cf_chat_options *c = &(send->options != NULL ? send->options : &none)->chat;
    o->sampling = c->sampling;
    o->has_sampling = c->has_sampling;
    o->max_tokens = c->max_tokens;
    o->thinking = c->thinking;
    o->has_thinking_budget = c->has_thinking_budget;
    o->thinking_budget = c->thinking_budget;
    o->as_is = c->as_is;
    o->extra = copy_json(&k->arena, c->vendor);
    cf_logit_bias *bias = cf_arena_calloc(&k->arena, c->sampling.n_bias + 1, sizeof *bias);
    cf_token *suppress = cf_arena_calloc(&k->arena, c->sampling.n_suppress + 1, sizeof *suppress);
    cf_str *stop = cf_arena_calloc(&k->arena, c->n_stop + 1, sizeof *stop);
    if (bias == NULL || suppress == NULL || stop == NULL) {
        return false;
    }
    for (size_t i = 0; i < c->sampling.n_bias; i++) {
        bias[i] = c->sampling.bias[i];
    }
    for (size_t i = 0; i < c->sampling.n_suppress; i++) {
        suppress[i] = c->sampling.suppress[i];
    }
    for (size_t i = 0; i < c->n_stop; i++) {
        char *text = cf_arena_alloc(&k->arena, c->stop[i].n + 1);
        if (text == NULL) {
            return false;
        }
        memcpy(text, c->stop[i].p, c->stop[i].n);
        stop[i] = cf_str_make(text, c->stop[i].n);
    }
    o->sampling.bias = bias;
    o->sampling.suppress = suppress;
    o->stop = stop;
    o->n_stop = c->n_stop;
    return true;
}

/* The given beginning of the reply, as bytes. */
static cf_status add_start(inputs *in, cf_keep_reply *k, const cf_chat_event *prompt, cf_error *err)
{
    const cf_send *send = k->start.send;
    cf_buf_add(&in->start, send->reply_prefix.p, send->reply_prefix.n);
    for (size_t i = 0; i < send->n_reply_ids && k->tok != NULL; i++) {
        cf_tokenizer_piece(&in->start, k->tok, send->reply_ids[i], true);
    }
    k->options.start_bytes = in->start.n;
    k->options.start_content = prompt != NULL ? prompt->n_content : 0;
    return cf_buf_check(&in->start, err);
}

static cf_status collect(inputs *in, cf_keep_reply *k, const cf_chat_event *prompt, cf_error *err)
{
    const cf_keep_engine *e = &k->engine;
    const cf_send *send = k->start.send;
    if (!copy_options(k, send) || !add_tools(in, k->conv)) {
        return cf_oom_for(err, "the history");
    }
    if (e->template_source.n != 0) {
        CF_TRY(
            kept(cf_store_put_template(k->store, cf_str_from(e->template_name), e->template_source,
                                       cf_str_make(NULL, 0), in->template_hash, err)));
        in->run.template_hash = cf_str_from(in->template_hash);
    }
    add_engine(in, k, e);
    add_prompt(in, k, prompt);
    CF_TRY(add_start(in, k, prompt, err));
    cf_run_options_write(&in->options, &k->options);
    in->run.options = cf_buf_str(&in->options);
    if (send->options != NULL && send->options->extra_context != NULL) {
        cf_json_write(&in->vars, send->options->extra_context);
        in->run.vars = cf_buf_str(&in->vars);
    }
    if (k->options.has_sampling) {
        in->run.seed = k->options.sampling.seed;
        in->run.has_seed = true;
    }
    CF_TRY(cf_buf_check(&in->options, err));
    return cf_buf_check(&in->vars, err);
}

/* ---- streaming ---------------------------------------------------------- */

/* The given beginning of the reply, as the stream's first piece. */
static cf_status put_start(cf_keep_reply *k, const inputs *in, cf_error *err)
{
    cf_stream_piece piece = {
        .raw = cf_buf_str(&in->start), .ids = in->start_ids, .n_ids = k->options.n_start};
    cf_status st = CF_OK;
    if (piece.raw.n > 0 || piece.n_ids > 0) {
        st = cf_stream_append(k->stream, &piece, err);
    }
    k->n_ids = k->options.n_start;
    return st;
}

static void forget(cf_keep_reply *k)
{
    cf_buf_deinit(&k->forced);
    cf_buf_deinit(&k->drafted);
    cf_buf_deinit(&k->held);
    cf_arena_deinit(&k->arena);
    memset(k, 0, sizeof *k);
}

/* Makes the turn in the store; `prompt` is NULL where it is not known. */
static cf_status open_stream(cf_keep_reply *k, const cf_chat_event *prompt, cf_error *err)
{
    const cf_keep_start *start = &k->start;
    inputs in = {.run = cf_store_run_none()};
    k->is_tried = true;
    cf_arena_init(&in.arena, 0);
    in.run.constraint_spec = start->constraint;
    cf_status st = collect(&in, k, prompt, err);
    if (st == CF_OK) {
        cf_store_turn row = {.id = start->send->reply_id,
                             .conversation = start->conversation,
                             .parent = start->parent,
                             .message = cf_str_from("{\"role\":\"assistant\","
                                                    "\"content\":\"\"}"),
                             .fork_of = start->fork_of,
                             .fork_token = start->fork_token,
                             .forced_ids = start->send->reply_ids,
                             .n_forced = start->send->n_reply_ids,
                             .finished_ms = -1,
                             .run = &in.run};
        st = kept(cf_store_begin(k->store, &row, &k->stream, err));
    }
    CF_THEN(st, put_start(k, &in, err));
    k->last_us = cf_os_monotonic_us();
    cf_buf_deinit(&in.options);
    cf_buf_deinit(&in.vars);
    cf_buf_deinit(&in.start);
    cf_arena_deinit(&in.arena);
    return st;
}

cf_status cf_keep_reply_begin(cf_keep_reply *k, cf_store *store, const cf_keep_engine *engine,
                              const cf_conversation *conv, const cf_keep_start *start,
                              cf_error *err)
{
    memset(k, 0, sizeof *k);
    cf_arena_init(&k->arena, 0);
    k->is_on = true;
    k->store = store;
    k->engine = *engine;
    k->start = *start;
    k->conv = conv;
    if (engine->engine != NULL) {
        k->tok = cf_engine_tokenizer(engine->engine);
        return CF_OK; /* when its prompt is known */
    }
    cf_status st = open_stream(k, NULL, err);
    if (k->stream == NULL) {
        forget(k);
    }
    return st;
}

/* A call as the parser found it, or a block that is not one. */
static void keep_call(cf_keep_reply *k, const cf_chat_event *e)
{
    if (k->n_calls == CF_KEEP_CALLS_MAX) {
        return;
    }
    cf_store_call c = cf_store_call_none();
    c.n = (int64_t)k->n_calls;
    if (e->kind == CF_CHAT_CALL && e->call != NULL) {
        c.call_id = copy_text(&k->arena, e->call->id);
        c.name = copy_text(&k->arena, e->call->name);
        c.arguments = copy_text(&k->arena, e->call->arguments);
        c.byte_from = (int64_t)e->call->off;
        c.byte_to = (int64_t)(e->call->off + e->call->len);
        c.status = cf_str_from(cf_tool_status_name(CF_TOOL_VALID));
        c.state = cf_str_from("parsed");
    } else {
        c.parse_error = copy_text(&k->arena, cf_str_from(e->stop.err.text));
        c.error_at = e->stop.err.off != CF_NO_OFFSET ? (int64_t)e->stop.err.off : -1;
        c.status = cf_str_from(cf_tool_status_name(CF_TOOL_PARSE_ERROR));
        c.state = cf_str_from("failed");
    }
    k->call[k->n_calls++] = c;
}

/* Adds what validation found about call `index`: its first status and all of
 * its findings. */
static void add_findings(cf_keep_reply *k, size_t index, const json_t *findings)
{
    cf_store_call *c = &k->call[index];
    json_t *mine = json_array();
    for (size_t i = 0; mine != NULL && i < json_array_size(findings); i++) {
        json_t *f = json_array_get(findings, i);
        const json_t *of = json_object_get(f, "call");
        if (!json_is_integer(of) || json_integer_value(of) != (json_int_t)index) {
            continue;
        }
        cf_str status = cf_json_get_str(f, "status");
        if (cf_str_is(c->status, "VALID") && !cf_str_is(status, "VALID")) {
            c->status = copy_text(&k->arena, status);
        }
        if (json_array_append(mine, f) != 0) {
            break; /* out of memory: what there is, is kept */
        }
    }
    if (json_array_size(mine) > 0) {
        cf_buf text = CF_BUF_INIT;
        cf_json_write(&text, mine);
        c->findings = copy_text(&k->arena, cf_buf_str(&text));
        cf_buf_deinit(&text);
    }
    json_decref(mine);
}

/* Adds an index to a list of stretches: from, to, from, to .. */
static void add_to_stretches(cf_buf *list, uint32_t at)
{
    uint32_t to = at + 1, last = UINT32_MAX;
    if (list->failed) {
        return;
    }
    if (list->n >= sizeof last) {
        memcpy(&last, list->p + list->n - sizeof last, sizeof last);
    }
    if (last == at) {
        memcpy(list->p + list->n - sizeof to, &to, sizeof to);
        return;
    }
    cf_buf_add(list, &at, sizeof at);
    cf_buf_add(list, &to, sizeof to);
}

/* Notes a token that was forced or drafted, or that the constraint took. */
static void note_token(cf_keep_reply *k, const cf_chat_token *t)
{
    uint32_t at = (uint32_t)k->n_ids++;
    if (t->is_forced) {
        cf_buf_add(&k->forced, &at, sizeof at);
    }
    if (t->is_held) {
        add_to_stretches(&k->held, at);
    }
    if (t->is_drafted) {
        add_to_stretches(&k->drafted, at);
    }
}

void cf_keep_reply_event(cf_keep_reply *k, const cf_chat_event *e)
{
    if (k->is_on && !k->is_tried && e->kind != CF_CHAT_USAGE && e->kind != CF_CHAT_TIMINGS &&
        e->kind != CF_CHAT_STOP &&
        open_stream(k, e->kind == CF_CHAT_PROMPT ? e : NULL, &k->why) != CF_OK) {
        return; /* reported at the end */
    }
    if (k->stream == NULL) {
        return;
    }
    if (e->kind == CF_CHAT_CALL || e->kind == CF_CHAT_CALL_FAILED) {
        keep_call(k, e);
        return;
    }
    cf_stream_piece piece = {0};
    if (e->kind == CF_CHAT_TOKEN && e->token.id != CF_TOKEN_NONE) {
        piece.ids = &e->token.id;
        piece.n_ids = 1;
        piece.draw = e->token.draw;
        if (k->tok != NULL) {
            piece.raw = e->text;
        }
    } else if (k->tok == NULL && e->kind == CF_CHAT_RAW) {
        piece.raw = e->text;
    } else {
        return;
    }
    uint64_t now = cf_os_monotonic_us();
    piece.us = now - k->last_us;
    k->last_us = now;
    /* Without memory this piece is shown and not kept: the end reports it. */
    cf_error why;
    if (cf_stream_append(k->stream, &piece, &why) != CF_OK) {
        k->why = why;
    } else if (piece.n_ids > 0) {
        note_token(k, &e->token);
    }
}

static void add_results(cf_store_run *run, const cf_chat_response *r)
{
    run->prompt_bytes = (int64_t)r->prompt.n;
    run->prompt_ids = r->prompt_ids;
    run->n_prompt_ids = r->n_prompt_ids;
    if (r->usage.is_known) {
        run->n_prompt = (int64_t)r->usage.n_prompt;
        run->n_reply = (int64_t)r->usage.n_reply;
    }
    run->n_kept = (int64_t)r->sync.n_kept;
    run->n_new = (int64_t)r->sync.n_new;
    run->diverged_at = r->divergence.has ? (int64_t)r->divergence.token : -1;
    run->render_us = (int64_t)r->timings.render_us;
    run->prefill_us = (int64_t)r->timings.prefill_us;
    run->first_us = (int64_t)r->timings.first_us;
    run->decode_us = (int64_t)r->timings.decode_us;
    run->stop_reason = cf_str_from(cf_stop_reason_name(r->stop.reason));
    if (r->stop.reason == CF_STOP_ERROR) {
        run->error = cf_str_from(r->stop.err.text);
    }
}

/* What only the reply's end knows whole. */
static void add_lists(cf_keep_reply *k, const cf_chat_response *r, cf_store_run *run, cf_buf *json)
{
    if (k->forced.failed || k->held.failed || k->drafted.failed ||
        (k->forced.n == 0 && k->held.n == 0 && k->drafted.n == 0 && r->vendor == NULL)) {
        return;
    }
    k->options.forced = (const uint32_t *)(const void *)k->forced.p;
    k->options.n_forced = k->forced.n / sizeof(uint32_t);
    k->options.held = (const uint32_t *)(const void *)k->held.p;
    k->options.n_held = k->held.n / sizeof(uint32_t);
    k->options.drafted = (const uint32_t *)(const void *)k->drafted.p;
    k->options.n_drafted = k->drafted.n / sizeof(uint32_t);
    k->options.server = copy_json(&k->arena, r->vendor);
    cf_run_options_write(json, &k->options);
    if (!json->failed) {
        run->options = cf_buf_str(json);
    }
}

cf_status cf_keep_reply_end(cf_keep_reply *k, const cf_conversation *conv, const cf_sent *sent,
                            cf_error *err)
{
    if (!k->is_on) {
        return CF_OK;
    }
    if (!k->is_tried) { /* it failed before the first event */
        cf_status begun = open_stream(k, NULL, &k->why);
        k->why.code = begun;
    }
    if (k->stream == NULL) {
        cf_status why = k->why.code;
        if (why != CF_OK && err != NULL) {
            *err = k->why;
        }
        forget(k);
        return why;
    }
    const cf_chat_response *r = &sent->response;
    const cf_turn *turn = cf_conversation_find(conv, sent->reply);
    cf_store_run run = cf_store_run_none();
    cf_buf json = CF_BUF_INIT, options = CF_BUF_INIT;
    cf_stream_end end = {.status = CF_TURN_ERROR, .run = &run};
    if (turn != NULL) {
        cf_json_write(&json, turn->message);
        end.status = turn->status;
        end.message = cf_buf_str(&json);
    } else if (r->stop.reason == CF_STOP_CANCELLED) {
        end.status = CF_TURN_STOPPED;
    }
    add_results(&run, r);
    char prompt_hash[CF_HASH_TEXT + 1];
    if (r->prompt.n > 0) {
        cf_hash_hex(prompt_hash, cf_buf_cstr(&r->prompt), r->prompt.n);
        run.prompt_hash = cf_str_from(prompt_hash);
    }
    add_lists(k, r, &run, &options);
    for (size_t i = 0; i < k->n_calls; i++) {
        add_findings(k, i, r->findings);
    }
    end.calls = k->call;
    end.n_calls = k->n_calls;
    bool is_short = json.failed || options.failed || k->arena.failed || k->forced.failed ||
                    k->held.failed || k->drafted.failed;
    cf_status st = kept(cf_store_finish(k->stream, &end, err));
    if (st == CF_OK && is_short) { /* what there is was stored */
        st = cf_oom_for(err, "all of the reply");
    } else if (st == CF_OK && k->why.code != CF_OK) {
        st = k->why.code;
        if (err != NULL) {
            *err = k->why;
        }
    }
    cf_buf_deinit(&json);
    cf_buf_deinit(&options);
    forget(k);
    return st;
}

cf_status cf_keep_turn(cf_store *store, cf_uuid conversation, const cf_turn *turn, cf_error *err)
{
    return cf_keep_copy(store, conversation, turn, (cf_uuid){{0}}, err);
}

cf_status cf_keep_copy(cf_store *store, cf_uuid conversation, const cf_turn *turn, cf_uuid from,
                       cf_error *err)
{
    cf_buf json = CF_BUF_INIT;
    cf_arena arena;
    cf_store_turn old = {.run = NULL};
    cf_arena_init(&arena, 0);
    cf_status had = CF_ENOTFOUND;
    if (!cf_uuid_is_nil(from)) {
        had = cf_store_get_turn(store, from, &arena, &old, err);
    }
    if (had != CF_OK) {
        old.run = NULL; /* the message is copied all the same */
        old.n_calls = 0;
    }
    cf_json_write(&json, turn->message);
    cf_store_turn row = {.id = turn->id,
                         .conversation = conversation,
                         .parent = turn->parent,
                         .message = cf_buf_str(&json),
                         .status = turn->status,
                         .fork_token = -1,
                         .created_ms = turn->created_ms,
                         .finished_ms = turn->created_ms,
                         .run = old.run,
                         .calls = old.calls,
                         .n_calls = old.run != NULL ? old.n_calls : 0};
    cf_store_run run = cf_store_run_none();
    if (row.run == NULL && turn->raw.n > 0) { /* a reply that the user edited: its bytes */
        run.engine = cf_str_from("edited");
        run.raw = turn->raw;
        row.run = &run;
    }
    cf_error why = {0};
    cf_status st = cf_buf_check(&json, &why);
    CF_THEN(st, kept(cf_store_put_turn(store, &row, NULL, &why)));
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    cf_buf_deinit(&json);
    cf_arena_deinit(&arena);
    return st == CF_OK && had != CF_ENOTFOUND ? had : st;
}

void cf_keep_note(cf_store *store, cf_status st, const cf_error *err)
{
    if (store != NULL && kept(st) != CF_OK) {
        cf_store_note_lost(store, err);
    }
}
