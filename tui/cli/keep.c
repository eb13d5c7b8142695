/*
 * keep.c - between a conversation in memory and the store.
 */
#include "tui/cli/keep.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "storage/store.h"
#include "tui/paths.h"

struct cf_keep {
    const cf_cli *cli;
    cf_store *store;
    cf_uuid conversation;
    size_t n_stored; /* turns of the conversation that are in the store */
    bool has_warned;
};

static cf_status open_store(cf_keep *k, cf_error *err)
{
    cf_store_options o = {.flags = CF_STORE_CREATE};
    if (k->cli->db != NULL) {
        return cf_store_open(&k->store, k->cli->db, &o, err);
    }
    cf_paths paths;
    CF_TRY(cf_paths_find(&paths, err));
    cf_status st = cf_store_open(&k->store, paths.database, &o, err);
    cf_paths_deinit(&paths);
    return st;
}

/* The saved preface, with what the caller gave over it. */
static cf_status saved_preface(const cf_store_tree *tree,
                               const cf_preface *given, json_t **root,
                               cf_preface *out, cf_error *err)
{
    *out = *given;
    *root = NULL;
    if (tree->conv.preface.n == 0) {
        return CF_OK;
    }
    CF_TRY(cf_json_read(root, tree->conv.preface.p, tree->conv.preface.n, err));
    const json_t *messages = json_object_get(*root, "messages");
    const json_t *tools = json_object_get(*root, "tools");
    const json_t *extra = json_object_get(*root, "extra_context");
    if (out->messages == NULL && json_is_array(messages)) {
        out->messages = messages;
    }
    if (out->tools == NULL && tools != NULL) {
        out->tools = tools;
    }
    if (out->extra_context == NULL && json_is_object(extra)) {
        out->extra_context = extra;
    }
    return CF_OK;
}

static cf_status add_turns(cf_conversation *conv, const cf_store_tree *tree,
                           cf_error *err)
{
    for (size_t i = 0; i < tree->n; i++) {
        const cf_store_turn *t = &tree->turns[i];
        json_t *message = NULL;
        cf_uuid id;
        CF_TRY(cf_json_read(&message, t->message.p, t->message.n, err));
        cf_turn turn = {.id = t->id,
                        .parent = t->parent,
                        .created_ms = t->created_ms,
                        .status = t->status,
                        .message = message};
        cf_status st = cf_conversation_add(conv, &turn, &id, err);
        json_decref(message);
        CF_TRY(st);
    }
    return CF_OK;
}

cf_status cf_keep_tree(cf_conversation **out, const cf_store_tree *tree,
                       cf_uuid head, const cf_preface *given, cf_error *err)
{
    cf_preface preface;
    json_t *root = NULL;
    cf_conversation *conv = NULL;
    cf_status st = saved_preface(tree, given, &root, &preface, err);
    if (st == CF_OK) {
        st = cf_conversation_new(&conv, &preface, err);
    }
    if (st == CF_OK) {
        st = add_turns(conv, tree, err);
    }
    if (st == CF_OK) {
        st = cf_conversation_set_head(conv, head, err);
    }
    if (st == CF_OK) {
        *out = conv;
    } else {
        cf_conversation_free(conv);
    }
    json_decref(root);
    return st;
}

static cf_status load(cf_keep *k, const char *name, const cf_preface *given,
                      cf_conversation **out, cf_error *err)
{
    cf_arena arena;
    cf_store_ref ref;
    cf_store_tree tree;
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_find(k->store, cf_str_from(name), &ref, err);
    if (st == CF_OK) {
        st = cf_store_get_tree(k->store, ref.conversation, 0, &arena, &tree,
                               err);
    }
    if (st == CF_OK) {
        st = cf_keep_tree(out, &tree,
                          cf_uuid_is_nil(ref.turn) ? tree.conv.head : ref.turn,
                          given, err);
    }
    if (st == CF_OK) {
        k->conversation = ref.conversation;
        k->n_stored = cf_conversation_n_turns(*out);
    }
    cf_arena_deinit(&arena);
    return st;
}

static cf_str as_str(const cf_buf *b)
{
    return cf_str_make(cf_buf_cstr(b), b->n);
}

/* A new conversation is stored with its first turn, not before. */
static cf_status put_conversation(cf_keep *k, const cf_conversation *conv,
                                  cf_error *err)
{
    if (!cf_uuid_is_nil(k->conversation)) {
        return CF_OK;
    }
    const cf_preface *p = cf_conversation_preface(conv);
    cf_buf preface = CF_BUF_INIT;
    bool is_first = true;
    const struct {
        const char *key;
        const json_t *v;
    } fields[] = {{"messages", p->messages},
                  {"tools", p->tools},
                  {"extra_context", p->extra_context}};
    cf_buf_addc(&preface, '{');
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].v != NULL) {
            cf_buf_addf(&preface, "%s\"%s\":", is_first ? "" : ",",
                        fields[i].key);
            cf_json_write(&preface, fields[i].v);
            is_first = false;
        }
    }
    cf_buf_addc(&preface, '}');
    cf_store_conv c = {.preface = as_str(&preface)};
    cf_status st = cf_buf_check(&preface, err);
    if (st == CF_OK) {
        st = cf_store_put_conv(k->store, &c, &k->conversation, err);
    }
    cf_buf_deinit(&preface);
    return st;
}

