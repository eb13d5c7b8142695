/*
 * test_joint.c - a long prompt beside a running reply: the reply goes on, and
 * both are what they are alone.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core/api/joint.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N_VOCAB = 320, N_LONG = 1500, N_CTX = 2048, AT_LEAST = 6 };

static cf_engine *engine;
static void *bytes;
static cf_token ids[N_LONG];

static int open_engine(void **state)
{
    (void)state;
    size_t n = 0;
    cf_engine_options o = {.n_threads = 1};
    for (size_t i = 0; i < N_LONG; i++) {
        ids[i] = (cf_token)(i * 7 % N_VOCAB);
    }
    bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = "qwen3", .n_ctx = N_CTX}, &n);
    return cf_engine_open_memory(&engine, bytes, n, &o, NULL) == CF_OK ? 0 : -1;
}

static int close_engine(void **state)
{
    (void)state;
    cf_engine_close(engine);
    cf_tiny_free(bytes);
    return 0;
}

static cf_session *new_session(void)
{
    cf_session *s = NULL;
    cf_error err;
    const cf_session_options o = {.n_ctx = N_CTX};
    T_OK(cf_session_new(&s, engine, &o, &err), err);
    return s;
}

typedef struct reply {
    cf_joint *joint;
    cf_session *session;
    atomic_size_t n_done;
    atomic_bool ends;
    cf_status st;
} reply;

/* A token after the other, until the prompt is read. */
static void *go_on(void *ud)
{
    reply *r = ud;
    while (!atomic_load(&r->ends) && r->st == CF_OK && r->n_done < N_LONG) {
        cf_advance part = {.session = r->session, .ids = &ids[r->n_done], .n = 1};
        r->st = cf_joint_pass(r->joint, &part, NULL, NULL);
        atomic_fetch_add(&r->n_done, 1);
    }
    cf_joint_leave(r->joint);
    return NULL;
}

static void test_joint__a_reply_goes_on_beside_a_long_prompt(void **state)
{
    (void)state;
    cf_error err;
    cf_sync_result out;
    pthread_t thread;
    reply r = {.session = new_session()};
    cf_session *prompt = new_session(), *alone = new_session();
    T_OK(cf_joint_new(&r.joint, &err), err);
    cf_joint_enter(r.joint);
    assert_int_equal(pthread_create(&thread, NULL, go_on, &r), 0);
    while (atomic_load(&r.n_done) < AT_LEAST) {
        sched_yield();
    }
    const size_t before = atomic_load(&r.n_done);
    cf_joint_enter(r.joint);
    T_OK(cf_joint_sync(r.joint, prompt, ids, N_LONG, NULL, &out, &err), err);
    const size_t during = atomic_load(&r.n_done) - before;
    cf_joint_leave(r.joint);
    atomic_store(&r.ends, true);
    pthread_join(thread, NULL);
    assert_int_equal(r.st, CF_OK);
    assert_true(during >= AT_LEAST); /* a whole prompt would be one pass, or three */
    T_OK(cf_session_sync(alone, ids, N_LONG, NULL, NULL, &err), err);
    assert_memory_equal(cf_session_logits(prompt), cf_session_logits(alone),
                        N_VOCAB * sizeof(float));
    cf_session_free(r.session);
    cf_session_free(prompt);
    cf_session_free(alone);
    cf_joint_free(r.joint);
}

/* Beside a reply that is between two tokens.  Alone, its first pass would have as
 * many rows as a pass may have. */
static void test_joint__scores_of_a_long_text_leave_replies_their_turn(void **state)
{
    (void)state;
    cf_error err;
    cf_joint *joint = NULL;
    cf_session *text = new_session(), *alone = new_session();
    T_OK(cf_joint_new(&joint, &err), err);
    cf_joint_enter(joint);
    cf_joint_enter(joint);
    cf_advance part = {.session = text, .ids = ids, .n = N_LONG};
    T_OK(cf_joint_pass(joint, &part, NULL, &err), err);
    assert_in_range(part.n_done, 1, 64);
    T_OK(cf_session_sync(alone, ids, part.n_done, NULL, NULL, &err), err);
    assert_memory_equal(cf_session_logits(text), cf_session_logits(alone), N_VOCAB * sizeof(float));
    cf_session_free(text);
    cf_session_free(alone);
    cf_joint_free(joint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint__a_reply_goes_on_beside_a_long_prompt),
        cmocka_unit_test(test_joint__scores_of_a_long_text_leave_replies_their_turn),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
