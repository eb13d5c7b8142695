/*
 * test_steering.c - control vectors: written, read, refused, applied.
 */
#include <math.h>
#include <unistd.h>

#include "core/api/steer.h"
#include "core/base/os.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_VOCAB = 320, N_EMBD = 64, N_LAYER = 4, N = 24 };

static void *bytes;
static size_t n_bytes;
static cf_engine *engine;
static cf_token ids[N];
static char path[] = "/tmp/confab-steer-XXXXXX";

static int setup(void **state)
{
    cf_error err;
    (void)state;
    cf_fault_install();
    for (int i = 0; i < N; i++) {
        ids[i] = (i * 37 + 5) % N_VOCAB;
    }
    bytes = cf_tiny_gguf(&(cf_tiny_options){.n_layer = N_LAYER}, &n_bytes);
    int fd = mkstemp(path);
    close(fd);
    return cf_engine_open_memory(&engine, bytes, n_bytes, &(cf_engine_options){.n_threads = 2},
                                 &err);
}

static int teardown(void **state)
{
    (void)state;
    cf_engine_close(engine);
    cf_tiny_free(bytes);
    unlink(path);
    return 0;
}

static cf_steering *new_steering(void)
{
    cf_error err;
    cf_steering *s = NULL;
    T_OK(cf_steering_new(&s, engine, &err), err);
    return s;
}

static cf_session *new_session(void)
{
    cf_error err;
    cf_session *s = NULL;
    T_OK(cf_session_new(&s, engine, &(cf_session_options){.n_ctx = 64}, &err), err);
    return s;
}

static void fill(float v[N_EMBD], int seed)
{
    for (int c = 0; c < N_EMBD; c++) {
        v[c] = (float)sin(seed + 3.0 * c);
    }
}

static void test_steering__a_file_comes_back(void **state)
{
    cf_error err;
    float v[N_EMBD];
    size_t n;
    cf_steering *out = new_steering(), *in = new_steering();
    (void)state;
    T_FAILS(cf_steering_write(out, path, &err), CF_EINVAL); /* empty */
    fill(v, 1);
    T_OK(cf_steering_add(out, 2, v, 0.5f, &err), err);
    fill(v, 2);
    T_OK(cf_steering_add(out, N_LAYER, v, 1, &err), err);
    T_FAILS(cf_steering_add(out, N_LAYER + 1, v, 1, &err), CF_EINVAL);
    T_OK(cf_steering_write(out, path, &err), err);
    T_OK(cf_steering_add_file(in, path, 1, 0, 0, &err), err);
    T_OK(cf_steering_add_file(in, path, 2, 1, 1, &err), err); /* direction.1 is x_2 */
    for (uint32_t l = 0; l <= N_LAYER; l++) {
        const float *a = cf_steering_at(out, l), *b = cf_steering_at(in, l);
        assert_true((a != NULL) == (l == 2 || l == N_LAYER));
        assert_true((b != NULL) == (a != NULL));
        for (int c = 0; a != NULL && c < N_EMBD; c++) {
            assert_true(fabs((double)b[c] - (l == 2 ? 3 : 1) * (double)a[c]) < 1e-6);
        }
    }
    const cf_steering_use *use = cf_steering_uses(in, &n);
    assert_int_equal(n, 2);
    assert_string_equal(use[0].hash, use[1].hash);
    assert_string_equal(use[1].path, path);
    T_FAILS(cf_steering_add_file(in, path, 1, 2, 1, &err), CF_EINVAL);
    T_FAILS(cf_steering_add_file(in, "/nowhere/x.gguf", 1, 0, 0, &err), CF_ENOTFOUND);
    cf_steering_free(out);
    cf_steering_free(in);
}

/* ---- other files -------------------------------------------------------- */

typedef struct odd {
    const char *name;
    uint32_t type, n_dim;
    uint64_t dim[2];
} odd;

