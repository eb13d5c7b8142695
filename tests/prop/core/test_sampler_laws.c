/*
 * test_sampler_laws.c - the sampler against a plain oracle that sorts
 * everything and sums in double, over random options; and laws of its own:
 * seeking equals replaying, looking changes nothing, masks hold.
 */
#include <math.h>

#include "core/api/sampling.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

enum { V_MAX = 700, PAST_MAX = 40, ROUNDS = 1500 };

/* ---- the oracle --------------------------------------------------------- */

typedef struct oracle {
    size_t n;
    double l[V_MAX];    /* after the edits; -INFINITY: gone */
    double post[V_MAX]; /* probability of being drawn */
    int order[V_MAX];   /* ids, best first */
} oracle;

static const oracle *sorting;

static int by_logit(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    double lx = sorting->l[x], ly = sorting->l[y];
    return lx > ly ? -1 : lx < ly ? 1 : x - y;
}

static void oracle_edit(oracle *w, const cf_sampling *o, const cf_token *past, size_t n_past,
                        const uint32_t *allowed)
{
    for (size_t i = 0; i < o->n_bias; i++) {
        w->l[o->bias[i].id] = (float)w->l[o->bias[i].id] + o->bias[i].bias;
    }
    for (size_t i = 0; i < o->n_suppress; i++) {
        w->l[o->suppress[i]] = -INFINITY;
    }
    for (size_t i = 0; allowed != NULL && i < w->n; i++) {
        if ((allowed[i / 32] >> (i % 32) & 1) == 0) {
            w->l[i] = -INFINITY;
        }
    }
    size_t from =
        o->penalty_window != 0 && n_past > o->penalty_window ? n_past - o->penalty_window : 0;
    for (size_t id = 0; id < w->n; id++) {
        float count = 0;
        for (size_t i = from; i < n_past; i++) {
            count += (size_t)past[i] == id ? 1.0f : 0.0f;
        }
        if (count > 0) {
            float l = (float)w->l[id];
            float p = o->repetition_penalty > 1 ? o->repetition_penalty : 1;
            l = l > 0 ? l / p : l * p;
            l = l - o->presence_penalty;
            w->l[id] = l - o->frequency_penalty * count;
        }
    }
    size_t n = o->no_repeat_ngram;
    for (size_t end = n; n > 0 && end <= n_past; end++) {
        bool same = true;
        for (size_t j = 0; j + 1 < n; j++) {
            same = same && past[end - n + j] == past[n_past - n + 1 + j];
        }
        if (same) {
            w->l[past[end - 1]] = -INFINITY;
        }
    }
}

static double weight_sum(const oracle *w, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += exp(w->l[w->order[i]] - w->l[w->order[0]]);
    }
    return sum;
}

/* Fills w->post; `slack` says that a cut was too close to call. */
static void oracle_filter(oracle *w, const cf_sampling *o, bool *slack)
{
    for (size_t i = 0; i < w->n; i++) {
        w->order[i] = (int)i;
        w->post[i] = 0;
    }
    sorting = w;
    qsort(w->order, w->n, sizeof w->order[0], by_logit);
    size_t n = w->n;
    while (n > 0 && w->l[w->order[n - 1]] == -INFINITY) {
        n--;
    }
    double t = o->temperature;
    if (o->temperature == 0 || o->top_k == 1) {
        n = 1;
        t = 1;
    }
    if (o->top_k != 0 && o->top_k < n) {
        n = o->top_k;
    }
    double best = w->l[w->order[0]];
    *slack = false;
    if (o->top_p > 0 && o->top_p < 1) {
        double total = weight_sum(w, n), sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += exp(w->l[w->order[i]] - best) / total;
            *slack = *slack || fabs(sum - o->top_p) < 1e-5;
            if (sum >= o->top_p) {
                n = i + 1;
            }
        }
    }
    if (o->min_p > 0) {
        for (size_t i = 0; i < n; i++) {
            double ratio = exp(w->l[w->order[i]] - best);
            *slack = *slack || fabs(ratio - o->min_p) < 1e-5;
            if (ratio < o->min_p) {
                n = i;
            }
        }
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += exp((w->l[w->order[i]] - best) / t);
    }
    for (size_t i = 0; i < n; i++) {
        w->post[w->order[i]] = exp((w->l[w->order[i]] - best) / t) / sum;
    }
}

/* ---- random cases ------------------------------------------------------- */

typedef struct setup {
    size_t n_vocab, n_past;
    float logits[V_MAX];
    cf_token past[PAST_MAX];
    uint32_t allowed[V_MAX / 32 + 1];
    bool has_allowed;
    cf_logit_bias bias[4];
    cf_token suppress[4];
    cf_sampling o;
} setup;

