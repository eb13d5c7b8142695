/*
 * trail_claude.c - Claude Code's sessions: a tree of records in lines.
 *
 * Invariants:
 * 1. One reply is several records of one message id; they are one message.
 * 2. Results of parallel calls fork the chain of parents, so a reply is on the
 *    path as a whole when one record is, and with it the results of its calls.
 * 3. Sub-agents have trees of their own, in files or in the same one.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "storage/trail/trail_tree.h"

typedef enum rec_kind {
    REC_NONE,
    REC_USER,
    REC_REPLY,
    REC_QUEUED,
    REC_BOUNDARY,
    REC_SUMMARY
} rec_kind;

typedef struct result {
    cf_str call_id, text, agent;
    unsigned n_images;
    bool is_error;
    struct result *next;
} result;

/* A record, with its content by kind. */
typedef struct rec {
    rec_kind kind;
    cf_str reply, model, stop, text, thinking;
    int64_t input, cache_read, cache_creation, output, time_ms;
    cf_trail_message calls; /* only its calls */
    result *results, *last_result;
    size_t next; /* the next record of the same reply; TRAIL_NONE: none */
    unsigned n_images;
    bool has_text, has_thinking, is_meta, is_error, is_interrupt, is_automatic, is_done;
    const cf_str *kept; /* [n_kept], ids */
    size_t n_kept;
} rec;

typedef struct call {
    cf_str id, title;
} call;

/* A chain of records: the session's own or a sub-agent's. */
typedef struct agent {
    cf_str id, parent_call, title, file, first_text;
    trail_tree tree;
    trail_index replies; /* message id -> its last record's place */
} agent;

typedef struct claude {
    trail_reader r;
    agent **agents; /* [n], heap; the first is the session's own */
    size_t n, cap;
    call *calls; /* [n_calls], heap */
    size_t n_calls, cap_calls;
    trail_index call_ids, prompts;
    trail_index agent_ids;
    trail_index sidechain; /* uuid -> agent, of records without an agentId */
    trail_index began;     /* agentId -> call, as the results say */
    bool only_side;        /* the file is a sub-agent's own */
} claude;

static agent *new_agent(claude *c, cf_str id)
{
    agent *a = trail_alloc(&c->r, 1, sizeof *a);
    if (a == NULL || !cf_grow(&c->agents, &c->cap, c->n + 1, sizeof *c->agents)) {
        c->r.failed = true;
        return NULL;
    }
    a->id = id;
    a->file = c->r.file;
    trail_put(&c->r, &c->agent_ids, id, c->n);
    c->agents[c->n++] = a;
    return a;
}

/* ---- records ------------------------------------------------------------- */

static bool is_harness_text(cf_str text)
{
    static const char *const heads[] = {"<command-name>",
                                        "<command-message>",
                                        "<command-args>",
                                        "<local-command-",
                                        "<bash-input>",
                                        "<bash-stdout>",
                                        "<bash-stderr>",
                                        "<task-notification>",
                                        "[Request interrupted by user",
                                        NULL};
    return trail_begins_with(text, heads);
}

/* Text and pictures of a content that is a string or parts. */
static cf_str content_text(trail_reader *r, const json_t *content, unsigned *n_images)
{
    trail_text t = {CF_BUF_INIT, false};
    size_t i;
    const json_t *part;
    if (json_is_string(content)) {
        return trail_value_text(r, content);
    }
    json_array_foreach(content, i, part)
    {
        if (trail_is(part, "type", "text")) {
            trail_join(&t, cf_json_get_str(part, "text"));
        } else if (trail_is(part, "type", "image")) {
            ++*n_images;
        } else if (json_is_string(part)) {
            trail_join(&t, cf_str_make(json_string_value(part), json_string_length(part)));
        }
    }
    return trail_joined(r, &t);
}

