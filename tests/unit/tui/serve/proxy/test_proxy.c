/*
 * test_proxy.c - the proxy between a client and a server that does wrong on
 * purpose: bytes, refusals, conversations and findings.
 */
#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/traffic.h"
#include "storage/trail.h"
#include "templates/builtin.h"
#include "templates/chat_template.h"
#include "tests/support/http_ask.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/watch/live_file.h"
#include "tui/serve/proxy/otlp.h"
#include "tui/serve/proxy/proxy.h"
#include "tui/serve/proxy/replay.h"

/* ---- the server --------------------------------------------------------- */

/* Answers with what the test set, and remembers the last request. */
typedef struct fake {
    cf_http_server *server;
    const char *body; /* cut into pieces of `piece` bytes where that is set */
    const char *type;
    const char *location; /* a redirect */
    size_t piece;
    bool breaks; /* off in the middle of the body */
    atomic_int n_asked;
    cf_buf seen; /* path, headers, body of the last request */
} fake;

typedef struct sending {
    const fake *f;
    size_t at;
} sending;

static ssize_t send_piece(void *ud, char *to, size_t n)
{
    sending *s = ud;
    size_t have = strlen(s->f->body) - s->at;
    if (s->f->breaks && s->at > 0) {
        return -1;
    }
    n = s->f->piece < have ? s->f->piece : have;
    memcpy(to, s->f->body + s->at, n);
    s->at += n;
    return (ssize_t)n;
}

static void send_done(void *ud, bool is_sent)
{
    (void)is_sent;
    cf_free(ud);
}

static void on_fake(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    fake *f = ud;
    f->n_asked++;
    cf_buf_reset(&f->seen);
    cf_buf_addf(&f->seen, "%.*s %.*s\n", (int)r->method.n, r->method.p, (int)r->target.n,
                r->target.p);
    for (size_t i = 0; i < r->n_headers; i++) {
        cf_buf_addf(&f->seen, "%.*s: %.*s\n", (int)r->headers[i].name.n, r->headers[i].name.p,
                    (int)r->headers[i].value.n, r->headers[i].value.p);
    }
    cf_buf_add(&f->seen, r->body.p, r->body.n);
    cf_http_header *h = cf_arena_calloc(r->arena, 3, sizeof *h);
    h[0] = (cf_http_header){cf_str_from("X-Request-Id"), cf_str_from("req-7")};
    h[1] = (cf_http_header){cf_str_from("Content-Type"), cf_str_from(f->type)};
    h[2] = (cf_http_header){cf_str_from("Location"),
                            cf_str_from(f->location != NULL ? f->location : "")};
    *a = (cf_http_answer){.status = f->location != NULL ? 307 : 200,
                          .headers = h,
                          .n_headers = f->location != NULL ? 3 : 2,
                          .body = cf_str_from(f->body)};
    if (f->piece != 0) {
        sending *s = cf_calloc(1, sizeof *s);
        s->f = f;
        a->size = -1;
        a->read = send_piece;
        a->done = send_done;
        a->ud = s;
    }
}

/* ---- all of it ---------------------------------------------------------- */

static int n_files;

typedef struct fixture {
    fake fake;
    char to[100]; /* its address, which outlives it */
    cf_store *store;
    cf_recorder *recorder;
    cf_proxy proxy;
    cf_http_server *server;
    cf_finder finder;
    void *model;
    cf_engine *engine;
    cf_template *tpl;
    atomic_int n_stored;
    cf_arena arena;
} fixture;

static void on_stored(void *ud, const cf_exchange *x)
{
    (void)x;
    ((fixture *)ud)->n_stored++;
}

static void open_finder(fixture *f, cf_str source)
{
    static const cf_tiny_options tiny = {.vocab_only = true};
    size_t n;
    cf_error err;
    f->model = cf_tiny_gguf(&tiny, &n);
    const cf_engine_options o = {.vocab_only = true};
    T_OK(cf_engine_open_memory(&f->engine, f->model, n, &o, &err), err);
    T_OK(cf_template_compile(&f->tpl, source, NULL, NULL, NULL, &err), err);
    f->finder.tok = cf_engine_tokenizer(f->engine);
    f->finder.as_is = cf_renderer_template_as_is(f->tpl);
    f->finder.shaped = cf_renderer_template(f->tpl);
    cf_role_map_init(&f->finder.roles, source);
}

static void setup_with(fixture *f, cf_str template_source)
{
    char name[20];
    cf_error err;
    memset(f, 0, sizeof *f);
    cf_arena_init(&f->arena, 0);
    f->fake.body = "{}";
    f->fake.type = "application/json";
    snprintf(name, sizeof name, "p%d.db", n_files++);
    open_finder(f, template_source);
    T_OK(cf_store_open(&f->store, store_dir_file(name),
                       &(cf_store_options){.flags = CF_STORE_CREATE}, &err),
         err);
    const cf_recorder_options ro = {
        .store = f->store, .finder = &f->finder, .stored = on_stored, .ud = f};
    T_OK(cf_recorder_new(&f->recorder, &ro, &err), err);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler fake_handler = {.answer = on_fake, .ud = &f->fake};
    T_OK(cf_http_server_new(&f->fake.server, &any, &fake_handler, &err), err);
    snprintf(f->to, sizeof f->to, "%s", cf_http_server_url(f->fake.server));
    const cf_upstream up = {.url = f->to};
    T_OK(cf_proxy_init(&f->proxy, &up, f->recorder, &err), err);
    const cf_http_handler handler = cf_proxy_handler(&f->proxy);
    T_OK(cf_http_server_new(&f->server, &any, &handler, &err), err);
}

static void setup(fixture *f)
{
    setup_with(f, cf_template_builtin("chatml"));
}

static void teardown(fixture *f)
{
    cf_http_server_free(f->server, 1000);
    cf_http_server_free(f->fake.server, 1000);
    cf_recorder_free(f->recorder);
    cf_proxy_deinit(&f->proxy);
    cf_store_close(f->store);
    cf_template_free(f->tpl);
    cf_engine_close(f->engine);
    cf_tiny_free(f->model);
    cf_buf_deinit(&f->fake.seen);
    cf_arena_deinit(&f->arena);
}

