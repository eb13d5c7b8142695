/*
 * test_proxy_command.c - `confab proxy` as a program: where it listens, what
 * it stores, how it ends, and what `watch` and `history raw` say then; and
 * `proxy` and `serve` with clients that send what they like.
 */
#define _DEFAULT_SOURCE 1
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/os.h"
#include "core/json/json.h"
#include "core/net/http_server.h"
#include "tests/support/http_ask.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

extern char **environ;

enum { WORDS_MAX = 14, WAIT_MS = 20000, SLOW_CLIENTS = 40 };

static const char reply[] = "{\"id\":\"r\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
                            "\"assistant\",\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}";
static const char request[] =
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"no?\"}]}";

static void on_fake(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    static const cf_http_header id = {{"X-Request-Id", 12}, {"abc", 3}};
    (void)ud;
    (void)r;
    *a =
        (cf_http_answer){.status = 200, .headers = &id, .n_headers = 1, .body = cf_str_from(reply)};
}

/* Starts the program, and reads where it listens from its standard error. */
static pid_t start_words(char url[100], const char *const *words)
{
    int fd[2];
    pid_t pid;
    char line[400] = "";
    posix_spawn_file_actions_t actions;
    char *argv[WORDS_MAX + 1] = {NULL};
    for (size_t i = 0; i < WORDS_MAX && words[i] != NULL; i++) {
        argv[i] = strdup(words[i]);
    }
    assert_int_equal(pipe(fd), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
    posix_spawn_file_actions_addclose(&actions, fd[0]);
    posix_spawn_file_actions_addclose(&actions, fd[1]);
    assert_int_equal(posix_spawn(&pid, argv[0], &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(fd[1]);
    for (size_t n = 0; n + 1 < sizeof line && strchr(line, '\n') == NULL; n++) {
        assert_int_equal(read(fd[0], line + n, 1), 1);
    }
    const char *at = strstr(line, "answers at ");
    assert_non_null(at);
    snprintf(url, 100, "%.*s", (int)strcspn(at + 11, "\n"), at + 11);
    close(fd[0]);
    for (size_t i = 0; i < WORDS_MAX; i++) {
        free(argv[i]);
    }
    return pid;
}

static pid_t start(char url[100], const char *to, const char *db)
{
    return start_words(url, (const char *const[]){cf_program_path(), "proxy", "--to", to,
                                                  "--listen", "127.0.0.1:0", "--db", db, NULL});
}

/* Ends it as a user would; it must end in order. */
static void stop(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void ask(const char *base)
{
    cf_buf out = CF_BUF_INIT;
    assert_int_equal(
        http_ask(base, "/v1/chat/completions", "X-Any-Name: sk-very-secret", request, &out), 200);
    assert_string_equal(cf_buf_cstr(&out), reply);
    cf_buf_deinit(&out);
}

static void check_raw(const char *db, const char *id, const char *which, const char *want)
{
    cf_program p;
    CF_PROGRAM(&p, "history", "raw", id, which, "--db", db);
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.out), want);
    cf_program_deinit(&p);
}

static void check_watch(const char *db)
{
    cf_program p;
    json_t *v = NULL;
    cf_error err;
    CF_PROGRAM(&p, "watch", "--once", "--json", "--db", db);
    assert_int_equal(p.status, 0);
    T_OK(cf_json_read(&v, cf_buf_cstr(&p.out), p.out.n, &err), err);
    assert_string_equal(cf_json_get_str(v, "request_id").p, "abc");
    assert_int_equal(json_integer_value(json_object_get(v, "status")), 200);
    assert_int_equal(json_array_size(json_object_get(v, "findings")), 0);
    assert_null(strstr(cf_buf_cstr(&p.out), "secret"));
    const char *id = cf_json_get_str(v, "exchange").p;
    check_raw(db, id, "request", request);
    check_raw(db, id, "response", reply);
    json_decref(v);
    cf_program_deinit(&p);
}

static void test_proxy_command__records_and_ends(void **state)
{
    (void)state;
    char url[100], db[300];
    cf_error err;
    cf_http_server *fake;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler handler = {.answer = on_fake};
    T_OK(cf_http_server_new(&fake, &any, &handler, &err), err);
    snprintf(db, sizeof db, "%s", store_dir_file("c.db"));
    pid_t pid = start(url, cf_http_server_url(fake), db);
    ask(url);
    stop(pid);
    check_watch(db);
    cf_http_server_free(fake, 0);
}

/* With --check a request that the history does not answer ends it, with a status. */
static void test_proxy_command__replay_is_checked(void **state)
{
    (void)state;
    char url[100];
    int status;
    NEED_PROGRAM();
    const char *db = store_dir_file("check.db");
    pid_t pid =
        start_words(url, (const char *const[]){cf_program_path(), "proxy", "--replay", "--check",
                                               "--listen", "127.0.0.1:0", "--db", db, NULL});
    cf_buf out = CF_BUF_INIT;
    (void)http_ask(url, "/v1/chat/completions", "X-Any-Name: v", request, &out);
    cf_buf_deinit(&out);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

#define POST "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"

static int connect_to(const char *url)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strrchr(url, ':');
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && colon != NULL);
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void put(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return; /* it refused the rest */
        }
        p += sent;
        n -= (size_t)sent;
    }
}

