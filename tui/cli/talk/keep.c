/*
 * keep.c - moves conversations between memory and the store.
 */
#include "tui/cli/talk/keep.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "storage/store.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/lab/reply/keep_reply.h"
#include "tui/lab/talk/saved.h"
#include "tui/sys/out.h"

struct cf_keep {
    const cf_cli *cli;
    cf_store *store;
    cf_uuid conversation;
    cf_keep_reply reply;
    bool has_warned;
    bool is_side;  /* the store is another one's */
    bool has_lost; /* what the store did not even keep in memory */
};

static cf_status open_store(cf_keep *k, cf_error *err)
{
    cf_store_options o = {.flags = CF_STORE_CREATE};
    char *path;
    CF_TRY(cf_open_store_path(&k->cli->open, &path, err));
    cf_status st = cf_store_open(&k->store, path, &o, err);
    cf_free(path);
    if (st != CF_OK) {
        cf_open_store_hint(err);
    }
    return st;
}

static cf_status load(cf_keep *k, const char *name, const cf_preface *given, cf_conversation **out,
                      cf_error *err)
{
    cf_arena arena;
    cf_store_ref ref;
    cf_arena_init(&arena, 0);
    cf_status st = cf_store_find(k->store, cf_str_from(name), &ref, err);
    const cf_saved_choice choice = {
        .conversation = ref.conversation, .turn = ref.turn, .given = given};
    CF_THEN(st, cf_saved_load(out, NULL, k->store, &choice, &arena, err));
    if (st == CF_OK) {
        k->conversation = ref.conversation;
    }
    cf_arena_deinit(&arena);
    return st;
}

cf_status cf_keep_open(cf_keep **out, const cf_cli *cli, bool is_kept_out, const char *continue_id,
                       const cf_preface *preface, cf_conversation **conv, cf_error *err)
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
        cf_store_close(k->store);
        cf_free(k);
        return st;
    }
    *out = k;
    return CF_OK;
}

static void warn(cf_keep *k, const cf_error *err)
{
    k->has_lost = k->has_lost || err->code != CF_EBUSY;
    if (!k->has_warned) {
        k->has_warned = true;
        cf_note("confab %s: not saved: %s", k->cli->command->name, err->text);
    }
}

static void store_turn(cf_keep *k, const cf_conversation *conv, cf_uuid id)
{
    cf_error err;
    cf_status st = CF_OK;
    if (cf_uuid_is_nil(k->conversation)) { /* stored with its first turn */
        st = cf_saved_put(k->store, conv, cf_str_make(NULL, 0), &k->conversation, &err);
    }
    if (st != CF_OK ||
        cf_keep_turn(k->store, k->conversation, cf_conversation_find(conv, id), &err) != CF_OK) {
        warn(k, &err);
    }
}

/* A turn that the conversation got. */
typedef struct added {
    cf_keep *keep;
    const cf_conversation *conv;
} added;

static void on_added(void *ud, const cf_turn *turn)
{
    const added *a = ud;
    store_turn(a->keep, a->conv, turn->id);
}

void cf_keep_branch(cf_keep *k, const cf_turn *turn, cf_uuid from)
{
    cf_error err;
    if (cf_keep_copy(k->store, k->conversation, turn, from, &err) != CF_OK) {
        warn(k, &err);
    }
}

cf_status cf_keep_message(cf_keep *k, cf_conversation *conv, const json_t *message, cf_uuid *parent,
                          cf_error *err)
{
    added a = {k, conv};
    return cf_conversation_add_messages(conv, message, *parent, on_added, &a, parent, NULL, err);
}

cf_status cf_keep_sending(cf_keep *k, cf_conversation *conv, const cf_opened *engine,
                          cf_str constraint, cf_send *send, cf_error *err)
{
    cf_uuid parent =
        send->has_parent ? send->parent : cf_conversation_resume(conv, cf_conversation_head(conv));
    CF_TRY(cf_keep_message(k, conv, send->message, &parent, err));
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
    if (cf_keep_reply_begin(&k->reply, k->store, &e, conv, &start, &why) != CF_OK) {
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

cf_uuid cf_keep_conversation(const cf_keep *keep)
{
    return keep->conversation;
}

cf_store *cf_keep_store(const cf_keep *keep)
{
    return keep->store;
}

cf_status cf_keep_side(cf_keep **out, const cf_keep *keep, cf_error *err)
{
    cf_keep *k = cf_calloc(1, sizeof *k);
    if (k == NULL) {
        return cf_oom_for(err, "the history");
    }
    k->cli = keep->cli;
    k->store = keep->store;
    k->conversation = keep->conversation;
    k->is_side = true;
    *out = k;
    return CF_OK;
}

bool cf_keep_close(cf_keep *k)
{
    if (k == NULL) {
        return true;
    }
    bool is_saved = !k->has_lost;
    if (!k->is_side) {
        is_saved = cf_cli_all_saved(k->cli, k->store) && is_saved;
        if (is_saved && k->has_warned) {
            cf_note("confab %s: saved after all", k->cli->command->name);
        }
        cf_store_close(k->store);
    }
    cf_free(k);
    return is_saved;
}
