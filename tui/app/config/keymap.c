/*
 * keymap.c - bindings in a list, looked through from the newest.
 */
#include "tui/app/config/keymap.h"

#include <string.h>

#include "core/base/alloc.h"

void cf_keymap_deinit(cf_keymap *m)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].is_user) {
            union {
                const char *in;
                char *out;
            } owned = {m->v[i].command};
            cf_free(owned.out);
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

cf_status cf_keymap_add(cf_keymap *m, uint32_t views, const char *keys, const char *command,
                        bool is_user, cf_error *err)
{
    cf_binding b = {.views = views, .command = command, .is_user = is_user};
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
    if (is_user) {
        b.command = cf_strdup(command);
        if (b.command == NULL) {
            return cf_oom_for(err, "a binding");
        }
    }
    m->v[m->n++] = b;
    return CF_OK;
}

cf_status cf_keymap_add_old(cf_keymap *m, uint32_t views, const char *keys, const char *command,
                            cf_error *err)
{
    CF_TRY(cf_keymap_add(m, views, keys, command, false, err));
    m->v[m->n - 1].is_old = true;
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

void cf_keymap_describe(const cf_keymap *m, uint32_t view, const char *command, cf_buf *out)
{
    for (size_t i = 0; i < m->n; i++) {
        const cf_binding *b = &m->v[i];
        const cf_binding *meant = NULL;
        if ((b->views & view) && !b->is_old && strcmp(b->command, command) == 0 &&
            cf_keymap_find(m, view, b->keys, b->n_keys, &meant) == CF_LOOKUP_FOUND && meant == b) {
            for (size_t k = 0; k < b->n_keys; k++) {
                cf_key_format(out, b->keys[k]);
            }
            return;
        }
    }
}
