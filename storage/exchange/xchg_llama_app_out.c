/*
 * xchg_llama_app_out.c - writes a tree as llama.cpp's web interface does, with
 * what its reader has kept.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_llama_app.h"
#include "storage/exchange/xchg_media.h"

static cf_uuid root_of(cf_uuid conv)
{
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, conv);
    return cf_build__uuid(CF_FORMAT_LLAMA_APP, cf_str_from(text), cf_str_from("root"));
}

/* The pages of a PDF: this part and those that follow it. */
static void pages_out(cf_jw *w, const json_t *content, size_t i)
{
    cf_jw_array(w, "images");
    for (bool is_first = true; i < json_array_size(content); i++) {
        const json_t *p = json_array_get(content, i);
        cf_str type = cf_json_get_str(json_object_get(p, "llama_app"), "type");
        if (!is_first && !cf_str_is(type, "PDF_PAGE")) {
            break;
        }
        is_first = false;
        cf_jw_json(w, NULL, json_object_get(json_object_get(p, "image_url"), "url"));
    }
    cf_jw_end(w);
}

static void media_out(cf_jw *w, const cf_media_ref *m, json_t *kept)
{
    static const char *const written[] = {"type", "name", "mimeType"};
    bool is_image = cf_str_is(m->kind, "image");
    cf_str type = cf_json_get_str(kept, "type");
    cf_buf url = CF_BUF_INIT;
    cf_jw_str(w, "type", type.n != 0 ? type : cf_str_from(is_image ? "IMAGE" : "AUDIO"));
    cf_jw_str(w, "name", m->name);
    if (is_image || m->data.n == 0) {
        cf_xmedia__put_url(&url, m);
        cf_jw_buf(w, "base64Url", &url);
    } else {
        cf_jw_str(w, "base64Data", m->data);
        cf_jw_str(w, "mimeType", m->mime);
    }
    cf_xchg__put_fields(w, kept, written, 3);
    cf_buf_deinit(&url);
}

/* A text that was a file, without its header. */
static void file_out(cf_jw *w, const json_t *part, json_t *kept)
{
    cf_buf header = CF_BUF_INIT;
    cf_str text = cf_json_get_str(part, "text");
    cf_llama__header(&header, cf_json_get_str(kept, "type"), cf_json_get_str(kept, "name"));
    if (text.n >= header.n && header.n != 0 && memcmp(text.p, header.p, header.n) == 0) {
        text = cf_str_make(text.p + header.n, text.n - header.n);
    }
    cf_xchg__put_fields(w, kept, NULL, 0);
    cf_jw_str(w, "content", text);
    w->out->failed = w->out->failed || header.failed;
    cf_buf_deinit(&header);
}

/* Whether a part goes into "extra". */
static bool is_extra(const json_t *part)
{
    cf_media_ref m;
    json_t *kept = json_object_get(part, "llama_app");
    return kept != NULL ? !cf_str_is(cf_json_get_str(kept, "type"), "PDF_PAGE")
                        : cf_xmedia__get(&m, part);
}

static void extra_out(cf_jw *w, const json_t *content, size_t i)
{
    static const char *const written[] = {"images"};
    const json_t *part = json_array_get(content, i);
    json_t *kept = json_object_get(part, "llama_app");
    cf_media_ref m;
    cf_jw_object(w, NULL);
    if (cf_json_get_str(part, "text").p != NULL) {
        file_out(w, part, kept);
    } else if (cf_str_is(cf_json_get_str(kept, "type"), "PDF")) {
        cf_xchg__put_fields(w, kept, written, 1);
        pages_out(w, content, i);
    } else if (cf_xmedia__get(&m, part)) {
        media_out(w, &m, kept);
    }
    cf_jw_end(w);
}

/* The text of parts that are not files. */
static void text_out(cf_jw *w, const json_t *m)
{
    const json_t *c = json_object_get(m, "content");
    cf_buf text = CF_BUF_INIT;
    if (!json_is_array(c)) {
        cf_message_text(&text, m, "\n");
    }
    for (size_t i = 0; json_is_array(c) && i < json_array_size(c); i++) {
        const json_t *p = json_array_get(c, i);
        cf_str s = json_is_string(p) ? cf_xchg__str(p) : cf_json_get_str(p, "text");
        if (s.n != 0 && json_object_get(p, "llama_app") == NULL) {
            cf_buf_adds(&text, text.n != 0 ? "\n" : "");
            cf_buf_add(&text, s.p, s.n);
        }
    }
    cf_jw_buf(w, "content", &text);
    cf_buf_deinit(&text);
}

/* Content parts back into text and "extra". */
static void put_content(cf_jw *w, const json_t *m)
{
    const json_t *c = json_object_get(m, "content");
    const json_t *left = json_object_get(m, "extra");
    bool is_open = json_array_size(left) != 0;
    text_out(w, m);
    if (is_open) {
        cf_jw_array(w, "extra");
    }
    for (size_t i = 0; i < json_array_size(left); i++) {
        cf_jw_json(w, NULL, json_array_get(left, i));
    }
    for (size_t i = 0; json_is_array(c) && i < json_array_size(c); i++) {
        if (!is_extra(json_array_get(c, i))) {
            continue;
        }
        if (!is_open) {
            cf_jw_array(w, "extra");
            is_open = true;
        }
        extra_out(w, c, i);
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

static void put_children(cf_jw *w, const cf_store_tree *tree, const links *l, size_t i)
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

static cf_status put_message(cf_buf *out, const cf_store_tree *tree, const links *l, size_t i,
                             cf_error *err)
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
               l->parent[i] != SIZE_MAX ? tree->turns[l->parent[i]].id : root_of(tree->conv.id));
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
    static const char *const written[] = {"model", "timings"};
    json_t *kept = cf_xchg__kept(t->source, CF_FORMAT_LLAMA_APP, "message", &out->failed);
    if (json_object_get(kept, "timings") == NULL) {
        put_timings(&w, t->run);
        cf_xchg__put_fields(&w, kept, written, 1);
    } else {
        cf_xchg__put_fields(&w, kept, NULL, 0);
    }
    json_decref(kept);
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

static cf_status put_session(cf_buf *out, const cf_store_tree *tree, cf_error *err)
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
    static const char *const written[] = {"harness", "id", "lastModified"};
    json_t *kept = cf_xchg__kept(c->source, CF_FORMAT_LLAMA_APP, "session", &out->failed);
    cf_xchg__put_fields(&w, kept, written, 3);
    json_decref(kept);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}

static cf_status put_root(cf_buf *out, const cf_store_tree *tree, const links *l, cf_error *err)
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

static cf_status put_all(cf_buf *out, const cf_store_tree *tree, links *l, cf_error *err)
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

cf_status cf_llama__write(cf_exporter *ex, const cf_store_tree *tree, cf_buf *out, cf_error *err)
{
    (void)ex;
    size_t n = tree->n + 1;
    links l = {cf_alloc(n * sizeof(size_t)), cf_alloc(n * sizeof(size_t)),
               cf_alloc(n * sizeof(size_t)), cf_alloc(n * sizeof(size_t))};
    cf_status st = l.parent == NULL || l.first == NULL || l.last == NULL || l.next == NULL
                       ? cf_sql__oom(err)
                       : put_all(out, tree, &l, err);
    cf_free(l.parent);
    cf_free(l.first);
    cf_free(l.last);
    cf_free(l.next);
    return st;
}
