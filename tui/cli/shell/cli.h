/*
 * cli.h - the commands without a screen, one file each (cmd_NAME.c).
 *
 * A command is a cf_cli_command and a word in CF_CLI_COMMANDS.  The shell reads
 * the options and counts the arguments; the command writes its answer to
 * standard output and everything else to standard error, and returns an exit
 * status.  The shell closes what the command opened in the cf_cli.
 */
#ifndef CF_TUI_CLI_SHELL_CLI_H
#define CF_TUI_CLI_SHELL_CLI_H

#include <stdio.h>

#include "core/api/session.h"
#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/json/json.h"
#include "storage/store.h"
#include "templates/open.h"
#include "tui/cli/shell/options.h"
#include "tui/lab/state/reply_settings.h"
#include "tui/sys/color.h"
#include "tui/sys/out.h"
#include "tui/sys/trust.h"
#include "tui/sys/word_index.h"

/* Exit statuses: a contract. */
enum {
    CF_EXIT_OK = 0,
    CF_EXIT_FINDING = 1, /* difference, lint error, failed check */
    CF_EXIT_USAGE = 2,
    CF_EXIT_INPUT = 3,   /* bad input file */
    CF_EXIT_ENGINE = 4,  /* engine error */
    CF_EXIT_UNSAVED = 5, /* the answer is whole, the history has not all of it,
                            or a change of the history was not made */
    CF_EXIT_INTERRUPTED = 130
};

typedef struct cf_cli_command cf_cli_command;
typedef struct cf_start cf_start;
typedef struct cf_defaults cf_defaults;

/* A key of the workbench, for the man page.  Keys of one section follow each
 * other. */
typedef struct cf_cli_key {
    const char *section; /* "Chat" */
    const char *keys, *name, *args, *help;
} cf_cli_key;
typedef void (*cf_cli_key_fn)(void *ud, const cf_cli_key *key);

/* The parts of the screen that the command line uses; main.c fills it in. */
typedef struct cf_cli_screen {
    cf_status (*check)(cf_error *err); /* can one be opened here */
    cf_status (*run)(const cf_start *start, cf_error *err);
    /* reads the file `path`, confabrc, whose other settings it knows */
    cf_status (*defaults)(cf_defaults *defaults, const char *path, cf_buf *problems, cf_error *err);
    void (*keys)(cf_cli_key_fn fn, void *ud); /* calls fn for each key */
    /* adds keys, commands and settings, with what the file `path` binds */
    cf_status (*find)(cf_word_index *index, const char *path, cf_error *err);
} cf_cli_screen;

/* Describes a command from its tables: its own options (none: an end alone)
 * and the common ones. */
typedef void (*cf_cli_describe_fn)(void *ud, const cf_cli_command *command, const cf_opt *own,
                                   const cf_opt *common);

/* The options of every command, and what a command has open. */
typedef struct cf_cli {
    const cf_cli_command *command;
    const cf_cli_screen *screen;
    cf_open_options open;
    cf_opt_list model;       /* each -m; open.model is the last */
    cf_opt_list lora, steer; /* of open */
    bool is_exact;           /* --exact */
    const char *activations; /* --activations; NULL: not given */
    const char *cache;       /* --cache, likewise */
    cf_trust trust;          /* who gets the key, and where files may send */
    bool trusts_addresses;   /* --trust-addresses */
    cf_opt_list variables;   /* --allow-variable */
    uint64_t seed;
    bool has_seed;
    bool is_json, is_quiet;
    const char *color_name; /* --color; NULL: not given */
    cf_color_when color;
    const cf_reply_settings *reply; /* from confabrc; NULL: none */
    cf_buf problems;                /* lines: what confabrc has wrong */
    bool is_help;                   /* never seen set: --help is answered before */
    int n_args;
    char **args; /* [n_args], arguments that are not options */
    /* Closed after the command, in this order; all may be empty. */
    cf_opened opened; /* a model or server, or parts of one */
    cf_store *store;
    cf_buf out; /* the answer */
    cf_arena arena;
} cf_cli;

/* Whether the command line names an arithmetic; confabrc does not count. */
static inline bool cf_cli_has_arithmetic(const cf_cli *cli)
{
    return cli->is_exact || cli->activations != NULL;
}

enum { CF_ARGS_ANY = 255 };

struct cf_cli_command {
    const char *name;
    const char *arguments;     /* "[TEXT]"; NULL: none */
    const char *summary;       /* one line */
    const cf_opt_row *options; /* into the state; NULL: none */
    /* Appends further options, and an end: how many; NULL: none. */
    size_t (*more)(void *state, cf_opt *out);
    size_t state_bytes;   /* of the object that `run` gets; 0: none */
    const void *initial;  /* its contents before the options; NULL: zero */
    uint8_t n_min, n_max; /* arguments; n_max CF_ARGS_ANY: any number */
    const char *want;     /* said of a wrong number: "takes one PLAN" */
    int (*run)(cf_cli *cli, void *state);
};

/* Runs a command: options of every command, its name, its own arguments.
 * main() returns what it returns. */
int cf_cli_main(int argc, char **argv, const cf_cli_screen *screen);

