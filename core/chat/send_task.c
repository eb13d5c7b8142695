/*
 * send_task.c - a send on a thread of its own.
 *
 * Always true:
 *   1. From cf_send_start() to cf_send_finish() the thread owns conversation,
 *      backend and `sent`; the caller only waits.
 *   2. is_done is set once, under the lock, after the thread's last use of
 *      all of them.
 */
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/chat/conversation_impl.h"

struct cf_send_task {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    cf_conversation *conv;
    cf_backend *backend;
    cf_send send;
    json_t *message; /* held until the end */
    cf_turn_options options;
    cf_sent sent;
    cf_status st;
    cf_error err;
};

static void *run(void *ud)
{
    cf_send_task *t = ud;
    cf_error err = {0};
    cf_status st = cf_conversation_send(t->conv, t->backend, &t->send, &t->sent, &err);
    pthread_mutex_lock(&t->lock);
    t->st = st;
    t->err = err;
    t->is_done = true;
    pthread_cond_broadcast(&t->done);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void free_task(cf_send_task *t)
{
    json_decref(t->message);
    cf_sent_deinit(&t->sent);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    cf_free(t);
}

cf_status cf_send_start(cf_send_task **out, cf_conversation *conv, cf_backend *backend,
                        const cf_send *send, cf_error *err)
{
    cf_send_task *t = cf_calloc(1, sizeof *t);
    pthread_condattr_t attr;
    if (t == NULL) {
        return cf_oom_for(err, "the send");
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->done, &attr);
    pthread_condattr_destroy(&attr);
    t->conv = conv;
    t->backend = backend;
    t->send = *send;
    t->message = json_incref(cf_json_ref(send->message));
    if (send->options != NULL) { /* the caller's may be gone by then */
        t->options = *send->options;
        t->send.options = &t->options;
    }
    cf_sent_init(&t->sent);
    cf_status st = cf_os_thread(&t->thread, run, t, err);
    if (st != CF_OK) {
        free_task(t);
        return st;
    }
    *out = t;
    return CF_OK;
}

bool cf_send_wait(cf_send_task *t, uint32_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)timeout_ms * 1000000;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    int late = 0;
    pthread_mutex_lock(&t->lock);
    while (!t->is_done && late == 0) {
        late = timeout_ms == UINT32_MAX ? pthread_cond_wait(&t->done, &t->lock)
                                        : pthread_cond_timedwait(&t->done, &t->lock, &until);
    }
    bool is_done = t->is_done;
    pthread_mutex_unlock(&t->lock);
    return is_done;
}

cf_status cf_send_finish(cf_send_task *t, cf_sent *out, cf_error *err)
{
    pthread_join(t->thread, NULL);
    cf_status st = t->st;
    if (st != CF_OK && err != NULL) {
        *err = t->err;
    }
    if (out != NULL) {
        cf_sent_deinit(out);
        *out = t->sent;
        cf_sent_init(&t->sent);
    }
    free_task(t);
    return st;
}
