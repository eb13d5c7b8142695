/*
 * vision_cut.h - pictures to blocks of pixels, a function a family.
 *
 * Private to core/media.
 */
#ifndef CF_CORE_MEDIA_VISION_CUT_H
#define CF_CORE_MEDIA_VISION_CUT_H

#include "core/media/vision.h"

/* Stretched to the square that the encoder was trained on. */
cf_status cf_cut_square(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err);
/* Tiles, and the whole picture as the last one (SmolVLM). */
cf_status cf_cut_tiles(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err);
/* Sides to multiples of a merged patch within limits of pixels (Qwen-VL). */
cf_status cf_cut_cubic(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err);
/* The same with a bilinear filter; a picture of more than twice as many pixels
 * becomes 2 to 10 tiles and the whole as the last one (LFM2-VL). */
cf_status cf_cut_linear(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err);
/* The largest sides within 280 merged patches (Gemma 4). */
cf_status cf_cut_budget(const cf_vision *v, const cf_pixels *p, void *to, cf_error *err);

#endif
