/*
 * test_wheel.c - the packages for pip and npm, where they were built, installed without
 * a network and asked.
 */
#include "tests/support/t.h"

#include <stdlib.h>

#include "core/base/version.h"
#include "tests/support/program.h"

/* Installs the wheel and the module of the tree into environments of their own, without
 * a network, and asks each. */
static void test_wheel__installs_offline(void **state)
{
    (void)state;
    NEED_RELEASE();
    if (system("ls build/dist/confab-" CF_VERSION "-*.whl >/dev/null 2>&1") != 0) {
        T_SKIP("there is none; make wheel builds it");
    }
    if (system("python3 -c 'import ensurepip, venv' 2>/dev/null") != 0) {
        T_SKIP("python3 has no venv and pip");
    }
    cf_shell_prints("d=$(mktemp -d) && python3 -m venv $d/v && "
                    "$d/v/bin/pip install -q --no-index build/dist/confab-" CF_VERSION
                    "-*.whl 2>&1 && "
                    "(cd $d && env -u CONFAB_LIBRARY v/bin/python -c "
                    "'import confab; print(confab.open(\"bundled\").chat(\"Who are you?\"))'); "
                    "s=$?; rm -rf $d; exit $s",
                    "confab");
    cf_shell_prints("d=$(mktemp -d) && python3 -m venv $d/v && "
                    "$d/v/bin/pip install -q --no-index docs/packaging/python 2>&1 && "
                    "(cd $d && env -u CONFAB_LIBRARY v/bin/python -c "
                    "'import confab; print(confab.__version__)'); s=$?; rm -rf $d; exit $s",
                    CF_VERSION);
    cf_shell_prints("python3 -m zipfile -l build/dist/confab-" CF_VERSION "-*.whl",
                    "licences/libnettle.txt");
}

static void test_npm__installs_offline(void **state)
{
    (void)state;
    NEED_RELEASE();
    if (system("ls build/dist/confab-debugger-" CF_VERSION "-*.tgz >/dev/null 2>&1") != 0) {
        T_SKIP("there is none; make npm builds it");
    }
    cf_shell_prints("tar -tzf build/dist/confab-debugger-" CF_VERSION "-*.tgz",
                    "package/licences/libc.txt");
    if (system("command -v npm >/dev/null") != 0) {
        T_SKIP("npm is not installed");
    }
    cf_shell_prints(
        "f=$(ls $PWD/build/dist/confab-debugger-" CF_VERSION "-*.tgz) && d=$(mktemp -d) && "
        "cd $d && echo '{}' >package.json && npm install --offline --no-audit --no-fund $f 2>&1 "
        "&& npx --no confab version; s=$?; rm -rf $d; exit $s",
        "confab " CF_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wheel__installs_offline),
        cmocka_unit_test(test_npm__installs_offline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
