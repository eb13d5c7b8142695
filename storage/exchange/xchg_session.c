/*
 * xchg_session.c - sessions of coding agents as conversations: the path and its
 * branches are one tree, each sub-agent is a conversation of its own.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/exchange/xchg.h"
#include "storage/trail.h"

/* One agent of a session while its conversation is built. */
typedef struct talk {
    cf_import *im;
    const cf_trail *t;
    cf_uuid *turns; /* [t->n_messages + 1], by n: the provisional ids */
    bool *is_put;   /* [t->n_events + 1], of agents' events; two files may be one agent's */
    unsigned n_images;
} talk;

static json_t *calls_of(const cf_trail_message *m, cf_jb *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->n_calls; i++) {
        const cf_trail_call *c = &m->calls[i];
        json_t *text = NULL;
        bool failed = false;
        /* A string holds the model's own text, which was not JSON. */
        json_t *v = cf_xchg__parse(c->arguments, &failed);
        text = json_is_string(v) ? json_incref(v) : cf_json_str(c->arguments);
        json_decref(v);
        cf_jb_append(b, list,
                     json_pack("{s:o,s:s,s:{s:o,s:o}}", "id", cf_json_str(c->id), "type",
                               "function", "function", "name", cf_json_str(c->name), "arguments",
                               text));
        if (failed) {
            cf_jb_fail(b);
        }
    }
    return list;
}

json_t *cf_session_message(const cf_trail_message *m)
{
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "role", cf_trail_role_name(m->role));
    cf_jb_str(&b, "content", m->text);
    if (m->thinking.n != 0) {
        cf_jb_str(&b, "reasoning_content", m->thinking);
    }
    if (m->n_calls != 0) {
        cf_jb_take(&b, "tool_calls", calls_of(m, &b));
    }
    if (m->role == CF_TRAIL_TOOL) {
        cf_jb_str(&b, "tool_call_id", m->call_id);
    }
    cf_jb_end(&b);
    return cf_jb_done(&b);
}

static cf_status put_message(talk *k, const cf_trail_event *e, cf_uuid *last, bool *is_first_of,
                             cf_error *err)
{
    const cf_trail_message *m = e->as.message;
    cf_store_turn *turn;
    CF_TRY(cf_build__say(k->im->cur, cf_session_message(m), &turn, err));
    turn->parent = *is_first_of && e->is_branch ? k->turns[e->branch] : *last;
    turn->created_ms = m->time_ms;
    *is_first_of = false;
    *last = k->turns[m->n] = turn->id;
    k->n_images += m->n_images;
    return CF_OK;
}

/* What a request used, on the reply's turn. */
static void put_step(talk *k, const cf_trail_step *s)
{
    cf_build *b = k->im->cur;
    cf_store_run *r = s->message != NULL ? cf_arena_calloc(&b->arena, 1, sizeof *r) : NULL;
    for (size_t i = b->n; r != NULL && i-- > 0;) {
        if (cf_uuid_eq(b->turns[i].id, k->turns[s->message->n])) {
            *r = cf_store_run_none();
            r->engine = cf_str_from(k->t->format);
            r->model = cf_build__str(b, s->model);
            r->n_prompt = cf_trail_prompt(&s->used);
            r->n_kept = s->used.cache_read;
            r->n_reply = s->used.output;
            r->stop_reason = cf_build__str(b, s->stop);
            b->turns[i].run = r;
            return;
        }
    }
}

/* A summary as the harness put it before the model. */
static cf_status put_summary(talk *k, const cf_trail_compaction *c, cf_uuid *last, cf_error *err)
{
    cf_store_turn *turn;
    if (c->summary.n == 0) {
        return CF_OK;
    }
    json_t *m = json_pack("{s:s,s:o}", "role", "user", "content", cf_json_str(c->summary));
    CF_TRY(cf_build__say(k->im->cur, m, &turn, err));
    turn->parent = *last;
    *last = turn->id;
    return CF_OK;
}

