/*
 * trail_codex.c - Codex's rollouts: items in lines, a thread a file.
 *
 * A reply is a run of items up to its usage, an output or another message.
 * Usage comes as records, or in older files as totals that are told again and
 * again; where a file has records the totals are not used.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "storage/trail/trail_build.h"

typedef struct usage {
    int64_t input, cached, written, output, reasoning;
} usage;

/* A thread: one file, one lane. */
typedef struct thread {
    trail_reader *r;
    trail_lane *lane;
    cf_str model;
    cf_trail_message *open;   /* the reply that items still belong to */
    cf_trail_message *unpaid; /* the last reply without usage */
    trail_text text, thinking;
    usage total;
    size_t *counted; /* [n_counted], heap; items that came from totals */
    size_t n_counted, cap_counted;
    trail_index seen;    /* items' types and ids */
    trail_index outputs; /* call id -> place of its result in the lane */
    trail_index *begun;  /* thread id -> place in calls; of the whole session */
    cf_str *calls;       /* [n_calls], heap */
    size_t n_calls, cap_calls;
    trail_index failed; /* call ids with an exit code */
    bool has_records, has_meta;
} thread;

/* What is known of a file before it is read. */
typedef struct head {
    cf_str id, parent, nickname; /* owned by `v` */
    json_t *v;
    bool is_used;
} head;

/* ---- replies ------------------------------------------------------------- */

static void close_reply(thread *t)
{
    if (t->open != NULL) {
        t->open->text = trail_joined(t->r, &t->text);
        t->open->thinking = trail_joined(t->r, &t->thinking);
        t->open = NULL;
    }
}

static cf_trail_message *reply_of(thread *t, int64_t ms)
{
    if (t->open == NULL) {
        t->open = t->unpaid = trail_message(t->r, t->lane, CF_TRAIL_ASSISTANT);
        t->open->model = t->model;
        t->open->time_ms = ms;
        trail_model(t->r, t->model);
    }
    return t->open;
}

static usage usage_of(const json_t *u)
{
    return (usage){trail_int(u, "input_tokens"), trail_int(u, "cached_input_tokens"),
                   trail_int(u, "cache_write_input_tokens"), trail_int(u, "output_tokens"),
                   trail_int(u, "reasoning_output_tokens")};
}

static void put_step(thread *t, usage u)
{
    close_reply(t);
    cf_trail_step *s = trail_step(t->r, t->lane, t->unpaid);
    s->model = t->unpaid != NULL ? t->unpaid->model : t->model;
    s->input = u.input - u.cached - u.written;
    s->cache_read = u.cached;
    s->cache_creation = u.written;
    s->output = u.output;
    s->reasoning = u.reasoning;
    t->unpaid = NULL;
}

/* A total: the difference to the one before, or where it fell the last usage. */
static void read_total(thread *t, const json_t *info)
{
    const json_t *total = json_object_get(info, "total_token_usage");
    if (!json_is_object(total)) {
        return;
    }
    usage now = usage_of(total), was = t->total;
    if (memcmp(&now, &was, sizeof now) == 0 || t->has_records) {
        return;
    }
    t->total = now;
    usage u = {now.input - was.input, now.cached - was.cached, now.written - was.written,
               now.output - was.output, now.reasoning - was.reasoning};
    if (u.input < 0 || u.cached < 0 || u.output < 0 || u.reasoning < 0 || u.written < 0) {
        u = usage_of(json_object_get(info, "last_token_usage"));
    }
    if (!cf_grow(&t->counted, &t->cap_counted, t->n_counted + 1, sizeof *t->counted)) {
        t->r->failed = true;
        return;
    }
    put_step(t, u);
    t->counted[t->n_counted++] = t->lane->n - 1;
}

/* ---- items --------------------------------------------------------------- */

static cf_str parts_text(trail_reader *r, const json_t *content, unsigned *n_images)
{
    trail_text t = {CF_BUF_INIT, false};
    size_t i;
    const json_t *part;
    if (!json_is_array(content)) {
        return trail_value_text(r, content);
    }
    json_array_foreach(content, i, part)
    {
        if (json_is_string(json_object_get(part, "text"))) {
            trail_join(&t, cf_json_get_str(part, "text"));
        } else if (cf_str_ends(cf_json_get_str(part, "type"), "image")) {
            ++*n_images;
        }
    }
    return trail_joined(r, &t);
}

static bool is_harness_text(cf_str text)
{
    static const char *const heads[] = {"<environment_context>",
                                        "<user_instructions>",
                                        "# AGENTS.md instructions",
                                        "<turn_aborted>",
                                        "<user_shell_command>",
                                        "<subagent_notification>",
                                        "<skill>",
                                        NULL};
    return trail_begins_with(text, heads);
}

