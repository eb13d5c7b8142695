/*
 * diff_queue.c - questions, their keys, and the workers that ask them.
 *
 * Always true:
 *   1. Questions 2k and 2k + 1 are both sides of one reply; a conversation's
 *      are next to each other.
 *   2. An answer is in the history, or counted as unsaved, before its question
 *      is done.
 *   3. Conversations 0 .. n_told are done and were reported.
 *   4. `seat` w * n_models + p is used by worker w only, and asks model p.
 */
#include "tui/lab/compare/diff_queue.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "core/api/work_queue.h"
#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "tui/lab/talk/saved.h"

enum { N_TRIES = 8, BACKOFF_MS = 200, ROUNDS = 6, WAIT_MAX_S = 60 };

typedef struct question {
    size_t row;
    uint32_t reply;
    int side;
    bool is_written; /* the reply answered a prompt of this side's template */
    bool is_asked;   /* else it is left out, and `why` says why */
    bool is_done, has_failed;
    char key[CF_HASH_TEXT + 1];
    size_t n;
    double sum;
    char *why; /* NULL: none */
} question;

typedef struct row {
    cf_uuid id, head;
    size_t first, n; /* questions */
    size_t n_open;   /* that are not done */
} row;

/* What a worker asks one model with. */
typedef struct seat {
    bool is_open;
    cf_diff_pair pair;
    cf_opened opened;
    cf_scorer scorer;
} seat;

struct cf_diff_queue {
    cf_diff_queue_options o;
    char model[300]; /* in keys */
    bool is_remote;
    seat *seat; /* [n_workers * o.n_models] */
    size_t n_seats;
    question *q;
    size_t n, cap;
    row *rows;
    size_t n_rows, cap_rows;
    /* While it runs. */
    size_t *job; /* [n_jobs] questions that are asked */
    cf_str *key; /* [n_jobs] */
    size_t n_jobs, n_done, n_told;
    const cf_diff_queue_calls *calls;
    atomic_size_t n_unsaved;
    char unsaved_why[120];
};

/* ---- seats -------------------------------------------------------------- */

static cf_open_options options_of(const cf_diff_queue *q, size_t place)
{
    cf_open_options o = q->o.open;
    if (place < q->o.n_models) {
        o.model = q->o.models[place];
    }
    return o;
}

static void close_seat(seat *s)
{
    cf_scorer_deinit(&s->scorer);
    cf_opened_close(&s->opened);
    cf_diff_pair_close(&s->pair);
    *s = (seat){.is_open = false};
}

static cf_status open_seat(const cf_diff_queue *q, seat *s, size_t place, cf_error *err)
{
    const cf_open_options o = options_of(q, place);
    if (s->is_open) {
        return CF_OK;
    }
    cf_status st = cf_open_backend(&s->opened, &o, NULL, err);
    CF_THEN(st, cf_diff_pair_open(&s->pair, &o, false, q->o.a, q->o.b, err));
    s->pair.as_is = q->o.as_is;
    CF_THEN(st, cf_scorer_init(&s->scorer, &s->pair, s->opened.backend, q->o.cancel, err));
    s->is_open = st == CF_OK;
    if (st != CF_OK) {
        close_seat(s);
    }
    return st;
}

/* ---- the model's name --------------------------------------------------- */

static bool is_cancelled(const cf_diff_queue *q)
{
    return q->o.cancel != NULL && atomic_load(q->o.cancel);
}

static void wait_s(const cf_diff_queue *q, uint32_t s)
{
    const struct timespec slice = {0, 20000000};
    for (uint32_t i = 0; i < s * 50 && !is_cancelled(q); i++) {
        nanosleep(&slice, NULL);
    }
}

/* Has one server say what it is. */
static cf_status ask_name(cf_diff_queue *q, size_t place, cf_backend_trouble *trouble,
                          cf_error *err)
{
    const cf_open_options o = options_of(q, place);
    const cf_remote_options remote = {.key = o.key, .model = o.server_model};
    cf_backend *b;
    CF_TRY(cf_backend_remote_new(&b, o.model, &remote, err));
    cf_status st = cf_backend_ask(b, q->o.cancel, err);
    *trouble = cf_backend_last_trouble(b);
    if (st == CF_OK) {
        cf_str name = cf_backend_get_info(b).model;
        snprintf(q->model, sizeof q->model, "%.*s", (int)(name.n < sizeof q->model ? name.n : 0),
                 name.p);
    }
    cf_backend_free(b);
    return st;
}

