/*
 * trail_find.c - faults that a trail shows, by the rules of docs/sessions.md.
 *
 * One pass over the events with a state for each agent; branches never count.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/trail/trail_rules.h"

/* The same call with the same result since the user last wrote. */
typedef struct again {
    cf_str name;
    size_t *messages; /* [n] */
    size_t n, at;
} again;

typedef struct state {
    size_t step, last_reply;        /* places; TRAIL_NONE: none */
    const cf_trail_message **users; /* [n_users], since the last compaction */
    size_t n_users;
    size_t *failed; /* [n_failed], results that wait for the next message */
    size_t n_failed;
    again *again; /* [n_again] */
    size_t n_again;
    trail_index keys;
    trail_words words; /* of the results of sub-agents that it began */
    bool is_full_said;
} state;

typedef struct finder {
    cf_trail_findings *out;
    const cf_trail *t;
    cf_arena arena; /* of what follows */
    state *v;       /* [n] */
    size_t n;
    trail_index agents, results, calls; /* calls: id -> place in `called` */
    trail_index wanted, used; /* calls of sub-agents: those whose words are read; -> 1: used */
    struct called {
        const cf_trail_message *reply;
        const cf_trail_call *call;
        bool is_counted; /* its first result */
    } * called;          /* [n_called] */
    size_t n_called;
    bool has_cache;
} finder;

static cf_str text_of(finder *f, const char *format, va_list args)
{
    char text[400];
    vsnprintf(text, sizeof text, format, args);
    const char *p = cf_arena_strndup(&f->out->arena, text, strlen(text));
    return cf_str_from(p != NULL ? p : "");
}

/* A finding with its sentence. */
static CF_PRINTF(4, 5) cf_trail_finding *say(finder *f, cf_trail_finding_kind kind, size_t at,
                                             const char *format, ...)
{
    va_list args;
    cf_trail_finding *x = trail_push(&f->out->arena, &f->out->v, &f->out->n, sizeof *x);
    va_start(args, format);
    *x = (cf_trail_finding){.kind = kind, .at = at, .text = text_of(f, format, args)};
    va_end(args);
    return x;
}

/* How much of a text a sentence shows. */
static int shown(cf_str s, size_t max)
{
    return (int)(s.n < max ? s.n : max);
}

/* NULL without memory. */
static state *state_of(finder *f, cf_str agent)
{
    cf_str key = trail_agent_key(agent);
    size_t at = trail_find(&f->agents, key);
    if (at == TRAIL_NONE) {
        state *s = trail_push(&f->arena, &f->v, &f->n, sizeof *s);
        *s = (state){.step = TRAIL_NONE, .last_reply = TRAIL_NONE};
        at = f->n - 1;
        trail_put(&f->arena, &f->agents, key, at);
    }
    return f->arena.failed ? NULL : &f->v[at];
}

static const cf_trail_message *message_at(const finder *f, size_t at)
{
    return f->t->events[at].as.message;
}

/* The call that a result answers, or NULL. */
static struct called *call_of(const finder *f, cf_str id)
{
    size_t at = trail_find(&f->calls, id);
    return at < f->n_called ? &f->called[at] : NULL;
}

static void push_place(finder *f, size_t **v, size_t *n, size_t place)
{
    *(size_t *)trail_push(&f->arena, v, n, sizeof place) = place;
}

/* ---- repeated ------------------------------------------------------------ */

static void end_repeats(finder *f, state *s)
{
    for (size_t i = 0; i < s->n_again; i++) {
        const again *a = &s->again[i];
        size_t *copy = a->n < 3 ? NULL : cf_arena_alloc(&f->out->arena, a->n * sizeof *copy);
        if (copy != NULL) {
            cf_trail_finding *x = say(f, CF_TRAIL_REPEATED, a->at,
                                      "the same call of %.*s gave the same result %zu times",
                                      shown(a->name, 80), a->name.p, a->n);
            x->name = a->name;
            x->messages = memcpy(copy, a->messages, a->n * sizeof *copy);
            x->n_messages = a->n;
        }
    }
    s->n_again = 0;
    s->keys = (trail_index){0};
}

