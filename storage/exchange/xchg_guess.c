/*
 * xchg_guess.c - which program wrote a file, by its first conversation.
 *
 * The first record that is JSON decides: each format recognises its own
 * records and messages (xchg.h), in the order of CF_FORMATS.  A message that
 * nobody claims is OpenAI's.  Only that record is parsed.
 */
#include <string.h>

#include "storage/exchange/xchg.h"

bool cf_guess__has(const json_t *v, const char *key)
{
    return json_object_get(v, key) != NULL;
}

bool cf_guess__has_list(const json_t *v, const char *key)
{
    return json_is_array(json_object_get(v, key));
}

bool cf_guess__is_message(const json_t *v)
{
    static const char *const lists[] = {"messages", "conversations", "history", "contents"};
    bool has_list = json_is_object(json_object_get(v, "messages"));
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        has_list = has_list || cf_guess__has_list(v, lists[i]);
    }
    return json_is_object(v) && !has_list &&
           (cf_guess__has(v, "role") || cf_guess__has(v, "from") || cf_guess__has(v, "parts"));
}

/* The format that claims an object, or a message; COUNT: none does. */
static cf_format claim(const json_t *v, bool is_message, const char **name)
{
    for (int i = 0; i < CF_FORMAT_COUNT; i++) {
        const cf_xchg_format *f = cf_xchg__format((cf_format)i);
        const char *(*writer_of)(const json_t *) = is_message ? f->writer_of_message : f->writer_of;
        *name = writer_of != NULL && f->record != NULL ? writer_of(v) : NULL;
        if (*name != NULL) {
            return (cf_format)i;
        }
    }
    *name = is_message ? "OpenAI" : "";
    return is_message ? CF_FORMAT_OPENAI : CF_FORMAT_COUNT;
}

/* The first message that can only be of one format decides. */
static cf_format of_list(const json_t *list, const char **name)
{
    cf_format f = CF_FORMAT_COUNT;
    *name = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        f = claim(json_array_get(list, i), true, name);
        if (strcmp(*name, "OpenAI") != 0) {
            break;
        }
    }
    return f;
}

static cf_format of_object(const json_t *v, const char **name)
{
    cf_format f = claim(v, false, name);
    return f != CF_FORMAT_COUNT                ? f
           : cf_guess__has_list(v, "messages") ? of_list(json_object_get(v, "messages"), name)
           : json_is_object(json_object_get(v, "messages"))
               ? claim(json_object_get(v, "messages"), true, name)
           : cf_guess__is_message(v) ? claim(v, true, name)
                                     : f;
}

cf_format cf_guess__record(const json_t *v, const char **name)
{
    const json_t *first = json_array_get(v, 0);
    *name = "";
    return json_is_object(v)             ? of_object(v, name)
           : cf_guess__is_message(first) ? of_list(v, name)
           : json_is_object(first)       ? of_object(first, name)
                                         : CF_FORMAT_COUNT;
}
