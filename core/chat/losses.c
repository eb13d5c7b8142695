/*
 * losses.c - finds the messages and tools that are not in a prompt.
 *
 * By the text: the beginning of every message, the names of tools and calls,
 * as they are or as JSON spells them.  A template may trim, so only the first
 * words count.  A prompt with spans is searched only where the message or tool
 * was written, so that equal words elsewhere do not hide a loss.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/safe_text.h"
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

/* Whether `path` is `field` or lies in it: ".content[1]" holds
 * ".content[1].text", not ".content[10]". */
static bool is_inside(cf_str path, const char *field)
{
    size_t n = strlen(field);
    return path.n >= n && memcmp(path.p, field, n) == 0 &&
           (path.n == n || path.p[n] == '.' || path.p[n] == '[');
}

/* Whether message i wrote any byte of the field. */
static bool has_bytes(const cf_prompt *p, size_t i, const char *field)
{
    for (size_t k = 0; k < p->n_spans; k++) {
        const cf_prompt_span *s = &p->spans[k];
        if (s->source == CF_SPAN_MESSAGE && s->index == i && s->len > 0 &&
            is_inside(s->path, field)) {
            return true;
        }
    }
    return false;
}

bool cf_prompt_has(const cf_prompt *p, cf_span_source source, size_t i,
                   cf_str text)
{
    if (p->n_spans == 0) {
        return is_in(p->text, text);
    }
    if (first_words(text).n == 0) {
        return true;
    }
    for (size_t k = 0; k < p->n_spans; k++) {
        const cf_prompt_span *s = &p->spans[k];
        bool is_own = s->source == source && s->index == i;
        if ((is_own || s->source == CF_SPAN_COMPUTED ||
             s->source == CF_SPAN_VARIABLE) &&
            is_in(cf_str_make(p->text.p + s->off, s->len), text)) {
            return true;
        }
    }
    return false;
}

/* Whether the template wrote a mark for an image, a sound or a film. */
static bool has_media_mark(const cf_prompt *p)
{
    static const char *const marks[] = {"image", "img", "IMG", "audio",
                                        "video"};
    for (size_t k = 0; k < p->n_spans; k++) {
        const cf_prompt_span *s = &p->spans[k];
        cf_str text = cf_str_make(p->text.p + s->off, s->len);
        for (size_t i = 0;
             s->source == CF_SPAN_TEMPLATE && i < sizeof marks / sizeof *marks;
             i++) {
            if (holds(text, cf_str_from(marks[i]))) {
                return true;
            }
        }
    }
    return false;
}

/* A name from outside on one line. */
static void add_name(cf_buf *out, cf_str name)
{
    if (name.n > 0) {
        cf_safe_line(out, name.p, name.n);
    }
}

static void check_part(cf_buf *out, const json_t *part, size_t i, size_t k,
                       const cf_prompt *prompt)
{
    char field[40];
    cf_str type = cf_json_get_str(part, "type");
    cf_str text = cf_json_get_str(part, "text");
    snprintf(field, sizeof field, ".content[%zu]", k);
    bool is_whole =
        has_bytes(prompt, i, field) ||
        (text.p != NULL ? cf_prompt_has(prompt, CF_SPAN_MESSAGE, i, text)
                        : cf_str_is(type, "text") || has_media_mark(prompt));
    if (!is_whole) {
        cf_buf_addf(out, "message %zu: part %zu (", i + 1, k + 1);
        add_name(out, type);
        cf_buf_adds(out, ") is lost, the prompt has nothing of it\n");
    }
}

static void check_content(cf_buf *out, const json_t *m, size_t i,
                          const cf_prompt *prompt)
{
    const json_t *content = json_object_get(m, "content");
    cf_str role = cf_json_get_str(m, "role");
    cf_str text = cf_json_get_str(m, "content");
    bool is_result = cf_str_is(role, "tool");
    if (json_is_string(content) && !has_bytes(prompt, i, ".content") &&
        !cf_prompt_has(prompt, CF_SPAN_MESSAGE, i, text)) {
        cf_buf_addf(out, "message %zu (", i + 1);
        add_name(out, role);
        cf_buf_adds(
            out, is_result
                     ? "): the result is lost, the template does not write it\n"
                     : ") is lost: the template does not write it\n");
    }
    for (size_t k = 0; k < json_array_size(content); k++) {
        check_part(out, json_array_get(content, k), i, k, prompt);
    }
}

/* A call's or a tool's name: in "function", or beside it. */
static cf_str function_name(const json_t *o)
{
    const json_t *function = json_object_get(o, "function");
    return cf_json_get_str(function != NULL ? function : o, "name");
}

static void check_message(cf_buf *out, const json_t *m, size_t i,
                          const cf_prompt *prompt)
{
    static const char *const fields[][3] = {
        {"reasoning_content", ".reasoning_content", "reasoning"},
        {"refusal", ".refusal", "refusal"}};
    check_content(out, m, i, prompt);
    for (size_t k = 0; k < 2; k++) {
        if (!has_bytes(prompt, i, fields[k][1]) &&
            !cf_prompt_has(prompt, CF_SPAN_MESSAGE, i,
                           cf_json_get_str(m, fields[k][0]))) {
            cf_buf_addf(out,
                        "message %zu: its %s is lost, the template does not "
                        "write it\n",
                        i + 1, fields[k][2]);
        }
    }
    const json_t *calls = json_object_get(m, "tool_calls");
    for (size_t k = 0; k < json_array_size(calls); k++) {
        cf_str name = function_name(json_array_get(calls, k));
        if (!cf_prompt_has(prompt, CF_SPAN_MESSAGE, i, name)) {
            cf_buf_addf(out, "message %zu: its call of ", i + 1);
            add_name(out, name);
            cf_buf_adds(out, " is lost, the template does not write it\n");
        }
    }
}

cf_status cf_prompt_losses(const cf_prompt *prompt, const json_t *messages,
                           const json_t *tools, cf_buf *out, cf_error *err)
{
    for (size_t i = 0; i < json_array_size(messages); i++) {
        check_message(out, json_array_get(messages, i), i, prompt);
    }
    for (size_t i = 0; i < json_array_size(tools); i++) {
        cf_str name = function_name(json_array_get(tools, i));
        if (!cf_prompt_has(prompt, CF_SPAN_TOOL, i, name)) {
            cf_buf_adds(out, "tool ");
            add_name(out, name);
            cf_buf_adds(out, " is lost: the template does not write its "
                             "declaration\n");
        }
    }
    return cf_buf_check(out, err);
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
    json_t *tools = q.request.tools != NULL
                        ? cf_tool_set_openai(q.request.tools)
                        : json_array();
    /* Without spans: shaping moves fields, and what it adds is computed. */
    const cf_prompt text = {.text = prompt};
    st = tools != NULL ? cf_prompt_losses(&text, q.messages, tools, out, err)
                       : cf_oom(err);
    json_decref(tools);
    cf_conversation__request_deinit(&q);
    return st;
}
