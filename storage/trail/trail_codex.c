/*
 * trail_codex.c - Codex's rollouts: items in lines, a thread a file.
 *
 * A reply is a run of items up to its usage, an output or another message.
 * Usage comes as records, or in older files as totals that are told again and
 * again; where a file has records the totals are not used.
 */
#include <string.h>

#include "storage/trail/trail_family.h"
#include "storage/trail/trail_parts.h"

/* A thread: one file, one lane. */
typedef struct thread {
    trail_reader *r;
    trail_lane *lane;
    cf_str model;
    cf_trail_message *open;   /* the reply that items still belong to */
    cf_trail_message *unpaid; /* the last reply without usage */
    trail_texts texts;        /* of the open one */
    cf_trail_usage total;
    size_t *counted; /* [n_counted], items that came from totals */
    size_t n_counted;
    trail_index seen;    /* items' types and ids */
    trail_index outputs; /* call id -> place of its result in the lane */
    trail_index failed;  /* call ids with an exit code */
    bool has_records, has_meta;
} thread;

static const trail_part kinds[] = {{"", TRAIL_PART_TEXT, "text"}, {.type = NULL}};

/* ---- replies ------------------------------------------------------------- */

static void close_reply(thread *t)
{
    if (t->open != NULL) {
        trail_joined(t->r, &t->texts, t->open);
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

static cf_trail_usage usage_of(const json_t *u)
{
    static const trail_usage_keys keys = {
        "input_tokens",  "cached_input_tokens",     "cache_write_input_tokens",
        "output_tokens", "reasoning_output_tokens", .has_cache = true};
    return trail_usage(u, &keys);
}

static void put_step(thread *t, cf_trail_usage u)
{
    close_reply(t);
    cf_trail_step *s = trail_step(t->r, t->lane, t->unpaid);
    s->model = t->unpaid != NULL ? t->unpaid->model : t->model;
    s->used = u;
    t->unpaid = NULL;
}

/* A total: the difference to the one before, or where it fell the last usage. */
static void read_total(thread *t, const json_t *info)
{
    const json_t *total = json_object_get(info, "total_token_usage");
    cf_trail_usage now = usage_of(total), was = t->total;
    if (!json_is_object(total) || memcmp(&now, &was, sizeof now) == 0 || t->has_records) {
        return;
    }
    t->total = now;
    cf_trail_usage u = {now.input - was.input, now.cache_read - was.cache_read,
                        now.cache_creation - was.cache_creation, now.output - was.output,
                        now.reasoning - was.reasoning};
    if (cf_trail_prompt(&u) < 0 || u.cache_read < 0 || u.cache_creation < 0 || u.output < 0 ||
        u.reasoning < 0) {
        u = usage_of(json_object_get(info, "last_token_usage"));
    }
    put_step(t, u);
    *(size_t *)trail_push(&t->r->scratch, &t->counted, &t->n_counted, sizeof(size_t)) =
        t->lane->n - 1;
}

/* ---- items --------------------------------------------------------------- */

static bool is_meta(const json_t *item, cf_str text)
{
    static const char *const heads[] = {"<environment_context>",
                                        "<user_instructions>",
                                        "# AGENTS.md instructions",
                                        "<turn_aborted>",
                                        "<user_shell_command>",
                                        "<subagent_notification>",
                                        "<skill>",
                                        NULL};
    const json_t *kinds_of =
        trail_get(item, "internal_chat_message_metadata_passthrough", "content_item_kinds", NULL);
    const json_t *kind;
    size_t i;
    if (!json_is_array(kinds_of)) {
        return trail_begins_with(text, heads);
    }
    json_array_foreach(kinds_of, i, kind)
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
    cf_trail_message got = {.time_ms = ms}, *m;
    trail_content(r, &got, json_object_get(item, "content"), kinds);
    if (cf_str_is(role, "assistant")) {
        m = reply_of(t, ms);
        trail_join(&t->texts, TRAIL_PART_TEXT, got.text);
        m->n_images += got.n_images;
        return;
    }
    close_reply(t);
    bool is_system = cf_str_is(role, "developer") || cf_str_is(role, "system");
    if (!is_system && !cf_str_is(role, "user")) {
        trail_left_out(r, line, "unknown role ", role);
        return;
    }
    got.role = is_system ? CF_TRAIL_SYSTEM : CF_TRAIL_USER;
    got.is_meta = !is_system && is_meta(item, got.text);
    *trail_message(r, t->lane, got.role) = got;
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
            trail_join(&t->texts, TRAIL_PART_THINKING, cf_json_get_str(part, "text"));
            has_any = true;
        }
    }
    if (!has_any) {
        trail_join(&t->texts, TRAIL_PART_THINKING, cf_str_make("", 0));
    }
}

