/*
 * test_plugin.c - sessions on the helper process of an engine that computes hashes
 * of timelines (tests/support/helper/fake_engine.c): forks, rewinds, refused cuts,
 * a full cache, a stop, what it shows, a helper that ends or is of another version.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/api/batch.h"
#include "core/api/engine.h"
#include "core/api/inside.h"
#include "core/api/session.h"
#include "core/api/steer.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tests/support/t.h"

enum { LEN = 40, MANY = 20 };

typedef struct fixture {
    cf_engine *engine;
    cf_session *s;
    size_t n_vocab;
    cf_token ids[LEN];
} fixture;

static cf_status open_fake(fixture *f, const char *words, uint32_t n_ctx, cf_error *err)
{
    cf_engine *plain = NULL;
    char n[24];
    const cf_engine_options vocab = {.vocab_only = true};
    const cf_engine_options fake = {.plugin = CF_FAKE_HELPER, .n_ctx = n_ctx};
    T_OK(cf_engine_open(&plain, CF_BUNDLED_FILE, &vocab, err), *err);
    f->n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(plain));
    cf_engine_close(plain);
    snprintf(n, sizeof n, "%zu", f->n_vocab);
    setenv("FAKE_VOCAB", n, 1);
    setenv("FAKE_ENGINE", words, 1);
    for (int i = 0; i < LEN; i++) {
        f->ids[i] = 20 + i * 7 % 100;
    }
    return cf_engine_open(&f->engine, CF_BUNDLED_FILE, &fake, err);
}

static void setup(fixture *f, const char *words)
{
    cf_error err;
    *f = (fixture){.engine = NULL};
    T_OK(open_fake(f, words, 0, &err), err);
    T_OK(cf_session_new(&f->s, f->engine, NULL, &err), err);
}

static void teardown(fixture *f)
{
    cf_session_free(f->s);
    cf_engine_close(f->engine);
}

/* The engine's definition: a hash of the timeline, then of the token. */
static void check_logits(const fixture *f, const cf_session *s)
{
    size_t n;
    const cf_token *ids = cf_session_tokens(s, &n);
    const float *have = cf_session_logits(s);
    uint32_t h = 2166136261u;
    assert_non_null(have);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint32_t)ids[i]) * 16777619u;
    }
    for (uint32_t v = 0; v < f->n_vocab; v++) {
        assert_true(have[v] == (float)(((h ^ v) * 16777619u) >> 8));
    }
}

static void sync_to(const fixture *f, cf_session *s, size_t n)
{
    cf_error err;
    T_OK(cf_session_sync(s, f->ids, n, NULL, NULL, &err), err);
    check_logits(f, s);
}

/* Rewinds, forks and steps in an order that leaves nothing where it was. */
static void walk(fixture *f)
{
    cf_error err;
    cf_session *fork = NULL;
    sync_to(f, f->s, LEN);
    T_OK(cf_session_fork(&fork, f->s, &err), err);
    cf_session_rewind(f->s, 25);
    T_OK(cf_session_step(f->s, 5, NULL, &err), err);
    check_logits(f, f->s);
    T_OK(cf_session_step(fork, 6, NULL, &err), err);
    check_logits(f, fork);
    cf_session *both[2] = {f->s, fork};
    const cf_token next[2] = {7, 8};
    T_OK(cf_session_step_many(both, next, 2, NULL, &err), err);
    check_logits(f, f->s);
    check_logits(f, fork);
    T_OK(cf_session_adopt(f->s, fork, &err), err);
    cf_session_free(fork);
    sync_to(f, f->s, LEN);
    T_OK(cf_session_step(f->s, 9, NULL, &err), err);
    check_logits(f, f->s);
}

static void test_plugin__timelines(void **state)
{
    fixture f;
    (void)state;
    setup(&f, "");
    cf_engine_info info = cf_engine_get_info(f.engine);
    assert_string_equal(info.engine, "fake 1.0 (CPU)");
    assert_int_equal(info.n_layer, 2);
    walk(&f);
    teardown(&f);
}

static void test_plugin__refused_cuts(void **state)
{
    fixture f;
    (void)state;
    setup(&f, "recurrent");
    walk(&f);
    teardown(&f);
}