static cf_str key_of(finder *f, const cf_trail_call *c, const cf_trail_message *m)
{
    cf_buf b = CF_BUF_INIT;
    const cf_str parts[] = {c->name, c->arguments, m->text};
    cf_buf_addc(&b, m->is_error ? 'e' : 'o');
    for (size_t i = 0; i < 3; i++) {
        cf_buf_addf(&b, "%zu:", parts[i].n);
        cf_buf_add(&b, parts[i].p, parts[i].n);
    }
    return trail_hash(&f->arena, &b);
}

static void count_repeat(finder *f, state *s, const cf_trail_message *m, size_t at)
{
    struct called *c = call_of(f, m->call_id);
    if (c == NULL || c->is_counted) {
        return;
    }
    c->is_counted = true;
    cf_str key = key_of(f, c->call, m);
    size_t i = trail_find(&s->keys, key);
    if (i == TRAIL_NONE) {
        i = s->n_again;
        trail_put(&f->arena, &s->keys, key, i);
        again *a = trail_push(&f->arena, &s->again, &s->n_again, sizeof *a);
        *a = (again){.name = c->call->name};
    }
    if (!f->arena.failed) {
        push_place(f, &s->again[i].messages, &s->again[i].n, c->reply->n);
        s->again[i].at = at;
    }
}

/* ---- results ------------------------------------------------------------- */

static void check_invalid(finder *f, const cf_trail_message *m, size_t at)
{
    const char *why = trail_invalid_why(m, strcmp(f->t->format, "codex") == 0);
    const struct called *c = call_of(f, m->call_id);
    if (why == NULL) {
        return;
    }
    cf_str name = c != NULL ? c->call->name : cf_str_make("", 0);
    cf_trail_finding *x =
        say(f, CF_TRAIL_INVALID_CALL, at, "the call of %.*s was refused: %s", shown(name, 80),
            name.p, strcmp(why, "arguments") == 0 ? "its arguments are wrong" : why);
    x->message = c != NULL ? c->reply->n : m->n;
    x->name = name;
    x->why = why;
}

static void see_result(finder *f, state *s, const cf_trail_message *m, size_t at)
{
    if (call_of(f, m->call_id) == NULL) {
        cf_trail_finding *x =
            say(f, CF_TRAIL_NO_CALL, at, "message %zu is a result without a call", m->n);
        x->message = m->n;
    }
    check_invalid(f, m, at);
    count_repeat(f, s, m, at);
    if (m->is_error) {
        push_place(f, &s->failed, &s->n_failed, at);
    }
}

/* Errors before the next message of an agent that is not a result. */
static void see_after_errors(finder *f, state *s, const cf_trail_message *m)
{
    bool is_ignored =
        m->role == CF_TRAIL_ASSISTANT && m->n_calls == 0 && !trail_tells_failure(m->text);
    for (size_t i = 0; is_ignored && i < s->n_failed; i++) {
        cf_trail_finding *x = say(f, CF_TRAIL_ERROR_IGNORED, s->failed[i],
                                  "message %zu is an error, and reply %zu says nothing of it",
                                  message_at(f, s->failed[i])->n, m->n);
        x->message = message_at(f, s->failed[i])->n;
    }
    s->n_failed = 0;
}

/* ---- steps --------------------------------------------------------------- */

