/*
 * study_case.c - a path of turns as a context, and its reply as bytes.
 */
#include "tui/study/ask/study_case.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "tui/lab/talk/saved.h"
#include "tui/study/ask/predicate.h"

cf_study_engine cf_study_engine_of(const cf_opened *o)
{
    return (cf_study_engine){
        .backend = o->backend,
        .tok = o->engine != NULL ? cf_engine_tokenizer(o->engine) : NULL,
        .engine = o->engine,
        .family = o->family,
    };
}

void cf_study_case_init(cf_study_case *c)
{
    *c = (cf_study_case){.messages = NULL};
    cf_arena_init(&c->arena, 0);
}

void cf_study_case_deinit(cf_study_case *c)
{
    json_decref(c->messages);
    json_decref(c->tools);
    json_decref(c->extra);
    json_decref(c->message);
    cf_arena_deinit(&c->arena);
    *c = (cf_study_case){.messages = NULL};
}

/* ---- the reply ---------------------------------------------------------- */

static bool is_reply(const json_t *message)
{
    cf_role role = cf_role_parse(cf_json_get_str(message, "role"));
    return role == CF_ROLE_ASSISTANT || role == CF_ROLE_AGENT;
}

/* The calls of a message, without their ids; texts in `arena`. */
static cf_status read_calls(const json_t *message, cf_tool_call **out, size_t *n, cf_arena *arena,
                            cf_error *err)
{
    cf_message_call call;
    *n = json_array_size(json_object_get(message, "tool_calls"));
    *out = cf_arena_calloc(arena, *n + 1, sizeof **out);
    bool ok = *out != NULL;
    for (size_t i = 0; ok && cf_message_call_at(&call, message, i); i++) {
        cf_buf text = CF_BUF_INIT;
        cf_message_put_arguments(&text, &call, "{}");
        if (text.n == 0) {
            cf_buf_adds(&text, "{}");
        }
        char *copy = text.failed ? NULL : cf_arena_strndup(arena, text.p, text.n);
        (*out)[i].name = call.name;
        (*out)[i].arguments = cf_str_make(copy, text.n);
        ok = copy != NULL;
        cf_buf_deinit(&text);
    }
    return ok ? CF_OK : cf_oom_for(err, "the calls");
}

/* What the model wrote, or would have: its bytes, else content and calls in
 * the syntax of the family. */
static cf_status set_reply(cf_study_case *c, cf_str raw, const json_t *message,
                           cf_tool_family family, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = CF_OK;
    const json_t *calls = json_object_get(message, "tool_calls");
    if (raw.n != 0) {
        cf_buf_add(&text, raw.p, raw.n);
    } else {
        cf_message_text(&text, message, "");
    }
    if (raw.n == 0 && json_array_size(calls) > 0) {
        cf_tool_call *v;
        size_t n;
        cf_buf_adds(&text, text.n > 0 ? "\n" : "");
        st = read_calls(message, &v, &n, &c->arena, err);
        CF_THEN(st, cf_tool_format_calls(&text, family, v, n, err));
        c->is_written = true;
    }
    CF_THEN(st, cf_buf_check(&text, err));
    if (st == CF_OK) {
        char *copy = cf_arena_strndup(&c->arena, cf_buf_cstr(&text), text.n);
        c->reply = cf_str_make(copy, copy != NULL ? text.n : 0);
        c->message = json_incref(cf_json_ref(message));
        st = copy != NULL ? CF_OK : cf_oom_for(err, "the reply");
    }
    cf_buf_deinit(&text);
    return st;
}

/* ---- the context -------------------------------------------------------- */

