/*
 * trail_context.c - what a request's model read, and what changed since another.
 *
 * A file tells messages once, in order; a compaction replaces those before it
 * by a summary and the ones that it kept.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "storage/trail/trail_build.h"

size_t cf_trail_step_at(const cf_trail *t, size_t n)
{
    for (size_t i = 0; i < t->n_events; i++) {
        if (t->events[i].kind == CF_TRAIL_STEP && t->events[i].as.step->n == n) {
            return i;
        }
    }
    return SIZE_MAX;
}

cf_str cf_trail_first_text(const cf_trail *t)
{
    for (size_t i = 0; i < t->n_events; i++) {
        const cf_trail_event *e = &t->events[i];
        if (e->kind == CF_TRAIL_MESSAGE && e->as.message->role == CF_TRAIL_USER &&
            !e->as.message->is_meta && cf_str_trim(e->as.message->text).n != 0) {
            return cf_str_trim(e->as.message->text);
        }
    }
    return cf_str_make("", 0);
}

cf_str cf_trail_name(const cf_trail *t)
{
    enum { NAME_MAX_BYTES = 80 };
    cf_str s = t->title.n != 0 ? t->title : cf_trail_first_text(t);
    if (s.n > NAME_MAX_BYTES) {
        s.n = NAME_MAX_BYTES - cf_utf8_incomplete_tail(s.p, NAME_MAX_BYTES);
    }
    return s;
}

cf_str cf_trail_item_text(const cf_trail_item *item)
{
    return item->message != NULL ? item->message->text : item->summary->summary;
}

static void push(cf_trail_context *c, const cf_trail_message *m, const cf_trail_compaction *x)
{
    cf_trail_item *item = trail_push(&c->arena, &c->v, &c->n, sizeof *item);
    *item = (cf_trail_item){m, x};
}

/* Takes out what a compaction did not keep, and puts its summary after the
 * system messages. */
static void compact(cf_trail_context *c, const cf_trail_compaction *x)
{
    trail_index kept = {0};
    cf_arena a = {0};
    size_t n = 0, at = 0;
    for (size_t i = 0; i < x->n_kept; i++) {
        trail_put(&a, &kept, x->kept[i], 1);
    }
    push(c, NULL, x);
    c->arena.failed = c->arena.failed || a.failed;
    for (size_t i = 0; !c->arena.failed && i + 1 < c->n; i++) {
        const cf_trail_message *m = c->v[i].message;
        bool is_system = m != NULL && m->role == CF_TRAIL_SYSTEM;
        if (is_system || (m != NULL && trail_find(&kept, m->text) != TRAIL_NONE)) {
            at = is_system ? n + 1 : at;
            c->v[n++] = c->v[i];
        }
    }
    cf_arena_deinit(&a);
    if (!c->arena.failed) {
        memmove(&c->v[at + 1], &c->v[at], (n - at) * sizeof *c->v);
        c->v[at] = (cf_trail_item){NULL, x};
        c->n = n + 1;
    }
}

/* Whether an event is on the way to the step: of its agent, on the path up to
 * the message its branch leaves from, and on its own branch. */
static bool is_on_way(const cf_trail_event *e, const cf_trail_event *step)
{
    if (!cf_str_eq(e->agent, step->agent)) {
        return false;
    }
    if (!step->is_branch) {
        return !e->is_branch;
    }
    if (e->is_branch) {
        return e->branch == step->branch;
    }
    return e->kind == CF_TRAIL_MESSAGE      ? e->as.message->n <= step->branch
           : e->kind == CF_TRAIL_COMPACTION ? e->as.compaction->before < step->branch
                                            : false;
}

cf_status cf_trail_context_make(cf_trail_context *out, const cf_trail *t, size_t at, cf_error *err)
{
    const cf_trail_event *step = &t->events[at];
    bool is_reply = false;
    *out = (cf_trail_context){.n = 0};
    for (size_t i = 0; !is_reply && i < at; i++) {
        const cf_trail_event *e = &t->events[i];
        if (is_on_way(e, step) && e->kind == CF_TRAIL_MESSAGE) {
            is_reply = e->as.message == step->as.step->message;
            if (!is_reply) {
                push(out, e->as.message, NULL);
            }
        } else if (is_on_way(e, step) && e->kind == CF_TRAIL_COMPACTION) {
            compact(out, e->as.compaction);
        }
    }
    if (out->arena.failed) {
        cf_trail_context_deinit(out);
        return cf_oom(err);
    }
    return CF_OK;
}

