/*
 * test_leave_soon.c - a process ends although none of its threads does.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/t.h"
#include "tui/sys/leave.h"

static void *work(void *ud)
{
    for (volatile unsigned long n = 0;; n++) {
    }
    return ud;
}

static void say(void)
{
    if (write(STDOUT_FILENO, "left", 4) != 4) {
        _exit(1);
    }
}

static void on_term(int number)
{
    (void)number;
    cf_leave_soon();
}

/* Runs `fn` in a child, and reads what it writes. */
static int run(void (*fn)(void), char text[8])
{
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        fn();
        _exit(7);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], text, 7);
    text[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void hang(void)
{
    pthread_t thread;
    signal(SIGTERM, on_term);
    cf_leave_by(say);
    if (pthread_create(&thread, NULL, work, NULL) == 0) {
        raise(SIGTERM);
        pthread_join(thread, NULL);
    }
}

static void end_in_time(void)
{
    cf_leave_by(say);
    cf_leave_soon();
    cf_leave_soon();
}

static void go_on(void)
{
    cf_leave_soon();
    cf_leave_not();
    cf_leave_soon();
    pause();
}

static void test_leave__a_thread_that_does_not_end(void **state)
{
    (void)state;
    char text[8];
    assert_int_equal(run(hang, text), 130);
    assert_string_equal(text, "left");
}

static void test_leave__in_time(void **state)
{
    (void)state;
    char text[8];
    assert_int_equal(run(end_in_time, text), 7);
    assert_string_equal(text, "");
}

static void test_leave__twice(void **state)
{
    (void)state;
    char text[8];
    assert_int_equal(run(go_on, text), 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave__a_thread_that_does_not_end),
        cmocka_unit_test(test_leave__in_time),
        cmocka_unit_test(test_leave__twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
