/*
 * lab_conversation.c - the conversation in the workbench and its replies.
 */
#include "tui/lab/talk/lab_conversation.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/lab/reply/run_options.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/state/reply_settings.h"
#include "tui/lab/talk/saved.h"
#include "tui/lab/talk/talk_impl.h"

/* ---- which conversation ------------------------------------------------- */

/* Puts a conversation in the place of the one in the workbench. */
static cf_status use_conversation(cf_lab *lab, cf_conversation *conv, cf_error *err)
{
    cf_role_map roles;
    cf_role_map_init(&roles, lab->engine.template_source);
    cf_conversation_set_roles(conv, &roles);
    cf_conversation_free(lab->talk->conv);
    lab->talk->conv = conv;
    return cf_lab__snapshot(lab, err);
}

static cf_status fresh_conversation(cf_lab *lab, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    const cf_preface preface = {.tools = lab->engine.tools};
    cf_conversation *conv;
    CF_TRY(cf_conversation_new(&conv, &preface, err));
    talk->conv_id = cf_uuid_new();
    talk->is_stored = false;
    talk->title[0] = '\0';
    return use_conversation(lab, conv, err);
}

/* Forgets what is known of the replies of the conversation before. */
static void free_replies(cf_lab_talk *talk)
{
    for (size_t i = 0; i < talk->n_replies; i++) {
        cf_reply_deinit(talk->replies[i]);
        cf_free(talk->replies[i]);
    }
    talk->n_replies = 0;
}

cf_status cf_lab_talk_open(cf_lab *lab, cf_error *err)
{
    cf_lab_talk *talk = lab->talk = cf_calloc(1, sizeof *talk);
    if (talk == NULL) {
        return cf_oom(err);
    }
    cf_arena_init(&talk->snapshot.arena, 0);
    talk->tpl.first_name = lab->engine.template_name;
    talk->tpl.first_source = lab->engine.template_source;
    talk->vars = json_object();
    return talk->vars != NULL ? fresh_conversation(lab, err) : cf_oom(err);
}

void cf_lab_talk_close(cf_lab *lab)
{
    cf_lab_talk *talk = lab->talk;
    if (talk == NULL) {
        return;
    }
    free_replies(talk);
    cf_free(talk->replies);
    cf_reply_deinit(&talk->live);
    cf_template_free(talk->tpl.own);
    cf_buf_deinit(&talk->tpl.source);
    cf_opened_adapters_close(&talk->adapters.opened);
    cf_conversation_free(talk->conv);
    cf_arena_deinit(&talk->snapshot.arena);
    cf_lab_rule_drop(talk->rule);
    cf_constraint_vocab_free(talk->vocab);
    json_decref(talk->vars);
    json_decref(talk->vendor);
    json_decref(talk->own_tools);
    cf_lab__undo_deinit(lab);
    cf_lab__again_deinit(lab);
    cf_free(talk);
}

