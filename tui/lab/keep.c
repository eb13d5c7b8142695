/*
 * keep.c - between a conversation in memory and the store.
 */
#include "tui/lab/keep.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "storage/store.h"
#include "tui/lab/keep_reply.h"
#include "tui/lab/open_store.h"

struct cf_keep {
    const cf_cli *cli;
    cf_store *store;
    cf_uuid conversation;
    cf_keep_reply reply;
    bool has_warned;
};

static cf_status open_store(cf_keep *k, cf_error *err)
{
    cf_store_options o = {.flags = CF_STORE_CREATE};
    char *path;
    CF_TRY(cf_cli_db_path(k->cli, &path, err));
    cf_status st = cf_store_open(&k->store, path, &o, err);
    cf_free(path);
    if (st != CF_OK) {
        cf_cli_store_hint(err);
    }
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
        if (t->run != NULL) {
            turn.raw = t->run->raw;
        }
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
    CF_THEN(st, cf_conversation_new(&conv, &preface, err));
    CF_THEN(st, add_turns(conv, tree, err));
    CF_THEN(st, cf_conversation_set_head(conv, head, err));
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
    CF_THEN(st, cf_store_get_tree(k->store, ref.conversation, 0, &arena, &tree,
                                  err));
    CF_THEN(st,
            cf_keep_tree(out, &tree,
                         cf_uuid_is_nil(ref.turn) ? tree.conv.head : ref.turn,
                         given, err));
    if (st == CF_OK) {
        k->conversation = ref.conversation;
    }
    cf_arena_deinit(&arena);
    return st;
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
    cf_store_conv c = {.preface = cf_buf_str(&preface)};
    cf_status st = cf_buf_check(&preface, err);
    CF_THEN(st, cf_store_put_conv(k->store, &c, &k->conversation, err));
    cf_buf_deinit(&preface);
    return st;
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
        return cf_oom_for(err, "the history");
    }
    k->cli = cli;
    cf_status st = open_store(k, err);
    CF_THEN(st, continue_id != NULL ? load(k, continue_id, preface, conv, err)
                                    : cf_conversation_new(conv, preface, err));
    if (st != CF_OK || is_kept_out) {
        cf_keep_close(k);
        return st;
    }
    *out = k;
    return CF_OK;
}

static void warn(cf_keep *k, const cf_error *err)
{
    if (!k->has_warned) {
        k->has_warned = true;
        fprintf(stderr, "confab %s: not saved: %s\n", k->cli->command->name,
                err->text);
    }
}

static void store_turn(cf_keep *k, const cf_conversation *conv, cf_uuid id)
{
    cf_error err;
    if (put_conversation(k, conv, &err) != CF_OK ||
        cf_keep_turn(k->store, k->conversation, cf_conversation_find(conv, id),
                     &err) != CF_OK) {
        warn(k, &err);
    }
}

/* The message, an object or an array of them, behind `parent`. */
static cf_status add_message(cf_keep *k, cf_conversation *conv,
                             const json_t *message, cf_uuid *parent,
                             cf_error *err)
{
    size_t n = json_is_array(message) ? json_array_size(message) : 1;
    for (size_t i = 0; message != NULL && i < n; i++) {
        cf_turn turn = {.parent = *parent,
                        .status = CF_TURN_OK,
                        .message = json_is_array(message)
                                       ? json_array_get(message, i)
                                       : message};
        CF_TRY(cf_conversation_add(conv, &turn, parent, err));
        store_turn(k, conv, *parent);
    }
    return CF_OK;
}

cf_status cf_keep_sending(cf_keep *k, cf_conversation *conv,
                          const cf_cli_backend *engine, cf_str constraint,
                          cf_send *send, cf_error *err)
{
    cf_uuid parent =
        send->has_parent ? send->parent : cf_conversation_head(conv);
    CF_TRY(add_message(k, conv, send->message, &parent, err));
    send->message = NULL;
    send->has_parent = true;
    send->parent = parent;
    send->reply_id = cf_uuid_new();
    const cf_keep_engine e = {
        .backend = engine->backend,
        .engine = engine->engine,
        .template_name = engine->from,
        .template_source = cf_buf_str(&engine->source),
    };
    const cf_keep_start start = {.conversation = k->conversation,
                                 .parent = parent,
                                 .send = send,
                                 .fork_token = -1,
                                 .constraint = constraint};
    cf_error why;
    if (cf_keep_reply_begin(&k->reply, k->store, &e, conv, &start, &why) !=
        CF_OK) {
        warn(k, &why);
    }
    return CF_OK;
}

void cf_keep_event(cf_keep *k, const cf_chat_event *event)
{
    cf_keep_reply_event(&k->reply, event);
}

void cf_keep_sent(cf_keep *k, const cf_conversation *conv, const cf_sent *sent)
{
    cf_error err;
    if (cf_keep_reply_end(&k->reply, conv, sent, &err) != CF_OK) {
        warn(k, &err);
    }
}

cf_store *cf_keep_store(const cf_keep *keep)
{
    return keep->store;
}

void cf_keep_close(cf_keep *k)
{
    if (k != NULL) {
        cf_store_close(k->store);
        cf_free(k);
    }
}
