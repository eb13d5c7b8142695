/*
 * test_diff_queue.c - likelihoods of saved replies over servers that refuse,
 * ask to wait, hang up, are not there, or answer nonsense.
 *
 * The servers echo a prompt a byte a token, and each byte has a likelihood of
 * its own, so that sums can be checked.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/json/json.h"
#include "core/json/json_writer.h"
#include "core/net/http_server.h"
#include "storage/store.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/lab/compare/diff_queue.h"
#include "tui/lab/talk/saved.h"

enum { CONVERSATIONS = 12, WRITTEN = 3, QUESTIONS = CONVERSATIONS * 4, ASKED_MAX = 4096 };

typedef enum fault {
    FINE,
    BUSY,     /* 503, then 429, before it answers a prompt; a Retry-After */
    NONSENSE, /* 200 and something else */
    REFUSING  /* 400 */
} fault;

/* A server and what it was asked. */
typedef struct box {
    cf_http_server *server;
    fault fault;
    cf_cancel *stops; /* set after `stop_at` answers; NULL: never */
    size_t stop_at;
    pthread_mutex_t lock;
    size_t n_requests, n_answers;
    char *asked[ASKED_MAX];   /* prompts that were answered */
    char *refused[ASKED_MAX]; /* prompts each time that they were not */
    size_t n_refused;
} box;

static double byte_log_p(unsigned char c)
{
    return -(double)(c % 13) / 8;
}

static void reply(const cf_http_request *r, cf_http_answer *a, unsigned status, const cf_buf *text,
                  const char *after)
{
    cf_http_header *h = cf_arena_calloc(r->arena, 2, sizeof *h);
    h[0] = (cf_http_header){cf_str_from("Content-Type"), cf_str_from("application/json")};
    h[1] = (cf_http_header){cf_str_from("Retry-After"), cf_str_from("1")};
    *a = (cf_http_answer){
        .status = status,
        .headers = h,
        .n_headers = after != NULL ? 2 : 1,
        .body = cf_str_make(cf_arena_strndup(r->arena, cf_buf_cstr(text), text->n), text->n)};
}

/* {"choices":[{"logprobs":{"tokens":[...],"token_logprobs":[...]}}]} */
static void echo(cf_str prompt, cf_buf *out)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_array(&w, "choices");
    cf_jw_object(&w, NULL);
    cf_jw_object(&w, "logprobs");
    cf_jw_array(&w, "tokens");
    for (size_t i = 0; i < prompt.n; i++) {
        cf_jw_str(&w, NULL, cf_str_make(prompt.p + i, 1));
    }
    cf_jw_end(&w);
    cf_jw_array(&w, "token_logprobs");
    for (size_t i = 0; i < prompt.n; i++) {
        if (i == 0) {
            cf_jw_null(&w, NULL);
        } else {
            cf_jw_double(&w, NULL, byte_log_p((unsigned char)prompt.p[i]));
        }
    }
    for (int i = 0; i < 5; i++) {
        cf_jw_end(&w);
    }
}

/* How often a prompt was refused. */
static size_t count(const box *b, cf_str prompt)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_refused; i++) {
        n += cf_str_is(prompt, b->refused[i]);
    }
    return n;
}

/* Of both, while their servers run. */
static size_t n_answers(box b[2])
{
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&b[i].lock);
        n += b[i].n_answers;
        pthread_mutex_unlock(&b[i].lock);
    }
    return n;
}

