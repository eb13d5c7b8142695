/*
 * cmd_help.c - confab help, confab version.
 */
#include <string.h>

#include "tui/cli/cli.h"

int cf_cmd_version(cf_cli *cli, int argc, char **argv)
{
    int n_rest;
    int done = cf_cli_options(cli, NULL, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (cli->is_json) {
        printf("{\"version\":\"%s\"}\n", CF_VERSION);
    } else {
        printf("confab %s\n", CF_VERSION);
    }
    return CF_EXIT_OK;
}

int cf_cmd_help(cf_cli *cli, int argc, char **argv)
{
    int n_rest;
    int done = cf_cli_options(cli, NULL, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (n_rest > 0) {
        for (const cf_cli_command *c = cf_cli_commands; c->name != NULL; c++) {
            if (strcmp(c->name, argv[0]) == 0) {
                char help[] = "--help";
                char *args[] = {help, NULL};
                cf_cli asked = {.command = c};
                return c->run(&asked, 1, args);
            }
        }
        return cf_cli_usage(cli, "no such command");
    }
    printf("confab - a debugger for prompts\n\n"
           "usage: confab COMMAND [OPTION ...] [ARGUMENT ...]\n\n");
    for (const cf_cli_command *c = cf_cli_commands; c->name != NULL; c++) {
        char left[40];
        snprintf(left, sizeof left, "%s %s", c->name, c->arguments);
        printf("  %-32s %s\n", left, c->summary);
    }
    printf("\nconfab help COMMAND explains one.\n");
    return CF_EXIT_OK;
}
