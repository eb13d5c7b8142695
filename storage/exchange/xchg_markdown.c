/*
 * xchg_markdown.c - a branch as Markdown, to read.
 *
 * Text of models and tools is not escaped: it is Markdown more often than
 * not.  Control characters are escaped, so that showing the file in a
 * terminal is harmless, and fences are longer than any run of their character
 * inside.
 */
#include <string.h>

#include "core/base/os.h"
#include "core/base/safe_text.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"

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
    if (s.n == 0 || s.p[s.n - 1] != '\n') {
        cf_buf_addc(out, '\n');
    }
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

static void put_front(cf_buf *out, const cf_store_tree *tree, const size_t *at,
                      size_t n)
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
            cf_buf_addf(out, "options: %.*s\n", (int)r->options.n,
                        r->options.p);
        }
        break;
    }
    cf_buf_adds(out, "---\n\n");
}

static void put_calls(cf_buf *out, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *f = json_object_get(json_array_get(calls, i), "function");
        f = json_is_object(f) ? f : json_array_get(calls, i);
        const json_t *args = json_object_get(f, "arguments");
        cf_buf b = CF_BUF_INIT;
        cf_buf_adds(out, "Call of ");
        put_safe(out, cf_json_get_str(f, "name"));
        cf_buf_adds(out, ":\n\n");
        if (json_is_string(args)) {
            cf_str s = cf_xchg__str(args);
            cf_buf_add(&b, s.p, s.n);
        } else {
            cf_json_write(&b, args);
        }
        put_fence(out, "json", cf_buf_str(&b));
        out->failed = out->failed || b.failed;
        cf_buf_deinit(&b);
    }
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

static cf_status put_turn(cf_buf *out, const cf_store_turn *t, cf_error *err)
{
    json_t *m;
    CF_TRY(cf_xchg__message(&m, t, err));
    cf_str role = cf_json_get_str(m, "role");
    cf_str thought = cf_json_get_str(m, "reasoning_content");
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, t->id);
    cf_buf_addf(out, "## %u ", t->ordinal);
    cf_safe_line(out, role.p != NULL ? role.p : "", role.n);
    if (t->status != CF_TURN_OK && t->status != CF_TURN_IMPORTED) {
        cf_buf_addf(out, " (%s)", cf_turn_status_name(t->status));
    }
    cf_buf_addf(out, "\n\n<!-- %s -->\n\n", text);
    if (thought.n != 0) {
        cf_buf_adds(out, "Reasoning:\n\n");
        put_fence(out, "text", thought);
    }
    cf_buf body = CF_BUF_INIT;
    cf_xchg__text(&body, m);
    cf_str s = cf_buf_str(&body);
    if (cf_msg__is_tool_role(role)) {
        put_fence(out, "", s);
    } else if (s.n != 0) {
        put_safe(out, s);
        cf_buf_adds(out, "\n\n");
    }
    put_calls(out, json_object_get(m, "tool_calls"));
    if (t->run != NULL && has_parse_error(t)) {
        cf_buf_adds(out, "Raw reply:\n\n");
        put_fence(out, "text", t->run->raw);
    }
    if (t->note.n != 0) {
        cf_buf_adds(out, "> ");
        cf_safe_line(out, t->note.p, t->note.n);
        cf_buf_adds(out, "\n\n");
    }
    out->failed = out->failed || body.failed;
    cf_buf_deinit(&body);
    json_decref(m);
    return CF_OK;
}

cf_status cf_write_markdown(const cf_store_tree *tree, const size_t *at,
                            size_t n, cf_buf *out, cf_error *err)
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
