/*
 * man.c - writes the man page from the tables of commands, options and keys.
 */
#include "tui/cli/shell/man.h"

#include <string.h>

/* Text with what roff would act on escaped: a backslash anywhere, a dot or a
 * quote at the start. */
static void put_text(FILE *to, const char *text)
{
    if (text[0] == '.' || text[0] == '\'') {
        fputs("\\&", to);
    }
    for (const char *p = text; *p != '\0'; p++) {
        if (p == text && *p >= 'a' && *p <= 'z') {
            fputc(*p - 'a' + 'A', to); /* a sentence of its own here */
        } else if (*p == '\\') {
            fputs("\\e", to);
        } else if (*p == '-') {
            fputs("\\-", to);
        } else {
            fputc(*p, to);
        }
    }
}

/* A macro's argument: also quoted, so that words stay together. */
static void put_argument(FILE *to, const char *text)
{
    fputc('"', to);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"') {
            fputs("\\(dq", to);
        } else if (*p == '\\') {
            fputs("\\e", to);
        } else {
            fputc(*p, to);
        }
    }
    fputc('"', to);
}

static void put_options(FILE *to, const cf_opt *table)
{
    fputs(".Bl -tag -width Ds\n", to);
    for (const cf_opt *o = table; o != NULL && o->name != NULL; o++) {
        fputs(".It ", to);
        if (o->letter != 0) {
            fprintf(to, "Fl %c , ", o->letter);
        }
        fprintf(to, "Fl \\-%s", o->name + 2);
        if (o->value != NULL) {
            fputs(" Ar ", to);
            put_argument(to, o->value);
        }
        fputc('\n', to);
        put_text(to, o->help);
        fputs(".\n", to);
    }
    fputs(".El\n", to);
}

/* One command: name, arguments, summary, own options. */
static void write_command(void *ud, const cf_cli_command *command, const cf_opt *own,
                          const cf_opt *common)
{
    FILE *to = ud;
    (void)common; /* listed once, for all commands */
    fprintf(to, ".Ss confab %s\n", command->name);
    fprintf(to, ".Nm Ic %s\n.Op Ar option ...\n", command->name);
    if (command->arguments[0] != '\0') {
        fputs(".Ar ", to);
        put_argument(to, command->arguments);
        fputc('\n', to);
    }
    fputs(".Pp\n", to);
    put_text(to, command->summary);
    fputs(".\n", to);
    if (own->name != NULL) {
        put_options(to, own);
    }
}

static const char head[] =
    ".\\\" Made by `confab help --man'; change the option tables, then run\n"
    ".\\\"     build/confab help --man > docs/confab.1\n"
    ".Dd November 20, 2026\n"
    ".Dt CONFAB 1\n"
    ".Os\n"
    ".Sh NAME\n"
    ".Nm confab\n"
    ".Nd a debugger for prompts\n"
    ".Sh SYNOPSIS\n"
    ".Nm\n"
    ".Op Ar common option ...\n"
    ".Ar command\n"
    ".Op Ar option ...\n"
    ".Op Ar argument ...\n"
    ".Sh DESCRIPTION\n"
    "One program holds a local language model, the chat template, the\n"
    "tokenizer, the cache, the sampler, the tool parser and the history, and\n"
    "lets you look into each of them.\n"
    "It needs no network and no server.\n"
    ".Pp\n"
    "Results go to standard output, everything else to standard error.\n"
    "Text from a model or a file is escaped where it is shown on a terminal,\n"
    "and left unchanged otherwise.\n"
    ".Sh COMMON OPTIONS\n";

