/*
 * conversation.c - keeps the tree of turns.
 *
 * Always true:
 *   1. UUIDs differ; a parent was added before its children, so there is no
 *      cycle.
 *   2. A node never moves and is never taken out.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/chat/conversation_impl.h"

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the conversation");
}

static void free_node(cf_conversation__node *node)
{
    if (node != NULL) {
        json_decref(node->message);
        cf_free(node->raw);
        cf_free(node);
    }
}

cf_status cf_conversation_new(cf_conversation **out, const cf_preface *preface, cf_error *err)
{
    static const cf_preface none;
    const cf_preface *p = preface != NULL ? preface : &none;
    if (p->messages != NULL && !json_is_array(p->messages)) {
        return cf_fail(err, CF_EINVAL, "preface: messages must be an array");
    }
    if (p->extra_context != NULL && !json_is_object(p->extra_context)) {
        return cf_fail(err, CF_EINVAL, "preface: extra_context must be an object");
    }
    cf_conversation *conv = cf_calloc(1, sizeof *conv);
    if (conv == NULL) {
        return no_memory(err);
    }
    cf_status st = cf_tool_set_new(&conv->tools, p->tools, err);
    if (st != CF_OK) {
        cf_free(conv);
        return st;
    }
    conv->preface = *p;
    json_incref(cf_json_ref(p->messages));
    json_incref(cf_json_ref(p->tools));
    json_incref(cf_json_ref(p->extra_context));
    cf_role_map_init(&conv->roles, cf_str_make(NULL, 0));
    *out = conv;
    return CF_OK;
}

void cf_conversation_free(cf_conversation *conv)
{
    if (conv == NULL) {
        return;
    }
    for (size_t i = 0; i < conv->n; i++) {
        free_node(conv->v[i]);
    }
    cf_free(conv->v);
    json_decref(cf_json_ref(conv->preface.messages));
    json_decref(cf_json_ref(conv->preface.tools));
    json_decref(cf_json_ref(conv->preface.extra_context));
    cf_tool_set_free(conv->tools);
    cf_free(conv->mark);
    cf_free(conv);
}

cf_status cf_conversation_clone(cf_conversation **out, const cf_conversation *from, cf_error *err)
{
    cf_conversation *conv;
    CF_TRY(cf_conversation_new(&conv, &from->preface, err));
    conv->roles = from->roles;
    conv->thinking = from->thinking;
    for (size_t i = 0; i < from->n; i++) {
        cf_uuid unused;
        cf_status st = cf_conversation_add(conv, &from->v[i]->turn, &unused, err);
        if (st != CF_OK) {
            cf_conversation_free(conv);
            return st;
        }
    }
    conv->head = from->head;
    conv->grammar = from->grammar;
    conv->vocab = from->vocab;
    cf_status st = cf_conversation__copy_marks(conv, from, err);
    if (st != CF_OK) {
        cf_conversation_free(conv);
        return st;
    }
    *out = conv;
    return CF_OK;
}

static bool grow(cf_conversation *conv)
{
    if (conv->n < conv->cap) {
        return true;
    }
    size_t cap = conv->cap == 0 ? 16 : conv->cap * 2;
    cf_conversation__node **v = cf_realloc(conv->v, cap, sizeof *v);
    if (v == NULL) {
        return false;
    }
    conv->v = v;
    conv->cap = cap;
    return true;
}

cf_status cf_conversation_add(cf_conversation *conv, const cf_turn *turn, cf_uuid *id,
                              cf_error *err)
{
    if (!json_is_object(turn->message) || cf_json_get_str(turn->message, "role").n == 0) {
        return cf_fail(err, CF_EINVAL, "a turn's message must have a role");
    }
    if (!cf_uuid_is_nil(turn->id) && cf_conversation_find(conv, turn->id) != NULL) {
        return cf_fail(err, CF_EINVAL, "a turn with this UUID is there already");
    }
    if (!cf_uuid_is_nil(turn->parent) && cf_conversation_find(conv, turn->parent) == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "the turn's parent is not there");
    }
    cf_conversation__node *node = cf_calloc(1, sizeof *node);
    if (node == NULL || !grow(conv)) {
        cf_free(node);
        return no_memory(err);
    }
    node->turn = *turn;
    node->message = json_incref(cf_json_ref(turn->message));
    if (turn->raw.n > 0) {
        node->raw = cf_strndup(turn->raw.p, turn->raw.n);
        if (node->raw == NULL) {
            free_node(node);
            return no_memory(err);
        }
        node->turn.raw.p = node->raw;
    }
    if (cf_uuid_is_nil(node->turn.id)) {
        node->turn.id = cf_uuid_new();
    }
    if (node->turn.created_ms == 0) {
        node->turn.created_ms = cf_os_now_ms();
    }
    conv->v[conv->n++] = node;
    *id = node->turn.id;
    return CF_OK;
}

const cf_turn *cf_conversation_find(const cf_conversation *conv, cf_uuid id)
{
    for (size_t i = conv->n; i-- > 0;) { /* recent ones are asked for most */
        if (cf_uuid_eq(conv->v[i]->turn.id, id)) {
            return &conv->v[i]->turn;
        }
    }
    return NULL;
}

