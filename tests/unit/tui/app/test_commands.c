/*
 * test_commands.c - the tables of commands: every row can be done, is shown in
 * a view, and has a name and a line of help.
 */
#include "tests/support/t.h"
#include "tui/app/app.h"

static void check_table(const cf_command *c)
{
    for (; c->name != NULL; c++) {
        int ways = (c->run != NULL) + (c->with != NULL) + (c->by != NULL);
        if (ways != 1 || c->views == 0 || c->help == NULL || c->help[0] == '\0') {
            fail_msg("command '%s' is not whole", c->name);
        }
        if (c->with == NULL && c->args[0] != '\0') {
            fail_msg("command '%s' names arguments that it cannot take", c->name);
        }
    }
}

static void test_commands__every_row_is_whole(void **state)
{
    (void)state;
    check_table(cf_global_commands);
    for (int i = 0; i < CF_VIEW_COUNT; i++) {
        check_table(cf_views[i]->commands);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands__every_row_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
