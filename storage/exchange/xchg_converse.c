/*
 * xchg_converse.c - ConverseHistory's JSON:
 * {"history":[{"role","content":{"text","binaryContent":[...]},"uuid"}]}.
 *
 * Fields equal to their defaults are left out there, so an empty history is
 * {}.  Fields without a counterpart in our messages are kept in them under
 * "converse" and exported unchanged.
 */
#include <string.h>

#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"

static const char *const roles[] = {
    "developer", "system",        "user",         "agent",
    "assistant", "tool_response", "pcp_response", "mcp_response"};

/* Known roles in any case; others as they are. */
static cf_str role_name(cf_str role)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        size_t n = strlen(roles[i]);
        size_t k = 0;
        while (n == role.n && k < n) {
            char c = role.p[k];
            c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
            if (c != roles[i][k]) {
                break;
            }
            k++;
        }
        if (n == role.n && k == n) {
            return cf_str_from(roles[i]);
        }
    }
    return role;
}

/* The last word of a type's name: "com.x.BinaryContent.Bytes" is "Bytes". */
static bool is_kind(cf_str type, const char *kind)
{
    size_t n = strlen(kind);
    return type.n >= n && memcmp(type.p + type.n - n, kind, n) == 0 &&
           (type.n == n || type.p[type.n - n - 1] == '.');
}

/* A piece of binary content as a part that templates can make something of;
 * the original goes along. */
static json_t *part_of(json_t *item)
{
    cf_str type = cf_json_get_str(item, "type");
    cf_str mime = cf_json_get_str(item, "mimeType");
    const char *kind = mime.n > 6 && memcmp(mime.p, "image/", 6) == 0 ? "image"
                       : mime.n > 6 && memcmp(mime.p, "audio/", 6) == 0
                           ? "audio"
                           : "file";
    if (is_kind(type, "TextDocument")) {
        return json_pack("{s:s,s:O?,s:O}", "type", "text", "text",
                         json_object_get(item, "content"), "converse", item);
    }
    if (is_kind(type, "CloudReference")) {
        return json_pack("{s:s,s:O?,s:O}", "type", kind, "path",
                         json_object_get(item, "uri"), "converse", item);
    }
    return json_pack("{s:s,s:O}", "type", kind, "converse", item);
}