/* `more` (may be NULL) is added after `turn`. */
static cf_status open_saved(cf_lab *lab, cf_uuid conv, cf_uuid turn, const cf_turn *more,
                            cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    if (lab->is_writing) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    if (lab->store == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "history is off");
    }
    const cf_saved_choice choice = {.conversation = conv, .turn = turn, .has_raw = true};
    cf_conversation *loaded = NULL;
    cf_store_conv about;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st = cf_saved_load(&loaded, &about, lab->store, &choice, &arena, err);
    if (st == CF_OK && more != NULL) {
        cf_uuid id;
        st = cf_conversation_add(loaded, more, &id, err);
        CF_THEN(st, cf_conversation_set_head(loaded, more->id, err));
        if (st != CF_OK) {
            cf_conversation_free(loaded);
        }
    }
    if (st == CF_OK) {
        free_replies(lab->talk);
        talk->n_opened++;
        talk->conv_id = conv;
        talk->is_stored = true;
        if (talk->is_live) {
            memset(&talk->shown_only, 0, sizeof talk->shown_only);
        }
        talk->is_live = more != NULL;
        cf_utf8_copy(talk->title, sizeof talk->title,
                     about.title.n != 0 ? about.title : about.preview);
        if (!cf_lab_is_busy(lab)) { /* else the engine is a task's */
            cf_saved_drafts(lab->engine.backend, lab->engine.engine, lab->store, loaded);
        }
        st = use_conversation(lab, loaded, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

cf_status cf_lab_open_conv(cf_lab *lab, cf_uuid conv, cf_uuid turn, cf_error *err)
{
    return open_saved(lab, conv, turn, NULL, err);
}

cf_status cf_lab_open_live(cf_lab *lab, cf_uuid conv, cf_uuid turn, cf_uuid reply,
                           const json_t *message, cf_error *err)
{
    const cf_turn more = {
        .id = reply, .parent = turn, .message = cf_json_ref(message), .status = CF_TURN_STREAMING};
    CF_TRY(open_saved(lab, conv, turn, &more, err));
    lab->talk->shown_only = conv;
    return CF_OK;
}

/* ---- turns -------------------------------------------------------------- */

cf_status cf_lab__snapshot(cf_lab *lab, cf_error *err)
{
    const cf_conversation *conv = lab->talk->conv;
    cf_lab_snapshot *s = &lab->talk->snapshot;
    cf_uuid head = cf_conversation_head(conv);
    size_t n = cf_conversation_n_turns(conv);
    lab->generation++;
    cf_arena_reset(&s->arena);
    s->n_path = s->n_turns = s->n_source = 0;
    s->path = NULL;
    s->system = s->preface_system = NULL;
    s->turns = cf_arena_alloc(&s->arena, n * sizeof *s->turns);
    if (s->turns == NULL) {
        return cf_oom_for(err, "the turns");
    }
    for (size_t i = 0; i < n; i++) {
        s->turns[s->n_turns++] = cf_conversation_turn(conv, i);
    }
    s->system = cf_conversation_system(conv, head);
    s->preface_system = cf_conversation_system(conv, (cf_uuid){{0}});
    CF_TRY(cf_conversation_sources(conv, head, &s->arena, &s->source, &s->n_source, err));
    if (cf_uuid_is_nil(head)) {
        return CF_OK;
    }
    return cf_conversation_path(conv, head, &s->arena, &s->path, &s->n_path, err);
}

const cf_turn *const *cf_lab_path(const cf_lab *lab, size_t *n)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    *n = s->n_path;
    return s->path;
}

const cf_turn *const *cf_lab_turns(const cf_lab *lab, size_t *n)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    *n = s->n_turns;
    return s->turns;
}

size_t cf_lab_siblings(const cf_lab *lab, const cf_turn *turn, size_t *index)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    size_t n = 0;
    *index = 0;
    for (size_t i = 0; i < s->n_turns; i++) {
        if (cf_uuid_eq(s->turns[i]->parent, turn->parent)) {
            if (s->turns[i] == turn) {
                *index = n;
            }
            n++;
        }
    }
    return n;
}

const cf_turn *cf_lab_sibling(const cf_lab *lab, const cf_turn *turn, int by)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    size_t index;
    size_t n = cf_lab_siblings(lab, turn, &index);
    if ((by < 0 && index == 0) || (by > 0 && index + 1 >= n)) {
        return NULL;
    }
    size_t want = by < 0 ? index - 1 : index + 1;
    size_t seen = 0;
    for (size_t i = 0; i < s->n_turns; i++) {
        if (cf_uuid_eq(s->turns[i]->parent, turn->parent) && seen++ == want) {
            return s->turns[i];
        }
    }
    return NULL;
}

const cf_conversation *cf_lab_conv(const cf_lab *lab)
{
    return lab->talk->conv;
}

uint64_t cf_lab_n_opened(const cf_lab *lab)
{
    return lab->talk->n_opened;
}

bool cf_lab_is_stored(const cf_lab *lab)
{
    return lab->store != NULL && lab->talk->is_stored;
}

