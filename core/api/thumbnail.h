/*
 * thumbnail.h - an image file's size, and its pixels made small enough for a
 * screen, without a model.
 *
 * Place in the flow:  an image's bytes --> [thumbnail] --> the screen.
 * Knows: the image formats that media.h reads.  Does not know: models,
 * screens.
 *
 * Threads:  no state.
 * Memory:   a picture owns its pixels; while it is shrunk, all pixels of the
 *           file are in memory, within the limits of cf_media_read().
 */
#ifndef CF_CORE_API_THUMBNAIL_H
#define CF_CORE_API_THUMBNAIL_H

#include "core/api/session.h"
#include "core/base/decls.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

enum { CF_PICTURE_SIDE_MAX = 4096 };

typedef struct cf_picture {
    int w, h;
    unsigned char *rgb; /* [h, w, 3], owned */
} cf_picture;

void cf_picture_deinit(cf_picture *p);

/*
 * The pixels of a PNG, JPEG, WebP or GIF file by its headers, turned as its
 * orientation tag says.  `head` may be cut: a tag after the cut is not seen.
 * False: another file, or its size is not in `head`.
 */
bool cf_picture_size(cf_str head, int *w, int *h);

/* The size that fits into max_w x max_h with the same proportions; no side
 * below 1, and never larger than w x h. */
void cf_picture_fit(int w, int h, int max_w, int max_h, int *to_w, int *to_h);

/*
 * Decodes a PNG, JPEG or WebP file, turns it as its orientation tag says and
 * averages it to fit max_w x max_h pixels, each 1 to CF_PICTURE_SIDE_MAX.
 * CF_EUNSUPPORTED for other files, CF_EFORMAT for damage, CF_ELIMIT for more
 * pixels than cf_media_read() takes, CF_ECANCELLED (cancel may be NULL),
 * CF_ENOMEM; *out is then empty.
 */
CF_MUST_USE cf_status cf_picture_shrink(cf_picture *out, cf_str bytes, int max_w, int max_h,
                                        const cf_cancel *cancel, cf_error *err);

CF_END_DECLS

#endif