/* ---- how it ends -------------------------------------------------------- */

/* Streams without an end, a piece at a time. */
static ssize_t send_on(void *ud, char *to, size_t n)
{
    static const char piece[] = "data: {}\n\n";
    const atomic_bool *stopping = ud;
    (void)poll(NULL, 0, 5);
    if (atomic_load(stopping) || n < sizeof piece - 1) {
        return 0;
    }
    memcpy(to, piece, sizeof piece - 1);
    return sizeof piece - 1;
}

static void on_endless(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    (void)ud;
    union {
        const atomic_bool *in;
        void *out;
    } stopping = {r->stopping};
    *a = (cf_http_answer){.status = 200, .size = -1, .read = send_on, .ud = stopping.out};
}

/* SIGTERM while answers run: it ends, and says that they broke off. */
static void test_proxy_command__ends_with_streams_open(void **state)
{
    (void)state;
    enum { STREAMS = 5 };
    static const char head[] = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 2\r\n\r\n{}";
    char url[100], db[300], got[4];
    int fd[STREAMS];
    cf_error err;
    cf_http_server *fake;
    cf_program p;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler handler = {.answer = on_endless};
    T_OK(cf_http_server_new(&fake, &any, &handler, &err), err);
    snprintf(db, sizeof db, "%s", store_dir_file("e.db"));
    pid_t pid = start(url, cf_http_server_url(fake), db);
    for (int i = 0; i < STREAMS; i++) {
        fd[i] = connect_to(url);
        put(fd[i], head, sizeof head - 1);
        assert_int_equal(recv(fd[i], got, sizeof got, MSG_WAITALL), sizeof got);
    }
    stop(pid);
    for (int i = 0; i < STREAMS; i++) {
        close(fd[i]);
    }
    CF_PROGRAM(&p, "watch", "--once", "--json", "--db", db);
    size_t n = 0;
    for (const char *at = cf_buf_cstr(&p.out); (at = strstr(at, "\"total_ms\":null")) != NULL;
         at++) {
        n++;
    }
    assert_int_equal(n, 0);
    cf_program_deinit(&p);
    cf_http_server_free(fake, 0);
}

/* ---- findings, as a user sees them -------------------------------------- */

static void compress_into(cf_buf *out, const char *text)
{
    z_stream z = {.zalloc = NULL};
    char room[1000];
    union {
        const char *in;
        Bytef *z;
    } from = {text};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, 0), Z_OK);
    z.next_in = from.z;
    z.avail_in = (uInt)strlen(text);
    z.next_out = (Bytef *)room;
    z.avail_out = sizeof room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    cf_buf_add(out, room, sizeof room - z.avail_out);
    (void)deflateEnd(&z);
}

