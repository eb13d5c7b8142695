/*
 * test_trail_fault.c - every session read with the n-th allocation failing:
 * the answer is whole, or it is CF_ENOMEM.
 */
#include "tests/support/t.h"
#include "storage/traffic.h"
#include "storage/trail.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/trail_case.h"

typedef struct job {
    const trail_case *c;
    const char *path;
} job;

static cf_status read_all(void *ud)
{
    const job *j = ud;
    cf_trails trails;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_status st = cf_trails_read(&trails, j->path, NULL, &err);
    for (size_t i = 0; st == CF_OK && i < trails.n; i++) {
        cf_trail_findings found = {.n = 0};
        cf_trail_steps steps = {0};
        st = cf_trail_find(&found, trails.v[i], &err);
        CF_THEN(st, cf_trail_steps_make(&steps, trails.v[i], &found, NULL, &err));
        if (st == CF_OK) {
            cf_trail_write(&out, trails.v[i], &found);
            st = cf_buf_check(&out, &err);
        }
        cf_trail_steps_deinit(&steps);
        cf_trail_findings_deinit(&found);
    }
    if (st == CF_OK && strcmp(cf_buf_cstr(&out), j->c->events) != 0) {
        size_t n = 0;
        while (n < out.n && out.p[n] == j->c->events[n]) {
            n++;
        }
        fail_msg("%s: at %zu: %.200s", j->c->format, n, out.p + n);
    }
    cf_buf_deinit(&out);
    cf_trails_deinit(&trails);
    return st;
}

static void test_trail__every_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_trail_cases; i++) {
        job j = {&trail_cases[i], store_dir_put_text(trail_cases[i].file, trail_cases[i].text)};
        cf_fault_every_alloc(read_all, &j, true);
        cf_fault_every_alloc(read_all, &j, false);
    }
}

/* Puts a conversation of a session: its messages, and an exchange for the last of them. */
static void put_talk(cf_store *s, const char *source, const char *const *says, size_t n)
{
    cf_error err;
    cf_store_turn turns[8] = {0};
    for (size_t i = 0; i < n; i++) {
        turns[i] = (cf_store_turn){.id = cf_uuid_new(),
                                   .message = cf_str_from(says[i]),
                                   .fork_token = -1,
                                   .status = CF_TURN_OK,
                                   .finished_ms = -1};
        turns[i].parent = i != 0 ? turns[i - 1].id : turns[i].parent;
    }
    const cf_store_tree tree = {
        .conv = {.id = cf_uuid_new(), .head = turns[n - 1].id, .source = cf_str_from(source)},
        .turns = turns,
        .n = n};
    cf_exchange x = cf_exchange_none();
    x.id = cf_uuid_new();
    x.conversation = tree.conv.id;
    x.turn = tree.conv.head;
    x.method = cf_str_from("POST");
    x.path = cf_str_from("/v1/chat/completions");
    x.request = cf_str_from("{}");
    x.status = 200;
    T_OK(cf_store_put_exchange(s, &x, &tree, NULL, 0, &err), err);
}

/* A history whose session has a sub-agent that a call began.  Opening the database takes
 * long: every 16th allocation fails, and the arguments of the call need more than those. */
static void test_trail__allocations_of_a_history(void **state)
{
    (void)state;
#define SAYS(role, more) "{\"role\":\"" role "\"," more "}"
    static const char *const chief[] = {
        SAYS("user", "\"content\":\"Go\""),
        SAYS("assistant",
             "\"tool_calls\":[{\"id\":\"k\",\"function\":{\"name\":\"agent\","
             "\"arguments\":\"{\\\"a\\\":1,\\\"b\\\":[2],\\\"c\\\":{},\\\"d\\\":4,\\\"e\\\":5,"
             "\\\"f\\\":6,\\\"g\\\":7,\\\"h\\\":8,"
             "\\\"prompt\\\":\\\"Count the files of this folder\\\"}\"}}]")};
    static const char *const helper[] = {
        SAYS("user", "\"content\":\"Count the files of this folder\""),
        SAYS("assistant", "\"content\":\"Two.\"")};
    cf_error err;
    cf_store *s;
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&s, store_dir_file("history.db"), &o, &err), err);
    put_talk(s, "{\"session\":\"s\"}", chief, 2);
    put_talk(s, "{\"session\":\"s\"}", helper, 2);
    cf_store_close(s);
    cf_trails trails;
    cf_buf whole = CF_BUF_INIT;
    T_OK(cf_trails_read(&trails, store_dir_file("history.db"), NULL, &err), err);
    assert_int_equal(trails.n, 1);
    cf_trail_findings found;
    T_OK(cf_trail_find(&found, trails.v[0], &err), err);
    cf_trail_write(&whole, trails.v[0], &found);
    cf_trail_findings_deinit(&found);
    cf_trails_deinit(&trails);
    assert_non_null(strstr(cf_buf_cstr(&whole), "\"parent_call\":\"k\""));
    const trail_case c = {"proxy", "history.db", "", cf_buf_cstr(&whole)};
    job j = {&c, store_dir_file("history.db")};
    cf_status st = CF_ENOMEM;
    for (size_t nth = 1, before = cf_fault_live(); st != CF_OK || cf_fault_disarm(); nth += 16) {
        cf_fault_arm(nth, false);
        st = read_all(&j); /* a database that could not be looked into is not known as one */
        assert_true(st == CF_OK || st == CF_ENOMEM || st == CF_EFORMAT);
        assert_int_equal(cf_fault_live(), before);
    }
    cf_buf_deinit(&whole);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trail__every_allocation),
        cmocka_unit_test(test_trail__allocations_of_a_history),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
