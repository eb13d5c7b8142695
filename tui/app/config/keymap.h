/*
 * keymap.h - which keys do what, where.
 *
 * A binding joins a set of views, a sequence of keys ("gp", "]d", "<C-d>")
 * and a command line ("preview", "set wrap").  A person's bindings come after
 * the built-in ones and win over them.
 */
#ifndef CF_TUI_APP_CONFIG_KEYMAP_H
#define CF_TUI_APP_CONFIG_KEYMAP_H

#include "core/base/status.h"
#include "tui/term/key.h"

enum { CF_SEQUENCE_MAX = 4 };

typedef struct cf_binding {
    uint32_t views; /* bit set of view numbers */
    cf_key keys[CF_SEQUENCE_MAX];
    size_t n_keys;
    const char *command; /* owned by the map when is_user */
    bool is_user;
    bool is_old; /* of the version before: it works, and says the new key */
} cf_binding;

typedef struct cf_keymap {
    cf_binding *v; /* [n], owned */
    size_t n, cap;
} cf_keymap;

void cf_keymap_deinit(cf_keymap *m);

/* Adds a binding; `keys` as in key.h, one after the other.  CF_EINVAL for
 * keys that cannot be read, CF_ENOMEM. */
CF_MUST_USE cf_status cf_keymap_add(cf_keymap *m, uint32_t views, const char *keys,
                                    const char *command, bool is_user, cf_error *err);

/* The same for a key of the version before; help does not list it. */
CF_MUST_USE cf_status cf_keymap_add_old(cf_keymap *m, uint32_t views, const char *keys,
                                        const char *command, cf_error *err);

typedef enum cf_lookup {
    CF_LOOKUP_NONE,   /* no binding begins so */
    CF_LOOKUP_PREFIX, /* more keys may complete one */
    CF_LOOKUP_FOUND
} cf_lookup;

/* Finds the meaning of keys[0..n) in a view (a single bit).  A complete binding wins
 * over longer ones; the newest wins among equals. */
cf_lookup cf_keymap_find(const cf_keymap *m, uint32_t view, const cf_key *keys, size_t n,
                         const cf_binding **out);

/* Appends the keys of the first binding of a command in a view, nothing when
 * there is none. */
void cf_keymap_describe(const cf_keymap *m, uint32_t view, const char *command, cf_buf *out);

#endif
