/*
 * influence_fit.c - random ablations with a sparse linear fit, after
 * ContextCite (arXiv 2409.00729): half of the parts are left out at random,
 * again and again, and the score is fitted as a sum over the parts that are
 * there.
 *
 * The fit is a lasso by coordinate descent.  Its error is measured by
 * cross-validation: each ablation is predicted by a fit of those of the other
 * folds, and the predictions are compared with the scores by rank.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/study/influence/influence_impl.h"

enum { FOLDS = 8, SWEEPS = 1000, ENUMERATED_MAX = 16 };

static const double penalty = 0.1, settled = 1e-7, mass_nats = 1;

/* Ablations of the rows [first, first + n_part). */
typedef struct fit {
    cf_influence_work *w;
    size_t first, n_part;
    bool *kept;        /* [n, n_part] */
    double *score;     /* [n] */
    size_t n, n_whole; /* n_whole: 1, the first is of the whole prompt */
    double *weight;    /* [n_part] */
    double mean;       /* of the scores that were fitted */
    double *middle;    /* [n_part] of `kept` there */
    double *rest;      /* [n] scratch */
    bool *is_out;      /* [n] not fitted */
} fit;

static cf_status no_memory(cf_error *err)
{
    return cf_oom_for(err, "the fit");
}

/* ---- the fit ------------------------------------------------------------ */

static double at(const fit *f, size_t i, size_t k)
{
    return (f->kept[i * f->n_part + k] ? 1.0 : 0.0) - f->middle[k];
}

static void centre(fit *f)
{
    double n = 0;
    f->mean = 0;
    memset(f->middle, 0, f->n_part * sizeof *f->middle);
    for (size_t i = 0; i < f->n; i++) {
        for (size_t k = 0; !f->is_out[i] && k < f->n_part; k++) {
            f->middle[k] += f->kept[i * f->n_part + k] ? 1 : 0;
        }
        f->mean += f->is_out[i] ? 0 : f->score[i];
        n += f->is_out[i] ? 0 : 1;
    }
    for (size_t k = 0; k < f->n_part; k++) {
        f->middle[k] /= n;
        f->weight[k] = 0;
    }
    f->mean /= n;
    for (size_t i = 0; i < f->n; i++) {
        f->rest[i] = f->score[i] - f->mean;
    }
}

/* Moves one weight to its best place; how far it went. */
static double move(fit *f, size_t k)
{
    double n = 0, square = 0, with = 0;
    for (size_t i = 0; i < f->n; i++) {
        double x = f->is_out[i] ? 0 : at(f, i, k);
        square += x * x;
        with += x * (f->rest[i] + x * f->weight[k]);
        n += f->is_out[i] ? 0 : 1;
    }
    double bound = penalty * n, best = 0;
    if (square > 0 && fabs(with) > bound) {
        best = (with - copysign(bound, with)) / square;
    }
    double step = best - f->weight[k];
    for (size_t i = 0; i < f->n; i++) {
        f->rest[i] -= step * at(f, i, k);
    }
    f->weight[k] = best;
    return fabs(step);
}

static void solve(fit *f)
{
    centre(f);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double most = 0;
        for (size_t k = 0; k < f->n_part; k++) {
            most = fmax(most, move(f, k));
        }
        if (most < settled) {
            break;
        }
    }
}

/* ---- its error ---------------------------------------------------------- */

/* Ranks from 1; equal values share the mean of theirs. */
static void rank(const double *v, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t below = 0, same = 0;
        for (size_t k = 0; k < n; k++) {
            below += v[k] < v[i];
            same += v[k] == v[i];
        }
        out[i] = (double)below + ((double)same + 1) / 2;
    }
}

bool cf_influence_rank_correlation(const double *a, const double *b, size_t n, double *scratch,
                                   double *out)
{
    double *x = scratch, *y = scratch + n;
    double middle = ((double)n + 1) / 2, xx = 0, yy = 0, xy = 0;
    rank(a, n, x);
    rank(b, n, y);
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - middle) * (x[i] - middle);
        yy += (y[i] - middle) * (y[i] - middle);
        xy += (x[i] - middle) * (y[i] - middle);
    }
    *out = xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
    return xx > 0 && yy > 0;
}