#define MSG(role, text) "{\"role\":\"" role "\",\"content\":\"" text "\"}"
#define BODY(messages)  "{\"model\":\"m\",\"messages\":[" messages "]}"
#define SAY(text, prompt, cached)                                 \
    "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"" text \
    "\"}}],\"usage\":{\"prompt_tokens\":" prompt                  \
    ",\"prompt_tokens_details\":{\"cached_tokens\":" cached "}}}"
#define ABC MSG("system", "s") "," MSG("user", "a") ","

static const struct {
    const char *body, *say;
    const char *kind, *with; /* the one finding, and a member; NULL: none */
} wrong[] = {
    {BODY(ABC MSG("assistant", "b") "," MSG("user", "c")), SAY("d", "12100", "12000"), NULL, NULL},
    {BODY(ABC MSG("assistant", "B") "," MSG("user", "c") "," MSG("assistant", "d") "," MSG("user",
                                                                                           "e")),
     SAY("f", "12200", "0"), "cache-lost", "\"message\":2,"},
    {BODY(MSG("system", "10:01") "," MSG("user", "q")), SAY("r", "500", "0"), NULL, NULL},
    {BODY(MSG("system", "10:02") "," MSG("user", "q") "," MSG("assistant", "r") "," MSG("user",
                                                                                        "t")),
     SAY("u", "700", "0"), "system-changed", "\"message\":0,"},
    {BODY(MSG("user", "again")), SAY("x", "500", "0"), NULL, NULL},
    {BODY(MSG("user", "again")), SAY("y", "500", "0"), "other-answer", "\"exchange\":\""},
    {BODY(MSG("user", "a beginning that the server throws away without a word, for "
                      "its window is small: these are many more tokens than it "
                      "read") "," MSG("assistant", "b") "," MSG("user", "the end")),
     SAY("?", "40", "0"), "cut", "\"theirs\":40,"},
    {"{\"model\":\"m\",\"messages\":[" MSG(
         "user", "w?") "],\"tools\":[{\"type\":\"function\",\"function\":{"
                       "\"name\":\"weather\",\"parameters\":{\"type\":"
                       "\"object\",\"properties\":{\"city\":{\"type\":"
                       "\"string\"}}}}}]}",
     SAY("<tool_call>\\n{\\\"name\\\": \\\"weather\\\", \\\"arguments\\\": "
         "{\\\"city\\\": \\\"Rome\\\"}}\\n</tool_call>",
         "600", "0"),
     "lost-call", "\"name\":\"weather\""},
    {BODY(MSG("user", "zip")), NULL, NULL, NULL},
};

enum { N_WRONG = sizeof wrong / sizeof wrong[0] };

/* A server that says what the row of the request's X-Row does; the last row's
 * answer is compressed. */
static void on_row(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    static const cf_http_header zipped = {{"Content-Encoding", 16}, {"gzip", 4}};
    const cf_buf *gzip = ud;
    cf_str row = cf_http_header_get(r->headers, r->n_headers, "X-Row");
    size_t i = row.n == 1 ? (size_t)(row.p[0] - '0') : N_WRONG;
    assert_true(i < N_WRONG);
    *a = (cf_http_answer){.status = 200};
    if (wrong[i].say != NULL) {
        a->body = cf_str_from(wrong[i].say);
    } else {
        a->headers = &zipped;
        a->n_headers = 1;
        a->body = cf_buf_str(gzip);
    }
}

