/*
 * test_tool_servers.c - the tool servers of the workbench, with the scripted
 * server and a small random model: what is declared, counted, approved,
 * called and asked.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/lab/lab.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/tools/lab_tools.h"
#include "tui/lab/tools/tool_servers.h"

typedef struct desk {
    void *bytes;
    cf_engine *engine;
    cf_backend *backend;
    cf_store *store;
    cf_lab *lab;
    cf_tool_servers *servers;
    cf_buf notice;
} desk;

static void set_up(desk *d, const char *db)
{
    cf_error err;
    size_t n;
    const cf_engine_options o = {.n_threads = 1, .kernel_set = "ref"};
    const cf_core_options core = {.renderer = cf_renderer_plain()};
    const cf_store_options store = {.flags = CF_STORE_CREATE};
    setenv("XDG_STATE_HOME", store_dir_file("state"), 1);
    memset(d, 0, sizeof *d);
    d->bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 5}, &n);
    T_OK(cf_engine_open_memory(&d->engine, d->bytes, n, &o, &err), err);
    T_OK(cf_backend_core_new(&d->backend, d->engine, &core, &err), err);
    T_OK(cf_store_open(&d->store, store_dir_file(db), &store, &err), err);
    const cf_lab_engine e = {.backend = d->backend,
                             .engine = d->engine,
                             .tokenizer = cf_engine_tokenizer(d->engine),
                             .template_name = "plain"};
    T_OK(cf_lab_new(&d->lab, &e, d->store, &err), err);
    T_OK(cf_tool_servers_new(&d->servers, d->lab, d->store, &err), err);
}

static void tear_down(desk *d)
{
    cf_tool_servers_free(d->servers);
    cf_lab_free(d->lab);
    cf_backend_free(d->backend);
    cf_engine_close(d->engine);
    cf_tiny_free(d->bytes);
    cf_store_close(d->store);
    cf_buf_deinit(&d->notice);
}

static void add(desk *d, const char *name, const char *mode)
{
    cf_error err;
    json_t *c = json_pack("{s:s, s:[s,s,s]}", "name", name, "command", "python3",
                          "tests/data/mcp/scripted.py", mode);
    T_OK(cf_tool_servers_add(d->servers, c, &err), err);
    json_decref(c);
}

/* One round of what the interface does. */
static void step(desk *d)
{
    cf_error err;
    (void)cf_tool_servers_poll(d->servers, &d->notice);
    (void)cf_lab_poll(d->lab, &err);
    poll(NULL, 0, 5);
}

static void wait_for(desk *d, size_t i, cf_tool_server_state state)
{
    for (int k = 0; k < 6000; k++) {
        step(d);
        if (cf_tool_servers_at(d->servers, i).state == state) {
            step(d);
            cf_error err;
            cf_lab_settle(d->lab, &err);
            (void)cf_tool_servers_poll(d->servers, &d->notice);
            return;
        }
    }
    fail_msg("server %zu does not get to state %d", i, (int)state);
}

static size_t n_declared(const desk *d)
{
    size_t n = 0;
    if (cf_lab_tools(d->lab) != NULL) {
        (void)cf_tool_set_items(cf_lab_tools(d->lab), &n);
    }
    return n;
}

