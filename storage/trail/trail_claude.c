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

#include "storage/trail/trail_parts.h"
#include "storage/trail/trail_tree.h"

typedef enum rec_kind {
    REC_NONE,
    REC_USER,
    REC_REPLY,
    REC_QUEUED,
    REC_BOUNDARY,
    REC_SUMMARY
} rec_kind;

/* A record, with its content by kind. */
typedef struct rec {
    rec_kind kind;
    cf_trail_message m;
    cf_str reply, stop;
    cf_trail_usage used;
    cf_trail_message *results; /* [n_results] */
    size_t n_results;
    size_t next; /* the next record of the same reply; TRAIL_NONE: none */
    bool has_text, has_thinking, is_interrupt, is_automatic, is_done;
    cf_str *kept; /* [n_kept], ids */
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
    int title_rank;
} agent;

typedef struct claude {
    trail_reader r;
    agent **agents; /* [n]; the first is the session's own */
    size_t n;
    call *calls; /* [n_calls] */
    size_t n_calls;
    trail_index call_ids, prompts;
    trail_index agent_ids;
    trail_index sidechain; /* uuid -> agent, of records without an agentId */
    trail_index began;     /* agentId -> call, as the results say */
    bool only_side;        /* the file is a sub-agent's own */
    agent *own;            /* whose file is read */
} claude;

