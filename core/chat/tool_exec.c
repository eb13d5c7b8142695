/*
 * tool_exec.c - gets a tool's result from an external command.
 *
 * The command runs in a session of its own: its children end with it when time
 * or output run over, and it has no terminal to read keys from or to write on.
 * It reads the call on standard input; standard error is kept for the error's
 * text.  Nothing of ours stays open in it.
 */
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/os.h"
#include "core/base/process.h"
#include "core/chat/conversation_impl.h"
#include "core/json/json_writer.h"

enum { POLL_MS = 50, STDERR_KEPT = 4096 };

typedef struct child {
    cf_process process;
    cf_buf input, output, error;
    size_t n_written;
} child;

static cf_status start(child *c, const char *command, cf_error *err)
{
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    const cf_process_spec spec = {.argv = argv};
    return cf_process_start(&c->process, &spec, err);
}

static void write_some(child *c)
{
    c->n_written +=
        cf_process_write(&c->process, c->input.p + c->n_written, c->input.n - c->n_written);
    if (c->n_written == c->input.n) {
        cf_process_close_fd(&c->process.in);
    }
}

static void read_some(int *fd, cf_buf *to, size_t max)
{
    char block[4096];
    size_t n = cf_process_read(fd, block, sizeof block);
    size_t room = to->n < max ? max - to->n : 0;
    cf_buf_add(to, block, n < room ? n : room);
}

static void serve(child *c, size_t max_output)
{
    cf_process *p = &c->process;
    struct pollfd fds[3] = {{p->in, POLLOUT, 0}, {p->out, POLLIN, 0}, {p->err, POLLIN, 0}};
    if (poll(fds, 3, POLL_MS) <= 0) {
        return;
    }
    if (p->in >= 0 && fds[0].revents != 0) {
        write_some(c);
    }
    if (p->out >= 0 && fds[1].revents != 0) {
        read_some(&p->out, &c->output, max_output + 1);
    }
    if (p->err >= 0 && fds[2].revents != 0) {
        read_some(&p->err, &c->error, STDERR_KEPT);
    }
}

static cf_status talk(child *c, const cf_tool_exec *exec, cf_error *err)
{
    size_t max = exec->max_output != 0 ? exec->max_output : 1 << 20;
    uint64_t limit_ms = exec->timeout_ms != 0 ? exec->timeout_ms : 30000;
    uint64_t started = cf_os_monotonic_us();
    while (!cf_process_has_ended(&c->process) || c->process.out >= 0) {
        serve(c, max);
        if (c->output.n > max) {
            return cf_fail(err, CF_ELIMIT, "the command wrote more than %zu bytes", max);
        }
        if (exec->cancel != NULL && atomic_load_explicit(exec->cancel, memory_order_relaxed)) {
            return cf_fail(err, CF_ECANCELLED, "cancelled");
        }
        if (cf_os_monotonic_us() - started > limit_ms * 1000) {
            return cf_fail(err, CF_ELIMIT, "the command took longer than %llu ms",
                           (unsigned long long)limit_ms);
        }
    }
    read_some(&c->process.err, &c->error, STDERR_KEPT);
    return c->output.failed || c->error.failed ? cf_oom_for(err, "the result") : CF_OK;
}

static cf_str last_line(const cf_buf *b)
{
    size_t end = b->n;
    while (end > 0 && (b->p[end - 1] == '\n' || b->p[end - 1] == '\r')) {
        end--;
    }
    size_t at = end;
    while (at > 0 && b->p[at - 1] != '\n') {
        at--;
    }
    return cf_str_make(b->p + at, end - at);
}

static cf_status read_result(const child *c, json_t **result, cf_error *err)
{
    int status = c->process.status;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        cf_buf how = CF_BUF_INIT;
        cf_str line = c->error.n > 0 ? last_line(&c->error) : cf_str_make("", 0);
        cf_process_how(&c->process, &how);
        cf_status st = cf_fail(err, CF_EIO, "the command ended with %s%s%.*s", cf_buf_cstr(&how),
                               line.n > 0 ? ": " : "", (int)(line.n < 140 ? line.n : 140), line.p);
        cf_buf_deinit(&how);
        return st;
    }
    cf_str output = cf_buf_str(&c->output);
    cf_error why;
    cf_status st = cf_json_read(result, output.p, output.n, &why);
    if (st != CF_OK) {
        *result = st != CF_ENOMEM ? cf_json_str(output) : NULL;
    }
    return *result != NULL ? CF_OK : cf_oom_for(err, "the result");
}

cf_status cf_tool_exec_run(const cf_tool_exec *exec, const cf_pending_call *call, json_t **result,
                           cf_error *err)
{
    child c = {.process = CF_PROCESS_INIT};
    cf_jw w;
    cf_jw_init(&w, &c.input);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "name", call->name);
    cf_jw_json(&w, "arguments", call->arguments);
    if (call->id.n > 0) {
        cf_jw_str(&w, "id", call->id);
    }
    cf_jw_end(&w);
    cf_buf_addc(&c.input, '\n');
    cf_status st = cf_jw_finish(&w, err);
    CF_THEN(st, start(&c, exec->command, err));
    if (st == CF_OK) {
        st = talk(&c, exec, err);
        cf_process_end(&c.process, 0);
        if (WIFEXITED(c.process.status) && exec->exit_code != NULL) {
            *exec->exit_code = WEXITSTATUS(c.process.status);
        }
    }
    CF_THEN(st, read_result(&c, result, err));
    cf_buf_deinit(&c.input);
    cf_buf_deinit(&c.output);
    cf_buf_deinit(&c.error);
    return st;
}
