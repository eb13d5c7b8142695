/*
 * trail_find.c - faults that a trail shows, by the rules of docs/sessions.md.
 *
 * One pass over the events with a state for each agent; branches never count.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/trail/trail_rules.h"

/* The same call with the same result since the user last wrote. */
typedef struct again {
    cf_str key; /* in the findings' arena */
    cf_str name;
    size_t *messages; /* [n], heap */
    size_t n, cap, at;
} again;

typedef struct state {
    cf_str id;
    size_t step, last_reply;        /* places; TRAIL_NONE: none */
    const cf_trail_message **users; /* [n_users], heap; since the last compaction */
    size_t n_users, cap_users;
    size_t *failed; /* [n_failed], heap; results that wait for the next message */
    size_t n_failed, cap_failed;
    again *again; /* [n_again], heap */
    size_t n_again, cap_again;
    trail_index keys;
    trail_words words; /* of the results of sub-agents that it began */
    bool is_full_said;
} state;

typedef struct finder {
    cf_trail_findings *out;
    const cf_trail *t;
    state *v; /* [n], heap */
    size_t n, cap;
    trail_reader r;                     /* its `failed` alone */
    trail_index agents, results, calls; /* calls: id -> place in `called` */
    struct called {
        const cf_trail_message *reply;
        const cf_trail_call *call;
        bool is_counted; /* its first result */
    } * called;          /* [n_called], heap */
    size_t n_called;
    bool has_cache;
} finder;

