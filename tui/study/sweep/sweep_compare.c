/*
 * sweep_compare.c - pairs of cells, averaged within a prompt, and what they say.
 */
#include "tui/study/sweep/sweep_compare.h"

#include <stddef.h>

#include "core/base/alloc.h"

enum { AXES = CF_SWEEP_AXES };

static const double LEVEL = 0.05;

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

/* The difference of the shares of checks that pass, over the checks that both
 * cells have an answer to; false: there are none. */
static bool difference_of(const cf_sweep *s, const cf_sweep_cell *a, const cf_sweep_cell *b,
                          double *out)
{
    double sum = 0;
    size_t n = 0;
    for (size_t k = 0; k < s->plan->n_check; k++) {
        const cf_sweep_answer *x = &a->answer[k], *y = &b->answer[k];
        if (x->is_known && y->is_known) {
            sum += (double)y->passes - (double)x->passes;
            n++;
        }
    }
    *out = n > 0 ? sum / (double)n : 0;
    return n > 0;
}

/* The pairs of one prompt. */
typedef struct prompt_sum {
    double sum;
    size_t n;
} prompt_sum;

static cf_status compare_pair(const cf_sweep *s, cf_sweep_versus *v, const cf_sweep_cell *a,
                              const cf_sweep_cell *b, prompt_sum *of_prompt, cf_error *err)
{
    bool same = false;
    double difference;
    if (a->result == NULL || b->result == NULL) {
        v->missing++;
        return CF_OK;
    }
    CF_TRY(compare_texts(a, b, &same, err));
    v->differ += !same;
    if (difference_of(s, a, b, &difference)) {
        of_prompt[a->item].sum += difference;
        of_prompt[a->item].n++;
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
    return a->item == b->item && a->repeat == b->repeat;
}

typedef struct scratch {
    const cf_sweep_cell **a, **b; /* [n of the sweep] */
    prompt_sum *of_prompt;        /* [prompts] */
    double *number;               /* [prompts or comparisons] */
} scratch;

/* The mean of each prompt's pairs, of the prompts that have some. */
static size_t means_of(const cf_sweep *s, const scratch *t)
{
    size_t n = 0;
    for (size_t i = 0; i < s->plan->n_item; i++) {
        if (t->of_prompt[i].n > 0) {
            t->number[n++] = t->of_prompt[i].sum / (double)t->of_prompt[i].n;
        }
    }
    return n;
}

static cf_status versus(const cf_sweep *s, cf_sweep_versus *v, size_t axis, size_t x, size_t y,
                        const scratch *t, cf_error *err)
{
    size_t k = 0;
    size_t n_a = cells_with(s, axis, x, t->a);
    size_t n_b = cells_with(s, axis, y, t->b);
    if (n_a == 0 || n_b == 0) {
        return CF_OK;
    }
    *v = (cf_sweep_versus){.axis = axes[axis].name,
                           .a = axes[axis].value(s, t->a[0]),
                           .b = axes[axis].value(s, t->b[0])};
    memset(t->of_prompt, 0, s->plan->n_item * sizeof *t->of_prompt);
    for (size_t i = 0; i < n_a; i++) {
        size_t from = k;
        while (k < n_b && !is_pair(t->a[i], t->b[k], axis)) {
            k++;
        }
        if (k < n_b) {
            CF_TRY(compare_pair(s, v, t->a[i], t->b[k], t->of_prompt, err));
        } else {
            k = from; /* the other side has none of this kind */
        }
    }
    v->found = cf_paired_find(t->number, means_of(s, t));
    return CF_OK;
}

/* The verdicts of the comparisons of one axis, which are read together. */
static void judge_axis(cf_sweep_versus *v, size_t n, double *p)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = v[i].found.p;
    }
    for (size_t i = 0; i < n; i++) {
        v[i].is_clear = cf_paired_is_clear(p[i], p, n);
        v[i].needed = v[i].is_clear ? 0 : cf_paired_needed(&v[i].found, LEVEL / (double)n);
    }
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
                 .of_prompt = cf_calloc(s->plan->n_item, sizeof *t.of_prompt),
                 .number = cf_calloc(s->plan->n_item + n_all, sizeof *t.number)};
    cf_sweep_versus *v = cf_calloc(n_all, sizeof *v);
    bool has_room =
        t.a != NULL && t.b != NULL && t.of_prompt != NULL && t.number != NULL && v != NULL;
    cf_status st = has_room ? CF_OK : cf_oom_for(err, "the comparison");
    for (size_t axis = 0; st == CF_OK && axis < AXES; axis++) {
        size_t n_value = n_values(s->plan, axis), first = *n;
        for (size_t x = 0; st == CF_OK && x < n_value; x++) {
            for (size_t y = x + 1; st == CF_OK && y < n_value; y++) {
                st = versus(s, &v[*n], axis, x, y, &t, err);
                *n += st == CF_OK && v[*n].axis != NULL;
            }
        }
        judge_axis(v + first, *n - first, t.number);
    }
    cf_free(t.a);
    cf_free(t.b);
    cf_free(t.of_prompt);
    cf_free(t.number);
    if (st != CF_OK) {
        cf_free(v);
        return st;
    }
    *out = v;
    return CF_OK;
}
