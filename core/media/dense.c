/*
 * dense.c - an encoder's arithmetic on the kernels of core/kernel.
 *
 * The sums of a product and of a softmax are taken by a kernel in an order of
 * its own; threads share output rows and queries, so their number changes
 * nothing.  OpenBLAS is given tiles of fixed size, for the same reason.
 */
#include "core/media/dense.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

/* Rows of x multiplied together, and queries of a head taken together. */
enum { ROWS = 128, QUERIES = CF_ATTN_QUERIES };

bool cf_dense_is_cancelled(const cf_dense *d)
{
    return d->cancel != NULL &&
           atomic_load_explicit(d->cancel, memory_order_relaxed);
}

static cf_status outcome(const cf_dense *d, cf_error *err)
{
    return cf_dense_is_cancelled(d) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                                    : CF_OK;
}

void cf_dense_step(const cf_dense *d)
{
    cf_dense_steps *s = d->steps;
    if (s != NULL && s->fn != NULL) {
        s->done++;
        s->fn(s->ud, s->done, s->total);
    }
}

static size_t up64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Part i of n of `total`, a multiple of `unit` but for the last. */
static void share(size_t total, size_t unit, unsigned i, unsigned n,
                  size_t *begin, size_t *end)
{
    size_t units = (total + unit - 1) / unit;
    *begin = units * i / n * unit;
    *end = units * (i + 1) / n * unit;
    *end = *end < total ? *end : total;
}

/* ---- products ----------------------------------------------------------- */

typedef struct product {
    const cf_dense *d;
    float *y;
    const cf_linear *l;
    const unsigned char *x; /* prepared */
    size_t n, x_bytes, scratch_bytes;
    unsigned char *scratch;
} product;

static void finish_rows(const product *p, size_t t0, size_t t1, size_t row0,
                        size_t row1)
{
    const cf_linear *l = p->l;
    for (size_t t = t0; t < t1; t++) {
        float *y = p->y + t * l->w.n_row;
        for (size_t r = row0; l->bias != NULL && r < row1; r++) {
            y[r] += l->bias[r];
        }
        for (size_t r = row0; l->is_clamped && r < row1; r++) {
            y[r] = fminf(fmaxf(y[r], l->out_min), l->out_max);
        }
    }
}

static void multiply(void *ud, unsigned i, unsigned n)
{
    const product *p = ud;
    const cf_mat *w = &p->l->w;
    size_t row0, row1;
    share(w->n_row, p->d->k->row_multiple, i, n, &row0, &row1);
    for (size_t t = 0; row0 < row1 && t < p->n && !cf_dense_is_cancelled(p->d);
         t += ROWS) {
        size_t m = p->n - t < ROWS ? p->n - t : ROWS;
        p->d->k->matmul(p->y + t * w->n_row, w->n_row, w, p->x + t * p->x_bytes,
                        m, row0, row1, p->scratch + i * p->scratch_bytes);
        finish_rows(p, t, t + m, row0, row1);
    }
}

/* A copy of x within the limits; NULL when memory runs out. */
static float *clamped(const float *x, size_t n, const cf_linear *l)
{
    float *to = cf_calloc(n, sizeof *to);
    for (size_t i = 0; to != NULL && i < n; i++) {
        to[i] = fminf(fmaxf(x[i], l->in_min), l->in_max);
    }
    return to;
}

static cf_status ours(const cf_dense *d, float *y, const float *x, size_t n,
                      const cf_linear *l, cf_error *err)
{
    const cf_mat *w = &l->w;
    product p = {.d = d, .y = y, .l = l, .n = n};
    p.x_bytes = d->k->prepared_bytes(w->type, w->n_col);
    p.scratch_bytes = up64(d->k->matmul_scratch_bytes(w->type, w->n_col));
    unsigned n_thread = cf_pool_n_threads(d->pool);
    unsigned char *xp = cf_alloc_aligned(64, n * p.x_bytes + 64);
    p.scratch = cf_alloc_aligned(64, n_thread * p.scratch_bytes + 64);
    bool ok = xp != NULL && p.scratch != NULL;
    if (ok) {
        d->k->prepare(xp, w->type, x, n, w->n_col);
        p.x = xp;
        cf_pool_run(d->pool, multiply, &p);
    }
    cf_free_aligned(xp);
    cf_free_aligned(p.scratch);
    return ok ? outcome(d, err) : cf_oom_for(err, "an encoder's activations");
}

/* ---- products by OpenBLAS ----------------------------------------------- */

/* Rows of x and of the weights in a tile, and rows of x from which on tiles
 * are worth the copy of the weights. */
enum { TILE_X = 256, TILE_W = 512, BLAS_ROWS_MIN = 64 };

typedef struct tiles {
    const product *p;
    const float *x;
    float *w; /* [n_row, n_col], NULL where the file has floats */
} tiles;

static bool is_float(cf_dtype type)
{
    return type == CF_F32 || type == CF_F16 || type == CF_BF16;
}

