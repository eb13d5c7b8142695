/*
 * validate_walk.h - the walk of a value and a schema, shared by the files that
 * check one against the other.
 *
 * Room-internal.
 */
#ifndef CF_CORE_SCHEMA_VALIDATE_WALK_H
#define CF_CORE_SCHEMA_VALIDATE_WALK_H

#include "core/schema/schema.h"
#include "core/schema/validate.h"

enum { CF_WALK_DEPTH_MAX = 200 };

typedef struct cf_walk {
    cf_schema *s;
    cf_flaw_fn fn; /* NULL: nothing is reported */
    void *ud;
    bool is_wide; /* the wide languages of formats count */
    bool null_is_absent;
    unsigned quiet, depth;
    uint32_t n_left; /* flaws to report */
    cf_buf path, text;
} cf_walk;

/* Whether flaws are reported. */
bool cf_walk__is_heard(const cf_walk *w);
/* Appends a key to the path where it is needed; the length to return to. */
size_t cf_walk__push_key(cf_walk *w, cf_str key);
void cf_walk__pop(cf_walk *w, size_t mark);
cf_atom_kind cf_walk__kind(const json_t *v);

/* Whether a schema takes v; and a schema at ref's path + "/" + key, or a set,
 * without reports. */
bool cf_walk__ref(cf_walk *w, uint32_t ref, const json_t *v);
bool cf_walk__quiet_child(cf_walk *w, uint32_t ref, const json_t *schema, const char *key,
                          const json_t *v, bool is_wide);
bool cf_walk__quietly(cf_walk *w, cf_conj c, const json_t *v);

/* ---- validate_seen.c ---------------------------------------------------- */

/* "unevaluatedProperties" or "unevaluatedItems" of a schema. */
bool cf_walk__unevaluated(cf_walk *w, uint32_t ref, const json_t *v);

#endif
