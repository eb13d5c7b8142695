/*
 * trail_pi.c - pi's sessions: a tree of entries in lines.
 *
 * The path ends at the last entry of the file, whatever its type.  The first
 * version had no ids: each entry follows the one before.
 */
#include <stdio.h>

#include "core/base/alloc.h"
#include "storage/trail/trail_tree.h"

typedef struct entry {
    cf_str type, role;
    json_t *v; /* owned until the output; NULL: nothing to show */
} entry;

typedef struct pi {
    trail_reader r;
    trail_tree tree;
    bool is_list; /* of the first version */
} pi;

static cf_str parts_text(trail_reader *r, const json_t *content, const char *type, const char *key,
                         unsigned *n_images)
{
    trail_text t = {CF_BUF_INIT, false};
    size_t i;
    const json_t *part;
    if (json_is_string(content)) {
        return trail_value_text(r, content);
    }
    json_array_foreach(content, i, part)
    {
        if (trail_is(part, "type", type)) {
            bool is_hidden = json_is_true(json_object_get(part, "redacted"));
            trail_join(&t, is_hidden ? cf_str_make("", 0) : cf_json_get_str(part, key));
        } else if (n_images != NULL && trail_is(part, "type", "image")) {
            ++*n_images;
        }
    }
    return trail_joined(r, &t);
}

static void put_usage(trail_reader *r, trail_lane *lane, cf_trail_message *m, const json_t *v)
{
    const json_t *u = json_object_get(v, "usage");
    cf_trail_step *s = trail_step(r, lane, m);
    s->input = trail_int(u, "input");
    s->cache_read = trail_int(u, "cacheRead");
    s->cache_creation = trail_int(u, "cacheWrite");
    s->output = trail_int(u, "output");
    s->reasoning = trail_int(u, "reasoning");
    s->stop = trail_json_str(r, v, "stopReason");
}

