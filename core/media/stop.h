/*
 * stop.h - whether the user has cancelled.
 *
 * Everything in core/media works in pieces of a few milliseconds and looks
 * here between them, whatever the size of a file.
 *
 * Private to core/media.
 * Threads:  may be looked at from all threads of a pool.
 */
#ifndef CF_CORE_MEDIA_STOP_H
#define CF_CORE_MEDIA_STOP_H

#include "core/api/session.h"

typedef struct cf_stop {
    const cf_cancel *cancel; /* may be NULL */
    void (*look)(void *ud);  /* called before each check; may be NULL */
    void *ud;
} cf_stop;

/* s may be NULL, which never stops. */
static inline bool cf_stop_now(const cf_stop *s)
{
    if (s != NULL && s->look != NULL) {
        s->look(s->ud);
    }
    return s != NULL && s->cancel != NULL && atomic_load_explicit(s->cancel, memory_order_relaxed);
}

/* CF_ECANCELLED or CF_OK. */
static inline cf_status cf_stop_check(const cf_stop *s, cf_error *err)
{
    return cf_stop_now(s) ? cf_fail(err, CF_ECANCELLED, "interrupted") : CF_OK;
}

#endif
