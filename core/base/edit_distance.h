/*
 * edit_distance.h - how many typing mistakes lie between two names.
 *
 * Place in the flow:  a name that is not known + the names that are
 *                     --> [edit distance] --> "did you mean"
 *
 * Knows: bytes.  Does not know: commands, tools, keys.
 *
 * Threads:  no state; any thread may call any of these.
 * Memory:   allocates nothing; names are borrowed.
 */
#ifndef CF_CORE_BASE_EDIT_DISTANCE_H
#define CF_CORE_BASE_EDIT_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

enum { CF_EDIT_DISTANCE_MAX = 64 };

/*
 * The least number of bytes put in, left out, replaced or swapped with their
 * neighbour that makes `b` of `a` (optimal string alignment).  SIZE_MAX when
 * one of them has more than CF_EDIT_DISTANCE_MAX bytes.
 */
size_t cf_edit_distance(const char *a, const char *b);

/* Whether `b` is close enough to `a` to be suggested for it: at most one
 * mistake in three bytes of the longer one, and not `a` itself.  *distance is
 * set as above. */
bool cf_edit_is_near(const char *a, const char *b, size_t *distance);

/* The known name that is nearest to `asked`; {asked} at first. */
typedef struct cf_nearest {
    const char *asked;
    const char *best; /* NULL: none is near */
    size_t distance;  /* of best */
} cf_nearest;

/* Compares another known name, which must live as long as `n` is used. */
void cf_nearest_offer(cf_nearest *n, const char *name);

/* The same for a name that is also known by another spelling, which may be what
 * was asked for. */
void cf_nearest_offer_as(cf_nearest *n, const char *spelling, const char *name);

/* Adds "; did you mean NAME?" to the error where a name is near and the text has
 * room.  Returns st. */
cf_status cf_nearest_suggest(const cf_nearest *n, cf_status st, cf_error *err);

CF_END_DECLS

#endif
