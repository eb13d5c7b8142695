/*
 * test_file_addresses.c - addresses that a plan, a configuration, a test or a
 * file of tool servers names: refused unasked, and never given the key.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/listener.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

/* A server that replies to everything with the key that it got, of which the
 * program strikes out every character. */
typedef struct scene {
    int fd;
    pthread_t thread;
    char url[64];
    atomic_size_t n_asked;
    const char *path; /* of the file that names it */
    char text[600];
    char key[64]; /* that came last */
} scene;

static void answer(int fd, const char *request)
{
    const char *key = strstr(request, "Bearer ");
    int n = key != NULL ? (int)strcspn(key, "\r\n") : 0;
    char body[400], head[200];
    int n_body = snprintf(body, sizeof body,
                          "{\"data\":[{\"id\":\"m\"}],\"choices\":[{\"message\":{\"content\":"
                          "\"<%.*s>\"},\"finish_reason\":\"stop\"}]}",
                          n < 60 ? n : 60, key != NULL ? key : "");
    int n_head = snprintf(head, sizeof head,
                          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                          "Content-Length: %d\r\nConnection: close\r\n\r\n",
                          n_body);
    (void)send(fd, head, (size_t)n_head, MSG_NOSIGNAL);
    (void)send(fd, body, (size_t)n_body, MSG_NOSIGNAL);
}

static void *serve(void *ud)
{
    scene *s = ud;
    static char request[1 << 16];
    int fd;
    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        if (cf_listen_request(fd, request, sizeof request) != NULL) {
            const char *key = strstr(request, "Bearer ");
            int n = key != NULL ? (int)strcspn(key, "\r\n") : 0;
            snprintf(s->key, sizeof s->key, "%.*s", n, key != NULL ? key : "");
            atomic_fetch_add(&s->n_asked, 1);
            answer(fd, request);
        }
        close(fd);
    }
    return NULL;
}

/* A file in whose text @ is the address of the server. */
static void begin(scene *s, const char *name, const char *form)
{
    int before = (int)strcspn(form, "@");
    unsigned short port;
    *s = (scene){.fd = cf_listen(&port)};
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", (unsigned)port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
    snprintf(s->text, sizeof s->text, "%.*s%s%s", before, form, s->url, form + before + 1);
    s->path = store_dir_put_text(name, s->text);
}

/* How many requests came. */
static size_t end(scene *s, cf_program *p)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    cf_program_deinit(p);
    return atomic_load(&s->n_asked);
}

static void is_refused(scene *s, const cf_program *p)
{
    assert_int_equal(p->status, 2);
    if (strstr(cf_buf_cstr(&p->err), s->url) == NULL) {
        fail_msg("no address in: %s", cf_buf_cstr(&p->err));
    }
}

/* The key that the server got, in its answer. */
static void heard(const cf_program *p, const char *what)
{
    if (strstr(cf_buf_cstr(&p->out), what) == NULL) {
        fail_msg("no %s in: %s %s", what, cf_buf_cstr(&p->out), cf_buf_cstr(&p->err));
    }
}

static const char plan[] = "prompts one.jsonl\nmodel @/v1\nsampler greedy tokens=4\n";
static const char yaml[] = "prompts: [hi]\ntests: [{}]\n"
                           "providers: [{id: 'openai:chat:m', config: {apiBaseUrl: '@/v1'}}]\n";
static const char with_variable[] =
    "prompts: [hi]\ntests: [{}]\nproviders: [{id: 'openai:chat:m', config: "
    "{apiBaseUrl: '@/v1', apiKeyEnvar: CF_TEST_SECRET}}]\n";
static const char as_file[] = "prompts: [hi]\ntests: [{}]\n"
                              "providers: ['file://@/x.safetensors']\n";
static const char judged[] = "prompts one.jsonl\nmodel script:none.json\n"
                             "check kind judge @/v1 Is it kind?\n";

static int set_up(void **state)
{
    setenv("CONFAB_API_KEY", "sk-mine", 1);
    setenv("CF_TEST_SECRET", "sk-other", 1);
    return store_dir_make(state);
}

static void test_addresses__refused_unasked(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const struct {
        const char *name, *text;
    } files[] = {{"a.txt", plan},
                 {"a.yaml", yaml},
                 {"b.yaml", with_variable},
                 {"j.txt", judged},
                 {"f.yaml", as_file}};
    store_dir_put_text("one.jsonl", "{\"name\":\"a\",\"prompt\":\"hi\"}\n");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        scene s;
        cf_program p;
        begin(&s, files[i].name, files[i].text);
        CF_PROGRAM(&p, "sweep", "--no-store", s.path);
        is_refused(&s, &p);
        assert_int_equal(end(&s, &p), 0);
    }
}