static void score(box *b, const cf_http_request *r, cf_http_answer *a)
{
    json_t *body = json_loadb(r->body.p, r->body.n, 0, NULL);
    cf_buf out = CF_BUF_INIT;
    cf_str prompt = cf_json_get_str(body, "prompt");
    size_t n_before = count(b, prompt);
    b->n_requests++;
    if (b->fault == BUSY && n_before < 2) {
        cf_buf_adds(&out, "{\"error\":{\"message\":\"not now\"}}");
        reply(r, a, n_before == 0 ? 503 : 429, &out, b->n_refused == QUESTIONS ? "1" : NULL);
        assert_true(b->n_refused < ASKED_MAX);
        b->refused[b->n_refused++] = cf_strndup(prompt.p, prompt.n);
    } else if (b->fault == REFUSING) {
        cf_buf_adds(&out, "{\"error\":{\"message\":\"never\"}}");
        reply(r, a, 400, &out, NULL);
    } else if (b->fault == NONSENSE) {
        cf_buf_adds(&out, "{\"choices\":[{\"logprobs\":{\"tokens\":[1]}}]}");
        reply(r, a, 200, &out, NULL);
    } else {
        assert_true(b->n_answers < ASKED_MAX);
        b->asked[b->n_answers++] = cf_strndup(prompt.p, prompt.n);
        echo(prompt, &out);
        reply(r, a, 200, &out, NULL);
        if (b->stops != NULL && b->n_answers >= b->stop_at) {
            atomic_store(b->stops, true);
        }
    }
    cf_buf_deinit(&out);
    json_decref(body);
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    box *b = ud;
    cf_buf out = CF_BUF_INIT;
    pthread_mutex_lock(&b->lock);
    if (cf_str_is(r->path, "/v1/models")) {
        cf_buf_adds(&out, "{\"data\":[{\"id\":\"m\"}]}");
        reply(r, a, 200, &out, NULL);
    } else if (cf_str_is(r->path, "/v1/completions")) {
        score(b, r, a);
    } else {
        cf_http_fail(r, a, 404, "not_found", "unknown");
    }
    pthread_mutex_unlock(&b->lock);
    cf_buf_deinit(&out);
}

static void start(box *b, fault how)
{
    cf_error err;
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler h = {.answer = on_answer, .ud = b};
    memset(b, 0, sizeof *b);
    b->fault = how;
    pthread_mutex_init(&b->lock, NULL);
    T_OK(cf_http_server_new(&b->server, &any, &h, &err), err);
}

static void stop(box *b)
{
    cf_http_server_free(b->server, 0);
    for (size_t i = 0; i < b->n_answers; i++) {
        cf_free(b->asked[i]);
    }
    for (size_t i = 0; i < b->n_refused; i++) {
        cf_free(b->refused[i]);
    }
    pthread_mutex_destroy(&b->lock);
}

/* Each prompt was answered once, over all servers. */
static void each_once(const box *b, size_t n)
{
    for (size_t s = 0; s < n; s++) {
        for (size_t i = 0; i < b[s].n_answers; i++) {
            for (size_t t = s; t < n; t++) {
                for (size_t k = t == s ? i + 1 : 0; k < b[t].n_answers; k++) {
                    assert_string_not_equal(b[s].asked[i], b[t].asked[k]);
                }
            }
        }
    }
}

/* ---- the history -------------------------------------------------------- */

/* `template_hash` (NULL: not known) is that of the prompt that a reply answered. */
static void put(cf_store *store, cf_uuid conv, cf_uuid *parent, const char *role, const char *text,
                const char *template_hash)
{
    cf_store_run run = cf_store_run_none();
    cf_error err;
    char message[200];
    snprintf(message, sizeof message, "{\"role\":\"%s\",\"content\":\"%s\"}", role, text);
    run.template_hash = cf_str_from(template_hash != NULL ? template_hash : "");
    const cf_store_turn turn = {.conversation = conv,
                                .run = template_hash != NULL ? &run : NULL,
                                .parent = *parent,
                                .message = cf_str_from(message),
                                .status = CF_TURN_OK,
                                .fork_token = -1,
                                .finished_ms = -1};
    T_OK(cf_store_put_turn(store, &turn, parent, &err), err);
}