/* ---- the client --------------------------------------------------------- */

static long via(fixture *f, const char *path, const char *headers, const char *body, cf_buf *out)
{
    return http_ask(cf_http_server_url(f->server), path, headers, body, out);
}

/* Chat through the proxy, until it is recorded. */
static void chat(fixture *f, const char *request, const char *answer)
{
    cf_buf out = CF_BUF_INIT;
    int before = f->n_stored;
    f->fake.body = answer;
    assert_int_equal(via(f, "/v1/chat/completions", NULL, request, &out), 200);
    assert_string_equal(cf_buf_cstr(&out), answer);
    while (f->n_stored == before) {
        sched_yield();
    }
    cf_buf_deinit(&out);
}

static const cf_exchange *list(fixture *f, size_t *n)
{
    const cf_exchange *rows;
    cf_error err;
    T_OK(cf_store_exchanges(f->store, &(cf_exchange_query){0}, &f->arena, &rows, n, &err), err);
    return rows;
}

/* The findings of the newest exchange name the kind, and `part` with it. */
static void expect_finding(fixture *f, const char *kind, const char *part)
{
    size_t n;
    const cf_exchange *rows = list(f, &n);
    cf_str findings = rows[n - 1].findings;
    char want[80];
    snprintf(want, sizeof want, "\"kind\":\"%s\"", kind);
    if (strstr(findings.p, want) == NULL || strstr(findings.p, part) == NULL) {
        fail_msg("wanted %s with %s in %s", kind, part, findings.p);
    }
}

static void expect_no_findings(fixture *f)
{
    size_t n;
    const cf_exchange *rows = list(f, &n);
    assert_string_equal(rows[n - 1].findings.p, "[]");
}

static void expect_no_finding(fixture *f, const char *kind)
{
    size_t n;
    const cf_exchange *rows = list(f, &n);
    if (strstr(rows[n - 1].findings.p, kind) != NULL) {
        fail_msg("no %s wanted: %s", kind, rows[n - 1].findings.p);
    }
}

/* ---- passing on --------------------------------------------------------- */

static void test_proxy__passes_bytes_on(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    f.fake.body = "data: one\n\ndata: \xff\n\n";
    f.fake.type = "text/event-stream";
    for (f.fake.piece = 0; f.fake.piece < 4; f.fake.piece++) {
        assert_int_equal(via(&f, "/any/%2e%2e/path?q=%20x&q=2",
                             "Authorization: Bearer sk-1\nX-Odd;", "\1body", &out),
                         200);
        assert_string_equal(cf_buf_cstr(&out), f.fake.body);
        const char *seen = cf_buf_cstr(&f.fake.seen);
        assert_non_null(strstr(seen, "POST /any/%2e%2e/path?q=%20x&q=2\n"));
        assert_non_null(strstr(seen, "Authorization: Bearer sk-1\n"));
        assert_non_null(strstr(seen, "\1body"));
        assert_null(strstr(seen, "Expect"));
    }
    cf_buf_deinit(&out);
    teardown(&f);
}

/* Headers that Connection names are for this connection. */
static void test_proxy__drops_what_connection_names(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    f.fake.body = "{}";
    assert_int_equal(via(&f, "/v1/models",
                         "Connection: x-DROP , Keep-Alive,,X-Other\nX-Drop: 1\nX-Other: 2\n"
                         "X-Dropped: 3",
                         NULL, &out),
                     200);
    const char *seen = cf_buf_cstr(&f.fake.seen);
    assert_null(strstr(seen, "X-Drop:"));
    assert_null(strstr(seen, "X-Other:"));
    assert_non_null(strstr(seen, "X-Dropped: 3\n"));
    cf_buf_deinit(&out);
    teardown(&f);
}

static void test_proxy__redirects_are_answers(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    f.fake.location = "http://127.0.0.1:1/elsewhere";
    assert_int_equal(via(&f, "/v1/models", "Authorization: Bearer sk-1", NULL, &out), 307);
    assert_int_equal(f.fake.n_asked, 1);
    cf_buf_deinit(&out);
    teardown(&f);
}

static void test_proxy__refuses_browsers(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "Host: example.com", "Host: 127.0.0.1.example.com", "Origin: http://example.com",
        "Origin: null",      "Origin: http://localhost:1",  "Sec-Fetch-Site: cross-site"};
    fixture f;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        assert_int_equal(via(&f, "/v1/models", headers[i], NULL, &out), 403);
        assert_non_null(strstr(cf_buf_cstr(&out), "\"error\""));
        assert_int_equal(via(&f, "/v1/chat/completions", headers[i], "{}", &out), 403);
    }
    assert_int_equal(f.fake.n_asked, 0);
    assert_int_equal(via(&f, "/v1/models", "Host: localhost:1", NULL, &out), 200);
    cf_buf_deinit(&out);
    teardown(&f);
}

static void test_proxy__broken_answers_break(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    f.fake.body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":"
                  "\"half\"}}]}\n\ndata: more";
    f.fake.piece = 60;
    f.fake.breaks = true;
    assert_int_equal(via(&f, "/v1/chat/completions", NULL,
                         "{\"messages\":[{\"role\":\"user\",\"content\":"
                         "\"hi\"}]}",
                         &out),
                     -1);
    assert_int_equal(out.n, 60);
    while (f.n_stored == 0) {
        sched_yield();
    }
    size_t n;
    const cf_exchange *rows = list(&f, &n);
    assert_string_equal(rows[0].end.p, "broken");
    cf_buf_deinit(&out);
    teardown(&f);
}

static void test_proxy__says_what_cannot_be_asked(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    cf_http_server_free(f.fake.server, 0);
    f.fake.server = NULL;
    assert_int_equal(via(&f, "/v1/models", NULL, NULL, &out), 502);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"type\":\"proxy_error\""));
    cf_buf_deinit(&out);
    teardown(&f);
}

