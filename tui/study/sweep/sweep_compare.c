/*
 * sweep_compare.c - pairs of cells, counts, and intervals by resampling.
 */
#include "tui/study/sweep/sweep_compare.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/base/alloc.h"

enum { RESAMPLES = 2000, AXES = CF_SWEEP_AXES };

/* The axes, as members of a cell. */
static const struct {
    const char *name;
    size_t offset;
    cf_str (*value)(const cf_sweep *s, const cf_sweep_cell *c);
} axes[AXES] = {{"model", offsetof(cf_sweep_cell, model), cf_sweep_model_name},
                {"template", offsetof(cf_sweep_cell, tpl), cf_sweep_template_name},
                {"system", offsetof(cf_sweep_cell, system), cf_sweep_system_name},
                {"wording", offsetof(cf_sweep_cell, wording), cf_sweep_wording_name},
                {"adapter", offsetof(cf_sweep_cell, adapter), cf_sweep_adapter_name},
                {"sampler", offsetof(cf_sweep_cell, sampler), cf_sweep_sampler_name}};

const char *cf_sweep_axis_name(size_t axis)
{
    return axes[axis].name;
}

size_t cf_sweep_axis_value(const cf_sweep_cell *c, size_t axis)
{
    return *(const size_t *)(const void *)((const char *)c + axes[axis].offset);
}

cf_str cf_sweep_axis_label(const cf_sweep *s, const cf_sweep_cell *c, size_t axis)
{
    return axes[axis].value(s, c);
}

static size_t n_values(const cf_sweep_plan *p, size_t axis)
{
    const size_t n[AXES] = {p->n_model,   p->n_template, p->n_system,
                            p->n_wording, p->n_adapter,  p->n_sampler};
    return n[axis];
}

/* splitmix64: S. Vigna, https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double mean_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i];
    }
    return sum / (double)n;
}

static cf_status find_interval(cf_sweep_versus *v, const double *difference, size_t n,
                               cf_error *err)
{
    uint64_t state = 23;
    double *mean = cf_calloc(RESAMPLES, sizeof *mean);
    if (mean == NULL) {
        return cf_oom_for(err, "the comparison");
    }
    for (size_t k = 0; k < RESAMPLES; k++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += difference[next_random(&state) % n];
        }
        mean[k] = sum / (double)n;
    }
    qsort(mean, RESAMPLES, sizeof *mean, by_value);
    v->has_interval = true;
    v->mean = mean_of(difference, n);
    v->low = mean[RESAMPLES * 25 / 1000];
    v->high = mean[RESAMPLES * 975 / 1000 - 1];
    cf_free(mean);
    return CF_OK;
}

static cf_status compare_texts(const cf_sweep_cell *a, const cf_sweep_cell *b, bool *same,
                               cf_error *err)
{
    cf_buf x = CF_BUF_INIT, y = CF_BUF_INIT;
    cf_sweep_reply(a, &x);
    cf_sweep_reply(b, &y);
    *same = cf_str_eq(cf_buf_str(&x), cf_buf_str(&y));
    cf_status st = cf_buf_check(&x, err);
    CF_THEN(st, cf_buf_check(&y, err));
    cf_buf_deinit(&x);
    cf_buf_deinit(&y);
    return st;
}

static cf_status compare_pair(const cf_sweep *s, cf_sweep_versus *v, const cf_sweep_cell *a,
                              const cf_sweep_cell *b, double *difference, size_t *n, cf_error *err)
{
    bool same = false;
    if (a->result == NULL || b->result == NULL) {
        v->missing++;
        return CF_OK;
    }
    double x = cf_sweep_score(s, a), y = cf_sweep_score(s, b);
    v->better += y > x;
    v->worse += y < x;
    v->same += x == y;
    CF_TRY(compare_texts(a, b, &same, err));
    v->differ += !same;
    if (x >= 0 && y >= 0) {
        difference[(*n)++] = y - x;
    }
    return CF_OK;
}

/* The cells with one value of the axis, in order: those of another value are
 * in the same order. */
