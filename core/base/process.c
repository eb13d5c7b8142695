/*
 * process.c - starting, feeding and ending a child.
 *
 * 1. A process whose leader is not reaped keeps its group's number from being
 *    used again, so the group is signalled before the leader is reaped.
 * 2. p->pid is 0 exactly when there is nothing to reap.
 */
#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/os.h"

extern char **environ;

enum { FIRST_OTHER_FD = 3, OTHER_FDS = 1024, LOOK_MS = 10, PATH_SIZE = 4096 };

void cf_process_close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* ---- starting ----------------------------------------------------------- */

static const char *path_of(const char *const *env)
{
    for (; env != NULL && *env != NULL; env++) {
        if (strncmp(*env, "PATH=", 5) == 0) {
            return *env + 5;
        }
    }
    return "/usr/local/bin:/usr/bin:/bin";
}

/* The program's file, as execvp() would look it up; false when there is
 * none. */
static bool find_program(char out[PATH_SIZE], const char *name, const char *const *env)
{
    size_t n = strlen(name);
    if (strchr(name, '/') != NULL) {
        if (n >= PATH_SIZE) {
            return false;
        }
        memcpy(out, name, n + 1);
        return true; /* relative to the child's folder: exec decides */
    }
    for (const char *p = path_of(env); n > 0;) {
        size_t k = strcspn(p, ":");
        if (k > 0 && k + 1 + n < PATH_SIZE) {
            memcpy(out, p, k);
            out[k] = '/';
            memcpy(out + k + 1, name, n + 1);
            if (access(out, X_OK) == 0) {
                return true;
            }
        }
        if (p[k] == '\0') {
            return false;
        }
        p += k + 1;
    }
    return false;
}

/* Between fork and exec: async-signal-safe calls only.  `report` gets the
 * error number when the program cannot be run. */
static void become(const char *file, const cf_process_spec *spec, const char *const *env, int in,
                   int out, int err, int report)
{
    sigset_t none;
    struct sigaction plain = {.sa_handler = SIG_DFL};
    char **argv, **envp;
    memcpy(&argv, &spec->argv, sizeof argv); /* exec does not change them */
    memcpy(&envp, &env, sizeof envp);
    setsid();
    sigemptyset(&plain.sa_mask);
    for (int s = 1; s < 32; s++) {
        if (s != SIGKILL && s != SIGSTOP) {
            sigaction(s, &plain, NULL);
        }
    }
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 &&
        dup2(report, FIRST_OTHER_FD) >= 0) {
        report = FIRST_OTHER_FD;
        fcntl(report, F_SETFD, FD_CLOEXEC);
        for (int fd = FIRST_OTHER_FD + 1; fd < OTHER_FDS; fd++) {
            close(fd);
        }
        if (spec->cwd == NULL || chdir(spec->cwd) == 0) {
            execve(file, argv, envp);
        }
    }
    int code = errno;
    ssize_t n = write(report, &code, sizeof code);
    _exit(n > 0 ? 127 : 126);
}

/* Both ends above the three standard streams, so that dup2() in the child
 * overwrites none of them. */
static bool make_pipe(int fds[2])
{
    fds[0] = fds[1] = -1;
    if (pipe(fds) != 0) {
        fds[0] = fds[1] = -1;
        return false;
    }
    for (int i = 0; i < 2; i++) {
        int fd = fcntl(fds[i], F_DUPFD, FIRST_OTHER_FD + 1);
        if (fd < 0) {
            return false;
        }
        close(fds[i]);
        fds[i] = fd;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return true;
}

typedef struct pipes {
    int in[2], out[2], err[2], report[2];
} pipes;

static void close_pipes(pipes *s)
{
    for (int i = 0; i < 2; i++) {
        cf_process_close_fd(&s->in[i]);
        cf_process_close_fd(&s->out[i]);
        cf_process_close_fd(&s->err[i]);
        cf_process_close_fd(&s->report[i]);
    }
}

static int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    fcntl(taken, F_SETFL, O_NONBLOCK);
    return taken;
}

/* Waits until the child runs its program, or for the reason why it does
 * not. */
