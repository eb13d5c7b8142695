/*
 * dense_attend.c - attention of all positions to each other.
 *
 * Keys and values are packed a few heads at a time, which bounds the memory;
 * threads share the queries of these heads, a few at a time, and what a query
 * gets does not depend on its neighbours.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/media/dense.h"

/* Floats of keys and values that are packed at once, unless a single head needs more. */
enum { PACKED_MAX = 16 << 20 };

typedef struct attention {
    const cf_dense *d;
    float *out;
    const float *q, *k, *v;
    size_t n, n_key;
    size_t width, size; /* of all heads, of one */
    float scale;
    size_t head0, n_head; /* packed */
    float *packed;
    size_t packed_floats; /* a head's */
    float *scratch;
    size_t scratch_floats; /* a thread's */
} attention;

static void pack(void *ud, unsigned i, unsigned n)
{
    const attention *a = ud;
    size_t begin, end;
    cf_dense__share(a->n_head, 1, i, n, &begin, &end);
    for (size_t h = begin; h < end && !cf_stop_now(a->d->stop); h++) {
        size_t at = (a->head0 + h) * a->size;
        a->d->k->encoder->pack(a->packed + h * a->packed_floats, a->k + at, a->v + at, a->width,
                               a->n_key, a->size);
    }
}

static void attend(void *ud, unsigned i, unsigned n)
{
    const attention *a = ud;
    size_t tiles = (a->n + CF_ENCODER_QUERIES - 1) / CF_ENCODER_QUERIES;
    size_t begin, end;
    cf_dense__share(tiles * a->n_head, 1, i, n, &begin, &end);
    for (size_t u = begin; u < end && !cf_stop_now(a->d->stop); u++) {
        size_t head = u / tiles, t = u % tiles * CF_ENCODER_QUERIES;
        size_t at = t * a->width + (a->head0 + head) * a->size;
        const cf_encoder_attn job = {.out = a->out + at,
                                     .q = a->q + at,
                                     .n_q = a->n - t < CF_ENCODER_QUERIES ? a->n - t
                                                                          : CF_ENCODER_QUERIES,
                                     .q_stride = a->width,
                                     .out_stride = a->width,
                                     .packed = a->packed + head * a->packed_floats,
                                     .n_key = a->n_key,
                                     .size = a->size,
                                     .scale = a->scale,
                                     .scratch = a->scratch + i * a->scratch_floats};
        a->d->k->encoder->attend(&job);
    }
}

cf_status cf_dense_attend(const cf_dense *d, float *out, const float *q, const float *k,
                          const float *v, size_t n, size_t n_key, uint32_t n_head,
                          uint32_t head_size, float scale, cf_error *err)
{
    const cf_encoder_kernels *e = d->k->encoder;
    attention a = {.d = d,
                   .out = out,
                   .q = q,
                   .k = k,
                   .v = v,
                   .n = n,
                   .n_key = n_key,
                   .width = (size_t)n_head * head_size,
                   .size = head_size,
                   .scale = scale,
                   .packed_floats = e->packed_floats(n_key, head_size),
                   .scratch_floats = e->scratch_floats(n_key, head_size)};
    size_t most = PACKED_MAX / a.packed_floats;
    most = most < 1 ? 1 : most < n_head ? most : n_head;
    a.packed = cf_alloc_aligned(64, most * a.packed_floats * sizeof(float));
    a.scratch = cf_alloc_aligned(64, cf_pool_n_threads(d->pool) * a.scratch_floats * sizeof(float));
    cf_status st =
        a.packed != NULL && a.scratch != NULL ? CF_OK : cf_oom_for(err, "an encoder's attention");
    for (; st == CF_OK && a.head0 < n_head; a.head0 += most) {
        a.n_head = n_head - a.head0 < most ? n_head - a.head0 : most;
        cf_pool_run(d->pool, pack, &a);
        cf_pool_run(d->pool, attend, &a);
        st = cf_stop_check(d->stop, err);
    }
    cf_free_aligned(a.packed);
    cf_free_aligned(a.scratch);
    return st;
}
