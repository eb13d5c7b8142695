/*
 * dense.c - an encoder's products on the kernels of core/kernel.
 *
 * The sums of a product are taken by a kernel in an order of its own; threads
 * share output rows, so their number changes nothing.  OpenBLAS is given tiles
 * of a size that only the weights decide, for the same reason.
 */
#include "core/media/dense.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

/* Rows of x that are prepared and multiplied together. */
enum { READY = 1024, ROWS = 128 };

/* Products of a piece: a few milliseconds, and a few times ten with the
 * reference kernels. */
enum { PIECE = 1 << 25 };

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

/* ---- products ----------------------------------------------------------- */

typedef struct product {
    const cf_dense *d;
    float *y;
    const float *x;
    const cf_linear *l;
    size_t n;
    unsigned char *ready; /* x, prepared */
    size_t ready_bytes;   /* a row's */
    unsigned char *scratch;
    size_t scratch_bytes; /* a thread's */
} product;

static void finish_rows(const product *p, size_t t0, size_t t1, size_t row0, size_t row1)
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

static void make_ready(void *ud, unsigned i, unsigned n)
{
    const product *p = ud;
    const cf_mat *w = &p->l->w;
    size_t begin, end;
    cf_dense__share(p->n, 1, i, n, &begin, &end);
    for (size_t t = begin; t < end && !cf_stop_now(p->d->stop); t++) {
        p->d->k->prepare(p->ready + t * p->ready_bytes, w->type, p->x + t * w->n_col, 1, w->n_col);
    }
}

static void multiply(void *ud, unsigned i, unsigned n)
{
    const product *p = ud;
    const cf_mat *w = &p->l->w;
    size_t unit = p->d->k->row_multiple, row0, row1;
    size_t step = PIECE / ROWS / w->n_col / unit * unit;
    step = step > unit ? step : unit;
    cf_dense__share(w->n_row, unit, i, n, &row0, &row1);
    for (size_t t = 0; t < p->n; t += ROWS) {
        size_t m = p->n - t < ROWS ? p->n - t : ROWS;
        for (size_t r = row0; r < row1; r += step) {
            size_t end = row1 - r < step ? row1 : r + step;
            if (cf_stop_now(p->d->stop)) {
                return;
            }
            p->d->k->matmul(p->y + t * w->n_row, w->n_row, w, p->ready + t * p->ready_bytes, m, r,
                            end, p->scratch + i * p->scratch_bytes);
            finish_rows(p, t, t + m, r, end);
        }
    }
}

/* A copy of x within the limits; NULL when memory runs out. */
static float *clamped(const cf_dense *d, const float *x, size_t n, const cf_linear *l)
{
    size_t width = l->w.n_col;
    float *to = cf_calloc(n * width, sizeof *to);
    for (size_t t = 0; to != NULL && t < n && !cf_stop_now(d->stop); t++) {
        for (size_t i = t * width; i < (t + 1) * width; i++) {
            to[i] = fminf(fmaxf(x[i], l->in_min), l->in_max);
        }
    }
    return to;
}

static cf_status ours(const cf_dense *d, float *y, const float *x, size_t n, const cf_linear *l,
                      cf_error *err)
{
    const cf_mat *w = &l->w;
    product p = {.d = d, .l = l};
    size_t at_once = n < READY ? n : READY;
    p.ready_bytes = d->k->prepared_bytes(w->type, w->n_col);
    p.scratch_bytes = up64(d->k->matmul_scratch_bytes(w->type, w->n_col));
    unsigned n_thread = cf_pool_n_threads(d->pool);
    p.ready = cf_alloc_aligned(64, at_once * p.ready_bytes + 64);
    p.scratch = cf_alloc_aligned(64, n_thread * p.scratch_bytes + 64);
    cf_status st =
        p.ready != NULL && p.scratch != NULL ? CF_OK : cf_oom_for(err, "an encoder's activations");
    for (size_t t = 0; st == CF_OK && t < n; t += READY) {
        p.x = x + t * w->n_col;
        p.y = y + t * w->n_row;
        p.n = n - t < READY ? n - t : READY;
        cf_pool_run(d->pool, make_ready, &p);
        cf_pool_run(d->pool, multiply, &p);
        st = cf_stop_check(d->stop, err);
    }
    cf_free_aligned(p.ready);
    cf_free_aligned(p.scratch);
    return st;
}

/* ---- products by OpenBLAS ----------------------------------------------- */

/* Rows of x in a tile, and rows of x from which on tiles are worth the copy
 * of the weights. */
enum { TILE_X = 256, BLAS_ROWS_MIN = 64 };

/* Rows of the weights in a tile. */
static size_t tile_rows(const cf_mat *w)
{
    return w->n_col <= 8192 ? 512 : 64;
}

typedef struct tiles {
    const product *p;
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
    cf_dense__share(w->n_row, 1, i, n, &begin, &end);
    for (size_t r = begin; r < end && !cf_stop_now(t->p->d->stop); r++) {
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
    size_t tile_w = tile_rows(w), across = (w->n_row + tile_w - 1) / tile_w;
    size_t down = (p->n + TILE_X - 1) / TILE_X, begin, end;
    cf_dense__share(across * down, 1, i, n, &begin, &end);
    for (size_t u = begin; u < end && !cf_stop_now(p->d->stop); u++) {
        size_t t0 = u / across * TILE_X, r0 = u % across * tile_w;
        size_t t1 = t0 + TILE_X < p->n ? t0 + TILE_X : p->n;
        size_t r1 = r0 + tile_w < w->n_row ? r0 + tile_w : w->n_row;
        cf_blas_product(p->d->blas, p->y + t0 * w->n_row + r0, w->n_row, p->x + t0 * w->n_col,
                        weights + r0 * w->n_col, t1 - t0, r1 - r0, w->n_col);
        finish_rows(p, t0, t1, r0, r1);
    }
}

static cf_status theirs(const cf_dense *d, float *y, const float *x, size_t n, const cf_linear *l,
                        cf_error *err)
{
    const product p = {.d = d, .y = y, .x = x, .l = l, .n = n};
    tiles t = {.p = &p};
    if (l->w.type != CF_F32) {
        t.w = cf_calloc((size_t)l->w.n_row * l->w.n_col, sizeof *t.w);
        if (t.w == NULL) {
            return cf_oom_for(err, "an encoder's weights");
        }
        cf_pool_run(d->pool, widen, &t);
    }
    cf_pool_run(d->pool, multiply_tiles, &t);
    cf_free(t.w);
    return cf_stop_check(d->stop, err);
}

cf_status cf_dense_linear(const cf_dense *d, float *y, const float *x, size_t n, const cf_linear *l,
                          cf_error *err)
{
    float *copy = NULL;
    if (l->is_clamped) {
        copy = clamped(d, x, n, l);
        if (copy == NULL) {
            return cf_oom_for(err, "an encoder's activations");
        }
        x = copy;
    }
    bool is_theirs = d->blas != NULL && is_float(l->w.type) && n >= BLAS_ROWS_MIN &&
                     l->w.row_bytes == cf_dtype_row_bytes(l->w.type, l->w.n_col);
    cf_status st = is_theirs ? theirs(d, y, x, n, l, err) : ours(d, y, x, n, l, err);
    cf_free(copy);
    return st;
}
