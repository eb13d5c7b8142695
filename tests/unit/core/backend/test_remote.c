/* The engine over OpenAI's interface, against a small server of our own on
 * loopback that answers what each case prepared. */
#include "core/api/conversation.h"
#include "core/api/reply_options.h"
#include "tests/support/t.h"

#include <math.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "tests/support/listener.h"

/* ---- the server --------------------------------------------------------- */

enum { ANSWERS_MAX = 6, REQUEST_MAX = 65536 };

/* The bytes written to one connection; pieces of a stream are told apart by
 * '\x01', where the server flushes, and '\x02' leaves the connection open
 * without another byte until the client goes. */
typedef struct server {
    int fd;
    unsigned short port;
    pthread_t thread;
    const char *answer[ANSWERS_MAX];
    size_t n_answers;
    char request[ANSWERS_MAX][REQUEST_MAX];
    size_t n_requests;
} server;

static void write_answer(int fd, const char *p)
{
    while (*p != '\0') {
        size_t n = strcspn(p, "\x01\x02");
        if (n > 0 && send(fd, p, n, MSG_NOSIGNAL) < 0) {
            return;
        }
        p += n;
        if (*p == '\x02') {
            char c;
            while (recv(fd, &c, 1, 0) > 0) {
                continue;
            }
            return;
        }
        p += *p != '\0';
    }
}

static void *serve(void *ud)
{
    server *s = ud;
    for (size_t i = 0; i < s->n_answers; i++) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            break;
        }
        (void)cf_listen_request(fd, s->request[i], REQUEST_MAX);
        s->n_requests = i + 1;
        write_answer(fd, s->answer[i]);
        close(fd);
    }
    return NULL;
}

