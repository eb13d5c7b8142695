/*
 * term.h - the terminal, as the interface sees it: a grid goes out, events
 * come in.  term_curses.c is the real one and the only file that knows
 * curses; term_memory.c plays a script, for tests.
 *
 * Threads:  one thread owns a terminal.  Others wake it by writing a byte to
 *           the descriptor of cf_term_wake_fd().
 */
#ifndef CF_TUI_TERM_TERM_H
#define CF_TUI_TERM_TERM_H

#include "core/base/status.h"
#include "tui/grid/grid.h"
#include "tui/term/graphics.h"
#include "tui/term/key.h"

typedef struct cf_term cf_term;

typedef enum cf_event_kind {
    CF_EVENT_NONE, /* the time given to wait passed */
    CF_EVENT_KEY,
    CF_EVENT_MOUSE, /* the left button was pressed at (x, y) */
    CF_EVENT_DRAG,  /* the mouse is there now, with the button held */
    CF_EVENT_RELEASE,
    CF_EVENT_PASTE, /* text that was pasted: no key in it is a command */
    CF_EVENT_RESIZE,
    CF_EVENT_WAKE,    /* another thread has events */
    CF_EVENT_RESUMED, /* back from being suspended: draw everything */
    CF_EVENT_HANGUP   /* the terminal is gone, or a signal asks the program to end */
} cf_event_kind;

typedef struct cf_event {
    cf_event_kind kind;
    cf_key key;
    cf_str paste; /* borrowed until the next wait */
    int w, h;     /* of a resize */
    int x, y;     /* of the mouse, in cells from 0 */
} cf_event;

typedef struct cf_term_ops {
    void (*close)(cf_term *term);
    void (*size)(const cf_term *term, int *w, int *h);

    /* Shows the grid, sending what changed since the last one. */
    void (*present)(cf_term *term, const cf_grid *grid);

    /* Waits for an event: up to timeout_ms, for ever when negative.  Keys
     * that were read ahead come first. */
    void (*wait)(cf_term *term, int timeout_ms, cf_event *out);

    /* Gives the screen to another program and takes it back. */
    void (*leave)(cf_term *term);
    void (*enter)(cf_term *term);

    /* Stops this process as ^Z does elsewhere; returns when continued. */
    void (*suspend)(cf_term *term);

    /* Hands text to the terminal's clipboard (OSC 52), where it has one. */
    void (*copy)(cf_term *term, cf_str text);

    /* Has mouse events sent, or not. */
    void (*mouse)(cf_term *term, bool is_on);

    /* How pictures are shown from the next present on, where the terminal
     * can. */
    void (*graphics)(cf_term *term, cf_graphics_kind wish);

    /* Draws everything again at the next present. */
    void (*redraw)(cf_term *term);
} cf_term_ops;

struct cf_term {
    const cf_term_ops *ops;
    int wake_fd;       /* written by other threads; -1 where there is none */
    int n_colors;      /* 0: none; CF_TRUE_COLOR: 24 bits */
    bool is_light;     /* its background; CF_EVENT_RESUMED when that changes */
    bool utf8;         /* lines and marks may be other than ASCII */
    bool has_graphics; /* pictures of the grid are shown as such */
};

typedef struct cf_term_options {
    enum { CF_COLOR_AUTO, CF_COLOR_ALWAYS, CF_COLOR_NEVER } color;
    bool mouse;
    cf_graphics_kind graphics;
    const char *log_path; /* named by the crash message; may be NULL */
} cf_term_options;

/* Whether there is a terminal that can be taken over.  CF_EUNSUPPORTED with
 * what to do instead. */
CF_MUST_USE cf_status cf_term_check(cf_error *err);

/* Takes over the terminal on standard input and output.  CF_EUNSUPPORTED when
 * it is none, or cannot address its cursor. */
CF_MUST_USE cf_status cf_term_curses_open(cf_term **out, const cf_term_options *opts,
                                          cf_error *err);

/* Whether a signal told the program to end: wait() says so, too.  Any thread.
 */
bool cf_term_must_end(void);

/* Appends what libraries wrote to standard error while the screen was up. */
void cf_term_captured_stderr(cf_buf *out);

#endif
