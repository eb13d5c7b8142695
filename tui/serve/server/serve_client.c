/*
 * serve_client.c - sees when nobody waits for an answer any more.
 */
#include <sys/socket.h>
#include <time.h>

#include "core/base/os.h"
#include "tui/serve/server/serve_impl.h"

enum { LOOK_MS = 100 };

static bool is_gone(const cf_serve__client *c)
{
    char one;
    return (c->stopping != NULL && atomic_load(c->stopping)) ||
           (c->fd >= 0 && recv(c->fd, &one, 1, MSG_PEEK | MSG_DONTWAIT) == 0);
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

void cf_serve__watch(cf_serve__client *c, int fd, const atomic_bool *stopping, cf_cancel *cancel)
{
    cf_error ignored;
    *c = (cf_serve__client){.fd = fd, .stopping = stopping, .cancel = cancel};
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