cf_uuid cf_lab_conv_id(const cf_lab *lab)
{
    return lab->talk->conv_id;
}

const char *cf_lab_title(const cf_lab *lab)
{
    return lab->talk->title;
}

void cf_lab_new_conv(cf_lab *lab)
{
    cf_error err;
    if (!lab->is_writing && fresh_conversation(lab, &err) == CF_OK) {
        free_replies(lab->talk);
        lab->talk->n_opened++;
    }
}

void cf_lab_only_show(cf_lab *lab)
{
    lab->talk->shown_only = lab->talk->conv_id;
}

bool cf_lab_leave_example(cf_lab *lab)
{
    cf_lab_talk *talk = lab->talk;
    if (lab->is_writing || cf_uuid_is_nil(talk->shown_only) ||
        !cf_uuid_eq(talk->shown_only, talk->conv_id)) {
        return false;
    }
    cf_lab_new_conv(lab);
    return true;
}

/* The newest turn below (or at) `from`: where a path that passes it ends. */
static cf_uuid newest_leaf(const cf_lab *lab, cf_uuid from)
{
    const cf_lab_snapshot *s = &lab->talk->snapshot;
    for (;;) {
        cf_uuid next = {{0}};
        for (size_t i = 0; i < s->n_turns; i++) {
            if (cf_uuid_eq(s->turns[i]->parent, from)) {
                next = s->turns[i]->id;
            }
        }
        if (cf_uuid_is_nil(next)) {
            return from;
        }
        from = next;
    }
}

cf_status cf_lab_set_head(cf_lab *lab, cf_uuid turn, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    if (lab->is_writing) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    cf_uuid leaf = newest_leaf(lab, turn);
    cf_uuid before = cf_conversation_head(talk->conv);
    CF_TRY(cf_conversation_set_head(talk->conv, leaf, err));
    cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, before);
    if (lab->store != NULL && talk->is_stored) {
        /* Where it fails the next start shows another path: no loss. */
        cf_ignore(cf_store_set_head(lab->store, leaf, NULL));
    }
    return cf_lab__snapshot(lab, err);
}

cf_status cf_lab_clone_conv(const cf_lab *lab, cf_conversation **out, cf_error *err)
{
    if (lab->is_writing) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    return cf_conversation_clone(out, lab->talk->conv, err);
}

/* ---- replies ------------------------------------------------------------ */

cf_reply *cf_lab__reply_of(cf_lab *lab, cf_uuid turn, bool make)
{
    cf_lab_talk *talk = lab->talk;
    for (size_t i = 0; i < talk->n_replies; i++) {
        if (cf_uuid_eq(talk->replies[i]->turn, turn)) {
            return talk->replies[i];
        }
    }
    if (!make) {
        return NULL;
    }
    if (!cf_grow(&talk->replies, &talk->cap_replies, talk->n_replies + 1, sizeof(cf_reply *))) {
        return NULL;
    }
    cf_reply *reply = cf_calloc(1, sizeof *reply);
    if (reply != NULL) {
        reply->turn = turn;
        talk->replies[talk->n_replies++] = reply;
    }
    return reply;
}

cf_status cf_lab_take_read(cf_lab *lab, cf_uuid turn, const cf_reply_read *read, cf_error *err)
{
    cf_reply *reply = cf_lab__reply_of(lab, turn, true);
    if (reply == NULL) {
        return cf_oom_for(err, "the reply's tokens");
    }
    cf_reply_take_read(reply, lab->engine.tokenizer, read);
    lab->generation++;
    return CF_OK;
}

const cf_reply *cf_lab_reply_here(cf_lab *lab, cf_uuid turn)
{
    return cf_lab__reply_of(lab, turn, false);
}