static float pick(cf_rand *r, float off, float lo, float hi)
{
    return cf_rand_below(r, 2) == 0 ? off : lo + (hi - lo) * (cf_rand_float(r) + 1) / 2;
}

static void make_setup(setup *u, cf_rand *r)
{
    memset(u, 0, sizeof *u);
    u->n_vocab = 1 + cf_rand_below(r, V_MAX);
    bool coarse = cf_rand_below(r, 3) == 0; /* many ties */
    float scale = pick(r, 3, 0.1f, 12);
    for (size_t i = 0; i < u->n_vocab; i++) {
        float l = scale * cf_rand_float(r);
        u->logits[i] = coarse ? roundf(l) : l;
        if (cf_rand_below(r, 3) != 0) {
            u->allowed[i / 32] |= UINT32_C(1) << (i % 32);
        }
    }
    u->has_allowed = cf_rand_below(r, 3) == 0;
    u->n_past = cf_rand_below(r, PAST_MAX + 1);
    for (size_t i = 0; i < u->n_past; i++) {
        size_t n = u->n_vocab < 6 ? u->n_vocab : 6;
        u->past[i] = (cf_token)cf_rand_below(r, n);
    }
    cf_sampling *o = &u->o;
    o->temperature = pick(r, 0.7f, 0.1f, 3);
    if (cf_rand_below(r, 8) == 0) {
        o->temperature = 0;
    }
    o->top_k = cf_rand_below(r, 2) == 0 ? 0 : (uint32_t)cf_rand_below(r, 80);
    o->top_p = pick(r, 0, 0.05f, 1.1f);
    o->min_p = pick(r, 0, 0.001f, 1);
    o->seed = cf_rand_u64(r);
    o->repetition_penalty = pick(r, 0, 0.5f, 2);
    o->presence_penalty = pick(r, 0, -1, 2);
    o->frequency_penalty = pick(r, 0, -1, 2);
    o->penalty_window = (uint32_t)cf_rand_below(r, 20);
    o->no_repeat_ngram = cf_rand_below(r, 2) == 0 ? 0 : (uint32_t)cf_rand_below(r, 5);
    for (size_t i = 0; i < cf_rand_below(r, 5); i++) {
        u->bias[i].id = (cf_token)cf_rand_below(r, u->n_vocab);
        u->bias[i].bias = 4 * cf_rand_float(r);
        o->n_bias = i + 1;
    }
    for (size_t i = 0; i < cf_rand_below(r, 5); i++) {
        u->suppress[i] = (cf_token)cf_rand_below(r, u->n_vocab);
        o->n_suppress = i + 1;
    }
    o->bias = u->bias;
    o->suppress = u->suppress;
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 2e-5 + 1e-4 * fabs(b);
}

/* The walk over the survivors must land on the chosen one. */
static void check_walk(const setup *u, const oracle *w, const cf_draw *d)
{
    bool sorted = u->o.top_k != 0 || (u->o.top_p > 0 && u->o.top_p < 1);
    double before = 0;
    for (size_t i = 0; i < w->n; i++) {
        int id = sorted ? w->order[i] : (int)i;
        if (id == d->id) {
            break;
        }
        before += w->post[id];
    }
    assert_true(d->r >= before - 1e-4);
    assert_true(d->r <= before + w->post[d->id] + 1e-4);
}

static void check_draw(const setup *u, const oracle *w, const cf_draw *d, bool slack)
{
    bool greedy = u->o.temperature == 0 || u->o.top_k == 1;
    assert_true(w->l[d->id] > -INFINITY);
    if (slack) {
        return;
    }
    assert_true(w->post[d->id] > 0);
    assert_true(is_close(d->chosen.p_post, w->post[d->id]));
    double sum = 0;
    for (size_t i = 0; i < d->n_top; i++) {
        const cf_candidate *c = &d->top[i];
        assert_true(is_close(c->p_post, w->post[c->id]));
        assert_int_equal(c->removed_by == CF_KEPT, w->post[c->id] > 0);
        if (w->l[c->id] > -INFINITY) {
            assert_true(c->logit_post == (float)w->l[c->id]);
        }
        sum += c->p_post;
    }
    assert_true(sum < 1 + 1e-4);
    if (!greedy) {
        check_walk(u, w, d);
    }
}

