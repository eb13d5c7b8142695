/*
 * leave.c - a timer of the kernel, which needs no thread of ours to run.
 */
#define _DEFAULT_SOURCE 1 /* setitimer */
#include "tui/sys/leave.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

/* Sanitizers make the same work ten times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { GRACE_US = 18000000 };
#else
enum { GRACE_US = 1800000 };
#endif

enum { STATUS = 130, SECOND_US = 1000000 };

static atomic_bool is_set;
static void (*_Atomic before)(void);

static void on_time(int number)
{
    (void)number;
    void (*fn)(void) = atomic_load(&before);
    if (fn != NULL) {
        fn();
    }
    _exit(STATUS);
}

void cf_leave_soon(void)
{
    int saved = errno;
    if (!atomic_exchange(&is_set, true)) {
        struct sigaction sa = {.sa_handler = on_time};
        const struct itimerval at = {
            .it_value = {.tv_sec = GRACE_US / SECOND_US, .tv_usec = GRACE_US % SECOND_US}};
        sigemptyset(&sa.sa_mask);
        sigaction(SIGALRM, &sa, NULL);
        setitimer(ITIMER_REAL, &at, NULL); /* one system call, as alarm() */
    }
    errno = saved;
}

void cf_leave_not(void)
{
    const struct itimerval never = {.it_value = {.tv_sec = 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&is_set, false);
}

void cf_leave_by(void (*fn)(void))
{
    atomic_store(&before, fn);
}
