/*
 * test_child.c - programs in the background: what they write, how they end,
 * and that a stop takes what they started with them.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "core/base/os.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/sys/child.h"
#include "tui/sys/secret.h"

static cf_cancel no_cancel;

static cf_status run(const char *command, size_t max, cf_buf *out, bool *is_cut, int *status)
{
    cf_error err;
    atomic_init(&no_cancel, false);
    return cf_child_output(command, max, &no_cancel, out, is_cut, status, &err);
}

static void test_child__both_outputs_and_the_status_are_kept(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    bool is_cut = true;
    int status = 0;
    assert_int_equal(run("printf one; printf two >&2; read x && printf three; "
                         "exit 3",
                         100, &out, &is_cut, &status),
                     CF_OK);
    assert_string_equal(cf_buf_cstr(&out), "onetwo");
    assert_false(is_cut);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
    cf_buf_deinit(&out);
}

static void test_child__more_than_the_limit_is_dropped(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    bool is_cut = false;
    int status = 1;
    assert_int_equal(run("i=0; while [ $i -lt 4000 ]; do echo 0123456789; "
                         "i=$((i+1)); done",
                         1000, &out, &is_cut, &status),
                     CF_OK);
    assert_int_equal(out.n, 1000);
    assert_true(is_cut);
    assert_int_equal(status, 0);
    cf_buf_deinit(&out);
}

static void test_child__the_key_for_servers_is_not_inherited(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    bool is_cut;
    int status;
    setenv("CONFAB_API_KEY", "sk-secret", 1);
    cf_secret_take();
    assert_string_equal(cf_secret_key(), "sk-secret");
#ifdef __linux__
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0); /* nor in a core file */
#endif
    assert_int_equal(run("env | grep -c sk-secret", 100, &out, &is_cut, &status), CF_OK);
    assert_string_equal(cf_buf_cstr(&out), "0\n");
    cf_buf_deinit(&out);
}

/* A program in the background that keeps the pipe does not hold us up. */
static void test_child__its_own_end_counts(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    bool is_cut;
    int status;
    assert_int_equal(run("sleep 1000 & echo $!", 100, &out, &is_cut, &status), CF_OK);
    pid_t left = (pid_t)strtol(cf_buf_cstr(&out), NULL, 10);
    assert_true(left > 1);
    kill(left, SIGKILL);
    cf_buf_deinit(&out);
}

static void test_child__a_stop_ends_the_group(void **state)
{
    (void)state;
    cf_buf out = CF_BUF_INIT;
    cf_error err;
    cf_cancel cancel;
    bool is_cut;
    int status = 0;
    atomic_init(&cancel, true);
    assert_int_equal(cf_child_output("sleep 1000", 100, &cancel, &out, &is_cut, &status, &err),
                     CF_ECANCELLED);
    assert_true(WIFSIGNALED(status));
    cf_buf_deinit(&out);
}

static void test_child__folders_are_private_and_go_away(void **state)
{
    (void)state;
    char folder[CF_CHILD_PATH], path[CF_CHILD_PATH + 8];
    cf_error err;
    T_OK(cf_child_folder(folder, &err), err);
    snprintf(path, sizeof path, "%s/a", folder);
    T_OK(cf_os_write_file(path, "x", 1, 0600, &err), err);
    cf_child_remove_folder(folder);
    assert_int_not_equal(access(folder, F_OK), 0);
    cf_child_remove_folder(""); /* none was made */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child__both_outputs_and_the_status_are_kept),
        cmocka_unit_test(test_child__more_than_the_limit_is_dropped),
        cmocka_unit_test(test_child__the_key_for_servers_is_not_inherited),
        cmocka_unit_test(test_child__its_own_end_counts),
        cmocka_unit_test(test_child__a_stop_ends_the_group),
        cmocka_unit_test(test_child__folders_are_private_and_go_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