/* Conversations of two replies; the first ones were written with zephyr. */
static cf_store *make_store(const char *name)
{
    char hash[CF_HASH_TEXT + 1];
    const cf_open_options zephyr = {.template_name = "zephyr"};
    cf_opened opened;
    cf_store *store;
    cf_error err;
    T_OK(cf_store_open(&store, store_dir_file(name), &(cf_store_options){.flags = CF_STORE_CREATE},
                       &err),
         err);
    T_OK(cf_open_without_model(&opened, &zephyr, &err), err);
    T_OK(cf_store_put_template(store, cf_str_from("zephyr"), cf_buf_str(&opened.source),
                               cf_str_make(NULL, 0), hash, &err),
         err);
    cf_opened_close(&opened);
    for (int i = 0; i < CONVERSATIONS; i++) {
        cf_uuid id = {{0}}, at = {{0}};
        char text[64];
        T_OK(cf_store_put_conv(store, &(cf_store_conv){.title = {"t", 1}}, &id, &err), err);
        snprintf(text, sizeof text, "question %d", i);
        put(store, id, &at, "user", text, NULL);
        snprintf(text, sizeof text, "answer %d", i);
        put(store, id, &at, "assistant", text, i < WRITTEN ? hash : NULL);
        put(store, id, &at, "user", "and then?", NULL);
        put(store, id, &at, "assistant", "that is all", NULL);
    }
    return store;
}

/* ---- a run -------------------------------------------------------------- */

typedef struct result {
    size_t n_rows, n_failed;
    cf_score_sum sum;
    size_t n_written[2];
    char why[200];
} result;

static void on_row(void *ud, size_t row, const cf_diff_queue_row *r)
{
    result *out = ud;
    assert_int_equal(row, out->n_rows++); /* each once, in order */
    out->n_failed += r->n_failed;
    out->sum.n_replies += r->sum.n_replies;
    out->sum.n_left_out += r->sum.n_left_out;
    for (int i = 0; i < 2; i++) {
        out->sum.n[i] += r->sum.n[i];
        out->sum.sum[i] += r->sum.sum[i];
        out->n_written[i] += r->n_written[i];
    }
    if (r->why != NULL) {
        snprintf(out->why, sizeof out->why, "%s", r->why);
    }
}

static void add_all(cf_diff_queue *q, const cf_diff_pair *pair, cf_store *store)
{
    const cf_store_conv *v;
    size_t n;
    cf_error err;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    const cf_store_query query = {.limit = 100, .sort = CF_SORT_CREATED};
    T_OK(cf_store_list(store, &query, &arena, &v, &n, &err), err);
    assert_int_equal(n, CONVERSATIONS);
    for (size_t i = 0; i < n; i++) {
        const cf_saved_choice choice = {.conversation = v[i].id, .has_raw = true};
        cf_conversation *conv;
        cf_store_conv about;
        T_OK(cf_saved_load(&conv, &about, store, &choice, &arena, &err), err);
        T_OK(cf_diff_queue_add(q, pair, v[i].id, about.head, conv, &err), err);
        cf_conversation_free(conv);
    }
    cf_arena_deinit(&arena);
}

static cf_status compare(result *out, cf_store *store, const char *const *addresses, size_t n,
                         cf_cancel *cancel, cf_error *err)
{
    cf_diff_queue *q;
    cf_diff_pair pair;
    const cf_diff_queue_calls calls = {.fn = on_row, .ud = out};
    const cf_diff_queue_options o = {.models = addresses,
                                     .n_models = n,
                                     .a = "chatml",
                                     .b = "zephyr",
                                     .store = store,
                                     .jobs = 4,
                                     .cancel = cancel};
    const cf_open_options open = {.model = addresses[0]};
    *out = (result){.n_rows = 0};
    T_OK(cf_diff_pair_open(&pair, &open, false, o.a, o.b, err), *err);
    cf_status st = cf_diff_queue_new(&q, &o, err);
    if (st == CF_OK) {
        add_all(q, &pair, store);
        st = cf_diff_queue_run(q, &calls, err);
        cf_diff_queue_free(q);
    }
    cf_diff_pair_close(&pair);
    return st;
}

