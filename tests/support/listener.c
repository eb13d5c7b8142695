/*
 * listener.c - a body is as long as its head says.
 */
#include "tests/support/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/support/t.h"

int cf_listen(unsigned short *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t n = sizeof a;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

const char *cf_listen_request(int fd, char *to, size_t size)
{
    size_t n = 0;
    for (;;) {
        ssize_t got = recv(fd, to + n, size - 1 - n, 0);
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
        to[n] = '\0';
        const char *body = strstr(to, "\r\n\r\n");
        const char *length = strstr(to, "Content-Length: ");
        size_t want = length != NULL ? strtoul(length + 16, NULL, 10) : 0;
        if (body != NULL && n >= (size_t)(body + 4 - to) + want) {
            return body + 4;
        }
    }
    to[n] = '\0';
    return NULL;
}
