/*
 * xchg_llama_app.c - llama.cpp's web interface: a "session" line and then one
 * "message" line for each message of the tree.
 *
 * The tree is in each message's "parent"; the order of lines does not matter,
 * and the first message ("type":"root") is empty, the parent of the others.
 * Images and audio are in "extra"; here they are parts of the content.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"

/* ---- reading ------------------------------------------------------------ */

/* Moves images and audio of "extra" into parts; the others stay in `left`. */
static bool take_extra(const json_t *extra, json_t *parts, json_t *left)
{
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(extra); i++) {
        json_t *e = json_array_get(extra, i);
        cf_str type = cf_json_get_str(e, "type");
        json_t *name = json_object_get(e, "name");
        json_t *url = json_object_get(e, "base64Url");
        json_t *data = json_object_get(e, "base64Data");
        if ((cf_str_is(type, "IMAGE") || cf_str_is(type, "imageFile")) &&
            json_is_string(url)) {
            ok = json_array_append_new(
                     parts, json_pack("{s:s,s:{s:O},s:O*}", "type", "image_url",
                                      "image_url", "url", url, "name", name)) ==
                 0;
        } else if (cf_str_is(type, "AUDIO") && json_is_string(data)) {
            ok = json_array_append_new(
                     parts, json_pack("{s:s,s:O,s:O*,s:O*}", "type", "audio",
                                      "blob", data, "mime_type",
                                      json_object_get(e, "mimeType"), "name",
                                      name)) == 0;
        } else {
            ok = json_array_append(left, e) == 0;
        }
    }
    return ok;
}

static json_t *content_of(const json_t *in, json_t *parts)
{
    cf_str text = cf_json_get_str(in, "content");
    json_t *s = json_stringn(text.p != NULL ? text.p : "", text.n);
    if (json_array_size(parts) == 0) {
        return s;
    }
    if (text.n != 0) {
        json_t *part = json_pack("{s:s,s:O?}", "type", "text", "text", s);
        if (json_array_insert_new(parts, 0, part) != 0) {
            parts = NULL;
        }
    }
    json_decref(s);
    return json_incref(parts);
}

/* "toolCalls" is a list in files and a string of one inside the program. */
static json_t *calls_of(const json_t *in)
{
    json_t *calls = json_object_get(in, "toolCalls");
    cf_str s = cf_xchg__str(calls);
    cf_error ignored;
    json_t *v;
    if (json_is_array(calls)) {
        return json_incref(calls);
    }
    if (s.n != 0 && cf_json_read(&v, s.p, s.n, &ignored) == CF_OK) {
        return v;
    }
    return NULL;
}

static json_t *message_of(const json_t *in)
{
    json_t *parts = json_array();
    json_t *left = json_array();
    json_t *m = NULL;
    if (parts != NULL && left != NULL &&
        take_extra(json_object_get(in, "extra"), parts, left)) {
        json_t *thought = json_object_get(in, "reasoningContent");
        if (!json_is_string(thought)) {
            thought = json_object_get(in, "thinking");
        }
        json_t *calls = calls_of(in);
        m = json_pack("{s:O?,s:o,s:O*,s:O*,s:O*,s:O*}", "role",
                      json_object_get(in, "role"), "content",
                      content_of(in, parts), "reasoning_content",
                      json_string_length(thought) != 0 ? thought : NULL,
                      "tool_calls", json_array_size(calls) != 0 ? calls : NULL,
                      "tool_call_id", json_object_get(in, "toolCallId"),
                      "extra", json_array_size(left) != 0 ? left : NULL);
        json_decref(calls);
    }
    json_decref(parts);
    json_decref(left);
    return m;
}

static int64_t ms_to_us(const json_t *v)
{
    double ms = json_number_value(v);
    return json_is_number(v) && ms >= 0 && ms < 1e12 ? (int64_t)(ms * 1000.0)
                                                     : -1;
}

static int64_t count_of(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0
               ? json_integer_value(v)
               : -1;
}

static const cf_store_run *run_of(cf_build *b, const json_t *in)
{
    const json_t *t = json_object_get(in, "timings");
    cf_str model = cf_json_get_str(in, "model");
    if (model.n == 0 && !json_is_object(t)) {
        return NULL;
    }
    cf_store_run *r = cf_arena_calloc(&b->arena, 1, sizeof *r);
    if (r != NULL) {
        *r = cf_store_run_none();
        r->engine = cf_str_from("llama.app");
        r->model = cf_build__str(b, model);
        r->n_kept = count_of(json_object_get(t, "cache_n"));
        r->n_new = count_of(json_object_get(t, "prompt_n"));
        r->n_reply = count_of(json_object_get(t, "predicted_n"));
        r->prefill_us = ms_to_us(json_object_get(t, "prompt_ms"));
        r->decode_us = ms_to_us(json_object_get(t, "predicted_ms"));
    }
    return r;
}