static void test_tool_servers__switches(void **state)
{
    (void)state;
    desk d;
    size_t i;
    cf_str tool;
    set_up(&d, "switch.db");
    add(&d, "one", "plain");
    add(&d, "two", "pages");
    step(&d);
    assert_int_equal(cf_tool_servers_at(d.servers, 0).state, CF_TOOL_SERVER_ASKED);
    assert_int_equal(n_declared(&d), 0); /* nothing has been started */
    cf_tool_servers_start(d.servers, 0);
    cf_tool_servers_start(d.servers, 1);
    wait_for(&d, 0, CF_TOOL_SERVER_READY);
    wait_for(&d, 1, CF_TOOL_SERVER_READY);
    assert_int_equal(n_declared(&d), 4);
    assert_true(cf_tool_servers_find(d.servers, cf_str_from("b"), &i, &tool));
    assert_int_equal(i, 1);
    cf_tool_servers_switch(d.servers, 1, cf_str_from("b"));
    step(&d);
    assert_int_equal(n_declared(&d), 3);
    assert_false(cf_tool_servers_find(d.servers, cf_str_from("b"), &i, &tool));
    cf_tool_servers_switch(d.servers, 1, cf_str_from(""));
    step(&d);
    assert_int_equal(n_declared(&d), 1);
    cf_tool_servers_switch(d.servers, 1, cf_str_from(""));
    cf_tool_servers_stop(d.servers, 0);
    wait_for(&d, 0, CF_TOOL_SERVER_STOPPED);
    assert_int_equal(n_declared(&d), 2); /* b is still off */
    tear_down(&d);
}

/* Of a server with this configuration. */
static bool may_echo(const cf_approvals *a, const char *config, cf_approval give)
{
    const cf_str echo = cf_str_from("echo");
    json_t *c = json_loads(config, 0, NULL), *tools = json_pack("[{s:s}]", "name", "echo");
    const cf_mcp_server s = {.name = cf_str_from("one"), .config = c, .tools = tools};
    cf_approvals own = *a;
    cf_error err;
    assert_non_null(c);
    T_OK(cf_approvals_give(&own, (cf_uuid){{1}}, &s, echo, give, &err), err);
    bool may = cf_approvals_may_call(&own, (cf_uuid){{1}}, &s, echo);
    json_decref(c);
    json_decref(tools);
    return may;
}

static void test_tool_servers__approvals_hold_for_all_of_a_configuration(void **state)
{
    (void)state;
    static const char *const others[] = {
        "{\"name\":\"one\",\"command\":[\"x\"],\"env\":{\"ROOT\":\"/\"}}",
        "{\"name\":\"one\",\"command\":[\"x\"],\"env\":{\"ROOT\":\"/data\",\"LD_PRELOAD\":\"e\"}}",
        "{\"name\":\"one\",\"command\":[\"x\",\"y\"],\"env\":{\"ROOT\":\"/data\"}}",
        "{\"name\":\"one\",\"command\":[\"x\"]}",
        "{\"name\":\"one\",\"command\":[\"x\"],\"env\":{\"ROOT\":\"/"
        "data\"},\"headers\":{\"A\":\"b\"}}"};
    static const char approved[] =
        "{\"name\":\"one\",\"command\":[\"x\"],\"env\":{\"ROOT\":\"/data\"}}";
    desk d;
    cf_approvals a;
    set_up(&d, "config.db");
    cf_approvals_init(&a, d.store);
    assert_false(may_echo(&a, approved, CF_APPROVE_ONCE));
    assert_true(may_echo(&a, approved, CF_APPROVE_FOR_GOOD));
    assert_true(may_echo(&a, approved, CF_APPROVE_ONCE));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(may_echo(&a, others[i], CF_APPROVE_ONCE));
    }
    assert_true(may_echo(&a, approved, CF_APPROVE_ONCE));

    /* The same history for somebody else: what it says is not this user's word. */
    setenv("XDG_STATE_HOME", store_dir_file("elsewhere"), 1);
    assert_false(may_echo(&a, approved, CF_APPROVE_ONCE));
    setenv("XDG_STATE_HOME", store_dir_file("state"), 1);
    assert_true(may_echo(&a, approved, CF_APPROVE_ONCE));
    /* Nor is it where other users may have written the bytes that are kept beside. */
    assert_int_equal(chmod(store_dir_file("state/confab/approvals.key"), 0602), 0);
    assert_false(may_echo(&a, approved, CF_APPROVE_ONCE));
    assert_int_equal(chmod(store_dir_file("state/confab/approvals.key"), 0600), 0);
    cf_approvals_deinit(&a);
    tear_down(&d);
}