/* A connection's memory has room for a request's headers and an answer's. */
static void test_proxy__refuses_long_headers_of_answers(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    char type[40001];
    memset(type, 'y', sizeof type - 1);
    type[sizeof type - 1] = '\0';
    setup(&f);
    f.fake.type = type;
    assert_int_equal(via(&f, "/v1/messages", NULL, "{}", &out), 502);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"type\":\"api_error\""));
    cf_buf_reset(&out);
    type[30000] = '\0';
    assert_int_equal(via(&f, "/v1/messages", NULL, "{}", &out), 200);
    assert_string_equal(cf_buf_cstr(&out), "{}");
    cf_buf_deinit(&out);
    teardown(&f);
}

static void test_proxy__token(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    cf_http_server *open = NULL;
    setup(&f);
    const cf_http_handler handler = cf_proxy_handler(&f.proxy);
    cf_http_options o = {.listen = "0.0.0.0:0"};
    T_FAILS(cf_http_server_new(&open, &o, &handler, &err), CF_EINVAL);
    o.token = "let-me-in";
    T_OK(cf_http_server_new(&open, &o, &handler, &err), err);
    const char *url = cf_http_server_url(open);
    assert_int_equal(http_ask(url, "/v1/models", NULL, NULL, &out), 401);
    assert_int_equal(http_ask(url, "/v1/models", "X-Confab-Token: let-me-i", NULL, &out), 401);
    assert_int_equal(f.fake.n_asked, 0);
    assert_int_equal(http_ask(url, "/v1/models",
                              "X-Confab-Token: let-me-in\nAuthorization: Bearer k", NULL, &out),
                     200);
    assert_null(strstr(cf_buf_cstr(&f.fake.seen), "let-me-in"));
    assert_non_null(strstr(cf_buf_cstr(&f.fake.seen), "Bearer k"));
    assert_int_equal(http_ask(url, "/v1/models", "Authorization: Bearer let-me-in", NULL, &out),
                     200);
    assert_null(strstr(cf_buf_cstr(&f.fake.seen), "let-me-in"));
    cf_http_server_free(open, 0);
    cf_buf_deinit(&out);
    teardown(&f);
}

/* ---- recording ---------------------------------------------------------- */

#define SAID(text) "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"" text "\"}}]}"

static void test_record__keeps_bodies_and_no_keys(void **state)
{
    (void)state;
    static const char request[] = "{\"model\":\"m\",\"messages\":[{\"role\":"
                                  "\"user\",\"content\":\"x\"}]}";
    fixture f;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    cf_exchange x;
    size_t n;
    setup(&f);
    f.fake.body = SAID("y");
    via(&f, "/v1/chat/completions?key=sk-secret",
        "X-My-Own: sk-secret\nCookie: a=sk-secret\nUser-Agent: agent/1", request, &out);
    while (f.n_stored == 0) {
        sched_yield();
    }
    const cf_exchange *rows = list(&f, &n);
    assert_int_equal(n, 1);
    T_OK(cf_store_get_exchange(f.store, rows[0].id, &f.arena, &x, &err), err);
    assert_string_equal(x.request.p, request);
    assert_string_equal(x.response.p, f.fake.body);
    assert_string_equal(x.request_id.p, "req-7");
    assert_string_equal(x.client.p, "agent/1");
    assert_string_equal(x.path.p, "/v1/chat/completions");
    assert_null(strstr(x.request_headers.p, "sk-secret"));
    assert_non_null(strstr(x.request_headers.p, "[\"X-My-Own\",null]"));
    cf_buf_deinit(&out);
    teardown(&f);
}

/* Turns and leaves of the conversation of an exchange. */
static void expect_tree(fixture *f, size_t row, size_t n_turns, size_t n_forks)
{
    size_t n;
    cf_error err;
    cf_store_tree tree;
    const cf_exchange *rows = list(f, &n);
    T_OK(cf_store_get_tree(f->store, rows[row].conversation, 0, &f->arena, &tree, &err), err);
    assert_int_equal(tree.n, n_turns);
    assert_int_equal(tree.conv.n_forks, n_forks);
}

#define U(text)       "{\"role\":\"user\",\"content\":\"" text "\"}"
#define A(text)       "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define SYS(text)     "{\"role\":\"system\",\"content\":\"" text "\"}"
#define ASK(messages) "{\"model\":\"m\",\"messages\":[" messages "]}"

static void test_record__conversations(void **state)
{
    (void)state;
    fixture f;
    size_t n;
    setup(&f);
    chat(&f, ASK(SYS("s") "," U("a")), SAID("b"));
    chat(&f, ASK(SYS("s") "," U("a") "," A("b") "," U("c")), SAID("d"));
    expect_tree(&f, 1, 5, 0);
    /* A side request with the same system message. */
    chat(&f, ASK(SYS("s") "," U("title?")), SAID("t"));
    const cf_exchange *rows = list(&f, &n);
    assert_true(cf_uuid_eq(rows[0].conversation, rows[1].conversation));
    assert_false(cf_uuid_eq(rows[0].conversation, rows[2].conversation));
    /* Another way on from the same beginning. */
    chat(&f, ASK(SYS("s") "," U("a") "," A("b") "," U("e")), SAID("f"));
    expect_tree(&f, 3, 7, 1);
    expect_no_findings(&f);
    teardown(&f);
}

/* A request is parsed for its place, its answer, its findings and those of the
 * next one: once. */
static void test_record__reads_everything_once(void **state)
{
    (void)state;
    static const char *const asks[] = {ASK(SYS("s") "," U("a")),
                                       ASK(SYS("s") "," U("a") "," A("b") "," U("c")),
                                       ASK(SYS("s") "," U("a") "," A("b") "," U("c") "," A("b"))};
    fixture f;
    size_t n_bytes = 0;
    setup(&f);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        chat(&f, asks[i], SAID("b"));
        n_bytes += strlen(SAID("b"));
        assert_int_equal(cf_recorder_work(f.recorder).n_requests, i + 1);
        assert_int_equal(cf_recorder_work(f.recorder).n_bytes, n_bytes);
    }
    teardown(&f);
}

