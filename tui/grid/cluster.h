/*
 * cluster.h - from bytes to what a terminal shows in cells.
 *
 * Text is walked by user-perceived characters (UAX 29, through utf8proc) and
 * each becomes cells that every terminal counts alike:
 *
 *   - a base character of width 1 or 2 with at most three combining marks;
 *   - an emoji sequence (joiners, skin tones) as its characters with '+'
 *     between them, a keycap as "[1]", a flag as its letters, since terminals
 *     disagree about their widths and ncurses cannot be told; variation
 *     selectors are left out;
 *   - whatever must not reach a terminal, or would show nothing, spelled out
 *     as core/base/safe_text.h does ("\x1b", "\u{202e}").
 *
 * The bytes are not changed by this: a cluster knows which bytes it
 * represents.  Widths come from utf8proc's table, never from the C library.
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_GRID_CLUSTER_H
#define CF_TUI_GRID_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

enum {
    CF_CLUSTER_CELLS = 16, /* widest: a family of emoji, with marks between */
    CF_CELL_MARKS = 3      /* combining marks kept with a base */
};

/* The contents of a cell: a base and its marks. */
typedef struct cf_glyph {
    uint32_t cp[1 + CF_CELL_MARKS]; /* 0 ends the marks */
    uint8_t width;                  /* 1 or 2 cells */
} cf_glyph;

typedef struct cf_cluster {
    uint32_t off, len;                /* bytes of the text */
    cf_glyph glyph[CF_CLUSTER_CELLS]; /* [n_glyph] from left to right */
    uint8_t n_glyph;                  /* 0 only for a newline */
    uint8_t width;                    /* cells in all */
    bool is_escaped;                  /* shown as an escape, not as itself */
    bool is_newline;                  /* '\n' (nothing to show) */
    bool is_space;                    /* ' ' or tab: a place to wrap */
} cf_cluster;

/* How white space is shown. */
typedef enum cf_space_mode {
    CF_SPACE_PLAIN,  /* space as itself, tab to the next multiple of 8 */
    CF_SPACE_VISIBLE /* space as U+00B7, newline and tab spelled out */
} cf_space_mode;

/*
 * The cluster at p[*at..n), for a cursor in column `column` (tabs depend on
 * it); moves *at past it.  False at the end.  An incomplete character at
 * the end counts as bad bytes.
 */
bool cf_cluster_next(cf_cluster *out, const char *p, size_t n, size_t *at, size_t column,
                     cf_space_mode mode);

/* Cells that p[0..n) takes on one line (newlines count as nothing). */
size_t cf_text_width(const char *p, size_t n);
/* The same with white space visible, newlines as well. */
int cf_text_width_visible(cf_str text);

#endif