static bool is_meta(const json_t *item, cf_str text)
{
    const json_t *kinds =
        trail_get(item, "internal_chat_message_metadata_passthrough", "content_item_kinds", NULL);
    const json_t *kind;
    size_t i;
    if (!json_is_array(kinds)) {
        return is_harness_text(text);
    }
    json_array_foreach(kinds, i, kind)
    {
        if (json_is_string(kind) && strncmp(json_string_value(kind), "user.", 5) == 0) {
            return false;
        }
    }
    return true;
}

static void read_message(thread *t, const json_t *item, int64_t ms, uint64_t line)
{
    trail_reader *r = t->r;
    cf_str role = cf_json_get_str(item, "role");
    unsigned n_images = 0;
    cf_str text = parts_text(r, json_object_get(item, "content"), &n_images);
    if (cf_str_is(role, "assistant")) {
        cf_trail_message *m = reply_of(t, ms);
        trail_join(&t->text, text);
        m->n_images += n_images;
        return;
    }
    close_reply(t);
    bool is_system = cf_str_is(role, "developer") || cf_str_is(role, "system");
    if (!is_system && !cf_str_is(role, "user")) {
        trail_left_out(r, line, "unknown role ", role);
        return;
    }
    cf_trail_message *m = trail_message(r, t->lane, is_system ? CF_TRAIL_SYSTEM : CF_TRAIL_USER);
    m->text = text;
    m->n_images = n_images;
    m->is_meta = !is_system && is_meta(item, text);
    m->time_ms = ms;
}

static void read_reasoning(thread *t, const json_t *item, int64_t ms)
{
    static const char *const lists[] = {"summary", "content"};
    bool has_any = false;
    (void)reply_of(t, ms);
    for (size_t k = 0; k < 2; k++) {
        size_t i;
        const json_t *part;
        json_array_foreach(json_object_get(item, lists[k]), i, part)
        {
            trail_join(&t->thinking, cf_json_get_str(part, "text"));
            has_any = true;
        }
    }
    if (!has_any) {
        trail_join(&t->thinking, cf_str_make("", 0));
    }
}

static void read_call(thread *t, const json_t *item, cf_str type, int64_t ms)
{
    trail_reader *r = t->r;
    cf_str id = trail_json_str(r, item, "call_id"), name = trail_json_str(r, item, "name");
    id = id.n != 0 ? id : trail_json_str(r, item, "id");
    cf_str arguments;
    if (cf_str_is(type, "function_call")) {
        arguments = trail_arguments(r, json_object_get(item, "arguments"));
    } else if (cf_str_is(type, "custom_tool_call")) {
        arguments = trail_json(r, json_object_get(item, "input"));
    } else {
        arguments = trail_json(r, json_object_get(item, "action"));
        name = cf_str_from(cf_str_is(type, "local_shell_call") ? "local_shell" : "web_search");
    }
    trail_call(r, reply_of(t, ms), id, name, arguments);
}

/* An agent that a result says it began. */
static void note_begun(thread *t, cf_str agent, cf_str call_id)
{
    if (agent.n == 0 || !cf_grow(&t->calls, &t->cap_calls, t->n_calls + 1, sizeof *t->calls)) {
        return;
    }
    t->calls[t->n_calls] = call_id;
    trail_put(t->r, t->begun, agent, t->n_calls++);
}

static void read_output(thread *t, const json_t *item, int64_t ms)
{
    trail_reader *r = t->r;
    const json_t *output = json_object_get(item, "output");
    close_reply(t);
    cf_trail_message *m = trail_message(r, t->lane, CF_TRAIL_TOOL);
    m->call_id = trail_json_str(r, item, "call_id");
    m->time_ms = ms;
    if (json_is_object(output) && json_object_get(output, "content") != NULL) {
        m->is_error = json_is_false(json_object_get(output, "success"));
        output = json_object_get(output, "content");
    }
    m->text =
        json_is_array(output) ? parts_text(r, output, &m->n_images) : trail_value_text(r, output);
    trail_put(r, &t->outputs, m->call_id, t->lane->n - 1);
    m->is_error = m->is_error || trail_find(&t->failed, m->call_id) != TRAIL_NONE;
    json_t *v = NULL;
    if (cf_str_begins(m->text, "{\"agent_id\"") && trail_parse(&v, m->text, NULL) == CF_OK) {
        note_begun(t, trail_json_str(r, v, "agent_id"), m->call_id);
    }
    json_decref(v);
}

