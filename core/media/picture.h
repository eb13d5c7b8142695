/*
 * picture.h - an image file's pixels: 8 bits of red, green and blue, turned
 * as the file's orientation tag says.
 *
 * PNG, JPEG and WebP through their libraries, told apart by content.  Opacity
 * is dropped, grey and palettes become colours: what image processors of
 * vision models do.  Damaged files are refused, not shown in part.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_PICTURE_H
#define CF_CORE_MEDIA_PICTURE_H

#include "core/base/str.h"
#include "core/media/stop.h"

/* Pixels at most: 384 MB of colours. */
enum { CF_PIXELS_MAX = 128 << 20, CF_PIXELS_SIDE_MAX = 65500 };
/* In a picture of more pixels than the first, a byte of the file stands for at
 * most the second, so that a file of 16 KiB costs less than 300 MB. */
enum { CF_PIXELS_SMALL = 24 << 20, CF_PIXELS_A_BYTE = 1536 };

typedef struct cf_pixels {
    uint32_t w, h;
    unsigned char *rgb; /* [h, w, 3], owned */
} cf_pixels;

/* CF_EUNSUPPORTED for other formats, CF_EFORMAT for damage, CF_ELIMIT for
 * too many pixels, CF_ENOMEM, CF_ECANCELLED (stop may be NULL).  *out is set on
 * success only. */
CF_MUST_USE cf_status cf_pixels_read(cf_pixels *out, cf_str bytes, const cf_stop *stop,
                                     cf_error *err);
/* An uninitialised picture; CF_ELIMIT beyond the limits above. */
CF_MUST_USE cf_status cf_pixels_init(cf_pixels *out, size_t w, size_t h, cf_error *err);
void cf_pixels_deinit(cf_pixels *p);

/* The same for what a file of so many bytes claims to hold. */
CF_MUST_USE cf_status cf_pixels__begin(cf_pixels *out, size_t w, size_t h, size_t file_bytes,
                                       cf_error *err);

/* One reader for each format. *orientation gets Exif's number, 1 to 8, if the file has
 * one. `out` must be released even after a failure. */
CF_MUST_USE cf_status cf_pixels__png(cf_pixels *out, int *orientation, cf_str bytes,
                                     const cf_stop *stop, cf_error *err);
CF_MUST_USE cf_status cf_pixels__jpeg(cf_pixels *out, int *orientation, cf_str bytes,
                                      const cf_stop *stop, cf_error *err);
CF_MUST_USE cf_status cf_pixels__webp(cf_pixels *out, int *orientation, cf_str bytes,
                                      const cf_stop *stop, cf_error *err);

/* The orientation in a WebP file, which may be cut; 1 where it has none. */
int cf_pixels__webp_orientation(cf_str bytes);

/* The orientation in Exif data (a TIFF file of tags), 1 where it has none. */
int cf_pixels__exif(cf_str tiff);

#endif
