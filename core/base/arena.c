/*
 * arena.c - a list of blocks, each at least twice as large as the one before
 * up to BLOCK_MAX, and never smaller than the request.
 */
#include "core/base/arena.h"

#include <stdint.h>
#include <string.h>

#include "core/base/alloc.h"

struct cf_arena_block {
    cf_arena_block *older;
    size_t size; /* bytes in data */
    _Alignas(16) unsigned char data[];
};

#ifdef CF_TIGHT
enum { BLOCK_MIN = 64, BLOCK_MAX = 64 };
#else
enum { BLOCK_MIN = 4096, BLOCK_MAX = 1 << 20 };
#endif
enum { ALIGN = 16 };

void cf_arena_init(cf_arena *a, size_t limit)
{
    *a = (cf_arena){.limit = limit};
}

static void free_until(cf_arena *a, const cf_arena_block *keep)
{
    while (a->block != keep) {
        cf_arena_block *older = a->block->older;
        a->total -= a->block->size;
        cf_free(a->block);
        a->block = older;
    }
}

void cf_arena_deinit(cf_arena *a)
{
    free_until(a, NULL);
    a->used = 0;
    a->failed = false;
}

void cf_arena_reset(cf_arena *a)
{
    cf_arena_block *newest = a->block;
    if (newest != NULL) {
        a->block = newest->older;
        free_until(a, NULL);
        newest->older = NULL;
        a->block = newest;
        a->total = newest->size;
    }
    a->used = 0;
    a->failed = false;
}

static void *refuse(cf_arena *a)
{
    a->failed = true;
    return NULL;
}

static bool add_block(cf_arena *a, size_t need)
{
    size_t size = a->block != NULL ? a->block->size : BLOCK_MIN / 2;
    size = size > BLOCK_MAX / 2 ? BLOCK_MAX : size * 2;
    if (size < need) {
        size = need;
    }
    if (a->limit != 0 && (a->total > a->limit || size > a->limit - a->total)) {
        if (a->total > a->limit || need > a->limit - a->total) {
            return false;
        }
        size = a->limit - a->total;
    }
    size_t bytes;
    if (!cf_add_size(&bytes, size, sizeof(cf_arena_block))) {
        return false;
    }
    cf_arena_block *b = cf_alloc(bytes);
    if (b == NULL) {
        return false;
    }
    b->older = a->block;
    b->size = size;
    a->block = b;
    a->used = 0;
    a->total += size;
    return true;
}

void *cf_arena_alloc(cf_arena *a, size_t n)
{
    if (a->failed || n > SIZE_MAX - ALIGN) {
        return refuse(a);
    }
    n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (n == 0) {
        n = ALIGN;
    }
    if (a->block == NULL || n > a->block->size - a->used) {
        if (!add_block(a, n)) {
            return refuse(a);
        }
    }
    void *p = a->block->data + a->used;
    a->used += n;
    return p;
}

void *cf_arena_calloc(cf_arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (!cf_mul_size(&bytes, n, size)) {
        return refuse(a);
    }
    void *p = cf_arena_alloc(a, bytes);
    if (p != NULL) {
        memset(p, 0, bytes);
    }
    return p;
}

char *cf_arena_strndup(cf_arena *a, const char *s, size_t n)
{
    if (n == SIZE_MAX) {
        return refuse(a);
    }
    char *copy = cf_arena_alloc(a, n + 1);
    if (copy != NULL) {
        if (n != 0) {
            memcpy(copy, s, n);
        }
        copy[n] = '\0';
    }
    return copy;
}

cf_arena_mark cf_arena_get_mark(const cf_arena *a)
{
    return (cf_arena_mark){a->block, a->used};
}

void cf_arena_release(cf_arena *a, cf_arena_mark mark)
{
    free_until(a, mark.block);
    a->used = mark.used;
}
