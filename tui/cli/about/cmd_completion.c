/*
 * cmd_completion.c - confab completion: writes a script that completes
 * commands, options and their values in a shell.
 */
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/completion_text.h"

int cf_cmd_completion(cf_cli *cli, int argc, char **argv)
{
    int n_rest;
    int done = cf_cli_options(cli, NULL, argc, argv, &n_rest);
    if (done >= 0) {
        return done;
    }
    if (n_rest != 1 || !cf_completion_write(stdout, argv[0])) {
        return cf_cli_usage(cli, "takes the name of a shell: bash, zsh or fish");
    }
    return CF_EXIT_OK;
}