static void add_result(claude *c, rec *k, const json_t *part, const json_t *extra)
{
    result *x = trail_alloc(&c->r, 1, sizeof *x);
    if (x == NULL) {
        return;
    }
    x->call_id = trail_json_str(&c->r, part, "tool_use_id");
    x->text = content_text(&c->r, json_object_get(part, "content"), &x->n_images);
    x->is_error = json_is_true(json_object_get(part, "is_error"));
    x->agent = trail_json_str(&c->r, extra, "agentId");
    *(k->last_result != NULL ? &k->last_result->next : &k->results) = x;
    k->last_result = x;
    trail_put(&c->r, &c->began, x->agent, trail_find(&c->call_ids, x->call_id));
}

static void add_call(claude *c, rec *k, const json_t *part)
{
    const json_t *input = json_object_get(part, "input");
    cf_str id = trail_json_str(&c->r, part, "id");
    trail_call(&c->r, &k->calls, id, trail_json_str(&c->r, part, "name"), trail_json(&c->r, input));
    if (!cf_grow(&c->calls, &c->cap_calls, c->n_calls + 1, sizeof *c->calls)) {
        c->r.failed = true;
        return;
    }
    c->calls[c->n_calls] = (call){id, trail_json_str(&c->r, input, "description")};
    trail_put(&c->r, &c->prompts, trail_json_str(&c->r, input, "prompt"), c->n_calls);
    trail_put(&c->r, &c->call_ids, id, c->n_calls++);
}

static void read_blocks(claude *c, rec *k, const json_t *content, const json_t *extra)
{
    trail_text text = {CF_BUF_INIT, false}, thinking = {CF_BUF_INIT, false};
    size_t i;
    const json_t *part;
    json_array_foreach(content, i, part)
    {
        cf_str type = cf_json_get_str(part, "type");
        if (cf_str_is(type, "text")) {
            trail_join(&text, cf_json_get_str(part, "text"));
        } else if (cf_str_is(type, "thinking") || cf_str_is(type, "redacted_thinking")) {
            trail_join(&thinking, cf_json_get_str(part, "thinking"));
        } else if (cf_str_is(type, "tool_use") || cf_str_is(type, "server_tool_use")) {
            add_call(c, k, part);
        } else if (cf_str_is(type, "tool_result")) {
            add_result(c, k, part, extra);
        } else if (cf_str_is(type, "image")) {
            k->n_images++;
        }
    }
    k->has_text = text.has_any;
    k->has_thinking = thinking.has_any;
    k->text = trail_joined(&c->r, &text);
    k->thinking = trail_joined(&c->r, &thinking);
}

static void read_content(claude *c, rec *k, const json_t *content, const json_t *extra)
{
    if (json_is_string(content)) {
        k->text = trail_value_text(&c->r, content);
        k->has_text = true;
    } else {
        read_blocks(c, k, content, extra);
    }
}

static void read_user(claude *c, rec *k, const json_t *v)
{
    k->kind = json_is_true(json_object_get(v, "isCompactSummary")) ? REC_SUMMARY : REC_USER;
    read_content(c, k, trail_get(v, "message", "content", NULL),
                 json_object_get(v, "toolUseResult"));
    cf_str origin = cf_json_get_str(json_object_get(v, "origin"), "kind");
    k->is_interrupt = cf_str_begins(k->text, "[Request interrupted by user");
    k->is_meta = json_is_true(json_object_get(v, "isMeta")) || is_harness_text(k->text) ||
                 (origin.n != 0 && !cf_str_is(origin, "human"));
}

static void read_reply(claude *c, rec *k, const json_t *v)
{
    const json_t *m = json_object_get(v, "message"), *u = json_object_get(m, "usage");
    k->kind = REC_REPLY;
    k->reply = trail_json_str(&c->r, m, "id");
    k->model = trail_json_str(&c->r, m, "model");
    k->stop = trail_json_str(&c->r, m, "stop_reason");
    k->is_error =
        json_is_true(json_object_get(v, "isApiErrorMessage")) || cf_str_is(k->model, "<synthetic>");
    k->input = trail_int(u, "input_tokens");
    k->cache_read = trail_int(u, "cache_read_input_tokens");
    k->cache_creation = trail_int(u, "cache_creation_input_tokens");
    k->output = trail_int(u, "output_tokens");
    read_content(c, k, json_object_get(m, "content"), NULL);
}

