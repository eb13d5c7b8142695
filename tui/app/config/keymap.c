/*
 * keymap.c - bindings in a list, looked through from the newest.
 */
#include "tui/app/config/keymap.h"

#include <string.h>

#include "core/base/alloc.h"

static void free_arg(const char *arg)
{
    union {
        const char *in;
        char *out;
    } owned = {arg};
    cf_free(owned.out);
}

void cf_keymap_deinit(cf_keymap *m)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].is_user) {
            free_arg(m->v[i].arg);
        }
    }
    cf_free(m->v);
    *m = (cf_keymap){0};
}

static cf_status parse_keys(cf_binding *b, const char *keys, cf_error *err)
{
    size_t n = strlen(keys);
    for (size_t at = 0; at < n;) {
        if (b->n_keys == CF_SEQUENCE_MAX) {
            return cf_fail(err, CF_EINVAL, "'%s' is more than %d keys", keys, CF_SEQUENCE_MAX);
        }
        if (!cf_key_parse(&b->keys[b->n_keys], keys, n, &at)) {
            return cf_fail(err, CF_EINVAL, "'%s' is not a key", keys + at);
        }
        b->n_keys++;
    }
    return b->n_keys != 0 ? CF_OK : cf_fail(err, CF_EINVAL, "no key given");
}

cf_status cf_keymap_add(cf_keymap *m, const cf_binding *what, const char *keys, cf_error *err)
{
    cf_binding b = *what;
    b.n_keys = 0;
    CF_TRY(parse_keys(&b, keys, err));
    if (m->n == m->cap) {
        size_t cap = m->cap != 0 ? m->cap * 2 : 128;
        cf_binding *v = cf_realloc(m->v, cap, sizeof *v);
        if (v == NULL) {
            return cf_oom_for(err, "a binding");
        }
        m->v = v;
        m->cap = cap;
    }
    b.arg = b.is_user ? cf_strdup(what->arg) : "";
    if (b.arg == NULL) {
        return cf_oom_for(err, "a binding");
    }
    m->v[m->n++] = b;
    return CF_OK;
}

cf_lookup cf_keymap_find(const cf_keymap *m, uint32_t view, const cf_key *keys, size_t n,
                         const cf_binding **out)
{
    bool is_prefix = false;
    for (size_t i = m->n; i-- > 0;) {
        const cf_binding *b = &m->v[i];
        if (!(b->views & view) || b->n_keys < n || memcmp(b->keys, keys, n * sizeof *keys) != 0) {
            continue;
        }
        if (b->n_keys == n) {
            *out = b;
            return CF_LOOKUP_FOUND;
        }
        is_prefix = true;
    }
    return is_prefix ? CF_LOOKUP_PREFIX : CF_LOOKUP_NONE;
}

void cf_binding_keys(const cf_binding *b, cf_buf *out)
{
    for (size_t k = 0; k < b->n_keys; k++) {
        cf_key_format(out, b->keys[k]);
    }
}

bool cf_keymap_reaches(const cf_keymap *m, uint32_t view, const cf_binding *b,
                       const struct cf_command *row)
{
    const cf_binding *meant = NULL;
    return row != NULL && b->row == row && (b->views & view) && b->arg[0] == '\0' &&
           cf_keymap_find(m, view, b->keys, b->n_keys, &meant) == CF_LOOKUP_FOUND && meant == b;
}

void cf_keymap_describe(const cf_keymap *m, uint32_t view, const struct cf_command *row,
                        cf_buf *out)
{
    for (size_t i = 0; i < m->n; i++) {
        if (cf_keymap_reaches(m, view, &m->v[i], row)) {
            cf_binding_keys(&m->v[i], out);
            return;
        }
    }
}
