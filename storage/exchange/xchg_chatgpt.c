/*
 * xchg_chatgpt.c - ChatGPT's export: a list of conversations, each a tree of
 * nodes in "mapping".
 *
 * Nodes without a message, and system messages without text, only hold
 * others together: their children hang on the next message above.  Citations,
 * recipients and other metadata are kept in the `source` of turn and
 * conversation.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_media.h"

static void add_line(cf_buf *b, cf_str s)
{
    if (s.n != 0) {
        cf_buf_adds(b, b->n != 0 ? "\n" : "");
        cf_buf_add(b, s.p, s.n);
    }
}

static json_t *text_json(cf_buf *b)
{
    json_t *v = cf_json_buf(b);
    cf_buf_deinit(b);
    return v;
}

/* One element of "parts" that is not a string. */
static json_t *part_of(json_t *p)
{
    cf_str type = cf_json_get_str(p, "content_type");
    json_t *asset = json_object_get(p, "asset_pointer");
    if (json_is_string(asset)) {
        return json_pack("{s:s,s:O,s:O}", "type",
                         cf_str_is(type, "audio_asset_pointer") ? "audio" : "image", "path", asset,
                         "chatgpt", p);
    }
    json_t *text = json_object_get(p, "text");
    if (json_is_string(text)) {
        return json_pack("{s:s,s:O}", "type", "text", "text", text);
    }
    return json_pack("{s:s,s:O}", "type", "other", "chatgpt", p);
}

static json_t *parts_content(const json_t *parts)
{
    bool all_text = true;
    cf_buf text = CF_BUF_INIT;
    cf_jb list = CF_JB_INIT;
    cf_jb_array(&list, NULL);
    for (size_t i = 0; i < json_array_size(parts); i++) {
        json_t *p = json_array_get(parts, i);
        all_text = all_text && json_is_string(p);
        add_line(&text, cf_xchg__str(p));
        if (!json_is_string(p)) {
            cf_jb_take(&list, NULL, part_of(p));
        } else if (json_string_length(p) != 0) {
            cf_jb_pack(&list, NULL, "{s:s,s:O}", "type", "text", "text", p);
        }
    }
    cf_jb_end(&list);
    json_t *v = text_json(&text);
    json_t *content = cf_jb_done(&list);
    json_decref(all_text ? content : v);
    return all_text ? v : content;
}

static json_t *thoughts_of(const json_t *content)
{
    const json_t *list = json_object_get(content, "thoughts");
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *t = json_array_get(list, i);
        add_line(&b, cf_json_get_str(t, "summary"));
        add_line(&b, cf_json_get_str(t, "content"));
    }
    add_line(&b, cf_json_get_str(content, "content"));
    return text_json(&b);
}

/* Text of the many content types that are not "parts". */
static json_t *other_content(const json_t *content)
{
    static const char *const keys[] = {
        "text",    "result", "user_profile", "user_instructions", "title", "model_set_context",
        "content", "url"};
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        add_line(&b, cf_json_get_str(content, keys[i]));
    }
    if (b.n == 0 && content != NULL) {
        cf_json_write(&b, content);
    }
    return text_json(&b);
}

static json_t *message_of(const json_t *in)
{
    const json_t *author = json_object_get(in, "author");
    const json_t *content = json_object_get(in, "content");
    cf_str type = cf_json_get_str(content, "content_type");
    cf_str to = cf_json_get_str(in, "recipient");
    json_t *role = json_object_get(author, "role");
    json_t *name = json_object_get(author, "name");
    bool is_thought = cf_str_is(type, "thoughts") || cf_str_is(type, "reasoning_recap");
    bool is_call = to.n != 0 && !cf_str_is(to, "all") && cf_str_is(cf_xchg__str(role), "assistant");
    const json_t *parts = json_object_get(content, "parts");
    json_t *text = is_thought                ? json_string("")
                   : json_is_array(parts)    ? parts_content(parts)
                   : json_is_string(content) ? json_incref(cf_json_ref(content))
                                             : other_content(content);
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_add(&b, "role", role);
    if (is_call && json_is_string(text)) {
        cf_jb_null(&b, "content");
        cf_jb_pack(&b, "tool_calls", "[{s:s,s:{s:o,s:o}}]", "type", "function", "function", "name",
                   cf_json_str(to), "arguments", text);
    } else {
        cf_jb_take(&b, "content", text);
    }
    if (is_thought) {
        cf_jb_take(&b, "reasoning_content", thoughts_of(content));
    }
    if (json_is_string(name)) {
        cf_jb_add(&b, "name", name);
    }
    cf_jb_end(&b);
    return cf_jb_done(&b);
}

