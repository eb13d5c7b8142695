/*
 * request_name.c - sessions' names, and the first words of a person.
 */
#include "tui/serve/record/request_name.h"

#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/net/http_server.h"

static const char *const of_sessions[] = {"session_id",
                                          "session-id",
                                          "x-session-id",
                                          "conversation_id",
                                          "x-claude-code-session-id",
                                          "x-opencode-session",
                                          "x-session-affinity",
                                          NULL};
static const char *const of_parents[] = {"x-parent-session-id", "x-codex-parent-thread-id", NULL};

static bool is_one_of(cf_str name, const char *const *names)
{
    while (*names != NULL && !cf_http_name_is(name, *names)) {
        names++;
    }
    return *names != NULL;
}

bool cf_is_session_header(cf_str name)
{
    return is_one_of(name, of_sessions) || is_one_of(name, of_parents);
}

/* "user_1_account_2_session_3" and {"session_id":"3"} name session 3; any other
 * text is taken as it is. */
static void put_user_id(char out[CF_SESSION_NAME_MAX], cf_str id)
{
    static const cf_str mark = {"_session_", 9};
    json_t *v = NULL;
    size_t at;
    if (id.n != 0 && id.p[0] == '{' && cf_json_read(&v, id.p, id.n, NULL) == CF_OK) {
        cf_str session = cf_json_get_str(v, "session_id");
        (void)cf_utf8_copy(out, CF_SESSION_NAME_MAX, session.n != 0 ? session : id);
    } else if (cf_str_find(id, mark, &at)) {
        (void)cf_utf8_copy(out, CF_SESSION_NAME_MAX,
                           cf_str_make(id.p + at + mark.n, id.n - at - mark.n));
    } else {
        (void)cf_utf8_copy(out, CF_SESSION_NAME_MAX, id);
    }
    json_decref(v);
}

static void put_header(char out[CF_SESSION_NAME_MAX], cf_str headers, const char *const *names)
{
    json_t *list = NULL;
    if (headers.n == 0 || cf_json_read(&list, headers.p, headers.n, NULL) != CF_OK) {
        return;
    }
    for (size_t i = 0; out[0] == '\0' && i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        if (name != NULL && value != NULL && is_one_of(cf_str_from(name), names)) {
            (void)cf_utf8_copy(out, CF_SESSION_NAME_MAX, cf_str_from(value));
        }
    }
    json_decref(list);
}

void cf_session_name(char out[CF_SESSION_NAME_MAX], const json_t *body, cf_str headers)
{
    const json_t *metadata = json_object_get(body, "metadata");
    cf_str key = cf_json_get_str(body, "prompt_cache_key");
    key = key.n != 0 ? key : cf_json_get_str(metadata, "session_id");
    out[0] = '\0';
    if (key.n != 0) {
        (void)cf_utf8_copy(out, CF_SESSION_NAME_MAX, key);
        return;
    }
    put_user_id(out, cf_json_get_str(metadata, "user_id"));
    if (out[0] == '\0') {
        put_header(out, headers, of_sessions);
    }
}

void cf_session_parent(char out[CF_SESSION_NAME_MAX], cf_str headers)
{
    out[0] = '\0';
    put_header(out, headers, of_parents);
}

/* ---- the user's own text ------------------------------------------------- */

/* Takes blocks in tags off the front: "<environment_context>..</environment_context>". */
static cf_str without_blocks(cf_str s)
{
    for (;;) {
        size_t n = 1, at;
        char end[80];
        s = cf_str_trim(s);
        while (n < s.n && n < sizeof end - 4 && (cf_is_word(s.p[n]) || s.p[n] == '-')) {
            n++;
        }
        if (s.n < 3 || s.p[0] != '<' || n == 1 || n >= s.n || (s.p[n] != '>' && s.p[n] != ' ')) {
            return s;
        }
        int len = snprintf(end, sizeof end, "</%.*s>", (int)(n - 1), s.p + 1);
        if (!cf_str_find(s, cf_str_make(end, (size_t)len), &at)) {
            return cf_str_make(s.p + s.n, 0); /* the block goes on to the end */
        }
        s = cf_str_make(s.p + at + len, s.n - at - (size_t)len);
    }
}

static cf_str persons_part(cf_str text)
{
    static const char *const harness[] = {"# AGENTS.md instructions",
                                          "This is the Qwen Code. We are setting up the context",
                                          "This is the Gemini CLI. We are setting up the context"};
    cf_str s = without_blocks(text);
    for (size_t i = 0; i < sizeof harness / sizeof *harness; i++) {
        if (cf_str_begins(s, harness[i])) {
            return cf_str_make(s.p, 0);
        }
    }
    return s;
}

static bool put_words(cf_buf *out, cf_str text)
{
    enum { WORDS_MAX = 100 }; /* bytes */
    cf_str s = persons_part(text);
    if (s.n > WORDS_MAX) {
        s.n = WORDS_MAX - cf_utf8_incomplete_tail(s.p, WORDS_MAX);
    }
    for (size_t i = 0; i < s.n; i++) {
        cf_buf_addc(out, cf_is_blank(s.p[i]) ? ' ' : s.p[i]);
    }
    return s.n != 0;
}

void cf_person_text(cf_buf *out, const json_t *messages)
{
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i), *content = json_object_get(m, "content");
        bool is_user = cf_str_is(cf_json_get_str(m, "role"), "user");
        if (is_user && json_is_string(content) && put_words(out, cf_json_get_str(m, "content"))) {
            return;
        }
        for (size_t k = 0; is_user && k < json_array_size(content); k++) {
            if (put_words(out, cf_json_get_str(json_array_get(content, k), "text"))) {
                return;
            }
        }
    }
}
