/*
 * xchg_llama_app.c - reads files of llama.cpp's web interface: a "session" line and then one
 * "message" line for each message of the tree.
 *
 * The tree is in each message's "parent"; the order of lines does not matter,
 * and the first message ("type":"root") is empty, the parent of the others.
 * Images, sounds and files are in "extra"; here they are parts of the content,
 * text files with their names before them, as the interface shows them to its
 * model.  Other fields of messages and sessions are kept in the `source` and
 * written back.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_llama_app.h"

void cf_llama__header(cf_buf *out, cf_str type, cf_str name)
{
    const char *what = cf_str_is(type, "PDF")            ? "PDF File"
                       : cf_str_is(type, "MCP_PROMPT")   ? "MCP Prompt"
                       : cf_str_is(type, "MCP_RESOURCE") ? "MCP Resource"
                                                         : "File";
    cf_buf_addf(out, "\n\n--- %s: ", what);
    cf_buf_add(out, name.p, name.n);
    cf_buf_adds(out, " ---\n");
}

/* A text file: the model reads it after its name. */
static json_t *text_part(const json_t *e, const char *key)
{
    cf_str content = cf_json_get_str(e, key);
    cf_buf text = CF_BUF_INIT;
    cf_llama__header(&text, cf_json_get_str(e, "type"), cf_json_get_str(e, "name"));
    cf_buf_add(&text, content.p, content.n);
    json_t *part = json_pack("{s:s,s:o}", "type", "text", "text", cf_json_buf(&text));
    cf_buf_deinit(&text);
    return cf_xchg__keep(part, "llama_app", cf_xchg__rest(e, &key, 1));
}

static json_t *image_part(const json_t *e, const json_t *url)
{
    static const char *const known[] = {"base64Url", "name", "type"};
    bool is_new = cf_str_is(cf_json_get_str(e, "type"), "IMAGE");
    json_t *part = json_pack("{s:s,s:{s:O},s:O*}", "type", "image_url", "image_url", "url", url,
                             "name", json_object_get(e, "name"));
    return cf_xchg__keep(part, "llama_app", cf_xchg__rest(e, known, is_new ? 3 : 2));
}

static json_t *audio_part(const json_t *e, const json_t *data)
{
    static const char *const known[] = {"base64Data", "mimeType", "name", "type"};
    json_t *part = json_pack("{s:s,s:O,s:O*,s:O*}", "type", "audio", "blob", data, "mime_type",
                             json_object_get(e, "mimeType"), "name", json_object_get(e, "name"));
    return cf_xchg__keep(part, "llama_app", cf_xchg__rest(e, known, 4));
}

/* The pages of a PDF that is shown as pictures: the first keeps the rest. */
static void add_pages(cf_jb *b, json_t *parts, const json_t *e)
{
    static const char *const known[] = {"images"};
    const json_t *pages = json_object_get(e, "images");
    for (size_t i = 0; i < json_array_size(pages); i++) {
        json_t *page = json_pack("{s:s,s:{s:O}}", "type", "image_url", "image_url", "url",
                                 json_array_get(pages, i));
        json_t *rest = i == 0 ? cf_xchg__rest(e, known, 1) : json_pack("{s:s}", "type", "PDF_PAGE");
        cf_jb_append(b, parts, cf_xchg__keep(page, "llama_app", rest));
    }
}

static bool are_strings(const json_t *list)
{
    bool all = json_array_size(list) != 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        all = all && json_is_string(json_array_get(list, i));
    }
    return all;
}

/* Makes parts of what a model can be shown; the others stay in `left`. */
static void take_extra(cf_jb *b, const json_t *extra, json_t *parts, json_t *left)
{
    for (size_t i = 0; i < json_array_size(extra); i++) {
        json_t *e = json_array_get(extra, i);
        cf_str type = cf_json_get_str(e, "type");
        const json_t *url = json_object_get(e, "base64Url");
        const json_t *data = json_object_get(e, "base64Data");
        bool as_pages = cf_str_is(type, "PDF") &&
                        json_is_true(json_object_get(e, "processedAsImages")) &&
                        are_strings(json_object_get(e, "images"));
        if ((cf_str_is(type, "IMAGE") || cf_str_is(type, "imageFile")) && json_is_string(url)) {
            cf_jb_append(b, parts, image_part(e, url));
        } else if (cf_str_is(type, "AUDIO") && json_is_string(data)) {
            cf_jb_append(b, parts, audio_part(e, data));
        } else if (as_pages) {
            add_pages(b, parts, e);
        } else if (json_is_string(json_object_get(e, "content"))) {
            cf_jb_append(b, parts, text_part(e, "content"));
        } else {
            cf_jb_append(b, left, json_incref(e));
        }
    }
}

