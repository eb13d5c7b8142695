/*
 * xchg_converse.c - ConverseHistory's JSON:
 * {"history":[{"role","content":{"text","binaryContent":[...]},"uuid"}]}.
 *
 * Fields equal to their defaults are left out there, so an empty history is
 * {}.  Fields of a content or a file without a counterpart in our messages are
 * kept there under "converse", those of an entry and of the history in the
 * `source`; all are written back.
 */
#include <string.h>

#include "core/api/attachment.h"
#include "core/base/base64.h"
#include "storage/db/store_message.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_media.h"

static const char *const roles[] = {"developer", "system",        "user",         "agent",
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

typedef enum item_kind { ITEM_BYTES, ITEM_BASE64, ITEM_TEXT, ITEM_CLOUD, ITEM_OTHER } item_kind;

/* The letters of a type's last word, in lower case: "base64string" of
 * "com.x.BinaryContent.Base64String" and of "base64_string". */
static void last_word(char out[24], cf_str type)
{
    size_t from = type.n, n = 0;
    while (from > 0 && strchr(".$/", type.p[from - 1]) == NULL) {
        from--;
    }
    for (size_t i = from; i < type.n && n < 23; i++) {
        char c = type.p[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            out[n++] = c;
        }
    }
    out[n] = '\0';
}

/* The kind of binary content, by its type, else by its members. */
static item_kind kind_of_item(const json_t *item)
{
    static const struct {
        const char *word;
        item_kind kind;
    } words[] = {{"bytes", ITEM_BYTES},
                 {"bytearray", ITEM_BYTES},
                 {"base64string", ITEM_BASE64},
                 {"base64", ITEM_BASE64},
                 {"textdocument", ITEM_TEXT},
                 {"text", ITEM_TEXT},
                 {"document", ITEM_TEXT},
                 {"cloudreference", ITEM_CLOUD},
                 {"cloud", ITEM_CLOUD},
                 {"reference", ITEM_CLOUD},
                 {"uri", ITEM_CLOUD}};
    const json_t *data = json_object_get(item, "data");
    char word[24];
    last_word(word, cf_json_get_str(item, "type"));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i].word) == 0) {
            return words[i].kind;
        }
    }
    return json_is_array(data)                                     ? ITEM_BYTES
           : json_string_length(data) != 0                         ? ITEM_BASE64
           : json_is_string(json_object_get(item, "content"))      ? ITEM_TEXT
           : json_string_length(json_object_get(item, "uri")) != 0 ? ITEM_CLOUD
                                                                   : ITEM_OTHER;
}

/* The bytes of a list of numbers as base64; signed ones, as the JVM has them,
 * too.  NULL: there is something else in it, or *failed. */
static json_t *base64_of(const json_t *list, bool *failed)
{
    cf_buf bytes = CF_BUF_INIT, text = CF_BUF_INIT;
    bool ok = json_is_array(list);
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t n = json_integer_value(v);
        ok = json_is_integer(v) && n >= -128 && n <= 255;
        cf_buf_addc(&bytes, (char)n);
    }
    if (ok) {
        cf_base64_put(&text, cf_buf_str(&bytes));
    }
    *failed = *failed || bytes.failed || text.failed;
    json_t *v = ok ? cf_json_buf(&text) : NULL;
    cf_buf_deinit(&bytes);
    cf_buf_deinit(&text);
    return v;
}

/* A part with the item's bytes or place under `key`, the item without them
 * under "converse".  `value` is taken. */
static json_t *part_with(const char *kind, const json_t *item, const char *item_key,
                         const char *key, json_t *value)
{
    json_t *rest = cf_xchg__rest(item, &item_key, 1);
    json_t *mime = json_object_get(item, "mimeType");
    json_t *name = json_object_get(item, "filename");
    return json_pack("{s:s,s:o,s:O*,s:O*,s:o}", "type", kind, key, value, "mime_type",
                     json_is_string(mime) ? mime : NULL, "name", json_is_string(name) ? name : NULL,
                     "converse", rest);
}

/* "image", "audio" ... by the type that is written, else by the bytes. */
static const char *medium_of(const json_t *item, item_kind is)
{
    cf_str mime = cf_json_get_str(item, "mimeType");
    if (mime.n == 0 && is == ITEM_BASE64) {
        mime = cf_attachment_mime(cf_json_get_str(item, "data"), mime);
    }
    return cf_xmedia__kind(mime);
}

/* A piece of binary content as a part that templates and engines can make
 * something of. */
static json_t *part_of(json_t *item, bool *failed)
{
    const item_kind is = kind_of_item(item);
    json_t *data = json_object_get(item, "data");
    json_t *text = json_object_get(item, "content");
    json_t *uri = json_object_get(item, "uri");
    const char *kind = medium_of(item, is);
    if (is == ITEM_TEXT && json_is_string(text)) {
        return part_with("text", item, "content", "text", json_incref(text));
    }
    if (is == ITEM_CLOUD && json_is_string(uri)) {
        return part_with(kind, item, "uri", "path", json_incref(uri));
    }
    if (is == ITEM_BASE64 && json_string_length(data) != 0) {
        return part_with(kind, item, "data", "blob", json_incref(data));
    }
    json_t *blob = is == ITEM_BYTES ? base64_of(data, failed) : NULL;
    if (json_string_length(blob) != 0) {
        return part_with(kind, item, "data", "blob", blob);
    }
    json_decref(blob);
    return json_pack("{s:s,s:O}", "type", kind, "converse", item);
}