/* The events of one agent, from its first. */
static cf_status put_events(talk *k, size_t first, cf_uuid *head, cf_error *err)
{
    cf_uuid last = {{0}};
    bool is_first = true;
    size_t before = first;
    for (size_t i = first; i < k->t->n_events; before = i, i = k->t->events[i].next) {
        const cf_trail_event *e = &k->t->events[i], *was = &k->t->events[before];
        k->is_put[i] = true;
        /* Each branch lies in one piece, and leaves from a message of its own. */
        is_first = is_first || e->is_branch != was->is_branch || e->branch != was->branch ||
                   (e->is_branch && i > before + 1);
        if (e->kind == CF_TRAIL_MESSAGE) {
            CF_TRY(put_message(k, e, &last, &is_first, err));
        } else if (e->kind == CF_TRAIL_STEP) {
            put_step(k, e->as.step);
        } else if (e->kind == CF_TRAIL_COMPACTION) {
            CF_TRY(put_summary(k, e->as.compaction, &last, err));
        }
        *head = e->is_branch ? *head : last;
    }
    return CF_OK;
}

static cf_status put_id(cf_buf *id, const cf_trail *t, cf_str agent, cf_error *err)
{
    cf_buf_add(id, t->id.p, t->id.n);
    if (agent.n != 0) {
        cf_buf_addc(id, '/');
        cf_buf_add(id, agent.p, agent.n);
    }
    return cf_buf_check(id, err);
}

/* One agent's conversation; title empty: the first message names it. */
static cf_status put_agent(talk *k, size_t first, cf_str agent, cf_str title, cf_error *err)
{
    cf_import *im = k->im;
    cf_buf id = CF_BUF_INIT;
    cf_status st = put_id(&id, k->t, agent, err);
    CF_THEN(st, cf_build__begin(im, 0, err));
    if (st == CF_OK) {
        cf_store_conv *c = &im->cur->conv;
        c->source = cf_build__source(im, cf_buf_str(&id));
        c->id = cf_build__uuid(CF_FORMAT_SESSION, cf_str_from(k->t->format), cf_buf_str(&id));
        c->title = cf_build__str(im->cur, title);
        st = put_events(k, first, &c->head, err);
    }
    cf_buf_deinit(&id);
    CF_THEN(st, im->cur->n != 0 ? cf_import__emit_ordered(im, err) : CF_OK);
    return st;
}

/* What a conversation has no room for is said. */
static void note_rest(talk *k)
{
    char line[160];
    for (size_t i = 0; i < k->t->n_left_out; i++) {
        const cf_trail_left_out *x = &k->t->left_out[i];
        snprintf(line, sizeof line, "%.60s%s%.80s", x->file.n != 0 ? x->file.p : "",
                 x->file.n != 0 ? ": " : "", x->why.p);
        cf_import__bad(k->im, x->line, line);
    }
    if (k->n_images != 0) {
        snprintf(line, sizeof line, "%u pictures of the session are not imported", k->n_images);
        cf_import__bad(k->im, 0, line);
    }
}

static cf_status put_session(cf_import *im, const cf_trail *t, cf_error *err)
{
    talk k = {.im = im, .t = t};
    k.turns = cf_calloc(t->n_messages + 1, sizeof *k.turns);
    k.is_put = cf_calloc(t->n_events + 1, sizeof *k.is_put);
    cf_status st = k.turns != NULL && k.is_put != NULL ? CF_OK : cf_sql__oom(err);
    size_t own = 0;
    while (own < t->n_events && t->events[own].agent.n != 0) {
        own++;
    }
    CF_THEN(st, put_agent(&k, own, cf_str_make("", 0), cf_trail_name(t), err));
    for (size_t i = 0; st == CF_OK && i < t->n_events; i++) {
        const cf_trail_event *e = &t->events[i];
        if (e->kind == CF_TRAIL_AGENT && !k.is_put[i]) {
            st = put_agent(&k, i, e->as.agent->id, e->as.agent->title, err);
        }
    }
    if (st == CF_OK) {
        note_rest(&k);
    }
    cf_free(k.turns);
    cf_free(k.is_put);
    return st;
}