static void start_server(server *s)
{
    s->fd = cf_listen(&s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop_server(server *s)
{
    shutdown(s->fd, SHUT_RDWR); /* wakes an accept that still waits */
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* ---- one exchange ------------------------------------------------------- */

#define STREAM                          \
    "HTTP/1.1 200 OK\r\nContent-Type: " \
    "text/event-stream\r\nConnection: close\r\n\r\n"
#define DELTA(json) "data: {\"choices\":[{\"index\":0,\"delta\":" json "}]}\n\n"
#define FINISH(why) \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define FAIL(status, body)                                      \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n" \
    "Retry-After: 0\r\nConnection: close\r\n\r\n" body

typedef struct exchange {
    server s;
    cf_status st;
    cf_error err;
    cf_chat_response out;
    cf_buf log;
    unsigned n_stop;
    cf_cancel cancel;
    bool cancels;
    const char *messages; /* NULL: messages_json */
} exchange;

static void on_event(const cf_chat_event *ev, void *ud)
{
    exchange *x = ud;
    assert_int_equal(x->n_stop, 0);
    switch (ev->kind) {
    case CF_CHAT_TEXT:
        cf_buf_addf(&x->log, "%.*s|", (int)ev->text.n, ev->text.p);
        if (x->cancels) {
            atomic_store_explicit(&x->cancel, true, memory_order_relaxed);
        }
        break;
    case CF_CHAT_THINKING:
        cf_buf_addf(&x->log, "(%.*s)", (int)ev->text.n, ev->text.p);
        break;
    case CF_CHAT_CALL:
        cf_buf_addf(&x->log, "{%.*s%.*s %.*s %s}", (int)ev->call->name.n, ev->call->name.p,
                    (int)ev->call->arguments.n, ev->call->arguments.p, (int)ev->call->id.n,
                    ev->call->id.p, cf_tool_status_name(ev->call->status));
        break;
    case CF_CHAT_TOKEN:
        cf_buf_addf(&x->log, "<%.*s %zu>", (int)ev->text.n, ev->text.p, ev->token.n_top);
        break;
    case CF_CHAT_NOTE:
        cf_buf_addf(&x->log, "!%.*s!", (int)ev->text.n, ev->text.p);
        break;
    case CF_CHAT_STOP:
        x->n_stop++;
        cf_buf_addf(&x->log, "[%s%s%s]", cf_stop_reason_name(ev->stop.reason),
                    ev->stop.fault != CF_FAULT_NONE ? " " : "",
                    ev->stop.fault != CF_FAULT_NONE ? cf_fault_name(ev->stop.fault) : "");
        break;
    case CF_CHAT_PROMPT:
    case CF_CHAT_RAW:
    case CF_CHAT_PREFILL:
    case CF_CHAT_ENCODE:
    case CF_CHAT_CALL_DELTA:
    case CF_CHAT_CALL_PART:
    case CF_CHAT_CALL_FAILED:
    case CF_CHAT_USAGE:
    case CF_CHAT_TIMINGS:
        break;
    }
}

static const char tools_json[] =
    "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"x\":{\"type\":\"integer\"}}}}]";

static const char messages_json[] =
    "[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\","
    "\"content\":\"\",\"tool_calls\":[{\"type\":\"function\",\"function\":{"
    "\"name\":\"f\",\"arguments\":{\"x\":1}}}]},{\"role\":\"tool\","
    "\"content\":\"2\"}]";

static void run_exchange(exchange *x, const cf_chat_options *options, uint32_t n_retries)
{
    start_server(&x->s);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", (unsigned)x->s.port);
    cf_remote_options o = {
        .model = "m", .key = "secret-key", .n_retries = n_retries, .backoff_ms = 1, .idle_ms = 300};
    cf_backend *b = NULL;
    T_OK(cf_backend_remote_new(&b, url, &o, &x->err), x->err);
    json_t *messages = json_loads(x->messages != NULL ? x->messages : messages_json, 0, NULL);
    json_t *declared = json_loads(tools_json, 0, NULL);
    cf_tool_set *tools = NULL;
    T_OK(cf_tool_set_new(&tools, declared, &x->err), x->err);
    cf_chat_request q = {
        .messages = messages, .tools = tools, .options = options, .cancel = &x->cancel};
    cf_chat_response_init(&x->out);
    x->st = cf_backend_generate_stream(b, &q, on_event, x, &x->out, &x->err);
    assert_int_equal(x->n_stop, 1);
    assert_null(strstr(x->err.text, "secret-key"));
    cf_backend_free(b);
    cf_tool_set_free(tools);
    json_decref(declared);
    json_decref(messages);
    stop_server(&x->s);
}

static exchange *make(const char *first, const char *second)
{
    exchange *x = calloc(1, sizeof *x);
    assert_non_null(x);
    x->s.answer[0] = first;
    x->s.answer[1] = second;
    x->s.n_answers = second != NULL ? 2 : 1;
    return x;
}

static void finish(exchange *x)
{
    cf_chat_response_deinit(&x->out);
    cf_buf_deinit(&x->log);
    free(x);
}

/* ---- cases -------------------------------------------------------------- */

static void test_remote__good_stream(void **state)
{
    (void)state;
    exchange *x =
        make(STREAM ": a comment\n\ndata: {\"choi\x01"
                    "ces\":[{\"index\":0,\"delta\""
                    ":{\"role\":\"assistant\",\"content\":null}}]}\r\n\r\n" DELTA(
                        "{\"reasoning_content\":\"hm\"}")
                        DELTA("{\"content\":\"Hel\"}") "\x01" DELTA("{\"content\":\"lo\"}")
                            FINISH("stop") "data: "
                                           "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
                                           "\"completion_tokens\":2,\"total_tokens\":5}}"
                                           "\n\n" DONE,
             NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_string_equal(cf_buf_cstr(&x->log), "(hm)Hel|lo|[end]");
    assert_int_equal(x->out.usage.n_total, 5);
    assert_true(cf_str_is(cf_json_get_str(x->out.message, "content"), "Hello"));
    const char *r = x->s.request[0];
    assert_non_null(strstr(r, "POST /v1/chat/completions HTTP/1.1"));
    assert_non_null(strstr(r, "Authorization: Bearer secret-key\r\n"));
    assert_non_null(strstr(r, "\"arguments\":\"{\\\"x\\\":1}\""));
    assert_non_null(strstr(r, "\"tool_call_id\":\"call_1\""));
    finish(x);
}

static void test_remote__calls_in_deltas(void **state)
{
    (void)state;
    exchange *x = make(STREAM DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{"
                                    "\"name\":\"f\",\"arguments\":\"\"}}]}")
                           DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{"
                                 "\\\"x\\\": 1844674407\"}}]}")
                               DELTA("{\"tool_calls\":[{\"index\":1,\"id\":\"c2\",\"function\":{"
                                     "\"name\":\"g\",\"arguments\":\"{}\"}}]}")
                                   DELTA("{\"tool_calls\":[{\"index\":0,\"function\":{"
                                         "\"arguments\":"
                                         "\"3709551616}\"}}]}") FINISH("tool_calls") DONE,
                       NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_string_equal(cf_buf_cstr(&x->log), "{f{\"x\":18446744073709551616} c1 VALID}"
                                              "{g{} c2 INVALID_FUNCTION_NAME}[end]");
    assert_int_equal(x->out.status, CF_TOOL_INVALID_FUNCTION_NAME);
    assert_int_equal(json_array_size(json_object_get(x->out.message, "tool_calls")), 2);
    finish(x);
}

static void test_remote__broken_arguments(void **state)
{
    (void)state;
    exchange *x = make(STREAM DELTA("{\"tool_calls\":[{\"index\":0,\"id\":\"c\","
                                    "\"function\":{\"name\":\"f\",\"arguments\":\"{x\"}}"
                                    "]}") FINISH("tool_calls") DONE,
                       NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_int_equal(x->out.status, CF_TOOL_PARSE_ERROR);
    const json_t *call = json_array_get(json_object_get(x->out.message, "tool_calls"), 0);
    assert_true(cf_str_is(cf_json_get_str(json_object_get(call, "function"), "arguments"),
                          "{x")); /* nothing is lost */
    finish(x);
}

static void test_remote__logprobs_and_options(void **state)
{
    (void)state;
    cf_str stop[] = {{"STOP", 4}};
    cf_chat_options o = {.has_sampling = true,
                         .sampling = {.temperature = 0.7f, .top_p = 0.9f},
                         .max_tokens = 7,
                         .n_top = 2,
                         .stop = stop,
                         .n_stop = 1,
                         .thinking = CF_THINKING_OFF};
    exchange *x = make(STREAM "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\""
                              ":{\"content\":[{\"token\":\"a\",\"logprob\":-0.5,"
                              "\"top_logprobs\":[{\"token\":\"a\",\"logprob\":-0.5},{"
                              "\"token\":\"b\",\"logprob\":-1}]}]}}]}\n\n" FINISH("length") DONE,
                       NULL);
    run_exchange(x, &o, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_string_equal(cf_buf_cstr(&x->log), "<a 2>a|[length]");
    const char *r = x->s.request[0];
    assert_non_null(strstr(r, "\"temperature\":0.7,"));
    assert_non_null(strstr(r, "\"top_p\":0.9,"));
    assert_non_null(strstr(r, "\"max_tokens\":7"));
    assert_non_null(strstr(r, "\"top_logprobs\":2"));
    assert_non_null(strstr(r, "\"stop\":[\"STOP\"]"));
    assert_non_null(strstr(r, "\"chat_template_kwargs\":{\"enable_thinking\":false}"));
    finish(x);
}

#define BODY(x) strstr((x)->s.request[(x)->s.n_requests - 1], "\r\n\r\n")

/* Only what was set is sent, under the names that servers have. */
static void test_remote__nothing_unasked(void **state)
{
    (void)state;
    const cf_logit_bias bias[] = {{50, -3}, {7, -INFINITY}};
    cf_chat_options o = {.has_sampling = true,
                         .sampling = {.temperature = 0.8f, .top_k = 40, .min_p = 0.05f}};
    o.has_asked = true;
    exchange *x = make(STREAM DELTA("{\"content\":\"a\"}") FINISH("stop") DONE, NULL);
    run_exchange(x, &o, UINT32_MAX);
    T_OK(x->st, x->err);
    const char *const unasked[] = {"temperature", "top_k",    "min_p",
                                   "seed",        "logprobs", "max_tokens"};
    for (size_t i = 0; i < sizeof unasked / sizeof *unasked; i++) {
        assert_null(strstr(BODY(x), unasked[i]));
    }
    finish(x);
    o.asked = 1u << CF_OPTION_LOGIT_BIAS | 1u << CF_OPTION_TOP_K;
    o.sampling.bias = bias;
    o.sampling.n_bias = 2;
    const cf_token suppressed[] = {9, 12};
    o.sampling.suppress = suppressed;
    o.sampling.n_suppress = 2;
    x = make(STREAM DELTA("{\"content\":\"a\"}") FINISH("stop") DONE, NULL);
    run_exchange(x, &o, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_non_null(strstr(BODY(x), "\"top_k\":40"));
    assert_non_null(
        strstr(BODY(x), "\"logit_bias\":{\"50\":-3,\"7\":-100,\"9\":-100,\"12\":-100}"));
    assert_null(strstr(BODY(x), "min_p"));
    finish(x);
    o.asked = 1u << CF_OPTION_NO_REPEAT_NGRAM;
    x = make(FAIL("500 Oops", "{}"), NULL);
    run_exchange(x, &o, UINT32_MAX);
    assert_int_equal(x->st, CF_EUNSUPPORTED);
    assert_string_equal(x->err.text, "a server cannot do no_repeat_ngram; leave it out");
    finish(x);
}

/* One retry without what the server names, and no second refusal. */
static void test_remote__refused_arguments(void **state)
{
    (void)state;
    cf_chat_options o = {
        .has_sampling = true, .sampling = {.top_k = 40, .min_p = 0.05f}, .max_tokens = 9};
    exchange *x = make(FAIL("400 Bad", "{\"error\":{\"message\":\"Unrecognized request "
                                       "arguments supplied: top_k, min_p\"}}"),
                       STREAM DELTA("{\"content\":\"ok\"}") FINISH("stop") DONE);
    run_exchange(x, &o, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_int_equal(x->s.n_requests, 2);
    assert_non_null(strstr(x->s.request[0], "\"top_k\":40"));
    assert_null(strstr(x->s.request[1], "top_k"));
    assert_null(strstr(x->s.request[1], "min_p"));
    assert_non_null(strstr(x->s.request[1], "\"max_tokens\":9"));
    finish(x);
    x = make(FAIL("400 Bad", "{\"error\":{\"message\":\"Unsupported parameter: "
                             "'max_tokens' is not supported. Use "
                             "'max_completion_tokens' instead.\"}}"),
             STREAM DELTA("{\"content\":\"ok\"}") FINISH("stop") DONE);
    run_exchange(x, &o, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_null(strstr(x->s.request[1], "\"max_tokens\""));
    assert_non_null(strstr(x->s.request[1], "\"max_completion_tokens\":9"));
    finish(x);
}

/* All but content is reported: refusals, old calls, filters, thinking. */
/* Images and sounds of every form leave as OpenAI's parts, and no path does;
 * what is not here is named.  Fields that only an import knows stay here. */
static void test_remote__attachments(void **state)
{
    (void)state;
    static const char png[] = "\x89PNG\r\n\x1a\nrest";
    char path[] = "/tmp/cf_remoteXXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, png, sizeof png - 1) > 0);
    close(fd);
    char text[2048];
    snprintf(text, sizeof text,
             "[{\"role\":\"user\",\"converse\":{\"a\":1},\"content\":["
             "{\"type\":\"text\",\"text\":\"look\"},"
             "{\"type\":\"image\",\"path\":\"%s\"},"
             "{\"type\":\"image\",\"blob\":\"iVBORw0KGgoA\"},"
             "{\"type\":\"image\",\"image\":\"data:image/gif;base64,R0lGODlh\"},"
             "{\"type\":\"image\",\"converse\":{\"mimeType\":\"image/png\","
             "\"data\":[-119,80,78,71,13,10,26,10]}},"
             "{\"type\":\"image\",\"url\":\"https://x.org/a.png\"},"
             "{\"type\":\"audio\",\"blob\":\"UklGRiQAAABXQVZF\"},"
             "{\"type\":\"image\",\"path\":\"/etc/passwd\"},"
             "{\"type\":\"image_url\",\"image_url\":{\"url\":"
             "\"file:///nowhere.png\"}}]},"
             "{\"role\":\"function\",\"content\":[],\"tool_calls\":[{\"id\":"
             "\"c1\",\"name\":\"f\",\"arguments\":{}}]},"
             "{\"role\":\"function\",\"content\":[],\"tool_results\":[{\"id\":"
             "\"c1\",\"name\":\"f\",\"content\":\"9\"}]}]",
             path);
    exchange *x = make(STREAM DELTA("{\"content\":\"a\"}") FINISH("stop") DONE, NULL);
    x->messages = text;
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    const char *body = BODY(x);
    static const char *const wanted[] = {
        "data:image/png;base64,iVBORw0KGgpyZXN0",
        "data:image/png;base64,iVBORw0KGgoA",
        "data:image/gif;base64,R0lGODlh",
        "data:image/png;base64,iVBORw0KGgo=",
        "\"url\":\"https://x.org/a.png\"",
        "\"input_audio\":{\"data\":\"UklGRiQAAABXQVZF\",\"format\":\"wav\"}",
        "\"tool_calls\":[{\"id\":\"c1\"",
        "\"tool_call_id\":\"c1\""};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (strstr(body, wanted[i]) == NULL) {
            fail_msg("no %s in %s", wanted[i], body);
        }
    }
    assert_null(strstr(body, "/etc/passwd"));
    assert_null(strstr(body, "nowhere"));
    assert_null(strstr(body, path));
    assert_null(strstr(body, "converse"));
    const char *notes = cf_buf_cstr(&x->log);
    assert_non_null(strstr(notes, "/etc/passwd is not an image"));
    assert_non_null(strstr(notes, "nowhere.png is not here"));
    unlink(path);
    finish(x);
}

static void test_remote__other_endings(void **state)
{
    (void)state;
    exchange *x = make(STREAM DELTA("{\"refusal\":\"I will \"}") DELTA("{\"refusal\":\"not.\"}")
                           FINISH("stop") DONE,
                       NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_true(cf_str_is(cf_json_get_str(x->out.message, "refusal"), "I will not."));
    assert_string_equal(x->out.stop.what, "refusal");
    finish(x);
    x = make(STREAM DELTA("{\"content\":\"a\"}") FINISH("content_filter") DONE, NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_int_equal(x->out.stop.reason, CF_STOP_FILTERED);
    finish(x);
    x = make(STREAM DELTA("{\"function_call\":{\"name\":\"f\",\"arguments\":"
                          "\"{\"}}") DELTA("{\"function_call\":{\"arguments\":\"}\"}}")
                 FINISH("function_call") DONE,
             NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    const json_t *call = json_array_get(json_object_get(x->out.message, "tool_calls"), 0);
    assert_true(cf_str_is(cf_json_get_str(json_object_get(call, "function"), "name"), "f"));
    finish(x);
    x = make(STREAM DELTA("{\"content\":\"<think>hm</th\"}") DELTA("{\"content\":\"ink>yes\"}")
                 FINISH("stop") DONE,
             NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_true(cf_str_is(cf_json_get_str(x->out.message, "content"), "yes"));
    assert_true(cf_str_is(cf_json_get_str(x->out.message, "reasoning_content"), "hm"));
    finish(x);
}

static void test_remote__answer_that_is_no_stream(void **state)
{
    (void)state;
    exchange *x = make("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: "
                       "close\r\n\r\n{\"choices\":[{\"message\":{\"role\":\"assistant\","
                       "\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}",
                       NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_string_equal(cf_buf_cstr(&x->log), "whole|[end]");
    finish(x);
}

static void test_remote__http_errors(void **state)
{
    static const struct {
        const char *answer;
        cf_status st;
        const char *log, *text;
    } rows[] = {
        {FAIL("401 Unauthorized", "{\"error\":{\"message\":\"bad key\"}}"), CF_EINVAL,
         "[error authentication]", "the server says 401: bad key"},
        {FAIL("404 Not Found", "{\"error\":{\"message\":\"no model\"}}"), CF_ENOTFOUND,
         "[error model_not_found]", "the server says 404: no model"},
        {FAIL("429 Too Many", "{\"message\":\"slow down\"}"), CF_EBUSY, "[error rate_limit]",
         "the server says 429: slow down"},
        {FAIL("500 Oops", "not json"), CF_EIO, "[error other]", "the server says 500: not json"},
        {FAIL("400 Bad", "{\"error\":\"what\"}"), CF_EINVAL, "[error option]",
         "the server says 400: what"},
        {FAIL("401 No", "{\"error\":\"secret-key and secret-key: unknown\"}"), CF_EINVAL,
         "[error authentication]", "the server says 401: ********** and **********: unknown"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        exchange *x = make(rows[i].answer, NULL);
        run_exchange(x, NULL, UINT32_MAX);
        assert_int_equal(x->st, rows[i].st);
        assert_string_equal(cf_buf_cstr(&x->log), rows[i].log);
        assert_string_equal(x->err.text, rows[i].text);
        finish(x);
    }
}

static void test_remote__retries(void **state)
{
    (void)state;
    const char *const first[] = {FAIL("429 Too Many", "{}"), FAIL("503 Busy", "{}")};
    for (size_t i = 0; i < 2; i++) {
        exchange *x = make(first[i], STREAM DELTA("{\"content\":\"ok\"}") FINISH("stop") DONE);
        run_exchange(x, NULL, 2);
        T_OK(x->st, x->err);
        assert_string_equal(cf_buf_cstr(&x->log), "ok|[end]");
        assert_int_equal(x->out.timings.n_retries, 1);
        assert_int_equal(x->s.n_requests, 2);
        finish(x);
    }
}

static void test_remote__broken_streams(void **state)
{
    static const struct {
        const char *answer;
        cf_status st;
        const char *log;
    } rows[] = {
        {STREAM DELTA("{\"content\":\"ab\"}") "data: {\"choices\":[{\"del", CF_EIO,
         "ab|[error network]"}, /* cut off in an event */
        {STREAM DELTA("{\"content\":\"ab\"}"), CF_EIO, "ab|[error network]"},
        {STREAM, CF_EIO, "[error network]"},
        {STREAM DELTA("{\"content\":\"ab\"}") "data: {nonsense}\n\n", CF_EFORMAT,
         "ab|[error protocol]"},
        {STREAM "data: [1]\n\n", CF_EFORMAT, "[error protocol]"},
        {STREAM "data: {\"error\":{\"code\":429,\"message\":\"x\"}}\n\n", CF_EBUSY,
         "[error rate_limit]"},
        {STREAM DELTA("{\"content\":\"ab\"}") "\x02", CF_EIO, "ab|[error network]"}, /* silence */
        {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: "
         "close\r\n\r\n<html>",
         CF_EFORMAT, "[error protocol]"},
        {"", CF_EIO, "[error network]"},
        {STREAM DELTA("{\"content\":\"done\"}") FINISH("stop"), CF_OK,
         "done|[end]"}, /* no [DONE], but a reason */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        exchange *x = make(rows[i].answer, NULL);
        run_exchange(x, NULL, UINT32_MAX);
        assert_int_equal(x->st, rows[i].st);
        assert_string_equal(cf_buf_cstr(&x->log), rows[i].log);
        if (strncmp(rows[i].log, "ab", 2) == 0) { /* what came is kept */
            assert_true(cf_str_is(cf_json_get_str(x->out.message, "content"), "ab"));
        }
        finish(x);
    }
}

/* A reply of the same words again and again: a note says so, and the
 * connection is closed where that is asked for. */
static void test_remote__loops(void **state)
{
    (void)state;
    static const char delta[] = DELTA("{\"content\":\"I see no end, \"}");
    static const char think[] = DELTA("{\"reasoning_content\":\"wait, maybe \"}");
    const char *pieces[] = {delta, think};
    for (int kind = 0; kind < 2; kind++) {
        cf_buf answer = CF_BUF_INIT;
        cf_buf_adds(&answer, STREAM);
        for (int i = 0; i < 20; i++) {
            cf_buf_adds(&answer, pieces[kind]);
        }
        cf_buf_adds(&answer, "\x02");
        exchange *x = make(cf_buf_cstr(&answer), NULL);
        const cf_chat_options stops = {.stops_on_loop = true};
        run_exchange(x, &stops, UINT32_MAX);
        T_OK(x->st, x->err);
        assert_int_equal(x->out.stop.reason, CF_STOP_LOOP);
        const char *note = strstr(cf_buf_cstr(&x->log), "!the reply is in a ");
        assert_non_null(note);
        assert_non_null(strstr(note, kind == 0 ? "it repeats 4 words" : "it repeats 2 words"));
        assert_null(strstr(note + 1, "!the reply"));
        finish(x);
        cf_buf_deinit(&answer);
    }
    /* Only said, and once, where it is not to end. */
    cf_buf answer = CF_BUF_INIT;
    cf_buf_adds(&answer, STREAM);
    for (int i = 0; i < 30; i++) {
        cf_buf_adds(&answer, delta);
    }
    cf_buf_adds(&answer, FINISH("stop"));
    exchange *x = make(cf_buf_cstr(&answer), NULL);
    run_exchange(x, NULL, UINT32_MAX);
    T_OK(x->st, x->err);
    assert_int_equal(x->out.stop.reason, CF_STOP_END);
    const char *note = strstr(cf_buf_cstr(&x->log), "!the reply is in a ");
    assert_non_null(note);
    assert_null(strstr(note + 1, "!the reply"));
    finish(x);
    cf_buf_deinit(&answer);
}

static void test_remote__cancel(void **state)
{
    (void)state;
    exchange *x = make(STREAM DELTA("{\"content\":\"ab\"}") "\x02", NULL);
    x->cancels = true;
    run_exchange(x, NULL, UINT32_MAX);
    assert_int_equal(x->st, CF_ECANCELLED);
    assert_string_equal(cf_buf_cstr(&x->log), "ab|[cancelled]");
    finish(x);
}

static void test_remote__nobody_there(void **state)
{
    (void)state;
    cf_error err = {0};
    cf_backend *b = NULL;
    T_FAILS(cf_backend_remote_new(&b, "ftp://x", NULL, &err), CF_EINVAL);
    cf_remote_options bad = {.key = "a\r\nX: y"};
    T_FAILS(cf_backend_remote_new(&b, "http://x", &bad, &err), CF_EINVAL);
    cf_remote_options o = {.model = "m", .key = "secret-key"};
    T_OK(cf_backend_remote_new(&b, "http://user:pass@127.0.0.1:1", &o, &err), err);
    cf_backend_info info = cf_backend_get_info(b);
    assert_true(cf_str_is(info.name, "http://127.0.0.1:1/v1"));
    assert_true(info.cannot[0] != '\0');
    json_t *messages = json_array();
    cf_chat_request q = {.messages = messages};
    cf_chat_response out;
    cf_chat_response_init(&out);
    T_FAILS(cf_backend_generate(b, &q, &out, &err), CF_EIO);
    assert_int_equal(out.stop.fault, CF_FAULT_NETWORK);
    assert_null(strstr(err.text, "pass"));
    cf_chat_response_deinit(&out);
    json_decref(messages);
    cf_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote__good_stream),
        cmocka_unit_test(test_remote__calls_in_deltas),
        cmocka_unit_test(test_remote__broken_arguments),
        cmocka_unit_test(test_remote__logprobs_and_options),
        cmocka_unit_test(test_remote__nothing_unasked),
        cmocka_unit_test(test_remote__refused_arguments),
        cmocka_unit_test(test_remote__attachments),
        cmocka_unit_test(test_remote__other_endings),
        cmocka_unit_test(test_remote__answer_that_is_no_stream),
        cmocka_unit_test(test_remote__http_errors),
        cmocka_unit_test(test_remote__retries),
        cmocka_unit_test(test_remote__broken_streams),
        cmocka_unit_test(test_remote__loops),
        cmocka_unit_test(test_remote__cancel),
        cmocka_unit_test(test_remote__nobody_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
