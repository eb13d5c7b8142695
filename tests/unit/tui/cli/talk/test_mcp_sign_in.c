/*
 * test_mcp_sign_in.c - confab mcp login, logout and call against a server that
 * wants a sign-in, tests/data/mcp/signing.py; $BROWSER is a script that agrees.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

extern char **environ;

enum { PROCESSES = 5, N_WORDS = 10 };

typedef struct world {
    cf_process server;
    int port;
    const char *file;
    char state[256];
} world;

static void open_mode(world *w, const char *mode)
{
    const char *const argv[] = {"python3", "tests/data/mcp/signing.py", mode, NULL};
    const cf_process_spec spec = {.argv = argv};
    char text[200] = {0}, here[512], browser[600];
    size_t n = 0;
    cf_error err;
    *w = (world){.server = CF_PROCESS_INIT};
    T_OK(cf_process_start(&w->server, &spec, &err), err);
    while (w->server.out >= 0 && (n == 0 || text[n - 1] != '\n')) {
        poll(&(struct pollfd){.fd = w->server.out, .events = POLLIN}, 1, 100);
        n += cf_process_read(&w->server.out, text + n, 15 - n);
    }
    w->port = atoi(text);
    snprintf(w->state, sizeof w->state, "%s", store_dir_file(mode));
    assert_non_null(getcwd(here, sizeof here));
    snprintf(browser, sizeof browser, "python3 %s/tests/data/mcp/browser.py", here);
    assert_int_equal(setenv("XDG_STATE_HOME", w->state, 1), 0);
    assert_int_equal(setenv("XDG_DATA_HOME", store_dir_file("data"), 1), 0);
    assert_int_equal(setenv("BROWSER", browser, 1), 0);
    snprintf(text, sizeof text, "{\"mcpServers\":{\"t\":{\"url\":\"http://127.0.0.1:%d/mcp\"}}}",
             w->port);
    w->file = store_dir_file("signing.json");
    store_dir_write(w->file, text);
}

static void close_world(world *w)
{
    cf_process_end(&w->server, 300);
}

/* ---- the server's side -------------------------------------------------- */

/* The body of the script's answer; what it has counted, where it is a GET. */
static json_t *seen(const world *w, const char *method, const char *path)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port)};
    char text[200], block[4096];
    cf_buf out = CF_BUF_INIT;
    json_t *v = NULL;
    cf_error err;
    ssize_t got;
    int n =
        snprintf(text, sizeof text,
                 "%s %s HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, path);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(write(fd, text, (size_t)n), n);
    while ((got = read(fd, block, sizeof block)) > 0) {
        cf_buf_add(&out, block, (size_t)got);
    }
    close(fd);
    assert_memory_equal(cf_buf_cstr(&out), "HTTP/1.1 2", 10);
    if (strcmp(method, "GET") == 0) {
        const char *body = strstr(cf_buf_cstr(&out), "\r\n\r\n") + 4;
        T_OK(cf_json_read(&v, body, strlen(body), &err), err);
    }
    cf_buf_deinit(&out);
    return v;
}

static void expire(const world *w)
{
    json_decref(seen(w, "POST", "/expire"));
}

static int count_of(const world *w, const char *what)
{
    json_t *v = seen(w, "GET", "/seen");
    int n = (int)json_integer_value(json_object_get(v, what));
    json_decref(v);
    return n;
}

/* No code, verifier or token is in what the program printed. */
static void has_no_secret(const world *w, const cf_program *p)
{
    json_t *v = seen(w, "GET", "/seen");
    const json_t *secrets = json_object_get(v, "secrets");
    assert_true(json_array_size(secrets) >= 4);
    for (size_t i = 0; i < json_array_size(secrets); i++) {
        const char *one = json_string_value(json_array_get(secrets, i));
        assert_null(strstr(cf_buf_cstr(&p->out), one));
        assert_null(strstr(cf_buf_cstr(&p->err), one));
    }
    json_decref(v);
}

