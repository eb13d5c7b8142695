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

/* ---- what the tables of commands do not have ------------------------------- */

static const struct manual_row {
    const char *where, *macro, *name, *help;
} manual[] = {
#define ROW(name, help) {"manual, environment", "Ev ", name, help},
    ROW("XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME",
        "where files are kept; see confab paths") ROW("CONFAB_API_KEY, CONFAB_API_MODEL",
                                                      "key and model name for a server that -m "
                                                      "names; the key is never stored or logged")
        ROW("CONFAB_MODEL", "the model where -m is not given; overrides confabrc") ROW(
            "NO_COLOR, CLICOLOR, CLICOLOR_FORCE",
            "NO_COLOR, and 0 in CLICOLOR, turn colours off; CLICOLOR_FORCE turns them on where the "
            "output is not a terminal. The option --color overrides them")
            ROW("VISUAL, EDITOR, TMPDIR",
                "the editor for texts, and the folder for its private copy")
                ROW("COLUMNS", "the width of confab diff --side")
                    ROW("CONFAB_NOW", "for tests: a fixed time such as 2025-01-02T03:04:05Z") ROW(
                        "CONFAB_SEED_IDS",
                        "for tests: a number that makes identifiers and fresh seeds repeatable")
#undef ROW
#define ROW(name, help) {"manual, files", "Pa ", name, help},
                        ROW("~/.config/confab/confabrc",
                            "configuration: lines such as 'set model=FILE', which hold "
                            "for every command; options override them")
                            ROW("~/.local/share/confab/confab.db", "saved conversations") ROW(
                                "~/.local/state/confab/",
                                "history of : and / lines, the text copied last, and mocks, "
                                "commands and policies of tools")
                                ROW("~/.cache/confab/",
                                    "reserved for files that can be made again; not used yet")
#undef ROW
#define ROW(number, help) {"manual, exit status", "", "exit status " number, help},
                                    ROW("0", "success") ROW(
                                        "1",
                                        "a finding: a difference, a lint error, a failed check")
                                        ROW("2", "a usage error") ROW("3", "a bad input file")
                                            ROW("4",
                                                "an engine error, or output that cannot be written")
                                                ROW("5", "not saved: the answer is complete and "
                                                         "the history is not")
                                                    ROW("130", "interrupted")
#undef ROW
};

enum { MANUAL_ROWS = sizeof manual / sizeof manual[0] };

static void put_manual(FILE *to, const char *title, const char *where)
{
    fprintf(to, ".Sh %s\n.Bl -tag -width Ds\n", title);
    for (size_t i = 0; i < MANUAL_ROWS; i++) {
        const struct manual_row *row = &manual[i];
        if (strcmp(row->where, where) == 0) {
            fprintf(to, ".It %s", row->macro);
            put_argument(to, row->macro[0] != '\0' ? row->name : strrchr(row->name, ' ') + 1);
            fputc('\n', to);
            put_text(to, row->help);
            fputs(".\n", to);
        }
    }
    fputs(".El\n", to);
}

void cf_man_find(cf_word_index *index)
{
    for (size_t i = 0; i < MANUAL_ROWS; i++) {
        cf_word_index_add(index, manual[i].where, "", manual[i].name, manual[i].help);
    }
}

static const char examples[] =
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
    ".Dl confab render -t template.jinja context.json\n";

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
    put_manual(to, "ENVIRONMENT", "manual, environment");
    put_manual(to, "FILES", "manual, files");
    fputs(examples, to);
    put_manual(to, "EXIT STATUS", "manual, exit status");
}