/* What is needed to run the reply again. */
static cf_store_run run_of(const cf_cli_backend *engine, const cf_sent *sent,
                           const char *template_hash, char model_hash[65])
{
    const cf_chat_response *r = &sent->response;
    cf_backend_info info = cf_backend_get_info(engine->backend);
    cf_store_run run = cf_store_run_none();
    run.engine = cf_str_from(info.kind);
    run.model = info.name;
    if (engine->engine != NULL) {
        cf_engine_info e = cf_engine_get_info(engine->engine);
        cf_engine_hash(engine->engine, model_hash);
        run.model_hash = cf_str_from(model_hash);
        run.isa = cf_str_from(e.kernel_set);
        run.n_threads = (int)e.n_threads;
        run.is_exact = e.is_exact;
    }
    run.template_hash = cf_str_from(template_hash);
    run.prompt_bytes = (int64_t)r->prompt.n;
    run.n_prompt = (int64_t)r->n_prompt_ids;
    run.n_kept = (int64_t)r->sync.n_kept;
    run.n_new = (int64_t)r->sync.n_new;
    run.n_reply = (int64_t)r->n_reply_ids;
    run.diverged_at = r->divergence.has ? (int64_t)r->divergence.token : -1;
    run.render_us = (int64_t)r->timings.render_us;
    run.prefill_us = (int64_t)r->timings.prefill_us;
    run.first_us = (int64_t)r->timings.first_us;
    run.decode_us = (int64_t)r->timings.decode_us;
    run.stop_reason = cf_str_from(cf_stop_reason_name(r->stop.reason));
    run.error = cf_str_from(r->stop.err.text);
    run.prompt_ids = r->prompt_ids;
    run.n_prompt_ids = r->n_prompt_ids;
    run.reply_ids = r->reply_ids;
    run.n_reply_ids = r->n_reply_ids;
    run.raw = as_str(&r->raw);
    return run;
}

static cf_status put_turns(cf_keep *k, const cf_conversation *conv,
                           const cf_cli_backend *engine, const cf_sent *sent,
                           cf_error *err)
{
    char template_hash[65] = "", model_hash[65] = "";
    CF_TRY(put_conversation(k, conv, err));
    if (engine->source.n > 0) {
        CF_TRY(cf_store_put_template(k->store, cf_str_from(engine->from),
                                     as_str(&engine->source),
                                     cf_str_make(NULL, 0), template_hash, err));
    }
    const cf_store_run run = run_of(engine, sent, template_hash, model_hash);
    for (; k->n_stored < cf_conversation_n_turns(conv); k->n_stored++) {
        const cf_turn *t = cf_conversation_turn(conv, k->n_stored);
        cf_buf message = CF_BUF_INIT;
        cf_json_write(&message, t->message);
        cf_store_turn turn = {.id = t->id,
                              .conversation = k->conversation,
                              .parent = t->parent,
                              .message = as_str(&message),
                              .status = t->status,
                              .fork_token = -1,
                              .created_ms = t->created_ms,
                              .finished_ms = -1};
        turn.run = cf_uuid_eq(t->id, sent->reply) ? &run : NULL;
        cf_status st = cf_buf_check(&message, err);
        if (st == CF_OK) {
            st = cf_store_put_turn(k->store, &turn, NULL, err);
        }
        cf_buf_deinit(&message);
        CF_TRY(st);
    }
    return CF_OK;
}

cf_status cf_keep_open(cf_keep **out, const cf_cli *cli, bool is_kept_out,
                       const char *continue_id, const cf_preface *preface,
                       cf_conversation **conv, cf_error *err)
{
    *out = NULL;
    if (is_kept_out && continue_id == NULL) {
        return cf_conversation_new(conv, preface, err);
    }
    cf_keep *k = cf_calloc(1, sizeof *k);
    if (k == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for the history");
    }
    k->cli = cli;
    cf_status st = open_store(k, err);
    if (st == CF_OK) {
        st = continue_id != NULL ? load(k, continue_id, preface, conv, err)
                                 : cf_conversation_new(conv, preface, err);
    }
    if (st != CF_OK || is_kept_out) {
        cf_keep_close(k);
        return st;
    }
    *out = k;
    return CF_OK;
}

void cf_keep_sent(cf_keep *k, const cf_conversation *conv,
                  const cf_cli_backend *engine, const cf_sent *sent)
{
    cf_error err;
    if (put_turns(k, conv, engine, sent, &err) != CF_OK && !k->has_warned) {
        k->has_warned = true;
        fprintf(stderr, "confab run: not saved: %s\n", err.text);
    }
}

void cf_keep_close(cf_keep *k)
{
    if (k != NULL) {
        cf_store_close(k->store);
        cf_free(k);
    }
}
