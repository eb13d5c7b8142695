/*
 * lora.c - computes what adapters add.
 */
#include "core/infer/lora.h"

#include "core/infer/adapter_impl.h"

enum { LANES = 16 };

/* The adapter's pair for m, and the row of it that m starts at; NULL: none. */
static const cf_lora_pair *find(const cf_adapter *a, const cf_mat *m, size_t *row0)
{
    uintptr_t at = (uintptr_t)m->p;
    size_t lo = 0, hi = a->n_pair;
    while (lo < hi) { /* the last one that begins at `at` or before */
        size_t mid = lo + (hi - lo) / 2;
        if ((uintptr_t)a->pair[mid].p <= at) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return NULL;
    }
    const cf_lora_pair *x = &a->pair[lo - 1];
    uint64_t off = at - (uintptr_t)x->p;
    if (off >= x->bytes || x->n_col != m->n_col) {
        return NULL;
    }
    *row0 = (size_t)(off / m->row_bytes);
    return *row0 + m->n_row <= x->n_row ? x : NULL;
}

/* Sums by lanes, then over the lanes from the first to the last. */
static float dot(const float *a, const float *x, size_t n)
{
    float sum[LANES] = {0};
    float total = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            sum[k] += a[i + k] * x[i + k];
        }
    }
    for (; i < n; i++) {
        sum[i % LANES] += a[i] * x[i];
    }
    for (size_t k = 0; k < LANES; k++) {
        total += sum[k];
    }
    return total;
}

size_t cf_lora_n_rank(const cf_lora_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++) {
        n += set->use[i].adapter->rank;
    }
    return n;
}

size_t cf_lora_in(const cf_lora_set *set, const cf_mat *m, const float *in, float *t)
{
    size_t n = 0, row0;
    for (size_t i = 0; i < set->n; i++) {
        const cf_lora_pair *x = find(set->use[i].adapter, m, &row0);
        for (uint32_t k = 0; x != NULL && k < x->rank; k++) {
            t[n++] = x->scale * set->use[i].scale * dot(x->a + (size_t)k * x->n_col, in, x->n_col);
        }
    }
    return n;
}

void cf_lora_out(const cf_lora_set *set, const cf_mat *m, const float *t, float *y, size_t lo,
                 size_t hi)
{
    size_t row0;
    for (size_t i = 0; i < set->n; i++) {
        const cf_lora_pair *x = find(set->use[i].adapter, m, &row0);
        for (uint32_t k = 0; x != NULL && k < x->rank; k++) {
            const float *b = x->b + (size_t)k * x->n_row + row0;
            float c = *t++;
            for (size_t r = lo; r < hi; r++) {
                y[r] += c * b[r];
            }
        }
    }
}

void cf_lora_back(const cf_lora_set *set, const cf_mat *m, const double *d, double *y)
{
    size_t row0;
    for (size_t i = 0; i < set->n; i++) {
        const cf_lora_pair *x = find(set->use[i].adapter, m, &row0);
        for (uint32_t k = 0; x != NULL && k < x->rank; k++) {
            const float *b = x->b + (size_t)k * x->n_row + row0;
            const float *a = x->a + (size_t)k * x->n_col;
            double c = 0;
            for (size_t r = 0; r < m->n_row; r++) {
                c += (double)b[r] * d[r];
            }
            c *= (double)x->scale * (double)set->use[i].scale;
            for (size_t j = 0; j < m->n_col; j++) {
                y[j] += c * (double)a[j];
            }
        }
    }
}
