/*
 * png_write.h - pixels as a PNG file.
 *
 * Place in the flow:  pixels of the screen --> [png_write] --> a file.
 * Knows: libpng.  Does not know: what the picture shows.
 *
 * Threads:  no state.
 * Memory:   appends to the caller's buffer.
 */
#ifndef CF_TUI_IMAGE_PNG_WRITE_H
#define CF_TUI_IMAGE_PNG_WRITE_H

#include "core/base/buf.h"
#include "core/base/status.h"

/* Appends the file; rgb is [h, w, 3], 8 bits each.  CF_EINVAL, CF_ENOMEM. */
CF_MUST_USE cf_status cf_png_write(cf_buf *out, const unsigned char *rgb, int w, int h,
                                   cf_error *err);

#endif
