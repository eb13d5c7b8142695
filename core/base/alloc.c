/*
 * alloc.c - the allocator table and the checked helpers over it.
 */
#include "core/base/alloc.h"

#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"

static void *libc_resize(void *ud, void *p, size_t n)
{
    (void)ud;
    return realloc(p, n);
}

static void libc_release(void *ud, void *p)
{
    (void)ud;
    free(p);
}

static const cf_allocator libc_table = {libc_resize, libc_release, NULL};
static const cf_allocator *table = &libc_table;

/* See cf_alloc_reserve(). */
static _Thread_local struct {
    char *p;
    size_t n, used;
    bool was_refused;
} reserve;

/* Only sizes that a buffer of jansson grows to: 32, 64 ... */
static void *from_reserve(size_t n)
{
    bool is_buffer = n >= 32 && (n & (n - 1)) == 0;
    if (!is_buffer || n > reserve.n - reserve.used) {
        return NULL;
    }
    void *p = reserve.p + reserve.used;
    reserve.used += n;
    return p;
}

static void *json_alloc(size_t n)
{
    void *p = cf_alloc(n);
    reserve.was_refused = reserve.was_refused || p == NULL;
    return p != NULL ? p : from_reserve(n);
}

static void json_release(void *p)
{
    uintptr_t at = (uintptr_t)p - (uintptr_t)reserve.p;
    if (reserve.p == NULL || at >= reserve.n) {
        cf_free(p);
    }
}

void cf_alloc_reserve(void *p, size_t n)
{
    reserve.p = p;
    reserve.n = n;
    reserve.used = 0;
    reserve.was_refused = false;
}

bool cf_alloc_was_refused(void)
{
    return reserve.was_refused;
}

void cf_alloc_use(const cf_allocator *a)
{
    table = a != NULL ? a : &libc_table;
    json_set_alloc_funcs(json_alloc, json_release);
}

static void *resize(void *p, size_t n)
{
    return table->resize(table->ud, p, n != 0 ? n : 1);
}

void *cf_alloc(size_t n)
{
    return resize(NULL, n);
}

void *cf_calloc(size_t n, size_t size)
{
    size_t bytes;
    if (!cf_mul_size(&bytes, n, size)) {
        return NULL;
    }
    void *p = cf_alloc(bytes);
    if (p != NULL) {
        memset(p, 0, bytes);
    }
    return p;
}

void *cf_realloc(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (!cf_mul_size(&bytes, n, size)) {
        return NULL;
    }
    return resize(p, bytes);
}

void cf_free(void *p)
{
    if (p != NULL) {
        table->release(table->ud, p);
    }
}

bool cf_grow(void *p, size_t *cap, size_t need, size_t size)
{
    /* Copied, not cast: the caller's pointer has a type of its own. */
    void *old;
    memcpy(&old, p, sizeof old);
    if (need <= *cap) {
        return true;
    }
#ifdef CF_TIGHT
    size_t cap2 = need + need / 64; /* often full, yet not squares of copies */
#else
    size_t cap2 = *cap < 16 ? 16 : *cap * 2;
#endif
    if (cap2 < need) {
        cap2 = need;
    }
    void *grown = cf_realloc(old, cap2, size);
    if (grown == NULL) {
        return false;
    }
    memcpy(p, &grown, sizeof grown);
    *cap = cap2;
    return true;
}

char *cf_strndup(const char *s, size_t n)
{
    size_t bytes;
    if (!cf_add_size(&bytes, n, 1)) {
        return NULL;
    }
    char *copy = cf_alloc(bytes);
    if (copy != NULL) {
        if (n != 0) {
            memcpy(copy, s, n);
        }
        copy[n] = '\0';
    }
    return copy;
}

char *cf_strdup(const char *s)
{
    return cf_strndup(s, strlen(s));
}

bool cf_mul_size(size_t *out, size_t a, size_t b)
{
    if (b != 0 && a > SIZE_MAX / b) {
        return false;
    }
    *out = a * b;
    return true;
}

bool cf_add_size(size_t *out, size_t a, size_t b)
{
    if (a > SIZE_MAX - b) {
        return false;
    }
    *out = a + b;
    return true;
}

/* ---- aligned blocks ------------------------------------------------------ */

/* What lies just below an aligned address. */
typedef struct below {
    void *block;   /* what the table or the system gave */
    size_t mapped; /* bytes of pages of its own; 0: the table's */
} below;

/* Whether a block gets pages of its own.  Not with a table that was set, which
 * is to see all blocks, nor where each byte after a block is watched. */
static bool has_own_pages(size_t bytes)
{
#if defined(CF_TIGHT) || defined(__SANITIZE_ADDRESS__)
    (void)bytes;
    return false;
#else
    return table == &libc_table && bytes >= CF_OS_HUGE;
#endif
}

void *cf_alloc_aligned(size_t align, size_t size)
{
    assert(align >= sizeof(void *) && (align & (align - 1)) == 0);
    size_t bytes;
    if (!cf_add_size(&bytes, size, align + sizeof(below))) {
        return NULL;
    }
    below b = {.mapped = has_own_pages(bytes) ? bytes : 0};
    b.block = b.mapped > 0 ? cf_os_pages_map(bytes) : cf_alloc(bytes);
    if (b.block == NULL) {
        return NULL;
    }
    uintptr_t at = (uintptr_t)b.block + sizeof b;
    at = (at + align - 1) & ~(uintptr_t)(align - 1);
    unsigned char *p = (unsigned char *)b.block + (at - (uintptr_t)b.block);
    memcpy(p - sizeof b, &b, sizeof b);
    if (b.mapped == 0) {
        memset(p, 0, size);
    }
    return p;
}

void cf_free_aligned(void *p)
{
    if (p == NULL) {
        return;
    }
    below b;
    memcpy(&b, (unsigned char *)p - sizeof b, sizeof b);
    if (b.mapped > 0) {
        cf_os_pages_unmap(b.block, b.mapped);
    } else {
        cf_free(b.block);
    }
}