/* The replies' bytes are the tokens, whatever came before them. */
static void sums_are_right(const result *r)
{
    double sum = 0;
    size_t n = 0;
    for (int i = 0; i < CONVERSATIONS; i++) {
        char text[100];
        snprintf(text, sizeof text, "answer %dthat is all", i);
        for (const char *p = text; *p != '\0'; p++, n++) {
            sum += byte_log_p((unsigned char)*p);
        }
    }
    assert_int_equal(r->n_rows, CONVERSATIONS);
    assert_int_equal(r->n_failed, 0);
    assert_int_equal(r->sum.n_replies, CONVERSATIONS * 2);
    assert_int_equal(r->sum.n_left_out, 0);
    assert_int_equal(r->n_written[0], 0);
    assert_int_equal(r->n_written[1], WRITTEN);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r->sum.n[i], n);
        assert_true(fabs(r->sum.sum[i] - sum) < 1e-3);
    }
}

/* ---- tests -------------------------------------------------------------- */

static void test_diff_queue__two_servers_share_the_work(void **state)
{
    (void)state;
    box b[2];
    result r;
    cf_error err;
    cf_store *store = make_store("share.db");
    start(&b[0], FINE);
    start(&b[1], FINE);
    const char *const urls[] = {cf_http_server_url(b[0].server), cf_http_server_url(b[1].server)};
    T_OK(compare(&r, store, urls, 2, NULL, &err), err);
    sums_are_right(&r);
    each_once(b, 2);
    assert_int_equal(b[0].n_answers + b[1].n_answers, QUESTIONS);
    assert_true(b[0].n_answers > 0 && b[1].n_answers > 0);
    stop(&b[0]);
    stop(&b[1]);
    cf_store_close(store);
}

static void test_diff_queue__busy_and_absent_servers(void **state)
{
    (void)state;
    box b;
    result r;
    cf_error err;
    cf_store *store = make_store("busy.db");
    start(&b, BUSY);
    /* Nothing listens at the second address. */
    const char *const urls[] = {cf_http_server_url(b.server), "http://127.0.0.1:1"};
    T_OK(compare(&r, store, urls, 2, NULL, &err), err);
    sums_are_right(&r);
    each_once(&b, 1);
    assert_int_equal(b.n_answers, QUESTIONS);
    assert_int_equal(b.n_refused, 2 * QUESTIONS);
    stop(&b);
    cf_store_close(store);
}

static void test_diff_queue__goes_on_after_a_stop(void **state)
{
    (void)state;
    box b;
    result r;
    cf_error err;
    cf_cancel cancel = false;
    cf_store *store = make_store("stop.db");
    start(&b, FINE);
    b.stops = &cancel;
    b.stop_at = QUESTIONS / 3;
    const char *const urls[] = {cf_http_server_url(b.server)};
    T_FAILS(compare(&r, store, urls, 1, &cancel, &err), CF_ECANCELLED);
    size_t n_before = b.n_answers;
    assert_in_range(n_before, QUESTIONS / 3, QUESTIONS - 1);
    b.stops = NULL;
    T_OK(compare(&r, store, urls, 1, NULL, &err), err);
    sums_are_right(&r);
    /* What was under way at the stop is asked once more. */
    assert_in_range(b.n_answers, QUESTIONS, QUESTIONS + 4);
    size_t n_after = b.n_answers;
    T_OK(compare(&r, store, urls, 1, NULL, &err), err);
    sums_are_right(&r);
    assert_int_equal(b.n_answers, n_after); /* all of it was known */
    stop(&b);
    cf_store_close(store);
}

