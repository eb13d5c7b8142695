/*
 * saved.c - conversations loaded from the history.
 */
#include "tui/lab/talk/saved.h"

#include "core/json/json_writer.h"
#include "tui/lab/reply/recorded.h"

/* ---- the preface -------------------------------------------------------- */

/* The parts of a saved preface; owned. */
typedef struct parts {
    json_t *messages, *tools, *extra_context;
    bool has_record; /* a reply says which tools it was offered */
} parts;

static void drop_parts(parts *p)
{
    json_decref(p->messages);
    json_decref(p->tools);
    json_decref(p->extra_context);
}

static cf_status read_preface(parts *p, cf_str text, cf_error *err)
{
    json_t *root;
    if (text.n == 0) {
        return CF_OK;
    }
    CF_TRY(cf_json_read(&root, text.p, text.n, err));
    json_t *messages = json_object_get(root, "messages");
    json_t *extra = json_object_get(root, "extra_context");
    p->messages = json_is_array(messages) ? json_incref(messages) : NULL;
    p->extra_context = json_is_object(extra) ? json_incref(extra) : NULL;
    p->tools = json_incref(json_object_get(root, "tools"));
    json_decref(root);
    return CF_OK;
}

/* The turn `id` among the first `n`, where the parent of turn n is. */
static const cf_store_turn *find_turn(const cf_store_tree *tree, size_t n, cf_uuid id)
{
    while (n > 0 && !cf_uuid_eq(tree->turns[n - 1].id, id)) {
        n--;
    }
    return n > 0 ? &tree->turns[n - 1] : NULL;
}

/* The tools of the newest reply on the path to `head` replace the preface's,
 * where one recorded them. */
static cf_status last_tools(parts *p, cf_store *store, const cf_store_tree *tree, cf_uuid head,
                            cf_arena *arena, cf_error *err)
{
    for (const cf_store_turn *t = find_turn(tree, tree->n, head); t != NULL;
         t = find_turn(tree, (size_t)(t - tree->turns), t->parent)) {
        cf_store_turn whole = *t;
        if (t->has_run && t->run == NULL) {
            CF_TRY(cf_store_get_turn(store, t->id, arena, &whole, err));
        }
        if (cf_recorded_has_tools(whole.run)) {
            json_decref(p->tools);
            p->tools = NULL;
            p->has_record = true;
            return whole.run->n_tools > 0 ? cf_recorded_tools(&p->tools, whole.run, err) : CF_OK;
        }
    }
    return CF_OK;
}

/* Drops tools that are no declarations. */
static cf_status check_tools(parts *p, cf_error *err)
{
    cf_tool_set *set;
    cf_status st = cf_tool_set_new(&set, p->tools, err);
    if (st == CF_OK) {
        cf_tool_set_free(set);
    } else if (st != CF_ENOMEM) {
        json_decref(p->tools);
        p->tools = NULL;
        st = CF_OK;
    }
    return st;
}

/* ---- the turns ---------------------------------------------------------- */

static cf_status add_turns(cf_conversation *conv, const cf_store_tree *tree, cf_error *err)
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

static cf_uuid head_of(const cf_store_tree *tree, cf_uuid turn)
{
    return !cf_uuid_is_nil(turn)              ? turn
           : !cf_uuid_is_nil(tree->conv.head) ? tree->conv.head
           : tree->n > 0                      ? tree->turns[tree->n - 1].id
                                              : (cf_uuid){{0}};
}

cf_status cf_saved_load(cf_conversation **out, cf_store_conv *about, cf_store *store,
                        const cf_saved_choice *choice, cf_arena *arena, cf_error *err)
{
    static const cf_preface nothing;
    const cf_preface *given = choice->given != NULL ? choice->given : &nothing;
    parts saved = {0};
    cf_store_tree tree;
    cf_conversation *conv = NULL;
    CF_TRY(cf_store_get_tree(store, choice->conversation, choice->has_raw ? CF_TREE_RUNS : 0, arena,
                             &tree, err));
    cf_uuid head = head_of(&tree, choice->turn);
    cf_status st = read_preface(&saved, tree.conv.preface, err);
    if (given->tools == NULL) {
        CF_THEN(st, last_tools(&saved, store, &tree, head, arena, err));
        CF_THEN(st, check_tools(&saved, err));
    }
    if (saved.tools == NULL && !saved.has_record) {
        saved.tools = json_incref(cf_json_ref(choice->tools));
    }
    const cf_preface preface = {
        .messages = given->messages != NULL ? given->messages : saved.messages,
        .tools = given->tools != NULL ? given->tools : saved.tools,
        .extra_context = given->extra_context != NULL ? given->extra_context : saved.extra_context,
    };
    CF_THEN(st, cf_conversation_new(&conv, &preface, err));
    CF_THEN(st, add_turns(conv, &tree, err));
    CF_THEN(st, cf_conversation_set_head(conv, head, err));
    drop_parts(&saved);
    if (st != CF_OK) {
        cf_conversation_free(conv);
        return st;
    }
    if (about != NULL) {
        *about = tree.conv;
    }
    *out = conv;
    return CF_OK;
}

cf_status cf_saved_put(cf_store *store, const cf_conversation *conv, cf_str title, cf_uuid *id,
                       cf_error *err)
{
    const cf_preface *p = cf_conversation_preface(conv);
    const struct {
        const char *key;
        const json_t *v;
    } fields[] = {
        {"messages", p->messages}, {"tools", p->tools}, {"extra_context", p->extra_context}};
    cf_store_conv row = {.id = *id, .title = title};
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    bool is_empty = true;
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].v != NULL) {
            cf_jw_json(&w, fields[i].key, fields[i].v);
            is_empty = false;
        }
    }
    cf_jw_end(&w);
    cf_status st = cf_jw_finish(&w, err);
    if (!is_empty) {
        row.preface = cf_buf_str(&text);
    }
    CF_THEN(st, cf_store_put_conv(store, &row, id, err));
    cf_buf_deinit(&text);
    return st;
}

void cf_saved_thinking(cf_backend *backend, const cf_engine *engine, cf_store *store)
{
    char hash[CF_HASH_TEXT + 1];
    cf_store_thinking was;
    if (engine == NULL || store == NULL) {
        return;
    }
    cf_engine_hash(engine, hash);
    if (cf_store_get_thinking(store, cf_str_from(hash), &was, NULL) == CF_OK) {
        cf_backend_core_learn_thinking(backend, was.n, was.most);
    }
}

enum { DRAFT_REPLIES = 16 };

void cf_saved_drafts(cf_backend *backend, const cf_engine *engine, cf_store *store,
                     const cf_conversation *conv)
{
    char hash[CF_HASH_TEXT + 1];
    size_t n_left = DRAFT_REPLIES;
    if (engine == NULL || store == NULL) {
        return;
    }
    cf_engine_hash(engine, hash);
    for (size_t i = cf_conversation_n_turns(conv); i-- > 0 && n_left > 0;) {
        cf_arena arena;
        cf_store_turn stored;
        cf_arena_init(&arena, 0);
        const cf_turn *turn = cf_conversation_turn(conv, i);
        if (cf_str_is(cf_json_get_str(turn->message, "role"), "assistant") &&
            cf_store_get_turn(store, turn->id, &arena, &stored, NULL) == CF_OK &&
            stored.run != NULL && cf_str_is(stored.run->model_hash, hash)) {
            cf_ignore(cf_backend_core_add_source(backend, stored.run->reply_ids,
                                                 stored.run->n_reply_ids, NULL)); /* as above */
            n_left--;
        }
        cf_arena_deinit(&arena);
    }
}