static void put_content(cf_jb *b, const json_t *content, cf_str text)
{
    const json_t *binary = json_object_get(content, "binaryContent");
    if (json_array_size(binary) == 0) {
        cf_jb_str(b, "content", text);
        return;
    }
    cf_jb_array(b, "content");
    if (text.n != 0) {
        cf_jb_pack(b, NULL, "{s:s,s:o}", "type", "text", "text", cf_json_str(text));
    }
    for (size_t i = 0; i < json_array_size(binary); i++) {
        cf_jb_take(b, NULL, part_of(json_array_get(binary, i), &b->failed));
    }
    cf_jb_end(b);
}

static json_t *message_of(const json_t *entry)
{
    const json_t *content = json_object_get(entry, "content");
    static const char *const known[] = {"text", "binaryContent"};
    json_t *rest = cf_xchg__rest(content, known, 2);
    json_t *own = json_object_get(rest, "confab");
    const char *key;
    json_t *v;
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_str(&b, "role", role_name(cf_json_get_str(entry, "role")));
    put_content(&b, content,
                json_is_string(content) ? cf_xchg__str(content) : cf_json_get_str(content, "text"));
    /* Fields of a message of ours that have no place there. */
    json_object_foreach(own, key, v)
    {
        if (strcmp(key, "role") != 0 && strcmp(key, "content") != 0) {
            cf_jb_add(&b, key, v);
        }
    }
    if (json_is_object(own)) {
        (void)json_object_del(rest, "confab");
    }
    cf_jb_end(&b);
    return cf_xchg__keep(cf_jb_done(&b), "converse", rest);
}

static cf_status check_entry(const json_t *entry, size_t i, cf_error *err)
{
    const json_t *content = json_object_get(entry, "content");
    const json_t *uuid = json_object_get(entry, "uuid");
    if (cf_json_get_str(entry, "role").n == 0 ||
        (!json_is_object(content) && !json_is_string(content)) ||
        (uuid != NULL && !json_is_string(uuid) && !json_is_null(uuid))) {
        return cf_fail(err, CF_EFORMAT, "entry %zu has no role, no content or a bad uuid", i + 1);
    }
    return CF_OK;
}

static cf_status add_entry(cf_import *im, const json_t *entry, cf_error *err)
{
    cf_str uuid = cf_json_get_str(entry, "uuid");
    cf_store_turn *t;
    static const char *const known[] = {"role", "content", "uuid"};
    CF_TRY(cf_build__say(im->cur, message_of(entry), &t, err));
    if (uuid.n != 0) {
        t->id = cf_build__uuid(CF_FORMAT_CONVERSE, cf_str_make(NULL, 0), uuid);
    }
    cf_build__remember(im, t, uuid, "entry", cf_xchg__rest(entry, known, 3));
    return im->cur->arena.failed ? cf_sql__oom(err) : CF_OK;
}

/* An entry with the UUID of one before is ignored, as add() does. */
static cf_status drop_doubles(cf_import *im, uint64_t line, cf_error *err)
{
    size_t before = im->cur->n;
    CF_TRY(cf_build__unique(im->cur, err));
    size_t dropped = before - im->cur->n;
    im->report->n_skipped += dropped;
    if (dropped != 0 && im->opts->note != NULL) {
        im->opts->note(im->opts->ud, line, "an entry has the UUID of one before: it was left out");
    }
    return CF_OK;
}

static cf_status record(cf_import *im, const json_t *v, uint64_t line, cf_error *err)
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
    static const char *const known[] = {"history"};
    im->cur->conv.source =
        cf_build__source_with(im, cf_str_make(NULL, 0), "record", cf_xchg__rest(v, known, 1));
    for (size_t i = 0; i < json_array_size(list); i++) {
        CF_TRY(add_entry(im, json_array_get(list, i), err));
    }
    CF_TRY(drop_doubles(im, line, err));
    CF_TRY(cf_import__emit(im, err));
    /* The next record may be another branch of this conversation. */
    return cf_import__flush(im, err);
}

/* ---- writing ------------------------------------------------------------ */

static const char *role_out(cf_str role)
{
    if (cf_str_is(role, "tool") || cf_str_is(role, "function") || cf_str_is(role, "observation") ||
        cf_str_is(role, "tool_result")) {
        return "tool_response";
    }
    return cf_str_is(role, "model") ? "assistant" : NULL;
}

/* Base64 as a list of signed bytes, or as it is. */
static void data_out(cf_jw *w, cf_str data, bool as_bytes)
{
    cf_buf bytes = CF_BUF_INIT;
    if (!as_bytes || !cf_base64_get(&bytes, data)) {
        cf_jw_str(w, "data", data);
    } else {
        cf_jw_array(w, "data");
        for (size_t i = 0; i < bytes.n; i++) {
            cf_jw_int(w, NULL, (signed char)bytes.p[i]);
        }
        cf_jw_end(w);
    }
    w->out->failed = w->out->failed || bytes.failed;
    cf_buf_deinit(&bytes);
}

