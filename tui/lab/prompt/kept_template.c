/*
 * kept_template.c - a name looked up among the kept templates.
 */
#include "tui/lab/prompt/kept_template.h"

#include "storage/store.h"

cf_status cf_kept_template(cf_buf *out, cf_store *store, const char *name, cf_error *err)
{
    cf_arena arena;
    const cf_store_template *v = NULL, *found = NULL;
    size_t n = 0;
    cf_status st = CF_OK;
    cf_arena_init(&arena, 0);
    if (store != NULL) {
        st = cf_store_templates(store, &arena, &v, &n, err);
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if (cf_str_is(v[i].name, name) && (found == NULL || v[i].created_ms >= found->created_ms)) {
            found = &v[i];
        }
    }
    if (st == CF_OK && found == NULL) {
        st = cf_fail(err, CF_ENOTFOUND, "no file and no template is called '%.80s'", name);
    }
    if (st == CF_OK) {
        cf_buf_add(out, found->source.p, found->source.n);
        st = cf_buf_check(out, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

static bool was_named(const cf_store_template *v, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (cf_str_eq(v[k].name, v[i].name)) {
            return true;
        }
    }
    return false;
}

cf_status cf_kept_template_names(cf_buf *out, cf_store *store, cf_error *err)
{
    cf_arena arena;
    const cf_store_template *v = NULL;
    size_t n = 0;
    cf_status st = CF_OK;
    cf_arena_init(&arena, 0);
    if (store != NULL) {
        st = cf_store_templates(store, &arena, &v, &n, err);
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if (v[i].name.n != 0 && !was_named(v, i)) {
            cf_buf_addc(out, ' ');
            cf_buf_add(out, v[i].name.p, v[i].name.n);
        }
    }
    CF_THEN(st, cf_buf_check(out, err));
    cf_arena_deinit(&arena);
    return st;
}
