/*
 * trail_family.h - sessions whose sub-agents are sessions of their own, which
 * name their parents.
 *
 * Threads:  one thread at a time.
 * Memory:   threads end with the family.
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_FAMILY_H
#define CF_STORAGE_TRAIL_TRAIL_FAMILY_H

#include "storage/trail/trail_build.h"

typedef struct trail_thread {
    const char *path;
    cf_str id, parent, title; /* of `v` */
    const json_t *v;          /* what the format knows of it */
    bool is_used;
} trail_thread;

typedef struct trail_family {
    trail_reader all; /* holds the threads and their values */
    trail_reader r;   /* of the session at hand */
    trail_thread *v;  /* [n] */
    size_t n;
    trail_index ids;
    const trail_source *source;
} trail_family;

CF_MUST_USE cf_status trail_family_begin(trail_family *f, const char *format, const trail_source *s,
                                         cf_error *err);
/* Adds a thread; `v` (may be NULL) is held. */
void trail_family_add(trail_family *f, const char *path, const json_t *v, cf_str id, cf_str parent,
                      cf_str title);
/* Puts what a thread holds into its lane, and of a session's first one the session's facts. */
typedef cf_status (*trail_put_thread_fn)(trail_family *f, const trail_thread *t, trail_lane *lane,
                                         cf_error *err);
/* All sessions, each with the threads below it, unless `st` is a failure; the
 * family is empty after. */
CF_MUST_USE cf_status trail_family_put(trail_family *f, cf_status st, trail_put_thread_fn put,
                                       cf_trails *out, cf_error *err);

#endif
