/*
 * study_case.c - a path of turns as a context, and its reply as bytes.
 */
#include "tui/study/ask/study_case.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "templates/chat_template.h"
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
    cf_recorded_deinit(&c->was);
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
static cf_status take_ids(cf_study_case *c, const cf_study_engine *engine, cf_error *err)
{
    const cf_store_run *run = c->was.run;
    char hash[CF_HASH_TEXT + 1];
    if (run == NULL || engine->engine == NULL || run->n_reply_ids == 0) {
        return CF_OK;
    }
    cf_engine_hash(engine->engine, hash);
    if (!cf_str_is(run->model_hash, hash)) {
        return CF_OK;
    }
    c->ids = run->reply_ids;
    c->n_ids = run->n_reply_ids;
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

/* The tools that the run was offered, in the form of a context. */
static cf_status take_tools(cf_study_case *c, cf_error *err)
{
    cf_tool_set *set = NULL;
    json_t *tools = NULL;
    if (c->was.tools != NULL) {
        CF_TRY(cf_tool_set_new(&set, c->was.tools, err));
        tools = cf_tool_set_openai(set);
        cf_tool_set_free(set);
        if (tools == NULL) {
            return cf_oom_for(err, "the tools");
        }
    }
    json_decref(c->tools);
    c->tools = tools;
    return CF_OK;
}

static cf_status take_run(cf_study_case *c, cf_store *store, cf_uuid turn, cf_error *err)
{
    json_t *extra = NULL;
    cf_recorded_deinit(&c->was);
    CF_TRY(cf_recorded_load(&c->was, store, turn, &c->arena, err));
    if (cf_recorded_has_tools(c->was.run)) {
        CF_TRY(take_tools(c, err));
    }
    CF_TRY(cf_recorded_variables(&extra, &c->was, c->extra, err));
    json_decref(c->extra);
    c->extra = extra;
    return CF_OK;
}

cf_status cf_study_case_record(cf_study_case *c, cf_store *store, const cf_study_engine *engine,
                               cf_error *err)
{
    CF_TRY(take_run(c, store, c->turn, err));
    if (engine->tok != NULL) {
        CF_TRY(cf_recorded_compile(&c->was, engine->tok, err));
    }
    return take_ids(c, engine, err);
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
    CF_THEN(st, cf_study_case_record(out, store, engine, err));
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
    size_t last = st == CF_OK ? n : 0;
    while (last > 0 && (v[last - 1].turn == NULL || !is_reply(v[last - 1].message))) {
        last--;
    }
    if (last > 0) {
        st = take_run(out, store, v[last - 1].turn->id, err);
    }
    cf_conversation_free(conv);
    return st;
}

/* ---- the recorded prompt ------------------------------------------------ */

const char *cf_prompt_match_name(cf_prompt_match match)
{
    static const char *const names[] = {"none", "recorded", "other"};
    return names[match];
}

static cf_prompt_match match_tokens(const cf_store_run *run, const cf_token_list *tokens,
                                    cf_buf *why)
{
    size_t n = 0;
    while (n < tokens->n && n < run->n_prompt_ids && tokens->v[n].id == run->prompt_ids[n]) {
        n++;
    }
    if (n == tokens->n && n == run->n_prompt_ids) {
        return CF_PROMPT_RECORDED;
    }
    if (why != NULL) {
        cf_buf_addf(why,
                    "this is not the prompt of the run: %zu tokens here, %zu then; it differs at "
                    "token %zu",
                    tokens->n, run->n_prompt_ids, n + 1);
    }
    return CF_PROMPT_OTHER;
}

static cf_prompt_match match_bytes(const cf_store_run *run, cf_str text, cf_buf *why)
{
    char hash[CF_HASH_TEXT + 1];
    cf_hash_hex(hash, text.p != NULL ? text.p : "", text.n);
    if (cf_str_is(run->prompt_hash, hash)) {
        return CF_PROMPT_RECORDED;
    }
    if (why != NULL) {
        cf_buf_addf(why, "this is not the prompt of the run: %zu bytes here, %lld then", text.n,
                    (long long)run->prompt_bytes);
    }
    return CF_PROMPT_OTHER;
}

cf_prompt_match cf_study_case_match(const cf_study_case *c, const cf_prompt *prompt,
                                    const cf_token_list *tokens, cf_buf *why)
{
    const cf_store_run *run = c->was.run;
    if (run != NULL && tokens != NULL && run->n_prompt_ids > 0) {
        return match_tokens(run, tokens, why);
    }
    if (run != NULL && run->prompt_hash.n > 0) {
        return match_bytes(run, prompt->text, why);
    }
    if (why != NULL) {
        cf_buf_adds(why, "no prompt was recorded with this reply: it is rendered anew");
    }
    return CF_PROMPT_NONE;
}

cf_status cf_study_own_init(cf_study_own *own, cf_study_engine *engine, const cf_recorded *was,
                            cf_error *err)
{
    cf_str source = was->template_source;
    const char *why;
    if (source.n == 0 || cf_str_eq(source, engine->template_source) || engine->engine == NULL ||
        cf_backend_core_session(engine->backend) == NULL) {
        return CF_OK;
    }
    cf_status st = cf_template_compile(&own->tpl, source, NULL, NULL, NULL, err);
    CF_THEN(st, cf_backend_clone(&own->backend, engine->backend, err));
    if (st != CF_OK) {
        cf_study_own_deinit(own);
        return st;
    }
    cf_engine_info info = cf_engine_get_info(engine->engine);
    cf_role_map_init(&own->roles, source);
    engine->family =
        cf_tool_family_detect(source, cf_str_from(info.arch), cf_str_from(info.name), &why);
    cf_core_options core = {.renderer = cf_renderer_template(own->tpl), .family = engine->family};
    core.channels = cf_channels_detect(source, &core.n_channels);
    cf_backend_core_set(own->backend, &core);
    engine->backend = own->backend;
    engine->roles = &own->roles;
    engine->template_source = source;
    return CF_OK;
}

void cf_study_own_deinit(cf_study_own *own)
{
    cf_backend_free(own->backend);
    cf_template_free(own->tpl);
    *own = (cf_study_own){.backend = NULL};
}

json_t *cf_study_context_json(const cf_part_context *c)
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
