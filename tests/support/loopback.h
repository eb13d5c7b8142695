/*
 * loopback.h - a server on this machine that answers each request with the
 * bytes that a test gave it.
 *
 * Threads:  one thread of its own answers; start and stop it from the test's.
 */
#ifndef CF_TESTS_SUPPORT_LOOPBACK_H
#define CF_TESTS_SUPPORT_LOOPBACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* What one connection gets: head, then n times body, then tail.  It is closed
 * afterwards, or with `holds` when the client goes. */
typedef struct cf_loopback_answer {
    const char *head, *body, *tail; /* NULL: nothing */
    size_t n;                       /* 0 is 1 */
    unsigned pause_ms;              /* after each body */
    bool holds, resets;             /* resets: the connection ends with a reset */
} cf_loopback_answer;

typedef struct cf_loopback {
    int fd;
    unsigned short port;
    pthread_t thread;
    cf_loopback_answer answer; /* of every connection */
    char url[64];              /* "http://127.0.0.1:PORT/v1" */
} cf_loopback;

/* Fails the test when there is no socket. */
void cf_loopback_start(cf_loopback *s, const cf_loopback_answer *answer);
void cf_loopback_stop(cf_loopback *s);

#endif