/* Goes round the addresses until one answers. */
static cf_status name_servers(cf_diff_queue *q, cf_error *err)
{
    cf_status st = CF_OK;
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool is_busy = false;
        uint32_t pause_s = WAIT_MAX_S;
        for (size_t i = 0; i < q->o.n_models; i++) {
            cf_backend_trouble t;
            st = ask_name(q, i, &t, err);
            if (st == CF_OK || st == CF_ENOMEM || st == CF_ECANCELLED) {
                return st;
            }
            if (t.is_busy) {
                uint32_t s = t.retry_after_s > 0 ? t.retry_after_s : 1;
                pause_s = s < pause_s ? s : pause_s;
                is_busy = true;
            }
        }
        if (!is_busy) {
            break; /* nobody is there */
        }
        wait_s(q, pause_s);
    }
    return st;
}

static cf_status name_engine(cf_diff_queue *q, cf_error *err)
{
    CF_TRY(open_seat(q, &q->seat[0], 0, err));
    char hash[CF_HASH_TEXT + 1];
    cf_engine_hash(q->seat[0].opened.engine, hash);
    const char *by = cf_engine_get_info(q->seat[0].opened.engine).engine;
    snprintf(q->model, sizeof q->model, "%s%s%s%s%s", hash, strcmp(by, "own") != 0 ? by : "",
             q->o.open.arithmetic == CF_ARITHMETIC_EXACT ? " exact"
             : q->o.open.arithmetic == CF_ARITHMETIC_8   ? " 8 bits"
                                                         : "",
             q->o.open.cache != CF_CACHE_DEFAULT ? " cache " : "", cf_cache_name(q->o.open.cache));
    return CF_OK;
}

/* ---- making one --------------------------------------------------------- */

static bool is_address(const char *model)
{
    return model != NULL &&
           (strncmp(model, "http://", 7) == 0 || strncmp(model, "https://", 8) == 0);
}

static size_t n_workers(const cf_diff_queue *q)
{
    size_t n = q->o.jobs != 0 ? q->o.jobs : q->o.n_models * CF_DIFF_QUEUE_JOBS;
    n = n < CF_WORK_WORKERS_MAX ? n : CF_WORK_WORKERS_MAX;
    return q->is_remote && n > 0 ? n : 1; /* an engine has one timeline a side */
}

cf_status cf_diff_queue_new(cf_diff_queue **out, const cf_diff_queue_options *options,
                            cf_error *err)
{
    cf_diff_queue *q = cf_calloc(1, sizeof *q);
    if (q == NULL) {
        return cf_oom_for(err, "the queue");
    }
    q->o = *options;
    q->is_remote = options->n_models > 0;
    for (size_t i = 0; i < options->n_models; i++) {
        q->is_remote = q->is_remote && is_address(options->models[i]);
    }
    cf_status st = CF_OK;
    if (options->n_models > 1 && !q->is_remote) {
        st = cf_fail(err, CF_EINVAL, "several models must be servers");
    } else if (options->n_models > CF_WORK_PLACES_MAX) {
        st = cf_fail(err, CF_EINVAL, "at most %d addresses", CF_WORK_PLACES_MAX);
    }
    if (st == CF_OK) {
        size_t n_places = options->n_models > 0 ? options->n_models : 1;
        q->n_seats = n_workers(q) * n_places;
        q->seat = cf_calloc(q->n_seats, sizeof *q->seat);
        st = q->seat == NULL ? cf_oom_for(err, "the queue")
             : q->is_remote  ? name_servers(q, err)
                             : name_engine(q, err);
    }
    if (st != CF_OK) {
        cf_diff_queue_free(q);
        return st;
    }
    *out = q;
    return CF_OK;
}

void cf_diff_queue_free(cf_diff_queue *q)
{
    if (q == NULL) {
        return;
    }
    for (size_t i = 0; q->seat != NULL && i < q->n_seats; i++) {
        close_seat(&q->seat[i]);
    }
    for (size_t i = 0; i < q->n; i++) {
        cf_free(q->q[i].why);
    }
    cf_free(q->seat);
    cf_free(q->q);
    cf_free(q->rows);
    cf_free(q->job);
    cf_free(q->key);
    cf_free(q);
}

/* ---- questions ---------------------------------------------------------- */

static cf_status make_key(const cf_diff_queue *q, const cf_score_text *t, question *to,
                          cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_addf(&b, "likelihood 1\n%s\n%zu\n", q->model, t->prompt.n);
    cf_buf_add(&b, t->prompt.p, t->prompt.n);
    cf_buf_add(&b, t->reply.p, t->reply.n);
    cf_status st = cf_buf_check(&b, err);
    if (st == CF_OK) {
        cf_hash_hex(to->key, b.p, b.n);
    }
    cf_buf_deinit(&b);
    return st;
}

