/*
 * context_text.c - the members of a JSON object, found without reading their
 * values.
 */
#include "tui/lab/context_text.h"

#include "core/api/backend.h"
#include "core/base/json_exact.h"

/* What goes over the members of an object. */
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
    return e.kind == CF_JX_OBJECT
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "not a JSON object");
}

/* The next member; *has is false behind the last, where the text must end. */
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

cf_status cf_context_text_cut(cf_str text, const char *key, cf_str *value,
                              cf_buf *rest, cf_error *err)
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

/* Which of the two keys the object has (as nulls in `present`), how many
 * members, and where its closing brace ends. */
static cf_status look(cf_str text, json_t *present, size_t *n_members,
                      size_t *end, cf_error *err)
{
    static const char *const keys[] = {"bos_token", "eos_token"};
    walk w;
    bool has = true;
    cf_status st = start(&w, text, err);
    while (st == CF_OK && has) {
        st = next(&w, &has, err);
        *n_members += st == CF_OK && has;
        for (size_t i = 0; i < 2 && st == CF_OK && has; i++) {
            if (cf_str_is(w.key, keys[i]) &&
                json_object_set_new(present, keys[i], json_null()) != 0) {
                st = cf_oom(err);
            }
        }
    }
    cf_arena_deinit(&w.arena);
    for (*end = text.n; *end > 0 && text.p[*end - 1] != '}'; --*end) {
    }
    return st;
}

cf_status cf_context_text_special(cf_buf *out, cf_str text,
                                  const cf_tokenizer *tok, cf_error *err)
{
    if (tok == NULL) {
        cf_buf_add(out, text.p, text.n);
        return cf_buf_check(out, err);
    }
    json_t *special = json_object();
    if (special == NULL) {
        return cf_oom(err);
    }
    size_t n_members = 0, end = 0;
    cf_status st = look(text, special, &n_members, &end, err);
    CF_THEN(st, cf_prompt_add_special(special, tok, err));
    if (st == CF_OK) {
        const char *key;
        json_t *v;
        cf_buf_add(out, text.p, end - 1);
        json_object_foreach(special, key, v)
        {
            if (!json_is_null(v)) {
                cf_buf_addf(out, "%s\"%s\":", n_members++ > 0 ? "," : "", key);
                cf_json_write(out, v);
            }
        }
        cf_buf_addc(out, '}');
        st = cf_buf_check(out, err);
    }
    json_decref(special);
    return st;
}
