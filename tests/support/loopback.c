/*
 * loopback.c - accepts, reads one request, writes the answer.
 */
#include "tests/support/loopback.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/listener.h"
#include "tests/support/t.h"

enum { REQUEST_MAX = 1 << 20 };

static bool put(int fd, const char *p, size_t n)
{
    n = p != NULL && n == 0 ? strlen(p) : n;
    while (p != NULL && n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* The body as often as wanted, many in one block. */
static bool put_bodies(int fd, const cf_loopback_answer *a)
{
    enum { BLOCK = 1 << 16 };
    size_t len = a->body != NULL ? strlen(a->body) : 0;
    bool is_slow = a->pause_ms > 0;
    size_t per_block = len > 0 && len < BLOCK && !is_slow ? BLOCK / len : 1;
    char *block = malloc(len * per_block + 1);
    bool goes_on = block != NULL;
    for (size_t i = 0; goes_on && i < per_block && len > 0; i++) {
        memcpy(block + i * len, a->body, len);
    }
    for (size_t left = a->n > 0 ? a->n : 1; goes_on && len > 0 && left > 0;) {
        size_t n = left < per_block ? left : per_block;
        goes_on = put(fd, block, n * len);
        left -= n;
        if (is_slow) {
            (void)poll(NULL, 0, (int)a->pause_ms);
        }
    }
    free(block);
    return goes_on;
}

static void write_answer(int fd, const cf_loopback_answer *a)
{
    bool goes_on = put(fd, a->head, 0) && put_bodies(fd, a);
    goes_on = goes_on && put(fd, a->tail, 0);
    char c;
    while (goes_on && a->holds && recv(fd, &c, 1, 0) > 0) {
        continue;
    }
    if (a->resets) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
}

static void *serve(void *ud)
{
    cf_loopback *s = ud;
    char *request = malloc(REQUEST_MAX);
    int fd;
    while (request != NULL && (fd = accept(s->fd, NULL, NULL)) >= 0) {
        (void)cf_listen_request(fd, request, REQUEST_MAX);
        write_answer(fd, &s->answer);
        close(fd);
    }
    free(request);
    return NULL;
}

void cf_loopback_start(cf_loopback *s, const cf_loopback_answer *answer)
{
    s->answer = *answer;
    s->fd = cf_listen(&s->port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/v1", (unsigned)s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void cf_loopback_stop(cf_loopback *s)
{
    shutdown(s->fd, SHUT_RDWR); /* wakes an accept that still waits */
    pthread_join(s->thread, NULL);
    close(s->fd);
}