static void read_boundary(claude *c, rec *k, const json_t *v)
{
    const json_t *meta = json_object_get(v, "compactMetadata"), *id;
    const json_t *ids = trail_get(meta, "preservedMessages", "uuids", NULL);
    size_t i, n = json_array_size(ids);
    cf_str *kept = trail_alloc(&c->r, n + 1, sizeof *kept);
    k->kind = REC_BOUNDARY;
    k->is_automatic = trail_is(meta, "trigger", "auto");
    json_array_foreach(ids, i, id)
    {
        if (kept != NULL) {
            kept[i] = trail_value_text(&c->r, id);
        }
    }
    k->kept = kept;
    k->n_kept = kept != NULL ? n : 0;
}

static void read_system(claude *c, rec *k, const json_t *v, uint64_t line)
{
    cf_str subtype = cf_json_get_str(v, "subtype");
    if (cf_str_is(subtype, "compact_boundary")) {
        read_boundary(c, k, v);
    } else {
        trail_left_out(&c->r, line, "", subtype);
    }
}

static void read_attachment(claude *c, rec *k, const json_t *v)
{
    const json_t *a = json_object_get(v, "attachment");
    if (trail_is(a, "type", "queued_command")) {
        k->kind = REC_QUEUED;
        k->is_meta = json_is_true(json_object_get(v, "isMeta")) ||
                     cf_str_is(cf_json_get_str(a, "commandMode"), "task-notification");
        k->text = content_text(&c->r, json_object_get(a, "prompt"), &k->n_images);
        k->is_meta = k->is_meta || is_harness_text(k->text);
    }
}

/* ---- lines --------------------------------------------------------------- */

static bool is_noise(cf_str type)
{
    static const char *const types[] = {"queue-operation",
                                        "last-prompt",
                                        "mode",
                                        "permission-mode",
                                        "progress",
                                        "agent-name",
                                        "file-history-snapshot",
                                        "tag",
                                        "pr-link",
                                        "agent-color",
                                        "agent-setting",
                                        "worktree-state",
                                        "bridge-session",
                                        "content-replacement",
                                        "attribution-snapshot",
                                        "speculation-accept",
                                        "task-summary",
                                        "saved_hook_context",
                                        "frame-link",
                                        NULL};
    return trail_is_one_of(type, types) || cf_str_begins(type, "marble-origami");
}

/* Titles, the person's own over the model's over an older summary. */
static bool read_title(claude *c, const json_t *v, cf_str type, int *rank)
{
    static const char *const keys[][2] = {
        {"summary", "summary"}, {"ai-title", "aiTitle"}, {"custom-title", "customTitle"}};
    for (int i = 0; i < 3; i++) {
        if (cf_str_is(type, keys[i][0])) {
            cf_str title = cf_json_get_str(v, keys[i][1]);
            if (title.n != 0 && (i > *rank || (i == *rank && i != 0))) {
                c->r.t->title = trail_copy(&c->r, title);
                *rank = i;
            }
            return true;
        }
    }
    return false;
}

/* The chain that a record belongs to. */
static agent *agent_of(claude *c, const json_t *v, cf_str id, cf_str parent, agent *own)
{
    if (own != c->agents[0] || c->only_side || !json_is_true(json_object_get(v, "isSidechain"))) {
        return own;
    }
    cf_str named = trail_json_str(&c->r, v, "agentId");
    size_t at = named.n != 0 ? trail_find(&c->agent_ids, named) : trail_find(&c->sidechain, parent);
    agent *a = at != TRAIL_NONE ? c->agents[at] : new_agent(c, named.n != 0 ? named : id);
    trail_put(&c->r, &c->sidechain, id, at != TRAIL_NONE ? at : c->n - 1);
    return a;
}

