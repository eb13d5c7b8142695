/*
 * arena.h - memory that is released all at once.
 *
 * Place in the flow:  a request, a render or a frame --> [arena] --> alloc.
 * Knows: blocks and a limit.  Does not know: what is stored in them.
 *
 * Allocate freely, then reset.  An arena is sticky: after one allocation has
 * failed, all later ones fail too until it is reset, so a builder may check
 * once at its end.
 *
 * Threads:  one thread at a time.
 * Memory:   grows by blocks from cf_alloc(); `limit` bounds their sum.
 */
#ifndef CF_CORE_BASE_ARENA_H
#define CF_CORE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

typedef struct cf_arena_block cf_arena_block;

typedef struct cf_arena {
    cf_arena_block *block; /* newest; links to the older ones */
    size_t used;           /* bytes handed out of `block` */
    size_t total;          /* bytes of all blocks */
    size_t limit;          /* most that total may become; 0: no limit */
    bool failed;           /* an allocation was refused since the last reset */
} cf_arena;

/* A point to return to. */
typedef struct cf_arena_mark {
    cf_arena_block *block;
    size_t used;
} cf_arena_mark;

/* Makes an empty arena that allocates nothing yet.  limit in bytes, 0: none. */
void cf_arena_init(cf_arena *a, size_t limit);

/* Gives all blocks back; the arena may be used again. */
void cf_arena_deinit(cf_arena *a);

/* Forgets all contents and the failed state; keeps one block for reuse. */
void cf_arena_reset(cf_arena *a);

/* n uninitialised bytes aligned for any type; NULL when memory or the limit
 * ran out, and from then on. */
void *cf_arena_alloc(cf_arena *a, size_t n);

/* n * size zeroed bytes. */
void *cf_arena_calloc(cf_arena *a, size_t n, size_t size);

/* A NUL-terminated copy of s[0..n). */
char *cf_arena_strndup(cf_arena *a, const char *s, size_t n);

/* Everything allocated after the mark is given back by release. */
cf_arena_mark cf_arena_get_mark(const cf_arena *a);
void cf_arena_release(cf_arena *a, cf_arena_mark mark);

CF_END_DECLS

#endif
