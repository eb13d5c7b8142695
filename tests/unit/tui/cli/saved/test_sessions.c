/*
 * test_sessions.c - confab session and sessions, and the import of sessions, as
 * a user runs them.
 */
#include "tests/support/t.h"

#include <stdlib.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/trail_case.h"

static void test_session__events(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "session", store_dir_put_text("a.jsonl", trail_cases[0].text), "--json",
               "--findings");
    cf_program_expect(&p, 0, trail_cases[0].events);
}

static void test_session__table_and_diff(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *path = store_dir_put_text("a.jsonl", trail_cases[0].text);
    CF_PROGRAM(&p, "session", path);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "left out: line 10: not JSON"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "Agent 1, Read 1 (1 failed)"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "session", path, "--diff", "1", "2");
    cf_program_expect(&p, 0,
                      "-      1  user            25 bytes  Use tabs only. Then look.\n"
                      "+      0  summary         19 bytes  Summary: then look.\n"
                      "+      4  tool             9 bytes  Found it.\n"
                      "0 messages are in both\n");
    CF_PROGRAM(&p, "session", path, "--diff", "1", "99");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "session", store_dir_put_text("no.jsonl", "{}\n"));
    assert_int_equal(p.status, 3);
    cf_program_deinit(&p);
}

static void test_sessions__places(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    cf_error err;
    store_path folder;
    store_dir_path(folder, ".claude/projects/-w");
    T_OK(cf_os_make_dirs(folder, &err), err);
    store_dir_put_text(".claude/projects/-w/s1.jsonl", trail_cases[0].text);
    unsetenv("CLAUDE_CONFIG_DIR");
    setenv("HOME", store_dir_file("."), 1);
    CF_PROGRAM(&p, "sessions", "--json");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out),
                           "\"id\":\"s1\",\"title\":\"Use tabs only. Then look.\","
                           "\"folder\":\"/w\",\"messages\":9,"
                           "\"started\":\"2026-01-02T03:04:01.000Z\""));
    cf_program_deinit(&p);
}

/* Every session becomes a conversation, and what is left out is said. */
static void test_import__sessions(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    const char *db = store_dir_file("import.db");
    for (size_t i = 0; i < n_trail_cases; i++) {
        const char *path = store_dir_put_text(trail_cases[i].file, trail_cases[i].text);
        CF_PROGRAM(&p, "history", "import", path, "--db", db, "--json");
        assert_true(p.status == 0 || p.status == 1); /* 1: records were left out */
        assert_non_null(strstr(cf_buf_cstr(&p.err), trail_cases[i].format));
        cf_program_deinit(&p);
        CF_PROGRAM(&p, "history", "import", path, "--db", db, "--json");
        assert_non_null(strstr(cf_buf_cstr(&p.out), "\"new\":0"));
        assert_non_null(strstr(cf_buf_cstr(&p.out), "\"turns\":0"));
        cf_program_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session__events),
        cmocka_unit_test(test_session__table_and_diff),
        cmocka_unit_test(test_sessions__places),
        cmocka_unit_test(test_import__sessions),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
