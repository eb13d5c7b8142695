/*
 * test_recurrent.c - steps of recurrent layers and gates: against their
 * formulas in double, and the same bits on every instruction set.
 */
#include <math.h>

#include "core/kernel/kernel.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

enum { MAX = 96 };

static const char *const set_names[] = {"ref", "avx2", "avx512", "neon"};

static void fill(cf_rand *r, float *x, size_t n, float size)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = cf_rand_float(r) * size;
    }
}

static void near_all(const float *have, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(fabs((double)have[i] - want[i]) <= 2e-5 * (1 + fabs(want[i])))) {
            fail_msg("element %zu of %zu is %g, want %g", i, n, (double)have[i], want[i]);
        }
    }
}

/* A step's numbers, and what it must give. */
typedef struct trial {
    size_t n_key, n_value;
    float m_in[MAX * MAX], m[MAX * MAX];
    float k[MAX], q[MAX], v[MAX], out[MAX], tmp[MAX];
    double want_m[MAX * MAX], want[MAX];
    float decay, beta;
} trial;

static cf_state_step step_of(trial *t, bool in_place)
{
    if (in_place) {
        memcpy(t->m, t->m_in, sizeof t->m);
    }
    return (cf_state_step){.m = t->m,
                           .m_in = in_place ? t->m : t->m_in,
                           .k = t->k,
                           .q = t->q,
                           .v = t->v,
                           .out = t->out,
                           .decay = t->decay,
                           .beta = t->beta,
                           .n_key = t->n_key,
                           .n_value = t->n_value};
}

static void fill_trial(cf_rand *r, trial *t)
{
    t->n_key = 1 + cf_rand_below(r, MAX);
    t->n_value = 1 + cf_rand_below(r, MAX);
    fill(r, t->m_in, MAX * MAX, 1);
    fill(r, t->k, MAX, 0.3f);
    fill(r, t->q, MAX, 0.3f);
    fill(r, t->v, MAX, 1);
    t->decay = 0.5f + 0.5f * cf_rand_float(r);
    t->beta = 0.5f + 0.5f * cf_rand_float(r);
}

/* m = decay m_in;  with the delta rule v is first replaced by
 * beta (v - m^T k);  m += k v^T;  out = m^T q */
static void want_of(trial *t, bool is_delta)
{
    for (size_t j = 0; j < t->n_value; j++) {
        double seen = 0;
        double v = (double)t->v[j];
        for (size_t i = 0; i < t->n_key; i++) {
            double m = (double)t->m_in[i * t->n_value + j] * (double)t->decay;
            t->want_m[i * t->n_value + j] = m;
            seen += m * (double)t->k[i];
        }
        v = is_delta ? (double)t->beta * (v - seen) : v;
        t->want[j] = 0;
        for (size_t i = 0; i < t->n_key; i++) {
            double *m = &t->want_m[i * t->n_value + j];
            *m += (double)t->k[i] * v;
            t->want[j] += *m * (double)t->q[i];
        }
    }
}

static void run(const cf_recurrent_kernels *k, const cf_state_step *s, float *tmp, bool is_delta)
{
    if (is_delta) {
        k->delta(s, tmp);
    } else {
        k->scan(s);
    }
}

static void check_states(bool is_delta)
{
    static trial t;
    static float first[MAX], first_m[MAX * MAX];
    cf_rand r = {3};
    for (int i = 0; i < 40; i++) {
        fill_trial(&r, &t);
        want_of(&t, is_delta);
        size_t n = t.n_key * t.n_value;
        for (size_t s = 0; s < 4; s++) {
            const cf_kernels *k = cf_kernels_pick(set_names[s]);
            for (int in_place = 0; k != NULL && in_place < 2; in_place++) {
                cf_state_step step = step_of(&t, in_place == 1);
                run(k->recurrent, &step, t.tmp, is_delta);
                near_all(t.out, t.want, t.n_value);
                near_all(t.m, t.want_m, n);
                if (s == 0 && in_place == 0) {
                    memcpy(first, t.out, sizeof first);
                    memcpy(first_m, t.m, n * sizeof *first_m);
                }
                assert_memory_equal(t.out, first, t.n_value * sizeof *first);
                assert_memory_equal(t.m, first_m, n * sizeof *first_m);
            }
        }
    }
}

