/*
 * server_prompt.c - makes a chat request of a context, and has the server
 * render it.
 */
#include "tui/lab/prompt/server_prompt.h"

#include <string.h>

bool cf_server_is_address(const char *model)
{
    return model != NULL &&
           (strncmp(model, "http://", 7) == 0 || strncmp(model, "https://", 8) == 0);
}

/* The variables of a context that are not the request's own members. */
static json_t *variables(const json_t *context)
{
    static const char *const own[] = {"messages", "tools", "add_generation_prompt"};
    json_t *v = cf_json_copy(context);
    for (size_t i = 0; v != NULL && i < sizeof own / sizeof own[0]; i++) {
        json_object_del(v, own[i]);
    }
    return v;
}

cf_status cf_server_prompt(cf_backend *backend, cf_str context, cf_cancel *cancel, cf_arena *arena,
                           cf_prompt *out, cf_token_list *tokens, cf_error *err)
{
    json_t *v = NULL;
    cf_tool_set *tools = NULL;
    CF_TRY(cf_json_read(&v, context.p, context.n, err));
    const json_t *list = json_object_get(v, "tools");
    json_t *extra = variables(v);
    const json_t *messages = json_object_get(v, "messages");
    cf_status st = json_is_array(messages) || json_is_object(messages)
                       ? CF_OK
                       : cf_fail(err, CF_EFORMAT, "the context has no \"messages\"");
    if (st == CF_OK && json_array_size(list) > 0) {
        st = cf_tool_set_new(&tools, list, err);
    }
    const cf_chat_request request = {.messages = messages,
                                     .tools = tools,
                                     .extra_context = extra,
                                     .cancel = cancel};
    if (st == CF_OK) {
        st = tokens != NULL ? cf_backend_tokenise(backend, &request, arena, out, tokens, err)
                            : cf_backend_render(backend, &request, arena, out, err);
    }
    cf_tool_set_free(tools);
    json_decref(extra);
    json_decref(v);
    return st;
}
