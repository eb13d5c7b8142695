/*
 * picture_file.h - PNG and JPEG files of 8-bit RGB, made by the libraries.
 */
#ifndef CF_TESTS_SUPPORT_PICTURE_FILE_H
#define CF_TESTS_SUPPORT_PICTURE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

typedef struct cf_jpeg_file {
    uint32_t w, h;
    int quality; /* 0: the library's own */
    bool is_progressive;
    bool is_full; /* colours at full size */
    cf_str exif;  /* its first application marker; empty: none */
} cf_jpeg_file;

/* Left half red, right half blue. */
void cf_picture_paint(unsigned char *rgb, uint32_t w, uint32_t h);

/* Both append a file of rgb[h][w][3]; with NULL a JPEG is black.  Fail the
 * test where they cannot. */
void cf_picture_png(cf_buf *out, const unsigned char *rgb, uint32_t w, uint32_t h);
void cf_picture_jpeg(cf_buf *out, const unsigned char *rgb, const cf_jpeg_file *o);

#endif
