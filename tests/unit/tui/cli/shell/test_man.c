/*
 * test_man.c - docs/confab.1 says what --help says.
 */
#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/t.h"
#include "tui/cli/shell/cli.h"

/* The 1-based line where two texts part. */
static size_t first_difference(const char *a, const char *b)
{
    size_t line = 1;
    for (; *a == *b && *a != '\0'; a++, b++) {
        line += *a == '\n' ? 1 : 0;
    }
    return line;
}

static void test_man__page_is_current(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    cf_program p;
    CF_PROGRAM(&p, "help", "--man");
    assert_int_equal(p.status, 0);
    cf_buf page = CF_BUF_INIT;
    cf_error err;
    T_OK(cf_os_read_file(&page, "docs/confab.1", 1 << 20, &err), err);
    const char *want = cf_buf_cstr(&p.out);
    const char *have = cf_buf_cstr(&page);
    if (strcmp(want, have) != 0) {
        fail_msg("docs/confab.1 differs from the option tables at line %zu; "
                 "run:  build/confab help --man > docs/confab.1",
                 first_difference(want, have));
    }
    cf_buf_deinit(&page);
    cf_program_deinit(&p);
}

/* Every command explains itself, with a usage line that names it. */
static void test_man__every_command_has_help(void **state)
{
    (void)state;
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    for (const cf_cli_command *const *at = cf_cli_commands; *at != NULL; at++) {
        const cf_cli_command *c = *at;
        char usage[80];
        snprintf(usage, sizeof usage, "usage: confab %s ", c->name);
        cf_program p;
        CF_PROGRAM(&p, c->name, "--help");
        assert_int_equal(p.status, 0);
        assert_int_equal(p.err.n, 0);
        if (strncmp(cf_buf_cstr(&p.out), usage, strlen(usage)) != 0 ||
            strstr(cf_buf_cstr(&p.out), c->summary) == NULL) {
            fail_msg("confab %s --help does not explain it", c->name);
        }
        cf_program_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_man__page_is_current),
        cmocka_unit_test(test_man__every_command_has_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