static void check_cache(finder *f, state *s, const cf_trail_step *now, size_t at)
{
    enum { SLACK = 1024 }; /* tokens; servers keep whole blocks */
    const cf_trail_step *was = s->step != TRAIL_NONE ? f->t->events[s->step].as.step : NULL;
    int64_t had = was != NULL ? cf_trail_prompt(&was->used) : 0;
    if (!f->has_cache || was == NULL || !cf_str_eq(was->model, now->model) ||
        cf_trail_prompt(&now->used) < had || now->used.cache_read + SLACK >= had) {
        return;
    }
    cf_trail_finding *x = say(f, CF_TRAIL_CACHE_LOST, at,
                              "step %zu kept %lld of the %lld tokens that step %zu had sent",
                              now->n, (long long)now->used.cache_read, (long long)had, was->n);
    x->step = now->n;
    x->tokens = had;
    x->limit = now->used.cache_read;
}

/* What the proxy found: also why the cache was lost, which it alone knows. */
static bool see_notes(finder *f, const cf_trail_step *now, size_t at)
{
    bool has_cache = false;
    for (size_t i = 0; i < now->n_notes; i++) {
        const cf_trail_note *note = &now->notes[i];
        bool is_cache = cf_str_is(note->kind, "cache-lost");
        cf_trail_finding *x = say(f, is_cache ? CF_TRAIL_CACHE_LOST : CF_TRAIL_RECORDED, at, "%.*s",
                                  shown(note->text, 390), note->text.p);
        has_cache = has_cache || is_cache;
        x->name = note->kind;
        x->message = note->message != NULL ? note->message->n : 0;
        x->step = is_cache ? now->n : 0;
        x->tokens = note->had;
        x->limit = note->kept;
    }
    return has_cache;
}

static void check_window(finder *f, state *s, const cf_trail_step *now, size_t at)
{
    int64_t window = cf_trail_window(now->model),
            tokens = cf_trail_prompt(&now->used) + now->used.output;
    if (window == 0 || s->is_full_said || tokens < window / 10 * 9) {
        return;
    }
    s->is_full_said = true;
    cf_trail_finding *x = say(f, CF_TRAIL_NEARLY_FULL, at, "step %zu fills %lld of %lld tokens",
                              now->n, (long long)tokens, (long long)window);
    x->step = now->n;
    x->tokens = tokens;
    x->limit = window;
}

static void see_step(finder *f, state *s, size_t at)
{
    const cf_trail_step *now = f->t->events[at].as.step;
    if (!see_notes(f, now, at)) {
        check_cache(f, s, now, at);
    }
    check_window(f, s, now, at);
    if (cf_str_is(now->stop, "max_tokens") || cf_str_is(now->stop, "length")) {
        size_t n = now->message != NULL ? now->message->n : 0;
        cf_trail_finding *x =
            say(f, CF_TRAIL_CUT_REPLY, at, "reply %zu was cut at the limit of its length", n);
        x->message = n;
    }
    s->step = at;
}

/* ---- compactions --------------------------------------------------------- */

static void see_compaction(finder *f, state *s, size_t at)
{
    const cf_trail_compaction *c = f->t->events[at].as.compaction;
    cf_trail_sentences all = {.n = 0};
    cf_str *lost = NULL;
    size_t n = 0;
    for (size_t i = 0; i < s->n_users; i++) {
        trail_sentences_add(&all, s->users[i]);
    }
    trail_sentences_judge(&all, c);
    for (size_t i = 0; i < all.n; i++) {
        if (all.v[i].fate == CF_TRAIL_GONE) {
            *(cf_str *)trail_push(&f->out->arena, &lost, &n, sizeof *lost) = all.v[i].text;
        }
    }
    if (n != 0) {
        cf_trail_finding *x =
            say(f, CF_TRAIL_COMPACTED, at,
                "the compaction after message %zu lost %zu %s that the user wrote: \"%.*s\"",
                c->before, n, n == 1 ? "sentence" : "sentences", shown(lost[0], 120), lost[0].p);
        x->message = c->before;
        x->lost = lost;
        x->n_lost = n;
    }
    f->arena.failed = f->arena.failed || all.arena.failed;
    cf_trail_sentences_deinit(&all);
    s->n_users = 0;
    s->step = TRAIL_NONE;
    s->is_full_said = false;
}

