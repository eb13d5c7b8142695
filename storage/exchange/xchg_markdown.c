/*
 * xchg_markdown.c - a branch as Markdown, to read; xchg_markdown_in.c reads it
 * back.
 *
 * A turn is a heading and a comment with its UUID.  Everything in it but text
 * begins with a comment that says what follows ("<!-- call {...} -->").  Text
 * of models and tools is not escaped: it is Markdown more often than not.
 * Only a line that could be taken for one of ours gets a backslash, and
 * control characters are escaped, so that showing the file in a terminal is
 * harmless.  Fences are longer than any run of their character inside.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_markdown.h"
#include "storage/exchange/xchg_media.h"

static void put_safe(cf_buf *out, cf_str s)
{
    cf_safe_text(out, s.p != NULL ? s.p : "", s.n);
}

static size_t longest_run(cf_str s, char c)
{
    size_t best = 0, run = 0;
    for (size_t i = 0; i < s.n; i++) {
        run = s.p[i] == c ? run + 1 : 0;
        best = run > best ? run : best;
    }
    return best;
}

static void put_fence(cf_buf *out, const char *info, cf_str s)
{
    size_t n = longest_run(s, '`') + 1;
    n = n > 3 ? n : 3;
    for (size_t i = 0; i < n; i++) {
        cf_buf_addc(out, '`');
    }
    cf_buf_addf(out, "%s\n", info);
    put_safe(out, s);
    cf_buf_addc(out, '\n'); /* always: so text that ends in one keeps it */
    for (size_t i = 0; i < n; i++) {
        cf_buf_addc(out, '`');
    }
    cf_buf_adds(out, "\n\n");
}

/* A YAML value: JSON strings are YAML. */
static void put_field(cf_buf *out, const char *key, cf_str s)
{
    if (s.n != 0) {
        cf_buf_addf(out, "%s: ", key);
        cf_json_write_str(out, s);
        cf_buf_addc(out, '\n');
    }
}

static void put_front(cf_buf *out, const cf_store_tree *tree, const size_t *at, size_t n)
{
    char text[CF_UUID_TEXT + 1];
    char time[25];
    const cf_store_conv *c = &tree->conv;
    cf_uuid_format(text, c->id);
    cf_os_format_time(time, c->created_ms);
    cf_buf_adds(out, "---\n");
    put_field(out, "uuid", cf_str_from(text));
    put_field(out, "title", c->title);
    put_field(out, "created", cf_str_from(time));
    for (size_t i = 0; i < c->n_tags; i++) {
        cf_buf_adds(out, i == 0 ? "tags: [" : ", ");
        cf_json_write_str(out, c->tags[i]);
    }
    cf_buf_adds(out, c->n_tags != 0 ? "]\n" : "");
    for (size_t i = n; i > 0; i--) {
        const cf_store_run *r = tree->turns[at[i - 1]].run;
        if (r == NULL) {
            continue;
        }
        put_field(out, "model", r->model);
        put_field(out, "model_hash", r->model_hash);
        put_field(out, "template", r->template_hash);
        if (r->has_seed) {
            cf_buf_addf(out, "seed: %llu\n", (unsigned long long)r->seed);
        }
        if (r->options.n != 0) {
            cf_buf_addf(out, "options: %.*s\n", (int)r->options.n, r->options.p);
        }
        break;
    }
    cf_buf_adds(out, "---\n\n");
}

/* "<!-- word {...} -->", the object only where it has members.  A '>' in it
 * is escaped: it could end the comment. */
static void put_mark(cf_buf *out, const char *word, const json_t *fields)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_addf(out, "<!-- %s", word);
    if (json_object_size(fields) != 0) {
        cf_json_write(&b, fields);
        cf_buf_addc(out, ' ');
    }
    for (size_t i = 0; i < b.n; i++) {
        if (b.p[i] == '>') {
            cf_buf_adds(out, "\\u003e");
        } else {
            cf_buf_addc(out, b.p[i]);
        }
    }
    out->failed = out->failed || b.failed;
    cf_buf_deinit(&b);
    cf_buf_adds(out, " -->\n\n");
}

/* Text as it is; a line of ours gets a backslash. */
static void put_body(cf_buf *out, cf_str s)
{
    cf_buf b = CF_BUF_INIT;
    size_t at = 0;
    while (at < s.n) {
        const char *end = memchr(s.p + at, '\n', s.n - at);
        size_t n = end != NULL ? (size_t)(end - s.p) + 1 - at : s.n - at;
        cf_str line = cf_str_make(s.p + at, n);
        at += n;
        cf_buf_adds(&b, cf_md__needs_escape(line) ? "\\" : "");
        cf_buf_add(&b, line.p, line.n);
    }
    put_safe(out, cf_buf_str(&b));
    out->failed = out->failed || b.failed;
    cf_buf_deinit(&b);
    cf_buf_adds(out, "\n\n");
}

static void put_call(cf_buf *out, const json_t *call)
{
    const json_t *f = json_object_get(call, "function");
    bool is_nested = json_is_object(f);
    f = is_nested ? f : call;
    const json_t *args = json_object_get(f, "arguments");
    json_t *rest = cf_json_copy(call);
    cf_buf b = CF_BUF_INIT;
    (void)json_object_del(rest, "function");
    if (!is_nested) {
        (void)json_object_del(rest, "name");
        (void)json_object_del(rest, "arguments");
    }
    put_mark(out, "call", rest);
    cf_buf_adds(out, "Call of ");
    cf_str name = cf_json_get_str(f, "name");
    cf_safe_line(out, name.p != NULL ? name.p : "", name.n);
    cf_buf_adds(out, ":\n\n");
    if (json_is_string(args)) {
        cf_str s = cf_xchg__str(args);
        cf_buf_add(&b, s.p, s.n);
    } else {
        cf_json_write(&b, args);
    }
    put_fence(out, json_is_string(args) ? "json string" : "json", cf_buf_str(&b));
    out->failed = out->failed || b.failed || rest == NULL;
    cf_buf_deinit(&b);
    json_decref(rest);
}