static void write_odd(const odd *o)
{
    cf_error err;
    cf_tiny_buf b = {0};
    cf_tiny_head(&b, 3, 1, 0);
    cf_tiny_tensor(&b, o->name, o->n_dim, o->dim, o->type, 0);
    cf_tiny_pad(&b, 32);
    for (int i = 0; i < 2 * N_EMBD; i++) {
        cf_tiny_f32(&b, 1);
    }
    T_OK(cf_os_write_file(path, b.p, b.n, 0644, &err), err);
    cf_tiny_free(b.p);
}

static void test_steering__refuses_other_files(void **state)
{
    static const odd files[] = {
        {"direction.0", CF_F32, 1, {N_EMBD}},
        {"direction.", CF_F32, 1, {N_EMBD}},
        {"direction.x", CF_F32, 1, {N_EMBD}},
        {"direction.-1", CF_F32, 1, {N_EMBD}},
        {"direction.1x", CF_F32, 1, {N_EMBD}},
        {"output.weight", CF_F32, 1, {N_EMBD}},
        {"direction.1", CF_F16, 1, {N_EMBD}},
        {"direction.1", CF_F32, 1, {N_EMBD - 1}},
        {"direction.1", CF_F32, 2, {N_EMBD, 2}},
        {"direction.99999999999999999999", CF_F32, 1, {N_EMBD}},
    };
    cf_error err;
    cf_steering *s = new_steering();
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_odd(&files[i]);
        T_FAILS(cf_steering_add_file(s, path, 1, 0, 0, &err), CF_EFORMAT);
    }
    write_odd(&(odd){"direction.77", CF_F32, 1, {N_EMBD}}); /* of a deeper model */
    T_OK(cf_steering_add_file(s, path, 1, 0, 0, &err), err);
    for (uint32_t l = 0; l <= N_LAYER; l++) {
        assert_null(cf_steering_at(s, l));
    }
    cf_steering_free(s);
}

/* ---- sessions ----------------------------------------------------------- */

static void test_steering__of_a_session_is_a_push(void **state)
{
    cf_error err;
    float v[N_EMBD], want[N_VOCAB];
    cf_steering *st = new_steering();
    cf_session *s = new_session(), *steered = new_session();
    (void)state;
    fill(v, 3);
    T_OK(cf_steering_add(st, 2, v, 4, &err), err);
    const cf_push push = {.layer = 2, .scale = 4, .v = v, .at = {0, N}};
    cf_inside_ask ask = {.ids = ids, .n = N, .at = N - 1};
    ask.changes = &(cf_changes){.push = &push, .n_push = 1};
    T_OK(cf_inside_run(s, &ask, want, &err), err);
    T_OK(cf_session_sync(steered, ids, N, NULL, NULL, &err), err);
    assert_memory_not_equal(cf_session_logits(steered), want, sizeof want);
    T_OK(cf_session_set_steering(steered, st, &err), err);
    assert_ptr_equal(cf_session_steering(steered), st);
    T_OK(cf_session_sync(steered, ids, N, NULL, NULL, &err), err);
    assert_memory_equal(cf_session_logits(steered), want, sizeof want);
    /* Token by token, and in a fork. */
    cf_session *fork = NULL;
    cf_session_rewind(steered, 5);
    for (int i = 5; i < N; i++) {
        T_OK(cf_session_step(steered, ids[i], NULL, &err), err);
    }
    assert_memory_equal(cf_session_logits(steered), want, sizeof want);
    T_OK(cf_session_fork(&fork, steered, &err), err);
    assert_ptr_equal(cf_session_steering(fork), st);
    /* Looking into a steered session finds the steered model. */
    float got[N_VOCAB];
    ask.changes = NULL;
    T_OK(cf_inside_run(fork, &ask, got, &err), err);
    assert_memory_equal(got, want, sizeof want);
    T_OK(cf_session_set_steering(steered, NULL, &err), err);
    T_OK(cf_session_sync(steered, ids, N, NULL, NULL, &err), err);
    T_OK(cf_session_sync(s, ids, N, NULL, NULL, &err), err);
    assert_memory_equal(cf_session_logits(steered), cf_session_logits(s), sizeof want);
    cf_session_free(fork);
    cf_session_free(s);
    cf_session_free(steered);
    cf_steering_free(st);
}