/* The text, or a list of it and of what was sent with it. */
static void put_content(cf_jb *b, const json_t *in, json_t *left)
{
    cf_str text = cf_json_get_str(in, "content");
    json_t *parts = json_array();
    if (text.n != 0) {
        cf_jb_append(b, parts, json_pack("{s:s,s:o}", "type", "text", "text", cf_json_str(text)));
    }
    take_extra(b, json_object_get(in, "extra"), parts, left);
    if (json_array_size(parts) > (size_t)(text.n != 0)) {
        cf_jb_take(b, "content", parts);
    } else {
        cf_jb_str(b, "content", text);
        json_decref(parts);
    }
}

/* A field that the message has under another name. */
static void put_field(cf_jb *b, const char *key, const json_t *v)
{
    if (v != NULL) {
        cf_jb_add(b, key, v);
    }
}

static json_t *message_of(const json_t *in)
{
    json_t *left = json_array();
    const json_t *thought = json_object_get(in, "reasoningContent");
    const json_t *calls = json_object_get(in, "toolCalls");
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_add(&b, "role", json_object_get(in, "role"));
    put_content(&b, in, left);
    if (!json_is_string(thought)) {
        thought = json_object_get(in, "thinking");
    }
    put_field(&b, "reasoning_content", json_string_length(thought) != 0 ? thought : NULL);
    /* A list in files, and a string of one inside the program. */
    json_t *parsed = cf_xchg__parse(cf_xchg__str(calls), &b.failed);
    calls = json_is_array(calls) ? calls : parsed;
    put_field(&b, "tool_calls", json_array_size(calls) != 0 ? calls : NULL);
    put_field(&b, "tool_call_id", json_object_get(in, "toolCallId"));
    put_field(&b, "extra", json_array_size(left) != 0 ? left : NULL);
    cf_jb_end(&b);
    json_decref(parsed);
    json_decref(left);
    return cf_jb_done(&b);
}

static int64_t ms_to_us(const json_t *v)
{
    double ms = json_number_value(v);
    return json_is_number(v) && ms >= 0 && ms < 1e12 ? (int64_t)(ms * 1000.0) : -1;
}

static int64_t count_of(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 ? json_integer_value(v) : -1;
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
    t->parent = parent.n != 0 ? cf_build__uuid(CF_FORMAT_LLAMA_APP, conv_name(im), parent) : nil;
    static const char *const known[] = {"id",        "convId",    "type",     "timestamp",
                                        "role",      "content",   "parent",   "children",
                                        "extra",     "toolCalls", "thinking", "reasoningContent",
                                        "toolCallId"};
    cf_build__remember(im, t, id, "message",
                       cf_xchg__rest(in, known, sizeof known / sizeof known[0]));
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
                  : memcmp(((const cf_store_turn *)a)->id.b, ((const cf_store_turn *)b)->id.b, 16);
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
    if (b->n != 0) {
        qsort(b->turns, b->n, sizeof *b->turns, by_time);
    }
    settle_head(b);
    return cf_import__emit_ordered(im, err);
}

static cf_status read_session(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
{
    CF_TRY(cf_build__begin(im, line, err));
    cf_store_conv *c = &im->cur->conv;
    cf_str id = cf_json_get_str(v, "id");
    if (id.n == 0) {
        return cf_fail(err, CF_EFORMAT, "a session without id");
    }
    static const char *const known[] = {"type", "name", "currNode"};
    json_t *source =
        json_pack("{s:s,s:o}", "format", "llama-app", "session", cf_xchg__rest(v, known, 3));
    c->source = cf_build__json(im->cur, source);
    json_decref(source);
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
static cf_status read_old(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
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

static cf_status record(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
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

static const char *writer_of(const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    bool is_ours = cf_str_is(type, "session") ||
                   (cf_str_is(type, "message") && cf_guess__has(v, "message")) ||
                   cf_guess__has(v, "conv");
    return is_ours ? "llama.app" : NULL;
}

const cf_xchg_format cf_xchg_llama_app = {.name = "llama-app",
                                          .record = record,
                                          .end = emit,
                                          .is_grouped = true,
                                          .writer_of = writer_of,
                                          .write_tree = cf_llama__write};
