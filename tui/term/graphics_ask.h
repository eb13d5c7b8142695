/*
 * graphics_ask.h - which graphics a terminal has: questions to it, what its
 * answers say, and what its environment says.
 *
 * Nothing waits for an answer: pictures are in half blocks until one came, and
 * for good when none does.
 *
 * Inside tmux and screen only sixels are possible, where tmux itself answers
 * that it takes them: the other protocols' bytes would reach a terminal that
 * does not know where the pane is.
 *
 * Place in the flow:  terminal --> term_curses.c --> [graphics_ask] -->
 * graphics.h.
 * Sources: the primary device attributes of xterm's "Control Sequences" (4:
 * sixels; CSI 16 t: the size of a cell), kitty's "Querying support and
 * available transmission mediums".
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_TERM_GRAPHICS_ASK_H
#define CF_TUI_TERM_GRAPHICS_ASK_H

#include "tui/term/graphics.h"

/* What is known of a terminal. */
typedef struct cf_graphics_facts {
    bool is_inside;     /* tmux or screen */
    bool is_iterm;      /* has inline images, by its name */
    bool writes_apc;    /* shows the bytes of a question of kitty's */
    bool has_kitty;     /* it said so */
    bool has_sixel;     /* it said so */
    int cell_w, cell_h; /* pixels; 0: unknown */
} cf_graphics_facts;

/* By variables of the environment, each of which may be NULL: TERM, TMUX,
 * TERM_PROGRAM, LC_TERMINAL. */
void cf_graphics_from_names(cf_graphics_facts *f, const char *term, const char *tmux,
                            const char *program, const char *lc_terminal);

/* The questions to ask. */
const char *cf_graphics_questions(const cf_graphics_facts *f);

/* Takes an answer "CSI params final" or "APC text"; true: it was one. */
bool cf_graphics_take_csi(cf_graphics_facts *f, const char *params, size_t n, char final);
bool cf_graphics_take_apc(cf_graphics_facts *f, const char *text, size_t n);

/* What serves a wish: with CF_GRAPHICS_AUTO the best that is known. */
cf_graphics_kind cf_graphics_pick(const cf_graphics_facts *f, cf_graphics_kind wish);

#endif
