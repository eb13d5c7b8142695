/*
 * cmd_completion.c - confab completion: writes a script that completes
 * commands, options and their values in a shell.
 */
#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/completion_text.h"

static int run_completion(cf_cli *cli, void *state)
{
    (void)state;
    if (!cf_completion_write(stdout, cli->args[0])) {
        return cf_cli_usage(cli, "takes the name of a shell: bash, zsh or fish");
    }
    return CF_EXIT_OK;
}

const cf_cli_command cf_cmd_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "print a completion script for a shell",
    .n_min = 1,
    .n_max = 1,
    .want = "takes the name of a shell: bash, zsh or fish",
    .run = run_completion,
};