/* What cannot be kept for good holds in the conversation, and says why. */
static void test_tool_servers__approvals_that_cannot_be_kept(void **state)
{
    (void)state;
    static const char *const says[] = {"can write to it", "cut short", "without a history"};
    const cf_uuid here = {{1}}, other = {{2}};
    const cf_str echo = cf_str_from("echo");
    json_t *config = json_pack("{s:s}", "name", "one");
    const cf_mcp_server s = {.name = cf_str_from("one"), .config = config};
    desk d;
    cf_error err;
    set_up(&d, "kept.db");
    setenv("XDG_STATE_HOME", store_dir_file("broken"), 1);
    assert_int_equal(mkdir(store_dir_file("broken"), 0700), 0);
    assert_int_equal(mkdir(store_dir_file("broken/confab"), 0700), 0);
    const char *key = store_dir_put_text("broken/confab/approvals.key", "short");
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        cf_approvals a;
        cf_approvals_init(&a, i < 2 ? d.store : NULL);
        assert_int_equal(chmod(key, i == 0 ? 0602 : 0600), 0);
        assert_int_not_equal(cf_approvals_give(&a, here, &s, echo, CF_APPROVE_FOR_GOOD, &err),
                             CF_OK);
        assert_non_null(strstr(err.text, says[i]));
        assert_true(cf_approvals_may_call(&a, here, &s, echo));
        assert_false(cf_approvals_may_call(&a, other, &s, echo));
        cf_approvals_deinit(&a);
    }
    json_decref(config);
    tear_down(&d);
}

static void test_tool_servers__approvals(void **state)
{
    (void)state;
    desk d;
    const cf_str echo = cf_str_from("echo");
    cf_error err;
    set_up(&d, "approve.db");
    add(&d, "one", "plain");
    cf_tool_servers_start(d.servers, 0);
    wait_for(&d, 0, CF_TOOL_SERVER_READY);
    assert_false(cf_tool_servers_may_call(d.servers, 0, echo));
    T_OK(cf_tool_servers_approve(d.servers, 0, echo, CF_APPROVE_ONCE, &err), err);
    assert_false(cf_tool_servers_may_call(d.servers, 0, echo));
    T_OK(cf_tool_servers_approve(d.servers, 0, echo, CF_APPROVE_CONVERSATION, &err), err);
    assert_true(cf_tool_servers_may_call(d.servers, 0, echo));
    cf_lab_new_conv(d.lab);
    assert_false(cf_tool_servers_may_call(d.servers, 0, echo));
    T_OK(cf_tool_servers_approve(d.servers, 0, echo, CF_APPROVE_FOR_GOOD, &err), err);
    tear_down(&d);
    set_up(&d, "approve.db"); /* another start of the program */
    add(&d, "one", "plain");
    cf_tool_servers_start(d.servers, 0);
    wait_for(&d, 0, CF_TOOL_SERVER_READY);
    assert_true(cf_tool_servers_may_call(d.servers, 0, echo));
    tear_down(&d);
    set_up(&d, "approve.db"); /* the same name, another command and tool */
    add(&d, "one", "changed");
    cf_tool_servers_start(d.servers, 0);
    wait_for(&d, 0, CF_TOOL_SERVER_READY);
    assert_false(cf_tool_servers_may_call(d.servers, 0, echo));
    assert_int_equal(n_declared(&d), 0); /* off until it is accepted */
    cf_buf diff = CF_BUF_INIT;
    cf_tool_servers_difference(d.servers, 0, 0, &diff);
    assert_non_null(strstr(cf_buf_cstr(&diff), "Sends it to a stranger"));
    cf_buf_deinit(&diff);
    cf_tool_servers_accept(d.servers, 0, 0);
    step(&d);
    assert_int_equal(n_declared(&d), 1);
    assert_false(cf_tool_servers_may_call(d.servers, 0, echo));
    tear_down(&d);
}

