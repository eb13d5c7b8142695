/*
 * test_tool_servers_fault.c - memory that runs out while a tool server changes
 * its state: no server is shown with the tools of another one.
 */
#include <poll.h>

#include "storage/store.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/lab/lab.h"
#include "tui/lab/tools/tool_servers.h"

typedef struct desk {
    cf_backend *backend;
    cf_store *store;
    cf_lab *lab;
    cf_tool_servers *servers;
} desk;

static void set_up(desk *d)
{
    cf_error err;
    static const char story[] = "{\"replies\":[{\"text\":\"It rains.\"}]}";
    json_t *script;
    const cf_store_options store = {.flags = CF_STORE_CREATE};
    T_OK(cf_json_read(&script, story, sizeof story - 1, &err), err);
    T_OK(cf_backend_script_new(&d->backend, script, NULL, &err), err);
    json_decref(script);
    T_OK(cf_store_open(&d->store, store_dir_file("faults.db"), &store, &err), err);
    const cf_lab_engine e = {.backend = d->backend, .template_name = "plain"};
    T_OK(cf_lab_new(&d->lab, &e, d->store, &err), err);
    T_OK(cf_tool_servers_new(&d->servers, d->lab, d->store, &err), err);
}

static void tear_down(desk *d)
{
    cf_tool_servers_free(d->servers);
    cf_lab_free(d->lab);
    cf_backend_free(d->backend);
    cf_store_close(d->store);
}

static void add(desk *d, const char *name, const char *mode)
{
    cf_error err;
    json_t *c = json_pack("{s:s, s:[s,s,s]}", "name", name, "command", "python3",
                          "tests/data/mcp/scripted.py", mode);
    T_OK(cf_tool_servers_add(d->servers, c, &err), err);
    json_decref(c);
    cf_tool_servers_start(d->servers, cf_tool_servers_n(d->servers) - 1);
}

/* The tools of server `i`, where it shows any, are those of that server. */
static void check_tools(desk *d, size_t i, const char *first)
{
    if (cf_tool_servers_at(d->servers, i).n_tools > 0) {
        cf_str name = cf_tool_servers_tool(d->servers, i, 0).name;
        T_TEXT(name.p, name.n, first);
    }
}

/* Polls until server `i` has the state; what is shown is right all the time. */
static void wait_for(desk *d, size_t i, cf_tool_server_state state)
{
    for (int k = 0; k < 6000; k++) {
        cf_error err;
        cf_buf notice = CF_BUF_INIT;
        (void)cf_tool_servers_poll(d->servers, &notice);
        (void)cf_lab_poll(d->lab, &err);
        cf_buf_deinit(&notice);
        check_tools(d, 0, "echo");
        check_tools(d, 1, "a");
        if (cf_tool_servers_at(d->servers, i).state == state) {
            return;
        }
        poll(NULL, 0, 5);
    }
    fail_msg("server %zu does not get to state %d", i, (int)state);
}

static void test_tool_servers__state_without_memory(void **state)
{
    (void)state;
    desk d = {NULL};
    set_up(&d);
    add(&d, "one", "plain");
    add(&d, "two", "pages");
    wait_for(&d, 1, CF_TOOL_SERVER_READY);
    for (size_t nth = 1; nth <= 40; nth += 2) {
        wait_for(&d, 0, CF_TOOL_SERVER_READY);
        cf_fault_arm(nth, false);
        cf_tool_servers_stop(d.servers, 0);
        wait_for(&d, 0, CF_TOOL_SERVER_STOPPED);
        (void)cf_fault_disarm();
        assert_int_equal(cf_tool_servers_at(d.servers, 1).state, CF_TOOL_SERVER_READY);
        assert_int_equal(cf_tool_servers_at(d.servers, 1).n_tools, 3);
        cf_tool_servers_start(d.servers, 0);
    }
    tear_down(&d);
}

/* A tool that has changed is never taken for one that is seen for the first
 * time, which would be used without a question. */
static void test_approvals__changed_tool_without_memory(void **state)
{
    (void)state;
    const cf_store_options options = {.flags = CF_STORE_CREATE};
    const cf_str server = cf_str_from("s");
    cf_store *store;
    cf_approvals approvals;
    cf_error err;
    T_OK(cf_store_open(&store, store_dir_file("approvals.db"), &options, &err), err);
    cf_approvals_init(&approvals, store);
    json_t *known = json_pack("{s:s, s:s}", "name", "f", "description", "reads");
    json_t *changed = json_pack("{s:s, s:s}", "name", "f", "description", "deletes");
    cf_approvals_remember(&approvals, server, known);
    bool fired = true;
    for (size_t nth = 1; fired; nth++) {
        json_t *before;
        cf_tool_news news = CF_TOOL_FIRST_SEEN;
        cf_fault_arm(nth, false);
        cf_status st = cf_approvals_compare(&approvals, server, changed, &news, &before, &err);
        fired = cf_fault_disarm();
        assert_true(st == CF_ENOMEM || (st == CF_OK && news == CF_TOOL_OTHER));
        json_decref(before);
    }
    json_decref(known);
    json_decref(changed);
    cf_approvals_deinit(&approvals);
    cf_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tool_servers__state_without_memory),
        cmocka_unit_test(test_approvals__changed_tool_without_memory),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
