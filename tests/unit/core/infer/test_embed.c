/* One vector of a text: the states pooled, however they were computed. */
#include <math.h>
#include <string.h>

#include "core/api/engine.h"
#include "core/api/session.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_EMBD = 64, N_IDS = 23 };

typedef struct model {
    void *bytes;
    cf_engine *engine;
    cf_session *session;
} model;

static void open_model(model *m, const char *arch, uint32_t pooling, uint32_t n_batch)
{
    cf_error err;
    size_t n;
    const cf_engine_options o = {.n_threads = 2};
    const cf_session_options so = {.n_batch = n_batch};
    m->bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = arch, .seed = 5, .pooling = pooling}, &n);
    T_OK(cf_engine_open_memory(&m->engine, m->bytes, n, &o, &err), err);
    T_OK(cf_session_new(&m->session, m->engine, &so, &err), err);
}

static void close_model(model *m)
{
    cf_session_free(m->session);
    cf_engine_close(m->engine);
    cf_tiny_free(m->bytes);
}

static void make_ids(cf_token *ids)
{
    for (int i = 0; i < N_IDS; i++) {
        ids[i] = (cf_token)(i * 7 % 250 + 1);
    }
}

/* Sums of the states at positions from .. to. */
typedef struct sums {
    uint32_t from, to;
    double v[N_EMBD];
    size_t n;
} sums;

static void on_hidden(void *ud, uint32_t pos, const float *h)
{
    sums *s = ud;
    s->n++;
    for (int i = 0; pos >= s->from && pos < s->to && i < N_EMBD; i++) {
        s->v[i] += (double)h[i];
    }
}

static void test_embed__pools_as_declared(void **state)
{
    (void)state;
    static const char *const archs[] = {"llama", "qwen3", "gemma3"};
    static const struct {
        cf_pooling pooling;
        uint32_t from, to;
    } rows[] = {
        {CF_POOLING_MEAN, 0, N_IDS}, {CF_POOLING_FIRST, 0, 1}, {CF_POOLING_LAST, N_IDS - 1, N_IDS}};
    cf_token ids[N_IDS];
    make_ids(ids);
    for (size_t i = 0; i < 9; i++) {
        model m;
        cf_error err;
        float got[N_EMBD];
        sums want = {.from = rows[i % 3].from, .to = rows[i % 3].to};
        const cf_run run = {.hidden = on_hidden, .ud = &want};
        double length = 0;
        open_model(&m, archs[i / 3], (uint32_t)rows[i % 3].pooling, 0);
        T_OK(cf_session_sync(m.session, ids, N_IDS, &run, NULL, &err), err);
        assert_int_equal(want.n, N_IDS);
        for (int k = 0; k < N_EMBD; k++) {
            length += want.v[k] * want.v[k];
        }
        assert_true(length > 0);
        /* What is cached is computed again. */
        T_OK(cf_session_embed(m.session, ids, N_IDS, NULL, got, &err), err);
        for (int k = 0; k < N_EMBD; k++) {
            assert_true(fabs((double)got[k] - want.v[k] / sqrt(length)) < 1e-6);
        }
        close_model(&m);
    }
}

static void test_embed__batches_change_nothing(void **state)
{
    (void)state;
    float first[N_EMBD];
    cf_token ids[N_IDS];
    make_ids(ids);
    for (uint32_t n_batch = 1; n_batch <= 16; n_batch *= 2) {
        model m;
        cf_error err;
        float got[N_EMBD];
        open_model(&m, "llama", CF_POOLING_MEAN, n_batch);
        T_OK(cf_session_embed(m.session, ids, N_IDS, NULL, got, &err), err);
        if (n_batch == 1) {
            memcpy(first, got, sizeof got);
        }
        assert_memory_equal(got, first, sizeof got);
        close_model(&m);
    }
}

static void test_embed__refuses(void **state)
{
    (void)state;
    static const struct {
        uint32_t pooling;
        size_t n;
        cf_status want;
    } rows[] = {{CF_POOLING_NONE, 1, CF_EUNSUPPORTED},
                {CF_POOLING_RANK, 1, CF_EUNSUPPORTED},
                {77, 1, CF_EUNSUPPORTED},
                {CF_POOLING_MEAN, 0, CF_EINVAL}};
    cf_token ids[N_IDS];
    make_ids(ids);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        model m;
        cf_error err;
        float out[N_EMBD];
        open_model(&m, "llama", rows[i].pooling, 0);
        T_FAILS(cf_session_embed(m.session, ids, rows[i].n, NULL, out, &err), rows[i].want);
        close_model(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embed__pools_as_declared),
        cmocka_unit_test(test_embed__batches_change_nothing),
        cmocka_unit_test(test_embed__refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
