/*
 * test_server_torture.c - servers whose n-th allocation fails while they
 * answer, for each n: an answer with status 200 is the one that the server
 * gives with enough memory, or the client sees an error or a broken answer;
 * and the next request is answered as if nothing had been.
 *
 * The servers run in this process; the client is a socket and allocates
 * nothing.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "tests/support/fault.h"
#include "tests/support/slow.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/serve/proxy/proxy.h"
#include "tui/serve/proxy/scripted.h"
#include "tui/serve/server/serve.h"

enum {
    ANSWER_MAX = 1 << 16,
    RUNS_MAX = T_IS_SLOW ? 10 : 40,
    LAST_MAX = 12 /* the last allocations, each: they put the answer together */
};

/* ---- a client ----------------------------------------------------------- */

static int connect_to(const char *url)
{
    const char *colon = strrchr(url, ':');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct timeval patience = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* The whole answer, head and body, until the server closes. */
static size_t ask(const char *url, const char *path, const char *body, char out[ANSWER_MAX])
{
    static char request[4096];
    int fd = connect_to(url);
    int n = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Content-Type: application/json\r\nConnection: close\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     path, strlen(body), body);
    assert_true(n > 0 && (size_t)n < sizeof request);
    assert_int_equal(write(fd, request, (size_t)n), n);
    size_t used = 0;
    for (ssize_t got;
         used + 1 < ANSWER_MAX && (got = read(fd, out + used, ANSWER_MAX - 1 - used)) > 0;) {
        used += (size_t)got;
    }
    close(fd);
    out[used] = '\0';
    return used;
}

/* Ids and times of an answer become '#', so that two can be compared. */
static void blur(char *text)
{
    static const char *const keys[] = {
        "\"id\":\"",  "\"created\":",      "_ms\":",       "_second\":",
        "_us\":",     "X-Request-Id: ",    "Date: ",       "X-Request-ID: ",
        "Keep-Alive", "\"created_at\":\"", "_duration\":", "_per_token_ms\":"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        for (char *p = text; (p = strstr(p, keys[i])) != NULL;) {
            p += strlen(keys[i]);
            size_t n = strcspn(p, ",\"}\r\n");
            memset(p, '#', n > 0 ? 1 : 0);
            if (n > 1) {
                memmove(p + 1, p + n, strlen(p + n) + 1);
            }
        }
    }
}

/* Whether the answer says that it is good, and is whole. */
static bool is_good(const char *answer)
{
    const char *length = strstr(answer, "Content-Length: ");
    const char *body = strstr(answer, "\r\n\r\n");
    if (length != NULL && body != NULL && strtoul(length + 16, NULL, 10) != strlen(body + 4)) {
        return false;
    }
    return strncmp(answer, "HTTP/1.1 200", 12) == 0 &&
           (strstr(answer, "\r\n0\r\n") != NULL || strstr(answer, "chunked") == NULL) &&
           strstr(answer, "\"error\":{") == NULL;
}

/* Answers are compared from their body on: how it is cut into chunks depends
 * on the moment. */
static void normalise(char *answer)
{
    char *body = strstr(answer, "\r\n\r\n");
    bool is_chunked = strstr(answer, "chunked") != NULL;
    if (body == NULL) {
        return;
    }
    char *from = body + 4, *to = answer;
    while (is_chunked) {
        size_t n = strtoul(from, &from, 16);
        if (n == 0 || strlen(from) < n + 4) {
            break;
        }
        memmove(to, from + 2, n);
        to += n;
        from += n + 4;
    }
    if (!is_chunked) {
        size_t n = strlen(from);
        memmove(to, from, n);
        to += n;
    }
    *to = '\0';
    blur(answer);
}

/* ---- torture ------------------------------------------------------------ */

typedef struct question {
    const char *path, *body;
} question;

static void wrong(const question *q, size_t nth, const char *got, const char *want)
{
    fail_msg("%s, allocation %zu failed:\n%.600s\nwant\n%.600s", q->path, nth, got, want);
}

/* One request with the nth allocation failing, and one after it; whether one
 * failed. */
static bool fail_at(const char *url, const question *q, const char *want, size_t nth, bool persist)
{
    static char got[ANSWER_MAX];
    cf_fault_arm(nth, persist);
    (void)ask(url, q->path, q->body, got);
    bool fired = cf_fault_disarm();
    if (is_good(got)) {
        normalise(got);
        if (strcmp(got, want) != 0) {
            wrong(q, nth, got, want);
        }
    } else if (!fired) {
        wrong(q, nth, got, want);
    }
    (void)ask(url, q->path, q->body, got);
    if (!is_good(got)) {
        wrong(q, nth, got, want);
    }
    normalise(got);
    if (strcmp(got, want) != 0) {
        wrong(q, nth, got, want);
    }
    return fired;
}

static void torture(const char *url, const question *q, bool persist)
{
    static char want[ANSWER_MAX], got[ANSWER_MAX];
    (void)ask(url, q->path, q->body, want);
    (void)ask(url, q->path, q->body, want);
    if (!is_good(want)) {
        fail_msg("%s: %.400s", q->path, want);
    }
    normalise(want);
    size_t before = cf_fault_total();
    (void)ask(url, q->path, q->body, got);
    size_t n = cf_fault_total() - before, step = n / RUNS_MAX + 1;
    for (size_t nth = 1; fail_at(url, q, want, nth, persist);) {
        nth += nth + LAST_MAX < n ? step : 1;
    }
}

static cf_http_server *listen_with(const cf_http_handler *handler)
{
    cf_error err;
    cf_http_server *server;
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    T_OK(cf_http_server_new(&server, &any, handler, &err), err);
    return server;
}

