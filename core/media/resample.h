/*
 * resample.h - pictures in another size, as Pillow resizes them.
 *
 * Vision models were trained on images that Pillow resized, and a resampler
 * that differs at edges changes what they see.  The method: separable, first
 * along rows, then along columns; the filter widened by the factor when the
 * picture shrinks; weights normalised and rounded to 22 bits of fraction; each
 * pass rounded and clipped to bytes.
 * Source: Pillow, "Image.resize" and its concept guide on filters.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_RESAMPLE_H
#define CF_CORE_MEDIA_RESAMPLE_H

#include "core/media/picture.h"

typedef enum cf_filter {
    CF_FILTER_BILINEAR, /* triangle, support 1 */
    CF_FILTER_BICUBIC,  /* Keys' cubic with a = -0.5, support 2 */
    CF_FILTER_LANCZOS   /* windowed sinc, support 3 */
} cf_filter;

/* A new picture of w x h; CF_ENOMEM, CF_ELIMIT, CF_ECANCELLED (stop may be
 * NULL). */
CF_MUST_USE cf_status cf_pixels_resize(cf_pixels *out, const cf_pixels *in, uint32_t w, uint32_t h,
                                       cf_filter filter, const cf_stop *stop, cf_error *err);

#endif
