/*
 * test_mcp_http.c - the client over HTTP, against tests/data/mcp/scripted_http.py.
 */
#include <poll.h>

#include "core/api/mcp.h"
#include "core/base/process.h"
#include "tests/support/loopback.h"
#include "tests/support/t.h"

typedef struct world {
    cf_process server;
    cf_mcp *mcp;
    cf_buf seen;
    cf_error err;
    size_t index;
} world;

static void on_event(void *ud, const cf_mcp_event *ev)
{
    world *w = ud;
    cf_buf_addf(&w->seen, "%d %.*s\n", (int)ev->kind, (int)(ev->text.n < 2000 ? ev->text.n : 2000),
                ev->text.p);
}

/* Starts the script and returns its port. */
static int start_script(world *w, const char *mode)
{
    const char *const argv[] = {"python3", "tests/data/mcp/scripted_http.py", mode, NULL};
    const cf_process_spec spec = {.argv = argv};
    char text[16] = {0};
    size_t n = 0;
    T_OK(cf_process_start(&w->server, &spec, &w->err), w->err);
    while (w->server.out >= 0 && (n == 0 || text[n - 1] != '\n')) {
        poll(&(struct pollfd){.fd = w->server.out, .events = POLLIN}, 1, 100);
        n += cf_process_read(&w->server.out, text + n, sizeof text - 1 - n);
    }
    return atoi(text);
}

static void open_mode(world *w, const char *mode, json_t *headers)
{
    char url[64];
    memset(w, 0, sizeof *w);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/mcp", start_script(w, mode));
    const cf_mcp_options o = {
        .event = on_event, .ud = w, .call_ms = 500, .message_max = 1 << 20, .listens = true};
    T_OK(cf_mcp_new(&w->mcp, &o, &w->err), w->err);
    json_t *c = json_pack("{s:s, s:s, s:o*}", "name", mode, "url", url, "headers", headers);
    T_OK(cf_mcp_add(w->mcp, c, &w->index, &w->err), w->err);
    T_OK(cf_mcp_settle(w->mcp, NULL, &w->err), w->err);
    json_decref(c);
}

static void close_world(world *w)
{
    cf_mcp_free(w->mcp);
    cf_process_end(&w->server, 300);
    cf_buf_deinit(&w->seen);
}

static void is_ready(const world *w, const char *protocol)
{
    cf_mcp_server s = cf_mcp_server_at(w->mcp, 0);
    if (s.state != CF_MCP_READY) {
        fail_msg("%s\n%s", s.error, cf_buf_cstr(&w->seen));
    }
    assert_string_equal(s.protocol, protocol);
    assert_int_equal(json_array_size(s.tools), 1);
}

static cf_status call(world *w, json_t *arguments, cf_buf *out)
{
    cf_mcp_result r;
    cf_status st = cf_mcp_call(w->mcp, 0,
                               cf_str_from("\xC3\xA9"
                                           "cho"),
                               arguments, NULL, &r, &w->err);
    if (st == CF_OK) {
        cf_mcp_result_text(&r, out);
        cf_mcp_result_deinit(&r);
    }
    json_decref(arguments);
    return st;
}

static void check_call(world *w, json_t *arguments, const char *want)
{
    cf_buf out = CF_BUF_INIT;
    T_OK(call(w, arguments, &out), w->err);
    assert_string_equal(cf_buf_cstr(&out), want);
    cf_buf_deinit(&out);
}

static void test_mcp_http__old_era(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "old", NULL);
    is_ready(&w, "2025-11-25");
    check_call(&w, json_pack("{s:s}", "text", "a"), "http: a");
    /* The session is forgotten; a new one is begun and the call repeated. */
    check_call(&w, json_pack("{s:s}", "text", "b"), "http: b");
    assert_non_null(strstr(cf_buf_cstr(&w.seen), "forgotten the session"));
    close_world(&w);
}