/* ---- the program's side ------------------------------------------------- */

static void call(world *w, cf_program *p)
{
    CF_PROGRAM(p, "mcp", "call", "--mcp", w->file, "--trust-addresses", "--yes", "--log", "add");
}

static void call_says(world *w, const char *want)
{
    cf_program p;
    call(w, &p);
    if (p.status != 0 || strstr(cf_buf_cstr(&p.out), want) == NULL) {
        fail_msg("status %d\n%s\n%s", p.status, cf_buf_cstr(&p.out), cf_buf_cstr(&p.err));
    }
    has_no_secret(w, &p);
    cf_program_deinit(&p);
}

static void says(const cf_program *p, int status, const char *out, const char *err)
{
    if (p->status != status || strstr(cf_buf_cstr(&p->out), out) == NULL ||
        strstr(cf_buf_cstr(&p->err), err) == NULL) {
        fail_msg("status %d\n%s\n%s", p->status, cf_buf_cstr(&p->out), cf_buf_cstr(&p->err));
    }
}

static void test_mcp_sign_in__login_and_logout(void **state)
{
    (void)state;
    NEED_PROGRAM();
    world w;
    cf_program p;
    struct stat st;
    char path[400];
    open_mode(&w, "plain");
    CF_PROGRAM(&p, "mcp", "login", "--mcp", w.file, "--trust-addresses", "--json");
    says(&p, 0, "\"signIn\":{\"issuer\":\"http://127.0.0.1:", "sign in: GET http://127.0.0.1:");
    says(&p, 0, "\"scopes\":[\"read\",\"offline_access\"]", "/token with grant_type, code, ");
    has_no_secret(&w, &p);
    cf_program_deinit(&p);
    snprintf(path, sizeof path, "%s/confab/mcp-tokens.json", w.state);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(path, sizeof path, "%s/confab", w.state);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    call_says(&w, "scopes: read offline_access");
    assert_int_equal(count_of(&w, "authorize"), 1);
    CF_PROGRAM(&p, "mcp", "logout", "--mcp", w.file);
    cf_program_expect(&p, 0, "t  signed out\n");
    CF_PROGRAM(&p, "mcp", "logout", "--mcp", w.file);
    cf_program_expect(&p, 0, "t  was not signed in\n");
    CF_PROGRAM(&p, "mcp", "call", "--mcp", w.file, "--trust-addresses", "--yes", "--no-browser",
               "add");
    says(&p, 2, "", "server t requires a sign-in: confab mcp login --server t");
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "mcp", "login", "--mcp", w.file, "--trust-addresses");
    says(&p, 0, "t  signed in at http://127.0.0.1:", "");
    cf_program_deinit(&p);
    close_world(&w);
}

static void test_mcp_sign_in__refresh(void **state)
{
    (void)state;
    NEED_PROGRAM();
    world w;
    open_mode(&w, "plain");
    call_says(&w, "scopes: read");
    for (int i = 1; i <= 3; i++) {
        expire(&w);
        call_says(&w, "scopes: read");
        assert_int_equal(count_of(&w, "refresh"), i);
    }
    assert_int_equal(count_of(&w, "authorize"), 1);
    close_world(&w);
}

/* The refresh token is good once, and one that comes twice ends them all. */
static void test_mcp_sign_in__many_processes_refresh_once(void **state)
{
    (void)state;
    NEED_PROGRAM();
    world w;
    char *argv[N_WORDS + 1];
    const char *const words[] = {
        cf_program_path(),   "mcp",   "call",         "--quiet", "--mcp", NULL,
        "--trust-addresses", "--yes", "--no-browser", "add"};
    open_mode(&w, "plain");
    call_says(&w, "scopes: read");
    expire(&w);
    for (size_t i = 0; i < N_WORDS; i++) {
        argv[i] = strdup(words[i] != NULL ? words[i] : w.file);
    }
    argv[N_WORDS] = NULL;
    pid_t child[PROCESSES];
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(posix_spawn(&child[i], argv[0], &quiet, NULL, argv, environ), 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
    }
    posix_spawn_file_actions_destroy(&quiet);
    assert_int_equal(count_of(&w, "refresh"), 1);
    assert_int_equal(count_of(&w, "revoked"), 0);
    expire(&w);
    call_says(&w, "scopes: read"); /* what they left is good */
    assert_int_equal(count_of(&w, "authorize"), 1);
    for (size_t i = 0; i < N_WORDS; i++) {
        free(argv[i]);
    }
    close_world(&w);
}