/* Asks for the exchanges until all have ended; the program still runs. */
static void watch_until(const char *db, size_t n_lines, cf_buf *out)
{
    size_t n = 0;
    for (int left = WAIT_MS; left > 0 && n != n_lines; left -= 10) {
        cf_program p;
        CF_PROGRAM(&p, "watch", "--once", "--json", "--db", db);
        cf_buf_reset(out);
        cf_buf_add(out, p.out.p, p.out.n);
        n = 0;
        for (const char *at = cf_buf_cstr(out); (at = strstr(at, "\"end\":\"")) != NULL; at++) {
            n++;
        }
        cf_program_deinit(&p);
        (void)poll(NULL, 0, 10);
    }
    assert_int_equal(n, n_lines);
}

static void check_line(const char *line, size_t i)
{
    static const char *const keys[] = {"exchange", "conversation", "request_id", "status",
                                       "findings"};
    json_t *v = NULL;
    cf_error err;
    char want[60];
    T_OK(cf_json_read(&v, line, strcspn(line, "\n"), &err), err);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        assert_non_null(json_object_get(v, keys[k]));
    }
    const json_t *list = json_object_get(v, "findings");
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, list);
    snprintf(want, sizeof want, "\"kind\":\"%s\"", wrong[i].kind != NULL ? wrong[i].kind : "");
    if ((wrong[i].kind == NULL && json_array_size(list) != 0) ||
        (wrong[i].kind != NULL && (strstr(cf_buf_cstr(&text), want) == NULL ||
                                   strstr(cf_buf_cstr(&text), wrong[i].with) == NULL))) {
        fail_msg("exchange %zu: %s", i, cf_buf_cstr(&text));
    }
    cf_buf_deinit(&text);
    json_decref(v);
}

/* Exact bytes, of a compressed answer too, which is read all the same. */
static void check_zipped(const char *db, const char *line, const cf_buf *gzip)
{
    cf_program p;
    char id[40];
    const char *at = strstr(line, "\"exchange\":\"");
    snprintf(id, sizeof id, "%.36s", at + strlen("\"exchange\":\""));
    CF_PROGRAM(&p, "history", "raw", id, "response", "--db", db);
    assert_int_equal(p.status, 0);
    assert_int_equal(p.out.n, gzip->n);
    assert_memory_equal(p.out.p, gzip->p, gzip->n);
    cf_program_deinit(&p);
    check_raw(db, id, "request", wrong[N_WRONG - 1].body);
    assert_non_null(strstr(line, "\"prompt_tokens\":77,"));
}