/* The server checks the headers, the name among them: it is not ASCII. */
static void test_mcp_http__new_era(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "new", NULL);
    is_ready(&w, "2026-07-28");
    check_call(&w, json_pack("{s:s}", "text", "a"), "http: a");
    assert_non_null(strstr(cf_buf_cstr(&w.seen), "tool bad is left out"));
    close_world(&w);
}

static void test_mcp_http__arguments_as_headers(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "strict", NULL);
    check_call(&w, json_pack("{s:s, s:i}", "text", "us-west1", "n", 42), "http: us-west1");
    check_call(&w, json_pack("{s:s}", "text", " padded "), "http:  padded ");
    check_call(&w, json_pack("{s:s}", "text", "a\nX-Evil: 1"), "http: a\nX-Evil: 1");
    check_call(&w, json_pack("{s:s}", "text", "=?base64?literal?="), "http: =?base64?literal?=");
    check_call(&w, json_pack("{s:s}", "text", ""), "http: ");
    check_call(&w, json_object(), "http: ");
    close_world(&w);
}

/* The stream ends twice before the answer, and says each time from where and
 * when to go on. */
static void test_mcp_http__stream_is_resumed(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "resume", NULL);
    check_call(&w, json_pack("{s:s}", "text", "a"), "http: a");
    assert_non_null(strstr(cf_buf_cstr(&w.seen), "asked for again in 50 ms"));
    close_world(&w);
}

static void test_mcp_http__question_on_the_other_stream(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "asks", NULL);
    check_call(&w, json_pack("{s:s}", "text", "a"), "http: a");
    close_world(&w);
}

/* A server that refuses our revision and offers it is asked once more. */
static void test_mcp_http__own_revision_refused(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "shy", NULL);
    is_ready(&w, "2026-07-28");
    check_call(&w, json_pack("{s:s}", "text", "a"), "http: a");
    close_world(&w);
}

static void test_mcp_http__answer_cut_off(void **state)
{
    (void)state;
    world w;
    cf_buf out = CF_BUF_INIT;
    open_mode(&w, "cut", NULL);
    T_FAILS(call(&w, json_object(), &out), CF_EIO);
    is_ready(&w, "2026-07-28"); /* only the call is lost */
    close_world(&w);
}

static void test_mcp_http__no_answer_in_time(void **state)
{
    (void)state;
    world w;
    cf_buf out = CF_BUF_INIT;
    open_mode(&w, "slow", NULL);
    T_FAILS(call(&w, json_object(), &out), CF_ELIMIT);
    assert_non_null(strstr(cf_buf_cstr(&w.seen), "stream was closed"));
    close_world(&w);
}

static void test_mcp_http__answer_without_end(void **state)
{
    (void)state;
    world w;
    cf_buf out = CF_BUF_INIT;
    open_mode(&w, "big", NULL);
    T_FAILS(call(&w, json_object(), &out), CF_ELIMIT);
    close_world(&w);
}

/* A server may ask while it works, but not without bound: each answer of ours is a
 * connection. */
static void test_mcp_http__asks_too_much(void **state)
{
    (void)state;
    world w;
    cf_buf out = CF_BUF_INIT;
    open_mode(&w, "pings", NULL);
    check_call(&w, json_pack("{s:s}", "text", "50"), "http: 50");
    T_FAILS(call(&w, json_pack("{s:s}", "text", "3000"), &out), CF_ELIMIT);
    assert_int_equal(cf_mcp_server_at(w.mcp, 0).state, CF_MCP_FAILED);
    close_world(&w);
}

static void test_mcp_http__authorization(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "key", NULL);
    cf_mcp_server s = cf_mcp_server_at(w.mcp, 0);
    assert_int_equal(s.state, CF_MCP_FAILED);
    assert_non_null(strstr(s.error, "HTTP 401"));
    close_world(&w);
    open_mode(&w, "key", json_pack("{s:s}", "Authorization", "Bearer k"));
    is_ready(&w, "2026-07-28");
    assert_null(strstr(cf_buf_cstr(&w.seen), "Bearer")); /* not in the log */
    close_world(&w);
}