/* The scope of message ids that are not UUIDs: their conversation. */
static cf_str conv_name(const cf_import *im)
{
    return cf_str_make((const char *)im->cur->conv.id.b, 16);
}

static cf_status read_message(cf_import *im, const json_t *in, cf_error *err)
{
    cf_str id = cf_json_get_str(in, "id");
    cf_str parent = cf_json_get_str(in, "parent");
    cf_str role = cf_json_get_str(in, "role");
    if (id.n == 0 || role.n == 0) {
        return cf_fail(err, CF_EFORMAT, "a message without id or role");
    }
    cf_store_turn *t;
    CF_TRY(cf_build__say(im->cur, message_of(in), &t, err));
    cf_uuid nil = {{0}};
    t->id = cf_build__uuid(CF_FORMAT_LLAMA_APP, conv_name(im), id);
    t->parent = parent.n != 0
                    ? cf_build__uuid(CF_FORMAT_LLAMA_APP, conv_name(im), parent)
                    : nil;
    cf_uuid same;
    if (!cf_uuid_parse(&same, id.p, id.n)) {
        t->source = cf_build__source(im, id);
    }
    const json_t *at = json_object_get(in, "timestamp");
    t->created_ms = json_is_number(at) ? (int64_t)json_number_value(at) : 0;
    t->run = run_of(im->cur, in);
    return CF_OK;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const cf_store_turn *)a)->created_ms;
    int64_t y = ((const cf_store_turn *)b)->created_ms;
    return x != y ? (x > y) - (x < y)
                  : memcmp(((const cf_store_turn *)a)->id.b,
                           ((const cf_store_turn *)b)->id.b, 16);
}

/* The head is the newest message where the file names none it has. */
static void settle_head(cf_build *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (cf_uuid_eq(b->turns[i].id, b->conv.head)) {
            return;
        }
    }
    b->conv.head = b->n != 0 ? b->turns[b->n - 1].id : (cf_uuid){{0}};
}

static cf_status emit(cf_import *im, cf_error *err)
{
    cf_build *b = im->cur;
    if (b == NULL) {
        return CF_OK;
    }
    cf_error why;
    if (b->n != 0) {
        qsort(b->turns, b->n, sizeof *b->turns, by_time);
    }
    settle_head(b);
    cf_status st = cf_build__order(b, &why);
    if (st == CF_EFORMAT) {
        cf_import__bad(im, b->line, why.text);
        cf_build__drop(im);
        return CF_OK;
    }
    if (st != CF_OK) {
        *err = why;
        return st;
    }
    return cf_import__emit(im, err);
}

static cf_status read_session(cf_import *im, const json_t *v, uint64_t line,
                              cf_error *err)
{
    CF_TRY(cf_build__begin(im, line, err));
    cf_store_conv *c = &im->cur->conv;
    cf_str id = cf_json_get_str(v, "id");
    if (id.n == 0) {
        return cf_fail(err, CF_EFORMAT, "a session without id");
    }
    json_t *rest = json_copy(cf_json_ref(v));
    json_t *source =
        json_pack("{s:s,s:O?}", "format", "llama-app", "session", rest);
    if (rest != NULL) {
        (void)json_object_del(rest, "type");
        (void)json_object_del(rest, "name");
        (void)json_object_del(rest, "currNode");
    }
    c->source = cf_build__json(im->cur, source);
    json_decref(source);
    json_decref(rest);
    c->id = cf_build__uuid(CF_FORMAT_LLAMA_APP, cf_str_make(NULL, 0), id);
    c->title = cf_build__str(im->cur, cf_json_get_str(v, "name"));
    const json_t *at = json_object_get(v, "lastModified");
    c->updated_ms = json_is_number(at) ? (int64_t)json_number_value(at) : 0;
    cf_str head = cf_json_get_str(v, "currNode");
    if (head.n != 0) {
        c->head = cf_build__uuid(CF_FORMAT_LLAMA_APP, conv_name(im), head);
    }
    return CF_OK;
}