/* ---- the pass ------------------------------------------------------------ */

static void see_message(finder *f, state *s, size_t at)
{
    const cf_trail_message *m = message_at(f, at);
    if (m->role == CF_TRAIL_TOOL) {
        see_result(f, s, m, at);
        return;
    }
    see_after_errors(f, s, m);
    if (m->role == CF_TRAIL_ASSISTANT) {
        s->last_reply = at;
    } else if (m->role == CF_TRAIL_USER && !m->is_meta) {
        end_repeats(f, s);
        *(const cf_trail_message **)trail_push(&f->arena, &s->users, &s->n_users, sizeof m) = m;
    }
}

static void see_event(finder *f, size_t at)
{
    const cf_trail_event *e = &f->t->events[at];
    state *s = e->is_branch ? NULL : state_of(f, e->agent);
    if (s == NULL) {
        return;
    }
    if (e->kind == CF_TRAIL_MESSAGE) {
        see_message(f, s, at);
    } else if (e->kind == CF_TRAIL_STEP) {
        see_step(f, s, at);
    } else if (e->kind == CF_TRAIL_COMPACTION) {
        see_compaction(f, s, at);
    }
}

/* What is known before the pass: calls, results, whether caches are told. */
static void index_all(finder *f)
{
    for (size_t i = 0; i < f->t->n_events; i++) {
        const cf_trail_event *e = &f->t->events[i];
        if (e->kind == CF_TRAIL_STEP) {
            const cf_trail_usage *u = &e->as.step->used;
            f->has_cache = f->has_cache || u->cache_read != 0 || u->cache_creation != 0;
        }
        if (e->kind != CF_TRAIL_MESSAGE) {
            continue;
        }
        const cf_trail_message *m = e->as.message;
        for (size_t k = 0; k < m->n_calls; k++) {
            trail_put(&f->arena, &f->calls, m->calls[k].id, f->n_called);
            struct called *c = trail_push(&f->arena, &f->called, &f->n_called, sizeof *c);
            *c = (struct called){m, &m->calls[k], false};
        }
        if (m->role == CF_TRAIL_TOOL && !e->is_branch) {
            trail_put(&f->arena, &f->results, m->call_id, i);
        }
    }
}

static void check_unanswered(finder *f, size_t at)
{
    const cf_trail_event *e = &f->t->events[at];
    const state *s = e->is_branch || e->kind != CF_TRAIL_MESSAGE ? NULL : state_of(f, e->agent);
    for (size_t k = 0; s != NULL && s->last_reply != at && k < e->as.message->n_calls; k++) {
        const cf_trail_call *c = &e->as.message->calls[k];
        if (trail_find(&f->results, c->id) != TRAIL_NONE) {
            continue;
        }
        cf_trail_finding *x =
            say(f, CF_TRAIL_NO_RESULT, at, "the call of %.*s in reply %zu has no result",
                shown(c->name, 80), c->name.p, e->as.message->n);
        x->message = e->as.message->n;
        x->name = c->name;
    }
}

/* Replies with calls whose reasoning a later request lacks, each once. */
static void check_reasoning(finder *f, size_t at, trail_index *said)
{
    const cf_trail_event *e = &f->t->events[at];
    for (size_t i = 0; e->kind == CF_TRAIL_STEP && !e->is_branch && i < e->as.step->n_not_returned;
         i++) {
        const cf_trail_message *m = e->as.step->not_returned[i];
        cf_str key = cf_str_make((const char *)&e->as.step->not_returned[i], sizeof m);
        if (m->n_calls == 0 || trail_find(said, key) != TRAIL_NONE) {
            continue;
        }
        trail_put(&f->arena, said, key, 1);
        cf_trail_finding *x =
            say(f, CF_TRAIL_REASONING_NOT_RETURNED, at,
                "the reasoning of reply %zu was not sent back with step %zu", m->n, e->as.step->n);
        x->message = m->n;
    }
}

