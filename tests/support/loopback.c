/*
 * loopback.c - accepts, reads one request, writes the answer.
 */
#include "tests/support/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/t.h"

enum { REQUEST_MAX = 1 << 20 };

/* Reads head and body, and forgets them. */
static void read_request(int fd)
{
    char *text = malloc(REQUEST_MAX);
    size_t n = 0;
    while (text != NULL && n < REQUEST_MAX - 1) {
        ssize_t got = recv(fd, text + n, REQUEST_MAX - 1 - n, 0);
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
        text[n] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        const char *length = strstr(text, "Content-Length: ");
        size_t want = length != NULL ? strtoul(length + 16, NULL, 10) : 0;
        if (body != NULL && n >= (size_t)(body + 4 - text) + want) {
            break;
        }
    }
    free(text);
}

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
    int fd;
    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        read_request(fd);
        write_answer(fd, &s->answer);
        close(fd);
    }
    return NULL;
}

void cf_loopback_start(cf_loopback *s, const cf_loopback_answer *answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof a;
    s->answer = *answer;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 8), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &n), 0);
    s->port = ntohs(a.sin_port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/v1",
             (unsigned)s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void cf_loopback_stop(cf_loopback *s)
{
    shutdown(s->fd, SHUT_RDWR); /* wakes an accept that still waits */
    pthread_join(s->thread, NULL);
    close(s->fd);
}