/* {"conv":{...},"messages":[...]}: the form before the lines. */
static cf_status read_old(cf_import *im, const json_t *v, uint64_t line,
                          cf_error *err)
{
    const json_t *list = json_object_get(v, "messages");
    CF_TRY(read_session(im, json_object_get(v, "conv"), line, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        if (!cf_str_is(cf_json_get_str(m, "type"), "root")) {
            CF_TRY(read_message(im, m, err));
        }
    }
    return emit(im, err);
}

static cf_status record(cf_import *im, const json_t *v, uint64_t line,
                        cf_error *err)
{
    cf_str type = cf_json_get_str(v, "type");
    cf_status st = CF_OK;
    if (json_object_get(v, "conv") != NULL) {
        return read_old(im, v, line, err);
    }
    if (cf_str_is(type, "session")) {
        CF_TRY(emit(im, err));
        im->is_broken = false;
        st = read_session(im, v, line, err);
    } else if (cf_str_is(type, "message") && !im->is_broken) {
        const json_t *m = json_object_get(v, "message");
        if (im->cur == NULL) {
            return cf_fail(err, CF_EFORMAT, "a message before any session");
        }
        if (!cf_str_is(cf_json_get_str(m, "type"), "root")) {
            st = read_message(im, m, err);
        }
    } else if (!json_is_object(v)) {
        st = cf_fail(err, CF_EFORMAT, "not a JSON object");
    }
    im->is_broken = im->is_broken || st == CF_EFORMAT;
    return st;
}

static void broken(cf_import *im)
{
    im->is_broken = true;
}

const cf_reader_format cf_read_llama_app = {record, broken, emit};

/* ---- writing ------------------------------------------------------------ */

static cf_uuid root_of(cf_uuid conv)
{
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, conv);
    return cf_build__uuid(CF_FORMAT_LLAMA_APP, cf_str_from(text),
                          cf_str_from("root"));
}

/* Content parts back into text and "extra". */
static void put_content(cf_jw *w, const json_t *m)
{
    const json_t *c = json_object_get(m, "content");
    const json_t *left = json_object_get(m, "extra");
    cf_buf text = CF_BUF_INIT;
    cf_xchg__text(&text, m);
    cf_jw_buf(w, "content", &text);
    cf_buf_deinit(&text);
    bool is_open = json_array_size(left) != 0;
    if (is_open) {
        cf_jw_array(w, "extra");
    }
    for (size_t i = 0; i < json_array_size(left); i++) {
        cf_jw_json(w, NULL, json_array_get(left, i));
    }
    for (size_t i = 0; json_is_array(c) && i < json_array_size(c); i++) {
        const json_t *p = json_array_get(c, i);
        cf_str url = cf_json_get_str(json_object_get(p, "image_url"), "url");
        cf_str blob = cf_json_get_str(p, "blob");
        if (url.n == 0 && blob.n == 0) {
            continue;
        }
        if (!is_open) {
            cf_jw_array(w, "extra");
            is_open = true;
        }
        cf_jw_object(w, NULL);
        cf_jw_text(w, "type", url.n != 0 ? "IMAGE" : "AUDIO");
        cf_jw_str(w, "name", cf_json_get_str(p, "name"));
        if (url.n != 0) {
            cf_jw_str(w, "base64Url", url);
        } else {
            cf_jw_str(w, "base64Data", blob);
            cf_jw_str(w, "mimeType", cf_json_get_str(p, "mime_type"));
        }
        cf_jw_end(w);
    }
    if (is_open) {
        cf_jw_end(w);
    }
}

static const char *role_out(cf_str role)
{
    return cf_msg__is_tool_role(role)     ? "tool"
           : cf_str_is(role, "user")      ? "user"
           : cf_str_is(role, "system")    ? "system"
           : cf_str_is(role, "developer") ? "system"
                                          : "assistant";
}

static void put_timings(cf_jw *w, const cf_store_run *r)
{
    if (r == NULL) {
        return;
    }
    const struct {
        const char *name;
        int64_t v;
        bool is_us;
    } fields[] = {{"cache_n", r->n_kept, false},
                  {"prompt_n", r->n_new, false},
                  {"predicted_n", r->n_reply, false},
                  {"prompt_ms", r->prefill_us, true},
                  {"predicted_ms", r->decode_us, true}};
    bool is_open = false;
    cf_jw_str(w, "model", r->model);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].v < 0) {
            continue;
        }
        if (!is_open) {
            cf_jw_object(w, "timings");
            is_open = true;
        }
        if (fields[i].is_us) {
            cf_jw_double(w, fields[i].name, (double)fields[i].v / 1000.0);
        } else {
            cf_jw_int(w, fields[i].name, fields[i].v);
        }
    }
    if (is_open) {
        cf_jw_end(w);
    }
}

/* First child and next sibling of every turn; index n is the root. */
typedef struct links {
    size_t *parent, *first, *last, *next;
} links;

static void put_children(cf_jw *w, const cf_store_tree *tree, const links *l,
                         size_t i)
{
    cf_jw_array(w, "children");
    for (size_t k = l->first[i]; k != SIZE_MAX; k = l->next[k]) {
        cf_jw_uuid(w, NULL, tree->turns[k].id);
    }
    cf_jw_end(w);
}

