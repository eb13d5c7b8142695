/*
 * vision_cut.h - steps of cutting a picture into blocks of pixels that several
 * families take. Each appends to `to`.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_VISION_CUT_H
#define CF_CORE_MEDIA_VISION_CUT_H

#include "core/media/vision.h"

/* The picture at that size. */
CF_MUST_USE cf_status cf_cut__resized(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p,
                                      uint32_t w, uint32_t h, cf_filter filter, cf_error *err);
/* Its squares of `side`, row by row, which are its tiles. */
CF_MUST_USE cf_status cf_cut__tiles(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p,
                                    uint32_t side, cf_error *err);
/* The picture at multiples of a merged patch within the limits of pixels, near its
 * own size.  CF_ELIMIT where one side is over 200 times the other. */
CF_MUST_USE cf_status cf_cut__near(const cf_vision *v, cf_vision_blocks *to, const cf_pixels *p,
                                   cf_filter filter, cf_error *err);

#endif
