/*
 * xchg_guess.c - which program wrote a file, by its first conversation.
 *
 * The first record that is JSON decides: the names of its fields, and for
 * lists of messages the fields of the messages.  Only that record is parsed.
 */
#include <string.h>

#include "core/api/message_form.h"
#include "storage/exchange/xchg.h"

typedef enum kind {
    KIND_NONE,
    KIND_CONFAB,
    KIND_OPENAI,
    KIND_SHAREGPT,
    KIND_CONVERSE,
    KIND_LITERT,
    KIND_LLAMA_APP,
    KIND_CHATGPT,
    KIND_XAIBO,
    KIND_GEMINI
} kind;

/* Xaibo's and Gemini's messages are turned into OpenAI's by its reader. */
static const struct {
    cf_format format;
    const char *name;
} kinds[] = {
    [KIND_NONE] = {CF_FORMAT_COUNT, ""},
    [KIND_CONFAB] = {CF_FORMAT_CONFAB, "confab"},
    [KIND_OPENAI] = {CF_FORMAT_OPENAI, "OpenAI"},
    [KIND_SHAREGPT] = {CF_FORMAT_SHAREGPT, "ShareGPT"},
    [KIND_CONVERSE] = {CF_FORMAT_CONVERSE, "ConverseHistory (TPipe)"},
    [KIND_LITERT] = {CF_FORMAT_LITERT, "LiteRT-LM"},
    [KIND_LLAMA_APP] = {CF_FORMAT_LLAMA_APP, "llama.app"},
    [KIND_CHATGPT] = {CF_FORMAT_CHATGPT, "ChatGPT"},
    [KIND_XAIBO] = {CF_FORMAT_OPENAI, "Xaibo"},
    [KIND_GEMINI] = {CF_FORMAT_OPENAI, "Gemini"},
};

static bool has(const json_t *v, const char *key)
{
    return json_object_get(v, key) != NULL;
}

static bool has_list(const json_t *v, const char *key)
{
    return json_is_array(json_object_get(v, key));
}

bool cf_guess__is_message(const json_t *v)
{
    return json_is_object(v) && (has(v, "role") || has(v, "from") || has(v, "parts")) &&
           !has_list(v, "messages") && !has_list(v, "conversations") && !has_list(v, "history") &&
           !has_list(v, "contents");
}

/* OpenAI writes arguments as a string of JSON, LiteRT-LM as an object. */
static bool has_object_arguments(const json_t *m)
{
    const json_t *call = json_array_get(json_object_get(m, "tool_calls"), 0);
    return json_is_object(json_object_get(json_object_get(call, "function"), "arguments"));
}

static bool has_litert_part(const json_t *content)
{
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (cf_str_is(cf_json_get_str(part, "type"), "tool_response") || has(part, "path") ||
            has(part, "blob")) {
            return true;
        }
    }
    return false;
}

/* What one message can only be; KIND_OPENAI if it could be anyone's. */
static kind message_kind(const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    if (has(m, "from") && has(m, "value")) {
        return KIND_SHAREGPT;
    }
    if (has_list(m, "parts") && content == NULL) {
        return KIND_GEMINI;
    }
    if (cf_message_form_of(m) == CF_MESSAGE_XAIBO) {
        return KIND_XAIBO;
    }
    if (json_is_object(content) && (has(m, "uuid") || has(content, "binaryContent") ||
                                    (has(content, "text") && !has(content, "type")))) {
        return KIND_CONVERSE;
    }
    if (cf_str_is(cf_json_get_str(m, "role"), "model") || has(m, "channels") ||
        json_is_object(content) || has_object_arguments(m) || has_litert_part(content)) {
        return KIND_LITERT;
    }
    return KIND_OPENAI;
}

static kind list_kind(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        kind k = message_kind(json_array_get(list, i));
        if (k != KIND_OPENAI) {
            return k;
        }
    }
    return json_array_size(list) != 0 ? KIND_OPENAI : KIND_NONE;
}

static kind typed_kind(const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    if (cf_str_is(type, "session") || (cf_str_is(type, "message") && has(v, "message"))) {
        return KIND_LLAMA_APP;
    }
    return (cf_str_is(type, "conversation") && has(v, "confab")) ||
                   (cf_str_is(type, "turn") && has(v, "message")) ||
                   (cf_str_is(type, "template") && has(v, "source"))
               ? KIND_CONFAB
               : KIND_NONE;
}

static kind object_kind(const json_t *v)
{
    kind k = typed_kind(v);
    if (k != KIND_NONE) {
        return k;
    }
    if (has(v, "conv")) {
        return KIND_LLAMA_APP;
    }
    if (json_is_object(json_object_get(v, "mapping"))) {
        return KIND_CHATGPT;
    }
    if (has_list(v, "conversations") || has_list(v, "conversation")) {
        return KIND_SHAREGPT;
    }
    if (has_list(v, "history") || json_object_size(v) == 0) {
        return KIND_CONVERSE;
    }
    if (has_list(v, "contents")) {
        return KIND_GEMINI;
    }
    if (has_list(v, "messages")) {
        k = list_kind(json_object_get(v, "messages"));
        return k == KIND_OPENAI && has(v, "extra_context") ? KIND_LITERT : k;
    }
    return cf_guess__is_message(v) ? message_kind(v) : KIND_NONE;
}

cf_format cf_guess__record(const json_t *v, const char **name)
{
    const json_t *first = json_array_get(v, 0);
    kind k = !json_is_array(v) && !json_is_object(v) ? KIND_NONE
             : json_is_object(v)                     ? object_kind(v)
             : cf_guess__is_message(first)           ? list_kind(v)
             : json_is_object(first)                 ? object_kind(first)
                                                     : KIND_NONE;
    *name = kinds[k].name;
    return kinds[k].format;
}