/* A message is an object in an object, on its own line. */
static void begin_message(cf_jw *w, cf_buf *out, cf_uuid id, cf_uuid conv)
{
    cf_jw_init(w, out);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "type", "message");
    cf_jw_object(w, "message");
    cf_jw_uuid(w, "id", id);
    cf_jw_uuid(w, "convId", conv);
}

static cf_status end_message(cf_jw *w, cf_error *err)
{
    cf_jw_end(w);
    cf_jw_end(w);
    cf_buf_addc(w->out, '\n');
    return cf_jw_finish(w, err);
}

static cf_status put_message(cf_buf *out, const cf_store_tree *tree,
                             const links *l, size_t i, cf_error *err)
{
    const cf_store_turn *t = &tree->turns[i];
    json_t *m;
    CF_TRY(cf_xchg__message(&m, t, err));
    cf_str role = cf_json_get_str(m, "role");
    const json_t *calls = json_object_get(m, "tool_calls");
    const json_t *thought = json_object_get(m, "reasoning_content");
    const json_t *call_id = json_object_get(m, "tool_call_id");
    cf_jw w;
    begin_message(&w, out, t->id, tree->conv.id);
    cf_jw_text(&w, "type", cf_str_is(role, "system") ? "system" : "text");
    cf_jw_int(&w, "timestamp", t->created_ms);
    cf_jw_text(&w, "role", role_out(role));
    put_content(&w, m);
    cf_jw_uuid(&w, "parent",
               l->parent[i] != SIZE_MAX ? tree->turns[l->parent[i]].id
                                        : root_of(tree->conv.id));
    put_children(&w, tree, l, i);
    if (json_is_string(thought)) {
        cf_jw_json(&w, "reasoningContent", thought);
    }
    if (json_array_size(calls) != 0) {
        cf_jw_json(&w, "toolCalls", calls);
    }
    if (json_is_string(call_id)) {
        cf_jw_json(&w, "toolCallId", call_id);
    }
    put_timings(&w, t->run);
    json_decref(m);
    return end_message(&w, err);
}

static void link_up(const cf_store_tree *tree, links *l)
{
    for (size_t i = 0; i <= tree->n; i++) {
        l->first[i] = l->last[i] = l->next[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < tree->n; i++) {
        size_t p = l->parent[i] != SIZE_MAX ? l->parent[i] : tree->n;
        if (l->first[p] == SIZE_MAX) {
            l->first[p] = i;
        } else {
            l->next[l->last[p]] = i;
        }
        l->last[p] = i;
    }
}

static cf_status put_session(cf_buf *out, const cf_store_tree *tree,
                             cf_error *err)
{
    const cf_store_conv *c = &tree->conv;
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "type", "session");
    cf_jw_text(&w, "harness", "llama.app");
    cf_jw_uuid(&w, "id", c->id);
    cf_jw_str(&w, "name", c->title.n != 0 ? c->title : c->preview);
    cf_jw_int(&w, "lastModified", c->updated_ms);
    if (!cf_uuid_is_nil(c->head)) {
        cf_jw_uuid(&w, "currNode", c->head);
    }
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}

static cf_status put_root(cf_buf *out, const cf_store_tree *tree,
                          const links *l, cf_error *err)
{
    cf_jw w;
    begin_message(&w, out, root_of(tree->conv.id), tree->conv.id);
    cf_jw_text(&w, "type", "root");
    cf_jw_int(&w, "timestamp", tree->conv.created_ms);
    cf_jw_text(&w, "role", "system");
    cf_jw_text(&w, "content", "");
    cf_jw_null(&w, "parent");
    put_children(&w, tree, l, tree->n);
    return end_message(&w, err);
}

static cf_status put_all(cf_buf *out, const cf_store_tree *tree, links *l,
                         cf_error *err)
{
    CF_TRY(cf_xchg__parents(tree->turns, tree->n, l->parent, err));
    link_up(tree, l);
    CF_TRY(put_session(out, tree, err));
    CF_TRY(put_root(out, tree, l, err));
    for (size_t i = 0; i < tree->n; i++) {
        CF_TRY(put_message(out, tree, l, i, err));
    }
    return CF_OK;
}

cf_status cf_write_llama_app(const cf_store_tree *tree, cf_buf *out,
                             cf_error *err)
{
    size_t n = tree->n + 1;
    links l = {cf_alloc(n * sizeof(size_t)), cf_alloc(n * sizeof(size_t)),
               cf_alloc(n * sizeof(size_t)), cf_alloc(n * sizeof(size_t))};
    cf_status st =
        l.parent == NULL || l.first == NULL || l.last == NULL || l.next == NULL
            ? cf_sql__oom(err)
            : put_all(out, tree, &l, err);
    cf_free(l.parent);
    cf_free(l.first);
    cf_free(l.last);
    cf_free(l.next);
    return st;
}
