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

#include "core/api/message_form.h"
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
    bool found = json.n > 2 && holds(prompt, cf_str_make(json.p + 1, json.n - 2));
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

static const char added[] = "added by confab";

bool cf_prompt_span_is_added(const cf_prompt_span *span)
{
    size_t n = sizeof added - 1;
    return span->path.n > n && memcmp(span->path.p, added, n) == 0;
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

bool cf_prompt_has(const cf_prompt *p, cf_span_source source, size_t i, cf_str text)
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
        bool is_open = s->source == CF_SPAN_COMPUTED ||
                       (s->source == CF_SPAN_VARIABLE &&
                        (source == CF_SPAN_TOOL || !cf_prompt_span_is_added(s)));
        if ((is_own || is_open) && is_in(cf_str_make(p->text.p + s->off, s->len), text)) {
            return true;
        }
    }
    return false;
}

/* Whether the template wrote a mark for an image, a sound or a film. */
static bool has_media_mark(const cf_prompt *p)
{
    static const char *const marks[] = {"image", "img", "IMG", "audio", "video"};
    for (size_t k = 0; k < p->n_spans; k++) {
        const cf_prompt_span *s = &p->spans[k];
        cf_str text = cf_str_make(p->text.p + s->off, s->len);
        for (size_t i = 0; s->source == CF_SPAN_TEMPLATE && i < sizeof marks / sizeof *marks; i++) {
            if (holds(text, cf_str_from(marks[i]))) {
                return true;
            }
        }
    }
    return false;
}

/* A search for losses. */
typedef struct search {
    const cf_prompt *prompt;
    cf_loss_fn fn;
    void *ud;
    cf_buf line;
    cf_status st;
} search;

/* Reports the line that was begun, with `what` at its end. */
static void tell(search *s, cf_loss_kind kind, size_t index, const char *what)
{
    cf_buf_adds(&s->line, what);
    if (s->line.failed) {
        s->st = CF_ENOMEM;
        return;
    }
    const cf_loss loss = {kind, index, cf_buf_str(&s->line)};
    s->fn(s->ud, &loss);
}

/* Begins a line about message i. */
static void begin(search *s, size_t i)
{
    cf_buf_reset(&s->line);
    cf_buf_addf(&s->line, "message %zu", i + 1);
}

/* A name from outside on one line. */
static void add_name(search *s, cf_str name)
{
    if (name.n > 0) {
        cf_safe_line(&s->line, name.p, name.n);
    }
}

static void check_part(search *s, const json_t *part, size_t i, size_t k)
{
    char field[40];
    cf_str type = cf_json_get_str(part, "type");
    cf_str text = cf_json_get_str(part, "text");
    snprintf(field, sizeof field, ".content[%zu]", k);
    bool is_whole = has_bytes(s->prompt, i, field) ||
                    (text.p != NULL ? cf_prompt_has(s->prompt, CF_SPAN_MESSAGE, i, text)
                                    : cf_str_is(type, "text") || has_media_mark(s->prompt));
    if (!is_whole) {
        begin(s, i);
        cf_buf_addf(&s->line, ": part %zu (", k + 1);
        add_name(s, type);
        tell(s, CF_LOSS_PART, i, ") is lost, the prompt has nothing of it");
    }
}

static void check_content(search *s, const json_t *m, size_t i)
{
    const json_t *content = json_object_get(m, "content");
    cf_str role = cf_json_get_str(m, "role");
    cf_str text = cf_json_get_str(m, "content");
    bool is_result = cf_str_is(role, "tool");
    if (json_is_string(content) && !has_bytes(s->prompt, i, ".content") &&
        !cf_prompt_has(s->prompt, CF_SPAN_MESSAGE, i, text)) {
        begin(s, i);
        cf_buf_adds(&s->line, " (");
        add_name(s, role);
        tell(s, is_result ? CF_LOSS_RESULT : CF_LOSS_MESSAGE, i,
             is_result ? "): the result is lost, the template does not write it"
                       : ") is lost: the template does not write it");
    }
    for (size_t k = 0; k < json_array_size(content); k++) {
        check_part(s, json_array_get(content, k), i, k);
    }
}