static void test_steering__a_row_raises_its_token(void **state)
{
    cf_error err;
    float logits[2][N_VOCAB];
    cf_steering *st = new_steering();
    cf_session *s = new_session();
    (void)state;
    T_OK(cf_steering_add_row(st, 77, 1, &err), err);
    T_FAILS(cf_steering_add_row(st, N_VOCAB, 1, &err), CF_EINVAL);
    cf_steering_normalise(st);
    for (int i = 0; i < 2; i++) {
        T_OK(cf_session_sync(s, ids, N, NULL, NULL, &err), err);
        memcpy(logits[i], cf_session_logits(s), sizeof logits[i]);
        T_OK(cf_session_set_steering(s, st, &err), err);
    }
    assert_true(logits[1][77] > logits[0][77]);
    cf_session_free(s);
    cf_steering_free(st);
}

/* A pair whose sides are the same points nowhere. */
static void test_steering__pairs(void **state)
{
    cf_error err;
    cf_steering *st = new_steering();
    cf_session *s = new_session();
    cf_inside_ask a = {.ids = ids, .n = N, .at = N - 1}, b = {.ids = ids + 1, .n = 9, .at = 8};
    (void)state;
    T_OK(cf_steering_add_pair(st, s, &a, &a, 1, &err), err);
    for (uint32_t l = 2; l <= N_LAYER; l++) {
        for (int c = 0; c < N_EMBD; c++) {
            assert_true(cf_steering_at(st, l)[c] == 0);
        }
    }
    T_OK(cf_steering_add_pair(st, s, &a, &b, 1, &err), err);
    cf_steering_normalise(st);
    for (uint32_t l = 2; l <= N_LAYER; l++) {
        double sum = 0;
        for (int c = 0; c < N_EMBD; c++) {
            sum += (double)cf_steering_at(st, l)[c] * (double)cf_steering_at(st, l)[c];
        }
        assert_true(fabs(sum - 1) < 1e-5);
    }
    cf_session_free(s);
    cf_steering_free(st);
}

/* ---- faults ------------------------------------------------------------- */

static cf_status steer(void *ud)
{
    cf_error err;
    cf_steering *st = NULL;
    cf_session *s = NULL;
    const cf_inside_ask a = {.ids = ids, .n = 6, .at = 5}, b = {.ids = ids + 1, .n = 4, .at = 3};
    (void)ud;
    cf_status code = cf_steering_new(&st, engine, &err);
    CF_THEN(code, cf_session_new(&s, engine, &(cf_session_options){.n_ctx = 16}, &err));
    CF_THEN(code, cf_steering_add_pair(st, s, &a, &b, 1, &err));
    CF_THEN(code, cf_steering_add_row(st, 3, 1, &err));
    CF_THEN(code, cf_steering_write(st, path, &err));
    CF_THEN(code, cf_steering_add_file(st, path, 1, 0, 0, &err));
    CF_THEN(code, cf_session_set_steering(s, st, &err));
    cf_session_free(s);
    cf_steering_free(st);
    return code;
}

static void test_steering__every_allocation(void **state)
{
    (void)state;
    assert_int_equal(steer(NULL), CF_OK);
    cf_fault_every_alloc(steer, NULL, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steering__a_file_comes_back),
        cmocka_unit_test(test_steering__refuses_other_files),
        cmocka_unit_test(test_steering__of_a_session_is_a_push),
        cmocka_unit_test(test_steering__a_row_raises_its_token),
        cmocka_unit_test(test_steering__pairs),
        cmocka_unit_test(test_steering__every_allocation),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
