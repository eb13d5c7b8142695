/*
 * test_joint.c - a long prompt beside a running reply: the reply goes on, and
 * both are what they are alone.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

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

/* A prompt that is read beside a reply. */
typedef struct reading {
    const reply *beside;
    size_t n_told, first, last; /* the reply's tokens at the first and last call */
    bool cancels;
    cf_cancel cancel;
} reading;

static void on_progress(void *ud, size_t n_done, size_t n_all)
{
    reading *p = ud;
    assert_int_equal(n_all, N_LONG);
    assert_in_range(n_done, 1, N_LONG);
    p->last = atomic_load(&p->beside->n_done);
    p->first = p->n_told++ == 0 ? p->last : p->first;
    atomic_store(&p->cancel, p->cancels);
}

static void start(reply *r, pthread_t *thread)
{
    cf_error err;
    cf_sync_result out;
    *r = (reply){.session = new_session()};
    T_OK(cf_joint_new(&r->joint, &err), err);
    cf_joint_enter(r->joint);
    T_OK(cf_joint_sync(r->joint, r->session, ids, 1, NULL, &out, &err), err);
    assert_int_equal(pthread_create(thread, NULL, go_on, r), 0);
    while (atomic_load(&r->n_done) < AT_LEAST) {
        sched_yield();
    }
    cf_joint_enter(r->joint);
}

static void stop(reply *r, pthread_t thread)
{
    cf_joint_leave(r->joint);
    atomic_store(&r->ends, true);
    pthread_join(thread, NULL);
    assert_int_equal(r->st, CF_OK);
    cf_session_free(r->session);
    cf_joint_free(r->joint);
}

/* A reply that began while a prompt waited has a token in each of its passes, of
 * which there are as few as its rows allow. */
static void test_joint__prompts_of_a_group_are_read_before_replies_go_on(void **state)
{
    (void)state;
    cf_error err;
    cf_sync_result out;
    pthread_t thread;
    reply r;
    cf_session *prompt = new_session(), *alone = new_session();
    start(&r, &thread);
    reading p = {.beside = &r};
    const cf_run run = {.progress = on_progress, .ud = &p};
    cf_joint_asked(prompt, 1);
    T_OK(cf_joint_sync(r.joint, prompt, ids, N_LONG, &run, &out, &err), err);
    stop(&r, thread);
    assert_in_range(p.n_told, 2, 8);
    assert_true(p.last - p.first <= 8);
    T_OK(cf_session_sync(alone, ids, N_LONG, NULL, NULL, &err), err);
    assert_memory_equal(cf_session_logits(prompt), cf_session_logits(alone),
                        N_VOCAB * sizeof(float));
    cf_session_free(prompt);
    cf_session_free(alone);
}

/* In the middle: the reply goes on, and the prompt can be read again. */
static void test_joint__a_reading_that_is_cancelled_leaves_the_rest_as_it_was(void **state)
{
    (void)state;
    for (uint64_t is_group = 0; is_group < 2; is_group++) {
        cf_error err;
        cf_sync_result out;
        pthread_t thread;
        reply r;
        cf_session *prompt = new_session(), *alone = new_session();
        start(&r, &thread);
        reading p = {.beside = &r, .cancels = true};
        cf_run run = {.progress = on_progress, .ud = &p, .cancel = &p.cancel};
        cf_joint_asked(prompt, is_group);
        cf_status st = cf_joint_sync(r.joint, prompt, ids, N_LONG, &run, &out, &err);
        assert_int_equal(st, CF_ECANCELLED);
        const size_t then = atomic_load(&r.n_done);
        while (atomic_load(&r.n_done) < then + AT_LEAST && r.n_done < N_LONG) {
            sched_yield();
        }
        run.progress = NULL;
        atomic_store(&p.cancel, false);
        T_OK(cf_joint_sync(r.joint, prompt, ids, N_LONG, &run, &out, &err), err);
        assert_in_range(out.n_kept, 1, N_LONG - 1);
        stop(&r, thread);
        T_OK(cf_session_sync(alone, ids, N_LONG, NULL, NULL, &err), err);
        assert_memory_equal(cf_session_logits(prompt), cf_session_logits(alone),
                            N_VOCAB * sizeof(float));
        cf_session_free(prompt);
        cf_session_free(alone);
    }
}

static cf_session *sync_alone(size_t n)
{
    cf_error err;
    cf_session *s = new_session();
    T_OK(cf_session_sync(s, ids, n, NULL, NULL, &err), err);
    return s;
}

static void assert_same(cf_session *s, size_t n)
{
    cf_session *alone = sync_alone(n);
    assert_memory_equal(cf_session_logits(s), cf_session_logits(alone), N_VOCAB * sizeof(float));
    cf_session_free(alone);
}

/* Beside a reply that is between two tokens.  Alone, its first pass would have as
 * many rows as a pass may have. */
