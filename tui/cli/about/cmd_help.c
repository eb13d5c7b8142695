/*
 * cmd_help.c - confab help: shows help for the program or one command.
 */
#include <string.h>

#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/man.h"

static int help_one(const cf_cli *cli, const char *name)
{
    for (const cf_cli_command *c = cf_cli_commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0) {
            char help[] = "--help";
            char *args[] = {help, NULL};
            cf_cli asked = {.command = c};
            return c->run(&asked, 1, args);
        }
    }
    return cf_cli_usage(cli, "no such command");
}

int cf_cmd_help(cf_cli *cli, int argc, char **argv)
{
    bool is_man = false;
    const cf_opt own[] = {
        {"--man", 0, CF_OPT_FLAG, &is_man, NULL, "print the whole man page in mdoc(7)", NULL},
        {0},
    };
    int n_rest;
    int done = cf_cli_options(cli, own, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (n_rest > 1) {
        return cf_cli_usage(cli, "takes one command");
    }
    if (is_man) {
        cf_man_page(stdout, cli->screen);
        return CF_EXIT_OK;
    }
    if (n_rest == 1) {
        return help_one(cli, argv[0]);
    }
    printf("confab - a debugger for prompts\n\n"
           "usage: confab [COMMON OPTION ...] COMMAND [OPTION ...] [ARGUMENT "
           "...]\n\n");
    for (const cf_cli_command *c = cf_cli_commands; c->name != NULL; c++) {
        char left[48];
        bool fits = strlen(c->name) + strlen(c->arguments) < 31;
        snprintf(left, sizeof left, "%s %s", c->name, fits ? c->arguments : "...");
        printf("  %-32s %s\n", left, c->summary);
    }
    printf("\nRun confab help COMMAND for the options of a command.\n");
    return CF_EXIT_OK;
}
