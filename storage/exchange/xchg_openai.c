/*
 * xchg_openai.c - lists of messages: OpenAI's chat JSON lines, and LiteRT-LM's
 * message JSON.  Both keep messages as they are; they differ in how a call's
 * arguments are written (a string of JSON, an object) and in the
 * fields around the list.
 */
#include <string.h>

#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"

/* ---- reading ------------------------------------------------------------ */

/* Every message must be an object with a role before any is taken. */
static cf_status check_messages(const json_t *list, cf_error *err)
{
    if (!json_is_array(list) || json_array_size(list) == 0) {
        return cf_fail(err, CF_EFORMAT, "no list of messages");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        const json_t *c = json_object_get(m, "content");
        if (cf_xchg__is_gemini(m)) {
            continue;
        }
        if (cf_json_get_str(m, "role").n == 0) {
            return cf_fail(err, CF_EFORMAT, "message %zu has no role", i + 1);
        }
        if (c != NULL && !json_is_null(c) && !json_is_string(c) &&
            !json_is_array(c) && !json_is_object(c)) {
            return cf_fail(err, CF_EFORMAT,
                           "message %zu: content is neither text nor a list",
                           i + 1);
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
static cf_status take_rest(cf_import *im, const json_t *v, const char *list_key,
                           cf_error *err)
{
    json_t *rest = json_copy(cf_json_ref(v));
    if (rest == NULL) {
        return cf_sql__oom(err);
    }
    (void)json_object_del(rest, list_key);
    (void)json_object_del(rest, "systemInstruction");
    (void)json_object_del(rest, "system_instruction");
    if (json_object_size(rest) != 0) {
        im->cur->conv.preface = cf_build__json(im->cur, rest);
    }
    json_decref(rest);
    return CF_OK;
}

/* Gemini has its system message next to the others. */
static cf_status say_system(cf_build *b, const json_t *v, cf_error *err)
{
    const json_t *system = json_object_get(v, "systemInstruction");
    if (system == NULL) {
        system = json_object_get(v, "system_instruction");
    }
    if (!json_is_string(system) && !cf_xchg__is_gemini(system)) {
        return CF_OK;
    }
    json_t *m = json_is_string(system) ? json_pack("{s:O}", "content", system)
                                       : json_copy(cf_json_ref(system));
    if (m == NULL ||
        json_object_set_new(m, "role", json_string("system")) != 0) {
        json_decref(m);
        return cf_sql__oom(err);
    }
    cf_status st = cf_build__say_any(b, m, err);
    json_decref(m);
    return st;
}

static cf_status read_object(cf_import *im, const json_t *v, uint64_t line,
                             cf_error *err)
{
    const char *key =
        json_object_get(v, "messages") == NULL ? "contents" : "messages";
    const json_t *list = json_object_get(v, key);
    cf_str id = cf_json_get_str(v, "id");
    CF_TRY(check_messages(list, err));
    CF_TRY(cf_build__begin(im, line, err));
    im->cur->conv.source = cf_build__source(im, id);
    im->cur->id = cf_build__str(im->cur, id);
    CF_TRY(take_rest(im, v, key, err));
    CF_TRY(say_system(im->cur, v, err));
    CF_TRY(say_all(im->cur, list, err));
    return cf_import__emit(im, err);
}

static cf_status read_list(cf_import *im, const json_t *list, uint64_t line,
                           cf_error *err)
{
    CF_TRY(check_messages(list, err));
    CF_TRY(cf_build__begin(im, line, err));
    im->cur->conv.source = cf_build__source(im, cf_str_make(NULL, 0));
    CF_TRY(say_all(im->cur, list, err));
    return cf_import__emit(im, err);
}

static cf_status openai_record(cf_import *im, const json_t *v, uint64_t line,
                               cf_error *err)
{
    return json_is_array(v) ? read_list(im, v, line, err)
                            : read_object(im, v, line, err);
}

const cf_reader_format cf_read_openai = {openai_record, NULL, NULL, false};

/* A message, a list of messages, a preface with messages, or a list of
 * prefaces. */
static cf_status litert_record(cf_import *im, const json_t *v, uint64_t line,
                               cf_error *err)
{
    if (json_is_array(v)) {
        const json_t *first = json_array_get(v, 0);
        if (json_object_get(first, "messages") == NULL) {
            return read_list(im, v, line, err);
        }
        for (size_t i = 0; i < json_array_size(v); i++) {
            cf_error why;
            cf_status st = read_object(im, json_array_get(v, i), line, &why);
            if (st == CF_EFORMAT) {
                cf_import__bad(im, line, why.text);
            } else if (st != CF_OK) {
                *err = why;
                return st;
            }
        }
        return CF_OK;
    }
    if (json_object_get(v, "role") != NULL) {
        json_t *list = json_pack("[O]", v);
        if (list == NULL) {
            return cf_sql__oom(err);
        }
        cf_status st = read_list(im, list, line, err);
        json_decref(list);
        return st;
    }
    return read_object(im, v, line, err);
}

const cf_reader_format cf_read_litert = {litert_record, NULL, NULL, true};

/* ---- writing ------------------------------------------------------------ */

static const char *openai_role(cf_str role)
{
    static const char *const pairs[][2] = {
        {"agent", "assistant"},    {"model", "assistant"},
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

/* Arguments as a string of JSON, or as the object. */
static cf_status turn_arguments(json_t *message, bool as_text, cf_error *err)
{
    json_t *calls = json_object_get(message, "tool_calls");
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *f = json_object_get(json_array_get(calls, i), "function");
        json_t *args = json_object_get(f, "arguments");
        json_t *to = NULL;
        cf_error ignored;
        if (as_text && args != NULL && !json_is_string(args)) {
            cf_buf b = CF_BUF_INIT;
            cf_json_write(&b, args);
            to = b.failed ? NULL : json_stringn(cf_buf_cstr(&b), b.n);
            cf_buf_deinit(&b);
            if (to == NULL) {
                return cf_sql__oom(err);
            }
        } else if (!as_text && json_is_string(args)) {
            cf_str s = cf_xchg__str(args);
            if (cf_json_read(&to, s.p, s.n, &ignored) != CF_OK) {
                to = NULL; /* no JSON: it stays a string */
            }
        }
        if (to != NULL && json_object_set_new(f, "arguments", to) != 0) {
            return cf_sql__oom(err);
        }
    }
    return CF_OK;
}

static cf_status message_out(cf_jw *w, const cf_store_turn *t, bool as_openai,
                             cf_error *err)
{
    json_t *m;
    CF_TRY(cf_xchg__message(&m, t, err));
    const char *role = openai_role(cf_json_get_str(m, "role"));
    cf_status st = turn_arguments(m, as_openai, err);
    if (st == CF_OK && as_openai && role != NULL &&
        json_object_set_new(m, "role", json_string(role)) != 0) {
        st = cf_sql__oom(err);
    }
    if (st == CF_OK) {
        cf_jw_json(w, NULL, m);
    }
    json_decref(m);
    return st;
}

/* Begins the record; the caller may add to it before it ends it. */
static cf_status messages_out(cf_jw *w, cf_buf *out, const cf_store_tree *tree,
                              const size_t *at, size_t n, bool as_openai,
                              cf_error *err)
{
    cf_jw_init(w, out);
    cf_jw_object(w, NULL);
    cf_jw_array(w, "messages");
    for (size_t i = 0; i < n; i++) {
        CF_TRY(message_out(w, &tree->turns[at[i]], as_openai, err));
    }
    cf_jw_end(w);
    json_t *tools = cf_xchg__tools(tree, at, n);
    if (tools != NULL) {
        cf_jw_json(w, "tools", tools);
        json_decref(tools);
    }
    return CF_OK;
}

static cf_status end_record(cf_jw *w, cf_error *err)
{
    cf_jw_end(w);
    cf_buf_addc(w->out, '\n');
    return cf_jw_finish(w, err);
}

cf_status cf_write_openai(const cf_store_tree *tree, const size_t *at, size_t n,
                          cf_buf *out, cf_error *err)
{
    cf_jw w;
    if (n == 0) {
        return CF_OK; /* the format has no record without messages */
    }
    CF_TRY(messages_out(&w, out, tree, at, n, true, err));
    return end_record(&w, err);
}

cf_status cf_write_litert(const cf_store_tree *tree, const size_t *at, size_t n,
                          cf_buf *out, cf_error *err)
{
    cf_jw w;
    if (n == 0) {
        return CF_OK;
    }
    CF_TRY(messages_out(&w, out, tree, at, n, false, err));
    json_t *v;
    cf_error ignored;
    cf_str preface = tree->conv.preface;
    if (preface.n != 0 &&
        cf_json_read(&v, preface.p, preface.n, &ignored) == CF_OK) {
        const json_t *extra = json_object_get(v, "extra_context");
        if (extra != NULL) {
            cf_jw_json(&w, "extra_context", extra);
        }
        json_decref(v);
    }
    return end_record(&w, err);
}