static json_t *with_role(const json_t *message, const cf_role_map *roles)
{
    cf_str role = cf_json_get_str(message, "role");
    cf_str to = roles != NULL ? cf_role_map_get(roles, role) : role;
    json_t *copy = cf_json_copy(message);
    if (copy != NULL && !cf_str_eq(role, to) &&
        json_object_set_new(copy, "role", json_stringn(to.p, to.n)) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static cf_status set_context(cf_study_case *c, const cf_conversation *conv,
                             const cf_message_source *v, size_t n, const cf_role_map *roles,
                             cf_error *err)
{
    size_t n_tools = 0;
    const cf_tool_set *tools = cf_conversation_tools(conv);
    const cf_preface *preface = cf_conversation_preface(conv);
    c->messages = json_array();
    bool ok = c->messages != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = json_array_append_new(c->messages, with_role(v[i].message, roles)) == 0;
    }
    if (tools != NULL) {
        cf_tool_set_items(tools, &n_tools);
    }
    if (ok && n_tools > 0) {
        c->tools = cf_tool_set_openai(tools);
        ok = c->tools != NULL;
    }
    if (ok && preface->extra_context != NULL) {
        c->extra = cf_json_deep_copy(preface->extra_context);
        ok = c->extra != NULL;
    }
    return ok ? CF_OK : cf_oom_for(err, "the conversation");
}

/* The index that `turn` names among the messages. */
static cf_status find_reply(const cf_message_source *v, size_t n, const char *turn, size_t *out,
                            cf_error *err)
{
    char *end = NULL;
    if (turn == NULL || turn[0] == '\0') {
        for (*out = n; *out > 0; (*out)--) {
            if (is_reply(v[*out - 1].message)) {
                (*out)--;
                return CF_OK;
            }
        }
        return cf_fail(err, CF_ENOTFOUND, "the conversation has no assistant message");
    }
    unsigned long at = strtoul(turn, &end, 10);
    if (strlen(turn) <= 6 && end != turn && *end == '\0') {
        *out = at;
    } else {
        for (*out = 0; *out < n; (*out)++) {
            char id[CF_UUID_TEXT + 1] = "";
            if (v[*out].turn != NULL) {
                cf_uuid_format(id, v[*out].turn->id);
            }
            size_t k = strlen(turn);
            if (k >= 4 && k <= CF_UUID_TEXT &&
                (strncmp(id, turn, k) == 0 || strcmp(id + CF_UUID_TEXT - k, turn) == 0)) {
                break;
            }
        }
    }
    if (*out >= n) {
        return cf_fail(err, CF_ENOTFOUND, "no message '%.40s' on this path", turn);
    }
    if (!is_reply(v[*out].message)) {
        return cf_fail(err, CF_EINVAL, "message %zu is not an assistant's", *out);
    }
    return CF_OK;
}

cf_status cf_study_case_of(cf_study_case *out, const cf_conversation *conv,
                           const cf_study_engine *engine, const char *turn, cf_error *err)
{
    cf_message_source *v;
    size_t n, at;
    CF_TRY(cf_conversation_sources(conv, cf_conversation_head(conv), &out->arena, &v, &n, err));
    CF_TRY(find_reply(v, n, turn, &at, err));
    CF_TRY(set_context(out, conv, v, at, engine->roles, err));
    if (v[at].turn != NULL) {
        out->turn = v[at].turn->id;
    }
    CF_TRY(set_reply(out, v[at].turn != NULL ? v[at].turn->raw : cf_str_make(NULL, 0),
                     v[at].message, engine->family, err));
    return out->reply.n > 0 ? CF_OK : cf_fail(err, CF_ENOTFOUND, "message %zu has no text", at);
}

/* ---- from the history --------------------------------------------------- */

/* Takes the tokens of a stored reply that this engine's model wrote. */
static cf_status take_ids(cf_study_case *c, cf_store *store, const cf_study_engine *engine,
                          cf_error *err)
{
    cf_store_turn turn;
    char hash[CF_HASH_TEXT + 1];
    if (cf_uuid_is_nil(c->turn) || engine->engine == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_store_get_turn(store, c->turn, &c->arena, &turn, err));
    cf_engine_hash(engine->engine, hash);
    if (turn.run == NULL || turn.run->n_reply_ids == 0 || !cf_str_is(turn.run->model_hash, hash)) {
        return CF_OK;
    }
    c->ids = turn.run->reply_ids;
    c->n_ids = turn.run->n_reply_ids;
    cf_buf text = CF_BUF_INIT; /* the tokens must be the bytes */
    for (size_t i = 0; i < c->n_ids; i++) {
        cf_tokenizer_piece(&text, engine->tok, c->ids[i], true);
    }
    cf_status st = cf_buf_check(&text, err);
    if (!cf_str_eq(cf_buf_str(&text), c->reply)) {
        c->n_ids = 0;
    }
    cf_buf_deinit(&text);
    return st;
}

static cf_status load(cf_study_case *out, cf_store *store, const char *uuid, cf_conversation **conv,
                      cf_error *err)
{
    cf_store_ref ref;
    CF_TRY(cf_store_find(store, cf_str_from(uuid), &ref, err));
    const cf_saved_choice choice = {
        .conversation = ref.conversation, .turn = ref.turn, .has_raw = true};
    out->conversation = ref.conversation;
    return cf_saved_load(conv, NULL, store, &choice, &out->arena, err);
}

cf_status cf_study_case_load(cf_study_case *out, cf_store *store, const cf_study_engine *engine,
                             const char *uuid, const char *turn, cf_error *err)
{
    cf_conversation *conv = NULL;
    CF_TRY(load(out, store, uuid, &conv, err));
    cf_status st = cf_study_case_of(out, conv, engine, turn, err);
    cf_conversation_free(conv);
    CF_THEN(st, take_ids(out, store, engine, err));
    return st;
}

cf_status cf_study_case_turn(cf_store_turn *out, cf_store *store, const char *uuid,
                             const char *turn, cf_arena *arena, cf_error *err)
{
    cf_conversation *conv = NULL;
    cf_study_case c;
    cf_message_source *v;
    size_t n, at = 0;
    cf_study_case_init(&c);
    cf_status st = load(&c, store, uuid, &conv, err);
    CF_THEN(st, cf_conversation_sources(conv, cf_conversation_head(conv), &c.arena, &v, &n, err));
    CF_THEN(st, find_reply(v, n, turn, &at, err));
    if (st == CF_OK && v[at].turn == NULL) {
        st = cf_fail(err, CF_ENOTFOUND, "message %zu is not kept", at);
    }
    CF_THEN(st, cf_store_get_turn(store, v[at].turn->id, arena, out, err));
    cf_conversation_free(conv);
    cf_study_case_deinit(&c);
    return st;
}

cf_status cf_study_case_whole(cf_study_case *out, cf_store *store, const cf_study_engine *engine,
                              const char *uuid, cf_error *err)
{
    cf_conversation *conv = NULL;
    cf_message_source *v;
    size_t n;
    CF_TRY(load(out, store, uuid, &conv, err));
    cf_status st =
        cf_conversation_sources(conv, cf_conversation_head(conv), &out->arena, &v, &n, err);
    CF_THEN(st, set_context(out, conv, v, n, engine->roles, err));
    cf_conversation_free(conv);
    return st;
}

/* ---- prompts ------------------------------------------------------------ */

cf_status cf_study_render(const cf_study_engine *engine, const cf_study_context *context,
                          cf_arena *arena, cf_prompt *out, cf_error *err)
{
    cf_tool_set *tools = NULL;
    if (json_array_size(context->tools) > 0) {
        CF_TRY(cf_tool_set_new(&tools, context->tools, err));
    }
    const cf_chat_request request = {
        .messages = context->messages, .tools = tools, .extra_context = context->extra};
    cf_status st = cf_backend_render(engine->backend, &request, arena, out, err);
    cf_tool_set_free(tools);
    return st;
}

json_t *cf_study_context_json(const cf_study_context *c)
{
    json_t *v = json_object();
    bool ok = v != NULL;
    ok = ok && json_object_set(v, "messages", cf_json_ref(c->messages)) == 0;
    if (ok && c->tools != NULL) {
        ok = json_object_set(v, "tools", cf_json_ref(c->tools)) == 0;
    }
    ok = ok && json_object_set_new(v, "add_generation_prompt", json_true()) == 0;
    if (ok && c->extra != NULL) {
        ok = json_object_update_missing(v, cf_json_ref(c->extra)) == 0;
    }
    if (!ok) {
        json_decref(v);
        return NULL;
    }
    return v;
}