/* ---- while it runs ------------------------------------------------------ */

#define DELTA                                                             \
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"on \"}}]}" \
    "\n\n"

/* A piece, again and again, until the test has seen one. */
static ssize_t send_on(void *ud, char *to, size_t n)
{
    const atomic_bool *is_seen = ud;
    (void)poll(NULL, 0, 5);
    if (atomic_load(is_seen) || n < sizeof DELTA - 1) {
        return 0;
    }
    memcpy(to, DELTA, sizeof DELTA - 1);
    return sizeof DELTA - 1;
}

static void on_endless(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    (void)r;
    *a = (cf_http_answer){.status = 200, .size = -1, .read = send_on, .ud = ud};
}

static void *ask_once(void *ud)
{
    cf_buf out = CF_BUF_INIT;
    assert_int_equal(http_ask(ud, "/v1/chat/completions", NULL,
                              "{\"stream\":true,\"messages\":[{\"role\":"
                              "\"user\",\"content\":\"a\"}]}",
                              &out),
                     200);
    cf_buf_deinit(&out);
    return NULL;
}

/* What there is of a reply is beside the history until it is stored. */
static void test_record__shows_a_running_reply(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    cf_http_server *endless, *server;
    cf_proxy proxy;
    pthread_t thread;
    atomic_bool is_seen = false;
    json_t *m = NULL;
    char url[100];
    cf_uuid id = {{0}};
    setup(&f);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler endless_handler = {.answer = on_endless, .ud = &is_seen};
    T_OK(cf_http_server_new(&endless, &any, &endless_handler, &err), err);
    const cf_upstream up = {.url = cf_http_server_url(endless)};
    T_OK(cf_proxy_init(&proxy, &up, f.recorder, &err), err);
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    snprintf(url, sizeof url, "%s", cf_http_server_url(server));
    assert_int_equal(pthread_create(&thread, NULL, ask_once, url), 0);
    const char *db = cf_store_path(f.store);
    while (m == NULL) {
        size_t n;
        const cf_exchange *rows = list(&f, &n);
        id = n > 0 ? rows[0].id : id;
        m = cf_live_read(db, id);
        (void)poll(NULL, 0, 10);
    }
    assert_true(strncmp(cf_json_get_str(m, "content").p, "on ", 3) == 0);
    json_decref(m);
    atomic_store(&is_seen, true);
    pthread_join(thread, NULL);
    while (f.n_stored == 0) {
        sched_yield();
    }
    assert_null(cf_live_read(db, id));
    cf_exchange x; /* no byte of it was read twice */
    T_OK(cf_store_get_exchange(f.store, id, &f.arena, &x, &err), err);
    assert_true(x.response.n > sizeof DELTA);
    assert_int_equal(cf_recorder_work(f.recorder).n_bytes, x.response.n);
    cf_http_server_free(server, 1000);
    cf_http_server_free(endless, 1000);
    cf_proxy_deinit(&proxy);
    teardown(&f);
}

static void test_replay__same_bytes_without_a_server(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    cf_http_server *server;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    chat(&f, ASK(U("a")), SAID("old"));
    chat(&f, ASK(U("a")), SAID("new"));
    int n_asked = f.fake.n_asked;
    cf_replay *replay;
    T_OK(cf_replay_new(&replay, &(cf_replay_options){.store = f.store}, &err), err);
    const cf_http_handler handler = cf_replay_handler(replay);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    const char *url = cf_http_server_url(server);
    assert_int_equal(http_ask(url, "/v1/chat/completions", NULL, ASK(U("a")), &out), 200);
    assert_string_equal(cf_buf_cstr(&out), SAID("new"));
    assert_int_equal(http_ask(url, "/v1/chat/completions", NULL, ASK(U("b")), &out), 404);
    assert_non_null(strstr(cf_buf_cstr(&out), "not_recorded"));
    assert_int_equal(f.fake.n_asked, n_asked);
    cf_http_server_free(server, 0);
    cf_replay_free(replay);
    cf_buf_deinit(&out);
    teardown(&f);
}

/* What was told of the last request. */
static void on_told(void *ud, const cf_replayed *r)
{
    snprintf(ud, 200, "%s %s%s", cf_replay_name(r->how), r->differs,
             r->how == CF_REPLAY_NONE && !r->has_messages ? "no messages" : "");
}

/* A handler, and what the last answer's header says about it. */
typedef struct headed {
    cf_http_handler inner;
    char how[20];
} headed;

static void on_headed(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    headed *h = ud;
    h->inner.answer(h->inner.ud, r, a);
    cf_str how = cf_http_header_get(a->headers, a->n_headers, "X-Confab-Replay");
    snprintf(h->how, sizeof h->how, "%.*s", (int)how.n, how.p != NULL ? how.p : "");
}

/* Other ids in the body make no other request; other messages and tools do. */
static void test_replay__by_messages_and_tools(void **state)
{
    (void)state;
    static const struct {
        const char *body, *told;
        int status;
    } rows[] = {
        {"{\"model\":\"m\",\"user\":\"1\",\"messages\":[" U("a") "]}", "exact ", 200},
        {"{\"model\":\"m\",\"user\":\"2\",\"messages\":[" U("a") "]}", "messages /user", 200},
        {"{\"model\":\"m\",\"user\":\"1\",\"messages\":[" U("b") "]}", "none /messages/0/content",
         404},
        {"{\"model\":\"m\"}", "none no messages", 404},
        {"{\"model\":\"m\",\"messages\":[{\"id\":\"x\",\"role\":\"user\",\"content\":\"b\"}]}",
         "none /messages/0/content", 404},
        {"{\"model\":\"m\",\"user\":\"1\",\"messages\":[" U(
             "a") "],\"tools\":[{\"type\":"
                  "\"function\",\"function\":{\"name\":\"f\"}}]}",
         "none /tools", 404}};
    fixture f;
    cf_error err;
    cf_http_server *server;
    cf_replay *replay;
    char told[200] = "";
    setup(&f);
    chat(&f, rows[0].body, SAID("old"));
    const cf_replay_options o = {.store = f.store, .told = on_told, .ud = told};
    T_OK(cf_replay_new(&replay, &o, &err), err);
    headed h = {.inner = cf_replay_handler(replay)};
    const cf_http_handler handler = {.answer = on_headed, .ud = &h};
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_buf out = CF_BUF_INIT;
        assert_int_equal(
            http_ask(cf_http_server_url(server), "/v1/chat/completions", NULL, rows[i].body, &out),
            rows[i].status);
        assert_string_equal(told, rows[i].told);
        assert_int_equal(strcspn(told, " "), strlen(h.how));
        assert_memory_equal(told, h.how, strlen(h.how));
        cf_buf_deinit(&out);
    }
    cf_http_server_free(server, 0);
    cf_replay_free(replay);
    teardown(&f);
}