static void torture_all(cf_http_server *server, const question *q, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        torture(cf_http_server_url(server), &q[i], false);
        torture(cf_http_server_url(server), &q[i], true);
    }
}

#define CHAT "\"messages\":[{\"role\":\"user\",\"content\":\"abc\"}]"
#define TOOL                                                          \
    "{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":" \
    "\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}}}}"

static void test_server_torture__serve(void **state)
{
    (void)state;
    static const question questions[] = {
        {"/v1/chat/completions", "{" CHAT ",\"max_tokens\":4,\"seed\":7,\"temperature\":0}"},
        {"/v1/chat/completions",
         "{" CHAT ",\"max_tokens\":4,\"seed\":7,\"stream\":true,\"logprobs\":"
         "true,\"top_logprobs\":2,\"stop\":[\"zz\"],\"logit_bias\":{\"5\":1}}"},
        {"/v1/chat/completions", "{" CHAT ",\"max_tokens\":6,\"seed\":7,\"tools\":[{\"type\":"
                                 "\"function\",\"function\":" TOOL "}]}"},
        {"/v1/completions", "{\"prompt\":\"abc\",\"max_tokens\":3,\"seed\":1}"},
        /* An answer that does not fit into what its request has allocated. */
        {"/v1/chat/completions", "{" CHAT ",\"max_tokens\":24,\"seed\":7,\"logprobs\":true,"
                                 "\"top_logprobs\":20}"},
        {"/tokenize", "{\"content\":\"abcdefghijklmnop\"}"},
    };
    static const char tpl[] = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
                              "<|assistant|>";
    const cf_tiny_options tiny = {.n_ctx = 512, .chat_template = tpl};
    const char *path = store_dir_file("tiny.gguf");
    size_t n;
    cf_error err;
    void *bytes = cf_tiny_gguf(&tiny, &n);
    T_OK(cf_os_write_file(path, bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
    cf_opened opened;
    cf_serve *serve;
    const cf_open_options o = {.model = path, .n_threads = 1};
    T_OK(cf_open_backend(&opened, &o, "hermes", &err), err);
    const cf_serve_options so = {.opened = &opened, .model = "tiny", .n_slots = 1};
    T_OK(cf_serve_new(&serve, &so, &err), err);
    const cf_http_handler handler = cf_serve_handler(serve);
    cf_http_server *server = listen_with(&handler);
    torture_all(server, questions, sizeof questions / sizeof questions[0]);
    cf_http_server_free(server, 1000);
    cf_serve_free(serve);
    cf_opened_close(&opened);
}

/* Questions of every interface that a script answers. */
static const question scripted_questions[] = {
    {"/v1/chat/completions", "{\"model\":\"m\"," CHAT "}"},
    {"/v1/chat/completions", "{\"model\":\"m\",\"stream\":true," CHAT "}"},
    {"/v1/responses", "{\"model\":\"m\",\"input\":\"abc\"}"},
    {"/v1/responses", "{\"model\":\"m\",\"stream\":true,\"input\":\"abc\"}"},
    {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":9," CHAT "}"},
    {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true," CHAT "}"},
    {"/api/chat", "{\"model\":\"m\"," CHAT "}"},
    {"/api/chat", "{\"model\":\"m\",\"stream\":false," CHAT "}"},
};

static cf_scripted *make_script(cf_recorder *recorder)
{
    static const char text[] =
        "{\"replies\":[{\"text\":\"An answer\",\"thinking\":\"hm\",\"calls\":"
        "[{\"name\":\"f\",\"arguments\":{\"x\":1}}],\"usage\":{"
        "\"prompt_tokens\":3,\"completion_tokens\":2}}]}";
    json_t *script;
    cf_scripted *s;
    cf_error err;
    T_OK(cf_json_read(&script, text, sizeof text - 1, &err), err);
    T_OK(cf_scripted_new(&s, script, recorder, &err), err);
    json_decref(script);
    return s;
}

static void test_server_torture__scripted(void **state)
{
    (void)state;
    cf_scripted *script = make_script(NULL);
    const cf_http_handler handler = cf_scripted_handler(script);
    cf_http_server *server = listen_with(&handler);
    torture_all(server, scripted_questions,
                sizeof scripted_questions / sizeof scripted_questions[0]);
    cf_http_server_free(server, 1000);
    cf_scripted_free(script);
}

static void say(void *ud, const char *line)
{
    (void)ud;
    (void)line;
}

/* The proxy and the server that it asks allocate from one heap: either of them
 * fails. */
static void test_server_torture__proxy(void **state)
{
    (void)state;
    cf_error err;
    cf_store *store;
    cf_recorder *recorder;
    cf_proxy proxy;
    const cf_store_options so = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file("traffic.db"), &so, &err), err);
    const cf_recorder_options ro = {.store = store, .say = say};
    T_OK(cf_recorder_new(&recorder, &ro, &err), err);
    cf_scripted *script = make_script(NULL);
    const cf_http_handler answers = cf_scripted_handler(script);
    cf_http_server *origin = listen_with(&answers);
    const cf_upstream to = {.url = cf_http_server_url(origin)};
    T_OK(cf_proxy_init(&proxy, &to, recorder, &err), err);
    const cf_http_handler handler = cf_proxy_handler(&proxy);
    cf_http_server *server = listen_with(&handler);
    torture_all(server, scripted_questions, 2);
    torture_all(server, scripted_questions + 4, 2);
    cf_http_server_free(server, 1000);
    cf_http_server_free(origin, 1000);
    cf_proxy_deinit(&proxy);
    cf_recorder_free(recorder);
    cf_store_close(store);
    cf_scripted_free(script);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_torture__serve),
        cmocka_unit_test(test_server_torture__scripted),
        cmocka_unit_test(test_server_torture__proxy),
    };
    cf_fault_install();
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
