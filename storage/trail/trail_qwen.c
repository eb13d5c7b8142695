/*
 * trail_qwen.c - Qwen Code's sessions: a tree of records with Gemini's parts.
 *
 * Telemetry records tell of every request, also of those without a message.
 * They wait for the next message or compaction: one whose total is that of the
 * next reply is the reply's own.
 */

#include "core/base/alloc.h"
#include "storage/trail/trail_parts.h"
#include "storage/trail/trail_tree.h"

typedef struct qwen {
    trail_reader r;
    trail_tree tree;
    trail_index agents;
    const json_t **waiting; /* [n], heap; uiEvent of requests, borrowed from nodes */
    size_t n, cap;
} qwen;

static void put_usage(cf_trail_step *s, const json_t *u, bool is_telemetry)
{
    int64_t prompt = trail_int(u, is_telemetry ? "input_token_count" : "promptTokenCount");
    int64_t cached =
        trail_int(u, is_telemetry ? "cached_content_token_count" : "cachedContentTokenCount");
    s->input = prompt - cached;
    s->cache_read = cached;
    s->output = trail_int(u, is_telemetry ? "total_token_count" : "totalTokenCount") - prompt;
    s->reasoning = trail_int(u, is_telemetry ? "thoughts_token_count" : "thoughtsTokenCount");
}

/* NAME-xxxxxx of "SESSION#NAME-xxxxxx#0". */
static cf_str agent_id(const json_t *event)
{
    cf_str id = cf_json_get_str(event, "prompt_id");
    size_t from, n;
    if (cf_str_find(id, cf_str_make("#", 1), &from)) {
        cf_str rest = cf_str_make(id.p + from + 1, id.n - from - 1);
        return cf_str_find(rest, cf_str_make("#", 1), &n) ? cf_str_make(rest.p, n) : rest;
    }
    return cf_json_get_str(event, "subagent_name");
}

static void put_request(qwen *q, trail_lane *lane, const json_t *event)
{
    trail_reader *r = &q->r;
    cf_str name = cf_json_get_str(event, "subagent_name"), own = lane->agent;
    if (name.n != 0) {
        cf_str id = trail_copy(r, agent_id(event));
        lane->agent = id;
        if (trail_find(&q->agents, id) == TRAIL_NONE) {
            trail_put(r, &q->agents, id, 1);
            trail_agent(r, lane, id)->title = trail_copy(r, name);
        }
    }
    cf_trail_step *s = trail_step(r, lane, NULL);
    put_usage(s, event, true);
    s->model = trail_json_str(r, event, "model");
    lane->agent = own;
}

/* All that wait; `total` is that of the next reply (-1: no reply is next). */
static void put_waiting(qwen *q, trail_lane *lane, int64_t total)
{
    size_t own = q->n;
    for (size_t i = q->n; total >= 0 && own == q->n && i-- > 0;) {
        if (cf_json_get_str(q->waiting[i], "subagent_name").n == 0 &&
            trail_int(q->waiting[i], "total_token_count") == total) {
            own = i;
        }
    }
    for (size_t i = 0; i < q->n; i++) {
        if (i != own) {
            put_request(q, lane, q->waiting[i]);
        }
    }
    q->n = 0;
}

static void put_results(qwen *q, trail_lane *lane, trail_node *node, const json_t *v)
{
    const json_t *parts = trail_get(v, "message", "parts", NULL), *response;
    cf_str status = cf_json_get_str(json_object_get(v, "toolCallResult"), "status");
    for (size_t i = 0; (response = trail_parts_response(parts, &i)) != NULL;) {
        cf_trail_message *m = trail_message(&q->r, lane, CF_TRAIL_TOOL);
        m->is_error = cf_str_is(status, "error") || cf_str_is(status, "cancelled");
        m->time_ms = trail_time(cf_json_get_str(v, "timestamp"));
        trail_parts_result(&q->r, m, response);
        node->last = m;
    }
    if (cf_str_is(status, "cancelled")) {
        trail_aborted(&q->r, lane);
    }
}

static void put_message(qwen *q, trail_lane *lane, trail_node *node, const json_t *v)
{
    bool is_reply = trail_is(v, "type", "assistant");
    const json_t *u = json_object_get(v, "usageMetadata");
    put_waiting(q, lane, is_reply && u != NULL ? trail_int(u, "totalTokenCount") : -1);
    if (trail_is(v, "type", "tool_result")) {
        put_results(q, lane, node, v);
        return;
    }
    cf_trail_message *m = trail_message(&q->r, lane, is_reply ? CF_TRAIL_ASSISTANT : CF_TRAIL_USER);
    node->last = m;
    m->time_ms = trail_time(cf_json_get_str(v, "timestamp"));
    trail_parts_read(&q->r, m, trail_get(v, "message", "parts", NULL));
    if (is_reply) {
        m->model = trail_json_str(&q->r, v, "model");
        trail_model(&q->r, m->model);
        if (u != NULL) {
            put_usage(trail_step(&q->r, lane, m), u, false);
        }
    }
}