static size_t cells_with(const cf_sweep *s, size_t axis, size_t value, const cf_sweep_cell **out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (cf_sweep_axis_value(&s->cell[i], axis) == value) {
            out[n++] = &s->cell[i];
        }
    }
    return n;
}

/* Whether two cells are alike in everything but the axis. */
static bool is_pair(const cf_sweep_cell *a, const cf_sweep_cell *b, size_t axis)
{
    bool is_model = axis == 0; /* a server has no template and no adapter */
    for (size_t k = 0; k < AXES; k++) {
        bool matters = k != axis && !(is_model && (cf_sweep_axis_value(a, k) == CF_SWEEP_NONE ||
                                                   cf_sweep_axis_value(b, k) == CF_SWEEP_NONE));
        if (matters && cf_sweep_axis_value(a, k) != cf_sweep_axis_value(b, k)) {
            return false;
        }
    }
    return a->item == b->item;
}

typedef struct scratch {
    const cf_sweep_cell **a, **b; /* [n of the sweep] */
    double *difference;           /* likewise */
} scratch;

static cf_status versus(const cf_sweep *s, cf_sweep_versus *v, size_t axis, size_t x, size_t y,
                        const scratch *t, cf_error *err)
{
    size_t n = 0, k = 0;
    size_t n_a = cells_with(s, axis, x, t->a);
    size_t n_b = cells_with(s, axis, y, t->b);
    if (n_a == 0 || n_b == 0) {
        return CF_OK;
    }
    *v = (cf_sweep_versus){.axis = axes[axis].name,
                           .a = axes[axis].value(s, t->a[0]),
                           .b = axes[axis].value(s, t->b[0])};
    for (size_t i = 0; i < n_a; i++) {
        size_t from = k;
        while (k < n_b && !is_pair(t->a[i], t->b[k], axis)) {
            k++;
        }
        if (k < n_b) {
            CF_TRY(compare_pair(s, v, t->a[i], t->b[k], t->difference, &n, err));
        } else {
            k = from; /* the other side has none of this kind */
        }
    }
    return n > 0 ? find_interval(v, t->difference, n, err) : CF_OK;
}

static size_t n_pairs(const cf_sweep_plan *p)
{
    size_t n = 0;
    for (size_t axis = 0; axis < AXES; axis++) {
        size_t k = n_values(p, axis);
        n += k > 1 ? k * (k - 1) / 2 : 0;
    }
    return n;
}

cf_status cf_sweep_compare(const cf_sweep *s, cf_sweep_versus **out, size_t *n, cf_error *err)
{
    size_t n_all = n_pairs(s->plan);
    *out = NULL;
    *n = 0;
    if (n_all == 0) {
        return CF_OK;
    }
    scratch t = {.a = cf_calloc(s->n + 1, sizeof *t.a),
                 .b = cf_calloc(s->n + 1, sizeof *t.b),
                 .difference = cf_calloc(s->n + 1, sizeof *t.difference)};
    cf_sweep_versus *v = cf_calloc(n_all, sizeof *v);
    cf_status st = t.a != NULL && t.b != NULL && t.difference != NULL && v != NULL
                       ? CF_OK
                       : cf_oom_for(err, "the comparison");
    for (size_t axis = 0; st == CF_OK && axis < AXES; axis++) {
        size_t n_value = n_values(s->plan, axis);
        for (size_t x = 0; st == CF_OK && x < n_value; x++) {
            for (size_t y = x + 1; st == CF_OK && y < n_value; y++) {
                st = versus(s, &v[*n], axis, x, y, &t, err);
                *n += st == CF_OK && v[*n].axis != NULL;
            }
        }
    }
    cf_free(t.a);
    cf_free(t.b);
    cf_free(t.difference);
    if (st != CF_OK) {
        cf_free(v);
        return st;
    }
    *out = v;
    return CF_OK;
}
