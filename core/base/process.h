/*
 * process.h - a child program with its standard streams as pipes.
 *
 * Place in the flow:  a command line --> [process] --> bytes in, bytes out,
 *                     how it ended.
 * Knows: fork and exec, pipes that never block, signals, exit statuses.
 * Does not know: what the program says, time limits, who approved it.
 *
 * The child runs in a session and process group of its own: it has no
 * terminal, signals from the keyboard do not reach it, and ending it ends
 * everything it started.  It inherits no file but its three streams.
 *
 * Threads:  one thread at a time for each process; the calling thread must
 *           not be the only one that could reap it with waitpid(-1).
 * Memory:   none; the struct is the caller's.
 */
#ifndef CF_CORE_BASE_PROCESS_H
#define CF_CORE_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

typedef struct cf_process {
    pid_t pid;        /* 0: not started, or reaped */
    int in, out, err; /* our ends, non-blocking; -1 when closed */
    int status;       /* as of waitpid(), once it was reaped */
} cf_process;

/* The program to run.  `argv` ends with NULL. */
typedef struct cf_process_spec {
    const char *const *argv;
    const char *const *env; /* "NAME=VALUE", NULL at the end; NULL: ours */
    const char *cwd;        /* NULL: ours */
} cf_process_spec;

/* An object that was not started; all other functions accept it. */
#define CF_PROCESS_INIT  \
    {                    \
        0, -1, -1, -1, 0 \
    }

/*
 * Starts argv[0], looked up in the PATH of `env` (or ours) when it holds no
 * slash.  CF_ENOTFOUND when there is no such program, CF_EIO with the system's
 * reason.  `p` is as after CF_PROCESS_INIT on failure.
 */
CF_MUST_USE cf_status cf_process_start(cf_process *p, const cf_process_spec *spec, cf_error *err);

/* Writes what the pipe takes of data[0..n) and returns how much that was.  A
 * child that closed its input closes p->in; SIGPIPE is never raised. */
size_t cf_process_write(cf_process *p, const char *data, size_t n);

/* Reads what there is from *fd (p->out or p->err) into block[0..n) and returns
 * how much that was; at the end of the stream *fd is closed and -1. */
size_t cf_process_read(int *fd, char *block, size_t n);

void cf_process_close_fd(int *fd);

/* Whether it has ended; if so reaps it and kills the rest of its group. */
bool cf_process_has_ended(cf_process *p);

/*
 * Ends it and everything it started: closes its streams, waits `grace_ms` for
 * it to go by itself, sends SIGTERM to the group and waits as long again, then
 * sends SIGKILL.  0: SIGKILL at once.  Its output is drained meanwhile.
 */
void cf_process_end(cf_process *p, uint32_t grace_ms);

/* Appends "status 3" or "signal 9". */
void cf_process_how(const cf_process *p, cf_buf *out);

CF_END_DECLS

#endif
