/*
 * xchg_llm_db.c - the logs.db of the command-line program llm, both
 * generations of its tables.
 *
 * Older: `responses`, one row a call, grouped by `conversations`.  Newer:
 * `messages` linked by parent_hash, with `parts`; `turns` says which call
 * ended at which message, `threads` which belong together.  A database may
 * hold both; a response that is a turn as well is taken from the newer
 * tables.  Tables and columns that a database lacks count as empty.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "core/base/os.h"
#include "storage/db/store_codec.h"
#include "storage/exchange/xchg.h"

typedef struct llm {
    cf_import *im;
    cf_sql sql;
    cf_uuid last; /* turn that the next one hangs on */
} llm;

/* Whether a query counts any rows. */
static bool counts(llm *l, cf_status st, const int64_t *n)
{
    l->im->failed = l->im->failed || st == CF_ENOMEM;
    return st == CF_OK && *n > 0;
}

static bool has_table(llm *l, const char *name)
{
    int64_t n = 0;
    cf_error why;
    return counts(
        l,
        cf_sql__int(&l->sql, &n, 0, &why,
                    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", "z",
                    name),
        &n);
}

static bool has_column(llm *l, const char *table, const char *column)
{
    int64_t n = 0;
    cf_error why;
    return counts(l,
                  cf_sql__int(&l->sql, &n, 0, &why,
                              "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", "zz",
                              table, column),
                  &n);
}

/* Prepares a select in which columns that the table lacks are NULL. */
static cf_status prepare(llm *l, sqlite3_stmt **st, const char *table, const char *const *columns,
                         size_t n, const char *rest, cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&b, i == 0 ? "SELECT " : ", ");
        if (has_column(l, table, columns[i])) {
            cf_buf_addf(&b, "\"%s\"", columns[i]);
        } else {
            cf_buf_adds(&b, "NULL");
        }
    }
    cf_buf_addf(&b, " FROM \"%s\" %s", table, rest);
    cf_status s = cf_buf_check(&b, err);
    CF_THEN(s, cf_sql__prepare(&l->sql, st, b.p, err));
    cf_buf_deinit(&b);
    return s;
}

static cf_status bind_str(llm *l, sqlite3_stmt *st, int i, cf_str s, cf_error *err)
{
    int rc = sqlite3_bind_text64(st, i, s.p != NULL ? s.p : "", s.n, SQLITE_TRANSIENT, SQLITE_UTF8);
    return rc == SQLITE_OK ? CF_OK : cf_sql__fail(&l->sql, rc, err);
}

/* cf_sql__next() with an arena that holds one row's texts at a time. */
static bool next_row(llm *l, sqlite3_stmt *st, cf_arena *a, cf_status *s, cf_error *err)
{
    if (*s == CF_OK && a->failed) {
        *s = cf_sql__oom(err);
    }
    bool has_row = cf_sql__next(&l->sql, st, s, err);
    if (has_row) {
        cf_arena_reset(a);
    }
    return has_row;
}

/* A member with a text, unless it is empty. */
static void put_text(cf_jb *b, const char *key, cf_str s)
{
    if (s.n != 0) {
        cf_jb_str(b, key, s);
    }
}

/* The text, or a list of it and the files that go with it. */
static void put_content(cf_jb *b, cf_str text, const json_t *files)
{
    if (json_array_size(files) == 0) {
        cf_jb_str(b, "content", text);
        return;
    }
    cf_jb_array(b, "content");
    if (text.n != 0) {
        cf_jb_pack(b, NULL, "{s:s,s:o}", "type", "text", "text", cf_json_str(text));
    }
    for (size_t i = 0; i < json_array_size(files); i++) {
        cf_jb_add(b, NULL, json_array_get(files, i));
    }
    cf_jb_end(b);
}

/* "2025-02-16T22:34:30.374882+00:00", also with a blank and without zone. */
static int64_t time_of(cf_str s)
{
    char text[40];
    int64_t ms;
    size_t n = 0;
    while (n < s.n && n < 23 && s.p[n] != '+' && s.p[n] != 'Z') {
        text[n] = s.p[n] == ' ' ? 'T' : s.p[n];
        n++;
    }
    memcpy(text + n, "Z", 2);
    return cf_os_parse_time(&ms, text) ? ms : 0;
}

