/*
 * test_hostile_server.c - a server that sends what it likes: floods, depth,
 * numbers out of range, broken chunks and headers, resets, redirects.  Each
 * request ends with a status and one safe line, in bounded memory.
 */
#include "tests/support/t.h"

#include "core/api/conversation.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tests/support/law.h"
#include "tests/support/loopback.h"
#include "tests/support/slow.h"

enum { FLOOD = T_IS_SLOW ? 20000 : 100000, PEAK_MAX = 96 << 20 };

#define OK_HEAD     "HTTP/1.1 200 OK\r\nConnection: close\r\n"
#define STREAM      OK_HEAD "Content-Type: text/event-stream\r\n\r\n"
#define EVENT(json) "data: " json "\n\n"
#define DELTA(json) EVENT("{\"choices\":[{\"delta\":" json "}]}")
#define DONE        "data: [DONE]\n\n"
#define THOUSAND_A                                                         \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

typedef struct hostile {
    const char *name;
    cf_status st; /* CF_OK: the answer is taken as it is */
    cf_loopback_answer answer;
} hostile;

static void on_event(const cf_chat_event *ev, void *ud)
{
    *(unsigned *)ud += ev->kind == CF_CHAT_STOP;
}

/* One request: it ends once, with the status wanted, and its error is a line
 * that a terminal may get. */
static void ask(const hostile *h)
{
    cf_loopback s;
    cf_error err = {0};
    cf_backend *b = NULL;
    unsigned n_stop = 0;
    cf_loopback_start(&s, &h->answer);
    /* Only servers that fall silent need a short bound: others may be slow
     * because the machine is. */
    bool is_silent = h->answer.holds || h->answer.pause_ms > 0;
    const cf_remote_options o = {.model = "m",
                                 .key = "secret-key",
                                 .n_retries = UINT32_MAX,
                                 .idle_ms = is_silent ? 200 : 20000,
                                 .total_ms = h->answer.pause_ms > 0 ? 300 : 0};
    T_OK(cf_backend_remote_new(&b, s.url, &o, &err), err);
    json_t *messages = json_loads("[{\"role\":\"user\",\"content\":\"hi\"}]", 0, NULL);
    const cf_chat_request q = {.messages = messages};
    cf_chat_response out;
    cf_chat_response_init(&out);
    cf_law_peak_reset();
    size_t before = cf_law_live();
    cf_status st = cf_backend_generate_stream(b, &q, on_event, &n_stop, &out, &err);
    if (st != h->st || n_stop != 1) {
        fail_msg("%s: %s (%s), %u stops", h->name, cf_status_name(st), err.text, n_stop);
    }
    if (cf_law_peak() - before > PEAK_MAX) {
        fail_msg("%s: %zu bytes", h->name, cf_law_peak() - before);
    }
    cf_buf safe = CF_BUF_INIT;
    cf_safe_line(&safe, err.text, strlen(err.text));
    assert_string_equal(cf_buf_cstr(&safe), err.text);
    assert_null(strstr(err.text, "secret-key"));
    cf_buf_deinit(&safe);
    cf_chat_response_deinit(&out);
    json_decref(messages);
    cf_backend_free(b);
    cf_loopback_stop(&s);
}

static void ask_all(const hostile *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ask(&cases[i]);
    }
}

#define ASK_ALL(cases) ask_all(cases, sizeof(cases) / sizeof((cases)[0]))

