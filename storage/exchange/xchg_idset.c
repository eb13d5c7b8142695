/*
 * xchg_idset.c - an open hash table of 64-bit keys.
 */
#include "storage/exchange/xchg_idset.h"

#include <string.h>

#include "core/base/alloc.h"

/* The finisher of splitmix64 (public domain, S. Vigna). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t key_of(cf_uuid id)
{
    uint64_t v[2];
    memcpy(v, id.b, sizeof v);
    uint64_t key = mix(mix(v[0]) + v[1]);
    return key != 0 ? key : 1;
}

/* The cell of the key, or the empty one where it belongs. */
static struct cf_idset_cell *find(const cf_idset *s, uint64_t key)
{
    size_t i = (size_t)key & (s->size - 1);
    while (s->cells[i].key != 0 && s->cells[i].key != key) {
        i = (i + 1) & (s->size - 1);
    }
    return &s->cells[i];
}

static cf_status grow(cf_idset *s, cf_error *err)
{
    cf_idset bigger = {.size = s->size != 0 ? s->size * 2 : 64, .used = s->used};
    bigger.cells = cf_calloc(bigger.size, sizeof *bigger.cells);
    if (bigger.cells == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < s->size; i++) {
        if (s->cells[i].key != 0) {
            *find(&bigger, s->cells[i].key) = s->cells[i];
        }
    }
    cf_free(s->cells);
    *s = bigger;
    return CF_OK;
}

cf_status cf_idset__count(cf_idset *s, cf_uuid id, uint32_t *n, cf_error *err)
{
    if (s->used * 4 >= s->size * 3) {
        CF_TRY(grow(s, err));
    }
    struct cf_idset_cell *cell = find(s, key_of(id));
    s->used += cell->key == 0;
    cell->key = key_of(id);
    cell->n += cell->n != UINT32_MAX;
    *n = cell->n;
    return CF_OK;
}

void cf_idset__free(cf_idset *s)
{
    cf_free(s->cells);
    *s = (cf_idset){0};
}