static const char tail[] =
    ".Sh ENVIRONMENT\n"
    ".Bl -tag -width Ds\n"
    ".It Ev XDG_CONFIG_HOME , XDG_DATA_HOME , XDG_STATE_HOME , XDG_CACHE_HOME\n"
    "Where files are kept; see\n"
    ".Nm Ic paths .\n"
    ".It Ev CONFAB_API_KEY , CONFAB_API_MODEL\n"
    "Key and model name for a server that\n"
    ".Fl m\n"
    "names; the key is never stored or logged.\n"
    ".It Ev CONFAB_MODEL\n"
    "The model where\n"
    ".Fl m\n"
    "is not given; overrides confabrc.\n"
    ".It Ev NO_COLOR , CLICOLOR , CLICOLOR_FORCE\n"
    "NO_COLOR, and 0 in CLICOLOR, turn colours off; CLICOLOR_FORCE turns them\n"
    "on where the output is not a terminal.\n"
    "The option\n"
    ".Fl \\-color\n"
    "overrides them.\n"
    ".It Ev VISUAL , EDITOR , TMPDIR\n"
    "The editor for texts, and the folder for its private copy.\n"
    ".It Ev COLUMNS\n"
    "The width of\n"
    ".Nm Ic diff Fl \\-side .\n"
    ".It Ev CONFAB_NOW\n"
    "For tests: a fixed time such as 2025-01-02T03:04:05Z.\n"
    ".It Ev CONFAB_SEED_IDS\n"
    "For tests: a number that makes identifiers and fresh seeds repeatable.\n"
    ".El\n"
    ".Sh FILES\n"
    ".Bl -tag -width Ds\n"
    ".It Pa ~/.config/confab/confabrc\n"
    "Configuration: lines such as\n"
    ".Ql set model=FILE ,\n"
    "which hold for every command; options override them.\n"
    ".It Pa ~/.local/share/confab/confab.db\n"
    "Saved conversations.\n"
    ".It Pa ~/.local/state/confab/\n"
    "History of : and / lines, the text copied last, and mocks, commands and\n"
    "policies of tools.\n"
    ".It Pa ~/.cache/confab/\n"
    "Reserved for files that can be made again; not used yet.\n"
    ".El\n"
    ".Sh EXAMPLES\n"
    "Describe a model file and the memory it needs for 4096 tokens:\n"
    ".Dl confab model --ctx 4096 model.gguf\n"
    ".Pp\n"
    "Generate forty tokens, always the most probable one:\n"
    ".Dl confab complete -m model.gguf -n 40 --greedy 'Once upon a time,'\n"
    ".Pp\n"
    "Show the five best candidates of each token, and the step that removed\n"
    "each:\n"
    ".Dl confab complete -m model.gguf -n 10 --trace 5 'Once upon a time,'\n"
    ".Pp\n"
    "Render a context with a template to the exact prompt:\n"
    ".Dl confab render -t template.jinja context.json\n"
    ".Sh EXIT STATUS\n"
    ".Bl -tag -width 130 -compact\n"
    ".It 0\n"
    "Success.\n"
    ".It 1\n"
    "A finding: a difference, a lint error, a failed check.\n"
    ".It 2\n"
    "A usage error.\n"
    ".It 3\n"
    "A bad input file.\n"
    ".It 4\n"
    "An engine error, or output that cannot be written.\n"
    ".It 5\n"
    "Not saved: the answer is complete and the history is not.\n"
    ".It 130\n"
    "Interrupted.\n"
    ".El\n";

/* ---- keys of the workbench ---------------------------------------------- */

/* The list that is being written. */
typedef struct key_list {
    FILE *to;
    const char *section; /* NULL: none yet */
} key_list;

/* One row of a command table: its keys, its name, what it does. */
static void put_key(void *ud, const cf_cli_key *key)
{
    key_list *list = ud;
    FILE *to = list->to;
    char name[80];
    if (list->section == NULL || strcmp(list->section, key->section) != 0) {
        fprintf(to, "%s.Ss %s\n.Bl -tag -width Ds\n", list->section != NULL ? ".El\n" : "",
                key->section);
        list->section = key->section;
    }
    fputs(".It ", to);
    if (key->keys[0] != '\0') {
        fputs("Ic ", to);
        put_argument(to, key->keys);
        fputc(' ', to);
    }
    fputs("Ic ", to);
    snprintf(name, sizeof name, ":%s", key->name);
    put_argument(to, name);
    if (key->args[0] != '\0') {
        fputs(" Ar ", to);
        put_argument(to, key->args);
    }
    fputc('\n', to);
    put_text(to, key->help);
    fputs(".\n", to);
}

static void put_workbench(FILE *to, const cf_cli_screen *screen)
{
    key_list list = {.to = to};
    fputs(".Sh KEYS OF THE WORKBENCH\n"
          "The commands of each view with their keys; every command can also be\n"
          "typed after a colon.\n"
          "Change keys with\n"
          ".Ql bind\n"
          "lines in confabrc;\n"
          ".Ql \\&?\n"
          "shows the ones in effect.\n",
          to);
    screen->keys(put_key, &list);
    fputs(list.section != NULL ? ".El\n" : "", to);
}

void cf_man_page(FILE *to, const cf_cli_screen *screen)
{
    fputs(head, to);
    cf_cli_each_common(put_options, to);
    fputs(".Sh COMMANDS\n", to);
    cf_cli_each_command(write_command, to);
    put_workbench(to, screen);
    fputs(tail, to);
}
