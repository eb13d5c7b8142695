/*
 * chat_case.c - what a conversation is tested with.
 */
#include "tests/support/chat_case.h"

#include "core/json/json.h"
#include "tests/support/t.h"

json_t *cf_chat_json(const char *text)
{
    cf_error err = {0};
    json_t *v = NULL;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

cf_backend *cf_chat_script(const char *text, cf_tool_family family)
{
    static const cf_channel think[] = {
        {.name = {"thinking", 8}, .start = {"<think>", 7}, .end = {"</think>", 8}}};
    cf_error err = {0};
    cf_backend *b = NULL;
    cf_script_options o = {.family = family, .channels = think, .n_channels = 1};
    json_t *v = cf_chat_json(text);
    T_OK(cf_backend_script_new(&b, v, &o, &err), err);
    json_decref(v);
    return b;
}

cf_conversation *cf_chat_tree(const char *tools)
{
    cf_error err = {0};
    cf_conversation *conv = NULL;
    json_t *v = tools != NULL ? cf_chat_json(tools) : NULL;
    cf_preface preface = {.tools = v};
    T_OK(cf_conversation_new(&conv, &preface, &err), err);
    json_decref(v);
    return conv;
}

const json_t *cf_chat_hello(void)
{
    static json_t *v;
    if (v == NULL) {
        v = cf_chat_json("{\"role\":\"user\",\"content\":\"hi\"}");
    }
    return v;
}
