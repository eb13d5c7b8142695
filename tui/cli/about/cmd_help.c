/*
 * cmd_help.c - confab help: shows help for the program or one command.
 */
#include <string.h>

#include "tui/cli/shell/cli.h"
#include "tui/cli/shell/man.h"
#include "tui/sys/paths.h"

typedef struct asked {
    bool is_man, searches;
} asked;

static const cf_opt_row options[] = {
    {"--man", 0, CF_OPT_FLAG, offsetof(asked, is_man), NULL, "print the whole man page in mdoc(7)",
     0},
    {"--search", 0, CF_OPT_FLAG, offsetof(asked, searches), NULL,
     "search commands, options, keys, settings and the manual for the words that follow; "
     "without words, print all",
     0},
    CF_OPT_ROWS_END,
};

static void find_options(cf_word_index *index, const char *where, const cf_opt *table)
{
    for (const cf_opt *o = table; o != NULL && o->name != NULL; o++) {
        char name[128];
        snprintf(name, sizeof name, o->value != NULL ? "%s %s" : "%s", o->name, o->value);
        cf_word_index_add(index, where, "", name, o->help);
    }
}

static void find_command(void *ud, const cf_cli_command *c, const cf_opt *own, const cf_opt *common)
{
    char name[128];
    cf_word_index *index = ud;
    if (c == cf_cli_commands[0]) {
        find_options(index, "option, all commands", common);
    }
    snprintf(name, sizeof name, "confab %s%s%s", c->name, c->arguments[0] != '\0' ? " " : "",
             c->arguments);
    cf_word_index_add(index, "command line", "", name, c->summary);
    snprintf(name, sizeof name, "option of confab %s", c->name);
    find_options(index, name, own);
}

void cf_cli_find_rows(cf_word_index *index)
{
    cf_cli_each_command(find_command, index);
    cf_man_find(index);
}

cf_status cf_cli_answer(void *cli, const char *question, cf_buf *out, cf_error *err)
{
    cf_word_index index;
    cf_paths paths;
    cf_word_index_init(&index);
    cf_status st = cf_paths_find(&paths, err);
    if (st == CF_OK) {
        st = ((const cf_cli *)cli)->screen->find(&index, paths.config, err);
        cf_paths_deinit(&paths);
    }
    cf_cli_find_rows(&index);
    CF_THEN(st, cf_word_index_answer(&index, question, out, err));
    cf_word_index_deinit(&index);
    return st;
}

/* Nothing found is status 1, as of other searches. */
static int search(cf_cli *cli)
{
    cf_error err;
    cf_buf words = CF_BUF_INIT, out = CF_BUF_INIT;
    for (int i = 0; i < (int)cli->n_args; i++) {
        cf_buf_addf(&words, "%s ", cli->args[i]);
    }
    cf_status st = cf_cli_answer(cli, cf_buf_cstr(&words), &out, &err);
    fputs(cf_buf_cstr(&out), stdout);
    bool is_found = !cf_str_begins(cf_buf_str(&out), CF_NOTHING_FOUND);
    cf_buf_deinit(&words);
    cf_buf_deinit(&out);
    return st != CF_OK ? cf_cli_fail(cli, &err) : is_found ? CF_EXIT_OK : CF_EXIT_FINDING;
}

static int run_help(cf_cli *cli, void *state)
{
    asked *a = state;
    if (a->is_man) {
        cf_man_page(stdout, cli->screen);
        return CF_EXIT_OK;
    }
    if (a->searches) {
        return search(cli);
    }
    if (cli->n_args > 1) {
        return cf_cli_usage(cli, "takes one command");
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
    .arguments = "[COMMAND|WORDS]",
    .summary = "explain a command",
    .options = options,
    .state_bytes = sizeof(asked),
    .n_max = CF_ARGS_ANY,
    .want = "takes one command",
    .run = run_help,
};
