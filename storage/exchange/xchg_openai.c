/*
 * xchg_openai.c - lists of messages: OpenAI's chat JSON lines, and LiteRT-LM's
 * message JSON.  Both keep messages as they are; they differ in how a call's
 * arguments are written (a string of JSON, an object) and in the
 * fields around the list.
 */
#include <stdio.h>
#include <string.h>

#include "core/api/attachment.h"
#include "core/api/message_form.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_media.h"

/* ---- reading ------------------------------------------------------------ */

/* Whether a message says anything, or is one that may say nothing. */
static bool has_content(const json_t *m)
{
    static const char *const keys[] = {"content",       "parts",    "tool_calls",
                                       "function_call", "channels", "tool_results"};
    bool has = cf_str_is(cf_json_get_str(m, "role"), "assistant");
    for (size_t i = 0; !has && i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *v = json_object_get(m, keys[i]);
        has = v != NULL && !json_is_null(v);
    }
    return has;
}

/* Every message must be an object with a role before any is taken. */
static cf_status check_messages(const cf_import *im, const json_t *list, uint64_t line,
                                cf_error *err)
{
    if (!json_is_array(list) || json_array_size(list) == 0) {
        return cf_fail(err, CF_EFORMAT, "no list of messages");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        const json_t *c = json_object_get(m, "content");
        if (cf_message_form_of(m) == CF_MESSAGE_GEMINI) {
            continue;
        }
        if (cf_json_get_str(m, "role").n == 0) {
            return cf_fail(err, CF_EFORMAT, "message %zu has no role", i + 1);
        }
        if (c != NULL && !json_is_null(c) && !json_is_string(c) && !json_is_array(c) &&
            !json_is_object(c)) {
            return cf_fail(err, CF_EFORMAT, "message %zu: content is neither text nor a list",
                           i + 1);
        }
        if (!has_content(m) && im->opts->note != NULL) {
            cf_error note;
            cf_ignore(
                cf_fail(&note, CF_EFORMAT, "message %zu has no content: an empty turn", i + 1));
            im->opts->note(im->opts->ud, line, note.text);
        }
    }
    return CF_OK;
}

static cf_status say_all(cf_build *b, const json_t *list, cf_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        CF_TRY(cf_build__say_any(b, json_array_get(list, i), err));
    }
    return CF_OK;
}

/* Keeps the fields next to the messages. */
static void take_rest(cf_build *b, const json_t *v, const char *list_key)
{
    const char *const known[] = {list_key, "systemInstruction", "system_instruction"};
    json_t *rest = cf_xchg__rest(v, known, 3);
    if (rest == NULL || json_object_size(rest) != 0) {
        b->conv.preface = cf_build__json(b, rest);
    }
    json_decref(rest);
}

/* Gemini has its system message next to the others. */
static cf_status say_system(cf_build *b, const json_t *v, cf_error *err)
{
    const json_t *system = json_object_get(v, "systemInstruction");
    if (system == NULL) {
        system = json_object_get(v, "system_instruction");
    }
    if (!json_is_string(system) && cf_message_form_of(system) != CF_MESSAGE_GEMINI) {
        return CF_OK;
    }
    json_t *m =
        json_is_string(system) ? json_pack("{s:O}", "content", system) : cf_json_copy(system);
    if (m == NULL || json_object_set_new(m, "role", json_string("system")) != 0) {
        json_decref(m);
        return cf_sql__oom(err);
    }
    cf_status st = cf_build__say_any(b, m, err);
    json_decref(m);
    return st;
}

