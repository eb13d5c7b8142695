/*
 * graphics.c - one frame's pictures against those of the frame before.
 *
 * Rules kept here:
 *   1. shown[] is what the terminal shows once the bytes of the frame are
 *      written; a picture that has the same pixels, place and visible part in
 *      the next frame costs no byte.
 *   2. Cells below a picture are blanks, and sent[] says so.  When a picture
 *      goes, its cells are unknown, so that whatever comes is written over its
 *      pixels: sixels and inline images are removed by that alone.
 *   3. With kitty, pixels are sent once and kept by number as long as they are
 *      among the IMAGES_MAX last ones; moving a picture moves its placement.
 *   4. No picture touches the last row of the screen: a terminal might scroll
 *      after it.
 */
#include "tui/term/graphics.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "tui/image/png_write.h"
#include "tui/term/sixel.h"

enum {
    SHOWN_MAX = 16,
    IMAGES_MAX = 24,
    CHUNK = 4096, /* of base64, as kitty's protocol limits it */
    FIRST_ID = 0xCF0000,
    UNKNOWN = 0xFF /* a width that no glyph has */
};

static const cf_cell blank = {{{' ', 0, 0, 0}, 1}, CF_STYLE_NORMAL, 0, 0};

/* A picture on the screen. */
typedef struct shown {
    uint64_t hash; /* of its pixels */
    cf_rect r, seen;
    uint32_t id, placement;   /* kitty's */
    const unsigned char *rgb; /* [h, w, 3], borrowed for one frame */
    int w, h;
    bool is_new;
} shown;

/* Pixels that a terminal keeps. */
typedef struct image {
    uint64_t hash, used; /* used: the frame that had it last */
    uint32_t id;
} image;

struct cf_graphics {
    cf_graphics_kind kind;
    int cell_w, cell_h;
    uint64_t frame;
    uint32_t next_id, next_placement;
    shown shown[SHOWN_MAX];
    size_t n_shown;
    image images[IMAGES_MAX];
    size_t n_image;
    cf_grid masked; /* cells: an own copy; all else the frame's */
    cf_cell *cell;  /* [cap_cell] */
    size_t cap_cell;
    unsigned char *pixels; /* [cap_pixels, 3] of a picture being written */
    size_t cap_pixels;
};

cf_status cf_graphics_new(cf_graphics **out, cf_error *err)
{
    cf_graphics *x = cf_calloc(1, sizeof *x);
    if (x == NULL) {
        return cf_oom_for(err, "pictures");
    }
    x->kind = CF_GRAPHICS_BLOCKS;
    x->next_id = FIRST_ID;
    *out = x;
    return CF_OK;
}

void cf_graphics_free(cf_graphics *x)
{
    if (x != NULL) {
        cf_free(x->cell);
        cf_free(x->pixels);
        cf_free(x);
    }
}

void cf_graphics_use(cf_graphics *x, cf_graphics_kind kind, int cell_w, int cell_h)
{
    x->kind = kind;
    x->cell_w = cell_w;
    x->cell_h = cell_h;
    x->n_shown = x->n_image = 0;
}

cf_graphics_kind cf_graphics_in_use(const cf_graphics *x)
{
    return x->kind;
}

/* ---- which pictures ----------------------------------------------------- */

/* FNV-1a over eight bytes at a time. */
static uint64_t hash_of(const cf_plate *p)
{
    size_t n = (size_t)p->w * (size_t)p->h * 3;
    uint64_t h = UINT64_C(0xCBF29CE484222325) ^ (uint64_t)p->w << 32 ^ (uint64_t)p->h;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t v = 0;
        memcpy(&v, p->rgb + i, n - i < 8 ? n - i : 8);
        h = (h ^ v) * UINT64_C(0x100000001B3);
        h ^= h >> 29;
    }
    return h;
}

static bool is_inside(const cf_grid *g, cf_rect r)
{
    return r.x >= 0 && r.y >= 0 && r.x + r.w <= g->w && r.y + r.h < g->h;
}

/* Whether nothing was drawn over it. */
static bool is_bare(const cf_grid *g, cf_rect r)
{
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int x = r.x; x < r.x + r.w; x++) {
            const cf_cell *c = &g->cell[(size_t)y * (size_t)g->w + (size_t)x];
            if (c->style != CF_STYLE_IMAGE) {
                return false;
            }
        }
    }
    return true;
}

static bool same_rect(cf_rect a, cf_rect b)
{
    return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

static const shown *find(const shown *v, size_t n, const shown *what)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].hash == what->hash && same_rect(v[i].r, what->r) &&
            same_rect(v[i].seen, what->seen)) {
            return &v[i];
        }
    }
    return NULL;
}