static void test_proxy_command__findings(void **state)
{
    (void)state;
    char url[100], model[300], db[300], row[40];
    cf_error err;
    cf_http_server *fake;
    cf_buf gzip = CF_BUF_INIT, out = CF_BUF_INIT;
    size_t n;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    compress_into(&gzip, SAY("z", "77", "0"));
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.n_ctx = 512}, &n);
    snprintf(model, sizeof model, "%s", store_dir_file("wrong.gguf"));
    snprintf(db, sizeof db, "%s", store_dir_file("w.db"));
    T_OK(cf_os_write_file(model, bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler handler = {.answer = on_row, .ud = &gzip};
    T_OK(cf_http_server_new(&fake, &any, &handler, &err), err);
    pid_t pid =
        start_words(url, (const char *const[]){cf_program_path(), "proxy", "--to",
                                               cf_http_server_url(fake), "--listen", "127.0.0.1:0",
                                               "-m", model, "-t", "chatml", "--db", db, NULL});
    for (size_t i = 0; i < N_WRONG; i++) {
        snprintf(row, sizeof row, "X-Row: %zu", i);
        assert_int_equal(http_ask(url, "/v1/chat/completions", row, wrong[i].body, &out), 200);
        watch_until(db, i + 1, &out); /* stored while the proxy runs */
    }
    const char *line = cf_buf_cstr(&out);
    for (size_t i = 0; i < N_WRONG; i++) {
        check_line(line, i);
        if (i == N_WRONG - 1) {
            check_zipped(db, line, &gzip);
        }
        line += strcspn(line, "\n") + 1;
    }
    stop(pid);
    cf_http_server_free(fake, 0);
    cf_buf_deinit(&gzip);
    cf_buf_deinit(&out);
}

/* Shapes in which HTTP lets programs disagree are refused, and not passed on;
 * unusual ones that are clear pass. */
static void test_proxy_command__shapes_of_requests(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *want; /* want: how the answer begins */
    } rows[] = {
        {POST "Content-Length: 5\r\nContent-Length: 2\r\n\r\nab", "400"},
        {POST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
              "0\r\n\r\n",
         "400"},
        {POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400"},
        {POST "Content-Length : 2\r\n\r\n{}", "400"},
        {POST "X-A: b\r\n X-B: c\r\nContent-Length: 2\r\n\r\n{}", "400"},
        {POST "Content-Lengt: 2\r\n h\r\n\r\n{}", "400"},
        {POST "X-A:\r\n\tb\r\nContent-Length: 2\r\n\r\n{}", "400"},
        {POST "X-A: b\rX-B: c\r\nContent-Length: 2\r\n\r\n{}", "400"},
        {POST "X A: b\r\nContent-Length: 2\r\n\r\n{}", "400"},
        {POST "X-A\x01: b\r\nContent-Length: 2\r\n\r\n{}", "400"},
        {POST "X-A:\r\nX-B:    c d \r\nContent-Length: 2\r\n\r\n{}", "200"},
        {"GET /a HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
         "Origin: http://b.example\r\n\r\n",
         "400"},
        {"GET /a HTTP/1.1\r\nHost: localhost\r\nHost: b.example\r\n\r\n", "400"},
        {"GET /a HTTP/1.1\r\nHost: b.example\r\n\r\n", "403"},
        {"OPTIONS /a HTTP/1.1\r\nHost: localhost\r\nOrigin: "
         "http://b.example\r\n\r\n",
         "403"},
        {POST "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n\r\n", "200"},
        {POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", "100"},
        {"POST /a HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}", "200"},
        {"HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n", "200"},
        {"PATCH /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "200"},
    };
    char url[100], db[300], got[13];
    cf_error err;
    cf_http_server *fake;
    NEED_PROGRAM();
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler handler = {.answer = on_fake};
    T_OK(cf_http_server_new(&fake, &any, &handler, &err), err);
    snprintf(db, sizeof db, "%s", store_dir_file("sh.db"));
    pid_t pid = start(url, cf_http_server_url(fake), db);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int fd = connect_to(url);
        put(fd, rows[i].bytes, strlen(rows[i].bytes));
        memset(got, 0, sizeof got);
        assert_int_equal(recv(fd, got, sizeof got - 1, MSG_WAITALL), sizeof got - 1);
        if (strncmp(got, "HTTP/1.1 ", 9) != 0 || strncmp(got + 9, rows[i].want, 3) != 0) {
            fail_msg("%s: %s", rows[i].bytes, got);
        }
        close(fd);
    }
    stop(pid);
    cf_http_server_free(fake, 0);
}

/* Headers behind the last that there is room for would not be looked at. */
static void test_proxy_command__many_headers(void **state)
{
    (void)state;
    static const struct {
        int n;
        const char *last, *want;
    } rows[] = {{0, "Origin: http://b.example\r\n", "403"},
                {300, "Origin: http://b.example\r\n", "431"},
                {300, "", "431"},
                {200, "", "200"}};
    char url[100], db[300], got[400];
    cf_error err;
    cf_http_server *fake;
    NEED_PROGRAM();
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler handler = {.answer = on_fake};
    T_OK(cf_http_server_new(&fake, &any, &handler, &err), err);
    snprintf(db, sizeof db, "%s", store_dir_file("many.db"));
    pid_t pid = start(url, cf_http_server_url(fake), db);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_adds(&b, "GET /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (int k = 0; k < rows[i].n; k++) {
            cf_buf_addf(&b, "X-%d: a\r\n", k);
        }
        cf_buf_addf(&b, "%s\r\n", rows[i].last);
        int fd = connect_to(url);
        put(fd, b.p, b.n);
        memset(got, 0, sizeof got);
        (void)recv(fd, got, sizeof got - 1, MSG_WAITALL);
        if (strncmp(got + 9, rows[i].want, 3) != 0 ||
            (got[9] == '4' && strstr(got, "{\"type\":\"error\",\"error\":{") == NULL)) {
            fail_msg("%d %s: %s", rows[i].n, rows[i].last, got);
        }
        close(fd);
        cf_buf_deinit(&b);
    }
    stop(pid);
    cf_http_server_free(fake, 0);
}

static void test_proxy_command__refuses_to_be_reached(void **state)
{
    (void)state;
    cf_program p;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    unsetenv("CONFAB_TOKEN");
    CF_PROGRAM(&p, "proxy", "--to", "http://127.0.0.1:1", "--listen", "0.0.0.0:0", "--db",
               store_dir_file("r.db"));
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "token"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "proxy", "--to", "ftp://127.0.0.1", "--db", store_dir_file("r.db"));
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

/* ---- clients that send what they like ----------------------------------- */

/* A request: a head, a part of it many times, a tail.  The answer is one of
 * HTTP, or the connection is closed; the engine never answers it with 200. */
typedef struct hostile {
    const char *name, *head, *part;
    size_t n;
    const char *tail;
} hostile;

static const hostile requests[] = {
    {"noise", "\x16\x03\x01\x02\xff\xfe\r\n\r\n", NULL, 0, NULL},
    {"an endless first line", "GET /", "a", 300000, NULL},
    {"an endless header", POST "X-A: ", "a", 300000, NULL},
    {"many headers", POST, "X-A: b\r\n", 5000, "\r\n"},
    {"a negative length", POST "Content-Length: -5\r\n\r\n", NULL, 0, NULL},
    {"two lengths", POST "Content-Length: 5\r\nContent-Length: 2\r\n\r\nab", NULL, 0, NULL},
    {"a length and chunks", POST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     NULL, 0, NULL},
    {"an unknown coding", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", NULL, 0, NULL},
    {"two codings",
     POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"
          "0\r\n\r\n",
     NULL, 0, NULL},
    {"a blank before the colon", POST "Content-Length : 2\r\n\r\n{}", NULL, 0, NULL},
    {"two hosts", "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: a.example\r\n\r\n", NULL, 0,
     NULL},
    {"a length of 2^70", POST "Content-Length: 1180591620717411303424\r\n\r\n", NULL, 0, NULL},
    {"a wrong chunk", POST "Transfer-Encoding: chunked\r\n\r\nzz\r\n", NULL, 0, NULL},
    {"a chunk of 2^68", POST "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nab", NULL, 0,
     NULL},
    {"half a body", POST "Content-Length: 100\r\n\r\n{", NULL, 0, NULL},
    {"a deep body", POST "Content-Length: 200000\r\n\r\n", "[", 200000, NULL},
    {"deep objects", POST "Content-Length: 600000\r\n\r\n", "{\"a\":", 120000, NULL},
    {"bytes that are not UTF-8", POST "Content-Length: 3\r\n\r\n\"\xff\xfe", NULL, 0, NULL},
    {"an escape as a path", "GET /v1/\033]0;t\a HTTP/1.1\r\nHost: a\r\n\r\n", NULL, 0, NULL},
    {"another site",
     "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n"
     "Origin: http://evil.example\r\n\r\n",
     NULL, 0, NULL},
    {"a tunnel", "CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n", NULL, 0, NULL},
    {"an address as a path", "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
     NULL, 0, NULL},
    {"too large a body", POST "Content-Length: 140000000\r\n\r\n", NULL, 0, NULL},
};

static void send_hostile(const char *url, const hostile *h, bool is_engine)
{
    char got[16] = "";
    size_t n = 0;
    int fd = connect_to(url);
    size_t len = h->part != NULL ? strlen(h->part) : 0;
    put(fd, h->head, strlen(h->head));
    for (size_t i = 0; i < h->n; i++) {
        put(fd, h->part, len);
    }
    put(fd, h->tail, h->tail != NULL ? strlen(h->tail) : 0);
    shutdown(fd, SHUT_WR);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (n < sizeof got - 1) {
        if (poll(&p, 1, WAIT_MS) <= 0) {
            fail_msg("%s: no answer", h->name);
        }
        ssize_t k = recv(fd, got + n, sizeof got - 1 - n, 0);
        if (k <= 0) {
            break;
        }
        n += (size_t)k;
    }
    got[n] = '\0';
    if ((is_engine && strncmp(got, "HTTP/1.1 200", 12) == 0) ||
        (n > 0 && strncmp(got, "HTTP/1.", 7) != 0)) {
        fail_msg("%s: %s", h->name, got);
    }
    close(fd);
}

/* All of them, while others have begun a request and do not go on. */
static void attack(const char *url, bool is_engine)
{
    static const char half[] = POST "Content-Length: 100\r\n\r\n{";
    int slow[SLOW_CLIENTS];
    for (int i = 0; i < SLOW_CLIENTS; i++) {
        slow[i] = connect_to(url);
        put(slow[i], half, (size_t)i * (sizeof half - 1) / SLOW_CLIENTS);
    }
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        send_hostile(url, &requests[i], is_engine);
    }
    for (int i = 0; i < SLOW_CLIENTS; i++) {
        close(slow[i]);
    }
}

static void test_proxy_command__hostile_clients(void **state)
{
    (void)state;
    char url[100], db[300];
    cf_error err;
    cf_http_server *fake;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    const cf_http_options any = {.listen = "127.0.0.1:0"};
    const cf_http_handler handler = {.answer = on_fake};
    T_OK(cf_http_server_new(&fake, &any, &handler, &err), err);
    snprintf(db, sizeof db, "%s", store_dir_file("h.db"));
    pid_t pid = start(url, cf_http_server_url(fake), db);
    attack(url, false);
    ask(url); /* as before */
    stop(pid);
    cf_http_server_free(fake, 0);
}

/* Constraints of many levels are compiled on a connection's own, small stack.
 * Each either gives an answer or is refused. */
static void ask_deep(const char *url, const char *head, const char *open, size_t n,
                     const char *inside, const char *shut, const char *tail)
{
    cf_buf body = CF_BUF_INIT, out = CF_BUF_INIT;
    cf_buf_adds(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],"
                       "\"max_tokens\":1,");
    cf_buf_adds(&body, head);
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&body, open);
    }
    cf_buf_adds(&body, inside);
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(&body, shut);
    }
    cf_buf_adds(&body, tail);
    long status = http_ask(url, "/v1/chat/completions", NULL, cf_buf_cstr(&body), &out);
    if (status != 200 && status != 400) {
        fail_msg("%s %s... x %zu: %ld", head, open, n, status);
    }
    cf_buf_deinit(&body);
    cf_buf_deinit(&out);
}