static void widen(void *ud, unsigned i, unsigned n)
{
    const tiles *t = ud;
    const cf_mat *w = &t->p->l->w;
    size_t begin, end;
    share(w->n_row, 1, i, n, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        const unsigned char *from = (const unsigned char *)w->p;
        from += r * w->row_bytes;
        float *to = t->w + r * w->n_col;
        if (w->type == CF_F16) {
            t->p->d->k->f16_to_f32(to, (const void *)from, w->n_col);
        } else {
            cf_dtype_to_f32(w->type, to, from, w->n_col);
        }
    }
}

static void multiply_tiles(void *ud, unsigned i, unsigned n)
{
    const tiles *t = ud;
    const product *p = t->p;
    const cf_mat *w = &p->l->w;
    const float *weights = t->w != NULL ? t->w : w->p;
    size_t across = (w->n_row + TILE_W - 1) / TILE_W;
    size_t down = (p->n + TILE_X - 1) / TILE_X, begin, end;
    share(across * down, 1, i, n, &begin, &end);
    for (size_t u = begin; u < end && !cf_dense_is_cancelled(p->d); u++) {
        size_t t0 = u / across * TILE_X, r0 = u % across * TILE_W;
        size_t t1 = t0 + TILE_X < p->n ? t0 + TILE_X : p->n;
        size_t r1 = r0 + TILE_W < w->n_row ? r0 + TILE_W : w->n_row;
        cf_blas_product(p->d->blas, p->y + t0 * w->n_row + r0, w->n_row,
                        t->x + t0 * w->n_col, weights + r0 * w->n_col, t1 - t0,
                        r1 - r0, w->n_col);
        finish_rows(p, t0, t1, r0, r1);
    }
}

static cf_status theirs(const cf_dense *d, float *y, const float *x, size_t n,
                        const cf_linear *l, cf_error *err)
{
    const product p = {.d = d, .y = y, .l = l, .n = n};
    tiles t = {.p = &p, .x = x};
    if (l->w.type != CF_F32) {
        t.w = cf_calloc((size_t)l->w.n_row * l->w.n_col, sizeof *t.w);
        if (t.w == NULL) {
            return cf_oom_for(err, "an encoder's weights");
        }
        cf_pool_run(d->pool, widen, &t);
    }
    cf_pool_run(d->pool, multiply_tiles, &t);
    cf_free(t.w);
    return outcome(d, err);
}

cf_status cf_dense_linear(const cf_dense *d, float *y, const float *x, size_t n,
                          const cf_linear *l, cf_error *err)
{
    float *copy = NULL;
    if (l->is_clamped) {
        copy = clamped(x, n * l->w.n_col, l);
        if (copy == NULL) {
            return cf_oom_for(err, "an encoder's activations");
        }
        x = copy;
    }
    bool is_theirs =
        d->blas != NULL && is_float(l->w.type) && n >= BLAS_ROWS_MIN &&
        l->w.row_bytes == cf_dtype_row_bytes(l->w.type, l->w.n_col);
    cf_status st =
        is_theirs ? theirs(d, y, x, n, l, err) : ours(d, y, x, n, l, err);
    cf_free(copy);
    return st;
}

/* ---- attention ---------------------------------------------------------- */

typedef struct attention {
    const cf_dense *d;
    float *out;
    const float *q;
    size_t n, n_key, n_block;
    uint32_t n_head, head_size;
    float scale;
    const void **k_block, **v_block; /* [n_head, n_block] */
    float *scratch;
    size_t scratch_floats; /* a thread's */
} attention;

static void attend(void *ud, unsigned i, unsigned n)
{
    const attention *a = ud;
    size_t per_head = (a->n + QUERIES - 1) / QUERIES;
    size_t width = (size_t)a->n_head * a->head_size;
    size_t begin, end;
    share(per_head * a->n_head, 1, i, n, &begin, &end);
    for (size_t u = begin; u < end && !cf_dense_is_cancelled(a->d); u++) {
        size_t head = u / per_head, t = u % per_head * QUERIES;
        size_t at = t * width + head * a->head_size;
        const cf_attn job = {.out = a->out + at,
                             .q = a->q + at,
                             .n_q = a->n - t < QUERIES ? a->n - t : QUERIES,
                             .q_stride = width,
                             .out_stride = width,
                             .n_row = 1,
                             .k_block = a->k_block + head * a->n_block,
                             .v_block = a->v_block + head * a->n_block,
                             .first = 0,
                             .last = (uint32_t)a->n_key - 1,
                             .head_size = a->head_size,
                             .head_size_v = a->head_size,
                             .scale = a->scale,
                             .scratch = a->scratch + i * a->scratch_floats};
        a->d->k->attend(&job);
    }
}

/* Keys or values by head, in blocks of CF_KV_BLOCK positions: of keys the
 * positions lie side by side, of values the dimensions. */
