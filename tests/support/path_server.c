/*
 * path_server.c - one connection at a time, one request each.
 */
#include "tests/support/path_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/listener.h"
#include "tests/support/t.h"

enum { REQUEST_MAX = 256 * 1024 };

static void answer(int fd, const cf_path_answer *a)
{
    static const cf_path_answer none = {.status = 404,
                                        .body = "{\"error\":{\"message\":\"no such path\"}}"};
    char head[512];
    a = a != NULL ? a : &none;
    snprintf(head, sizeof head,
             "HTTP/1.1 %d X\r\nContent-Type: %s\r\n%sContent-Length: "
             "%zu\r\nConnection: close\r\n\r\n",
             a->status != 0 ? a->status : 200,
             strncmp(a->body, "data:", 5) == 0 ? "text/event-stream" : "application/json",
             a->header != NULL ? a->header : "", strlen(a->body));
    if (send(fd, head, strlen(head), MSG_NOSIGNAL) > 0) {
        (void)!send(fd, a->body, strlen(a->body), MSG_NOSIGNAL);
    }
}

static void *serve(void *ud)
{
    cf_path_server *s = ud;
    char *text = malloc(REQUEST_MAX);
    for (;;) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0 || text == NULL) {
            break;
        }
        const char *body = cf_listen_request(fd, text, REQUEST_MAX);
        body = body != NULL ? body : "";
        char method[8] = "", path[128] = "";
        if (sscanf(text, "%7s %127s", method, path) == 2) {
            const cf_path_answer *a = s->answers;
            while (a->path != NULL && strcmp(a->path, path) != 0) {
                a++;
            }
            if (s->n_seen < CF_PATH_SEEN_MAX) {
                snprintf(s->seen[s->n_seen++], CF_PATH_TEXT_MAX, "%s %s\n%s", method, path, body);
            }
            cf_path_answer made = *a;
            char *own = a->make != NULL ? a->make(body) : NULL;
            made.body = own != NULL ? own : a->body;
            answer(fd, a->path != NULL ? &made : NULL);
            free(own);
        }
        close(fd);
    }
    free(text);
    return NULL;
}

void cf_path_server_start(cf_path_server *s, const cf_path_answer *answers)
{
    memset(s, 0, sizeof *s);
    s->answers = answers;
    s->fd = cf_listen(&s->port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void cf_path_server_stop(cf_path_server *s)
{
    shutdown(s->fd, SHUT_RDWR); /* wakes an accept that still waits */
    pthread_join(s->thread, NULL);
    close(s->fd);
}

const char *cf_path_server_last(const cf_path_server *s, const char *path)
{
    size_t n = strlen(path);
    for (size_t i = s->n_seen; i > 0; i--) {
        const char *at = strchr(s->seen[i - 1], ' ');
        if (at != NULL && strncmp(at + 1, path, n) == 0 && at[1 + n] == '\n') {
            return s->seen[i - 1];
        }
    }
    return NULL;
}
