/*
 * bisect_items.c - messages taken apart into lines, and put together again.
 */
#include "tui/study/shrink/bisect_items.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/json/json_builder.h"

enum { LINE = 'l', MESSAGE = 'm', TOOL = 't', VARIABLE = 'v' };

cf_status cf_bisect_items_split(cf_bisect_items *it, cf_error *err)
{
    size_t cap = 0, n;
    CF_TRY(cf_buf_check(&it->text, err));
    for (size_t at = 0; at < it->text.n; at += n + 1) {
        const char *p = it->text.p + at;
        const char *end = memchr(p, '\n', it->text.n - at);
        n = end != NULL ? (size_t)(end - p) : it->text.n - at;
        if (!cf_grow(&it->v, &cap, it->n + 1, sizeof *it->v)) {
            return cf_oom_for(err, "the versions");
        }
        it->v[it->n++] = cf_str_make(p, n);
    }
    return CF_OK;
}

void cf_bisect_items_deinit(cf_bisect_items *it)
{
    cf_buf_deinit(&it->text);
    cf_free(it->v);
    *it = (cf_bisect_items){.n = 0};
}

/* ---- taking apart ------------------------------------------------------- */

static void put_item(cf_buf *out, char letter, const json_t *v)
{
    cf_buf_addc(out, letter);
    cf_json_write(out, v);
    cf_buf_addc(out, '\n');
}

static cf_status put_message(cf_buf *out, const json_t *message, cf_error *err)
{
    const json_t *content = json_object_get(message, "content");
    if (!json_is_string(content)) {
        put_item(out, MESSAGE, message);
        return CF_OK;
    }
    json_t *head = cf_json_copy(message);
    if (head == NULL) {
        return cf_oom_for(err, "the versions");
    }
    (void)json_object_del(head, "content");
    put_item(out, CF_BISECT_HEAD, head);
    json_decref(head);
    const char *p = json_string_value(content), *end = p + json_string_length(content);
    for (const char *next; p != NULL; p = next) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        next = stop != NULL ? stop + 1 : NULL;
        cf_buf_addc(out, LINE);
        cf_json_write_str(out, cf_str_make(p, (size_t)((stop != NULL ? stop : end) - p)));
        cf_buf_addc(out, '\n');
    }
    return CF_OK;
}

cf_status cf_bisect_items_of(cf_bisect_items *out, const cf_part_context *context, cf_error *err)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < json_array_size(context->messages); i++) {
        CF_TRY(put_message(&out->text, json_array_get(context->messages, i), err));
    }
    for (size_t i = 0; i < json_array_size(context->tools); i++) {
        put_item(&out->text, TOOL, json_array_get(context->tools, i));
    }
    json_object_foreach(cf_json_ref(context->extra), key, value)
    {
        json_t *pair = json_pack("{s:O}", key, value);
        if (pair == NULL) {
            return cf_oom_for(err, "the versions");
        }
        put_item(&out->text, VARIABLE, pair);
        json_decref(pair);
    }
    return cf_bisect_items_split(out, err);
}

/* ---- putting together --------------------------------------------------- */

typedef struct maker {
    json_t *messages, *tools, *context;
    json_t *open; /* the message that lines belong to; borrowed, NULL: none */
    cf_buf content;
    size_t n_lines;
} maker;

/* Gives the open message its lines. */
static void close_message(maker *m, cf_jb *b)
{
    if (m->open != NULL) {
        cf_jb_open(b, m->open);
        cf_jb_buf(b, "content", &m->content);
        cf_jb_end(b);
    }
    cf_buf_reset(&m->content);
    m->n_lines = 0;
    m->open = NULL;
}

static cf_status take_item(maker *m, cf_jb *b, cf_str item, cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_json_read(&v, item.p + 1, item.n - 1, err));
    if (item.p[0] == LINE) {
        cf_buf_adds(&m->content, m->n_lines++ > 0 ? "\n" : "");
        cf_buf_add(&m->content, json_string_value(v), json_string_length(v));
        json_decref(v);
        return CF_OK;
    }
    close_message(m, b);
    switch (item.p[0]) {
    case CF_BISECT_HEAD:
    case MESSAGE:
        cf_jb_append(b, m->messages, v);
        m->open = item.p[0] == CF_BISECT_HEAD && !b->failed ? v : NULL;
        return CF_OK;
    case TOOL:
        cf_jb_append(b, m->tools, v);
        return CF_OK;
    default:
        break;
    }
    bool ok = json_object_update(m->context, v) == 0;
    json_decref(v);
    return ok ? CF_OK : cf_oom_for(err, "the versions");
}

cf_status cf_bisect_items_context(const cf_str *v, size_t n, json_t **out, cf_error *err)
{
    cf_jb b = CF_JB_INIT;
    maker m = {.messages = json_array(), .tools = json_array(), .context = json_object()};
    cf_status st = m.messages != NULL && m.tools != NULL && m.context != NULL
                       ? CF_OK
                       : cf_oom_for(err, "the versions");
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = take_item(&m, &b, v[i], err);
    }
    if (st == CF_OK) {
        close_message(&m, &b);
        cf_jb_set(&b, m.context, "messages", json_incref(m.messages));
        if (json_array_size(m.tools) > 0) {
            cf_jb_set(&b, m.context, "tools", json_incref(m.tools));
        }
        if (json_object_get(m.context, "add_generation_prompt") == NULL) {
            cf_jb_set(&b, m.context, "add_generation_prompt", json_true());
        }
        st = cf_jb_check(&b, err);
    }
    cf_jb_deinit(&b);
    cf_buf_deinit(&m.content);
    json_decref(m.messages);
    json_decref(m.tools);
    if (st != CF_OK) {
        json_decref(m.context);
        return st;
    }
    *out = m.context;
    return CF_OK;
}

/* ---- places ------------------------------------------------------------- */

static bool is_line(const cf_bisect_items *it, size_t i)
{
    return i < it->n && it->v[i].p[0] == LINE;
}

cf_bisect_place cf_bisect_items_place(const cf_bisect_items *it, size_t i)
{
    cf_bisect_place p = {.is_line = is_line(it, i)};
    size_t head = i;
    while (p.is_line && head > 0 && is_line(it, head)) {
        head--;
    }
    for (size_t k = 0; k < head && k < it->n; k++) {
        p.part += !is_line(it, k);
    }
    p.line = p.is_line ? i - head - 1 : 0;
    p.is_whole = p.is_line && p.line == 0 && !is_line(it, i + 1);
    return p;
}

cf_status cf_bisect_items_put(cf_buf *out, const cf_bisect_items *it, size_t i, cf_error *err)
{
    const cf_bisect_place at = cf_bisect_items_place(it, i);
    size_t first = at.is_whole ? i - 1 : i, n = 1;
    if (it->v[first].p[0] != CF_BISECT_HEAD) {
        cf_buf_add(out, it->v[i].p + 1, it->v[i].n - 1);
        return CF_OK;
    }
    while (is_line(it, first + n)) {
        n++;
    }
    json_t *context = NULL;
    CF_TRY(cf_bisect_items_context(it->v + first, n, &context, err));
    cf_json_write(out, json_array_get(json_object_get(context, "messages"), 0));
    json_decref(context);
    return CF_OK;
}
