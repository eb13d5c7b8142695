/*
 * system_prompt.c - the system prompt of a path, and another one for it.
 *
 * A path that begins with a system message has that one in place of those of
 * the preface.  Another system prompt is therefore another beginning: a first
 * turn of its own, and copies of the turns of the path after it.
 */
#include "core/base/alloc.h"
#include "core/chat/conversation_impl.h"

static bool is_system(const json_t *message)
{
    cf_str role = cf_json_get_str(message, "role");
    return cf_str_is(role, "system") || cf_str_is(role, "developer");
}

bool cf_turn_is_system(const cf_turn *turn)
{
    return cf_uuid_is_nil(turn->parent) && is_system(turn->message);
}

bool cf_conversation__is_replaced(const json_t *message, const cf_turn *const *path, size_t n)
{
    return n > 0 && cf_turn_is_system(path[0]) && is_system(message);
}

bool cf_conversation__is_silent(const cf_turn *turn)
{
    const json_t *content = json_object_get(turn->message, "content");
    return cf_turn_is_system(turn) && json_is_string(content) && json_string_length(content) == 0;
}

const json_t *cf_conversation_system(const cf_conversation *conv, cf_uuid leaf)
{
    const cf_turn *first = NULL;
    for (const cf_turn *t = cf_conversation_find(conv, leaf); t != NULL;
         t = cf_conversation_find(conv, t->parent)) {
        first = t;
    }
    if (first != NULL && cf_turn_is_system(first)) {
        return first->message;
    }
    const json_t *list = conv->preface.messages;
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (is_system(json_array_get(list, i))) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

/* Adds a copy of `from` after `parent`. */
static cf_status copy_turn(cf_conversation *conv, const cf_turn *from, cf_uuid parent, cf_uuid *id,
                           cf_error *err)
{
    const cf_turn copy = {.parent = parent,
                          .created_ms = from->created_ms,
                          .status = from->status,
                          .message = from->message,
                          .raw = from->raw};
    return cf_conversation_add(conv, &copy, id, err);
}

cf_status cf_conversation_set_system(cf_conversation *conv, cf_str text, cf_turn_copy_fn fn,
                                     void *ud, cf_error *err)
{
    cf_arena arena;
    const cf_turn **path = NULL;
    size_t n = 0;
    cf_uuid at = {{0}};
    json_t *message =
        json_pack("{s:s, s:s%}", "role", "system", "content", text.n > 0 ? text.p : "", text.n);
    if (message == NULL) {
        return cf_fail(err, CF_EFORMAT, "the system prompt is not UTF-8");
    }
    cf_arena_init(&arena, 0);
    cf_turn first = {.status = CF_TURN_OK, .message = message};
    cf_status st = cf_conversation_path(conv, conv->head, &arena, &path, &n, err);
    CF_THEN(st, cf_conversation_add(conv, &first, &at, err));
    if (st == CF_OK && fn != NULL) {
        fn(ud, cf_conversation_find(conv, at), (cf_uuid){{0}});
    }
    for (size_t i = n > 0 && cf_turn_is_system(path[0]) ? 1 : 0; st == CF_OK && i < n; i++) {
        if (cf_turn_is_failed(path[i])) {
            continue;
        }
        st = copy_turn(conv, path[i], at, &at, err);
        if (st == CF_OK && fn != NULL) {
            fn(ud, cf_conversation_find(conv, at), path[i]->id);
        }
    }
    if (st == CF_OK) {
        conv->head = at;
    }
    json_decref(message);
    cf_arena_deinit(&arena);
    return st;
}
