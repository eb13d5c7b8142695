/*
 * test_package.c - the Debian package, and the static program where it was
 * built, unpacked and run.
 */
#include "tests/support/t.h"

#include <stdlib.h>

#include "core/base/version.h"
#include "tests/support/program.h"

static void test_deb__holds_a_program_that_runs(void **state)
{
    (void)state;
    NEED_RELEASE();
    if (system("exec >/dev/null; command -v dpkg-deb && command -v dpkg-shlibdeps && "
               "command -v strip") != 0) {
        T_SKIP("dpkg-dev is not installed");
    }
    /* As it is given out but for how well it is compressed. */
    cf_shell_prints("DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1 make -s deb 2>&1",
                    ".deb");
    cf_shell_prints("d=$(mktemp -d) && dpkg-deb -x build/confab_" CF_VERSION
                    "_*.deb $d && $d/usr/bin/confab version; s=$?; rm -rf $d; exit $s",
                    "confab " CF_VERSION);
    cf_shell_prints("dpkg-deb -f build/confab_" CF_VERSION "_*.deb Depends", "libc6");
    cf_shell_prints("dpkg-deb -c build/confab_" CF_VERSION "_*.deb",
                    "./usr/include/confab/confab.h");
}

static void test_dist__is_static_and_runs(void **state)
{
    (void)state;
    NEED_RELEASE();
    if (system("ls build/confab-" CF_VERSION "-linux-* >/dev/null 2>&1") != 0) {
        T_SKIP("there is none; make dist builds it");
    }
    cf_shell_prints("build/confab-" CF_VERSION "-linux-* version", "confab " CF_VERSION);
    cf_shell_prints("env -i build/confab-" CF_VERSION "-linux-* run -m bundled --no-store "
                    "'Who are you?' 2>/dev/null",
                    "confab");
    cf_shell_prints("readelf -d build/confab-" CF_VERSION "-linux-* 2>&1; echo done", "done");
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
