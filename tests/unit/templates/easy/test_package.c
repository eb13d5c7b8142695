/*
 * test_package.c - the Debian package, and the static program where it was
 * built, unpacked and run.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/version.h"
#include "tests/support/program.h"

/* Runs a shell command and puts its output into `out`. */
static int shell(cf_buf *out, const char *command)
{
    char part[512];
    cf_buf_reset(out);
    FILE *from = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(from);
    for (size_t n; (n = fread(part, 1, sizeof part, from)) > 0;) {
        cf_buf_add(out, part, n);
    }
    return pclose(from);
}

static void runs(const char *command, const char *want)
{
    cf_buf out = CF_BUF_INIT;
    int status = shell(&out, command);
    if (status != 0 || strstr(cf_buf_cstr(&out), want) == NULL) {
        fail_msg("%s: status %d:\n%s", command, status, cf_buf_cstr(&out));
    }
    cf_buf_deinit(&out);
}

/* The release variant's program, which the package is made of. */
static void need_release(void)
{
    const char *program = cf_program_path();
    if (program == NULL || strstr(program, "/release/") == NULL) {
        T_SKIP("packages are made of the release variant");
    }
}

static void test_deb__holds_a_program_that_runs(void **state)
{
    (void)state;
    need_release();
    if (system("command -v dpkg-deb dpkg-shlibdeps strip >/dev/null") != 0) {
        T_SKIP("dpkg-dev is not installed");
    }
    runs("make -s deb 2>&1", ".deb");
    runs("d=$(mktemp -d) && dpkg-deb -x build/confab_" CF_VERSION
         "_*.deb $d && $d/usr/bin/confab version; s=$?; rm -rf $d; exit $s",
         "confab " CF_VERSION);
    runs("dpkg-deb -f build/confab_" CF_VERSION "_*.deb Depends", "libc6");
    runs("dpkg-deb -c build/confab_" CF_VERSION "_*.deb", "./usr/include/confab/confab.h");
}

static void test_dist__is_static_and_runs(void **state)
{
    (void)state;
    need_release();
    if (system("ls build/confab-" CF_VERSION "-linux-* >/dev/null 2>&1") != 0) {
        T_SKIP("there is none; make dist builds it");
    }
    runs("build/confab-" CF_VERSION "-linux-* version", "confab " CF_VERSION);
    runs("env -i build/confab-" CF_VERSION "-linux-* run -m bundled --no-store "
         "'Who are you?' 2>/dev/null",
         "confab");
    runs("readelf -d build/confab-" CF_VERSION "-linux-* 2>&1; echo done", "done");
    assert_int_not_equal(system("readelf -l build/confab-" CF_VERSION "-linux-* | grep -q INTERP"),
                         0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deb__holds_a_program_that_runs),
        cmocka_unit_test(test_dist__is_static_and_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