static bool is_again(thread *t, const json_t *item, cf_str type, uint64_t line)
{
    cf_str id = cf_json_get_str(item, "id");
    cf_buf key = CF_BUF_INIT;
    if (id.n == 0) {
        return false;
    }
    cf_buf_add(&key, type.p, type.n);
    cf_buf_addc(&key, ' ');
    cf_buf_add(&key, id.p, id.n);
    cf_str k = trail_take(t->r, &key);
    if (trail_find(&t->seen, k) != TRAIL_NONE) {
        trail_left_out(t->r, line, "duplicate", cf_str_make("", 0));
        return true;
    }
    trail_put(t->r, &t->seen, k, 1);
    return false;
}

static bool is_item(cf_str type)
{
    static const char *const types[] = {"message",
                                        "reasoning",
                                        "function_call",
                                        "function_call_output",
                                        "custom_tool_call",
                                        "custom_tool_call_output",
                                        "local_shell_call",
                                        "local_shell_call_output",
                                        "web_search_call",
                                        "ghost_snapshot",
                                        "compaction",
                                        "other",
                                        NULL};
    return trail_is_one_of(type, types);
}

static void read_item(thread *t, const json_t *item, int64_t ms, uint64_t line)
{
    cf_str type = cf_json_get_str(item, "type");
    if (!is_item(type)) {
        trail_left_out(t->r, line, "unknown item ", type);
    } else if (is_again(t, item, type, line)) {
        return;
    } else if (cf_str_is(type, "message")) {
        read_message(t, item, ms, line);
    } else if (cf_str_is(type, "reasoning")) {
        read_reasoning(t, item, ms);
    } else if (cf_str_ends(type, "_output")) {
        read_output(t, item, ms);
    } else if (cf_str_ends(type, "_call")) {
        read_call(t, item, type, ms);
    }
}

/* ---- events -------------------------------------------------------------- */

static void note_exit(thread *t, cf_str call_id, int64_t code)
{
    if (code == 0) {
        return;
    }
    cf_str id = trail_copy(t->r, call_id);
    size_t at = trail_find(&t->outputs, id);
    trail_put(t->r, &t->failed, id, 1);
    if (at < t->lane->n && t->lane->items[at].kind == CF_TRAIL_MESSAGE) {
        t->lane->items[at].as.message->is_error = true;
    }
}

static void read_completed(thread *t, const json_t *item)
{
    if (trail_is(item, "type", "CommandExecution")) {
        note_exit(t, cf_json_get_str(item, "id"), trail_int(item, "exit_code"));
    } else if (trail_is(item, "type", "CollabAgentToolCall")) {
        size_t i;
        const json_t *id;
        json_array_foreach(json_object_get(item, "receiver_thread_ids"), i, id)
        {
            cf_str agent = trail_value_text(t->r, id);
            if (trail_find(t->begun, agent) == TRAIL_NONE) {
                note_begun(t, agent, trail_json_str(t->r, item, "id"));
            }
        }
    }
}

static void read_event(thread *t, const json_t *p, uint64_t line)
{
    cf_str type = cf_json_get_str(p, "type");
    if (cf_str_is(type, "token_count")) {
        read_total(t, json_object_get(p, "info"));
    } else if (cf_str_is(type, "item_completed")) {
        read_completed(t, json_object_get(p, "item"));
    } else if (cf_str_is(type, "exec_command_end")) {
        note_exit(t, cf_json_get_str(p, "call_id"), trail_int(p, "exit_code"));
    } else if (cf_str_is(type, "turn_aborted")) {
        close_reply(t);
        trail_aborted(t->r, t->lane);
    } else if (cf_str_is(type, "task_complete")) {
        if (json_is_object(json_object_get(p, "error"))) {
            trail_left_out(t->r, line, "error", cf_str_make("", 0));
        }
    } else if (cf_str_is(type, "error") || cf_str_is(type, "stream_error") ||
               cf_str_is(type, "thread_rolled_back")) {
        trail_left_out(t->r, line, "", type);
    }
}

static void read_compacted(thread *t, const json_t *p)
{
    trail_reader *r = t->r;
    close_reply(t);
    cf_trail_compaction *c = trail_compaction(r, t->lane);
    c->summary = trail_json_str(r, p, "message");
    size_t i;
    const json_t *item;
    json_array_foreach(json_object_get(p, "replacement_history"), i, item)
    {
        unsigned n_images = 0;
        cf_str text = parts_text(r, json_object_get(item, "content"), &n_images);
        if (trail_is(item, "role", "user") && !is_meta(item, text) &&
            !cf_str_eq(text, c->summary) && !trail_kept(r, c, text)) {
            return;
        }
    }
}

