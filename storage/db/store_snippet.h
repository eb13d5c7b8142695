/*
 * store_snippet.h - the place in a text that a search found.
 *
 * The word indexes hold no text, so matches are looked for again here, with
 * the index's idea of equal: case and accents do not count.
 */
#ifndef CF_STORAGE_DB_STORE_SNIPPET_H
#define CF_STORAGE_DB_STORE_SNIPPET_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "storage/store.h"

enum { CF_SNIPPET_TERMS = 32, CF_SNIPPET_MARKS = 16 };

/* Terms as they are looked for: folded, one after another. */
typedef struct cf_terms {
    cf_buf text;
    struct {
        size_t off, n;
    } v[CF_SNIPPET_TERMS];
    size_t n;
} cf_terms;

/* Folds a term of a query into the list; more than fit are left out. */
void cf_terms__add(cf_terms *t, cf_str term);
void cf_terms__deinit(cf_terms *t);

/* Sets snippet and marks of `hit`: around the first match in `text` or else
 * in `more`, or the beginning when none is found.  Running out of memory fails
 * the arena. */
void cf_snippet__make(cf_store_hit *hit, const cf_terms *terms, cf_str text, cf_str more,
                      cf_arena *arena);

#endif
