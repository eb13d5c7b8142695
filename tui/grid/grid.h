/*
 * grid.h - a screen in memory: cells with a glyph and a style.
 *
 * Views draw here; tui/term sends what changed to the terminal, and tests
 * compare the grid as text.  Everything put into a grid goes through
 * cluster.h, so no byte of untrusted text reaches a terminal as a control.
 *
 * Coordinates: column x from the left and row y from the top, from 0.  What
 * falls outside the clip rectangle is dropped.
 *
 * Threads:  one thread at a time.
 * Memory:   one block for the cells; cf_grid_resize() may fail.
 */
#ifndef CF_TUI_GRID_GRID_H
#define CF_TUI_GRID_GRID_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "tui/grid/cluster.h"
#include "tui/grid/theme.h"

typedef struct cf_rect {
    int x, y, w, h; /* cells; w and h are never negative */
} cf_rect;

typedef struct cf_cell {
    cf_glyph glyph; /* width 0: the right half of the cell before */
    cf_style style;
    cf_color fg, bg; /* CF_STYLE_IMAGE: its own colours */
} cf_cell;

/* A part of the screen that can be clicked, and what it is: `what` and `value`
 * mean something to the view that drew it. */
typedef struct cf_spot {
    cf_rect r;
    int view;
    int what;
    size_t value;
} cf_spot;

/* A picture of which cells of the screen have the colours.  A terminal with
 * graphics may show the picture itself in their place. */
typedef struct cf_plate {
    cf_rect r;                /* the whole of it; may reach outside */
    cf_rect seen;             /* the part that is drawn */
    const unsigned char *rgb; /* [h, w, 3]; borrowed until the frame is sent */
    int w, h;
} cf_plate;

typedef struct cf_grid {
    int w, h;
    cf_spot *spot; /* [n_spot] of this frame, later ones lie on top; owned */
    size_t n_spot, cap_spot;
    int spot_view;   /* the view that draws: cf_spot.view of new spots */
    cf_plate *plate; /* [n_plate] of this frame; owned */
    size_t n_plate, cap_plate;
    cf_cell *cell; /* [h, w] */
    cf_rect clip;
    int cursor_x, cursor_y; /* where the real cursor goes; -1: nowhere */
    bool ascii_lines;       /* draw borders with + - | */
    bool no_lines;          /* draw no borders: blanks in their place */
    int n_colors;           /* of the terminal; 0: none, and before it is
                               known */
    bool has_graphics;      /* plates are of use to the terminal */
} cf_grid;

void cf_grid_init(cf_grid *g);
void cf_grid_deinit(cf_grid *g);

/* Makes the grid w x h and blank. */
CF_MUST_USE cf_status cf_grid_resize(cf_grid *g, int w, int h, cf_error *err);

/* Blank, no cursor, clip on everything. */
void cf_grid_clear(cf_grid *g);

/* Limits drawing to the part of `r` inside the grid. */
void cf_grid_set_clip(cf_grid *g, cf_rect r);

void cf_grid_fill(cf_grid *g, cf_rect r, uint32_t cp, cf_style style);

/* Says what the part of `r` inside the clip is, for the mouse.  Where memory
 * runs out it cannot be clicked. */
void cf_grid_spot(cf_grid *g, cf_rect r, int what, size_t value);

/* The topmost spot at (x, y); NULL: there is none. */
const cf_spot *cf_grid_spot_at(const cf_grid *g, int x, int y);

/* Puts text on one line from (x, y) over at most `width` cells; returns the
 * cells used.  A text that does not fit ends in '~'.  Newlines are spelled
 * out. */
int cf_grid_put(cf_grid *g, int x, int y, int width, cf_str text, cf_style style);

/* The same for a C string, and with printf's formatting (texts of up to 511
 * bytes). */
int cf_grid_puts(cf_grid *g, int x, int y, int width, const char *text, cf_style style);
int cf_grid_putf(cf_grid *g, int x, int y, int width, cf_style style, const char *fmt, ...)
    CF_PRINTF(6, 7);

/* Puts one cluster; returns its width, 0 when it does not fit in `width`. */
int cf_grid_put_cluster(cf_grid *g, int x, int y, int width, const cf_cluster *c, cf_style style);

/* Gives every cell of a row part another style, keeping its glyph. */
void cf_grid_restyle(cf_grid *g, cf_rect r, cf_style style);

/* Gives the cells of r that have one style another; flags stay. */
void cf_grid_change_style(cf_grid *g, cf_rect r, cf_style from, cf_style to);

/* One cell of a picture: the upper and the lower half, as 0xRRGGBB, in the
 * nearest colours there are; without half blocks or colours as a letter that
 * is as bright. */
void cf_grid_put_pixels(cf_grid *g, int x, int y, uint32_t upper, uint32_t lower);

/* A picture [h, w, 3] in the cells of r, as above. */
void cf_grid_put_picture(cf_grid *g, cf_rect r, const unsigned char *rgb, int w, int h);

/* Says that the cells of `part` show what a picture rgb [h, w, 3] over the
 * cells of r has there.  Rows of one picture that are reported one after the
 * other become one plate.  Without has_graphics, or where memory runs out, the
 * cells stay as they are. */
void cf_grid_plate(cf_grid *g, cf_rect r, cf_rect part, const unsigned char *rgb, int w, int h);

/* The mean colour, 0xRRGGBB, of the part of a picture rgb [h, w, 3] that is
 * pixel (x, y) of it at to_w x to_h. */
uint32_t cf_pixels_mean(const unsigned char *rgb, int w, int h, int x, int y, int to_w, int to_h);

/* The colour that is nearest to 0xRRGGBB of a palette with n_colors. */
uint8_t cf_palette_nearest(uint32_t rgb, int n_colors);

/* Colour number `c` of a terminal with 256, as 0xRRGGBB: xterm's values. */
uint32_t cf_palette_rgb(uint8_t c);

/* Lines: a box around r with a title in its top edge; a horizontal and a
 * vertical line. */
void cf_grid_box(cf_grid *g, cf_rect r, const char *title, cf_style style, cf_style title_style);
void cf_grid_hline(cf_grid *g, int x, int y, int w, cf_style style);
void cf_grid_vline(cf_grid *g, int x, int y, int h, cf_style style);

/* Appends the cells [from, to) of row y as text, trailing spaces cut. */
void cf_grid_add_text(const cf_grid *g, int from, int to, int y, cf_buf *out);

/* Appends the grid as text, a line a row, trailing spaces cut. */
void cf_grid_dump(const cf_grid *g, cf_buf *out);

/* Appends the styles: a line a row, runs as "NAME:cells", normal ones left
 * out; rows without any are left out ("12: title:40 @2" means row 12, forty
 * cells of title from column 2). */
void cf_grid_dump_styles(const cf_grid *g, cf_buf *out);

const char *cf_style_get_name(cf_style style);

#endif
