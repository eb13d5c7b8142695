/*
 * media_cache.c - pictures and sounds that were read, by the hash of their
 * files, so that the next turn does not encode them again.
 *
 * Always true:
 *   1. Two entries that can be found do not have the same hash.
 *   2. An entry that is pinned is not freed; one that was replaced while it
 *      was pinned cannot be found any more and goes with its last pin.
 *   3. What is not pinned takes at most `limit` bytes after each release.
 */
#include <string.h>

#include "core/api/media.h"
#include "core/base/alloc.h"

typedef struct entry {
    cf_media_input *input;
    size_t bytes;
    uint64_t used; /* when it was last requested */
    uint32_t n_pin;
    bool is_replaced;
} entry;

struct cf_media_cache {
    cf_media *media;
    entry *v;
    size_t n, cap;
    uint64_t limit, clock;
};

cf_status cf_media_cache_new(cf_media_cache **out, cf_media *media, uint64_t limit, cf_error *err)
{
    cf_media_cache *c = cf_calloc(1, sizeof *c);
    if (c == NULL) {
        return cf_oom_for(err, "a cache of media");
    }
    c->media = media;
    c->limit = limit;
    *out = c;
    return CF_OK;
}

void cf_media_cache_free(cf_media_cache *c)
{
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        cf_media_input_free(c->v[i].input);
    }
    if (c != NULL) {
        cf_free(c->v);
    }
    cf_free(c);
}

cf_media *cf_media_cache_media(const cf_media_cache *c)
{
    return c->media;
}

/* The size of the numbers that an input holds, in bytes. */
static size_t size_of(const cf_media_input *in)
{
    size_t n = in->rows != NULL ? in->n_row * in->row_width : 0;
    for (size_t i = 0; i < in->n_block; i++) {
        n += cf_media_block_size(&in->block[i], in->is_sound);
    }
    return n * sizeof(float);
}

static void drop(cf_media_cache *c, size_t i)
{
    cf_media_input_free(c->v[i].input);
    c->v[i] = c->v[--c->n];
}

/* Frees what was replaced, then the least recently used beyond the limit. */
static void trim(cf_media_cache *c)
{
    for (size_t i = c->n; i-- > 0;) {
        if (c->v[i].is_replaced && c->v[i].n_pin == 0) {
            drop(c, i);
        }
    }
    for (;;) {
        uint64_t bytes = 0;
        size_t oldest = c->n;
        for (size_t i = 0; i < c->n; i++) {
            if (c->v[i].n_pin > 0) {
                continue;
            }
            bytes += c->v[i].bytes;
            if (oldest == c->n || c->v[i].used < c->v[oldest].used) {
                oldest = i;
            }
        }
        if (bytes <= c->limit) {
            return;
        }
        drop(c, oldest);
    }
}

/* The entry for a hash, with rows if they are wanted; NULL if there is none. */
static entry *find(cf_media_cache *c, const char *hash, bool with_rows)
{
    for (size_t i = 0; i < c->n; i++) {
        entry *e = &c->v[i];
        if (!e->is_replaced && strcmp(e->input->hash, hash) == 0) {
            return e->input->rows != NULL || !with_rows ? e : NULL;
        }
    }
    return NULL;
}

static void replace(cf_media_cache *c, const char *hash)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->v[i].input->hash, hash) == 0) {
            c->v[i].is_replaced = true;
        }
    }
}

static cf_status add(cf_media_cache *c, cf_str bytes, const char *hash, bool with_rows,
                     const cf_cancel *cancel, entry **out, cf_error *err)
{
    cf_media_input *in = NULL;
    if (!cf_grow(&c->v, &c->cap, c->n + 1, sizeof *c->v)) {
        return cf_oom_for(err, "a cache of media");
    }
    CF_TRY(with_rows ? cf_media_read(&in, c->media, bytes, cancel, err)
                     : cf_media_look(&in, c->media, bytes, cancel, err));
    replace(c, hash);
    c->v[c->n] = (entry){.input = in, .bytes = size_of(in)};
    *out = &c->v[c->n++];
    return CF_OK;
}

cf_status cf_media_cache_get(const cf_media_input **out, cf_media_cache *c, cf_str bytes,
                             bool with_rows, const cf_cancel *cancel, cf_error *err)
{
    char hash[CF_HASH_TEXT + 1];
    cf_hash_hex(hash, bytes.p, bytes.n);
    entry *e = find(c, hash, with_rows);
    if (e == NULL) {
        CF_TRY(add(c, bytes, hash, with_rows, cancel, &e, err));
    }
    e->used = ++c->clock;
    e->n_pin++;
    *out = e->input;
    return CF_OK;
}

void cf_media_cache_release(cf_media_cache *c, const cf_media_input *input)
{
    for (size_t i = 0; input != NULL && i < c->n; i++) {
        if (c->v[i].input == input) {
            c->v[i].n_pin--;
            trim(c);
            return;
        }
    }
}
