/*
 * cmd_help.c - confab help: shows help for the program or one command.
 */
#include <string.h>

#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/man.h"

typedef struct asked {
    bool is_man;
} asked;

static const cf_opt_row options[] = {
    {"--man", 0, CF_OPT_FLAG, offsetof(asked, is_man), NULL, "print the whole man page in mdoc(7)",
     0},
    CF_OPT_ROWS_END,
};

static int run_help(cf_cli *cli, void *state)
{
    asked *a = state;
    if (a->is_man) {
        cf_man_page(stdout, cli->screen);
        return CF_EXIT_OK;
    }
    if (cli->n_args == 1) {
        const cf_cli_command *c = cf_cli_find(cli->args[0]);
        cf_error err;
        if (c == NULL) {
            cf_ignore(cf_cli_unknown(cli->args[0], &err));
            cf_note("confab help: %s (confab help lists them)", err.text);
            return CF_EXIT_USAGE;
        }
        return cf_cli_help(c);
    }
    printf("confab - a debugger for prompts\n\n"
           "usage: confab [COMMON OPTION ...] COMMAND [OPTION ...] [ARGUMENT "
           "...]\n\n");
    for (const cf_cli_command *const *at = cf_cli_commands; *at != NULL; at++) {
        const cf_cli_command *c = *at;
        char left[48];
        bool fits = strlen(c->name) + strlen(c->arguments) < 31;
        snprintf(left, sizeof left, "%s %s", c->name, fits ? c->arguments : "...");
        printf("  %-32s %s\n", left, c->summary);
    }
    printf("\nRun confab help COMMAND for the options of a command.\n");
    return CF_EXIT_OK;
}

const cf_cli_command cf_cmd_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "explain a command",
    .options = options,
    .state_bytes = sizeof(asked),
    .n_max = 1,
    .want = "takes one command",
    .run = run_help,
};