/* A store of tokens in which each look finds a newer one. */
static cf_status newer_token(void *ud, cf_str address, cf_mcp_kept_fn fn, void *fn_ud,
                             cf_error *err)
{
    int *n = ud;
    char token[16];
    bool changed = false;
    (void)address;
    snprintf(token, sizeof token, "t%d", ++*n);
    json_t *kept =
        json_pack("{s:s, s:{s:{s:s}}}", "issuer", "i", "issuers", "i", "accessToken", token);
    cf_status st = fn(fn_ud, kept, &changed, err);
    json_decref(kept);
    return st;
}

/* An answer of ours has no method; it is sent again all the same. */
static void test_mcp_http__refused_answer(void **state)
{
    (void)state;
    world w = {.server = CF_PROCESS_INIT};
    int n = 0;
    char url[64];
    const cf_mcp_sign_in sign_in = {.with_kept = newer_token, .ud = &n};
    const cf_mcp_options o = {.event = on_event, .ud = &w, .sign_in = &sign_in};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/mcp", start_script(&w, "early"));
    json_t *c = json_pack("{s:s, s:s}", "name", "x", "url", url);
    T_OK(cf_mcp_new(&w.mcp, &o, &w.err), w.err);
    T_OK(cf_mcp_add(w.mcp, c, &w.index, &w.err), w.err);
    T_OK(cf_mcp_settle(w.mcp, NULL, &w.err), w.err);
    assert_int_equal(n, 2); /* at the start, and for the answer */
    assert_non_null(strstr(cf_buf_cstr(&w.seen), "a newer token is kept"));
    json_decref(c);
    close_world(&w);
}

static void test_mcp_http__older_transport(void **state)
{
    (void)state;
    world w;
    open_mode(&w, "older", NULL);
    cf_mcp_server s = cf_mcp_server_at(w.mcp, 0);
    assert_int_equal(s.state, CF_MCP_FAILED);
    assert_non_null(strstr(s.error, "older transport (HTTP+SSE), which is not spoken"));
    close_world(&w);
}

static void test_mcp_http__nobody_there(void **state)
{
    (void)state;
    world w = {.server = CF_PROCESS_INIT};
    const cf_mcp_options o = {.call_ms = 500};
    json_t *c = json_pack("{s:s, s:s}", "name", "x", "url", "http://127.0.0.1:1/mcp");
    T_OK(cf_mcp_new(&w.mcp, &o, &w.err), w.err);
    T_OK(cf_mcp_add(w.mcp, c, &w.index, &w.err), w.err);
    T_OK(cf_mcp_settle(w.mcp, NULL, &w.err), w.err);
    assert_int_equal(cf_mcp_server_at(w.mcp, 0).state, CF_MCP_FAILED);
    json_decref(c);
    close_world(&w);
}