static cf_status read_object(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
{
    const char *key = json_object_get(v, "messages") == NULL ? "contents" : "messages";
    const json_t *given = json_object_get(v, key);
    json_t *list =
        json_is_object(given) ? json_pack("[O]", given) : json_incref(cf_json_ref(given));
    cf_str id = cf_json_get_str(v, "id");
    cf_status st = given != NULL && list == NULL ? cf_sql__oom(err) : CF_OK;
    CF_THEN(st, check_messages(im, list, line, err));
    CF_THEN(st, cf_build__begin(im, line, err));
    if (st == CF_OK) {
        im->cur->conv.source = cf_build__source(im, id);
        im->cur->id = cf_build__str(im->cur, id);
        take_rest(im->cur, v, key);
        st = say_system(im->cur, v, err);
    }
    CF_THEN(st, say_all(im->cur, list, err));
    CF_THEN(st, cf_import__emit(im, err));
    json_decref(list);
    return st;
}

static cf_status read_list(cf_import *im, const json_t *list, uint64_t line, cf_error *err)
{
    CF_TRY(check_messages(im, list, line, err));
    CF_TRY(cf_build__begin(im, line, err));
    im->cur->conv.source = cf_build__source(im, cf_str_make(NULL, 0));
    CF_TRY(say_all(im->cur, list, err));
    return cf_import__emit(im, err);
}

/* A list of conversations, each with the fields next to its messages. */
static cf_status read_objects(cf_import *im, const json_t *list, uint64_t line, cf_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        cf_error why;
        cf_status st = read_object(im, json_array_get(list, i), line, &why);
        if (st == CF_EFORMAT) {
            cf_import__bad(im, line, why.text);
        } else if (st != CF_OK) {
            *err = why;
            return st;
        }
    }
    return CF_OK;
}

/* A message, a list of messages, an object with messages, or a list of
 * those. */
static cf_status read_record(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
{
    if (json_is_array(v)) {
        return json_object_get(json_array_get(v, 0), "messages") != NULL
                   ? read_objects(im, v, line, err)
                   : read_list(im, v, line, err);
    }
    if (!cf_guess__is_message(v)) {
        return read_object(im, v, line, err);
    }
    json_t *list = json_pack("[O]", v);
    if (list == NULL) {
        return cf_sql__oom(err);
    }
    cf_status st = read_list(im, list, line, err);
    json_decref(list);
    return st;
}

/* ---- writing ------------------------------------------------------------ */

static const char *openai_role(cf_str role)
{
    static const char *const pairs[][2] = {{"agent", "assistant"},    {"model", "assistant"},
                                           {"gpt", "assistant"},      {"human", "user"},
                                           {"tool_response", "tool"}, {"pcp_response", "tool"},
                                           {"mcp_response", "tool"},  {"observation", "tool"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (cf_str_is(role, pairs[i][0])) {
            return pairs[i][1];
        }
    }
    return NULL;
}

/* A branch on its way out. */
typedef struct writing {
    cf_jw *w;
    bool as_openai; /* else as LiteRT-LM */
    cf_jb tree;     /* changes the messages; failed: memory ran out */
    json_t *open;   /* ids of the newest calls whose results have not come yet */
    size_t n_ids;   /* that were made */
} writing;

/* Arguments as a string of JSON, or as the object. */
static void turn_arguments(writing *o, json_t *message)
{
    json_t *calls = json_object_get(message, "tool_calls");
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *f = json_object_get(json_array_get(calls, i), "function");
        json_t *args = json_object_get(f, "arguments");
        if (o->as_openai && args != NULL && !json_is_string(args)) {
            cf_buf b = CF_BUF_INIT;
            cf_json_write(&b, args);
            cf_jb_set(&o->tree, f, "arguments", cf_json_buf(&b));
            cf_buf_deinit(&b);
        } else if (!o->as_openai && json_is_string(args)) {
            json_t *v = cf_xchg__parse(cf_xchg__str(args), &o->tree.failed);
            if (v != NULL) { /* else it stays a string */
                cf_jb_set(&o->tree, f, "arguments", v);
            }
        }
    }
}

/* ---- parts -------------------------------------------------------------- */

/* Fields that other formats keep in messages and parts. */
static void drop_private(json_t *v)
{
    static const char *const keys[] = {"sharegpt", "converse", "llama_app", "chatgpt"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        (void)json_object_del(v, keys[i]);
    }
}

/* OpenAI's form of a picture, a sound or a file; NULL: no memory. */
static json_t *openai_media(const cf_media_ref *m)
{
    bool is_audio = cf_str_is(m->kind, "audio") && m->data.n != 0;
    const char *kind = cf_str_is(m->kind, "image") ? "image_url"
                       : is_audio                  ? "input_audio"
                                                   : "file";
    const char *place = cf_str_is(m->kind, "image") ? "url"
                        : m->data.n != 0            ? "file_data"
                                                    : "file_url";
    cf_jb b = CF_JB_INIT;
    cf_buf url = CF_BUF_INIT;
    cf_xmedia__put_url(&url, m);
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "type", kind);
    cf_jb_object(&b, kind);
    if (is_audio) {
        cf_jb_str(&b, "data", m->data);
        cf_jb_text(&b, "format", cf_attachment_format(cf_attachment_mime(m->data, m->mime)));
    } else {
        cf_jb_buf(&b, place, &url);
    }
    if (strcmp(kind, "file") == 0 && m->name.n != 0) {
        cf_jb_str(&b, "filename", m->name);
    }
    cf_jb_end(&b);
    cf_jb_end(&b);
    cf_buf_deinit(&url);
    return cf_jb_done(&b);
}

