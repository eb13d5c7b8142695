/*
 * channels.c - which delimiters a model's thinking has.
 */
#include "core/api/backend.h"

#define STR(text)                \
    {                            \
        (text), sizeof(text) - 1 \
    }

static bool has(cf_str text, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (text.p[i] == what[0] && memcmp(text.p + i, what, n) == 0) {
            return true;
        }
    }
    return false;
}

const cf_channel *cf_channels_detect(cf_str chat_template, size_t *n)
{
    static const cf_channel think[] = {
        {STR("thinking"), STR("<think>"), STR("</think>")}};
    static const cf_channel gemma4[] = {
        {STR("thinking"), STR("<|channel>thought\n"), STR("<channel|>")}};
    static const cf_channel mistral[] = {
        {STR("thinking"), STR("[THINK]"), STR("[/THINK]")}};
    static const cf_channel seed[] = {
        {STR("thinking"), STR("<seed:think>"), STR("</seed:think>")}};
    *n = 1;
    if (has(chat_template, "<|channel>")) {
        return gemma4;
    }
    if (has(chat_template, "[THINK]")) {
        return mistral;
    }
    if (has(chat_template, "<seed:think>")) {
        return seed;
    }
    if (has(chat_template, "<think>") || has(chat_template, "</think>")) {
        return think;
    }
    *n = 0;
    return NULL;
}