/* A call on a thread of its own, as a task makes it. */
typedef struct calling {
    desk *d;
    cf_buf text;
    cf_status st;
    cf_error err;
    cf_cancel cancel;
    atomic_bool is_over;
} calling;

static void *make_call(void *arg)
{
    calling *c = arg;
    json_t *arguments = json_pack("{s:s}", "text", "hi");
    c->st = cf_tool_servers_call(c->d->servers, 0, cf_str_from("echo"), arguments, 20000,
                                 &c->cancel, &c->text, &c->err);
    json_decref(arguments);
    atomic_store(&c->is_over, true);
    return NULL;
}

/* Calls echo; a question is answered with `answer` (taken), or the call is
 * stopped when that is NULL. */
static void call(desk *d, calling *c, json_t *answer)
{
    pthread_t thread;
    memset(c, 0, sizeof *c);
    c->d = d;
    assert_int_equal(pthread_create(&thread, NULL, make_call, c), 0);
    while (!atomic_load(&c->is_over)) {
        cf_str server;
        step(d);
        json_t *q = cf_tool_servers_question(d->servers, &server);
        if (q != NULL && answer != NULL) {
            T_TEXT(server.p, server.n, "asks");
            cf_tool_servers_answer(d->servers, json_incref(answer));
        } else if (q != NULL) {
            atomic_store(&c->cancel, true);
        }
        json_decref(q);
    }
    pthread_join(thread, NULL);
    json_decref(answer);
}

static void test_tool_servers__calls(void **state)
{
    (void)state;
    desk d;
    calling c;
    set_up(&d, "calls.db");
    add(&d, "dies", "dies");
    cf_tool_servers_start(d.servers, 0);
    wait_for(&d, 0, CF_TOOL_SERVER_READY);
    for (int i = 0; i < 2; i++) { /* the second call starts it again */
        call(&d, &c, NULL);
        assert_int_equal(c.st, CF_EIO);
        assert_non_null(strstr(c.err.text, "out of luck"));
        cf_buf_deinit(&c.text);
    }
    cf_arena arena;
    cf_error err;
    const cf_store_mcp *v;
    size_t n;
    json_t *message = json_pack("[{s:s,s:s}]", "role", "user", "content", "hi");
    cf_arena_init(&arena, 0);
    T_OK(cf_lab_add(d.lab, message, (cf_uuid){{0}}, false, &err), err);
    json_decref(message);
    cf_lab_settle(d.lab, &err);
    step(&d); /* now there is a conversation that can keep what was said */
    T_OK(cf_store_get_mcp(d.store, cf_lab_conv_id(d.lab), 0, 100, &arena, &v, &n, &err), err);
    assert_true(n > 2);
    T_TEXT(v[0].server.p, v[0].server.n, "dies");
    cf_arena_deinit(&arena);
    tear_down(&d);
}

static void test_tool_servers__questions(void **state)
{
    (void)state;
    desk d;
    calling c;
    set_up(&d, "asks.db");
    add(&d, "asks", "elicits");
    cf_tool_servers_start(d.servers, 0);
    wait_for(&d, 0, CF_TOOL_SERVER_READY);
    call(&d, &c, json_pack("{s:s, s:{s:s}}", "action", "accept", "content", "name", "Ada"));
    T_OK(c.st, c.err);
    assert_non_null(strstr(cf_buf_cstr(&c.text), "\"name\": \"Ada\""));
    cf_buf_deinit(&c.text);
    call(&d, &c, NULL);
    assert_int_equal(c.st, CF_ECANCELLED);
    cf_buf_deinit(&c.text);
    tear_down(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tool_servers__switches),
        cmocka_unit_test(test_tool_servers__approvals_that_cannot_be_kept),
        cmocka_unit_test(test_tool_servers__approvals),
        cmocka_unit_test(test_tool_servers__approvals_hold_for_all_of_a_configuration),
        cmocka_unit_test(test_tool_servers__calls),
        cmocka_unit_test(test_tool_servers__questions),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
