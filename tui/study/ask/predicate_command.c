/*
 * predicate_command.c - feeds a child process, drains its output, and waits.
 */
#include "tui/study/ask/predicate_command.h"

#include <poll.h>

#include "core/base/os.h"
#include "core/base/process.h"

enum { POLL_MS = 20, TAIL = 400 };

typedef struct feed {
    cf_process process;
    cf_str input;
    size_t n_written;
    cf_buf tail; /* the end of what it wrote */
} feed;

static void keep_tail(cf_buf *tail, const char *p, size_t n)
{
    if (n >= TAIL) {
        cf_buf_reset(tail);
        cf_buf_add(tail, p + n - TAIL, TAIL);
        return;
    }
    if (tail->n + n > TAIL) {
        size_t drop = tail->n + n - TAIL;
        memmove(tail->p, tail->p + drop, tail->n - drop);
        tail->n -= drop;
    }
    cf_buf_add(tail, p, n);
}

static void drain(int *fd, cf_buf *tail)
{
    char block[4096];
    size_t n;
    while (*fd >= 0 && (n = cf_process_read(fd, block, sizeof block)) > 0) {
        keep_tail(tail, block, n);
    }
}

static void serve(feed *f)
{
    cf_process *p = &f->process;
    struct pollfd fds[3] = {{p->in, POLLOUT, 0}, {p->out, POLLIN, 0}, {p->err, POLLIN, 0}};
    if (poll(fds, 3, POLL_MS) <= 0) {
        return;
    }
    if (p->in >= 0 && fds[0].revents != 0) {
        f->n_written += cf_process_write(p, f->input.p + f->n_written, f->input.n - f->n_written);
        if (f->n_written == f->input.n) {
            cf_process_close_fd(&p->in);
        }
    }
    drain(&p->out, &f->tail);
    drain(&p->err, &f->tail);
}

static cf_status wait_for(feed *f, uint32_t ms, cf_cancel *cancel, cf_error *err)
{
    uint64_t end = cf_os_monotonic_us() + (uint64_t)ms * 1000;
    if (f->input.n == 0) {
        cf_process_close_fd(&f->process.in);
    }
    while (!cf_process_has_ended(&f->process)) {
        serve(f);
        if (cancel != NULL && atomic_load(cancel)) {
            return cf_fail(err, CF_ECANCELLED, "stopped");
        }
        if (cf_os_monotonic_us() > end) {
            return cf_fail(err, CF_ELIMIT, "the command took longer than %u ms", (unsigned)ms);
        }
    }
    drain(&f->process.out, &f->tail);
    drain(&f->process.err, &f->tail);
    return CF_OK;
}

static void last_line(const cf_buf *tail, cf_buf *out)
{
    size_t end = tail->n;
    while (end > 0 && (tail->p[end - 1] == '\n' || tail->p[end - 1] == '\r')) {
        end--;
    }
    size_t at = end;
    while (at > 0 && tail->p[at - 1] != '\n') {
        at--;
    }
    cf_buf_add(out, cf_buf_cstr(tail) + at, end - at);
}

cf_status cf_study_command(const char *command, cf_str input, uint32_t ms, cf_cancel *cancel,
                           int *status, cf_buf *last, cf_error *err)
{
    feed f = {.process = CF_PROCESS_INIT, .input = input};
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    const cf_process_spec spec = {.argv = argv};
    CF_TRY(cf_process_start(&f.process, &spec, err));
    cf_status st = wait_for(&f, ms, cancel, err);
    cf_process_end(&f.process, 0);
    *status = f.process.status;
    if (st == CF_OK && last != NULL) {
        last_line(&f.tail, last);
    }
    CF_THEN(st, cf_buf_check(&f.tail, err));
    cf_buf_deinit(&f.tail);
    return st;
}