static void on_taken(void *ud, const cf_otlp_taken *t)
{
    snprintf(ud, 200, "%zu %zu %.*s %s", t->n_sessions, t->n_steps, (int)t->title.n, t->title.p,
             t->why != NULL ? t->why : "");
}

#define SPAN(op)                                                                                \
    "{\"resourceSpans\":[{\"scopeSpans\":[{\n\"spans\":[{\"traceId\":\"t1\",\"spanId\":\"s1\"," \
    "\"startTimeUnixNano\":\"1\",\"endTimeUnixNano\":\"2\",\"attributes\":[{\"key\":"           \
    "\"gen_ai.operation.name\",\"value\":{\"stringValue\":\"" op "\"}}]}]}]}]}"

static unsigned ask_packed(cf_http_handler handler, const char *body, size_t n)
{
    static const cf_http_header headers[] = {{{"Content-Type", 12}, {"application/json", 16}},
                                             {{"Content-Encoding", 16}, {"deflate", 7}}};
    cf_arena a = {0};
    cf_http_answer answer;
    const cf_http_request q = {.method = cf_str_from("POST"),
                               .path = cf_str_from("/v1/traces"),
                               .headers = headers,
                               .n_headers = 2,
                               .body = cf_str_make(body, n),
                               .arena = &a};
    handler.answer(handler.ud, &q, &answer);
    cf_arena_deinit(&a);
    return answer.status;
}

static size_t zip(char room[8192], const char *text, size_t n_text)
{
    uLongf n = 8192;
    assert_int_equal(compress((Bytef *)room, &n, (const Bytef *)text, n_text), Z_OK);
    return n;
}

/* What exporters send with compression. */
static void ask_zipped(cf_http_handler handler, const char *text, size_t n_text, unsigned status)
{
    char room[8192];
    assert_int_equal(ask_packed(handler, room, zip(room, text, n_text)), status);
}

/* Traces with requests to a model are kept, a line each; what is not is said. */
static void test_otlp__keeps_traces(void **state)
{
    (void)state;
    static const struct {
        const char *path, *headers, *body, *told;
        int status;
    } rows[] = {
        {"/v1/traces", "Content-Type: application/json", SPAN("chat"), "1 1  ", 200},
        {"/v1/traces", "Content-Type: application/json", "{\"resourceSpans\":[]}",
         "0 0  no request to a model", 200},
        {"/v1/traces", "Content-Type: application/json", "{\"resourceSpans\":[",
         "0 0  not valid JSON", 400},
        {"/v1/traces", "Content-Type: application/x-protobuf", "x", "0 0  only JSON is read", 415},
        {"/v1/traces", "Content-Type: application/json\nContent-Encoding: gzip", "xyz",
         "0 0  the body's gzip is damaged", 400},
        {"/v1/traces", "Content-Type: application/json\nContent-Encoding: br", "x",
         "0 0  the body is encoded as br", 415},
        {"/v1/traces", "Content-Type: application/json\nContent-Length: 9000000000", "{}", "", 413},
        {"/v1/logs", "Content-Type: application/json", "{}", "0 0  only /v1/traces is here", 404},
        {"/v1/traces", "Content-Type: application/json", SPAN("chat"), "1 1  ", 200}};
    cf_error err;
    cf_http_server *server;
    cf_otlp *otlp;
    char told[200] = "";
    cf_trails trails;
    cf_buf kept = CF_BUF_INIT;
    const char *path = store_dir_file("traces.jsonl");
    T_OK(cf_otlp_new(&otlp, &(cf_otlp_options){.path = path, .told = on_taken, .ud = told}, &err),
         err);
    const cf_http_handler handler = cf_otlp_handler(otlp);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&server, &any, &handler, &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_buf out = CF_BUF_INIT;
        assert_int_equal(
            http_ask(cf_http_server_url(server), rows[i].path, rows[i].headers, rows[i].body, &out),
            rows[i].status);
        told[strlen(rows[i].told)] = '\0';
        assert_string_equal(told, rows[i].told);
        cf_buf_deinit(&out);
    }
    cf_http_server_free(server, 0);
    ask_zipped(handler, SPAN("chat"), strlen(SPAN("chat")), 200);
    assert_string_equal(told, "1 1  ");
    cf_otlp_free(otlp);
    T_OK(cf_os_read_file(&kept, path, 1 << 20, &err), err);
    assert_int_equal(kept.n, 3 * (strlen(SPAN("chat")) + 1));
    T_OK(cf_trails_read(&trails, path, NULL, &err), err);
    assert_int_equal(trails.n, 1);
    cf_trails_deinit(&trails);
    cf_buf_deinit(&kept);
}

/* Two kilobytes that would be a million values, and a pipe in the place of the
 * file: refused, and neither is waited for. */