/* First the summary, then an acknowledgement, then what stays. */
static void put_compaction(qwen *q, trail_lane *lane, const json_t *v)
{
    const json_t *history = trail_get(v, "systemPayload", "compressedHistory", NULL), *one;
    size_t i;
    put_waiting(q, lane, -1);
    cf_trail_compaction *c = trail_compaction(&q->r, lane);
    json_array_foreach(history, i, one)
    {
        cf_trail_message m = {0};
        trail_parts_read(&q->r, &m, json_object_get(one, "parts"));
        if (i == 0) {
            c->summary = m.text;
        } else if (i > 1 && !trail_kept(&q->r, c, m.text)) {
            return;
        }
    }
}

static void put_record(void *reader, trail_lane *lane, trail_tree *t, size_t at)
{
    qwen *q = reader;
    trail_node *node = &t->v[at];
    const json_t *v = node->data;
    if (node->is_message) {
        put_message(q, lane, node, v);
    } else if (trail_is(v, "subtype", "chat_compression")) {
        put_compaction(q, lane, v);
    } else if (v != NULL && cf_grow(&q->waiting, &q->cap, q->n + 1, sizeof *q->waiting)) {
        q->waiting[q->n++] = trail_get(v, "systemPayload", "uiEvent", NULL);
    } else {
        q->r.failed = q->r.failed || v != NULL;
    }
    if (node->after == TRAIL_NONE) {
        put_waiting(q, lane, -1);
    }
}

static void put_all(qwen *q)
{
    cf_str own = cf_str_make("", 0);
    trail_tree_walk(&q->r, &q->tree);
    trail_tree_put_path(&q->tree, trail_add_lane(&q->r, own), put_record, q);
    trail_tree_put_branches(&q->r, &q->tree, own, put_record, q);
}

/* ---- lines --------------------------------------------------------------- */

static const char *const known_subtypes[] = {"attribution_snapshot", "at_command",
                                             "slash_command",        "ui_telemetry",
                                             "chat_compression",     NULL};

static bool is_request(const json_t *v)
{
    cf_str name = cf_json_get_str(trail_get(v, "systemPayload", "uiEvent", NULL), "event.name");
    return trail_is(v, "subtype", "ui_telemetry") && cf_str_ends(name, "api_response");
}

static void read_facts(qwen *q, const json_t *v)
{
    cf_trail *t = q->r.t;
    t->id = t->id.n != 0 ? t->id : trail_json_str(&q->r, v, "sessionId");
    t->folder = t->folder.n != 0 ? t->folder : trail_json_str(&q->r, v, "cwd");
    t->version = t->version.n != 0 ? t->version : trail_json_str(&q->r, v, "version");
    trail_seen(&q->r, trail_time(cf_json_get_str(v, "timestamp")));
}

static void read_record(void *reader, json_t *v, uint64_t line)
{
    qwen *q = reader;
    trail_reader *r = &q->r;
    cf_str type = cf_json_get_str(v, "type"), subtype = cf_json_get_str(v, "subtype");
    bool is_message =
        cf_str_is(type, "user") || cf_str_is(type, "assistant") || cf_str_is(type, "tool_result");
    bool is_system = cf_str_is(type, "system");
    cf_str id = trail_json_str(r, v, "uuid");
    if (!is_message && !is_system) {
        trail_left_out(r, line, "unknown type ", type);
        return;
    }
    if (id.n == 0) {
        trail_left_out(r, line, "no uuid", cf_str_make("", 0));
        return;
    }
    trail_node *node = trail_tree_add(r, &q->tree, id, trail_json_str(r, v, "parentUuid"), line);
    if (node == NULL) {
        return;
    }
    if (is_system && !trail_is_one_of(subtype, known_subtypes)) {
        trail_left_out(r, line, "unknown subtype ", subtype);
    }
    read_facts(q, v);
    node->is_message = is_message;
    if (is_message || is_request(v) || cf_str_is(subtype, "chat_compression")) {
        node->data = json_incref(v);
    }
}

cf_status trail_read_qwen(cf_trails *out, const char *path, cf_str text,
                          const cf_trail_options *opts, cf_error *err)
{
    qwen q = {0};
    CF_TRY(trail_begin(&q.r, "qwen", path, err));
    cf_status st = trail_each_line(&q.r, text, opts, read_record, &q, err);
    if (st == CF_OK) {
        put_all(&q);
    }
    for (size_t i = 0; i < q.tree.n; i++) {
        json_decref(q.tree.v[i].data);
    }
    trail_tree_free(&q.tree);
    trail_index_free(&q.agents);
    cf_free(q.waiting);
    return trail_end(&q.r, st, out, err);
}
