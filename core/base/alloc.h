/*
 * alloc.h - the only way to the heap.
 *
 * Place in the flow:  every module, jansson, SQLite --> [alloc] --> libc.
 * Knows: a table of two functions.  Does not know: who allocates, or why.
 *
 * All heap memory of confab, and of the libraries that let us choose, comes
 * from the table set here, so that a test can count blocks and make the n-th
 * allocation fail.
 *
 * Threads:  the table is set once, before any other thread starts; the
 *           functions may then be called from any thread.
 * Memory:   a failed allocation returns NULL and changes nothing.
 */
#ifndef CF_CORE_BASE_ALLOC_H
#define CF_CORE_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

typedef struct cf_allocator {
    /* Like realloc: p NULL allocates; n is never 0. */
    void *(*resize)(void *ud, void *p, size_t n);
    void (*release)(void *ud, void *p); /* p is never NULL */
    void *ud;
} cf_allocator;

/* Replaces the table (NULL restores libc's) and points jansson at it.  The
 * caller keeps `a` alive.  Call before anything was allocated, or when all
 * of it was freed. */
void cf_alloc_use(const cf_allocator *a);

/*
 * jansson's reader ignores that a buffer could not grow, and then aborts where
 * it takes back the last character of a number (2.14, lex_unget_unsave).
 * While this thread has a reserve p[0..n), such growth comes from it when
 * memory is out.  What was read must be released before the reserve ends
 * (p NULL) if cf_alloc_was_refused().  Only for json.c.
 */
void cf_alloc_reserve(void *p, size_t n);

/* Whether an allocation of jansson's has failed on this thread since the last
 * cf_alloc_reserve(), also one that the reserve served. */
bool cf_alloc_was_refused(void);

/* n bytes, uninitialised; n = 0 gives a block of one byte. */
void *cf_alloc(size_t n);

/* n * size bytes of zero; NULL when the product overflows. */
void *cf_calloc(size_t n, size_t size);

/* n * size bytes holding the old contents; NULL leaves the old block as it
 * was.  p may be NULL. */
void *cf_realloc(void *p, size_t n, size_t size);

/* Makes room for `need` items of `size` bytes in an array that grows by
 * doubling.  `p` is the address of the array's pointer, of any type (NULL
 * while the array is empty), `*cap` the number of items it has room for.
 * false, and both untouched, when memory runs out. */
bool cf_grow(void *p, size_t *cap, size_t need, size_t size);

/* p may be NULL. */
void cf_free(void *p);

/* A NUL-terminated copy of s[0..n); the caller frees it. */
char *cf_strndup(const char *s, size_t n);
char *cf_strdup(const char *s);

/* *out = a * b; false, and *out untouched, when that overflows. */
bool cf_mul_size(size_t *out, size_t a, size_t b);
/* *out = a + b; false, and *out untouched, when that overflows. */
bool cf_add_size(size_t *out, size_t a, size_t b);

/* `size` zeroed bytes whose address is a multiple of `align` (a power of two
 * of at least sizeof(void *)); freed by cf_free_aligned only.  Blocks
 * of about CF_OS_HUGE bytes or more are mapped by themselves (cf_os_pages_map())
 * and do not come from the table, unless cf_alloc_use() has set one. */
void *cf_alloc_aligned(size_t align, size_t size);
void cf_free_aligned(void *p);

CF_END_DECLS

#endif