/* What a stored reply was written with. */
static void name_origin(const cf_lab *lab, cf_reply *r, const cf_store_run *run, cf_arena *arena)
{
    cf_run_options o;
    cf_store_template t;
    cf_str model = cf_lab_info(lab).name;
    if (run->template_hash.n != 0 &&
        cf_store_get_template(lab->store, run->template_hash, arena, &t, NULL) == CF_OK) {
        cf_utf8_copy(r->template_name, sizeof r->template_name, t.name);
    }
    if (cf_run_options_read(&o, run->options, arena, NULL) == CF_OK) {
        cf_buf line = CF_BUF_INIT;
        o.sampling.seed = run->seed;
        cf_reply_sampler_line(&o.sampling, o.has_sampling, &line);
        cf_utf8_copy(r->drawn, sizeof r->drawn, cf_buf_str(&line));
        cf_buf_deinit(&line);
    }
    r->is_foreign = run->model.n != 0 && !cf_str_eq(run->model, model);
}

const cf_reply *cf_lab_reply(cf_lab *lab, cf_uuid turn)
{
    cf_reply *r = cf_lab__reply_of(lab, turn, false);
    if (r != NULL || lab->store == NULL) {
        return r;
    }
    cf_arena arena;
    cf_store_turn stored;
    cf_arena_init(&arena, 0);
    if (cf_store_get_turn(lab->store, turn, &arena, &stored, NULL) == CF_OK && stored.run != NULL) {
        r = cf_lab__reply_of(lab, turn, true);
        if (r != NULL) {
            cf_reply_load(r, lab->engine.tokenizer, stored.run);
            name_origin(lab, r, stored.run, &arena);
        }
    }
    cf_arena_deinit(&arena);
    return r;
}

/* ---- tools ---------------------------------------------------------------- */

const cf_tool_set *cf_lab_tools(const cf_lab *lab)
{
    return cf_conversation_tools(lab->talk->conv);
}

cf_status cf_lab_set_tools(cf_lab *lab, const json_t *tools, cf_error *err)
{
    cf_lab_talk *talk = lab->talk;
    CF_TRY(cf_lab_need_idle(lab, err));
    CF_TRY(cf_conversation_set_tools(talk->conv, tools, err));
    json_incref(cf_json_ref(tools));
    json_decref(talk->own_tools);
    talk->own_tools = cf_json_ref(tools);
    lab->engine.tools = tools;
    lab->generation++;
    return CF_OK;
}

/* ---- texts -------------------------------------------------------------- */

static void add_calls(cf_buf *out, const json_t *message)
{
    cf_message_call call;
    for (size_t i = 0; cf_message_call_at(&call, message, i); i++) {
        cf_buf_adds(out, out->n != 0 ? "\n[call] " : "[call] ");
        cf_buf_add(out, call.name.p, call.name.n);
        cf_buf_addc(out, '(');
        cf_message_put_arguments(out, &call, "");
        cf_buf_addc(out, ')');
    }
}

void cf_lab_message_text(cf_buf *out, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    if (json_is_string(content)) {
        cf_str text = cf_json_get_str(message, "content");
        cf_buf_add(out, text.p, text.n);
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        cf_str text = cf_json_get_str(part, "text");
        cf_str type = cf_json_get_str(part, "type");
        if (text.n != 0) {
            cf_buf_add(out, text.p, text.n);
        } else {
            type = cf_str_is(type, "image_url")     ? cf_str_from("image")
                   : cf_str_is(type, "input_audio") ? cf_str_from("audio")
                                                    : type;
            bool needs_space = out->n != 0 && out->p[out->n - 1] > ' ';
            cf_buf_addf(out, "%s[%.*s]", needs_space ? " " : "", (int)type.n,
                        type.n != 0 ? type.p : "");
        }
    }
    cf_str refusal = cf_json_get_str(message, "refusal");
    if (refusal.n != 0) {
        cf_buf_adds(out, out->n != 0 ? "\n[refusal] " : "[refusal] ");
        cf_buf_add(out, refusal.p, refusal.n);
    }
    add_calls(out, message);
}

void cf_lab_plain_text(cf_buf *out, cf_str message_json)
{
    json_t *message;
    if (cf_json_read(&message, message_json.p, message_json.n, NULL) == CF_OK) {
        cf_lab_message_text(out, message);
        json_decref(message);
    }
}
