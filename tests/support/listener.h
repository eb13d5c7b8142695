/*
 * listener.h - a socket on this machine for servers of the tests, and reading
 * the requests that come.
 */
#ifndef CF_TESTS_SUPPORT_LISTENER_H
#define CF_TESTS_SUPPORT_LISTENER_H

#include <stddef.h>

/* A listening socket of the loopback interface at a free port, *port.  Fails
 * the test when there is none. */
int cf_listen(unsigned short *port);

/* Reads head and body of one request into to[0..size) as a C string; `size` is
 * not 0.  Returns the body, or NULL when there is no room for all of it or the
 * client stops before. */
const char *cf_listen_request(int fd, char *to, size_t size);

#endif