/* Two timelines do not fit together, and each goes on all the same. */
static void test_plugin__full(void **state)
{
    fixture f;
    cf_error err;
    cf_session *other = NULL;
    (void)state;
    setup(&f, "full");
    T_OK(cf_session_new(&other, f.engine, NULL, &err), err);
    for (int i = 0; i < 3; i++) {
        sync_to(&f, f.s, LEN);
        sync_to(&f, other, LEN - 1);
        T_OK(cf_session_step(f.s, 5, NULL, &err), err);
        check_logits(&f, f.s);
    }
    cf_session *both[2] = {f.s, other};
    const cf_token next[2] = {7, 8};
    assert_int_equal(cf_session_step_many(both, next, 2, NULL, &err), CF_ELIMIT);
    sync_to(&f, f.s, LEN);
    cf_session_free(other);
    teardown(&f);
}

/* More sessions than the engine has sequences. */
static void test_plugin__many(void **state)
{
    fixture f;
    cf_error err;
    cf_session *s[MANY] = {NULL};
    (void)state;
    setup(&f, "");
    for (size_t i = 0; i < MANY; i++) {
        T_OK(cf_session_new(&s[i], f.engine, NULL, &err), err);
        sync_to(&f, s[i], i + 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        T_OK(cf_session_step(s[i], 3, NULL, &err), err);
        check_logits(&f, s[i]);
        cf_session_free(s[i]);
    }
    teardown(&f);
}

/* The helper ends in a pass: an error, nothing lost, and the next pass works. */
static void test_plugin__abort(void **state)
{
    fixture f;
    cf_error err;
    size_t n;
    (void)state;
    setup(&f, "abort");
    sync_to(&f, f.s, LEN);
    assert_int_equal(cf_session_step(f.s, 13, NULL, &err), CF_EBUSY);
    assert_non_null(strstr(err.text, "signal 6"));
    assert_non_null(strstr(err.text, "FAKE_ASSERT(token != 13) failed"));
    cf_session_tokens(f.s, &n);
    assert_int_equal(n, LEN);
    T_OK(cf_session_step(f.s, 14, NULL, &err), err);
    check_logits(&f, f.s);
    teardown(&f);
}

/* Killed while nobody computes. */
static void test_plugin__killed(void **state)
{
    fixture f;
    cf_error err;
    cf_buf pid = CF_BUF_INIT;
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/cf-test-plugin-%d", (int)getpid());
    setenv("FAKE_PID", path, 1);
    setup(&f, "");
    unsetenv("FAKE_PID");
    sync_to(&f, f.s, LEN);
    T_OK(cf_os_read_file(&pid, path, 16, &err), err);
    unlink(path);
    assert_int_equal(kill((pid_t)strtol(cf_buf_cstr(&pid), NULL, 10), SIGKILL), 0);
    cf_buf_deinit(&pid);
    assert_int_equal(cf_session_step(f.s, 5, NULL, &err), CF_EBUSY);
    assert_non_null(strstr(err.text, "signal 9"));
    T_OK(cf_session_step(f.s, 5, NULL, &err), err);
    check_logits(&f, f.s);
    teardown(&f);
}

/* What a session leaves serves another one: its tokens are given to it in full. */
static void test_plugin__left_over(void **state)
{
    fixture f;
    cf_error err;
    (void)state;
    for (int i = 0; i < 2; i++) {
        setup(&f, i == 0 ? "" : "recurrent");
        sync_to(&f, f.s, LEN);
        for (int k = 0; k < MANY; k++) {
            cf_session_free(f.s);
            T_OK(cf_session_new(&f.s, f.engine, NULL, &err), err);
            sync_to(&f, f.s, LEN - (size_t)k);
            T_OK(cf_session_step(f.s, 3, NULL, &err), err);
            check_logits(&f, f.s);
        }
        teardown(&f);
    }
}

static void on_layer(void *ud, uint32_t l, const float *logits)
{
    size_t n_vocab = *(const size_t *)ud;
    assert_true(logits[0] == (float)(l * n_vocab) && logits[1] == logits[0] + 1);
}

static void test_plugin__shows(void **state)
{
    fixture f;
    cf_error err;
    cf_arena arena;
    cf_inside_looks *looks = NULL;
    float x[8];
    cf_margin margin;
    (void)state;
    setup(&f, "");
    cf_arena_init(&arena, 0);
    sync_to(&f, f.s, LEN);
    cf_inside_ask ask = {.ids = f.ids, .n = LEN, .at = LEN - 1};
    T_OK(cf_inside_lens(f.s, &ask, on_layer, &f.n_vocab, &err), err);
    T_OK(cf_inside_after_layers(f.s, &ask, x, &err), err);
    assert_true(x[7] == 7);
    T_OK(cf_inside_attention(f.s, &ask, &looks, &arena, &err), err);
    assert_int_equal(looks[0].n_head, 1);
    assert_true(looks[0].w[0] == 1.0F / LEN && looks[0].w[LEN - 1] == 1.0F / LEN);
    assert_int_equal(looks[1].n_head, 0);
    T_OK(cf_session_step(f.s, 5, NULL, &err), err);
    check_logits(&f, f.s);
    assert_int_equal(cf_inside_margin(f.s, &ask, 1, 2, &margin, &arena, &err), CF_EINVAL);
    assert_non_null(strstr(err.text, "fake 1.0"));
    ask.at = LEN;
    assert_int_equal(cf_inside_lens(f.s, &ask, on_layer, &f.n_vocab, &err), CF_EINVAL);
    cf_arena_deinit(&arena);
    teardown(&f);
}

static void test_plugin__shows_nothing(void **state)
{
    fixture f;
    cf_error err;
    (void)state;
    setup(&f, "blind");
    const cf_inside_ask ask = {.ids = f.ids, .n = LEN, .at = 0};
    assert_int_equal(cf_inside_lens(f.s, &ask, on_layer, &f.n_vocab, &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "it shows nothing"));
    teardown(&f);
}

static void test_plugin__stop(void **state)
{
    fixture f;
    cf_error err;
    cf_cancel cancel;
    size_t n;
    (void)state;
    setup(&f, "slow");
    sync_to(&f, f.s, LEN);
    atomic_init(&cancel, true);
    const cf_run run = {.cancel = &cancel};
    assert_int_equal(cf_session_step(f.s, 13, &run, &err), CF_ECANCELLED);
    cf_session_tokens(f.s, &n);
    assert_int_equal(n, LEN);
    T_OK(cf_session_step(f.s, 14, NULL, &err), err);
    check_logits(&f, f.s);
    teardown(&f);
}

static void test_plugin__refusals(void **state)
{
    fixture f;
    cf_error err;
    cf_steering *steering = NULL;
    cf_buf name = CF_BUF_INIT;
    (void)state;
    setup(&f, "");
    assert_int_equal(cf_steering_new(&steering, f.engine, &err), CF_EINVAL);
    teardown(&f);
    assert_int_equal(open_fake(&f, "broken", 0, &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "no model for"));
    T_OK(cf_engine_plugin_name(&name, CF_FAKE_HELPER, &err), err);
    assert_string_equal(cf_buf_cstr(&name), "fake 1.0");
    assert_int_equal(cf_engine_plugin_name(&name, "/bin/false", &err), CF_EBUSY);
    assert_int_equal(cf_engine_plugin_name(&name, "/no/such/file", &err), CF_ENOTFOUND);
    assert_int_equal(cf_engine_plugin_name(&name, "/bin/cat", &err), CF_EBUSY);
    assert_non_null(strstr(err.text, "make engine-llama"));
    assert_int_equal(open_fake(&f, "wrong", 0, &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "built for fake 1.0, and the library is fake 2.0"));
    cf_buf_deinit(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin__timelines),     cmocka_unit_test(test_plugin__refused_cuts),
        cmocka_unit_test(test_plugin__full),          cmocka_unit_test(test_plugin__many),
        cmocka_unit_test(test_plugin__abort),         cmocka_unit_test(test_plugin__stop),
        cmocka_unit_test(test_plugin__refusals),      cmocka_unit_test(test_plugin__killed),
        cmocka_unit_test(test_plugin__left_over),     cmocka_unit_test(test_plugin__shows),
        cmocka_unit_test(test_plugin__shows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
