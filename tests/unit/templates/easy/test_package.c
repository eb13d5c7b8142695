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

/* Installs the wheel and the module of the tree into environments of their own, without
 * a network, and asks each. */
static void test_wheel__installs_offline(void **state)
{
    (void)state;
    need_release();
    if (system("ls build/dist/confab-" CF_VERSION "-*.whl >/dev/null 2>&1") != 0) {
        T_SKIP("there is none; make wheel builds it");
    }
    if (system("python3 -c 'import ensurepip, venv' 2>/dev/null") != 0) {
        T_SKIP("python3 has no venv and pip");
    }
    runs("d=$(mktemp -d) && python3 -m venv $d/v && "
         "$d/v/bin/pip install -q --no-index build/dist/confab-" CF_VERSION "-*.whl 2>&1 && "
         "(cd $d && env -u CONFAB_LIBRARY v/bin/python -c "
         "'import confab; print(confab.open(\"bundled\").chat(\"Who are you?\"))'); "
         "s=$?; rm -rf $d; exit $s",
         "confab");
    runs("d=$(mktemp -d) && python3 -m venv $d/v && "
         "$d/v/bin/pip install -q --no-index docs/packaging/python 2>&1 && "
         "(cd $d && env -u CONFAB_LIBRARY v/bin/python -c "
         "'import confab; print(confab.__version__)'); s=$?; rm -rf $d; exit $s",
         CF_VERSION);
    runs("python3 -m zipfile -l build/dist/confab-" CF_VERSION "-*.whl", "licences/libnettle.txt");
}

static void test_npm__installs_offline(void **state)
{
    (void)state;
    need_release();
    if (system("ls build/dist/confab-debugger-" CF_VERSION "-*.tgz >/dev/null 2>&1") != 0) {
        T_SKIP("there is none; make npm builds it");
    }
    runs("tar -tzf build/dist/confab-debugger-" CF_VERSION "-*.tgz", "package/licences/libc.txt");
    if (system("command -v npm >/dev/null") != 0) {
        T_SKIP("npm is not installed");
    }
    runs("f=$(ls $PWD/build/dist/confab-debugger-" CF_VERSION "-*.tgz) && d=$(mktemp -d) && "
         "cd $d && echo '{}' >package.json && npm install --offline --no-audit --no-fund $f 2>&1 "
         "&& npx --no confab version; s=$?; rm -rf $d; exit $s",
         "confab " CF_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deb__holds_a_program_that_runs),
        cmocka_unit_test(test_dist__is_static_and_runs),
        cmocka_unit_test(test_wheel__installs_offline),
        cmocka_unit_test(test_npm__installs_offline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