/* ---- attachments and fragments ------------------------------------------ */

static json_t *attachment_part(sqlite3_stmt *st, cf_arena *a)
{
    cf_str type = cf_sql__str(st, 0, a);
    cf_str path = cf_sql__str(st, 1, a);
    cf_str url = cf_sql__str(st, 2, a);
    cf_str data = cf_sql__blob(st, 3, a);
    const char *kind = type.n > 6 && memcmp(type.p, "image/", 6) == 0   ? "image"
                       : type.n > 6 && memcmp(type.p, "audio/", 6) == 0 ? "audio"
                                                                        : "file";
    cf_jb m = CF_JB_INIT;
    cf_buf base64 = CF_BUF_INIT;
    cf_jb_object(&m, NULL);
    cf_jb_text(&m, "type", kind);
    cf_jb_str(&m, "mime_type", type);
    if (data.n != 0) {
        cf_base64_put(&base64, data);
        cf_jb_buf(&m, "blob", &base64);
    } else {
        put_text(&m, path.n != 0 ? "path" : "url", path.n != 0 ? path : url);
    }
    cf_jb_end(&m);
    cf_buf_deinit(&base64);
    return cf_jb_done(&m);
}

/* Appends a part for each attachment that `sql` (one parameter) finds. */
static cf_status add_attachments(llm *l, json_t *parts, const char *text, cf_str id, cf_error *err)
{
    sqlite3_stmt *st;
    cf_arena a;
    CF_TRY(cf_sql__prepare(&l->sql, &st, text, err));
    cf_arena_init(&a, 0);
    cf_status s = bind_str(l, st, 1, id, err);
    while (next_row(l, st, &a, &s, err)) {
        if (json_array_append_new(parts, attachment_part(st, &a)) != 0) {
            s = cf_sql__oom(err);
        }
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

/* Fragments precede the prompt, each on its own lines. */
static cf_status add_fragments(llm *l, cf_buf *out, const char *table, cf_str response,
                               cf_error *err)
{
    if (!has_table(l, table) || !has_table(l, "fragments")) {
        return CF_OK;
    }
    cf_buf text = CF_BUF_INIT;
    sqlite3_stmt *st = NULL;
    cf_buf_addf(&text,
                "SELECT content FROM \"%s\" JOIN fragments ON fragments.id = "
                "fragment_id WHERE response_id = ? ORDER BY \"order\"",
                table);
    cf_status s = cf_buf_check(&text, err);
    CF_THEN(s, cf_sql__prepare(&l->sql, &st, text.p, err));
    CF_THEN(s, bind_str(l, st, 1, response, err));
    while (cf_sql__next(&l->sql, st, &s, err)) {
        const char *p = (const char *)sqlite3_column_text(st, 0);
        cf_buf_add(out, p, p != NULL ? (size_t)sqlite3_column_bytes(st, 0) : 0);
        cf_buf_addc(out, '\n');
    }
    cf_sql__drop(st);
    cf_buf_deinit(&text);
    return s;
}

/* ---- older generation --------------------------------------------------- */

enum {
    R_ID,
    R_MODEL,
    R_PROMPT,
    R_SYSTEM,
    R_OPTIONS,
    R_RESPONSE,
    R_MS,
    R_TIME,
    R_IN,
    R_OUT,
    R_RESOLVED,
    R_REASONING,
    R_SCHEMA,
    R_DETAILS,
    R_COUNT
};

static const char *const response_columns[R_COUNT] = {
    "id",          "model",        "prompt",       "system",        "options_json",   "response",
    "duration_ms", "datetime_utc", "input_tokens", "output_tokens", "resolved_model", "reasoning",
    "schema_id",   "token_details"};

static cf_status say(llm *l, json_t *m, cf_str scope, cf_str id, int64_t ms, cf_store_turn **out,
                     cf_error *err)
{
    cf_store_turn *t;
    CF_TRY(cf_build__say(l->im->cur, m, &t, err));
    t->id = cf_build__uuid(CF_FORMAT_LLM_DB, scope, id);
    t->parent = l->last;
    t->created_ms = ms;
    l->last = t->id;
    if (out != NULL) {
        *out = t;
    }
    return CF_OK;
}

static cf_store_run *make_run(cf_build *b, cf_str model, cf_str resolved, cf_str options,
                              int64_t n_in, int64_t n_out, int64_t ms)
{
    cf_store_run *r = cf_arena_calloc(&b->arena, 1, sizeof *r);
    if (r != NULL) {
        *r = cf_store_run_none();
        r->engine = cf_str_from("llm");
        r->model = cf_build__str(b, resolved.n != 0 ? resolved : model);
        r->options = cf_build__str(b, options);
        r->n_prompt = n_in;
        r->n_reply = n_out;
        r->decode_us = ms >= 0 && ms < INT64_MAX / 1000 ? ms * 1000 : -1;
    }
    return r;
}

/* A declaration as OpenAI writes it. */
static json_t *declaration(cf_str name, cf_str description, cf_str schema, cf_str plugin)
{
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "type", "function");
    cf_jb_object(&b, "function");
    cf_jb_str(&b, "name", name);
    put_text(&b, "description", description);
    json_t *v = cf_xchg__parse(schema, &b.failed);
    if (v != NULL) {
        cf_jb_take(&b, "parameters", v);
    }
    cf_jb_end(&b);
    put_text(&b, "plugin", plugin);
    cf_jb_end(&b);
    return cf_jb_done(&b);
}

/* The tools that `sql` (one parameter) finds, into the run. */
static cf_status add_tools(llm *l, cf_store_run *r, const char *text, cf_str id, cf_error *err)
{
    enum { TOOLS_MAX = 256 };
    sqlite3_stmt *st;
    cf_arena a;
    cf_build *b = l->im->cur;
    CF_TRY(cf_sql__prepare(&l->sql, &st, text, err));
    cf_str *tools = cf_arena_calloc(&b->arena, TOOLS_MAX, sizeof *tools);
    cf_arena_init(&a, 0);
    cf_status s = tools != NULL ? bind_str(l, st, 1, id, err) : cf_sql__oom(err);
    while (next_row(l, st, &a, &s, err)) {
        json_t *tool = declaration(cf_sql__str(st, 0, &a), cf_sql__str(st, 1, &a),
                                   cf_sql__str(st, 2, &a), cf_sql__str(st, 3, &a));
        if (tool == NULL) {
            s = cf_sql__oom(err);
        } else if (r->n_tools < TOOLS_MAX) {
            tools[r->n_tools++] = cf_build__json(b, tool);
        }
        json_decref(tool);
    }
    r->tools = tools;
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

/* The schema that the reply had to follow: {"schema":...}. */
static cf_status add_schema(llm *l, cf_store_run *r, cf_str id, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    if (id.n == 0 || !has_table(l, "schemas")) {
        return CF_OK;
    }
    CF_TRY(cf_sql__query(&l->sql, &st, err, "SELECT content FROM schemas WHERE id = ?", "s", id));
    CF_TRY(cf_sql__step(&l->sql, st, &has_row, err));
    cf_build *b = l->im->cur;
    json_t *schema =
        has_row ? cf_xchg__parse(cf_sql__str(st, 0, &b->arena), &b->arena.failed) : NULL;
    if (schema != NULL) {
        json_t *spec = json_pack("{s:o}", "schema", schema);
        r->constraint_spec = cf_build__json(b, spec);
        json_decref(spec);
    }
    if (has_row) {
        cf_sql__done(st);
    }
    return CF_OK;
}

/* {"format":...,"id":id,"token_details":...} */
static cf_str source_of(llm *l, cf_str id, cf_str details)
{
    json_t *v = cf_xchg__parse(details, &l->im->cur->arena.failed);
    return cf_build__source_with(l->im, id, "token_details", v != NULL ? v : json_null());
}

/* The inputs of one call of the model, from either generation's tables. */
static cf_status add_inputs(llm *l, cf_store_run *r, bool is_new, cf_str id, cf_str schema,
                            cf_error *err)
{
    if (r == NULL) {
        return cf_sql__oom(err);
    }
    if (has_table(l, "tools") && has_table(l, is_new ? "turn_tools" : "tool_responses")) {
        CF_TRY(add_tools(l, r,
                         is_new ? "SELECT name, description, input_schema, plugin FROM "
                                  "tools JOIN turn_tools ON tools.id = tool_id WHERE "
                                  "turn_id = ? ORDER BY tools.id"
                                : "SELECT name, description, input_schema, plugin FROM "
                                  "tools JOIN tool_responses ON tools.id = tool_id WHERE "
                                  "response_id = ? ORDER BY tools.id",
                         id, err));
    }
    return add_schema(l, r, schema, err);
}

/* tool_results of a response are its inputs: they precede its prompt. */
static cf_status old_results(llm *l, cf_str response, int64_t ms, cf_error *err)
{
    static const char *const columns[] = {"name", "output", "tool_call_id", "exception", "id"};
    sqlite3_stmt *st;
    if (!has_table(l, "tool_results")) {
        return CF_OK;
    }
    CF_TRY(prepare(l, &st, "tool_results", columns, 5, "WHERE response_id = ? ORDER BY id", err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = bind_str(l, st, 1, response, err);
    while (next_row(l, st, &a, &s, err)) {
        cf_jb m = CF_JB_INIT;
        cf_jb_object(&m, NULL);
        cf_jb_text(&m, "role", "tool");
        cf_jb_str(&m, "name", cf_sql__str(st, 0, &a));
        cf_jb_str(&m, "content", cf_sql__str(st, 1, &a));
        put_text(&m, "tool_call_id", cf_sql__str(st, 2, &a));
        put_text(&m, "exception", cf_sql__str(st, 3, &a));
        cf_jb_end(&m);
        cf_str id = cf_sql__str(st, 4, &a);
        s = say(l, cf_jb_done(&m), cf_str_from("tool_result"), id, ms, NULL, err);
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

static cf_status old_calls(llm *l, cf_str response, cf_jb *out, cf_error *err)
{
    static const char *const columns[] = {"name", "arguments", "tool_call_id"};
    sqlite3_stmt *st;
    if (!has_table(l, "tool_calls")) {
        return CF_OK;
    }
    CF_TRY(prepare(l, &st, "tool_calls", columns, 3, "WHERE response_id = ? ORDER BY id", err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = bind_str(l, st, 1, response, err);
    while (next_row(l, st, &a, &s, err)) {
        cf_jb_object(out, NULL);
        cf_jb_text(out, "type", "function");
        put_text(out, "id", cf_sql__str(st, 2, &a));
        cf_jb_object(out, "function");
        cf_jb_str(out, "name", cf_sql__str(st, 0, &a));
        cf_jb_str(out, "arguments", cf_sql__str(st, 1, &a));
        cf_jb_end(out);
        cf_jb_end(out);
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

static cf_status old_prompt(llm *l, sqlite3_stmt *st, cf_arena *a, cf_str id, int64_t ms,
                            cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_str prompt = cf_sql__str(st, R_PROMPT, a);
    json_t *parts = json_array();
    cf_status s = add_fragments(l, &text, "prompt_fragments", id, err);
    cf_buf_add(&text, prompt.p, prompt.n);
    if (s == CF_OK && has_table(l, "prompt_attachments")) {
        s = add_attachments(l, parts,
                            "SELECT type, path, url, content FROM "
                            "prompt_attachments JOIN attachments ON "
                            "attachments.id = attachment_id WHERE response_id "
                            "= ? ORDER BY \"order\"",
                            id, err);
    }
    cf_str all = cf_buf_str(&text);
    if (s == CF_OK && (all.n != 0 || json_array_size(parts) != 0)) {
        cf_jb m = CF_JB_INIT;
        cf_jb_object(&m, NULL);
        cf_jb_text(&m, "role", "user");
        put_content(&m, all, parts);
        cf_jb_end(&m);
        s = say(l, cf_jb_done(&m), cf_str_from("prompt"), id, ms, NULL, err);
    }
    json_decref(parts);
    cf_buf_deinit(&text);
    return s;
}

static cf_status old_response(llm *l, sqlite3_stmt *st, cf_arena *a, cf_buf *system, cf_error *err)
{
    cf_str id = cf_sql__str(st, R_ID, a);
    int64_t ms = time_of(cf_sql__str(st, R_TIME, a));
    cf_buf sys = CF_BUF_INIT;
    cf_status s = add_fragments(l, &sys, "system_fragments", id, err);
    cf_str text = cf_sql__str(st, R_SYSTEM, a);
    cf_buf_add(&sys, text.p, text.n);
    CF_THEN(s, cf_buf_check(&sys, err));
    if (s == CF_OK && sys.n != 0 && !cf_str_eq(cf_buf_str(&sys), cf_buf_str(system))) {
        cf_buf_reset(system);
        cf_buf_add(system, sys.p, sys.n);
        s = say(l, json_pack("{s:s,s:o}", "role", "system", "content", cf_json_buf(&sys)),
                cf_str_from("system"), id, ms, NULL, err);
    }
    cf_buf_deinit(&sys);
    CF_TRY(s);
    CF_TRY(cf_buf_check(system, err));
    CF_TRY(old_results(l, id, ms, err));
    CF_TRY(old_prompt(l, st, a, id, ms, err));
    cf_jb calls = CF_JB_INIT, m = CF_JB_INIT;
    cf_jb_array(&calls, NULL);
    s = old_calls(l, id, &calls, err);
    cf_jb_end(&calls);
    cf_jb_object(&m, NULL);
    cf_jb_text(&m, "role", "assistant");
    cf_jb_str(&m, "content", cf_sql__str(st, R_RESPONSE, a));
    put_text(&m, "reasoning_content", cf_sql__str(st, R_REASONING, a));
    if (calls.failed || json_array_size(calls.root) != 0) {
        cf_jb_take(&m, "tool_calls", cf_jb_done(&calls));
    }
    cf_jb_deinit(&calls);
    cf_jb_end(&m);
    if (s != CF_OK) {
        cf_jb_deinit(&m);
        return s;
    }
    cf_store_turn *t;
    CF_TRY(say(l, cf_jb_done(&m), cf_str_from("response"), id, ms, &t, err));
    t->source = source_of(l, id, cf_sql__str(st, R_DETAILS, a));
    cf_store_run *r =
        make_run(l->im->cur, cf_sql__str(st, R_MODEL, a), cf_sql__str(st, R_RESOLVED, a),
                 cf_sql__str(st, R_OPTIONS, a), cf_sql__opt(st, R_IN), cf_sql__opt(st, R_OUT),
                 cf_sql__opt(st, R_MS));
    t->run = r;
    CF_TRY(add_inputs(l, r, false, id, cf_sql__str(st, R_SCHEMA, a), err));
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

/* One conversation of the older tables; id empty: responses without one, of
 * which each becomes a conversation. */
static cf_status old_conv(llm *l, cf_str id, cf_str name, bool is_single, cf_error *err)
{
    sqlite3_stmt *st;
    cf_uuid nil = {{0}};
    const char *skip = has_table(l, "turns") ? " AND id NOT IN (SELECT id FROM turns)" : "";
    cf_buf rest = CF_BUF_INIT;
    cf_buf_addf(&rest, "WHERE %s = ?%s ORDER BY id", is_single ? "id" : "conversation_id", skip);
    cf_status s = cf_buf_check(&rest, err);
    CF_THEN(s, prepare(l, &st, "responses", response_columns, R_COUNT, rest.p, err));
    cf_buf_deinit(&rest);
    CF_TRY(s);
    s = cf_build__begin(l->im, 0, err);
    if (s == CF_OK) {
        cf_store_conv *c = &l->im->cur->conv;
        c->source = cf_build__source(l->im, id);
        c->id = cf_build__uuid(CF_FORMAT_LLM_DB, cf_str_from("conversation"), id);
        c->title = cf_build__str(l->im->cur, name);
        s = bind_str(l, st, 1, id, err);
    }
    l->last = nil;
    cf_arena a;
    cf_buf system = CF_BUF_INIT;
    cf_arena_init(&a, 0);
    while (next_row(l, st, &a, &s, err)) {
        s = old_response(l, st, &a, &system, err);
    }
    cf_arena_deinit(&a);
    cf_buf_deinit(&system);
    cf_sql__drop(st);
    if (s == CF_OK && l->im->cur->n != 0) {
        s = cf_import__emit(l->im, err);
    }
    return s;
}

static cf_status read_old(llm *l, cf_error *err)
{
    sqlite3_stmt *st;
    if (!has_table(l, "responses")) {
        return CF_OK;
    }
    CF_TRY(cf_sql__prepare(&l->sql, &st,
                           has_table(l, "conversations")
                               ? "SELECT coalesce(conversation_id, responses.id), "
                                 "conversations.name, conversation_id IS NULL, "
                                 "min(responses.id) AS first FROM responses LEFT JOIN "
                                 "conversations ON conversations.id = conversation_id GROUP BY 1 "
                                 "ORDER BY first"
                               : "SELECT id, NULL, 1, id FROM responses ORDER BY id",
                           err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = CF_OK;
    while (next_row(l, st, &a, &s, err)) {
        cf_str id = cf_sql__str(st, 0, &a);
        cf_str name = cf_sql__str(st, 1, &a);
        s = old_conv(l, id, name, sqlite3_column_int(st, 2) != 0, err);
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

/* ---- newer generation --------------------------------------------------- */

/* The text of a part, references to fragments resolved. */
static cf_status part_text(llm *l, cf_str text, const json_t *payload, cf_buf *out, cf_error *err)
{
    const json_t *pieces = json_object_get(payload, "text_ref");
    cf_buf_add(out, text.p, text.n);
    for (size_t i = 0; i < json_array_size(pieces); i++) {
        const json_t *piece = json_array_get(pieces, i);
        const json_t *fragment = json_object_get(piece, "fragment");
        cf_str literal = cf_json_get_str(piece, "literal");
        cf_buf_add(out, literal.p, literal.n);
        if (!json_is_integer(fragment)) {
            continue;
        }
        sqlite3_stmt *st;
        bool has_row;
        CF_TRY(cf_sql__query(&l->sql, &st, err, "SELECT content FROM fragments WHERE id = ?", "i",
                             (int64_t)json_integer_value(fragment)));
        CF_TRY(cf_sql__step(&l->sql, st, &has_row, err));
        if (has_row) {
            const char *p = (const char *)sqlite3_column_text(st, 0);
            cf_buf_add(out, p, p != NULL ? (size_t)sqlite3_column_bytes(st, 0) : 0);
            cf_sql__done(st);
        }
    }
    return CF_OK;
}

/* The parts of one message, by kind. */
typedef struct gathered {
    cf_buf text, thought;
    json_t *calls, *files, *results;
} gathered;

static cf_status add_file(llm *l, const json_t *payload, json_t *files, cf_error *err)
{
    cf_str id = cf_json_get_str(json_object_get(payload, "attachment"), "id");
    return id.n != 0 && has_table(l, "attachments")
               ? add_attachments(l, files,
                                 "SELECT type, path, url, content FROM "
                                 "attachments WHERE id = ?",
                                 id, err)
               : CF_OK;
}

static cf_status add_part(llm *l, cf_str type, cf_str text, json_t *payload, gathered *g,
                          cf_error *err)
{
    int failed = 0;
    json_t *id = json_object_get(payload, "tool_call_id");
    json_t *name = json_object_get(payload, "name");
    if (cf_str_is(type, "tool_call")) {
        failed = json_array_append_new(
            g->calls, json_pack("{s:s,s:O*,s:{s:O?,s:O?}}", "type", "function", "id",
                                json_is_string(id) ? id : NULL, "function", "name", name,
                                "arguments", json_object_get(payload, "arguments")));
    } else if (cf_str_is(type, "tool_result")) {
        failed = json_array_append_new(
            g->results, json_pack("{s:s,s:O*,s:O?,s:O*,s:O*}", "role", "tool", "name", name,
                                  "content", json_object_get(payload, "output"), "tool_call_id",
                                  json_is_string(id) ? id : NULL, "exception",
                                  json_object_get(payload, "exception")));
    } else if (cf_str_is(type, "attachment")) {
        return add_file(l, payload, g->files, err);
    } else {
        cf_buf *to = cf_str_is(type, "reasoning") ? &g->thought : &g->text;
        cf_buf_adds(to, to->n != 0 ? "\n" : "");
        return part_text(l, text, payload, to, err);
    }
    return failed != 0 ? cf_sql__oom(err) : CF_OK;
}

static cf_status gather(llm *l, cf_str hash, gathered *g, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__prepare(&l->sql, &st,
                           "SELECT type, text, payload FROM parts WHERE "
                           "message_hash = ? ORDER BY position",
                           err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = bind_str(l, st, 1, hash, err);
    while (next_row(l, st, &a, &s, err)) {
        bool *failed = &l->im->cur->arena.failed;
        json_t *v = cf_xchg__parse(cf_sql__str(st, 2, &a), failed);
        s = add_part(l, cf_sql__str(st, 0, &a), cf_sql__str(st, 1, &a), v, g, err);
        json_decref(v);
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

static json_t *gathered_message(cf_str role, const gathered *g)
{
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_str(&b, "role", role);
    put_content(&b, cf_buf_str(&g->text), g->files);
    put_text(&b, "reasoning_content", cf_buf_str(&g->thought));
    if (json_array_size(g->calls) != 0) {
        cf_jb_add(&b, "tool_calls", g->calls);
    }
    cf_jb_end(&b);
    b.failed = b.failed || g->text.failed || g->thought.failed;
    return cf_jb_done(&b);
}

/* A message of llm is one turn, or one for each tool result and one for the
 * rest; the last of them represents it. */
static cf_status say_gathered(llm *l, cf_str thread, cf_str hash, cf_str role, int64_t ms,
                              const gathered *g, cf_error *err)
{
    size_t n = json_array_size(g->results);
    bool has_rest = n == 0 || g->text.n != 0 || g->thought.n != 0 ||
                    json_array_size(g->calls) != 0 || json_array_size(g->files) != 0;
    for (size_t i = 0; i < n; i++) {
        cf_buf id = CF_BUF_INIT;
        bool is_last = i + 1 == n && !has_rest;
        cf_buf_add(&id, hash.p, hash.n);
        if (!is_last) {
            cf_buf_addf(&id, " %zu", i);
        }
        cf_status s = cf_buf_check(&id, err);
        CF_THEN(s, say(l, json_incref(json_array_get(g->results, i)), thread,
                       cf_str_make(id.p, id.n), ms, NULL, err));
        cf_buf_deinit(&id);
        CF_TRY(s);
    }
    return has_rest ? say(l, gathered_message(role, g), thread, hash, ms, NULL, err) : CF_OK;
}

static void free_gathered(gathered *g)
{
    cf_buf_deinit(&g->text);
    cf_buf_deinit(&g->thought);
    json_decref(g->calls);
    json_decref(g->files);
    json_decref(g->results);
}

static cf_status new_message(llm *l, cf_str thread, cf_str hash, cf_str parent, cf_str role,
                             int64_t ms, cf_error *err)
{
    cf_uuid nil = {{0}};
    l->last = parent.n != 0 ? cf_build__uuid(CF_FORMAT_LLM_DB, thread, parent) : nil;
    gathered g = {.calls = json_array(), .files = json_array(), .results = json_array()};
    cf_status s = g.calls == NULL || g.files == NULL || g.results == NULL
                      ? cf_sql__oom(err)
                      : gather(l, hash, &g, err);
    CF_THEN(s, say_gathered(l, thread, hash, role, ms, &g, err));
    free_gathered(&g);
    return s;
}

/* Every message above the tips of a thread's turns, once, parents first; with
 * the turn that ended there. */
static const char thread_messages[] =
    "WITH RECURSIVE above(hash, depth, at) AS (SELECT tip_message_hash, 0, "
    "datetime_utc FROM turns WHERE thread_id = ?1 UNION SELECT m.parent_hash, "
    "depth + 1, at FROM above JOIN messages m ON m.hash = above.hash WHERE "
    "m.parent_hash IS NOT NULL AND depth < 20000) SELECT m.hash, "
    "m.parent_hash, m.role, min(above.at), max(depth) AS down FROM above JOIN "
    "messages m ON m.hash = above.hash GROUP BY m.hash ORDER BY min(above.at), "
    "down DESC";

static cf_store_turn *turn_of(cf_build *b, cf_uuid id)
{
    for (size_t i = 0; i < b->n; i++) {
        if (cf_uuid_eq(b->turns[i].id, id)) {
            return &b->turns[i];
        }
    }
    return NULL;
}

static cf_status add_runs(llm *l, cf_str thread, cf_error *err)
{
    static const char *const columns[] = {
        "id",           "tip_message_hash", "model",       "resolved_model", "options_json",
        "input_tokens", "output_tokens",    "duration_ms", "schema_id",      "token_details"};
    sqlite3_stmt *st;
    cf_build *b = l->im->cur;
    CF_TRY(prepare(l, &st, "turns", columns, 10, "WHERE thread_id = ? ORDER BY id", err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = bind_str(l, st, 1, thread, err);
    while (next_row(l, st, &a, &s, err)) {
        cf_uuid id = cf_build__uuid(CF_FORMAT_LLM_DB, thread, cf_sql__str(st, 1, &a));
        cf_store_turn *t = turn_of(b, id);
        if (t == NULL) {
            continue;
        }
        cf_str turn = cf_sql__str(st, 0, &a);
        cf_store_run *r =
            make_run(b, cf_sql__str(st, 2, &a), cf_sql__str(st, 3, &a), cf_sql__str(st, 4, &a),
                     cf_sql__opt(st, 5), cf_sql__opt(st, 6), cf_sql__opt(st, 7));
        t->run = r;
        t->source = source_of(l, turn, cf_sql__str(st, 9, &a));
        s = add_inputs(l, r, true, turn, cf_sql__str(st, 8, &a), err);
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

static cf_status read_messages(llm *l, cf_str thread, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__prepare(&l->sql, &st, thread_messages, err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = bind_str(l, st, 1, thread, err);
    while (next_row(l, st, &a, &s, err)) {
        cf_str hash = cf_sql__str(st, 0, &a);
        cf_str parent = cf_sql__str(st, 1, &a);
        cf_str role = cf_sql__str(st, 2, &a);
        int64_t ms = time_of(cf_sql__str(st, 3, &a));
        s = new_message(l, thread, hash, parent, role, ms, err);
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

static cf_status new_thread(llm *l, cf_str id, cf_str name, cf_str tip, int64_t ms, cf_error *err)
{
    CF_TRY(cf_build__begin(l->im, 0, err));
    cf_store_conv *c = &l->im->cur->conv;
    c->source = cf_build__source(l->im, id);
    c->id = cf_build__uuid(CF_FORMAT_LLM_DB, cf_str_from("conversation"), id);
    c->title = cf_build__str(l->im->cur, name);
    c->created_ms = ms;
    if (tip.n != 0) {
        c->head = cf_build__uuid(CF_FORMAT_LLM_DB, id, tip);
    }
    CF_TRY(read_messages(l, id, err));
    CF_TRY(add_runs(l, id, err));
    return l->im->cur->n != 0 ? cf_import__emit_ordered(l->im, err) : CF_OK;
}

static cf_status read_new(llm *l, cf_error *err)
{
    sqlite3_stmt *st;
    if (!has_table(l, "threads") || !has_table(l, "turns") || !has_table(l, "messages") ||
        !has_table(l, "parts")) {
        return CF_OK;
    }
    CF_TRY(cf_sql__prepare(&l->sql, &st,
                           "SELECT id, name, tip_message_hash, datetime_utc "
                           "FROM threads ORDER BY id",
                           err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = CF_OK;
    while (next_row(l, st, &a, &s, err)) {
        cf_str id = cf_sql__str(st, 0, &a);
        s = new_thread(l, id, cf_sql__str(st, 1, &a), cf_sql__str(st, 2, &a),
                       time_of(cf_sql__str(st, 3, &a)), err);
    }
    cf_arena_deinit(&a);
    cf_sql__drop(st);
    return s;
}

enum { VALUE_MAX = 128 << 20 }; /* bytes of a row: as one record of other imports */

static cf_status read_file(cf_import *im, const char *path, cf_error *err)
{
    llm l = {.im = im};
    cf_import__name(im, "llm database", "");
    cf_sql__setup();
    CF_TRY(cf_sql__open(&l.sql, path, CF_SQL_READ, 2000, err));
    l.sql.deadline_us = cf_os_monotonic_us() + UINT64_C(3600) * 1000000;
    l.sql.cancel = im->opts->cancel;
    (void)sqlite3_limit(l.sql.db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    cf_status s = CF_OK;
    bool is_llm = has_table(&l, "responses") || has_table(&l, "threads");
    if (!is_llm) {
        s = cf_fail(err, CF_EFORMAT, "%s: not a logs.db of llm", path);
    }
    CF_THEN(s, cf_sql__refuse_computed(&l.sql, err));
    CF_THEN(s, read_old(&l, err));
    CF_THEN(s, read_new(&l, err));
    if (s == CF_OK && im->failed) {
        s = cf_sql__oom(err);
    }
    cf_sql__close(&l.sql);
    return s;
}

const cf_xchg_format cf_xchg_llm_db = {
    .name = "llm-db", .file = read_file, .magic = "SQLite format 3"};
