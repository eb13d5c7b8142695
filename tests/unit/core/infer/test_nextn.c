/*
 * test_nextn.c - guesses of a draft layer, however its states came.
 */
#include "core/infer/nextn.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N = 40, N_CTX = 64, N_GUESS = 4 };

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_session *session;
    cf_token ids[N];
} model;

static void open_model(model *m, const char *arch)
{
    cf_error err;
    size_t n = 0;
    cf_rand r = {9};
    const cf_tiny_options o = {.arch = arch, .seed = 11, .n_layer = 3, .n_nextn = 1};
    const cf_session_options so = {.n_ctx = N_CTX};
    m->bytes = cf_tiny_gguf(&o, &n);
    const cf_engine_options eo = {.n_threads = 1};
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &eo, &err), err);
    T_OK(cf_session_new(&m->session, m->engine, &so, &err), err);
    for (size_t i = 0; i < N; i++) {
        m->ids[i] = (cf_token)cf_rand_below(&r, 320);
    }
}

static void close_model(model *m)
{
    cf_session_free(m->session);
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
}

static void show(void *ud, uint32_t pos, const float *hidden)
{
    cf_nextn_hidden(ud, pos, hidden);
}

/* All states from `from` on are those of ids[0..n). */
static void compute(model *m, cf_nextn *x, size_t from, size_t n)
{
    cf_error err;
    const cf_run run = {.hidden = show, .ud = x};
    cf_session_rewind(m->session, 0);
    if (from > 0) {
        T_OK(cf_session_sync(m->session, m->ids, from, NULL, NULL, &err), err);
    }
    T_OK(cf_session_sync(m->session, m->ids, n, &run, NULL, &err), err);
}

static cf_nextn *new_guesser(const model *m)
{
    cf_nextn *x = NULL;
    cf_error err;
    T_OK(cf_nextn_new(&x, m->engine, N_CTX, &err), err);
    return x;
}

/* After each token, as a guesser that sees all at once; what it guessed itself
 * leaves no trace. */
static void test_nextn__same_step_by_step(void **state)
{
    static const char *const archs[] = {"glm4moe", "deepseek2", "qwen35"};
    (void)state;
    for (size_t a = 0; a < 3; a++) {
        model m;
        open_model(&m, archs[a]);
        assert_non_null(m.engine->nextn);
        cf_nextn *x = new_guesser(&m);
        compute(&m, x, 0, N - 1);
        for (size_t n = 2; n <= N; n++) {
            cf_token step[N_GUESS], once[N_GUESS];
            cf_nextn *y = new_guesser(&m);
            compute(&m, y, 0, N - 1);
            assert_int_equal(cf_nextn_ask(x, m.ids, n, step, N_GUESS), N_GUESS);
            assert_int_equal(cf_nextn_ask(y, m.ids, n, once, N_GUESS), N_GUESS);
            assert_memory_equal(step, once, sizeof step);
            cf_nextn_free(y);
        }
        cf_nextn_free(x);
        close_model(&m);
    }
}

/* Without the states of a beginning it guesses from the rest, without the last
 * one not at all; and it follows another timeline. */
static void test_nextn__missing_states(void **state)
{
    model m;
    cf_token out[N_GUESS], again[N_GUESS];
    (void)state;
    open_model(&m, "glm4moe");
    cf_nextn *x = new_guesser(&m);
    assert_int_equal(cf_nextn_ask(x, m.ids, N, out, N_GUESS), 0);
    compute(&m, x, 30, N - 1);
    assert_int_equal(cf_nextn_ask(x, m.ids, N, out, N_GUESS), N_GUESS);
    cf_nextn_forget(x);
    assert_int_equal(cf_nextn_ask(x, m.ids, N, out, N_GUESS), 0);
    compute(&m, x, 0, N - 1);
    assert_int_equal(cf_nextn_ask(x, m.ids, N, out, N_GUESS), N_GUESS);
    m.ids[5]++;
    compute(&m, x, 0, N - 1);
    assert_int_equal(cf_nextn_ask(x, m.ids, N, again, N_GUESS), N_GUESS);
    m.ids[5]--;
    compute(&m, x, 0, N - 1);
    assert_int_equal(cf_nextn_ask(x, m.ids, N, again, N_GUESS), N_GUESS);
    assert_memory_equal(out, again, sizeof out);
    cf_nextn_free(x);
    close_model(&m);
}

static cf_status body(void *ud)
{
    const model *m = ud;
    cf_nextn *x = NULL;
    cf_token out[N_GUESS];
    cf_error err;
    CF_TRY(cf_nextn_new(&x, m->engine, N_CTX, &err));
    const float zero[1024] = {0};
    cf_nextn_hidden(x, 0, zero);
    size_t n = cf_nextn_ask(x, m->ids, 2, out, N_GUESS);
    cf_nextn_free(x);
    return n == N_GUESS ? CF_OK : CF_ENOMEM;
}

static void test_nextn__out_of_memory(void **state)
{
    model m;
    (void)state;
    open_model(&m, "deepseek2");
    cf_nextn_free(new_guesser(&m)); /* the engine keeps its workspace */
    cf_fault_every_alloc(body, &m, false);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nextn__same_step_by_step),
        cmocka_unit_test(test_nextn__missing_states),
        cmocka_unit_test(test_nextn__out_of_memory),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