/* LiteRT-LM's: bytes as base64, or where they are. */
static json_t *litert_media(const cf_media_ref *m)
{
    return json_pack("{s:o,s:o}", "type", cf_json_str(m->kind), m->data.n != 0 ? "blob" : "path",
                     cf_json_str(m->data.n != 0 ? m->data : m->place));
}

/* Whether a part already has the format's form. */
static bool is_native(const json_t *part, bool as_openai)
{
    return as_openai
               ? json_is_object(json_object_get(part, "image_url")) ||
                     json_object_get(part, "input_audio") != NULL ||
                     json_object_get(part, "file") != NULL
               : json_object_get(part, "path") != NULL || json_object_get(part, "blob") != NULL;
}

/* A new reference to the part as the format has it. */
static json_t *part_out(const json_t *part, bool as_openai)
{
    cf_media_ref m;
    if (as_openai && json_is_string(part)) {
        return json_pack("{s:s,s:O}", "type", "text", "text", part);
    }
    if (cf_xmedia__get(&m, part) && !is_native(part, as_openai)) {
        return as_openai ? openai_media(&m) : litert_media(&m);
    }
    if (as_openai && json_object_get(part, "converse") != NULL &&
        json_is_string(json_object_get(part, "text"))) { /* a text document */
        return json_pack("{s:s,s:O}", "type", "text", "text", json_object_get(part, "text"));
    }
    json_t *copy = cf_json_copy(part);
    drop_private(copy);
    if (as_openai && json_object_get(copy, "image_url") != NULL) {
        (void)json_object_del(copy, "name"); /* OpenAI knows none */
    }
    return copy;
}

/* A content that is an object is a text, or what a tool gave. */
static json_t *object_out(const json_t *content)
{
    cf_str text = cf_json_get_str(content, "text");
    cf_buf b = CF_BUF_INIT;
    if (text.p != NULL) {
        return cf_json_str(text);
    }
    cf_json_write(&b, content);
    json_t *v = cf_json_buf(&b);
    cf_buf_deinit(&b);
    return v;
}

static void content_out(writing *o, json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    drop_private(m);
    if (o->as_openai && json_is_object(content)) {
        cf_jb_set(&o->tree, m, "content", object_out(content));
    } else if (json_is_array(content)) {
        cf_jb list = CF_JB_INIT;
        cf_jb_array(&list, NULL);
        for (size_t i = 0; i < json_array_size(content); i++) {
            cf_jb_take(&list, NULL, part_out(json_array_get(content, i), o->as_openai));
        }
        cf_jb_end(&list);
        cf_jb_set(&o->tree, m, "content", cf_jb_done(&list));
    }
}

/* ---- ids of calls ------------------------------------------------------- */

static void name_calls(writing *o, json_t *m)
{
    json_t *calls = json_object_get(m, "tool_calls");
    if (json_array_size(calls) != 0) {
        (void)json_array_clear(o->open);
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = json_array_get(calls, i);
        if (!json_is_object(call)) {
            continue;
        }
        if (cf_json_get_str(call, "id").n == 0) {
            char text[32];
            snprintf(text, sizeof text, "call_%zu", ++o->n_ids);
            cf_jb_set(&o->tree, call, "id", json_string(text));
        }
        if (json_object_get(call, "type") == NULL) {
            cf_jb_set(&o->tree, call, "type", json_string("function"));
        }
        cf_jb_append(&o->tree, o->open, json_incref(json_object_get(call, "id")));
    }
}

/* A result without an id answers the first call that is still open. */
static void name_result(writing *o, json_t *m)
{
    cf_str id = cf_json_get_str(m, "tool_call_id");
    size_t i = 0;
    if (id.n == 0 && json_array_size(o->open) != 0) {
        cf_jb_set(&o->tree, m, "tool_call_id", json_incref(json_array_get(o->open, 0)));
    }
    while (id.n != 0 && i < json_array_size(o->open) &&
           !cf_str_eq(cf_xchg__str(json_array_get(o->open, i)), id)) {
        i++;
    }
    (void)json_array_remove(o->open, i);
}