static int exec_error(int fd)
{
    int code = 0;
    ssize_t n;
    do {
        n = read(fd, &code, sizeof code);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof code ? code : 0;
}

cf_status cf_process_start(cf_process *p, const cf_process_spec *spec, cf_error *err)
{
    *p = (cf_process)CF_PROCESS_INIT;
    pipes s;
    char file[PATH_SIZE], why[CF_OS_WHY];
    const char *const *env = spec->env;
    if (env == NULL) {
        memcpy(&env, &environ, sizeof env);
    }
    if (!find_program(file, spec->argv[0], env)) {
        return cf_fail(err, CF_ENOTFOUND, "%.160s: there is no such program", spec->argv[0]);
    }
    bool ok = make_pipe(s.in);
    ok = make_pipe(s.out) && ok;
    ok = make_pipe(s.err) && ok;
    ok = make_pipe(s.report) && ok;
    pid_t pid = ok ? fork() : -1;
    if (pid == 0) {
        become(file, spec, env, s.in[0], s.out[1], s.err[1], s.report[1]);
    }
    int code = pid < 0 ? errno : 0;
    if (pid > 0) {
        cf_process_close_fd(&s.report[1]);
        code = exec_error(s.report[0]);
    }
    if (pid > 0 && code == 0) {
        p->pid = pid;
        p->in = take_fd(&s.in[1]);
        p->out = take_fd(&s.out[0]);
        p->err = take_fd(&s.err[0]);
    } else if (pid > 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    close_pipes(&s);
    if (p->pid == 0) {
        return cf_fail(err, code == ENOENT ? CF_ENOTFOUND : CF_EIO, "%.120s cannot be started: %s",
                       spec->argv[0], cf_os_why(why, code));
    }
    return CF_OK;
}

/* ---- talking ------------------------------------------------------------ */

/* SIGPIPE is held back for this thread meanwhile. */
size_t cf_process_write(cf_process *p, const char *data, size_t n)
{
    sigset_t pipe_set, old, pending;
    if (p->in < 0 || n == 0) {
        return 0;
    }
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    ssize_t done = write(p->in, data, n);
    int why = errno;
    sigpending(&pending);
    if (done < 0 && why == EPIPE && sigismember(&pending, SIGPIPE) == 1 &&
        sigismember(&old, SIGPIPE) == 0) {
        int number;
        sigwait(&pipe_set, &number);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (done < 0 && why != EAGAIN && why != EINTR) {
        cf_process_close_fd(&p->in);
    }
    return done > 0 ? (size_t)done : 0;
}

size_t cf_process_read(int *fd, char *block, size_t n)
{
    if (*fd < 0) {
        return 0;
    }
    ssize_t got = read(*fd, block, n);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        cf_process_close_fd(fd);
    }
    return got > 0 ? (size_t)got : 0;
}

/* ---- ending ------------------------------------------------------------- */

bool cf_process_has_ended(cf_process *p)
{
    siginfo_t info;
    if (p->pid == 0) {
        return true;
    }
    memset(&info, 0, sizeof info);
    int got = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (got == 0 && info.si_pid == 0) {
        return false;
    }
    if (got < 0 && errno == EINTR) {
        return false;
    }
    if (got == 0) {
        kill(-p->pid, SIGKILL); /* what is left of its group */
    }
    while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR) {
    }
    p->pid = 0;
    return true;
}

/* Throws away what it still writes, so that a full pipe does not keep it from
 * ending. */
static void drain(cf_process *p)
{
    char block[4096];
    while (cf_process_read(&p->out, block, sizeof block) > 0) {
    }
    while (cf_process_read(&p->err, block, sizeof block) > 0) {
    }
}

static bool wait_for_end(cf_process *p, uint32_t ms)
{
    uint64_t until = cf_os_monotonic_us() + (uint64_t)ms * 1000;
    while (!cf_process_has_ended(p)) {
        if (cf_os_monotonic_us() >= until) {
            return false;
        }
        poll(NULL, 0, LOOK_MS);
        drain(p);
    }
    return true;
}

void cf_process_end(cf_process *p, uint32_t grace_ms)
{
    cf_process_close_fd(&p->in);
    if (p->pid != 0 && grace_ms > 0 && !wait_for_end(p, grace_ms)) {
        kill(-p->pid, SIGTERM);
        (void)wait_for_end(p, grace_ms);
    }
    if (p->pid != 0) {
        kill(-p->pid, SIGKILL);
        while (!wait_for_end(p, 1000)) {
        }
    }
    cf_process_close_fd(&p->out);
    cf_process_close_fd(&p->err);
}

void cf_process_how(const cf_process *p, cf_buf *out)
{
    if (WIFSIGNALED(p->status)) {
        cf_buf_addf(out, "signal %d", WTERMSIG(p->status));
    } else {
        cf_buf_addf(out, "status %d", WEXITSTATUS(p->status));
    }
}