static size_t collect(const cf_graphics *x, const cf_grid *g, shown next[SHOWN_MAX])
{
    size_t n = 0;
    if (x->kind == CF_GRAPHICS_BLOCKS) {
        return 0;
    }
    for (size_t i = 0; i < g->n_plate && n < SHOWN_MAX; i++) {
        const cf_plate *p = &g->plate[i];
        if (p->w > 0 && p->h > 0 && is_inside(g, p->seen) && is_bare(g, p->seen)) {
            next[n++] = (shown){.hash = hash_of(p),
                                .r = p->r,
                                .seen = p->seen,
                                .rgb = p->rgb,
                                .w = p->w,
                                .h = p->h};
        }
    }
    return n;
}

/* ---- a frame ------------------------------------------------------------ */

static void remove_shown(const cf_graphics *x, cf_buf *out, const shown *s, cf_cell *sent, int w)
{
    if (x->kind == CF_GRAPHICS_KITTY) {
        cf_buf_addf(out, "\033_Ga=d,d=i,i=%u,p=%u,q=2\033\\", (unsigned)s->id,
                    (unsigned)s->placement);
        return;
    }
    for (int y = s->seen.y; y < s->seen.y + s->seen.h; y++) {
        for (int col = s->seen.x; col < s->seen.x + s->seen.w; col++) {
            sent[(size_t)y * (size_t)w + (size_t)col].glyph.width = UNKNOWN;
        }
    }
}

static void blank_cells(cf_graphics *x, cf_rect r)
{
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int col = r.x; col < r.x + r.w; col++) {
            x->cell[(size_t)y * (size_t)x->masked.w + (size_t)col] = blank;
        }
    }
}

const cf_grid *cf_graphics_begin(cf_graphics *x, cf_buf *out, const cf_grid *g, cf_cell *sent,
                                 bool all)
{
    shown next[SHOWN_MAX];
    size_t n_cell = (size_t)g->w * (size_t)g->h;
    size_t n = cf_grow(&x->cell, &x->cap_cell, n_cell, sizeof *x->cell) ? collect(x, g, next) : 0;
    if (all) {
        cf_graphics_clear(x, out);
    }
    x->frame++;
    for (size_t i = 0; i < n; i++) {
        const shown *was = find(x->shown, x->n_shown, &next[i]);
        next[i].is_new = was == NULL;
        next[i].id = was != NULL ? was->id : 0;
        next[i].placement = was != NULL ? was->placement : 0;
    }
    for (size_t i = 0; i < x->n_shown; i++) {
        if (find(next, n, &x->shown[i]) == NULL) {
            remove_shown(x, out, &x->shown[i], sent, g->w);
        }
    }
    memcpy(x->shown, next, n * sizeof *next);
    x->n_shown = n;
    if (n == 0) {
        return g;
    }
    x->masked = *g;
    x->masked.cell = x->cell;
    memcpy(x->cell, g->cell, n_cell * sizeof *x->cell);
    for (size_t i = 0; i < n; i++) {
        blank_cells(x, next[i].seen);
    }
    return &x->masked;
}

void cf_graphics_clear(cf_graphics *x, cf_buf *out)
{
    for (size_t i = 0; i < x->n_image; i++) { /* kitty's alone */
        cf_buf_addf(out, "\033_Ga=d,d=I,i=%u,q=2\033\\", (unsigned)x->images[i].id);
    }
    x->n_shown = x->n_image = 0;
}

/* ---- drawing ------------------------------------------------------------ */

/* The number of the pixels at the terminal; sent first where it has none. */
static cf_status kitty_image(cf_graphics *x, cf_buf *out, shown *s, cf_error *err)
{
    image *at = x->images;
    for (size_t i = 0; i < x->n_image; i++) {
        if (x->images[i].hash == s->hash) {
            x->images[i].used = x->frame;
            s->id = x->images[i].id;
            return CF_OK;
        }
        at = x->images[i].used < at->used ? &x->images[i] : at;
    }
    cf_buf png = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_status st = cf_png_write(&png, s->rgb, s->w, s->h, err);
    cf_base64_put(&text, cf_buf_str(&png));
    CF_THEN(st, cf_buf_check(&text, err));
    if (st == CF_OK) {
        if (x->n_image < IMAGES_MAX) {
            at = &x->images[x->n_image++];
        } else {
            cf_buf_addf(out, "\033_Ga=d,d=I,i=%u,q=2\033\\", (unsigned)at->id);
        }
        *at = (image){s->hash, x->frame, x->next_id++};
        s->id = at->id;
        for (size_t from = 0; from < text.n; from += CHUNK) {
            size_t n = text.n - from < CHUNK ? text.n - from : CHUNK;
            bool is_last = from + n == text.n;
            if (from == 0) {
                cf_buf_addf(out, "\033_Ga=t,f=100,t=d,i=%u,q=2,m=%d;", (unsigned)s->id,
                            is_last ? 0 : 1);
            } else {
                cf_buf_addf(out, "\033_Gm=%d,q=2;", is_last ? 0 : 1);
            }
            cf_buf_add(out, text.p + from, n);
            cf_buf_adds(out, "\033\\");
        }
    }
    cf_buf_deinit(&png);
    cf_buf_deinit(&text);
    return st;
}

