/*
 * options.h - command-line options from a table, which also makes --help.
 */
#ifndef CF_TUI_CLI_SHELL_OPTIONS_H
#define CF_TUI_CLI_SHELL_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "core/base/status.h"

typedef enum cf_opt_kind {
    CF_OPT_FLAG, /* bool */
    CF_OPT_STR,  /* const char * */
    CF_OPT_U32,  /* uint32_t */
    CF_OPT_U64,  /* uint64_t */
    CF_OPT_F32,  /* float */
    CF_OPT_LIST  /* cf_opt_list: may be given several times */
} cf_opt_kind;

enum { CF_OPT_LIST_MAX = 64 };

typedef struct cf_opt_list {
    const char *v[CF_OPT_LIST_MAX];
    size_t n;
} cf_opt_list;

typedef struct cf_opt {
    const char *name; /* "--threads"; NULL ends the table */
    char letter;      /* 'm' for -m, 0 for none */
    cf_opt_kind kind;
    void *to;          /* of the kind's type */
    const char *value; /* name of the value in --help, NULL for a flag */
    const char *help;
    bool *was_given; /* may be NULL */
} cf_opt;

/* The same in a table of constants: places are offsets into an object. */
typedef struct cf_opt_row {
    const char *name;
    char letter;
    cf_opt_kind kind;
    size_t at; /* of the value */
    const char *value, *help;
    size_t given; /* of the bool that says it was given; 0: none */
} cf_opt_row;

#define CF_OPT_ROWS_END                        \
    {                                          \
        NULL, 0, CF_OPT_FLAG, 0, NULL, NULL, 0 \
    }

/* Appends the options of `rows` (ended by a NULL name; may be NULL) with their
 * places in `object`, and an end; how many there are without it. */
size_t cf_options_bind(cf_opt *out, const cf_opt_row *rows, void *object);

/*
 * Reads argv[0..argc) against the tables (each ends with a NULL name; `more`
 * may be NULL).  What is not an option is moved to the front of argv in order
 * and counted in *n_rest; "--" ends the options; "-" is not an option.  Values
 * come as "--name VALUE", "--name=VALUE", "-n VALUE" or "-nVALUE"; flags of
 * one letter can share a dash.
 * CF_EINVAL with a text that names the option.
 */
CF_MUST_USE cf_status cf_options_read(const cf_opt *own, const cf_opt *more, int argc, char **argv,
                                      int *n_rest, cf_error *err);

/*
 * Reads the options of `table` at the start of argv[0..argc), and counts the
 * arguments that they take in *n_read: up to one that is not an option, or not
 * one of the table.  CF_EINVAL with a text that names the option.
 */
CF_MUST_USE cf_status cf_options_lead(const cf_opt *table, int argc, char **argv, int *n_read,
                                      cf_error *err);

/* Two columns: option and help. */
void cf_options_print(FILE *to, const cf_opt *table);

#endif
