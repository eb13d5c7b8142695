/*
 * tool_exec.c - gets a tool's result from an external command.
 *
 * The command runs in a session of its own: its children end with it when time
 * or output run over, and it has no terminal to read keys from or to write on.
 * It reads the call on standard input; standard error is kept for the error's
 * text.  Nothing of ours stays open in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/chat/conversation_impl.h"

enum { POLL_MS = 50, STDERR_KEPT = 4096, FIRST_OTHER_FD = 3 };

typedef struct child {
    pid_t pid;
    int in, out, err; /* our ends; -1 when closed */
    int status;
    bool is_done;
    cf_buf input, output, error;
    size_t n_written;
} child;

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* Between fork and exec: async-signal-safe calls only. */
static void become(const char *command, int in, int out, int err)
{
    static char shell[] = "/bin/sh", sh[] = "sh", flag[] = "-c";
    char *argv[4] = {sh, flag, NULL, NULL};
    memcpy(&argv[2], &command, sizeof argv[2]);
    setsid();
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) {
        _exit(126);
    }
    for (int fd = FIRST_OTHER_FD; fd < 256; fd++) {
        close(fd);
    }
    execv(shell, argv);
    _exit(127);
}

static bool make_pipe(int fds[2])
{
    fds[0] = fds[1] = -1;
    if (pipe(fds) != 0) {
        return false;
    }
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static cf_status start(child *c, const char *command, cf_error *err)
{
    int in[2], out[2], er[2] = {-1, -1};
    bool ok = make_pipe(in);
    ok = make_pipe(out) && ok;
    ok = make_pipe(er) && ok;
    if (ok) {
        c->pid = fork();
        ok = c->pid >= 0;
    }
    if (ok && c->pid == 0) {
        become(command, in[0], out[1], er[1]);
    }
    close_fd(&in[0]);
    close_fd(&out[1]);
    close_fd(&er[1]);
    c->in = in[1];
    c->out = out[0];
    c->err = er[0];
    if (!ok) {
        char why[CF_OS_WHY];
        return cf_fail(err, CF_EIO, "the command cannot be started: %s",
                       cf_os_why(why, errno));
    }
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    fcntl(c->out, F_SETFL, O_NONBLOCK);
    fcntl(c->err, F_SETFL, O_NONBLOCK);
    return CF_OK;
}

/* A write to a command that does not read must not end the program: SIGPIPE
 * is held back for this thread meanwhile. */
static void write_some(child *c)
{
    sigset_t pipe_set, old, pending;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    ssize_t n =
        write(c->in, c->input.p + c->n_written, c->input.n - c->n_written);
    int why = errno;
    sigpending(&pending);
    if (n < 0 && why == EPIPE && sigismember(&pending, SIGPIPE) == 1 &&
        sigismember(&old, SIGPIPE) == 0) {
        int number;
        sigwait(&pipe_set, &number);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (n > 0) {
        c->n_written += (size_t)n;
    }
    if ((n < 0 && why != EAGAIN && why != EINTR) ||
        c->n_written == c->input.n) {
        close_fd(&c->in);
    }
}

/* Reads what is available; closes the descriptor at EOF. */
static void read_some(int *fd, cf_buf *to, size_t max)
{
    char block[4096];
    ssize_t n = read(*fd, block, sizeof block);
    if (n > 0) {
        size_t room = to->n < max ? max - to->n : 0;
        cf_buf_add(to, block, (size_t)n < room ? (size_t)n : room);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_fd(fd);
    }
}

static void serve(child *c, size_t max_output)
{
    struct pollfd fds[3] = {
        {c->in, POLLOUT, 0}, {c->out, POLLIN, 0}, {c->err, POLLIN, 0}};
    if (poll(fds, 3, POLL_MS) <= 0) {
        return;
    }
    if (c->in >= 0 && fds[0].revents != 0) {
        write_some(c);
    }
    if (c->out >= 0 && fds[1].revents != 0) {
        read_some(&c->out, &c->output, max_output + 1);
    }
    if (c->err >= 0 && fds[2].revents != 0) {
        read_some(&c->err, &c->error, STDERR_KEPT);
    }
}

static void reap(child *c, bool wait)
{
    while (!c->is_done) {
        pid_t got = waitpid(c->pid, &c->status, wait ? 0 : WNOHANG);
        if (got == c->pid || (got < 0 && errno != EINTR)) {
            c->is_done = true;
        } else if (got == 0) {
            return;
        }
    }
}

static cf_status talk(child *c, const cf_tool_exec *exec, cf_error *err)
{
    size_t max = exec->max_output != 0 ? exec->max_output : 1 << 20;
    uint64_t limit_ms = exec->timeout_ms != 0 ? exec->timeout_ms : 30000;
    uint64_t started = cf_os_monotonic_us();
    while (!c->is_done || c->out >= 0) {
        serve(c, max);
        reap(c, false);
        if (c->output.n > max) {
            return cf_fail(err, CF_ELIMIT,
                           "the command wrote more than %zu bytes", max);
        }
        if (exec->cancel != NULL &&
            atomic_load_explicit(exec->cancel, memory_order_relaxed)) {
            return cf_fail(err, CF_ECANCELLED, "cancelled");
        }
        if (cf_os_monotonic_us() - started > limit_ms * 1000) {
            return cf_fail(err, CF_ELIMIT,
                           "the command took longer than %llu ms",
                           (unsigned long long)limit_ms);
        }
    }
    if (c->err >= 0) {
        read_some(&c->err, &c->error, STDERR_KEPT);
    }
    return c->output.failed || c->error.failed ? cf_oom_for(err, "the result")
                                               : CF_OK;
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
    if (!WIFEXITED(c->status) || WEXITSTATUS(c->status) != 0) {
        cf_str line =
            c->error.n > 0 ? last_line(&c->error) : cf_str_make("", 0);
        return cf_fail(
            err, CF_EIO, "the command ended with %s %d%s%.*s",
            WIFEXITED(c->status) ? "status" : "signal",
            WIFEXITED(c->status) ? WEXITSTATUS(c->status) : WTERMSIG(c->status),
            line.n > 0 ? ": " : "", (int)(line.n < 140 ? line.n : 140), line.p);
    }
    *result = json_loadb(cf_buf_cstr(&c->output), c->output.n,
                         JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (*result == NULL) {
        cf_buf quoted = CF_BUF_INIT;
        cf_json_write_str(&quoted, cf_buf_str(&c->output));
        *result = json_loadb(cf_buf_cstr(&quoted), quoted.n,
                             JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        cf_buf_deinit(&quoted);
    }
    return *result != NULL ? CF_OK : cf_oom_for(err, "the result");
}

cf_status cf_tool_exec_run(const cf_tool_exec *exec,
                           const cf_pending_call *call, json_t **result,
                           cf_error *err)
{
    child c = {.in = -1, .out = -1, .err = -1};
    cf_buf_adds(&c.input, "{\"name\":");
    cf_json_write_str(&c.input, call->name);
    cf_buf_adds(&c.input, ",\"arguments\":");
    cf_json_write(&c.input, call->arguments);
    if (call->id.n > 0) {
        cf_buf_adds(&c.input, ",\"id\":");
        cf_json_write_str(&c.input, call->id);
    }
    cf_buf_adds(&c.input, "}\n");
    cf_status st = cf_buf_check(&c.input, err);
    CF_THEN(st, start(&c, exec->command, err));
    if (st == CF_OK) {
        st = talk(&c, exec, err);
        if (st != CF_OK) {
            kill(-c.pid, SIGKILL);
            if (!c.is_done) {
                kill(c.pid, SIGKILL); /* it may have no session yet */
            }
        }
        reap(&c, true);
    }
    if (c.is_done && WIFEXITED(c.status) && exec->exit_code != NULL) {
        *exec->exit_code = WEXITSTATUS(c.status);
    }
    CF_THEN(st, read_result(&c, result, err));
    close_fd(&c.in);
    close_fd(&c.out);
    close_fd(&c.err);
    cf_buf_deinit(&c.input);
    cf_buf_deinit(&c.output);
    cf_buf_deinit(&c.error);
    return st;
}