static void read_call(thread *t, const json_t *item, cf_str type, int64_t ms)
{
    trail_reader *r = t->r;
    cf_str id = trail_json_str(r, item, "call_id"), name = trail_json_str(r, item, "name");
    cf_str arguments;
    trail_fill(r, &id, item, "id");
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

static void read_output(thread *t, const json_t *item, int64_t ms)
{
    trail_reader *r = t->r;
    const json_t *output = json_object_get(item, "output"), *inside;
    cf_trail_message m = {.role = CF_TRAIL_TOOL, .time_ms = ms};
    close_reply(t);
    if ((inside = json_object_get(output, "content")) != NULL) {
        m.is_error = json_is_false(json_object_get(output, "success"));
        output = inside;
    }
    trail_content(r, &m, output, kinds);
    m.call_id = trail_json_str(r, item, "call_id");
    m.is_error = m.is_error || trail_find(&t->failed, m.call_id) != TRAIL_NONE;
    trail_put(&r->scratch, &t->outputs, m.call_id, t->lane->n);
    *trail_message(r, t->lane, CF_TRAIL_TOOL) = m;
    json_t *v = NULL;
    if (cf_str_begins(m.text, "{\"agent_id\"") && trail_parse(&v, m.text, NULL) == CF_OK) {
        trail_began(r, trail_json_str(r, v, "agent_id"), m.call_id);
    }
    json_decref(v);
}

static bool is_again(thread *t, const json_t *item, cf_str type, uint64_t line)
{
    cf_str id = cf_json_get_str(item, "id");
    cf_str key = id.n != 0 ? trail_pair(t->r, type, id) : id;
    bool is_known = trail_find(&t->seen, key) != TRAIL_NONE;
    if (is_known) {
        trail_left_out(t->r, line, "duplicate", cf_str_make(NULL, 0));
    }
    trail_put(&t->r->scratch, &t->seen, key, 1);
    return is_known;
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
    trail_put(&t->r->scratch, &t->failed, id, 1);
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
            trail_began(t->r, trail_value_text(t->r, id), trail_json_str(t->r, item, "id"));
        }
    }
}

static void read_event(thread *t, const json_t *p, uint64_t line)
{
    static const char *const left_out[] = {"error", "stream_error", "thread_rolled_back", NULL};
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
    } else if (cf_str_is(type, "task_complete") && json_is_object(json_object_get(p, "error"))) {
        trail_left_out(t->r, line, "error", cf_str_make(NULL, 0));
    } else if (trail_is_one_of(type, left_out)) {
        trail_left_out(t->r, line, "", type);
    }
}

static void read_compacted(thread *t, const json_t *p)
{
    trail_reader *r = t->r;
    size_t i;
    const json_t *item;
    close_reply(t);
    cf_trail_compaction *c = trail_compaction(r, t->lane);
    c->summary = trail_json_str(r, p, "message");
    json_array_foreach(json_object_get(p, "replacement_history"), i, item)
    {
        cf_trail_message m = {.n = 0};
        trail_content(r, &m, json_object_get(item, "content"), kinds);
        if (trail_is(item, "role", "user") && !is_meta(item, m.text) &&
            !cf_str_eq(m.text, c->summary) && !trail_kept(r, c, m.text)) {
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
        trail_fill(r, &r->t->id, p, "id");
        trail_fill(r, &r->t->folder, p, "cwd");
        trail_fill(r, &r->t->version, p, "cli_version");
    }
    trail_seen(r, trail_time(p, "timestamp"));
    cf_str text = trail_json_str(r, json_object_get(p, "base_instructions"), "text");
    trail_fill(r, &text, p, "instructions");
    if (text.n != 0) {
        cf_trail_message *m = trail_message(r, t->lane, CF_TRAIL_SYSTEM);
        m->text = text;
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
    int64_t ms = trail_time(v, "timestamp");
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

static cf_status put_thread(trail_family *f, const trail_thread *of, trail_lane *lane,
                            cf_error *err)
{
    thread t = {.r = &f->r, .lane = lane, .texts = TRAIL_TEXTS_INIT};
    cf_os_map map;
    cf_str text;
    CF_TRY(trail_open(&map, of->path, f->source->opts, &text, err));
    cf_status st = trail_each_line(t.r, text, f->source->opts, read_record, &t, err);
    close_reply(&t);
    drop_counted(&t);
    cf_os_map_close(&map);
    return st;
}

/* Adds a file with what its head says. */
static void add_file(trail_family *f, const char *path, cf_str text)
{
    trail_lines l = {.p = text.p, .n = text.n};
    cf_status st = CF_OK;
    const json_t *p = NULL;
    json_t *v;
    cf_str title;
    while (l.line < 16 && p == NULL && trail_next(&l, NULL, &v, &st, NULL)) {
        p = trail_is(v, "type", "session_meta") ? trail_hold(&f->all, json_object_get(v, "payload"))
                                                : NULL;
        json_decref(v);
    }
    title = cf_json_get_str(p, "agent_nickname");
    title = title.n != 0 ? title
                         : cf_json_get_str(trail_get(p, "source", "subagent", "thread_spawn", NULL),
                                           "agent_nickname");
    trail_family_add(f, path, NULL, cf_json_get_str(p, "id"),
                     cf_json_get_str(p, "parent_thread_id"), title);
}

cf_status trail_read_codex(cf_trails *out, const trail_source *s, cf_error *err)
{
    trail_family f;
    cf_os_map map;
    cf_str text;
    CF_TRY(trail_family_begin(&f, "codex", s, err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        st = trail_open(&map, s->paths[i], s->opts, &text, err);
        if (st == CF_OK) {
            add_file(&f, s->paths[i], text);
            cf_os_map_close(&map);
        }
    }
    return trail_family_put(&f, st, put_thread, out, err);
}
