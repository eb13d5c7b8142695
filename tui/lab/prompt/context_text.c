/*
 * context_text.c - the members of a JSON object, found without reading their
 * values.
 */
#include "tui/lab/prompt/context_text.h"

#include <string.h>

#include "core/api/backend.h"
#include "core/json/json_exact.h"

/* Walks the members of an object. */
typedef struct walk {
    cf_arena arena;
    cf_jx x;
    cf_str key;
    size_t from, to; /* of the value */
} walk;

static cf_status start(walk *w, cf_str text, cf_error *err)
{
    cf_jx_event e;
    cf_arena_init(&w->arena, 0);
    cf_jx_init(&w->x, text, &w->arena);
    CF_TRY(cf_jx_next(&w->x, &e, err));
    return e.kind == CF_JX_OBJECT ? CF_OK : cf_fail(err, CF_EFORMAT, "not a JSON object");
}

/* The next member; *has is false after the last, where the text must end. */
static cf_status next(walk *w, bool *has, cf_error *err)
{
    cf_jx_event e;
    CF_TRY(cf_jx_next(&w->x, &e, err));
    *has = e.kind == CF_JX_KEY;
    if (!*has) {
        return cf_jx_next(&w->x, &e, err);
    }
    w->key = e.text;
    w->from = w->x.at;
    do {
        CF_TRY(cf_jx_next(&w->x, &e, err));
    } while (w->x.depth > 1);
    w->to = w->x.at;
    return CF_OK;
}

cf_status cf_context_text_cut(cf_str text, const char *key, cf_str *value, cf_buf *rest,
                              cf_error *err)
{
    walk w;
    bool has = true;
    size_t copied = 0;
    *value = cf_str_make(NULL, 0);
    cf_status st = start(&w, text, err);
    while (st == CF_OK && has) {
        st = next(&w, &has, err);
        if (st == CF_OK && has && cf_str_is(w.key, key)) {
            *value = cf_str_make(text.p + w.from, w.to - w.from);
            cf_buf_add(rest, text.p + copied, w.from - copied);
            cf_buf_adds(rest, "null");
            copied = w.to;
        }
    }
    cf_buf_add(rest, text.p + copied, text.n - copied);
    cf_arena_deinit(&w.arena);
    return st == CF_OK ? cf_buf_check(rest, err) : st;
}

/* The keys that the object has (as nulls in `present`), how many there are,
 * and where its closing brace ends. */
static cf_status look(cf_str text, json_t *present, size_t *n_members, size_t *end, cf_error *err)
{
    walk w;
    bool has = true;
    cf_status st = start(&w, text, err);
    while (st == CF_OK && has) {
        st = next(&w, &has, err);
        *n_members += st == CF_OK && has;
        if (st == CF_OK && has &&
            json_object_setn_new(present, w.key.p, w.key.n, json_null()) != 0) {
            st = cf_oom(err);
        }
    }
    cf_arena_deinit(&w.arena);
    for (*end = text.n; *end > 0 && text.p[*end - 1] != '}'; --*end) {
    }
    return st;
}

/* Appends the members of `all` that `present` has not, and the brace. */
static void add_missing(cf_buf *out, const json_t *all, const json_t *present, size_t n_members)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(all), key, v)
    {
        if (json_object_get(present, key) == NULL) {
            cf_buf_adds(out, n_members++ > 0 ? "," : "");
            cf_json_write_str(out, cf_str_from(key));
            cf_buf_addc(out, ':');
            cf_json_write(out, v);
        }
    }
    cf_buf_addc(out, '}');
}

cf_status cf_context_text_special(cf_buf *out, cf_str text, const json_t *tokens,
                                  const cf_tokenizer *tok, cf_error *err)
{
    if (tok == NULL && json_object_size(tokens) == 0) {
        cf_buf_add(out, text.p, text.n);
        return cf_buf_check(out, err);
    }
    json_t *present = json_object();
    json_t *all = NULL;
    size_t n_members = 0, end = 0;
    cf_status st = present != NULL ? look(text, present, &n_members, &end, err) : cf_oom(err);
    if (st == CF_OK) {
        all = cf_json_copy(present);
        bool ok = all != NULL &&
                  (tokens == NULL || json_object_update_missing(all, cf_json_ref(tokens)) == 0);
        st = ok ? CF_OK : cf_oom(err);
    }
    if (st == CF_OK && tok != NULL) {
        st = cf_prompt_add_special(all, tok, err);
    }
    if (st == CF_OK) {
        cf_buf_add(out, text.p, end - 1);
        add_missing(out, all, present, n_members);
        st = cf_buf_check(out, err);
    }
    json_decref(present);
    json_decref(all);
    return st;
}

bool cf_context_text_has(cf_str text, const char *key)
{
    walk w;
    bool has = true;
    bool found = false;
    cf_error err;
    cf_status st = start(&w, text, &err);
    while (st == CF_OK && has && !found) {
        st = next(&w, &has, &err);
        if (st == CF_OK && has && cf_str_is(w.key, key)) {
            size_t from = w.from;
            while (from < w.to && strchr(": \t\r\n", text.p[from]) != NULL) {
                from++;
            }
            found = w.to - from < 4 || memcmp(text.p + from, "null", 4) != 0;
        }
    }
    cf_arena_deinit(&w.arena);
    return found;
}