/* A node that only holds others together. */
static bool is_hollow(const json_t *node)
{
    const json_t *m = json_object_get(node, "message");
    cf_str role = cf_json_get_str(json_object_get(m, "author"), "role");
    if (!json_is_object(m) || role.n == 0) {
        return true;
    }
    if (!cf_str_is(role, "system")) {
        return false;
    }
    const json_t *parts = json_object_get(json_object_get(m, "content"), "parts");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *p = json_array_get(parts, i);
        if (!json_is_string(p) || json_string_length(p) != 0) {
            return false;
        }
    }
    return json_is_array(parts);
}

/* The next message above; {NULL, 0}: none. */
static cf_str solid_parent(const json_t *mapping, cf_str at)
{
    size_t limit = json_object_size(mapping) + 1;
    for (size_t i = 0; at.n != 0 && i < limit; i++) {
        const json_t *node = json_object_getn(mapping, at.p, at.n);
        if (node == NULL) {
            break;
        }
        if (!is_hollow(node)) {
            return at;
        }
        at = cf_json_get_str(node, "parent");
    }
    return cf_str_make(NULL, 0);
}

/* Whether a part of the message is this attachment already. */
static bool has_asset(const json_t *parts, cf_str id)
{
    for (size_t i = 0; i < json_array_size(parts); i++) {
        cf_str at = cf_json_get_str(json_array_get(parts, i), "asset_pointer");
        if (at.n >= id.n && memcmp(at.p + at.n - id.n, id.p, id.n) == 0) {
            return true;
        }
    }
    return false;
}

/* Files that were sent along, as parts that name them: the export has their
 * bytes elsewhere. */
static void add_attachments(cf_jb *b, json_t *m, const json_t *in)
{
    const json_t *list = json_object_get(json_object_get(in, "metadata"), "attachments");
    const json_t *parts = json_object_get(json_object_get(in, "content"), "parts");
    json_t *content = json_object_get(m, "content");
    json_t *out = json_is_array(content) ? json_incref(content) : json_array();
    if (json_string_length(content) != 0) {
        cf_jb_append(b, out, json_pack("{s:s,s:O}", "type", "text", "text", content));
    }
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *file = json_array_get(list, i);
        json_t *mime = json_object_get(file, "mimeType");
        json_t *name = json_object_get(file, "name");
        cf_str id = cf_json_get_str(file, "id");
        if (id.n == 0 || has_asset(parts, id)) {
            continue;
        }
        n++;
        cf_jb_append(b, out,
                     json_pack("{s:s,s:O,s:O*,s:O*}", "type", cf_xmedia__kind(cf_xchg__str(mime)),
                               "path", json_object_get(file, "id"), "mime_type",
                               json_is_string(mime) ? mime : NULL, "name",
                               json_is_string(name) ? name : NULL));
    }
    if (n != 0) {
        cf_jb_set(b, m, "content", json_incref(out));
    }
    json_decref(out);
}

/* The message, with its files; NULL when memory is out. */
static json_t *whole_message(const json_t *in)
{
    cf_jb b = CF_JB_INIT;
    cf_jb_take(&b, NULL, message_of(in));
    add_attachments(&b, b.root, in);
    return cf_jb_done(&b);
}

/* Citations, the recipient and all else that a message of ours has no place
 * for. */
static json_t *rest_of(const json_t *in)
{
    static const char *const known[] = {"id", "author", "content", "create_time"};
    json_t *rest = cf_xchg__rest(in, known, sizeof known / sizeof known[0]);
    const json_t *author = json_object_get(in, "author");
    static const char *const named[] = {"role", "name"};
    json_t *about = cf_xchg__rest(author, named, 2);
    if (json_object_size(json_object_get(about, "metadata")) == 0) {
        (void)json_object_del(about, "metadata");
    }
    return cf_xchg__keep(rest, "author", about);
}

static const cf_store_run *run_of(cf_build *b, const json_t *m)
{
    const json_t *meta = json_object_get(m, "metadata");
    cf_str model = cf_json_get_str(meta, "model_slug");
    if (model.n == 0) {
        return NULL;
    }
    cf_store_run *r = cf_arena_calloc(&b->arena, 1, sizeof *r);
    if (r != NULL) {
        *r = cf_store_run_none();
        r->engine = cf_str_from("chatgpt");
        r->model = cf_build__str(b, model);
        r->stop_reason =
            cf_build__str(b, cf_json_get_str(json_object_get(meta, "finish_details"), "type"));
    }
    return r;
}