static void read_meta(thread *t, const json_t *p, int64_t ms)
{
    trail_reader *r = t->r;
    if (t->has_meta) {
        return;
    }
    t->has_meta = true;
    if (t->lane->agent.n == 0) {
        r->t->id = trail_json_str(r, p, "id");
        r->t->folder = trail_json_str(r, p, "cwd");
        r->t->version = trail_json_str(r, p, "cli_version");
    }
    trail_seen(r, trail_time(cf_json_get_str(p, "timestamp")));
    cf_str text = cf_json_get_str(json_object_get(p, "base_instructions"), "text");
    text = text.n != 0 ? text : cf_json_get_str(p, "instructions");
    if (text.n != 0) {
        cf_trail_message *m = trail_message(r, t->lane, CF_TRAIL_SYSTEM);
        m->text = trail_copy(r, text);
        m->time_ms = ms;
    }
}

static void read_bare(thread *t, const json_t *v, cf_str type, int64_t ms, uint64_t line)
{
    if (is_item(type)) {
        read_item(t, v, ms, line);
    } else if (type.n == 0 && json_object_get(v, "id") != NULL) {
        read_meta(t, v, ms);
    } else if (json_object_get(v, "record_type") == NULL) {
        trail_left_out(t->r, line, "unknown type ", type);
    }
}

static void read_record(void *reader, json_t *v, uint64_t line)
{
    thread *t = reader;
    const json_t *p = json_object_get(v, "payload");
    cf_str type = cf_json_get_str(v, "type");
    int64_t ms = trail_time(cf_json_get_str(v, "timestamp"));
    trail_seen(t->r, ms);
    if (!json_is_object(p)) {
        read_bare(t, v, type, ms, line);
    } else if (cf_str_is(type, "session_meta")) {
        read_meta(t, p, ms);
    } else if (cf_str_is(type, "turn_context")) {
        t->model =
            json_object_get(p, "model") != NULL ? trail_json_str(t->r, p, "model") : t->model;
    } else if (cf_str_is(type, "response_item")) {
        read_item(t, p, ms, line);
    } else if (cf_str_is(type, "event_msg")) {
        read_event(t, p, line);
    } else if (cf_str_is(type, "compacted")) {
        read_compacted(t, p);
    } else if (cf_str_is(type, "token_usage_record")) {
        t->has_records = true;
        put_step(t, usage_of(json_object_get(p, "usage")));
    } else if (!cf_str_is(type, "world_state")) {
        trail_left_out(t->r, line, "unknown type ", type);
    }
}

/* Takes the steps that came from totals out where the file has records. */
static void drop_counted(thread *t)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; t->has_records && i < t->lane->n; i++) {
        if (k < t->n_counted && t->counted[k] == i) {
            k++;
        } else {
            t->lane->items[n++] = t->lane->items[i];
        }
    }
    t->lane->n = t->has_records ? n : t->lane->n;
}

static cf_status read_thread(thread *t, cf_str text, const cf_trail_options *opts, cf_error *err)
{
    cf_status st = trail_each_line(t->r, text, opts, read_record, t, err);
    close_reply(t);
    drop_counted(t);
    return st;
}

static void free_thread(thread *t)
{
    cf_buf_deinit(&t->text.b);
    cf_buf_deinit(&t->thinking.b);
    cf_free(t->counted);
    trail_index_free(&t->seen);
    trail_index_free(&t->outputs);
    trail_index_free(&t->failed);
}

/* ---- threads of a session ------------------------------------------------ */

static head head_of(cf_str text)
{
    trail_lines l = {.p = text.p, .n = text.n};
    head h = {.id = {"", 0}};
    cf_status st = CF_OK;
    json_t *v;
    while (l.line < 16 && h.v == NULL && trail_next(&l, NULL, &v, &st, NULL)) {
        const json_t *p = json_object_get(v, "payload");
        if (trail_is(v, "type", "session_meta")) {
            h.v = json_incref(v);
            h.id = cf_json_get_str(p, "id");
            h.parent = cf_json_get_str(p, "parent_thread_id");
            h.nickname = cf_json_get_str(p, "agent_nickname");
            if (h.nickname.n == 0) {
                h.nickname = cf_json_get_str(
                    trail_get(p, "source", "subagent", "thread_spawn", NULL), "agent_nickname");
            }
        }
        json_decref(v);
    }
    return h;
}

