/*
 * pty.h - the program in a real pseudo-terminal, its screen read back by a
 * terminal emulator.
 */
#ifndef CF_TESTS_SUPPORT_PTY_H
#define CF_TESTS_SUPPORT_PTY_H

#include <stdbool.h>
#include <sys/types.h>

#include <vterm.h>

#include "core/base/buf.h"

typedef struct cf_pty {
    pid_t pid;
    int fd, other_fd; /* this end, and the program's */
    VTerm *vt;
    VTermScreen *screen;
    int w, h;
    bool is_alternate, shows_cursor;
    bool is_closed; /* the program has ended, and all that it wrote has come */
    int status;     /* then: as waitpid() gives it */
    cf_buf out;     /* all bytes that came, for what no cell shows */
    int apc;        /* 1: after ESC; 2: in "ESC _ ...", which the emulator would
                   show; 3: after an ESC there */
} cf_pty;

enum { CF_PTY_WORDS_MAX = 14 };

/* Starts the program with `words` (ended by NULL) and a home in the test's
 * folder (store_dir.h). */
void cf_pty_start(cf_pty *t, int w, int h, const char *const *words, const char *term);

/* Takes what the program wrote within `ms`; false when nothing came. */
bool cf_pty_pump(cf_pty *t, int ms);
bool cf_pty_shows(const cf_pty *t, const char *text);
/* Waits until a row shows the text; fails the test when it never does. */
void cf_pty_wait(cf_pty *t, const char *text);
/* Prints the screen to standard output. */
void cf_pty_print(const cf_pty *t);
void cf_pty_type(cf_pty *t, const char *keys);

/* Waits for the end, checks that the terminal is as it was, and returns the
 * program's wait status. */
int cf_pty_finish(cf_pty *t);
/* The same; fails when the end takes more than `ms`. */
int cf_pty_finish_in(cf_pty *t, unsigned ms);

/* Whether this machine has pseudo-terminals: a container may come without
 * /dev/pts. */
bool cf_pty_is_there(void);

/* The test includes tests/support/t.h and tests/support/program.h. */
#define NEED_TERMINALS()                                      \
    do {                                                      \
        if (cf_program_path() == NULL) {                      \
            T_SKIP("CONFAB_BIN is not set");                  \
        }                                                     \
        if (!cf_pty_is_there()) {                             \
            T_SKIP("this machine gives no pseudo-terminals"); \
        }                                                     \
    } while (0)

#endif
