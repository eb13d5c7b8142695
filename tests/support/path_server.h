/*
 * path_server.h - a server on this machine that answers by path: a stand-in
 * for a model server with paths of its own.
 *
 * Threads:  one thread of its own answers; start and stop it from the test's.
 */
#ifndef CF_TESTS_SUPPORT_PATH_SERVER_H
#define CF_TESTS_SUPPORT_PATH_SERVER_H

#include <pthread.h>
#include <stddef.h>

enum { CF_PATH_SEEN_MAX = 64, CF_PATH_TEXT_MAX = 8192 };

typedef struct cf_path_answer {
    const char *path;   /* NULL ends the table */
    int status;         /* 0 is 200 */
    const char *body;   /* JSON, or a stream that begins with "data:" */
    const char *header; /* more lines, each with "\r\n"; may be NULL */
    /* In place of `body`: made of the request's, from malloc().  On the
     * server's thread. */
    char *(*make)(const char *request);
} cf_path_answer;

typedef struct cf_path_server {
    int fd;
    unsigned short port;
    pthread_t thread;
    const cf_path_answer *answers; /* other paths get 404 */
    char url[64];                  /* "http://127.0.0.1:PORT" */
    /* Requests so far, "METHOD /path\nbody"; to be read after stopping. */
    char seen[CF_PATH_SEEN_MAX][CF_PATH_TEXT_MAX];
    size_t n_seen;
} cf_path_server;

/* Fails the test when there is no socket. */
void cf_path_server_start(cf_path_server *s, const cf_path_answer *answers);
void cf_path_server_stop(cf_path_server *s);

/* The last request to a path, or NULL. */
const char *cf_path_server_last(const cf_path_server *s, const char *path);

#endif