cf_status cf_conversation_add_messages(cf_conversation *conv, const json_t *messages,
                                       cf_uuid parent, cf_turn_fn fn, void *ud, cf_uuid *last,
                                       size_t *n, cf_error *err)
{
    const bool is_list = json_is_array(messages);
    const size_t count = is_list ? json_array_size(messages) : messages != NULL ? 1 : 0;
    *last = parent;
    for (size_t i = 0; i < count; i++) {
        cf_turn turn = {.parent = *last,
                        .status = CF_TURN_OK,
                        .message = is_list ? json_array_get(messages, i) : messages};
        CF_TRY(cf_conversation_add(conv, &turn, last, err));
        if (n != NULL) {
            ++*n;
        }
        if (fn != NULL) {
            fn(ud, cf_conversation_find(conv, *last));
        }
    }
    return CF_OK;
}

static bool has_role(const cf_turn *turn, const char *role)
{
    return cf_str_is(cf_json_get_str(turn->message, "role"), role);
}

bool cf_turn_is_failed(const cf_turn *turn)
{
    if (!has_role(turn, "assistant")) {
        return false;
    }
    if (turn->status == CF_TURN_ERROR) {
        return true;
    }
    bool says_something = cf_json_get_str(turn->message, "content").n > 0 ||
                          json_array_size(json_object_get(turn->message, "content")) > 0 ||
                          json_array_size(json_object_get(turn->message, "tool_calls")) > 0 ||
                          cf_json_get_str(turn->message, "reasoning_content").n > 0;
    return !says_something &&
           (turn->status == CF_TURN_STOPPED || turn->status == CF_TURN_INTERRUPTED);
}

/* A message with replies, all of which failed. */
static bool is_unanswered(const cf_conversation *conv, const cf_turn *turn)
{
    size_t n = 0;
    const cf_turn *child;
    for (; (child = cf_conversation_child(conv, turn->id, n)) != NULL; n++) {
        if (!cf_turn_is_failed(child)) {
            return false;
        }
    }
    return n > 0;
}

cf_uuid cf_conversation_resume(const cf_conversation *conv, cf_uuid id)
{
    const cf_turn *turn = cf_conversation_find(conv, id);
    if (turn == NULL) {
        return id;
    }
    if (cf_turn_is_failed(turn)) {
        turn = cf_conversation_find(conv, turn->parent);
    } else if (!has_role(turn, "user") || !is_unanswered(conv, turn)) {
        return id;
    }
    if (turn != NULL && has_role(turn, "user")) {
        turn = cf_conversation_find(conv, turn->parent);
    }
    return turn != NULL ? turn->id : (cf_uuid){{0}};
}

size_t cf_conversation_n_turns(const cf_conversation *conv)
{
    return conv->n;
}

const cf_turn *cf_conversation_turn(const cf_conversation *conv, size_t i)
{
    return i < conv->n ? &conv->v[i]->turn : NULL;
}

const cf_turn *cf_conversation_child(const cf_conversation *conv, cf_uuid parent, size_t i)
{
    for (size_t k = 0; k < conv->n; k++) {
        if (cf_uuid_eq(conv->v[k]->turn.parent, parent) && i-- == 0) {
            return &conv->v[k]->turn;
        }
    }
    return NULL;
}

cf_uuid cf_conversation_head(const cf_conversation *conv)
{
    return conv->head;
}

cf_status cf_conversation_set_head(cf_conversation *conv, cf_uuid id, cf_error *err)
{
    if (!cf_uuid_is_nil(id) && cf_conversation_find(conv, id) == NULL) {
        return cf_fail(err, CF_ENOTFOUND, "no turn has this UUID");
    }
    conv->head = id;
    return CF_OK;
}

cf_status cf_conversation_path(const cf_conversation *conv, cf_uuid leaf, cf_arena *arena,
                               const cf_turn ***out, size_t *n, cf_error *err)
{
    size_t depth = 0;
    const cf_turn *t = cf_conversation_find(conv, leaf);
    if (t == NULL && !cf_uuid_is_nil(leaf)) {
        return cf_fail(err, CF_ENOTFOUND, "no turn has this UUID");
    }
    for (const cf_turn *up = t; up != NULL; up = cf_conversation_find(conv, up->parent)) {
        depth++;
    }
    const cf_turn **v = cf_arena_calloc(arena, depth + 1, sizeof *v);
    if (v == NULL) {
        return no_memory(err);
    }
    for (size_t i = depth; i-- > 0;) {
        v[i] = t;
        t = cf_conversation_find(conv, t->parent);
    }
    *out = v;
    *n = depth;
    return CF_OK;
}

const cf_preface *cf_conversation_preface(const cf_conversation *conv)
{
    return &conv->preface;
}

const cf_tool_set *cf_conversation_tools(const cf_conversation *conv)
{
    return conv->tools;
}

cf_status cf_conversation_set_tools(cf_conversation *conv, const json_t *tools, cf_error *err)
{
    cf_tool_set *set;
    CF_TRY(cf_tool_set_new(&set, tools, err));
    cf_tool_set_free(conv->tools);
    conv->tools = set;
    json_incref(cf_json_ref(tools));
    json_decref(cf_json_ref(conv->preface.tools));
    conv->preface.tools = tools;
    return CF_OK;
}

void cf_conversation_set_roles(cf_conversation *conv, const cf_role_map *map)
{
    conv->roles = *map;
}

void cf_conversation_set_constraint(cf_conversation *conv, const cf_grammar *grammar,
                                    const cf_constraint_vocab *vocab)
{
    conv->grammar = grammar;
    conv->vocab = vocab;
}

void cf_conversation_set_thinking(cf_conversation *conv, cf_thinking thinking)
{
    conv->thinking = thinking;
}