static void test_hostile_server__floods(void **state)
{
    (void)state;
    static const hostile cases[] = {
        {"small deltas", CF_OK, {.head = STREAM, DELTA("{\"content\":\"a\"}"), DONE, .n = FLOOD}},
        {"small thoughts",
         CF_OK,
         {.head = STREAM, DELTA("{\"reasoning_content\":\"a\"}"), DONE, .n = FLOOD}},
        {"small pieces of a call",
         CF_OK,
         {.head = STREAM,
          DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"\","
                "\"arguments\":\"[\"}}]}"),
          DONE,
          .n = FLOOD}},
        {"a body without end",
         CF_ELIMIT,
         {.head = OK_HEAD "\r\n", THOUSAND_A THOUSAND_A THOUSAND_A, NULL, .n = 1 << 22}},
        {"a line without end",
         CF_ELIMIT,
         {.head = STREAM "data: ", THOUSAND_A THOUSAND_A THOUSAND_A, NULL, .n = 1 << 22}},
        {"comments without end",
         CF_ELIMIT,
         {.head = STREAM, ": ping " THOUSAND_A THOUSAND_A "\n\n", NULL, .n = 1 << 22}},
        {"empty events", CF_EFORMAT, {.head = STREAM, "data:\n", DONE, .n = FLOOD}},
        {"headers",
         CF_EIO,
         {.head = OK_HEAD, "X-A: " THOUSAND_A THOUSAND_A "\r\n", "\r\n", .n = 20000}},
        {"1xx answers",
         CF_OK,
         {.head = NULL,
          "HTTP/1.1 100 Continue\r\n\r\n",
          STREAM DELTA("{\"content\":\"a\"}") DONE,
          .n = 2000}},
        {"an error's body",
         CF_EINVAL,
         {.head = "HTTP/1.1 400 X\r\nConnection: close\r\n\r\n", THOUSAND_A, NULL, .n = 100000}},
    };
    ASK_ALL(cases);
}

static void test_hostile_server__depth_and_numbers(void **state)
{
    (void)state;
    static const hostile cases[] = {
        {"objects in objects",
         CF_EFORMAT,
         {.head = STREAM "data: ", "{\"choices\":", "\n\n" DONE, .n = 50000}},
        {"arrays in arrays", CF_EFORMAT, {.head = STREAM "data: ", "[", "\n\n" DONE, .n = 1 << 20}},
        {"deep arguments",
         CF_OK,
         {.head = STREAM "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":"
                         "0,\"function\":{\"name\":\"f\",\"arguments\":\"",
          "[",
          "\"}}]}}]}\n\n" DONE,
          .n = 200000}},
        {"NaN", CF_EFORMAT, {.head = STREAM EVENT("{\"choices\":[NaN]}")}},
        {"an infinite number",
         CF_OK,
         {.head = STREAM EVENT("{\"usage\":{\"prompt_tokens\":1e999}}") DONE}},
        {"large numbers",
         CF_OK,
         {.head = STREAM DELTA("{\"content\":\"a\"}")
              EVENT("{\"usage\":{\"prompt_tokens\":9223372036854775807,"
                    "\"completion_tokens\":9223372036854775807,\"total_tokens\":-1}}") DONE}},
        {"a call's index",
         CF_EFORMAT,
         {.head = STREAM DELTA("{\"tool_calls\":[{\"index\":2147483648,\"function\":{"
                               "\"name\":\"f\"}}]}") DONE}},
        {"a negative index",
         CF_EFORMAT,
         {.head = STREAM DELTA("{\"tool_calls\":[{\"index\":-1,\"function\":{\"name\":"
                               "\"f\"}}]}") DONE}},
        {"other types",
         CF_OK,
         {.head = STREAM EVENT("{\"choices\":{\"0\":1}}") EVENT("{\"choices\":[1]}")
              EVENT("{\"choices\":[{\"delta\":[]}]}") DELTA("{\"content\":{\"a\":1}}") DELTA(
                  "{\"tool_calls\":5}") EVENT("{\"usage\":5}") DELTA("{\"content\":\"a\"}") DONE}},
        {"half surrogates", CF_EFORMAT, {.head = STREAM DELTA("{\"content\":\"\\ud800 x\"}") DONE}},
        {"bytes that are not UTF-8",
         CF_EFORMAT,
         {.head = STREAM DELTA("{\"content\":\"\xFF\xFE\"}") DONE}},
        {"NUL in a text", CF_OK, {.head = STREAM DELTA("{\"content\":\"a\\u0000b\"}") DONE}},
    };
    ASK_ALL(cases);
}