/* Leaves the fit of the last fold; with few ablations there is no error. */
static cf_status cross_validate(fit *f, cf_error *err)
{
    size_t n = f->n - f->n_whole;
    double *v = cf_calloc(3 * n + 1, sizeof *v);
    if (v == NULL) {
        return no_memory(err);
    }
    for (size_t fold = 0; n >= 2 * FOLDS && fold < FOLDS; fold++) {
        for (size_t i = 0; i < f->n; i++) {
            f->is_out[i] = i >= f->n_whole && i % FOLDS == fold;
        }
        solve(f);
        for (size_t i = f->n_whole; i < f->n; i++) {
            if (f->is_out[i]) {
                v[i - f->n_whole] = f->score[i] - f->rest[i];
            }
        }
    }
    memset(f->is_out, 0, f->n * sizeof *f->is_out);
    if (n >= 2 * FOLDS) {
        f->w->out->has_lds =
            cf_influence_rank_correlation(v, f->score + f->n_whole, n, v + n, &f->w->out->lds);
    }
    cf_free(v);
    return CF_OK;
}

/* ---- ablations ---------------------------------------------------------- */

/* splitmix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Half of the parts, none of the choices twice; all of them where they are
 * few.  At least one part is left out. */
static size_t draw(fit *f, size_t n, uint64_t seed, bool *left_out)
{
    size_t k = f->n_part, n_drawn = 0;
    size_t n_all = k < ENUMERATED_MAX ? ((size_t)1 << k) - 1 : SIZE_MAX;
    n = n < n_all ? n : n_all;
    for (size_t tries = 0; n_drawn < n && tries < 100 * n; tries++) {
        bool *one = left_out + n_drawn * k;
        bool is_new = false;
        for (size_t i = 0; i < k; i++) {
            one[i] =
                n == n_all ? ((n_drawn + 1) >> i & 1) != 0 : (next_random(&seed) >> 33 & 1) != 0;
            is_new = is_new || one[i];
        }
        for (size_t i = 0; is_new && i < n_drawn; i++) {
            is_new = memcmp(left_out + i * k, one, k * sizeof *one) != 0;
        }
        n_drawn += is_new;
    }
    return n_drawn;
}

/* Those that could be scored are what is fitted. */
static void take(fit *f, const cf_influence_trial *t, size_t n, const bool *left_out)
{
    for (size_t k = 0; k < f->n_part; k++) {
        f->kept[k] = true;
    }
    f->score[0] = f->w->out->with;
    f->n = f->n_whole = 1;
    for (size_t i = 0; i < n; i++) {
        if (!t[i].is_scored || !isfinite(t[i].score)) {
            continue;
        }
        for (size_t k = 0; k < f->n_part; k++) {
            f->kept[f->n * f->n_part + k] = !left_out[i * f->n_part + k];
        }
        f->score[f->n++] = t[i].score;
    }
}

/* The rows that are left out, without those that lie in others. */
static size_t list_set(const fit *f, const bool *left_out, size_t *out)
{
    const cf_influence *v = f->w->out;
    size_t n = 0;
    for (size_t k = 0; k < f->n_part; k++) {
        bool is_in = left_out[k];
        for (size_t i = 0; is_in && i < f->n_part; i++) {
            is_in = !(left_out[i] &&
                      cf_part_contains(&v->row[f->first + i].part, &v->row[f->first + k].part));
        }
        if (is_in) {
            out[n++] = f->first + k;
        }
    }
    return n;
}

static cf_status score(fit *f, size_t n, uint64_t seed, cf_error *err)
{
    cf_influence_trial *t = cf_calloc(n + 1, sizeof *t);
    bool *left_out = cf_calloc((n + 1) * f->n_part, sizeof *left_out);
    size_t *rows = cf_calloc((n + 1) * f->n_part, sizeof *rows);
    cf_status st = t != NULL && left_out != NULL && rows != NULL ? CF_OK : no_memory(err);
    if (st == CF_OK) {
        n = draw(f, n, seed, left_out);
    }
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        size_t *mine = rows + i * f->n_part;
        t[i].set = (cf_influence_set){mine, list_set(f, left_out + i * f->n_part, mine)};
    }
    CF_THEN(st, cf_influence__try(f->w, t, n, err));
    if (st == CF_OK) {
        take(f, t, n, left_out);
    }
    cf_free(t);
    cf_free(left_out);
    cf_free(rows);
    return st;
}

/* ---- levels ------------------------------------------------------------- */

static bool open_fit(fit *f, cf_influence_work *w, size_t first, size_t n)
{
    *f = (fit){.w = w, .first = first, .n_part = w->out->n_row - first};
    f->kept = cf_calloc((n + 1) * (f->n_part + 1), sizeof *f->kept);
    f->score = cf_calloc(n + 1, sizeof *f->score);
    f->weight = cf_calloc(f->n_part + 1, sizeof *f->weight);
    f->middle = cf_calloc(f->n_part + 1, sizeof *f->middle);
    f->rest = cf_calloc(n + 1, sizeof *f->rest);
    f->is_out = cf_calloc(n + 1, sizeof *f->is_out);
    return f->kept != NULL && f->score != NULL && f->weight != NULL && f->middle != NULL &&
           f->rest != NULL && f->is_out != NULL;
}