/* The item that a part came from, or one of its kind. */
static void binary_out(cf_jw *w, const json_t *part)
{
    json_t *kept = json_object_get(part, "converse");
    cf_str type = cf_json_get_str(kept, "type");
    cf_str text = cf_json_get_str(part, "text");
    cf_media_ref m;
    bool has_media = cf_xmedia__get(&m, part);
    if (!has_media && text.p == NULL && json_is_object(kept)) {
        cf_jw_json(w, NULL, kept);
        return;
    }
    cf_jw_object(w, NULL);
    cf_jw_str(w, "type",
              type.n != 0                    ? type
              : text.p != NULL || !has_media ? cf_str_from("TextDocument")
              : m.data.n != 0                ? cf_str_from("Base64String")
                                             : cf_str_from("CloudReference"));
    if (text.p != NULL) {
        cf_jw_str(w, "content", text);
    } else if (has_media && m.data.n != 0) {
        data_out(w, m.data, kind_of_item(kept) == ITEM_BYTES);
    } else if (has_media) {
        cf_jw_str(w, "uri", m.place);
    } else {
        cf_buf b = CF_BUF_INIT;
        cf_json_write(&b, part);
        cf_jw_buf(w, "content", &b);
        cf_buf_deinit(&b);
    }
    cf_str mime = has_media ? cf_attachment_mime(m.data, m.mime) : m.mime;
    if (!json_is_object(kept) && has_media && mime.n != 0) {
        cf_jw_str(w, "mimeType", mime);
    }
    if (!json_is_object(kept) && has_media && m.name.n != 0) {
        cf_jw_str(w, "filename", m.name);
    }
    static const char *const written[] = {"type"};
    cf_xchg__put_fields(w, kept, written, 1);
    cf_jw_end(w);
}

/* Text parts that were text documents stay documents. */
static bool is_text_part(const json_t *part)
{
    return json_is_string(part) ||
           (cf_json_get_str(part, "text").p != NULL && json_object_get(part, "converse") == NULL);
}

/* Tool calls and the like; readers there skip keys they do not know. */
static void own_out(cf_jw *w, const json_t *m)
{
    static const char *const known[] = {"role", "content", "converse"};
    json_t *own = cf_xchg__rest(m, known, 3);
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
        cf_message_text(&text, m, "\n");
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (is_text_part(part)) {
            cf_str s = json_is_string(part) ? cf_xchg__str(part) : cf_json_get_str(part, "text");
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
    cf_jw_object(w, "content");
    text_out(w, m, content);
    binaries_out(w, content);
    cf_xchg__put_fields(w, json_object_get(m, "converse"), NULL, 0);
    own_out(w, m);
    cf_jw_end(w);
}

/* The id it came with, or its UUID; and fields of the entry. */
static void entry_rest_out(cf_jw *w, const cf_store_turn *t)
{
    static const char *const written[] = {"uuid"};
    bool *failed = &w->out->failed;
    json_t *id = cf_xchg__kept(t->source, CF_FORMAT_CONVERSE, "id", failed);
    json_t *rest = cf_xchg__kept(t->source, CF_FORMAT_CONVERSE, "entry", failed);
    if (json_string_length(id) != 0) {
        cf_jw_json(w, "uuid", id);
    } else {
        cf_jw_uuid(w, "uuid", t->id);
    }
    cf_xchg__put_fields(w, rest, written, 1);
    json_decref(id);
    json_decref(rest);
}

static cf_status write_branch(const cf_store_tree *tree, const size_t *at, size_t n, cf_buf *out,
                              cf_error *err)
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
        entry_rest_out(&w, t);
        cf_jw_end(&w);
        json_decref(m);
    }
    cf_jw_end(&w);
    static const char *const written[] = {"history"};
    json_t *rest = cf_xchg__kept(tree->conv.source, CF_FORMAT_CONVERSE, "record", &w.out->failed);
    cf_xchg__put_fields(&w, rest, written, 1);
    json_decref(rest);
    cf_jw_end(&w);
    cf_buf_addc(out, '\n');
    return cf_jw_finish(&w, err);
}

/* ---- recognising -------------------------------------------------------- */

static const char writer[] = "ConverseHistory (TPipe)";

static const char *writer_of(const json_t *v)
{
    return cf_guess__has_list(v, "history") || json_object_size(v) == 0 ? writer : NULL;
}

static const char *writer_of_message(const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    bool is_ours = json_is_object(content) &&
                   (cf_guess__has(m, "uuid") || cf_guess__has(content, "binaryContent") ||
                    (cf_guess__has(content, "text") && !cf_guess__has(content, "type")));
    return is_ours ? writer : NULL;
}

const cf_xchg_format cf_xchg_converse = {.name = "converse",
                                         .record = record,
                                         .writer_of = writer_of,
                                         .writer_of_message = writer_of_message,
                                         .write_branch = write_branch,
                                         .keeps_tree = true};