/* From pixel *from, *n pixels: what cells [at, at + count) of `cells` show of
 * `size` pixels. */
static void crop(int at, int count, int cells, int size, int *from, int *n)
{
    int64_t a = (int64_t)at * size / cells;
    int64_t b = (int64_t)(at + count) * size / cells;
    *from = (int)(a < size ? a : size - 1);
    *n = b > a ? (int)(b - a) : 1;
}

static cf_status put_kitty(cf_graphics *x, cf_buf *out, shown *s, cf_error *err)
{
    int px, py, pw, ph;
    CF_TRY(kitty_image(x, out, s, err));
    crop(s->seen.x - s->r.x, s->seen.w, s->r.w, s->w, &px, &pw);
    crop(s->seen.y - s->r.y, s->seen.h, s->r.h, s->h, &py, &ph);
    s->placement = ++x->next_placement;
    cf_buf_addf(out,
                "\033_Ga=p,i=%u,p=%u,x=%d,y=%d,w=%d,h=%d,c=%d,r=%d,C=1,q=2"
                "\033\\",
                (unsigned)s->id, (unsigned)s->placement, px, py, pw, ph, s->seen.w, s->seen.h);
    return CF_OK;
}

/* The visible part at the size of its cells, in x->pixels. */
static cf_status scale(cf_graphics *x, const shown *s, int *w, int *h, cf_error *err)
{
    *w = s->seen.w * x->cell_w;
    *h = s->seen.h * x->cell_h;
    if (!cf_grow(&x->pixels, &x->cap_pixels, (size_t)*w * (size_t)*h, 3)) {
        return cf_oom_for(err, "a picture");
    }
    int left = (s->seen.x - s->r.x) * x->cell_w;
    int top = (s->seen.y - s->r.y) * x->cell_h;
    unsigned char *to = x->pixels;
    for (int y = 0; y < *h; y++) {
        for (int col = 0; col < *w; col++, to += 3) {
            uint32_t rgb = cf_pixels_mean(s->rgb, s->w, s->h, left + col, top + y,
                                          s->r.w * x->cell_w, s->r.h * x->cell_h);
            to[0] = (unsigned char)(rgb >> 16);
            to[1] = (unsigned char)(rgb >> 8);
            to[2] = (unsigned char)rgb;
        }
    }
    return CF_OK;
}

static cf_status put_sixel(cf_graphics *x, cf_buf *out, shown *s, cf_error *err)
{
    int w, h;
    CF_TRY(scale(x, s, &w, &h, err));
    return cf_sixel_put(out, x->pixels, w, h, err);
}

static cf_status put_iterm(cf_graphics *x, cf_buf *out, shown *s, cf_error *err)
{
    int w, h;
    cf_buf png = CF_BUF_INIT;
    CF_TRY(scale(x, s, &w, &h, err));
    cf_status st = cf_png_write(&png, x->pixels, w, h, err);
    if (st == CF_OK) {
        cf_buf_addf(out,
                    "\033]1337;File=inline=1;size=%zu;width=%d;height=%d;"
                    "preserveAspectRatio=0;doNotMoveCursor=1:",
                    png.n, s->seen.w, s->seen.h);
        cf_base64_put(out, cf_buf_str(&png));
        cf_buf_adds(out, "\a");
    }
    cf_buf_deinit(&png);
    return st;
}

void cf_graphics_end(cf_graphics *x, cf_buf *out)
{
    static cf_status (*const put[])(cf_graphics *, cf_buf *, shown *,
                                    cf_error *) = {[CF_GRAPHICS_KITTY] = put_kitty,
                                                   [CF_GRAPHICS_SIXEL] = put_sixel,
                                                   [CF_GRAPHICS_ITERM] = put_iterm};
    for (size_t i = 0; i < x->n_shown; i++) {
        shown *s = &x->shown[i];
        cf_error err;
        if (!s->is_new) {
            continue;
        }
        cf_buf_addf(out, "\0337\033[%d;%dH", s->seen.y + 1, s->seen.x + 1);
        if (put[x->kind](x, out, s, &err) != CF_OK) {
            x->kind = CF_GRAPHICS_BLOCKS;
            out->failed = true; /* the next frame draws everything */
            return;
        }
        cf_buf_adds(out, "\0338");
        s->rgb = NULL;
        s->is_new = false;
    }
}
