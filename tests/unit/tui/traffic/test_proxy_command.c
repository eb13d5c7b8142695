/*
 * test_proxy_command.c - `confab proxy` as a program: where it listens, what
 * it stores, how it ends, and what `watch` and `history raw` say then.
 */
#define _DEFAULT_SOURCE 1
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "tests/support/http_ask.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/traffic/http_server.h"

extern char **environ;

static const char reply[] =
    "{\"id\":\"r\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
    "\"assistant\",\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}";
static const char request[] =
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"no?\"}]}";

static void on_fake(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    static const cf_http_header id = {{"X-Request-Id", 12}, {"abc", 3}};
    (void)ud;
    (void)r;
    *a = (cf_http_answer){.status = 200,
                          .headers = &id,
                          .n_headers = 1,
                          .body = cf_str_from(reply)};
}

/* Starts the program, and reads where it listens from its standard error. */
static pid_t start(char url[100], const char *to, const char *db)
{
    int fd[2];
    pid_t pid;
    char line[400] = "";
    posix_spawn_file_actions_t actions;
    const char *words[] = {cf_program_path(), "proxy", "--to", to,  "--listen",
                           "127.0.0.1:0",     "--db",  db,     NULL};
    char *argv[9];
    for (size_t i = 0; i < 9; i++) {
        argv[i] = words[i] != NULL ? strdup(words[i]) : NULL;
    }
    assert_int_equal(pipe(fd), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_adddup2(&actions, fd[1], 2);
    posix_spawn_file_actions_addclose(&actions, fd[0]);
    posix_spawn_file_actions_addclose(&actions, fd[1]);
    assert_int_equal(posix_spawn(&pid, argv[0], &actions, NULL, argv, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    close(fd[1]);
    for (size_t n = 0; n + 1 < sizeof line && strchr(line, '\n') == NULL; n++) {
        assert_int_equal(read(fd[0], line + n, 1), 1);
    }
    const char *at = strstr(line, "answers at ");
    assert_non_null(at);
    snprintf(url, 100, "%.*s", (int)strcspn(at + 11, "\n"), at + 11);
    close(fd[0]);
    for (size_t i = 0; i < 8; i++) {
        free(argv[i]);
    }
    return pid;
}

static void ask(const char *base)
{
    cf_buf out = CF_BUF_INIT;
    assert_int_equal(http_ask(base, "/v1/chat/completions",
                              "X-Any-Name: sk-very-secret", request, &out),
                     200);
    assert_string_equal(cf_buf_cstr(&out), reply);
    cf_buf_deinit(&out);
}

static void check_raw(const char *db, const char *id, const char *which,
                      const char *want)
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
    int status;
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
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    check_watch(db);
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
    CF_PROGRAM(&p, "proxy", "--to", "http://127.0.0.1:1", "--listen",
               "0.0.0.0:0", "--db", store_dir_file("r.db"));
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "token"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "proxy", "--to", "ftp://127.0.0.1", "--db",
               store_dir_file("r.db"));
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proxy_command__records_and_ends),
        cmocka_unit_test(test_proxy_command__refuses_to_be_reached),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