static void check_agent(finder *f, size_t at)
{
    const cf_trail_event *e = &f->t->events[at];
    if (e->kind != CF_TRAIL_AGENT || e->is_branch) {
        return;
    }
    cf_str call = e->as.agent->parent_call;
    size_t result = trail_find(&f->results, call), is_used = trail_find(&f->used, call);
    state *parent = result != TRAIL_NONE ? state_of(f, f->t->events[result].agent) : NULL;
    if (parent != NULL && is_used == TRAIL_NONE) { /* once, however many agents name this call */
        is_used = trail_words_used(&f->arena, &parent->words, message_at(f, result)->text, result);
        trail_put(&f->arena, &f->used, call, is_used);
    }
    if (parent == NULL || is_used != 0) {
        return;
    }
    cf_trail_finding *x = say(f, CF_TRAIL_AGENT_UNUSED, at,
                              "nothing that the sub-agent %.*s found is in a later reply",
                              shown(e->as.agent->title, 80), e->as.agent->title.p);
    x->agent = e->as.agent->id;
}

/* Gathers the words that sub-agents found, and where their parents have them. */
static void read_words(finder *f)
{
    for (size_t i = 0; i < f->t->n_events; i++) {
        const cf_trail_event *e = &f->t->events[i];
        size_t at = e->kind == CF_TRAIL_AGENT && !e->is_branch
                        ? trail_find(&f->results, e->as.agent->parent_call)
                        : TRAIL_NONE;
        bool is_new =
            at != TRAIL_NONE && trail_find(&f->wanted, e->as.agent->parent_call) == TRAIL_NONE;
        state *parent = is_new ? state_of(f, f->t->events[at].agent) : NULL;
        if (parent != NULL) {
            trail_put(&f->arena, &f->wanted, e->as.agent->parent_call, at);
            trail_words_want(&f->arena, &parent->words, message_at(f, at)->text);
        }
    }
    for (size_t i = 0; i < f->t->n_events; i++) {
        const cf_trail_event *e = &f->t->events[i];
        state *s = e->kind == CF_TRAIL_MESSAGE && !e->is_branch ? state_of(f, e->agent) : NULL;
        if (s != NULL && s->words.n != 0 && e->as.message->role != CF_TRAIL_TOOL) {
            trail_words_see(&f->arena, &s->words, e->as.message, i);
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const cf_trail_finding *x = a, *y = b;
    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    return x->kind != y->kind        ? (int)x->kind - (int)y->kind
           : x->message < y->message ? -1
                                     : x->message > y->message;
}

cf_status cf_trail_find(cf_trail_findings *out, const cf_trail *t, cf_error *err)
{
    *out = (cf_trail_findings){.n = 0};
    finder f = {.out = out, .t = t};
    trail_index said = {0};
    index_all(&f);
    for (size_t i = 0; i < t->n_events; i++) {
        see_event(&f, i);
    }
    for (size_t i = 0; i < f.n; i++) {
        end_repeats(&f, &f.v[i]);
    }
    read_words(&f);
    for (size_t i = 0; i < t->n_events; i++) {
        check_unanswered(&f, i);
        check_reasoning(&f, i, &said);
        check_agent(&f, i);
    }
    bool failed = f.arena.failed || out->arena.failed;
    cf_arena_deinit(&f.arena);
    if (failed) {
        cf_trail_findings_deinit(out);
        return cf_oom(err);
    }
    if (out->n > 1) {
        qsort(out->v, out->n, sizeof *out->v, by_place);
    }
    return CF_OK;
}

void cf_trail_findings_deinit(cf_trail_findings *f)
{
    cf_arena_deinit(&f->arena);
    *f = (cf_trail_findings){.n = 0};
}
