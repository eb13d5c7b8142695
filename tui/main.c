/*
 * main.c - the composition root: the only file that knows both the command
 * line and the workbench, and hands each what it needs of the other.
 */
#include <signal.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/app/workbench.h"
#include "tui/cli/shell/cli.h"
#include "tui/sys/secret.h"

static void list_table(const char *section, const cf_command *table, cf_cli_key_fn fn, void *ud)
{
    for (const cf_command *c = table; c != NULL && c->name != NULL; c++) {
        fn(ud, &(cf_cli_key){.section = section,
                             .keys = c->keys,
                             .name = c->name,
                             .args = c->args,
                             .help = c->help});
    }
}

/* The keys of the workbench, for the man page. */
static void list_keys(cf_cli_key_fn fn, void *ud)
{
    list_table("Everywhere", cf_global_commands, fn, ud);
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        list_table(cf_views[v]->title, cf_views[v]->commands, fn, ud);
    }
}

int main(int argc, char **argv)
{
    static const cf_cli_screen screen = {.check = cf_term_check,
                                         .run = cf_workbench_run,
                                         .defaults = cf_workbench_defaults,
                                         .keys = list_keys,
                                         .find = cf_workbench_find};
    cf_alloc_use(NULL);
    cf_os_guard_maps();
    signal(SIGXFSZ, SIG_IGN); /* a limit of file size is a write error */
    cf_secret_take();
    return cf_cli_main(argc, argv, &screen);
}