static cf_status read_file(cf_import *im, const char *path, cf_error *err)
{
    cf_trails trails;
    const cf_trail_options opts = {.cancel = im->opts->cancel};
    CF_TRY(cf_trails_read(&trails, path, &opts, err));
    cf_import__name(im, trails.v[0]->format, "session");
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < trails.n; i++) {
        st = put_session(im, trails.v[i], err);
    }
    cf_trails_deinit(&trails);
    return st;
}

/* Whether a turn of the history comes from a message.  Imported turns must also have
 * the message's time. */
static bool is_turn_of(const cf_store_turn *turn, const json_t *said, const cf_trail_message *m,
                       const json_t *v, bool is_own)
{
    cf_buf text = CF_BUF_INIT;
    bool is_same = json_equal(said, v) && (m->time_ms == 0 || turn->created_ms == m->time_ms);
    if (is_own && cf_str_is(cf_json_get_str(said, "role"), cf_trail_role_name(m->role))) {
        cf_message_text(&text, said, "\n");
        is_same = is_same || (!text.failed && cf_str_eq(cf_buf_str(&text), m->text));
    }
    cf_buf_deinit(&text);
    return is_same;
}

static cf_status find_turn(cf_store *store, cf_uuid conversation, const cf_trail_message *m,
                           bool is_own, cf_uuid *turn, cf_error *err)
{
    cf_arena a = {0};
    cf_store_tree tree;
    json_t *v = cf_session_message(m);
    cf_status st = v != NULL ? CF_OK : cf_sql__oom(err);
    CF_THEN(st, cf_store_get_tree(store, conversation, 0, &a, &tree, err));
    *turn = (cf_uuid){{0}};
    for (size_t i = 0; st == CF_OK && i < tree.n; i++) {
        json_t *said = cf_xchg__parse(tree.turns[i].message, &a.failed);
        *turn = is_turn_of(&tree.turns[i], said, m, v, is_own) ? tree.turns[i].id : *turn;
        json_decref(said);
    }
    json_decref(v);
    cf_arena_deinit(&a);
    return st;
}

cf_status cf_session_keep(cf_store *store, const char *path, const cf_trail *t, cf_str agent,
                          const cf_trail_message *message, cf_uuid *conversation, cf_uuid *turn,
                          cf_error *err)
{
    cf_import_report report;
    const cf_import_options opts = {.format = CF_FORMAT_SESSION, .name = path};
    bool is_own = strcmp(t->format, "proxy") == 0 && strcmp(path, cf_store_path(store)) == 0;
    cf_buf id = CF_BUF_INIT;
    const cf_str *parts = agent.n != 0 ? &agent : t->parts;
    size_t n = agent.n != 0 ? 1 : t->n_parts;
    cf_status st = CF_OK;
    *turn = (cf_uuid){{0}};
    for (size_t i = 0; is_own && i < n && cf_uuid_is_nil(*turn); i++) { /* it is there already */
        st = cf_uuid_parse(conversation, parts[i].p, parts[i].n)
                 ? find_turn(store, *conversation, message, true, turn, err)
                 : cf_fail(err, CF_EFORMAT, "a conversation of the history has no id");
    }
    if (is_own) {
        return st;
    }
    CF_TRY(cf_import_file(store, path, &opts, &report, err));
    st = put_id(&id, t, agent, err);
    if (st == CF_OK) {
        *conversation = cf_build__uuid(CF_FORMAT_SESSION, cf_str_from(t->format), cf_buf_str(&id));
        st = find_turn(store, *conversation, message, false, turn, err);
    }
    cf_buf_deinit(&id);
    return st;
}

static bool claims_file(const char *path)
{
    const char *format = cf_trail_sniff(path);
    return format != NULL && strcmp(format, "proxy") != 0; /* the history has it */
}

const cf_xchg_format cf_xchg_session = {
    .name = "session", .file = read_file, .claims_file = claims_file};