static cf_status read_node(cf_import *im, const json_t *mapping, cf_str key, const json_t *node,
                           cf_str scope, cf_error *err)
{
    const json_t *in = json_object_get(node, "message");
    cf_store_turn *t;
    cf_uuid nil = {{0}};
    CF_TRY(cf_build__say(im->cur, whole_message(in), &t, err));
    t->id = cf_build__uuid(CF_FORMAT_CHATGPT, scope, key);
    cf_str parent = solid_parent(mapping, cf_json_get_str(node, "parent"));
    t->parent = parent.n != 0 ? cf_build__uuid(CF_FORMAT_CHATGPT, scope, parent) : nil;
    t->created_ms = cf_xchg__seconds(json_object_get(in, "create_time"));
    t->run = run_of(im->cur, in);
    t->source = cf_build__source_with(im, key, "message", rest_of(in));
    return im->cur->arena.failed ? cf_sql__oom(err) : CF_OK;
}

/* Siblings in the order of "children" would need a walk; time does it, and
 * children never are older than their parent. */
static int by_time(const void *a, const void *b)
{
    int64_t x = ((const cf_store_turn *)a)->created_ms;
    int64_t y = ((const cf_store_turn *)b)->created_ms;
    return (x > y) - (x < y);
}

static cf_status read_mapping(cf_import *im, const json_t *v, cf_str id, cf_error *err)
{
    json_t *mapping = json_object_get(v, "mapping");
    for (void *it = json_object_iter(mapping); it != NULL;
         it = json_object_iter_next(mapping, it)) {
        const json_t *node = json_object_iter_value(it);
        cf_str key = cf_str_make(json_object_iter_key(it), json_object_iter_key_len(it));
        if (!json_is_object(node)) {
            return cf_fail(err, CF_EFORMAT, "a node is not an object");
        }
        if (!is_hollow(node)) {
            CF_TRY(read_node(im, mapping, key, node, id, err));
        }
    }
    cf_build *b = im->cur;
    bool has_times = b->n != 0;
    for (size_t i = 0; i < b->n; i++) {
        has_times = has_times && b->turns[i].created_ms != 0;
    }
    if (has_times) {
        qsort(b->turns, b->n, sizeof *b->turns, by_time);
    }
    cf_str head = solid_parent(mapping, cf_json_get_str(v, "current_node"));
    if (head.n != 0) {
        b->conv.head = cf_build__uuid(CF_FORMAT_CHATGPT, id, head);
    }
    return cf_build__order(b, err);
}

static cf_status record(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
{
    if (!json_is_object(json_object_get(v, "mapping"))) {
        return cf_fail(err, CF_EFORMAT, "a conversation without \"mapping\"");
    }
    cf_str id = cf_json_get_str(v, "conversation_id");
    if (id.n == 0) {
        id = cf_json_get_str(v, "id");
    }
    CF_TRY(cf_build__begin(im, line, err));
    cf_store_conv *c = &im->cur->conv;
    static const char *const known[] = {"conversation_id", "id",          "mapping",
                                        "title",           "create_time", "update_time",
                                        "current_node",    "is_archived"};
    c->source = cf_build__source_with(im, id, "conversation",
                                      cf_xchg__rest(v, known, sizeof known / sizeof known[0]));
    if (id.n != 0) {
        c->id = cf_build__uuid(CF_FORMAT_CHATGPT, cf_str_make(NULL, 0), id);
    }
    c->title = cf_build__str(im->cur, cf_json_get_str(v, "title"));
    c->created_ms = cf_xchg__seconds(json_object_get(v, "create_time"));
    c->updated_ms = cf_xchg__seconds(json_object_get(v, "update_time"));
    if (json_is_true(json_object_get(v, "is_archived"))) {
        c->place = CF_PLACE_ARCHIVED;
    }
    CF_TRY(read_mapping(im, v, id, err));
    return cf_import__emit(im, err);
}

static const char *writer_of(const json_t *v)
{
    return json_is_object(json_object_get(v, "mapping")) ? "ChatGPT" : NULL;
}

const cf_xchg_format cf_xchg_chatgpt = {
    .name = "chatgpt", .record = record, .writer_of = writer_of};