static void test_mcp_sign_in__failed_refresh(void **state)
{
    (void)state;
    NEED_PROGRAM();
    world w;
    cf_program p;
    open_mode(&w, "refuses");
    call_says(&w, "scopes: read");
    expire(&w);
    CF_PROGRAM(&p, "mcp", "call", "--mcp", w.file, "--trust-addresses", "--yes", "--no-browser",
               "add");
    says(&p, 2, "", "the refresh failed (invalid_grant: it was revoked)");
    says(&p, 2, "", "confab mcp login --server t");
    cf_program_deinit(&p);
    call_says(&w, "scopes: read"); /* by way of the browser */
    assert_int_equal(count_of(&w, "refresh"), 1);
    assert_int_equal(count_of(&w, "authorize"), 2);
    assert_int_equal(count_of(&w, "register"), 1);
    close_world(&w);
}

static void test_mcp_sign_in__more_scopes(void **state)
{
    (void)state;
    NEED_PROGRAM();
    world w;
    cf_program p;
    open_mode(&w, "stepup");
    call_says(&w, "scopes: read write offline_access");
    assert_int_equal(count_of(&w, "authorize"), 2);
    close_world(&w);
    open_mode(&w, "forever");
    call(&w, &p);
    says(&p, 3, "", "after 3 sign-ins");
    cf_program_deinit(&p);
    assert_int_equal(count_of(&w, "authorize"), 4); /* one to start, three for the call */
    close_world(&w);
}

static void refused(const char *mode, int n_authorize, const char *why)
{
    world w;
    cf_program p;
    open_mode(&w, mode);
    call(&w, &p);
    says(&p, 3, "", why);
    cf_program_deinit(&p);
    assert_int_equal(count_of(&w, "authorize"), n_authorize);
    assert_int_equal(count_of(&w, "elsewhere"), 0);
    close_world(&w);
}

static void test_mcp_sign_in__hostile_servers(void **state)
{
    (void)state;
    NEED_PROGRAM();
    refused("otherresource", 0, "the metadata is of another server: http://127.0.0.1:1/mcp");
    refused("otherissuer", 0, "is of another issuer: https://other.example");
    refused("nopkce", 0, "does not offer PKCE with S256");
    refused("moved", 0, "has no metadata");
    refused("big", 0, "has no metadata");
    refused("wrongstate", 1, "another \"state\"");
    refused("wrongissuer", 1, "answer is of another issuer: https://other.example");
    refused("noissuer", 1, "lacks the issuer that was promised");
}

/* Metadata at the address of another server is not even asked for. */
static void test_mcp_sign_in__metadata_elsewhere(void **state)
{
    (void)state;
    NEED_PROGRAM();
    world w;
    cf_program p;
    open_mode(&w, "far");
    call(&w, &p);
    says(&p, 2, "", "the metadata is of another server: https://far.example/x");
    cf_program_deinit(&p);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcp_sign_in__login_and_logout),
        cmocka_unit_test(test_mcp_sign_in__refresh),
        cmocka_unit_test(test_mcp_sign_in__many_processes_refresh_once),
        cmocka_unit_test(test_mcp_sign_in__failed_refresh),
        cmocka_unit_test(test_mcp_sign_in__more_scopes),
        cmocka_unit_test(test_mcp_sign_in__hostile_servers),
        cmocka_unit_test(test_mcp_sign_in__metadata_elsewhere),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