/* The commands, in the order in which they are listed. */
#define CF_CLI_COMMANDS(X) \
    X(run)                 \
    X(chat)                \
    X(complete)            \
    X(media)               \
    X(model)               \
    X(mcp)                 \
    X(models)              \
    X(bench)               \
    X(tokenize)            \
    X(parse)               \
    X(constrain)           \
    X(bisect)              \
    X(shrink)              \
    X(history)             \
    X(replay)              \
    X(report)              \
    X(session)             \
    X(sessions)            \
    X(influence)           \
    X(guard)               \
    X(inside)              \
    X(sweep)               \
    X(compare)             \
    X(proxy)               \
    X(serve)               \
    X(watch)               \
    X(db)                  \
    X(render)              \
    X(diff)                \
    X(score)               \
    X(embed)               \
    X(lint)                \
    X(test)                \
    X(paths)               \
    X(completion)          \
    X(version)             \
    X(help)

#define CF_CLI_DECLARE(name) extern const cf_cli_command cf_cmd_##name;
CF_CLI_COMMANDS(CF_CLI_DECLARE)

/* The same as a list, ended by NULL. */
extern const cf_cli_command *const cf_cli_commands[];
const cf_cli_command *cf_cli_find(const char *name);
/* CF_EINVAL for a name that no command has; suggests the nearest one. */
cf_status cf_cli_unknown(const char *name, cf_error *err); /* NULL: none */

/* Prints the help of a command; an exit status. */
int cf_cli_help(const cf_cli_command *command);
/* Calls fn with each command and its options. */
void cf_cli_each_command(cf_cli_describe_fn fn, void *ud);
/* Adds commands and options, and what the manual has besides. */
void cf_cli_find_rows(cf_word_index *index);
/* What `confab help --search` prints and the tool confab_help returns, of all
 * tables, with the keys of confabrc.  `cli` is a cf_cli. */
CF_MUST_USE cf_status cf_cli_answer(void *cli, const char *question, cf_buf *out, cf_error *err);

/* Calls fn with the options of every command. */
void cf_cli_each_common(void (*fn)(FILE *to, const cf_opt *common), FILE *to);

/* Prints "confab COMMAND: text" to standard error and returns the exit status
 * for the code. */
int cf_cli_fail(const cf_cli *cli, const cf_error *err);
/* Prints "confab COMMAND: message" with how to get help; CF_EXIT_USAGE. */
int cf_cli_usage(const cf_cli *cli, const char *message);

/* Whether a question can be answered here: by a terminal, without --quiet. */
bool cf_cli_can_ask(const cf_cli *cli);
/* Asks on standard error; true for an answer that begins with y. */
bool cf_cli_is_yes(const char *question);

/* Says on standard error where the model's template, which no -t replaces, is
 * not that of its repository.  `engine` may be NULL. */
void cf_cli_note_template(const cf_cli *cli, const cf_engine *engine);

/* Writes `out` to standard output; CF_EXIT_OK, or the status of running out
 * of memory, with its message.  An error of the stream is reported once, when
 * the command has ended.  On a terminal harmful characters are escaped
 * (tui/sys/out.h): as JSON with --json, else as text. */
int cf_cli_print(const cf_cli *cli, const cf_buf *out);
/* The end of a command: prints cli->out where `st` is CF_OK, and else reports
 * `err`.  The exit status. */
int cf_cli_end(const cf_cli *cli, cf_status st, const cf_error *err);
/* As cf_cli_print() for JSON in any case, or text with styles. */
int cf_cli_print_as(const cf_cli *cli, const cf_buf *out, cf_out_kind kind);

/* Opens the workbench at the exchanges of the proxy (cmd_chat.c); the exit
 * status. */
int cf_cli_watch(cf_cli *cli);
/* The same at the session of a coding agent in a file. */
int cf_cli_steps(cf_cli *cli, const char *path);

/* Set by SIGINT and SIGTERM while a command that asked for it runs. */
cf_cancel *cf_cli_cancel(void); /* installs the handlers at the first call */

/*
 * Runs a --batch file: for each line of JSON calls `item`, which appends the
 * members of the answer, "name" and the braces left out.  A failure of the item,
 * or a line that is not a JSON object, answers {"error":{"message":...}}; only
 * want of memory ends the batch.  Prints one line an answer, in order.  Returns
 * the exit status.
 */
typedef cf_status (*cf_cli_item_fn)(void *ud, const json_t *item, cf_buf *members, cf_error *err);
int cf_cli_batch(const cf_cli *cli, const char *path, cf_cli_item_fn item, void *ud);

/* The same for lines with a member that a json_t cannot carry: its value comes
 * as text ({NULL, 0} if the line has none), and is null in
 * the item. */
typedef cf_status (*cf_cli_raw_fn)(void *ud, const json_t *item, cf_str value, cf_buf *members,
                                   cf_error *err);
int cf_cli_batch_raw(const cf_cli *cli, const char *path, const char *member, cf_cli_raw_fn item,
                     void *ud);

/* Appends a JSON object without its braces; `members` fails if `object` has
 * failed. */
void cf_cli_put_members(cf_buf *members, const cf_buf *object);

#endif