/* Joins a reply's record to the ones before it. */
static void join_reply(claude *c, agent *a, const rec *k, size_t at)
{
    size_t before = trail_find(&a->replies, k->reply);
    if (before != TRAIL_NONE) {
        ((rec *)a->tree.v[before].data)->next = at;
    }
    trail_put(&c->r, &a->replies, k->reply, at);
}

static void read_facts(claude *c, const json_t *v)
{
    cf_trail *t = c->r.t;
    t->id = t->id.n != 0 ? t->id : trail_json_str(&c->r, v, "sessionId");
    t->folder = t->folder.n != 0 ? t->folder : trail_json_str(&c->r, v, "cwd");
    cf_str version = cf_json_get_str(v, "version");
    bool is_same = version.n == 0 || cf_str_eq(version, t->version);
    t->version = is_same ? t->version : trail_copy(&c->r, version);
}

static void read_typed(claude *c, rec *k, const json_t *v, cf_str type, uint64_t line)
{
    if (cf_str_is(type, "user")) {
        read_user(c, k, v);
    } else if (cf_str_is(type, "assistant")) {
        read_reply(c, k, v);
    } else if (cf_str_is(type, "system")) {
        read_system(c, k, v, line);
    } else {
        read_attachment(c, k, v);
    }
    if (k->kind == REC_USER || k->kind == REC_REPLY) {
        trail_seen(&c->r, k->time_ms);
    }
}

static void read_record(claude *c, agent *own, const json_t *v, uint64_t line, int *rank)
{
    cf_str type = cf_json_get_str(v, "type");
    if (is_noise(type) || read_title(c, v, type, rank)) {
        return;
    }
    if (!cf_str_is(type, "user") && !cf_str_is(type, "assistant") && !cf_str_is(type, "system") &&
        !cf_str_is(type, "attachment")) {
        trail_left_out(&c->r, line, "unknown type ", type);
        return;
    }
    cf_str id = trail_json_str(&c->r, v, "uuid"), parent = trail_json_str(&c->r, v, "parentUuid");
    if (id.n == 0) {
        trail_left_out(&c->r, line, "no uuid", cf_str_make("", 0));
        return;
    }
    bool is_boundary = trail_is(v, "subtype", "compact_boundary");
    parent = is_boundary ? trail_json_str(&c->r, v, "logicalParentUuid") : parent;
    bool is_first = c->n == 1 && own->tree.n == 0;
    c->only_side = is_first ? json_is_true(json_object_get(v, "isSidechain")) : c->only_side;
    rec *k = trail_alloc(&c->r, 1, sizeof *k);
    agent *a = k != NULL ? agent_of(c, v, id, parent, own) : NULL;
    trail_node *node = a != NULL ? trail_tree_add(&c->r, &a->tree, id, parent, line) : NULL;
    if (node == NULL) {
        return;
    }
    read_facts(c, v);
    *k = (rec){.next = TRAIL_NONE, .time_ms = trail_time(cf_json_get_str(v, "timestamp"))};
    node->data = k;
    node->is_boundary = is_boundary;
    read_typed(c, k, v, type, line);
    node->is_message = k->kind == REC_USER || k->kind == REC_REPLY || k->kind == REC_SUMMARY;
    if (k->kind == REC_REPLY) {
        join_reply(c, a, k, a->tree.n - 1);
    } else if (a->first_text.n == 0) {
        a->first_text = k->text;
    }
}