static void close_fit(fit *f)
{
    cf_free(f->kept);
    cf_free(f->score);
    cf_free(f->weight);
    cf_free(f->middle);
    cf_free(f->rest);
    cf_free(f->is_out);
}

/* The ablations of the first level, for whoever wants to judge the fit. */
static cf_status show(const fit *f, cf_error *err)
{
    cf_influence *out = f->w->out;
    bool *kept = cf_arena_calloc(&out->arena, f->n * f->n_part, sizeof *kept);
    double *v = cf_arena_calloc(&out->arena, f->n, sizeof *v);
    if (kept == NULL || v == NULL) {
        return no_memory(err);
    }
    memcpy(kept, f->kept, f->n * f->n_part * sizeof *kept);
    memcpy(v, f->score, f->n * sizeof *v);
    out->kept = kept;
    out->score = v;
    out->n_ablation = f->n;
    return CF_OK;
}

/* Fits the rows from `first` on with n passes. */
static cf_status fit_rows(cf_influence_work *w, size_t first, size_t n, cf_error *err)
{
    fit f;
    cf_influence *out = w->out;
    if (first == out->n_row || n == 0) {
        return CF_OK;
    }
    cf_status st = open_fit(&f, w, first, n) ? CF_OK : no_memory(err);
    CF_THEN(st, score(&f, n, w->o->seed, err));
    if (st == CF_OK && first == 0) {
        st = cross_validate(&f, err);
        CF_THEN(st, show(&f, err));
    }
    if (st == CF_OK) {
        solve(&f);
    }
    for (size_t k = 0; st == CF_OK && k < f.n_part; k++) {
        cf_influence_row *row = &out->row[first + k];
        row->has_delta = true;
        row->delta = -f.weight[k];
        row->without = out->with + row->delta;
    }
    close_fit(&f);
    return st;
}

/* The row of a kind that costs most, SIZE_MAX where none costs a nat. */
static size_t heaviest(const cf_influence *v, cf_part_kind kind)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < v->n_row; i++) {
        const cf_influence_row *row = &v->row[i];
        if (row->part.kind == kind && row->delta <= -mass_nats &&
            (best == SIZE_MAX || row->delta < v->row[best].delta)) {
            best = i;
        }
    }
    return best;
}

/* Adds the finer parts of the heaviest row of a kind; none where it has only
 * one. */
static cf_status add_finer(cf_influence_work *w, cf_part_kind kind, cf_part_kind finer,
                           cf_error *err)
{
    cf_influence *out = w->out;
    cf_influence_row *was = out->row;
    size_t n_was = out->n_row, at = heaviest(out, kind), n = 0;
    cf_influence_options o = *w->o;
    if (at == SIZE_MAX) {
        return CF_OK;
    }
    o.kinds = 1u << finer;
    o.message = kind == CF_PART_MESSAGE ? was[at].part.index : was[at].part.message;
    CF_TRY(cf_influence__list(out, &w->context, &o, err));
    cf_influence_row *all = cf_arena_calloc(&out->arena, n_was + out->n_row + 1, sizeof *all);
    if (all == NULL) {
        return no_memory(err);
    }
    memcpy(all, was, n_was * sizeof *all);
    for (size_t i = 0; i < out->n_row; i++) {
        if (cf_part_contains(&was[at].part, &out->row[i].part)) {
            all[n_was + n++] = out->row[i];
        }
    }
    out->row = all;
    out->n_row = n_was + (n > 1 ? n : 0);
    return CF_OK;
}

cf_status cf_influence__fit(cf_influence_work *w, cf_error *err)
{
    size_t n = w->o->budget, first;
    bool descends = w->o->kinds == 0;
    w->n_all = n + 1;
    CF_TRY(fit_rows(w, 0, descends ? n - n / 2 : n, err));
    first = w->out->n_row;
    if (descends) {
        CF_TRY(add_finer(w, CF_PART_MESSAGE, CF_PART_SENTENCE, err));
        CF_TRY(fit_rows(w, first, n / 4, err));
        first = w->out->n_row;
        CF_TRY(add_finer(w, CF_PART_SENTENCE, CF_PART_WORD, err));
        CF_TRY(fit_rows(w, first, n / 2 - n / 4, err));
    }
    return CF_OK;
}