/* A call's or a tool's name: in "function", or beside it. */
static cf_str function_name(const json_t *o)
{
    const json_t *function = json_object_get(o, "function");
    return cf_json_get_str(function != NULL ? function : o, "name");
}

static void check_message(search *s, const json_t *m, size_t i)
{
    static const struct {
        const char *key, *path, *what;
        cf_loss_kind kind;
    } fields[] = {{"reasoning_content", ".reasoning_content",
                   ": its reasoning is lost, the template does not write it", CF_LOSS_REASONING},
                  {"refusal", ".refusal", ": its refusal is lost, the template does not write it",
                   CF_LOSS_REFUSAL}};
    check_content(s, m, i);
    for (size_t k = 0; k < 2; k++) {
        if (!has_bytes(s->prompt, i, fields[k].path) &&
            !cf_prompt_has(s->prompt, CF_SPAN_MESSAGE, i, cf_json_get_str(m, fields[k].key))) {
            begin(s, i);
            tell(s, fields[k].kind, i, fields[k].what);
        }
    }
    const json_t *calls = json_object_get(m, "tool_calls");
    for (size_t k = 0; k < json_array_size(calls); k++) {
        cf_str name = function_name(json_array_get(calls, k));
        if (!cf_prompt_has(s->prompt, CF_SPAN_MESSAGE, i, name)) {
            begin(s, i);
            cf_buf_adds(&s->line, ": its call of ");
            add_name(s, name);
            tell(s, CF_LOSS_CALL, i, " is lost, the template does not write it");
        }
    }
}

static void check_tools(search *s, const json_t *tools)
{
    for (size_t i = 0; i < json_array_size(tools); i++) {
        cf_str name = function_name(json_array_get(tools, i));
        if (!cf_prompt_has(s->prompt, CF_SPAN_TOOL, i, name)) {
            cf_buf_reset(&s->line);
            cf_buf_adds(&s->line, "tool ");
            add_name(s, name);
            tell(s, CF_LOSS_TOOL, i, " is lost: the template does not write its declaration");
        }
    }
}

cf_status cf_prompt_each_loss(const cf_prompt *prompt, const json_t *messages, const json_t *tools,
                              cf_loss_fn fn, void *ud, cf_error *err)
{
    search s = {.prompt = prompt, .fn = fn, .ud = ud};
    json_t *formed = NULL;
    cf_buf places = CF_BUF_INIT;
    cf_status st = cf_messages_form(&formed, &places, messages, err);
    for (size_t i = 0; st == CF_OK && i < json_array_size(formed); i++) {
        uint32_t place;
        memcpy(&place, places.p + i * sizeof place, sizeof place);
        check_message(&s, json_array_get(formed, i), place);
    }
    if (st == CF_OK) {
        check_tools(&s, tools);
    }
    json_decref(formed);
    cf_buf_deinit(&places);
    cf_buf_deinit(&s.line);
    CF_TRY(st);
    return s.st == CF_OK ? CF_OK : cf_oom_for(err, "the losses");
}

static void add_line(void *ud, const cf_loss *loss)
{
    cf_buf *out = ud;
    cf_buf_add(out, loss->line.p, loss->line.n);
    cf_buf_addc(out, '\n');
}

cf_status cf_prompt_losses(const cf_prompt *prompt, const json_t *messages, const json_t *tools,
                           cf_buf *out, cf_error *err)
{
    CF_TRY(cf_prompt_each_loss(prompt, messages, tools, add_line, out, err));
    return cf_buf_check(out, err);
}

cf_status cf_conversation_losses(const cf_conversation *conv, const cf_send *send,
                                 const cf_prompt *prompt, cf_loss_fn fn, void *ud, cf_error *err)
{
    cf_conversation__request q;
    json_t *list;
    cf_uuid parent;
    CF_TRY(cf_conversation__plan(&list, &parent, conv, send, err));
    cf_status st = cf_conversation__request_init(&q, conv, parent, list, send, err);
    json_decref(list);
    CF_TRY(st);
    json_t *tools = q.request.tools != NULL ? cf_tool_set_openai(q.request.tools) : json_array();
    st = tools != NULL ? cf_prompt_each_loss(prompt, q.messages, tools, fn, ud, err) : cf_oom(err);
    json_decref(tools);
    cf_conversation__request_deinit(&q);
    return st;
}