static cf_status read_lines(claude *c, agent *own, cf_str text, const cf_trail_options *opts,
                            cf_error *err)
{
    trail_lines l = {.p = text.p, .n = text.n, .opts = opts};
    json_t *v;
    cf_status st = CF_OK;
    int rank = -1;
    while (trail_next(&l, &c->r, &v, &st, err)) {
        read_record(c, own, v, l.line, &rank);
        json_decref(v);
    }
    return st;
}

/* ---- output -------------------------------------------------------------- */

/* One message of all records of a reply, from its first. */
static void put_reply(claude *c, trail_tree *t, trail_lane *lane, size_t at)
{
    trail_node *v = t->v;
    const rec *k = v[at].data, *last = k;
    cf_trail_message *m = trail_message(&c->r, lane, CF_TRAIL_ASSISTANT);
    trail_text text = {CF_BUF_INIT, false}, thinking = {CF_BUF_INIT, false};
    m->time_ms = k->time_ms;
    m->is_error = k->is_error;
    m->model = k->is_error ? cf_str_make("", 0) : k->model;
    for (size_t i = at; i != TRAIL_NONE; i = last->next) {
        rec *piece = v[i].data;
        last = piece;
        piece->is_done = true;
        v[i].last = m;
        m->n_images += piece->n_images;
        if (piece->has_text) {
            trail_join(&text, piece->text);
        }
        if (piece->has_thinking) {
            trail_join(&thinking, piece->thinking);
        }
        for (size_t n = 0; n < piece->calls.n_calls; n++) {
            const cf_trail_call *x = &piece->calls.calls[n];
            trail_call(&c->r, m, x->id, x->name, x->arguments);
        }
    }
    m->text = trail_joined(&c->r, &text);
    m->thinking = trail_joined(&c->r, &thinking);
    if (!m->is_error) {
        trail_model(&c->r, m->model);
        cf_trail_step *s = trail_step(&c->r, lane, m);
        s->input = last->input;
        s->cache_read = last->cache_read;
        s->cache_creation = last->cache_creation;
        s->output = last->output;
        s->stop = last->stop;
    }
}

static void put_user(claude *c, trail_lane *lane, trail_node *node)
{
    const rec *k = node->data;
    for (const result *x = k->results; x != NULL; x = x->next) {
        cf_trail_message *m = trail_message(&c->r, lane, CF_TRAIL_TOOL);
        m->text = x->text;
        m->call_id = x->call_id;
        m->is_error = x->is_error;
        m->n_images = x->n_images;
        m->time_ms = k->time_ms;
        node->last = m;
    }
    if (k->results != NULL && !k->has_text && k->n_images == 0) {
        return;
    }
    if (k->is_interrupt) {
        trail_aborted(&c->r, lane);
    }
    cf_trail_message *m = trail_message(&c->r, lane, CF_TRAIL_USER);
    m->text = k->text;
    m->n_images = k->n_images;
    m->is_meta = k->is_meta;
    m->time_ms = k->time_ms;
    node->last = m;
}

static cf_str text_of(const trail_tree *t, cf_str id)
{
    size_t at = trail_find(&t->ids, id);
    const rec *k = at != TRAIL_NONE ? t->v[at].data : NULL;
    return k == NULL ? cf_str_make("", 0) : k->results != NULL ? k->results->text : k->text;
}

static void put_boundary(claude *c, trail_tree *t, trail_lane *lane, size_t at)
{
    const rec *k = t->v[at].data;
    cf_trail_compaction *x = trail_compaction(&c->r, lane);
    x->is_automatic = k->is_automatic;
    for (size_t i = 0; i < k->n_kept && trail_kept(&c->r, x, text_of(t, k->kept[i])); i++) {
    }
    for (size_t i = at + 1; i < t->n; i++) {
        const rec *next = t->v[i].data;
        if (next->kind == REC_SUMMARY) {
            x->summary = next->text;
            return;
        }
        if (next->kind == REC_BOUNDARY) {
            return;
        }
    }
}

