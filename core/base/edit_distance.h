/*
 * edit_distance.h - how many typing mistakes lie between two names.
 *
 * Place in the flow:  a name that is not known + the names that are
 *                     --> [edit distance] --> "did you mean"
 *
 * Knows: bytes.  Does not know: commands, tools, keys.
 *
 * Threads:  no state; any thread may call any of these.
 * Memory:   allocates nothing.
 */
#ifndef CF_CORE_BASE_EDIT_DISTANCE_H
#define CF_CORE_BASE_EDIT_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/decls.h"

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

CF_END_DECLS

#endif