void cf_trail_context_deinit(cf_trail_context *c)
{
    cf_arena_deinit(&c->arena);
    *c = (cf_trail_context){.n = 0};
}

/* ---- difference ---------------------------------------------------------- */

/* What the same item of two contexts shares: what it points to. */
static cf_str key_of(const cf_trail_item *item)
{
    return cf_str_make((const char *)item, sizeof *item);
}

/* The item's place in a context from `from` on; n: it is not there. */
static size_t place_of(const trail_index *places, size_t n, size_t from, const cf_trail_item *item)
{
    size_t at = trail_find(places, key_of(item));
    return at != TRAIL_NONE && at >= from ? at : n;
}

static void add_row(cf_trail_diff *d, cf_trail_diff_row row)
{
    *(cf_trail_diff_row *)trail_push(&d->arena, &d->v, &d->n, sizeof row) = row;
}

/* Another text in the place of one: of the same role, and of results the same
 * call. */
static bool is_other_text(const cf_trail_item *a, const cf_trail_item *b)
{
    return a->message != NULL && b->message != NULL && a->message->role == b->message->role &&
           cf_str_eq(a->message->call_id, b->message->call_id) &&
           (a->message->role == CF_TRAIL_SYSTEM || a->message->call_id.n != 0);
}

static size_t common_bytes(cf_str a, cf_str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n]) {
        n++;
    }
    return n;
}

/* The items that left and entered between two that stayed. */
static void add_gap(cf_trail_diff *d, const cf_trail_context *a, size_t i, size_t i_end,
                    const cf_trail_context *b, size_t k, size_t k_end)
{
    for (; i < i_end; i++) {
        if (k < k_end && is_other_text(&a->v[i], &b->v[k])) {
            size_t n = common_bytes(a->v[i].message->text, b->v[k].message->text);
            add_row(d, (cf_trail_diff_row){CF_TRAIL_CHANGED, a->v[i], b->v[k], k, n});
            k++;
        } else {
            add_row(d, (cf_trail_diff_row){.change = CF_TRAIL_LEFT, .before = a->v[i], .place = i});
        }
    }
    for (; k < k_end; k++) {
        add_row(d, (cf_trail_diff_row){.change = CF_TRAIL_ENTERED, .after = b->v[k], .place = k});
    }
}

/* Both keep the order of the file, so that one walk finds what stayed. */
cf_status cf_trail_diff_make(cf_trail_diff *out, const cf_trail_context *before,
                             const cf_trail_context *after, cf_error *err)
{
    size_t i = 0, k = 0;
    trail_index places = {0};
    cf_arena a = {0};
    *out = (cf_trail_diff){.n = 0};
    for (size_t n = 0; n < after->n; n++) {
        trail_put(&a, &places, key_of(&after->v[n]), n);
    }
    while (i < before->n || k < after->n) {
        size_t to = i, at = after->n;
        while (to < before->n &&
               (at = place_of(&places, after->n, k, &before->v[to])) == after->n) {
            to++;
        }
        add_gap(out, before, i, to, after, k, at);
        if (to < before->n) {
            add_row(out, (cf_trail_diff_row){CF_TRAIL_SAME, before->v[to], after->v[at], at, 0});
        }
        i = to + 1;
        k = at + 1;
    }
    out->arena.failed = out->arena.failed || a.failed;
    cf_arena_deinit(&a);
    if (out->arena.failed) {
        cf_trail_diff_deinit(out);
        return cf_oom(err);
    }
    return CF_OK;
}

void cf_trail_diff_deinit(cf_trail_diff *d)
{
    cf_arena_deinit(&d->arena);
    *d = (cf_trail_diff){.n = 0};
}

const char *cf_trail_change_name(cf_trail_change change)
{
    static const char *const names[] = {"same", "left", "entered", "changed"};
    return names[change];
}
