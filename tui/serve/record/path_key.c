/*
 * path_key.c - hashes of conversations' beginnings.
 */
#include "tui/serve/record/path_key.h"

#include <string.h>

#include "core/base/alloc.h"

void cf_path_key_init(cf_path_key *key, const char *session)
{
    memset(key, 0, sizeof *key);
    if (session[0] != '\0') {
        cf_hash_hex(key->all, session, strlen(session));
        memcpy(key->talk, key->all, sizeof key->talk);
    }
}

bool cf_message_is_system(const json_t *m)
{
    cf_str role = cf_json_get_str(m, "role");
    return cf_str_is(role, "system") || cf_str_is(role, "developer");
}

/* Keys in one order, no blanks: what a client may change in passing. */
static void put_sorted(cf_buf *out, const json_t *v)
{
    char *text =
        json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (text == NULL) {
        out->failed = true;
        return;
    }
    cf_buf_adds(out, text);
    cf_free(text);
}

static void put_part(cf_buf *out, const json_t *part)
{
    json_t *copy = cf_json_copy(part);
    (void)json_object_del(copy, "cache_control");
    put_sorted(out, copy != NULL ? copy : part);
    json_decref(copy);
}

static void put_arguments(cf_buf *out, const json_t *arguments)
{
    json_t *v = NULL;
    cf_error ignored;
    const char *text = json_string_value(arguments);
    size_t n = json_string_length(arguments);
    if (text == NULL) {
        put_sorted(out, arguments);
    } else if (cf_json_read(&v, text, n, &ignored) == CF_OK) {
        put_sorted(out, v);
        json_decref(v);
    } else {
        cf_buf_add(out, text, n);
    }
}

static void put_text(cf_buf *out, const json_t *m, bool is_trimmed)
{
    size_t from = out->n;
    cf_message_text(out, m, "");
    size_t begin = from;
    while (is_trimmed && begin < out->n && cf_is_blank(out->p[begin])) {
        begin++;
    }
    if (begin != from) {
        memmove(out->p + from, out->p + begin, out->n - begin);
        out->n -= begin - from;
    }
    while (is_trimmed && out->n > from && cf_is_blank(out->p[out->n - 1])) {
        out->n--;
    }
}

void cf_message_canon(cf_buf *out, const json_t *m)
{
    cf_str role = cf_json_get_str(m, "role");
    const json_t *content = json_object_get(m, "content");
    cf_message_call call;
    if (cf_message_is_system(m)) {
        role = cf_str_from("system");
    }
    cf_buf_add(out, role.p, role.n);
    cf_buf_addc(out, '\0');
    put_text(out, m, cf_str_is(role, "assistant"));
    cf_buf_addc(out, '\0');
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (cf_json_get_str(part, "text").p == NULL) {
            put_part(out, part);
        }
    }
    for (size_t i = 0; cf_message_call_at(&call, m, i); i++) {
        cf_buf_addc(out, '\1');
        cf_buf_add(out, call.name.p, call.name.n);
        cf_buf_addc(out, '(');
        if (call.arguments != NULL) {
            put_arguments(out, call.arguments);
        }
    }
}

static cf_status chain(char hash[CF_HASH_TEXT + 1], const char *kind, cf_str canon, cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, hash[0] != '\0' ? hash : kind);
    cf_buf_add(&b, canon.p, canon.n);
    cf_status st = cf_buf_check(&b, err);
    if (st == CF_OK) {
        cf_hash_hex(hash, b.p, b.n);
    }
    cf_buf_deinit(&b);
    return st;
}

cf_status cf_path_key_add(cf_path_key *key, const json_t *message, cf_error *err)
{
    cf_buf canon = CF_BUF_INIT;
    cf_path_key next = *key;
    cf_message_canon(&canon, message);
    cf_status st = cf_buf_check(&canon, err);
    CF_THEN(st, chain(next.all, "all", cf_buf_str(&canon), err));
    if (!cf_message_is_system(message)) {
        CF_THEN(st, chain(next.talk, "talk", cf_buf_str(&canon), err));
        next.n_talk++;
    }
    cf_buf_deinit(&canon);
    if (st == CF_OK) {
        *key = next;
    }
    return st;
}
