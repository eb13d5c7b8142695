/*
 * losses.c - finds the parts of a conversation that are not in its prompt.
 *
 * By the text: the beginning of every message, the names of tools and calls,
 * as they are or as JSON spells them.  A template may trim, so only the first
 * words count.
 */
#include <string.h>

#include "core/chat/conversation_impl.h"

enum { NEEDLE_MAX = 40 };

static bool holds(cf_str text, cf_str part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        if (text.p[i] == part.p[0] && memcmp(text.p + i, part.p, part.n) == 0) {
            return true;
        }
    }
    return part.n == 0;
}

/* The first words of a text: one line, without white space around it, ended
 * between characters. */
static cf_str first_words(cf_str s)
{
    while (s.n > 0 && strchr(" \t\r\n", s.p[0]) != NULL) {
        s.p++;
        s.n--;
    }
    size_t n = 0;
    while (n < s.n && n < NEEDLE_MAX && s.p[n] != '\n' && s.p[n] != '\r') {
        n++;
    }
    while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
        n--;
    }
    while (n > 0 && strchr(" \t", s.p[n - 1]) != NULL) {
        n--;
    }
    return cf_str_make(s.p, n);
}

static bool is_in(cf_str prompt, cf_str text)
{
    cf_str words = first_words(text);
    if (words.n == 0 || holds(prompt, words)) {
        return true;
    }
    cf_buf json = CF_BUF_INIT;
    cf_json_write_str(&json, words);
    bool found =
        json.n > 2 && holds(prompt, cf_str_make(json.p + 1, json.n - 2));
    cf_buf_deinit(&json);
    return found;
}

static void check_content(cf_buf *out, const json_t *m, size_t n, cf_str prompt)
{
    const json_t *content = json_object_get(m, "content");
    cf_str role = cf_json_get_str(m, "role");
    bool is_result = cf_str_is(role, "tool");
    if (json_is_string(content) &&
        !is_in(prompt, cf_json_get_str(m, "content"))) {
        cf_buf_addf(out,
                    is_result ? "message %zu (%.*s): the result is lost, the "
                                "template does not write it\n"
                              : "message %zu (%.*s) is lost: the template does "
                                "not write it\n",
                    n, (int)role.n, role.p);
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        cf_str type = cf_json_get_str(part, "type");
        cf_str text = cf_json_get_str(part, "text");
        if (text.p != NULL ? !is_in(prompt, text) : !cf_str_is(type, "text")) {
            cf_buf_addf(out,
                        "message %zu: part %zu (%.*s) is lost, the prompt has "
                        "nothing of it\n",
                        n, i + 1, (int)type.n, type.n > 0 ? type.p : "");
        }
    }
}

static void check_message(cf_buf *out, const json_t *m, size_t n, cf_str prompt)
{
    static const char *const fields[][2] = {{"reasoning_content", "reasoning"},
                                            {"refusal", "refusal"}};
    check_content(out, m, n, prompt);
    for (size_t i = 0; i < 2; i++) {
        if (!is_in(prompt, cf_json_get_str(m, fields[i][0]))) {
            cf_buf_addf(out,
                        "message %zu: its %s is lost, the template does not "
                        "write it\n",
                        n, fields[i][1]);
        }
    }
    const json_t *calls = json_object_get(m, "tool_calls");
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *function =
            json_object_get(json_array_get(calls, i), "function");
        cf_str name = cf_json_get_str(function, "name");
        if (!is_in(prompt, name)) {
            cf_buf_addf(out,
                        "message %zu: its call of %.*s is lost, the template "
                        "does not write it\n",
                        n, (int)name.n, name.p);
        }
    }
}

cf_status cf_conversation_losses(const cf_conversation *conv,
                                 const cf_send *send, cf_str prompt,
                                 cf_buf *out, cf_error *err)
{
    cf_conversation__request q;
    json_t *list = cf_conversation__list(send->message, err);
    if (list == NULL) {
        return CF_EINVAL;
    }
    cf_status st = cf_conversation__request_init(
        &q, conv, send->has_parent ? send->parent : conv->head, list, send,
        err);
    json_decref(list);
    CF_TRY(st);
    for (size_t i = 0; i < json_array_size(q.messages); i++) {
        check_message(out, json_array_get(q.messages, i), i + 1, prompt);
    }
    size_t n = 0;
    const cf_tool *tools =
        q.request.tools != NULL ? cf_tool_set_items(q.request.tools, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (!is_in(prompt, tools[i].name)) {
            cf_buf_addf(out,
                        "tool %.*s is lost: the template does not write its "
                        "declaration\n",
                        (int)tools[i].name.n, tools[i].name.p);
        }
    }
    cf_conversation__request_deinit(&q);
    return cf_buf_check(out, err);
}