static void by_head(float *to, const void **block, const float *from,
                    bool is_key, const attention *a)
{
    size_t width = (size_t)a->n_head * a->head_size;
    size_t step = is_key ? CF_KV_BLOCK : 1;
    for (size_t h = 0; h < a->n_head; h++) {
        float *head = to + h * a->n_block * CF_KV_BLOCK * a->head_size;
        for (size_t t = 0; t < a->n_key; t++) {
            float *at = head + (t - t % CF_KV_BLOCK) * a->head_size +
                        t % CF_KV_BLOCK * (is_key ? 1 : a->head_size);
            const float *row = from + t * width + h * a->head_size;
            for (size_t c = 0; c < a->head_size; c++) {
                at[c * step] = row[c];
            }
        }
        for (size_t b = 0; b < a->n_block; b++) {
            block[h * a->n_block + b] = head + b * CF_KV_BLOCK * a->head_size;
        }
    }
}

cf_status cf_dense_attend(const cf_dense *d, float *out, const float *q,
                          const float *k, const float *v, size_t n,
                          size_t n_key, uint32_t n_head, uint32_t head_size,
                          float scale, cf_error *err)
{
    attention a = {.d = d,
                   .out = out,
                   .q = q,
                   .n = n,
                   .n_key = n_key,
                   .n_block = (n_key + CF_KV_BLOCK - 1) / CF_KV_BLOCK,
                   .n_head = n_head,
                   .head_size = head_size,
                   .scale = scale};
    size_t n_float = a.n_block * CF_KV_BLOCK * n_head * head_size;
    a.scratch_floats = up64(CF_ATTN_SCRATCH(head_size, head_size, n_key));
    float *kv = cf_alloc_aligned(64, 2 * n_float * sizeof *kv);
    const void **block = cf_calloc(2 * a.n_block * n_head, sizeof *block);
    a.scratch = cf_alloc_aligned(64, cf_pool_n_threads(d->pool) *
                                         a.scratch_floats * sizeof(float));
    bool ok = kv != NULL && block != NULL && a.scratch != NULL;
    if (ok) {
        a.k_block = block;
        a.v_block = block + a.n_block * n_head;
        by_head(kv, a.k_block, k, true, &a);
        by_head(kv + n_float, a.v_block, v, false, &a);
        cf_pool_run(d->pool, attend, &a);
    }
    cf_free_aligned(kv);
    cf_free(block);
    cf_free_aligned(a.scratch);
    return ok ? outcome(d, err) : cf_oom_for(err, "an encoder's attention");
}

/* ---- rows alone --------------------------------------------------------- */

void cf_dense_layer_norm(float *out, const float *x, const float *w,
                         const float *b, size_t n, size_t width, float eps)
{
    for (size_t t = 0; t < n; t++, x += width, out += width) {
        double mean = 0, square = 0;
        for (size_t c = 0; c < width; c++) {
            mean += (double)x[c];
        }
        mean /= (double)width;
        for (size_t c = 0; c < width; c++) {
            square += ((double)x[c] - mean) * ((double)x[c] - mean);
        }
        double by = 1 / sqrt(square / (double)width + (double)eps);
        for (size_t c = 0; c < width; c++) {
            out[c] = (float)(((double)x[c] - mean) * by) * w[c] +
                     (b != NULL ? b[c] : 0);
        }
    }
}

void cf_dense_rms_norm(float *out, const float *x, const float *w, size_t n,
                       size_t width, float eps)
{
    for (size_t t = 0; t < n; t++, x += width, out += width) {
        double square = 0;
        for (size_t c = 0; c < width; c++) {
            square += (double)x[c] * (double)x[c];
        }
        double by = 1 / sqrt(square / (double)width + (double)eps);
        for (size_t c = 0; c < width; c++) {
            out[c] = (float)((double)x[c] * by) * (w != NULL ? w[c] : 1);
        }
    }
}

/* ---- activations -------------------------------------------------------- */

enum { CHUNK = 256 };

typedef struct activation {
    const cf_kernels *k;
    float *x;
    size_t n;
    cf_act act;
} activation;

static void activate(void *ud, unsigned i, unsigned n_part)
{
    const activation *a = ud;
    float ones[CHUNK];
    size_t begin, end;
    share(a->n, CHUNK, i, n_part, &begin, &end);
    for (size_t j = 0; j < CHUNK; j++) {
        ones[j] = 1;
    }
    for (; begin < end; begin += CHUNK) {
        float *x = a->x + begin;
        size_t n = end - begin < CHUNK ? end - begin : CHUNK;
        switch (a->act) {
        case CF_ACT_QUICK:
            for (size_t j = 0; j < n; j++) {
                x[j] = x[j] / (1 + expf(-1.702f * x[j]));
            }
            break;
        case CF_ACT_GELU:
            a->k->gelu_mul(x, x, ones, n);
            break;
        case CF_ACT_GELU_ERF:
            for (size_t j = 0; j < n; j++) {
                x[j] = 0.5f * x[j] * (1 + erff(x[j] * 0.707106781186548f));
            }
            break;
        case CF_ACT_SILU:
            a->k->silu_mul(x, x, ones, n);
            break;
        }
    }
}

void cf_dense_act(const cf_dense *d, float *x, size_t n, cf_act act)
{
    activation a = {.k = d->k, .x = x, .n = n, .act = act};
    cf_pool_run(d->pool, activate, &a);
}