static void ask_all_deep(const char *url)
{
#define SCHEMA                                                        \
    "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{" \
    "\"name\":\"a\",\"schema\":"
    static const size_t depths[] = {50, 99, 119, 1000, 20000};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        size_t n = depths[i];
        ask_deep(url, SCHEMA "{\"pattern\":\"", "(", n, "a", ")", "\"}}}}");
        ask_deep(url, SCHEMA "{\"pattern\":\"", "(a|", n, "b", ")*", "\"}}}}");
        ask_deep(url, SCHEMA, "{\"not\":", n, "{}", "}", "}}}");
        ask_deep(url, SCHEMA, "{\"properties\":{\"a\":", n, "{}", "}}", "}}}");
        ask_deep(url, SCHEMA, "{\"anyOf\":[{\"allOf\":[", n, "{}", "]}]}", "}}}");
        ask_deep(url, SCHEMA "{\"enum\":[", "[", n, "", "]", "]}}}}");
        ask_deep(url, "\"grammar\":\"root = ", "(", n, "\\\"a\\\"", ")", " ;\"}");
        ask_deep(url,
                 "\"tools\":[{\"type\":\"function\",\"function\":{"
                 "\"name\":\"f\",\"parameters\":",
                 "{\"items\":", n, "{}", "}", "}}]}");
        ask_deep(url, "\"x\":", "[", n, "", "]", "}");
    }