static void test_joint__scores_of_a_long_text_leave_replies_their_turn(void **state)
{
    (void)state;
    cf_error err;
    cf_joint *joint = NULL;
    cf_session *text = new_session(), *other = new_session();
    T_OK(cf_joint_new(&joint, &err), err);
    cf_joint_enter(joint);
    cf_joint_enter(joint);
    cf_advance one = {.session = other, .ids = ids, .n = 1};
    T_OK(cf_joint_pass(joint, &one, NULL, &err), err);
    cf_advance part = {.session = text, .ids = ids, .n = N_LONG};
    T_OK(cf_joint_pass(joint, &part, NULL, &err), err);
    assert_in_range(part.n_done, 1, 64);
    assert_same(text, part.n_done);
    cf_session_free(other);
    cf_session_free(text);
    cf_joint_free(joint);
}

typedef struct asking {
    cf_joint *joint;
    cf_session *session;
    cf_token ids[N_LONG];
    cf_sync_result out;
    cf_status st;
} asking;

static void *ask(void *ud)
{
    asking *a = ud;
    a->st = cf_joint_sync(a->joint, a->session, a->ids, N_LONG, NULL, &a->out, NULL);
    cf_joint_leave(a->joint);
    return NULL;
}

/* Two prompts that differ near their end, asked for at the same time.  Returns how
 * many tokens were taken over. */
static size_t ask_twice(void)
{
    cf_error err;
    pthread_t threads[2];
    static asking v[2];
    cf_joint *joint = NULL;
    size_t n_kept = 0;
    T_OK(cf_joint_new(&joint, &err), err);
    for (int i = 0; i < 2; i++) {
        v[i] = (asking){.joint = joint, .session = new_session()};
        memcpy(v[i].ids, ids, sizeof ids);
        v[i].ids[N_LONG - 100] = (cf_token)(300 + i);
        cf_joint_enter(joint);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &v[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(v[i].st, CF_OK);
        n_kept += v[i].out.n_kept;
    }
    for (int i = 0; i < 2; i++) {
        cf_session *alone = new_session();
        T_OK(cf_session_sync(alone, v[i].ids, N_LONG, NULL, NULL, &err), err);
        assert_memory_equal(cf_session_logits(v[i].session), cf_session_logits(alone),
                            N_VOCAB * sizeof(float));
        cf_session_free(alone);
        cf_session_free(v[i].session);
    }
    cf_joint_free(joint);
    return n_kept;
}

/* Whichever comes first computes what both begin with.  A thread that comes when
 * the other one is done computes all of it. */
static void test_joint__prompts_that_begin_alike_are_computed_once(void **state)
{
    (void)state;
    size_t n_kept = 0;
    for (int i = 0; n_kept == 0 && i < 20; i++) {
        n_kept = ask_twice();
    }
    assert_int_equal(n_kept, N_LONG - 100);
}

typedef struct company {
    cf_session *session, *of, *fork;
    size_t n_steps;
} company;

/* A step of another session, and once a fork of the one that pauses. */
static void meanwhile(void *ud)
{
    company *c = ud;
    cf_error err;
    T_OK(cf_session_step(c->session, ids[c->n_steps++], NULL, &err), err);
    if (c->fork == NULL) {
        T_OK(cf_session_fork(&c->fork, c->of, &err), err);
    }
}

static void test_joint__passes_run_between_the_layers_of_another(void **state)
{
    (void)state;
    cf_error err;
    cf_session *s = sync_alone(20);
    company c = {.session = new_session(), .of = s};
    const cf_pause pause = {meanwhile, &c};
    cf_advance part = {.session = s, .ids = ids + 20, .n = 44};
    T_OK(cf_batch_pass_between(&part, 1, &pause, NULL, &err), err);
    assert_int_equal(c.n_steps, 4); /* one for each half of a layer */
    assert_int_equal(part.n_done, 44);
    assert_same(s, 64);
    assert_same(c.fork, 20);
    T_OK(cf_session_sync(c.fork, ids, 40, NULL, NULL, &err), err);
    assert_same(c.fork, 40);
    assert_same(s, 64);
    assert_same(c.session, c.n_steps);
    cf_session_free(c.session);
    cf_session_free(c.fork);
    cf_session_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint__a_reply_goes_on_beside_a_long_prompt),
        cmocka_unit_test(test_joint__prompts_of_a_group_are_read_before_replies_go_on),
        cmocka_unit_test(test_joint__a_reading_that_is_cancelled_leaves_the_rest_as_it_was),
        cmocka_unit_test(test_joint__scores_of_a_long_text_leave_replies_their_turn),
        cmocka_unit_test(test_joint__prompts_that_begin_alike_are_computed_once),
        cmocka_unit_test(test_joint__passes_run_between_the_layers_of_another),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