static json_t *list_content(const json_t *content)
{
    json_t *list = json_array();
    cf_str text = cf_json_get_str(content, "text");
    const json_t *binary = json_object_get(content, "binaryContent");
    bool ok = list != NULL;
    if (ok && text.n != 0) {
        ok = json_array_append_new(
                 list, json_pack("{s:s,s:o}", "type", "text", "text",
                                 json_stringn(text.p, text.n))) == 0;
    }
    for (size_t i = 0; ok && i < json_array_size(binary); i++) {
        ok = json_array_append_new(list, part_of(json_array_get(binary, i))) ==
             0;
    }
    if (!ok) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* Everything of the content but text and files. */
static json_t *rest_of(const json_t *content)
{
    json_t *rest = json_copy(cf_json_ref(content));
    if (rest != NULL) {
        (void)json_object_del(rest, "text");
        (void)json_object_del(rest, "binaryContent");
    }
    return rest;
}

static json_t *message_of(const json_t *entry)
{
    cf_str role = role_name(cf_json_get_str(entry, "role"));
    const json_t *content = json_object_get(entry, "content");
    cf_str text = json_is_string(content) ? cf_xchg__str(content)
                                          : cf_json_get_str(content, "text");
    json_t *m = json_pack("{s:o}", "role", json_stringn(role.p, role.n));
    json_t *c = json_array_size(json_object_get(content, "binaryContent")) != 0
                    ? list_content(content)
                    : json_stringn(text.p != NULL ? text.p : "", text.n);
    if (m == NULL || json_object_set_new(m, "content", c) != 0) {
        json_decref(m);
        return NULL;
    }
    json_t *rest = json_is_object(content) ? rest_of(content) : NULL;
    /* Fields of a message of ours that have no place there. */
    json_t *own = json_object_get(rest, "confab");
    if (json_is_object(own)) {
        (void)json_object_update_missing(m, own);
        (void)json_object_del(rest, "confab");
    }
    if (json_object_size(rest) != 0) {
        (void)json_object_set(m, "converse", rest);
    }
    json_decref(rest);
    return m;
}

static cf_status check_entry(const json_t *entry, size_t i, cf_error *err)
{
    const json_t *content = json_object_get(entry, "content");
    const json_t *uuid = json_object_get(entry, "uuid");
    if (cf_json_get_str(entry, "role").n == 0 ||
        (!json_is_object(content) && !json_is_string(content)) ||
        (uuid != NULL && !json_is_string(uuid) && !json_is_null(uuid))) {
        return cf_fail(err, CF_EFORMAT,
                       "entry %zu has no role, no content or a bad uuid",
                       i + 1);
    }
    return CF_OK;
}

static cf_status add_entry(cf_import *im, const json_t *entry, cf_error *err)
{
    cf_str uuid = cf_json_get_str(entry, "uuid");
    cf_store_turn *t;
    CF_TRY(cf_build__say(im->cur, message_of(entry), &t, err));
    if (uuid.n != 0) {
        cf_uuid same;
        t->id = cf_build__uuid(CF_FORMAT_CONVERSE, cf_str_make(NULL, 0), uuid);
        if (!cf_uuid_parse(&same, uuid.p, uuid.n)) {
            t->source = cf_build__source(im, uuid);
        }
    }
    return CF_OK;
}

/* An entry with the UUID of one before is ignored, as add() does. */
static cf_status drop_doubles(cf_import *im, uint64_t line, cf_error *err)
{
    size_t before = im->cur->n;
    CF_TRY(cf_build__unique(im->cur, err));
    size_t dropped = before - im->cur->n;
    im->report->n_skipped += dropped;
    if (dropped != 0 && im->opts->note != NULL) {
        im->opts->note(im->opts->ud, line,
                       "an entry has the UUID of one before: it was left out");
    }
    return CF_OK;
}

static cf_status record(cf_import *im, const json_t *v, uint64_t line,
                        cf_error *err)
{
    const json_t *list = json_is_array(v) ? v : json_object_get(v, "history");
    if (list == NULL) {
        list = json_object_get(v, "messages");
    }
    if (json_is_object(v) && json_object_size(v) == 0) {
        return CF_OK; /* an empty history */
    }
    if (!json_is_array(list)) {
        return cf_fail(err, CF_EFORMAT, "no \"history\"");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        CF_TRY(check_entry(json_array_get(list, i), i, err));
    }
    if (json_array_size(list) == 0) {
        return CF_OK;
    }
    CF_TRY(cf_build__begin(im, line, err));
    im->cur->conv.source = cf_build__source(im, cf_str_make(NULL, 0));
    for (size_t i = 0; i < json_array_size(list); i++) {
        CF_TRY(add_entry(im, json_array_get(list, i), err));
    }
    CF_TRY(drop_doubles(im, line, err));
    CF_TRY(cf_import__emit(im, err));
    /* The next record may be another branch of this conversation. */
    return cf_import__flush(im, err);
}

const cf_reader_format cf_read_converse = {record, NULL, NULL};

/* ---- writing ------------------------------------------------------------ */

static const char *role_out(cf_str role)
{
    if (cf_str_is(role, "tool") || cf_str_is(role, "function") ||
        cf_str_is(role, "observation") || cf_str_is(role, "tool_result")) {
        return "tool_response";
    }
    return cf_str_is(role, "model") ? "assistant" : NULL;
}

static void binary_out(cf_jw *w, const json_t *part)
{
    const json_t *original = json_object_get(part, "converse");
    if (json_is_object(original)) {
        cf_jw_json(w, NULL, original);
        return;
    }
    cf_str blob = cf_json_get_str(part, "blob");
    cf_str path = cf_json_get_str(part, "path");
    cf_jw_object(w, NULL);
    if (blob.n != 0) {
        cf_jw_text(w, "type", "Base64String");
        cf_jw_str(w, "data", blob);
    } else if (path.n != 0) {
        cf_jw_text(w, "type", "CloudReference");
        cf_jw_str(w, "uri", path);
    } else {
        cf_buf b = CF_BUF_INIT;
        cf_json_write(&b, part);
        cf_jw_text(w, "type", "TextDocument");
        cf_jw_buf(w, "content", &b);
        cf_buf_deinit(&b);
    }
    cf_jw_end(w);
}

/* Text parts that were text documents stay documents. */
static bool is_text_part(const json_t *part)
{
    return json_is_string(part) || (cf_json_get_str(part, "text").p != NULL &&
                                    json_object_get(part, "converse") == NULL);
}

/* Tool calls and the like; readers there skip keys they do not know. */
static void own_out(cf_jw *w, const json_t *m)
{
    json_t *own = json_copy(cf_json_ref(m));
    (void)json_object_del(own, "role");
    (void)json_object_del(own, "content");
    (void)json_object_del(own, "converse");
    if (json_object_size(own) != 0) {
        cf_jw_json(w, "confab", own);
    }
    w->out->failed = w->out->failed || own == NULL;
    json_decref(own);
}

static void text_out(cf_jw *w, const json_t *m, const json_t *content)
{
    cf_buf text = CF_BUF_INIT;
    if (!json_is_array(content)) {
        cf_xchg__text(&text, m);
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (is_text_part(part)) {
            cf_str s = json_is_string(part) ? cf_xchg__str(part)
                                            : cf_json_get_str(part, "text");
            cf_buf_adds(&text, text.n != 0 ? "\n\n" : "");
            cf_buf_add(&text, s.p, s.n);
        }
    }
    cf_jw_buf(w, "text", &text);
    cf_buf_deinit(&text);
}

static void binaries_out(cf_jw *w, const json_t *content)
{
    bool is_open = false;
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (is_text_part(part)) {
            continue;
        }
        if (!is_open) {
            cf_jw_array(w, "binaryContent");
            is_open = true;
        }
        binary_out(w, part);
    }
    if (is_open) {
        cf_jw_end(w);
    }
}