#undef SCHEMA
}

static void test_serve_command__hostile_clients(void **state)
{
    (void)state;
    char url[100], model[300], db[300];
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    size_t n;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.n_ctx = 512}, &n);
    snprintf(model, sizeof model, "%s", store_dir_file("tiny.gguf"));
    snprintf(db, sizeof db, "%s", store_dir_file("s.db"));
    T_OK(cf_os_write_file(model, bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
    pid_t pid = start_words(url, (const char *const[]){cf_program_path(), "serve", "-m", model,
                                                       "-t", "chatml", "--listen", "127.0.0.1:0",
                                                       "--db", db, NULL});
    attack(url, true);
    ask_all_deep(url);
    assert_int_equal(http_ask(url, "/v1/models", NULL, NULL, &out), 200);
    cf_buf_deinit(&out);
    stop(pid);
}

/* Asks until the answer is `want`. */
static void ask_until(const char *url, const char *body, long want, cf_buf *out)
{
    long got = 0;
    for (int left = WAIT_MS; left > 0 && got != want; left -= 10) {
        got = http_ask(url, "/v1/chat/completions", NULL, body, out);
        (void)poll(NULL, 0, 10);
    }
    assert_int_equal(got, want);
}

/* Sends a part of a body, and asks with another that has no room beside it.  The
 * part may come last and be refused itself: then it is sent again.  Returns its
 * connection. */
static int hold_until_crowded(const char *url, const char *body, cf_buf *out)
{
    static const char half[] = POST "Content-Length: 900\r\n\r\n";
    for (int left = WAIT_MS; left > 0; left -= 10) {
        int fd = connect_to(url);
        put(fd, half, sizeof half - 1);
        put(fd, body, 600);
        if (http_ask(url, "/v1/chat/completions", NULL, body, out) == 503) {
            return fd;
        }
        close(fd);
        (void)poll(NULL, 0, 10);
    }
    fail_msg("the bodies together are never too large");
    return -1;
}

/* The bodies of all requests together are bounded, not only each. */
static void test_http_server__bodies_together(void **state)
{
    (void)state;
    char body[601];
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_http_server *fake;
    const cf_http_options o = {.listen = "127.0.0.1:0", .bodies_max = 1000};
    const cf_http_handler handler = {.answer = on_fake};
    memset(body, ' ', 600);
    body[600] = '\0';
    T_OK(cf_http_server_new(&fake, &o, &handler, &err), err);
    const char *url = cf_http_server_url(fake);
    /* 600 bytes of a body whose end does not come, and then 600 more. */
    int fd = hold_until_crowded(url, body, &out);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"crowded\""));
    body[300] = '\0'; /* there is room for this one */
    ask_until(url, body, 200, &out);
    body[300] = ' ';
    close(fd);
    ask_until(url, body, 200, &out);
    cf_buf_deinit(&out);
    cf_http_server_free(fake, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_server__bodies_together),
        cmocka_unit_test(test_proxy_command__hostile_clients),
        cmocka_unit_test(test_serve_command__hostile_clients),
        cmocka_unit_test(test_proxy_command__records_and_ends),
        cmocka_unit_test(test_proxy_command__replay_is_checked),
        cmocka_unit_test(test_proxy_command__ends_with_streams_open),
        cmocka_unit_test(test_proxy_command__findings),
        cmocka_unit_test(test_proxy_command__shapes_of_requests),
        cmocka_unit_test(test_proxy_command__many_headers),
        cmocka_unit_test(test_proxy_command__refuses_to_be_reached),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