static void test_diff_queue__what_no_server_answers(void **state)
{
    (void)state;
    static const struct {
        fault fault;
        const char *why;
    } rows[] = {{REFUSING, "never"}, {NONSENSE, "score"}};
    cf_store *store = make_store("never.db");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        box b;
        result r;
        cf_error err;
        start(&b, rows[i].fault);
        const char *const urls[] = {cf_http_server_url(b.server)};
        T_OK(compare(&r, store, urls, 1, NULL, &err), err);
        assert_int_equal(r.n_rows, CONVERSATIONS);
        assert_int_equal(r.n_failed, QUESTIONS);
        assert_int_equal(r.sum.n_left_out, CONVERSATIONS * 2);
        assert_int_equal(b.n_requests, QUESTIONS); /* not asked again */
        assert_non_null(strstr(r.why, rows[i].why));
        stop(&b);
    }
    cf_store_close(store);
}

static void test_diff_queue__refuses(void **state)
{
    (void)state;
    result r;
    cf_error err;
    cf_store *store = make_store("refuse.db");
    const char *const gone[] = {"http://127.0.0.1:1"};
    T_FAILS(compare(&r, store, gone, 1, NULL, &err), CF_EIO);
    const char *const mixed[] = {"http://127.0.0.1:1", "model.gguf"};
    T_FAILS(compare(&r, store, mixed, 2, NULL, &err), CF_EINVAL);
    cf_store_close(store);
}

/* The command: a line a conversation in order, the sums last. */
static void test_diff_queue__command(void **state)
{
    (void)state;
    box b[2];
    cf_program p;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    cf_store_close(make_store("command.db"));
    const char *db = store_dir_file("command.db");
    start(&b[0], FINE);
    start(&b[1], FINE);
    const char *one = cf_http_server_url(b[0].server);
    const char *two = cf_http_server_url(b[1].server);
    for (int i = 0; i < 2; i++) { /* the second run asks nothing */
        CF_PROGRAM(&p, "diff", "--all", "-a", "chatml", "-b", "zephyr", "--likelihood", "--jobs",
                   "3", "-m", one, "-m", two, "--json", "--db", db);
        assert_int_equal(p.status, 1); /* the prompts differ */
        const char *out = cf_buf_cstr(&p.out);
        size_t n = 0;
        for (const char *at = out; (at = strchr(at, '\n')) != NULL; at++) {
            n++;
        }
        assert_int_equal(n, CONVERSATIONS + 1);
        assert_non_null(strstr(out, "{\"conversations\":12,\"differ\":12,"
                                    "\"failed\":0,\"likelihood\":{"
                                    "\"replies\":24,\"left_out\":0,"));
        cf_program_deinit(&p);
    }
    assert_int_equal(n_answers(b), QUESTIONS);
    int wins[2][3];
    for (int i = 0; i < 2; i++) { /* what a wins here, b wins there */
        CF_PROGRAM(&p, "diff", "--all", "-a", i == 0 ? "chatml" : "zephyr", "-b",
                   i == 0 ? "zephyr" : "chatml", "--likelihood", "-m", one, "-m", two, "--json",
                   "--db", db);
        const char *at = strstr(cf_buf_cstr(&p.out), "\"wins\":");
        assert_non_null(at);
        assert_int_equal(sscanf(at, "\"wins\":{\"a\":%d,\"b\":%d,\"same\":%d}", &wins[i][i],
                                &wins[i][1 - i], &wins[i][2]),
                         3);
        cf_program_deinit(&p);
    }
    assert_memory_equal(wins[0], wins[1], sizeof wins[0]);
    CF_PROGRAM(&p, "diff", "--all", "-a", "chatml", "-b", "zephyr", "-m", one, "-m", two, "--db",
               db);
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-a", "chatml", "-b", "zephyr", "--jobs", "3", "x.json");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
    stop(&b[0]);
    stop(&b[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff_queue__two_servers_share_the_work),
        cmocka_unit_test(test_diff_queue__busy_and_absent_servers),
        cmocka_unit_test(test_diff_queue__goes_on_after_a_stop),
        cmocka_unit_test(test_diff_queue__what_no_server_answers),
        cmocka_unit_test(test_diff_queue__refuses),
        cmocka_unit_test(test_diff_queue__command),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
