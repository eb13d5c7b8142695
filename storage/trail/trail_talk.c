/*
 * trail_talk.c - what a request adds to the history of its agent.
 */
#include "storage/trail/trail_talk.h"

#include <string.h>

static bool is_same(const cf_trail_message *a, const cf_trail_message *b)
{
    if (a->role != b->role || a->n_calls != b->n_calls || a->n_images != b->n_images ||
        !cf_str_eq(a->text, b->text) || !cf_str_eq(a->call_id, b->call_id)) {
        return false;
    }
    for (size_t i = 0; i < a->n_calls; i++) {
        if (!cf_str_eq(a->calls[i].id, b->calls[i].id) ||
            !cf_str_eq(a->calls[i].name, b->calls[i].name) ||
            !cf_str_eq(a->calls[i].arguments, b->calls[i].arguments)) {
            return false;
        }
    }
    return true;
}

/* A key that messages which are the same share. */
static cf_str key_of(trail_request *q, const cf_trail_message *m)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_addf(&b, "%d %zu %zu ", (int)m->role, m->n_calls, m->text.n);
    cf_buf_add(&b, m->text.p, m->text.n);
    cf_buf_add(&b, m->call_id.p, m->call_id.n);
    for (size_t i = 0; i < m->n_calls; i++) {
        cf_buf_add(&b, m->calls[i].arguments.p, m->calls[i].arguments.n);
    }
    return trail_hash(&q->arena, &b);
}

/* Whether `m`, the next one sent, goes on with the history. */
static bool is_next(const trail_request *q, const cf_trail_message *m)
{
    const trail_talk *h = q->talk;
    return q->n_rest == 0 && q->n_common < h->n &&
           (h->v[q->n_common] == m || is_same(h->v[q->n_common], m));
}

/* The message of the history after the common beginning that `m` is; NULL: none. */
static cf_trail_message *known(trail_request *q, const cf_trail_message *m)
{
    const trail_talk *h = q->talk;
    bool is_indexed = q->places.size != 0;
    for (size_t i = h->n; !is_indexed && i-- > q->n_common;) {
        trail_put(&q->arena, &q->places, key_of(q, h->v[i]), i);
    }
    size_t at = q->places.size != 0 ? trail_find(&q->places, key_of(q, m)) : TRAIL_NONE;
    return at != TRAIL_NONE && is_same(h->v[at], m) ? h->v[at] : NULL;
}

bool trail_send(trail_request *q, cf_trail_message *m, const cf_arena_mark *mark)
{
    bool goes_on = is_next(q, m);
    cf_trail_message *before = goes_on ? q->talk->v[q->n_common] : known(q, m);
    if (before != NULL && before->thinking.n != 0 && m->thinking.n == 0) {
        cf_trail_message **place = trail_push(&q->arena, &q->bare, &q->n_bare, sizeof before);
        *place = before;
    }
    if (before != NULL && mark != NULL) {
        cf_arena_release(&q->r->t->arena, *mark);
    }
    if (goes_on) {
        q->n_common++;
    } else {
        struct trail_sent *x = trail_push(&q->arena, &q->rest, &q->n_rest, sizeof *x);
        *x = (struct trail_sent){before != NULL ? before : m, before == NULL};
    }
    return before == NULL;
}

/* The texts that were there before, without the system's. */
static void put_compaction(trail_request *q)
{
    cf_trail_compaction *c = trail_compaction(q->r, q->talk->lane);
    for (size_t i = 0; i < q->n_common + q->n_rest; i++) {
        bool is_common = i < q->n_common;
        const cf_trail_message *m = is_common ? q->talk->v[i] : q->rest[i - q->n_common].m;
        bool is_kept = is_common || !q->rest[i - q->n_common].is_new;
        if (is_kept && m->role != CF_TRAIL_SYSTEM && !trail_kept(q->r, c, m->text)) {
            return;
        }
    }
}

static void remember(trail_request *q, cf_trail_message *m)
{
    trail_talk *h = q->talk;
    *(cf_trail_message **)trail_push(&q->r->scratch, &h->v, &h->n, sizeof m) = m;
}

void trail_request_put(trail_request *q)
{
    if (q->n_common + q->n_rest == 0) {
        return;
    }
    if (q->n_common < q->talk->n) {
        put_compaction(q);
    }
    q->talk->n = q->n_common;
    for (size_t i = 0; i < q->n_rest; i++) {
        if (q->rest[i].is_new) {
            trail_add_message(q->r, q->talk->lane, q->rest[i].m);
        }
        remember(q, q->rest[i].m);
    }
}

cf_trail_step *trail_request_step(trail_request *q, cf_trail_message *reply)
{
    cf_trail_step *s = trail_step(q->r, q->talk->lane, reply);
    cf_trail_message **bare =
        q->n_bare != 0 ? cf_arena_calloc(&q->r->t->arena, q->n_bare, sizeof *bare) : NULL;
    if (bare != NULL) {
        memcpy(bare, q->bare, q->n_bare * sizeof *bare);
        s->not_returned = bare;
        s->n_not_returned = q->n_bare;
    }
    if (reply != NULL) {
        remember(q, reply);
    }
    return s;
}

void trail_request_end(trail_request *q)
{
    q->r->failed = q->r->failed || q->arena.failed;
    cf_arena_deinit(&q->arena);
}
