/*
 * serve_past.c - the messages of earlier responses, by id.
 *
 * Always true: the bytes of all texts are at most BYTES_MAX, and a place is
 * empty or has a whole text.
 */
#include <pthread.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tui/serve/server/serve_impl.h"

enum { PLACES = 256, BYTES_MAX = 64 << 20 };

typedef struct place {
    char id[CF_UUID_TEXT + 8];
    cf_buf text; /* JSON: empty for an empty place */
} place;

struct cf_serve__past {
    pthread_mutex_t lock;
    place v[PLACES]; /* a ring */
    size_t next;     /* the oldest, which is written next */
    size_t n_bytes;
};

cf_status cf_serve__past_new(cf_serve__past **out, cf_error *err)
{
    cf_serve__past *p = cf_calloc(1, sizeof *p);
    if (p == NULL) {
        return cf_oom(err);
    }
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return CF_OK;
}

static void forget(cf_serve__past *p, place *at)
{
    p->n_bytes -= at->text.n;
    cf_buf_deinit(&at->text);
    memset(at, 0, sizeof *at);
}

void cf_serve__past_free(cf_serve__past *p)
{
    if (p != NULL) {
        for (size_t i = 0; i < PLACES; i++) {
            forget(p, &p->v[i]);
        }
        pthread_mutex_destroy(&p->lock);
        cf_free(p);
    }
}

void cf_serve__past_put(cf_serve__past *p, const char *id, const json_t *messages)
{
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, messages);
    if (text.failed || text.n > BYTES_MAX) {
        cf_buf_deinit(&text);
        return;
    }
    pthread_mutex_lock(&p->lock);
    place *at = &p->v[p->next];
    forget(p, at);
    for (size_t i = 1; i < PLACES && p->n_bytes + text.n > BYTES_MAX; i++) {
        forget(p, &p->v[(p->next + i) % PLACES]);
    }
    p->next = (p->next + 1) % PLACES;
    snprintf(at->id, sizeof at->id, "%s", id);
    at->text = text;
    p->n_bytes += text.n;
    pthread_mutex_unlock(&p->lock);
}

cf_status cf_serve__past_get(cf_serve__past *p, const char *id, json_t **out, cf_error *err)
{
    cf_status st = CF_ENOTFOUND;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < PLACES && st == CF_ENOTFOUND; i++) {
        const place *at = &p->v[i];
        if (at->text.n > 0 && strcmp(at->id, id) == 0) {
            st = cf_json_read(out, at->text.p, at->text.n, err);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return st != CF_ENOTFOUND ? st
                              : cf_fail(err, st,
                                        "'previous_response_id': this server does not have the "
                                        "response %.60s (any more)",
                                        id);
}