/* Whether a message has parts or members that OpenAI has another form for. */
static bool is_foreign(const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    bool is = json_is_object(content) || cf_message_form_of(m) != CF_MESSAGE_OPENAI;
    for (size_t i = 0; !is && i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        is = json_is_object(part) && cf_str_is(cf_json_get_str(part, "type"), "tool_response");
    }
    return is;
}

/* Members that are null and that OpenAI does not have, or not as null. */
static void drop_nulls(json_t *m)
{
    static const char *const keys[] = {"tool_results", "tool_calls", "name",
                                       "tool_call_id", "parts",      "channels"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (json_is_null(json_object_get(m, keys[i]))) {
            (void)json_object_del(m, keys[i]);
        }
    }
}

static void one_out(writing *o, json_t *m)
{
    const char *role = openai_role(cf_json_get_str(m, "role"));
    turn_arguments(o, m);
    content_out(o, m);
    if (o->as_openai) {
        drop_nulls(m);
        if (role != NULL) {
            cf_jb_set(&o->tree, m, "role", json_string(role));
        }
        name_calls(o, m);
        if (cf_str_is(cf_json_get_str(m, "role"), "tool")) {
            name_result(o, m);
        }
    }
    cf_jw_json(o->w, NULL, m);
}

static cf_status message_out(writing *o, const cf_store_turn *t, cf_error *err)
{
    json_t *m;
    cf_formed formed = {.messages = NULL};
    CF_TRY(cf_xchg__message(&m, t, err));
    cf_status st = o->as_openai && is_foreign(m) ? cf_messages_form(&formed, m, err) : CF_OK;
    if (st == CF_OK && formed.messages == NULL) {
        one_out(o, m);
    }
    for (size_t i = 0; st == CF_OK && i < json_array_size(formed.messages); i++) {
        one_out(o, json_array_get(formed.messages, i));
    }
    cf_formed_deinit(&formed);
    json_decref(m);
    return st == CF_OK ? cf_jb_check(&o->tree, err) : st;
}

static cf_status all_messages(cf_jw *w, const cf_store_tree *tree, const size_t *at, size_t n,
                              bool as_openai, cf_error *err)
{
    writing o = {.w = w, .as_openai = as_openai, .open = json_array()};
    cf_status st = o.open != NULL ? CF_OK : cf_sql__oom(err);
    for (size_t i = 0; i < n && st == CF_OK; i++) {
        st = message_out(&o, &tree->turns[at[i]], err);
    }
    json_decref(o.open);
    return st;
}

/* Declarations as they are, or each in its "function" object. */
static void tools_out(cf_jw *w, const json_t *tools, bool as_openai)
{
    cf_jw_array(w, "tools");
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        bool is_flat = as_openai && cf_json_get_str(tool, "name").n != 0 &&
                       json_object_get(tool, "function") == NULL &&
                       json_object_get(tool, "type") == NULL;
        if (is_flat) {
            cf_jw_object(w, NULL);
            cf_jw_text(w, "type", "function");
            cf_jw_json(w, "function", tool);
            cf_jw_end(w);
        } else {
            cf_jw_json(w, NULL, tool);
        }
    }
    cf_jw_end(w);
}

/* The fields that stood next to the messages when they were read. */
static void fields_out(cf_jw *w, const cf_store_tree *tree, bool has_tools, bool as_openai)
{
    const char *const others[] = {"messages", "sharegpt", has_tools ? "tools" : "messages",
                                  as_openai ? "extra_context" : "messages"};
    json_t *preface = cf_xchg__preface(w, tree);
    cf_xchg__put_fields(w, preface, others, 4);
    json_decref(preface);
}

/* The schema of the newest reply that was constrained by one. */
static json_t *schema_of(cf_jw *w, const cf_store_tree *tree, const size_t *at, size_t n)
{
    json_t *v = NULL;
    for (size_t i = n; v == NULL && i > 0; i--) {
        const cf_store_run *r = tree->turns[at[i - 1]].run;
        v = r != NULL ? cf_xchg__parse(r->constraint_spec, &w->out->failed) : NULL;
    }
    json_t *schema = json_incref(json_object_get(v, "schema"));
    json_decref(v);
    return schema;
}