static void content_out(cf_jw *w, const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    const char *key;
    json_t *v;
    cf_jw_object(w, "content");
    text_out(w, m, content);
    binaries_out(w, content);
    json_object_foreach(json_object_get(m, "converse"), key, v)
    {
        cf_jw_json(w, key, v);
    }
    own_out(w, m);
    cf_jw_end(w);
}

/* The id it came with, or its UUID. */
static void uuid_out(cf_jw *w, const cf_store_turn *t)
{
    json_t *v = NULL;
    cf_error ignored;
    if (t->source.n != 0 &&
        cf_json_read(&v, t->source.p, t->source.n, &ignored) == CF_OK &&
        cf_str_is(cf_json_get_str(v, "format"), "converse") &&
        cf_json_get_str(v, "id").n != 0) {
        cf_jw_str(w, "uuid", cf_json_get_str(v, "id"));
    } else {
        cf_jw_uuid(w, "uuid", t->id);
    }
    json_decref(v);
}

cf_status cf_write_converse(const cf_store_tree *tree, const size_t *at,
                            size_t n, cf_buf *out, cf_error *err)
{
    if (n == 0) {
        cf_buf_adds(out, "{}\n");
        return CF_OK;
    }
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_array(&w, "history");
    for (size_t i = 0; i < n; i++) {
        const cf_store_turn *t = &tree->turns[at[i]];
        json_t *m;
        CF_TRY(cf_xchg__message(&m, t, err));
        cf_str role = cf_json_get_str(m, "role");
        const char *other = role_out(role);
        cf_jw_object(&w, NULL);
        cf_jw_str(&w, "role", other != NULL ? cf_str_from(other) : role);
        content_out(&w, m);
        uuid_out(&w, t);
        cf_jw_end(&w);
        json_decref(m);
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}