static void put_reply(trail_reader *r, trail_lane *lane, cf_trail_message *m, const json_t *v)
{
    const json_t *content = json_object_get(v, "content"), *part;
    size_t i;
    m->text = parts_text(r, content, "text", "text", &m->n_images);
    m->thinking = json_is_array(content) ? parts_text(r, content, "thinking", "thinking", NULL)
                                         : cf_str_make("", 0);
    m->model = trail_json_str(r, v, "model");
    trail_model(r, m->model);
    json_array_foreach(content, i, part)
    {
        if (trail_is(part, "type", "toolCall")) {
            trail_call(r, m, trail_json_str(r, part, "id"), trail_json_str(r, part, "name"),
                       trail_arguments(r, json_object_get(part, "arguments")));
        }
    }
    if (trail_is(v, "stopReason", "error")) {
        m->is_error = true;
        m->text = m->text.n != 0 ? m->text : trail_json_str(r, v, "errorMessage");
    }
    put_usage(r, lane, m, v);
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

static void put_message(trail_reader *r, trail_lane *lane, trail_node *node, const json_t *v,
                        int64_t ms)
{
    cf_str role = cf_json_get_str(v, "role");
    cf_trail_role as = cf_str_is(role, "assistant")    ? CF_TRAIL_ASSISTANT
                       : cf_str_is(role, "toolResult") ? CF_TRAIL_TOOL
                                                       : CF_TRAIL_USER;
    cf_trail_message *m = trail_message(r, lane, as);
    node->last = m;
    m->time_ms = ms;
    if (as == CF_TRAIL_ASSISTANT) {
        put_reply(r, lane, m, v);
        return;
    }
    m->is_meta = as == CF_TRAIL_USER && !cf_str_is(role, "user");
    if (cf_str_is(role, "bashExecution")) {
        m->text = bash_text(r, v);
        return;
    }
    m->text = json_object_get(v, "content") != NULL
                  ? parts_text(r, json_object_get(v, "content"), "text", "text", &m->n_images)
                  : trail_json_str(r, v, "summary");
    if (as == CF_TRAIL_TOOL) {
        m->call_id = trail_json_str(r, v, "toolCallId");
        m->is_error = json_is_true(json_object_get(v, "isError"));
    }
}

/* The texts of the path's messages before the compaction, from the first that is kept. */
static void put_compaction(pi *p, trail_lane *lane, const trail_tree *t, size_t at)
{
    const entry *e = t->v[at].data;
    cf_trail_compaction *c = trail_compaction(&p->r, lane);
    size_t from = trail_find(&t->ids, cf_json_get_str(e->v, "firstKeptEntryId"));
    c->summary = trail_json_str(&p->r, e->v, "summary");
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
    trail_node *node = &t->v[at];
    const entry *e = node->data;
    int64_t ms = trail_time(cf_json_get_str(e->v, "timestamp"));
    if (e->v == NULL) {
        return;
    }
    if (cf_str_is(e->type, "message")) {
        put_message(&p->r, lane, node, json_object_get(e->v, "message"), ms);
    } else if (cf_str_is(e->type, "compaction")) {
        put_compaction(p, lane, t, at);
    } else {
        cf_trail_message *m = trail_message(&p->r, lane, CF_TRAIL_USER);
        bool is_summary = cf_str_is(e->type, "branch_summary");
        m->text = is_summary ? trail_json_str(&p->r, e->v, "summary")
                             : parts_text(&p->r, json_object_get(e->v, "content"), "text", "text",
                                          &m->n_images);
        m->is_meta = true;
        m->time_ms = ms;
        node->last = m;
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
    if (trail_is_one_of(type, noise)) {
        return false;
    }
    if (!trail_is_one_of(type, shown)) {
        trail_left_out(&p->r, line, "unknown type ", type);
        return false;
    }
    cf_str role = cf_json_get_str(json_object_get(v, "message"), "role");
    if (cf_str_is(type, "message") && !trail_is_one_of(role, roles)) {
        trail_left_out(&p->r, line, "unknown role ", role);
        return false;
    }
    return true;
}

static void read_head(pi *p, const json_t *v)
{
    cf_trail *t = p->r.t;
    t->id = trail_json_str(&p->r, v, "id");
    t->folder = trail_json_str(&p->r, v, "cwd");
    p->is_list = trail_int(v, "version") < 2;
}

static void read_entry(void *reader, json_t *v, uint64_t line)
{
    pi *p = reader;
    trail_reader *r = &p->r;
    cf_str type = trail_json_str(r, v, "type");
    cf_str id = trail_json_str(r, v, "id"), parent = trail_json_str(r, v, "parentId");
    trail_seen(r, trail_time(cf_json_get_str(v, "timestamp")));
    if (cf_str_is(type, "session")) {
        read_head(p, v);
        return;
    }
    if (p->is_list && id.n == 0) {
        char name[32];
        parent = p->tree.n != 0 ? p->tree.v[p->tree.n - 1].id : parent;
        id =
            trail_copy(r, cf_str_make(name, (size_t)snprintf(name, sizeof name, "%zu", p->tree.n)));
    }
    bool shown = is_shown(p, v, type, line);
    if (id.n == 0) {
        if (shown) {
            trail_left_out(r, line, "no uuid", cf_str_make("", 0));
        }
        return;
    }
    if (cf_str_is(type, "session_info")) {
        r->t->title = trail_json_str(r, v, "name");
    }
    trail_node *node = trail_tree_add(r, &p->tree, id, parent, line);
    entry *e = trail_alloc(r, 1, sizeof *e);
    if (node != NULL && e != NULL) {
        *e = (entry){.type = type, .v = shown ? json_incref(v) : NULL};
        node->data = e;
        node->is_message = true;
    } else if (node != NULL) {
        p->tree.n--;
    }
}

static void put_all(pi *p)
{
    cf_str own = cf_str_make("", 0);
    trail_tree_walk(&p->r, &p->tree);
    trail_tree_put_path(&p->tree, trail_add_lane(&p->r, own), put_entry, p);
    trail_tree_put_branches(&p->r, &p->tree, own, put_entry, p);
}

cf_status trail_read_pi(cf_trails *out, const char *path, cf_str text, const cf_trail_options *opts,
                        cf_error *err)
{
    pi p = {0};
    CF_TRY(trail_begin(&p.r, "pi", path, err));
    cf_status st = trail_each_line(&p.r, text, opts, read_entry, &p, err);
    if (st == CF_OK) {
        put_all(&p);
    }
    for (size_t i = 0; i < p.tree.n; i++) {
        json_decref(((entry *)p.tree.v[i].data)->v);
    }
    trail_tree_free(&p.tree);
    return trail_end(&p.r, st, out, err);
}
