/*
 * side_text.h - texts side by side, by words: what one has and the other has
 * not is marked.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_KIT_SIDE_TEXT_H
#define CF_TUI_VIEW_KIT_SIDE_TEXT_H

#include "tui/grid/grid.h"
#include "tui/grid/wrap.h"

/* All zero: empty. */
typedef struct cf_side_text {
    cf_buf text;
    uint8_t *differs; /* [text.n] of each byte; NULL: not known */
    cf_wrapped lines;
} cf_side_text;

void cf_side_text_deinit(cf_side_text *t);

/* Marks the words of b that a does not have; and of a, unless it was compared
 * before, those that b does not have. */
void cf_side_text_compare(cf_side_text *a, cf_side_text *b);

/* Breaks the text into lines of `width` cells; returns how many. */
size_t cf_side_text_wrap(cf_side_text *t, int width);

/* A line of the text: what differs in that style, bytes [from, to) in reverse. */
void cf_side_text_draw(const cf_side_text *t, size_t line, cf_grid *g, cf_rect r, cf_style differs,
                       size_t from, size_t to);

#endif
