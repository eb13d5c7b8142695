/*
 * trail_pi.c - pi's sessions: a tree of entries in lines.
 *
 * The path ends at the last entry of the file, whatever its type.  The first
 * version had no ids: each entry follows the one before.
 */
#include <stdio.h>

#include "storage/trail/trail_parts.h"
#include "storage/trail/trail_tree.h"

typedef struct pi {
    trail_reader r;
    trail_tree tree; /* nodes' data: the entries with something to show */
    bool is_list;    /* of the first version */
} pi;

static const trail_part kinds[] = {{"text", TRAIL_PART_TEXT, "text"},
                                   {"thinking", TRAIL_PART_THINKING, "thinking"},
                                   {"toolCall", TRAIL_PART_CALL, "arguments"},
                                   {.type = NULL}};

static void put_reply(trail_reader *r, trail_lane *lane, cf_trail_message *m, const json_t *v)
{
    static const trail_usage_keys keys = {"input",  "cacheRead", "cacheWrite",
                                          "output", "reasoning", .has_cache = false};
    m->model = trail_json_str(r, v, "model");
    trail_model(r, m->model);
    if (trail_is(v, "stopReason", "error")) {
        m->is_error = true;
        trail_fill(r, &m->text, v, "errorMessage");
    }
    cf_trail_step *s = trail_step(r, lane, m);
    s->used = trail_usage(json_object_get(v, "usage"), &keys);
    s->stop = trail_json_str(r, v, "stopReason");
    if (trail_is(v, "stopReason", "aborted")) {
        trail_aborted(r, lane);
    }
}

static cf_str bash_text(trail_reader *r, const json_t *v)
{
    cf_buf b = CF_BUF_INIT;
    cf_str command = cf_json_get_str(v, "command"), output = cf_json_get_str(v, "output");
    cf_buf_adds(&b, "$ ");
    cf_buf_add(&b, command.p, command.n);
    cf_buf_addc(&b, '\n');
    cf_buf_add(&b, output.p, output.n);
    return trail_take(r, &b);
}

/* `v` is a message, or an entry that is none and has its fields. */
static void put_message(trail_reader *r, trail_lane *lane, trail_node *node, const json_t *v)
{
    cf_str role = cf_json_get_str(v, "role");
    cf_trail_role as = cf_str_is(role, "assistant")    ? CF_TRAIL_ASSISTANT
                       : cf_str_is(role, "toolResult") ? CF_TRAIL_TOOL
                                                       : CF_TRAIL_USER;
    cf_trail_message *m = trail_message(r, lane, as);
    m->time_ms = trail_time(node->data, "timestamp");
    trail_content(r, m, json_object_get(v, "content"), kinds);
    m->is_meta = as == CF_TRAIL_USER && !cf_str_is(role, "user");
    if (as == CF_TRAIL_ASSISTANT) {
        put_reply(r, lane, m, v);
    } else if (as == CF_TRAIL_TOOL) {
        m->call_id = trail_json_str(r, v, "toolCallId");
        m->is_error = json_is_true(json_object_get(v, "isError"));
    } else if (cf_str_is(role, "bashExecution")) {
        m->text = bash_text(r, v);
    } else {
        trail_fill(r, &m->text, v, "summary");
    }
    node->last = m;
}

/* The texts of the path's messages before the compaction, from the first that is kept. */
static void put_compaction(pi *p, trail_lane *lane, const trail_tree *t, size_t at)
{
    const json_t *v = t->v[at].data;
    cf_trail_compaction *c = trail_compaction(&p->r, lane);
    size_t from = trail_find(&t->ids, cf_json_get_str(v, "firstKeptEntryId"));
    c->summary = trail_json_str(&p->r, v, "summary");
    for (size_t i = from; i < at; i++) {
        const trail_node *node = &t->v[i];
        bool is_before = node->is_on_path || node->root == t->v[at].root;
        cf_str text = is_before && node->last != NULL ? node->last->text : cf_str_make("", 0);
        if (!trail_kept(&p->r, c, text)) {
            return;
        }
    }
}

static void put_entry(void *reader, trail_lane *lane, trail_tree *t, size_t at)
{
    pi *p = reader;
    const json_t *v = t->v[at].data;
    if (trail_is(v, "type", "compaction")) {
        put_compaction(p, lane, t, at);
    } else if (v != NULL) {
        bool is_message = trail_is(v, "type", "message");
        put_message(&p->r, lane, &t->v[at], is_message ? json_object_get(v, "message") : v);
    }
}

/* ---- lines --------------------------------------------------------------- */

/* Whether an entry has something to show; unknown ones are left out. */
static bool is_shown(pi *p, const json_t *v, cf_str type, uint64_t line)
{
    static const char *const noise[] = {
        "model_change", "thinking_level_change", "custom", "label", "session_info", "leaf", NULL};
    static const char *const shown[] = {"message", "compaction", "branch_summary", "custom_message",
                                        NULL};
    static const char *const roles[] = {
        "user",   "assistant",     "toolResult",        "bashExecution",
        "custom", "branchSummary", "compactionSummary", NULL};
    cf_str role = cf_json_get_str(json_object_get(v, "message"), "role");
    bool is_known = trail_is_one_of(type, shown);
    bool has_role = !cf_str_is(type, "message") || trail_is_one_of(role, roles);
    if (!trail_is_one_of(type, noise) && !(is_known && has_role)) {
        trail_left_out(&p->r, line, is_known ? "unknown role " : "unknown type ",
                       is_known ? role : type);
    }
    return is_known && has_role;
}

static void read_entry(void *reader, json_t *v, uint64_t line)
{
    pi *p = reader;
    trail_reader *r = &p->r;
    cf_str type = cf_json_get_str(v, "type");
    cf_str id = trail_json_str(r, v, "id"), parent = trail_json_str(r, v, "parentId");
    trail_seen(r, trail_time(v, "timestamp"));
    if (cf_str_is(type, "session")) {
        r->t->id = id;
        r->t->folder = trail_json_str(r, v, "cwd");
        p->is_list = trail_int(v, "version") < 2;
        return;
    }
    if (p->is_list && id.n == 0) {
        char name[32];
        parent = p->tree.n != 0 ? p->tree.v[p->tree.n - 1].id : parent;
        id =
            trail_copy(r, cf_str_make(name, (size_t)snprintf(name, sizeof name, "%zu", p->tree.n)));
    }
    bool shown = is_shown(p, v, type, line);
    if (cf_str_is(type, "session_info") && id.n != 0) {
        r->t->title = trail_json_str(r, v, "name");
    }
    trail_node *node = shown || id.n != 0 ? trail_tree_add(r, &p->tree, id, parent, line) : NULL;
    if (node != NULL) {
        node->data = shown ? cf_json_ref(trail_hold(r, v)) : NULL;
        node->is_message = true;
    }
}

cf_status trail_read_pi(cf_trails *out, const trail_source *s, cf_error *err)
{
    pi p = {.is_list = false};
    CF_TRY(trail_begin(&p.r, "pi", s->paths[0], err));
    cf_status st = trail_each_line(&p.r, s->text, s->opts, read_entry, &p, err);
    if (st == CF_OK) {
        trail_tree_put(&p.r, &p.tree, put_entry, &p);
    }
    return trail_finish(&p.r, st, out, err);
}
