/*
 * tool_cost.c - prompts with and without a tool.
 */
#include "tui/lab/tools/tool_cost.h"

#include "core/base/alloc.h"

/* Tokens of the shortest prompt with these declarations and system messages,
 * and `text` after what the user says. */
static cf_status count(int64_t *out, cf_backend *backend, const cf_role_map *roles,
                       const json_t *declarations, const json_t *system, cf_str text, cf_error *err)
{
    cf_conversation *conv = NULL;
    cf_arena arena;
    cf_prompt prompt;
    cf_token_list tokens;
    const cf_preface preface = {.messages = system,
                                .tools = json_array_size(declarations) > 0 ? declarations : NULL};
    json_t *message =
        json_pack("{s:s, s:s+%}", "role", "user", "content", "?", text.n > 0 ? text.p : "", text.n);
    cf_arena_init(&arena, 0);
    cf_status st = message != NULL ? CF_OK : cf_oom_for(err, "the cost of a tool");
    CF_THEN(st, cf_conversation_new(&conv, &preface, err));
    if (st == CF_OK) {
        const cf_send send = {.message = message};
        if (roles != NULL) {
            cf_conversation_set_roles(conv, roles);
        }
        st = cf_conversation_preview(conv, backend, &send, &arena, &prompt, &tokens, err);
    }
    if (st == CF_OK) {
        *out = (int64_t)tokens.n;
    }
    cf_conversation_free(conv);
    cf_arena_deinit(&arena);
    json_decref(message);
    return st;
}

cf_status cf_tool_cost_measure(cf_tool_cost *out, cf_backend *backend, const cf_role_map *roles,
                               const json_t *declarations, cf_cancel *cancel, cf_error *err)
{
    int64_t whole, none;
    const cf_str nothing = cf_str_make("", 0);
    size_t n = json_array_size(declarations);
    *out = (cf_tool_cost){.tokens = cf_calloc(n + 1, sizeof *out->tokens), .n = n};
    if (out->tokens == NULL) {
        return cf_oom_for(err, "the cost of tools");
    }
    cf_status st = count(&whole, backend, roles, declarations, NULL, nothing, err);
    CF_THEN(st, count(&none, backend, roles, NULL, NULL, nothing, err));
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        json_t *rest = cf_json_copy(declarations);
        if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) {
            st = cf_fail(err, CF_ECANCELLED, "stopped");
        } else if (rest == NULL || json_array_remove(rest, i) != 0) {
            st = cf_oom_for(err, "the cost of tools");
        }
        int64_t without = 0;
        CF_THEN(st, count(&without, backend, roles, rest, NULL, nothing, err));
        out->tokens[i] = whole - without;
        json_decref(rest);
    }
    if (st != CF_OK) {
        cf_tool_cost_deinit(out);
        return st;
    }
    out->all = whole - none;
    return CF_OK;
}

cf_status cf_text_cost_measure(int64_t *out, cf_backend *backend, const cf_role_map *roles,
                               cf_str text, bool is_system, cf_error *err)
{
    const cf_str nothing = cf_str_make("", 0);
    int64_t with = 0, without = 0;
    json_t *system =
        json_pack("[{s:s, s:s%}]", "role", "system", "content", text.n > 0 ? text.p : "", text.n);
    cf_status st = system != NULL ? CF_OK : cf_fail(err, CF_EFORMAT, "the text is not UTF-8");
    CF_THEN(st, count(&with, backend, roles, NULL, is_system ? system : NULL,
                      is_system ? nothing : text, err));
    CF_THEN(st, count(&without, backend, roles, NULL, NULL, nothing, err));
    json_decref(system);
    if (st == CF_OK) {
        *out = with - without;
    }
    return st;
}

void cf_tool_cost_deinit(cf_tool_cost *cost)
{
    cf_free(cost->tokens);
    *cost = (cf_tool_cost){.tokens = NULL};
}