static void test_addresses__trusted_ones_get_no_key(void **state)
{
    (void)state;
    NEED_PROGRAM();
    scene s;
    cf_program p;
    begin(&s, "a.txt", plan);
    CF_PROGRAM(&p, "sweep", "--json", "--no-store", "--trust-addresses", s.path);
    assert_int_equal(p.status, 0);
    heard(&p, "<>");
    assert_true(end(&s, &p) > 0);
    begin(&s, "a.yaml", yaml);
    CF_PROGRAM(&p, "sweep", "--json", "--no-store", "--trust-addresses", s.path);
    assert_int_equal(p.status, 0);
    heard(&p, "<>");
    assert_true(end(&s, &p) > 0);
}

static void test_addresses__named_ones_get_the_key(void **state)
{
    (void)state;
    NEED_PROGRAM();
    scene s;
    cf_program p;
    begin(&s, "a.txt", plan);
    CF_PROGRAM(&p, "sweep", "--json", "--no-store", "-m", s.url, s.path);
    assert_int_equal(p.status, 0);
    heard(&p, "<Bearer *******>");
    assert_true(end(&s, &p) > 0);
}

static void test_addresses__variables_by_a_list(void **state)
{
    (void)state;
    NEED_PROGRAM();
    scene s;
    cf_program p;
    begin(&s, "b.yaml", with_variable);
    CF_PROGRAM(&p, "sweep", "--json", "--no-store", "--trust-addresses", s.path);
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "CF_TEST_SECRET"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "sweep", "--json", "--no-store", "--trust-addresses", "--allow-variable",
               "CF_TEST_SECRET", s.path);
    assert_int_equal(p.status, 0);
    heard(&p, "<Bearer ********>");
    assert_true(end(&s, &p) > 0);
}

static void test_addresses__of_prompt_tests(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char test[] = "context c.json\nmodel @/v1\ntest t\nreply made\n"
                               "expect contains:<>\nexpect not contains:sk-mine\n";
    scene s;
    cf_program p;
    store_dir_put_text("c.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    begin(&s, "a.test", test);
    CF_PROGRAM(&p, "test", s.path);
    is_refused(&s, &p);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "test", "--trust-addresses", s.path);
    if (p.status != 0) {
        fail_msg("%s%s", cf_buf_cstr(&p.out), cf_buf_cstr(&p.err));
    }
    assert_true(end(&s, &p) > 0);
}

static void test_addresses__of_tool_servers(void **state)
{
    (void)state;
    NEED_PROGRAM();
    scene s;
    cf_program p;
    begin(&s, "mcp.json", "{\"mcpServers\":{\"x\":{\"url\":\"@/mcp\"}}}");
    CF_PROGRAM(&p, "mcp", "list", "--yes", "--mcp", s.path);
    is_refused(&s, &p);
    assert_int_equal(end(&s, &p), 0);
    begin(&s, "mcp.json", "{\"mcpServers\":{\"x\":{\"url\":\"@/mcp\"}}}");
    CF_PROGRAM(&p, "mcp", "list", "--yes", "--trust-addresses", "--mcp", s.path);
    assert_int_not_equal(p.status, 2);
    assert_true(end(&s, &p) > 0);
}

static void test_addresses__variables_of_tool_servers(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char with_header[] = "{\"mcpServers\":{\"x\":{\"url\":\"@/mcp\",\"headers\":"
                                      "{\"Authorization\":\"Bearer ${CF_TEST_SECRET}\"}}}}";
    scene s;
    cf_program p;
    begin(&s, "mcp.json", with_header);
    CF_PROGRAM(&p, "mcp", "list", "--yes", "--trust-addresses", "--mcp", s.path);
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "CF_TEST_SECRET: --allow-variable"));
    assert_int_equal(end(&s, &p), 0);
    begin(&s, "mcp.json", with_header);
    CF_PROGRAM(&p, "mcp", "list", "--yes", "--trust-addresses", "--allow-variable",
               "CF_TEST_SECRET", "--mcp", s.path);
    assert_int_not_equal(p.status, 2);
    assert_true(end(&s, &p) > 0);
    assert_string_equal(s.key, "Bearer sk-other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses__refused_unasked),
        cmocka_unit_test(test_addresses__trusted_ones_get_no_key),
        cmocka_unit_test(test_addresses__named_ones_get_the_key),
        cmocka_unit_test(test_addresses__variables_by_a_list),
        cmocka_unit_test(test_addresses__of_prompt_tests),
        cmocka_unit_test(test_addresses__of_tool_servers),
        cmocka_unit_test(test_addresses__variables_of_tool_servers),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