static void test_hostile_server__http(void **state)
{
    (void)state;
    static const hostile cases[] = {
        {"a reset", CF_EIO, {.head = STREAM DELTA("{\"content\":\"a\"}"), .resets = true}},
        {"a reset at once", CF_EIO, {.head = "", .resets = true}},
        {"nothing", CF_EIO, {.head = ""}},
        {"silence", CF_EIO, {.head = STREAM, .holds = true}},
        {"a chunk of 2^68 bytes",
         CF_EIO,
         {.head = OK_HEAD "Content-Type: text/event-stream\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n"
                          "FFFFFFFFFFFFFFFFF\r\n" DELTA("{\"content\":\"a\"}")}},
        {"a negative chunk",
         CF_EIO,
         {.head = OK_HEAD "Content-Type: text/event-stream\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n-5\r\nx"}},
        {"half a chunk",
         CF_EIO,
         {.head = OK_HEAD "Content-Type: text/event-stream\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n50\r\ndata"}},
        {"a negative length", CF_EIO, {.head = "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"}},
        {"not HTTP", CF_EIO, {.head = "hello there\n"}},
        {"status 0", CF_EIO, {.head = "HTTP/1.1 000 X\r\n\r\n"}},
        {"a redirect to a file",
         CF_EFORMAT,
         {.head = "HTTP/1.1 302 X\r\nLocation: file:///etc/passwd\r\n"
                  "Content-Length: 0\r\nConnection: close\r\n\r\n"}},
        {"the key in an error",
         CF_EINVAL,
         {.head = "HTTP/1.1 401 X\r\nConnection: close\r\n\r\n"
                  "{\"error\":{\"message\":\"bad key secret-key\"}}"}},
        {"escapes in an error",
         CF_EINVAL,
         {.head = "HTTP/1.1 400 X\r\nConnection: close\r\n\r\n"
                  "\033]0;t\a\2332J\377 \xE2\x80\xAE"}},
        {"an error longer than a line, in characters of three bytes",
         CF_EINVAL,
         {.head = "HTTP/1.1 400 X\r\nConnection: close\r\n\r\n:", "\xE2\x82\xAC", NULL, .n = 1000}},
        {"an answer cut off", CF_EIO, {.head = STREAM DELTA("{\"content\":\"a\"}")}},
        {"half an event", CF_EIO, {.head = STREAM "data: {\"choices\":[{\"del"}},
        {"HTML as a stream", CF_EIO, {.head = STREAM "<html>hello</html>\n\n"}},
        {"a page", CF_EFORMAT, {.head = OK_HEAD "Content-Type: text/html\r\n\r\n<html></html>"}},
    };
    ASK_ALL(cases);
}

/* A server that is never silent for long does not go on for ever. */
static void test_hostile_server__slow_drip(void **state)
{
    (void)state;
    static const hostile cases[] = {
        {"a comment now and then",
         CF_EIO,
         {.head = STREAM, ": ping\n\n", NULL, .n = 1000, .pause_ms = 20}},
        {"a byte now and then",
         CF_EIO,
         {.head = OK_HEAD "\r\n", " ", NULL, .n = 1000, .pause_ms = 20}},
        {"a header now and then",
         CF_EIO,
         {.head = OK_HEAD, "X-A: b\r\n", "\r\n", .n = 1000, .pause_ms = 20}},
    };
    ASK_ALL(cases);
}

/* A wait of a day is not waited. */
static void test_hostile_server__retry_after(void **state)
{
    (void)state;
    cf_loopback s;
    cf_error err = {0};
    cf_backend *b = NULL;
    unsigned n_stop = 0;
    cf_loopback_start(&s,
                      &(cf_loopback_answer){.head = "HTTP/1.1 429 Slow\r\nRetry-After: 86400\r\n"
                                                    "Content-Length: 2\r\nConnection: close\r\n\r\n"
                                                    "{}"});
    const cf_remote_options o = {.model = "m"};
    T_OK(cf_backend_remote_new(&b, s.url, &o, &err), err);
    json_t *messages = json_loads("[{\"role\":\"user\",\"content\":\"hi\"}]", 0, NULL);
    const cf_chat_request q = {.messages = messages};
    cf_chat_response out;
    cf_chat_response_init(&out);
    assert_int_not_equal(cf_backend_generate_stream(b, &q, on_event, &n_stop, &out, &err), CF_OK);
    assert_non_null(strstr(err.text, "asks to wait 86400 s"));
    assert_int_equal(out.timings.n_retries, 0);
    cf_chat_response_deinit(&out);
    json_decref(messages);
    cf_backend_free(b);
    cf_loopback_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_server__floods),
        cmocka_unit_test(test_hostile_server__depth_and_numbers),
        cmocka_unit_test(test_hostile_server__http),
        cmocka_unit_test(test_hostile_server__slow_drip),
        cmocka_unit_test(test_hostile_server__retry_after),
    };
    cf_law_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