static agent *new_agent(claude *c, cf_str id)
{
    agent *a = cf_arena_calloc(&c->r.scratch, 1, sizeof *a);
    agent **place = trail_push(&c->r.scratch, &c->agents, &c->n, sizeof a);
    if (c->r.scratch.failed) {
        return NULL;
    }
    *a = (agent){.id = id, .file = c->r.file, .title_rank = -1};
    *place = a;
    trail_put(&c->r.scratch, &c->agent_ids, id, c->n - 1);
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

static const trail_part kinds[] = {{"text", TRAIL_PART_TEXT, "text"},
                                   {"thinking", TRAIL_PART_THINKING, "thinking"},
                                   {"redacted_thinking", TRAIL_PART_THINKING, "thinking"},
                                   {"tool_use", TRAIL_PART_CALL, "input"},
                                   {"server_tool_use", TRAIL_PART_CALL, "input"},
                                   {.type = NULL}};

static void add_result(claude *c, rec *k, const json_t *part, const json_t *extra)
{
    trail_reader *r = &c->r;
    cf_trail_message m = {.role = CF_TRAIL_TOOL, .time_ms = k->m.time_ms};
    trail_content(r, &m, json_object_get(part, "content"), kinds);
    m.thinking = cf_str_make("", 0);
    m.call_id = trail_json_str(r, part, "tool_use_id");
    m.is_error = json_is_true(json_object_get(part, "is_error"));
    *(cf_trail_message *)trail_push(&r->scratch, &k->results, &k->n_results, sizeof m) = m;
    trail_put(&r->scratch, &c->began, trail_json_str(r, extra, "agentId"),
              trail_find(&c->call_ids, m.call_id));
}

/* What a call says of the sub-agent that it may begin. */
static void note_call(claude *c, const cf_trail_call *x, const json_t *input)
{
    cf_arena *a = &c->r.scratch;
    trail_put(a, &c->prompts, trail_json_str(&c->r, input, "prompt"), c->n_calls);
    trail_put(a, &c->call_ids, x->id, c->n_calls);
    call *place = trail_push(a, &c->calls, &c->n_calls, sizeof *place);
    *place = (call){x->id, trail_json_str(&c->r, input, "description")};
}

static void read_content(claude *c, rec *k, const json_t *content, const json_t *extra)
{
    trail_texts t = TRAIL_TEXTS_INIT;
    size_t i;
    const json_t *part;
    json_array_foreach(content, i, part)
    {
        size_t n_calls = k->m.n_calls;
        if (trail_is(part, "type", "tool_result")) {
            add_result(c, k, part, extra);
        } else if (trail_part_read(&c->r, &t, &k->m, part, kinds) && k->m.n_calls > n_calls) {
            note_call(c, &k->m.calls[n_calls], json_object_get(part, "input"));
        }
    }
    k->has_text = t.has_text || json_is_string(content);
    k->has_thinking = t.has_thinking;
    trail_joined(&c->r, &t, &k->m);
    k->m.text = json_is_string(content) ? trail_value_text(&c->r, content) : k->m.text;
}

static void read_user(claude *c, rec *k, const json_t *v)
{
    k->kind = json_is_true(json_object_get(v, "isCompactSummary")) ? REC_SUMMARY : REC_USER;
    read_content(c, k, trail_get(v, "message", "content", NULL),
                 json_object_get(v, "toolUseResult"));
    cf_str origin = cf_json_get_str(json_object_get(v, "origin"), "kind");
    k->is_interrupt = cf_str_begins(k->m.text, "[Request interrupted by user");
    k->m.is_meta = json_is_true(json_object_get(v, "isMeta")) || is_harness_text(k->m.text) ||
                   (origin.n != 0 && !cf_str_is(origin, "human"));
}

static void read_reply(claude *c, rec *k, const json_t *v)
{
    static const trail_usage_keys keys = {
        "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens",
        NULL,           .has_cache = false};
    const json_t *m = json_object_get(v, "message");
    cf_str model = cf_json_get_str(m, "model");
    k->kind = REC_REPLY;
    k->reply = trail_json_str(&c->r, m, "id");
    k->stop = trail_json_str(&c->r, m, "stop_reason");
    k->m.is_error =
        json_is_true(json_object_get(v, "isApiErrorMessage")) || cf_str_is(model, "<synthetic>");
    k->m.model = k->m.is_error ? cf_str_make("", 0) : trail_copy(&c->r, model);
    k->used = trail_usage(json_object_get(m, "usage"), &keys);
    read_content(c, k, json_object_get(m, "content"), NULL);
}

static void read_boundary(claude *c, rec *k, const json_t *v)
{
    const json_t *meta = json_object_get(v, "compactMetadata"), *id;
    size_t i;
    k->kind = REC_BOUNDARY;
    k->is_automatic = trail_is(meta, "trigger", "auto");
    json_array_foreach(trail_get(meta, "preservedMessages", "uuids", NULL), i, id)
    {
        cf_str *place = trail_push(&c->r.scratch, &k->kept, &k->n_kept, sizeof *place);
        *place = trail_value_text(&c->r, id);
    }
}

static void read_attachment(claude *c, rec *k, const json_t *v)
{
    const json_t *a = json_object_get(v, "attachment");
    if (trail_is(a, "type", "queued_command")) {
        k->kind = REC_QUEUED;
        trail_content(&c->r, &k->m, json_object_get(a, "prompt"), kinds);
        k->m.is_meta = json_is_true(json_object_get(v, "isMeta")) ||
                       trail_is(a, "commandMode", "task-notification") ||
                       is_harness_text(k->m.text);
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
static bool read_title(claude *c, const json_t *v, cf_str type)
{
    static const char *const keys[][2] = {
        {"summary", "summary"}, {"ai-title", "aiTitle"}, {"custom-title", "customTitle"}};
    int *rank = &c->own->title_rank;
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
static agent *agent_of(claude *c, const json_t *v, cf_str id, cf_str parent)
{
    if (c->own != c->agents[0] || c->only_side ||
        !json_is_true(json_object_get(v, "isSidechain"))) {
        return c->own;
    }
    cf_str named = trail_json_str(&c->r, v, "agentId");
    size_t at = named.n != 0 ? trail_find(&c->agent_ids, named) : trail_find(&c->sidechain, parent);
    agent *a = at != TRAIL_NONE ? c->agents[at] : new_agent(c, named.n != 0 ? named : id);
    trail_put(&c->r.scratch, &c->sidechain, id, at != TRAIL_NONE ? at : c->n - 1);
    return a;
}

static void read_facts(claude *c, const json_t *v)
{
    cf_trail *t = c->r.t;
    trail_fill(&c->r, &t->id, v, "sessionId");
    trail_fill(&c->r, &t->folder, v, "cwd");
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
    } else if (cf_str_is(type, "attachment")) {
        read_attachment(c, k, v);
    } else if (trail_is(v, "subtype", "compact_boundary")) {
        read_boundary(c, k, v);
    } else {
        trail_left_out(&c->r, line, "", cf_json_get_str(v, "subtype"));
    }
    if (k->kind == REC_USER || k->kind == REC_REPLY) {
        trail_seen(&c->r, k->m.time_ms);
    }
}

static void read_record(void *reader, json_t *v, uint64_t line)
{
    static const char *const types[] = {"user", "assistant", "system", "attachment", NULL};
    claude *c = reader;
    trail_reader *r = &c->r;
    cf_str type = cf_json_get_str(v, "type");
    if (is_noise(type) || read_title(c, v, type)) {
        return;
    }
    if (!trail_is_one_of(type, types)) {
        trail_left_out(r, line, "unknown type ", type);
        return;
    }
    bool is_boundary = trail_is(v, "subtype", "compact_boundary");
    cf_str id = trail_json_str(r, v, "uuid");
    cf_str parent = trail_json_str(r, v, is_boundary ? "logicalParentUuid" : "parentUuid");
    bool is_first = id.n != 0 && c->n == 1 && c->own->tree.n == 0;
    c->only_side = is_first ? json_is_true(json_object_get(v, "isSidechain")) : c->only_side;
    rec *k = cf_arena_alloc(&r->scratch, sizeof *k);
    agent *a = k == NULL ? NULL : id.n != 0 ? agent_of(c, v, id, parent) : c->own;
    trail_node *node = a != NULL ? trail_tree_add(r, &a->tree, id, parent, line) : NULL;
    if (node == NULL) {
        return;
    }
    read_facts(c, v);
    *k = (rec){.next = TRAIL_NONE, .m.time_ms = trail_time(v, "timestamp")};
    node->data = k;
    node->is_boundary = is_boundary;
    read_typed(c, k, v, type, line);
    node->is_message = k->kind == REC_USER || k->kind == REC_REPLY || k->kind == REC_SUMMARY;
    if (k->kind == REC_REPLY) { /* joined to the records before it */
        size_t before = trail_find(&a->replies, k->reply);
        if (before != TRAIL_NONE) {
            ((rec *)a->tree.v[before].data)->next = a->tree.n - 1;
        }
        trail_put(&r->scratch, &a->replies, k->reply, a->tree.n - 1);
    } else if (a->first_text.n == 0) {
        a->first_text = k->m.text;
    }
}

/* ---- output -------------------------------------------------------------- */

/* One message of all records of a reply, from its first. */
static void put_reply(claude *c, trail_tree *t, trail_lane *lane, size_t at)
{
    const rec *k = t->v[at].data, *last = k;
    cf_trail_message *m = trail_message(&c->r, lane, CF_TRAIL_ASSISTANT);
    trail_texts texts = TRAIL_TEXTS_INIT;
    m->time_ms = k->m.time_ms;
    m->is_error = k->m.is_error;
    m->model = k->m.model;
    for (size_t i = at; i != TRAIL_NONE; i = last->next) {
        rec *piece = t->v[i].data;
        last = piece;
        piece->is_done = true;
        t->v[i].last = m;
        m->n_images += piece->m.n_images;
        if (piece->has_text) {
            trail_join(&texts, TRAIL_PART_TEXT, piece->m.text);
        }
        if (piece->has_thinking) {
            trail_join(&texts, TRAIL_PART_THINKING, piece->m.thinking);
        }
        for (size_t n = 0; n < piece->m.n_calls; n++) {
            const cf_trail_call *x = &piece->m.calls[n];
            trail_call(&c->r, m, x->id, x->name, x->arguments);
        }
    }
    trail_joined(&c->r, &texts, m);
    if (!m->is_error) {
        trail_model(&c->r, m->model);
        cf_trail_step *s = trail_step(&c->r, lane, m);
        s->used = last->used;
        s->stop = last->stop;
    }
}

static void put_user(claude *c, trail_lane *lane, trail_node *node)
{
    const rec *k = node->data;
    for (size_t i = 0; i < k->n_results; i++) {
        *(node->last = trail_message(&c->r, lane, CF_TRAIL_TOOL)) = k->results[i];
    }
    if (k->n_results != 0 && !k->has_text && k->m.n_images == 0) {
        return;
    }
    if (k->is_interrupt) {
        trail_aborted(&c->r, lane);
    }
    node->last = trail_message(&c->r, lane, CF_TRAIL_USER);
    *node->last = k->m;
    node->last->role = CF_TRAIL_USER;
    node->last->thinking = cf_str_make("", 0);
}

static cf_str text_of(const trail_tree *t, cf_str id)
{
    size_t at = trail_find(&t->ids, id);
    const rec *k = at != TRAIL_NONE ? t->v[at].data : NULL;
    return k == NULL ? cf_str_make("", 0) : k->n_results != 0 ? k->results[0].text : k->m.text;
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
            x->summary = next->m.text;
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
            trail_put(&c->r.scratch, &replies, k->reply, i);
        }
    }
    for (size_t i = 0; i < a->tree.n; i++) {
        const rec *k = v[i].data;
        v[i].is_on_path = v[i].is_on_path ||
                          (k->kind == REC_REPLY && trail_find(&replies, k->reply) != TRAIL_NONE);
        for (size_t n = 0; v[i].is_on_path && n < k->m.n_calls; n++) {
            trail_put(&c->r.scratch, &called, k->m.calls[n].id, i);
        }
    }
    for (size_t i = 0; i < a->tree.n; i++) {
        const rec *k = v[i].data;
        for (size_t n = 0; n < k->n_results; n++) {
            v[i].is_on_path =
                v[i].is_on_path || trail_find(&called, k->results[n].call_id) != TRAIL_NONE;
        }
    }
    trail_tree_roots(&a->tree);
}

static void put_agent(claude *c, agent *a)
{
    trail_lane *lane =
        a != c->agents[0] ? trail_add_agent(&c->r, a->id, a->title) : trail_add_lane(&c->r, a->id);
    if (lane->begun != NULL) {
        lane->begun->parent_call = a->parent_call;
    }
    trail_tree_put_path(&a->tree, lane, put_record, c);
}

/* What began a sub-agent: its own file, a result, or a prompt says so. */
static void find_parent(claude *c, agent *a)
{
    size_t at = trail_find(&c->call_ids, a->parent_call);
    at = at != TRAIL_NONE ? at : trail_find(&c->began, a->id);
    at = at != TRAIL_NONE ? at : trail_find(&c->prompts, a->first_text);
    if (at < c->n_calls) {
        a->parent_call = c->calls[at].id;
        a->title = a->title.n != 0 ? a->title : c->calls[at].title;
    }
}

static void put_all(claude *c)
{
    for (size_t i = 0; i < c->n; i++) {
        c->r.file = c->agents[i]->file;
        trail_tree_walk(&c->r, &c->agents[i]->tree);
        widen_path(c, c->agents[i]);
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
        trail_fill(&c->r, &a->parent_call, v, "toolUseId");
        trail_fill(&c->r, &a->title, v, "description");
        trail_fill(&c->r, &a->title, v, "agentType");
    }
    json_decref(v);
}

/* A file that is "agent-ID.jsonl". */
static cf_status read_agent_file(claude *c, const char *path, const cf_trail_options *opts,
                                 cf_error *err)
{
    cf_os_map map;
    cf_str text, name = cf_str_from(trail_file_name(path));
    if (!cf_str_begins(name, "agent-") || !cf_str_ends(name, ".jsonl")) {
        return CF_OK;
    }
    c->r.file = trail_copy(&c->r, name);
    c->own = new_agent(c, trail_copy(&c->r, cf_str_make(name.p + 6, name.n - 12)));
    cf_buf meta = CF_BUF_INIT;
    cf_buf_add(&meta, path, strlen(path) - 6);
    cf_buf_adds(&meta, ".meta.json");
    cf_status st = c->own != NULL ? cf_buf_check(&meta, err) : cf_oom(err);
    CF_THEN(st, trail_open(&map, path, NULL, &text, err));
    if (st == CF_OK) {
        read_meta(c, c->own, cf_buf_cstr(&meta));
        st = trail_each_line(&c->r, text, &(cf_trail_options){.cancel = opts->cancel}, read_record,
                             c, err);
        cf_os_map_close(&map);
    }
    cf_buf_deinit(&meta);
    return st;
}

static cf_status read_agents(claude *c, const trail_source *s, cf_error *err)
{
    enum { DEPTH = 6 };
    const char *path = s->paths[0];
    cf_buf folder = CF_BUF_INIT;
    trail_paths files = {.n = 0};
    if (c->only_side || !cf_str_ends(cf_str_from(path), ".jsonl") || s->opts->max_bytes != 0) {
        return CF_OK;
    }
    cf_buf_add(&folder, path, strlen(path) - 6);
    cf_buf_adds(&folder, "/subagents");
    cf_status st = cf_buf_check(&folder, err);
    if (st == CF_OK && cf_os_is_dir(cf_buf_cstr(&folder))) {
        st = trail_list(&files, cf_buf_cstr(&folder), DEPTH, s->opts, err);
    }
    for (size_t i = 0; st == CF_OK && i < files.n; i++) {
        st = read_agent_file(c, files.v[i], s->opts, err);
    }
    cf_arena_deinit(&files.arena);
    cf_buf_deinit(&folder);
    return st;
}

cf_status trail_read_claude(cf_trails *out, const trail_source *s, cf_error *err)
{
    claude c = {.only_side = false};
    CF_TRY(trail_begin(&c.r, "claude-code", s->paths[0], err));
    c.own = new_agent(&c, cf_str_make("", 0));
    cf_status st =
        c.own != NULL ? trail_each_line(&c.r, s->text, s->opts, read_record, &c, err) : cf_oom(err);
    CF_THEN(st, read_agents(&c, s, err));
    if (st == CF_OK) {
        put_all(&c);
    }
    return trail_finish(&c.r, st, out, err);
}
