/*
 * trail_family.c - the threads of sessions, from those without a parent down.
 */
#include "storage/trail/trail_family.h"

#include <string.h>

cf_status trail_family_begin(trail_family *f, const char *format, const trail_source *s,
                             cf_error *err)
{
    *f = (trail_family){.source = s};
    return trail_begin(&f->all, format, "", err);
}

void trail_family_add(trail_family *f, const char *path, const json_t *v, cf_str id, cf_str parent,
                      cf_str title)
{
    trail_thread *t = trail_push(&f->all.scratch, &f->v, &f->n, sizeof *t);
    *t = (trail_thread){path, id, parent, title, v != NULL ? trail_hold(&f->all, v) : NULL, false};
    if (!trail_failed(&f->all)) {
        trail_put(&f->all.scratch, &f->ids, id, f->n - 1);
    }
}

/* The place of the thread that began one; TRAIL_NONE: none is here. */
static size_t parent_of(const trail_family *f, size_t i)
{
    return trail_find(&f->ids, f->v[i].parent);
}

static bool is_below(const trail_family *f, size_t i, size_t root)
{
    size_t steps = 0;
    bool has_parent = i != root && f->v[i].parent.n != 0;
    while (i != TRAIL_NONE && i != root && steps++ < f->n) {
        i = parent_of(f, i);
    }
    return has_parent && i == root;
}

static cf_status put_session(trail_family *f, size_t root, trail_put_thread_fn put, cf_trails *out,
                             cf_error *err)
{
    trail_reader *r = &f->r;
    cf_status st = trail_begin(r, f->all.t->format, f->v[root].path, err);
    if (st != CF_OK) {
        return st;
    }
    f->v[root].is_used = true;
    st = put(f, &f->v[root], trail_add_lane(r, cf_str_make("", 0)), err);
    for (size_t i = 0; st == CF_OK && i < f->n; i++) {
        trail_thread *t = &f->v[i];
        if (!t->is_used && is_below(f, i, root)) {
            t->is_used = true;
            r->file = trail_copy(r, cf_str_from(trail_file_name(t->path)));
            st = put(f, t, trail_add_agent(r, trail_copy(r, t->id), trail_copy(r, t->title)), err);
        }
    }
    if (st == CF_OK) {
        trail_order(r);
    }
    return trail_finish(r, st, out, err);
}

cf_status trail_family_put(trail_family *f, cf_status st, trail_put_thread_fn put, cf_trails *out,
                           cf_error *err)
{
    const char *only = f->source->only;
    st = st == CF_OK && trail_failed(&f->all) ? cf_oom(err) : st;
    for (size_t i = 0; st == CF_OK && i < f->n; i++) {
        size_t parent = parent_of(f, i);
        if (only != NULL ? strcmp(f->v[i].path, only) == 0 : parent == TRAIL_NONE || parent == i) {
            st = put_session(f, i, put, out, err);
        }
    }
    /* Threads whose parents are each other. */
    for (size_t i = 0; st == CF_OK && only == NULL && i < f->n; i++) {
        if (!f->v[i].is_used) {
            st = put_session(f, i, put, out, err);
        }
    }
    trail_drop(&f->all);
    return st;
}