static void put_record(void *reader, trail_lane *lane, trail_tree *t, size_t at)
{
    claude *c = reader;
    const rec *k = t->v[at].data;
    if (k->kind == REC_REPLY && !k->is_done) {
        put_reply(c, t, lane, at);
    } else if (k->kind == REC_USER || k->kind == REC_QUEUED) {
        put_user(c, lane, &t->v[at]);
    } else if (k->kind == REC_BOUNDARY) {
        put_boundary(c, t, lane, at);
    }
}

/* Invariant 2. */
static void widen_path(claude *c, agent *a)
{
    trail_node *v = a->tree.v;
    trail_index called = {0}, replies = {0};
    for (size_t i = 0; i < a->tree.n; i++) {
        const rec *k = v[i].data;
        if (v[i].is_on_path && k->kind == REC_REPLY) {
            trail_put(&c->r, &replies, k->reply, i);
        }
    }
    for (size_t i = 0; i < a->tree.n; i++) {
        const rec *k = v[i].data;
        if (k->kind != REC_REPLY) {
            continue;
        }
        v[i].is_on_path = v[i].is_on_path || trail_find(&replies, k->reply) != TRAIL_NONE;
        for (size_t n = 0; v[i].is_on_path && n < k->calls.n_calls; n++) {
            trail_put(&c->r, &called, k->calls.calls[n].id, i);
        }
    }
    for (size_t i = 0; i < a->tree.n; i++) {
        for (const result *x = ((rec *)v[i].data)->results; x != NULL; x = x->next) {
            v[i].is_on_path = v[i].is_on_path || trail_find(&called, x->call_id) != TRAIL_NONE;
        }
    }
    trail_index_free(&called);
    trail_index_free(&replies);
    trail_tree_roots(&a->tree);
}

static void walk(claude *c, agent *a)
{
    c->r.file = a->file;
    trail_tree_walk(&c->r, &a->tree);
    widen_path(c, a);
}

static void put_agent(claude *c, agent *a)
{
    trail_lane *lane = trail_add_lane(&c->r, a->id);
    if (a != c->agents[0]) {
        cf_trail_agent *x = trail_agent(&c->r, lane, a->id);
        x->parent_call = a->parent_call;
        x->title = a->title;
        lane->parent_call = a->parent_call;
    }
    trail_tree_put_path(&a->tree, lane, put_record, c);
}

/* What began a sub-agent: its own file, a result, or a prompt says so. */
static void find_parent(claude *c, agent *a)
{
    size_t at = trail_find(&c->call_ids, a->parent_call);
    at = at != TRAIL_NONE ? at : trail_find(&c->began, a->id);
    at = at != TRAIL_NONE ? at : trail_find(&c->prompts, a->first_text);
    if (at != TRAIL_NONE) {
        a->parent_call = c->calls[at].id;
        a->title = a->title.n != 0 ? a->title : c->calls[at].title;
    }
}

static void put_all(claude *c)
{
    for (size_t i = 0; i < c->n; i++) {
        walk(c, c->agents[i]);
        find_parent(c, c->agents[i]);
    }
    for (size_t i = 0; i < c->n; i++) {
        put_agent(c, c->agents[i]);
    }
    for (size_t i = 0; i < c->n; i++) {
        trail_tree_put_branches(&c->r, &c->agents[i]->tree, c->agents[i]->id, put_record, c);
    }
    trail_order(&c->r);
}

/* ---- sub-agents' files --------------------------------------------------- */

static void read_meta(claude *c, agent *a, const char *path)
{
    json_t *v = NULL;
    if (cf_json_read_small(&v, path, CF_JSON_SMALL_MAX, NULL) == CF_OK) {
        a->parent_call = trail_json_str(&c->r, v, "toolUseId");
        a->title = trail_json_str(&c->r, v, "description");
        a->title = a->title.n != 0 ? a->title : trail_json_str(&c->r, v, "agentType");
    }
    json_decref(v);
}

