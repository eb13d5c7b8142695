/*
 * keymap.h - which keys do what, where.
 *
 * A binding joins a set of views, a sequence of keys ("gp", "]d", "<C-d>") and
 * a row of a command table, with arguments where the user bound them.  The
 * user's bindings come after the built-in ones and win over them.
 */
#ifndef CF_TUI_APP_CONFIG_KEYMAP_H
#define CF_TUI_APP_CONFIG_KEYMAP_H

#include "core/base/status.h"
#include "tui/term/key.h"

struct cf_command; /* tui/app/app.h */

enum { CF_SEQUENCE_MAX = 4 };

typedef struct cf_binding {
    uint32_t views; /* bit set of view numbers */
    cf_key keys[CF_SEQUENCE_MAX];
    size_t n_keys;
    const struct cf_command *row; /* NULL: `arg` is a line for the shell */
    const char *arg;              /* "" for none; the map owns a copy */
    bool is_user;
} cf_binding;

typedef struct cf_keymap {
    cf_binding *v; /* [n], owned */
    size_t n, cap;
} cf_keymap;

void cf_keymap_deinit(cf_keymap *m);

/* Adds a binding of `keys`, written as in key.h, one after the other; the keys
 * of `what` are ignored.  CF_EINVAL for keys that cannot be read, CF_ENOMEM. */
CF_MUST_USE cf_status cf_keymap_add(cf_keymap *m, const cf_binding *what, const char *keys,
                                    cf_error *err);

typedef enum cf_lookup {
    CF_LOOKUP_NONE,   /* no binding begins so */
    CF_LOOKUP_PREFIX, /* more keys may complete one */
    CF_LOOKUP_FOUND
} cf_lookup;

/* Finds the meaning of keys[0..n) in a view (a single bit).  A complete binding wins
 * over longer ones; the newest wins among equals. */
cf_lookup cf_keymap_find(const cf_keymap *m, uint32_t view, const cf_key *keys, size_t n,
                         const cf_binding **out);

/* Appends the keys of a binding as they are written. */
void cf_binding_keys(const cf_binding *b, cf_buf *out);

/* Whether a binding is how a row without arguments is reached in a view. */
bool cf_keymap_reaches(const cf_keymap *m, uint32_t view, const cf_binding *b,
                       const struct cf_command *row);

/* Appends the keys of the first binding that reaches a row in a view, nothing
 * when there is none. */
void cf_keymap_describe(const cf_keymap *m, uint32_t view, const struct cf_command *row,
                        cf_buf *out);

#endif