static void test_sampler__equals_the_oracle(void **state)
{
    (void)state;
    cf_rand r = {20};
    static setup u;
    static oracle w;
    size_t n_close = 0;
    for (int round = 0; round < ROUNDS; round++) {
        make_setup(&u, &r);
        const uint32_t *allowed = u.has_allowed ? u.allowed : NULL;
        w.n = u.n_vocab;
        for (size_t i = 0; i < w.n; i++) {
            w.l[i] = u.logits[i];
        }
        oracle_edit(&w, &u.o, u.past, u.n_past, allowed);
        bool slack;
        oracle_filter(&w, &u.o, &slack);
        n_close += slack ? 1 : 0;
        cf_sampler *s;
        cf_error err;
        T_OK(cf_sampler_new(&s, &u.o, u.n_vocab, &err), err);
        cf_draw d;
        cf_token id;
        cf_status st = cf_sampler_draw(s, u.logits, u.past, u.n_past, allowed, 64, &id, &d, &err);
        if (w.l[w.order[0]] == -INFINITY) {
            assert_int_equal(st, CF_ELIMIT);
        } else {
            T_OK(st, err);
            assert_int_equal(id, d.id);
            check_draw(&u, &w, &d, slack);
        }
        cf_sampler_free(s);
    }
    assert_true(n_close < ROUNDS / 5);
}

/* Probabilities over all survivors of a small vocabulary sum to one. */
static void test_sampler__probabilities_sum_to_one(void **state)
{
    (void)state;
    cf_rand r = {21};
    static setup u;
    for (int round = 0; round < 300; round++) {
        make_setup(&u, &r);
        u.n_vocab = u.n_vocab > 64 ? 64 : u.n_vocab;
        u.o.n_bias = u.o.n_suppress = 0;
        cf_sampler *s;
        cf_error err;
        T_OK(cf_sampler_new(&s, &u.o, u.n_vocab, &err), err);
        cf_draw d;
        cf_token id;
        if (cf_sampler_draw(s, u.logits, u.past, u.n_past, NULL, 64, &id, &d, &err) == CF_OK) {
            double raw = 0, post = 0;
            for (size_t i = 0; i < d.n_top; i++) {
                raw += d.top[i].p_raw;
                post += d.top[i].p_post;
            }
            assert_true(fabs(raw - 1) < 1e-5);
            assert_true(fabs(post - 1) < 1e-5);
        }
        cf_sampler_free(s);
    }
}

/* Draw n after a seek equals draw n of a replay, watched or not. */
static void test_sampler__seek_equals_replay(void **state)
{
    (void)state;
    cf_rand r = {22};
    static setup u;
    for (int round = 0; round < 100; round++) {
        make_setup(&u, &r);
        u.o.n_suppress = 0;
        u.o.no_repeat_ngram = 0;
        cf_token seen[12];
        cf_sampler *s;
        cf_error err;
        T_OK(cf_sampler_new(&s, &u.o, u.n_vocab, &err), err);
        for (size_t i = 0; i < 12; i++) {
            T_OK(cf_sampler_draw(s, u.logits, u.past, u.n_past, NULL, 0, &seen[i], NULL, &err),
                 err);
        }
        for (size_t k = 0; k < 12; k++) {
            size_t i = cf_rand_below(&r, 12);
            cf_draw d;
            cf_token id;
            cf_sampler_seek(s, i);
            T_OK(cf_sampler_draw(s, u.logits, u.past, u.n_past, NULL, 5, &id, &d, &err), err);
            assert_int_equal(id, seen[i]);
            assert_int_equal(d.n_draw, i);
        }
        cf_sampler_free(s);
    }
}

/* How often each token comes is its probability. */
static void test_sampler__frequencies(void **state)
{
    (void)state;
    const float l[] = {0, 1, 2, -1, 0.5f};
    cf_sampling o = {.temperature = 0.8f, .seed = 11};
    cf_sampler *s;
    cf_error err;
    T_OK(cf_sampler_new(&s, &o, 5, &err), err);
    enum { N = 20000 };
    double count[5] = {0}, p[5] = {0};
    for (int i = 0; i < N; i++) {
        cf_token id;
        cf_draw d;
        T_OK(cf_sampler_draw(s, l, NULL, 0, NULL, 5, &id, i == 0 ? &d : NULL, &err), err);
        count[id]++;
        for (size_t j = 0; i == 0 && j < 5; j++) {
            p[d.top[j].id] = d.top[j].p_post;
        }
    }
    double chi2 = 0;
    for (size_t i = 0; i < 5; i++) {
        chi2 += pow(count[i] - N * p[i], 2) / (N * p[i]);
    }
    assert_true(chi2 < 25); /* 4 degrees of freedom */
    cf_sampler_free(s);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampler__equals_the_oracle),
        cmocka_unit_test(test_sampler__probabilities_sum_to_one),
        cmocka_unit_test(test_sampler__seek_equals_replay),
        cmocka_unit_test(test_sampler__frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