/* Whether the history says that this template made the reply's prompt. */
static bool is_written_with(const cf_diff_queue *q, cf_str source, cf_uuid turn, cf_arena *arena)
{
    char hash[CF_HASH_TEXT + 1];
    cf_store_turn t;
    cf_error ignored;
    cf_hash_hex(hash, source.p, source.n);
    return cf_store_get_turn(q->o.store, turn, arena, &t, &ignored) == CF_OK && t.run != NULL &&
           cf_str_is(t.run->template_hash, hash);
}

static cf_status add_question(cf_diff_queue *q, const cf_diff_pair *pair, cf_conversation *conv,
                              question *to, cf_error *err)
{
    cf_arena arena;
    cf_score_text t;
    cf_error why = {0};
    cf_arena_init(&arena, 0);
    cf_status st = cf_scorer_text(pair, to->side, conv, to->reply, NULL, &arena, &t, &why);
    if (st == CF_OK) {
        to->is_asked = true;
        to->is_written = is_written_with(q, cf_diff_pair_source(pair, to->side), t.turn, &arena);
        st = make_key(q, &t, to, &why);
    } else if (st != CF_ENOMEM && st != CF_ECANCELLED) {
        to->why = cf_strdup(why.text);
        to->is_done = true;
        st = CF_OK;
    }
    cf_arena_deinit(&arena);
    if (st != CF_OK) {
        *err = why;
    }
    return st;
}

cf_status cf_diff_queue_add(cf_diff_queue *q, const cf_diff_pair *pair, cf_uuid id, cf_uuid head,
                            cf_conversation *conv, cf_error *err)
{
    size_t n_replies;
    CF_TRY(cf_scorer_count(conv, &n_replies, err));
    if (!cf_grow(&q->q, &q->cap, q->n + 2 * n_replies, sizeof *q->q) ||
        !cf_grow(&q->rows, &q->cap_rows, q->n_rows + 1, sizeof *q->rows)) {
        return cf_oom_for(err, "the queue");
    }
    row *r = &q->rows[q->n_rows];
    *r = (row){.id = id, .head = head, .first = q->n};
    for (size_t i = 0; i < 2 * n_replies; i++) {
        question *to = &q->q[q->n];
        *to = (question){.row = q->n_rows, .reply = (uint32_t)(i / 2), .side = (int)(i % 2)};
        CF_TRY(add_question(q, pair, conv, to, err));
        r->n_open += !to->is_done;
        q->n++;
        r->n++;
    }
    q->n_rows++;
    return CF_OK;
}

/* ---- answers ------------------------------------------------------------ */

/* {"n": tokens, "sum": logarithms} */
static bool read_answer(question *to, const json_t *v)
{
    const json_t *n = json_object_get(v, "n");
    const json_t *sum = json_object_get(v, "sum");
    if (!json_is_integer(n) || !json_is_number(sum)) {
        return false;
    }
    to->n = (size_t)json_integer_value(n);
    to->sum = json_number_value(sum);
    return true;
}

static bool is_known(const cf_diff_queue *q, question *to)
{
    cf_arena arena;
    cf_str text;
    cf_error ignored;
    json_t *v = NULL;
    cf_arena_init(&arena, 0);
    bool has =
        cf_store_get_cell(q->o.store, cf_str_from(to->key), &arena, &text, &ignored) == CF_OK &&
        cf_json_read(&v, text.p, text.n, &ignored) == CF_OK && read_answer(to, v);
    json_decref(v);
    cf_arena_deinit(&arena);
    return has;
}

static void add_reply(const question *v, cf_diff_queue_row *to)
{
    cf_reply_score s = {.is_once = false};
    for (int i = 0; i < 2; i++) {
        s.has[i] = v[i].is_asked && !v[i].has_failed;
        s.n[i] = v[i].n;
        s.sum[i] = v[i].sum;
        to->n_failed += v[i].has_failed;
        to->why = v[i].why != NULL ? v[i].why : to->why;
    }
    cf_score_sum_add(&to->sum, &s);
    for (int i = 0; i < 2 && s.has[0] && s.has[1]; i++) {
        to->n_written[i] += v[i].is_written;
    }
}

/* Reports the conversations whose turn it is. */
static void tell(cf_diff_queue *q)
{
    while (q->n_told < q->n_rows && q->rows[q->n_told].n_open == 0) {
        const row *r = &q->rows[q->n_told];
        cf_diff_queue_row result = {.why = NULL};
        for (size_t i = 0; i < r->n; i += 2) {
            add_reply(&q->q[r->first + i], &result);
        }
        q->calls->fn(q->calls->ud, q->n_told++, &result);
    }
}

static void end_question(cf_diff_queue *q, question *to)
{
    to->is_done = true;
    q->rows[to->row].n_open--;
    q->n_done++;
    if (q->calls->progress != NULL) {
        q->calls->progress(q->calls->ud, q->n_done, q->n);
    }
}

