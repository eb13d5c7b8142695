/*
 * sixel.h - pixels as sixels, the graphics of DEC's terminals.
 *
 * Place in the flow:  pixels --> [sixel] --> bytes for a terminal.
 * Knows: bands of six rows, colour registers, repeats.  Does not know: cells,
 * descriptors, where on the screen the picture goes.
 *
 * The format is that of the VT340 programmer's reference manual, chapter
 * 14: a device control string with one band of six rows after the other, each
 * colour of a band drawn over the whole width.
 *
 * Threads:  no state.
 * Memory:   appends to the caller's buffer; rows of errors and a byte a pixel
 *           while it works.
 */
#ifndef CF_TUI_TERM_SIXEL_H
#define CF_TUI_TERM_SIXEL_H

#include "core/base/buf.h"
#include "core/base/status.h"

/* Appends rgb [h, w, 3] in at most 240 fixed colours, the cube and the greys
 * of a terminal with 256; what they miss of a pixel goes to its neighbours
 * (Floyd and Steinberg 1976).  CF_ENOMEM. */
CF_MUST_USE cf_status cf_sixel_put(cf_buf *out, const unsigned char *rgb, int w, int h,
                                   cf_error *err);

#endif