static void test_recurrent__delta(void **state)
{
    (void)state;
    check_states(true);
}

static void test_recurrent__scan(void **state)
{
    (void)state;
    check_states(false);
}

static void test_recurrent__conv(void **state)
{
    float in[4][MAX];
    float w[MAX * 4];
    float bias[MAX];
    float first[MAX];
    float out[MAX];
    double want[MAX];
    const float *x[4] = {in[0], in[1], in[2], in[3]};
    cf_rand r = {5};
    (void)state;
    for (size_t n = 1; n <= MAX; n += 5) {
        size_t n_tap = 2 + n % 3;
        fill(&r, in[0], 4 * MAX, 1);
        fill(&r, w, MAX * 4, 1);
        fill(&r, bias, MAX, 1);
        for (size_t c = 0; c < n; c++) {
            want[c] = (double)bias[c];
            for (size_t t = 0; t < n_tap; t++) {
                want[c] += (double)w[c * n_tap + t] * (double)in[t][c];
            }
        }
        for (size_t s = 0; s < 4; s++) {
            const cf_kernels *k = cf_kernels_pick(set_names[s]);
            if (k == NULL) {
                continue;
            }
            k->recurrent->conv(out, x, w, bias, n_tap, n);
            near_all(out, want, n);
            if (s == 0) {
                memcpy(first, out, sizeof first);
            }
            assert_memory_equal(out, first, n * sizeof *out);
        }
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void test_recurrent__gates(void **state)
{
    float g[MAX];
    float u[MAX];
    float y[MAX];
    double want[6][MAX];
    const cf_xielu xielu = {.positive = 0.8f, .negative = 1.4f, .beta = 0.5f, .eps = -1e-6f};
    cf_rand r = {6};
    (void)state;
    fill(&r, g, MAX, 12);
    fill(&r, u, MAX, 12);
    for (size_t i = 0; i < MAX; i++) {
        double a = (double)g[i];
        double b = (double)u[i];
        double top = fmin(a, 7);
        want[0][i] = a * sigmoid(a);
        want[1][i] = b * sigmoid(a);
        want[3][i] = a > 0 ? a * a : 0;
        want[4][i] = fmax(a, 0) * b;
        want[5][i] = (a > 0 ? 0.8 * a * a : (expm1(fmin(a, -1e-6)) - a) * 1.4) + 0.5 * a;
        want[2][i] = top * sigmoid(1.702 * top) * (fmax(-7, fmin(7, b)) + 1);
    }
    for (size_t s = 0; s < 4; s++) {
        const cf_kernels *k = cf_kernels_pick(set_names[s]);
        for (size_t n = 1; k != NULL && n <= MAX; n += 19) {
            memcpy(y, g, sizeof y);
            k->recurrent->silu(y, n);
            near_all(y, want[0], n);
            memcpy(y, u, sizeof y);
            k->recurrent->sigmoid_mul(y, y, g, n);
            near_all(y, want[1], n);
            memcpy(y, g, sizeof y);
            k->recurrent->clamped_glu(y, y, u, n);
            near_all(y, want[2], n);
            memcpy(y, g, sizeof y);
            k->recurrent->relu2(y, n);
            near_all(y, want[3], n);
            memcpy(y, g, sizeof y);
            k->recurrent->relu_mul(y, y, u, n);
            near_all(y, want[4], n);
            memcpy(y, g, sizeof y);
            k->recurrent->xielu(y, &xielu, n);
            near_all(y, want[5], n);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recurrent__delta),
        cmocka_unit_test(test_recurrent__scan),
        cmocka_unit_test(test_recurrent__conv),
        cmocka_unit_test(test_recurrent__gates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
