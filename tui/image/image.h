/*
 * image.h - pictures in files and messages, made small enough for a terminal.
 *
 * Images come from anywhere.  Limits hold before anything is allocated for
 * what a header says: CF_IMAGE_SIDE_MAX and CF_IMAGE_PIXELS_MAX; a row at a
 * time is decoded and averaged into the small picture, so that memory depends
 * on one row (an interlaced PNG needs all of it and has a lower limit).
 *
 * Threads:  no state; decoding is for a thread that may wait.
 */
#ifndef CF_TUI_IMAGE_IMAGE_H
#define CF_TUI_IMAGE_IMAGE_H

#include "core/api/session.h"
#include "core/base/status.h"
#include "core/base/str.h"

enum {
    CF_IMAGE_SIDE_MAX = 16384,
    CF_IMAGE_PIXELS_MAX = 64 << 20,
    CF_IMAGE_INTERLACED_MAX = 8 << 20 /* pixels */
};

typedef enum cf_image_kind {
    CF_IMAGE_NONE, /* not one that is known here */
    CF_IMAGE_PNG,
    CF_IMAGE_JPEG,
    CF_IMAGE_GIF, /* known, but not decoded */
    CF_IMAGE_WEBP
} cf_image_kind;

typedef struct cf_image_info {
    cf_image_kind kind;
    int w, h; /* pixels; 0: unknown */
} cf_image_info;

/* The format of a file, by its first bytes. */
cf_image_info cf_image_probe(cf_str bytes);

/* "png", "image/png"; "" for CF_IMAGE_NONE. */
const char *cf_image_name(cf_image_kind kind);
const char *cf_image_mime(cf_image_kind kind);

typedef struct cf_picture {
    int w, h;
    unsigned char *rgb; /* [h, w, 3], owned */
} cf_picture;

void cf_picture_deinit(cf_picture *p);

/* The size that fits into max_w x max_h with the same proportions; no side
 * below 1, and never larger than the image. */
void cf_image_fit(int w, int h, int max_w, int max_h, int *to_w, int *to_h);

/*
 * Decodes PNG or JPEG and shrinks it to fit max_w x max_h (at most 256 each).
 * Transparent parts are shown over dark grey.  CF_EFORMAT (damaged, or no
 * such image), CF_ELIMIT, CF_EUNSUPPORTED, CF_ECANCELLED, CF_ENOMEM; *out is
 * then empty.
 */
CF_MUST_USE cf_status cf_image_shrink(cf_picture *out, cf_str bytes, int max_w,
                                      int max_h, cf_cancel *cancel,
                                      cf_error *err);

/* ---- for the decoders --------------------------------------------------- */

/* Averages the rows of an image of w x h into a picture, from the top. */
typedef struct cf_shrinker {
    cf_picture *to;
    int w, h;      /* of the image */
    int y;         /* rows taken so far */
    uint32_t *sum; /* [to->w, 3] of the current row of the picture, owned */
    uint32_t *n;   /* [to->w] pixels in each sum, owned */
    cf_cancel *cancel;
} cf_shrinker;

CF_MUST_USE cf_status cf_shrinker_begin(cf_shrinker *s, int w, int h,
                                        cf_error *err);
/* row[w, 3]; false: cancelled. */
bool cf_shrinker_row(cf_shrinker *s, const unsigned char *row);

CF_MUST_USE cf_status cf_png_shrink(cf_shrinker *s, cf_str bytes,
                                    cf_error *err);
CF_MUST_USE cf_status cf_jpeg_shrink(cf_shrinker *s, cf_str bytes,
                                     cf_error *err);

#endif