static void schema_out(cf_jw *w, const cf_store_tree *tree, const size_t *at, size_t n)
{
    json_t *preface = cf_xchg__preface(w, tree);
    json_t *schema =
        json_object_get(preface, "response_format") == NULL ? schema_of(w, tree, at, n) : NULL;
    if (json_is_object(schema)) {
        cf_jw_object(w, "response_format");
        cf_jw_text(w, "type", "json_schema");
        cf_jw_object(w, "json_schema");
        cf_jw_text(w, "name", "reply");
        cf_jw_json(w, "schema", schema);
        cf_jw_end(w);
        cf_jw_end(w);
    }
    json_decref(schema);
    json_decref(preface);
}

static cf_status record_out(cf_jw *w, cf_buf *out, const cf_store_tree *tree, const size_t *at,
                            size_t n, bool as_openai, cf_error *err)
{
    cf_jw_init(w, out);
    cf_jw_object(w, NULL);
    cf_jw_array(w, "messages");
    CF_TRY(all_messages(w, tree, at, n, as_openai, err));
    cf_jw_end(w);
    json_t *tools = cf_xchg__tools(w, tree, at, n);
    if (tools != NULL) {
        tools_out(w, tools, as_openai);
    }
    if (as_openai) {
        schema_out(w, tree, at, n);
    }
    fields_out(w, tree, tools != NULL, as_openai);
    json_decref(tools);
    cf_jw_end(w);
    cf_buf_addc(w->out, '\n');
    return cf_jw_finish(w, err);
}

static cf_status write_openai(const cf_store_tree *tree, const size_t *at, size_t n, cf_buf *out,
                              cf_error *err)
{
    cf_jw w;
    return n != 0 ? record_out(&w, out, tree, at, n, true, err)
                  : CF_OK; /* the format has no record without messages */
}

static cf_status write_litert(const cf_store_tree *tree, const size_t *at, size_t n, cf_buf *out,
                              cf_error *err)
{
    cf_jw w;
    return n != 0 ? record_out(&w, out, tree, at, n, false, err) : CF_OK;
}

/* ---- recognising -------------------------------------------------------- */

/* Messages of Gemini and Xaibo are turned into OpenAI's by this reader. */
static const char *openai_writer_of(const json_t *v)
{
    return cf_guess__has_list(v, "contents") ? "Gemini" : NULL;
}

static const char *openai_writer_of_message(const json_t *m)
{
    return cf_guess__has_list(m, "parts") && !cf_guess__has(m, "content") ? "Gemini"
           : cf_message_form_of(m) == CF_MESSAGE_XAIBO                    ? "Xaibo"
                                                                          : NULL;
}

static const char *litert_writer_of(const json_t *v)
{
    return cf_guess__has(v, "messages") && cf_guess__has(v, "extra_context") ? "LiteRT-LM" : NULL;
}

/* OpenAI writes arguments as a string of JSON, LiteRT-LM as an object. */
static bool has_object_arguments(const json_t *m)
{
    const json_t *call = json_array_get(json_object_get(m, "tool_calls"), 0);
    return json_is_object(json_object_get(json_object_get(call, "function"), "arguments"));
}

static bool has_litert_part(const json_t *content)
{
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (cf_str_is(cf_json_get_str(part, "type"), "tool_response") ||
            cf_guess__has(part, "path") || cf_guess__has(part, "blob")) {
            return true;
        }
    }
    return false;
}

static const char *litert_writer_of_message(const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    bool is_ours = cf_str_is(cf_json_get_str(m, "role"), "model") || cf_guess__has(m, "channels") ||
                   json_is_object(content) || has_object_arguments(m) || has_litert_part(content);
    return is_ours ? "LiteRT-LM" : NULL;
}

const cf_xchg_format cf_xchg_openai = {.name = "openai",
                                       .record = read_record,
                                       .writer_of = openai_writer_of,
                                       .writer_of_message = openai_writer_of_message,
                                       .write_branch = write_openai};

const cf_xchg_format cf_xchg_litert = {.name = "litert",
                                       .record = read_record,
                                       .writer_of = litert_writer_of,
                                       .writer_of_message = litert_writer_of_message,
                                       .write_branch = write_litert};