/* ---- asking, on a worker's thread --------------------------------------- */

static cf_status score(const cf_diff_queue *q, seat *s, const question *to, size_t *n, double *sum,
                       cf_error *err)
{
    const row *r = &q->rows[to->row];
    const cf_saved_choice choice = {.conversation = r->id, .turn = r->head, .has_raw = true};
    cf_conversation *conv = NULL;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st = cf_saved_load(&conv, NULL, q->o.store, &choice, &arena, err);
    CF_THEN(st, cf_scorer_one(&s->scorer, to->side, conv, to->reply, NULL, n, sum, err));
    cf_conversation_free(conv);
    cf_arena_deinit(&arena);
    if (st == CF_OK && !isfinite(*sum)) {
        st = cf_fail(err, CF_EFORMAT, "the likelihood is not a number");
    }
    return st;
}

/* How a failure goes on. */
static void set_again(const seat *s, cf_work_try *t)
{
    if (s->scorer.server == NULL) {
        return;
    }
    cf_backend_trouble trouble = cf_backend_last_trouble(s->scorer.server);
    t->again = trouble.is_away ? CF_WORK_LOST : trouble.is_busy ? CF_WORK_RETRY : CF_WORK_NEVER;
    t->retry_after_s = trouble.retry_after_s;
}

static void keep(cf_diff_queue *q, const question *to, const cf_buf *answer)
{
    cf_error err;
    if (cf_store_put_cell(q->o.store, cf_str_from(to->key), cf_buf_str(answer), &err) != CF_OK &&
        atomic_fetch_add(&q->n_unsaved, 1) == 0) {
        snprintf(q->unsaved_why, sizeof q->unsaved_why, "%.110s", err.text);
    }
}

static cf_status try_one(void *ud, cf_work_try *t, cf_error *err)
{
    cf_diff_queue *q = ud;
    const question *to = &q->q[q->job[t->job]];
    size_t n_places = q->o.n_models > 0 ? q->o.n_models : 1;
    seat *s = &q->seat[t->worker * n_places + t->place];
    size_t n = 0;
    double sum = 0;
    CF_TRY(open_seat(q, s, t->place, err));
    cf_status st = score(q, s, to, &n, &sum, err);
    if (st != CF_OK) {
        set_again(s, t);
        return st;
    }
    cf_buf_addf(t->result, "{\"n\":%zu,\"sum\":%.17g}", n, sum);
    keep(q, to, t->result);
    return CF_OK;
}

/* On the calling thread. */
static cf_status end_one(void *ud, const cf_work_end *end, cf_error *err)
{
    cf_diff_queue *q = ud;
    question *to = &q->q[q->job[end->job]];
    json_t *v = NULL;
    if (end->status == CF_OK) {
        CF_TRY(cf_json_read(&v, end->result.p, end->result.n, err));
    }
    to->has_failed = !read_answer(to, v);
    json_decref(v);
    if (to->has_failed) {
        to->why = cf_strdup(end->err != NULL ? end->err->text : cf_status_name(end->status));
    }
    end_question(q, to);
    tell(q);
    return CF_OK;
}

/* ---- all ---------------------------------------------------------------- */

/* What the history knows is done; the rest are jobs. */
static void list_jobs(cf_diff_queue *q)
{
    for (size_t i = 0; i < q->n; i++) {
        question *to = &q->q[i];
        if (to->is_done) {
            q->n_done++;
        } else if (is_known(q, to)) {
            end_question(q, to);
        } else {
            q->key[q->n_jobs] = cf_str_from(to->key);
            q->job[q->n_jobs++] = i;
        }
    }
}

cf_status cf_diff_queue_run(cf_diff_queue *q, const cf_diff_queue_calls *calls, cf_error *err)
{
    q->calls = calls;
    q->job = cf_calloc(q->n + 1, sizeof *q->job);
    q->key = cf_calloc(q->n + 1, sizeof *q->key);
    if (q->job == NULL || q->key == NULL) {
        return cf_oom_for(err, "the queue");
    }
    list_jobs(q);
    tell(q);
    const cf_work_options o = {.n_places = q->o.n_models > 0 ? q->o.n_models : 1,
                               .n_workers = n_workers(q),
                               .n_tries = N_TRIES,
                               .backoff_ms = BACKOFF_MS,
                               .cancel = q->o.cancel};
    return cf_work_run(&o, q->key, q->n_jobs, try_one, end_one, q, err);
}

size_t cf_diff_queue_unsaved(const cf_diff_queue *q, const char **why)
{
    *why = q->unsaved_why;
    return atomic_load(&q->n_unsaved);
}