typedef struct codex {
    trail_reader r;
    const char *const *paths;
    head *heads; /* [n] */
    size_t n;
    trail_index ids, begun;
    cf_str *calls; /* heap; grown by each thread in turn */
    size_t n_calls, cap_calls;
    const cf_trail_options *opts;
} codex;

static cf_status read_one(codex *c, size_t i, cf_error *err)
{
    bool is_main = c->r.n_lanes == 0;
    const char *name = strrchr(c->paths[i], '/');
    cf_str id = is_main ? cf_str_make("", 0) : trail_copy(&c->r, c->heads[i].id);
    thread t = {.r = &c->r,
                .begun = &c->begun,
                .calls = c->calls,
                .n_calls = c->n_calls,
                .cap_calls = c->cap_calls};
    t.lane = trail_add_lane(&c->r, id);
    c->heads[i].is_used = true;
    if (!is_main) {
        c->r.file = trail_copy(&c->r, cf_str_from(name != NULL ? name + 1 : c->paths[i]));
        trail_agent(&c->r, t.lane, id)->title = trail_copy(&c->r, c->heads[i].nickname);
    }
    cf_os_map map;
    cf_str text;
    cf_status st = trail_open(&map, c->paths[i], c->opts, &text, err);
    if (st == CF_OK) {
        st = read_thread(&t, text, c->opts, err);
        cf_os_map_close(&map);
    }
    c->calls = t.calls;
    c->n_calls = t.n_calls;
    c->cap_calls = t.cap_calls;
    free_thread(&t);
    return st;
}

/* The calls that began the threads, then the order of the output. */
static void link_lanes(codex *c)
{
    for (size_t i = 1; i < c->r.n_lanes; i++) {
        trail_lane *lane = c->r.lanes[i];
        size_t at = trail_find(&c->begun, lane->agent);
        if (at != TRAIL_NONE && lane->n != 0 && lane->items[0].kind == CF_TRAIL_AGENT) {
            lane->parent_call = lane->items[0].as.agent->parent_call = c->calls[at];
        }
    }
    trail_order(&c->r);
}

/* The file's place whose thread began it; TRAIL_NONE: none is here. */
static size_t parent_of(const codex *c, size_t i)
{
    return trail_find(&c->ids, c->heads[i].parent);
}

static bool is_below(const codex *c, size_t i, size_t root)
{
    size_t steps = 0;
    while (i != TRAIL_NONE && i != root && steps++ < c->n) {
        i = parent_of(c, i);
    }
    return i == root;
}

static cf_status read_session(codex *c, size_t root, cf_trails *out, cf_error *err)
{
    CF_TRY(trail_begin(&c->r, "codex", c->paths[root], err));
    cf_status st = read_one(c, root, err);
    for (size_t i = 0; st == CF_OK && i < c->n; i++) {
        if (i != root && c->heads[i].parent.n != 0 && !c->heads[i].is_used &&
            is_below(c, i, root)) {
            st = read_one(c, i, err);
        }
    }
    if (st == CF_OK) {
        link_lanes(c);
        st = trail_finish(&c->r, out, err);
    } else {
        trail_drop(&c->r);
    }
    trail_index_free(&c->begun);
    cf_free(c->calls);
    c->calls = NULL;
    c->n_calls = c->cap_calls = 0;
    return st;
}

cf_status trail_read_codex(cf_trails *out, const char *const *paths, size_t n, const char *only,
                           const cf_trail_options *opts, cf_error *err)
{
    codex c = {.paths = paths, .n = n, .opts = opts};
    cf_os_map map;
    cf_str text;
    c.heads = cf_calloc(n + 1, sizeof *c.heads);
    cf_status st = c.heads != NULL ? CF_OK : cf_oom(err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = trail_open(&map, paths[i], opts, &text, err);
        if (st == CF_OK) {
            c.heads[i] = head_of(text);
            trail_put(&c.r, &c.ids, c.heads[i].id, i);
            cf_os_map_close(&map);
        }
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        bool is_root = only != NULL ? strcmp(paths[i], only) == 0
                                    : parent_of(&c, i) == TRAIL_NONE || parent_of(&c, i) == i;
        if (is_root) {
            st = read_session(&c, i, out, err);
        }
    }
    /* Threads whose parents are each other. */
    for (size_t i = 0; st == CF_OK && only == NULL && i < n; i++) {
        if (!c.heads[i].is_used) {
            st = read_session(&c, i, out, err);
        }
    }
    for (size_t i = 0; c.heads != NULL && i < n; i++) {
        json_decref(c.heads[i].v);
    }
    cf_free(c.heads);
    trail_index_free(&c.ids);
    return st;
}