/* "agent-ID.jsonl" as ID; empty: another file. */
static cf_str agent_name(const char *name)
{
    cf_str s = cf_str_from(name);
    return cf_str_begins(s, "agent-") && cf_str_ends(s, ".jsonl") ? cf_str_make(s.p + 6, s.n - 12)
                                                                  : cf_str_make("", 0);
}

static cf_status read_agent_file(claude *c, const char *folder, const char *name,
                                 const cf_trail_options *opts, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_os_map map = {0};
    cf_str text, id = agent_name(name);
    cf_buf_addf(&path, "%s/%s", folder, name);
    cf_status st = cf_buf_check(&path, err);
    CF_THEN(st, trail_open(&map, cf_buf_cstr(&path), NULL, &text, err));
    if (st == CF_OK) {
        c->r.file = trail_copy(&c->r, cf_str_from(name));
        agent *a = new_agent(c, trail_copy(&c->r, id));
        cf_buf_rewind(&path, path.n - 6);
        cf_buf_adds(&path, ".meta.json");
        if (a != NULL) {
            read_meta(c, a, cf_buf_cstr(&path));
            st = read_lines(c, a, text, &(cf_trail_options){.cancel = opts->cancel}, err);
        }
        cf_os_map_close(&map);
    }
    cf_buf_deinit(&path);
    return st;
}

enum { DEPTH = 6, AGENTS_MAX = 100000 };

static cf_status read_agents(claude *c, const char *folder, int depth, const cf_trail_options *opts,
                             cf_error *err)
{
    cf_buf names = CF_BUF_INIT;
    if (!cf_os_is_dir(folder) || depth > DEPTH) {
        return CF_OK;
    }
    cf_status st = cf_os_list_dir(&names, folder, AGENTS_MAX, err);
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        const char *name = names.p + at;
        cf_buf sub = CF_BUF_INIT;
        cf_buf_addf(&sub, "%s/%s", folder, name);
        st = cf_buf_check(&sub, err);
        if (st == CF_OK && agent_name(name).n != 0) {
            st = read_agent_file(c, folder, name, opts, err);
        } else if (st == CF_OK) {
            st = read_agents(c, cf_buf_cstr(&sub), depth + 1, opts, err);
        }
        cf_buf_deinit(&sub);
    }
    cf_buf_deinit(&names);
    return st;
}

static void free_claude(claude *c)
{
    for (size_t i = 0; i < c->n; i++) {
        trail_tree_free(&c->agents[i]->tree);
        trail_index_free(&c->agents[i]->replies);
    }
    cf_free(c->agents);
    cf_free(c->calls);
    trail_index_free(&c->prompts);
    trail_index_free(&c->call_ids);
    trail_index_free(&c->agent_ids);
    trail_index_free(&c->sidechain);
    trail_index_free(&c->began);
}

cf_status trail_read_claude(cf_trails *out, const char *path, cf_str text,
                            const cf_trail_options *opts, cf_error *err)
{
    claude c = {.only_side = false};
    cf_buf folder = CF_BUF_INIT;
    CF_TRY(trail_begin(&c.r, "claude-code", path, err));
    agent *own = new_agent(&c, cf_str_make("", 0));
    cf_status st = own != NULL ? read_lines(&c, own, text, opts, err) : cf_oom(err);
    size_t n = strlen(path);
    if (!c.only_side && n > 6 && strcmp(path + n - 6, ".jsonl") == 0 && opts->max_bytes == 0) {
        cf_buf_add(&folder, path, n - 6);
        cf_buf_adds(&folder, "/subagents");
        CF_THEN(st, cf_buf_check(&folder, err));
        CF_THEN(st, read_agents(&c, cf_buf_cstr(&folder), 0, opts, err));
    }
    if (st == CF_OK) {
        put_all(&c);
    }
    cf_buf_deinit(&folder);
    free_claude(&c);
    return trail_end(&c.r, st, out, err);
}