/* Whatever a server sends, it fails with one line, and in bounded time and memory. */
static void test_mcp_http__hostile_answers(void **state)
{
    (void)state;
#define HEAD(status, kind) "HTTP/1.1 " status "\r\nConnection: close\r\nContent-Type: " kind "\r\n"
#define JSON               HEAD("200 OK", "application/json")
#define EVENTS             HEAD("200 OK", "text/event-stream")
    static const cf_loopback_answer v[] = {
        {.head = NULL},
        {.head = "not HTTP at all\n\n"},
        {.head = JSON "Content-Length: -1\r\n\r\n{}"},
        {.head = JSON "Content-Length: 99999999999999999999\r\n\r\n{}"},
        {.head = JSON "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}"},
        {.head = JSON "Content-Encoding: gzip\r\n\r\nnot gzip"},
        {.head = JSON, .body = "X-Head: 0123456789012345678901234567890123456789\r\n", .n = 100000},
        {.head = JSON "Mcp-Session-Id: ", .body = "0123456789", .n = 500000, .tail = "\r\n\r\n{}"},
        {.head = JSON "\r\n", .body = "[[[[[[[[", .n = 50000},
        {.head = JSON "\r\n", .body = "{\"a\":", .n = 50000},
        {.head = JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":", .tail = "[]}"},
        {.head = JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}"},
        {.head = JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":1e400,\"result\":{}}"},
        {.head = JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
                      "\"\x1b[2J\"}}"},
        {.head = JSON "\r\n{\"id\":1,\"error\":{\"code\":-1,\"message\":\"\x1b]0;x\x07\"}}"},
        {.head = EVENTS "\r\ndata: ",
         .body = "0123456789012345678901234567890123456789",
         .n = 100000},
        {.head = EVENTS "\r\n", .body = "id: 1\nretry: 0\nevent: x\ndata:\n\n", .n = 50000},
        {.head = EVENTS "\r\n",
         .body = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n",
         .n = 5000},
        {.head = HEAD("302 Found", "text/html") "Location: file:///etc/passwd\r\n\r\n"},
        {.head = HEAD("307 Moved", "text/html") "Location: http://127.0.0.1:1/x\r\n\r\n"},
        {.head =
             HEAD("401 No",
                  "text/html") "WWW-Authenticate: Bearer resource_metadata=\"file:///x\"\r\n\r\n"},
        {.head = HEAD("500 No", "text/html") "\r\n", .body = "\x1b[31m\xFF", .n = 100000},
        {.head = "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"},
        {.head = "HTTP/1.1 204 None\r\n\r\n"},
        {.head = JSON "\r\n{", .resets = true},
    };
#undef HEAD
#undef JSON
#undef EVENTS
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        world w = {.server = CF_PROCESS_INIT};
        cf_loopback server;
        const cf_mcp_options o = {
            .event = on_event, .ud = &w, .call_ms = 300, .start_ms = 300, .message_max = 1 << 20};
        cf_loopback_start(&server, &v[i]);
        json_t *c = json_pack("{s:s, s:s}", "name", "x", "url", server.url);
        T_OK(cf_mcp_new(&w.mcp, &o, &w.err), w.err);
        T_OK(cf_mcp_add(w.mcp, c, &w.index, &w.err), w.err);
        T_OK(cf_mcp_settle(w.mcp, NULL, &w.err), w.err);
        const cf_mcp_server s = cf_mcp_server_at(w.mcp, 0);
        if (s.state != CF_MCP_FAILED || s.error[0] == '\0' ||
            strpbrk(s.error, "\x1b\n\x07") != NULL) {
            fail_msg("answer %zu: state %d, '%s'", i, (int)s.state, s.error);
        }
        json_decref(c);
        close_world(&w);
        cf_loopback_stop(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_http__old_era),
        cmocka_unit_test(test_mcp_http__new_era),
        cmocka_unit_test(test_mcp_http__arguments_as_headers),
        cmocka_unit_test(test_mcp_http__stream_is_resumed),
        cmocka_unit_test(test_mcp_http__question_on_the_other_stream),
        cmocka_unit_test(test_mcp_http__own_revision_refused),
        cmocka_unit_test(test_mcp_http__answer_cut_off),
        cmocka_unit_test(test_mcp_http__no_answer_in_time),
        cmocka_unit_test(test_mcp_http__answer_without_end),
        cmocka_unit_test(test_mcp_http__asks_too_much),
        cmocka_unit_test(test_mcp_http__authorization),
        cmocka_unit_test(test_mcp_http__refused_answer),
        cmocka_unit_test(test_mcp_http__older_transport),
        cmocka_unit_test(test_mcp_http__nobody_there),
        cmocka_unit_test(test_mcp_http__hostile_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
