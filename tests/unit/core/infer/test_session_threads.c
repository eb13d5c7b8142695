/*
 * test_session_threads.c - sessions and forks of one engine on several
 * threads, and a cancel from outside.  Most telling under TSan.
 */
#include <pthread.h>

#include "core/api/session.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_VOCAB = 320, N_THREADS = 3, N_TOKENS = 50 };

static void *bytes;
static cf_engine *engine;
static cf_token ids[N_TOKENS];
static float want[N_VOCAB]; /* logits after all of ids */

static cf_session *new_session(void)
{
    cf_session *s = NULL;
    cf_session_options o = {.n_ctx = 64, .n_batch = 7};
    return cf_session_new(&s, engine, &o, NULL) == CF_OK ? s : NULL;
}

static int open_engine(void **state)
{
    (void)state;
    size_t n = 0;
    cf_engine_options o = {.n_threads = 2};
    for (size_t i = 0; i < N_TOKENS; i++) {
        ids[i] = (cf_token)(i * 7 % N_VOCAB);
    }
    bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = "qwen3"}, &n);
    if (cf_engine_open_memory(&engine, bytes, n, &o, NULL) != CF_OK) {
        return -1;
    }
    cf_session *s = new_session();
    if (s == NULL || cf_session_sync(s, ids, N_TOKENS, NULL, NULL, NULL) != CF_OK) {
        return -1;
    }
    memcpy(want, cf_session_logits(s), sizeof want);
    cf_session_free(s);
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    cf_engine_close(engine);
    cf_tiny_free(bytes);
    return 0;
}

/* Finishes the text on a session given to it; NULL when all was right. */
static void *finish(void *ud)
{
    cf_session *s = ud;
    const char *why = NULL;
    if (cf_session_sync(s, ids, N_TOKENS - 5, NULL, NULL, NULL) != CF_OK) {
        why = "sync";
    }
    for (size_t i = N_TOKENS - 5; i < N_TOKENS && why == NULL; i++) {
        if (cf_session_step(s, ids[i], NULL, NULL) != CF_OK) {
            why = "step";
        }
    }
    if (why == NULL && memcmp(cf_session_logits(s), want, sizeof want) != 0) {
        why = "other bits";
    }
    cf_session_free(s);
    union {
        const char *in;
        void *out;
    } result = {why};
    return result.out;
}

static void finish_together(cf_session *s[N_THREADS])
{
    pthread_t thread[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_non_null(s[i]);
        assert_int_equal(pthread_create(&thread[i], NULL, finish, s[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        void *why = NULL;
        pthread_join(thread[i], &why);
        if (why != NULL) {
            fail_msg("thread %zu: %s", i, (const char *)why);
        }
    }
}

static void test_threads__sessions(void **state)
{
    cf_session *s[N_THREADS];
    (void)state;
    for (size_t i = 0; i < N_THREADS; i++) {
        s[i] = new_session();
    }
    finish_together(s);
}

/* Forks share pages and write to them at the same time. */
static void test_threads__forks(void **state)
{
    cf_session *s[N_THREADS];
    cf_error err;
    (void)state;
    s[0] = new_session();
    T_OK(cf_session_sync(s[0], ids, 20, NULL, NULL, &err), err);
    for (size_t i = 1; i < N_THREADS; i++) {
        T_OK(cf_session_fork(&s[i], s[0], &err), err);
    }
    finish_together(s);
}

static void *set_cancel(void *ud)
{
    atomic_store((cf_cancel *)ud, true);
    return NULL;
}

/* Whenever the flag is seen, the timeline is valid and goes on. */
static void test_threads__cancel(void **state)
{
    (void)state;
    for (size_t round = 0; round < 10; round++) {
        cf_session *s = new_session();
        cf_cancel cancel = false;
        cf_run run = {.cancel = &cancel};
        pthread_t thread;
        size_t n = 0;
        cf_error err;
        assert_non_null(s);
        pthread_create(&thread, NULL, set_cancel, &cancel);
        cf_status st = cf_session_sync(s, ids, N_TOKENS, &run, NULL, &err);
        pthread_join(thread, NULL);
        assert_true(st == CF_OK || st == CF_ECANCELLED);
        const cf_token *have = cf_session_tokens(s, &n);
        assert_true(st == CF_OK ? n == N_TOKENS : n % 7 == 0);
        assert_memory_equal(have, ids, n * sizeof *ids);
        T_OK(cf_session_sync(s, ids, N_TOKENS, NULL, NULL, &err), err);
        assert_memory_equal(cf_session_logits(s), want, sizeof want);
        cf_session_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads__sessions),
        cmocka_unit_test(test_threads__forks),
        cmocka_unit_test(test_threads__cancel),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