static void test_otlp__refuses_bombs_and_pipes(void **state)
{
    (void)state;
    enum { N = 2 << 20 };
    cf_error err;
    cf_otlp *otlp;
    char *bomb = malloc(N), told[200] = "";
    const char *path = store_dir_file("pipe.jsonl");
    memset(bomb, ' ', N);
    memcpy(bomb, "[", 1);
    memcpy(bomb + N - 1, "]", 1);
    assert_int_equal(mkfifo(path, 0600), 0);
    T_OK(cf_otlp_new(&otlp, &(cf_otlp_options){.path = path, .told = on_taken, .ud = told}, &err),
         err);
    const cf_http_handler handler = cf_otlp_handler(otlp);
    ask_zipped(handler, bomb, N, 413);
    ask_zipped(handler, SPAN("chat"), strlen(SPAN("chat")), 507);
    cf_otlp_free(otlp);
    free(bomb);
}

/* A text in one member or in several is read; one whose end is missing, or that has
 * other bytes after its end, is refused. */
static void test_otlp__packed_bodies_are_whole(void **state)
{
    (void)state;
    static const char text[] = SPAN("chat");
    const size_t n_text = sizeof text - 1;
    cf_error err;
    cf_otlp *otlp;
    char body[2 * 8192], told[200] = "";
    const char *path = store_dir_file("packed.jsonl");
    T_OK(cf_otlp_new(&otlp, &(cf_otlp_options){.path = path, .told = on_taken, .ud = told}, &err),
         err);
    const cf_http_handler handler = cf_otlp_handler(otlp);
    const size_t n = zip(body, text, n_text);
    for (size_t cut = 1; cut < n; cut++) {
        assert_int_equal(ask_packed(handler, body, n - cut), 400);
    }
    memcpy(body + n, "junk", 4);
    for (size_t n_junk = 1; n_junk <= 4; n_junk++) {
        assert_int_equal(ask_packed(handler, body, n + n_junk), 400);
    }
    assert_false(cf_os_is_readable(path));
    const size_t n_half = zip(body, text, 50);
    assert_int_equal(ask_packed(handler, body, n_half), 400); /* not JSON */
    assert_int_equal(ask_packed(handler, body, n_half + zip(body + n_half, text + 50, n_text - 50)),
                     200);
    assert_int_equal(ask_packed(handler, body, zip(body, text, n_text)), 200);
    cf_otlp_free(otlp);
}

/* A client that asks for a WebSocket is told at once to go on without. */
static void test_proxy__refuses_upgrades(void **state)
{
    (void)state;
    fixture f;
    cf_buf out = CF_BUF_INIT;
    setup(&f);
    assert_int_equal(
        via(&f, "/v1/responses", "Upgrade: websocket\nConnection: Upgrade", NULL, &out), 426);
    assert_int_equal(f.fake.n_asked, 0);
    cf_buf_deinit(&out);
    teardown(&f);
}

/* ---- findings ----------------------------------------------------------- */

#define USED(text, prompt, cached)                                \
    "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"" text \
    "\"}}],\"usage\":{\"prompt_tokens\":" prompt                  \
    ",\"prompt_tokens_details\":{\"cached_tokens\":" cached "}}}"

static void test_findings__cut(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    chat(&f,
         ASK(U("a long beginning that the server throws away without a word, "
               "because its window is small") "," A("b") "," U("the end")),
         USED("?", "40", "0"));
    expect_finding(&f, "cut", "\"theirs\":40");
    expect_finding(&f, "cut", "\"first_kept\":2");
    /* The text has the same numbers. */
    long ours = 0;
    char cut[80];
    size_t n;
    const char *said = strstr(list(&f, &n)[0].findings.p, "\"ours\":");
    assert_int_equal(sscanf(said, "\"ours\":%ld", &ours), 1);
    snprintf(cut, sizeof cut, "read 40 of %ld tokens: %ld are", ours, ours - 40);
    expect_finding(&f, "cut", cut);
    chat(&f, ASK(U("x")), USED("?", "2000", "0"));
    expect_no_findings(&f);
    teardown(&f);
}

static void test_findings__cache_lost(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    chat(&f, ASK(U("a") "," A("b") "," U("c")), USED("d", "900", "800"));
    chat(&f, ASK(U("a") "," A("b") "," U("c") "," A("d") "," U("e")), USED("f", "950", "900"));
    expect_no_findings(&f);
    chat(&f, ASK(U("a") "," A("b") "," U("C") "," A("d") "," U("g")), USED("h", "980", "0"));
    expect_finding(&f, "cache-lost", "\"message\":2");
    teardown(&f);
}

/* A conversation of five messages whose message number i is another text. */
static void put_talk(cf_buf *out, size_t n, size_t changed)
{
    cf_buf_reset(out);
    cf_buf_adds(out, "{\"model\":\"m\",\"messages\":[");
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(out, "%s{\"role\":\"%s\",\"content\":\"%zu%s\"}", i > 0 ? "," : "",
                    i == 0       ? "system"
                    : i % 2 == 1 ? "user"
                                 : "assistant",
                    i, i == changed ? " at noon" : "");
    }
    cf_buf_adds(out, "]}");
}

/* How far the kept tokens may fall, and for which reasons. */
static void test_findings__cache_lost_from_when_on(void **state)
{
    (void)state;
    enum { NONE = 99 };
    static const struct {
        const char *before, *now; /* usage: prompt, cached */
        size_t changed;           /* message of the second request */
        bool found;
    } rows[] = {
        {"13000,12000", "13100,0", 2, true},
        {"13000,12000", "13100,6000", 2, true},
        {"13000,12000", "13100,0", 0, true}, /* the system message */
        {"13000,12000", "13100,0", 1, true}, /* the first of the talk */
        {"400,300", "420,0", 3, true},
        {"40,30", "42,0", 3, true},
        {"13000,12000", "13100,11904", 2, false}, /* whole blocks */
        {"13000,12000", "13100,12900", 2, false}, /* not a fall */
        {"400,300", "420,288", NONE, false},      /* blocks of 16 */
        {"90,80", "95,0", NONE, false},           /* a short prompt */
        {"13000,12000", "13100,0", NONE, true},   /* the server forgot it */
        {"13000,12000", "3000,2950", 4, false},   /* all that there is */
        {"13000,0", "13100,0", 2, false},
    };
    cf_buf first = CF_BUF_INIT, second = CF_BUF_INIT, usage = CF_BUF_INIT;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        char want[40];
        int n[2];
        setup(&f);
        put_talk(&first, 4, NONE);
        put_talk(&second, 6, rows[i].changed);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(sscanf(k == 0 ? rows[i].before : rows[i].now, "%d,%d", &n[0], &n[1]),
                             2);
            cf_buf_reset(&usage);
            cf_buf_addf(&usage,
                        "{\"choices\":[{\"index\":0,\"message\":{"
                        "\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":"
                        "%d,\"prompt_tokens_details\":{\"cached_tokens\":%d}"
                        "}}",
                        n[0], n[1]);
            chat(&f, cf_buf_cstr(k == 0 ? &first : &second), cf_buf_cstr(&usage));
        }
        snprintf(want, sizeof want, "\"message\":%zu,",
                 rows[i].changed != NONE ? rows[i].changed : 4);
        if (rows[i].found) {
            expect_finding(&f, "cache-lost", want);
        } else {
            expect_no_finding(&f, "cache-lost");
        }
        teardown(&f);
    }
    cf_buf_deinit(&first);
    cf_buf_deinit(&second);
    cf_buf_deinit(&usage);
}

