/*
 * serve_client.c - sees when nobody waits for an answer any more.
 */
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/os.h"
#include "tui/serve/server/serve_impl.h"

enum { LOOK_MS = 100 };

/* A client that has ended its side may have left, or wait for the answer.  It is
 * sent an interim answer, or within a stream what its form ignores, for a reply may
 * write nothing for long: to one that has left the connection is reset. */
static void probe(cf_serve__client *c)
{
    static const char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";
    if (c->lock_answer != NULL) {
        pthread_mutex_lock(c->lock_answer);
    }
    if (c->has_answer != NULL && *c->has_answer) {
        cf_buf_adds(c->stream, c->ignored);
        pthread_cond_signal(c->changed);
    } else if (c->takes_interim) {
        (void)send(c->fd, interim, sizeof interim - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (c->lock_answer != NULL) {
        pthread_mutex_unlock(c->lock_answer);
    }
    c->is_probed = true;
}

static bool is_gone(cf_serve__client *c)
{
    char one;
    struct pollfd p = {.fd = c->fd};
    if (!c->is_probed && c->fd >= 0 && recv(c->fd, &one, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
        probe(c);
    }
    return (c->stopping != NULL && atomic_load(c->stopping)) || poll(&p, 1, 0) > 0;
}

static void *look(void *ud)
{
    cf_serve__client *c = ud;
    pthread_mutex_lock(&c->lock);
    while (!c->is_over && !atomic_load(c->cancel)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        (void)pthread_cond_timedwait(&c->over, &c->lock, &until);
        if (is_gone(c)) {
            atomic_store(c->cancel, true);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void cf_serve__watch(cf_serve__client *c)
{
    cf_error ignored;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->over, NULL);
    c->has_thread = cf_os_thread(&c->thread, look, c, &ignored) == CF_OK;
}

void cf_serve__unwatch(cf_serve__client *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_over = true;
    pthread_cond_signal(&c->over);
    pthread_mutex_unlock(&c->lock);
    if (c->has_thread) {
        pthread_join(c->thread, NULL);
    }
    pthread_cond_destroy(&c->over);
    pthread_mutex_destroy(&c->lock);
}
