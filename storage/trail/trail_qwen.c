/*
 * trail_qwen.c - Qwen Code's sessions: a tree of records with Gemini's parts.
 *
 * Telemetry records tell of every request, also of those without a message.
 * They wait for the next message or compaction: one whose total is that of the
 * next reply is the reply's own.
 */
#include "storage/trail/trail_parts.h"
#include "storage/trail/trail_tree.h"

typedef struct qwen {
    trail_reader r;
    trail_tree tree;
    trail_index agents;
    const json_t **waiting; /* [n], uiEvent of requests, borrowed from nodes */
    size_t n;
} qwen;

static const trail_usage_keys keys = {
    "promptTokenCount", "cachedContentTokenCount", NULL, "totalTokenCount", "thoughtsTokenCount",
    .has_cache = true,  .is_total = true};
static const trail_usage_keys telemetry_keys = {
    "input_token_count", "cached_content_token_count", NULL,
    "total_token_count", "thoughts_token_count",       .has_cache = true,
    .is_total = true};

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
        lane->agent = trail_copy(r, agent_id(event));
        if (trail_find(&q->agents, lane->agent) == TRAIL_NONE) {
            trail_put(&r->scratch, &q->agents, lane->agent, 1);
            (void)trail_agent(r, lane, lane->agent, trail_copy(r, name));
        }
    }
    cf_trail_step *s = trail_step(r, lane, NULL);
    s->used = trail_usage(event, &telemetry_keys);
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
        m->time_ms = trail_time(v, "timestamp");
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
    m->time_ms = trail_time(v, "timestamp");
    trail_parts_read(&q->r, m, trail_get(v, "message", "parts", NULL));
    if (is_reply) {
        m->model = trail_json_str(&q->r, v, "model");
        trail_model(&q->r, m->model);
        if (u != NULL) {
            trail_step(&q->r, lane, m)->used = trail_usage(u, &keys);
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
    } else if (v != NULL) {
        *(const json_t **)trail_push(&q->r.scratch, &q->waiting, &q->n, sizeof v) =
            trail_get(v, "systemPayload", "uiEvent", NULL);
    }
    if (node->after == TRAIL_NONE) {
        put_waiting(q, lane, -1);
    }
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

static void read_record(void *reader, json_t *v, uint64_t line)
{
    static const char *const messages[] = {"user", "assistant", "tool_result", NULL};
    qwen *q = reader;
    trail_reader *r = &q->r;
    cf_str type = cf_json_get_str(v, "type"), subtype = cf_json_get_str(v, "subtype");
    bool is_message = trail_is_one_of(type, messages);
    if (!is_message && !cf_str_is(type, "system")) {
        trail_left_out(r, line, "unknown type ", type);
        return;
    }
    trail_node *node = trail_tree_add(r, &q->tree, trail_json_str(r, v, "uuid"),
                                      trail_json_str(r, v, "parentUuid"), line);
    if (node == NULL) {
        return;
    }
    if (!is_message && !trail_is_one_of(subtype, known_subtypes)) {
        trail_left_out(r, line, "unknown subtype ", subtype);
    }
    trail_fill(r, &r->t->id, v, "sessionId");
    trail_fill(r, &r->t->folder, v, "cwd");
    trail_fill(r, &r->t->version, v, "version");
    trail_seen(r, trail_time(v, "timestamp"));
    node->is_message = is_message;
    if (is_message || is_request(v) || cf_str_is(subtype, "chat_compression")) {
        node->data = cf_json_ref(trail_hold(r, v));
    }
}

cf_status trail_read_qwen(cf_trails *out, const trail_source *s, cf_error *err)
{
    qwen q = {.n = 0};
    CF_TRY(trail_begin(&q.r, "qwen", s->paths[0], err));
    cf_status st = trail_each_line(&q.r, s->text, s->opts, read_record, &q, err);
    if (st == CF_OK) {
        trail_tree_put(&q.r, &q.tree, put_record, &q);
    }
    return trail_finish(&q.r, st, out, err);
}
