/*
 * lab_conversation.c - the conversation in the workbench and its replies.
 */
#include "tui/lab/talk/lab_conversation.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "tui/lab/state/lab_impl.h"
#include "tui/lab/talk/saved.h"

/* ---- which conversation ------------------------------------------------- */

/* Puts a conversation in the place of the one in the workbench. */
static cf_status use_conversation(cf_lab *lab, cf_conversation *conv, cf_error *err)
{
    cf_role_map roles;
    cf_role_map_init(&roles, lab->engine.template_source);
    cf_conversation_set_roles(conv, &roles);
    cf_conversation_free(lab->conv);
    lab->conv = conv;
    lab->prompt_is_fresh = false;
    return cf_lab__snapshot(lab, err);
}

cf_status cf_lab__fresh_conversation(cf_lab *lab, cf_error *err)
{
    const cf_preface preface = {.tools = lab->engine.tools};
    cf_conversation *conv;
    CF_TRY(cf_conversation_new(&conv, &preface, err));
    lab->conv_id = cf_uuid_new();
    lab->conv_is_stored = false;
    lab->title[0] = '\0';
    return use_conversation(lab, conv, err);
}

/* `more` (may be NULL) is added after `turn`. */
static cf_status open_saved(cf_lab *lab, cf_uuid conv, cf_uuid turn, const cf_turn *more,
                            cf_error *err)
{
    if (lab->job_is_on) {
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
        cf_lab__free_replies(lab);
        lab->n_notes = 0;
        lab->conv_id = conv;
        lab->conv_is_stored = true;
        if (lab->is_live) {
            memset(&lab->shown_only, 0, sizeof lab->shown_only);
        }
        lab->is_live = more != NULL;
        cf_utf8_copy(lab->title, sizeof lab->title,
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
    lab->shown_only = conv;
    return CF_OK;
}

/* ---- turns -------------------------------------------------------------- */

cf_status cf_lab__snapshot(cf_lab *lab, cf_error *err)
{
    size_t n = cf_conversation_n_turns(lab->conv);
    lab->generation++;
    cf_arena_reset(&lab->arena);
    lab->n_path = lab->n_turns = lab->n_source = 0;
    lab->path = NULL;
    lab->system = lab->preface_system = NULL;
    lab->turns = cf_arena_alloc(&lab->arena, n * sizeof *lab->turns);
    if (lab->turns == NULL) {
        return cf_oom_for(err, "the turns");
    }
    for (size_t i = 0; i < n; i++) {
        lab->turns[lab->n_turns++] = cf_conversation_turn(lab->conv, i);
    }
    cf_uuid head = cf_conversation_head(lab->conv);
    lab->system = cf_conversation_system(lab->conv, head);
    lab->preface_system = cf_conversation_system(lab->conv, (cf_uuid){{0}});
    CF_TRY(
        cf_conversation_sources(lab->conv, head, &lab->arena, &lab->source, &lab->n_source, err));
    if (cf_uuid_is_nil(head)) {
        return CF_OK;
    }
    return cf_conversation_path(lab->conv, head, &lab->arena, &lab->path, &lab->n_path, err);
}

const cf_turn *const *cf_lab_path(const cf_lab *lab, size_t *n)
{
    *n = lab->n_path;
    return lab->path;
}

const cf_turn *const *cf_lab_turns(const cf_lab *lab, size_t *n)
{
    *n = lab->n_turns;
    return lab->turns;
}

uint64_t cf_lab_generation(const cf_lab *lab)
{
    return lab->generation;
}

size_t cf_lab_siblings(const cf_lab *lab, const cf_turn *turn, size_t *index)
{
    size_t n = 0;
    *index = 0;
    for (size_t i = 0; i < lab->n_turns; i++) {
        if (cf_uuid_eq(lab->turns[i]->parent, turn->parent)) {
            if (lab->turns[i] == turn) {
                *index = n;
            }
            n++;
        }
    }
    return n;
}

const cf_turn *cf_lab_sibling(const cf_lab *lab, const cf_turn *turn, int by)
{
    size_t index;
    size_t n = cf_lab_siblings(lab, turn, &index);
    if ((by < 0 && index == 0) || (by > 0 && index + 1 >= n)) {
        return NULL;
    }
    size_t want = by < 0 ? index - 1 : index + 1;
    size_t seen = 0;
    for (size_t i = 0; i < lab->n_turns; i++) {
        if (cf_uuid_eq(lab->turns[i]->parent, turn->parent) && seen++ == want) {
            return lab->turns[i];
        }
    }
    return NULL;
}

bool cf_lab_is_stored(const cf_lab *lab)
{
    return lab->store != NULL && lab->conv_is_stored;
}

cf_uuid cf_lab_conv_id(const cf_lab *lab)
{
    return lab->conv_id;
}

const char *cf_lab_title(const cf_lab *lab)
{
    return lab->title;
}

void cf_lab_new_conv(cf_lab *lab)
{
    cf_error err;
    if (!lab->job_is_on && cf_lab__fresh_conversation(lab, &err) == CF_OK) {
        cf_lab__free_replies(lab);
        lab->n_notes = 0;
    }
}

void cf_lab_only_show(cf_lab *lab)
{
    lab->shown_only = lab->conv_id;
}

bool cf_lab_leave_example(cf_lab *lab)
{
    if (lab->job_is_on || cf_uuid_is_nil(lab->shown_only) ||
        !cf_uuid_eq(lab->shown_only, lab->conv_id)) {
        return false;
    }
    cf_lab_new_conv(lab);
    return true;
}

/* The newest turn below (or at) `from`: where a path that passes it ends. */
static cf_uuid newest_leaf(const cf_lab *lab, cf_uuid from)
{
    for (;;) {
        cf_uuid next = {{0}};
        for (size_t i = 0; i < lab->n_turns; i++) {
            if (cf_uuid_eq(lab->turns[i]->parent, from)) {
                next = lab->turns[i]->id;
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
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    cf_uuid leaf = newest_leaf(lab, turn);
    cf_uuid before = cf_conversation_head(lab->conv);
    CF_TRY(cf_conversation_set_head(lab->conv, leaf, err));
    cf_lab_add_undo(lab, CF_LAB_UNDO_HEAD, before);
    lab->prompt_is_fresh = false;
    if (lab->store != NULL && lab->conv_is_stored) {
        /* Where it fails the next start shows another path: no loss. */
        cf_ignore(cf_store_set_head(lab->store, leaf, NULL));
    }
    return cf_lab__snapshot(lab, err);
}

cf_status cf_lab_clone_conv(const cf_lab *lab, cf_conversation **out, cf_error *err)
{
    if (lab->job_is_on) {
        return cf_fail(err, CF_EBUSY, "a reply is being written; Esc stops it");
    }
    return cf_conversation_clone(out, lab->conv, err);
}

/* ---- replies ------------------------------------------------------------ */

void cf_lab__free_replies(cf_lab *lab)
{
    for (size_t i = 0; i < lab->n_replies; i++) {
        cf_reply_deinit(lab->replies[i]);
        cf_free(lab->replies[i]);
    }
    lab->n_replies = 0;
}

cf_reply *cf_lab__reply_of(cf_lab *lab, cf_uuid turn, bool make)
{
    for (size_t i = 0; i < lab->n_replies; i++) {
        if (cf_uuid_eq(lab->replies[i]->turn, turn)) {
            return lab->replies[i];
        }
    }
    if (!make) {
        return NULL;
    }
    if (!cf_grow(&lab->replies, &lab->cap_replies, lab->n_replies + 1, sizeof(cf_reply *))) {
        return NULL;
    }
    cf_reply *reply = cf_calloc(1, sizeof *reply);
    if (reply != NULL) {
        reply->turn = turn;
        lab->replies[lab->n_replies++] = reply;
    }
    return reply;
}

const cf_reply *cf_lab_reply_here(cf_lab *lab, cf_uuid turn)
{
    return cf_lab__reply_of(lab, turn, false);
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
        }
    }
    cf_arena_deinit(&arena);
    return r;
}

/* ---- marks and ticks ---------------------------------------------------- */

void cf_lab_mark(cf_lab *lab, int which, cf_uuid conv)
{
    lab->mark[which] = conv;
}

char cf_lab_mark_of(const cf_lab *lab, cf_uuid conv)
{
    return cf_uuid_eq(lab->mark[0], conv) ? 'A' : cf_uuid_eq(lab->mark[1], conv) ? 'B' : ' ';
}

cf_uuid cf_lab_marked(const cf_lab *lab, int which)
{
    return lab->mark[which];
}

static size_t place_of(const cf_lab *lab, cf_uuid conv)
{
    size_t i = 0;
    while (i < lab->n_ticked && !cf_uuid_eq(lab->ticked[i], conv)) {
        i++;
    }
    return i;
}

bool cf_lab_tick(cf_lab *lab, cf_uuid conv)
{
    size_t at = place_of(lab, conv);
    if (at < lab->n_ticked) {
        lab->n_ticked--;
        memmove(lab->ticked + at, lab->ticked + at + 1, (lab->n_ticked - at) * sizeof *lab->ticked);
        return true;
    }
    if (!cf_grow(&lab->ticked, &lab->cap_ticked, lab->n_ticked + 1, sizeof *lab->ticked)) {
        return false;
    }
    lab->ticked[lab->n_ticked++] = conv;
    return true;
}

bool cf_lab_is_ticked(const cf_lab *lab, cf_uuid conv)
{
    return place_of(lab, conv) < lab->n_ticked;
}

const cf_uuid *cf_lab_ticked(const cf_lab *lab, size_t *n)
{
    *n = lab->n_ticked;
    return lab->ticked;
}

void cf_lab_untick_all(cf_lab *lab)
{
    lab->n_ticked = 0;
}

/* ---- texts -------------------------------------------------------------- */

static void add_calls(cf_buf *out, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *f = json_object_get(json_array_get(calls, i), "function");
        cf_str name = cf_json_get_str(f, "name");
        const json_t *args = json_object_get(f, "arguments");
        cf_buf_adds(out, out->n != 0 ? "\n[call] " : "[call] ");
        cf_buf_add(out, name.p, name.n);
        cf_buf_addc(out, '(');
        if (json_is_string(args)) {
            cf_str text = cf_json_get_str(f, "arguments");
            cf_buf_add(out, text.p, text.n);
        } else if (args != NULL) {
            cf_json_write(out, args);
        }
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
    add_calls(out, json_object_get(message, "tool_calls"));
}

void cf_lab_plain_text(cf_buf *out, cf_str message_json)
{
    json_t *message;
    if (cf_json_read(&message, message_json.p, message_json.n, NULL) == CF_OK) {
        cf_lab_message_text(out, message);
        json_decref(message);
    }
}
