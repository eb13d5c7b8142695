/*
 * send_task.c - a send on a worker of its own.
 *
 * Always true:
 *   1. From cf_send_start() to cf_send_finish() the worker owns conversation,
 *      backend and the fields of the task; the caller only waits.
 */
#include "core/base/alloc.h"
#include "core/base/worker.h"
#include "core/chat/conversation_impl.h"

struct cf_send_task {
    cf_worker *worker;
    cf_conversation *conv;
    cf_backend *backend;
    cf_send send;
    json_t *message; /* held until the end */
    cf_turn_options options;
    cf_sent sent;
    cf_status st;
    cf_error err;
};

static void run(cf_worker *worker, void *ud)
{
    cf_send_task *t = ud;
    (void)worker; /* the send has a cancel flag of its own */
    t->st = cf_conversation_send(t->conv, t->backend, &t->send, &t->sent, &t->err);
}

static void free_task(cf_send_task *t)
{
    cf_worker_free(t->worker, NULL);
    json_decref(t->message);
    cf_sent_deinit(&t->sent);
    cf_free(t);
}

cf_status cf_send_start(cf_send_task **out, cf_conversation *conv, cf_backend *backend,
                        const cf_send *send, cf_error *err)
{
    cf_send_task *t = cf_calloc(1, sizeof *t);
    if (t == NULL) {
        return cf_oom_for(err, "the send");
    }
    t->conv = conv;
    t->backend = backend;
    t->send = *send;
    t->message = json_incref(cf_json_ref(send->message));
    if (send->options != NULL) { /* the caller's may be gone by then */
        t->options = *send->options;
        t->send.options = &t->options;
    }
    cf_sent_init(&t->sent);
    cf_status st = cf_worker_new(&t->worker, err);
    CF_THEN(st, cf_worker_start(t->worker, run, t, err));
    if (st != CF_OK) {
        free_task(t);
        return st;
    }
    *out = t;
    return CF_OK;
}

bool cf_send_wait(cf_send_task *t, uint32_t timeout_ms)
{
    return cf_worker_wait_for(t->worker, timeout_ms);
}

cf_status cf_send_finish(cf_send_task *t, cf_sent *out, cf_error *err)
{
    cf_worker_wait(t->worker);
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
