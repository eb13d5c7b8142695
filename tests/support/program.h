/*
 * program.h - running the program under test as the user's shell would.
 */
#ifndef CF_TESTS_SUPPORT_PROGRAM_H
#define CF_TESTS_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/buf.h"

typedef struct cf_program {
    int status; /* exit status, or 128 + the signal that ended it */
    cf_buf out; /* standard output */
    cf_buf err; /* standard error */
} cf_program;

/* The path in $CONFAB_BIN, or NULL: skip the test then. */
const char *cf_program_path(void);

/* Skips a test where there is no program; the test includes tests/support/t.h. */
#define NEED_PROGRAM()                       \
    do {                                     \
        if (cf_program_path() == NULL) {     \
            T_SKIP("CONFAB_BIN is not set"); \
        }                                    \
    } while (0)

/* Skips a test of packages, which are made of the release variant. */
#define NEED_RELEASE()                                                                     \
    do {                                                                                   \
        if (cf_program_path() == NULL || strstr(cf_program_path(), "/release/") == NULL) { \
            T_SKIP("packages are made of the release variant");                            \
        }                                                                                  \
    } while (0)

/* Runs a shell command; fails the test unless it succeeds and prints `want` somewhere. */
void cf_shell_prints(const char *command, const char *want);

/*
 * Runs the program with argv (ended by NULL, without the program's name) and
 * `input` as its standard input, and waits.  Fails the test when it cannot
 * be run.  cf_program_deinit() afterwards.
 */
void cf_program_run(cf_program *p, const char *const *argv, const char *input, size_t n_input);
void cf_program_deinit(cf_program *p);

/* Fails the test unless exit status and standard output are these; ends with
 * cf_program_deinit(). */
void cf_program_expect(cf_program *p, int status, const char *want);

/* The same on a terminal of its own: both outputs are that terminal and come
 * together, byte by byte as the terminal gets them, in p->out.  Standard input
 * is the file `input`, not the terminal. */
void cf_program_on_terminal(cf_program *p, const char *const *argv, const char *input);

/* The same with arguments in place: CF_PROGRAM(&p, "version", "--json"). */
#define CF_PROGRAM(p, ...) cf_program_run((p), (const char *const[]){__VA_ARGS__, NULL}, NULL, 0)

/* Whether this build has the bundled model: then -m may be left out, and what
 * a command says without a model is not seen. */
bool cf_program_has_model(void);

#endif