/* A finding with its sentence. */
static CF_PRINTF(4, 5) cf_trail_finding *say(finder *f, cf_trail_finding_kind kind, size_t at,
                                             const char *format, ...)
{
    static _Thread_local cf_trail_finding spare;
    va_list args;
    char text[400];
    if (!cf_grow(&f->out->v, &f->out->cap, f->out->n + 1, sizeof *f->out->v)) {
        f->r.failed = true;
        return &spare;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t n = strlen(text);
    const char *p = cf_arena_strndup(&f->out->arena, text, n);
    cf_trail_finding *x = &f->out->v[f->out->n++];
    *x =
        (cf_trail_finding){.kind = kind, .at = at, .text = {p != NULL ? p : "", p != NULL ? n : 0}};
    return x;
}

/* How much of a text a sentence shows. */
static int shown(cf_str s, size_t max)
{
    return (int)(s.n < max ? s.n : max);
}

static state *state_of(finder *f, cf_str agent)
{
    cf_str key = trail_agent_key(agent);
    size_t at = trail_find(&f->agents, key);
    if (at == TRAIL_NONE) {
        if (!cf_grow(&f->v, &f->cap, f->n + 1, sizeof *f->v)) {
            f->r.failed = true;
            return NULL;
        }
        f->v[f->n] = (state){.id = agent, .step = TRAIL_NONE, .last_reply = TRAIL_NONE};
        trail_put(&f->r, &f->agents, key, f->n);
        at = f->n++;
    }
    return &f->v[at];
}

static const cf_trail_message *message_at(const finder *f, size_t at)
{
    return f->t->events[at].as.message;
}

/* The call that a result answers, or NULL. */
static struct called *call_of(const finder *f, cf_str id)
{
    size_t at = trail_find(&f->calls, id);
    return at != TRAIL_NONE ? &f->called[at] : NULL;
}

/* ---- repeated ------------------------------------------------------------ */

static void say_repeated(finder *f, const again *a)
{
    size_t *copy = cf_arena_alloc(&f->out->arena, a->n * sizeof *copy);
    if (a->n < 3 || copy == NULL) {
        return;
    }
    cf_trail_finding *x =
        say(f, CF_TRAIL_REPEATED, a->at, "the same call of %.*s gave the same result %zu times",
            shown(a->name, 80), a->name.p, a->n);
    memcpy(copy, a->messages, a->n * sizeof *copy);
    x->name = a->name;
    x->messages = copy;
    x->n_messages = a->n;
}

static void end_repeats(finder *f, state *s)
{
    for (size_t i = 0; i < s->n_again; i++) {
        say_repeated(f, &s->again[i]);
        cf_free(s->again[i].messages);
    }
    s->n_again = 0;
    trail_index_free(&s->keys);
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
    f->r.failed = f->r.failed || b.failed;
    char hex[CF_HASH_TEXT + 1];
    cf_hash_hex(hex, b.p, b.n);
    cf_buf_deinit(&b);
    const char *p = cf_arena_strndup(&f->out->arena, hex, CF_HASH_TEXT);
    return cf_str_make(p, p != NULL ? CF_HASH_TEXT : 0);
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
        if (!cf_grow(&s->again, &s->cap_again, s->n_again + 1, sizeof *s->again)) {
            f->r.failed = true;
            return;
        }
        i = s->n_again++;
        s->again[i] = (again){.key = key, .name = c->call->name};
        trail_put(&f->r, &s->keys, key, i);
    }
    again *a = &s->again[i];
    if (cf_grow(&a->messages, &a->cap, a->n + 1, sizeof *a->messages)) {
        a->messages[a->n++] = c->reply->n;
        a->at = at;
    } else {
        f->r.failed = true;
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
    if (!m->is_error) {
        return;
    }
    if (cf_grow(&s->failed, &s->cap_failed, s->n_failed + 1, sizeof *s->failed)) {
        s->failed[s->n_failed++] = at;
    } else {
        f->r.failed = true;
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

static int64_t prompt_of(const cf_trail_step *s)
{
    return s->input + s->cache_read + s->cache_creation;
}

static void check_cache(finder *f, state *s, const cf_trail_step *now, size_t at)
{
    enum { SLACK = 1024 }; /* tokens; servers keep whole blocks */
    const cf_trail_step *was = s->step != TRAIL_NONE ? f->t->events[s->step].as.step : NULL;
    if (!f->has_cache || was == NULL || !cf_str_eq(was->model, now->model) ||
        prompt_of(now) < prompt_of(was) || now->cache_read + SLACK >= prompt_of(was)) {
        return;
    }
    cf_trail_finding *x = say(
        f, CF_TRAIL_CACHE_LOST, at, "step %zu kept %lld of the %lld tokens that step %zu had sent",
        now->n, (long long)now->cache_read, (long long)prompt_of(was), was->n);
    x->step = now->n;
    x->tokens = prompt_of(was);
    x->limit = now->cache_read;
}

static void check_window(finder *f, state *s, const cf_trail_step *now, size_t at)
{
    int64_t window = cf_trail_window(now->model), tokens = prompt_of(now) + now->output;
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
    check_cache(f, s, now, at);
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

/* The sentences that are gone, in the findings' arena. */
static cf_str *lost_of(finder *f, const cf_trail_sentences *all, size_t *n)
{
    cf_str *v = cf_arena_alloc(&f->out->arena, (all->n + 1) * sizeof *v);
    *n = 0;
    for (size_t i = 0; v != NULL && i < all->n; i++) {
        if (all->v[i].fate == CF_TRAIL_GONE) {
            v[(*n)++] = all->v[i].text;
        }
    }
    return v;
}

static void say_compacted(finder *f, const cf_trail_compaction *c, const cf_trail_sentences *all,
                          size_t at)
{
    size_t n;
    const cf_str *lost = lost_of(f, all, &n);
    if (n == 0) {
        return;
    }
    cf_trail_finding *x =
        say(f, CF_TRAIL_COMPACTED, at,
            "the compaction after message %zu lost %zu %s that the user wrote: \"%.*s\"", c->before,
            n, n == 1 ? "sentence" : "sentences", shown(lost[0], 120), lost[0].p);
    x->message = c->before;
    x->lost = lost;
    x->n_lost = n;
}

static void see_compaction(finder *f, state *s, size_t at)
{
    const cf_trail_compaction *c = f->t->events[at].as.compaction;
    cf_trail_sentences all = {0};
    trail_after after;
    trail_after_init(&after, c);
    for (size_t i = 0; i < s->n_users; i++) {
        trail_sentences_add(&all, &after, s->users[i]);
    }
    f->r.failed = f->r.failed || after.failed;
    say_compacted(f, c, &all, at);
    trail_after_deinit(&after);
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
        if (cf_grow(&s->users, &s->cap_users, s->n_users + 1, sizeof *s->users)) {
            s->users[s->n_users++] = m;
        } else {
            f->r.failed = true;
        }
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
            f->has_cache =
                f->has_cache || e->as.step->cache_read != 0 || e->as.step->cache_creation != 0;
        }
        if (e->kind != CF_TRAIL_MESSAGE) {
            continue;
        }
        const cf_trail_message *m = e->as.message;
        for (size_t k = 0; k < m->n_calls; k++) {
            f->called[f->n_called] = (struct called){m, &m->calls[k], false};
            trail_put(&f->r, &f->calls, m->calls[k].id, f->n_called++);
        }
        if (m->role == CF_TRAIL_TOOL && !e->is_branch) {
            trail_put(&f->r, &f->results, m->call_id, i);
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
        trail_put(&f->r, said, key, 1);
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
    size_t result = trail_find(&f->results, e->as.agent->parent_call);
    state *parent = result != TRAIL_NONE ? state_of(f, f->t->events[result].agent) : NULL;
    if (parent == NULL ||
        trail_words_used(&f->r, &parent->words, message_at(f, result)->text, result)) {
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
        state *parent = at != TRAIL_NONE ? state_of(f, f->t->events[at].agent) : NULL;
        if (parent != NULL) {
            trail_words_want(&f->r, &parent->words, message_at(f, at)->text);
        }
    }
    for (size_t i = 0; i < f->t->n_events; i++) {
        const cf_trail_event *e = &f->t->events[i];
        state *s = e->kind == CF_TRAIL_MESSAGE && !e->is_branch ? state_of(f, e->agent) : NULL;
        if (s != NULL && s->words.n != 0 && e->as.message->role != CF_TRAIL_TOOL) {
            trail_words_see(&f->r, &s->words, e->as.message, i);
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

static void free_states(finder *f)
{
    for (size_t i = 0; i < f->n; i++) {
        end_repeats(f, &f->v[i]);
        cf_free(f->v[i].users);
        cf_free(f->v[i].failed);
        cf_free(f->v[i].again);
        trail_words_free(&f->v[i].words);
    }
    cf_free(f->v);
    cf_free(f->called);
    trail_index_free(&f->agents);
    trail_index_free(&f->results);
    trail_index_free(&f->calls);
}

cf_status cf_trail_find(cf_trail_findings *out, const cf_trail *t, cf_error *err)
{
    *out = (cf_trail_findings){.n = 0};
    cf_arena_init(&out->arena, 0);
    finder f = {.out = out, .t = t};
    trail_index said = {0};
    f.called = cf_alloc((t->n_calls + 1) * sizeof *f.called);
    if (f.called == NULL) {
        return cf_oom(err);
    }
    index_all(&f);
    for (size_t i = 0; i < t->n_events; i++) {
        see_event(&f, i);
    }
    read_words(&f);
    for (size_t i = 0; i < t->n_events; i++) {
        check_unanswered(&f, i);
        check_reasoning(&f, i, &said);
        check_agent(&f, i);
    }
    trail_index_free(&said);
    free_states(&f);
    if (f.r.failed || out->arena.failed) {
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
    cf_free(f->v);
    *f = (cf_trail_findings){.n = 0};
}
