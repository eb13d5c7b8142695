/*
 * sixel.c - colours of a palette by error diffusion, then bands of six rows.
 */
#include "tui/term/sixel.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tui/grid/grid.h"

enum { BAND = 6, FIRST = 16, LAST = 255 /* colours with fixed values */ };

static int clamp(int v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

/* One row: index[w], from rgb and the errors that the row above left.
 * error[2][w + 2][3]: of this row and the next, in sixteenths. */
static void dither_row(unsigned char *index, const unsigned char *rgb, int w, int *here, int *below)
{
    memset(below, 0, ((size_t)w + 2) * 3 * sizeof *below);
    for (int x = 0; x < w; x++) {
        int *e = here + 3 * (x + 1), *b = below + 3 * (x + 1);
        uint32_t want = 0;
        for (int c = 0; c < 3; c++) {
            want = want << 8 | (uint32_t)clamp(rgb[3 * x + c] + e[c] / 16);
        }
        index[x] = cf_palette_nearest(want, 256);
        uint32_t have = cf_palette_rgb(index[x]);
        for (int c = 0; c < 3; c++) {
            int miss = (int)(want >> (16 - 8 * c) & 0xFF) - (int)(have >> (16 - 8 * c) & 0xFF);
            e[c + 3] += 7 * miss;
            b[c - 3] += 3 * miss;
            b[c] += 5 * miss;
            b[c + 3] += miss;
        }
    }
}

static cf_status dither(unsigned char *index, const unsigned char *rgb, int w, int h, cf_error *err)
{
    size_t row = ((size_t)w + 2) * 3;
    int *errors = cf_calloc(row, 2 * sizeof *errors);
    if (errors == NULL) {
        return cf_oom_for(err, "a picture's colours");
    }
    for (int y = 0; y < h; y++) {
        size_t at = (size_t)y * (size_t)w;
        dither_row(index + at, rgb + 3 * at, w, errors + (y % 2 == 0 ? 0 : row),
                   errors + (y % 2 == 0 ? row : 0));
    }
    cf_free(errors);
    return CF_OK;
}

/* Registers have percents. */
static void put_palette(cf_buf *out, const bool used[LAST + 1])
{
    for (int c = FIRST; c <= LAST; c++) {
        uint32_t rgb = cf_palette_rgb((uint8_t)c);
        if (used[c]) {
            cf_buf_addf(out, "#%d;2;%d;%d;%d", c, ((int)(rgb >> 16 & 0xFF) * 100 + 127) / 255,
                        ((int)(rgb >> 8 & 0xFF) * 100 + 127) / 255,
                        ((int)(rgb & 0xFF) * 100 + 127) / 255);
        }
    }
}

static void put_run(cf_buf *out, int n, int bits)
{
    char letter = (char)('?' + bits);
    if (n > 3) {
        cf_buf_addf(out, "!%d", n);
        n = 1;
    }
    for (; n > 0; n--) {
        cf_buf_addc(out, letter);
    }
}

/* The pixels of one colour in a band: index[n_row, w]. */
static void put_color(cf_buf *out, const unsigned char *index, int w, int n_row, int color)
{
    int n = 0, last = -1;
    cf_buf_addf(out, "#%d", color);
    for (int x = 0; x < w; x++) {
        int bits = 0;
        for (int y = 0; y < n_row; y++) {
            bits |= index[(size_t)y * (size_t)w + (size_t)x] == color ? 1 << y : 0;
        }
        if (bits != last && n > 0) {
            put_run(out, n, last);
            n = 0;
        }
        last = bits;
        n++;
    }
    if (last > 0) { /* nothing to draw to the right end otherwise */
        put_run(out, n, last);
    }
}

static void find_used(bool used[LAST + 1], const unsigned char *index, size_t n)
{
    memset(used, 0, (LAST + 1) * sizeof *used);
    for (size_t i = 0; i < n; i++) {
        used[index[i]] = true;
    }
}

static void put_bands(cf_buf *out, const unsigned char *index, int w, int h)
{
    bool used[LAST + 1];
    for (int y = 0; y < h; y += BAND) {
        int n_row = h - y < BAND ? h - y : BAND;
        const unsigned char *band = index + (size_t)y * (size_t)w;
        bool is_first = true;
        find_used(used, band, (size_t)n_row * (size_t)w);
        for (int c = FIRST; c <= LAST; c++) {
            if (used[c]) {
                cf_buf_adds(out, is_first ? "" : "$");
                put_color(out, band, w, n_row, c);
                is_first = false;
            }
        }
        cf_buf_adds(out, y + BAND < h ? "-" : "");
    }
}

cf_status cf_sixel_put(cf_buf *out, const unsigned char *rgb, int w, int h, cf_error *err)
{
    bool used[LAST + 1];
    size_t n = (size_t)w * (size_t)h;
    unsigned char *index = cf_alloc(n);
    if (index == NULL) {
        return cf_oom_for(err, "a picture's colours");
    }
    cf_status st = dither(index, rgb, w, h, err);
    if (st == CF_OK) {
        find_used(used, index, n);
        cf_buf_addf(out, "\033P0;1;0q\"1;1;%d;%d", w, h);
        put_palette(out, used);
        put_bands(out, index, w, h);
        cf_buf_adds(out, "\033\\");
        st = cf_buf_check(out, err);
    }
    cf_free(index);
    return st;
}