/* A picture, a link, or the JSON of a part that is neither. */
static void put_part(cf_buf *out, const json_t *part)
{
    cf_media_ref m;
    cf_buf b = CF_BUF_INIT;
    cf_str s = json_is_string(part) ? cf_xchg__str(part) : cf_json_get_str(part, "text");
    if (s.p != NULL) {
        put_mark(out, "text", NULL);
        put_body(out, s);
    } else if (cf_xmedia__get(&m, part)) {
        char kind[16];
        snprintf(kind, sizeof kind, "%.*s", (int)m.kind.n, m.kind.p);
        put_mark(out, kind, NULL);
        cf_buf_adds(out, cf_str_is(m.kind, "image") ? "![" : "[");
        cf_safe_line(out, m.name.p != NULL ? m.name.p : "", m.name.n);
        cf_buf_adds(out, "](");
        cf_xmedia__put_url(&b, &m);
        cf_safe_line(out, cf_buf_cstr(&b), b.n);
        cf_buf_adds(out, ")\n\n");
    } else {
        put_mark(out, "part", NULL);
        cf_json_write(&b, part);
        put_fence(out, "json", cf_buf_str(&b));
    }
    out->failed = out->failed || b.failed;
    cf_buf_deinit(&b);
}

static bool has_parse_error(const cf_store_turn *t)
{
    for (size_t i = 0; i < t->n_calls; i++) {
        if (t->calls[i].parse_error.n != 0) {
            return true;
        }
    }
    return false;
}

static void put_content(cf_buf *out, const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    cf_buf body = CF_BUF_INIT;
    cf_message_text(&body, m, "\n");
    cf_str s = cf_buf_str(&body);
    if (cf_msg__is_tool_role(cf_json_get_str(m, "role")) && !json_is_array(content)) {
        put_mark(out, "result", NULL);
        put_fence(out, "", s);
    } else if (json_is_array(content)) {
        for (size_t i = 0; i < json_array_size(content); i++) {
            put_part(out, json_array_get(content, i));
        }
    } else if (s.n != 0) {
        put_body(out, s);
    }
    out->failed = out->failed || body.failed;
    cf_buf_deinit(&body);
}

/* Fields that have no form of their own here. */
static void put_rest(cf_buf *out, const json_t *m)
{
    static const char *const shown[] = {"role", "content", "reasoning_content", "tool_calls"};
    json_t *rest = cf_json_copy(m);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        (void)json_object_del(rest, shown[i]);
    }
    if (json_object_size(rest) != 0) {
        put_mark(out, "fields", rest);
    }
    out->failed = out->failed || rest == NULL;
    json_decref(rest);
}

static void put_heading(cf_buf *out, const cf_store_turn *t, cf_str role)
{
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, t->id);
    cf_buf_addf(out, "## %u ", t->ordinal);
    cf_safe_line(out, role.p != NULL ? role.p : "", role.n);
    if (t->status != CF_TURN_OK && t->status != CF_TURN_IMPORTED) {
        cf_buf_addf(out, " (%s)", cf_turn_status_name(t->status));
    }
    cf_buf_adds(out, "\n\n");
    put_mark(out, text, NULL);
}

static cf_status put_turn(cf_buf *out, const cf_store_turn *t, cf_error *err)
{
    json_t *m;
    CF_TRY(cf_xchg__message(&m, t, err));
    cf_str thought = cf_json_get_str(m, "reasoning_content");
    const json_t *calls = json_object_get(m, "tool_calls");
    put_heading(out, t, cf_json_get_str(m, "role"));
    put_rest(out, m);
    if (thought.n != 0) {
        put_mark(out, "reasoning", NULL);
        cf_buf_adds(out, "Reasoning:\n\n");
        put_fence(out, "text", thought);
    }
    put_content(out, m);
    for (size_t i = 0; i < json_array_size(calls); i++) {
        put_call(out, json_array_get(calls, i));
    }
    if (t->run != NULL && has_parse_error(t)) {
        put_mark(out, "raw", NULL);
        cf_buf_adds(out, "Raw reply:\n\n");
        put_fence(out, "text", t->run->raw);
    }
    if (t->note.n != 0) {
        put_mark(out, "note", NULL);
        cf_buf_adds(out, "> ");
        cf_safe_line(out, t->note.p, t->note.n);
        cf_buf_adds(out, "\n\n");
    }
    json_decref(m);
    return CF_OK;
}

cf_status cf_md__write(const cf_store_tree *tree, const size_t *at, size_t n, cf_buf *out,
                       cf_error *err)
{
    put_front(out, tree, at, n);
    if (tree->conv.title.n != 0) {
        cf_buf_adds(out, "# ");
        cf_safe_line(out, tree->conv.title.p, tree->conv.title.n);
        cf_buf_adds(out, "\n\n");
    }
    for (size_t i = 0; i < n; i++) {
        CF_TRY(put_turn(out, &tree->turns[at[i]], err));
    }
    return CF_OK;
}
