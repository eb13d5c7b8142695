/*
 * media_draw.c - the encoder's input as pixels for people.
 */
#include <math.h>
#include <stdio.h>

#include "core/api/media.h"

/* Dark to bright: black, violet, red, yellow, white. */
static const unsigned char ramp[5][3] = {
    {0, 0, 8}, {84, 16, 110}, {212, 64, 70}, {252, 190, 50}, {252, 255, 210}};

static void draw_sound(const cf_media_block *b, unsigned char *rgb)
{
    size_t n = (size_t)b->width * b->height;
    float lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        lo = fminf(lo, b->data[i]);
        hi = fmaxf(hi, b->data[i]);
    }
    float by = hi > lo ? 4 / (hi - lo) : 0;
    for (size_t i = 0; i < n; i++) {
        size_t band = b->height - 1 - i / b->width; /* low frequencies are at the bottom */
        float at = (b->data[band * b->width + i % b->width] - lo) * by;
        size_t step = at < 3 ? (size_t)at : 3;
        for (size_t c = 0; c < 3; c++) {
            float from = ramp[step][c], to = ramp[step + 1][c];
            rgb[3 * i + c] = (unsigned char)(from + (to - from) * (at - (float)step));
        }
    }
}

void cf_media_draw(const cf_media_input *in, uint32_t block, unsigned char *rgb)
{
    const cf_media_block *b = &in->block[block];
    if (in->is_sound) {
        draw_sound(b, rgb);
        return;
    }
    for (size_t i = 0; i < (size_t)b->width * b->height * 3; i++) {
        float v = (b->data[i] * in->std[i % 3] + in->mean[i % 3]) * 255;
        rgb[i] = (unsigned char)lroundf(fminf(fmaxf(v, 0), 255));
    }
}

void cf_media_words(char *out, size_t cap, const cf_media_input *in)
{
    const cf_media_block *b = in->block;
    if (in->is_sound) {
        snprintf(out, cap, "sound %.6s, %.2f s", in->hash, (double)in->n_sample / in->rate);
    } else if (in->n_block == 1) {
        snprintf(out, cap, "image %.6s, %u x %u to %u x %u", in->hash, (unsigned)in->width,
                 (unsigned)in->height, (unsigned)b->width, (unsigned)b->height);
    } else {
        snprintf(out, cap, "image %.6s, %u x %u to %zu of %u x %u", in->hash, (unsigned)in->width,
                 (unsigned)in->height, in->n_block, (unsigned)b->width, (unsigned)b->height);
    }
}
