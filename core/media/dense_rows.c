/*
 * dense_rows.c - what an encoder does with a row or a number by itself: norms,
 * activations.  Sums are taken in double, in the order of the row.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/media/dense.h"

/* Numbers that a thread takes at once. */
enum { CHUNK = 4096 };

typedef struct rows {
    const cf_dense *d;
    float *out;
    const float *x, *w, *b;
    size_t n, width;
    float eps;
} rows;

static void layer_norm(const rows *r, float *out, const float *x)
{
    double mean = 0, square = 0;
    for (size_t c = 0; c < r->width; c++) {
        mean += (double)x[c];
    }
    mean /= (double)r->width;
    for (size_t c = 0; c < r->width; c++) {
        square += ((double)x[c] - mean) * ((double)x[c] - mean);
    }
    double by = 1 / sqrt(square / (double)r->width + (double)r->eps);
    for (size_t c = 0; c < r->width; c++) {
        out[c] = (float)(((double)x[c] - mean) * by) * r->w[c] + (r->b != NULL ? r->b[c] : 0);
    }
}

static void rms_norm(const rows *r, float *out, const float *x)
{
    double square = 0;
    for (size_t c = 0; c < r->width; c++) {
        square += (double)x[c] * (double)x[c];
    }
    double by = 1 / sqrt(square / (double)r->width + (double)r->eps);
    for (size_t c = 0; c < r->width; c++) {
        out[c] = (float)((double)x[c] * by) * (r->w != NULL ? r->w[c] : 1);
    }
}

static void some_rows(const rows *r, unsigned i, unsigned n,
                      void (*norm)(const rows *r, float *out, const float *x))
{
    size_t begin, end;
    cf_dense__share(r->n, 1, i, n, &begin, &end);
    for (size_t t = begin; t < end && !cf_stop_now(r->d->stop); t++) {
        norm(r, r->out + t * r->width, r->x + t * r->width);
    }
}

static void layer_norms(void *ud, unsigned i, unsigned n)
{
    some_rows(ud, i, n, layer_norm);
}

static void rms_norms(void *ud, unsigned i, unsigned n)
{
    some_rows(ud, i, n, rms_norm);
}

void cf_dense_layer_norm(const cf_dense *d, float *out, const float *x, const float *w,
                         const float *b, size_t n, size_t width, float eps)
{
    rows r = {d, out, x, w, b, n, width, eps};
    cf_pool_run(d->pool, layer_norms, &r);
}

void cf_dense_rms_norm(const cf_dense *d, float *out, const float *x, const float *w, size_t n,
                       size_t width, float eps)
{
    rows r = {d, out, x, w, NULL, n, width, eps};
    cf_pool_run(d->pool, rms_norms, &r);
}

/* ---- activations -------------------------------------------------------- */

typedef struct activation {
    const cf_dense *d;
    float *x;
    size_t n;
    cf_act act;
} activation;

static void activate(void *ud, unsigned i, unsigned n_part)
{
    const activation *a = ud;
    const cf_kernels *k = a->d->k;
    float ones[CHUNK];
    size_t begin, end;
    cf_dense__share(a->n, CHUNK, i, n_part, &begin, &end);
    for (size_t j = 0; j < CHUNK; j++) {
        ones[j] = 1;
    }
    for (; begin < end && !cf_stop_now(a->d->stop); begin += CHUNK) {
        float *x = a->x + begin;
        size_t n = end - begin < CHUNK ? end - begin : CHUNK;
        switch (a->act) {
        case CF_ACT_QUICK:
            k->encoder->gelu_quick(x, n);
            break;
        case CF_ACT_GELU:
            k->gelu_mul(x, x, ones, n);
            break;
        case CF_ACT_GELU_ERF:
            k->encoder->gelu_erf(x, n);
            break;
        case CF_ACT_SILU:
            k->silu_mul(x, x, ones, n);
            break;
        }
    }
}

void cf_dense_act(const cf_dense *d, float *x, size_t n, cf_act act)
{
    activation a = {.d = d, .x = x, .n = n, .act = act};
    cf_pool_run(d->pool, activate, &a);
}

/* ---- pairs of numbers --------------------------------------------------- */

typedef struct pairs {
    const cf_dense *d;
    float *y;
    const float *x;
    float by;
    size_t n;
} pairs;

static void add_pairs(void *ud, unsigned i, unsigned n)
{
    const pairs *p = ud;
    size_t begin, end;
    cf_dense__share(p->n, CHUNK, i, n, &begin, &end);
    for (; begin < end && !cf_stop_now(p->d->stop); begin += CHUNK) {
        for (size_t j = begin; j < end && j < begin + CHUNK; j++) {
            p->y[j] += p->by * p->x[j];
        }
    }
}

static void mul_pairs(void *ud, unsigned i, unsigned n)
{
    const pairs *p = ud;
    size_t begin, end;
    cf_dense__share(p->n, CHUNK, i, n, &begin, &end);
    for (; begin < end && !cf_stop_now(p->d->stop); begin += CHUNK) {
        for (size_t j = begin; j < end && j < begin + CHUNK; j++) {
            p->y[j] *= p->x[j];
        }
    }
}

void cf_dense_add(const cf_dense *d, float *y, const float *x, float by, size_t n)
{
    pairs p = {d, y, x, by, n};
    cf_pool_run(d->pool, add_pairs, &p);
}

void cf_dense_mul(const cf_dense *d, float *y, const float *x, size_t n)
{
    pairs p = {d, y, x, 1, n};
    cf_pool_run(d->pool, mul_pairs, &p);
}

/* ---- memory ------------------------------------------------------------- */

float *cf_dense_parts(const cf_dense_part *part, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += part[i].n;
    }
    float *all = cf_calloc(total + 1, sizeof *all);
    float *at = all;
    for (size_t i = 0; all != NULL && i < n; i++) {
        *part[i].at = at;
        at += part[i].n;
    }
    return all;
}