/* Asks with these messages, and is told of that many tokens. */
static void ask(fixture *f, const char *more, const char *messages, int n_prompt, int n_cached)
{
    cf_buf request = CF_BUF_INIT, answer = CF_BUF_INIT;
    cf_buf_addf(&request, "{\"model\":\"m\",%s\"messages\":[%s]}", more, messages);
    cf_buf_addf(&answer,
                "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"ok\"},"
                "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%d,"
                "\"prompt_tokens_details\":{\"cached_tokens\":%d}}}",
                n_prompt, n_cached);
    chat(f, cf_buf_cstr(&request), cf_buf_cstr(&answer));
    cf_buf_deinit(&request);
    cf_buf_deinit(&answer);
}

#define OK_   A("ok")
#define AGENT SYS("agent")

/* A clock in the first message: the cache never falls, since it never holds. */
static void test_findings__cache_lost_on_every_turn(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    ask(&f, "", AGENT "," U("time 10:01") "," OK_ "," U("a"), 6000, 10);
    ask(&f, "", AGENT "," U("time 10:02") "," OK_ "," U("a") "," OK_ "," U("b"), 6100, 10);
    expect_finding(&f, "cache-lost", "\"message\":1,\"before\":6000,\"now\":10,");
    expect_finding(&f, "cache-lost", "was \\\"time 10:01\\\", is \\\"time 10:02\\\"");
    teardown(&f);
}

/* Sessions of an agent begin alike: by what they say, or by what they are named. */
static void test_findings__two_sessions_that_begin_alike(void **state)
{
    (void)state;
    fixture f;
    size_t n;
    setup(&f);
    ask(&f, "", AGENT "," U("env") "," U("one"), 4000, 0);
    ask(&f, "", AGENT "," U("env") "," U("one") "," OK_ "," U("x"), 4100, 4000);
    ask(&f, "", AGENT "," U("env") "," U("two"), 4000, 2000);
    expect_no_findings(&f);
    const cf_exchange *rows = list(&f, &n);
    assert_true(cf_uuid_eq(rows[0].conversation, rows[1].conversation));
    assert_false(cf_uuid_eq(rows[1].conversation, rows[2].conversation));
    ask(&f, "\"prompt_cache_key\":\"s1\",", U("same") "," OK_ "," U("one"), 4000, 3000);
    ask(&f, "\"prompt_cache_key\":\"s2\",", U("same") "," OK_ "," U("one") "," OK_ "," U("q"), 4500,
        0);
    expect_no_findings(&f);
    rows = list(&f, &n);
    assert_false(cf_uuid_eq(rows[3].conversation, rows[4].conversation));
    teardown(&f);
}

/* Requests that name one session are one: a history that was compacted goes on,
 * and a sub-agent is under the call whose argument it was asked. */
static void test_proxy__joins_a_session(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    cf_trails trails;
    size_t n_main = 0, n_agents = 0;
    const char *name = "\"prompt_cache_key\":\"s1\",";
    setup(&f);
    chat(&f, "{\"model\":\"m\",\"prompt_cache_key\":\"s1\",\"messages\":[" AGENT "," U("go") "]}",
         "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\","
         "\"type\":\"function\",\"function\":{\"name\":\"task\",\"arguments\":\"{\\\"prompt\\\":"
         "\\\"Find the broken test.\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}");
    ask(&f, name, SYS("searcher") "," U("<reminder/>\\nFind the broken test."), 50, 0);
    ask(&f, name, AGENT "," U("what was said so far"), 100, 0);
    ask(&f, "\"prompt_cache_key\":\"s2\",", AGENT "," U("another"), 100, 0);
    list(&f, &n_main); /* all is stored */
    T_OK(cf_trails_read(&trails, cf_store_path(f.store), NULL, &err), err);
    assert_int_equal(trails.n, 2);
    const cf_trail *t = trails.v[0];
    n_main = 0;
    for (size_t i = 0; i < t->n_events; i++) {
        const cf_trail_event *e = &t->events[i];
        n_main += e->kind == CF_TRAIL_STEP && e->agent.n == 0;
        if (e->kind == CF_TRAIL_AGENT) {
            n_agents++;
            T_TEXT(e->as.agent->parent_call.p, e->as.agent->parent_call.n, "c1");
        }
    }
    assert_int_equal(n_main, 2);
    assert_int_equal(n_agents, 1);
    assert_int_equal(t->n_steps, 3);
    assert_int_equal(t->n_parts, 2);
    cf_trails_deinit(&trails);
    teardown(&f);
}

static void test_findings__cache_lost_to_another_request(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    ask(&f, "", AGENT "," U("q"), 5000, 0);
    ask(&f, "", AGENT "," U("q") "," OK_ "," U("r"), 5100, 5000);
    ask(&f, "", AGENT "," U("<reminder>no</reminder> a title please"), 3000, 0);
    ask(&f, "", AGENT "," U("q") "," OK_ "," U("r") "," OK_ "," U("s"), 5200, 0);
    expect_finding(&f, "cache-lost", "\\\"a title please\\\", 3000 tokens)");
    teardown(&f);
}

