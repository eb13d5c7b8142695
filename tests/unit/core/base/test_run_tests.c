/*
 * test_run_tests.c - the script that runs the tests: a program that passes is
 * counted, and one that runs too long, or takes too much processor time or
 * memory, fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/t.h"

static char root[40];
static char script[1000];

static void put(const char *path, const char *text)
{
    char full[400];
    snprintf(full, sizeof full, "%s/%s", root, path);
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(full, 0700), 0);
}

/* Runs one program, a shell script, with bounds; true when it passed. */
static bool passes(const char *bounds, const char *program)
{
    char command[1400], text[300], said[2000];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", program);
    put("tests/unit/test_one.c", "");
    put("b/release/tests/unit/test_one", text);
    snprintf(command, sizeof command, "cd %s && %s '%s' b/release 2>&1", root, bounds, script);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(said, 1, sizeof said - 1, p);
    said[n] = '\0';
    int rc = pclose(p);
    assert_true(WIFEXITED(rc));
    bool is_good = WEXITSTATUS(rc) == 0;
    assert_non_null(strstr(said, is_good ? " 0 failed" : " 1 failed"));
    return is_good;
}

#define PASSED "echo '[  PASSED  ] 1 test(s).'"

static void test_run_tests__bounds(void **state)
{
    (void)state;
    assert_true(passes("", PASSED));
    assert_false(passes("", PASSED "; exit 3"));
    assert_false(passes("TEST_SECONDS=1", "sleep 20; " PASSED));
    assert_false(passes("TEST_CPU=1", "while :; do :; done"));
    assert_false(
        passes("TEST_KIB=200000", "dd if=/dev/zero of=/dev/null bs=500M count=1 && " PASSED));
    assert_true(passes("TEST_KIB=200000", "dd if=/dev/zero of=/dev/null bs=1M count=1 && " PASSED));
}

/* Where no folder for files is set, there is one, and only while tests run. */
static void test_run_tests__folder(void **state)
{
    (void)state;
    char path[400], line[300] = "";
    snprintf(path, sizeof path, "%s/said", root);
    assert_true(passes("TMPDIR=",
                       "f=${TMPDIR:-/tmp}; touch $f/x.$$ && rm $f/x.$$ && echo $f >said; "
                       "[ -d $f ] && " PASSED));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    assert_true(strcmp(line, "/tmp") == 0 || access(line, F_OK) != 0);
}

static int set_up(void **state)
{
    (void)state;
    static const char *const folders[] = {"tests",     "tests/unit",      "b",
                                          "b/release", "b/release/tests", "b/release/tests/unit"};
    char here[900];
    if (getcwd(here, sizeof here) == NULL) {
        return -1;
    }
    snprintf(script, sizeof script, "%s/tests/tools/run_tests.sh", here);
    strcpy(root, "/tmp/confab-runner-XXXXXX");
    if (mkdtemp(root) == NULL) {
        return -1;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        if (mkdir(path, 0700) != 0) {
            return -1;
        }
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_tests__bounds),
        cmocka_unit_test(test_run_tests__folder),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