static void test_findings__no_end(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n", "", "?"};
    for (size_t i = 0; i < 3; i++) {
        fixture f;
        size_t n;
        setup(&f);
        f.fake.type = i == 0 ? "text/event-stream" : "application/json";
        chat(&f, "{\"model\":\"m\",\"stream\":true,\"messages\":[" U("hi") "]}", answers[i]);
        expect_finding(&f, "no-end", "without an end");
        assert_string_equal(list(&f, &n)[0].end.p, "no end");
        teardown(&f);
    }
}

/* What was thinking of a reply is kept apart; what is not said is not known. */
static void test_proxy__keeps_usage_apart(void **state)
{
    (void)state;
    fixture f;
    size_t n;
    setup(&f);
    chat(&f, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
         "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"ok\"},\"finish_reason\":"
         "\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":7,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":5}}}");
    const cf_exchange *x = list(&f, &n);
    assert_int_equal(x[0].n_reply, 7);
    assert_int_equal(x[0].n_thinking, 5);
    assert_int_equal(x[0].n_written, -1);
    teardown(&f);
}

/* A conversation's title is the user's own text, not one that the agent put before it. */
static void test_proxy__titles(void **state)
{
    (void)state;
    fixture f;
    cf_error err;
    size_t n;
    cf_store_tree tree;
    setup(&f);
    ask(&f, "",
        U("<environment_context>\\n<cwd>/w</cwd></environment_context>") "," U(
            "<system-reminder>be kind</system-reminder>\\nFix the test"),
        10, 0);
    T_OK(cf_store_get_tree(f.store, list(&f, &n)[0].conversation, 0, &f.arena, &tree, &err), err);
    T_TEXT(tree.conv.title.p, tree.conv.title.n, "Fix the test");
    teardown(&f);
}

static void test_findings__lost_call(void **state)
{
    (void)state;
    fixture f;
    setup_with(&f, cf_str_from("{% for m in messages %}{{ m.content }}"
                               "{% endfor %}"));
    chat(&f,
         "{\"model\":\"m\",\"messages\":[" U(
             "weather?") "],\"tools\":[{"
                         "\"type\":\"function\",\"function\":{\"name\":"
                         "\"weather\","
                         "\"parameters\":{\"type\":\"object\",\"properties\":{"
                         "\"city\":{"
                         "\"type\":\"string\"}}}}}]}",
         SAID("<tool_call>\\n{\\\"name\\\": \\\"weather\\\", \\\"arguments\\\":"
              " {\\\"city\\\": \\\"Rome\\\"}}\\n</tool_call>"));
    expect_finding(&f, "lost-call", "\"name\":\"weather\"");
    expect_finding(&f, "tools-not-written", "\"tools\":[\"weather\"]");
    teardown(&f);
}

static void test_findings__system_changed(void **state)
{
    (void)state;
    fixture f;
    size_t n;
    setup(&f);
    chat(&f, ASK(SYS("It is 10:01.") "," U("a")), SAID("b"));
    chat(&f, ASK(SYS("It is 10:02.") "," U("a") "," A("b") "," U("c")), SAID("d"));
    expect_finding(&f, "system-changed", "\"message\":0");
    expect_finding(&f, "system-changed", "\"is\":\"2.\"");
    const cf_exchange *rows = list(&f, &n);
    assert_true(cf_uuid_eq(rows[0].conversation, rows[1].conversation));
    teardown(&f);
}

static void test_findings__other_answer(void **state)
{
    (void)state;
    fixture f;
    setup(&f);
    chat(&f, ASK(U("a")), SAID("b"));
    chat(&f, ASK(U("a")), SAID("b"));
    expect_no_findings(&f);
    chat(&f, ASK(U("a")), SAID("c"));
    expect_finding(&f, "other-answer", "\"exchange\"");
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proxy__passes_bytes_on),
        cmocka_unit_test(test_proxy__drops_what_connection_names),
        cmocka_unit_test(test_proxy__redirects_are_answers),
        cmocka_unit_test(test_proxy__refuses_browsers),
        cmocka_unit_test(test_proxy__broken_answers_break),
        cmocka_unit_test(test_proxy__says_what_cannot_be_asked),
        cmocka_unit_test(test_proxy__refuses_long_headers_of_answers),
        cmocka_unit_test(test_proxy__token),
        cmocka_unit_test(test_record__keeps_bodies_and_no_keys),
        cmocka_unit_test(test_record__conversations),
        cmocka_unit_test(test_record__reads_everything_once),
        cmocka_unit_test(test_record__shows_a_running_reply),
        cmocka_unit_test(test_replay__same_bytes_without_a_server),
        cmocka_unit_test(test_replay__by_messages_and_tools),
        cmocka_unit_test(test_proxy__refuses_upgrades),
        cmocka_unit_test(test_findings__cut),
        cmocka_unit_test(test_findings__cache_lost),
        cmocka_unit_test(test_findings__cache_lost_from_when_on),
        cmocka_unit_test(test_findings__cache_lost_on_every_turn),
        cmocka_unit_test(test_findings__two_sessions_that_begin_alike),
        cmocka_unit_test(test_proxy__joins_a_session),
        cmocka_unit_test(test_findings__cache_lost_to_another_request),
        cmocka_unit_test(test_findings__no_end),
        cmocka_unit_test(test_otlp__keeps_traces),
        cmocka_unit_test(test_otlp__refuses_bombs_and_pipes),
        cmocka_unit_test(test_otlp__packed_bodies_are_whole),
        cmocka_unit_test(test_proxy__keeps_usage_apart),
        cmocka_unit_test(test_proxy__titles),
        cmocka_unit_test(test_findings__lost_call),
        cmocka_unit_test(test_findings__system_changed),
        cmocka_unit_test(test_findings__other_answer),
    };
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
